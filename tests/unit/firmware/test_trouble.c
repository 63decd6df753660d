// SPDX-License-Identifier: Apache-2.0
// What the engine and the aperture table report, and how the firmware tells it.
#include "native.h"

// The hardware meets the bad page; the firmware names it. What stands behind it in the buffer is not done any more.
void bad_page_of_a_table_change(void **state)
{
    static const struct {
        bool unmap;
        uint32_t index;
        uint64_t page;
    } cases[] = {
        {false, 0, 0x7700000800ull}, {false, 3, 1},     {false, 2, 1ull << 52 | 0x5000},
        {false, 4, 1ull << 63},      {true, 0, 0x7008}, {true, 0, 1ull << 52},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        put_copy(&b, 0, 0, 16, 0, 64);
        if (cases[i].unmap)
            put_unmap(&b, 7, 5, cases[i].page);
        else
            put_map(&b, 0, 7, 5);
        b.words[8 + 4 + 2 * cases[i].index] = (uint32_t)cases[i].page;
        b.words[8 + 5 + 2 * cases[i].index] = (uint32_t)(cases[i].page >> 32);
        put_fill(&b, 0, 0, 64, 0, 0);
        double_submit(0, b.words, b.count, 77, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_FAULTED);
        assert_int_equal(machine.entries[0].action_count, 2);

        const uint32_t *record = double_fault_record(0)->words;

        assert_int_equal(record[FERRY_FAULT_RECORD_WHAT / 4],
                         FERRY_FAULT_KIND_RANGE |
                             FERRY_PUT(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, FERRY_ADDRESS_KIND_SYSTEM) |
                             FERRY_PUT(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, 32u));
        assert_int_equal(record[FERRY_FAULT_RECORD_ADDRESS / 4] | (uint64_t)record[FERRY_FAULT_RECORD_ADDRESS / 4 + 1]
                                                                      << 32,
                         cases[i].page);
        assert_int_equal(record[FERRY_FAULT_RECORD_LIST_INDEX / 4], cases[i].index);
    }
}

void full_fault_log_loses_nothing(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.log_is_read = false;
    machine.log_entries_log2 = 1;
    put_nop(&b, 2);
    b.words[0] |= 0xee;
    for (unsigned i = 0; i < 9; i++)
        double_submit(i % 3, b.words, b.count, i, false);
    for (unsigned read = 0; read < 7; read++) {
        assert_false(run_machine(20000));
        assert_int_equal(machine.fault_records, read + 2);
        machine.log_consumed++;
    }
    assert_true(run_machine(20000));
    must_be_null(double_verify());
    assert_int_equal(machine.fault_records, 9);
}

