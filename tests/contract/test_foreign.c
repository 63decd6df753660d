// SPDX-License-Identifier: Apache-2.0
// What another miniport may do and ours does not, and what no miniport may be made to bear: the miniport under test
// with some of its entry points, or of what it tells, made another's.
#include "vidmm/api/manager.h"
#include "world.h"

static DRIVER_INITIALIZATION_DATA table;

// ---- Page faults ----

static VOID (*notify)(HANDLE, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *);

// A fault of a buffer's own is told as the page fault that it was.
static VOID notify_page_fault(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA told = *data;
    if (data->InterruptType == DXGK_INTERRUPT_DMA_FAULTED) {
        memset(&told, 0, sizeof(told));
        told.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
        told.DmaPageFaulted.FaultedFenceId = data->DmaFaulted.FaultedFenceId;
        told.DmaPageFaulted.NodeOrdinal = data->DmaFaulted.NodeOrdinal;
        told.DmaPageFaulted.FaultedVirtualAddress = UINT64_C(0x123456789000);
    }
    notify(handle, &told);
}

static void a_page_fault_is_the_fault_of_its_job(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    DXGKRNL_INTERFACE *interface = &world->manager->sched.interface;
    notify = interface->DxgkCbNotifyInterrupt;
    interface->DxgkCbNotifyInterrupt = notify_page_fault;
    D3DKMT_HANDLE one = world_create(world, PAGES(4), CPU);
    world_require(world, one);
    uint64_t good = world_gpu_name(world, world->context, one, true);
    world->knobs->fault_jobs = 1;
    uint64_t faulted = world_gpu_name(world, world->context, one, true),
             next = world_gpu_name(world, world->context, one, true);
    world_wait(world, next);
    world_wait(world, good);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, faulted), FERRY_ERROR_FAULT);
    assert_int_equal(world_statistics(world).faulted_jobs, 1);
    world_close(world);
}

// ---- The end ----

static struct {
    const DRIVER_INITIALIZATION_DATA *real;
    bool stopped;
    unsigned devices, contexts, processes, behind;
} end;

static void count(unsigned *calls)
{
    ++*calls;
    end.behind += end.stopped;
}

static NTSTATUS stop_device(HANDLE adapter)
{
    end.stopped = true;
    return end.real->DxgkDdiStopDevice(adapter);
}

static NTSTATUS destroy_device(HANDLE device)
{
    count(&end.devices);
    return end.real->DxgkDdiDestroyDevice(device);
}

static NTSTATUS destroy_context(HANDLE context)
{
    count(&end.contexts);
    return end.real->DxgkDdiDestroyContext(context);
}

static NTSTATUS destroy_process(HANDLE adapter, HANDLE process)
{
    count(&end.processes);
    return end.real->DxgkDdiDestroyProcess(adapter, process);
}

// A driver may have taken its device apart by then.
static void nothing_is_called_behind_the_stop(void **state)
{
    (void)state;
    for (unsigned model = 1; model <= 2; model++) {
        struct world_options options = world_defaults();
        options.machine.model = model;
        struct world *world = world_open(&options);
        memset(&end, 0, sizeof(end));
        end.real = world->manager->core.miniport;
        table = *end.real;
        table.DxgkDdiStopDevice = stop_device;
        table.DxgkDdiDestroyDevice = destroy_device;
        table.DxgkDdiDestroyContext = destroy_context;
        table.DxgkDdiDestroyProcess = destroy_process;
        world->manager->core.miniport = &table;
        D3DKMT_HANDLE process;
        assert_int_equal(ferry_vidmm_create_process(world->manager, NULL, &process), FERRY_OK);
        if (model == 2) {
            // And the paging process, which comes with the first zeros.
            struct ferry_vidmm_virtual zeros = {.size = sizeof(zeros), .bytes = 65536, .reservation = FERRY_VIDMM_ZERO};
            assert_int_equal(ferry_vidmm_reserve_virtual(world->manager, world->device, &zeros), FERRY_OK);
        }
        world_close(world);
        assert_true(end.stopped);
        assert_int_equal(end.devices, 2);
        assert_int_equal(end.contexts, 2);
        assert_int_equal(end.processes, model == 2 ? 3 : 0);
        assert_int_equal(end.behind, 0);
    }
}

// ---- What this manager does not do ----

static const DRIVER_INITIALIZATION_DATA *real;
static unsigned destroyed;

static NTSTATUS context_with_buffers_in_a_segment(HANDLE device, DXGKARG_CREATECONTEXT *argument)
{
    NTSTATUS status = real->DxgkDdiCreateContext(device, argument);
    argument->ContextInfo.DmaBufferSegmentSet = 1;
    return status;
}

