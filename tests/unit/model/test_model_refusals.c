// SPDX-License-Identifier: Apache-2.0
// The reference model: what is refused, and as which fault, worked out by hand from docs/manual/contract.md.
#include "rig.h"

// ---- What is refused --------------------------------------------------------------------------------------------

static void expect(struct rig *rig, uint32_t ring, uint32_t kind)
{
    struct record r = fault_of(rig, ring);

    if (r.kind != kind)
        print_error("fault kind %u, expected %u\n", r.kind, kind);
    assert_int_equal(r.kind, kind);
    assert_int_equal(r.packet_offset, 0);
}

static void lengths_are_checked_first(void **state)
{
    struct rig *rig = *state;
    static const uint32_t words[] = {0, 1, 3, 5, 10, 12, 0xfffe};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        copy(rig, VIRTUAL, 0, VIRTUAL, 0, 0);
        uint32_t header = 1 | words[i] << 16;
        memcpy(host_at(rig, BUFFER_PAGE), &header, 4);
        expect(rig, 4, PACKET_LENGTH);
    }
    for (uint32_t opcode = 1; opcode <= 9; opcode++) {
        head(rig, opcode, 2, 0xffffffff);
        expect(rig, 4, PACKET_LENGTH);
    }
    // An unknown opcode is told before its length is looked at, a wrong frame before the opcode.
    head(rig, 10, 2, 0);
    expect(rig, 0, PACKET_OPCODE);
    head(rig, 255, 2, 0);
    expect(rig, 0, PACKET_OPCODE);
    head(rig, 255, 4, 0);
    expect(rig, 0, PACKET_LENGTH);
    // COPY_PAGES: two pages asked for by the bytes, one in the list, and the other way round.
    uint64_t list[3] = {DATA_PAGE, DATA_PAGE + 4096, DATA_PAGE + 8192};
    pages(rig, 1, LOCAL, 0, 1, 4096, list, 1);
    expect(rig, 0, PACKET_LENGTH);
    pages(rig, 1, LOCAL, 0, 0, 4096, list, 2);
    expect(rig, 0, PACKET_LENGTH);
    pages(rig, 1, LOCAL, 0, 4095, 0xffffffff, list, 3);
    expect(rig, 0, PACKET_LENGTH);
    map(rig, 0, list, 3, false);
    host_at(rig, BUFFER_PAGE)[12] = 2;
    expect(rig, 0, PACKET_LENGTH);
}

