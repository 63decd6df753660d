// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of allocations in the aperture, through the public interface: copies by address reach the pages
// of host memory, in both directions; what has left the aperture, or was freed, leads nowhere, and its jobs alone
// fault.
#include "ferry_contract.h"
#include "system.h"

#define KIB      1024u
#define MIB      (1024u * KIB)
#define PAGES    24u
#define BYTES    (PAGES * FERRY_PAGE_BYTES)
#define APERTURE 64u // pages

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *one, *beside; // in the aperture; in video memory
};

static struct machine begin(bool iommu)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 2 * MIB,
                                            .aperture_bytes = APERTURE * FERRY_PAGE_BYTES,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory,
                                            .iommu = iommu};
    struct machine m = {0};

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    m.one = make_in_aperture(m.device, PAGES);
    m.beside = make(m.device, BYTES, FERRY_FLAG_CPU_VISIBLE);
    write_content(m.one, BYTES, 1);
    write_content(m.beside, BYTES, 2);
    must_be_resident(m.device, &m.one, 1);
    must_be_resident(m.device, &m.beside, 1);
    return m;
}

static uint64_t map(struct machine *m, struct ferry_allocation *allocation, uint64_t offset, uint64_t bytes,
                    bool read_only)
{
    struct ferry_va range = {.size = sizeof range, .bytes = bytes};

    ok(ferry_va_map(m->device, allocation, offset, read_only, &range));
    return range.address;
}

static int run(struct machine *m)
{
    uint64_t fence;

    ok(ferry_queue_submit(m->queue, &fence));
    return ferry_queue_wait(m->queue, fence);
}

static void ends_with(struct machine *m, int result, uint32_t kind, uint64_t address)
{
    struct ferry_fault fault = {.size = sizeof fault};
    bool found;

    assert_int_equal(result, FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m->adapter, &fault, &found));
    assert_true(found);
    assert_int_equal(fault.kind, kind);
    assert_true(fault.address == address);
}

static void faults_with(struct machine *m, uint32_t kind, uint64_t address)
{
    ends_with(m, run(m), kind, address);
}

// `count` bytes of the allocation from `at` on are those that content number `number` has from `from` on.
static void check(struct ferry_allocation *allocation, uint32_t at, uint32_t number, uint32_t from, uint32_t count)
{
    void *bytes;

    ok(ferry_lock(allocation, FERRY_LOCK_READ_ONLY, &bytes));
    for (uint32_t i = 0; i < count; i++)
        if (((uint8_t *)bytes)[at + i] != content(number, from + i))
            fail_msg("byte %u is %x", at + i, ((uint8_t *)bytes)[at + i]);
    ok(ferry_unlock(allocation));
}

static void copies_reach_host_memory_by_address(void **state)
{
    (void)state;
    struct machine m = begin(false);
    uint64_t from = map(&m, m.one, 5 * FERRY_PAGE_BYTES, 9 * FERRY_PAGE_BYTES, false),
             to = map(&m, m.beside, 0, BYTES, false);

    ok(ferry_queue_copy_va(m.queue, to + 77, from + 3, 8 * FERRY_PAGE_BYTES));
    ok(run(&m));
    check(m.beside, 77, 1, 5 * FERRY_PAGE_BYTES + 3, 8 * FERRY_PAGE_BYTES);
    check(m.beside, 0, 2, 0, 77);
    ok(ferry_queue_copy_va(m.queue, from + 4095, to + 8 * FERRY_PAGE_BYTES + 77, 5 * FERRY_PAGE_BYTES + 1));
    ok(run(&m));
    check(m.one, 0, 1, 0, 6 * FERRY_PAGE_BYTES - 1);
    check(m.one, 6 * FERRY_PAGE_BYTES - 1, 2, 8 * FERRY_PAGE_BYTES + 77, 5 * FERRY_PAGE_BYTES + 1);
    check(m.one, 11 * FERRY_PAGE_BYTES, 1, 11 * FERRY_PAGE_BYTES, BYTES - 11 * FERRY_PAGE_BYTES);
    ferry_adapter_close(m.adapter);
}

