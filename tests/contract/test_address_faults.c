// SPDX-License-Identifier: Apache-2.0
// Page tables of GPU virtual addresses when the paging buffers that change them fault, and when they are slow: a job
// finds what it names mapped, whatever else was queued for it, and nothing that was taken away. Driver model 2 of the
// real miniport; jobs are copies by address, held against plain memory.
#include <stdio.h>
#include <stdlib.h>

#include "ferry_contract.h"
#include "world.h"

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

static struct world *begin(uint64_t pages, uint32_t buffer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(pages);
    options.machine.model = 2;
    options.manager.paging_buffer_bytes = buffer_bytes;
    return world_open(&options);
}

static uint64_t map(struct world *world, D3DKMT_HANDLE allocation, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = address, .bytes = PAGES(pages)};
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range), FERRY_OK);
    return range.address;
}

static void unmap(struct world *world, uint64_t address, uint64_t pages)
{
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, address, PAGES(pages)), FERRY_OK);
}

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes);
}

// A copy by address, of a job that names both sides.
static uint64_t copy(struct world *world, D3DKMT_HANDLE context, const D3DKMT_HANDLE names[2], uint64_t to,
                     uint64_t from, uint32_t bytes)
{
    const uint32_t kind = FERRY_ADDRESS_KIND_VIRTUAL;
    uint8_t packet[FERRY_PACKET_COPY_SIZE] = {0};
    struct ferry_vidmm_reference references[2] = {{names[0], true}, {names[1], false}};
    struct ferry_vidmm_submission job = {
        .commands = packet, .bytes = sizeof(packet), .references = references, .reference_count = 2};
    uint64_t fence = 0;
    put(packet,
        FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, (uint32_t)FERRY_OPCODE_COPY) |
            FERRY_PUT(FERRY_PACKET_HEADER_WORDS, (uint32_t)sizeof(packet) / 4),
        4);
    put(packet + 4,
        FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, kind) | FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind), 4);
    put(packet + FERRY_PACKET_COPY_BYTES, bytes, 4);
    put(packet + FERRY_PACKET_COPY_SOURCE, from, 8);
    put(packet + FERRY_PACKET_COPY_DESTINATION, to, 8);
    assert_int_equal(ferry_vidmm_submit(world->manager, context, &job, 1, &fence), FERRY_OK);
    return fence;
}

static D3DKMT_HANDLE context_on(struct world *world, uint32_t node)
{
    D3DKMT_HANDLE context;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, node, &context, NULL), FERRY_OK);
    return context;
}

// The new entries of one stand behind those of another, which has a job that hangs. The CPU reads the first meanwhile,
// which takes an operation that is over soon; a job of it waits for the entries all the same.
static void a_job_waits_for_its_addresses_whatever_came_after_them(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), held = world_create(world, PAGES(2), CPU),
                  one = world_create(world, PAGES(2), CPU), other = world_create(world, PAGES(2), CPU);
    uint64_t address_held = map(world, held, 0x100000, 2), address_other = map(world, other, 0x200000, 2);
    void *bytes;
    world_write(world, held, 1);
    world_write(world, one, 2);
    world_write(world, other, 3);
    world_require(world, held);
    world_require(world, one);
    world_require(world, other);
    // Newer than any copy elsewhere, so that a lock reads it back.
    world_wait(world, world_gpu_copy(world, one, 0, one, PAGE_SIZE, PAGE_SIZE));
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, (const D3DKMT_HANDLE[2]){held, held}, address_held, address_held + PAGE_SIZE, 64);
    unmap(world, address_held, 2);
    uint64_t address_one = map(world, one, 0x300000, 2);
    assert_int_equal(ferry_vidmm_lock(world->manager, one, D3DDDI_LOCK_READ_ONLY, &bytes), FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, one), FERRY_OK);
    uint64_t fence =
        copy(world, quick, (const D3DKMT_HANDLE[2]){other, one}, address_other, address_one + 16, PAGE_SIZE);
    for (unsigned i = 0; i < 20; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, fence), FERRY_OK);
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, other).offset, &word, 4);
    // Of the second page, which was copied over the first.
    assert_int_equal(word, world_word(2, PAGE_SIZE / 4 + 4));
    world_close(world);
}

