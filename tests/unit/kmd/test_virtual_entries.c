// SPDX-License-Identifier: Apache-2.0
// By which entries of its page tables a copy by GPU virtual address is judged: the newest ones, whether a packet, a
// copy from table to table or the CPU writes them. And that what is kept of them goes with their tables.
#include "virtual_order.h"

// After each change what was built last counts, of large pages and small ones.
static void it_is_judged_by_the_newest_entries(void **state)
{
    struct program p;

    begin(*state, &p);
    write_entries(&p, 1, LARGE, 1, (DXGK_PTE){.Valid = 1, .Segment = 1, .LargePage = 1, .PageAddress = LARGE >> 12});
    write_entries(&p, 0, 0x1000, 2, to_local(LARGE + 0x5000));
    write_entries(&p, 0, 0x8000, 2, to_local(0x40000));
    send_buffer(&p);
    by_address(&p, LARGE + 0x8000, 0x1000, 64);
    by_address(&p, LARGE + 0x5000, 0x8000, 64);
    by_address(&p, LARGE + 0x6000, 0x8000, 64);
    submit(&p, "awa");
    done(&p);
    write_entries(&p, 0, 0x1000, 1, (DXGK_PTE){0});
    flush(&p, 0x1000, 0x2000);
    write_entries(&p, 0, 0x1000, 1, to_local(0x41000));
    send_buffer(&p);
    by_address(&p, LARGE + 0x8000, 0x1000, 64);
    by_address(&p, LARGE + 0x5000, 0x8000, 64);
    by_address(&p, 0x9000, 0x8000, 64);
    submit(&p, "aaw");
    done(&p);
    end(&p);
}

// Entries that are written for nobody in particular, or copied from table to table, are somebody's all the same.
static void entries_that_nobody_is_named_for_make_all_wait(void **state)
{
    struct program p;

    begin(*state, &p);
    write_entries(&p, 0, 0x1000, 4, to_local(0x40000));
    send_buffer(&p);
    by_address(&p, 0x1000, 0x2000, 64);
    submit(&p, "a");
    done(&p);
    HANDLE process = p.process;
    p.process = NULL;
    write_entries(&p, 0, 0x3000, 1, to_local(0x41000));
    p.process = process;
    send_buffer(&p);
    by_address(&p, 0x1000, 0x2000, 64);
    submit(&p, "w");
    done(&p);
    end(&p);
}

static void entries_that_are_copied_make_all_wait(void **state)
{
    const DXGK_BUILDPAGINGBUFFER_COPY_RANGE range = {1, 0x20000, 0x30000, 0, 0};
    struct program p;

    begin(*state, &p);
    write_entries(&p, 0, 0x1000, 4, to_local(0x40000));
    send_buffer(&p);
    by_address(&p, 0x1000, 0x2000, 64);
    submit(&p, "a");
    done(&p);
    // It is built; that it never runs makes no difference.
    p.a.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES;
    p.a.CopyPageTableEntries = (DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES){1, &range};
    operate(&p);
    begin_buffer(&p);
    by_address(&p, 0x1000, 0x2000, 64);
    submit(&p, "w");
    done(&p);
    end(&p);
}

// Of the sanitizer's allocator.
size_t __sanitizer_get_current_allocated_bytes(void);

#define GIB ((uint64_t)1 << 30)

// A program maps something here and there and takes it away again, with the tables above it. What is kept of where its
// addresses lead does not grow with how far it has come; and goes on to say what is mapped.
static void what_is_kept_of_addresses_goes_with_their_tables(void **state)
{
    struct program p;
    size_t bytes = 0;

    begin(*state, &p);
    write_entries(&p, 0, 0x1000, 4, to_local(0x40000));
    for (uint64_t i = 1; i < 2048; i++) {
        uint64_t at = i * GIB;

        for (UINT level = 4; level-- > 0;)
            write_entries(&p, level, at, 1, to_local(level > 0 ? TABLES_AT + 0x1000 * (4 - level) : 0x50000));
        // The table of level 2 goes with the last that is mapped under it, and the first of them stays.
        for (UINT level = 0; level < (i % 512 == 511 && i > 512 ? 4 : 3); level++)
            write_entries(&p, level, at, 1, (DXGK_PTE){0});
        send_buffer(&p);
        if (i == 600)
            bytes = __sanitizer_get_current_allocated_bytes();
        if (i == 1000 || i == 2000)
            assert_int_equal(__sanitizer_get_current_allocated_bytes(), bytes);
    }
    // All of this stood in the same few tables of the device's.
    for (UINT level = 4; level-- > 1;)
        write_entries(&p, level, 0, 1, to_local(TABLES_AT + 0x1000 * (4 - level)));
    flush(&p, 0, 0);
    send_buffer(&p);
    by_address(&p, 0x1000, 0x2000, 64);
    submit(&p, "a");
    done(&p);
    end(&p);
}

// One entry of a table in host memory: by the CPU, at once and without a buffer, or by a packet.
static void write_in_host(struct program *p, const struct host_pages *table, uint64_t address, DXGK_PTE entry,
                          bool by_cpu)
{
    DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *u = by_cpu ? &a.UpdatePageTable : &p->a.UpdatePageTable;

    *u = (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){.pPageTableEntries = &entry,
                                                  .StartIndex = (UINT)(address >> 12) & 511,
                                                  .NumPageTableEntries = 1,
                                                  .UpdateMode = by_cpu ? DXGK_PAGETABLEUPDATE_CPU_VIRTUAL
                                                                       : DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                                  .hProcess = p->process,
                                                  .FirstPteVirtualAddress = address};
    if (by_cpu) {
        u->PageTableAddress.CpuVirtual = table->memory;
        assert_int_equal(p->rig->kmd->DxgkDdiBuildPagingBuffer(p->rig->adapter, &a), STATUS_SUCCESS);
    } else {
        u->PageTableAddress.GpuPhysical.SegmentOffset = table->pfn[0] << 12;
        p->a.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
        operate(p);
    }
}

// However the one before was written.
static void entries_that_the_cpu_writes_are_the_newest(void **state)
{
    struct program p;
    struct host_pages host;

    begin(*state, &p);
    pages_make(p.rig, &host, 1);
    write_entries(&p, 0, 0x1000, 8, to_local(0x40000));
    write_entries(&p, 1, LARGE, 1, (DXGK_PTE){.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[0]});
    for (unsigned round = 0; round < 3; round++) {
        // A page that nobody writes; what 0x3000 leads to; another one that nobody writes.
        write_in_host(&p, &host, LARGE + 0x5000, to_local(round == 1 ? 0x42000 : 0x80000), round > 0);
        flush(&p, LARGE + 0x5000, LARGE + 0x6000);
        send_buffer(&p);
        by_address(&p, 0x1000, 0x3000, 64);
        by_address(&p, LARGE + 0x5000, 0x6000, 64);
        submit(&p, round == 1 ? "aw" : "aa");
        done(&p);
    }
    pages_free(p.rig, &host);
    end(&p);
}

int main(void)
{
    rig_model = 2;
    rig_tiling = true;
    const struct CMUnitTest tests[] = {
        CASE(it_is_judged_by_the_newest_entries),
        CASE(entries_that_nobody_is_named_for_make_all_wait),
        CASE(entries_that_are_copied_make_all_wait),
        CASE(entries_that_the_cpu_writes_are_the_newest),
        CASE(what_is_kept_of_addresses_goes_with_their_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
