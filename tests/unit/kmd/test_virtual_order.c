// SPDX-License-Identifier: Apache-2.0
// Which copies by GPU virtual address may run ahead of the writes before them: those that read no page of video memory
// that a job in flight writes, by whatever address. And which do behind a FORGET.
#include "virtual_order.h"

static void copies_by_address_run_ahead_unless_they_read_what_is_written(void **state)
{
    struct program p;

    begin(*state, &p);
    write_entries(&p, 0, 0x1000, 8, to_local(0x40000));
    write_entries(&p, 0, 0x100000, 1, to_local(0x42000)); // What 0x3000 leads to, once more.
    write_entries(&p, 0, 0x101000, 1, to_local(0x80000));
    send_buffer(&p);
    by_address(&p, 0x1000, 0x3000, 64);
    by_address(&p, 0x2000, 0x4ff0, 32);   // Into two pages.
    by_address(&p, 0x3000, 0x6000, 64);   // What the first one writes,
    by_address(&p, 0x100040, 0x6100, 64); // by its other address too.
    by_address(&p, 0x4f00, 0x6000, 64);
    by_address(&p, 0x5100, 0x6000, 64); // Only the page where it ends.
    by_address(&p, 0x2ff0, 0x6000, 32); // A page that nobody writes, and the one that the first one does.
    by_address(&p, 0x5ff0, 0x6000, 32); // The end of what the second one writes, and the page behind.
    by_address(&p, 0x101000, 0x8000, 64);
    copy(&p, LOCAL, 0x42000, VIRTUAL, 0x7000, 64); // By its place.
    copy(&p, LOCAL, 0x3000, LOCAL, 0x80000, 64);   // The number of an address, but a place.
    by_address(&p, 0x101000, 0x7000, 64);
    submit(&p, "aawwwwwwawaw");
    by_address(&p, 0x3000, 0x1000, 64);
    submit(&p, "w");
    done(&p);
    by_address(&p, 0x3000, 0x1000, 64);
    submit(&p, "a");
    done(&p);
    end(&p);
}

// So many pages are looked at one by one; more are not.
static void copies_by_address_of_64_pages_run_ahead(void **state)
{
    struct program p;

    begin(*state, &p);
    write_entries(&p, 0, 0x10000, 65, to_local(0x100000));
    write_entries(&p, 0, 0x80000, 65, to_local(0x180000));
    send_buffer(&p);
    for (uint32_t pages = 63; pages <= 65; pages++) {
        by_address(&p, 0x10000, 0x80000, pages * 4096);
        submit(&p, pages <= 64 ? "a" : "w");
        done(&p);
    }
    end(&p);
}

// What a job of a program's space may name is addresses of that space, but for places that Patch itself put there: the
// device sees to it. The list that Patch gets has all of video memory each time.
static void a_job_names_places_only_where_patch_put_them(void **state)
{
    struct program p;
    struct ferry_fault fault;
    uint64_t faults = 0;

    begin(*state, &p);
    write_entries(&p, 0, 0x1000, 8, to_local(0x40000));
    send_buffer(&p);
    for (unsigned way = 0; way < 8; way++) {
        bool source = way & 1, patched = way & 2, noted = !(way & 4);

        begin_job(&p);
        copy(&p, source ? LOCAL : VIRTUAL, source ? 0x48000 : 0x1000, source ? VIRTUAL : LOCAL,
             source ? 0x1000 : 0x48000, 64);
        if (!patched)
            p.place_count = 0;
        patch_job(&p);
        submit_job(&p, false, noted ? sizeof p.private_data : 0);
        wait_for(p.rig, 2, p.fence);
        faults += !patched || !noted;
        assert_int_equal(ferry_kmd_faults(p.rig->adapter), faults);
        if (patched && noted)
            continue;
        assert_true(ferry_kmd_next_fault(p.rig->adapter, &fault));
        assert_int_equal(fault.kind, FERRY_FAULT_KIND_RIGHTS);
        assert_int_equal(fault.address, 0x48000);
        assert_int_equal(fault.is_write, !source);
    }
    // What Patch saw for one submission says nothing of the next, which is another job in the same buffer.
    begin_job(&p);
    copy(&p, LOCAL, 0x48000, VIRTUAL, 0x1000, 64);
    patch_job(&p);
    submit_job(&p, false, sizeof p.private_data);
    wait_for(p.rig, 2, p.fence);
    assert_int_equal(ferry_kmd_faults(p.rig->adapter), faults);
    // But of the same one, once more after a reset, it does.
    submit_job(&p, true, sizeof p.private_data);
    wait_for(p.rig, 2, p.fence);
    assert_int_equal(ferry_kmd_faults(p.rig->adapter), faults);
    submit_job(&p, false, sizeof p.private_data);
    wait_for(p.rig, 2, p.fence);
    assert_int_equal(ferry_kmd_faults(p.rig->adapter), faults + 1);
    end(&p);
}

