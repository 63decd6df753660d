// SPDX-License-Identifier: Apache-2.0
// The suite's machine made of the real miniport: host-driver/kmd on device/ on the back end `model`. Delay lets work
// lie until the manager waits; a planted fault is an opcode that the device does not know; a hang is the model's own.
// The knobs that would make a miniport break its contract are not here, and so neither are the tests that turn them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_pages.h"
#include "ferry_contract.h"
#include "firmware_image.h"
#include "kmd/kmd.h"
#include "machine.h"
#include "model/model_link.h"

const UINT machine_local_segment = FERRY_KMD_SEGMENT_LOCAL, machine_hidden_segment = 0,
           machine_aperture_segment = FERRY_KMD_SEGMENT_APERTURE;
const uint32_t machine_least_start_bytes = FERRY_PACKET_UNMAP_APERTURE_SIZE,
               machine_least_page_bytes = FERRY_PACKET_COPY_PAGES_SIZE + 8;

// The model runs no firmware: one word to load is enough.
const unsigned char ferry_firmware_image[] = {0, 0, 0, 0};
const unsigned ferry_firmware_image_bytes = sizeof(ferry_firmware_image);

const bool machine_fills_aperture = false;

struct machine {
    struct machine_options options;
    struct machine_knobs knobs;
    struct ferry_model *model;
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    struct ferry_host_pages *pages;
    struct ferry_page_source source;
    HANDLE adapter;
    bool hung;
    uint8_t *patched; // first byte of what was patched last
    unsigned planted, refused;
    char text[100];
};

// The miniport's entry points get its own handle; the tests open one machine at a time.
static struct machine *present;

#define FORCED "the real miniport gives no illegal answer"
#define BUSY   "the real miniport says BUSY only when there is work, not a number of times"
#define SEG    "the device has one memory segment"
#define COH    "the device has one coherent aperture"
#define FILL   "user jobs cannot fill the aperture"
#define PAGES  "the real page source gives neighbours and marks all pages cached"
#define ANS    "the answers of CreateAllocation and of the adapter cannot be chosen"

static const struct {
    const char *test, *reason;
} left_out[] = {
    {"R3_R23_R101_any_other_status_stops_the_manager", FORCED},
    {"R3_busy_is_illegal_for_fill", FORCED},
    {"R39_busy_for_ever_is_a_critical_stop", FORCED},
    {"R14_a_failing_patch_or_submit_is_critical", FORCED},
    {"R23_no_progress_in_an_empty_buffer_is_critical", FORCED},
    {"R18_R19_a_pointer_outside_the_buffer_is_critical", FORCED},
    {"R18_R19_bytes_behind_the_buffer_are_found_changed", FORCED},
    {"a_fence_that_goes_backwards_is_critical", FORCED},
    {"sizes_that_cannot_be", FORCED},
    {"R5_R37_R38_R39_R40_R41_R42_busy_transfer_waits_and_is_repeated_idle", BUSY},
    {"R50_R51_R52_R53_R54_busy_discard_is_repeated_idle", BUSY},
    {"R8_R43_raw_move_between_segments", SEG},
    {"R22_random_program_two_memory_segments", SEG},
    {"R64_R65_R66_R67_R68_coherent_only_for_cached_pages_in_a_coherent_aperture", COH},
    {"R55_R57_R58_read_physical_before_the_cpu_reads_what_the_gpu_wrote", COH},
    {"R56_R60_R61_physical_accesses_of_1_to_8_bytes", COH},
    {"R59_R61_R62_write_physical_orders_and_touches_nobody", COH},
    {"R77_R78_R79_R80_unmapping_waits_for_jobs_of_that_range_only", FILL},
    {"R173_aperture_pages_need_not_be_neighbours", PAGES},
    {"R119_R120_R128_the_page_list_says_cached_and_kernel", PAGES},
    {"R117_R126_R129_R137_R142_R161_R162_R168_R170_R175_R180_broken_rules_refuse_creation", ANS},
    {"R105_R160_R166_gates_follow_the_driver_version", ANS},
    {"R58_ordering_comes_before_an_eviction_from_a_non_coherent_aperture", COH},
    {"flags_whose_behaviour_is_not_there_are_refused_by_name", ANS},
    {"R169_history_buffer_beside_a_coherent_aperture", ANS},
    {"R144_R145_R146_direction_of_the_search", ANS},
    {"alignments_are_kept", ANS},
    {"R154_only_apertures_may_be_eviction_segments", ANS},
    {"R153_R154_R155_R156_too_large_for_eviction_beside_an_overlay", ANS},
    {NULL, NULL},
};

