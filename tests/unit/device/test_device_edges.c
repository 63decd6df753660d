// SPDX-License-Identifier: Apache-2.0
// The device layer over a fake link: what is just still so, and what one fault says of the next.
#include "rig.h"

#include <string.h>

#include "device/kept_pages.h"
#include "link/problem.h"

static struct ferry_fault take(struct state *state)
{
    struct ferry_fault fault = {.size = sizeof(fault)};
    bool found;
    assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_OK);
    assert_true(found);
    return fault;
}

static void refuse(struct state *state, uint32_t ring, uint32_t number, uint64_t address)
{
    state->fake->refused(state->fake->refused_context, address, ring << 5 | number % 32);
}

static uint32_t submit(struct state *state, const struct ferry_gpu_entry *entry)
{
    uint32_t number;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, entry, &number), FERRY_OK);
    return number;
}

// Whichever of its registers could not be written, the ring is made the next time, with as much memory.
void a_ring_that_could_not_be_made_leaves_nothing(void **context)
{
    struct state *state = *context;
    const size_t mapped = ferry_dma_map_pages(state->fake->map);
    for (unsigned again = 0; again < 3; again++) {
        state->fake->write_error = FERRY_ERROR_TIMEOUT;
        assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 3, 0), FERRY_ERROR_TIMEOUT);
        assert_int_equal(ferry_dma_map_pages(state->fake->map), mapped);
    }
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 12, 0), FERRY_OK); // The largest there is.
    assert_int_equal(ferry_dma_map_pages(state->fake->map), mapped + (FERRY_RING_ENTRY_SIZE << 12) / 4096);
}

void a_range_may_be_empty_and_a_limit_left(void **context)
{
    struct state *state = *context;
    assert_int_equal(ferry_gpu_set_local_limit(state->gpu, 0x500000), FERRY_OK);
    assert_int_equal(ferry_gpu_set_local_limit(state->gpu, 0), FERRY_OK);
    assert_int_equal(reg(state, FERRY_BAR0_LOCAL_LIMIT), 0x500000);
    assert_int_equal(ferry_gpu_set_protected(state->gpu, 0x1000, 0x3000), FERRY_OK);
    assert_int_equal(ferry_gpu_set_protected(state->gpu, 0x2000, 0x2000), FERRY_OK);
    assert_int_equal(reg(state, FERRY_BAR0_PROTECT_BASE), 0x2000);
    assert_int_equal(reg(state, FERRY_BAR0_PROTECT_LIMIT), 0x2000);
}

// Of what is written to move a range, up or down, no part protects what is in neither.
void a_range_that_moves_is_empty_in_between(void **context)
{
    struct state *state = *context;
    static const uint64_t ranges[][2] = {{0x1000, 0x3000}, {0x8000, 0x9000}, {0x1000, 0x3000}};
    uint64_t base = 0x1000, limit = 0x3000;
    assert_int_equal(ferry_gpu_set_protected(state->gpu, base, limit), FERRY_OK);
    for (unsigned i = 1; i < 3; i++) {
        const uint64_t *from = ranges[i - 1], *to = ranges[i];
        const uint32_t before = state->fake->writes;
        assert_int_equal(ferry_gpu_set_protected(state->gpu, to[0], to[1]), FERRY_OK);
        for (uint32_t n = before; n < state->fake->writes; n++) {
            const uint32_t *write = state->fake->writes_seen[n % 64];
            const uint32_t half = write[0] % 8 * 8;
            uint64_t *changed = write[0] / 8 == FERRY_BAR0_PROTECT_BASE / 8 ? &base : &limit;
            *changed = (*changed & ~(UINT64_C(0xffffffff) << half)) | (uint64_t)write[1] << half;
            assert_true(base >= limit || (base == from[0] && limit == from[1]) || (base == to[0] && limit == to[1]));
        }
        assert_true(base == to[0] && limit == to[1]);
    }
}

void a_lost_doorbells_entry_is_not_the_newest(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .fence_value = 41};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 2, 0), FERRY_OK);
    assert_int_equal(submit(state, &entry), 1);
    state->fake->write_error = FERRY_ERROR_TIMEOUT;
    state->fake->write_errors_more = FERRY_GPU_DOORBELLS - 1;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, NULL), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_gpu_ring_newest(state->gpu, 2), 1);
}

