// SPDX-License-Identifier: Apache-2.0
// The adapter's life, and the table of entry points.
#include <stdlib.h>
#include <string.h>

#include "kmd/internal.h"
#include "kmd/writer.h"

static NTSTATUS add(struct ferry_gpu *gpu, unsigned model, unsigned ways, HANDLE *MiniportDeviceContext)
{
    struct ferry_gpu_info info;

    if (!gpu || !MiniportDeviceContext)
        return STATUS_INVALID_PARAMETER;
    ferry_gpu_query(gpu, &info);
    if (model == 2 && !info.page_tables)
        return STATUS_NOT_SUPPORTED;
    struct kmd_adapter *adapter = calloc(1, sizeof *adapter);
    if (!adapter)
        return STATUS_NO_MEMORY;
    adapter->gpu = gpu;
    adapter->info = info;
    adapter->model = model;
    adapter->iommu = ways & FERRY_KMD_IOMMU;
    adapter->by_address = ways & FERRY_KMD_BY_ADDRESS;
    adapter->host_tables = ways & FERRY_KMD_HOST_TABLES;
    adapter->hazards = calloc(KMD_HAZARD_SLOTS, sizeof *adapter->hazards);
    if (!adapter->hazards) {
        free(adapter);
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_init(&adapter->fault_lock, NULL);
    *MiniportDeviceContext = adapter;
    return STATUS_SUCCESS;
}

static NTSTATUS add_device(VOID *PhysicalDevice, HANDLE *MiniportDeviceContext)
{
    return add(PhysicalDevice, 1, 0, MiniportDeviceContext);
}

static void free_pages(struct kmd_adapter *adapter)
{
    ferry_gpu_memory_free(adapter->gpu, &adapter->command);
    ferry_gpu_memory_free(adapter->gpu, &adapter->dummy_page);
}

static NTSTATUS remove_device(HANDLE hAdapter)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter)
        return STATUS_INVALID_PARAMETER;
    free_pages(adapter);
    pthread_mutex_destroy(&adapter->fault_lock);
    free(adapter->faults);
    free(adapter->hazards);
    free(adapter);
    return STATUS_SUCCESS;
}

// Whoever had the device before us, or we ourselves until it was stopped, may have left spaces with page tables, whose
// memory is another's by now. A program that is given such a space has jobs before it has mapped anything.
static uint32_t end_spaces(uint8_t *at)
{
    struct writer w = {.at = at, .room = KMD_SPACES * (FERRY_PACKET_ROOT_SIZE + FERRY_PACKET_FORGET_SIZE)};

    for (uint32_t space = 0; space < KMD_SPACES; space++) {
        put_header(&w, FERRY_OPCODE_ROOT, FERRY_PACKET_ROOT_SIZE, false, 0);
        put32(&w, FERRY_PUT(FERRY_PACKET_ROOT_SPACE_SPACE, space));
        put32(&w, 0);
        put64(&w, 0);
        put_header(&w, FERRY_OPCODE_FORGET, FERRY_PACKET_FORGET_SIZE, false, 0);
        put32(&w, FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SCOPE, FERRY_FORGET_SCOPE_SPACE) |
                      FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SPACE, space));
        put32(&w, 0);
        put64(&w, 0);
    }
    return w.written;
}

