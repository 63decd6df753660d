// SPDX-License-Identifier: Apache-2.0
// Where the natively built firmware goes when it stops for ever.
#ifndef FERRY_TESTS_FIRMWARE_DOUBLE_HAL_H
#define FERRY_TESTS_FIRMWARE_DOUBLE_HAL_H

#include <setjmp.h>

// Set by whoever runs the firmware, before it does.
extern jmp_buf double_stopped;

#endif
