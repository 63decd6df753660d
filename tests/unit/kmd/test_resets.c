// SPDX-License-Identifier: Apache-2.0
// Resets: what was aborted, and what was not.
#include "rig.h"

#include "device/device_state.h"
#include "kmd/internal.h"

static void a_reset_reports_the_last_aborted_fence(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
    struct ferry_fault fault;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    submit_user(rig, &commands, allocation, 0, 20);
    wait_for(rig, 2, 20);
    ferry_model_hang(rig->model);
    submit_user(rig, &commands, allocation, 0, 21);
    submit_user(rig, &commands, allocation, 0, 22);
    assert_int_equal(ferry_gpu_wait(rig->gpu, 20000), FERRY_ERROR_TIMEOUT);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 22);
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, 16); // ENGINE_RESET
    assert_int_equal(fault.fence_value, 21);
    submit_user(rig, &commands, allocation, 0, 23);
    wait_for(rig, 2, 23);
    assert_int_equal(rig->notes[rig->note_count - 1].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[rig->note_count - 1].fence, 23);
    assert_int_equal(rig->note_count, 2);
    // A whole-adapter reset leaves the rings empty.
    ferry_model_hang(rig->model);
    for (uint32_t i = 0; i < 9; i++)
        submit_user(rig, &commands, allocation, 0, 30 + i);
    assert_int_equal(rig->kmd->DxgkDdiResetFromTimeout(rig->adapter), STATUS_SUCCESS);
    assert_int_equal(ferry_gpu_ring_pending(rig->gpu, 2), 0);
    assert_int_equal(rig->kmd->DxgkDdiRestartFromTimeout(rig->adapter), STATUS_SUCCESS);
    submit_user(rig, &commands, allocation, 0, 50);
    wait_for(rig, 2, 50);
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
}

// ---- What ends by itself while the reset is under way ----

static struct ferry_gpu_memory late_commands;
static HANDLE late_allocation;

// The device goes on; nobody hears of it before the reset.
static void run_on(struct rig *rig)
{
    for (unsigned i = 0; i < 50; i++)
        ferry_model_run(rig->model, 1000);
}

static void one_more_ends(struct rig *rig)
{
    submit_user(rig, &late_commands, late_allocation, 0, 22);
    run_on(rig);
}

static void one_more_ends_and_one_hangs(struct rig *rig)
{
    one_more_ends(rig);
    ferry_model_hang(rig->model);
    submit_user(rig, &late_commands, late_allocation, 0, 23);
    run_on(rig);
}

static void one_more_faults_and_one_hangs(struct rig *rig)
{
    submit_user(rig, &late_commands, late_allocation, LOCAL_BYTES, 22);
    run_on(rig);
    ferry_model_hang(rig->model);
    submit_user(rig, &late_commands, late_allocation, 0, 23);
    run_on(rig);
}

// 21 has ended and is told by the reset. That is when the rest happens.
static void reset_while(struct rig *rig, void (*meanwhile)(struct rig *rig), uint32_t last, DXGK_INTERRUPT_TYPE of_22)
{
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    late_allocation = make_allocation(rig, 8192, false);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &late_commands), FERRY_OK);
    submit_user(rig, &late_commands, late_allocation, 0, 21);
    run_on(rig);
    assert_int_equal(rig->note_count, 0);
    rig->then = meanwhile;
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, last);
    assert_int_equal(rig->note_count, 2);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[0].fence, 21);
    assert_int_equal(rig->notes[1].type, of_22);
    assert_int_equal(rig->notes[1].fence, 22);
    submit_user(rig, &late_commands, late_allocation, 0, 24);
    wait_for(rig, 2, 24);
    assert_int_equal(rig->note_count, 3);
    assert_int_equal(rig->notes[2].type, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(rig->notes[2].fence, 24);
    ferry_gpu_memory_free(rig->gpu, &late_commands);
    destroy_allocation(rig, late_allocation);
}

