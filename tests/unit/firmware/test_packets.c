// SPDX-License-Identifier: Apache-2.0
// Packets that break a rule, each with the record that must tell of it.
#include "native.h"

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

static void good_forget(struct buffer *b)
{
    put_forget(b, FERRY_FORGET_SCOPE_TABLE | 3u << FERRY_PACKET_FORGET_WHAT_SPACE_SHIFT, 0x123456789000ull);
}
static void good_rectangle(struct buffer *b)
{
    const struct rectangle_side from = {0x10000, 0x100, 0}, to = {0x20000, 0x100, 0};

    put_rectangle(b, 0, 0, 64, 4, &from, &to);
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
    BAD(page_in, 12, 4096, 0, PACKET_RESERVED, LOCAL, false, 0); // Of as many pages as it has, but not in the first.
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
    BAD(page_in, 4, 0x00000012, 0, ADDRESS_KIND, APERTURE, false, 0x3000);
    BAD(page_out, 4, 0x00000028, 0, ADDRESS_KIND, APERTURE, true, 0x3000);
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
    // What page tables are told: an address of at most 48 bits. A rectangle: at most 65,536 rows.
    BAD(forget, 20, 0x0000ffff, 0, NONE, LOCAL, false, 0);
    BAD(forget, 20, 0x00010000, 0, PACKET_RESERVED, LOCAL, false, 0);
    BAD(rectangle, FERRY_PACKET_COPY_RECTANGLE_LAST_ROW, 0x00010000, 0, PACKET_RESERVED, LOCAL, false, 0);
}

