// SPDX-License-Identifier: Apache-2.0
// The same random programs of page tables on the reference model and on another back end: jobs through GPU virtual
// addresses, and edits of the tables with their FORGETs before and beside them. What both have been asked and what came
// of it goes into a file (`--log FILE`), which table_walks.py judges.
#include "agreement_buffers.h"
#include "system.h"
#include "table_packets.h"
#include "table_programs.h"
#include "table_record.h"

#include "model/model_link.h"

#define SLOT_BYTES  PAGE(4) // Where a job's content from virtual addresses goes.
#define SLOTS       16u
#define RESULTS_AT  128u // Pages of the region of host memory.
#define NOISE_AT    224u
#define NOISE_PAGES 8u
#define BUFFERS     48u // Of a round.
#define FULL_RIGHTS                                                                                                    \
    (FERRY_GPU_RIGHT_SYSTEM | FERRY_GPU_RIGHT_APERTURE | FERRY_GPU_RIGHT_PROTECTED | FERRY_GPU_RIGHT_TABLES)
#define PROTECTED FERRY_PACKET_HEADER_PROTECTED_MASK

enum what { COPY, FILL, READ };

static struct side sides[2];
static struct tables tables;
static struct record record;
static uint64_t fence;
static uint32_t submitted[2][RINGS], slots_used;
static uint32_t writer;   // The ring whose jobs write to virtual addresses in this round.
static uint32_t gone = 4; // The space whose root has been taken away.
static uint64_t jobs, edits_made, forgets;

// ---- Packets ----------------------------------------------------------------------------------------------------

static void run_buffer(int s, uint32_t ring, uint32_t space, uint64_t value, const struct buffer *b)
{
    struct side *side = &sides[s];
    uint32_t place = (uint32_t)(value % BUFFERS) * 4096;
    struct ferry_gpu_entry entry = {.buffer_address = side->commands.bus + place,
                                    .buffer_bytes = 4 * b->count,
                                    .space = space,
                                    .fence_value = value};

    assert_true(b->count <= 1024);
    memcpy((uint8_t *)side->commands.address + place, b->words, 4 * b->count);
    ok(ferry_gpu_ring_submit(side->gpu, ring, &entry, &submitted[s][ring]));
}

static void submit(uint32_t ring, uint32_t space, const struct buffer *b)
{
    fence++;
    for (int s = 0; s < 2; s++)
        run_buffer(s, ring, space, fence, b);
}

static void wait_all(void)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t ring = 0; ring < RINGS; ring++)
            ok(ferry_gpu_wait_retired(sides[s].gpu, ring, submitted[s][ring], 0));
}

static void put_forget(struct buffer *b, const struct table_forget *forget)
{
    fprintf(record.file, "forget %llu %u %u %u %llu\n", (unsigned long long)fence + 1, 4 * b->count, forget->scope,
            forget->space, (unsigned long long)forget->address);
    forgets++;
    put(b, FERRY_OPCODE_FORGET | 6u << 16);
    put(b, 0);
    put(b, FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SCOPE, forget->scope) |
               FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SPACE, forget->space));
    put(b, 0);
    put_wide(b, forget->address);
}

static void put_root(struct buffer *b, uint32_t space)
{
    const struct root *root = &tables.roots[space];
    bool host = root->valid && tables.table[root->table].in_host;
    uint64_t place = root->valid ? tables_place(&tables, root->table) : 0;

    fprintf(record.file, "root %u %u %u %u %llu\n", space, root->valid, host, root->height, (unsigned long long)place);
    put(b, FERRY_OPCODE_ROOT | 6u << 16);
    put(b, host ? 1u << 2 : 0);
    put(b, space | (root->valid ? root->height << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK : 0));
    put(b, 0);
    put_wide(b, place);
}

static void log_word(const char *what, const struct table_edit *edit, uint32_t at)
{
    const struct table *table = &tables.table[edit->table];

    fprintf(record.file, "%s %llu %u %u %llu %llu %u %u %llu\n", what, (unsigned long long)fence + 1, at,
            table->in_host, (unsigned long long)tables_place(&tables, edit->table) + 8 * edit->index,
            (unsigned long long)edit->value, tables_level(&tables, edit->table), table->space,
            (unsigned long long)table->address + ((uint64_t)edit->index << (12 + 9 * table->level)));
}

static void put_edit(struct buffer *b, const struct table_edit *edit)
{
    log_word("edit", edit, 4 * b->count);
    put_pattern(b, FERRY_OPCODE_WRITE, tables.table[edit->table].in_host,
                tables_place(&tables, edit->table) + 8 * edit->index, 8, edit->value, PROTECTED);
}

// ---- Jobs -------------------------------------------------------------------------------------------------------

