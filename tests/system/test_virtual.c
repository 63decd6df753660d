// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses through the public interface, driver model 2: what is copied by address is held against plain
// memory, while allocations come and go, move, and are mapped and freed. Where the device has no page tables,
// test_models.c says how the model is refused.
#include "ferry_contract.h"
#include "virtual_machine.h"

// The last byte that there is may be named, and none behind it.
static void addresses_end_with_the_space(void **state)
{
    (void)state;
    struct machine m = begin(2 * MIB);
    const uint64_t end = UINT64_C(1) << 48;

    for (uint32_t bytes = 8; bytes <= 9; bytes++) {
        int expected = bytes == 8 ? FERRY_OK : FERRY_ERROR_RANGE;
        assert_int_equal(ferry_queue_fill_va(m.queue, end - 8, bytes, 0, 1), expected);
        assert_int_equal(ferry_queue_copy_va(m.queue, 4096, end - 8, bytes), expected);
        assert_int_equal(ferry_queue_copy_va(m.queue, end - 8, 4096, bytes), expected);
    }
    assert_int_equal(ferry_queue_fill_va(m.queue, end, 0, 0, 1), FERRY_ERROR_RANGE);
    ferry_adapter_close(m.adapter);
}

// Bounds are for a place that is looked for: beside an address that was chosen they are not even looked at.
static void an_address_that_is_chosen_has_no_bounds(void **state)
{
    (void)state;
    struct machine m = begin(2 * MIB);
    struct ferry_allocation *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const struct {
        uint64_t least, most;
        int without; // an address
    } bounds[] = {{0x123, 0x456, FERRY_ERROR_ARGUMENT},
                  {UINT64_C(1) << 40, 0, FERRY_OK},
                  {0, 64 * KIB, FERRY_ERROR_NO_VIDEO_MEMORY},
                  {0, UINT64_MAX, FERRY_ERROR_ARGUMENT}};

    for (uint32_t i = 0; i < 4; i++) {
        struct ferry_va range = {.size = sizeof range,
                                 .address = 0x40000000,
                                 .least = bounds[i].least,
                                 .most = bounds[i].most,
                                 .bytes = 64 * KIB};
        ok(ferry_va_reserve(m.device, &range));
        assert_true(range.address == 0x40000000);
        ok(ferry_va_map(m.device, one, 0, false, &range));
        assert_true(range.address == 0x40000000);
        ok(ferry_va_free(m.device, range.address, range.bytes));
        range.address = 0;
        assert_int_equal(ferry_va_reserve(m.device, &range), bounds[i].without);
        assert_true(bounds[i].without != FERRY_OK || range.address >= bounds[i].least);
    }
    ferry_adapter_close(m.adapter);
}