// Each waits for its own: what one that hangs keeps in the line keeps nobody else, although both are of one program and
// in one table.
static void addresses_of_one_do_not_wait_for_a_job_of_another(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    D3DKMT_HANDLE slow = context_on(world, 1), quick = context_on(world, 2), held = world_create(world, PAGES(2), CPU),
                  one = world_create(world, PAGES(2), CPU), heir = world_create(world, PAGES(2), CPU);
    uint64_t address_held = map(world, held, 0x100000, 2);
    map(world, heir, 0x180000, 2); // The table stays.
    world_write(world, held, 1);
    world_write(world, one, 2);
    world_write(world, heir, 3);
    world_require(world, held);
    world_require(world, one);
    world_require(world, heir);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    copy(world, slow, (const D3DKMT_HANDLE[2]){held, held}, address_held, address_held + PAGE_SIZE, 64);
    unmap(world, address_held, 2);
    uint64_t address_one = map(world, one, 0x104000, 2);
    uint64_t fence = copy(world, quick, (const D3DKMT_HANDLE[2]){one, one}, address_one, address_one + PAGE_SIZE, 64);
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, fence), FERRY_OK);
    // What is about the same addresses has to wait.
    assert_int_equal(map(world, heir, 0x100000, 2), address_held);
    const D3DKMT_HANDLE names[2] = {heir, heir};
    fence = copy(world, quick, names, address_held + PAGE_SIZE, address_held, 64);
    for (unsigned i = 0; i < 200; i++)
        ferry_vidmm_poll(world->manager, true);
    uint64_t reached = 0;
    assert_int_equal(ferry_vidmm_completed(world->manager, quick, &reached), FERRY_OK);
    assert_true(reached < fence);
    world->knobs->hold_node = 0;
    assert_int_equal(ferry_vidmm_wait(world->manager, quick, fence), FERRY_OK);
    uint32_t word;
    machine_peek(world->machine, machine_local_segment, world_place(world, heir).offset + PAGE_SIZE, &word, 4);
    assert_int_equal(word, world_word(3, 0));
    world_close(world);
}

// One buffer takes away what makes room, forgets it and brings in what comes there: nobody waits for the flush outside.
// A page-out stands in one of its own.
static void who_comes_shares_a_buffer_with_who_leaves(void **state)
{
    (void)state;
    for (unsigned dirty = 0; dirty < 2; dirty++) {
        struct world *world = begin(64, 0);
        // Content that has a permanent backing store leaves without a transfer unless the GPU wrote it.
        D3DKMT_HANDLE one = world_create(world, PAGES(40), CPU | DXGK_ALLOC_FLAG_PERMANENT_SYSMEM),
                      other = world_create(world, PAGES(40), CPU);
        uint64_t at = map(world, one, 0, 40), there = map(world, other, 0, 40);
        world_write(world, one, 1);
        world_write(world, other, 2);
        world_require(world, one);
        if (dirty)
            world_wait(world, copy(world, world->context, (const D3DKMT_HANDLE[2]){one, one}, at, at + PAGE_SIZE, 64));
        assert_int_equal(world_evict(world, one), FERRY_OK);
        struct ferry_vidmm_statistics before = world_statistics(world);
        world_require(world, other);
        struct ferry_vidmm_statistics after = world_statistics(world);
        assert_int_equal(after.evictions - before.evictions, 1);
        assert_int_equal(after.operations[DXGK_OPERATION_FLUSH_TLB] - before.operations[DXGK_OPERATION_FLUSH_TLB], 1);
        assert_int_equal(after.paging_buffers - before.paging_buffers, dirty ? 3 : 1);
        world_wait(world,
                   copy(world, world->context, (const D3DKMT_HANDLE[2]){other, other}, there, there + PAGE_SIZE, 64));
        world_close(world);
    }
}

// What does not fit into that buffer is not with the device before it is over: if it faults, the rest would be written
// where addresses still lead.
static void who_comes_goes_on_when_who_leaves_is_gone(void **state)
{
    (void)state;
    struct world *world = begin(512, 1024);
    D3DKMT_HANDLE one = world_create(world, PAGES(300), CPU | DXGK_ALLOC_FLAG_PERMANENT_SYSMEM),
                  other = world_create(world, PAGES(300), CPU);
    map(world, one, 0, 300);
    world_write(world, one, 1);
    world_write(world, other, 2);
    world_require(world, one);
    assert_int_equal(world_evict(world, one), FERRY_OK);
    struct ferry_vidmm_statistics before = world_statistics(world);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    assert_int_equal(world_resident(world, &other, 1), FERRY_PENDING);
    for (unsigned i = 0; i < 20; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).evictions - before.evictions, 1);
    assert_int_equal(world_statistics(world).paging_buffers - before.paging_buffers, 1);
    world->knobs->fault_addresses = 1;
    world->knobs->hold_paging = false;
    world_require(world, other);
    assert_true(world_statistics(world).paging_buffers - before.paging_buffers >= 3);
    world_check_gpu(world, other, 2);
    world_close(world);
}

