// SPDX-License-Identifier: Apache-2.0
// What stands between the tests and the real miniport's table. With no knob turned it passes every call on. With one it
// gives, in the miniport's place, the answers that a correct miniport never gives (illegal statuses, overruns, BUSY a
// number of times, fences that go back), and makes of the one device others: with a second memory segment, an aperture
// that is not coherent, other versions and capabilities. What a knob does not touch is still the real miniport's work.
#include <stdlib.h>
#include <string.h>

#include "../seed.h"
#include "ferry_contract.h"
#include "kmd_device.h"

struct machine *kmd_machine_present;

static const DRIVER_INITIALIZATION_DATA *real(void)
{
    return kmd_machine_present ? kmd_machine_miniport(kmd_machine_present) : ferry_kmd_miniport();
}

// ---- The device as it is reported ----

static void segments(const struct machine *machine, DXGK_QUERYSEGMENTOUT4 *out, bool described)
{
    const struct machine_options *o = &machine->options;
    UINT count = o->hidden_bytes != 0 ? 3 : 2;
    out->NbSegment = count;
    if (!described)
        return;
    DXGK_SEGMENTDESCRIPTOR4 *all = (DXGK_SEGMENTDESCRIPTOR4 *)(void *)out->pSegmentDescriptor;
    DXGK_SEGMENTDESCRIPTOR4 *local = &all[FERRY_KMD_SEGMENT_LOCAL - 1],
                            *aperture = &all[FERRY_KMD_SEGMENT_APERTURE - 1];
    local->Size = local->CommitLimit = o->local_bytes;
    local->Flags.VprSupported = o->vpr;
    aperture->Flags.CacheCoherent = o->coherent_aperture;
    if (o->aperture_bytes != 0)
        aperture->Size = aperture->CommitLimit = o->aperture_bytes;
    if (count == 3) {
        // The upper end of the same video memory.
        DXGK_SEGMENTDESCRIPTOR4 hidden = {.Size = o->hidden_bytes, .CommitLimit = o->hidden_bytes};
        hidden.BaseAddress.QuadPart = (int64_t)o->local_bytes;
        all[HIDDEN_INDEX - 1] = hidden;
    }
}

static NTSTATUS query(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    struct machine *machine = kmd_machine_present;
    bool described =
        argument->Type == DXGKQAITYPE_QUERYSEGMENT4 && ((DXGK_QUERYSEGMENTOUT4 *)argument->pOutputData)->NbSegment != 0;
    NTSTATUS status = real()->DxgkDdiQueryAdapterInfo(adapter, argument);
    if (status != STATUS_SUCCESS)
        return status;
    if (argument->Type == DXGKQAITYPE_QUERYSEGMENT4)
        segments(machine, argument->pOutputData, described);
    if (argument->Type == DXGKQAITYPE_DRIVERCAPS) {
        DXGK_DRIVERCAPS *caps = argument->pOutputData;
        if (machine->options.version != 0)
            caps->WDDMVersion = (DXGK_WDDMVERSION)machine->options.version;
        caps->MemoryManagementCaps.MapAperture2Supported = machine->options.map_aperture2;
        if (machine->options.no_ranges || (machine->options.ranges && caps->NumberOfSwizzlingRanges))
            caps->NumberOfSwizzlingRanges = machine->options.no_ranges ? 0 : machine->options.ranges;
    }
    return status;
}

static NTSTATUS create_allocation(HANDLE adapter, DXGKARG_CREATEALLOCATION *argument)
{
    struct machine *machine = kmd_machine_present;
    const struct machine_knobs *knobs = &machine->knobs;
    DXGK_ALLOCATIONINFO *info = argument->pAllocationInfo;
    const struct ferry_allocation_private *wanted = info->pPrivateDriverData;
    NTSTATUS status = real()->DxgkDdiCreateAllocation(adapter, argument);
    if (status != STATUS_SUCCESS)
        return status;
    if (knobs->flags_as_wished)
        info->Flags = (wanted->Flags & ~DXGK_ALLOC_FLAG_SWIZZLED) | (info->Flags & DXGK_ALLOC_FLAG_SWIZZLED);
    if (knobs->own_alignment_64k)
        info->Alignment = 65536;
    if (knobs->zero_size)
        info->Size = 0;
    if (machine->options.hidden_bytes != 0 && !wanted->Aperture)
        info->SupportedWriteSegmentSet |= 1u << (HIDDEN_INDEX - 1);
    if (knobs->segment_set)
        info->SupportedWriteSegmentSet = knobs->segment_set;
    if (knobs->eviction_set)
        info->EvictionSegmentSet = knobs->eviction_set;
    if (knobs->hinted_bank)
        info->HintedBank.Value = knobs->hinted_bank;
    return status;
}

