// SPDX-License-Identifier: Apache-2.0
// The device layer over a fake link: who waits in turns for what a device tells, and one that tells and tells.
#include <string.h>

#include "device/device_state.h"
#include "link/problem.h"
#include "rig.h"

#define MOST_TURNS 3000u

static struct ferry_gpu_progress progress;

/// Turns until one is in vain; MOST_TURNS when none is.
static unsigned turns(struct state *state)
{
    unsigned n = 0;
    int error = FERRY_OK;
    while (n < MOST_TURNS && error == FERRY_OK) {
        error = ferry_gpu_wait_progress(state->gpu, &progress);
        n++;
    }
    assert_true(error == FERRY_OK || error == FERRY_ERROR_TIMEOUT);
    return n;
}

static void hang_one(struct state *state)
{
    const struct ferry_gpu_entry entry = {0};
    state->fake->retire_cycles = 0;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_OK);
}

static void begin(struct state *state)
{
    progress = (struct ferry_gpu_progress){0};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 0, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 7), FERRY_OK);
    hang_one(state);
    state->fake->tells = true;
}

// Turns are as long together as one of who hears nothing; and the next one has as much again.
void turns_come_to_an_end_though_each_brings_something(void **context)
{
    struct state *state = *context;
    begin(state);
    state->fake->tells_every = 15000;
    for (unsigned n = 0; n < 2; n++) {
        const uint64_t before = ferry_gpu_cycles(state->gpu);
        assert_true(turns(state) < MOST_TURNS);
        const uint64_t passed = ferry_gpu_cycles(state->gpu) - before;
        // The words are looked at twice.
        assert_in_range(passed, FERRY_GPU_DEFAULT_TIMEOUT, 3 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT);
    }
}

// Nor does a clock that hardly goes keep who waits, for an entry of his or in turns.
void turns_come_to_an_end_without_time(void **context)
{
    struct state *state = *context;
    begin(state);
    state->fake->timeless = true;
    assert_true(turns(state) < MOST_TURNS);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, 1, 0), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, 1, 70000), FERRY_ERROR_TIMEOUT);
}

// What goes on is waited for: entries that come or end, of any ring, and words.
void turns_go_on_while_something_does(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    begin(state);
    state->fake->timeless = true;
    state->fake->moving = FERRY_BAR0_COUNTER_HOST_READ_BEATS;
    assert_int_equal(turns(state), MOST_TURNS);
    state->fake->moving = 0;
    assert_true(turns(state) < MOST_TURNS);
    for (unsigned n = 0; n < 8; n++) {
        for (unsigned turn = 0; turn < 900; turn++)
            assert_int_equal(ferry_gpu_wait_progress(state->gpu, &progress), FERRY_OK);
        hang_one(state);
    }
    // The other ring's are done, and those of this one are not.
    for (unsigned n = 0; n < 8; n++) {
        for (unsigned turn = 0; turn < 900; turn++)
            assert_int_equal(ferry_gpu_wait_progress(state->gpu, &progress), FERRY_OK);
        state->fake->doorbell_at[1] = UINT64_MAX / 2;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 0, &entry, NULL), FERRY_OK);
        progress.submitted++; // As if it had been there.
        state->fake->retire_cycles = 1;
    }
    assert_true(turns(state) < MOST_TURNS);
}

// What was told long ago says nothing of an entry that is submitted now.
void a_wait_of_before_is_not_counted(void **context)
{
    struct state *state = *context;
    begin(state);
    state->fake->tells_every = 15000;
    assert_int_equal(ferry_gpu_wait_progress(state->gpu, &progress), FERRY_OK);
    state->fake->tells = false;
    assert_int_equal(ferry_gpu_run(state->gpu, 5 * (uint64_t)FERRY_GPU_DEFAULT_TIMEOUT), FERRY_OK);
    state->fake->tells = true;
    hang_one(state);
    const uint64_t before = ferry_gpu_cycles(state->gpu);
    assert_true(turns(state) < MOST_TURNS);
    assert_true(ferry_gpu_cycles(state->gpu) - before >= FERRY_GPU_DEFAULT_TIMEOUT);
    // Who hears nothing is told so as ever.
    state->fake->tells = false;
    assert_int_equal(ferry_gpu_wait_progress(state->gpu, &progress), FERRY_ERROR_TIMEOUT);
}