static void copies_by_address(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *pair[2] = {make(m.device, 200 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                        make(m.device, 200 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    uint64_t a = map_at(m.device, pair[0], 0, 0, 200 * KIB);
    uint64_t b = map_at(m.device, pair[1], 0x7fff12345000, 4096, 196 * KIB);
    uint8_t *bytes;
    void *address;

    write_content(pair[0], 200 * KIB, 1);
    write_content(pair[1], 200 * KIB, 2);
    must_be_resident(m.device, pair, 2);
    ok(ferry_queue_copy_va(m.queue, b + 77, a + 5, 150 * KIB));
    ok(ferry_queue_fill_va(m.queue, a + 8191, 3, 0xab, 1));
    run(&m);
    ok(ferry_lock(pair[1], FERRY_LOCK_READ_ONLY, &address));
    bytes = address;
    for (uint32_t i = 0; i < 200 * KIB; i++) {
        bool copied = i >= 4096 + 77 && i < 4096 + 77 + 150 * KIB;
        assert_int_equal(bytes[i], copied ? content(1, i - 4096 - 77 + 5) : content(2, i));
    }
    ok(ferry_unlock(pair[1]));
    ok(ferry_lock(pair[0], FERRY_LOCK_READ_ONLY, &address));
    bytes = address;
    for (uint32_t i = 0; i < 200 * KIB; i++)
        assert_int_equal(bytes[i], i >= 8191 && i < 8194 ? 0xab : content(1, i));
    ok(ferry_unlock(pair[0]));
    ferry_adapter_close(m.adapter);
}

static void a_fault_names_the_page_and_stops_that_job_alone(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    struct ferry_va read_only = {.size = sizeof read_only, .bytes = 64 * KIB};
    struct ferry_fault fault = {.size = sizeof fault};
    uint64_t fence, address = map_at(m.device, one, 0, 0, 32 * KIB);
    bool found;

    ok(ferry_va_map(m.device, one, 0, true, &read_only));
    must_be_resident(m.device, &one, 1);
    // The page behind what is mapped.
    ok(ferry_queue_fill_va(m.queue, address + 32 * KIB - 16, 32, 0x11, 1));
    ok(ferry_queue_submit(m.queue, &fence));
    assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
    assert_true(found);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_PAGE_ABSENT);
    assert_int_equal(fault.address_kind, FERRY_ADDRESS_KIND_VIRTUAL);
    assert_true(fault.address == address + 32 * KIB);
    assert_true(fault.is_write && fault.walked);
    assert_int_equal(fault.walk_level, 0);
    assert_int_equal(fault.written, 16);
    // Far from everything: no table either.
    ok(ferry_queue_copy_va(m.queue, 0x123456789000, address, 8));
    ok(ferry_queue_submit(m.queue, &fence));
    assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
    assert_int_equal(fault.walk_level, 3);
    ok(ferry_queue_fill_va(m.queue, read_only.address, 8, 1, 1));
    ok(ferry_queue_submit(m.queue, &fence));
    assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_PAGE_READ_ONLY);
    // Another job of the same queue runs, and finds what was written before the fault.
    ok(ferry_queue_copy_va(m.queue, address, read_only.address + 32 * KIB - 16, 16));
    run(&m);
    void *bytes;
    ok(ferry_lock(one, FERRY_LOCK_READ_ONLY, &bytes));
    assert_int_equal(((uint8_t *)bytes)[15], 0x11);
    ok(ferry_unlock(one));
    ferry_adapter_close(m.adapter);
}

static void bad_ranges_get_a_name_and_change_nothing(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, 256 * KIB, FERRY_FLAG_CPU_VISIBLE), *foreign;
    struct ferry_device *other;
    struct ferry_va_mapping mapping = {.size = sizeof mapping};

    ok(ferry_device_create(m.adapter, &other));
    foreign = make(other, 256 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t live = map_at(m.device, one, 0x100000, 0, 128 * KIB);
    const struct {
        struct ferry_allocation *allocation;
        uint64_t address, offset, bytes;
        int error;
    } bad[] = {
        {one, live + 64 * KIB, 0, 128 * KIB, FERRY_ERROR_BUSY},
        {one, live - 64 * KIB, 0, 128 * KIB, FERRY_ERROR_BUSY},
        {one, 0x200800, 0, 4 * KIB, FERRY_ERROR_ARGUMENT},
        {one, 0x200000, 0, 2 * KIB, FERRY_ERROR_ARGUMENT},
        {one, 0x200000, 512, 4 * KIB, FERRY_ERROR_ARGUMENT},
        {one, 0x200000, 0, 0, FERRY_ERROR_ARGUMENT},
        {one, (UINT64_C(1) << 48) - 4096, 0, 8 * KIB, FERRY_ERROR_ARGUMENT},
        {one, UINT64_C(1) << 48, 0, 4 * KIB, FERRY_ERROR_ARGUMENT},
        {one, 0x200000, 252 * KIB, 8 * KIB, FERRY_ERROR_RANGE},
        {foreign, 0x200000, 0, 4 * KIB, FERRY_ERROR_FOREIGN},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ferry_va range = {.size = sizeof range, .address = bad[i].address, .bytes = bad[i].bytes};

        assert_int_equal(ferry_va_map(m.device, bad[i].allocation, bad[i].offset, false, &range), bad[i].error);
    }
    ok(ferry_va_find(m.device, 0, &mapping));
    assert_true(mapping.address == live && mapping.bytes == 128 * KIB && mapping.mapped);
    assert_int_equal(mapping.allocation, ferry_allocation_id(one));
    nothing_is_chosen_from(m.device, live + 128 * KIB);
    struct ferry_va unaligned = {.size = sizeof unaligned, .address = 0x201000, .bytes = 64 * KIB};
    assert_int_equal(ferry_va_reserve(m.device, &unaligned), FERRY_ERROR_ARGUMENT);
    // Bounds are as whole as what is between them.
    const uint64_t bounds[][2] = {
        {0x10001000, 0}, {0, 0x10001000}, {0x10000000, UINT64_C(1) << 49}, {1u << 30, 1u << 30}};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct ferry_va range = {.size = sizeof range, .least = bounds[i][0], .most = bounds[i][1], .bytes = 64 * KIB};

        assert_int_equal(ferry_va_reserve(m.device, &range), FERRY_ERROR_ARGUMENT);
        assert_int_equal(range.address, 0);
    }
    assert_int_equal(ferry_va_free(m.device, live, 64 * KIB), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, live + 64 * KIB, 64 * KIB), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, 0x900000, 64 * KIB), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, live, 128 * KIB + 512), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, live - 512, 128 * KIB + 512), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, live, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, live, (UINT64_C(1) << 48) - live + 4 * KIB), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, live, UINT64_MAX - 4095), FERRY_ERROR_ARGUMENT);
    // A reservation, mapped in parts, and freed as a whole.
    struct ferry_va reserved = {.size = sizeof reserved, .least = 0x10000000, .bytes = 512 * KIB};
    ok(ferry_va_reserve(m.device, &reserved));
    map_at(m.device, one, reserved.address + 64 * KIB, 0, 4 * KIB);
    map_at(m.device, one, reserved.address + 128 * KIB, 0, 4 * KIB);
    // Nor is what is only reserved cut in two: at the end of what is to be freed, at its beginning.
    assert_int_equal(ferry_va_free(m.device, reserved.address, 100 * KIB), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, reserved.address + 100 * KIB, 412 * KIB), FERRY_ERROR_ARGUMENT);
    ok(ferry_va_find(m.device, reserved.address + 64 * KIB, &mapping));
    assert_true(mapping.mapped && mapping.address == reserved.address + 64 * KIB && mapping.bytes == 4 * KIB);
    ok(ferry_va_find(m.device, reserved.address + 128 * KIB, &mapping));
    assert_true(mapping.mapped && mapping.address == reserved.address + 128 * KIB);
    ok(ferry_va_free(m.device, reserved.address, 512 * KIB));
    nothing_is_chosen_from(m.device, reserved.address);
    // What was mapped in the middle and is gone has left it a reservation all over.
    ok(ferry_va_reserve(m.device, &reserved));
    struct ferry_allocation *middle = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
                            *whole = make(m.device, 512 * KIB, FERRY_FLAG_CPU_VISIBLE);
    map_at(m.device, middle, reserved.address + 64 * KIB, 0, 64 * KIB);
    ok(ferry_allocation_destroy(middle));
    map_at(m.device, whole, reserved.address, 0, 512 * KIB);
    ok(ferry_va_free(m.device, reserved.address, 512 * KIB));
    ok(ferry_allocation_destroy(whole));
    nothing_is_chosen_from(m.device, reserved.address);
    // Mappings end with their allocation.
    ok(ferry_allocation_destroy(one));
    nothing_is_chosen_from(m.device, 0);
    ferry_adapter_close(m.adapter);
}

