// SPDX-License-Identifier: Apache-2.0
// The double's adapter and device: options, statistics, faults, events, and what goes wrong when.
#include "fake_ferry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_BYTES (64ull << 20)

const char *ferry_error_name(int error)
{
    static const char *const names[] = {
        "OK",           "ARGUMENT",     "FLAGS",    "HANDLE",     "FOREIGN", "NO_HOST_MEMORY", "NO_VIDEO_MEMORY",
        "NOT_RESIDENT", "NOT_LOCKABLE", "LOCKED",   "NOT_LOCKED", "RANGE",   "BUSY",           "DEVICE_LOST",
        "TIMEOUT",      "FAULT",        "CONTRACT", "FIRMWARE",   "BACKEND", "UNSUPPORTED"};
    return error <= 0 && error > -20 ? names[-error] : error == 1 ? "PENDING" : "?";
}

const char *ferry_error_text(int error)
{
    return error == FERRY_ERROR_BACKEND ? "No back end of that name, or it cannot start." : "As the double was told.";
}

const char *ferry_problem(void)
{
    return "";
}

void fake_emit(struct ferry_adapter *adapter, struct ferry_event event)
{
    event.size = sizeof event;
    event.time = adapter->statistics.cycles;
    if (adapter->observer)
        adapter->observer(adapter->context, &event);
}

bool fake_goes_wrong(struct ferry_adapter *adapter, const char *kind)
{
    return strcmp(adapter->wrong, kind) == 0 && ++adapter->counts[0] == adapter->wrong_number;
}

bool fake_has_walks(const struct ferry_adapter *adapter)
{
    static const char *const kinds[] = {"walk", "stale", "level", "untold"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(adapter->wrong, kinds[i]) == 0)
            return true;
    }
    return false;
}

uint64_t fake_begin_call(struct ferry_adapter *adapter, const char *name, uint64_t allocation)
{
    uint64_t id = ++adapter->call;
    fake_emit(adapter,
              (struct ferry_event){.kind = FERRY_EVENT_CALL_BEGIN, .id = id, .name = name, .allocation = allocation});
    return id;
}

int fake_end_call(struct ferry_adapter *adapter, uint64_t id, int result)
{
    fake_emit(adapter, (struct ferry_event){.kind = FERRY_EVENT_CALL_END, .id = id});
    return result;
}

// ---- Adapter ------------------------------------------------------------------------------------------------------

int ferry_adapter_list(ferry_candidate_callback *callback, void *context)
{
    static const struct ferry_candidate candidates[] = {
        {sizeof *candidates, FERRY_REACH_READY, "sim", "simulated", ""},
        {sizeof *candidates, FERRY_REACH_READY, "model", "in C", ""},
        {sizeof *candidates, FERRY_REACH_IN_USE, "socket:unix:/tmp/x", "ferry-sim, process 5", "in use by process 6"},
        {sizeof *candidates, FERRY_REACH_UNKNOWN, "uart:/dev/ttyUSB0", "serial port, \x1b]0;owned\x07 \"of 1\"", ""},
        {sizeof *candidates, FERRY_REACH_UNKNOWN, "uart:/dev/ttyUSB1", "serial port", ""},
        {sizeof *candidates, FERRY_REACH_BLOCKED, "pci:0000:01:00.0", "PCI 1209:fe01", "unbind it with `x`"},
    };
    const char *fake = getenv("FERRY_FAKE");
    size_t count = fake && strcmp(fake, "bare") == 0 ? 2 : sizeof candidates / sizeof *candidates;
    for (size_t i = 0; i < count; i++) {
        struct ferry_candidate candidate = candidates[i];
        // Who was looked at and is free answers, or somebody comes first.
        if (fake && strcmp(fake, "changes") == 0 && i == 2)
            candidate.reach = FERRY_REACH_READY;
        if (fake && strcmp(fake, "foreign") == 0 && i == 3) {
            candidate.reach = FERRY_REACH_FOREIGN; // It would answer.
            strcpy(candidate.problem, "it is user 5's");
        }
        callback(context, &candidate);
    }
    return FERRY_OK;
}

int ferry_adapter_open(const struct ferry_adapter_options *options, struct ferry_adapter **adapter)
{
    const char *fake = getenv("FERRY_FAKE");
    const char *backend = options->backend ? options->backend : "sim";
    if (fake && strcmp(fake, "changes") == 0 && strcmp(backend, "uart:/dev/ttyUSB1") == 0)
        return FERRY_ERROR_IN_USE;
    if (fake && strcmp(fake, "changes") == 0 && strcmp(backend, "socket:unix:/tmp/x") == 0)
        backend = "sim";
    if (strcmp(backend, "model") != 0 && strcmp(backend, "sim") != 0 && strcmp(backend, "uart:/dev/ttyUSB0") != 0)
        return FERRY_ERROR_BACKEND;
    bool by_address =
        options->paging != FERRY_PAGING_PHYSICAL || options->tables != FERRY_TABLES_VIDEO || options->iommu;
    if (options->model == 1 && by_address)
        return FERRY_ERROR_ARGUMENT;
    if (by_address && fake && strcmp(fake, "no-tables") == 0)
        return FERRY_ERROR_UNSUPPORTED;
    struct ferry_adapter *made = calloc(1, sizeof *made);
    made->model = options->model ? options->model : 1;
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
                                        .device = "double",
                                        .contract_version = 1 << 16,
                                        .firmware_version = 1,
                                        .rings = 5,
                                        .tags = 32,
                                        .command_slots = 4,
                                        .command_slot_bytes = 4096,
                                        .local_bytes = LOCAL_BYTES,
                                        .video_memory_bytes = adapter->video_bytes,
                                        .aperture_bytes = LOCAL_BYTES,
                                        .model = adapter->model};
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
        &statistics->table_walks,       &statistics->table_reads,        &statistics->table_forgets,
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        *others[i] = statistics->cycles * (3 + i);
    if (strcmp(adapter->wrong, "noise") == 0) {
        statistics->noise_bytes = adapter->wrong_number & 1 ? 7 : 0;
        statistics->broken_frames = adapter->wrong_number & 2 ? 8 : 0;
        statistics->frames_again = adapter->wrong_number & 4 ? 9 : 0;
    }
    if (strcmp(adapter->wrong, "stray") == 0 && statistics->cycles > 0)
        statistics->unmapped_accesses = 1;
    if (strcmp(adapter->wrong, "recorded") == 0 && statistics->cycles > 0)
        statistics->faults = 1;
    if (strcmp(adapter->wrong, "dummy") == 0 && statistics->cycles > 0)
        statistics->dummy_page_writes = 1;
    if (strcmp(adapter->wrong, "still") == 0)
        statistics->evictions = 0;
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
    if (fake_has_walks(adapter)) {
        // Of several it is the one with the number.
        const bool odd = !adapter->mapped || ++adapter->counts[1] == adapter->wrong_number;
        fault->walked = !odd || strcmp(adapter->wrong, "untold") != 0;
        fault->address = 0x812345678000;
        fault->walk_level = odd && strcmp(adapter->wrong, "level") == 0 ? 1 : 2;
        fault->walk_entry = odd && strcmp(adapter->wrong, "stale") == 0 ? 0x99001 : 0;
    }
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

int ferry_adapter_flip(struct ferry_adapter *adapter, const struct ferry_flip *flip)
{
    adapter->flip = *flip;
    return FERRY_OK;
}

int ferry_adapter_flipped(struct ferry_adapter *adapter, bool *flipped)
{
    *flipped = adapter->flipped;
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
