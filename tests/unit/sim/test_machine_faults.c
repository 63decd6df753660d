// SPDX-License-Identifier: Apache-2.0
// The machine from the device layer down: what goes wrong is a fault of its entry, and the next job runs.
#include "machine_rig.h"

#include <stdlib.h>
#include <string.h>

void unmapped_bus_address_is_a_fault_with_its_address(void **context)
{
    struct machine *machine = *context;
    struct ferry_link_counts counts;
    copy(machine, FERRY_ADDRESS_KIND_SYSTEM, 0x7700001000, FERRY_ADDRESS_KIND_LOCAL, 0x3000, 64);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_FAULTED);
    const struct ferry_fault fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_HOST_UNSUPPORTED);
    assert_true(fault.address == 0x7700001000);
    assert_int_equal(fault.ring, RING_PAGING);
    assert_int_equal(fault.packet_offset, 0);
    assert_int_equal(fault.address_kind, FERRY_ADDRESS_KIND_SYSTEM);
    ferry_gpu_link_counts(machine->gpu, &counts);
    assert_true(counts.unmapped_accesses >= 1);
    assert_true(counts.last_unmapped_address == 0x7700001000);
    next_job_runs(machine);
}

/// Entries of two rings at once, some with a write that the host refuses: only those are errored, and the rest does
/// what it would have done.
void a_refused_write_is_a_fault_of_its_entry_only(void **context)
{
    struct machine *machine = *context;
    const uint64_t nowhere = 0x7700001000;
    struct ferry_gpu_memory more;
    struct ferry_gpu_fence fence;
    uint32_t paging, user;
    assert_int_equal(ferry_gpu_memory_allocate(machine->gpu, 4096, 0, &more), FERRY_OK);
    const struct ferry_gpu_memory first = machine->buffer;
    memset(host(machine) + 32768, 0, 32768);
    // An innocent buffer of the user ring, long enough to be under way while the others write to nowhere.
    machine->buffer = more;
    for (uint32_t n = 0; n < 8; n++) {
        copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, FERRY_ADDRESS_KIND_LOCAL, 0x20000, 16384);
        copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x20000, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus + 32768, 16384);
    }
    const struct ferry_gpu_entry good = {more.bus, 4 * machine->words, true, 0, false, 0x9900};
    machine->words = 0;
    machine->buffer = first;
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x20000, FERRY_ADDRESS_KIND_LOCAL, 0x40000, 64);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x20000, FERRY_ADDRESS_KIND_SYSTEM, nowhere + 5, 5000);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x20000, FERRY_ADDRESS_KIND_SYSTEM, nowhere + 4096, 64);
    const struct ferry_gpu_entry bad = {first.bus, 4 * machine->words, true, 0, false, 0x9901};
    machine->words = 0;
    const struct ferry_gpu_entry empty = {first.bus, 0, true, 0, false, 0x9902};
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_USER, &good, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_PAGING, &empty, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_PAGING, &bad, &paging), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_USER, &empty, &user), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_PAGING, paging, 600000), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_PAGING, &fence), FERRY_OK);
    assert_int_equal(fence.value, 0x9901);
    assert_int_equal(fence.status, FERRY_BUFFER_STATUS_FAULTED);
    assert_int_equal(fence.faults, 1);
    assert_int_equal(fence.last_faulted, paging);
    const struct ferry_fault fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_HOST_UNSUPPORTED);
    assert_int_equal(fault.is_write, 1);
    assert_int_equal(fault.address_kind, FERRY_ADDRESS_KIND_SYSTEM);
    assert_true(fault.address == nowhere + 5);
    assert_int_equal(fault.ring, RING_PAGING);
    assert_int_equal(fault.fence_value, 0x9901);
    assert_true(fault.buffer_address == first.bus);
    assert_int_equal(fault.packet_offset, 32);
    assert_int_equal(fault.packet_header, FERRY_OPCODE_COPY | 8u << 16);
    assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_USER, user, 600000), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_USER, &fence), FERRY_OK);
    assert_int_equal(fence.value, 0x9902);
    assert_int_equal(fence.status, FERRY_BUFFER_STATUS_SUCCESS);
    assert_int_equal(fence.faults, 0);
    assert_memory_equal(host(machine) + 32768, host(machine), 16384);
    next_job_runs(machine);
    fill(machine, 0x8000, 8, 0, 1);
    assert_int_equal(run(machine, RING_USER), FERRY_BUFFER_STATUS_SUCCESS);
    // Through the aperture: the host knows the bus address only.
    uint32_t *map = packet(machine, FERRY_OPCODE_MAP_APERTURE, 0, 6);
    map[2] = 5;
    map[3] = 1;
    put64(map + 4, nowhere);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x20000, FERRY_ADDRESS_KIND_APERTURE, 5 * 4096 + 16, 64);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_FAULTED);
    const struct ferry_fault through = only_fault(machine);
    assert_true(through.address == nowhere + 16);
    assert_int_equal(through.address_kind, FERRY_ADDRESS_KIND_SYSTEM);
    assert_int_equal(through.packet_offset, 24);
    // Every ring entry number modulo 32 once, and the same through the other ring.
    for (uint32_t n = 0; n < 40; n++) {
        const uint32_t ring = n % 3 == 0 ? RING_USER : RING_PAGING;
        copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x20000, FERRY_ADDRESS_KIND_SYSTEM, nowhere + 8 * n, 8);
        assert_int_equal(run(machine, ring), FERRY_BUFFER_STATUS_FAULTED);
        const struct ferry_fault one = only_fault(machine);
        assert_int_equal(one.ring, ring);
        assert_int_equal(one.fence_value, machine->fence);
        assert_true(one.address == nowhere + 8 * n);
    }
    next_job_runs(machine);
    ferry_gpu_memory_free(machine->gpu, &more);
}

