// SPDX-License-Identifier: Apache-2.0
// How much of the GPU each program has when they take turns.
#include "crowd.h"

static bool has_its_share(struct beside it)
{
    struct shares shares = shares_beside(it);
    // Half is fair; a quarter is what a device of four has.
    return 10 * shares.used[0] >= 4 * (shares.used[0] + shares.used[1]);
}

static void more_devices_are_no_more_of_the_gpu(void **state)
{
    (void)state;
    assert_true(has_its_share((struct beside){.devices = 1, .jobs = 200}));
    assert_true(has_its_share((struct beside){.devices = OF_THE_HOG, .jobs = 200}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_devices_are_no_more_of_the_gpu)};
    return WORLD_RUN(tests);
}