static void what_ends_between_the_last_look_and_the_reset_is_told_as_done(void **state)
{
    reset_while(*state, one_more_ends, 22, DXGK_INTERRUPT_DMA_COMPLETED);
}

static void and_only_what_stood_behind_it_was_aborted(void **state)
{
    reset_while(*state, one_more_ends_and_one_hangs, 23, DXGK_INTERRUPT_DMA_COMPLETED);
}

static void and_a_fault_of_its_own_is_told_as_one(void **state)
{
    reset_while(*state, one_more_faults_and_one_hangs, 23, DXGK_INTERRUPT_DMA_FAULTED);
}

// Once around the ring: the one that was cut off had the place of the one that ends as the next reset begins.
static void what_was_cut_off_says_nothing_of_who_has_its_place_next(void **state)
{
    struct rig *rig = *state;
    const uint32_t first = 22 - KMD_RING_ENTRIES; // The number goes round, too.
    HANDLE allocation = make_allocation(rig, 8192, false);
    struct ferry_gpu_memory commands;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    ferry_model_hang(rig->model);
    submit_user(rig, &commands, allocation, 0, first);
    run_on(rig);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_true(reset.LastAbortedFenceId == first);
    for (uint32_t n = 1; n < KMD_RING_ENTRIES - 1; n++) {
        submit_user(rig, &commands, allocation, 0, first + n);
        wait_for(rig, 2, first + n);
    }
    ferry_gpu_memory_free(rig->gpu, &commands);
    destroy_allocation(rig, allocation);
    rig->note_count = 0;
    reset_while(rig, one_more_ends, 22, DXGK_INTERRUPT_DMA_COMPLETED);
}

// ---- A buffer that a reset cuts in the middle of its packets ----

enum { SWAP_PACKETS = 6, SWAP_BYTES = SWAP_PACKETS * FERRY_PACKET_COPY_SIZE };

static void put_copy(uint32_t *packet, uint64_t source, uint64_t destination)
{
    const uint32_t words[8] = {FERRY_OPCODE_COPY | 8 << 16, 0, 64, 0, (uint32_t)source, 0, (uint32_t)destination, 0};

    memcpy(packet, words, sizeof words);
}

// Two times 64 bytes change places, and once more but for the last copy, which goes elsewhere.
static void put_swaps(uint32_t *packets)
{
    const uint64_t a = 0, b = 64, between = 128;

    for (unsigned i = 0; i < SWAP_PACKETS; i += 3) {
        put_copy(packets + 8 * i, a, between);
        put_copy(packets + 8 * i + 8, b, a);
        put_copy(packets + 8 * i + 16, between, b);
    }
    put_copy(packets + 8 * (SWAP_PACKETS - 1), between, b + 128);
}

static void set_bytes(struct rig *rig)
{
    for (unsigned i = 0; i < 256; i++)
        ferry_model_local(rig->model)[i] = (uint8_t)(i / 64 + 1);
}

static void expect_swapped(struct rig *rig)
{
    static const uint8_t swapped[] = {1, 1, 2, 2};

    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(ferry_model_local(rig->model)[i], swapped[i / 64]);
}

static void submit_again(struct rig *rig, const struct ferry_gpu_memory *commands, UINT bytes, uint32_t fence,
                         bool again)
{
    DXGKARG_SUBMITCOMMAND submit = {.hContext = rig->user_context,
                                    .DmaBufferSize = 4096,
                                    .DmaBufferSubmissionEndOffset = bytes,
                                    .pDmaBufferPrivateData = rig->private_data,
                                    .DmaBufferPrivateDataSize = rig->note_bytes,
                                    .DmaBufferPrivateDataSubmissionEndOffset = rig->note_bytes,
                                    .SubmissionFenceId = fence,
                                    .Flags = {.Resubmission = again},
                                    .NodeOrdinal = 2};

    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)commands->bus;
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
}

static void submit_swaps(struct rig *rig, const struct ferry_gpu_memory *commands, uint32_t fence, bool again)
{
    submit_again(rig, commands, SWAP_BYTES, fence, again);
}

