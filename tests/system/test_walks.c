// SPDX-License-Identifier: Apache-2.0
// ferry_va_walk(): what it says of an address is where the device finds the content, and what the fault's record says.
// The places are looked at over the CPU's window, behind the library's back; entries and indices are worked out here by
// hand.
#include "adapter_inside.h"
#include "system.h"

#include "device/device.h"
#include "ferry_contract.h"
#include "umd/objects.h"

#define KIB 1024u
#define MIB (1024u * KIB)

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
};

static struct machine begin(void)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 16 * MIB,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory};
    struct machine m = {0};

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    return m;
}

static struct ferry_va_steps walk_of(struct machine *m, uint64_t address)
{
    struct ferry_va_steps walk = {.size = sizeof walk};

    ok(ferry_va_walk(m->device, address, &walk));
    assert_true(walk.count >= 1 && walk.count <= 4);
    for (uint32_t i = 0; i < walk.count; i++) {
        const struct ferry_va_step *step = &walk.steps[i];

        assert_int_equal(step->level, 3 - i);
        assert_int_equal(step->index, address >> (12 + 9 * step->level) & 511);
        assert_true(i == 0 || step->table == walk.steps[i - 1].leads_to);
        // Tables in host memory are read through its caches, where the CPU has them too.
        bool leads_to_table = step->valid && !step->is_page;
        assert_true(step->table_in_host == (table_memory == FERRY_TABLES_SYSTEM));
        assert_true(!leads_to_table || step->host == step->table_in_host);
        assert_true(!leads_to_table || !step->host || (step->entry & FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK) != 0);
        assert_true(step->valid == (step->entry & 1));
        // It goes on behind each entry that leads to a table, and nowhere else.
        assert_true((step->valid && !step->is_page) == (i + 1 < walk.count));
    }
    return walk;
}

// What is in video memory where the walk ends.
static uint64_t content_at(struct machine *m, const struct ferry_va_steps *walk)
{
    struct umd_adapter *inside = adapter_inside(m->adapter);
    const struct ferry_va_step *last = &walk->steps[walk->count - 1];
    uint64_t value = 0;

    assert_true(last->valid && last->is_page && !last->host);
    ok(ferry_gpu_window_read(inside->gpu, last->leads_to, &value, sizeof value));
    return value;
}

static void run(struct machine *m)
{
    uint64_t fence;

    ok(ferry_queue_submit(m->queue, &fence));
    ok(ferry_queue_wait(m->queue, fence));
}

static uint64_t map_at(struct machine *m, struct ferry_allocation *allocation, uint64_t address, uint64_t offset,
                       uint64_t bytes, bool read_only)
{
    struct ferry_va range = {.size = sizeof range, .address = address, .bytes = bytes};

    ok(ferry_va_map(m->device, allocation, offset, read_only, &range));
    return range.address;
}

static void a_walk_ends_where_the_device_writes(void **state)
{
    (void)state;
    struct machine m = begin();
    struct ferry_allocation *one = make(m.device, 4 * MIB, FERRY_FLAG_CPU_VISIBLE);
    // Pages of 4 KiB, since neither address nor place agree with larger ones; and whatever the library takes.
    const uint64_t small = map_at(&m, one, 0x7001000, 8192, 200 * KIB, false),
                   large = map_at(&m, one, 0, 0, 4 * MIB, false);
    bool seen_large = false;

    must_be_resident(m.device, &one, 1);
    for (uint64_t at = 0; at < 200 * KIB; at += 24 * KIB + 8) {
        ok(ferry_queue_fill_va(m.queue, small + at, 8, 0xabcd000000000000 + at, 8));
        ok(ferry_queue_fill_va(m.queue, large + 3 * MIB + at, 8, 0x1234000000000000 + at, 8));
    }
    run(&m);
    for (uint64_t at = 0; at < 200 * KIB; at += 24 * KIB + 8) {
        struct ferry_va_steps first = walk_of(&m, small + at), same = walk_of(&m, large + 8192 + at),
                              other = walk_of(&m, large + 3 * MIB + at);

        assert_int_equal(first.count, 4);
        assert_false(first.steps[3].read_only);
        assert_true(content_at(&m, &first) == 0xabcd000000000000 + at);
        assert_true(content_at(&m, &same) == 0xabcd000000000000 + at);
        assert_true(first.steps[3].leads_to == same.steps[same.count - 1].leads_to);
        assert_true(content_at(&m, &other) == 0x1234000000000000 + at);
        seen_large |= other.count == 3 || other.steps[other.count - 1].group;
    }
    assert_true(seen_large);
    ferry_adapter_close(m.adapter);
}

