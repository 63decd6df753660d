// SPDX-License-Identifier: Apache-2.0
// Packets in order, as many as memory holds. One thread at a time.
#ifndef FERRY_LINK_PACKET_QUEUE_H
#define FERRY_LINK_PACKET_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Zeroed at the start.
struct ferry_packet_queue {
    uint32_t *words; // Of each packet its length, with bit 31 for control, and its words.
    size_t count, taken, room;
};

/// Copied; `control` comes back with it. false = no memory.
bool ferry_packet_queue_put(struct ferry_packet_queue *queue, bool control, const uint32_t *words, size_t count);
/// The first packet, or NULL; it stays in the queue, and where it is until the next put.
const uint32_t *ferry_packet_queue_first(const struct ferry_packet_queue *queue, bool *control, size_t *count);
/// Drop the first one; its words stay valid until the next put.
void ferry_packet_queue_drop(struct ferry_packet_queue *queue);
/// What it holds, and a word for each packet.
size_t ferry_packet_queue_words(const struct ferry_packet_queue *queue);
/// Free what it holds; it is empty then.
void ferry_packet_queue_end(struct ferry_packet_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
