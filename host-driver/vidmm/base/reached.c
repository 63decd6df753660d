// SPDX-License-Identifier: Apache-2.0
#include "vidmm/base/reached.h"

#include <string.h>

#include "ferry/error.h"

// Where the allocation stands among the names, or is to. They are in order: there may be a thousand of them, and each
// of them may be met a thousand times.
static uint32_t place_of(const struct ferry_vidmm_names *names, D3DKMT_HANDLE allocation)
{
    uint32_t low = 0, high = names->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (names->list[middle].allocation < allocation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ferry_vidmm_add_name(struct ferry_vidmm_names *names, D3DKMT_HANDLE allocation, bool write)
{
    uint32_t index = place_of(names, allocation);
    struct ferry_vidmm_name *place = &names->list[index];
    if (index == names->count || place->allocation != allocation) {
        if (names->count == names->most)
            return FERRY_ERROR_RANGE;
        memmove(place + 1, place, (names->count++ - index) * sizeof(*place));
        *place = (struct ferry_vidmm_name){.allocation = allocation};
    }
    place->write |= write;
    return FERRY_OK;
}

// Addresses of which it is known what is there, and that it is named.
struct stretch {
    uint64_t first, end;
};

// The same addresses by rows that go up and lie apart: then what was asked about once is never met again.
static struct ferry_vidmm_reach upwards(const struct ferry_vidmm_reach *reach)
{
    struct ferry_vidmm_reach up = *reach;
    if (up.pitch < 0) {
        up.address += (uint64_t)up.pitch * (up.rows - 1);
        up.pitch = -up.pitch;
    }
    if ((uint64_t)up.pitch <= up.bytes) {
        up.bytes += (uint64_t)up.pitch * (up.rows - 1);
        up.rows = 1;
    }
    return up;
}

// How many rows more lie in the stretch altogether, of which this one does.
static uint64_t rows_within(const struct ferry_vidmm_reach *up, uint64_t at, const struct stretch *known)
{
    uint64_t end = at + up->bytes;
    return up->rows == 1 || at < known->first || end > known->end ? 0 : (known->end - end) / (uint64_t)up->pitch;
}

int ferry_vidmm_find_names(struct ferry_vidmm_names *names, const struct ferry_vidmm_reach *reach,
                           ferry_vidmm_find find, void *context)
{
    const struct ferry_vidmm_reach up = upwards(reach);
    struct stretch known = {0, 0};
    for (uint64_t row = 0; row < up.rows; row++) {
        uint64_t first = up.address + (uint64_t)up.pitch * row, end = first + up.bytes;
        for (uint64_t at = first; at < end; at = known.end) {
            struct ferry_vidmm_mapping mapping;
            if (at >= known.first && at < known.end)
                continue;
            int error = find(context, at, &mapping);
            if (error != FERRY_OK)
                return error;
            bool there = mapping.bytes != 0 && mapping.address < end;
            known.first = there && mapping.address < at ? mapping.address : at;
            known.end = mapping.bytes == 0 ? UINT64_MAX : mapping.address + (there ? mapping.bytes : 0);
            if (!there || mapping.allocation == 0)
                continue;
            error = ferry_vidmm_add_name(names, mapping.allocation, up.write);
            if (error != FERRY_OK)
                return error;
        }
        row += rows_within(&up, first, &known);
    }
    return FERRY_OK;
}

// Of the two only the names are in order, so that is where is looked.
uint32_t ferry_vidmm_refer_to(struct ferry_vidmm_names *names, struct ferry_vidmm_reference *references,
                              uint64_t *addresses, uint32_t count)
{
    uint32_t before = count;
    for (uint32_t i = 0; i < names->count; i++)
        names->list[i].named = false;
    for (uint32_t i = 0; i < before; i++) {
        uint32_t index = place_of(names, references[i].allocation);
        if (index == names->count || names->list[index].allocation != references[i].allocation)
            continue;
        references[i].write |= names->list[index].write;
        names->list[index].named = true;
    }
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->list[i].named)
            continue;
        addresses[count] = 0;
        references[count++] = (struct ferry_vidmm_reference){names->list[i].allocation, names->list[i].write};
    }
    return count;
}