const char *machine_leaves_out(const char *test)
{
    for (size_t i = 0; left_out[i].test; i++)
        if (strcmp(left_out[i].test, test) == 0)
            return left_out[i].reason;
    return NULL;
}

// ---- The table under test: kmd's, with delay and faults before the device ----

static void on_interrupt(void *context, uint32_t causes)
{
    struct machine *machine = context;
    (void)causes;
    ferry_kmd_miniport()->DxgkDdiInterruptRoutine(machine->adapter, 0);
}

static int wait_for_progress(void *context)
{
    struct machine *machine = context;
    if (machine->knobs.hang && !machine->hung) {
        machine->hung = true;
        ferry_model_hang(machine->model);
    }
    int error = ferry_gpu_wait(machine->gpu, 0);
    ferry_kmd_miniport()->DxgkDdiInterruptRoutine(machine->adapter, 0);
    return error == FERRY_OK ? FERRY_OK : FERRY_ERROR_TIMEOUT;
}

static NTSTATUS patch(HANDLE adapter, const DXGKARG_PATCH *argument)
{
    present->patched = (uint8_t *)argument->pDmaBuffer + argument->DmaBufferSubmissionStartOffset;
    return ferry_kmd_miniport()->DxgkDdiPatch(adapter, argument);
}

static NTSTATUS submit(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    struct machine *machine = present;
    unsigned *faults = argument->Flags.Paging ? &machine->knobs.fault_paging : &machine->knobs.fault_jobs;
    if (*faults > 0 && argument->DmaBufferSubmissionEndOffset > argument->DmaBufferSubmissionStartOffset) {
        --*faults;
        machine->planted++;
        machine->patched[0] = 0xEE;
    }
    NTSTATUS status = ferry_kmd_miniport()->DxgkDdiSubmitCommand(adapter, argument);
    if (status == STATUS_SUCCESS && machine->knobs.delay == 0 && !machine->knobs.hang)
        while (ferry_gpu_ring_pending(machine->gpu, argument->NodeOrdinal) > 0 &&
               wait_for_progress(machine) == FERRY_OK)
            ;
    return status;
}

static NTSTATUS reset_engine(HANDLE adapter, DXGKARG_RESETENGINE *argument)
{
    present->knobs.hang = present->hung = false;
    return ferry_kmd_miniport()->DxgkDdiResetEngine(adapter, argument);
}

const DRIVER_INITIALIZATION_DATA *ferry_test_miniport(void)
{
    static DRIVER_INITIALIZATION_DATA table;
    table = *ferry_kmd_miniport();
    table.DxgkDdiPatch = patch;
    table.DxgkDdiSubmitCommand = submit;
    table.DxgkDdiResetEngine = reset_engine;
    return &table;
}

// ---- Host pages: the device layer's, as many as the test allows ----

static bool pages_left(struct machine *machine, size_t pages)
{
    return machine->knobs.host_pages < 0 || (size_t)machine->knobs.host_pages >= pages;
}

static void count_pages(struct machine *machine, long change)
{
    if (machine->knobs.host_pages >= 0)
        machine->knobs.host_pages += change;
}

static int allocate_pages(void *context, size_t pages, unsigned flags, MDL **mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    int error =
        pages_left(machine, pages) ? real->allocate(real->context, pages, flags, mdl) : FERRY_ERROR_NO_HOST_MEMORY;
    if (error == FERRY_OK)
        count_pages(machine, -(long)pages);
    return error;
}