// The engine names a position on a side; the record has the address that the packet gives it, over a carry into the
// upper half too, the entry of a list, and what was written, for each kind of packet.
void engine_fault_is_named_from_its_packet(void **state)
{
    const uint32_t from_host = FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, FERRY_ADDRESS_KIND_SYSTEM);
    const uint32_t to_host = FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM);
    const uint32_t list_in = FERRY_PUT(FERRY_PACKET_PLACES_LIST, FERRY_LIST_SIDE_SOURCE) | from_host;
    const uint32_t list_out = FERRY_PUT(FERRY_PACKET_PLACES_LIST, FERRY_LIST_SIDE_DESTINATION) | to_host;
    const uint64_t page = 0x000fedcba9876000ull;
    const struct rectangle_side rows = {0x1200000000ull, 0x100, 0}, image = {0xe000, 0x100, 0};
    static const struct {
        unsigned packet;
        uint32_t kind, distance, written;
        bool write;
        // What the record must say.
        uint32_t address_kind, index, told;
        bool told_write;
        uint64_t address, entry;
    } cases[] = {
        {0, FERRY_FAULT_KIND_HOST_ABORT, 0x50, 16, false, 1, 0, 16, false, 0x1200000040ull, 0},
        {0, FERRY_FAULT_KIND_LOCAL_ERROR, 0x50, DOUBLE_UP_TO_POSITION, true, 0, 0, 0x50, true, 0x8050, 0},
        {0, FERRY_FAULT_KIND_WATCHDOG, 0, 0, false, 1, 0, 0, false, 0x11fffffff0ull, 0},
        {1, FERRY_FAULT_KIND_HOST_ABORT, 0x11, DOUBLE_UP_TO_POSITION, true, 1, 0, 0x11, true, 0x200000001ull, 0},
        {1, FERRY_FAULT_KIND_WATCHDOG, 0, 0, true, 1, 0, 0, true, 0x1fffffff0ull, 0},
        {2, FERRY_FAULT_KIND_HOST_UNSUPPORTED, 0x1f00, 7, false, 1, 2, 7, false, 0x000fedcba9876000ull, 0},
        {2, FERRY_FAULT_KIND_RANGE, 0xf00, 7, false, 1, 1, 7, false, 0x000fedcba9876008ull, 0x000fedcba9876008ull},
        {2, FERRY_FAULT_KIND_RANGE, 0xf10, 7, false, 1, 1, 7, false, 0x000fedcba9876008ull, 0x000fedcba9876008ull},
        {2, FERRY_FAULT_KIND_WATCHDOG, 0, 7, false, 1, 0, 0, false, 0x000fedcba9876100ull, 0},
        {2, FERRY_FAULT_KIND_LOCAL_ERROR, 0x1f00, DOUBLE_UP_TO_POSITION, true, 0, 0, 0x1f00, true, 0xbf00, 0},
        {3, FERRY_FAULT_KIND_HOST_ABORT, 0xf04, DOUBLE_UP_TO_POSITION, true, 1, 1, 0xf04, true, 0x000fedcba9876004ull,
         0},
        {3, FERRY_FAULT_KIND_RANGE, 0xf04, 5, true, 1, 1, 5, true, 1ull << 52, 1ull << 52},
        {3, FERRY_FAULT_KIND_LOCAL_ERROR, 0x10, 5, false, 0, 0, 5, false, 0xa010, 0},
        {4, FERRY_FAULT_KIND_LOCAL_ERROR, 0, 0, false, 0, 0, 0, false, 0xc000, 0},
        {4, FERRY_FAULT_KIND_WATCHDOG, 0, 0, false, 0, 0, 0, false, 0xc000, 0},
        {5, FERRY_FAULT_KIND_LOCAL_ERROR, 2, DOUBLE_UP_TO_POSITION, true, 0, 0, 2, true, 0xd002, 0},
        {6, FERRY_FAULT_KIND_HOST_ABORT, 0, DOUBLE_UP_TO_POSITION, true, 1, 0, 0, true, 0x7700000018ull, 0},
        {6, FERRY_FAULT_KIND_WATCHDOG, 0, 0, false, 1, 0, 0, true, 0x7700000018ull, 0},
        {7, FERRY_FAULT_KIND_WATCHDOG, 0, 0, false, 1, 0, 0, false, 0x1200000000ull, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer b = {.count = 0};

        double_reset();
        double_has_more();
        run_from_reset();
        put_nop(&b, 2);
        switch (cases[i].packet) {
        case 0: put_copy(&b, 0, from_host, 256, 0x11fffffff0ull, 0x8000); break;
        case 1: put_fill(&b, 0, to_host, 256, 0x1fffffff0ull, 5); break;
        case 2: put_copy_pages(&b, 0, list_in, 0x2000, 0x100, 0xa000, 3); break;
        case 3: put_copy_pages(&b, 0, list_out, 0x2000, 0x100, 0xa000, 3); break;
        case 4: put_read(&b, 0, 0, 4, 0xc000); break;
        case 5: put_write(&b, 0, 0, 4, 0xd000, 1); break;
        case 6: put_fence(&b, to_host, 0x7700000018ull, 3); break;
        default: put_rectangle(&b, 0, from_host, 64, 4, &rows, &image); break;
        }
        if (cases[i].packet == 2 || cases[i].packet == 3) {
            for (unsigned n = 0; n < 3; n++) {
                uint64_t entry = cases[i].entry && n == cases[i].index ? cases[i].entry : page;

                b.words[2 + FERRY_PACKET_COPY_PAGES_PAGE / 4 + 2 * n] = (uint32_t)entry;
                b.words[2 + FERRY_PACKET_COPY_PAGES_PAGE / 4 + 2 * n + 1] = (uint32_t)(entry >> 32);
            }
        }
        double_submit(0, b.words, b.count, 1, false);
        double_fault_job(0, cases[i].kind, cases[i].write, cases[i].distance, cases[i].written);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_non_null(double_fault_record(0));

        const uint32_t *record = double_fault_record(0)->words;

        assert_int_equal(record[FERRY_FAULT_RECORD_WHAT / 4],
                         cases[i].kind | FERRY_PUT(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, cases[i].address_kind) |
                             FERRY_PUT(FERRY_FAULT_RECORD_WHAT_WRITE, (uint32_t)cases[i].told_write) |
                             FERRY_PUT(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, 8u));
        assert_int_equal(record[FERRY_FAULT_RECORD_ADDRESS / 4] | (uint64_t)record[FERRY_FAULT_RECORD_ADDRESS / 4 + 1]
                                                                      << 32,
                         cases[i].address);
        assert_int_equal(record[FERRY_FAULT_RECORD_LIST_INDEX / 4], cases[i].index);
        assert_int_equal(record[FERRY_FAULT_RECORD_WRITTEN / 4], cases[i].told);
    }
}