void an_unreadable_buffer_is_a_fault_and_the_ring_goes_on(void **context)
{
    struct machine *machine = *context;
    const struct ferry_gpu_entry entry = {0x7700002000, 64, false, 0, false, ++machine->fence};
    struct ferry_gpu_fence fence;
    uint32_t number;
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_USER, &entry, &number), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_USER, number, 100000), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_USER, &fence), FERRY_OK);
    assert_int_equal(fence.status, FERRY_BUFFER_STATUS_FAULTED);
    const struct ferry_fault fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_BUFFER_FETCH);
    assert_true(fault.address == 0x7700002000 && fault.ring == RING_USER);
    fill(machine, 0x8000, 8, 0, 1);
    assert_int_equal(run(machine, RING_USER), FERRY_BUFFER_STATUS_SUCCESS);
    next_job_runs(machine);
}

void an_unreadable_entry_is_named_and_keeps_the_fence_value(void **context)
{
    struct machine *machine = *context;
    struct ferry_gpu_fence fence;
    uint32_t number, low, high;
    const uint32_t ring = FERRY_BAR0_RING_AT + RING_USER * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_FENCE_VALUE;
    machine->fence = 0x1234567800;
    fill(machine, 0x8000, 8, 0, 1);
    assert_int_equal(run(machine, RING_USER), FERRY_BUFFER_STATUS_SUCCESS);
    for (int lost = 0; lost < 2; lost++) {
        const struct ferry_gpu_entry entry = {machine->buffer.bus, 32, false, 0, false, 0x4444444400};
        assert_int_equal(
            ferry_gpu_inject(machine->gpu, lost ? FERRY_INJECT_LOSE_COMPLETION : FERRY_INJECT_ABORT_COMPLETION, 1),
            FERRY_OK);
        assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_USER, &entry, &number), FERRY_OK);
        assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_USER, number, 200000), FERRY_OK);
        assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_USER, &fence), FERRY_OK);
        assert_true(fence.value == machine->fence && fence.retired == number && fence.last_faulted == number);
        assert_int_equal(fence.status, FERRY_BUFFER_STATUS_FAULTED);
        assert_int_equal(ferry_gpu_read32(machine->gpu, ring, &low), FERRY_OK);
        assert_int_equal(ferry_gpu_read32(machine->gpu, ring + 4, &high), FERRY_OK);
        assert_true((low | (uint64_t)high << 32) == machine->fence);
        const struct ferry_fault fault = only_fault(machine);
        assert_int_equal(fault.kind, FERRY_FAULT_KIND_BUFFER_FETCH);
        assert_true(fault.fence_value == entry.fence_value && fault.buffer_address == entry.buffer_address);
    }
    next_job_runs(machine);
}

