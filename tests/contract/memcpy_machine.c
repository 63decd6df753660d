// SPDX-License-Identifier: Apache-2.0
// The machine under the memcpy miniport: arrays as video memory, and a queue of work that runs a few turns of the wait
// hook later, nodes in random order, so that a manager that forgets to wait is found out by wrong bytes.
#include "memcpy_machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../seed.h"
#include "vidmm/vidmm.h"

const char *const machine_miniport = "double";
const UINT machine_local_segment = 1, machine_hidden_segment = 2, machine_aperture_segment = 3;
const uint32_t machine_least_start_bytes = sizeof(struct packet) + 8,
               machine_least_page_bytes = sizeof(struct packet) + 8;

const bool machine_fills_aperture = true;

const char *machine_leaves_out(const char *test)
{
    (void)test;
    return NULL;
}

unsigned machine_rounds(unsigned many, unsigned few)
{
    (void)few;
    return many;
}

void mini_error(struct machine *machine, const char *format, ...)
{
    if (machine->errors++ == 0) {
        va_list list;
        va_start(list, format);
        vsnprintf(machine->first_error, sizeof(machine->first_error), format, list);
        va_end(list);
    }
}

uint32_t mini_random(struct machine *machine, uint32_t below)
{
    return (uint32_t)(draw_bits(&machine->random) >> 16) % below;
}

// ---- GPU addresses ----

uint8_t *mini_gpu(struct machine *machine, uint64_t address, uint64_t *run)
{
    const struct machine_options *o = &machine->options;
    if (address >= HOST_BASE) {
        uint8_t *host = mini_bus(machine, address - HOST_BASE);
        if (!host)
            mini_error(machine, "bus address %llx is no page", (unsigned long long)(address - HOST_BASE));
        *run = PAGE_SIZE - address % PAGE_SIZE;
        return host;
    }
    if (address >= VIRTUAL_BASE) {
        uint64_t page = mini_walk(machine, address);
        uint8_t *host = page ? mini_gpu(machine, page, run) : NULL;
        *run = PAGE_SIZE - address % PAGE_SIZE;
        return host;
    }
    if (address >= LOCAL_BASE && address - LOCAL_BASE < o->local_bytes) {
        *run = o->local_bytes - (address - LOCAL_BASE);
        return machine->memory[0] + (address - LOCAL_BASE);
    }
    if (address >= HIDDEN_BASE && address - HIDDEN_BASE < o->hidden_bytes) {
        *run = o->hidden_bytes - (address - HIDDEN_BASE);
        return machine->memory[1] + (address - HIDDEN_BASE);
    }
    if (address >= APERTURE_BASE && address - APERTURE_BASE < o->aperture_bytes) {
        uint64_t page = (address - APERTURE_BASE) / PAGE_SIZE;
        uint8_t *host = mini_bus(machine, (machine->aperture[page].pfn << PAGE_SHIFT) + address % PAGE_SIZE);
        if (!host)
            mini_error(machine, "aperture page %llu leads nowhere", (unsigned long long)page);
        *run = PAGE_SIZE - address % PAGE_SIZE;
        return host;
    }
    mini_error(machine, "GPU address %llx is in no segment", (unsigned long long)address);
    return NULL;
}

// By pages from the end, so that a destination inside the source writes over nothing that is still to be read.
static void copy_down(struct machine *machine, uint64_t to, uint64_t from, uint64_t bytes)
{
    while (bytes > 0) {
        uint64_t run, size = (to + bytes - 1) % PAGE_SIZE + 1, other = (from + bytes - 1) % PAGE_SIZE + 1;
        size = size < other ? size : other;
        size = size < bytes ? size : bytes;
        bytes -= size;
        uint8_t *destination = mini_gpu(machine, to + bytes, &run), *source = mini_gpu(machine, from + bytes, &run);
        if (!destination || !source)
            return;
        memmove(destination, source, size);
    }
}

void mini_copy(struct machine *machine, uint64_t to, uint64_t from, uint64_t bytes)
{
    if (to > from && to - from < bytes) {
        copy_down(machine, to, from, bytes);
        return;
    }
    while (bytes > 0) {
        uint64_t to_run, from_run;
        uint8_t *destination = mini_gpu(machine, to, &to_run), *source = mini_gpu(machine, from, &from_run);
        if (!destination || !source)
            return;
        uint64_t size = bytes;
        size = size < to_run ? size : to_run;
        size = size < from_run ? size : from_run;
        memmove(destination, source, size);
        to += size;
        from += size;
        bytes -= size;
    }
}