// A buffer has faulted in the engine, and its end waits for room in the fault log: that is nothing to another one's
// change of the table.
void table_change_beside_a_fault_that_cannot_be_told(void **state)
{
    struct buffer bad = {.count = 0}, faulting = {.count = 0}, change = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.log_is_read = false;
    machine.log_entries_log2 = 0;
    put_nop(&bad, 2);
    bad.words[0] |= 0xee;
    put_copy(&faulting, 0, 0, 16, 0, 64);
    put_map(&change, 0, 0, 4);
    double_submit(1, bad.words, bad.count, 1, false);
    double_submit(2, faulting.words, faulting.count, 2, false);
    double_fault_job(0, FERRY_FAULT_KIND_LOCAL_ERROR, true, 0, 0);
    assert_false(run_machine(20000));
    assert_true(machine.poison != 0);
    double_submit(0, change.words, change.count, 3, false);
    assert_false(run_machine(20000));
    assert_int_equal(machine.entries[2].action_count, 1);
    machine.log_consumed++;
    assert_true(run_machine(20000));
    must_be_null(double_verify());
    assert_int_equal(double_status(1), FERRY_BUFFER_STATUS_FAULTED);
    assert_int_equal(double_status(2), FERRY_BUFFER_STATUS_SUCCESS);
}

