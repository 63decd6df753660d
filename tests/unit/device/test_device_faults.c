// SPDX-License-Identifier: Apache-2.0
// The device layer over a fake link: fault records, and writes that the host refused.
#include "rig.h"

#include <string.h>

void faults_come_in_order_and_round_the_log(void **context)
{
    struct state *state = *context;
    struct ferry_fault fault = {.size = sizeof(fault)};
    bool found = true;
    assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_OK);
    assert_false(found);
    uint32_t taken = 0;
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t n = 0; n < 13; n++) {
            fake_link_fault(state->fake, FERRY_FAULT_KIND_RANGE, 0x1000ull * (13 * round + n));
        }
        for (uint32_t n = 0; n < 13; n++, taken++) {
            assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_OK);
            assert_true(found);
            assert_int_equal(fault.sequence, taken + 1);
            assert_int_equal(fault.address, 0x1000ull * taken);
            assert_int_equal(reg(state, FERRY_BAR0_FAULT_LOG_CONSUMED), taken + 1);
        }
        assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_OK);
        assert_false(found);
    }
    assert_true(fault.kind == FERRY_FAULT_KIND_RANGE && fault.ring == 2 && fault.address_kind == 1 && fault.is_write);
    assert_true(fault.packet_offset == 0x48 && fault.packet_header == 0x80001 && fault.written == 64);
    assert_true(fault.time == 77 && fault.fence_value == 5 && fault.buffer_address == 0x123000);
    fault.size = 1;
    assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_ERROR_ARGUMENT);
}

static struct ferry_fault take(struct state *state)
{
    struct ferry_fault fault = {.size = sizeof(fault)};
    bool found;
    assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_OK);
    assert_true(found);
    return fault;
}

static void no_more_faults(struct state *state)
{
    struct ferry_fault fault = {.size = sizeof(fault)};
    bool found;
    assert_int_equal(ferry_gpu_next_fault(state->gpu, &fault, &found), FERRY_OK);
    assert_false(found);
}

static void refuse(struct state *state, uint32_t ring, uint32_t number, uint64_t address)
{
    state->fake->refused(state->fake->refused_context, address, ring << 5 | number % 32);
}

void refused_writes_are_faults_of_their_entry(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_fence fence;
    struct ferry_gpu_entry entry = {.buffer_address = 0x123000, .fence_value = 100};
    uint32_t number;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 2, 7), FERRY_OK);
    ferry_gpu_set_interrupt(state->gpu, on_interrupt, state);
    for (uint32_t n = 1; n <= 3; n++, entry.fence_value++) {
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, &number), FERRY_OK);
    }
    refuse(state, 2, 0, 0x1000);  // Has retired,
    refuse(state, 2, 4, 0x2000);  // was not submitted,
    refuse(state, 3, 1, 0x3000);  // a ring that is not there,
    refuse(state, 7, 31, 0x4000); // not a buffer's.
    refuse(state, 2, 2, 0x5000);
    refuse(state, 2, 2, 0x6000); // Its second.
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
    assert_int_equal(fence.faults, 0); // Not before its fence.
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    assert_int_equal(state->calls, 1);
    assert_int_equal(state->causes, FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
    assert_true(fence.retired == 3 && fence.faults == 1 && fence.last_faulted == 2);
    assert_int_equal(fence.status, FERRY_BUFFER_STATUS_SUCCESS); // Of entry 3.
    struct ferry_fault fault = take(state);
    assert_int_equal(fault.sequence, 1);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_HOST_UNSUPPORTED);
    assert_true(fault.ring == 2 && fault.is_write && fault.address_kind == FERRY_ADDRESS_KIND_SYSTEM);
    assert_true(fault.address == 0x5000 && fault.fence_value == 101 && fault.buffer_address == 0x123000);
    assert_true(fault.packet_offset == 0 && fault.packet_header == 0);
    no_more_faults(state);
    // The device finds a fault in the same entry: two records in the order of their arrival, one entry in the count.
    entry.fence_value = 5;
    state->fake->error_status = FERRY_BUFFER_STATUS_FAULTED;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, &number), FERRY_OK);
    fake_link_fault(state->fake, FERRY_FAULT_KIND_RANGE, 0x7000);
    refuse(state, 2, 4, 0x8000);
    fake_link_fault(state->fake, FERRY_FAULT_KIND_RANGE, 0x9000);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
    assert_true(fence.retired == 4 && fence.faults == 2 && fence.last_faulted == 4);
    for (uint32_t n = 0; n < 3; n++) {
        fault = take(state);
        assert_int_equal(fault.sequence, 2 + n);
        assert_int_equal(fault.address, 0x7000 + 0x1000 * n);
    }
    no_more_faults(state);
    // Round the numbers; each entry alone in flight.
    state->fake->error_status = FERRY_BUFFER_STATUS_SUCCESS;
    for (uint32_t n = 5; n < 100; n++) {
        entry.fence_value = 1000 + n;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, &number), FERRY_OK);
        refuse(state, 2, n, n);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
        assert_int_equal(ferry_gpu_ring_completed(state->gpu, 2, &fence), FERRY_OK);
        assert_int_equal(fence.status, FERRY_BUFFER_STATUS_FAULTED);
        assert_true(fence.last_faulted == n && fence.faults == n - 2);
    }
    for (uint32_t n = 5; n < 100; n++) {
        assert_int_equal(take(state).fence_value, 1000 + n);
    }
    no_more_faults(state);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 0, &fence), FERRY_OK);
    assert_int_equal(fence.faults, 0);
}