// Rows of 64 bytes, 4 KiB apart.
static void rectangle_by_address(struct program *p, uint64_t from, uint64_t to, uint32_t rows)
{
    uint32_t words[12] = {FERRY_OPCODE_COPY_RECTANGLE | 12 << 16,
                          FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, VIRTUAL) |
                              FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, VIRTUAL),
                          64,
                          rows - 1,
                          (uint32_t)from,
                          0,
                          (uint32_t)to,
                          0,
                          4096,
                          0,
                          4096,
                          0};

    memcpy((uint8_t *)p->commands.address + p->used, words, sizeof words);
    p->at[p->packets++] = p->used;
    p->used += sizeof words;
}

static void a_rectangle_by_address_runs_ahead_as_a_copy_does(void **state)
{
    struct program p;

    begin(*state, &p);
    write_entries(&p, 0, 0x1000, 16, to_local(0x40000));
    write_entries(&p, 0, 0x100000, 1, to_local(0x44000)); // What 0x5000 leads to, once more.
    send_buffer(&p);
    rectangle_by_address(&p, 0x1000, 0x4000, 3); // Two other pages lie behind the first of each side.
    rectangle_by_address(&p, 0x7000, 0xa000, 2); // Nothing of that.
    by_address(&p, 0x5800, 0xc000, 64);          // The second that the first one writes,
    rectangle_by_address(&p, 0x3000, 0xd000, 2); // a page before them and the first,
    by_address(&p, 0x100000, 0xe000, 64);        // and the second by its other address.
    submit(&p, "aawww");
    done(&p);
    rectangle_by_address(&p, 0x1000, 0x8000, 3);
    by_address(&p, 0xb000, 0x4000, 64);
    by_address(&p, 0xb000, 0x2040, 64); // Over what the rectangle reads.
    submit(&p, "aaw");
    done(&p);
    rectangle_by_address(&p, 0x7000, 0xf000, 3); // It ends where nothing is known to be.
    by_address(&p, 0x1000, 0x2000, 64);
    submit(&p, "aw");
    wait_for(p.rig, 2, p.fence);
    assert_int_equal(ferry_kmd_faults(p.rig->adapter), 1);
    end(&p);
}

// An address that leads nowhere that is known, or outside video memory, or too many pages: then everything waits.
static void what_is_not_known_waits_and_makes_wait(void **state)
{
    struct program p;
    struct host_pages host;

    begin(*state, &p);
    pages_make(p.rig, &host, 2);
    write_entries(&p, 0, 0x1000, 80, to_local(0x40000));
    write_entries(&p, 0, 0x100000, 1, (DXGK_PTE){.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[0]});
    send_buffer(&p);
    by_address(&p, 0x1000, 0x100000, 64); // Nobody reads it ahead, so it keeps nobody.
    by_address(&p, 0x100000, 0x2000, 64);
    by_address(&p, 0x1000, 0x3000, 64);
    by_address(&p, 0x1000, 0x10000, 65 * PAGE_SIZE);
    by_address(&p, 0x1000, 0x3000, 64);
    submit(&p, "awaww");
    done(&p);
    by_address(&p, 0x200000, 0x2000, 64);
    by_address(&p, 0x1000, 0x200000, 64);
    by_address(&p, 0x1000, 0x3000, 64);
    submit(&p, "www"); // What the second writes may be what the first reads.
    wait_for(p.rig, 2, p.fence);
    assert_int_equal(ferry_kmd_faults(p.rig->adapter), 1);
    pages_free(p.rig, &host);
    end(&p);
}