// Page tables are told of where they refused a virtual address, not where the data behind them was bad.
void faults_of_virtual_addresses_tell_of_walks(void **state)
{
    static const struct {
        uint32_t kind;
        bool walked;
    } cases[] = {
        {FERRY_FAULT_KIND_RANGE, true},        {FERRY_FAULT_KIND_PROTECTED, true},
        {FERRY_FAULT_KIND_PAGE_ABSENT, true},  {FERRY_FAULT_KIND_HOST_UNSUPPORTED, false},
        {FERRY_FAULT_KIND_HOST_ABORT, false},  {FERRY_FAULT_KIND_COMPLETION_TIMEOUT, false},
        {FERRY_FAULT_KIND_LOCAL_ERROR, false}, {FERRY_FAULT_KIND_WATCHDOG, false},
    };

    (void)state;
    for (unsigned n = 0; n < 4 * (sizeof cases / sizeof cases[0]); n++) {
        const bool is_virtual = n & 1, write = n & 2, told = is_virtual && cases[n / 4].walked;
        const uint32_t kind = cases[n / 4].kind, place = is_virtual ? FERRY_ADDRESS_KIND_VIRTUAL : 0;
        struct buffer b = {.count = 0};

        double_reset();
        double_has_more();
        run_from_reset();
        put_copy(&b, 0, write ? TO(VIRTUAL) & place << 2 : FROM(VIRTUAL) & place, 4096, 0x3000, 0x8000);
        double_submit(0, b.words, b.count, 1, false);
        double_fault_job(0, kind, write, 0x50, 0);
        assert_true(run_machine(100000));
        // The double knows of no walks.
        if (!told)
            must_be_null(double_verify());
        assert_non_null(double_fault_record(0));
        assert_int_equal(double_fault_record(0)->words[FERRY_FAULT_RECORD_WHAT / 4] & 0xff, kind);
        assert_int_equal(double_fault_record(0)->words[FERRY_FAULT_RECORD_WALK / 4] &
                             FERRY_FAULT_RECORD_WALK_WALKED_MASK,
                         told ? FERRY_FAULT_RECORD_WALK_WALKED_MASK : 0);
    }
}

// Two buffers fault in the engine while it holds more jobs than the core could have queued without looking.
void second_engine_fault_cannot_hang_the_core(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    for (unsigned n = 0; n < 30; n++)
        put_copy(&b, 0, 0, 16, 0, 64);
    for (unsigned i = 0; i < 4; i++)
        double_submit(0, b.words, b.count, i, false);
    for (unsigned job = 0; job < 60; job++)
        if (job == 28 || job == 30 || job == 31)
            double_fault_job(job, FERRY_FAULT_KIND_HOST_ABORT, true, job, 0);
    assert_true(run_machine(100000));
    must_be_null(double_verify());
    assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_FAULTED);
    assert_int_equal(double_status(1), FERRY_BUFFER_STATUS_FAULTED);
    assert_int_equal(double_status(2), FERRY_BUFFER_STATUS_SUCCESS);
}

// A buffer of two jobs: the fault of the first is told and taken, and the second is still to be dropped.
static void fault_is_taken_before_the_next_job_is_dropped(void)
{
    struct buffer b = {.count = 0};

    double_reset();
    run_from_reset();
    machine.slow_drops = true;
    machine.job_ticks = 2000;
    put_copy(&b, 0, 0, 256, 0x1000, 0x8000);
    put_fill(&b, 0, 0, 256, 0x9000, 5);
    double_submit(0, b.words, b.count, 1, false);
    double_fault_job(0, FERRY_FAULT_KIND_LOCAL_ERROR, true, 0x40, DOUBLE_UP_TO_POSITION);
    while (!machine.entries[0].engine_faulted || (machine.engine_fault & FERRY_CORE_ENGINE_FAULT_VALID_MASK))
        assert_false(run_machine(1));
}

// The engine drops what comes behind a slot's first fault; should it tell of a second one, that is not the one that
// counts.
void first_fault_of_a_slot_counts(void **state)
{
    (void)state;
    fault_is_taken_before_the_next_job_is_dropped();
    assert_int_equal(machine.jobs_retired, 1);
    machine.engine_fault = FERRY_CORE_ENGINE_FAULT_VALID_MASK | FERRY_FAULT_KIND_HOST_ABORT |
                           FERRY_PUT(FERRY_CORE_ENGINE_FAULT_SLOT, machine.entries[0].slot) |
                           FERRY_PUT(FERRY_CORE_ENGINE_FAULT_PACKET_OFFSET, (uint32_t)FERRY_PACKET_COPY_SIZE);
    machine.engine_fault_position = 0x9050;
    machine.engine_fault_written = 3;
    assert_true(run_machine(100000));
    must_be_null(double_verify());
    assert_false(machine.engine_fault & FERRY_CORE_ENGINE_FAULT_VALID_MASK);
    assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_FAULTED);
}

