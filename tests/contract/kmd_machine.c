// SPDX-License-Identifier: Apache-2.0
// The suite's machine made of the real miniport: host-driver/kmd on device/ on one of kmd_device.h's devices, behind
// the wrapper kmd_answers.c. Delay lets work lie until the manager waits; a planted fault is an opcode that the device
// does not know; a hang is the device's own.
#include "kmd_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry_contract.h"
#include "kmd_device.h"

const char *const machine_miniport = "real";
const UINT machine_local_segment = FERRY_KMD_SEGMENT_LOCAL, machine_hidden_segment = HIDDEN_INDEX,
           machine_aperture_segment = FERRY_KMD_SEGMENT_APERTURE;
const uint32_t machine_least_start_bytes = FERRY_PACKET_UNMAP_APERTURE_SIZE,
               machine_least_page_bytes = FERRY_PACKET_COPY_PAGES_SIZE + 8;

const bool machine_fills_aperture = false;

const char *machine_leaves_out(const char *test)
{
    return kmd_device_leaves_out(test);
}

// ---- Time ----

static void interrupt(struct machine *machine)
{
    bool (*routine)(HANDLE, ULONG) = machine->knobs.interrupt_routine;
    (void)(routine ? routine : ferry_kmd_miniport()->DxgkDdiInterruptRoutine)(machine->adapter, 0);
}

static void on_interrupt(void *context, uint32_t causes)
{
    struct machine *machine = context;
    (void)causes;
    interrupt(machine);
}

static bool is_idle(const struct machine *machine)
{
    uint32_t pending = 0;
    for (uint32_t ring = 0; ring < 5; ring++)
        pending += ferry_gpu_ring_pending(machine->gpu, ring);
    return pending == 0;
}

int kmd_machine_turn(void *context)
{
    struct machine *machine = context;
    if (!machine_begin_turn(&machine->knobs))
        return FERRY_OK;
    bool holding = machine_hold_turn(&machine->knobs);
    if (machine->knobs.hang_inside) {
        kmd_device_hang(machine, KMD_HANG_BEHIND_PACKETS, machine->knobs.hang_inside);
        machine->knobs.hang_inside = 0;
    }
    if (machine->knobs.hang_in_copy) {
        kmd_device_hang(machine, KMD_HANG_IN_COPY, machine->knobs.hang_in_copy);
        machine->knobs.hang_in_copy = 0;
    }
    kmd_machine_release(machine);
    if (machine->knobs.hang && !machine->hung) {
        machine->hung = true;
        machine->not_run = !kmd_device_hang(machine, KMD_HANG_NOW, 0);
    }
    int error = machine->not_run ? FERRY_ERROR_TIMEOUT
                                 : ferry_gpu_wait(machine->gpu, is_idle(machine) ? kmd_device_idle_cycles : 0);
    interrupt(machine);
    return error == FERRY_OK || holding ? FERRY_OK : FERRY_ERROR_TIMEOUT;
}

// ---- Host pages: the device layer's, as many as the test allows ----

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "kmd machine: %s failed\n", what);
        abort();
    }
}

static bool pages_left(struct machine *machine, size_t pages)
{
    return machine->knobs.host_pages < 0 || (size_t)machine->knobs.host_pages >= pages;
}

static void count_pages(struct machine *machine, long change)
{
    if (machine->knobs.host_pages >= 0)
        machine->knobs.host_pages += change;
}

// Pages whose bus addresses are no neighbours: each is mapped by itself, the last one first.
struct scattered {
    MDL mdl;
    MDL **pieces;
};
#define SCATTERED 0x40000000u

static void gather_pages(const struct ferry_page_source *real, MDL *mdl)
{
    struct scattered *made = (struct scattered *)mdl;
    for (size_t i = 0; i < mdl->PageCount; i++)
        real->free(real->context, made->pieces[i]);
    free(made->pieces);
    free(mdl->Pfn);
    free(mdl->MappedSystemVa);
    free(made);
}

static int scatter_pages(const struct ferry_page_source *real, size_t pages, MDL **mdl)
{
    struct scattered *made = calloc(1, sizeof(*made));
    uint8_t *memory = aligned_alloc(PAGE_SIZE, pages * PAGE_SIZE);
    made->pieces = calloc(pages, sizeof(MDL *));
    made->mdl = (MDL){.MappedSystemVa = memory,
                      .PageCount = pages,
                      .ByteCount = pages * PAGE_SIZE,
                      .Pfn = calloc(pages, sizeof(uint64_t)),
                      .Flags = SCATTERED};
    memset(memory, 0, pages * PAGE_SIZE);
    for (size_t i = pages; i-- > 0;) {
        int error = real->wrap(real->context, memory + i * PAGE_SIZE, 1, 0, &made->pieces[i]);
        if (error != FERRY_OK) {
            gather_pages(real, &made->mdl);
            return error;
        }
        made->mdl.Pfn[i] = made->pieces[i]->Pfn[0];
    }
    *mdl = &made->mdl;
    return FERRY_OK;
}

