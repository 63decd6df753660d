// SPDX-License-Identifier: Apache-2.0
// A device made of a script: packets that it expects, word for word, with the answers it gives. Behind the script's end
// it records what comes. Packets here are written out as words by hand, so that nothing of link/tlp.c is trusted.
#ifndef FERRY_TEST_FAKE_DEVICE_H
#define FERRY_TEST_FAKE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/tlp_transport.h"

#define FAKE_WORDS   80
#define FAKE_PACKETS 600

struct fake_packet {
    uint32_t words[FAKE_WORDS];
    size_t count;
};

struct fake_device {
    struct fake_packet expect[128], answer[128]; // The script; an answer of 0 words is none.
    size_t steps, step;
    struct fake_packet sent[FAKE_PACKETS]; // Recorded behind the script.
    size_t sent_count;
    struct fake_packet coming[FAKE_PACKETS]; // On its way to the host.
    size_t coming_head, coming_count;
    /// Called for every recorded packet, to answer it.
    void (*answer_to)(struct fake_device *device, const struct fake_packet *packet);
    uint64_t cycles;
    uint32_t refuse_sends; // BUSY so many times.
    size_t queue, drains;  // Words that wait for it, and how many of them it takes each time that it runs.
    uint32_t runs;
    struct fake_packet later; // Comes in so many cycles, if that is not 0.
    uint64_t later_in;
    bool closed;
    bool gone; // Does not run any more.
};

void fake_device_start(struct fake_device *device);
struct ferry_tlp_transport fake_device_transport(struct fake_device *device);
void fake_device_expect(struct fake_device *device, const struct fake_packet *expect, const struct fake_packet *answer);
/// Send to the host.
void fake_device_send(struct fake_device *device, const uint32_t *words, size_t count);
/// The script of a function reset in front of the next enumeration.
void fake_device_expect_reset(struct fake_device *device, bool supported);
/// The script of a whole enumeration, with MPS 256, MRRS 512, RCB 64.
void fake_device_expect_enumeration(struct fake_device *device, bool boundary128);

#endif
