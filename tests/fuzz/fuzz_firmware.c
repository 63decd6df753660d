// SPDX-License-Identifier: Apache-2.0
// libFuzzer over the natively built firmware and the double of the hardware. The input is rights, limits and up to
// eight buffers; whatever it holds, the firmware must do what the oracle says, retire every entry, and never halt.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot.h"
#include "double_hal.h"
#include "queues.h"
#include "run.h"

// Steps in which all that an input holds is done.
#define PATIENCE 4000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Layout: one byte of rights, one of limits, one of faults and of page tables; then for each buffer a byte of ring and
// interrupt, two of length in double words, and the buffer.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 3;
    unsigned entries = 0;

    if (size < 8)
        return 0;
    double_reset();
    machine.rights[0] = data[0] & 7;
    machine.rights[1] = data[0] >> 3 & 7;
    if (data[1] & 1) {
        machine.limits.protect_base = 0x1000ull << (data[1] >> 4);
        machine.limits.protect_limit = machine.limits.protect_base + 0x10000;
    }
    if (data[1] & 2)
        machine.limits.local_limit = 0x100000000ull + 0x1000 * (data[1] >> 2 & 3);
    // Without rectangles, a few words of which may take longer than anybody waits.
    if (data[2] & 0x40) {
        machine.capabilities |= FERRY_BAR0_CAPABILITIES_PAGE_TABLES_MASK;
        machine.limits.page_tables = true;
        machine.rights[0] |= data[2] & 0x80 ? FERRY_BAR0_RING_RIGHTS_TABLES_MASK : 0;
        machine.rights[1] |= data[0] & 0x40 ? FERRY_BAR0_RING_RIGHTS_TABLES_MASK : 0;
        machine.rights[2] |= data[0] & 0x80 ? FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK : 0;
    }
    if (data[2] & 1)
        double_fault_job(data[2] >> 1 & 0x1f, FERRY_FAULT_KIND_HOST_ABORT, true, 0x1234, 8);
    while (at + 3 <= size && entries < 8) {
        uint32_t words[DOUBLE_SLOT_BYTES / 4];
        size_t bytes = 8 * (data[at + 1] | (data[at + 2] & 1u) << 8), ring = data[at] % DOUBLE_RINGS;
        bool interrupt = data[at] >> 7;

        at += 3;
        if (bytes > size - at)
            bytes = (size - at) & ~(size_t)7;
        memcpy(words, data + at, bytes);
        double_submit((uint32_t)ring, words, (unsigned)(bytes / 4), entries++, interrupt);
        at += bytes;
    }
    double_deadline = machine.now + 2 * PATIENCE;
    if (setjmp(double_left) == 0) {
        if (!ferry_firmware_start())
            abort();
        for (uint64_t until = machine.now + PATIENCE; !double_idle() && machine.now < until;)
            ferry_firmware_step();
    }

    const char *why = double_idle() || machine.wrong[0] ? double_verify() : "not everything retired, or halted";

    if (why) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    return 0;
}
