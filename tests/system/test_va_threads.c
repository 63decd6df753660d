// SPDX-License-Identifier: Apache-2.0
// Threads on one program's addresses. Two devices of the program have two threads each: a keeper changes what cells of
// one reservation lead to among the jobs of its queue, all of which find what they have to; a rover beside it maps,
// frees, protects and changes addresses of the same page tables, has jobs go there, and destroys what they reach
// without waiting. Another program takes the memory of whatever leaves, and the engine is reset in between, or hangs.
// No job finds what its device has not put where it goes, and no keeper's content changes but by its own jobs. With the
// thread sanitizer, and with the others.
#include "adapter_inside.h"
#include "va_threads.h"

// ---- Keepers ------------------------------------------------------------------------------------------------------

struct page {
    uint8_t source; // from 1 on, SOURCES + 1: what is written; 0: nothing is there
    uint8_t number;
};

struct keeper {
    struct finder finder;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *sources[SOURCES + 1], *result; // the last one is written by jobs
    uint32_t pages[SOURCES + 1];
    bool away[SOURCES + 1];
    uint64_t at_result;
    struct page now[CELLS * CELL];
    uint32_t written[CELL * 2]; // of what is written: the first word of each page; 0: not known
    uint32_t expected[SLOTS];   // 0: not known
    uint64_t fences[SLOTS];
    unsigned used;
};

static uint32_t word_of(const struct keeper *k, struct page page)
{
    if (page.source == SOURCES + 1)
        return k->written[page.number];
    return KEPT + (k->finder.number << 16) + ((uint32_t)page.source << 12) + page.number;
}

static bool write_sources(struct keeper *k)
{
    for (unsigned i = 0; i <= SOURCES; i++) {
        uint32_t *words = (uint32_t *)(uintptr_t)lock(&k->finder, k->sources[i], FERRY_LOCK_WRITE_ONLY);
        for (uint32_t page = 0; words && page < k->pages[i]; page++) {
            k->written[i == SOURCES ? page : 0] = 0;
            for (uint32_t word = 0; word < PAGE / 4; word++)
                words[page * PAGE / 4 + word] =
                    i == SOURCES ? 0 : word_of(k, (struct page){(uint8_t)(i + 1), (uint8_t)page});
        }
        if (!words || !well(&k->finder, "unlock", ferry_unlock(k->sources[i])))
            return false;
    }
    return true;
}

static bool begin_keeper(struct keeper *k)
{
    static const uint32_t pages[SOURCES + 1] = {16, 16, 5, CELL * 2};
    struct finder *f = &k->finder;
    struct ferry_va range = {.size = sizeof range, .bytes = SLOTS * SLOT < PAGE ? PAGE : SLOTS * SLOT};

    if (!well(f, "queue", ferry_queue_create(k->device, &k->queue)))
        return false;
    for (unsigned i = 0; i <= SOURCES; i++) {
        k->pages[i] = pages[i];
        k->sources[i] = make_filled(f, k->device, pages[i], 1);
    }
    k->result = make_filled(f, k->device, (uint32_t)(range.bytes / PAGE), 0);
    return !f->what && write_sources(k) && well(f, "resident", make_resident(k->device, k->sources, SOURCES + 1)) &&
           well(f, "resident", make_resident(k->device, &k->result, 1)) &&
           well(f, "map", ferry_va_map(k->device, k->result, 0, false, &range)) && (k->at_result = range.address) != 0;
}

// One operation inside one cell, since the next one is another's.
static struct ferry_va_operation change(struct keeper *k, struct page *now)
{
    struct finder *f = &k->finder;
    uint32_t cell = pick(f, CELLS), at = pick(f, CELL), count = 1 + pick(f, CELL - at), kind = pick(f, 6);
    uint32_t first = cell * CELL + at, source = pick(f, SOURCES + 1);
    struct ferry_va_operation operation = {
        .kind = FERRY_VA_UNMAP, .address = address_of(f->number, first), .bytes = (uint64_t)count * PAGE};

    if (kind == 0) {
        memset(&now[first], 0, count * sizeof *now);
    } else if (kind == 1) {
        uint32_t from = pick(f, CELLS) * CELL + pick(f, CELL - count + 1);
        operation.kind = FERRY_VA_COPY;
        operation.source = address_of(f->number, from);
        memmove(&now[first], &now[from], count * sizeof *now);
    } else {
        count = count < k->pages[source] ? count : k->pages[source];
        uint32_t offset = pick(f, k->pages[source] - count + 1);
        operation.kind = FERRY_VA_MAP;
        operation.bytes = (uint64_t)count * PAGE;
        operation.allocation = k->sources[source];
        operation.offset = (uint64_t)offset * PAGE;
        for (uint32_t i = 0; i < count; i++)
            now[first + i] = (struct page){(uint8_t)(source + 1), (uint8_t)(offset + i)};
    }
    return operation;
}

