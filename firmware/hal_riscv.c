// SPDX-License-Identifier: Apache-2.0
// The parts of the hal that are not a single load or store.
#include "hal_riscv.h"

#include <stddef.h>

void *memset(void *at, int value, size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);

void hal_stop(void)
{
    for (;;) {
        // Volatile so that the loop, which does nothing, stays.
        __asm__ volatile("");
    }
}

// The compiler calls these two to clear and to copy a fault; never on the path of a good packet.
void *memset(void *at, int value, size_t bytes)
{
    for (unsigned char *byte = at; bytes != 0; bytes--)
        *byte++ = (unsigned char)value;
    return at;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *out = to;

    for (const unsigned char *in = from; bytes != 0; bytes--)
        *out++ = *in++;
    return to;
}
