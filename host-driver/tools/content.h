// SPDX-License-Identifier: Apache-2.0
// What each byte of an allocation must be, without a copy of it. Content is generated: a byte follows from a 64-bit key
// and its offset alone. An allocation is a row of stretches, each with the key of what was written there last.
#ifndef FERRY_TOOLS_CONTENT_H
#define FERRY_TOOLS_CONTENT_H

#include <stddef.h>
#include <stdint.h>

enum ferry_content_kind {
    FERRY_CONTENT_UNKNOWN, // Discarded and not written since: anything may stand there.
    FERRY_CONTENT_PATTERN, // The key's 8 bytes over and over, from offset 0 (initial content, GPU fills).
    FERRY_CONTENT_WRITTEN, // Differs at every offset (CPU writes).
};

struct ferry_stretch {
    uint64_t begin; // It ends where the next begins.
    uint64_t key;
    uint32_t kind;
};

struct ferry_content {
    struct ferry_stretch *stretches;
    size_t count, capacity;
    uint64_t bytes;
};

struct ferry_mismatch {
    uint64_t bad;    // Wrong bytes in all.
    uint64_t offset; // Of the first one.
    uint8_t expected, found;
};

/// Begin with one kind and key everywhere. Returns 0, or -1 without memory.
int ferry_content_begin(struct ferry_content *content, uint64_t bytes, enum ferry_content_kind kind, uint64_t key);
void ferry_content_free(struct ferry_content *content);
/// [offset, offset + bytes) holds something new. Returns 0, or -1 without memory (then nothing changed).
int ferry_content_set(struct ferry_content *content, uint64_t offset, uint64_t bytes, enum ferry_content_kind kind,
                      uint64_t key);
/// Number of the stretch that holds offset.
size_t ferry_content_find(const struct ferry_content *content, uint64_t offset);
/// Where a stretch ends.
uint64_t ferry_content_stretch_end(const struct ferry_content *content, size_t stretch);

/// Write the bytes that kind and key give at [offset, offset + bytes) to `to`. UNKNOWN writes nothing.
void ferry_content_generate(enum ferry_content_kind kind, uint64_t key, uint64_t offset, void *to, size_t bytes);
/// Compare them with `found`; adds to *mismatch (its first wrong offset is kept). Returns the bytes compared: 0 for
/// UNKNOWN.
uint64_t ferry_content_compare(enum ferry_content_kind kind, uint64_t key, uint64_t offset, const void *found,
                               size_t bytes, struct ferry_mismatch *mismatch);
/// Compare a whole allocation. Returns the bytes compared.
uint64_t ferry_content_compare_all(const struct ferry_content *content, const void *found,
                                   struct ferry_mismatch *mismatch);

#endif
