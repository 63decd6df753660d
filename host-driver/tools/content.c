// SPDX-License-Identifier: Apache-2.0
#include "tools/content.h"

#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

#define CHUNK_WORDS 64u

int ferry_content_begin(struct ferry_content *content, uint64_t bytes, enum ferry_content_kind kind, uint64_t key)
{
    memset(content, 0, sizeof *content);
    content->stretches = malloc(sizeof *content->stretches);
    if (!content->stretches)
        return -1;
    content->stretches[0] = (struct ferry_stretch){0, key, kind};
    content->count = content->capacity = 1;
    content->bytes = bytes;
    return 0;
}

void ferry_content_free(struct ferry_content *content)
{
    free(content->stretches);
    memset(content, 0, sizeof *content);
}

size_t ferry_content_find(const struct ferry_content *content, uint64_t offset)
{
    size_t low = 0, high = content->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (content->stretches[middle].begin <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t ferry_content_stretch_end(const struct ferry_content *content, size_t stretch)
{
    return stretch + 1 < content->count ? content->stretches[stretch + 1].begin : content->bytes;
}

int ferry_content_set(struct ferry_content *content, uint64_t offset, uint64_t bytes, enum ferry_content_kind kind,
                      uint64_t key)
{
    if (bytes == 0)
        return 0;
    // The new stretch replaces [first, last]; what stays of these two stands before and behind it.
    uint64_t end = offset + bytes;
    size_t first = ferry_content_find(content, offset);
    size_t last = ferry_content_find(content, end - 1);
    struct ferry_stretch fresh[3];
    size_t count = 0;
    if (content->stretches[first].begin < offset)
        fresh[count++] = content->stretches[first];
    fresh[count++] = (struct ferry_stretch){offset, key, kind};
    if (ferry_content_stretch_end(content, last) > end)
        fresh[count++] = (struct ferry_stretch){end, content->stretches[last].key, content->stretches[last].kind};
    size_t replaced = last - first + 1;
    size_t need = content->count - replaced + count;
    if (ferry_reserve(&content->stretches, &content->capacity, need, sizeof *content->stretches) != 0)
        return -1;
    memmove(content->stretches + first + count, content->stretches + last + 1,
            (content->count - last - 1) * sizeof *content->stretches);
    memcpy(content->stretches + first, fresh, count * sizeof *fresh);
    content->count = need;
    return 0;
}

// ---- Bytes --------------------------------------------------------------------------------------------------------

#define STEP UINT64_C(0x9e3779b97f4a7c15)

// Folding the high half down gives every byte lane a long period, so that a page or a line in the wrong place differs
// in nearly every byte.
static inline uint64_t fold(uint64_t word)
{
    return word ^ (word >> 32);
}

// The 8-byte word number `index` of an allocation.
static inline uint64_t word_at(enum ferry_content_kind kind, uint64_t key, uint64_t index)
{
    return kind == FERRY_CONTENT_PATTERN ? key : fold(key + index * STEP);
}

static inline uint8_t byte_at(enum ferry_content_kind kind, uint64_t key, uint64_t offset)
{
    return (uint8_t)(word_at(kind, key, offset / 8) >> (offset % 8 * 8));
}

// A chunk from word `index` on. Always whole, and one loop a kind: a compiler makes vectors of that, and a replay that
// looks at every byte spends a fifth of its time here.
static void words_at(enum ferry_content_kind kind, uint64_t key, uint64_t index, uint64_t words[CHUNK_WORDS])
{
    if (kind == FERRY_CONTENT_PATTERN) {
        for (size_t i = 0; i < CHUNK_WORDS; i++)
            words[i] = key;
    } else {
        uint64_t first = key + index * STEP;
        for (size_t i = 0; i < CHUNK_WORDS; i++)
            words[i] = fold(first + i * STEP);
    }
    // Memory order is little-endian whatever the host is.
    if (*(const uint8_t *)&(const uint16_t){1} == 0) {
        for (size_t i = 0; i < CHUNK_WORDS; i++) {
            uint64_t word = words[i];
            for (unsigned byte = 0; byte < 8; byte++)
                ((uint8_t *)&words[i])[byte] = (uint8_t)(word >> (byte * 8));
        }
    }
}

void ferry_content_generate(enum ferry_content_kind kind, uint64_t key, uint64_t offset, void *to, size_t bytes)
{
    uint8_t *at = to;
    uint64_t words[CHUNK_WORDS];
    if (kind == FERRY_CONTENT_UNKNOWN)
        return;
    for (; bytes > 0 && offset % 8 != 0; bytes--)
        *at++ = byte_at(kind, key, offset++);
    while (bytes >= 8) {
        size_t count = bytes / 8 < CHUNK_WORDS ? bytes / 8 : CHUNK_WORDS;
        words_at(kind, key, offset / 8, words);
        memcpy(at, words, count * 8);
        at += count * 8;
        offset += count * 8;
        bytes -= count * 8;
    }
    for (; bytes > 0; bytes--)
        *at++ = byte_at(kind, key, offset++);
}

static void count_wrong(const uint8_t *expected, const uint8_t *found, uint64_t offset, size_t bytes,
                        struct ferry_mismatch *mismatch)
{
    for (size_t i = 0; i < bytes; i++) {
        if (expected[i] == found[i])
            continue;
        if (mismatch->bad++ == 0) {
            mismatch->offset = offset + i;
            mismatch->expected = expected[i];
            mismatch->found = found[i];
        }
    }
}

uint64_t ferry_content_compare(enum ferry_content_kind kind, uint64_t key, uint64_t offset, const void *found,
                               size_t bytes, struct ferry_mismatch *mismatch)
{
    const uint8_t *at = found;
    uint64_t words[CHUNK_WORDS];
    if (kind == FERRY_CONTENT_UNKNOWN)
        return 0;
    for (size_t left = bytes; left > 0;) {
        size_t count = CHUNK_WORDS * 8 - offset % 8;
        if (count > left)
            count = left;
        words_at(kind, key, offset / 8, words);
        const uint8_t *expected = (const uint8_t *)words + offset % 8;
        if (memcmp(expected, at, count) != 0)
            count_wrong(expected, at, offset, count, mismatch);
        at += count;
        offset += count;
        left -= count;
    }
    return bytes;
}

uint64_t ferry_content_compare_all(const struct ferry_content *content, const void *found,
                                   struct ferry_mismatch *mismatch)
{
    uint64_t compared = 0;
    for (size_t i = 0; i < content->count; i++) {
        const struct ferry_stretch *stretch = &content->stretches[i];
        uint64_t end = ferry_content_stretch_end(content, i);
        compared +=
            ferry_content_compare(stretch->kind, stretch->key, stretch->begin, (const uint8_t *)found + stretch->begin,
                                  (size_t)(end - stretch->begin), mismatch);
    }
    return compared;
}
