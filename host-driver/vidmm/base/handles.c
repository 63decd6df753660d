// SPDX-License-Identifier: Apache-2.0
// Layout of a handle: kind in bits 63:60, generation in 59:32, slot index + 1 in 31:0.
#include "vidmm/base/handles.h"

#include <stdlib.h>

#define GENERATION_MASK 0x0FFFFFFFu

static D3DKMT_HANDLE compose(const struct ferry_vm_slot *slot, uint32_t index)
{
    return (uint64_t)slot->kind << 60 | (uint64_t)slot->generation << 32 | (index + 1);
}

D3DKMT_HANDLE ferry_vm_handle_new(struct ferry_vm_handles *handles, enum ferry_vm_kind kind, void *object)
{
    uint32_t index;
    if (handles->first_free != 0) {
        index = handles->first_free - 1;
        handles->first_free = handles->slots[index].next_free;
    } else {
        if (handles->count == handles->capacity) {
            if (handles->capacity > UINT32_MAX / 4)
                return 0;
            uint32_t capacity = handles->capacity ? handles->capacity * 2 : 64;
            struct ferry_vm_slot *slots = realloc(handles->slots, capacity * sizeof(*slots));
            if (!slots)
                return 0;
            handles->slots = slots;
            handles->capacity = capacity;
        }
        index = handles->count++;
        handles->slots[index].generation = 0;
    }
    struct ferry_vm_slot *slot = &handles->slots[index];
    slot->object = object;
    slot->kind = (uint8_t)kind;
    slot->generation = (slot->generation + 1) & GENERATION_MASK;
    return compose(slot, index);
}

void *ferry_vm_handle_find(const struct ferry_vm_handles *handles, enum ferry_vm_kind kind, D3DKMT_HANDLE handle)
{
    uint32_t number = (uint32_t)handle;
    if (number == 0 || number > handles->count)
        return NULL;
    const struct ferry_vm_slot *slot = &handles->slots[number - 1];
    if (!slot->object || slot->kind != kind || compose(slot, number - 1) != handle)
        return NULL;
    return slot->object;
}

void ferry_vm_handle_free(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle)
{
    uint32_t index = (uint32_t)handle - 1;
    handles->slots[index].object = NULL;
    handles->slots[index].next_free = handles->first_free;
    handles->first_free = index + 1;
}

void ferry_vm_handles_destroy(struct ferry_vm_handles *handles)
{
    free(handles->slots);
    handles->slots = NULL;
    handles->count = handles->capacity = handles->first_free = 0;
}