void every_bad_form(void **state)
{
    (void)state;
    fill_bad_forms();
    for (unsigned i = 0; i < bad_count; i++) {
        struct buffer b = {.count = 0}, good = {.count = 0};
        unsigned offset;

        // Two good packets, the bad one, and one that must not be done any more; then a buffer that must be.
        double_reset();
        if (bad_forms[i].put == good_forget || bad_forms[i].put == good_rectangle)
            double_has_more();
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

void packet_that_ends_with_a_nop_header_past_the_end(void **state)
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

// Protected range 1 MiB to 2 MiB. What each packet meets is worked out by hand.
void protected_range(void **state)
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
        // With the right, pages of a space may be protected.
        {0, FROM(VIRTUAL), 4096, 0x300000, 0x200000, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, FROM(VIRTUAL), 4096, 0x300000, 0x1ff000, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, FROM(VIRTUAL), 4096, 0x300000, 0x1ff001, FERRY_FAULT_KIND_PROTECTED, 0x300000},
        {PROTECTED, FROM(VIRTUAL), 1, 0x300000, 0xfffff, FERRY_FAULT_KIND_PROTECTED, 0x300000},
        {PROTECTED, FROM(VIRTUAL) | TO(VIRTUAL), 8, 0x300000, 0x100000, FERRY_FAULT_KIND_PROTECTED, 0x300000},
        {PROTECTED, FROM(VIRTUAL) | TO(SYSTEM), 8, 0x300000, 0x100000, FERRY_FAULT_KIND_PROTECTED, 0x300000},
        {PROTECTED, FROM(VIRTUAL), 0, 0x300000, 0, FERRY_FAULT_KIND_NONE, 0},
        {PROTECTED, TO(VIRTUAL), 4096, 0x100000, 0x300000, FERRY_FAULT_KIND_PROTECTED, 0x100000},
        {PROTECTED, TO(VIRTUAL), 4096, 0, 0x300000, FERRY_FAULT_KIND_NONE, 0},
    };

    (void)state;
    // Each packet also where the sequencer leaves it to the full check.
    for (unsigned n = 0; n < 2 * (sizeof cases / sizeof cases[0]); n++) {
        unsigned i = n / 2;
        struct buffer b = {.count = 0};

        double_reset();
        double_has_more();
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

// Content that nobody wants any more is neither read nor written.
void protected_content_is_discarded(void **state)
{
    (void)state;
    for (unsigned shy = 0; shy < 2; shy++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        machine.shy = shy;
        machine.limits.protect_base = 0x100000;
        machine.limits.protect_limit = 0x200000;
        put_discard(&b, 4096, 0x100000);
        double_submit(1, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_SUCCESS);
    }
}

// A range whose base is not below its limit protects nothing, not even from what takes both in.
void empty_protected_range(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        machine.shy = n % 2;
        machine.limits.protect_base = 0x200000;
        machine.limits.protect_limit = n < 2 ? 0x100000 : 0x200000;
        put_copy(&b, 0, 0, 0x300000, 0x80000, 0x800000);
        put_copy(&b, 0, 0, 0x300000, 0x800000, 0x80000);
        double_submit(0, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_null(double_fault_record(0));
        assert_int_equal(double_status(0), FERRY_BUFFER_STATUS_SUCCESS);
    }
}

// A device without page tables takes no notice of the right that speaks of them, and has no virtual addresses.
void rights_of_page_tables_that_are_not_there(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        struct buffer b = {.count = 0};
        bool is_virtual = n >= 2;

        double_reset();
        run_from_reset();
        machine.shy = n % 2;
        machine.rights[1] |= FERRY_BAR0_RING_RIGHTS_TABLES_MASK;
        put_copy(&b, 0, is_virtual ? FROM(VIRTUAL) | TO(VIRTUAL) : 0, 64, 0x1000, 0x8000);
        double_submit(1, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_int_equal(double_status(0), is_virtual ? FERRY_BUFFER_STATUS_FAULTED : FERRY_BUFFER_STATUS_SUCCESS);
        if (is_virtual)
            assert_int_equal(double_fault_record(0)->words[1] & 0xff, FERRY_FAULT_KIND_ADDRESS_KIND);
    }
}

// Protected content does not leave through a page list, whatever the packet's rights; it may come in through one.
void protected_content_and_page_lists(void **state)
{
    (void)state;
    static const uint32_t cases[] = {
        FROM(LOCAL) | TO(SYSTEM) | LIST(DESTINATION), FROM(SYSTEM) | TO(LOCAL) | LIST(SOURCE),
        FROM(VIRTUAL) | TO(SYSTEM) | LIST(DESTINATION), FROM(SYSTEM) | TO(VIRTUAL) | LIST(SOURCE)};

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool in = i % 2;
        struct buffer b = {.count = 0};

        double_reset();
        double_has_more();
        run_from_reset();
        machine.limits.protect_base = 0x100000;
        machine.limits.protect_limit = 0x200000;
        put_copy_pages(&b, PROTECTED, cases[i], 4096, 0, 0x100000, 1);
        double_submit(0, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        must_be_null(double_verify());
        assert_int_equal(double_status(0), in ? FERRY_BUFFER_STATUS_SUCCESS : FERRY_BUFFER_STATUS_FAULTED);
    }
}

// A side of a rectangle lies in one multiple of 4 GiB, to its last byte; of tiles, to that of its last tile.
void rectangles_that_end_at_4_gib(void **state)
{
    const uint64_t end = 5ull << 32;

    (void)state;
    for (unsigned n = 0; n < 16; n++) {
        struct buffer b = {.count = 0};
        bool over = n & 1, to = n & 2, tiled = n & 4;
        uint32_t rows = n & 8 ? 3 : 1;
        struct rectangle_side near = {0x10000, 0x1000, 0};
        struct rectangle_side edge = {end - (rows - 1) * 0x10000 - 0x1000 + over, 0x10000, 0};

        if (tiled) {
            // One of 64 KiB, and with another beside it.
            edge.address = end - (rows - 1) * 0x10000 - 0x10000;
            edge.layout =
                FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 1u) | FERRY_PUT(FERRY_PACKET_LAYOUT_X, over ? 255u : 0u);
            edge.layout |= FERRY_PUT(FERRY_PACKET_LAYOUT_Y, 0u);
        }
        double_reset();
        double_has_more();
        run_from_reset();
        put_rectangle(&b, 0, FROM(VIRTUAL) | TO(VIRTUAL), tiled ? 256 : 0x1000, tiled ? rows * 256 : rows,
                      to ? &near : &edge, to ? &edge : &near);
        double_submit(0, b.words, b.count, 1, false);
        assert_true(run_machine(10000000));
        must_be_null(double_verify());
        assert_int_equal(double_status(0), over ? FERRY_BUFFER_STATUS_FAULTED : FERRY_BUFFER_STATUS_SUCCESS);
        if (over)
            assert_int_equal(double_fault_record(0)->words[1] & 0xff, FERRY_FAULT_KIND_RANGE);
    }
}

// A device without tiling has no rectangles, also if it has page tables.
void rectangles_that_are_not_there(void **state)
{
    const struct rectangle_side side = {0x10000, 0x1000, 0};

    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        struct buffer b = {.count = 0};

        double_reset();
        run_from_reset();
        machine.shy = n % 2;
        if (n >= 2)
            machine.capabilities |= FERRY_BAR0_CAPABILITIES_PAGE_TABLES_MASK;
        put_rectangle(&b, 0, 0, 64, 4, &side, &side);
        double_submit(0, b.words, b.count, 1, false);
        assert_true(run_machine(100000));
        assert_string_equal(machine.wrong, "");
        assert_non_null(double_fault_record(0));
        assert_int_equal(double_fault_record(0)->words[1] & 0xff, FERRY_FAULT_KIND_PACKET_OPCODE);
    }
}
