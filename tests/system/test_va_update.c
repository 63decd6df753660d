// SPDX-License-Identifier: Apache-2.0
// ferry_va_update: reserved addresses change among the jobs of a queue, none of which is waited for in between. What
// each job finds is held against a plain list of pages that changes when the calls are made.
#include "ferry_contract.h"
#include "updates.h"

// Something that takes a while, so that nothing behind it has run when the next calls are made.
static void be_busy(struct machine *m, struct ferry_allocation *allocation)
{
    for (uint32_t i = 0; i < 40; i++)
        ok(ferry_queue_copy(m->queue, allocation, 128 * KIB, allocation, 0, 128 * KIB));
    submit(m->queue);
}

static void a_job_before_finds_the_old_mapping_and_one_behind_the_new(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *all[4] = {
        make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE), make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
        make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE), make(m.device, 256 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    struct ferry_allocation *one = all[0], *two = all[1], *result = all[2];
    struct ferry_fault fault = {.size = sizeof fault};
    uint64_t fences[6], x = reserve(&m, 256 * KIB);
    struct ferry_va_operation operation;
    bool found;
    void *bytes;

    write_content(one, 64 * KIB, 1);
    write_content(two, 64 * KIB, 2);
    write_content(result, 64 * KIB, 3);
    must_be_resident(m.device, all, 4);
    // Its own address: what it is mapped at besides.
    struct ferry_va_mapping own = {.size = sizeof own};
    for (uint64_t at = UINT64_C(1) << 47; own.allocation != ferry_allocation_id(result); at = own.address + own.bytes)
        ok(ferry_va_find(m.device, at, &own));
    be_busy(&m, all[3]);
    ok(ferry_queue_copy_va(m.queue, own.address, x, 16));
    fences[0] = submit(m.queue); // Nothing is there yet.
    operation = map(x, 64 * KIB, one, 0);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_copy_va(m.queue, own.address + 1000, x + 5, 4000));
    fences[1] = submit(m.queue);
    operation = map(x, 16 * KIB, two, 32 * KIB);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_copy_va(m.queue, own.address + 10000, x + 14 * KIB, 4 * KIB)); // Of both.
    fences[2] = submit(m.queue);
    operation = copy(x + 128 * KIB, 64 * KIB, x);
    ok(update(m.queue, &operation, 1, NULL));
    operation = unmap(x, 64 * KIB);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_copy_va(m.queue, own.address + 20000, x + 128 * KIB + 14 * KIB, 4 * KIB));
    fences[3] = submit(m.queue);
    ok(ferry_queue_copy_va(m.queue, own.address, x, 16));
    fences[4] = submit(m.queue); // Nothing is there any more.
    operation = (struct ferry_va_operation){.kind = FERRY_VA_MAP_PROTECT,
                                            .read_only = true,
                                            .address = x,
                                            .bytes = 256 * KIB,
                                            .allocation = one,
                                            .repeat_bytes = 16 * KIB};
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_copy_va(m.queue, own.address + 30000, x + 239 * KIB, 2 * KIB));
    ok(ferry_queue_fill_va(m.queue, x, 8, 0, 1));
    fences[5] = submit(m.queue);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(ferry_queue_wait(m.queue, fences[i]), i % 4 == 0 || i == 5 ? FERRY_ERROR_FAULT : FERRY_OK);
    for (uint32_t i = 0; i < 3; i++) {
        ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
        assert_true(found && fault.address == x);
        assert_int_equal(fault.kind, i < 2 ? FERRY_FAULT_KIND_PAGE_ABSENT : FERRY_FAULT_KIND_PAGE_READ_ONLY);
    }
    ok(ferry_lock(result, FERRY_LOCK_READ_ONLY, &bytes));
    for (uint32_t i = 0; i < 64 * KIB; i++) {
        uint8_t expected = content(3, i);
        uint32_t in_both = i < 20000 ? i - 10000 : i - 20000;
        if (i >= 1000 && i < 5000)
            expected = content(1, i - 1000 + 5);
        else if ((i >= 10000 && i < 10000 + 4 * KIB) || (i >= 20000 && i < 20000 + 4 * KIB))
            expected = in_both < 2 * KIB ? content(2, 46 * KIB + in_both) : content(1, 14 * KIB + in_both);
        else if (i >= 30000 && i < 30000 + 2 * KIB)
            expected = content(1, i < 30000 + KIB ? 15 * KIB + i - 30000 : i - 30000 - KIB);
        assert_int_equal(((uint8_t *)bytes)[i], expected);
    }
    ok(ferry_unlock(result));
    ferry_adapter_close(m.adapter);
}