// ---- Fences ----

static VOID notify_interrupt(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const struct machine *machine = kmd_machine_present;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA told = *data;
    if (machine->knobs.backwards && told.InterruptType == DXGK_INTERRUPT_DMA_COMPLETED)
        told.DmaCompleted.SubmissionFenceId -= 2;
    machine->os->DxgkCbNotifyInterrupt(handle, &told);
}

static NTSTATUS start_device(HANDLE adapter, const DXGKRNL_INTERFACE *interface)
{
    struct machine *machine = kmd_machine_present;
    machine->os = interface;
    machine->between = *interface;
    machine->between.DxgkCbNotifyInterrupt = notify_interrupt;
    return real()->DxgkDdiStartDevice(adapter, &machine->between);
}

// ---- Building ----

static UINT known(UINT segment)
{
    return segment == HIDDEN_INDEX ? FERRY_KMD_SEGMENT_LOCAL : segment;
}

// The segment that only this wrapper knows is part of the device's local memory, at the same address.
static void translate(DXGKARG_BUILDPAGINGBUFFER *argument)
{
    switch (argument->Operation) {
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER: // whose members begin as those
        argument->Transfer.Source.SegmentId = known(argument->Transfer.Source.SegmentId);
        argument->Transfer.Destination.SegmentId = known(argument->Transfer.Destination.SegmentId);
        break;
    case DXGK_OPERATION_FILL: argument->Fill.Destination.SegmentId = known(argument->Fill.Destination.SegmentId); break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        argument->DiscardContent.SegmentId = known(argument->DiscardContent.SegmentId);
        break;
    default: break;
    }
}

static void translate_entries(const struct machine *machine, DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                              DXGK_PTE *entries)
{
    UINT count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
    for (UINT i = 0; i < count && i < 512; i++) {
        entries[i] = update->pPageTableEntries[i];
        if (entries[i].Segment != HIDDEN_INDEX)
            continue;
        entries[i].Segment = FERRY_KMD_SEGMENT_LOCAL;
        entries[i].PageAddress += machine->options.local_bytes / PAGE_SIZE;
    }
    update->pPageTableEntries = entries;
}

// As a miniport would by registers: the device's table changes now.
static bool change_table(struct machine *machine, const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    const DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT *m = &argument->MapApertureSegment;
    const DXGK_BUILDPAGINGBUFFER_UNMAPAPERTURESEGMENT *u = &argument->UnmapApertureSegment;
    if (argument->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT) {
        for (uint64_t i = 0; i < m->NumberOfPages; i++)
            kmd_device_set_aperture_entry(
                machine, (uint32_t)(m->OffsetInPages + i),
                m->pMdl->Pfn[m->MdlOffset + i] << PAGE_SHIFT |
                    FERRY_PUT(FERRY_APERTURE_ENTRY_ENTRY_VALID, UINT64_C(1)) |
                    FERRY_PUT(FERRY_APERTURE_ENTRY_ENTRY_SNOOP, (uint64_t)m->Flags.CacheCoherent));
    } else if (argument->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) {
        for (uint64_t i = 0; i < u->NumberOfPages; i++)
            kmd_device_set_aperture_entry(machine, (uint32_t)(u->OffsetInPages + i),
                                          (uint64_t)u->DummyPage.QuadPart |
                                              FERRY_PUT(FERRY_APERTURE_ENTRY_ENTRY_VALID, UINT64_C(1)));
    } else {
        return false;
    }
    return true;
}

