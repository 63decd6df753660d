// SPDX-License-Identifier: Apache-2.0
#include "link/frame_code.h"

#include <string.h>

#include "ferry_contract.h"

uint32_t ferry_frame_crc(uint32_t crc, const uint8_t *bytes, size_t count)
{
    // Four bits at a time: entry n is what the polynomial makes of the nibble n.
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc = ~crc;
    for (size_t n = 0; n < count; n++) {
        crc ^= bytes[n];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static void put_word(uint8_t *bytes, uint32_t word)
{
    for (unsigned n = 0; n < 4; n++) {
        bytes[n] = (uint8_t)(word >> 8 * n);
    }
}

static uint32_t get_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

size_t ferry_frame_encode(uint32_t head, const uint32_t *words, size_t count, uint8_t *bytes)
{
    uint8_t plain[FERRY_FRAME_PLAIN_BYTES];
    put_word(plain, head);
    for (size_t n = 0; n < count; n++) {
        put_word(plain + 4 + 4 * n, words[n]);
    }
    const size_t end = 4 + 4 * count;
    put_word(plain + end, ferry_frame_crc(0, plain, end));

    // A block is a code and code - 1 bytes that are not zero. A zero stands behind it, but not behind one of code 255,
    // nor behind the last.
    size_t code = 0;
    size_t at = 1;
    for (size_t n = 0; n < end + 4; n++) {
        if (at - code == 255) {
            bytes[code] = 255;
            code = at++;
        }
        if (plain[n] != 0) {
            bytes[at++] = plain[n];
        } else {
            bytes[code] = (uint8_t)(at - code);
            code = at++;
        }
    }
    bytes[code] = (uint8_t)(at - code);
    bytes[at++] = 0;
    return at;
}

static void take(struct ferry_frame_decoder *decoder, uint8_t byte)
{
    if (decoder->count == sizeof(decoder->plain)) {
        decoder->bad = true;
        return;
    }
    decoder->plain[decoder->count++] = byte;
}

/// What is in `plain` when a zero has come is a frame.
static bool complete(const struct ferry_frame_decoder *decoder)
{
    const uint32_t count = decoder->count;
    if (decoder->bad || decoder->left != 0 || count < 8 || count % 4 != 0 ||
        FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_WORDS, get_word(decoder->plain)) != count / 4 - 2) {
        return false;
    }
    return get_word(decoder->plain + count - 4) == ferry_frame_crc(0, decoder->plain, count - 4);
}

static enum ferry_frame_step finish(struct ferry_frame_decoder *decoder, uint32_t *head, uint32_t *words,
                                    uint32_t *lost)
{
    // Zeros may stand between frames in any number.
    enum ferry_frame_step step = decoder->since == 0 ? FERRY_FRAME_MORE : FERRY_FRAME_BAD;
    if (complete(decoder)) {
        step = FERRY_FRAME_GOOD;
        *head = get_word(decoder->plain);
        for (uint32_t n = 0; n < decoder->count / 4 - 2; n++) {
            words[n] = get_word(decoder->plain + 4 + 4 * n);
        }
    }
    *lost = decoder->since + 1;
    decoder->count = decoder->since = decoder->left = 0;
    decoder->zero = decoder->bad = false;
    return step;
}

enum ferry_frame_step ferry_frame_decode(struct ferry_frame_decoder *decoder, uint8_t byte, uint32_t *head,
                                         uint32_t *words, uint32_t *lost)
{
    if (byte == 0) {
        return finish(decoder, head, words, lost);
    }
    decoder->since++;
    if (decoder->left != 0) {
        decoder->left--;
        take(decoder, byte);
        return FERRY_FRAME_MORE;
    }
    if (decoder->zero) {
        take(decoder, 0);
    }
    decoder->left = (uint8_t)(byte - 1);
    decoder->zero = byte != 255;
    return FERRY_FRAME_MORE;
}