// Every aperture page leads somewhere from the first moment on (R75): one packet points them all at a page of ours. And
// in driver model 2 every space leads nowhere.
// FAULT when the device could not carry it out, and tells so in its log: where the pages lead is not known then.
static int begin_memory(struct kmd_adapter *adapter)
{
    uint32_t packet[6] = {0}, number, bytes = sizeof packet;
    int error = FERRY_OK;

    if (!adapter->dummy_page.address)
        error = ferry_gpu_memory_allocate(adapter->gpu, PAGE_SIZE, 0, &adapter->dummy_page);
    if (error == FERRY_OK && !adapter->command.address)
        error = ferry_gpu_memory_allocate(adapter->gpu, PAGE_SIZE, 0, &adapter->command);
    if (error != FERRY_OK)
        return error;
    packet[0] =
        FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, FERRY_OPCODE_UNMAP_APERTURE) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, 6u);
    packet[FERRY_PACKET_UNMAP_APERTURE_COUNT / 4] = adapter->info.aperture_pages;
    packet[FERRY_PACKET_UNMAP_APERTURE_DUMMY_PAGE / 4] = (uint32_t)adapter->dummy_page.bus;
    packet[FERRY_PACKET_UNMAP_APERTURE_DUMMY_PAGE / 4 + 1] = (uint32_t)(adapter->dummy_page.bus >> 32);
    memcpy(adapter->command.address, packet, sizeof packet);
    if (adapter->model == 2)
        bytes += end_spaces((uint8_t *)adapter->command.address + bytes);
    struct ferry_gpu_entry entry = {.buffer_address = adapter->command.bus, .buffer_bytes = bytes};
    error = ferry_gpu_ring_submit(adapter->gpu, KMD_PAGING_RING, &entry, &number);
    adapter->rings[KMD_PAGING_RING].lost = error == FERRY_ERROR_DEVICE_LOST;
    if (error != FERRY_OK)
        return error;
    error = ferry_gpu_wait_retired(adapter->gpu, KMD_PAGING_RING, number, 0);
    adapter->rings[KMD_PAGING_RING].submitted = number;
    adapter->rings[KMD_PAGING_RING].notified = number;
    struct ferry_gpu_fence fence;
    if (error == FERRY_OK)
        error = ferry_gpu_ring_completed(adapter->gpu, KMD_PAGING_RING, &fence);
    return error == FERRY_OK && fence.status != FERRY_BUFFER_STATUS_SUCCESS ? FERRY_ERROR_FAULT : error;
}

static NTSTATUS stop_device(HANDLE hAdapter)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter)
        return STATUS_INVALID_PARAMETER;
    adapter->started = false;
    // What a ring still holds of ours names memory that goes now: the pages below, and buffers of the manager's. So it
    // is when a start fails half-way, or a manager gives the device up; and the next start needs a ring that goes on.
    // Where nothing can be taken back, for want of a link it may be, our pages stay for the next start.
    bool quiet = !kmd_pending(adapter) || kmd_reset_from_timeout(adapter) == STATUS_SUCCESS;
    kmd_release_all_ranges(adapter);
    if (quiet)
        free_pages(adapter);
    return STATUS_SUCCESS;
}

// User rings reach video memory and the aperture, and nothing else: no bus address, no aperture table.
static int make_ring(struct kmd_adapter *adapter, uint32_t number)
{
    struct kmd_ring *ring = &adapter->rings[number];
    uint32_t tables = adapter->model == 2 ? FERRY_GPU_RIGHT_TABLES : 0;
    uint32_t rights = number == KMD_PAGING_RING ? FERRY_GPU_RIGHT_SYSTEM | FERRY_GPU_RIGHT_APERTURE | tables : 0;
    int error = ring->made ? FERRY_OK : ferry_gpu_ring_create(adapter->gpu, number, KMD_RING_ENTRIES_LOG2, rights);

    // What an earlier start left is over, and its fences are nobody's any more.
    *ring = (struct kmd_ring){.made = ring->made || error == FERRY_OK,
                              .lost = ring->lost,
                              .submitted = ring->submitted,
                              .notified = ring->submitted};
    return error;
}

static bool can_be_called(const DXGKRNL_INTERFACE *os)
{
    return os && os->Size >= sizeof *os && os->Version == DXGKRNL_INTERFACE_VERSION && os->DxgkCbNotifyInterrupt &&
           os->DxgkCbNotifyDpc && os->DxgkCbQueueDpc;
}