// Of a ring with three entries that do not end the device has fetched one.
static uint32_t *fetch_one_of_three(struct state *state)
{
    const uint32_t at = FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_FETCHED;
    const struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .fence_value = 41};
    state->fake->retire_cycles = 0;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 2, 0), FERRY_OK);
    for (uint32_t n = 1; n < 4; n++)
        assert_int_equal(submit(state, &entry), n);
    state->fake->registers[at / 4] = 1;
    return &state->fake->registers[at / 4];
}

static unsigned entries_left(struct state *state)
{
    unsigned left = 0;
    for (uint32_t n = 0; n < 4; n++)
        left += fake_link_entry(state->fake, 2, n)->buffer_bytes != 0;
    return left;
}

// The link stands still at one of the two writes, or at the first read: either nothing was taken back, or what was is
// told, and the next reset of the engine opens the ring.
void a_ring_that_stays_closed_is_opened_by_a_reset(void **context)
{
    struct state *state = *context;
    fetch_one_of_three(state);
    const uint32_t at = FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_CONTROL;
    uint32_t first = 0;
    state->fake->write_error = FERRY_ERROR_TIMEOUT;
    assert_int_equal(ferry_gpu_ring_take_back(state->gpu, 2, &first), FERRY_ERROR_TIMEOUT);
    assert_true(first == 4 && entries_left(state) == 3);
    state->fake->registers[at / 4] = 0; // It comes after all.
    assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_OK);
    assert_int_equal(reg(state, at), FERRY_BAR0_RING_CONTROL_ENABLE_MASK);
    state->fake->fail_reads = 1;
    assert_int_equal(ferry_gpu_ring_take_back(state->gpu, 2, &first), FERRY_ERROR_TIMEOUT);
    assert_true(first == 4 && entries_left(state) == 3);
    assert_int_equal(reg(state, at), FERRY_BAR0_RING_CONTROL_ENABLE_MASK);
    state->fake->write_passes = 1;
    state->fake->write_error = FERRY_ERROR_TIMEOUT;
    assert_int_equal(ferry_gpu_ring_take_back(state->gpu, 2, &first), FERRY_ERROR_TIMEOUT);
    assert_true(first == 2 && entries_left(state) == 1);
    assert_int_equal(reg(state, at), 0);
    assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_OK);
    assert_int_equal(reg(state, at), FERRY_BAR0_RING_CONTROL_ENABLE_MASK);
}

// Nor is a number believed that says of entries under way that nobody has fetched them, or of others than there are.
void a_device_that_has_fetched_what_cannot_be_is_lost(void **context)
{
    struct state *state = *context;
    uint32_t *fetched = fetch_one_of_three(state), first = 0;
    const uint32_t wrong[] = {0xffffffff, 4, 0x80000000};
    for (unsigned n = 0; n < 3; n++) {
        *fetched = wrong[n];
        ferry_problem_clear();
        assert_int_equal(ferry_gpu_ring_take_back(state->gpu, 2, &first), FERRY_ERROR_DEVICE_LOST);
        assert_true(first == 4 && entries_left(state) == 3);
        assert_non_null(strstr(ferry_problem(), " entries of ring 2, of which there were 3, 0 of them done before: "));
        assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_DEVICE_LOST);
    }
}

// The place behind the last entry of a ring is in its page all the same.
void what_stands_behind_a_ring_is_no_entry(void **context)
{
    struct state *state = *context;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 2, 7), FERRY_OK);
    const uint32_t base = FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_BASE;
    const uint64_t ring = reg(state, base) | (uint64_t)reg(state, base + 4) << 32;
    struct ferry_ring_entry *behind = (struct ferry_ring_entry *)(uintptr_t)fake_link_entry(state->fake, 2, 4);
    behind->fence_value = 9;
    fake_link_fault(state->fake, FERRY_FAULT_KIND_BUFFER_FETCH, ring + 4 * FERRY_RING_ENTRY_SIZE);
    fake_link_last_fault(state->fake)->fence_value = fake_link_last_fault(state->fake)->buffer_address = 0;
    assert_int_equal(take(state).fence_value, 0);
}