void a_refused_write_names_its_packet(void **context)
{
    struct state *state = *context;
    // Bus address, packet offset expected; 4 packets in front that do not write there.
    static const uint32_t words[] = {FERRY_OPCODE_NOP | 2u << 16,
                                     0,
                                     FERRY_OPCODE_COPY | 8u << 16,
                                     1 | 1 << 2,
                                     0x100,
                                     0,
                                     0x40000,
                                     0,
                                     0x50000,
                                     0,
                                     FERRY_OPCODE_FILL | 8u << 16,
                                     1 << 2,
                                     0x20,
                                     0,
                                     0x60000,
                                     0,
                                     7,
                                     7,
                                     FERRY_OPCODE_COPY_PAGES | 10u << 16,
                                     0 | 1 << 2 | 2 << 4,
                                     0x1800,
                                     0x800,
                                     0x10000,
                                     0,
                                     0x70000,
                                     0,
                                     0x90000,
                                     0,
                                     FERRY_OPCODE_FENCE | 6u << 16,
                                     1 << 2,
                                     0xa0000,
                                     0,
                                     1,
                                     0,
                                     FERRY_OPCODE_WRITE | 8u << 16,
                                     2 << 2,
                                     4,
                                     0,
                                     0x3000,
                                     0,
                                     1,
                                     0};
    static const struct {
        uint64_t address;
        uint32_t offset;
    } cases[] = {{0x50000, 8},  {0x500ff, 8},   {0x6001f, 40}, {0x70800, 72},
                 {0x90000, 72}, {0xa0007, 112}, {0x40000, 136} /* Only read: so through the aperture. */};
    struct ferry_gpu_memory memory;
    assert_int_equal(ferry_gpu_memory_allocate(state->gpu, 8192, 0, &memory), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 7), FERRY_OK);
    memcpy((char *)memory.address + 4096 - 64, words, sizeof(words)); // Over a page edge.
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        const struct ferry_gpu_entry entry = {.buffer_address = memory.bus + 4096 - 64, .buffer_bytes = sizeof(words)};
        uint32_t number;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
        refuse(state, 1, number, cases[n].address);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, number, 0), FERRY_OK);
        const struct ferry_fault fault = take(state);
        assert_int_equal(fault.packet_offset, cases[n].offset);
        assert_int_equal(fault.packet_header, words[cases[n].offset / 4]);
    }
    ferry_gpu_memory_free(state->gpu, &memory);
}

