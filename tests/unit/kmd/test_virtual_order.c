// SPDX-License-Identifier: Apache-2.0
// Which copies by GPU virtual address may run ahead of the writes before them: those that read no page of video memory
// that a job in flight writes, by whatever address. Where the addresses lead is worked out here by hand.
#include "ferry_contract.h"
#include "rig.h"

#define UNORDERED FERRY_PACKET_HEADER_UNORDERED_MASK
#define TABLES_AT 0x10000u // Root, level 2, 1 and 0.
#define LARGE     0x200000u

enum { VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL, LOCAL = FERRY_ADDRESS_KIND_LOCAL };

// What stands in rig->buffer, and how many buffers went out.
struct program {
    struct rig *rig;
    HANDLE process, device, context;
    DXGKARG_BUILDPAGINGBUFFER a;
    struct ferry_gpu_memory commands;
    uint32_t paging_fence, fence, used, packets, at[64];
    // Of those packets that name a place: where Patch puts it.
    D3DDDI_PATCHLOCATIONLIST places[32];
    UINT place_count;
    _Alignas(8) uint8_t private_data[64];
};

static void begin_buffer(struct program *p)
{
    p->a = arguments(p->rig, p->rig->buffer.address, 4096, DXGK_OPERATION_UPDATE_PAGE_TABLE);
}

static void send_buffer(struct program *p)
{
    submit_paging(p->rig, &p->a, ++p->paging_fence);
    wait_for(p->rig, 0, p->paging_fence);
    begin_buffer(p);
}

static void operate(struct program *p)
{
    p->a.MultipassOffset = 0;
    assert_int_equal(append(p->rig, &p->a), STATUS_SUCCESS);
}

// `count` entries from `address` on, that lead to pages from `entry` on; all alike, if that is none or a table.
static void write_entries(struct program *p, UINT level, uint64_t address, UINT count, DXGK_PTE entry)
{
    static DXGK_PTE entries[512];
    bool alike = !entry.Valid || (level > 0 && !entry.LargePage);

    for (UINT i = 0; i < count; i++) {
        entries[i] = entry;
        entries[i].PageAddress += i;
    }
    p->a.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    p->a.UpdatePageTable =
        (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){.PageTableLevel = level,
                                                 .pPageTableEntries = entries,
                                                 .StartIndex = (UINT)(address >> (12 + 9 * level)) & 511,
                                                 .NumPageTableEntries = count,
                                                 .UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                                 .Flags.Repeat = alike,
                                                 .hProcess = p->process,
                                                 .FirstPteVirtualAddress = address};
    p->a.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
    p->a.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = TABLES_AT + 0x1000 * (3 - level);
    operate(p);
}

static DXGK_PTE to_local(uint64_t address)
{
    return (DXGK_PTE){.Valid = 1, .Segment = FERRY_KMD_SEGMENT_LOCAL, .PageAddress = address >> 12};
}

static void flush(struct program *p, uint64_t first, uint64_t end)
{
    p->a.Operation = DXGK_OPERATION_FLUSH_TLB;
    p->a.FlushTlb = (DXGK_BUILDPAGINGBUFFER_FLUSHTLB){.RootPageTableAddress = {FERRY_KMD_SEGMENT_LOCAL, 0, TABLES_AT},
                                                      .hProcess = p->process,
                                                      .StartVirtualAddress = first,
                                                      .EndVirtualAddress = end};
    operate(p);
}

// A program whose tables cover the lowest 2 MiB with pages and the rest of the lowest GiB with large ones.
static void begin(struct rig *rig, struct program *p)
{
    DXGKARG_CREATEPROCESS process = {0};

    *p = (struct program){.rig = rig};
    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &process), STATUS_SUCCESS);
    p->process = process.hKmdProcess;
    DXGKARG_CREATEDEVICE device = {.hKmdProcess = p->process};
    assert_int_equal(rig->kmd->DxgkDdiCreateDevice(rig->adapter, &device), STATUS_SUCCESS);
    p->device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 2};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(p->device, &context), STATUS_SUCCESS);
    p->context = context.hContext;
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 8192, 0, &p->commands), FERRY_OK);
    begin_buffer(p);
    for (UINT level = 4; level-- > 0;) {
        write_entries(p, level, 0, 512, (DXGK_PTE){0});
        if (level > 0)
            write_entries(p, level, 0, 1, to_local(TABLES_AT + 0x1000 * (4 - level)));
    }
    flush(p, 0, 0);
    send_buffer(p);
}

static void end(struct program *p)
{
    p->rig->kmd->DxgkDdiDestroyContext(p->context);
    p->rig->kmd->DxgkDdiDestroyDevice(p->device);
    assert_int_equal(p->rig->kmd->DxgkDdiDestroyProcess(p->rig->adapter, p->process), STATUS_SUCCESS);
    ferry_gpu_memory_free(p->rig->gpu, &p->commands);
}