static void reserved_bits_and_values_are_refused(void **state)
{
    struct rig *rig = *state;
    uint64_t list[2] = {DATA_PAGE, DATA_PAGE + 4096};

    for (uint32_t bit = 10; bit < 16; bit++) {
        copy(rig, LOCAL, 0, LOCAL, 64, 8);
        host_at(rig, BUFFER_PAGE)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect(rig, 0, PACKET_RESERVED);
    }
    for (uint32_t bit = 4; bit < 32; bit++) {
        copy(rig, LOCAL, 0, LOCAL, 64, 8);
        host_at(rig, BUFFER_PAGE)[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect(rig, 0, PACKET_RESERVED);
    }
    copy(rig, LOCAL, 0, LOCAL, 64, 8);
    host_at(rig, BUFFER_PAGE)[12] = 1;
    expect(rig, 0, PACKET_RESERVED);
    fill(rig, LOCAL, 0, 8, 0, 0);
    host_at(rig, BUFFER_PAGE)[1] = 1; // unordered
    expect(rig, 0, PACKET_RESERVED);
    fill(rig, LOCAL, 0, 8, 0, 0);
    host_at(rig, BUFFER_PAGE)[4] |= 1; // source kind
    expect(rig, 0, PACKET_RESERVED);
    signal_fence(rig, SYSTEM, DATA_PAGE, 1);
    host_at(rig, BUFFER_PAGE)[1] = 2; // protected
    expect(rig, 0, PACKET_RESERVED);
    signal_fence(rig, SYSTEM, DATA_PAGE + 4, 1);
    expect(rig, 0, PACKET_RESERVED);
    write_value(rig, LOCAL, 0, 0, 1);
    expect(rig, 0, PACKET_RESERVED);
    write_value(rig, LOCAL, 0, 9, 1);
    expect(rig, 0, PACKET_RESERVED);
    read_value(rig, LOCAL, 0, 0);
    expect(rig, 0, PACKET_RESERVED);
    pages(rig, 1, LOCAL, 0, 0, 0, list, 1);
    expect(rig, 0, PACKET_RESERVED);
    pages(rig, 1, LOCAL, 0, 4096, 4096, list, 2);
    expect(rig, 0, PACKET_RESERVED);
    pages(rig, 0, LOCAL, 0, 0, 4096, list, 1);
    host_at(rig, BUFFER_PAGE)[4] = 1 << 2; // no list side
    expect(rig, 0, PACKET_RESERVED);
    map(rig, 0, list, 0, false);
    expect(rig, 0, PACKET_RESERVED);
    unmap(rig, 0, 0, DATA_PAGE);
    expect(rig, 0, PACKET_RESERVED);
    discard(rig, 0, 4096);
    host_at(rig, BUFFER_PAGE)[4] = 4;
    expect(rig, 0, PACKET_RESERVED);
}

// Whatever reads an entry of a page list checks it whole: nothing below the page, nothing above the bus address.
static void entries_of_page_lists_are_pages(void **state)
{
    struct rig *rig = *state;
    static const uint64_t bad[] = {DATA_PAGE + 8, DATA_PAGE + 1, DATA_PAGE | 1ull << 52, DATA_PAGE | 1ull << 63};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t list[2] = {DATA_PAGE, bad[i]};
        struct record r;

        pages(rig, 1, LOCAL, 0, 0, 8192, list, 2);
        r = fault_of(rig, 0);
        assert_int_equal(r.kind, RANGE);
        assert_int_equal(r.address, bad[i]);
        assert_int_equal(r.address_kind, SYSTEM);
        map(rig, 0, list, 2, false);
        r = fault_of(rig, 0);
        assert_int_equal(r.kind, RANGE);
        assert_int_equal(r.address, bad[i]);
        unmap(rig, 0, 1, bad[i]);
        r = fault_of(rig, 0);
        assert_int_equal(r.kind, RANGE);
        assert_int_equal(r.address, bad[i]);
    }
}

static void address_kinds_are_refused(void **state)
{
    struct rig *rig = *state;
    uint64_t list[1] = {DATA_PAGE};

    copy(rig, VIRTUAL, 0x1234, LOCAL, 0, 8);
    struct record r = fault_of(rig, 0);
    assert_int_equal(r.kind, ADDRESS_KIND);
    assert_int_equal(r.address, 0x1234);
    assert_int_equal(r.address_kind, VIRTUAL);
    assert_int_equal(r.write, 0);
    copy(rig, LOCAL, 0, VIRTUAL, 0, 8);
    expect(rig, 0, ADDRESS_KIND);
    fill(rig, APERTURE, 0, 8, 0, 0); // R47
    expect(rig, 0, ADDRESS_KIND);
    signal_fence(rig, APERTURE, 0, 0);
    expect(rig, 0, ADDRESS_KIND);
    pages(rig, 1, SYSTEM, DATA_PAGE, 0, 8, list, 1);
    expect(rig, 0, ADDRESS_KIND);
    pages(rig, 1, LOCAL, 0, 0, 8, list, 1);
    host_at(rig, BUFFER_PAGE)[4] = 0 | 0 << 2 | 1 << 4; // The list side is not SYSTEM.
    expect(rig, 0, ADDRESS_KIND);
}

