// SPDX-License-Identifier: Apache-2.0
// A double of the library for the tool's own tests: the calls of ferry.h with memcpy behind them, a first-fit segment,
// plain LRU, and events. Environment variable FERRY_FAKE="KIND:N" lets the N-th thing of a kind go wrong, so that a
// test can see what the tool says then: copy, fill, page-in, page-out (a wrong byte), fault, create, submit, place,
// lock, evict, process, kill, stray, slow.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"

#define LOCAL_BYTES (64ull << 20)
#define MOST_JOBS   4096u

struct ferry_allocation {
    struct ferry_device *device;
    struct ferry_allocation *next, *previous; // In video memory, by offset.
    struct ferry_allocation *all_next, **all_link;
    uint8_t *system;
    uint64_t id, bytes, pages, offset, used;
    uint32_t flags, count;
    bool resident, aperture, dirty, locked;
};

struct record {
    struct ferry_allocation *to, *from;
    uint64_t to_offset, from_offset, pattern;
    uint32_t bytes, pattern_bytes;
};

struct ferry_queue {
    struct ferry_device *device;
    struct record *records;
    size_t count, capacity;
    uint64_t fence;
};

struct ferry_device {
    struct ferry_adapter *adapter;
    struct ferry_process *process; // NULL for the devices of no program.
    struct ferry_queue queue;
};

// One device each.
struct ferry_process {
    struct ferry_process *next;
    struct ferry_device device;
    struct ferry_process_statistics statistics;
    uint64_t id, reservation, in_place, usage;
    uint32_t weight;
};

struct ferry_adapter {
    struct ferry_device device;
    struct ferry_process *processes;
    struct ferry_allocation *local, *all;
    struct ferry_statistics statistics;
    uint8_t *memory;
    uint64_t video_bytes, next_id, clock, fence, call;
    ferry_event_callback *observer;
    void *context;
    bool fault, fault_taken;
    char wrong[16];
    uint64_t wrong_number, counts[16];
};

static struct ferry_adapter *the_adapter;

const char *ferry_error_name(int error)
{
    static const char *const names[] = {
        "OK",           "ARGUMENT",     "FLAGS",    "HANDLE",     "FOREIGN", "NO_HOST_MEMORY", "NO_VIDEO_MEMORY",
        "NOT_RESIDENT", "NOT_LOCKABLE", "LOCKED",   "NOT_LOCKED", "RANGE",   "BUSY",           "DEVICE_LOST",
        "TIMEOUT",      "FAULT",        "CONTRACT", "FIRMWARE",   "BACKEND"};
    return error <= 0 && error > -19 ? names[-error] : error == 1 ? "PENDING" : "?";
}

const char *ferry_error_text(int error)
{
    return error == FERRY_ERROR_BACKEND ? "No back end of that name, or it cannot start." : "As the double was told.";
}

static void emit(struct ferry_adapter *adapter, struct ferry_event event)
{
    event.size = sizeof event;
    event.time = adapter->statistics.cycles;
    if (adapter->observer)
        adapter->observer(adapter->context, &event);
}

static bool goes_wrong(struct ferry_adapter *adapter, const char *kind)
{
    return strcmp(adapter->wrong, kind) == 0 && ++adapter->counts[0] == adapter->wrong_number;
}

static uint64_t begin_call(struct ferry_adapter *adapter, const char *name, uint64_t allocation)
{
    uint64_t id = ++adapter->call;
    emit(adapter,
         (struct ferry_event){.kind = FERRY_EVENT_CALL_BEGIN, .id = id, .name = name, .allocation = allocation});
    return id;
}

static int end_call(struct ferry_adapter *adapter, uint64_t id, int result)
{
    emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_CALL_END, .id = id});
    return result;
}

// ---- Adapter ------------------------------------------------------------------------------------------------------

int ferry_adapter_open(const struct ferry_adapter_options *options, struct ferry_adapter **adapter)
{
    const char *fake = getenv("FERRY_FAKE");
    if (options->backend && strcmp(options->backend, "model") != 0 && strcmp(options->backend, "sim") != 0)
        return FERRY_ERROR_BACKEND;
    struct ferry_adapter *made = calloc(1, sizeof *made);
    made->video_bytes = options->video_memory_bytes ? options->video_memory_bytes : LOCAL_BYTES;
    if (made->video_bytes > LOCAL_BYTES)
        made->video_bytes = LOCAL_BYTES;
    made->memory = malloc(made->video_bytes);
    memset(made->memory, 0xee, made->video_bytes);
    made->device.adapter = made;
    made->device.queue.device = &made->device;
    if (fake && strchr(fake, ':')) {
        snprintf(made->wrong, sizeof made->wrong, "%.*s", (int)strcspn(fake, ":"), fake);
        made->wrong_number = strtoull(strchr(fake, ':') + 1, NULL, 10);
    }
    the_adapter = made;
    *adapter = made;
    return FERRY_OK;
}