// Rows that go up from where they begin, and tiles, of which whole ones are written: the first and the last byte of
// each, and none beside it.
void a_refused_write_names_its_rectangle(void **context)
{
    enum { NOP = 2, WORDS = 12, RECTANGLES = 5 };
    struct state *state = *context;
    static const struct {
        uint32_t kind, row_bytes, last_row;
        uint64_t place;
        int32_t pitch;
        uint32_t layout;
        uint64_t first, end;
    } rectangles[RECTANGLES] = {
        {FERRY_ADDRESS_KIND_SYSTEM, 0x30, 3, 0x200000, 0x100, 0, 0x200000, 0x200330},
        {FERRY_ADDRESS_KIND_SYSTEM, 0x30, 3, 0x300000, -0x100, 0, 0x2ffd00, 0x300030},
        // 128 bytes by 32 rows, from byte 0x70 of row 31 on: two tiles of two rows of them.
        {FERRY_ADDRESS_KIND_SYSTEM, 0x90, 1, 0x400000, 0x8000,
         FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 2) | FERRY_PACKET_LAYOUT_SMALL_MASK |
             FERRY_PUT(FERRY_PACKET_LAYOUT_X, 0x70) | FERRY_PUT(FERRY_PACKET_LAYOUT_Y, 31),
         0x400000, 0x40a000},
        // 256 bytes by 256 rows, one row of them above the other.
        {FERRY_ADDRESS_KIND_SYSTEM, 0x100, 256, 0x600000, -0x40000, FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 1), 0x5c0000,
         0x610000},
        // In video memory: no write of it goes to the host.
        {FERRY_ADDRESS_KIND_LOCAL, 0x30, 3, 0x800000, 0x100, 0, 0, 0},
    };
    uint32_t words[NOP + RECTANGLES * WORDS] = {FERRY_OPCODE_NOP | NOP << 16};
    struct ferry_gpu_memory memory;

    for (size_t i = 0; i < RECTANGLES; i++) {
        uint32_t *packet = words + NOP + i * WORDS;
        packet[0] = FERRY_OPCODE_COPY_RECTANGLE | WORDS << 16;
        packet[1] = FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, rectangles[i].kind);
        packet[FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4] = rectangles[i].row_bytes;
        packet[FERRY_PACKET_COPY_RECTANGLE_LAST_ROW / 4] = rectangles[i].last_row;
        packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION / 4] = (uint32_t)rectangles[i].place;
        packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH / 4] = (uint32_t)rectangles[i].pitch;
        packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION_LAYOUT / 4] = rectangles[i].layout;
    }
    assert_int_equal(ferry_gpu_memory_allocate(state->gpu, sizeof(words), 0, &memory), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 7), FERRY_OK);
    memcpy(memory.address, words, sizeof(words));
    for (size_t n = 0; n < 4 * RECTANGLES; n++) {
        const size_t i = n / 4;
        const bool named = rectangles[i].end != 0 && n % 4 < 2;
        const uint64_t first = rectangles[i].end != 0 ? rectangles[i].first : rectangles[i].place;
        const uint64_t end = rectangles[i].end != 0 ? rectangles[i].end : rectangles[i].place + 8;
        const uint64_t addresses[] = {first, end - 1, first - 1, end};
        const struct ferry_gpu_entry entry = {.buffer_address = memory.bus, .buffer_bytes = sizeof(words)};
        uint32_t number;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
        refuse(state, 1, number, addresses[n % 4]);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, number, 0), FERRY_OK);
        const struct ferry_fault fault = take(state);
        assert_int_equal(fault.address, addresses[n % 4]);
        assert_int_equal(fault.packet_offset, named ? 4 * (NOP + i * WORDS) : 0);
        assert_int_equal(fault.packet_header, named ? words[NOP + i * WORDS] : 0);
    }
    ferry_gpu_memory_free(state->gpu, &memory);
}

