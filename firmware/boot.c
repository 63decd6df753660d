// SPDX-License-Identifier: Apache-2.0
// Start, and the loop over everything.
#include "boot.h"

#include "faults.h"
#include "flight.h"
#include "halt.h"
#include "queues.h"

// Versions with the same major number agree on the meaning of everything that both know.
static bool same_major(uint32_t version)
{
    const uint32_t major = FERRY_BAR0_CONTRACT_VERSION_MAJOR_MASK;

    return (version & major) == (FERRY_CONTRACT_VERSION & major);
}

bool ferry_firmware_start(void)
{
    hal_write(FERRY_CORE_BUSY, 0);
    hal_write(FERRY_CORE_HALT_CODE, FERRY_HALT_NONE);
    hal_write(FERRY_CORE_HALT_ARGUMENT, 0);
    hal_write(FERRY_CORE_FIRMWARE_VERSION, FERRY_CONTRACT_VERSION);
    hal_write(FERRY_CORE_FIRMWARE_STATE, FERRY_FIRMWARE_STATE_BOOTING);
    if (!same_major(hal_read(FERRY_CORE_HARDWARE_CONTRACT)) || !same_major(hal_read(FERRY_CORE_HOST_CONTRACT))) {
        hal_write(FERRY_CORE_FIRMWARE_STATE, FERRY_FIRMWARE_STATE_REFUSED);
        return false;
    }

    uint32_t capabilities = hal_read(FERRY_CORE_CAPABILITIES);
    uint32_t slots = FERRY_GET(FERRY_BAR0_CAPABILITIES_SLOTS, capabilities);
    uint32_t rings = FERRY_GET(FERRY_BAR0_CAPABILITIES_RINGS, capabilities);
    uint32_t slot_bytes_log2 = FERRY_GET(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, capabilities);

    ferry_assert(slots >= 1 && slots <= FERRY_SLOTS && rings >= 1 && rings <= FERRY_RINGS && slot_bytes_log2 >= 3 &&
                     slot_bytes_log2 <= 12,
                 FERRY_HALT_CAPABILITIES, capabilities);
    ferry_queues_start(slots, rings, slot_bytes_log2);
    ferry_faults_start();
    hal_write(FERRY_CORE_FIRMWARE_STATE, FERRY_FIRMWARE_STATE_RUNNING);
    return true;
}

#ifdef __riscv

_Noreturn void ferry_main(void);

void ferry_main(void)
{
    if (!ferry_firmware_start())
        hal_stop();
    ferry_firmware_run();
}

#endif