// A job that is to fault, and the walk of its address: the last step is what the device says that it has seen.
static struct ferry_va_step faulted(struct machine *m, uint64_t address)
{
    struct ferry_fault fault = {.size = sizeof fault};
    uint64_t fence;
    bool found;

    ok(ferry_queue_fill_va(m->queue, address, 8, 1, 1));
    ok(ferry_queue_submit(m->queue, &fence));
    assert_int_equal(ferry_queue_wait(m->queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m->adapter, &fault, &found));
    assert_true(found && fault.walked && fault.address == address);
    struct ferry_va_steps walk = walk_of(m, address);
    const struct ferry_va_step *last = &walk.steps[walk.count - 1];
    assert_int_equal(last->level, fault.walk_level);
    assert_true(last->entry == fault.walk_entry);
    return *last;
}

static void a_walk_ends_where_the_record_says(void **state)
{
    (void)state;
    struct machine m = begin();
    struct ferry_allocation *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t where = UINT64_C(0x345678000000);

    map_at(&m, one, where, 0, 32 * KIB, false);
    map_at(&m, one, where + 0x10000, 0, 64 * KIB, true);
    must_be_resident(m.device, &one, 1);
    // What reaches nothing that is mapped waits for no entries: those are there once a job that does is over.
    ok(ferry_queue_copy_va(m.queue, where, where + 0x10000, 8));
    run(&m);
    assert_int_equal(faulted(&m, where + 32 * KIB).level, 0);
    assert_int_equal(faulted(&m, where + 2 * MIB).level, 1);
    assert_int_equal(faulted(&m, where + 1024u * MIB).level, 2);
    assert_int_equal(faulted(&m, 0x12345678).level, 3);
    struct ferry_va_step step = faulted(&m, where + 0x10008);
    assert_true(step.valid && step.is_page && step.read_only && step.level == 0);
    // The tables go with what was mapped, but may be there for a while (ferry_va_free): no job waits for that, and
    // each that runs meanwhile lets the device go on.
    ok(ferry_va_free(m.device, where, 32 * KIB));
    ok(ferry_va_free(m.device, where + 0x10000, 64 * KIB));
    for (unsigned jobs = 0; walk_of(&m, where + 8).count > 1; jobs++) {
        assert_true(jobs < 1000);
        ok(ferry_queue_fill(m.queue, one, 0, 8, 1, 1));
        run(&m);
    }
    step = faulted(&m, where + 8);
    assert_true(!step.valid && step.entry == 0 && step.level == 3);
    ferry_adapter_close(m.adapter);
}

static struct ferry_statistics counts(struct machine *m)
{
    struct ferry_statistics now = {.size = sizeof now};

    ok(ferry_adapter_statistics(m->adapter, &now));
    return now;
}

