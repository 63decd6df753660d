// SPDX-License-Identifier: Apache-2.0
// What no job of this frame or the last has used, oldest first; when there is none, what was used most recently: a
// frame repeats the last one, so what has just been drawn is needed last.
#include "lab/policies/policies.h"

static uint64_t rank(const struct ferry_lab_memory *memory, const struct ferry_lab_item *item)
{
    bool old = item->used_frame + 1 < memory->frame;
    return old ? UINT64_MAX / 2 + (memory->now - item->used) : item->used;
}

static uint32_t choose(struct ferry_lab_memory *memory)
{
    return ferry_lab_highest(memory, rank);
}

const struct ferry_lab_policy ferry_lab_two_frames = {
    .name = "two-frames",
    .says = "not used for two frames, oldest first; else most recently used",
    .one_list = true,
    .choose = choose};