// ---- Work ----

static void report(struct machine *machine, DXGKARGCB_NOTIFY_INTERRUPT_DATA data)
{
    if (machine->report_count == sizeof(machine->reports) / sizeof(machine->reports[0])) {
        mini_error(machine, "interrupt reports pile up");
        return;
    }
    machine->reports[machine->report_count++] = data;
    machine->interrupt = true;
}

static void run_one(struct machine *machine, struct mini_submission **link)
{
    struct mini_submission *work = *link;
    unsigned packets = work->paging ? 0 : machine->knobs.hang_inside;
    if (!work->paging && machine->knobs.hang_in_copy) {
        machine->knobs.hang_in_copy = 0;
        machine->knobs.hang = true;
        return;
    }
    machine->space = work->process;
    if ((work->paging || !work->faults) && !mini_execute(machine, work, packets)) {
        machine->knobs.hang_inside = 0;
        machine->knobs.hang = true;
        return;
    }
    *link = work->next;
    machine->may_throw_away |= work->paging && work->faults;
    machine->thrown_away += work->paging && work->faults;
    for (size_t i = 0; i < work->name_count; i++) {
        if (work->paging)
            work->names[i].allocation->paging_references--;
        else
            work->names[i].allocation->job_references--;
        if (work->names[i].allocation->destroyed)
            mini_error(machine, "an allocation was destroyed under work in flight");
    }
    machine->current[work->node] = work->fence;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};
    if (work->faults) {
        data.InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
        data.DmaFaulted.FaultedFenceId = work->fence;
        data.DmaFaulted.Status = STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
        data.DmaFaulted.NodeOrdinal = work->node;
    } else {
        data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
        data.DmaCompleted.SubmissionFenceId = work->fence - (machine->knobs.backwards ? 2 : 0);
        data.DmaCompleted.NodeOrdinal = work->node;
    }
    report(machine, data);
    free(work->names);
    free(work);
}

// One piece of work of one node that has any, the oldest of that node; which node is chance.
static bool step(struct machine *machine)
{
    if (machine->knobs.hang || !machine->queue)
        return false;
    unsigned start = mini_random(machine, NODES);
    for (unsigned i = 0; i < NODES; i++) {
        struct mini_submission **link = &machine->queue;
        unsigned node = (start + i) % NODES;
        while (*link && (*link)->node != node)
            link = &(*link)->next;
        if (machine_holds(&machine->knobs, node))
            continue;
        if (*link && (*link)->not_before <= machine->turn) {
            run_one(machine, link);
            return true;
        }
    }
    return false;
}

static void raise_interrupt(struct machine *machine)
{
    if (machine->interrupt) {
        machine->interrupt = false;
        bool (*routine)(HANDLE, ULONG) = machine->knobs.interrupt_routine;
        (void)(routine ? routine : ferry_test_miniport()->DxgkDdiInterruptRoutine)(machine, 0);
    }
}

int mini_turn(void *context)
{
    struct machine *machine = context;
    if (!machine_begin_turn(&machine->knobs))
        return FERRY_OK;
    machine->turn++;
    bool any = machine_hold_turn(&machine->knobs);
    for (const struct mini_submission *work = machine->queue; work && !machine->knobs.hang; work = work->next)
        any |= !machine_holds(&machine->knobs, work->node);
    step(machine);
    raise_interrupt(machine);
    return any ? FERRY_OK : FERRY_ERROR_TIMEOUT;
}

void mini_submit(struct machine *machine, struct mini_submission *work)
{
    unsigned *faults = work->paging ? &machine->knobs.fault_paging : &machine->knobs.fault_jobs;
    work->faults = *faults > 0;
    *faults -= work->faults;
    struct mini_submission **link = &machine->queue;
    uint64_t earliest = machine->turn;
    for (; *link; link = &(*link)->next)
        if ((*link)->node == work->node && (*link)->not_before > earliest)
            earliest = (*link)->not_before;
    *link = work;
    if (machine->knobs.looks_up_at_once && !work->paging)
        mini_look_up(machine, work);
    work->not_before = earliest + (machine->knobs.delay ? mini_random(machine, machine->knobs.delay + 1) : 0);
    if (machine->knobs.delay == 0) {
        while (step(machine))
            ;
        raise_interrupt(machine);
    }
}

