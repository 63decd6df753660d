// SPDX-License-Identifier: Apache-2.0
// Random jobs of four user rings, and paging beside them, which resets of the engine cut at any moment; what was cut is
// sent again as the manager does it. The link stands still at any access of a submission, a reset, a stop or a start.
// At the end each byte is what plain copies make of it that are done one after the other. Which of its names a page has
// in a packet is drawn: what Patch lets run ahead over another name of what is read before is lost where a reset has
// the reader done again.
#include "cut_judge.h"

#ifdef RIG_ON_SIM
#define ROUNDS 30u
#else
#define ROUNDS 800u
#endif

static bool enough(void)
{
    return cut > 5 * ROUNDS && faulted > ROUNDS / 4 && went_ahead > 10 * ROUNDS;
}

static void what_resets_cut_comes_to_its_end(void **state)
{
    struct rig *rig = *state;
    struct program p;

    begin_judge(rig, &p);
    for (uint32_t round = 0; round < ROUNDS || (round < 10 * ROUNDS && !enough()); round++) {
        if (round % 40 == 0)
            map_all(rig, &p);
        fill_lands(rig);
        for (uint32_t step = 0; step < 60; step++) {
            for (uint32_t more = (uint32_t)draw(6); more; more--)
                want_some();
            bool hangs = draw(3) == 0;
            if (hangs)
                hang(rig);
            send_some(rig);
            if (draw(2))
                run(rig, draw(1500));
            if (draw(hangs ? 3 : 12) == 0)
                reset_engine(rig);
            if (draw(300) == 0)
                reset_all(rig, &p);
        }
        come_to_an_end(rig);
        check_lands(rig, round);
    }
    printf("the link stood still %u times; %u resets cut %u buffers, %u were in vain; %u ended, %u with a fault; %u "
           "packets might run ahead\n",
           weak.times, resets, cut, in_vain, ended, faulted, went_ahead);
    assert_true(enough());
    end_judge(rig, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(what_resets_cut_comes_to_its_end)};

    land_state = draw_state(seed_given(2));
    rig_model = 2;
    rig_tiling = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
