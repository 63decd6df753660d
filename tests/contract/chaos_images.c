// SPDX-License-Identifier: Apache-2.0
// Tiled images of a run of chaos.h. Their shadow holds rows; jobs see tiles, by the published table. In driver model 1
// they are seen as rows through swizzling ranges besides, of which there may be fewer than images that are locked, and
// evicted under locks that have an alternate address.
#include "addresses.h"
#include "chaos_state.h"

#include <stdlib.h>

#include "tiles.h"

void chaos_image_create(struct shadow *s, struct ferry_allocation_private *wanted)
{
    static const struct ferry_tiling_private images[] = {
        {4096, 4, 32, 32, 1}, {4096, 4, 64, 32, 2}, {4096, 4, 100, 60, 1}, {4096, 4, 40, 70, 3}};
    static const UINT kinds[] = {
        CPU, CPU, CPU, CPU | DXGK_ALLOC_FLAG_CACHED, PERMANENT, CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM};
    s->tiling = images[chaos_pick(4)];
    s->flags = kinds[chaos_pick(6)];
    s->alternate = !chaos_permanent(s) && !addresses_wanted() && chaos_pick(3);
    s->aperture = false;
    s->size = tiles_bytes(&s->tiling);
    s->rows_at = malloc(s->size * sizeof(*s->rows_at));
    for (uint64_t i = 0; i < s->size; i++)
        s->rows_at[tiles_place(&s->tiling, i)] = (uint32_t)i;
    *wanted = world_private(s->size, s->flags);
    wanted->Tiling = s->tiling;
    wanted->AlternateVA = s->alternate;
}

void chaos_image_touch(struct shadow *s)
{
    uint8_t found[400];
    struct ferry_vidmm *manager = chaos.world->manager;
    D3DKMT_HANDLE device = chaos.devices[s->device].device;
    for (unsigned i = chaos_pick(4); i > 0; i--) {
        uint64_t at = s->seen + chaos_pick((uint32_t)s->seen_bytes), left = s->seen + s->seen_bytes - at;
        size_t bytes = 1 + chaos_pick(left < sizeof(found) ? (uint32_t)left : sizeof(found));
        bool writes = (s->lock_flags & D3DDDI_LOCK_READ_ONLY) == 0 && chaos_pick(2);
        if (!writes && (s->lock_flags & D3DDDI_LOCK_WRITE_ONLY) != 0)
            continue;
        for (size_t k = 0; k < bytes; k++)
            found[k] = (uint8_t)chaos_pick(256);
        s->engaged = true;
        int result = chaos_joined(writes ? ferry_vidmm_linear_write(manager, device, s->handle, at, found, bytes)
                                         : ferry_vidmm_linear_read(manager, device, s->handle, at, found, bytes),
                                  s->device);
        if (chaos_lost(s, result) || chaos_no_memory(result))
            return;
        OKAY(result);
        chaos.seen++;
        if (writes)
            memcpy(s->bytes + at, found, bytes);
        else
            chaos_compare(s, found - at, at, at + bytes, "in a view");
    }
}

bool chaos_image_lock(struct shadow *s)
{
    static const UINT kinds[] = {0, 0, D3DDDI_LOCK_READ_ONLY, D3DDDI_LOCK_WRITE_ONLY, D3DDDI_LOCK_DO_NOT_WAIT};
    UINT flags = kinds[chaos_pick(5)], level = chaos_pick(s->tiling.Levels + 1);
    if (s->alternate && chaos_pick(3))
        flags |= D3DDDI_LOCK_ACQUIRE_APERTURE | D3DDDI_LOCK_USE_ALTERNATE_VA;
    s->engaged = true;
    int result = chaos_joined(
        ferry_vidmm_lock_linear(chaos.world->manager, chaos.devices[s->device].device, s->handle, flags, level),
        s->device);
    if ((result == FERRY_ERROR_BUSY && (flags & D3DDDI_LOCK_DO_NOT_WAIT) != 0) || chaos_lost(s, result) ||
        chaos_no_memory(result))
        return false;
    OKAY(result);
    s->locked = s->linear = true;
    s->lock_flags = flags;
    // A view of no level is one of all of it.
    s->seen = 0;
    for (unsigned i = 0; i < level && level < s->tiling.Levels; i++)
        s->seen += tiles_level_bytes(&s->tiling, i);
    s->seen_bytes = level < s->tiling.Levels ? tiles_level_bytes(&s->tiling, level) : s->size;
    chaos_image_touch(s);
    return true;
}
