// SPDX-License-Identifier: Apache-2.0
// A slot whose object went waits behind all that went before it, and until there are many of them: a stale handle would
// be taken for a live one only after 2047 * 1024 objects more had come and gone.
#include "vidmm/base/handles.h"

#include <stdlib.h>

#define INDEX_BITS      FERRY_VM_HANDLE_INDEX_BITS
#define INDEX_MASK      FERRY_VM_HANDLE_INDEX_MASK
#define GENERATION_MASK (UINT32_MAX >> INDEX_BITS)
#define RESTING         1024u // Free slots that are not used again.

static D3DKMT_HANDLE compose(const struct ferry_vm_slot *slot, uint32_t index)
{
    return (uint32_t)slot->generation << INDEX_BITS | (index + 1);
}

static bool grow(struct ferry_vm_handles *handles)
{
    // A million handles in a table twice as large would be 16 MB for nobody.
    uint32_t capacity = handles->capacity + handles->capacity / 8 + 64;
    if (capacity > INDEX_MASK)
        capacity = INDEX_MASK;
    if (handles->capacity == capacity)
        return false;
    struct ferry_vm_slot *slots = realloc(handles->slots, capacity * sizeof(*slots));
    if (!slots)
        return false;
    handles->slots = slots;
    handles->capacity = capacity;
    return true;
}

D3DKMT_HANDLE ferry_vm_handle_new(struct ferry_vm_handles *handles, enum ferry_vm_kind kind, void *object)
{
    uint32_t index;
    if (handles->free_count <= RESTING && (handles->count < handles->capacity || grow(handles))) {
        index = handles->count++;
        handles->slots[index].generation = 0;
    } else if (handles->first_free != 0) {
        index = handles->first_free - 1;
        handles->first_free = handles->slots[index].next_free;
        handles->free_count--;
    } else {
        return 0;
    }
    struct ferry_vm_slot *slot = &handles->slots[index];
    slot->object = object;
    slot->kind = (uint8_t)kind;
    slot->hidden = FERRY_VM_SHOWN;
    slot->counted = 0;
    slot->generation = (uint16_t)((slot->generation + 1) & GENERATION_MASK);
    return compose(slot, index);
}

void ferry_vm_handle_hide(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle, enum ferry_vm_sight sight)
{
    handles->slots[(handle & INDEX_MASK) - 1].hidden = (uint8_t)sight;
}

enum ferry_vm_sight ferry_vm_handle_sight(const struct ferry_vm_handles *handles, D3DKMT_HANDLE handle)
{
    return (enum ferry_vm_sight)handles->slots[(handle & INDEX_MASK) - 1].hidden;
}

void ferry_vm_handle_point(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle, void *object)
{
    handles->slots[(handle & INDEX_MASK) - 1].object = object;
}

void ferry_vm_handle_count(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle, int32_t change)
{
    uint32_t number = handle & INDEX_MASK;
    if (number == 0 || number > handles->count)
        return;
    struct ferry_vm_slot *slot = &handles->slots[number - 1];
    if (slot->object && compose(slot, number - 1) == handle)
        slot->counted += (uint32_t)change;
}

uint32_t ferry_vm_handle_counted(const struct ferry_vm_handles *handles, D3DKMT_HANDLE handle)
{
    return handles->slots[(handle & INDEX_MASK) - 1].counted;
}

void ferry_vm_handle_free(struct ferry_vm_handles *handles, D3DKMT_HANDLE handle)
{
    uint32_t number = handle & INDEX_MASK;
    handles->slots[number - 1].object = NULL;
    handles->slots[number - 1].next_free = 0;
    if (handles->first_free != 0)
        handles->slots[handles->last_free - 1].next_free = number;
    else
        handles->first_free = number;
    handles->last_free = number;
    handles->free_count++;
}

void ferry_vm_handles_destroy(struct ferry_vm_handles *handles)
{
    free(handles->slots);
    *handles = (struct ferry_vm_handles){0};
}