static uint32_t length(void)
{
    switch (draw(4)) {
    case 0: return (uint32_t)draw(9);
    case 1: return 4096 + (uint32_t)draw(6000);
    default: return 1 + (uint32_t)draw(300);
    }
}

// A packet that goes through an address of the space; it writes no memory that another ring's job writes in this round.
static void put_job(struct buffer *b, uint32_t ring, uint32_t space)
{
    bool may_protected = ring == 0 || ring == 2, flagged = may_protected && draw(3) == 0;
    bool writes = ring == writer && draw(2);
    uint32_t bytes = length(), flags = flagged ? PROTECTED : 0, kinds[2] = {3, 3};
    uint64_t source = 0, destination = 0, pattern = draw(UINT64_MAX), at = 4 * b->count;
    enum what what = COPY;

    if (writes) {
        destination = tables_address(&tables, space, true, bytes);
        switch (draw(4)) {
        case 0: // Nothing that comes from virtual addresses leaves the protected range with the right to that.
            source = tables_address(&tables, space, false, bytes);
            flags = 0;
            break;
        case 1:
            kinds[0] = 1;
            source = tables.host + PAGE(NOISE_AT) + draw(PAGE(NOISE_PAGES) - bytes + 1);
            break;
        default: what = FILL;
        }
    } else if (draw(5) == 0 || slots_used == SLOTS) {
        bytes = 1 + (uint32_t)draw(8);
        source = tables_address(&tables, space, false, bytes);
        what = READ;
    } else {
        source = tables_address(&tables, space, false, bytes);
        kinds[1] = flagged ? 0 : 1;
        destination = flagged ? PAGE(88) + draw(PAGE(4) - bytes + 1)
                              : tables.host + PAGE(RESULTS_AT) + slots_used++ * SLOT_BYTES + draw(64);
        if (flagged && ring != writer)
            return;
    }
    jobs++;
    if (what == READ) {
        put_read(b, source, bytes, flags);
    } else if (what == FILL && draw(2)) {
        put_pattern(b, FERRY_OPCODE_FILL, 3, destination, bytes, pattern, flags);
    } else if (what == FILL && draw(2)) {
        bytes = 8;
        flags = 0;
        destination &= ~UINT64_C(7);
        put_fence(b, destination, pattern);
    } else if (what == FILL) {
        bytes = 1 + bytes % 8;
        put_pattern(b, FERRY_OPCODE_WRITE, 3, destination, bytes, pattern, flags);
    } else
        put_copy(b, kinds[0], source, kinds[1], destination, bytes, flags);
    fprintf(record.file, "job %llu %llu %u %u %u %u %u %llu %u %llu %u %llu\n", (unsigned long long)fence + 1,
            (unsigned long long)at, ring, space, flags != 0, what, kinds[0], (unsigned long long)source, kinds[1],
            (unsigned long long)destination, bytes, (unsigned long long)pattern);
}

static uint32_t any_space(void)
{
    return draw(3) ? tables.hot_space : draw(12) ? (uint32_t)draw(4) : 4;
}

static void user_jobs(void)
{
    struct buffer b = {.count = 0};
    uint32_t ring = 1 + (uint32_t)draw(RINGS - 1), space = any_space();

    for (uint64_t packets = 1 + draw(3); packets; packets--)
        put_job(&b, ring, space);
    if (b.count)
        submit(ring, space, &b);
}

