// SPDX-License-Identifier: Apache-2.0
// Swizzling ranges of the memcpy miniport: what the CPU reads and writes there goes byte by byte to its place in the
// tiles, by the published table. What the contract lets a driver expect is checked: a range is free when it is
// acquired, nothing works on the allocation then or while the CPU uses it, and no range shows what leaves its place.
#include <string.h>

#include "memcpy_machine.h"
#include "tiles.h"

// CPU addresses, apart from everything that the GPU knows.
#define RANGES_BASE (UINT64_C(1) << 60)
#define RANGE_BYTES (UINT64_C(1) << 44)

unsigned mini_range_count(const struct machine *machine)
{
    if (machine->options.model == 2 || machine->options.no_ranges)
        return 0;
    return machine->options.ranges ? machine->options.ranges : MINI_RANGES;
}

static bool works_on(const struct mini_allocation *allocation)
{
    return allocation->job_references != 0 || allocation->paging_references != 0;
}

NTSTATUS mini_acquire(HANDLE adapter, DXGKARG_ACQUIRESWIZZLINGRANGE *a)
{
    struct machine *machine = adapter;
    struct mini_allocation *allocation = a->hAllocation;
    if (a->RangeId >= mini_range_count(machine) || machine->ranges[a->RangeId].allocation)
        mini_error(machine, "range %u is acquired, which is none or is not free", a->RangeId);
    if (!allocation->tiles || a->SegmentId != machine_local_segment || allocation->place < LOCAL_BASE ||
        allocation->place - LOCAL_BASE >= machine->options.local_bytes)
        mini_error(machine, "a range is acquired for what is linear, or where no range reaches");
    if (a->RangeSize != (allocation->bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE)
        mini_error(machine, "RangeSize is not the allocation's");
    if (works_on(allocation))
        mini_error(machine, "a range is acquired for what work in flight names");
    if (machine->knobs.range_unavailable > 0) {
        machine->knobs.range_unavailable--;
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    }
    if (machine->knobs.range_status != 0)
        return machine->knobs.range_status;
    if (a->PrivateDriverData >= allocation->tiling.Levels)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    a->RangeSize += machine->knobs.range_resized ? PAGE_SIZE : 0;
    machine->ranges[a->RangeId] = (struct mini_range){allocation, a->PrivateDriverData, allocation->place};
    a->CPUTranslatedAddress.QuadPart = (int64_t)(RANGES_BASE + a->RangeId * RANGE_BYTES);
    return STATUS_SUCCESS;
}

NTSTATUS mini_release(HANDLE adapter, const DXGKARG_RELEASESWIZZLINGRANGE *a)
{
    struct machine *machine = adapter;
    if (a->RangeId >= mini_range_count(machine) || machine->ranges[a->RangeId].allocation != a->hAllocation ||
        machine->ranges[a->RangeId].level != a->PrivateDriverData)
        mini_error(machine, "range %u is released, which does not show that", a->RangeId);
    if (machine->knobs.release_status != 0)
        return machine->knobs.release_status;
    machine->ranges[a->RangeId].allocation = NULL;
    return STATUS_SUCCESS;
}

void mini_leaves(struct machine *machine, const struct mini_allocation *allocation, LARGE_INTEGER from, const char *how)
{
    for (unsigned i = 0; i < MINI_RANGES && allocation; i++)
        if (machine->ranges[i].allocation == allocation &&
            (from.QuadPart == 0 || (uint64_t)from.QuadPart == machine->ranges[i].place))
            mini_error(machine, "what range %u shows is %s", i, how);
}

void mini_goes_to(struct machine *machine, struct mini_allocation *allocation, UINT segment, LARGE_INTEGER address)
{
    uint64_t place = (uint64_t)address.QuadPart;
    if (segment != machine_local_segment || !allocation)
        return;
    for (unsigned i = 0; i < MINI_RANGES; i++) {
        const struct mini_allocation *other = machine->ranges[i].allocation;
        if (other && other != allocation && place < machine->ranges[i].place + other->bytes &&
            machine->ranges[i].place < place + allocation->bytes)
            mini_error(machine, "what range %u shows is overwritten by another allocation", i);
    }
    if (allocation->tiles)
        allocation->place = place;
}

// The range; NULL when it shows nothing there, or not all of the bytes.
static const struct mini_range *shown(struct machine *machine, uint64_t address, size_t bytes, uint64_t *offset)
{
    uint64_t number = (address - RANGES_BASE) / RANGE_BYTES, first = 0;
    *offset = (address - RANGES_BASE) % RANGE_BYTES;
    const struct mini_range *range = number < MINI_RANGES ? &machine->ranges[number] : NULL;
    if (!range || !range->allocation) {
        mini_error(machine, "the CPU uses an address that shows nothing");
        return NULL;
    }
    const struct ferry_tiling_private *tiling = &range->allocation->tiling;
    for (unsigned level = 0; level < range->level; level++)
        first += tiles_level_bytes(tiling, level);
    if (*offset < first || *offset + bytes > first + tiles_level_bytes(tiling, range->level))
        return NULL;
    if (works_on(range->allocation))
        mini_error(machine, "the CPU sees what work in flight names");
    return range;
}

static uint8_t *byte_of(struct machine *machine, const struct mini_range *range, uint64_t offset)
{
    uint64_t run;
    return mini_gpu(machine, range->place + range->allocation->tiles[offset], &run);
}

int mini_cpu_read(void *context, uint64_t address, void *data, size_t bytes)
{
    struct machine *machine = context;
    uint64_t offset;
    const struct mini_range *range = shown(machine, address, bytes, &offset);
    for (size_t i = 0; i < bytes && range; i++)
        ((uint8_t *)data)[i] = *byte_of(machine, range, offset + i);
    return range ? FERRY_OK : FERRY_ERROR_RANGE;
}

int mini_cpu_write(void *context, uint64_t address, const void *data, size_t bytes)
{
    struct machine *machine = context;
    uint64_t offset;
    const struct mini_range *range = shown(machine, address, bytes, &offset);
    for (size_t i = 0; i < bytes && range; i++)
        *byte_of(machine, range, offset + i) = ((const uint8_t *)data)[i];
    return range ? FERRY_OK : FERRY_ERROR_RANGE;
}