static void rights_are_refused_by_ring(void **state)
{
    struct rig *rig = *state;
    uint64_t list[1] = {DATA_PAGE};

    copy(rig, SYSTEM, DATA_PAGE, LOCAL, 0, 8);
    expect(rig, 4, RIGHTS);
    fill(rig, SYSTEM, DATA_PAGE, 8, 0, 0);
    expect(rig, 4, RIGHTS);
    pages(rig, 1, LOCAL, 0, 0, 8, list, 1);
    expect(rig, 4, RIGHTS);
    signal_fence(rig, SYSTEM, DATA_PAGE, 0);
    expect(rig, 4, RIGHTS);
    map(rig, 0, list, 1, false);
    expect(rig, 1, RIGHTS);
    unmap(rig, 0, 1, DATA_PAGE);
    expect(rig, 1, RIGHTS);
    copy(rig, LOCAL, 0, LOCAL, 64, 8);
    host_at(rig, BUFFER_PAGE)[1] = 2;
    expect(rig, 1, RIGHTS);
    // The same on a ring that may.
    copy(rig, SYSTEM, DATA_PAGE, LOCAL, 0, 8);
    assert_int_equal(submit(rig, 1), 0);
}

static void ranges_are_refused_source_first(void **state)
{
    struct rig *rig = *state;

    write64(rig, 0x38, 0x80000); // LOCAL_LIMIT
    copy(rig, LOCAL, 0x7fff9, LOCAL, 0x80000, 8);
    struct record r = fault_of(rig, 0);
    assert_int_equal(r.kind, RANGE);
    assert_int_equal(r.address, 0x7fff9);
    assert_int_equal(r.write, 0);
    copy(rig, LOCAL, 0x7fff8, LOCAL, 0x80000, 8);
    r = fault_of(rig, 0);
    assert_int_equal(r.kind, RANGE);
    assert_int_equal(r.address, 0x80000);
    assert_int_equal(r.write, 1);
    copy(rig, LOCAL, 0x7fff8, LOCAL, 0, 8);
    assert_int_equal(submit(rig, 0), 0);
    copy(rig, LOCAL, UINT64_MAX - 3, LOCAL, 0, 8);
    expect(rig, 0, RANGE);
    copy(rig, SYSTEM, UINT64_MAX - 3, LOCAL, 0, 8);
    expect(rig, 0, RANGE);
    copy(rig, LOCAL, 0, APERTURE, APERTURE_PAGES * 4096 - 7, 8);
    expect(rig, 0, RANGE);
    fill(rig, LOCAL, 0x80001, 0, 0, 0);
    expect(rig, 0, RANGE);
    discard(rig, 0x7f001, 4096);
    expect(rig, 0, RANGE);
    unmap(rig, APERTURE_PAGES - 1, 2, DATA_PAGE);
    expect(rig, 0, RANGE);
    unmap(rig, 0xffffffff, 1, DATA_PAGE);
    expect(rig, 0, RANGE);
}

static void protected_range_is_kept(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model);

    write64(rig, 0x40, 0x4000);
    write64(rig, 0x48, 0x8000);
    memset(local + 0x4000, 0x77, 0x4000);
    fill(rig, LOCAL, 0x3fff, 2, 1, 0);
    struct record r = fault_of(rig, 0);
    assert_int_equal(r.kind, PROTECTED);
    assert_int_equal(r.address, 0x3fff);
    assert_int_equal(local[0x3fff], 0);
    copy(rig, LOCAL, 0x7fff, LOCAL, 0, 8);
    expect(rig, 0, PROTECTED);
    fill(rig, LOCAL, 0x3ff8, 8, 1, 0);
    assert_int_equal(submit(rig, 0), 0);
    fill(rig, LOCAL, 0x8000, 8, 1, 0);
    assert_int_equal(submit(rig, 0), 0);
    // With the right and the bit: inside it, into it, but not out of it.
    copy(rig, LOCAL, 0x4000, LOCAL, 0x5000, 64);
    host_at(rig, BUFFER_PAGE)[1] = 2;
    assert_int_equal(submit(rig, 0), 0);
    copy(rig, SYSTEM, DATA_PAGE, LOCAL, 0x5000, 64);
    host_at(rig, BUFFER_PAGE)[1] = 2;
    assert_int_equal(submit(rig, 0), 0);
    copy(rig, LOCAL, 0x4000, LOCAL, 0x0, 64);
    host_at(rig, BUFFER_PAGE)[1] = 2;
    expect(rig, 0, PROTECTED);
    copy(rig, LOCAL, 0x4000, SYSTEM, DATA_PAGE, 64);
    host_at(rig, BUFFER_PAGE)[1] = 2;
    expect(rig, 0, PROTECTED);
    // BAR2 neither shows nor changes it.
    uint8_t byte = 0;
    assert_false(ferry_model_window_read(rig->model, 0x4000, &byte, 1));
    assert_int_equal(byte, 0xff);
    ferry_model_window_write(rig->model, 0x4000, &byte, 1);
    assert_int_equal(local[0x4000], 0x77);
    assert_int_equal(read64(rig, 0x400 + 0xa8), 1);
}