static void walks_and_invalidates_are_counted(void **state)
{
    (void)state;
    struct machine m = begin();
    struct ferry_allocation *one = make(m.device, 4 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t where = UINT64_C(0x345678000000);

    map_at(&m, one, where, 0, 4 * KIB, false);
    must_be_resident(m.device, &one, 1);
    ok(ferry_queue_fill_va(m.queue, where, 8, 1, 1));
    run(&m);
    struct ferry_statistics before = counts(&m);
    assert_true(before.table_walks > 0 && before.table_reads >= 4);
    // A page that is known is not walked again.
    ok(ferry_queue_fill_va(m.queue, where + 8, 8, 2, 1));
    run(&m);
    struct ferry_statistics now = counts(&m);
    assert_int_equal(now.table_walks, before.table_walks);
    assert_int_equal(now.table_reads, before.table_reads);
    // Levels 3, 2 and 1, in which there is nothing.
    assert_int_equal(faulted(&m, where + 2 * MIB).level, 1);
    now = counts(&m);
    assert_int_equal(now.table_walks, before.table_walks + 1);
    assert_int_equal(now.table_reads, before.table_reads + 3);
    // Each invalidate of the manager's is one of the device's.
    unsigned flush = 0;
    while (strcmp(ferry_operation_name(flush), "FLUSH_TLB") != 0)
        assert_true(++flush < FERRY_OPERATIONS);
    ok(ferry_va_free(m.device, where, 4 * KIB));
    for (unsigned i = 0; i < 200 && counts(&m).operations[flush] == before.operations[flush]; i++) {
        ok(ferry_queue_fill(m.queue, one, 0, 8, 3, 1));
        run(&m);
    }
    now = counts(&m);
    assert_true(now.operations[flush] > before.operations[flush]);
    assert_int_equal(now.table_forgets - before.table_forgets, now.operations[flush] - before.operations[flush]);
    ferry_adapter_close(m.adapter);
}

static void a_program_without_tables_and_bad_arguments(void **state)
{
    (void)state;
    struct machine m = begin();
    struct ferry_process *process;
    struct ferry_device *other;
    struct ferry_va_steps walk = {.size = sizeof walk};

    ok(ferry_process_create(m.adapter, NULL, &process));
    ok(ferry_process_create_device(process, &other));
    walk.count = 7;
    ok(ferry_va_walk(other, 0x1000, &walk));
    assert_int_equal(walk.count, 0);
    walk.count = 7;
    assert_int_equal(ferry_va_walk(other, UINT64_C(1) << 48, &walk), FERRY_ERROR_ARGUMENT);
    assert_int_equal(walk.count, 0);
    assert_int_equal(ferry_va_walk(other, 0, NULL), FERRY_ERROR_ARGUMENT);
    walk.size--;
    assert_int_equal(ferry_va_walk(other, 0, &walk), FERRY_ERROR_ARGUMENT);
    walk.size++;
    walk.count = 7;
    assert_int_equal(ferry_va_walk(NULL, 0, &walk), FERRY_ERROR_HANDLE);
    assert_int_equal(walk.count, 0);
    ok(ferry_device_destroy(other));
    assert_int_equal(ferry_va_walk(other, 0, &walk), FERRY_ERROR_HANDLE);
    ferry_adapter_close(m.adapter);
}

static void model_1_has_nothing_to_walk(void **state)
{
    (void)state;
    struct ferry_adapter *adapter = open_adapter(0);
    struct ferry_va_steps walk = {.size = sizeof walk};
    struct ferry_device *device;

    ok(ferry_device_create(adapter, &device));
    assert_int_equal(ferry_va_walk(device, 0, &walk), FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(adapter);
}

// ---- What another thread's calls, which wait for the device, do between two reads of a walk ----

static struct {
    struct umd_adapter *inside; // NULL = nothing
    uint64_t where;
    D3DKMT_HANDLE device, other, allocation; // The other program's allocation.
    unsigned after, reads;
} between;

static void run_all(struct umd_adapter *inside)
{
    for (bool left = true; left;)
        ok(ferry_vidmm_work(inside->vidmm, &left));
}

// The so-manieth read of a table is answered with an error; 0 = none is.
static unsigned unreadable;

static bool fails(void)
{
    return unreadable > 0 && --unreadable == 0;
}

// For so many reads from now on every fifth finds an entry that is not what it was, in a bit that says nothing of where
// it leads: four reads lead down, and the next one asks whether the first has found what stands there still.
static unsigned restless, reads;

static void disturb(uint8_t *entry)
{
    if (reads++ < restless && reads % 5 == 0)
        entry[0] ^= FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK;
}

// What was mapped is free, and its tables are the other program's, which maps at the same address.
static void before_a_read(void)
{
    struct ferry_vidmm_virtual range = {.size = sizeof range, .address = between.where, .bytes = 4 * KIB};

    if (!between.inside || between.reads++ != between.after)
        return;
    ok(ferry_vidmm_free_virtual(between.inside->vidmm, between.device, between.where, 4 * KIB));
    run_all(between.inside);
    ok(ferry_vidmm_map_virtual(between.inside->vidmm, between.other, between.allocation, 0, false, &range));
    run_all(between.inside);
}

int __real_ferry_gpu_window_read(struct ferry_gpu *gpu, uint64_t offset, void *data, size_t bytes);
int __wrap_ferry_gpu_window_read(struct ferry_gpu *gpu, uint64_t offset, void *data, size_t bytes);
int __wrap_ferry_gpu_window_read(struct ferry_gpu *gpu, uint64_t offset, void *data, size_t bytes)
{
    before_a_read();
    if (fails()) {
        memset(data, 0xff, bytes);
        return FERRY_ERROR_RANGE;
    }
    int error = __real_ferry_gpu_window_read(gpu, offset, data, bytes);

    disturb(data);
    return error;
}

int __real_ferry_vidmm_read_table(struct ferry_vidmm *manager, uint64_t bus_address, uint8_t entry[8]);
int __wrap_ferry_vidmm_read_table(struct ferry_vidmm *manager, uint64_t bus_address, uint8_t entry[8]);
int __wrap_ferry_vidmm_read_table(struct ferry_vidmm *manager, uint64_t bus_address, uint8_t entry[8])
{
    before_a_read();
    if (fails())
        return FERRY_ERROR_RANGE;
    int error = __real_ferry_vidmm_read_table(manager, bus_address, entry);

    disturb(entry);
    return error;
}

// It has all tables that are left.
static struct ferry_device *other_program(struct machine *m, struct ferry_allocation **its)
{
    struct ferry_process *process;
    struct ferry_device *device;
    int error = FERRY_OK;

    ok(ferry_process_create(m->adapter, NULL, &process));
    ok(ferry_process_create_device(process, &device));
    *its = make(device, 4 * KIB, FERRY_FLAG_CPU_VISIBLE);
    must_be_resident(device, its, 1);
    for (uint64_t at = 1024u * MIB; error == FERRY_OK; at += 1024u * MIB) {
        struct ferry_va range = {.size = sizeof range, .address = at, .bytes = 4 * KIB};

        error = ferry_va_map(device, *its, 0, false, &range);
    }
    assert_int_equal(error, FERRY_ERROR_NO_VIDEO_MEMORY);
    return device;
}

static void a_walk_goes_through_no_table_that_has_become_anothers(void **state)
{
    (void)state;
    for (unsigned after = 1; after < 4; after++) {
        struct machine m = begin();
        struct ferry_allocation *own = make(m.device, 4 * KIB, FERRY_FLAG_CPU_VISIBLE), *theirs;
        struct umd_adapter *inside = adapter_inside(m.adapter);
        const uint64_t where = UINT64_C(0x345678000000);

        must_be_resident(m.device, &own, 1);
        map_at(&m, own, where, 0, 4 * KIB, false);
        struct ferry_device *other = other_program(&m, &theirs);
        run_all(inside);
        between.where = where;
        between.device = ((struct umd_device *)umd_object(inside, UMD_DEVICE, m.device))->vidmm;
        between.other = ((struct umd_device *)umd_object(inside, UMD_DEVICE, other))->vidmm;
        between.allocation = ((struct umd_allocation *)umd_object(inside, UMD_ALLOCATION, theirs))->vidmm;
        between.after = after;
        between.reads = 0;
        between.inside = inside;
        struct ferry_va_steps walk = walk_of(&m, where), its = {.size = sizeof its};
        between.inside = NULL;
        assert_true(between.reads > after);
        // Nothing is mapped there any more; for the other program there is.
        assert_false(walk.steps[walk.count - 1].valid);
        ok(ferry_va_walk(other, where, &its));
        assert_true(its.count == 4 && its.steps[3].is_page);
        for (uint32_t i = 0; i < walk.count; i++)
            for (uint32_t k = 0; k < its.count; k++)
                assert_true(walk.steps[i].table != its.steps[k].table);
        ferry_adapter_close(m.adapter);
    }
}

// Four reads down, and the three above the last once more.
static void a_walk_that_cannot_read_a_table_tells_no_step(void **state)
{
    (void)state;
    struct machine m = begin();
    struct ferry_allocation *one = make(m.device, 4 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t where = UINT64_C(0x345678000000);

    map_at(&m, one, where, 0, 4 * KIB, false);
    must_be_resident(m.device, &one, 1);
    ok(ferry_queue_fill_va(m.queue, where, 8, 1, 1));
    run(&m);
    for (unsigned read = 1; read <= 7; read++) {
        struct ferry_va_steps walk = {.size = sizeof walk, .count = 3};

        unreadable = read;
        assert_int_equal(ferry_va_walk(m.device, where, &walk), FERRY_ERROR_RANGE);
        assert_int_equal(unreadable, 0);
        assert_int_equal(walk.count, 0);
        assert_true(walk.steps[0].entry == 0 && walk.size == sizeof walk);
        assert_int_equal(walk_of(&m, where).count, 4);
    }
    run(&m);
    ferry_adapter_close(m.adapter);
}

// It begins again, and gives up where that has no end: what it has read last it does not tell then.
static void a_walk_whose_tables_are_never_the_same_is_busy(void **state)
{
    (void)state;
    struct machine m = begin();
    struct ferry_allocation *one = make(m.device, 4 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t where = UINT64_C(0x345678000000);
    struct ferry_va_steps walk = {.size = sizeof walk, .count = 3};

    must_be_resident(m.device, &one, 1);
    map_at(&m, one, where, 0, 4 * KIB, false);
    ok(ferry_queue_fill_va(m.queue, where, 8, 1, 1));
    run(&m);
    reads = 0;
    restless = 5 * 20;
    assert_int_equal(walk_of(&m, where).count, 4);
    assert_int_equal(reads, 5 * 20 + 7);
    reads = 0;
    restless = UINT32_MAX;
    assert_int_equal(ferry_va_walk(m.device, where, &walk), FERRY_ERROR_BUSY);
    assert_true(reads > 5 * 20 && reads < 5 * 1000);
    assert_int_equal(walk.count, 0);
    assert_true(walk.steps[0].entry == 0 && walk.size == sizeof walk);
    restless = 0;
    assert_int_equal(walk_of(&m, where).count, 4);
    run(&m);
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_ends_where_the_device_writes),
        cmocka_unit_test(a_walk_ends_where_the_record_says),
        cmocka_unit_test(walks_and_invalidates_are_counted),
        cmocka_unit_test(a_program_without_tables_and_bad_arguments),
        cmocka_unit_test(model_1_has_nothing_to_walk),
        cmocka_unit_test(a_walk_goes_through_no_table_that_has_become_anothers),
        cmocka_unit_test(a_walk_that_cannot_read_a_table_tells_no_step),
        cmocka_unit_test(a_walk_whose_tables_are_never_the_same_is_busy),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
