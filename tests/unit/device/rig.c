// SPDX-License-Identifier: Apache-2.0
// A gpu over a fake link.
#include "rig.h"

#include <stdlib.h>
#include <string.h>

int set_up(void **context)
{
    struct state *state = calloc(1, sizeof(*state));
    state->fake = fake_link_create(&state->closed);
    assert_int_equal(ferry_gpu_open(&state->fake->link, NULL, &state->gpu), FERRY_OK);
    *context = state;
    return 0;
}

int tear_down(void **context)
{
    struct state *state = *context;
    ferry_gpu_close(state->gpu);
    assert_true(state->closed);
    free(state);
    return 0;
}

uint32_t reg(struct state *state, uint32_t offset)
{
    return state->fake->registers[offset / 4];
}

void on_interrupt(void *context, uint32_t causes)
{
    struct state *state = context;
    struct ferry_gpu_fence fence;
    state->calls++;
    state->causes |= causes;
    assert_int_equal(state->fake->clear_under_way, 0);
    // The mutex is free here: the handler may look at the rings.
    assert_int_equal(ferry_gpu_ring_completed(state->gpu, 0, &fence), FERRY_OK);
}