static void a_buffer_that_a_reset_cut_goes_on_where_it_was(void **state)
{
    struct rig *rig = *state;
    struct ferry_gpu_memory commands;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
    uint32_t fence = 20;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    put_swaps((uint32_t *)commands.address);
    for (unsigned first = 0; first < SWAP_PACKETS; first++) {
        for (unsigned second = 0; first + second < SWAP_PACKETS; second++) {
            set_bytes(rig);
            // Cut behind `first` packets, then behind `second` more; 0 is before anything, and then nothing of it
            // counts.
            for (unsigned turn = 0; turn < 2; turn++) {
                unsigned packets = turn ? second : first;

                if (packets)
                    ferry_model_inject(rig->model, FERRY_MODEL_HANG_INSIDE, packets);
                else
                    ferry_model_hang(rig->model);
                submit_swaps(rig, &commands, ++fence, turn > 0);
                run_on(rig);
                assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
                assert_int_equal(reset.LastAbortedFenceId, fence);
            }
            submit_swaps(rig, &commands, ++fence, true);
            wait_for(rig, 2, fence);
            expect_swapped(rig);
        }
    }
    // The next buffer there begins at its first packet, whatever the private data holds.
    set_bytes(rig);
    submit_swaps(rig, &commands, ++fence, false);
    wait_for(rig, 2, fence);
    expect_swapped(rig);
    ferry_gpu_memory_free(rig->gpu, &commands);
}

// Its record names the packet by its place in the buffer, wherever it was resumed, and the buffer by its start.
static void a_fault_of_a_buffer_that_went_on_counts_from_its_start(void **state)
{
    struct rig *rig = *state;
    struct ferry_gpu_memory commands;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
    struct ferry_fault fault;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    put_swaps((uint32_t *)commands.address);
    put_copy((uint32_t *)commands.address + 8 * (SWAP_PACKETS - 1), LOCAL_BYTES, 64 + 128);
    for (uint32_t fence = 31; fence < 33; fence++) {
        ferry_model_inject(rig->model, FERRY_MODEL_HANG_INSIDE, 2);
        submit_swaps(rig, &commands, fence, fence > 31);
        run_on(rig);
        assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    }
    submit_swaps(rig, &commands, 33, true);
    wait_for(rig, 2, 33);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
        assert_int_equal(fault.fence_value, 31 + i);
        assert_int_equal(fault.packet_offset, (i < 2 ? 2 * (i + 1) : SWAP_PACKETS - 1) * FERRY_PACKET_COPY_SIZE);
        assert_int_equal(fault.buffer_address, commands.bus);
    }
    assert_false(ferry_kmd_next_fault(rig->adapter, &fault));
    ferry_gpu_memory_free(rig->gpu, &commands);
}

enum { LONG_BYTES = 10000, LONG_PACKETS = 4, NEXT_LONG = 30000, NEXT_APART = 100 };

// As the manager does: the commands anew, patched, then submitted.
static void submit_long_copy(struct rig *rig, const struct ferry_gpu_memory *commands, uint64_t source,
                             uint64_t destination, uint32_t fence, bool again)
{
    const UINT bytes = LONG_PACKETS * FERRY_PACKET_COPY_SIZE;
    uint32_t *packets = commands->address;
    DXGKARG_PATCH patch = {.hContext = rig->user_context,
                           .pDmaBuffer = packets,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = bytes,
                           .pDmaBufferPrivateData = rig->private_data,
                           .DmaBufferPrivateDataSize = rig->note_bytes,
                           .DmaBufferPrivateDataSubmissionEndOffset = rig->note_bytes,
                           .SubmissionFenceId = fence,
                           .NodeOrdinal = 2};

    put_copy(packets, 65536, 65536 + 64);
    put_copy(packets + 8, source, destination);
    packets[8 + FERRY_PACKET_COPY_BYTES / 4] = LONG_BYTES;
    put_copy(packets + 16, NEXT_LONG, NEXT_LONG + NEXT_APART);
    packets[16 + FERRY_PACKET_COPY_BYTES / 4] = LONG_BYTES;
    put_copy(packets + 24, 65536 + 64, 65536 + 128);
    assert_int_equal(patch_places(rig, &patch), STATUS_SUCCESS);
    submit_again(rig, commands, bytes, fence, again);
}

