// SPDX-License-Identifier: Apache-2.0
#include "link/tlp.h"

#include <string.h>

// Fmt: bit 0 = header of 4 words, bit 1 = with data, bit 2 = prefix.
#define FMT_LONG        1u
#define FMT_DATA        2u
#define TYPE_MEMORY     0x00u
#define TYPE_CONFIG0    0x04u
#define TYPE_COMPLETION 0x0au
#define BIT_DIGEST      (1u << 15)
#define BIT_POISON      (1u << 14)
#define BIT_RELAXED     (1u << 13)
#define BIT_NO_SNOOP    (1u << 12)

uint32_t ferry_tlp_first_byte(uint8_t first_enable)
{
    for (uint32_t n = 0; n < 4; n++) {
        if (first_enable >> n & 1u) {
            return n;
        }
    }
    return 0;
}

/// Bytes of a word behind its last enabled byte; 0 to 3.
static uint32_t tail_bytes(uint8_t enable)
{
    for (uint32_t n = 0; n < 4; n++) {
        if (enable << n & 8u) {
            return n;
        }
    }
    return 0;
}

uint32_t ferry_tlp_span(uint32_t length, uint8_t first_enable, uint8_t last_enable)
{
    if (length == 1) {
        return first_enable == 0 ? 1 : 4 - ferry_tlp_first_byte(first_enable) - tail_bytes(first_enable);
    }
    return 4 * length - ferry_tlp_first_byte(first_enable) - tail_bytes(last_enable);
}

uint32_t ferry_tlp_enables(uint64_t address, uint32_t bytes, uint8_t *first_enable, uint8_t *last_enable)
{
    uint32_t offset = (uint32_t)(address & 3);
    uint32_t length = (offset + bytes + 3) / 4;
    uint32_t end = (offset + bytes) & 3;
    uint8_t first = (uint8_t)(0xfu << offset & 0xfu);
    uint8_t last = end == 0 ? 0xf : (uint8_t)(0xfu >> (4 - end));
    *first_enable = length == 1 ? first & last : first;
    *last_enable = length == 1 ? 0 : last;
    return length;
}

static bool carries_data(enum ferry_tlp_kind kind)
{
    return kind == FERRY_TLP_MEMORY_WRITE || kind == FERRY_TLP_CONFIG_WRITE || kind == FERRY_TLP_COMPLETION_DATA;
}

size_t ferry_tlp_encode(const struct ferry_tlp *tlp, uint32_t *words)
{
    bool data = carries_data(tlp->kind);
    bool memory = tlp->kind == FERRY_TLP_MEMORY_READ || tlp->kind == FERRY_TLP_MEMORY_WRITE;
    bool completion = tlp->kind == FERRY_TLP_COMPLETION || tlp->kind == FERRY_TLP_COMPLETION_DATA;
    bool four = memory && tlp->address >> 32 != 0;
    uint32_t type = memory ? TYPE_MEMORY : completion ? TYPE_COMPLETION : TYPE_CONFIG0;
    uint32_t format = (data ? FMT_DATA : 0) | (four ? FMT_LONG : 0);
    size_t header = four ? 4 : 3;
    words[0] = format << 29 | type << 24 | (uint32_t)(tlp->traffic_class & 7) << 20 | (tlp->poisoned ? BIT_POISON : 0) |
               (tlp->relaxed ? BIT_RELAXED : 0) | (tlp->no_snoop ? BIT_NO_SNOOP : 0) | (tlp->length & 0x3ff);
    if (completion) {
        words[1] = (uint32_t)tlp->completer << 16 | (uint32_t)(tlp->status & 7) << 13 | (tlp->byte_count & 0xfffu);
        words[2] = (uint32_t)tlp->requester << 16 | (uint32_t)tlp->tag << 8 | (tlp->lower_address & 0x7fu);
    } else {
        words[1] = (uint32_t)tlp->requester << 16 | (uint32_t)tlp->tag << 8 | (uint32_t)(tlp->last_enable & 15) << 4 |
                   (tlp->first_enable & 15u);
        if (!memory) {
            words[2] = (uint32_t)tlp->target << 16 | ((uint32_t)tlp->address & 0xffcu);
        } else if (four) {
            words[2] = (uint32_t)(tlp->address >> 32);
            words[3] = (uint32_t)tlp->address & ~3u;
        } else {
            words[2] = (uint32_t)tlp->address & ~3u;
        }
    }
    if (data) {
        memcpy(words + header, tlp->payload, 4 * (size_t)tlp->length);
    }
    return header + (data ? tlp->length : 0);
}

