// SPDX-License-Identifier: Apache-2.0
// The ends of buffers in the double: records, what they change for the host, slots.
#include "double_parts.h"

#include <stdlib.h>
#include <string.h>

static struct double_post *new_post(unsigned count)
{
    struct double_post *post = &machine.posts[machine.post_count];

    if (machine.post_count == DOUBLE_POSTS)
        abort();
    machine.post_count++;
    memset(post, 0, sizeof *post);
    post->count = count;
    machine.post_done_at = machine.now + machine.post_ticks;
    machine.posting = true;
    return post;
}

void double_take_post(void)
{
    struct double_post *post = new_post(16);

    memcpy(post->words, &machine.stage[FERRY_CORE_POST_DATA / 4], sizeof post->words);
    post->words[2] = (uint32_t)machine.now;
    post->words[3] = (uint32_t)(machine.now >> 32);
    post->address = double_staged(FERRY_CORE_POST_ADDRESS_LOW);
    if (!machine.log_is_read && machine.fault_records - machine.log_consumed >= 1u << machine.log_entries_log2)
        double_wrong("fault record over one that was not read", machine.fault_records);
    machine.fault_records++;
}

// The buffer ends with its fence record.
static void post_fence(uint32_t slot, uint32_t status)
{
    const struct double_entry *entry = &machine.entries[machine.slot_entry[slot]];
    const struct double_ring *ring = &machine.rings[entry->ring];
    struct double_post *post = new_post(8);

    post->slot = slot;
    post->address = machine.fence_address[entry->ring];
    post->words[0] = (uint32_t)entry->fence;
    post->words[1] = (uint32_t)(entry->fence >> 32);
    post->words[FERRY_FENCE_RECORD_RETIRED / 4] = ring->retired + 1;
    post->words[FERRY_FENCE_RECORD_STATUS / 4] = status;
    post->words[FERRY_FENCE_RECORD_FAULTS / 4] = ring->faults + (status != FERRY_BUFFER_STATUS_SUCCESS);
    post->words[FERRY_FENCE_RECORD_LAST_FAULTED / 4] =
        status != FERRY_BUFFER_STATUS_SUCCESS ? ring->retired + 1 : ring->last_faulted;
}

void double_take_finish(uint32_t command)
{
    uint32_t slot = FERRY_GET(FERRY_CORE_FINISH_SLOT, command);
    struct double_entry *entry = double_slot_owner(slot);
    bool paging = entry && entry->ring == 0;

    if (!entry || entry->finished) {
        double_wrong("a buffer finished that is not held, or twice", slot);
        return;
    }
    if (machine.sequencer.busy && machine.sequencer.slot == slot)
        double_wrong("a buffer finished that the sequencer is at work on", slot);
    entry->finished = true;
    entry->refused = command & FERRY_CORE_FINISH_REFUSED_MASK;
    machine.finish.order[paging][machine.finish.in[paging]++ % DOUBLE_SLOTS] = slot;
}

static bool has_jobs(unsigned entry)
{
    for (unsigned i = 0; i < machine.queue_count; i++)
        if (machine.queue[(machine.queue_head + i) % DOUBLE_QUEUE].entry == entry)
            return true;
    return false;
}

void double_finish_step(void)
{
    if (machine.finish.asks) {
        if (machine.finish.told && !machine.posting) {
            machine.finish.asks = machine.finish.told = false;
            post_fence(machine.finish.slot, machine.finish.status);
        }
        return;
    }
    for (unsigned turn = 0; turn < 2; turn++) {
        bool paging = turn == 0;

        if (machine.finish.in[paging] == machine.finish.out[paging] || machine.resetting || machine.posting)
            continue;

        uint32_t slot = machine.finish.order[paging][machine.finish.out[paging] % DOUBLE_SLOTS];

        if (has_jobs((unsigned)machine.slot_entry[slot]))
            continue;
        machine.finish.out[paging]++;
        if ((machine.poison & 1u << slot) || machine.entries[machine.slot_entry[slot]].refused) {
            machine.finish.asks = true;
            machine.finish.slot = slot;
        } else {
            post_fence(slot, FERRY_BUFFER_STATUS_SUCCESS);
        }
        return;
    }
}

static void release(uint32_t slot)
{
    struct double_entry *entry = double_slot_owner(slot);

    if (!entry || entry->released) {
        double_wrong("slot given back that is not held", slot);
        return;
    }
    entry->released = true;
    machine.ended[machine.ended_count++] = (unsigned)machine.slot_entry[slot];
    machine.slot_entry[slot] = -1;
    machine.poison &= ~(1u << slot);
    machine.aborted &= ~(1u << slot);
    ASAN_POISON_MEMORY_REGION(double_slot_words(slot), DOUBLE_SLOT_BYTES);
}

void double_end_post(void)
{
    const struct double_post *post = &machine.posts[machine.post_count - 1];

    machine.posting = false;
    if (post->count == 16) {
        machine.stage[FERRY_CORE_FAULT_LOG_PRODUCED / 4] = post->words[FERRY_FAULT_RECORD_SEQUENCE / 4];
        machine.interrupts |= FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK;
        return;
    }

    const struct double_entry *entry = &machine.entries[machine.slot_entry[post->slot]];
    struct double_ring *ring = &machine.rings[entry->ring];

    ring->fence = post->words[0] | (uint64_t)post->words[1] << 32;
    ring->retired = post->words[FERRY_FENCE_RECORD_RETIRED / 4];
    ring->faults = post->words[FERRY_FENCE_RECORD_FAULTS / 4];
    ring->last_faulted = post->words[FERRY_FENCE_RECORD_LAST_FAULTED / 4];
    if (entry->interrupt)
        machine.interrupts |= 1u << entry->ring;
    release(post->slot);
}