void lost_completion_is_a_timeout_fault(void **context)
{
    struct machine *machine = *context;
    // The fetch of the entry and of the buffer must get through: let it, then lose the copy's first read, which waits
    // until the fill is done.
    fill(machine, 0x10000, 65536, 0, 1);
    copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, FERRY_ADDRESS_KIND_LOCAL, 0x3000, 4096);
    const struct ferry_gpu_entry entry = {machine->buffer.bus, 4 * machine->words, false, 0, false, ++machine->fence};
    machine->words = 0;
    uint32_t number, status;
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_PAGING, &entry, &number), FERRY_OK);
    do {
        assert_int_equal(ferry_gpu_read32(machine->gpu, FERRY_BAR0_STATUS, &status), FERRY_OK);
    } while (!(status & FERRY_BAR0_STATUS_ENGINE_MASK));
    assert_int_equal(ferry_gpu_inject(machine->gpu, FERRY_INJECT_LOSE_COMPLETION, 1), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_PAGING, number, 100000), FERRY_OK);
    const struct ferry_fault fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_COMPLETION_TIMEOUT);
    assert_true(fault.address >= machine->host.bus && fault.address < machine->host.bus + 4096);
    next_job_runs(machine);
}

void an_error_of_video_memory_is_a_fault(void **context)
{
    struct machine *machine = *context;
    assert_int_equal(ferry_gpu_inject(machine->gpu, FERRY_INJECT_LOCAL_READ_ERROR, 1), FERRY_OK);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x5000, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, 64);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_FAULTED);
    struct ferry_fault fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_LOCAL_ERROR);
    assert_false(fault.is_write);
    assert_int_equal(ferry_gpu_inject(machine->gpu, FERRY_INJECT_LOCAL_WRITE_ERROR, 1), FERRY_OK);
    fill(machine, 0x6000, 64, 0, 7);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_FAULTED);
    fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_LOCAL_ERROR);
    assert_true(fault.is_write);
    next_job_runs(machine);
}

void engine_reset_leaves_the_engine_usable(void **context)
{
    struct machine *machine = *context;
    copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, FERRY_ADDRESS_KIND_LOCAL, 0, 65536);
    const struct ferry_gpu_entry entry = {machine->buffer.bus, 4 * machine->words, false, 0, false, ++machine->fence};
    struct ferry_gpu_fence fence;
    uint32_t number;
    machine->words = 0;
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_PAGING, &entry, &number), FERRY_OK);
    assert_int_equal(ferry_gpu_run(machine->gpu, 2500), FERRY_OK);
    assert_int_equal(ferry_gpu_reset_engine(machine->gpu), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_PAGING, number, 100000), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_PAGING, &fence), FERRY_OK);
    assert_int_equal(fence.status, FERRY_BUFFER_STATUS_ABORTED);
    assert_int_equal(only_fault(machine).kind, FERRY_FAULT_KIND_ENGINE_RESET);
    next_job_runs(machine);
}

// Two windows change places many times, through a third: no packet may run twice, and none may be left out. Resets come
// again and again, at other moments in each round.
void a_buffer_that_a_reset_cut_goes_on_at_the_packet_that_is_named(void **context)
{
    struct machine *machine = *context;
    enum { WINDOW = 1000, SWAPS = 9 };
    const uint64_t windows[3] = {0x20000, 0x21000, 0x22000};
    unsigned cuts = 0, inside = 0;

    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 2; i++)
            fill(machine, windows[i], WINDOW, 0, i + 1);
        assert_int_equal(run(machine, RING_USER), FERRY_BUFFER_STATUS_SUCCESS);
        for (unsigned i = 0; i < SWAPS; i++) {
            for (unsigned k = 0; k < 3; k++)
                copy(machine, FERRY_ADDRESS_KIND_LOCAL, windows[k], FERRY_ADDRESS_KIND_LOCAL, windows[(k + 2) % 3],
                     WINDOW);
        }
        uint32_t bytes = 4 * machine->words, done = 0;
        struct ferry_gpu_fence fence = {.status = FERRY_BUFFER_STATUS_ABORTED};

        machine->words = 0;
        for (unsigned turn = 0; fence.status == FERRY_BUFFER_STATUS_ABORTED; turn++) {
            const struct ferry_gpu_entry entry = {
                machine->buffer.bus + done, bytes - done, false, 0, false, ++machine->fence};
            uint32_t number;

            assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_USER, &entry, &number), FERRY_OK);
            if (turn < 3) {
                assert_int_equal(ferry_gpu_run(machine->gpu, 300 + 37 * round + 500 * turn), FERRY_OK);
                assert_int_equal(ferry_gpu_reset_engine(machine->gpu), FERRY_OK);
            }
            assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_USER, number, 100000), FERRY_OK);
            assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_USER, &fence), FERRY_OK);
            if (fence.status != FERRY_BUFFER_STATUS_ABORTED)
                continue;
            const struct ferry_fault fault = only_fault(machine);
            assert_int_equal(fault.kind, FERRY_FAULT_KIND_ENGINE_RESET);
            assert_int_equal(fault.packet_offset % FERRY_PACKET_COPY_SIZE, 0);
            done += fault.packet_offset;
            assert_true(done < bytes);
            cuts++;
            inside += fault.packet_offset > 0;
        }
        assert_int_equal(fence.status, FERRY_BUFFER_STATUS_SUCCESS);
        for (unsigned i = 0; i < 2; i++)
            copy(machine, FERRY_ADDRESS_KIND_LOCAL, windows[i], FERRY_ADDRESS_KIND_SYSTEM,
                 machine->host.bus + i * WINDOW, WINDOW);
        assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
        // An odd number of swaps.
        for (unsigned i = 0; i < 2 * WINDOW; i++)
            assert_int_equal(host(machine)[i], i < WINDOW ? 2 : 1);
    }
    assert_true(cuts > 60);
    assert_true(inside > 30);
}

