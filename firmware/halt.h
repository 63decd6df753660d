// SPDX-License-Identifier: Apache-2.0
// Values of HALT_CODE. A halt means that the firmware or the hardware broke its own rules; whatever a host or a program
// can do wrong is refused with a fault record instead (faults.h). After a halt the core does nothing until it is reset.
#ifndef FERRY_FIRMWARE_HALT_H
#define FERRY_FIRMWARE_HALT_H

enum ferry_halt {
    FERRY_HALT_NONE = 0,
    FERRY_HALT_CAPABILITIES =
        1, // The hardware has more slots, rings or slot bytes than this firmware holds. CAPABILITIES.
    FERRY_HALT_SLOT_TAKEN =
        2,               // FETCH_NEXT gave a slot that is in flight already, or one that is not there. FETCH_NEXT.
    FERRY_HALT_RING = 3, // FETCH_NEXT named a ring that is not there. FETCH_NEXT.
    FERRY_HALT_BUFFER_BYTES = 4, // FETCH_BYTES is above a slot or not a multiple of 8, without a fault. FETCH_BYTES.
    FERRY_HALT_JOBS_QUEUED = 5,  // The hardware counted other jobs than the firmware queued. JOBS_QUEUED.
    FERRY_HALT_JOBS_RETIRED = 6, // More jobs retired than were queued. JOBS_RETIRED.
    FERRY_HALT_FAULT_SLOT = 7,   // The engine faulted for a slot without a buffer in flight. ENGINE_FAULT.
    FERRY_HALT_FAULT_KIND = 8,   // The engine reported a fault of kind NONE or outside the buffer. ENGINE_FAULT.
    FERRY_HALT_CHECK = 9,        // The checks took a packet that decode cannot carry out. The packet's header.
    FERRY_HALT_STACK = 10,       // The word under the stack was overwritten. What stands there now.
    FERRY_HALT_TRAP = 11,        // The core took a trap or an interrupt; neither is ever enabled or provoked. mcause.
};

#endif