// Bytes of the buffer so far.
static uint32_t written(const struct program *p)
{
    return (uint32_t)((uint8_t *)p->a.pDmaBuffer - (uint8_t *)p->rig->buffer.address);
}

// A page of the host to or from a place in video memory.
static void move(struct program *p, HANDLE allocation, struct host_pages *host, uint32_t page, bool in, int64_t place)
{
    transfer_arguments(&p->a, allocation, &host->mdl, in, place, PAGE_SIZE);
    p->a.Transfer.MdlOffset = page;
    operate(p);
}

// While the device forgets it reads on what is copied from place to place: a copy behind a FORGET that reads what one
// before it writes waits like any other, in the same buffer and in the next one, and one that does not runs ahead.
static void a_flush_is_no_barrier(void **state)
{
    static const uint64_t flushed[][2] = {{0x1000, 0x2000}, {0, 3 * LARGE}, {0, 8 * LARGE}};
    struct program p;
    struct host_pages host;

    begin(*state, &p);
    pages_make(p.rig, &host, 4);
    HANDLE allocation = make_allocation(p.rig, 4 * PAGE_SIZE, false);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t at[6], count = 0;

        begin_buffer(&p);
        for (uint32_t buffer = 0; buffer < 2; buffer++) {
            const uint32_t first = written(&p);
            const uint32_t first_private = (uint32_t)((uint8_t *)p.a.pDmaBufferPrivateData - p.rig->private_data);

            if (buffer == 0)
                move(&p, allocation, &host, 0, true, 0x80000);
            flush(&p, flushed[i][0], flushed[i][1]);
            at[count++] = written(&p);
            move(&p, allocation, &host, 1 + buffer, false, 0x80000); // What came in.
            at[count++] = written(&p);
            move(&p, allocation, &host, 3, true, 0x90000 + PAGE_SIZE * buffer); // From where nobody writes.
            flush(&p, flushed[i][0], flushed[i][1]);
            at[count++] = written(&p);
            move(&p, allocation, &host, 1, true, 0xa0000); // What the first page-out writes.
            submit_paging_from(p.rig, &p.a, first, first_private, ++p.paging_fence);
        }
        for (uint32_t k = 0; k < count; k++) {
            uint32_t header;

            memcpy(&header, (uint8_t *)p.rig->buffer.address + at[k], 4);
            assert_int_equal(FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header), FERRY_OPCODE_COPY_PAGES);
            assert_int_equal(header & UNORDERED, k % 3 == 1 ? UNORDERED : 0);
        }
        wait_for(p.rig, 0, p.paging_fence);
    }
    assert_int_equal(ferry_kmd_faults(p.rig->adapter), 0);
    destroy_allocation(p.rig, allocation);
    pages_free(p.rig, &host);
    end(&p);
}

int main(void)
{
    rig_model = 2;
    rig_tiling = true;
    const struct CMUnitTest tests[] = {
        CASE(a_job_names_places_only_where_patch_put_them),
        CASE(copies_by_address_run_ahead_unless_they_read_what_is_written),
        CASE(copies_by_address_of_64_pages_run_ahead),
        CASE(a_rectangle_by_address_runs_ahead_as_a_copy_does),
        CASE(what_is_not_known_waits_and_makes_wait),
        CASE(a_flush_is_no_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