// ---- A device that somebody left behind ----

static int nothing_is_written(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    (void)link, (void)bar, (void)offset, (void)value;
    return FERRY_OK;
}

static void link_stays_open(struct ferry_link *link)
{
    (void)link;
}

// The driver goes away with entries done, a fault taken and jobs under way, and its memory with it; in an orderly way,
// or without a word to the device. The next one finds rings that begin at 1.
void a_device_that_somebody_left_behind_is_taken_over(void **context)
{
    struct machine *machine = *context;
    const struct ferry_link_operations *own = machine->link->operations;
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned n = 0; n < 3 + round; n++) {
            next_job_runs(machine);
        }
        copy(machine, FERRY_ADDRESS_KIND_SYSTEM, 0xdead000, FERRY_ADDRESS_KIND_LOCAL, 0, 64);
        assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_FAULTED);
        assert_int_equal(only_fault(machine).sequence, 1);
        copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, 65536);
        const struct ferry_gpu_entry entry = {machine->buffer.bus, 4 * machine->words, true, 0, false,
                                              ++machine->fence};
        for (unsigned n = 0; n < 5; n++) {
            assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_PAGING, &entry, NULL), FERRY_OK);
            assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_USER, &entry, NULL), FERRY_OK);
        }
        assert_int_equal(ferry_gpu_run(machine->gpu, 500 + 1000 * round), FERRY_OK);
        struct ferry_link_operations last = *own;
        last.close = link_stays_open;
        if (round & 1) {
            last.write32 = nothing_is_written;
        }
        machine->link->operations = &last;
        ferry_gpu_memory_free(machine->gpu, &machine->buffer);
        ferry_gpu_memory_free(machine->gpu, &machine->host);
        ferry_gpu_close(machine->gpu);
        machine->link->operations = own;
        machine->words = 0;
        machine->fence = 0;
        const struct ferry_gpu_options options = {
            .size = sizeof(options), .completion_timeout = 3000, .engine_timeout = 20000};
        open_device(machine, &options);
        uint32_t number;
        copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, FERRY_ADDRESS_KIND_LOCAL, 0x7000, 256);
        const struct ferry_gpu_entry first = {machine->buffer.bus, 4 * machine->words, true, 0, false,
                                              ++machine->fence};
        machine->words = 0;
        assert_int_equal(ferry_gpu_ring_submit(machine->gpu, RING_PAGING, &first, &number), FERRY_OK);
        assert_int_equal(number, 1);
        assert_int_equal(ferry_gpu_wait_retired(machine->gpu, RING_PAGING, number, 100000), FERRY_OK);
        struct ferry_gpu_fence fence;
        assert_int_equal(ferry_gpu_ring_completed(machine->gpu, RING_PAGING, &fence), FERRY_OK);
        assert_true(fence.retired == 1 && fence.value == 1 && fence.status == FERRY_BUFFER_STATUS_SUCCESS);
        next_job_runs(machine);
        assert_int_equal(ferry_gpu_ring_pending(machine->gpu, RING_USER), 0);
    }
}