// What names an allocation is recorded with its address, which it keeps wherever it goes; Patch has nothing to do.
static void jobs_name_allocations_by_their_own_addresses(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *pair[2] = {make(m.device, 100 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                        make(m.device, 100 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    struct ferry_va_mapping mapping = {.size = sizeof mapping};
    struct ferry_fault fault = {.size = sizeof fault};
    uint64_t fence, own[2];
    bool found;
    void *bytes;

    for (uint32_t i = 0, at = 0; i < 2; i++) {
        ok(ferry_va_find(m.device, i ? own[0] + 100 * KIB : at, &mapping));
        assert_true(mapping.address >= OWN_ADDRESSES && mapping.bytes == 100 * KIB && !mapping.read_only);
        assert_int_equal(mapping.allocation, ferry_allocation_id(pair[i]));
        assert_int_equal(mapping.offset, 0);
        own[i] = mapping.address;
        write_content(pair[i], 100 * KIB, i);
    }
    must_be_resident(m.device, pair, 2);
    ok(ferry_queue_copy(m.queue, pair[1], 9, pair[0], 5, 70 * KIB));
    ok(ferry_queue_fill(m.queue, pair[1], 80 * KIB, 16, 0x77, 1));
    run(&m);
    ok(ferry_lock(pair[1], FERRY_LOCK_READ_ONLY, &bytes));
    for (uint32_t i = 0; i < 100 * KIB; i++)
        assert_int_equal(((uint8_t *)bytes)[i], i >= 9 && i < 9 + 70 * KIB           ? content(0, i - 9 + 5)
                                                : i >= 80 * KIB && i < 80 * KIB + 16 ? 0x77
                                                                                     : content(1, i));
    ok(ferry_unlock(pair[1]));
    // Who frees them leads nowhere, and not to what is mapped there afterwards: what was recorded before, and after.
    ok(ferry_queue_copy(m.queue, pair[1], 4096, pair[0], 0, 8));
    ok(ferry_va_free(m.device, own[1], 100 * KIB));
    for (uint32_t i = 0; i < 2; i++) {
        ok(ferry_queue_submit(m.queue, &fence));
        assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
        ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
        assert_true(found && fault.is_write);
        assert_int_equal(fault.kind, FERRY_FAULT_KIND_RANGE);
        assert_int_equal(fault.address_kind, FERRY_ADDRESS_KIND_VIRTUAL);
        assert_true(fault.address == (UINT64_C(1) << 48) + 4096);
        if (i == 0)
            map_at(m.device, pair[0], own[1], 0, 100 * KIB);
        ok(ferry_queue_copy(m.queue, pair[1], 4096, pair[0], 0, 8));
    }
    expect_content(pair[0], 100 * KIB, 0);
    ok(ferry_allocation_destroy(pair[0]));
    ok(ferry_va_find(m.device, 0, &mapping));
    assert_int_equal(mapping.bytes, 0);
    ferry_adapter_close(m.adapter);
}

static void programs_have_addresses_of_their_own(void **state)
{
    (void)state;
    struct ferry_adapter *adapter = open_model2(8 * MIB);
    struct ferry_process *processes[15];
    struct machine m[3];
    struct ferry_allocation *one[3];

    for (uint32_t i = 0; i < 3; i++) {
        ok(ferry_process_create(adapter, NULL, &processes[i]));
        m[i].adapter = adapter;
        ok(ferry_process_create_device(processes[i], &m[i].device));
        ok(ferry_queue_create(m[i].device, &m[i].queue));
        one[i] = make(m[i].device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
        map_at(m[i].device, one[i], 0x40000000, 0, 64 * KIB);
        must_be_resident(m[i].device, &one[i], 1);
    }
    for (uint32_t i = 0; i < 3; i++)
        ok(ferry_queue_fill_va(m[i].queue, 0x40000000, 64 * KIB, 0x10 + i, 1));
    for (uint32_t i = 0; i < 3; i++)
        run(&m[i]);
    for (uint32_t i = 0; i < 3; i++) {
        void *address;

        ok(ferry_lock(one[i], FERRY_LOCK_READ_ONLY, &address));
        for (uint32_t k = 0; k < 64 * KIB; k++)
            assert_int_equal(((uint8_t *)address)[k], 0x10 + i);
        ok(ferry_unlock(one[i]));
    }
    // The device has sixteen spaces: of the paging process, of the devices of no program, and of fourteen programs.
    for (uint32_t i = 3; i < 14; i++)
        ok(ferry_process_create(adapter, NULL, &processes[i]));
    assert_string_equal(ferry_problem(), "");
    assert_int_equal(ferry_process_create(adapter, NULL, &processes[14]), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_non_null(strstr(ferry_problem(), "15 address spaces"));
    // A space that was given back knows nothing of the one before.
    ok(ferry_process_destroy(processes[0]));
    const struct ferry_process_options greedy = {.size = sizeof greedy, .reservation_bytes = 8 * MIB};
    assert_int_equal(ferry_process_create(adapter, &greedy, &processes[0]), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_string_equal(ferry_problem(), "");
    ok(ferry_process_create(adapter, NULL, &processes[0]));
    ok(ferry_process_create_device(processes[0], &m[0].device));
    ok(ferry_queue_create(m[0].device, &m[0].queue));
    one[0] = make(m[0].device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    map_at(m[0].device, one[0], 0x80000000, 0, 64 * KIB);
    must_be_resident(m[0].device, &one[0], 1);
    uint64_t fence;
    ok(ferry_queue_fill_va(m[0].queue, 0x40000000, 8, 1, 1));
    ok(ferry_queue_submit(m[0].queue, &fence));
    assert_int_equal(ferry_queue_wait(m[0].queue, fence), FERRY_ERROR_FAULT);
    ferry_adapter_close(adapter);
}

// ---- Random -------------------------------------------------------------------------------------------------------

static uint64_t drawn;
static uint64_t draw(uint64_t below)
{
    return draw_below(&drawn, below);
}

#define COUNT 14u
#define PAGES 70u // of each: tails, groups
struct plain {
    struct ferry_allocation *allocation;
    uint8_t bytes[PAGES * 4096];
    uint64_t address; // 0 = not mapped
    uint64_t offset, length;
    bool resident;
};

// All devices of no program are one as long as there are any: what is reserved is the next ones' too, but not of those
// that come when all have gone.
static void what_is_reserved_goes_with_the_last_device_of_no_program(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_va range = {.size = sizeof range, .address = 0x40000000, .bytes = 256 * KIB};
    struct ferry_device *second, *third;

    ok(ferry_va_reserve(m.device, &range));
    struct ferry_allocation *allocation = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    map_at(m.device, allocation, range.address + 64 * KIB, 0, 64 * KIB);
    ok(ferry_device_create(m.adapter, &second));
    ok(ferry_device_destroy(m.device));
    assert_int_equal(ferry_va_reserve(second, &range), FERRY_ERROR_BUSY);
    ok(ferry_device_destroy(second));
    ok(ferry_device_create(m.adapter, &third));
    nothing_is_chosen_from(third, 0);
    ok(ferry_va_reserve(third, &range));
    ferry_adapter_close(m.adapter);
}

// 2 MiB for 9 x 280 KiB and an aperture of 1 MiB for 5: whoever comes in pushes others out, and those in memory move.
static void random_programs_agree_with_plain_memory(void **state)
{
    (void)state;
    say_random();
    drawn = seed * 77 + 5;
    struct machine m = begin(2 * MIB);
    struct plain *all = calloc(COUNT, sizeof *all);
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = sizeof all[0].bytes, .flags = FERRY_FLAG_CPU_VISIBLE};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    // Until so much was seen, which takes another number of steps with each seed. The simulated device runs no longer:
    // a step takes it some twenty times as long.
    uint32_t copies = 0, least_copies = on_model() ? 500 : 100, least_evictions = on_model() ? 100 : 15;
    uint32_t least_updates = on_model() ? 500 : 50, least_flushes = on_model() ? 200 : 10;
    // Places are drawn from 48 bits, and some seeds keep the tables of such as nobody copies from for long.
    const int least_steps = on_model() ? 1500 : 0, most_steps = 60000;

    for (uint32_t i = 0; i < COUNT; i++) {
        options.in_aperture = i % 3 == 1;
        ok(ferry_allocation_create(m.device, &options, &all[i].allocation));
        write_content(all[i].allocation, sizeof all[i].bytes, i);
        for (uint32_t k = 0; k < sizeof all[i].bytes; k++)
            all[i].bytes[k] = content(i, k);
    }
    for (int step = 0; step < most_steps; step++) {
        ok(ferry_adapter_statistics(m.adapter, &statistics));
        if (step >= least_steps && copies > least_copies && statistics.evictions > least_evictions &&
            statistics.operations[11] > least_updates && statistics.operations[12] > least_flushes)
            break;
        struct plain *a = &all[draw(COUNT)], *b = &all[draw(COUNT)];
        uint64_t fence;

        switch (draw(8)) {
        case 0: // mapped elsewhere, in part
            if (a->address)
                ok(ferry_va_free(m.device, a->address, a->length));
            a->address = 0;
            if (draw(4)) {
                a->offset = draw(PAGES) * 4096;
                a->length = (1 + draw((sizeof a->bytes - a->offset) / 4096)) * 4096;
                struct ferry_va range = {.size = sizeof range, .bytes = a->length};
                if (draw(2)) // anywhere in 48 bits, as it comes
                    range.address = (1 + draw(1u << 20)) << (12 + draw(16));
                int error = ferry_va_map(m.device, a->allocation, a->offset, false, &range);
                // Somebody else's, or no tables left.
                assert_true(error == FERRY_OK || error == FERRY_ERROR_BUSY || error == FERRY_ERROR_NO_VIDEO_MEMORY);
                a->address = error == FERRY_OK ? range.address : 0;
            }
            break;
        case 1: { // read by the CPU
            void *address;
            ok(ferry_lock(a->allocation, FERRY_LOCK_READ_ONLY, &address));
            assert_memory_equal(address, a->bytes, sizeof a->bytes);
            ok(ferry_unlock(a->allocation));
            break;
        }
        default: { // a job of some copies, not waited for
            struct ferry_allocation *pair[2] = {a->allocation, b->allocation};

            if (!a->address || !b->address || a == b)
                break;
            must_be_resident(m.device, pair, 2);
            for (uint64_t n = 1 + draw(4); n > 0; n--) {
                uint64_t bytes = 1 + draw(a->length < b->length ? a->length : b->length);
                uint64_t from = draw(a->length - bytes + 1), to = draw(b->length - bytes + 1);

                ok(ferry_queue_copy_va(m.queue, b->address + to, a->address + from, (uint32_t)bytes));
                memmove(b->bytes + b->offset + to, a->bytes + a->offset + from, bytes);
                copies++;
            }
            ok(ferry_queue_submit(m.queue, &fence));
            evict(m.device, pair, 2);
            if (draw(20) == 0)
                ok(ferry_queue_wait(m.queue, fence));
            break;
        }
        }
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        void *address;

        ok(ferry_lock(all[i].allocation, FERRY_LOCK_READ_ONLY, &address));
        assert_memory_equal(address, all[i].bytes, sizeof all[i].bytes);
        ok(ferry_unlock(all[i].allocation));
    }
    ok(ferry_adapter_statistics(m.adapter, &statistics));
    assert_true(copies > least_copies && statistics.evictions > least_evictions);
    assert_true(statistics.operations[11] > least_updates);
    assert_true(statistics.operations[12] > least_flushes);
    assert_int_equal(statistics.faults, 0);
    ferry_adapter_close(m.adapter);
    free(all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_by_address),
        cmocka_unit_test(addresses_end_with_the_space),
        cmocka_unit_test(an_address_that_is_chosen_has_no_bounds),
        cmocka_unit_test(a_fault_names_the_page_and_stops_that_job_alone),
        cmocka_unit_test(bad_ranges_get_a_name_and_change_nothing),
        cmocka_unit_test(jobs_name_allocations_by_their_own_addresses),
        cmocka_unit_test(programs_have_addresses_of_their_own),
        cmocka_unit_test(what_is_reserved_goes_with_the_last_device_of_no_program),
        cmocka_unit_test(random_programs_agree_with_plain_memory),
    };

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