// A buffer whose job faulted has faulted, also if a reset comes before it ends: the fault came first.
void fault_before_a_reset_is_told(void **state)
{
    (void)state;
    fault_is_taken_before_the_next_job_is_dropped();
    double_engine_reset(10);
    assert_true(run_machine(100000));
    must_be_null(double_verify());
    assert_true(machine.entries[0].held_at_reset);
    assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_FAULTED);
    assert_int_equal(
        FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, double_fault_record(0)->words[FERRY_FAULT_RECORD_WHAT / 4]),
        FERRY_FAULT_KIND_LOCAL_ERROR);
}

// Nor has it another fault when memory gives up behind it, with jobs of the buffer still to be queued.
void fault_before_memory_gives_up_is_told(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.slow_drops = true;
    machine.job_ticks = 2000;
    for (unsigned n = 0; n < 22; n++)
        put_fill(&b, 0, 0, 256, 0x9000, 5);
    double_submit(0, b.words, b.count, 1, false);
    double_fault_job(0, FERRY_FAULT_KIND_LOCAL_ERROR, true, 0x40, DOUBLE_UP_TO_POSITION);
    machine.stuck_at = 3000;
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_in_range(machine.jobs_queued, 1, 21);
    assert_int_equal(machine.fault_records, 1);
    assert_int_equal(
        FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, double_fault_record(0)->words[FERRY_FAULT_RECORD_WHAT / 4]),
        FERRY_FAULT_KIND_LOCAL_ERROR);
}

void restart_goes_on_in_the_fault_log(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.stage[FERRY_CORE_FAULT_LOG_PRODUCED / 4] = 7;
    put_nop(&b, 2);
    b.words[0] |= 0xee;
    double_submit(1, b.words, b.count, 1, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_non_null(double_fault_record(0));
    assert_int_equal(double_fault_record(0)->words[FERRY_FAULT_RECORD_SEQUENCE / 4], 8);
}

// Of an entry that could not be read the fetcher tells the lower five bits of its number: the rest is the ring's.
void unread_entry_of_a_long_ring(void **state)
{
    (void)state;
    double_reset();
    run_from_reset();
    machine.ring_entries_log2[1] = 6;
    machine.rings[1].retired = machine.first_retired[1] = 40;
    double_submit_unfetched(1, FERRY_FAULT_KIND_BUFFER_FETCH, 0, DOUBLE_UNREAD, 0);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_non_null(double_fault_record(0));

    const uint32_t *record = double_fault_record(0)->words;
    const uint64_t told = record[FERRY_FAULT_RECORD_ADDRESS / 4] | (uint64_t)record[FERRY_FAULT_RECORD_ADDRESS / 4 + 1]
                                                                       << 32;

    assert_int_equal(told, machine.ring_base[1] + UINT64_C(40) * FERRY_RING_ENTRY_SIZE);
}

// A user's buffer waits in the sequencer for room when the firmware looks into another one's fault, and a buffer of the
// paging ring gets its slot about then: the sequencer is stopped before it is started for that. At each distance of
// the two.
void paging_comes_beside_a_fault(void **state)
{
    (void)state;
    for (unsigned ticks = 20; ticks < 220; ticks++) {
        struct buffer b = {.count = 0}, more = {.count = 0}, paging = {.count = 0};

        double_reset();
        run_from_reset();
        machine.job_ticks = 300;
        machine.post_ticks = ticks;
        put_copy(&b, 0, 0, 16, 0, 64);
        for (unsigned n = 0; n < 12; n++)
            put_copy(&more, 0, 0, 16, 0, 64);
        put_nop(&paging, 2);
        double_submit(1, b.words, b.count, 1, false);
        double_submit(2, more.words, more.count, 2, false);
        double_fault_job(0, FERRY_FAULT_KIND_LOCAL_ERROR, true, 0, 0);
        assert_false(run_machine(200));
        // Two have the slots that are left, the third gets that of the first, whose record is as long on its way.
        for (unsigned n = 0; n < 3; n++)
            double_submit(0, paging.words, paging.count, 3 + n, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
    }
}