// Of what it wrote over it cannot read again, going up or down, cut once or more, behind so many bytes or more. The
// rest of one whose sides are far apart does not overlap any more: it goes up, and is done again from its start. Of the
// next copy nothing is done yet.
static void a_copy_that_overlaps_itself_goes_on_with_the_rest(void **state)
{
    enum { CUTS = 4 };
    static const struct {
        uint32_t apart, behind[CUTS];
    } cuts[] = {
        {100, {1}},         {100, {1, 1}},     {100, {1, 4000}},     {100, {3000}},        {100, {3000, 1}},
        {100, {6950}},      {6000, {4500, 1}}, {6000, {4500, 1, 1}}, {6000, {1, 4000, 1}}, {6000, {4500, 3000, 1, 1}},
        {100, {6950, 3000}}};
    struct rig *rig = *state;
    static uint8_t expected[65536 + 256];
    struct ferry_gpu_memory commands;
    uint8_t *local = ferry_model_local(rig->model);
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};
    uint32_t fence = 20;

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    for (unsigned i = 0; i < 2 * sizeof cuts / sizeof cuts[0]; i++) {
        const uint32_t *behind = cuts[i / 2].behind;
        uint64_t source = 1000, destination = 1000;

        *(i & 1 ? &destination : &source) += cuts[i / 2].apart;
        for (unsigned k = 0; k < sizeof expected; k++)
            expected[k] = local[k] = (uint8_t)(k * 7 + k / 251 + i);
        memmove(expected + destination, expected + source, LONG_BYTES);
        memmove(expected + NEXT_LONG + NEXT_APART, expected + NEXT_LONG, LONG_BYTES);
        memcpy(expected + 65536 + 64, expected + 65536, 64);
        memcpy(expected + 65536 + 128, expected + 65536, 64);
        for (unsigned turn = 0; turn < CUTS && behind[turn]; turn++) {
            ferry_model_inject(rig->model, FERRY_MODEL_HANG_IN_COPY, behind[turn]);
            submit_long_copy(rig, &commands, source, destination, ++fence, turn > 0);
            run_on(rig);
            assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
            assert_int_equal(reset.LastAbortedFenceId, fence);
        }
        submit_long_copy(rig, &commands, source, destination, ++fence, true);
        wait_for(rig, 2, fence);
        assert_memory_equal(local, expected, sizeof expected);
    }
    ferry_gpu_memory_free(rig->gpu, &commands);
}

// Where the commands stand only Patch says: what it has not seen for this submission is left alone.
static void commands_that_patch_has_not_seen_are_left_alone(void **state)
{
    struct rig *rig = *state;
    struct ferry_gpu_memory commands;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 2};

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    ferry_model_inject(rig->model, FERRY_MODEL_HANG_IN_COPY, 1);
    submit_long_copy(rig, &commands, 1000, 1100, 21, false);
    run_on(rig);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    submit_again(rig, &commands, LONG_PACKETS * FERRY_PACKET_COPY_SIZE, 22, true);
    wait_for(rig, 2, 22);
    assert_int_equal(((uint32_t *)commands.address)[8 + FERRY_PACKET_COPY_BYTES / 4], LONG_BYTES);
    ferry_gpu_memory_free(rig->gpu, &commands);
}