static void a_fault_names_its_packet_and_stops_the_buffer(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model);

    fill(rig, LOCAL, 0, 8, 1, 0);
    copy(rig, LOCAL, 0, LOCAL, LOCAL_BYTES, 8);
    fill(rig, LOCAL, 64, 8, 1, 0);
    struct record r = fault_of(rig, 3);
    assert_int_equal(r.kind, RANGE);
    assert_int_equal(r.packet_offset, 32);
    assert_int_equal(r.header, 8 << 16 | 1);
    assert_int_equal(r.fence_value, 0xF00D0000u);
    assert_int_equal(r.buffer_address, BUFFER_PAGE);
    assert_int_equal(r.written, 0);
    assert_int_equal(local[0], 1);
    assert_int_equal(local[64], 0);
    fill(rig, LOCAL, 64, 8, 1, 0);
    assert_int_equal(submit(rig, 3), 0);
    assert_int_equal(local[64], 1);
}

static void unmapped_host_pages_fault_on_read_and_drop_writes(void **state)
{
    struct rig *rig = *state;
    uint64_t end = HOST_BASE + HOST_PAGES * 4096, list[2] = {DATA_PAGE, 0x1000};

    copy(rig, SYSTEM, end - 4096, LOCAL, 0, 8192);
    struct record r = fault_of(rig, 0);
    assert_int_equal(r.kind, HOST_UNSUPPORTED);
    assert_int_equal(r.address, end);
    assert_int_equal(r.address_kind, SYSTEM);
    assert_int_equal(r.write, 0);
    assert_int_equal(r.written, 4096);
    assert_int_equal(rig->unmapped, 1);
    pages(rig, 1, LOCAL, 0, 0, 8192, list, 2);
    r = fault_of(rig, 0);
    assert_int_equal(r.kind, HOST_UNSUPPORTED);
    assert_int_equal(r.address, 0x1000);
    map(rig, 0, list, 2, false);
    copy(rig, APERTURE, 16, LOCAL, 0, 5000);
    r = fault_of(rig, 0);
    assert_int_equal(r.kind, HOST_UNSUPPORTED);
    assert_int_equal(r.address_kind, APERTURE);
    assert_int_equal(r.address, 4096);
    // A posted write has no answer that could tell; its tag names ring and entry.
    assert_int_equal(rig->refused, 0);
    copy(rig, LOCAL, 0, SYSTEM, end - 3, 8);
    assert_int_equal(submit(rig, 0), 0);
    assert_int_equal(rig->unmapped, 4);
    assert_int_equal(rig->refused, 1);
    assert_int_equal(rig->refused_address, end);
    assert_int_equal(rig->refused_tag, rig->produced[0] % 32);
    fill(rig, SYSTEM, end + 1, 8, 1, 0);
    assert_int_equal(submit(rig, 2), 0);
    assert_int_equal(rig->refused_address, end + 1);
    assert_int_equal(rig->refused_tag, 2 << 5 | rig->produced[2] % 32);
    copy(rig, LOCAL, 0, APERTURE, 9 * 4096 + 4, 8);
    r = fault_of(rig, 0);
    assert_int_equal(r.kind, APERTURE_INVALID);
    assert_int_equal(r.address, 9 * 4096 + 4);
    assert_int_equal(r.write, 1);
}