/// What the ring's record says by now: so many entries of it are done.
static void tell_retired(struct state *state, uint32_t ring, uint32_t retired)
{
    const volatile struct ferry_fence_record *record = state->gpu->ring[ring].fence;
    ((volatile struct ferry_fence_record *)(uintptr_t)record)->retired = retired;
}

static void is_lost(struct state *state, const char *why)
{
    const struct ferry_gpu_entry entry = {0};
    struct ferry_gpu_fence fence;
    ferry_problem_clear();
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 1, &fence), FERRY_OK);
    assert_int_equal(fence.retired, 1);
    if (strstr(ferry_problem(), why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, ferry_problem());
    assert_int_equal(ferry_gpu_ring_pending(state->gpu, 1), 1);
    assert_int_equal(ferry_gpu_wait(state->gpu, 0), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_gpu_wait_progress(state->gpu, &progress), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, 2, 0), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_ERROR_DEVICE_LOST);
}

static void one_done_one_hangs(struct state *state)
{
    const struct ferry_gpu_entry entry = {0};
    progress = (struct ferry_gpu_progress){0};
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_OK);
    assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, 1, 0), FERRY_OK);
    hang_one(state);
}

// Whoever believed a record of more entries than there were would take memory back under one that runs, and tell of
// ends without an end.
void a_device_that_has_done_more_than_there_was_is_lost(void **context)
{
    struct state *state = *context;
    one_done_one_hangs(state);
    tell_retired(state, 1, 3);
    is_lost(state, "it has done 3 entries of ring 1, of which there were 2, 1 of them done before: ");
}

void a_device_that_has_done_less_than_before_is_lost(void **context)
{
    struct state *state = *context;
    one_done_one_hangs(state);
    tell_retired(state, 1, 0);
    is_lost(state, "it has done 0 entries of ring 1");
}

// ---- A link that stands still as an interrupt's causes are read -----------------------------------------------------

static struct ferry_link_operations forgetful;
static const struct ferry_link_operations *own;
static unsigned read_that_fails, handled;
static uint32_t handled_causes;

static int forget(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    if (offset == FERRY_BAR0_INTERRUPT_STATUS && read_that_fails != 0 && --read_that_fails == 0) {
        return FERRY_ERROR_TIMEOUT;
    }
    return own->read32(link, bar, offset, value);
}

static void handle(void *context, uint32_t causes)
{
    (void)context;
    handled++;
    handled_causes |= causes;
}

// They are asked for again with the next slice, and what is waited for comes in its time; or the time is over.
void a_wait_goes_on_though_causes_could_not_be_read(void **context)
{
    struct state *state = *context;
    const struct ferry_gpu_entry entry = {0};
    own = state->fake->link.operations;
    forgetful = *own;
    forgetful.read32 = forget;
    state->fake->link.operations = &forgetful;
    assert_int_equal(ferry_gpu_ring_create(state->gpu, 1, 4, 7), FERRY_OK);
    ferry_gpu_set_interrupt(state->gpu, handle, NULL);
    state->fake->retire_cycles = 60000;
    // The read, the one behind the write that clears them, or that write. Of what may be cleared by then it is told at
    // once, and again when it is for certain: a fence may have come with a cause that was cleared with these.
    for (unsigned way = 1; way <= 3; way++) {
        handled = handled_causes = 0;
        assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_OK);
        fake_link_interrupt(state->fake, 0x200);
        read_that_fails = way < 3 ? way : 0;
        state->fake->write_error = way == 3 ? FERRY_ERROR_TIMEOUT : FERRY_OK;
        assert_int_equal(ferry_gpu_wait_retired(state->gpu, 1, way, 70000), FERRY_OK);
        assert_int_equal(handled, way == 1 ? 1 : 2);
        assert_int_equal(handled_causes, 0x200);
        assert_int_equal(reg(state, FERRY_BAR0_INTERRUPT_STATUS), 0);
    }
    state->fake->retire_cycles = 0;
    assert_int_equal(ferry_gpu_ring_submit(state->gpu, 1, &entry, NULL), FERRY_OK);
    fake_link_interrupt(state->fake, 0x200);
    state->fake->fail_reads = 1000;
    assert_int_equal(ferry_gpu_wait(state->gpu, 50000), FERRY_OK); // The message.
    const uint64_t before = ferry_gpu_cycles(state->gpu);
    assert_int_equal(ferry_gpu_wait(state->gpu, 50000), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_gpu_cycles(state->gpu) - before, 50000);
    state->fake->fail_reads = 0;
    state->fake->link.operations = own;
}