static NTSTATUS build(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    struct machine *machine = kmd_machine_present;
    struct machine_knobs *knobs = &machine->knobs;
    bool discard = argument->Operation == DXGK_OPERATION_DISCARD_CONTENT;
    bool transfer =
        argument->Operation == DXGK_OPERATION_TRANSFER || argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
    if (!machine->in_operation) {
        machine->in_operation = true;
        machine->busy_left = discard || transfer ? knobs->busy_times : 0;
    }
    if (knobs->illegal_status != 0)
        return knobs->illegal_status;
    if (knobs->refuse_progress)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    if (machine->busy_left > 0) {
        machine->busy_left--;
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (knobs->busy_in_later_pass && transfer && argument->MultipassOffset != 0) {
        knobs->busy_in_later_pass = false;
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    if (knobs->write_behind)
        ((uint8_t *)argument->pDmaBuffer)[argument->DmaSize] ^= 0xFF;
    if (knobs->overrun) {
        argument->pDmaBuffer = (uint8_t *)argument->pDmaBuffer + argument->DmaSize + 1;
        return STATUS_SUCCESS;
    }
    NTSTATUS status = STATUS_SUCCESS;
    if ((!discard || !knobs->silent_discard) && !(knobs->by_registers && change_table(machine, argument))) {
        DXGKARG_BUILDPAGINGBUFFER passed = *argument;
        DXGK_PTE entries[512];
        translate(&passed);
        if (argument->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
            translate_entries(machine, &passed.UpdatePageTable, entries);
        status = real()->DxgkDdiBuildPagingBuffer(adapter, &passed);
        argument->pDmaBuffer = passed.pDmaBuffer;
        argument->DmaSize = passed.DmaSize;
        argument->pDmaBufferPrivateData = passed.pDmaBufferPrivateData;
        argument->DmaBufferPrivateDataSize = passed.DmaBufferPrivateDataSize;
        argument->MultipassOffset = passed.MultipassOffset;
    }
    if (status == STATUS_SUCCESS)
        machine->in_operation = false;
    return status;
}

// ---- Patch and submit ----

static NTSTATUS patch(HANDLE adapter, const DXGKARG_PATCH *argument)
{
    struct machine *machine = kmd_machine_present;
    if (machine->knobs.patch_status != 0)
        return machine->knobs.patch_status;
    machine->patched = (uint8_t *)argument->pDmaBuffer + argument->DmaBufferSubmissionStartOffset;
    DXGKARG_PATCH passed = *argument;
    DXGK_ALLOCATIONLIST *list = calloc(argument->AllocationListSize + 1, sizeof(*list));
    for (UINT i = 0; i < argument->AllocationListSize; i++) {
        list[i] = argument->pAllocationList[i];
        list[i].SegmentId = known(list[i].SegmentId) & 0x1F;
    }
    if (argument->pAllocationList)
        passed.pAllocationList = list;
    NTSTATUS status = real()->DxgkDdiPatch(adapter, &passed);
    free(list);
    return status;
}

static struct paging_accesses count_accesses(const uint8_t *bytes, UINT count)
{
    struct paging_accesses found = {0, 0};
    for (UINT at = 0; at < count;) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof(word));
        uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, word),
                 words = FERRY_GET(FERRY_PACKET_HEADER_WORDS, word);
        found.reads += opcode == FERRY_OPCODE_READ;
        found.writes += opcode == FERRY_OPCODE_WRITE;
        if (words == 0)
            break;
        at += words * 4;
    }
    return found;
}

// An opcode that nobody knows, in place of a job's first packet or of any of a paging buffer's.
static void plant_fault(struct machine *machine, bool paging, UINT count)
{
    UINT at = 0;
    machine->planted++;
    while (paging) {
        uint32_t word;
        memcpy(&word, machine->patched + at, sizeof(word));
        UINT next = at + FERRY_GET(FERRY_PACKET_HEADER_WORDS, word) * 4;
        bool here = draw_below(&machine->random, 1u << 31) >> 30;
        if (next == at || next >= count || here)
            break;
        at = next;
    }
    machine->patched[at] = 0xEE;
}

// Does one of its records name an operation on page tables?
static bool changes_addresses(const DXGKARG_SUBMITCOMMAND *argument)
{
    const uint8_t *all = argument->pDmaBufferPrivateData;
    struct ferry_kmd_paging_record record;
    for (UINT at = argument->DmaBufferPrivateDataSubmissionStartOffset;
         at + sizeof(record) <= argument->DmaBufferPrivateDataSubmissionEndOffset; at += (UINT)sizeof(record)) {
        memcpy(&record, all + at, sizeof(record));
        if (record.Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE || record.Operation == DXGK_OPERATION_FLUSH_TLB)
            return true;
    }
    return false;
}