static int wrap_pages(void *context, void *memory, size_t pages, unsigned flags, MDL **mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    int error =
        pages_left(machine, pages) ? real->wrap(real->context, memory, pages, flags, mdl) : FERRY_ERROR_NO_HOST_MEMORY;
    if (error == FERRY_OK)
        count_pages(machine, -(long)pages);
    return error;
}

static void free_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    if (mdl)
        count_pages(machine, (long)mdl->PageCount);
    real->free(real->context, mdl);
}

// ---- The seam ----

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "kmd machine: %s failed\n", what);
        abort();
    }
}

struct machine *machine_open(const struct machine_options *options)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    struct ferry_model_options model = {.local_bytes = options->local_bytes,
                                        .aperture_pages = (uint32_t)(options->aperture_bytes / PAGE_SIZE)};
    struct ferry_link_config config = {.size = sizeof(config), .seed = options->seed};
    struct ferry_link *link;
    machine->options = *options;
    machine->knobs.host_pages = -1;
    must(ferry_model_link_open(&model, &config, &link) == FERRY_OK, "the model");
    machine->link = link;
    machine->model = ferry_model_link_model(link);
    must(ferry_gpu_open(link, NULL, &machine->gpu) == FERRY_OK, "the device");
    must(ferry_host_pages_create(machine->gpu, &machine->pages) == FERRY_OK, "the page source");
    must(ferry_kmd_miniport()->DxgkDdiAddDevice(machine->gpu, &machine->adapter) == STATUS_SUCCESS, "AddDevice");
    machine->source = (struct ferry_page_source){
        .context = machine, .allocate = allocate_pages, .wrap = wrap_pages, .free = free_pages};
    ferry_gpu_set_interrupt(machine->gpu, on_interrupt, machine);
    present = machine;
    return machine;
}

void machine_close(struct machine *machine)
{
    ferry_gpu_set_interrupt(machine->gpu, NULL, NULL);
    ferry_kmd_miniport()->DxgkDdiRemoveDevice(machine->adapter);
    ferry_host_pages_destroy(machine->pages);
    ferry_gpu_close(machine->gpu);
    free(machine);
    present = NULL;
}

HANDLE machine_adapter(struct machine *machine)
{
    return machine->adapter;
}

struct machine_knobs *machine_knobs(struct machine *machine)
{
    return &machine->knobs;
}

struct ferry_vidmm_platform machine_platform(struct machine *machine)
{
    return (struct ferry_vidmm_platform){
        .context = machine, .pages = &machine->source, .wait_for_progress = wait_for_progress};
}

// The device's judgement: what it refused beyond the planted faults, and where it found no page.
unsigned machine_errors(const struct machine *machine, const char **first)
{
    struct ferry_link_counts counts = {0};
    ferry_gpu_link_counts(machine->gpu, &counts);
    struct ferry_fault fault = {.size = sizeof(fault)};
    struct machine *writable = (struct machine *)machine;
    while (ferry_kmd_next_fault(machine->adapter, &fault))
        writable->refused += fault.kind != FERRY_FAULT_KIND_ENGINE_RESET; // asked for by a test
    snprintf(writable->text, sizeof(machine->text), "%u faults, %u planted, %llu accesses to unmapped pages",
             machine->refused, machine->planted, (unsigned long long)counts.unmapped_accesses);
    if (first)
        *first = machine->text;
    return (unsigned)(machine->refused - machine->planted + counts.unmapped_accesses);
}

size_t machine_pages_out(const struct machine *machine)
{
    struct ferry_host_pages_totals totals;
    ferry_host_pages_totals(machine->pages, &totals);
    return totals.pages;
}

/// Host memory behind a place of the aperture, to the end of its page: what a processor has mapped there.
static uint8_t *aperture_page(const struct machine *machine, uint64_t offset)
{
    uint64_t bus = machine_aperture_entry(machine, offset / PAGE_SIZE, NULL);
    uint8_t *page = (uint8_t *)(uintptr_t)machine->link->operations->dma_find(machine->link, bus);
    must(page != NULL, "an aperture page that leads to memory");
    return page + offset % PAGE_SIZE;
}

