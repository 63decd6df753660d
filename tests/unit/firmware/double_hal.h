// SPDX-License-Identifier: Apache-2.0
// How the natively built firmware is left when it does not come back by itself.
#ifndef FERRY_TESTS_FIRMWARE_DOUBLE_HAL_H
#define FERRY_TESTS_FIRMWARE_DOUBLE_HAL_H

#include <setjmp.h>
#include <stdint.h>

// Set by whoever runs the firmware, before it does. There it goes when it halts, at once when it breaks a rule of the
// double (machine.wrong says which), and when it still waits for something at the deadline.
extern jmp_buf double_left;
extern uint64_t double_deadline;

#endif