void an_entry_that_could_not_be_read_is_named_by_its_place(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x123000, .buffer_bytes = 64};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 2, 7), FERRY_OK);
    const uint32_t base = FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_BASE;
    const uint64_t ring = reg(state, base) | (uint64_t)reg(state, base + 4) << 32;
    for (uint64_t n = 0; n < 4; n++) {
        entry.fence_value = 0x700000000 + n;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, NULL), FERRY_OK);
    }
    fake_link_fault(state->fake, FERRY_FAULT_KIND_BUFFER_FETCH, ring + 3 * FERRY_RING_ENTRY_SIZE);
    fake_link_last_fault(state->fake)->fence_value = fake_link_last_fault(state->fake)->buffer_address = 0;
    struct ferry_fault fault = take(state);
    assert_true(fault.address == ring + 3 * FERRY_RING_ENTRY_SIZE);
    assert_true(fault.fence_value == 0x700000003 && fault.buffer_address == 0x123000);
    // Only what lies in the ring is an entry.
    fake_link_fault(state->fake, FERRY_FAULT_KIND_BUFFER_FETCH, ring + 4 * FERRY_RING_ENTRY_SIZE);
    fake_link_last_fault(state->fake)->fence_value = fake_link_last_fault(state->fake)->buffer_address = 0;
    assert_true(take(state).fence_value == 0);
    fake_link_fault(state->fake, FERRY_FAULT_KIND_BUFFER_FETCH, ring);
    assert_true(take(state).fence_value == 5); // Of a buffer that lies where the ring does: it says itself whose it is.
}

// The device is done with the entry, and its place is used again before anybody takes the fault.
void an_entry_that_could_not_be_read_is_named_though_its_place_is_used_again(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x123000, .buffer_bytes = 64, .fence_value = 100};
    uint32_t number;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 2, 1, 7), FERRY_OK);
    const uint32_t base = FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_BASE;
    const uint64_t ring = reg(state, base) | (uint64_t)reg(state, base + 4) << 32;
    for (uint64_t n = 0; n < 7; n++) {
        if (n == 2 || n == 3 || n == 5) { // Entries 0, 1 and 3 were not read.
            const uint64_t place = n == 2 ? 0 : 1;
            fake_link_fault(state->fake, FERRY_FAULT_KIND_BUFFER_FETCH, ring + place * FERRY_RING_ENTRY_SIZE);
            fake_link_last_fault(state->fake)->fence_value = fake_link_last_fault(state->fake)->buffer_address = 0;
        }
        entry.fence_value = 100 + n;
        entry.buffer_address = 0x123000 + 4096 * n;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 2, &entry, &number), FERRY_OK);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 2, number, 0), FERRY_OK);
    }
    for (unsigned n = 0; n < 3; n++) {
        const uint64_t which = n == 2 ? 3 : n;
        struct ferry_fault fault = take(state);
        assert_int_equal(fault.fence_value, 100 + which);
        assert_int_equal(fault.buffer_address, 0x123000 + 4096 * which);
    }
}

void a_refused_doorbell_leaves_all_as_it_was(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .fence_value = 1};
    struct ferry_gpu_fence fence;
    uint32_t number = 99;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 0, 0), FERRY_OK); // One entry: it must stay free.
    for (uint32_t round = 1; round < 4; round++) {
        state->fake->write_error = FERRY_ERROR_RANGE;
        number = 99;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_RANGE);
        assert_int_equal(number, 99);
        assert_int_equal(ferry_gpu_ring_pending(state->gpu, 1), 0);
        entry.fence_value = 10 + round;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
        assert_int_equal(number, round);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, number, 0), FERRY_OK);
        assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
        assert_true(fence.value == 10 + round && fence.retired == round);
    }
}

static void refuse_doorbells(struct state *state, unsigned count)
{
    state->fake->write_error = FERRY_ERROR_TIMEOUT;
    state->fake->write_errors_more = count - 1;
}

void a_doorbell_that_is_not_taken_is_rung_again(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .interrupt = true};
    struct ferry_gpu_fence fence;
    uint32_t number;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 0, 0), FERRY_OK);
    for (uint32_t refused = 1; refused < FERRY_GPU_DOORBELLS; refused++) {
        entry.fence_value = 40 + refused;
        refuse_doorbells(state, refused);
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
        assert_int_equal(number, refused);
        assert_int_equal(state->fake->write_error, FERRY_OK);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, number, 0), FERRY_OK);
        assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
        assert_true(fence.value == 40 + refused && fence.retired == refused);
    }
}