// The device has told of a fault in the entry itself, and somebody has taken that before the entry is over. Of the one
// that has its number's place next, 32 later, that says nothing.
void what_was_told_of_an_entry_is_not_of_the_next_one(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x123000, .fence_value = 5};
    struct ferry_gpu_fence fence;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 4, 7), FERRY_OK);
    uint32_t number = submit(state, &entry);
    fake_link_fault(state->fake, FERRY_FAULT_KIND_RANGE, 0x7000);
    refuse(state, 2, number, 0x8000);
    assert_int_equal(take(state).address, 0x7000);
    assert_int_equal(take(state).address, 0x8000);
    state->fake->error_status = FERRY_BUFFER_STATUS_FAULTED;
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    state->fake->error_status = FERRY_BUFFER_STATUS_SUCCESS;
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
    assert_true(fence.faults == 1 && fence.last_faulted == number);
    for (uint32_t n = 1; n <= 32; n++) {
        entry.fence_value = 100 + n;
        number = submit(state, &entry);
        if (n == 32)
            refuse(state, 2, number, 0x9000);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    }
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
    assert_true(fence.faults == 2 && fence.last_faulted == number);
}

void a_refused_write_is_told_once(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {.buffer_address = 0x123000, .fence_value = 5};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK); // on_interrupt() looks at it.
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 4, 7), FERRY_OK);
    ferry_gpu_set_interrupt(state->gpu, on_interrupt, state);
    const uint32_t number = submit(state, &entry);
    refuse(state, 2, number, 0x8000);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    assert_int_equal(ferry_gpu_run(state->gpu, 100000), FERRY_OK);
    assert_int_equal(state->calls, 1);
}

// Some are taken while others come.
void refused_writes_come_in_order(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x123000};
    uint64_t taken = 0;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 6, 7), FERRY_OK);
    state->fake->retire_cycles = 0;
    for (uint32_t n = 1; n <= 30; n++) {
        entry.fence_value = n;
        refuse(state, 2, submit(state, &entry), n);
        if (n % 3 == 0) {
            assert_int_equal(take(state).address, ++taken);
        }
    }
    while (taken < 30) {
        const struct ferry_fault fault = take(state);
        assert_int_equal(fault.address, ++taken);
        assert_int_equal(fault.fence_value, taken);
    }
}

static struct ferry_fault refuse_one_of(struct state *state, uint64_t bus, uint32_t bytes, uint64_t address)
{
    const struct ferry_gpu_entry entry = {.buffer_address = bus, .buffer_bytes = bytes};
    const uint32_t number = submit(state, &entry);
    refuse(state, 2, number, address);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    return take(state);
}

// Two packets write through the aperture, and which page that was the host does not know. And of a buffer that is not
// there as a whole nothing is known.
void a_refused_write_that_may_be_two_packets_names_none(void **context)
{
    struct state *state = *context;
    const uint32_t write[8] = {FERRY_OPCODE_WRITE | 8u << 16, FERRY_ADDRESS_KIND_APERTURE << 2, 4, 0, 0x3000, 0, 1, 0};
    struct ferry_gpu_memory memory;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_memory_allocate(state->gpu, 4096, 0, &memory), FERRY_OK); // Behind it nothing is mapped.
    char *end = (char *)memory.address + 4096;
    memcpy(end - 2 * sizeof(write), write, sizeof(write));
    memcpy(end - sizeof(write), write, sizeof(write));
    struct ferry_fault fault = refuse_one_of(state, memory.bus + 4096 - sizeof(write), sizeof(write), 0x40000);
    assert_true(fault.packet_offset == 0 && fault.packet_header == write[0]);
    fault = refuse_one_of(state, memory.bus + 4096 - 2 * sizeof(write), 2 * sizeof(write), 0x40000);
    assert_true(fault.packet_offset == 0 && fault.packet_header == 0);
    fault = refuse_one_of(state, memory.bus + 4096 - sizeof(write), sizeof(write) + 8, 0x40000);
    assert_true(fault.packet_offset == 0 && fault.packet_header == 0);
    ferry_gpu_memory_free(state->gpu, &memory);
}

void what_is_just_not_too_large_is_kept(void **context)
{
    enum { LARGE = 4096 };
    (void)context;
    struct ferry_kept_pages kept = {0};
    uint64_t memory[4]; // No more of it is written.
    assert_false(ferry_kept_pages_give(&kept, memory, LARGE + 1));
    assert_true(ferry_kept_pages_give(&kept, memory, LARGE));
    assert_ptr_equal(ferry_kept_pages_take(&kept, LARGE), memory);
}
