// SPDX-License-Identifier: Apache-2.0
// The firmware's own sources, built natively under the sanitizers, over the double of the hardware.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "boot.h"
#include "double_hal.h"
#include "halt.h"
#include "queues.h"
#include "run.h"

static bool started;
static volatile bool stopped;

void run_from_reset(void)
{
    started = false;
}

bool run_machine(uint64_t patience)
{
    uint64_t until = machine.now + patience;

    if (setjmp(double_stopped)) {
        stopped = true;
        return true;
    }
    if (!started) {
        started = true;
        stopped = !ferry_firmware_start();
    }
    while (!stopped && !machine.wrong[0] && machine.now < until) {
        if (double_idle())
            return true;
        ferry_firmware_step();
    }
    return stopped || double_idle();
}

static void must_be_null(const char *why)
{
    if (why)
        fail_msg("%s", why);
}

static void every_packet(void **state)
{
    (void)state;
    must_be_null(scenario_every_packet());
}

static void rings_and_order(void **state)
{
    (void)state;
    must_be_null(scenario_rings_and_order());
}

static void faults_and_reset(void **state)
{
    (void)state;
    must_be_null(scenario_faults_and_reset());
}

static void reset_at_any_step(void **state)
{
    (void)state;
    must_be_null(scenario_reset_at_any_step());
}

static void fault_with_jobs_behind_it(void **state)
{
    (void)state;
    must_be_null(scenario_fault_with_jobs_behind_it());
}

// A packet, the ring that it comes from, and what must be said of it. The words after `bad` are changed in a good
// packet.
static struct {
    const char *what;
    void (*put)(struct buffer *b);
    uint32_t at, value;
    uint32_t ring, kind, address_kind;
    bool write;
    uint64_t address;
} bad_forms[128];
static unsigned bad_count;

static void good_nop(struct buffer *b)
{
    put_nop(b, 4);
}
static void good_copy(struct buffer *b)
{
    put_copy(b, 0, 0, 4096, 0x1000, 0x2000);
}
static void good_copy_in(struct buffer *b)
{
    put_copy(b, 0, FROM(SYSTEM), 4096, 0x100001000ull, 0x2000);
}
static void good_copy_out(struct buffer *b)
{
    put_copy(b, 0, TO(SYSTEM), 4096, 0x1000, 0x100002000ull);
}
static void good_aperture(struct buffer *b)
{
    put_copy(b, 0, FROM(APERTURE) | TO(APERTURE), 4096, 0x1000, 0x2000);
}
static void good_protected(struct buffer *b)
{
    put_copy(b, PROTECTED, 0, 4096, 0x1000, 0x2000);
}
static void good_page_in(struct buffer *b)
{
    put_copy_pages(b, 0, FROM(SYSTEM) | TO(LOCAL) | LIST(SOURCE), 8192, 1, 0x3000, 3);
}
static void good_page_out(struct buffer *b)
{
    put_copy_pages(b, 0, FROM(LOCAL) | TO(SYSTEM) | LIST(DESTINATION), 8192, 1, 0x3000, 3);
}
static void good_fill(struct buffer *b)
{
    put_fill(b, 0, PATTERN(2), 64, 0x4000, 7);
}
static void good_fill_out(struct buffer *b)
{
    put_fill(b, 0, TO(SYSTEM), 64, 0x4000, 7);
}
static void good_read(struct buffer *b)
{
    put_read(b, 0, 0, 8, 0x5000);
}
static void good_write(struct buffer *b)
{
    put_write(b, 0, 0, 8, 0x6000, 1);
}
static void good_map(struct buffer *b)
{
    put_map(b, SNOOP, 5, 2);
}
static void good_unmap(struct buffer *b)
{
    put_unmap(b, 6, 2, 0x7000);
}
static void good_fence(struct buffer *b)
{
    put_fence(b, TO(SYSTEM), 0x8000, 9);
}
static void good_discard(struct buffer *b)
{
    put_discard(b, 4096, 0x9000);
}

