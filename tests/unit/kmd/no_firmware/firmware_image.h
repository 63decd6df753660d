// SPDX-License-Identifier: Apache-2.0
// The reference model runs no firmware, so the miniport's tests load one word and need no cross compiler.
#ifndef FERRY_FIRMWARE_IMAGE_H
#define FERRY_FIRMWARE_IMAGE_H

extern const unsigned char ferry_firmware_image[];
extern const unsigned ferry_firmware_image_bytes;

#endif