// The posted write may stand in a queue of the link's, or its answer alone be lost: the entry stands as it is, and who
// rang is told so. Taken back it is an empty one.
void a_doorbell_that_may_come_yet_closes_the_ring(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .interrupt = true, .fence_value = 41};
    struct ferry_gpu_fence fence;
    uint32_t number;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 0, 0), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, number, 0), FERRY_OK);
    entry.fence_value = 42;
    refuse_doorbells(state, FERRY_GPU_DOORBELLS);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_DEVICE_LOST);
    const struct ferry_ring_entry *left = fake_link_entry(state->fake, 1, 0);
    assert_true(left->buffer_address == 0x1000 && left->buffer_bytes == 8 && left->fence_value == 42);
    // It comes: no number is used twice.
    state->fake->registers[(FERRY_BAR0_RING_AT + FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER) / 4] = 2;
    assert_int_equal(ferry_gpu_run(state->gpu, 10000), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
    assert_true(fence.value == 42 && fence.retired == 2);
    assert_int_equal(ferry_gpu_ring_pending(state->gpu, 1), 0);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_DEVICE_LOST);
}

// The fault of an entry that was taken back is nobody's if a reset has cut that off, and the one behind it comes.
void what_was_taken_back_has_no_fault(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .fence_value = 41};
    const uint32_t at = FERRY_BAR0_RING_AT + FERRY_BAR0_RING_STRIDE;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 1, 0), FERRY_OK);
    for (unsigned taken = 0; taken < 2; taken++) {
        for (unsigned n = 0; n < 3; n++) {
            fake_link_fault(state->fake, n ? FERRY_FAULT_KIND_ENGINE_RESET : FERRY_FAULT_KIND_RANGE, 0);
            fake_link_last_fault(state->fake)->what ^= (1u ^ 2u) << 8; // Of ring 1.
            fake_link_last_fault(state->fake)->buffer_address = n == 2 ? 0x1000 : 0;
        }
        assert_int_equal(take(state).kind, FERRY_FAULT_KIND_RANGE);
        assert_int_equal(take(state).buffer_address, taken ? 0x1000 : 0);
        assert_int_equal(
            ferry_gpu_next_fault(state->gpu, &(struct ferry_fault){.size = sizeof(struct ferry_fault)}, &(bool){false}),
            FERRY_OK);
        if (taken)
            break;
        uint32_t first;
        refuse_doorbells(state, FERRY_GPU_DOORBELLS);
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_ERROR_DEVICE_LOST);
        state->fake->registers[(at + FERRY_BAR0_RING_FETCHED) / 4] = 0;
        assert_int_equal(ferry_gpu_ring_take_back(state->gpu, 1, &first), FERRY_OK);
        assert_int_equal(first, 1);
        const struct ferry_ring_entry *left = fake_link_entry(state->fake, 1, 0);
        assert_true(left->buffer_address == 0 && left->buffer_bytes == 0 && left->fence_value == 41);
    }
}

// What PRODUCER says when the engine was reset is final, and the ring takes work again.
void an_engine_reset_opens_the_ring(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_entry entry = {.buffer_address = 0x1000, .buffer_bytes = 8, .interrupt = true, .fence_value = 41};
    const uint32_t producer = (FERRY_BAR0_RING_AT + FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER) / 4;
    struct ferry_gpu_fence fence;
    uint32_t number, expected = 0;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 0, 0), FERRY_OK);
    for (unsigned comes = 0; comes < 4; comes++) {
        refuse_doorbells(state, FERRY_GPU_DOORBELLS);
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_DEVICE_LOST);
        assert_int_equal(ferry_gpu_ring_pending(state->gpu, 1), 0);
        state->fake->registers[producer] += comes & 1;
        expected += comes & 1;
        // A link that fails still, says nothing.
        state->fake->fail_reads = 2;
        assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_ERROR_TIMEOUT);
        state->fake->fail_reads = 0;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_DEVICE_LOST);
        assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_OK);
        assert_int_equal(ferry_gpu_run(state->gpu, 10000), FERRY_OK);
        entry.fence_value++;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_OK);
        assert_int_equal(number, ++expected);
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, number, 0), FERRY_OK);
        assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
        assert_true(fence.value == entry.fence_value && fence.retired == number);
    }
    refuse_doorbells(state, FERRY_GPU_DOORBELLS);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, &number), FERRY_ERROR_DEVICE_LOST);
    state->fake->registers[producer] += 2; // Nobody wrote that.
    assert_int_equal(ferry_gpu_reset_engine(state->gpu), FERRY_ERROR_DEVICE_LOST);
}