// Our manager submits nothing again that has a fault of its own; one that does has it go on with the command that had.
static void a_buffer_that_faulted_while_another_node_was_reset_goes_on_where_it_was(void **state)
{
    struct rig *rig = *state;
    struct ferry_gpu_memory commands;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 1};

    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    put_swaps((uint32_t *)commands.address);
    put_copy((uint32_t *)commands.address + 8 * (SWAP_PACKETS - 1), LOCAL_BYTES, 64 + 128);
    set_bytes(rig);
    submit_swaps(rig, &commands, 30, false);
    run_on(rig);
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(rig->notes[0].fence, 30);
    put_swaps((uint32_t *)commands.address);
    submit_swaps(rig, &commands, 31, true);
    wait_for(rig, 2, 31);
    expect_swapped(rig);
    ferry_gpu_memory_free(rig->gpu, &commands);
}

// ---- A link that fails once ----

static struct ferry_link_operations failing_operations;
static const struct ferry_link_operations *own_operations;
static unsigned fail_status_read, fail_consumed_write;

static int failing_read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    if (bar == FERRY_BAR_REGISTERS && offset == FERRY_BAR0_INTERRUPT_STATUS && fail_status_read &&
        !--fail_status_read) {
        *value = ~0u;
        return FERRY_ERROR_TIMEOUT;
    }
    return own_operations->read32(link, bar, offset, value);
}

static int failing_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    if (bar == FERRY_BAR_REGISTERS && offset == FERRY_BAR0_FAULT_LOG_CONSUMED && fail_consumed_write &&
        !--fail_consumed_write)
        return FERRY_ERROR_TIMEOUT;
    return own_operations->write32(link, bar, offset, value);
}

static void fail_once(struct rig *rig)
{
    own_operations = rig->link->operations;
    failing_operations = *own_operations;
    failing_operations.read32 = failing_read32;
    failing_operations.write32 = failing_write32;
    rig->link->operations = &failing_operations;
    late_allocation = make_allocation(rig, 8192, false);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &late_commands), FERRY_OK);
}

static void end_failing(struct rig *rig)
{
    ferry_gpu_memory_free(rig->gpu, &late_commands);
    destroy_allocation(rig, late_allocation);
}

// The causes are cleared by then: who is not told now never is.
static void causes_that_were_cleared_are_told_of_though_the_read_back_fails(void **state)
{
    struct rig *rig = *state;

    fail_once(rig);
    submit_user(rig, &late_commands, late_allocation, 0, 21);
    fail_status_read = 2;
    for (unsigned i = 0; i < 20; i++)
        ferry_gpu_run(rig->gpu, 10000);
    assert_int_equal(fail_status_read, 0);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].fence, 21);
    end_failing(rig);
}

static void a_fault_is_not_lost_with_the_write_that_takes_it(void **state)
{
    struct rig *rig = *state;

    fail_once(rig);
    fail_consumed_write = 1;
    submit_user(rig, &late_commands, late_allocation, LOCAL_BYTES, 21);
    for (unsigned i = 0; i < 20; i++)
        ferry_gpu_run(rig->gpu, 10000);
    rig->kmd->DxgkDdiInterruptRoutine(rig->adapter, 0);
    assert_int_equal(fail_consumed_write, 0);
    assert_int_equal(rig->note_count, 1);
    assert_int_equal(rig->notes[0].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 1);
    end_failing(rig);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_reset_reports_the_last_aborted_fence),
        CASE(what_ends_between_the_last_look_and_the_reset_is_told_as_done),
        CASE(and_only_what_stood_behind_it_was_aborted),
        CASE(and_a_fault_of_its_own_is_told_as_one),
        CASE(what_was_cut_off_says_nothing_of_who_has_its_place_next),
        CASE(a_buffer_that_a_reset_cut_goes_on_where_it_was),
        CASE(a_fault_of_a_buffer_that_went_on_counts_from_its_start),
        CASE(a_copy_that_overlaps_itself_goes_on_with_the_rest),
        CASE(commands_that_patch_has_not_seen_are_left_alone),
        CASE(a_buffer_that_faulted_while_another_node_was_reset_goes_on_where_it_was),
        CASE(causes_that_were_cleared_are_told_of_though_the_read_back_fails),
        CASE(a_fault_is_not_lost_with_the_write_that_takes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