// Edits, mostly forgotten at once, and perhaps a job behind them.
static void edit_tables(bool with_job)
{
    struct buffer b = {.count = 0};
    uint32_t space = any_space();

    for (uint64_t turns = 1 + draw(2); turns; turns--) {
        struct table_edit edits[EDITS];
        struct table_forget forget = {.scope = FERRY_FORGET_SCOPE_ALL};
        uint32_t count = 0;

        if (draw(gone < 4 ? 2 : 16) == 0) {
            uint32_t which = gone < 4 ? gone : (uint32_t)draw(4);

            gone = gone < 4 ? 4 : which;
            tables.roots[which].valid = gone == 4;
            put_root(&b, which);
        } else if ((count = tables_edit(&tables, edits)) == 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            put_edit(&b, &edits[i]);
        edits_made += count;
        if (count && draw(4))
            forget = tables_forget(&tables, &edits[0]);
        if (!count || draw(5))
            put_forget(&b, &forget);
    }
    if (with_job && draw(2))
        put_job(&b, 0, space);
    if (b.count)
        submit(0, space, &b);
}

// ---- Content ----------------------------------------------------------------------------------------------------

// Between `check` and video memory, of the ranges from the first on. Nobody walks meanwhile, so that the protected
// range may be away.
static void move_local(bool out, uint32_t first)
{
    fence++;
    for (int s = 0; s < 2; s++) {
        struct buffer b = {.count = 0};
        uint64_t at = sides[s].check.bus;

        for (uint32_t i = 0; i < LOCAL_RANGES; at += PAGE(local[i++].pages))
            if (i >= first)
                put_copy(&b, !out, out ? PAGE(local[i].first) : at, out, out ? at : PAGE(local[i].first),
                         (uint32_t)PAGE(local[i].pages), 0);
        if (!out)
            put_copy(&b, 1, at, 0, PAGE(TABLES_AT), (uint32_t)PAGE(TABLES / 2), 0);
        ok(ferry_gpu_set_protected(sides[s].gpu, 0, 0));
        run_buffer(s, 0, 0, fence, &b);
        ok(ferry_gpu_wait_retired(sides[s].gpu, 0, submitted[s][0], 0));
        ok(ferry_gpu_set_protected(sides[s].gpu, PAGE(PROTECT_FIRST), PAGE(PROTECT_END)));
    }
}

// New tables and new content, which nobody remembers anything of.
static void begin_program(void)
{
    struct buffer b = {.count = 0};
    struct table_forget all = {.scope = FERRY_FORGET_SCOPE_ALL};
    uint64_t host = tables.host;

    tables_make(&tables, host);
    gone = 4;
    fprintf(record.file, "program %llu %llu %llu %llu\n", (unsigned long long)PAGE(LOCAL_PAGES),
            (unsigned long long)PAGE(PROTECT_FIRST), (unsigned long long)PAGE(PROTECT_END), (unsigned long long)host);
    for (int s = 0; s < 2; s++) {
        memset(record.region[s], 0, PAGE(512));
        memset(sides[s].check.address, 0, PAGE(LOCAL_TOGETHER + TABLES / 2));
    }
    for (uint32_t i = 0; i < tables.count; i++) {
        const struct table *table = &tables.table[i];

        for (uint32_t k = 0; k < 512; k++)
            if (table->words[k])
                log_word("word", &(struct table_edit){i, k, table->words[k]}, 0);
        for (int s = 0; s < 2; s++)
            memcpy(table->in_host ? &record.region[s][PAGE(table->page)]
                                  : (uint8_t *)sides[s].check.address + PAGE(LOCAL_TOGETHER + table->page - TABLES_AT),
                   table->words, sizeof table->words);
    }
    for (uint64_t page = 0; page < 512; page++)
        if (page < 16 || (page >= 32 && page < 48) || page >= 500 || page - NOISE_AT < NOISE_PAGES) {
            for (uint32_t i = 0; i < 4096; i++)
                record.region[0][PAGE(page) + i] = (uint8_t)draw(256);
            memcpy(&record.region[1][PAGE(page)], &record.region[0][PAGE(page)], 4096);
            record_page(&record, 2, true, host / 4096 + page, &record.region[0][PAGE(page)]);
        }
    for (uint32_t i = 0, at = 0; i < LOCAL_RANGES; at += local[i++].pages)
        for (uint32_t page = 0; page < local[i].pages; page++) {
            uint8_t *content = (uint8_t *)sides[0].check.address + PAGE(at + page);

            for (uint32_t k = 0; k < 4096; k++)
                content[k] = (uint8_t)draw(256);
            memcpy((uint8_t *)sides[1].check.address + PAGE(at + page), content, 4096);
            record_page(&record, 2, false, local[i].first + page, content);
        }
    move_local(false, 0);
    record_knows(&record);
    for (uint32_t space = 0; space < SPACES; space++)
        put_root(&b, space);
    put_forget(&b, &all);
    submit(0, 0, &b);
    wait_all();
}

// ---- Rounds -----------------------------------------------------------------------------------------------------

static void pass_time(void)
{
    uint64_t cycles = draw(3) ? draw(400) : draw(3000);

    for (int s = 0; s < 2; s++)
        ok(ferry_gpu_run(sides[s].gpu, cycles));
}

// Edits, and then jobs; or both beside each other.
static void run_round(unsigned round, bool last)
{
    bool race = draw(2) != 0;
    uint32_t first = last ? 0 : FIRST_WRITTEN;

    if (round % 4 == 0)
        tables_turn(&tables);
    slots_used = 0;
    writer = (uint32_t)draw(RINGS);
    for (int s = 0; s < 2; s++)
        memset(&record.region[s][PAGE(RESULTS_AT)], 0xee, SLOTS * SLOT_BYTES);
    for (int s = 0; s < 2; s++)
        memset(&record.seen[s][PAGE(RESULTS_AT)], 0xee, SLOTS * SLOT_BYTES);
    fprintf(record.file, "round %u %llu %llu\n", round, (unsigned long long)(tables.host / 4096 + RESULTS_AT),
            (unsigned long long)(SLOTS * SLOT_BYTES / 4096));
    if (!race) {
        for (uint64_t count = draw(4); count; count--)
            edit_tables(true);
        wait_all();
        fprintf(record.file, "quiet\n");
        for (uint64_t count = 4 + draw(9); count; count--)
            user_jobs();
    }
    for (uint64_t steps = race ? 10 + draw(14) : 0; steps; steps--) {
        switch (draw(8)) {
        case 0:
        case 1:
        case 2: edit_tables(true); break;
        case 3: pass_time(); break;
        default: user_jobs();
        }
    }
    wait_all();
    move_local(true, first);
    record_changes(&record, first);
    record_faults(&record);
    record_counts(&record);
    fprintf(record.file, "end\n");
}

static void side_start(struct side *side)
{
    static const uint32_t rights[RINGS] = {FULL_RIGHTS, FERRY_GPU_RIGHT_SYSTEM,
                                           FERRY_GPU_RIGHT_SYSTEM | FERRY_GPU_RIGHT_PROTECTED, FERRY_GPU_RIGHT_SYSTEM};
    int s = (int)(side - sides);

    ok(ferry_gpu_open(side->link, NULL, &side->gpu));
    // As many pages as have such a region among them, wherever they begin.
    ok(ferry_gpu_memory_allocate(side->gpu, PAGE(1023), 0, &side->pool));
    ok(ferry_gpu_memory_allocate(side->gpu, PAGE(LOCAL_TOGETHER + TABLES / 2), 0, &side->check));
    ok(ferry_gpu_memory_allocate(side->gpu, PAGE(BUFFERS), 0, &side->commands));
    for (uint32_t ring = 0; ring < RINGS; ring++)
        ok(ferry_gpu_ring_create(side->gpu, ring, 6, rights[ring]));
    ok(ferry_gpu_set_local_limit(side->gpu, PAGE(LOCAL_PAGES)));
    record.sides = sides;
    record.host = tables.host = (side->pool.bus + PAGE(512) - 1) & ~(PAGE(512) - 1);
    record.region[s] = (uint8_t *)side->pool.address + (tables.host - side->pool.bus);
    record.seen[s] = calloc(512, 4096);
    record.local_seen[s] = calloc(LOCAL_TOGETHER, 4096);
}

static void side_stop(int s)
{
    ferry_gpu_memory_free(sides[s].gpu, &sides[s].commands);
    ferry_gpu_memory_free(sides[s].gpu, &sides[s].check);
    ferry_gpu_memory_free(sides[s].gpu, &sides[s].pool);
    ferry_gpu_close(sides[s].gpu);
    free(record.seen[s]);
    free(record.local_seen[s]);
}

static void both_carry_out_the_same_tables(void **state)
{
    struct ferry_link_config config = {.size = sizeof config, .seed = seed, .random_stall_percent = seed % 3 * 12};
    struct ferry_gpu_info info;
    struct ferry_model_options options = {.page_tables = true, .defer_cycles = 1000, .seed = seed};
    unsigned all_rounds = on_model() ? 160 : rounds(24, 160);

    (void)state;
    if (getenv("FERRY_STEPS"))
        all_rounds = (unsigned)strtoul(getenv("FERRY_STEPS"), NULL, 0);
    draw_from(seed);
    ok(ferry_link_open(backend, &config, &sides[1].link));
    side_start(&sides[1]);
    ferry_gpu_query(sides[1].gpu, &info);
    assert_true(info.page_tables);
    options.local_bytes = info.local_bytes;
    options.aperture_pages = info.aperture_pages;
    options.tiling = info.tiling;
    ok(ferry_model_link_open(&options, &config, &sides[0].link));
    side_start(&sides[0]);
    assert_true(sides[0].pool.bus == sides[1].pool.bus && sides[0].commands.bus == sides[1].commands.bus);
    for (unsigned round = 0; round < all_rounds; round++) {
        if (round % 8 == 0)
            begin_program();
        run_round(round, round % 8 == 7 || round + 1 == all_rounds);
    }
    printf("%llu jobs, %llu of them faulted, %llu entries edited, %llu FORGETs\n", (unsigned long long)jobs,
           (unsigned long long)record.faults / 2, (unsigned long long)edits_made, (unsigned long long)forgets);
    side_stop(0);
    side_stop(1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_carry_out_the_same_tables)};
    const char *name = "/dev/null";

    read_options(argc, argv);
    for (int i = 1; i + 1 < argc; i++)
        name = strcmp(argv[i], "--log") ? name : argv[i + 1];
    record.file = fopen(name, "w");
    if (!record.file)
        return perror(name), 1;
    say_random();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return fclose(record.file) != 0 || failed;
}