void ferry_adapter_close(struct ferry_adapter *adapter)
{
    if (!adapter)
        return;
    while (adapter->all) {
        struct ferry_allocation *next = adapter->all->all_next;
        free(adapter->all->system);
        free(adapter->all);
        adapter->all = next;
    }
    while (adapter->processes) {
        struct ferry_process *next = adapter->processes->next;
        free(adapter->processes->device.queue.records);
        free(adapter->processes);
        adapter->processes = next;
    }
    free(adapter->device.queue.records);
    free(adapter->memory);
    free(adapter);
}

int ferry_adapter_query(struct ferry_adapter *adapter, struct ferry_adapter_info *info)
{
    *info = (struct ferry_adapter_info){.size = sizeof *info,
                                        .backend = "fake",
                                        .contract_version = 1 << 16,
                                        .firmware_version = 1,
                                        .rings = 5,
                                        .tags = 32,
                                        .command_slots = 4,
                                        .command_slot_bytes = 4096,
                                        .local_bytes = LOCAL_BYTES,
                                        .video_memory_bytes = adapter->video_bytes,
                                        .aperture_bytes = LOCAL_BYTES};
    return FERRY_OK;
}

int ferry_adapter_statistics(struct ferry_adapter *adapter, struct ferry_statistics *statistics)
{
    *statistics = adapter->statistics;
    statistics->size = sizeof *statistics;
    statistics->link_receive_beats = statistics->bytes_in / 8 + statistics->bytes_in / 80;
    statistics->link_send_beats = statistics->bytes_out / 8;
    statistics->local_write_beats = statistics->bytes_in / 8;
    statistics->local_read_beats = statistics->bytes_out / 8;
    // What the double has no model of grows with time, each counter at a pace of its own: none passes for another.
    uint64_t *const others[] = {
        &statistics->stall_read_cycles, &statistics->stall_write_cycles, &statistics->stall_job_cycles,
        &statistics->stall_link_cycles, &statistics->host_read_beats,    &statistics->host_write_beats,
        &statistics->engine_jobs,       &statistics->engine_busy_cycles, &statistics->busy_retries,
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        *others[i] = statistics->cycles * (3 + i);
    if (strcmp(adapter->wrong, "stray") == 0 && statistics->cycles > 0)
        statistics->unmapped_accesses = 1;
    return FERRY_OK;
}

int ferry_adapter_next_fault(struct ferry_adapter *adapter, struct ferry_fault *fault, bool *found)
{
    *found = adapter->fault && !adapter->fault_taken;
    adapter->fault_taken = true;
    *fault = (struct ferry_fault){.size = sizeof *fault,
                                  .sequence = 1,
                                  .kind = 5,
                                  .ring = 1,
                                  .packet_offset = 64,
                                  .is_write = 1,
                                  .address = 0x123456,
                                  .fence_value = 7};
    return FERRY_OK;
}

int ferry_adapter_set_budget(struct ferry_adapter *adapter, uint64_t bytes)
{
    adapter->statistics.budget_bytes = bytes;
    return FERRY_OK;
}

int ferry_adapter_reset_engine(struct ferry_adapter *adapter)
{
    (void)adapter;
    return FERRY_OK;
}

int ferry_adapter_observe(struct ferry_adapter *adapter, ferry_event_callback *callback, void *context)
{
    adapter->observer = callback;
    adapter->context = context;
    return FERRY_OK;
}

int ferry_device_create(struct ferry_adapter *adapter, struct ferry_device **device)
{
    *device = &adapter->device;
    return FERRY_OK;
}

int ferry_device_destroy(struct ferry_device *device)
{
    (void)device;
    return FERRY_OK;
}

int ferry_device_wait_paging(struct ferry_device *device, uint64_t value)
{
    (void)device;
    (void)value;
    return FERRY_OK;
}

// ---- Programs -----------------------------------------------------------------------------------------------------

// Rounded down to pages; a reservation is a floor that nobody pays for.
static uint64_t budget_of(const struct ferry_process *process)
{
    const struct ferry_adapter *adapter = process->device.adapter;
    uint64_t weights = 0;
    for (const struct ferry_process *at = adapter->processes; at; at = at->next)
        weights += at->weight;
    uint64_t budget = adapter->video_bytes / 4096 * process->weight / weights * 4096;
    return budget > process->reservation ? budget : process->reservation;
}

static void tell_budgets(struct ferry_adapter *adapter)
{
    for (struct ferry_process *at = adapter->processes; at; at = at->next)
        emit(adapter,
             (struct ferry_event){.kind = FERRY_EVENT_BUDGET, .process = at->id, .segment = 1, .value = budget_of(at)});
}

int ferry_process_create(struct ferry_adapter *adapter, const struct ferry_process_options *options,
                         struct ferry_process **process)
{
    uint64_t reserved = options->reservation_bytes;
    for (const struct ferry_process *at = adapter->processes; at; at = at->next)
        reserved += at->reservation;
    if (goes_wrong(adapter, "process"))
        return FERRY_ERROR_NO_HOST_MEMORY;
    if (reserved > adapter->video_bytes / 2)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    struct ferry_process *made = calloc(1, sizeof *made);
    made->id = 500 + ++adapter->call;
    made->weight = options->weight;
    made->reservation = options->reservation_bytes;
    made->device.adapter = adapter;
    made->device.process = made;
    made->device.queue.device = &made->device;
    made->next = adapter->processes;
    adapter->processes = made;
    tell_budgets(adapter);
    *process = made;
    return FERRY_OK;
}

int ferry_process_create_device(struct ferry_process *process, struct ferry_device **device)
{
    *device = &process->device;
    return FERRY_OK;
}

uint64_t ferry_process_id(const struct ferry_process *process)
{
    return process ? process->id : 0;
}

int ferry_process_memory(struct ferry_process *process, enum ferry_memory_group group, struct ferry_memory_info *info)
{
    (void)group;
    info->budget = budget_of(process);
    info->in_place = process->in_place;
    info->usage = process->usage;
    return FERRY_OK;
}

int ferry_process_statistics(struct ferry_process *process, struct ferry_process_statistics *statistics)
{
    *statistics = process->statistics;
    statistics->size = sizeof *statistics;
    return FERRY_OK;
}

int ferry_process_destroy(struct ferry_process *process)
{
    struct ferry_adapter *adapter = process->device.adapter;
    if (goes_wrong(adapter, "kill"))
        return FERRY_ERROR_TIMEOUT;
    struct ferry_allocation *next;
    for (struct ferry_allocation *at = adapter->all; at; at = next) {
        next = at->all_next;
        at->locked = false;
        if (at->device == &process->device)
            ferry_allocation_destroy(at);
    }
    struct ferry_process **link = &adapter->processes;
    while (*link != process)
        link = &(*link)->next;
    *link = process->next;
    free(process->device.queue.records);
    free(process);
    tell_budgets(adapter);
    return FERRY_OK;
}

// ---- Paging -------------------------------------------------------------------------------------------------------

static void page(struct ferry_allocation *allocation, bool in, bool copy)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    struct ferry_statistics *statistics = &adapter->statistics;
    uint8_t *local = adapter->memory + allocation->offset;
    uint64_t id = ++adapter->call;
    struct ferry_event event = {.kind = FERRY_EVENT_PAGING_BEGIN,
                                .track = FERRY_TRACK_PAGING,
                                .id = id,
                                .name = !copy ? "DISCARD_CONTENT"
                                        : in  ? "TRANSFER in"
                                              : "TRANSFER out",
                                .allocation = allocation->id,
                                .bytes = allocation->pages};
    emit(adapter, event);
    if (copy) {
        memcpy(in ? local : allocation->system, in ? allocation->system : local, allocation->pages);
        if (goes_wrong(adapter, in ? "page-in" : "page-out"))
            (in ? local : allocation->system)[allocation->bytes / 2] ^= 0x10;
        event = (struct ferry_event){.kind = FERRY_EVENT_SPAN,
                                     .bytes = allocation->pages / 8,
                                     .track = in ? FERRY_TRACK_READ_CHANNEL : FERRY_TRACK_WRITE_CHANNEL,
                                     .name = "burst"};
        emit(adapter, event);
        emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_READS_OUTSTANDING, .value = in ? 32 : 0});
        statistics->cycles += allocation->pages / 8 + 90;
    }
    statistics->operations[copy ? 0 : 2]++;
    *(!copy ? &statistics->bytes_discarded : in ? &statistics->bytes_in : &statistics->bytes_out) += allocation->pages;
    struct ferry_process_statistics *own =
        allocation->device->process ? &allocation->device->process->statistics : &(struct ferry_process_statistics){0};
    *(!copy ? &own->bytes_discarded : in ? &own->bytes_in : &own->bytes_out) += allocation->pages;
    statistics->firmware_packets += 2;
    statistics->firmware_busy_cycles += 190;
    emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_PAGING_END, .track = FERRY_TRACK_PAGING, .id = id});
}