/// Section 2.2.5: which byte enables a request may have.
static bool enables_legal(uint32_t length, uint8_t first, uint8_t last)
{
    if (length == 1) {
        return last == 0;
    }
    if (first == 0 || last == 0) {
        return false;
    }
    // Three words and more: the enabled bytes are one run.
    return length == 2 || ((first == 0xf || first == 0xe || first == 0xc || first == 0x8) &&
                           (last == 0xf || last == 0x7 || last == 0x3 || last == 0x1));
}

static bool decode_request(const uint32_t *words, bool four, struct ferry_tlp *tlp)
{
    tlp->requester = (uint16_t)(words[1] >> 16);
    tlp->tag = (uint8_t)(words[1] >> 8);
    tlp->last_enable = words[1] >> 4 & 15;
    tlp->first_enable = words[1] & 15;
    if (!enables_legal(tlp->length, tlp->first_enable, tlp->last_enable)) {
        return false;
    }
    if (tlp->kind == FERRY_TLP_CONFIG_READ || tlp->kind == FERRY_TLP_CONFIG_WRITE) {
        tlp->target = (uint16_t)(words[2] >> 16);
        tlp->address = words[2] & 0xffc;
        return tlp->length == 1 && !four;
    }
    tlp->address = four ? (uint64_t)words[2] << 32 | (words[3] & ~3u) : words[2] & ~3u;
    if (four && words[2] == 0) {
        return false;
    }
    return (tlp->address & 0xfff) + 4 * tlp->length <= 4096;
}

bool ferry_tlp_decode(const uint32_t *words, size_t count, struct ferry_tlp *tlp)
{
    memset(tlp, 0, sizeof(*tlp));
    if (count < 3) {
        return false;
    }
    uint32_t format = words[0] >> 29;
    uint32_t type = words[0] >> 24 & 0x1f;
    bool data = (format & FMT_DATA) != 0;
    bool four = (format & FMT_LONG) != 0;
    if (format > 3 || (words[0] & BIT_DIGEST)) {
        return false;
    }
    tlp->traffic_class = words[0] >> 20 & 7;
    tlp->poisoned = (words[0] & BIT_POISON) != 0;
    tlp->relaxed = (words[0] & BIT_RELAXED) != 0;
    tlp->no_snoop = (words[0] & BIT_NO_SNOOP) != 0;
    tlp->length = words[0] & 0x3ff ? words[0] & 0x3ff : 1024;
    size_t header = four ? 4 : 3;
    if (count != header + (data ? tlp->length : 0)) {
        return false;
    }
    tlp->payload = data ? words + header : NULL;
    switch (type) {
    case TYPE_MEMORY:
        tlp->kind = data ? FERRY_TLP_MEMORY_WRITE : FERRY_TLP_MEMORY_READ;
        return decode_request(words, four, tlp);
    case TYPE_CONFIG0:
        tlp->kind = data ? FERRY_TLP_CONFIG_WRITE : FERRY_TLP_CONFIG_READ;
        return decode_request(words, four, tlp);
    case TYPE_COMPLETION:
        tlp->kind = data ? FERRY_TLP_COMPLETION_DATA : FERRY_TLP_COMPLETION;
        tlp->length = data ? tlp->length : 0;
        tlp->completer = (uint16_t)(words[1] >> 16);
        tlp->status = words[1] >> 13 & 7;
        tlp->byte_count = words[1] & 0xfff ? words[1] & 0xfff : 4096;
        tlp->requester = (uint16_t)(words[2] >> 16);
        tlp->tag = (uint8_t)(words[2] >> 8);
        tlp->lower_address = words[2] & 0x7f;
        return !four;
    default: tlp->kind = FERRY_TLP_OTHER; return true;
    }
}