// The queue is busy; what a batch that is not to wait maps is there for another queue's job all the same.
static void an_update_stands_behind_what_it_is_to(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *all[3] = {make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                       make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                       make(m.device, 256 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    struct ferry_va own = {.size = sizeof own, .most = UINT64_C(1) << 46, .bytes = 64 * KIB};
    struct ferry_queue *other;
    uint64_t x = reserve(&m, 64 * KIB), fence;
    void *bytes;

    write_content(all[0], 64 * KIB, 1);
    write_content(all[1], 64 * KIB, 2);
    must_be_resident(m.device, all, 3);
    ok(ferry_queue_create(m.device, &other));
    ok(ferry_va_map(m.device, all[1], 0, false, &own));
    be_busy(&m, all[2]);
    uint64_t busy = submit(m.queue);
    struct ferry_va_operation operation = map(x, 64 * KIB, all[0], 0);
    struct ferry_va_batch batch = {.size = sizeof batch,
                                   .operation_size = sizeof operation,
                                   .operations = &operation,
                                   .count = 1,
                                   .do_not_wait = true};
    ok(ferry_va_update(m.queue, &batch));
    ok(ferry_queue_copy_va(other, own.address, x + 5, 4000));
    ok(ferry_queue_submit(other, &fence));
    ok(ferry_queue_wait(other, fence));
    ok(ferry_queue_wait(m.queue, busy));
    ok(ferry_lock(all[1], FERRY_LOCK_READ_ONLY, &bytes));
    for (uint32_t i = 0; i < 4000; i++)
        assert_int_equal(((uint8_t *)bytes)[i], content(1, i + 5));
    ok(ferry_unlock(all[1]));
    // Behind a job of the other queue: an empty one behind it is over when that is.
    uint64_t reached;
    be_busy(&m, all[2]);
    busy = submit(m.queue);
    operation = unmap(x, 64 * KIB);
    batch.behind_queue = m.queue;
    batch.behind_job = busy;
    assert_int_equal(ferry_va_update(other, &batch), FERRY_ERROR_ARGUMENT);
    batch.do_not_wait = false;
    batch.behind_job = busy + 1;
    assert_int_equal(ferry_va_update(other, &batch), FERRY_ERROR_ARGUMENT);
    batch.behind_queue = (struct ferry_queue *)all[0];
    assert_int_equal(ferry_va_update(other, &batch), FERRY_ERROR_HANDLE);
    batch.behind_queue = m.queue;
    batch.behind_job = busy;
    ok(ferry_va_update(other, &batch));
    ok(ferry_queue_submit(other, &fence));
    ok(ferry_queue_wait(other, fence));
    ok(ferry_queue_reached(m.queue, &reached));
    assert_true(reached >= busy);
    ferry_adapter_close(m.adapter);
}

// Everything that there is, as ferry_va_find() tells it.
static uint64_t print_of(struct machine *m)
{
    struct ferry_va_mapping mapping = {.size = sizeof mapping};
    uint64_t print = 0;

    do {
        ok(ferry_va_find(m->device, mapping.address + mapping.bytes, &mapping));
        const uint64_t words[] = {mapping.address, mapping.bytes,     mapping.mapped,
                                  mapping.offset,  mapping.read_only, mapping.allocation};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            print = (print ^ words[i]) * UINT64_C(0x100000001b3) + 1;
    } while (mapping.bytes != 0);
    return print;
}

static void bad_batches_get_a_name_and_change_nothing(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, 256 * KIB, FERRY_FLAG_CPU_VISIBLE);
    struct ferry_device *other;
    struct ferry_va_batch out;
    uint64_t x = reserve(&m, MIB), y = reserve(&m, 64 * KIB);

    ok(ferry_device_create(m.adapter, &other));
    struct ferry_allocation *foreign = make(other, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    struct ferry_allocation *gone = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    ok(ferry_allocation_destroy(gone));
    struct ferry_va outside = {.size = sizeof outside, .address = 0x100000, .bytes = 64 * KIB};
    ok(ferry_va_map(m.device, one, 0, false, &outside));
    must_be_resident(m.device, &one, 1);
    struct ferry_va_operation good[] = {map(x, 64 * KIB, one, 0), unmap(x + 32 * KIB, PAGE),
                                        map(x + 100 * KIB, 64 * KIB, one, 128 * KIB)};
    ok(update(m.queue, good, 3, NULL));
    struct ferry_va_operation strange = unmap(x, PAGE), uneven = map(x, 64 * KIB, one, 0);
    strange.kind = (enum ferry_va_operation_kind)4;
    uneven.repeat_bytes = 12 * KIB;
    const uint64_t top = UINT64_C(1) << 48;
    const struct {
        struct ferry_va_operation operation;
        int error;
    } bad[] = {
        {strange, FERRY_ERROR_ARGUMENT},
        {uneven, FERRY_ERROR_ARGUMENT},
        {unmap(x, 0), FERRY_ERROR_ARGUMENT},
        {unmap(x + 512, PAGE), FERRY_ERROR_ARGUMENT},
        {unmap(x, 512), FERRY_ERROR_ARGUMENT},
        {unmap(top - PAGE, 2 * PAGE), FERRY_ERROR_ARGUMENT},
        {unmap(top, PAGE), FERRY_ERROR_ARGUMENT},
        {unmap(x - PAGE, 2 * PAGE), FERRY_ERROR_ARGUMENT},
        {unmap(x + MIB - PAGE, 2 * PAGE), FERRY_ERROR_ARGUMENT},
        {unmap(y, PAGE), FERRY_ERROR_ARGUMENT}, // Another reservation than those before it.
        {unmap(0x100000, PAGE), FERRY_ERROR_ARGUMENT},
        {copy(x, PAGE, 0x100000), FERRY_ERROR_ARGUMENT},
        {copy(x, PAGE, x + 512), FERRY_ERROR_ARGUMENT},
        {copy(x, 2 * PAGE, y + 64 * KIB - PAGE), FERRY_ERROR_ARGUMENT},
        {map(x, PAGE, one, 512), FERRY_ERROR_ARGUMENT},
        {map(x, 2 * PAGE, one, 252 * KIB), FERRY_ERROR_RANGE},
        {map(x, PAGE, one, UINT64_C(1) << 50), FERRY_ERROR_RANGE},
        {map(x, 64 * KIB, foreign, 0), FERRY_ERROR_FOREIGN},
        {map(x, 64 * KIB, gone, 0), FERRY_ERROR_HANDLE},
        {map(x, 64 * KIB, NULL, 0), FERRY_ERROR_HANDLE},
    };
    uint64_t before = print_of(&m);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        // What stands before it and behind it could be done.
        struct ferry_va_operation batch[] = {unmap(x, 8 * PAGE), map(x + 512 * KIB, 64 * KIB, one, 0), bad[i].operation,
                                             unmap(x + 20 * PAGE, PAGE)};
        int error = update(m.queue, batch, 4, &out);

        if (error != bad[i].error)
            print_error("case %zu: %s\n", i, ferry_error_name(error));
        assert_int_equal(error, bad[i].error);
        assert_int_equal(out.failed, 2);
        assert_true(print_of(&m) == before);
    }
    // Of these no operation is to blame.
    struct ferry_va_batch wrong = {.size = sizeof wrong, .operations = good, .count = 1};
    assert_int_equal(ferry_va_update(m.queue, &wrong), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wrong.failed, 1);
    wrong.operation_size = sizeof good[0];
    wrong.failed = 0;
    assert_int_equal(ferry_va_update((struct ferry_queue *)m.device, &wrong), FERRY_ERROR_HANDLE);
    assert_int_equal(wrong.failed, 1);
    wrong.behind_queue = m.queue;
    wrong.do_not_wait = true;
    wrong.failed = 0;
    assert_int_equal(ferry_va_update(m.queue, &wrong), FERRY_ERROR_ARGUMENT);
    assert_int_equal(wrong.failed, 1);
    wrong.behind_queue = NULL;
    wrong.do_not_wait = false;
    wrong.operations = NULL;
    assert_int_equal(ferry_va_update(m.queue, &wrong), FERRY_ERROR_ARGUMENT);
    wrong.size = 8;
    assert_int_equal(ferry_va_update(m.queue, &wrong), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_update(m.queue, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(update((struct ferry_queue *)m.device, good, 1, NULL), FERRY_ERROR_HANDLE);
    ok(update(m.queue, NULL, 0, NULL));
    assert_true(print_of(&m) == before);
    // More tables than there are: 64 in 8 MiB. All at once, or one at a time until there are none left.
    uint64_t far = reserve(&m, UINT64_C(1) << 40);
    struct ferry_va_operation much = map(far, UINT64_C(1) << 40, one, 0);
    much.repeat_bytes = 256 * KIB;
    assert_int_equal(update(m.queue, &much, 1, &out), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(out.table_bytes > 64 * PAGE);
    struct ferry_va_operation pages[30];
    for (uint32_t i = 0; i < 30; i++)
        pages[i] = map(far + ((uint64_t)i << 34), PAGE, one, 0);
    before = print_of(&m);
    assert_int_equal(update(m.queue, pages, 30, &out), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(out.failed, 30);
    assert_true(out.table_bytes > 0 && out.table_bytes % PAGE == 0);
    assert_true(print_of(&m) == before);
    // Exactly as many as that were too many.
    uint32_t fit = 30 - (uint32_t)(out.table_bytes / PAGE + 1) / 2;
    ok(update(m.queue, pages, fit, &out));
    assert_int_equal(update(m.queue, &pages[fit], 1, &out), FERRY_ERROR_NO_VIDEO_MEMORY);
    ok(ferry_queue_fill_va(m.queue, far + ((uint64_t)(fit - 1) << 34), 8, 1, 1));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    ferry_adapter_close(m.adapter);
}

// ---- Random -------------------------------------------------------------------------------------------------------

static uint64_t drawn;
static uint64_t draw(uint64_t below)
{
    return draw_below(&drawn, below);
}

#define COUNT 8u
#define PAGES 70u  // of each allocation
#define ALL   400u // of the reservation
static struct {
    struct ferry_allocation *allocation;
    uint8_t bytes[PAGES * PAGE];
} heap[COUNT];
static struct page {
    uint32_t owner, page; // owner 0: none, else 1 + which
    bool read_only;
} pages[ALL];

static struct ferry_va_operation random_operation(uint64_t x)
{
    uint32_t n = 1 + (uint32_t)draw(draw(3) ? 20 : 69), p = (uint32_t)draw(ALL - n + 1), owner = (uint32_t)draw(COUNT);
    uint32_t offset = (uint32_t)draw(PAGES - n + 1), source = (uint32_t)draw(ALL - n + 1), repeat = n;
    struct ferry_va_operation operation = {
        .kind = (enum ferry_va_operation_kind)draw(4), .address = x + (uint64_t)p * PAGE, .bytes = (uint64_t)n * PAGE};
    struct page copied[ALL];

    if (draw(2) && operation.kind != FERRY_VA_COPY) // groups of 64 KiB
        p = p / 16 * 16, offset = offset / 16 * 16, operation.address = x + (uint64_t)p * PAGE;
    if (operation.kind == FERRY_VA_MAP || operation.kind == FERRY_VA_MAP_PROTECT) {
        operation.allocation = heap[owner].allocation;
        operation.offset = (uint64_t)offset * PAGE;
        operation.read_only = draw(2);
        if (n % 2 == 0 && draw(4) == 0)
            repeat = n / 2, operation.repeat_bytes = (uint64_t)repeat * PAGE;
    }
    operation.source = x + (uint64_t)source * PAGE;
    memcpy(copied, pages, sizeof copied);
    for (uint32_t i = 0; i < n; i++) {
        bool read_only = operation.kind == FERRY_VA_MAP_PROTECT && operation.read_only;
        pages[p + i] = operation.kind == FERRY_VA_UNMAP  ? (struct page){0}
                       : operation.kind == FERRY_VA_COPY ? copied[source + i]
                                                         : (struct page){1 + owner, offset + i % repeat, read_only};
    }
    return operation;
}

// Pages from there on that jobs may read, or write.
static uint32_t reach(uint32_t p, bool write)
{
    uint32_t n = 0;

    while (p + n < ALL && pages[p + n].owner && !(write && pages[p + n].read_only))
        n++;
    return n;
}

static void random_updates_among_jobs_agree_with_a_plain_list(void **state)
{
    (void)state;
    say_random();
    drawn = seed * 31 + 7;
    // Half of what the allocations take: they come and go while they are mapped, and while updates of them wait.
    struct machine m = begin(COUNT * PAGES * PAGE / 2 / (64 * KIB) * (64 * KIB));
    struct ferry_statistics statistics = {.size = sizeof statistics};
    uint64_t x = reserve(&m, 2 * MIB);
    begin_watching(&m, x);
    uint32_t jobs = 0, faults = 0, least_jobs = on_model() ? 2000 : 80;

    memset(pages, 0, sizeof pages);
    for (uint32_t i = 0; i < COUNT; i++) {
        heap[i].allocation = make(m.device, sizeof heap[i].bytes, FERRY_FLAG_CPU_VISIBLE);
        write_content(heap[i].allocation, sizeof heap[i].bytes, i);
        for (uint32_t k = 0; k < sizeof heap[i].bytes; k++)
            heap[i].bytes[k] = content(i, k);
    }
    while (jobs < least_jobs) {
        if (draw(3) == 0) {
            struct ferry_va_operation batch[6];
            uint32_t count = 1 + (uint32_t)draw(6);

            for (uint32_t i = 0; i < count; i++)
                batch[i] = random_operation(x);
            ok(update(m.queue, batch, count, NULL));
        }
        uint32_t to = (uint32_t)draw(ALL), from = (uint32_t)draw(ALL);
        uint32_t room = reach(to, true), there = reach(from, false), n = room < there ? room : there;
        bool absent = !pages[to].owner && draw(4) == 0;
        n = n > 6 ? 6 : n;
        if (n == 0 && !absent)
            continue;
        // What both sides name.
        struct ferry_allocation *list[COUNT];
        uint32_t count = 0, named = 0;
        for (uint32_t i = 0; i < n; i++)
            named |= 1u << pages[to + i].owner | 1u << pages[from + i].owner;
        for (uint32_t i = 0; i < COUNT && !absent; i++)
            if (named & 2u << i)
                list[count++] = heap[i].allocation;
        if (count > 3) // More than there is room for, perhaps.
            continue;
        must_be_resident(m.device, list, count);
        if (absent) {
            ok(ferry_queue_fill_va(m.queue, x + (uint64_t)to * PAGE, 8, 0, 1));
        } else {
            // One page at a time, so that the order of reading and writing is plain.
            for (uint32_t i = 0; i < n; i++) {
                struct page *d = &pages[to + i], *s = &pages[from + i];
                uint32_t bytes = 1 + (uint32_t)draw(PAGE);
                ok(ferry_queue_copy_va(m.queue, x + (uint64_t)(to + i) * PAGE, x + (uint64_t)(from + i) * PAGE, bytes));
                memmove(&heap[d->owner - 1].bytes[d->page * PAGE], &heap[s->owner - 1].bytes[s->page * PAGE], bytes);
            }
        }
        uint64_t fence = submit(m.queue);
        evict(m.device, list, count);
        jobs++;
        if (absent)
            assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
        faults += absent;
    }
    // Whatever was decided was for some job.
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    assert_true(told_is_what_stands_there(&m, ALL) >= PAGE);
    for (uint32_t i = 0; i < COUNT; i++) {
        void *address;

        ok(ferry_lock(heap[i].allocation, FERRY_LOCK_READ_ONLY, &address));
        assert_memory_equal(address, heap[i].bytes, sizeof heap[i].bytes);
        ok(ferry_unlock(heap[i].allocation));
    }
    ok(ferry_adapter_statistics(m.adapter, &statistics));
    assert_int_equal(statistics.faults, faults);
    assert_true(faults > 0 && statistics.evictions > (on_model() ? 100 : 5));
    ferry_adapter_close(m.adapter);
}

static void without_page_tables_there_is_nothing_to_update(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .seed = seed, .model = 1};
    struct machine m = {0};
    struct ferry_va_operation operation = unmap(0x100000, PAGE);

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    assert_int_equal(update(m.queue, &operation, 1, NULL), FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_before_finds_the_old_mapping_and_one_behind_the_new),
        cmocka_unit_test(an_update_stands_behind_what_it_is_to),
        cmocka_unit_test(bad_batches_get_a_name_and_change_nothing),
        cmocka_unit_test(random_updates_among_jobs_agree_with_a_plain_list),
        cmocka_unit_test(without_page_tables_there_is_nothing_to_update),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(without_page_tables_there_is_nothing_to_update)};

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
}
