// SPDX-License-Identifier: Apache-2.0
// A reset of everything, a stop and a start leave empty rings behind. What stood there unfetched does not run on the
// way: a stop's caller gives memory back, and what comes behind a start finds it as it was.
#include "rig.h"

#include "device/device_state.h"
#include "kmd/internal.h"

#define JOBS   8u  // More than the device has places for.
#define COPIES 40u // Of a job, each of a page: it takes longer than to empty the rings.
#define PAGE   4096u
#define TO     16u // Page that the first one writes.

static struct ferry_gpu_memory commands;
static bool refused; // The next write of CONTROL is not taken.

static struct ferry_link_operations slow;
static const struct ferry_link_operations *own;

// The device works on while registers are read, also where the link takes no time by itself.
static int slow_read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    unsigned reasons;

    own->pump(link, 300, &reasons);
    return own->read32(link, bar, offset, value);
}

static int slow_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    if (refused && bar == FERRY_BAR_REGISTERS && offset == FERRY_BAR0_CONTROL) {
        refused = false;
        return FERRY_ERROR_TIMEOUT;
    }
    return own->write32(link, bar, offset, value);
}

static void make_link_slow(struct rig *rig)
{
    own = rig->link->operations;
    slow = *own;
    slow.read32 = slow_read32;
    slow.write32 = slow_write32;
    rig->link->operations = &slow;
}

// The job copies a page from one place to another, again and again.
static void submit(struct rig *rig, uint32_t job, uint32_t fence)
{
    uint8_t *at = (uint8_t *)commands.address + job * PAGE;
    D3DDDI_PATCHLOCATIONLIST places[2 * COPIES];
    DXGKARG_PATCH patch = {.hContext = rig->user_context,
                           .pDmaBuffer = at,
                           .DmaBufferSize = PAGE,
                           .DmaBufferSubmissionEndOffset = COPIES * FERRY_PACKET_COPY_SIZE,
                           .pPatchLocationList = places,
                           .PatchLocationListSize = 2 * COPIES,
                           .PatchLocationListSubmissionLength = 2 * COPIES,
                           .NodeOrdinal = 2};
    DXGKARG_SUBMITCOMMAND submit = {.hContext = rig->user_context,
                                    .DmaBufferSize = PAGE,
                                    .DmaBufferSubmissionEndOffset = COPIES * FERRY_PACKET_COPY_SIZE,
                                    .SubmissionFenceId = fence,
                                    .NodeOrdinal = 2};

    for (uint32_t i = 0; i < COPIES; i++) {
        uint32_t packet[8] = {FERRY_OPCODE_COPY | 8 << 16, 0, PAGE};

        memcpy(at + i * sizeof packet, packet, sizeof packet);
        for (uint32_t write = 0; write < 2; write++)
            places[2 * i + write] = (D3DDDI_PATCHLOCATIONLIST){
                .DriverId =
                    FERRY_KMD_PATCH_ID(i * sizeof packet, write ? FERRY_KMD_PATCH_DESTINATION : FERRY_KMD_PATCH_SOURCE),
                .AllocationOffset = (write ? TO + job : job) * PAGE,
                .PatchOffset =
                    i * (UINT)sizeof packet + (write ? FERRY_PACKET_COPY_DESTINATION : FERRY_PACKET_COPY_SOURCE)};
    }
    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)(commands.bus + (uint64_t)job * PAGE);
    assert_int_equal(patch_places(rig, &patch), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
}

static void set_pages(struct rig *rig)
{
    uint8_t page[PAGE];

    for (uint32_t i = 0; i < 2 * TO; i++) {
        memset(page, i < TO ? 1 : 2, sizeof page);
        assert_int_equal(ferry_gpu_window_write(rig->gpu, i * PAGE, page, sizeof page), FERRY_OK);
    }
}

// From this job on none has written a byte.
static void expect_none_has_run(struct rig *rig, uint32_t job)
{
    uint8_t page[PAGE];

    assert_true(job < JOBS - 2);
    for (; job < JOBS; job++) {
        assert_int_equal(ferry_gpu_window_read(rig->gpu, (TO + job) * PAGE, page, sizeof page), FERRY_OK);
        for (uint32_t i = 0; i < PAGE; i++)
            if (page[i] != 2)
                fail_msg("job %u has run", job);
    }
}

static void hang(struct rig *rig)
{
#ifdef RIG_ON_SIM
    (void)rig; // Its jobs take their time.
#else
    ferry_model_hang(rig->model);
#endif
}

static void what_was_not_fetched_does_not_run_while_rings_are_emptied(void **state)
{
    enum { RESET, STOP, START, WAYS };
    struct rig *rig = *state;
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, JOBS * PAGE, 0, &commands), FERRY_OK);
    make_link_slow(rig);
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t before = ferry_gpu_ring_newest(rig->gpu, 2), fetched;

        set_pages(rig);
        hang(rig);
        for (uint32_t job = 0; job < JOBS; job++)
            submit(rig, job, 1 + job);
        assert_int_equal(ferry_gpu_read32(rig->gpu,
                                          FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_FETCHED,
                                          &fetched),
                         FERRY_OK);
        if (way == RESET)
            assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_SUCCESS);
        refused = way == START;
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
        assert_false(refused);
        assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 2) != 0, way == START);
        assert_int_equal(rig->kmd->DxgkDdiStartDevice(rig->adapter, &os), STATUS_SUCCESS);
        for (uint32_t node = 0; node < KMD_RINGS; node++)
            assert_int_equal(ferry_gpu_ring_pending(rig->gpu, node), 0);
        expect_none_has_run(rig, fetched - before);
        submit(rig, 0, 1); // What comes now runs.
        wait_for(rig, 2, 1);
    }
    ferry_gpu_memory_free(rig->gpu, &commands);
}

// Each that is cut off has a record, and where the log is full the device waits until somebody takes them.
static void more_is_cut_off_than_the_fault_log_holds(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, JOBS * PAGE, 0, &commands), FERRY_OK);
    hang(rig);
    for (uint32_t job = 0; job < KMD_RING_ENTRIES; job++)
        submit(rig, job % JOBS, 1 + job);
    assert_true(KMD_RING_ENTRIES > (1u << FERRY_GPU_FAULT_LOG_LOG2));
    assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_SUCCESS);
    assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 2), 0);
    submit(rig, 0, 1000);
    wait_for(rig, 2, 1000);
    ferry_gpu_memory_free(rig->gpu, &commands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(what_was_not_fetched_does_not_run_while_rings_are_emptied),
                                       CASE(more_is_cut_off_than_the_fault_log_holds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
