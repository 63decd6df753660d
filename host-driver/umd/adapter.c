// SPDX-License-Identifier: Apache-2.0
// An adapter: back end, device, miniport and manager brought together.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "umd/call.h"
#include "umd/device.h"
#include "umd/events.h"
#include "umd/observer.h"
#include "umd/process.h"
#include "umd/runner.h"

static void on_interrupt(void *context, uint32_t causes)
{
    struct umd_adapter *adapter = context;

    (void)causes;
    ferry_kmd_miniport()->DxgkDdiInterruptRoutine(adapter->kmd, 0);
}

// The manager's wait hook: whoever waits for a device that is gone is told so. A record may be seen before its
// interrupt message, so the miniport is asked in any case.
static int wait_for_progress(void *context)
{
    struct umd_adapter *adapter = context;
    int error = ferry_gpu_wait_progress(adapter->gpu, &adapter->progress);

    ferry_kmd_miniport()->DxgkDdiInterruptRoutine(adapter->kmd, 0);
    umd_runner_tell_faults(adapter);
    return error == FERRY_OK || error == FERRY_ERROR_DEVICE_LOST ? error : FERRY_ERROR_TIMEOUT;
}

static uint64_t gpu_time(void *context)
{
    const struct umd_adapter *adapter = context;

    return ferry_gpu_cycles(adapter->gpu);
}

// The CPU's addresses of this adapter are BAR2's.
static int cpu_read(void *context, uint64_t address, void *data, size_t bytes)
{
    const struct umd_adapter *adapter = context;

    return ferry_gpu_rows_read(adapter->gpu, address, data, bytes);
}

static int cpu_write(void *context, uint64_t address, const void *data, size_t bytes)
{
    const struct umd_adapter *adapter = context;

    return ferry_gpu_rows_write(adapter->gpu, address, data, bytes);
}

static void shut(struct umd_adapter *adapter)
{
    ferry_vidmm_stop(adapter->vidmm);
    if (adapter->gpu)
        ferry_gpu_set_interrupt(adapter->gpu, NULL, NULL);
    if (adapter->kmd)
        ferry_kmd_miniport()->DxgkDdiRemoveDevice(adapter->kmd);
    ferry_host_pages_destroy(adapter->pages);
    ferry_gpu_close(adapter->gpu);
    pthread_cond_destroy(&adapter->alone);
    pthread_cond_destroy(&adapter->device_ended);
    pthread_mutex_destroy(&adapter->telling);
    umd_adapter_free(adapter);
}

static int start_gpu(struct umd_adapter *adapter, const struct ferry_adapter_options *options)
{
    struct ferry_link_config config = {
        .size = sizeof config,
        .read_latency_cycles = options->read_latency_cycles,
        .link_latency_cycles = options->link_latency_cycles,
        .random_stall_percent = options->random_stall_percent,
        .seed = options->seed,
        .wave_file = options->wave_file,
    };
    struct ferry_gpu_options gpu_options = {.size = sizeof gpu_options, .firmware_file = options->firmware_file};
    struct ferry_link *link;
    int error = ferry_link_open(options->backend, &config, &link);

    if (error != FERRY_OK)
        return error;
    error = ferry_gpu_open(link, &gpu_options, &adapter->gpu);
    if (error != FERRY_OK)
        link->operations->close(link);
    return error;
}

// The IOMMU model is one with GPU virtual addresses, they are what content is paged by, and tables are for them.
static bool needs_page_tables(const struct ferry_adapter_options *options)
{
    return options->iommu || options->paging == FERRY_PAGING_VIRTUAL || options->tables == FERRY_TABLES_SYSTEM ||
           options->table_bytes;
}

// Whoever does not say which gets GPU virtual addresses where the device can have them.
static uint32_t model_of(const struct umd_adapter *adapter, const struct ferry_adapter_options *options)
{
    struct ferry_gpu_info gpu;

    ferry_gpu_query(adapter->gpu, &gpu);
    return options->model ? options->model : needs_page_tables(options) || gpu.page_tables ? 2 : 1;
}

static const DRIVER_INITIALIZATION_DATA *miniport_for(const struct umd_adapter *adapter,
                                                      const struct ferry_adapter_options *options)
{
    unsigned ways = (options->iommu ? FERRY_KMD_IOMMU : 0) |
                    (options->paging == FERRY_PAGING_VIRTUAL ? FERRY_KMD_BY_ADDRESS : 0) |
                    (options->tables == FERRY_TABLES_SYSTEM ? FERRY_KMD_HOST_TABLES : 0);

    return adapter->model == 2 ? ferry_kmd_miniport_model2(ways) : ferry_kmd_miniport();
}