#define BAD(PUT, AT, VALUE, RING, KIND, ADDRESS_KIND, WRITE, ADDRESS)                                                  \
    bad_forms[bad_count].what = #PUT " word " #AT " = " #VALUE " on ring " #RING;                                      \
    bad_forms[bad_count].put = good_##PUT;                                                                             \
    bad_forms[bad_count].at = (AT) / 4;                                                                                \
    bad_forms[bad_count].value = (VALUE);                                                                              \
    bad_forms[bad_count].ring = (RING);                                                                                \
    bad_forms[bad_count].kind = FERRY_FAULT_KIND_##KIND;                                                               \
    bad_forms[bad_count].address_kind = FERRY_ADDRESS_KIND_##ADDRESS_KIND;                                             \
    bad_forms[bad_count].write = (WRITE);                                                                              \
    bad_forms[bad_count].address = (ADDRESS);                                                                          \
    bad_count++

static void fill_bad_forms(void)
{
    bad_count = 0;
    // Lengths: none, odd, not the opcode's, past the end.
    BAD(nop, 0, 0x00000000, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(nop, 0, 0x00010000, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(nop, 0, 0x00030000, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(nop, 0, 0xfffe0000, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(copy, 0, 0x00000001, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(copy, 0, 0x00060001, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(copy, 0, 0x00070001, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(copy, 0, 0x000c0001, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 0, 0x00020002, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 0, 0x00040002, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 0, 0x00060002, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 0, 0x000a0002, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 0, 0x000b0002, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 8, 12288, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 8, 0xffffffff, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 12, 0, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(page_in, 12, 0xffffffff, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(fill, 0, 0x00060003, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(read, 0, 0x00040004, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(write, 0, 0x00060005, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(map, 0, 0x00060006, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(map, 0, 0x00020006, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(map, 12, 0, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(map, 12, 0x80000002, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(unmap, 0, 0x00040007, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(fence, 0, 0x00040008, 0, PACKET_LENGTH, LOCAL, false, 0);
    BAD(discard, 0, 0x00040009, 0, PACKET_LENGTH, LOCAL, false, 0);
    // Opcodes.
    BAD(copy, 0, 0x0008000a, 0, PACKET_OPCODE, LOCAL, false, 0);
    BAD(copy, 0, 0x000800ff, 0, PACKET_OPCODE, LOCAL, false, 0);
    // Reserved bits and single fields.
    BAD(copy, 0, 0x00080401, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 0, 0x00088001, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 4, 0x00000200, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 4, 0x80000000, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 4, 0x00000010, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 4, 0x00000040, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 4, 0x00000100, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(copy, 12, 1, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(page_in, 0, 0x000c0402, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(page_in, 4, 0x00000001, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(page_in, 4, 0x00000031, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(page_in, 4, 0x00000051, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(fill, 0, 0x00080103, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(fill, 4, 0x00000081, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(fill, 12, 0x80000000, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(read, 8, 0, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(read, 8, 9, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(read, 12, 4, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(read, 4, 0x00000004, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(read, 0, 0x00060104, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(write, 8, 0, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(write, 8, 0x80000001, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(write, 4, 0x00000001, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(map, 0, 0x00080206, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(map, 4, 0x00000001, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(unmap, 4, 0x00000100, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(unmap, 12, 0, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(fence, 8, 0x00008004, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(fence, 0, 0x00060208, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(fence, 4, 0x00000001, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(discard, 4, 0x00000004, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(discard, 12, 1, 0, PACKET_RESERVED, LOCAL, false, 0);
    // Address kinds.
    BAD(copy, 4, 0x00000003, 0, ADDRESS_KIND, VIRTUAL, false, 0x1000);
    BAD(copy, 4, 0x0000000c, 0, ADDRESS_KIND, VIRTUAL, true, 0x2000);
    BAD(page_in, 4, 0x00000010, 0, ADDRESS_KIND, LOCAL, false, 0x3000);
    BAD(page_in, 4, 0x00000015, 0, ADDRESS_KIND, SYSTEM, true, 0x3000);
    BAD(page_in, 4, 0x0000001d, 0, ADDRESS_KIND, VIRTUAL, true, 0x3000);
    BAD(page_out, 4, 0x00000025, 0, ADDRESS_KIND, SYSTEM, false, 0x3000);
    BAD(page_out, 4, 0x00000020, 0, ADDRESS_KIND, LOCAL, true, 0x3000);
    BAD(fill, 4, 0x00000008, 0, ADDRESS_KIND, APERTURE, true, 0x4000);
    BAD(read, 4, 0x00000003, 0, ADDRESS_KIND, VIRTUAL, false, 0x5000);
    BAD(write, 4, 0x0000000c, 0, ADDRESS_KIND, VIRTUAL, true, 0x6000);
    BAD(fence, 4, 0x00000008, 0, ADDRESS_KIND, APERTURE, true, 0x8000);
    // Rights: ring 1 has none.
    BAD(copy_in, 8, 4096, 1, RIGHTS, SYSTEM, false, 0x100001000ull);
    BAD(copy_out, 8, 4096, 1, RIGHTS, SYSTEM, true, 0x100002000ull);
    BAD(page_in, 8, 8192, 1, RIGHTS, SYSTEM, false, 0x3000);
    BAD(page_out, 8, 8192, 1, RIGHTS, SYSTEM, true, 0x3000);
    BAD(fill_out, 8, 64, 1, RIGHTS, SYSTEM, true, 0x4000);
    BAD(read, 4, 0x00000001, 1, RIGHTS, SYSTEM, false, 0x5000);
    BAD(write, 4, 0x00000004, 1, RIGHTS, SYSTEM, true, 0x6000);
    BAD(map, 8, 5, 1, RIGHTS, APERTURE, true, 0x5000);
    BAD(unmap, 8, 6, 1, RIGHTS, APERTURE, true, 0x6000);
    BAD(fence, 8, 0x8000, 1, RIGHTS, SYSTEM, true, 0x8000);
    BAD(protected, 8, 4096, 1, RIGHTS, LOCAL, false, 0);
    // Ranges: 64 MiB of video memory, 4096 aperture pages.
    BAD(copy, 16, 0x03fff001, 1, RANGE, LOCAL, false, 0x3fff001);
    BAD(copy, 20, 1, 1, RANGE, LOCAL, false, 0x100001000ull);
    BAD(copy, 24, 0x03fff001, 1, RANGE, LOCAL, true, 0x3fff001);
    BAD(copy, 28, 0x80000000, 1, RANGE, LOCAL, true, 0x8000000000002000ull);
    BAD(copy, 8, 0xfffff000, 1, RANGE, LOCAL, false, 0x1000);
    BAD(copy, 24, 0xfffff000, 1, RANGE, LOCAL, true, 0xfffff000);
    BAD(copy_in, 20, 0xffffffff, 0, NONE, LOCAL, false, 0);
    BAD(aperture, 16, 0x00fff001, 1, RANGE, APERTURE, false, 0xfff001);
    BAD(aperture, 24, 0x01000000, 1, RANGE, APERTURE, true, 0x1000000);
    BAD(page_in, 16, 0x03fff000, 0, RANGE, LOCAL, true, 0x3fff000);
    BAD(page_out, 20, 1, 0, RANGE, LOCAL, false, 0x100003000ull);
    BAD(fill, 16, 0x03ffffc1, 1, RANGE, LOCAL, true, 0x3ffffc1);
    BAD(read, 16, 0x03fffff9, 1, RANGE, LOCAL, false, 0x3fffff9);
    BAD(write, 20, 1, 1, RANGE, LOCAL, true, 0x100006000ull);
    BAD(map, 8, 4095, 0, RANGE, APERTURE, true, 4095 * 4096);
    BAD(map, 8, 0xffffffff, 0, RANGE, APERTURE, true, 0xffffffffull * 4096);
    BAD(unmap, 12, 4091, 0, RANGE, APERTURE, true, 6 * 4096);
    BAD(unmap, 12, 0xffffffff, 0, RANGE, APERTURE, true, 6 * 4096);
    BAD(discard, 8, 0x03ff7001, 0, RANGE, LOCAL, true, 0x9000);
}

static void every_bad_form(void **state)
{
    (void)state;
    fill_bad_forms();
    for (unsigned i = 0; i < bad_count; i++) {
        struct buffer b = {.count = 0}, good = {.count = 0};
        unsigned offset;

        // Two good packets, the bad one, and one that must not be done any more; then a buffer that must be.
        double_reset();
        run_from_reset();
        put_copy(&b, 0, 0, 16, 0, 64);
        put_nop(&b, 2);
        offset = b.count * 4;
        bad_forms[i].put(&b);
        b.words[offset / 4 + bad_forms[i].at] = bad_forms[i].value;
        put_fill(&b, 0, 0, 64, 0, 0);
        put_fill(&good, 0, 0, 64, 0, 0);
        double_submit(bad_forms[i].ring, b.words, b.count, 77, false);
        double_submit(bad_forms[i].ring, good.words, good.count, 78, false);
        assert_true(run_machine(100000));

        const char *why = double_verify();

        if (why)
            fail_msg("%s: %s", bad_forms[i].what, why);
        if (bad_forms[i].kind == FERRY_FAULT_KIND_NONE)
            continue;
        assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_FAULTED);
        assert_int_equal(double_status(1), FERRY_BUFFER_STATUS_SUCCESS);
        assert_int_equal(machine.entries[0].action_count, 1);
        assert_int_equal(machine.entries[1].action_count, 1);

        const struct double_post *record = double_fault_record(0);
        uint32_t what = FERRY_PUT(FERRY_FAULT_RECORD_WHAT_KIND, bad_forms[i].kind) |
                        FERRY_PUT(FERRY_FAULT_RECORD_WHAT_RING, bad_forms[i].ring) |
                        FERRY_PUT(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, bad_forms[i].address_kind) |
                        FERRY_PUT(FERRY_FAULT_RECORD_WHAT_WRITE, (uint32_t)bad_forms[i].write) |
                        FERRY_PUT(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, offset);

        if (record->words[FERRY_FAULT_RECORD_WHAT / 4] != what ||
            record->words[FERRY_FAULT_RECORD_ADDRESS / 4] != (uint32_t)bad_forms[i].address ||
            record->words[FERRY_FAULT_RECORD_ADDRESS / 4 + 1] != (uint32_t)(bad_forms[i].address >> 32))
            fail_msg("%s: record says %08x %08x%08x", bad_forms[i].what, record->words[1], record->words[5],
                     record->words[4]);
    }
}

static void packet_that_ends_with_a_nop_header_past_the_end(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    put_copy(&b, 0, 0, 16, 0, 64);
    put_nop(&b, 2);
    b.words[b.count - 2] = 4u << 16;
    double_submit(2, b.words, b.count, 1, false);
    assert_true(run_machine(100000));
    must_be_null(double_verify());
    assert_int_equal(double_fault_record(0)->words[1] & 0xff, FERRY_FAULT_KIND_PACKET_LENGTH);
}

// The hardware meets the bad page; the firmware names it. What stands behind it in the buffer is not done any more.
static void bad_page_of_a_table_change(void **state)
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

// An engine that has given up takes nothing; every buffer ends at once, and an empty one is fine.
static void stuck_engine_gets_no_jobs(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.stuck = true;
    put_copy(&b, 0, 0, 16, 0, 64);
    double_submit(1, b.words, b.count, 1, true);
    double_submit(1, b.words, 0, 2, false);
    double_submit(0, b.words, b.count, 3, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.jobs_queued, 0);
    assert_int_equal(machine.fault_records, 2);
    assert_int_equal(double_fault_record(0)->words[FERRY_FAULT_RECORD_WHAT / 4] & 0xff, FERRY_FAULT_KIND_WATCHDOG);
    assert_int_equal(machine.rings[0].faults, 1);
    assert_int_equal(machine.rings[1].faults, 1);
    assert_int_equal(machine.rings[1].retired, 2);

    // In the middle of a buffer, with the queue full.
    double_reset();
    run_from_reset();
    machine.job_ticks = 1000000;
    b.count = 0;
    for (unsigned n = 0; n < 20; n++)
        put_copy(&b, 0, 0, 16, 0, 64);
    double_submit(1, b.words, b.count, 1, true);
    machine.stuck_at = 3000;
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.fault_records, 1);
    assert_int_equal(machine.rings[1].faults, 1);
    assert_in_range(machine.jobs_queued, 1, 19);
}

// Protected range 1 MiB to 2 MiB. What each packet meets is worked out by hand.
static void protected_range(void **state)
{
    static const struct {
        uint32_t flags, places, bytes;
        uint64_t source, destination;
        uint32_t kind;
        uint64_t address;
    } cases[] = {
        {0, 0, 4096, 0, 0x200000, FERRY_FAULT_KIND_NONE, 0},
        {0, 0, 4096, 0xff000, 0x200000, FERRY_FAULT_KIND_NONE, 0},
        {0, 0, 4096, 0xff001, 0x200000, FERRY_FAULT_KIND_PROTECTED, 0xff001},
        {0, 0, 4096, 0, 0x1fffff, FERRY_FAULT_KIND_PROTECTED, 0x1fffff},
        {0, 0, 0, 0x100000, 0x100000, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, 0, 4096, 0, 0x1fffff, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, 0, 4096, 0x100000, 0x1ff000, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, 0, 4096, 0x180000, 0x100000, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, 0, 4096, 0x180000, 0xfffff, FERRY_FAULT_KIND_PROTECTED, 0x180000},
        {PROTECTED, 0, 4096, 0x100000, 0x1ff001, FERRY_FAULT_KIND_PROTECTED, 0x100000},
        {PROTECTED, 0, 4096, 0xff001, 0, FERRY_FAULT_KIND_PROTECTED, 0xff001},
        {PROTECTED, TO(SYSTEM), 1, 0x1fffff, 0, FERRY_FAULT_KIND_PROTECTED, 0x1fffff},
        {PROTECTED, TO(APERTURE), 1, 0x100000, 0, FERRY_FAULT_KIND_PROTECTED, 0x100000},
        {PROTECTED, FROM(SYSTEM), 1, 0x100000, 0x100000, FERRY_FAULT_KIND_NONE, 0},
        {0, FROM(APERTURE), 4096, 0x100000, 0x100000, FERRY_FAULT_KIND_PROTECTED, 0x100000},
    };

    (void)state;
    // Each packet also where the sequencer leaves it to the full check.
    for (unsigned n = 0; n < 2 * (sizeof cases / sizeof cases[0]); n++) {
        unsigned i = n / 2;
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        machine.shy = n % 2;
        machine.limits.protect_base = 0x100000;
        machine.limits.protect_limit = 0x200000;
        put_copy(&b, cases[i].flags, cases[i].places, cases[i].bytes, cases[i].source, cases[i].destination);
        double_submit(0, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        if (cases[i].kind == FERRY_FAULT_KIND_NONE) {
            assert_null(double_fault_record(0));
            continue;
        }
        assert_non_null(double_fault_record(0));
        assert_int_equal(double_fault_record(0)->words[1] & 0xff, cases[i].kind);
        assert_int_equal(double_fault_record(0)->words[4], cases[i].address);
    }
}

static void full_fault_log_loses_nothing(void **state)
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
static void engine_fault_is_named_from_its_packet(void **state)
{
    const uint32_t from_host = FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, FERRY_ADDRESS_KIND_SYSTEM);
    const uint32_t to_host = FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM);
    const uint32_t list_in = FERRY_PUT(FERRY_PACKET_PLACES_LIST, FERRY_LIST_SIDE_SOURCE) | from_host;
    const uint32_t list_out = FERRY_PUT(FERRY_PACKET_PLACES_LIST, FERRY_LIST_SIDE_DESTINATION) | to_host;
    const uint64_t page = 0x000fedcba9876000ull;
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
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        put_nop(&b, 2);
        switch (cases[i].packet) {
        case 0: put_copy(&b, 0, from_host, 256, 0x11fffffff0ull, 0x8000); break;
        case 1: put_fill(&b, 0, to_host, 256, 0x1fffffff0ull, 5); break;
        case 2: put_copy_pages(&b, 0, list_in, 0x2000, 0x100, 0xa000, 3); break;
        case 3: put_copy_pages(&b, 0, list_out, 0x2000, 0x100, 0xa000, 3); break;
        case 4: put_read(&b, 0, 0, 4, 0xc000); break;
        case 5: put_write(&b, 0, 0, 4, 0xd000, 1); break;
        default: put_fence(&b, to_host, 0x7700000018ull, 3); break;
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

// Two buffers fault in the engine while it holds more jobs than the core could have queued without looking.
static void second_engine_fault_cannot_hang_the_core(void **state)
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

// A slow job of a user ring runs on while the paging ring's table change is made.
static void table_change_waits_for_its_own_ring_only(void **state)
{
    struct buffer slow = {.count = 0}, change = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.job_ticks = 50000;
    put_copy(&slow, 0, 0, 16, 0, 64);
    put_map(&change, 0, 0, 4);
    double_submit(1, slow.words, slow.count, 1, false);
    assert_false(run_machine(1000));
    double_submit(0, change.words, change.count, 2, false);
    assert_false(run_machine(1000));
    assert_int_equal(machine.entries[1].action_count, 1);
    assert_int_equal(machine.jobs_retired, 0);
    assert_true(run_machine(200000));
    must_be_null(double_verify());
}

static void packets_are_counted_and_busy_is_not_waiting(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    machine.job_ticks = 20000;
    for (unsigned n = 0; n < 20; n++)
        put_copy(&b, 0, 0, 16, 0, 64);
    double_submit(0, b.words, b.count, 1, false);
    assert_true(run_machine(1000000));
    must_be_null(double_verify());
    assert_int_equal(machine.packets, 20);
    assert_in_range(machine.busy_ticks, 1, 2000);
}

static void other_contract_is_refused(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    for (unsigned side = 0; side < 4; side++) {
        double_reset();
        run_from_reset();
        put_nop(&b, 2);
        double_submit(0, b.words, 2, 1, false);
        machine.hardware_contract += side == 0 ? 0x10000 : side == 2 ? 7 : 0;
        machine.host_contract += side == 1 ? 0x10000 : side == 3 ? 9 : 0;
        assert_true(run_machine(10000));
        assert_int_equal(machine.stage[FERRY_CORE_FIRMWARE_VERSION / 4], FERRY_CONTRACT_VERSION);
        // Another minor number is fine.
        assert_int_equal(double_state(), side < 2 ? FERRY_FIRMWARE_STATE_REFUSED : FERRY_FIRMWARE_STATE_RUNNING);
        assert_int_equal(machine.claim_count, side < 2 ? 0 : 1);
    }
}

static void broken_invariants_halt(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    put_copy(&b, 0, 0, 16, 0, 64);

    double_reset();
    run_from_reset();
    machine.capabilities |= FERRY_BAR0_CAPABILITIES_RINGS_MASK;
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_CAPABILITIES);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_ARGUMENT / 4], machine.capabilities);

    // Jobs that are left from before.
    double_reset();
    run_from_reset();
    machine.jobs_queued++;
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_JOBS_QUEUED);

    // A fault of a slot that holds nothing.
    double_reset();
    run_from_reset();
    double_submit(0, b.words, b.count, 1, false);
    assert_true(run_machine(10000));
    machine.engine_fault = FERRY_CORE_ENGINE_FAULT_VALID_MASK | FERRY_FAULT_KIND_WATCHDOG;
    machine.poison = 1;
    double_submit(1, b.words, b.count, 2, false);
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_FAULT_SLOT);

    // More bytes than a slot has, without a fault.
    double_reset();
    run_from_reset();
    double_submit(0, b.words, b.count, 1, false);
    machine.capabilities = (machine.capabilities & ~FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2_MASK) |
                           FERRY_PUT(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, 4u);
    assert_true(run_machine(10000));
    assert_int_equal(double_state(), FERRY_FIRMWARE_STATE_HALTED);
    assert_int_equal(machine.stage[FERRY_CORE_HALT_CODE / 4], FERRY_HALT_BUFFER_BYTES);
}

static void restart_goes_on_behind_the_counters(void **state)
{
    struct buffer b = {.count = 0};

    (void)state;
    double_reset();
    run_from_reset();
    put_copy(&b, 0, 0, 16, 0, 64);
    machine.rings[0].retired = machine.first_retired[0] = 41;
    machine.rings[0].faults = 3;
    machine.rings[0].last_faulted = 40;
    machine.jobs_queued = machine.jobs_retired = 0xfffffffe;
    for (unsigned i = 0; i < 4; i++)
        double_submit(0, b.words, b.count, i, false);
    assert_true(run_machine(100000));
    assert_string_equal(machine.wrong, "");
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_RETIRED / 4], 45);
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_FAULTS / 4], 3);
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_LAST_FAULTED / 4], 40);
    assert_int_equal(machine.posts[3].words[FERRY_FENCE_RECORD_STATUS / 4], FERRY_BUFFER_STATUS_SUCCESS);
    assert_int_equal(machine.jobs_retired, 2);
}

static void restart_goes_on_in_the_fault_log(void **state)
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

// Protected content does not leave through a page list, whatever the packet's rights; it may come in through one.
static void protected_content_and_page_lists(void **state)
{
    (void)state;
    for (unsigned in = 0; in < 2; in++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        machine.limits.protect_base = 0x100000;
        machine.limits.protect_limit = 0x200000;
        put_copy_pages(&b, PROTECTED,
                       in ? FROM(SYSTEM) | TO(LOCAL) | LIST(SOURCE) : FROM(LOCAL) | TO(SYSTEM) | LIST(DESTINATION),
                       4096, 0, 0x100000, 1);
        double_submit(0, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_int_equal(double_status(0), in ? FERRY_BUFFER_STATUS_SUCCESS : FERRY_BUFFER_STATUS_FAULTED);
    }
}

// The double compares each buffer with the oracle; this is the long run over random ones, in which the sequencer leaves
// good packets too, now and then or always.
static void random_runs(void **state)
{
    const char *given = getenv("FERRY_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 1;
    const unsigned runs = 1500;

    (void)state;
    printf("FERRY_SEED=%llu, %u runs\n", (unsigned long long)seed, runs);
    for (unsigned run = 0; run < runs; run++, seed++) {
        const char *why = scenario_random(seed);

        if (why)
            fail_msg("FERRY_SEED=%llu: %s", (unsigned long long)seed, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packet),
        cmocka_unit_test(rings_and_order),
        cmocka_unit_test(faults_and_reset),
        cmocka_unit_test(reset_at_any_step),
        cmocka_unit_test(fault_with_jobs_behind_it),
        cmocka_unit_test(every_bad_form),
        cmocka_unit_test(bad_page_of_a_table_change),
        cmocka_unit_test(stuck_engine_gets_no_jobs),
        cmocka_unit_test(packet_that_ends_with_a_nop_header_past_the_end),
        cmocka_unit_test(protected_range),
        cmocka_unit_test(full_fault_log_loses_nothing),
        cmocka_unit_test(engine_fault_is_named_from_its_packet),
        cmocka_unit_test(second_engine_fault_cannot_hang_the_core),
        cmocka_unit_test(table_change_waits_for_its_own_ring_only),
        cmocka_unit_test(packets_are_counted_and_busy_is_not_waiting),
        cmocka_unit_test(other_contract_is_refused),
        cmocka_unit_test(broken_invariants_halt),
        cmocka_unit_test(restart_goes_on_behind_the_counters),
        cmocka_unit_test(restart_goes_on_in_the_fault_log),
        cmocka_unit_test(protected_content_and_page_lists),
        cmocka_unit_test(random_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