// ---- The seam ----

struct machine *machine_open(const struct machine_options *options)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    machine->options = *options;
    if (machine->options.version == 0)
        machine->options.version = DXGKDDI_WDDMv3_2;
    if (machine->options.paging_buffer_bytes == 0)
        machine->options.paging_buffer_bytes = PAGE_SIZE;
    machine->knobs.host_pages = -1;
    machine->random = options->seed ? options->seed : 1;
    // Where most of it is never touched it may be more than the host has.
    machine->memory[0] = options->sparse ? calloc(options->local_bytes + 1, 1) : malloc(options->local_bytes + 1);
    machine->memory[1] = malloc(options->hidden_bytes + 1);
    if (!options->sparse)
        memset(machine->memory[0], 0xEE, options->local_bytes + 1);
    memset(machine->memory[1], 0xEE, options->hidden_bytes + 1);
    machine->aperture = calloc(options->aperture_bytes / PAGE_SIZE + 1, sizeof(*machine->aperture));
    pthread_mutex_init(&machine->page_lock, NULL);
    mini_page_source(machine);
    return machine;
}

void machine_close(struct machine *machine)
{
    while (machine->queue) {
        struct mini_submission *work = machine->queue;
        machine->queue = work->next;
        free(work->names);
        free(work);
    }
    pthread_mutex_destroy(&machine->page_lock);
    free(machine->memory[0]);
    free(machine->memory[1]);
    free(machine->aperture);
    free(machine->pages);
    free(machine->building);
    free(machine->patched);
    free(machine);
}

HANDLE machine_adapter(struct machine *machine)
{
    return machine;
}

struct machine_knobs *machine_knobs(struct machine *machine)
{
    return &machine->knobs;
}

// A turn stands for so many cycles of a device.
static uint64_t gpu_time(void *context)
{
    const struct machine *machine = context;
    return machine->turn * 1000;
}

struct ferry_vidmm_platform machine_platform(struct machine *machine)
{
    return (struct ferry_vidmm_platform){.context = machine,
                                         .pages = &machine->source,
                                         .wait_for_progress = mini_turn,
                                         .gpu_time = gpu_time,
                                         .cpu_read = mini_cpu_read,
                                         .cpu_write = mini_cpu_write};
}

unsigned machine_errors(const struct machine *machine, const char **first)
{
    if (first)
        *first = machine->first_error;
    return machine->errors;
}

static uint64_t base_of(unsigned segment)
{
    return segment == machine_local_segment    ? LOCAL_BASE
           : segment == machine_hidden_segment ? HIDDEN_BASE
                                               : APERTURE_BASE;
}

static void access_bytes(struct machine *machine, unsigned segment, uint64_t offset, uint8_t *bytes, size_t count,
                         bool write)
{
    while (count > 0) {
        uint64_t run;
        uint8_t *at = mini_gpu(machine, base_of(segment) + offset, &run);
        if (!at)
            return;
        size_t size = count < run ? count : run;
        if (write)
            memcpy(at, bytes, size);
        else
            memcpy(bytes, at, size);
        bytes += size;
        offset += size;
        count -= size;
    }
}

void machine_peek(struct machine *machine, unsigned segment, uint64_t offset, void *to, size_t bytes)
{
    access_bytes(machine, segment, offset, to, bytes, false);
}

void machine_poke(struct machine *machine, unsigned segment, uint64_t offset, const void *from, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    memcpy(copy, from, bytes);
    access_bytes(machine, segment, offset, copy, bytes, true);
    free(copy);
}

uint64_t machine_aperture_entry(const struct machine *machine, uint64_t page, bool *coherent)
{
    if (coherent)
        *coherent = machine->aperture[page].coherent;
    return machine->aperture[page].pfn << PAGE_SHIFT;
}

uint64_t machine_physical_accesses(const struct machine *machine, bool write)
{
    return write ? machine->writes : machine->reads;
}

unsigned machine_queued_jobs(const struct machine *machine)
{
    unsigned count = 0;
    for (const struct mini_submission *work = machine->queue; work; work = work->next)
        count += !work->paging;
    return count;
}