// Of the packet that stands next; the allocation of the list that patch_places() gives is all of video memory.
static void name_place(struct program *p, UINT side, UINT at, uint64_t address)
{
    p->places[p->place_count++] = (D3DDDI_PATCHLOCATIONLIST){
        .DriverId = FERRY_KMD_PATCH_ID(p->used, side), .AllocationOffset = (UINT)address, .PatchOffset = p->used + at};
}

static void copy(struct program *p, uint32_t from_kind, uint64_t from, uint32_t to_kind, uint64_t to, uint32_t bytes)
{
    uint32_t words[8] = {FERRY_OPCODE_COPY | 8 << 16,
                         FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, from_kind) |
                             FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, to_kind),
                         bytes,
                         0,
                         (uint32_t)from,
                         (uint32_t)(from >> 32),
                         (uint32_t)to,
                         (uint32_t)(to >> 32)};

    memcpy((uint8_t *)p->commands.address + p->used, words, sizeof words);
    if (from_kind == LOCAL)
        name_place(p, FERRY_KMD_PATCH_SOURCE, FERRY_PACKET_COPY_SOURCE, from);
    if (to_kind == LOCAL)
        name_place(p, FERRY_KMD_PATCH_DESTINATION, FERRY_PACKET_COPY_DESTINATION, to);
    p->at[p->packets++] = p->used;
    p->used += sizeof words;
}

static void by_address(struct program *p, uint64_t from, uint64_t to, uint32_t bytes)
{
    copy(p, VIRTUAL, from, VIRTUAL, to, bytes);
}

// The job that stands there, as Patch sees it next.
static void patch_job(struct program *p)
{
    DXGKARG_PATCH patch = {.hContext = p->context,
                           .pDmaBuffer = p->commands.address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = p->used,
                           .pDmaBufferPrivateData = p->private_data,
                           .DmaBufferPrivateDataSize = sizeof p->private_data,
                           .DmaBufferPrivateDataSubmissionEndOffset = sizeof p->private_data,
                           .pPatchLocationList = p->places,
                           .PatchLocationListSize = p->place_count,
                           .PatchLocationListSubmissionLength = p->place_count,
                           .SubmissionFenceId = p->fence + 1,
                           .NodeOrdinal = 2};

    assert_int_equal(patch_places(p->rig, &patch), STATUS_SUCCESS);
}

static void submit_job(struct program *p, bool again, uint32_t private_bytes)
{
    DXGKARG_SUBMITCOMMAND submitted = {.hContext = p->context,
                                       .DmaBufferSize = 4096,
                                       .DmaBufferSubmissionEndOffset = p->used,
                                       .pDmaBufferPrivateData = p->private_data,
                                       .DmaBufferPrivateDataSize = private_bytes,
                                       .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
                                       .SubmissionFenceId = ++p->fence,
                                       .Flags.Resubmission = again,
                                       .NodeOrdinal = 2};

    submitted.DmaBufferPhysicalAddress.QuadPart = (int64_t)p->commands.bus;
    assert_int_equal(p->rig->kmd->DxgkDdiSubmitCommand(p->rig->adapter, &submitted), STATUS_SUCCESS);
}

static void begin_job(struct program *p)
{
    p->used = p->packets = p->place_count = 0;
}

// The job that stands there, in flight; `runs_ahead` tells of each packet whether it may.
static void submit(struct program *p, const char *runs_ahead)
{
    patch_job(p);
    assert_int_equal(strlen(runs_ahead), p->packets);
    for (uint32_t i = 0; i < p->packets; i++) {
        uint32_t header;
        memcpy(&header, (uint8_t *)p->commands.address + p->at[i], 4);
        if (((header & UNORDERED) != 0) != (runs_ahead[i] == 'a'))
            fail_msg("packet %u of fence %u", i, p->fence + 1);
    }
    submit_job(p, false, sizeof p->private_data);
    begin_job(p);
}

static void done(struct program *p)
{
    wait_for(p->rig, 2, p->fence);
    assert_int_equal(ferry_kmd_faults(p->rig->adapter), 0);
}

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
        CASE(a_job_names_places_only_where_patch_put_them),
        CASE(copies_by_address_run_ahead_unless_they_read_what_is_written),
        CASE(copies_by_address_of_64_pages_run_ahead),
        CASE(a_rectangle_by_address_runs_ahead_as_a_copy_does),
        CASE(it_is_judged_by_the_newest_entries),
        CASE(what_is_not_known_waits_and_makes_wait),
        CASE(entries_that_nobody_is_named_for_make_all_wait),
        CASE(entries_that_are_copied_make_all_wait),
        CASE(entries_that_the_cpu_writes_are_the_newest),
        CASE(what_is_kept_of_addresses_goes_with_their_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
