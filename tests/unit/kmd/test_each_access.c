// SPDX-License-Identifier: Apache-2.0
// One scenario after the other, each gone through once for every access of a register that a submission, a reset, a
// wait, a stop or a start makes in it: there the link stands still, for that access alone or for some behind it too.
// Nobody's job is lost, done twice, or blamed for it.
#include "cut_judge.h"

#ifdef RIG_ON_SIM
#define SCENARIOS 1u
#define STRIDE    29u // Of so many accesses one is tried.
#else
#define SCENARIOS 1u
#define STRIDE    1u
#endif

// Behind as many a doorbell is given up.
static const uint32_t lengths[] = {1, FERRY_GPU_DOORBELLS + 1};

static void work(struct rig *rig, uint32_t jobs, uint32_t turns)
{
    for (; jobs; jobs--)
        want_some();
    for (uint32_t turn = 0; turn < turns; turn++) {
        if (turn % 2 == 0)
            hang(rig);
        send_some(rig);
        run(rig, 300);
        if (turn > 0)
            reset_engine(rig);
    }
}

// From the same numbers each time, so that the accesses are the same up to the standstill.
static void scenario(struct rig *rig, struct program *p, uint64_t seed)
{
    land_state = draw_state(seed);
    weak.accesses = 0;
    fill_lands(rig);
    work(rig, 12, 4);
    come_to_an_end(rig);
    check_lands(rig, (uint32_t)seed);
    work(rig, 8, 1);
    reset_all(rig, p);
    work(rig, 4, 2);
    come_to_an_end(rig);
    check_lands(rig, (uint32_t)seed);
}

static void wherever_the_link_stands_still_each_job_ends_as_it_has_to(void **state)
{
    struct rig *rig = *state;
    struct program p;
    unsigned runs = 0;

    begin_judge(rig, &p);
    weak.planned = true;
    map_all(rig, &p);
    uint64_t first = land_state;
    for (uint32_t i = 0; i < SCENARIOS; i++) {
        for (weak.way = 0; weak.way < WEAK_WAYS; weak.way++) {
            for (uint32_t length = 0; length < sizeof lengths / sizeof lengths[0]; length++) {
                weak.many = lengths[length];
                for (weak.first = 0; weak.first == 0 || weak.accesses > weak.first; weak.first += STRIDE, runs++)
                    scenario(rig, &p, first + i);
            }
        }
    }
    printf("%u runs; the link stood still %u times; %u resets cut %u buffers, %u were in vain; %u ended, %u with a "
           "fault\n",
           runs, weak.times, resets, cut, in_vain, ended, faulted);
    assert_true(runs > 40 && weak.times > runs && cut > runs && in_vain > runs / 20);
    end_judge(rig, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(wherever_the_link_stands_still_each_job_ends_as_it_has_to)};

    land_state = draw_state(seed_given(1));
    rig_model = 2;
    rig_tiling = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