static bool update(struct keeper *k)
{
    struct ferry_va_operation operations[3];
    struct page now[CELLS * CELL];
    struct ferry_va_batch batch = {.size = sizeof batch,
                                   .operation_size = sizeof operations[0],
                                   .operations = operations,
                                   .count = 1 + pick(&k->finder, 3)};

    memcpy(now, k->now, sizeof now);
    for (uint32_t i = 0; i < batch.count; i++)
        operations[i] = change(k, now);
    int result = ferry_va_update(k->queue, &batch);
    // Page tables may be short for as long as rovers have them.
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && batch.table_bytes > 0)
        return true;
    if (!well(&k->finder, "update", result))
        return false;
    memcpy(k->now, now, sizeof now);
    changed++;
    return true;
}

static bool is_there(const struct keeper *k, struct page page)
{
    return page.source != 0 && !k->away[page.source - 1];
}

// A job reads what a page leads to into the next slot, or writes a page of its own first.
static bool go(struct keeper *k)
{
    struct finder *f = &k->finder;
    uint32_t page = pick(f, CELLS * CELL), slot = k->used, number = k->now[page].number;
    uint64_t at = address_of(f->number, page);

    if (!is_there(k, k->now[page]))
        return true;
    if (k->now[page].source == SOURCES + 1 && pick(f, 2)) {
        k->written[number] = KEPT + (f->number << 16) + (15u << 12) + pick(f, 1u << 12);
        if (!well(f, "fill", ferry_queue_fill_va(k->queue, at, PAGE, k->written[number], 4)))
            return false;
    }
    k->expected[slot] = word_of(k, k->now[page]);
    if (!well(f, "copy", ferry_queue_copy_va(k->queue, k->at_result + slot * SLOT, at + pick(f, 63) * SLOT, SLOT)) ||
        !well(f, "submit", ferry_queue_submit(k->queue, &k->fences[slot])))
        return false;
    k->used++;
    return true;
}

// What a reset has cut off says nothing, and may have written what it was to write or not.
static bool look(struct keeper *k)
{
    struct finder *f = &k->finder;
    bool cut = false;

    for (unsigned slot = 0; slot < k->used; slot++) {
        int result = ferry_queue_wait(k->queue, k->fences[slot]);
        if (result == FERRY_ERROR_FAULT) {
            faulted++;
            k->expected[slot] = 0;
            cut = true;
        } else if (!well(f, "wait", result)) {
            return false;
        }
    }
    const uint32_t *words = lock(f, k->result, FERRY_LOCK_READ_ONLY);
    // One that is cut off spoils what those behind it find of what it was to write.
    for (unsigned slot = 0; words && slot < k->used; slot++) {
        uint32_t first = words[slot * SLOT / 4], last = words[(slot + 1) * SLOT / 4 - 1];
        bool of_written = (k->expected[slot] >> 12 & 15) == 15;
        if (k->expected[slot] == 0 || (cut && of_written))
            continue;
        read_back++;
        if (first != k->expected[slot] || last != first)
            found(f, "what a job has read", (int)slot, first == k->expected[slot] ? last : first);
    }
    if (!words || !well(f, "unlock", ferry_unlock(k->result)))
        return false;
    for (uint32_t page = 0; cut && page < CELL * 2; page++)
        k->written[page] = 0;
    k->used = 0;
    return !f->what;
}

static bool check_sources(struct keeper *k)
{
    for (unsigned i = 0; i <= SOURCES; i++) {
        const uint32_t *words = lock(&k->finder, k->sources[i], FERRY_LOCK_READ_ONLY);
        for (uint32_t page = 0; words && page < k->pages[i]; page++) {
            uint32_t expected = word_of(k, (struct page){(uint8_t)(i + 1), (uint8_t)page});
            for (uint32_t word = 0; word < PAGE / 4 && expected != 0 && !k->finder.what; word += 31)
                if (words[page * PAGE / 4 + word] != expected)
                    found(&k->finder, "what a keeper keeps", (int)(i << 8 | page), words[page * PAGE / 4 + word]);
        }
        if (!words || !well(&k->finder, "unlock", ferry_unlock(k->sources[i])))
            return false;
    }
    return !k->finder.what;
}

// One goes off the list and may leave, wherever it is mapped, or comes again.
static bool come_and_go(struct keeper *k)
{
    unsigned source = pick(&k->finder, SOURCES + 1);
    struct ferry_residency residency = {
        .size = sizeof residency, .allocations = &k->sources[source], .count = 1, .cant_trim_further = true};
    int result = k->away[source] ? ferry_make_resident(k->device, &residency) : ferry_evict(k->device, &residency);

    // What rovers list may be all of the program's budget.
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && k->away[source])
        return true;
    k->away[source] = !k->away[source];
    return well(&k->finder, "list", result);
}

