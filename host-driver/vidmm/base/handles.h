// SPDX-License-Identifier: Apache-2.0
// Numbers for objects: a slot index and a generation, so that a handle whose object is gone never finds the slot's next
// object. Not thread-safe by itself; the manager's lock covers it.
#ifndef FERRY_VIDMM_BASE_HANDLES_H
#define FERRY_VIDMM_BASE_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "ddi/residency.h"

enum ferry_vm_kind {
    FERRY_VM_DEVICE = 1,
    FERRY_VM_CONTEXT,
    FERRY_VM_ALLOCATION,
    FERRY_VM_PAGING_QUEUE,
    FERRY_VM_PROCESS
};

// Hidden is what is being destroyed and still waits for its work: by itself, or together with its device.
enum ferry_vm_sight { FERRY_VM_SHOWN, FERRY_VM_HIDDEN, FERRY_VM_HIDDEN_WITH_DEVICE };

struct ferry_vm_slot {
    void *object; // NULL = free
    union {
        uint32_t next_free; // index + 1
        uint32_t counted;   // of what is not free
    };
    uint16_t generation;
    uint8_t kind;
    uint8_t hidden; // enum ferry_vm_sight
};

struct ferry_vm_handles {
    struct ferry_vm_slot *slots;
    uint32_t count, capacity;
    uint32_t first_free, last_free; // index + 1; 0 = none
    uint32_t free_count;
};

// Layout of a handle: generation in bits 31:21, slot index + 1 in 20:0. The kind stands in the slot.
#define FERRY_VM_HANDLE_INDEX_BITS 21
#define FERRY_VM_HANDLE_INDEX_MASK ((1u << FERRY_VM_HANDLE_INDEX_BITS) - 1)

/// A new handle for object, 0 when the host has no memory left, or two million objects live.
D3DKMT_HANDLE ferry_vm_handle_new(struct ferry_vm_handles *handles, enum ferry_vm_kind kind, void *object);
/// The object, hidden or not, or NULL when the handle is not a live one of this kind. Each call looks up each handle
/// that it names.
static inline void *ferry_vm_handle_find_hidden(const struct ferry_vm_handles *handles, enum ferry_vm_kind kind,
                                                D3DKMT_HANDLE handle)
{
    uint32_t number = handle & FERRY_VM_HANDLE_INDEX_MASK;
    if (number == 0 || number > handles->count)
        return NULL;
    const struct ferry_vm_slot *slot = &handles->slots[number - 1];
    bool live = slot->object && slot->kind == kind && slot->generation == handle >> FERRY_VM_HANDLE_INDEX_BITS;
    return live ? slot->object : NULL;
}
/// The same, but not what is hidden.
static inline void *ferry_vm_handle_find(const struct ferry_vm_handles *handles, enum ferry_vm_kind kind,
                                         D3DKMT_HANDLE handle)
{
    void *object = ferry_vm_handle_find_hidden(handles, kind, handle);
    bool shown = object && handles->slots[(handle & FERRY_VM_HANDLE_INDEX_MASK) - 1].hidden == FERRY_VM_SHOWN;
    return shown ? object : NULL;
}
/// From now on the live handle is that of another object of its kind.
void ferry_vm_handle_point(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle, void *object);
/// Found by nobody until it is shown again.
void ferry_vm_handle_hide(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle, enum ferry_vm_sight sight);
enum ferry_vm_sight ferry_vm_handle_sight(const struct ferry_vm_handles *handles, D3DKMT_HANDLE handle);
/// So many things name it more, or less; what has gone is not counted.
void ferry_vm_handle_count(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle, int32_t change);
/// How many do; the handle is a live one.
uint32_t ferry_vm_handle_counted(const struct ferry_vm_handles *handles, D3DKMT_HANDLE handle);
void ferry_vm_handle_free(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle);
void ferry_vm_handles_destroy(struct ferry_vm_handles *handles);

#endif