static int start_manager(struct umd_adapter *adapter, const struct ferry_adapter_options *options)
{
    int error = ferry_host_pages_create(adapter->gpu, &adapter->pages);
    adapter->model = model_of(adapter, options);
    adapter->iommu = options->iommu;
    const DRIVER_INITIALIZATION_DATA *miniport = miniport_for(adapter, options);

    if (error != FERRY_OK)
        return error;
    NTSTATUS status = miniport->DxgkDdiAddDevice(adapter->gpu, &adapter->kmd);
    if (status != STATUS_SUCCESS)
        return status == STATUS_NOT_SUPPORTED ? FERRY_ERROR_UNSUPPORTED : FERRY_ERROR_NO_HOST_MEMORY;
    ferry_gpu_set_interrupt(adapter->gpu, on_interrupt, adapter);
    struct ferry_vidmm_options vidmm = {
        .size = sizeof vidmm,
        .miniport = miniport,
        .miniport_device_context = adapter->kmd,
        .platform = {adapter, ferry_host_pages_source(adapter->pages), wait_for_progress, gpu_time, cpu_read,
                     cpu_write},
        .memory_limit_bytes = options->video_memory_bytes,
        .aperture_limit_bytes = options->aperture_bytes,
        .table_bytes = options->table_bytes,
        .paging_buffer_bytes = options->paging_buffer_bytes,
        .observer = umd_on_vidmm_event,
        .observer_context = adapter,
    };
    return ferry_vidmm_start(&vidmm, &adapter->vidmm);
}

int ferry_adapter_open(const struct ferry_adapter_options *options, struct ferry_adapter **handle)
{
    if (!options || !handle || options->size != sizeof *options || options->video_memory_bytes % FERRY_PAGE_BYTES ||
        options->aperture_bytes % FERRY_PAGE_BYTES || options->table_bytes % FERRY_PAGE_BYTES ||
        options->random_stall_percent > 90 || options->model > 2 || options->paging > FERRY_PAGING_VIRTUAL ||
        options->tables > FERRY_TABLES_SYSTEM || (needs_page_tables(options) && options->model == 1) ||
        (options->paging_buffer_bytes && options->paging_buffer_bytes < FERRY_KMD_LEAST_PAGING_BUFFER))
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    if (umd_is_telling())
        return FERRY_ERROR_RECURSIVE_CALL;
    struct umd_adapter *adapter = umd_adapter_new();
    if (!adapter)
        return FERRY_ERROR_NO_HOST_MEMORY;
    pthread_cond_init(&adapter->alone, NULL);
    pthread_cond_init(&adapter->device_ended, NULL);
    pthread_mutex_init(&adapter->telling, NULL);
    const char *backend = options->backend ? options->backend : ferry_link_backend_name(0);
    snprintf(adapter->backend, sizeof adapter->backend, "%.*s", (int)strcspn(backend, ":"), backend);
    int error = start_gpu(adapter, options);
    if (error == FERRY_OK)
        error = start_manager(adapter, options);
    if (error == FERRY_OK) {
        adapter->handle = umd_handle_make(UMD_ADAPTER, adapter, adapter);
        error = adapter->handle ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (error != FERRY_OK) {
        shut(adapter);
        return error;
    }
    *handle = adapter->handle;
    return FERRY_OK;
}

void ferry_adapter_close(struct ferry_adapter *handle)
{
    struct umd_call call;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);

    if (!adapter)
        return;
    umd_handle_end(handle);
    umd_silence_budgets(adapter);
    while (adapter->devices) {
        ferry_vidmm_destroy_device(adapter->vidmm, adapter->devices->vidmm);
        umd_device_end(adapter->devices);
    }
    while (adapter->processes)
        umd_process_end(adapter->processes);
    // Calls that wait for the GPU, or for one another, find their handles gone, and end.
    pthread_cond_broadcast(&adapter->device_ended);
    umd_wait_for_parked(adapter);
    pthread_mutex_unlock(&adapter->lock);
    umd_runner_end(adapter);
    shut(adapter);
}

int ferry_adapter_event_fd(struct ferry_adapter *handle, int *fd)
{
    struct umd_call call;

    if (!fd)
        return FERRY_ERROR_ARGUMENT;
    *fd = -1;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);
    if (!adapter)
        return umd_not_entered();
    int error = umd_runner_start(adapter);
    if (error == FERRY_OK)
        error = umd_runner_descriptor(adapter, fd);
    return umd_leave(&call, error);
}

