// SPDX-License-Identifier: Apache-2.0
// The end when an invariant breaks.
#include "halt.h"

#include "hal.h"

void ferry_halt(enum ferry_halt code, uint32_t argument)
{
    hal_write(FERRY_CORE_BUSY, 0);
    hal_write(FERRY_CORE_HALT_CODE, code);
    hal_write(FERRY_CORE_HALT_ARGUMENT, argument);
    hal_write(FERRY_CORE_FIRMWARE_STATE, FERRY_FIRMWARE_STATE_HALTED);
    hal_stop();
}