static void leave(struct ferry_allocation *allocation)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    if (!allocation->resident || allocation->aperture)
        return;
    page(allocation, false, allocation->dirty);
    allocation->dirty = allocation->resident = false;
    *(allocation->previous ? &allocation->previous->next : &adapter->local) = allocation->next;
    if (allocation->next)
        allocation->next->previous = allocation->previous;
    adapter->statistics.evictions++;
    adapter->statistics.resident_bytes -= allocation->pages;
    uint64_t process = 0;
    if (allocation->device->process) {
        process = allocation->device->process->id;
        allocation->device->process->statistics.evictions++;
        allocation->device->process->in_place -= allocation->pages;
    }
    emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_REMOVED,
                                       .allocation = allocation->id,
                                       .process = process,
                                       .segment = 1,
                                       .offset = allocation->offset,
                                       .bytes = allocation->pages});
    emit(adapter,
         (struct ferry_event){.kind = FERRY_EVENT_RESIDENT_BYTES, .value = adapter->statistics.resident_bytes});
}

static bool find_room(struct ferry_adapter *adapter, uint64_t bytes, struct ferry_allocation **before, uint64_t *offset)
{
    uint64_t at = 0;
    struct ferry_allocation *previous = NULL;
    for (struct ferry_allocation *next = adapter->local;; previous = next, next = next->next) {
        if ((next ? next->offset : adapter->video_bytes) - at >= bytes) {
            *before = previous;
            *offset = at;
            return true;
        }
        if (!next)
            return false;
        at = next->offset + next->pages;
    }
}