static void *keep(void *context)
{
    struct keeper *k = context;
    bool goes_on = begin_keeper(k);

    for (unsigned round = 0; round < rounds(60, 1000) && goes_on; round++) {
        for (unsigned i = 0; i < SLOTS / 2 && goes_on; i++) {
            goes_on = pick(&k->finder, 3) ? true : update(k);
            goes_on = goes_on && go(k);
        }
        goes_on =
            goes_on && look(k) && (pick(&k->finder, 2) || come_and_go(k)) && (pick(&k->finder, 8) || check_sources(k));
    }
    if (goes_on)
        check_sources(k);
    return NULL;
}

static struct ferry_model *model_of(struct ferry_adapter *opened)
{
    struct umd_adapter *inside = adapter_inside(opened);
    return ferry_model_link_model(inside->gpu->link);
}

static void begin(struct finder *f, unsigned number, void *(*what)(void *), void *context)
{
    f->number = number;
    f->random = seed * 977 + number;
    assert_int_equal(pthread_create(&f->thread, NULL, what, context), 0);
}

static void judge(const struct finder *f)
{
    if (f->what && strcmp(f->what, "lost") != 0)
        fail_msg("FERRY_SEED=%llu, thread %u: %s: %s %#x, %#x", (unsigned long long)seed, f->number, f->what,
                 f->result < 0 ? ferry_error_name(f->result) : "at", (unsigned)f->result, f->word);
}

static void run(bool with_hangs)
{
    static struct keeper keepers[DEVICES];
    static struct rover rovers[DEVICES];
    struct finder neighbour = {.number = 0}, resetter = {.number = 0};
    struct ferry_process_options weight = {.size = sizeof weight, .weight = 4};
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 224 * PAGE,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory,
                                            .paging = paging_way,
                                            .table_bytes = 64 * PAGE};
    struct ferry_va range = {
        .size = sizeof range, .least = UINT64_C(4) << 30, .most = UINT64_C(1) << 46, .bytes = (uint64_t)ARENA * PAGE};

    memset(keepers, 0, sizeof keepers);
    memset(rovers, 0, sizeof rovers);
    ok(ferry_adapter_open(&options, &adapter));
    ok(ferry_process_create(adapter, &weight, &program));
    for (unsigned i = 0; i < DEVICES; i++)
        ok(ferry_process_create_device(program, &keepers[i].device));
    ok(ferry_va_reserve(keepers[0].device, &range));
    arena = range.address;
    over = false;
    hangs = with_hangs;
    resets = read_back = faulted = refused = roved = lost = changed = 0;
    ok(ferry_adapter_observe(adapter, hold_up, model_of(adapter)));
    for (unsigned i = 0; i < DEVICES; i++)
        begin(&keepers[i].finder, i, keep, &keepers[i]);
    for (unsigned i = 0; i < DEVICES; i++) {
        rovers[i].device = keepers[i].device;
        begin(&rovers[i].finder, DEVICES + i, wander, &rovers[i]);
    }
    begin(&neighbour, 2 * DEVICES, press, &neighbour);
    begin(&resetter, 2 * DEVICES + 1, reset, &resetter);
    for (unsigned i = 0; i < DEVICES; i++)
        pthread_join(keepers[i].finder.thread, NULL);
    over = true;
    for (unsigned i = 0; i < DEVICES; i++)
        pthread_join(rovers[i].finder.thread, NULL);
    pthread_join(neighbour.thread, NULL);
    pthread_join(resetter.thread, NULL);
    printf("%u read back, %u changes, %u resets, %u cut off, %u jobs of rovers, %u refused, %u lost\n", read_back,
           changed, resets, faulted, roved, refused, lost);
    for (unsigned i = 0; i < DEVICES; i++) {
        judge(&keepers[i].finder);
        judge(&rovers[i].finder);
    }
    judge(&neighbour);
    judge(&resetter);
    ok(ferry_adapter_observe(adapter, NULL, NULL));
    ferry_adapter_close(adapter);
}

static void what_jobs_find_is_right_whatever_others_map_and_destroy(void **state)
{
    (void)state;
    run(false);
    assert_true(read_back > 100 && changed > 100 && resets > 0 && lost == 0);
}

static void what_jobs_find_is_right_also_where_the_engine_hangs(void **state)
{
    (void)state;
    run(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jobs_find_is_right_whatever_others_map_and_destroy),
        cmocka_unit_test(what_jobs_find_is_right_also_where_the_engine_hangs),
    };

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