int ferry_adapter_query(struct ferry_adapter *handle, struct ferry_adapter_info *info)
{
    struct umd_call call;
    struct ferry_gpu_info gpu;
    struct ferry_vidmm_segment_info segment;

    if (!info || info->size != sizeof *info)
        return FERRY_ERROR_ARGUMENT;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);
    if (!adapter)
        return umd_not_entered();
    ferry_gpu_query(adapter->gpu, &gpu);
    *info = (struct ferry_adapter_info){
        .size = sizeof *info,
        .contract_version = gpu.contract_version,
        .firmware_version = gpu.firmware_version,
        .rings = gpu.rings,
        .tags = gpu.tags,
        .command_slots = gpu.slots,
        .command_slot_bytes = gpu.slot_bytes,
        .local_bytes = gpu.local_bytes,
        .model = adapter->model,
    };
    memcpy(info->backend, adapter->backend, sizeof info->backend);
    memcpy(info->link, gpu.link.medium, sizeof info->link);
    memcpy(info->device, gpu.link.device, sizeof info->device);
    for (unsigned i = 0; ferry_vidmm_segment(adapter->vidmm, i, &segment) == FERRY_OK; i++) {
        if (segment.flags.Aperture)
            info->aperture_bytes += segment.bytes;
        else
            info->video_memory_bytes += segment.bytes;
    }
    return umd_leave(&call, FERRY_OK);
}

int ferry_adapter_statistics(struct ferry_adapter *handle, struct ferry_statistics *out)
{
    struct umd_call call;
    struct ferry_vidmm_statistics vidmm = {0};

    if (!out || out->size != sizeof *out)
        return FERRY_ERROR_ARGUMENT;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);
    if (!adapter)
        return umd_not_entered();
    int error = ferry_gpu_counters(adapter->gpu, out);
    if (error == FERRY_OK)
        error = ferry_vidmm_statistics(adapter->vidmm, &vidmm);
    if (error == FERRY_OK || error == FERRY_ERROR_CRITICAL) {
        memcpy(out->operations, vidmm.operations, sizeof out->operations);
        out->bytes_in = vidmm.bytes_in;
        out->bytes_out = vidmm.bytes_out;
        out->bytes_discarded = vidmm.bytes_discarded;
        out->bytes_filled = vidmm.bytes_filled;
        out->bytes_moved = vidmm.bytes_moved;
        out->evictions = vidmm.evictions;
        out->paging_buffers = vidmm.paging_buffers;
        out->busy_retries = vidmm.busy_answers;
        out->resident_bytes = vidmm.resident_bytes;
        out->budget_bytes = vidmm.budget_bytes;
        out->dummy_page_writes = vidmm.dummy_page_writes;
        out->renames = vidmm.renames;
        out->discard_stalls = vidmm.discard_stalls;
        out->renamed_bytes = vidmm.renamed_bytes;
        out->uncached_reads = vidmm.uncached_reads;
        out->faults = ferry_kmd_faults(adapter->kmd);
    }
    return umd_leave(&call, error);
}

int ferry_adapter_next_fault(struct ferry_adapter *handle, struct ferry_fault *fault, bool *found)
{
    struct umd_call call;

    if (!fault || !found || fault->size != sizeof *fault)
        return FERRY_ERROR_ARGUMENT;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);
    if (!adapter)
        return umd_not_entered();
    *found = ferry_kmd_next_fault(adapter->kmd, fault);
    fault->size = sizeof *fault;
    return umd_leave(&call, FERRY_OK);
}

int ferry_adapter_set_budget(struct ferry_adapter *handle, uint64_t bytes)
{
    struct umd_call call;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, "set budget");

    if (!adapter)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_set_budget(adapter->vidmm, bytes));
}

int ferry_adapter_flip(struct ferry_adapter *handle, const struct ferry_flip *flip)
{
    struct umd_call call;

    if (!flip || flip->size != sizeof *flip)
        return FERRY_ERROR_ARGUMENT;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);
    if (!adapter)
        return umd_not_entered();
    ferry_kmd_flip(adapter->kmd, flip->out, flip->number, flip->offset);
    return umd_leave(&call, FERRY_OK);
}

int ferry_adapter_flipped(struct ferry_adapter *handle, bool *flipped)
{
    struct umd_call call;

    if (!flipped)
        return FERRY_ERROR_ARGUMENT;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);
    if (!adapter)
        return umd_not_entered();
    *flipped = ferry_kmd_flipped(adapter->kmd);
    return umd_leave(&call, FERRY_OK);
}

int ferry_adapter_reset_engine(struct ferry_adapter *handle)
{
    struct umd_call call;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, "reset engine");

    if (!adapter)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_reset_engine(adapter->vidmm));
}