void machine_peek(struct machine *machine, unsigned segment, uint64_t offset, void *to, size_t bytes)
{
    if (segment != FERRY_KMD_SEGMENT_APERTURE) {
        ferry_gpu_window_read(machine->gpu, offset, to, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done++)
        ((uint8_t *)to)[done] = *aperture_page(machine, offset + done);
}

void machine_poke(struct machine *machine, unsigned segment, uint64_t offset, const void *from, size_t bytes)
{
    if (segment != FERRY_KMD_SEGMENT_APERTURE) {
        ferry_gpu_window_write(machine->gpu, offset, from, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done++)
        *aperture_page(machine, offset + done) = ((const uint8_t *)from)[done];
}

uint64_t machine_aperture_entry(const struct machine *machine, uint64_t page, bool *coherent)
{
    uint64_t entry = ferry_model_aperture_entry(machine->model, (uint32_t)page);
    if (coherent)
        *coherent = FERRY_GET(FERRY_APERTURE_ENTRY_ENTRY_SNOOP, entry) != 0;
    return entry & ~(uint64_t)(PAGE_SIZE - 1);
}

uint64_t machine_physical_accesses(const struct machine *machine, bool write)
{
    (void)machine, (void)write;
    return 0;
}

unsigned machine_queued_jobs(const struct machine *machine)
{
    unsigned count = 0;
    for (uint32_t ring = 1; ring < 5; ring++)
        count += ferry_gpu_ring_pending(machine->gpu, ring);
    return count;
}

// ---- User jobs ----

static void put(struct machine_job *job, uint32_t at, uint64_t value, size_t bytes)
{
    memcpy(job->commands + job->bytes + at, &value, bytes);
}

static void place(struct machine_job *job, unsigned allocation, uint64_t offset, uint32_t at, UINT side)
{
    job->patches[job->patch_count++] = (D3DDDI_PATCHLOCATIONLIST){.AllocationIndex = allocation,
                                                                  .DriverId = FERRY_KMD_PATCH_ID(job->bytes, side),
                                                                  .AllocationOffset = (UINT)offset,
                                                                  .PatchOffset = job->bytes + at};
}

static void header(struct machine_job *job, uint32_t opcode, uint32_t bytes)
{
    put(job, 0, FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, opcode) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, bytes / 4), 4);
}

void machine_job_copy(struct machine_job *job, unsigned to, uint64_t to_offset, unsigned from, uint64_t from_offset,
                      uint32_t bytes)
{
    header(job, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE);
    put(job, FERRY_PACKET_COPY_BYTES, bytes, 4);
    place(job, from, from_offset, FERRY_PACKET_COPY_SOURCE, FERRY_KMD_PATCH_SOURCE);
    place(job, to, to_offset, FERRY_PACKET_COPY_DESTINATION, FERRY_KMD_PATCH_DESTINATION);
    job->bytes += FERRY_PACKET_COPY_SIZE;
}

void machine_job_nothing(struct machine_job *job)
{
    header(job, FERRY_OPCODE_NOP, FERRY_PACKET_NOP_SIZE);
    job->bytes += FERRY_PACKET_NOP_SIZE;
}

void machine_job_fill(struct machine_job *job, unsigned to, uint64_t offset, uint32_t bytes, uint32_t pattern)
{
    header(job, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE);
    put(job, FERRY_PACKET_FILL_BYTES, bytes, 4);
    put(job, FERRY_PACKET_FILL_PATTERN, pattern, 8);
    put(job, 4, FERRY_PUT(FERRY_PACKET_PLACES_PATTERN_LOG2, 2u), 4);
    place(job, to, offset, FERRY_PACKET_FILL_DESTINATION, FERRY_KMD_PATCH_DESTINATION);
    job->bytes += FERRY_PACKET_FILL_SIZE;
}
