// SPDX-License-Identifier: Apache-2.0
// The memory of a guest, as its virtual machine shares it: ranges of its addresses, each a piece of a memory file.
#ifndef FERRY_SERVER_GUEST_MEMORY_H
#define FERRY_SERVER_GUEST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define GUEST_RANGES 8u

struct guest_memory {
    struct {
        uint64_t address, bytes;
        unsigned char *memory;
    } range[GUEST_RANGES];
    unsigned count;
};

/// What a range is made of. All three are multiples of 4096.
struct guest_range {
    uint64_t address, bytes, offset; // In the guest, and of its first byte in the file.
    int fd;                          // Stays the caller's.
};

/// Take these ranges (at most GUEST_RANGES) instead of those before. NULL, or why not: then there is none. A file that
/// might shrink is refused: whoever touches memory behind the end of its file dies.
const char *guest_memory_set(struct guest_memory *guest, const struct guest_range *ranges, unsigned count);
void guest_memory_drop(struct guest_memory *guest);
/// Byte `address` of the struct guest_memory at `guest`, valid to the end of its 4 KiB page; NULL = there is nothing.
/// `watched` (may be NULL) gets false. As struct ferry_root_complex wants it.
unsigned char *guest_memory_find(const void *guest, uint64_t address, bool *watched);

#endif
