// SPDX-License-Identifier: Apache-2.0
// One frame as bytes of a channel: header, words, CRC-32, without zeros by consistent overhead byte stuffing (Cheshire
// and Baker, 1999), and a zero behind it. Zeros therefore stand between frames and nowhere else, whatever the words
// are. Pure, any thread; docs/manual/link.md has the format, contract/ the numbers.
#ifndef FERRY_LINK_FRAME_CODE_H
#define FERRY_LINK_FRAME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/tlp.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FERRY_FRAME_MAX_WORDS FERRY_TLP_MAX_WORDS
/// Header, words and CRC.
#define FERRY_FRAME_PLAIN_BYTES (4 * (FERRY_FRAME_MAX_WORDS + 2))
/// With a code byte for each begun 254 bytes, and the zero.
#define FERRY_FRAME_BYTES (FERRY_FRAME_PLAIN_BYTES + (FERRY_FRAME_PLAIN_BYTES + 253) / 254 + 1)

/// CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320, begins and ends inverted) of `count` bytes; `crc` is that of
/// the bytes before them, 0 at the start.
uint32_t ferry_frame_crc(uint32_t crc, const uint8_t *bytes, size_t count);

/// Write a frame (room for FERRY_FRAME_BYTES) and return its bytes. `head` must tell `count` in its field WORDS.
size_t ferry_frame_encode(uint32_t head, const uint32_t *words, size_t count, uint8_t *bytes);

/// The receiving end: takes bytes one by one. Zeroed at the start.
struct ferry_frame_decoder {
    uint8_t plain[FERRY_FRAME_PLAIN_BYTES];
    uint32_t count; // Bytes in plain.
    uint32_t since; // Bytes since the last zero, of the channel; 0 = between frames.
    uint8_t left;   // Bytes to come of the block; 0 = the next byte is a code.
    bool zero;      // A zero stands behind the block, unless it is the last.
    bool bad;       // Longer than any frame.
};

enum ferry_frame_step {
    FERRY_FRAME_MORE, // Nothing is complete yet.
    FERRY_FRAME_GOOD, // *head and *words have a frame.
    FERRY_FRAME_BAD,  // What ended here is no frame: cut, corrupted, or noise. *lost tells its bytes.
};

/// `words` needs room for FERRY_FRAME_MAX_WORDS.
enum ferry_frame_step ferry_frame_decode(struct ferry_frame_decoder *decoder, uint8_t byte, uint32_t *head,
                                         uint32_t *words, uint32_t *lost);

#ifdef __cplusplus
}
#endif
#endif
