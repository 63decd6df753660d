// SPDX-License-Identifier: Apache-2.0
// Runs the natively built firmware over the double.
#include "native.h"

#include <stdio.h>

#include "boot.h"
#include "double_hal.h"
#include "queues.h"

// No single step of the firmware's needs so many accesses.
#define STEP_TICKS 1000000u

static bool started;
static volatile bool stopped;

void run_from_reset(void)
{
    started = false;
}

bool run_may_have_more(void)
{
    return true;
}

bool run_machine(uint64_t patience)
{
    uint64_t until = machine.now + patience;

    double_deadline = until + STEP_TICKS;
    if (setjmp(double_left)) {
        if (machine.wrong[0]) {
            print_error("%s\n", machine.wrong);
            return false;
        }
        stopped = true;
        return true;
    }
    if (!started) {
        started = true;
        stopped = !ferry_firmware_start();
    }
    while (!stopped && machine.now < until) {
        if (double_idle())
            return true;
        ferry_firmware_step();
    }
    return stopped || double_idle();
}

void must_be_null(const char *why)
{
    if (why)
        fail_msg("%s", why);
}