// Among themselves, and by the allocation's name, which is its own address.
static void one_page_has_several_addresses(void **state)
{
    (void)state;
    struct machine m = begin(false);
    uint64_t first = map(&m, m.one, 0, BYTES, false), second = map(&m, m.one, 0, BYTES, false);

    assert_true(first != second);
    ok(ferry_queue_copy_va(m.queue, first + 10 * FERRY_PAGE_BYTES, second, FERRY_PAGE_BYTES));
    ok(ferry_queue_copy(m.queue, m.one, 20 * FERRY_PAGE_BYTES, m.one, 10 * FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    ok(ferry_queue_copy_va(m.queue, second + 15 * FERRY_PAGE_BYTES, first + 20 * FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    ok(run(&m));
    for (uint32_t page = 0; page < PAGES; page++)
        check(m.one, page * FERRY_PAGE_BYTES, 1, page == 10 || page == 15 || page == 20 ? 0 : page * FERRY_PAGE_BYTES,
              FERRY_PAGE_BYTES);
    ferry_adapter_close(m.adapter);
}

static void a_walk_ends_in_host_memory(void **state)
{
    (void)state;
    struct machine m = begin(false);
    uint64_t address = map(&m, m.one, 0, BYTES, true);
    struct ferry_va_steps walk = {.size = sizeof walk};
    const struct ferry_va_step *last;

    ok(ferry_queue_copy_va(m.queue, map(&m, m.beside, 0, BYTES, false), address, 64));
    ok(run(&m));
    // Whatever the addresses' alignment, no two pages of it need be neighbours.
    for (uint32_t page = 0; page < PAGES; page++) {
        ok(ferry_va_walk(m.device, address + page * FERRY_PAGE_BYTES, &walk));
        assert_int_equal(walk.count, 4);
        last = &walk.steps[3];
        assert_true(last->valid && last->is_page && last->host && last->read_only && !last->group);
    }
    ok(ferry_queue_copy_va(m.queue, address + 4096, address, 16));
    faults_with(&m, FERRY_FAULT_KIND_PAGE_READ_ONLY, address + 4096);
    check(m.one, 0, 1, 0, BYTES);
    ferry_adapter_close(m.adapter);
}

static void push_out(struct machine *m)
{
    struct ferry_allocation *large = make_in_aperture(m->device, APERTURE - 2);
    struct ferry_placement placement = {.size = sizeof placement};

    evict(m->device, &m->one, 1);
    must_be_resident(m->device, &large, 1);
    ok(ferry_allocation_placement(m->one, &placement));
    assert_int_equal(placement.segment, 0);
    evict(m->device, &large, 1);
    ok(ferry_allocation_destroy(large));
}

// A job that is submitted, and waits for a longer one. Nothing is mapped yet where it goes, so nobody cares that what
// it is to meet has to be there.
static uint64_t go_there_late(struct machine *m, uint64_t to, uint64_t from)
{
    uint64_t fence;

    for (uint32_t i = 0; i < 40; i++)
        ok(ferry_queue_copy(m->queue, m->beside, 0, m->beside, 0, BYTES));
    ok(ferry_queue_copy_va(m->queue, to, from, 64));
    ok(ferry_queue_submit(m->queue, &fence));
    return fence;
}

static void what_has_left_or_was_freed_leads_nowhere(void **state)
{
    (void)state;
    for (int iommu = 0; iommu < 2; iommu++) {
        struct machine m = begin(iommu);
        const uint64_t address = 0x123450000000;
        struct ferry_va range = {.size = sizeof range, .address = address, .bytes = BYTES};
        uint64_t other = map(&m, m.beside, 0, BYTES, false);

        for (uint32_t round = 0; round < 3; round++) {
            push_out(&m);
            uint64_t fence = go_there_late(&m, other, address);
            ok(ferry_va_map(m.device, m.one, 0, false, &range));
            ends_with(&m, ferry_queue_wait(m.queue, fence), FERRY_FAULT_KIND_PAGE_ABSENT, address);
            ok(ferry_queue_copy_va(m.queue, other, address, 64));
            assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_NOT_RESIDENT);
            check(m.beside, 0, round ? 1 : 2, 0, 64);
            must_be_resident(m.device, &m.one, 1);
            ok(run(&m));
            ok(ferry_queue_copy_va(m.queue, other, address, BYTES));
            ok(run(&m));
            check(m.beside, 0, 1, 0, BYTES);
            // Mapped while it is in, it leaves, and nothing has changed for who goes there.
            if (round < 2)
                ok(ferry_va_free(m.device, address, BYTES));
        }
        ok(ferry_va_free(m.device, address, BYTES));
        // It is still known by the address that it has by itself, and whoever names it finds the other gone.
        ok(ferry_queue_copy(m.queue, m.beside, 0, m.one, 4096, 4096));
        ok(run(&m));
        check(m.beside, 0, 1, 4096, 4096);
        ok(ferry_queue_copy_va(m.queue, address + 8, other, 64));
        faults_with(&m, FERRY_FAULT_KIND_PAGE_ABSENT, address + 8);
        check(m.one, 0, 1, 0, BYTES);
        ferry_adapter_close(m.adapter);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_reach_host_memory_by_address),
        cmocka_unit_test(one_page_has_several_addresses),
        cmocka_unit_test(a_walk_ends_in_host_memory),
        cmocka_unit_test(what_has_left_or_was_freed_leads_nowhere),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