static int enter(struct ferry_allocation *allocation)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    struct ferry_allocation *before;
    uint64_t offset;
    while (!find_room(adapter, allocation->pages, &before, &offset)) {
        struct ferry_allocation *victim = NULL;
        for (struct ferry_allocation *at = adapter->local; at; at = at->next) {
            if (at->count == 0 && (!victim || at->used < victim->used))
                victim = at;
        }
        if (!victim)
            return FERRY_ERROR_NO_VIDEO_MEMORY;
        leave(victim);
    }
    allocation->offset = offset;
    allocation->previous = before;
    allocation->next = before ? before->next : adapter->local;
    *(before ? &before->next : &adapter->local) = allocation;
    if (allocation->next)
        allocation->next->previous = allocation;
    allocation->resident = true;
    adapter->statistics.resident_bytes += allocation->pages;
    uint64_t process = 0;
    if (allocation->device->process) {
        process = allocation->device->process->id;
        allocation->device->process->in_place += allocation->pages;
    }
    emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_PLACED,
                                       .allocation = allocation->id,
                                       .process = process,
                                       .segment = 1,
                                       .offset = offset,
                                       .bytes = allocation->pages});
    emit(adapter,
         (struct ferry_event){.kind = FERRY_EVENT_RESIDENT_BYTES, .value = adapter->statistics.resident_bytes});
    page(allocation, true, true);
    return FERRY_OK;
}

// ---- Allocations --------------------------------------------------------------------------------------------------

int ferry_allocation_create(struct ferry_device *device, const struct ferry_allocation_options *options,
                            struct ferry_allocation **allocation)
{
    struct ferry_adapter *adapter = device->adapter;
    if (options->bytes == 0)
        return FERRY_ERROR_ARGUMENT;
    uint64_t pages = (options->bytes + 4095) / 4096 * 4096;
    if (goes_wrong(adapter, "create") || pages > 1ull << 32)
        return FERRY_ERROR_NO_HOST_MEMORY;
    struct ferry_allocation *made = calloc(1, sizeof *made);
    made->device = device;
    made->bytes = options->bytes;
    made->pages = pages;
    made->flags = options->flags;
    made->aperture = options->in_aperture;
    made->id = 1000 + ++adapter->next_id * 7;
    made->system = malloc(pages);
    for (uint64_t i = 0; i < pages; i += 4)
        memcpy(made->system + i, &options->fill_pattern, 4);
    made->all_next = adapter->all;
    made->all_link = &adapter->all;
    if (adapter->all)
        adapter->all->all_link = &made->all_next;
    adapter->all = made;
    *allocation = made;
    return end_call(adapter, begin_call(adapter, "CreateAllocation", made->id), FERRY_OK);
}