static NTSTATUS pass_on(struct machine *machine, const DXGKARG_SUBMITCOMMAND *argument)
{
    kmd_device_gets(machine, argument);
    NTSTATUS status = real()->DxgkDdiSubmitCommand(machine->adapter, argument);
    if (status == STATUS_SUCCESS && machine->knobs.delay == 0 && !machine->knobs.hang)
        while (ferry_gpu_ring_pending(machine->gpu, argument->NodeOrdinal) > 0 && kmd_machine_turn(machine) == FERRY_OK)
            ;
    return status;
}

void kmd_machine_release(struct machine *machine)
{
    // In order: what still is held keeps what comes behind it on the same node.
    unsigned kept = 0, count = machine->held_count;
    machine->held_count = 0;
    for (unsigned i = 0; i < count; i++) {
        DXGKARG_SUBMITCOMMAND next = machine->held[i];
        if (machine_holds(&machine->knobs, next.NodeOrdinal))
            machine->held[kept++] = next;
        else
            pass_on(machine, &next);
    }
    machine->held_count = kept;
}

// Behind what is held of its node until the next turn, whatever the knob says by now.
static bool is_held(const struct machine *machine, unsigned node)
{
    bool held = machine_holds(&machine->knobs, node);
    for (unsigned i = 0; i < machine->held_count; i++)
        held |= machine->held[i].NodeOrdinal == node;
    return held;
}

static NTSTATUS submit(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    struct machine *machine = kmd_machine_present;
    (void)adapter;
    if (machine->knobs.submit_status != 0)
        return machine->knobs.submit_status;
    UINT bytes = argument->DmaBufferSubmissionEndOffset - argument->DmaBufferSubmissionStartOffset;
    if (argument->Flags.Paging)
        machine->accesses[machine->paging_submissions++ % PAGING_KEPT] = count_accesses(machine->patched, bytes);
    unsigned *faults = argument->Flags.Paging ? &machine->knobs.fault_paging : &machine->knobs.fault_jobs;
    if (argument->Flags.Paging && machine->knobs.fault_addresses > 0 && changes_addresses(argument))
        faults = &machine->knobs.fault_addresses;
    if (*faults > 0 && bytes > 0) {
        --*faults;
        plant_fault(machine, argument->Flags.Paging, bytes);
    }
    if (is_held(machine, argument->NodeOrdinal) && machine->held_count < HELD_MOST) {
        machine->held[machine->held_count++] = *argument;
        return STATUS_SUCCESS;
    }
    return pass_on(machine, argument);
}

static NTSTATUS acquire(HANDLE adapter, DXGKARG_ACQUIRESWIZZLINGRANGE *argument)
{
    struct machine_knobs *knobs = &kmd_machine_present->knobs;
    if (knobs->range_unavailable > 0) {
        knobs->range_unavailable--;
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    }
    if (knobs->range_status != 0)
        return knobs->range_status;
    NTSTATUS status = real()->DxgkDdiAcquireSwizzlingRange(adapter, argument);
    argument->RangeSize += knobs->range_resized ? PAGE_SIZE : 0;
    return status;
}

static NTSTATUS release(HANDLE adapter, const DXGKARG_RELEASESWIZZLINGRANGE *argument)
{
    NTSTATUS status = real()->DxgkDdiReleaseSwizzlingRange(adapter, argument);
    return kmd_machine_present->knobs.release_status != 0 ? kmd_machine_present->knobs.release_status : status;
}

static NTSTATUS reset_engine(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    struct machine *machine = kmd_machine_present;
    machine->knobs.hang = machine->hung = machine->not_run = false;
    machine->knobs.hold_node = 0;
    machine->knobs.hold_paging = false;
    kmd_machine_release(machine);
    NTSTATUS status = real()->DxgkDdiResetEngine(adapter, argument);
    kmd_machine_was_reset(machine);
    return status;
}

const DRIVER_INITIALIZATION_DATA *ferry_test_miniport(void)
{
    static DRIVER_INITIALIZATION_DATA table;
    table = *real();
    table.DxgkDdiStartDevice = start_device;
    table.DxgkDdiQueryAdapterInfo = query;
    table.DxgkDdiCreateAllocation = create_allocation;
    table.DxgkDdiBuildPagingBuffer = build;
    table.DxgkDdiPatch = patch;
    table.DxgkDdiSubmitCommand = submit;
    table.DxgkDdiResetEngine = reset_engine;
    table.DxgkDdiAcquireSwizzlingRange = acquire;
    table.DxgkDdiReleaseSwizzlingRange = release;
    return &table;
}