static NTSTATUS destroy_and_count(HANDLE context)
{
    destroyed++;
    return real->DxgkDdiDestroyContext(context);
}

// The manager has jobs' buffers in system memory; a device that fetches from elsewhere would run what is there.
static void jobs_buffers_in_a_segment_are_refused(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE context = 0;
    real = world->manager->core.miniport;
    table = *real;
    table.DxgkDdiCreateContext = context_with_buffers_in_a_segment;
    table.DxgkDdiDestroyContext = destroy_and_count;
    world->manager->core.miniport = &table;
    destroyed = 0;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &context, NULL),
                     FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(context, 0);
    assert_int_equal(destroyed, 1);
    world->manager->core.miniport = real;
    world_close(world);
}

static const DXGK_SEGMENTDESCRIPTOR4 *besides;

// Each segment says that too.
static NTSTATUS other_segments(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    NTSTATUS status = real->DxgkDdiQueryAdapterInfo(adapter, argument);
    DXGK_QUERYSEGMENTOUT4 *out = argument->pOutputData;
    for (UINT i = 0; argument->Type == DXGKQAITYPE_QUERYSEGMENT4 && out->pSegmentDescriptor && i < out->NbSegment;
         i++) {
        DXGK_SEGMENTDESCRIPTOR4 *segment = (void *)(out->pSegmentDescriptor + i * out->SegmentDescriptorStride);
        segment->Flags.Value |= besides->Flags.Value;
        segment->NumInvalidMemoryRanges = besides->NumInvalidMemoryRanges;
        segment->NumUEFIFrameBufferRanges = besides->NumUEFIFrameBufferRanges;
    }
    return status;
}

// Content would be put where it must not be, or reach into its neighbour.
static void segments_that_ask_for_more_are_refused(void **state)
{
    (void)state;
    const DXGK_SEGMENTDESCRIPTOR4 cases[] = {{.Flags.ApplicationTarget = 1},
                                             {.Flags.Use64KBPages = 1},
                                             {.Flags.PitchAlignment = 1},
                                             {.NumInvalidMemoryRanges = 1},
                                             {.NumUEFIFrameBufferRanges = 1}};
    const struct world_options world = world_defaults();
    struct machine *machine = machine_open(&world.machine);
    real = ferry_test_miniport();
    table = *real;
    table.DxgkDdiQueryAdapterInfo = other_segments;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ferry_vidmm *manager = NULL;
        const struct ferry_vidmm_options options = {.size = sizeof(options),
                                                    .miniport = &table,
                                                    .miniport_device_context = machine_adapter(machine),
                                                    .platform = machine_platform(machine)};
        besides = &cases[i];
        assert_int_equal(ferry_vidmm_start(&options, &manager), i == 0 ? FERRY_OK : FERRY_ERROR_UNSUPPORTED);
        ferry_vidmm_stop(manager);
    }
    machine_close(machine);
}

static NTSTATUS build_nothing(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument)
{
    (void)adapter, (void)argument;
    return STATUS_NOT_IMPLEMENTED;
}

// Who writes a driver learns which rule it broke, though there is no manager that could be asked.
static void a_start_that_stops_tells_why(void **state)
{
    (void)state;
    const struct world_options world = world_defaults();
    struct machine *machine = machine_open(&world.machine);
    struct ferry_vidmm *manager = NULL;
    struct ferry_vidmm_critical why = {.code = FERRY_CRITICAL_NONE};
    table = *ferry_test_miniport();
    table.DxgkDdiBuildPagingBuffer = build_nothing;
    struct ferry_vidmm_options options = {.size = sizeof(options),
                                          .miniport = &table,
                                          .miniport_device_context = machine_adapter(machine),
                                          .platform = machine_platform(machine)};
    assert_int_equal(ferry_vidmm_start(&options, &manager), FERRY_ERROR_CRITICAL);
    options.why = &why;
    assert_int_equal(ferry_vidmm_start(&options, &manager), FERRY_ERROR_CRITICAL);
    assert_null(manager);
    assert_int_equal(why.code, FERRY_CRITICAL_BAD_STATUS);
    assert_int_equal(why.status, STATUS_NOT_IMPLEMENTED);
    assert_int_equal(why.operation, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
    assert_false(ferry_vidmm_critical(manager, &why));
    assert_int_equal(why.code, FERRY_CRITICAL_NONE);
    assert_false(ferry_vidmm_critical(manager, NULL));
    machine_close(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_fault_is_the_fault_of_its_job),
        cmocka_unit_test(nothing_is_called_behind_the_stop),
        cmocka_unit_test(jobs_buffers_in_a_segment_are_refused),
        cmocka_unit_test(segments_that_ask_for_more_are_refused),
        cmocka_unit_test(a_start_that_stops_tells_why),
    };
    return WORLD_RUN(tests);
}