int ferry_allocation_destroy(struct ferry_allocation *allocation)
{
    if (allocation->locked)
        return FERRY_ERROR_LOCKED;
    leave(allocation);
    *allocation->all_link = allocation->all_next;
    if (allocation->all_next)
        allocation->all_next->all_link = allocation->all_link;
    free(allocation->system);
    free(allocation);
    return FERRY_OK;
}

uint64_t ferry_allocation_id(const struct ferry_allocation *allocation)
{
    return allocation ? allocation->id : 0;
}

int ferry_allocation_placement(struct ferry_allocation *allocation, struct ferry_placement *placement)
{
    placement->resident = allocation->resident;
    placement->offset = allocation->offset;
    return FERRY_OK;
}

int ferry_make_resident(struct ferry_device *device, struct ferry_residency *arguments)
{
    struct ferry_adapter *adapter = device->adapter;
    uint64_t call = begin_call(adapter, "MakeResident", ferry_allocation_id(arguments->allocations[0]));
    uint64_t need = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->allocations[i]->used = ++adapter->clock;
        need += arguments->allocations[i]->aperture ? 0 : arguments->allocations[i]->pages;
    }
    if (need > adapter->video_bytes || goes_wrong(adapter, "place"))
        return end_call(adapter, call, FERRY_ERROR_NO_VIDEO_MEMORY);
    int result = FERRY_OK;
    emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_FENCE_WAIT, .value = adapter->fence + 1});
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->allocations[i]->count++;
        if (device->process && !arguments->allocations[i]->aperture)
            device->process->usage += arguments->allocations[i]->pages;
    }
    for (size_t i = 0; i < arguments->count && result >= 0; i++) {
        struct ferry_allocation *allocation = arguments->allocations[i];
        if (allocation->aperture || allocation->resident)
            continue;
        int entered = enter(allocation);
        // Nothing moves in the double: where room is in pieces, start from an empty segment.
        if (entered == FERRY_ERROR_NO_VIDEO_MEMORY) {
            while (adapter->local)
                leave(adapter->local);
            for (i = 0; i < arguments->count && entered != FERRY_OK; i++)
                entered = FERRY_OK;
            for (i = 0; i < arguments->count && entered == FERRY_OK; i++) {
                if (!arguments->allocations[i]->aperture)
                    entered = enter(arguments->allocations[i]);
            }
        }
        result = entered < 0 ? entered : FERRY_PENDING;
    }
    arguments->paging_fence_value = ++adapter->fence;
    emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_FENCE_SIGNAL, .value = adapter->fence});
    return end_call(adapter, call, result);
}

int ferry_make_resident_trim(struct ferry_device *device, struct ferry_residency *arguments)
{
    return ferry_make_resident(device, arguments);
}

int ferry_evict(struct ferry_device *device, struct ferry_residency *arguments)
{
    if (goes_wrong(device->adapter, "evict"))
        return FERRY_ERROR_NOT_RESIDENT;
    for (size_t i = 0; i < arguments->count; i++) {
        arguments->allocations[i]->count--;
        if (device->process && !arguments->allocations[i]->aperture)
            device->process->usage -= arguments->allocations[i]->pages;
    }
    return FERRY_OK;
}

int ferry_lock(struct ferry_allocation *allocation, uint32_t flags, void **address)
{
    struct ferry_adapter *adapter = allocation->device->adapter;
    if (allocation->locked || goes_wrong(adapter, "lock"))
        return FERRY_ERROR_LOCKED;
    uint64_t call = begin_call(adapter, "Lock", allocation->id);
    if (!(flags & FERRY_LOCK_READ_ONLY) || allocation->dirty) {
        if (flags & FERRY_LOCK_DISCARD)
            allocation->dirty = false;
        leave(allocation);
    }
    if (flags & FERRY_LOCK_DISCARD)
        memset(allocation->system, 0xdd, allocation->pages);
    allocation->locked = true;
    *address = allocation->system;
    return end_call(adapter, call, FERRY_OK);
}

