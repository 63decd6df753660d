// SPDX-License-Identifier: Apache-2.0
#include "link/packet_queue.h"

#include <stdlib.h>
#include <string.h>

#define CONTROL 0x80000000u

bool ferry_packet_queue_put(struct ferry_packet_queue *queue, bool control, const uint32_t *words, size_t count)
{
    if (queue->count + count + 1 > queue->room && queue->taken > queue->room / 2) {
        memmove(queue->words, queue->words + queue->taken, (queue->count - queue->taken) * sizeof(*queue->words));
        queue->count -= queue->taken;
        queue->taken = 0;
    }
    if (queue->count + count + 1 > queue->room) {
        const size_t room = 2 * queue->room + count + 1024;
        uint32_t *grown = realloc(queue->words, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        queue->words = grown;
        queue->room = room;
    }
    queue->words[queue->count] = (uint32_t)count | (control ? CONTROL : 0);
    memcpy(queue->words + queue->count + 1, words, count * sizeof(*words));
    queue->count += count + 1;
    return true;
}

const uint32_t *ferry_packet_queue_first(const struct ferry_packet_queue *queue, bool *control, size_t *count)
{
    if (queue->taken == queue->count) {
        return NULL;
    }
    *control = (queue->words[queue->taken] & CONTROL) != 0;
    *count = queue->words[queue->taken] & ~CONTROL;
    return queue->words + queue->taken + 1;
}

void ferry_packet_queue_drop(struct ferry_packet_queue *queue)
{
    queue->taken += 1 + (queue->words[queue->taken] & ~CONTROL);
    if (queue->taken == queue->count) {
        queue->taken = queue->count = 0;
    }
}

size_t ferry_packet_queue_words(const struct ferry_packet_queue *queue)
{
    return queue->count - queue->taken;
}

void ferry_packet_queue_end(struct ferry_packet_queue *queue)
{
    free(queue->words);
    *queue = (struct ferry_packet_queue){0};
}