static NTSTATUS start_device(HANDLE hAdapter, const DXGKRNL_INTERFACE *DxgkInterface)
{
    struct kmd_adapter *adapter = hAdapter;
    int error = FERRY_OK;

    if (!adapter || !can_be_called(DxgkInterface) || adapter->started)
        return STATUS_INVALID_PARAMETER;
    if (adapter->info.rings < KMD_RINGS)
        return STATUS_DEVICE_NOT_READY;
    adapter->os = *DxgkInterface;
    for (uint32_t ring = 0; ring < KMD_RINGS && error == FERRY_OK; ring++)
        error = make_ring(adapter, ring);
    NTSTATUS status = kmd_status(error);
    // What a stop could not take back would run beside what comes now. And a ring that a lost doorbell has closed takes
    // work again behind this.
    if (status == STATUS_SUCCESS && (adapter->reset_failed || kmd_pending(adapter)))
        status = kmd_reset_from_timeout(adapter);
    if (status == STATUS_SUCCESS)
        status = kmd_status(begin_memory(adapter));
    if (status != STATUS_SUCCESS) {
        stop_device(adapter);
        return status;
    }
    adapter->started = true;
    return STATUS_SUCCESS;
}

// What both driver models have in common.
#define ENTRY_POINTS                                                                                                   \
    .DxgkDdiStartDevice = start_device, .DxgkDdiStopDevice = stop_device, .DxgkDdiRemoveDevice = remove_device,        \
    .DxgkDdiInterruptRoutine = kmd_interrupt_routine, .DxgkDdiDpcRoutine = kmd_dpc_routine,                            \
    .DxgkDdiQueryAdapterInfo = kmd_query_adapter_info, .DxgkDdiCreateDevice = kmd_create_device,                       \
    .DxgkDdiDestroyDevice = kmd_destroy_device, .DxgkDdiCreateContext = kmd_create_context,                            \
    .DxgkDdiDestroyContext = kmd_destroy_context, .DxgkDdiCreateAllocation = kmd_create_allocation,                    \
    .DxgkDdiDestroyAllocation = kmd_destroy_allocation, .DxgkDdiBuildPagingBuffer = kmd_build_paging_buffer,           \
    .DxgkDdiPatch = kmd_patch, .DxgkDdiSubmitCommand = kmd_submit_command,                                             \
    .DxgkDdiPreemptCommand = kmd_preempt_command, .DxgkDdiQueryCurrentFence = kmd_query_current_fence,                 \
    .DxgkDdiResetEngine = kmd_reset_engine, .DxgkDdiResetFromTimeout = kmd_reset_from_timeout,                         \
    .DxgkDdiRestartFromTimeout = kmd_restart_from_timeout, .DxgkDdiGetNodeMetadata = kmd_get_node_metadata

static const DRIVER_INITIALIZATION_DATA table = {
    .Version = DXGKDDI_WDDMv3_0,
    .DxgkDdiAddDevice = add_device,
    ENTRY_POINTS,
    .DxgkDdiAcquireSwizzlingRange = kmd_acquire_range,
    .DxgkDdiReleaseSwizzlingRange = kmd_release_range,
};

// And those with page tables, of which there is one for each way: AddDevice is told nothing but the device.
#define MODEL_2(WAYS)                                                                                                  \
    static NTSTATUS add_device_##WAYS(VOID *PhysicalDevice, HANDLE *MiniportDeviceContext)                             \
    {                                                                                                                  \
        return add(PhysicalDevice, 2, WAYS, MiniportDeviceContext);                                                    \
    }                                                                                                                  \
    static const DRIVER_INITIALIZATION_DATA table_##WAYS = {                                                           \
        .Version = DXGKDDI_WDDMv3_0,                                                                                   \
        .DxgkDdiAddDevice = add_device_##WAYS,                                                                         \
        ENTRY_POINTS,                                                                                                  \
        .DxgkDdiCreateProcess = kmd_create_process,                                                                    \
        .DxgkDdiDestroyProcess = kmd_destroy_process,                                                                  \
    }
MODEL_2(0);
MODEL_2(1);
MODEL_2(2);
MODEL_2(3);
MODEL_2(4);
MODEL_2(5);
MODEL_2(6);
MODEL_2(7);

const DRIVER_INITIALIZATION_DATA *ferry_kmd_miniport(void)
{
    return &table;
}

const DRIVER_INITIALIZATION_DATA *ferry_kmd_miniport_model2(unsigned ways)
{
    static const DRIVER_INITIALIZATION_DATA *const tables[] = {&table_0, &table_1, &table_2, &table_3,
                                                               &table_4, &table_5, &table_6, &table_7};
    return ways < sizeof tables / sizeof tables[0] ? tables[ways] : NULL;
}