static int allocate_pages(void *context, size_t pages, unsigned flags, MDL **mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    bool scatter = machine->knobs.scatter_pages && (flags & FERRY_PAGES_CONSECUTIVE) == 0;
    int error = FERRY_ERROR_NO_HOST_MEMORY;
    if (pages_left(machine, pages))
        error = scatter ? scatter_pages(real, pages, mdl) : real->allocate(real->context, pages, flags, mdl);
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

static void unmap_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    struct scattered *made = (struct scattered *)mdl;
    if (machine->knobs.on_pages)
        machine->knobs.on_pages(mdl, false);
    if ((mdl->Flags & SCATTERED) == 0)
        real->unmap(real->context, mdl);
    for (size_t i = 0; i < mdl->PageCount && (mdl->Flags & SCATTERED) != 0; i++)
        real->unmap(real->context, made->pieces[i]);
}

static int map_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    struct scattered *made = (struct scattered *)mdl;
    if (machine->knobs.fail_map > 0 && --machine->knobs.fail_map == 0)
        return FERRY_ERROR_NO_HOST_MEMORY;
    if (machine->knobs.on_pages)
        machine->knobs.on_pages(mdl, true);
    if ((mdl->Flags & SCATTERED) == 0)
        return real->map(real->context, mdl);
    for (size_t i = mdl->PageCount; i-- > 0;) {
        int error = real->map(real->context, made->pieces[i]);
        if (error != FERRY_OK) {
            for (size_t k = i + 1; k < mdl->PageCount; k++)
                real->unmap(real->context, made->pieces[k]);
            return error;
        }
        mdl->Pfn[i] = made->pieces[i]->Pfn[0];
    }
    return FERRY_OK;
}

bool machine_reaches(const struct machine *machine, uint64_t bus)
{
    return machine->link->operations->dma_find(machine->link, bus) != NULL;
}

static void free_pages(void *context, MDL *mdl)
{
    struct machine *machine = context;
    const struct ferry_page_source *real = ferry_host_pages_source(machine->pages);
    if (mdl)
        count_pages(machine, (long)mdl->PageCount);
    if (mdl && (mdl->Flags & SCATTERED) != 0)
        gather_pages(real, mdl);
    else
        real->free(real->context, mdl);
}

// ---- A link that stands still ----

static int deaf_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    struct machine *machine = kmd_machine_present;
    uint64_t in_rings = offset - FERRY_BAR0_RING_AT;
    bool doorbell = bar == FERRY_BAR_REGISTERS && in_rings < FERRY_BAR0_RING_COUNT * FERRY_BAR0_RING_STRIDE &&
                    in_rings % FERRY_BAR0_RING_STRIDE == FERRY_BAR0_RING_PRODUCER;
    if (!machine || !doorbell || machine->knobs.deaf == 0)
        return (machine ? machine->link_operations : link->operations)->write32(link, bar, offset, value);
    machine->knobs.deaf--;
    if (machine->knobs.late)
        machine->link_operations->write32(link, bar, offset, value);
    return FERRY_ERROR_TIMEOUT;
}

static void may_be_deaf(struct machine *machine)
{
    machine->link_operations = machine->link->operations;
    machine->deaf_operations = *machine->link_operations;
    machine->deaf_operations.write32 = deaf_write32;
    machine->link->operations = &machine->deaf_operations;
}

const DRIVER_INITIALIZATION_DATA *kmd_machine_miniport(const struct machine *machine)
{
    const struct machine_options *o = &machine->options;
    unsigned ways = (o->iommu ? FERRY_KMD_IOMMU : 0) | (o->by_address ? FERRY_KMD_BY_ADDRESS : 0) |
                    (o->host_tables ? FERRY_KMD_HOST_TABLES : 0);
    return o->model == 2 || ways != 0 ? ferry_kmd_miniport_model2(ways) : ferry_kmd_miniport();
}

// ---- The seam ----

struct machine *machine_open(const struct machine_options *options)
{
    static bool told;
    if (!told)
        printf("back end %s\n", kmd_device_backend);
    told = true;
    struct machine *machine = calloc(1, sizeof(*machine));
    struct ferry_link_config config = {.size = sizeof(config), .seed = options->seed};
    machine->options = *options;
    machine->knobs.host_pages = -1;
    machine->random = options->seed;
    must(kmd_device_open(machine, &config) == FERRY_OK, "the link");
    must(ferry_gpu_open(machine->link, NULL, &machine->gpu) == FERRY_OK, "the device");
    must(ferry_host_pages_create(machine->gpu, &machine->pages) == FERRY_OK, "the page source");
    must(kmd_machine_miniport(machine)->DxgkDdiAddDevice(machine->gpu, &machine->adapter) == STATUS_SUCCESS,
         "AddDevice");
    machine->source = (struct ferry_page_source){.context = machine,
                                                 .allocate = allocate_pages,
                                                 .wrap = wrap_pages,
                                                 .unmap = unmap_pages,
                                                 .map = map_pages,
                                                 .free = free_pages};
    ferry_gpu_set_interrupt(machine->gpu, on_interrupt, machine);
    kmd_machine_present = machine;
    may_be_deaf(machine);
    return machine;
}