// Nothing that is to be forgotten is given up quietly, however often its buffer faults.
static void addresses_that_cannot_be_changed_are_a_critical_stop(void **state)
{
    (void)state;
    for (unsigned when = 0; when < 2; when++) {
        struct world *world = begin(64, 0);
        D3DKMT_HANDLE one = world_create(world, PAGES(20), CPU);
        struct ferry_vidmm_critical record;
        world_write(world, one, 1);
        uint64_t address = when ? map(world, one, 0, 20) : 0;
        world_require(world, one);
        world->knobs->delay = 1;
        world->knobs->fault_addresses = 1000;
        if (when)
            unmap(world, address, 20);
        else
            map(world, one, 0, 20);
        for (unsigned i = 0; i < 100; i++)
            ferry_vidmm_poll(world->manager, true);
        assert_true(ferry_vidmm_critical(world->manager, &record));
        assert_int_equal(record.code, FERRY_CRITICAL_TABLE_FAULTED);
        assert_true(record.operation == DXGK_OPERATION_UPDATE_PAGE_TABLE);
        assert_true(1000 - world->knobs->fault_addresses < 20);
        world_close(world);
    }
}

// A buffer that shares entries and what has them forgotten faults twice: both are carried out in the end.
static void what_is_to_be_forgotten_is_forgotten_though_its_buffer_faults(void **state)
{
    (void)state;
    for (unsigned faults = 1; faults < 8; faults++) {
        struct world *world = begin(64, 0);
        D3DKMT_HANDLE one = world_create(world, PAGES(4), CPU), other = world_create(world, PAGES(4), CPU);
        world_write(world, one, 1);
        world_write(world, other, 2);
        world_require(world, one);
        world_require(world, other);
        uint64_t at = map(world, one, 0x400000, 4), there = map(world, other, 0x800000, 4);
        const D3DKMT_HANDLE names[2] = {other, one};
        // The device remembers the pages from now on.
        world_wait(world, copy(world, world->context, names, there, at, PAGE_SIZE));
        world->knobs->delay = 1;
        world->knobs->hold_paging = true;
        unmap(world, at, 4);
        assert_int_equal(map(world, other, 0x400000, 4), at);
        world->knobs->fault_addresses = faults;
        world->knobs->hold_paging = false;
        world_wait(world, copy(world, world->context, (const D3DKMT_HANDLE[2]){other, other}, at + PAGE_SIZE,
                               at + 2 * PAGE_SIZE, PAGE_SIZE));
        assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
        world_check_gpu(world, one, 1);
        uint32_t word;
        machine_peek(world->machine, machine_local_segment, world_place(world, other).offset + PAGE_SIZE, &word, 4);
        assert_int_equal(word, world_word(2, 2 * PAGE_SIZE / 4));
        world_close(world);
    }
}

// ---- Random -------------------------------------------------------------------------------------------------------

#define COUNT 9u
#define MOST  18u
struct plain {
    D3DKMT_HANDLE handle;
    uint8_t bytes[PAGES(MOST)];
    uint32_t pages;
    uint64_t address; // 0 = not mapped
};

static bool is_active(struct world *world)
{
    D3DKMT_DEVICEEXECUTION_STATE state;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &state), FERRY_OK);
    return state == D3DKMT_DEVICEEXECUTION_ACTIVE;
}

// False once the device has lost content.
static bool check(struct world *world, const struct plain *plain)
{
    void *bytes;
    int result = ferry_vidmm_lock(world->manager, plain->handle, D3DDDI_LOCK_READ_ONLY, &bytes);
    if (!is_active(world))
        return false;
    assert_int_equal(result, FERRY_OK);
    assert_memory_equal(bytes, plain->bytes, PAGES(plain->pages));
    assert_int_equal(ferry_vidmm_unlock(world->manager, plain->handle), FERRY_OK);
    return true;
}

struct outcome {
    unsigned faults, whole;
};