static void entries_are_checked(void **state)
{
    struct rig *rig = *state;
    static const struct {
        uint64_t address;
        uint32_t bytes, flags, kind;
        uint64_t reserved;
    } bad[] = {
        {BUFFER_PAGE, 4104, 0, BUFFER_SIZE, 0},       {BUFFER_PAGE, 12, 0, BUFFER_SIZE, 0},
        {BUFFER_PAGE, 0xfffffff8, 0, BUFFER_SIZE, 1}, {0xfffffffffffff800, 2056, 0, BUFFER_SIZE, 0},
        {BUFFER_PAGE + 4, 8, 0, PACKET_RESERVED, 0},  {BUFFER_PAGE, 8, 2, PACKET_RESERVED, 0},
        {BUFFER_PAGE, 8, 0, PACKET_RESERVED, 1},      {0x1000, 8, 0, BUFFER_FETCH, 0},
        {HOST_BASE - 8, 16, 0, BUFFER_FETCH, 0},
    };

    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        entry(rig, 1, bad[i].address, bad[i].bytes, bad[i].flags, 100 + i, bad[i].reserved);
        run_dry(rig);
        struct record r = record_at(rig, i);
        assert_int_equal(r.kind, bad[i].kind);
        assert_int_equal(r.fence_value, 100 + i);
        assert_int_equal(r.address, bad[i].address);
        assert_int_equal(r.header, 0);
        assert_int_equal(fence_of(rig, 1).status, 1);
        assert_int_equal(fence_of(rig, 1).value, 100 + i);
        ferry_model_write(rig->model, 0xb0, i + 1);
    }
    entry(rig, 2, BUFFER_PAGE, 0, 0, 77, 0);
    run_dry(rig);
    write64(rig, 0x100 + 0x80, 0x2000); // Ring 2 where nothing is mapped.
    entry(rig, 2, BUFFER_PAGE, 8, 0, 5, 0);
    run_dry(rig);
    assert_int_equal(record_at(rig, 9).kind, BUFFER_FETCH);
    assert_int_equal(record_at(rig, 9).address, 0x2000 + 32);
    assert_int_equal(record_at(rig, 9).fence_value, 0);
    assert_int_equal(fence_of(rig, 2).status, 1);
    assert_int_equal(fence_of(rig, 2).retired, 2);
    assert_int_equal(fence_of(rig, 2).value, 77); // Never back.
    assert_int_equal(ferry_model_read(rig->model, 0x180 + 0x28), 77);
    // Ring 3 has two entries in front of the end of all addresses: what would stand behind it is not looked for at 0.
    write64(rig, 0x100 + 0xc0, 0xffffffffffffffc0);
    rig->unmapped = 0;
    for (uint32_t i = 0; i < 4; i++) {
        entry(rig, 3, BUFFER_PAGE, 8, 0, 5, 0);
        run_dry(rig);
        assert_int_equal(record_at(rig, 10 + i).kind, BUFFER_FETCH);
        assert_int_equal(record_at(rig, 10 + i).address, 0xffffffffffffffc0 + 32 * i);
        assert_int_equal(rig->unmapped, i < 2 ? i + 1 : 2);
    }
    assert_int_equal(fence_of(rig, 3).retired, 4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lengths_are_checked_first),
        CASE(reserved_bits_and_values_are_refused),
        CASE(entries_of_page_lists_are_pages),
        CASE(address_kinds_are_refused),
        CASE(rights_are_refused_by_ring),
        CASE(ranges_are_refused_source_first),
        CASE(protected_range_is_kept),
        CASE(a_fault_names_its_packet_and_stops_the_buffer),
        CASE(unmapped_host_pages_fault_on_read_and_drop_writes),
        CASE(entries_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
