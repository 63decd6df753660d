// SPDX-License-Identifier: Apache-2.0
// An operation that was answered BUSY and then takes several buffers: from the second one on its allocation is not
// idle, since the first one is still with the device (R42, R54).
#include <stdio.h>

#include "world.h"

static unsigned told_idle_while_busy(unsigned delay, bool busy_later)
{
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = 2 * machine_least_page_bytes;
    options.broken = true;
    struct world *world = world_open(&options);
    D3DKMT_HANDLE allocation = world_create(world, PAGES(40), CPU);
    world->knobs->scatter_pages = true;
    world_write(world, allocation, 1);
    world->knobs->delay = delay;
    world->knobs->busy_times = !busy_later;
    world->knobs->busy_in_later_pass = busy_later;
    world_require(world, allocation);
    world_check_gpu(world, allocation, 1);
    const char *first = "";
    unsigned errors = machine_errors(world->machine, &first);
    printf("delay %u, BUSY %s: %u times %s\n", delay, busy_later ? "in a later pass" : "at first", errors, first);
    fflush(stdout);
    world_close(world);
    return errors;
}

static void a_later_pass_is_not_said_to_be_idle(void **state)
{
    (void)state;
    unsigned errors = 0;
    for (unsigned delay = 0; delay < 4; delay++)
        for (unsigned later = 0; later < 2; later++)
            errors += told_idle_while_busy(delay, later);
    assert_int_equal(errors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_later_pass_is_not_said_to_be_idle)};
    return WORLD_RUN(tests);
}