int ferry_unlock(struct ferry_allocation *allocation)
{
    if (!allocation->locked)
        return FERRY_ERROR_NOT_LOCKED;
    allocation->locked = false;
    return FERRY_OK;
}

// ---- Queues -------------------------------------------------------------------------------------------------------

int ferry_queue_create(struct ferry_device *device, struct ferry_queue **queue)
{
    *queue = &device->queue;
    return FERRY_OK;
}

int ferry_queue_destroy(struct ferry_queue *queue)
{
    (void)queue;
    return FERRY_OK;
}

static int add_record(struct ferry_queue *queue, struct record record)
{
    if (record.to_offset + record.bytes > record.to->pages ||
        (record.from && record.from_offset + record.bytes > record.from->pages))
        return FERRY_ERROR_RANGE;
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity * 2 + 16;
        queue->records = realloc(queue->records, queue->capacity * sizeof *queue->records);
    }
    queue->records[queue->count++] = record;
    return FERRY_OK;
}

int ferry_queue_copy(struct ferry_queue *queue, struct ferry_allocation *destination, uint64_t destination_offset,
                     struct ferry_allocation *source, uint64_t source_offset, uint32_t bytes)
{
    return add_record(queue, (struct record){destination, source, destination_offset, source_offset, 0, bytes, 0});
}

int ferry_queue_fill(struct ferry_queue *queue, struct ferry_allocation *destination, uint64_t offset, uint32_t bytes,
                     uint64_t pattern, uint32_t pattern_bytes)
{
    return add_record(queue, (struct record){destination, NULL, offset, 0, pattern, bytes, pattern_bytes});
}

static uint8_t *place(struct ferry_allocation *allocation)
{
    if (allocation->aperture)
        return allocation->system;
    return allocation->resident && allocation->count ? allocation->device->adapter->memory + allocation->offset : NULL;
}

int ferry_queue_submit(struct ferry_queue *queue, uint64_t *fence)
{
    struct ferry_adapter *adapter = queue->device->adapter;
    uint64_t id = ++adapter->call, began = adapter->statistics.cycles;
    uint64_t process = ferry_process_id(queue->device->process);
    emit(adapter,
         (struct ferry_event){
             .kind = FERRY_EVENT_JOB_BEGIN, .track = FERRY_TRACK_USER, .id = id, .process = process, .name = "job"});
    if (goes_wrong(adapter, "submit"))
        return FERRY_ERROR_DEVICE_LOST;
    if (goes_wrong(adapter, "fault"))
        adapter->fault = true;
    if (strcmp(adapter->wrong, "slow") == 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)adapter->wrong_number * 1000}, NULL);
    for (size_t i = 0; i < queue->count; i++) {
        struct record *record = &queue->records[i];
        uint8_t *to = place(record->to);
        if (!to || (record->from && !place(record->from)))
            return FERRY_ERROR_NOT_RESIDENT;
        to += record->to_offset;
        record->to->dirty = true;
        if (record->from)
            memmove(to, place(record->from) + record->from_offset, record->bytes);
        else
            for (uint32_t b = 0; b < record->bytes; b++)
                to[b] = (uint8_t)(record->pattern >> (b % record->pattern_bytes * 8));
        if (goes_wrong(adapter, record->from ? "copy" : "fill"))
            to[record->bytes - 1] ^= 1;
        adapter->statistics.cycles += record->bytes / 8 + 2;
    }
    queue->count = 0;
    adapter->statistics.firmware_packets += 3;
    adapter->statistics.firmware_busy_cycles += 300;
    emit(adapter,
         (struct ferry_event){.kind = FERRY_EVENT_SPAN, .track = FERRY_TRACK_FIRMWARE, .name = "decode", .bytes = 100});
    emit(adapter,
         (struct ferry_event){.kind = FERRY_EVENT_JOB_END, .track = FERRY_TRACK_USER, .id = id, .process = process});
    if (queue->device->process) {
        struct ferry_process_statistics *own = &queue->device->process->statistics;
        own->jobs++;
        own->gpu_cycles += adapter->statistics.cycles - began;
        own->last_job = adapter->statistics.cycles;
    }
    *fence = ++queue->fence;
    return FERRY_OK;
}

int ferry_queue_wait(struct ferry_queue *queue, uint64_t fence)
{
    (void)fence;
    return queue->device->adapter->fault ? FERRY_ERROR_FAULT : FERRY_OK;
}
