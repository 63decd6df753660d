// SPDX-License-Identifier: Apache-2.0
// Values of HALT_CODE. A halt means that the firmware or the hardware broke its own rules; whatever a host or a program
// can do wrong is refused with a fault record instead (faults.h). After a halt the core does nothing until it is reset.
// 2, 6 and 9 were used by earlier versions.
#ifndef FERRY_FIRMWARE_HALT_H
#define FERRY_FIRMWARE_HALT_H

#include <stdbool.h>
#include <stdint.h>

enum ferry_halt {
    FERRY_HALT_NONE = 0,
    FERRY_HALT_CAPABILITIES =
        1,               // The hardware has more slots, rings or slot bytes than this firmware holds. CAPABILITIES.
    FERRY_HALT_RING = 3, // FETCH_NEXT named a ring that is not there. FETCH_NEXT.
    FERRY_HALT_BUFFER_BYTES = 4, // FETCH_BYTES is above a slot or not a multiple of 8, without a fault. FETCH_BYTES.
    FERRY_HALT_JOBS_QUEUED = 5,  // At the start there were jobs that had not retired. ENGINE_STATE.
    FERRY_HALT_FAULT_SLOT = 7,   // The engine faulted for a slot that never held a buffer. The slot.
    FERRY_HALT_FAULT_KIND = 8,   // The engine reported a fault of kind NONE or outside the buffer. ENGINE_FAULT.
    FERRY_HALT_STACK = 10,       // The word under the stack was overwritten. What stands there now.
    FERRY_HALT_TRAP = 11,        // The core took a trap or an interrupt; neither is ever enabled or provoked. mcause.
};

// Stops with a record of an invariant of our own that broke.
_Noreturn void ferry_halt(enum ferry_halt code, uint32_t argument);

static inline void ferry_assert(bool holds, enum ferry_halt code, uint32_t argument)
{
    if (!holds)
        ferry_halt(code, argument);
}

#endif