// One step; false once the device has lost content.
static bool step(struct world *world, struct plain *a, struct plain *b)
{
    const D3DKMT_HANDLE names[2] = {b->handle, a->handle};
    unsigned what = draw(6);
    if (what == 0) {
        if (a->address)
            unmap(world, a->address, a->pages);
        a->address = map(world, a->handle, 0, a->pages);
    } else if (what == 1) {
        return check(world, a);
    } else if (a->address && b->address && a != b) {
        uint32_t bytes = (uint32_t)PAGES(a->pages < b->pages ? a->pages : b->pages);
        uint32_t from = draw(bytes), to = draw(bytes), room = bytes - (from > to ? from : to);
        int result = world_resident(world, names, 2);
        if (!is_active(world))
            return false;
        assert_true(result >= 0);
        copy(world, world->context, names, b->address + to, a->address + from, room);
        memcpy(b->bytes + to, a->bytes + from, room);
        assert_int_equal(world_evict(world, a->handle), FERRY_OK);
        assert_int_equal(world_evict(world, b->handle), FERRY_OK);
    }
    return is_active(world);
}

// The next buffers that are about addresses fault. Entries that fault eight times by themselves stop the manager, as
// they should (addresses_that_cannot_be_changed_are_a_critical_stop): what is under way is over before there can be so
// many.
static void arm(struct world *world, unsigned *since)
{
    unsigned more = 1 + draw(3);
    if (*since + more > 7) {
        while (ferry_vidmm_poll(world->manager, true) == FERRY_OK) {
        }
        *since = 0;
    }
    *since += more;
    world->knobs->fault_addresses = more;
}

static void run(uint64_t seed, struct outcome *outcome)
{
    drawn = seed;
    uint64_t pages = 64 + draw(40);
    struct world *world = begin(pages, draw(2) ? 0 : 1024);
    struct plain *all = calloc(COUNT, sizeof(*all));
    for (uint32_t i = 0; i < COUNT; i++) {
        void *bytes;
        all[i].pages = 1 + draw(MOST);
        all[i].handle = world_create(world, PAGES(all[i].pages), CPU);
        assert_int_equal(ferry_vidmm_lock(world->manager, all[i].handle, 0, &bytes), FERRY_OK);
        for (uint32_t k = 0; k < PAGES(all[i].pages); k++)
            all[i].bytes[k] = ((uint8_t *)bytes)[k] = (uint8_t)draw(256);
        assert_int_equal(ferry_vidmm_unlock(world->manager, all[i].handle), FERRY_OK);
    }
    world->knobs->delay = draw(3);
    bool active = true;
    unsigned since = 0;
    for (unsigned i = 0; i < 300 && active; i++) {
        if (draw(4) == 0)
            arm(world, &since);
        uint32_t a = draw(COUNT), b = draw(COUNT);
        active = step(world, &all[a], &all[b]);
    }
    for (uint32_t i = 0; i < COUNT && active; i++)
        active = check(world, &all[i]);
    outcome->faults += (unsigned)world_statistics(world).faulted_paging_buffers;
    outcome->whole += active;
    world->knobs->fault_addresses = 0;
    world_close(world);
    free(all);
}

// No page-out shares a buffer with what is about addresses, since its source may be given away behind it: so nothing is
// lost.
static void random_programs_see_nothing_of_faults_of_their_tables(void **state)
{
    (void)state;
    const char *runs = getenv("FERRY_RUNS");
    uint64_t seed = seed_given(1);
    unsigned count = runs ? (unsigned)atoi(runs) : 12;
    struct outcome outcome = {0, 0};
    for (unsigned i = 0; i < count; i++)
        run(seed * 1000 + i, &outcome);
    assert_true(outcome.faults > 5 * count);
    printf("%u faults, %u of %u runs without loss\n", outcome.faults, outcome.whole, count);
    assert_int_equal(outcome.whole, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_its_addresses_whatever_came_after_them),
        cmocka_unit_test(addresses_of_one_do_not_wait_for_a_job_of_another),
        cmocka_unit_test(who_comes_shares_a_buffer_with_who_leaves),
        cmocka_unit_test(who_comes_goes_on_when_who_leaves_is_gone),
        cmocka_unit_test(addresses_that_cannot_be_changed_are_a_critical_stop),
        cmocka_unit_test(what_is_to_be_forgotten_is_forgotten_though_its_buffer_faults),
        cmocka_unit_test(random_programs_see_nothing_of_faults_of_their_tables),
    };
    return WORLD_RUN(tests);
}