void machine_close(struct machine *machine)
{
    ferry_gpu_set_interrupt(machine->gpu, NULL, NULL);
    machine->link->operations = machine->link_operations;
    ferry_kmd_miniport()->DxgkDdiRemoveDevice(machine->adapter);
    ferry_host_pages_destroy(machine->pages);
    ferry_gpu_close(machine->gpu);
    free(machine);
    kmd_machine_present = NULL;
}

HANDLE machine_adapter(struct machine *machine)
{
    return machine->adapter;
}

struct machine_knobs *machine_knobs(struct machine *machine)
{
    return &machine->knobs;
}

static uint64_t gpu_time(void *context)
{
    const struct machine *machine = context;
    return ferry_gpu_cycles(machine->gpu);
}

static int cpu_read(void *context, uint64_t address, void *data, size_t bytes)
{
    const struct machine *machine = context;
    return ferry_gpu_rows_read(machine->gpu, address, data, bytes);
}

static int cpu_write(void *context, uint64_t address, const void *data, size_t bytes)
{
    const struct machine *machine = context;
    return ferry_gpu_rows_write(machine->gpu, address, data, bytes);
}

struct ferry_vidmm_platform machine_platform(struct machine *machine)
{
    return (struct ferry_vidmm_platform){.context = machine,
                                         .pages = &machine->source,
                                         .wait_for_progress = kmd_machine_turn,
                                         .gpu_time = gpu_time,
                                         .cpu_read = cpu_read,
                                         .cpu_write = cpu_write};
}

static void count_faults(struct machine *machine)
{
    struct ferry_fault fault = {.size = sizeof(fault)};
    while (ferry_kmd_next_fault(machine->adapter, &fault)) {
        machine->refused += fault.kind != FERRY_FAULT_KIND_ENGINE_RESET; // asked for by a test
        machine->records++;
    }
    // Without memory for it a record is lost, and only counted: of one that was planted, if any is missing.
    for (; machine->records < ferry_kmd_faults(machine->adapter); machine->records++)
        machine->refused += machine->refused < machine->planted;
}

void kmd_machine_was_reset(struct machine *machine)
{
    count_faults(machine);
    machine->planted = machine->refused < machine->planted ? machine->refused : machine->planted;
}

// The device's judgement: what it refused beyond the planted faults, and where it found no page.
unsigned machine_errors(const struct machine *machine, const char **first)
{
    struct ferry_link_counts counts = {0};
    ferry_gpu_link_counts(machine->gpu, &counts);
    struct machine *writable = (struct machine *)machine;
    count_faults(writable);
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
        offset += segment == HIDDEN_INDEX ? machine->options.local_bytes : 0;
        ferry_gpu_window_read(machine->gpu, offset, to, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done++)
        ((uint8_t *)to)[done] = *aperture_page(machine, offset + done);
}

void machine_poke(struct machine *machine, unsigned segment, uint64_t offset, const void *from, size_t bytes)
{
    if (segment != FERRY_KMD_SEGMENT_APERTURE) {
        offset += segment == HIDDEN_INDEX ? machine->options.local_bytes : 0;
        ferry_gpu_window_write(machine->gpu, offset, from, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done++)
        *aperture_page(machine, offset + done) = ((const uint8_t *)from)[done];
}

uint64_t machine_aperture_entry(const struct machine *machine, uint64_t page, bool *coherent)
{
    uint64_t entry = kmd_device_aperture_entry(machine, (uint32_t)page);
    if (coherent)
        *coherent = FERRY_GET(FERRY_APERTURE_ENTRY_ENTRY_SNOOP, entry) != 0;
    return entry & ~(uint64_t)(PAGE_SIZE - 1);
}

uint64_t machine_physical_accesses(const struct machine *machine, bool write)
{
    // Of the paging submissions that have run.
    unsigned done = machine->paging_submissions - ferry_gpu_ring_pending(machine->gpu, 0);
    for (unsigned i = 0; i < machine->held_count; i++)
        done -= machine->held[i].Flags.Paging;
    uint64_t sum = 0;
    must(machine->paging_submissions <= PAGING_KEPT, "room to keep every paging submission");
    for (unsigned i = 0; i < done; i++)
        sum += write ? machine->accesses[i].writes : machine->accesses[i].reads;
    return sum;
}

unsigned machine_queued_jobs(const struct machine *machine)
{
    unsigned count = 0;
    for (unsigned i = 0; i < machine->held_count; i++)
        count += !machine->held[i].Flags.Paging;
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

void machine_job_by_address(uint8_t *commands, const D3DDDI_PATCHLOCATIONLIST *patch, uint64_t address)
{
    const uint32_t kind = FERRY_ADDRESS_KIND_VIRTUAL;
    uint8_t *packet = commands + (patch->DriverId >> 1);
    uint32_t kinds;
    memcpy(&kinds, packet + 4, sizeof(kinds));
    kinds |= (patch->DriverId & 1) == FERRY_KMD_PATCH_SOURCE ? FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, kind)
                                                             : FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, kind);
    memcpy(packet + 4, &kinds, sizeof(kinds));
    memcpy(commands + patch->PatchOffset, &address, sizeof(address));
}
