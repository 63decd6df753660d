// SPDX-License-Identifier: Apache-2.0
// Programs and a manager that send more than rings have entries: who submits waits for room, and what resets cut, or
// waits behind one in vain or a lost doorbell, comes to its end in its order as with a few. What cannot be kept any
// more is refused.
#define COMMANDS 2u
#define QUEUED   300u
#define IN_ALL   (5u * QUEUED)
#include "cut_judge.h"

#define ROUNDS 6u

static uint32_t longest(void)
{
    uint32_t most = 0;

    for (uint32_t ring = 0; ring < LANDS; ring++)
        most = sent_of(&queues[ring]) > most ? sent_of(&queues[ring]) : most;
    return most;
}

static void more_than_a_ring_holds_comes_to_its_end(void **state)
{
    struct rig *rig = *state;
    struct program p;
    unsigned over_full = 0;

    begin_judge(rig, &p);
    for (uint32_t round = 0; round < ROUNDS || (round < 10 * ROUNDS && (refused < 10 || in_vain < 2)); round++) {
        map_all(rig, &p);
        fill_lands(rig);
        for (uint32_t step = 0; step < 30; step++) {
            for (uint32_t more = (uint32_t)draw(200); more; more--)
                want_some();
            for (uint32_t more = (uint32_t)draw(30); more; more--)
                send_some(rig);
            over_full += longest() > KMD_RING_ENTRIES;
            if (draw(4) == 0)
                run(rig, draw(1500));
            if (draw(8) == 0)
                reset_engine(rig);
            if (draw(60) == 0)
                reset_all(rig, &p);
        }
        come_to_an_end(rig);
        check_lands(rig, round);
    }
    printf("the link stood still %u times; %u resets cut %u buffers, %u were in vain; %u ended; more than a ring holds "
           "%u times, %u refused\n",
           weak.times, resets, cut, in_vain, ended, over_full, refused);
    assert_true(cut > 100 && over_full > 20 && refused >= 10 && in_vain >= 2);
    end_judge(rig, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(more_than_a_ring_holds_comes_to_its_end)};

    land_state = draw_state(seed_given(2));
    rig_model = 2;
    rig_tiling = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
