// SPDX-License-Identifier: Apache-2.0
// The reckoning at the end of a run: what the firmware did against what the oracle says it had to do.
#include <stdio.h>
#include <string.h>

#include "double.h"

static char text[320];
static uint32_t statuses[DOUBLE_ENTRIES];

static const char *say(unsigned entry, const char *what, uint64_t got, uint64_t wanted)
{
    snprintf(text, sizeof text, "entry %u of ring %u: %s: %llx instead of %llx", entry, machine.entries[entry].ring,
             what, (unsigned long long)got, (unsigned long long)wanted);
    return text;
}

static uint64_t two(const uint32_t *words, unsigned byte)
{
    return words[byte / 4] | (uint64_t)words[byte / 4 + 1] << 32;
}

static bool same_action(const struct oracle_action *a, const struct oracle_action *b)
{
    return a->is_table_change == b->is_table_change && (a->is_table_change || a->packet_offset == b->packet_offset) &&
           a->op == b->op && a->source_kind == b->source_kind && a->destination_kind == b->destination_kind &&
           a->list == b->list && a->pattern_log2 == b->pattern_log2 && a->unordered == b->unordered &&
           a->is_protected == b->is_protected && a->source == b->source && a->destination == b->destination &&
           a->length == b->length && a->list_offset == b->list_offset && a->unmap == b->unmap && a->snoop == b->snoop &&
           a->first == b->first && a->count == b->count && a->dummy == b->dummy;
}

// The copies from *next on are the rectangle's, each byte once; a walk may have begun anew. False: they are not.
static bool is_rectangle(const struct double_entry *entry, unsigned *next, const struct oracle_action *wanted, bool cut)
{
    uint32_t byte = 0, row = 0;

    while (row != wanted->rows && *next < entry->action_count) {
        const struct oracle_action *got = &entry->actions[*next];
        struct oracle_action piece = oracle_rectangle_piece(wanted, &byte, &row);

        if (!same_action(got, &piece)) {
            byte = row = 0;
            piece = oracle_rectangle_piece(wanted, &byte, &row);
        }
        if (!same_action(got, &piece))
            return false;
        ++*next;
    }
    return row == wanted->rows || cut;
}

static const char *check_actions(unsigned number, struct oracle_result *oracle, bool cut)
{
    const struct double_entry *entry = &machine.entries[number];

    unsigned i = 0;

    for (unsigned next = 0; next < entry->action_count; i++) {
        struct oracle_action *wanted = &oracle->actions[i];

        if (i >= oracle->action_count)
            return say(number, "more actions than packets", entry->action_count, oracle->action_count);
        if (wanted->rows) {
            if (!is_rectangle(entry, &next, wanted, cut))
                return say(number, "not the rectangle at packet offset", wanted->packet_offset, next);
            continue;
        }
        if (wanted->op == FERRY_JOB_OP_FILL && !wanted->is_table_change && wanted->pattern_log2 < 3)
            wanted->source &= (1ull << (8u << wanted->pattern_log2)) - 1;
        if (!same_action(&entry->actions[next], wanted))
            return say(number, "another action at packet offset", entry->actions[next].packet_offset,
                       wanted->packet_offset);
        next++;
    }
    if (i != oracle->action_count && !cut)
        return say(number, "actions", i, oracle->action_count);
    // What the page-table unit was told by the firmware; what it forgets stands among the jobs.
    unsigned roots = 0;
    uint32_t words, end = oracle->fault.kind ? oracle->fault.packet_offset : entry->data ? entry->bytes : 0;
    for (uint32_t at = 0; at < end; at += words >> 16 << 2) {
        memcpy(&words, entry->data + at, sizeof words);
        roots += (words & 0xff) == FERRY_OPCODE_ROOT;
    }
    if (entry->roots != roots && !cut)
        return say(number, "roots", entry->roots, roots);
    return NULL;
}

static const char *check_fault(unsigned number, const struct double_post *post, uint32_t sequence,
                               const struct oracle_fault *fault, uint32_t written)
{
    const struct double_entry *entry = &machine.entries[number];
    uint32_t what = post->words[FERRY_FAULT_RECORD_WHAT / 4];
    uint64_t at = machine.log_address + 64 * ((sequence - 1) % (1u << machine.log_entries_log2));

    if (post->count != 16)
        return say(number, "fault record's words", post->count, 16);
    if (post->address != at)
        return say(number, "fault record's address", post->address, at);
    if (post->words[0] != sequence)
        return say(number, "fault record's sequence", post->words[0], sequence);
    if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what) != fault->kind)
        return say(number, "fault kind", FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what), fault->kind);
    if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, what) != entry->ring)
        return say(number, "fault's ring", FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, what), entry->ring);
    if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, what) != fault->address_kind)
        return say(number, "fault's address kind", FERRY_GET(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, what),
                   fault->address_kind);
    if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_WRITE, what) != fault->write)
        return say(number, "fault's write flag", !fault->write, fault->write);
    if (what & FERRY_FAULT_RECORD_WHAT_RESERVED_MASK)
        return say(number, "reserved bit of a fault record", what, 0);
    if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what) != fault->packet_offset)
        return say(number, "fault's packet offset", FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what),
                   fault->packet_offset);
    if (post->words[FERRY_FAULT_RECORD_LIST_INDEX / 4] != fault->list_index)
        return say(number, "fault's list index", post->words[FERRY_FAULT_RECORD_LIST_INDEX / 4], fault->list_index);
    if (two(post->words, FERRY_FAULT_RECORD_ADDRESS) != fault->address)
        return say(number, "fault's address", two(post->words, FERRY_FAULT_RECORD_ADDRESS), fault->address);
    if (two(post->words, FERRY_FAULT_RECORD_FENCE_VALUE) != entry->fence)
        return say(number, "fault's fence value", two(post->words, FERRY_FAULT_RECORD_FENCE_VALUE), entry->fence);
    if (two(post->words, FERRY_FAULT_RECORD_BUFFER_ADDRESS) != entry->address)
        return say(number, "fault's buffer address", two(post->words, FERRY_FAULT_RECORD_BUFFER_ADDRESS),
                   entry->address);
    if (post->words[FERRY_FAULT_RECORD_HEADER / 4] != fault->header)
        return say(number, "fault's header", post->words[FERRY_FAULT_RECORD_HEADER / 4], fault->header);
    if (post->words[FERRY_FAULT_RECORD_WRITTEN / 4] != written)
        return say(number, "fault's written bytes", post->words[FERRY_FAULT_RECORD_WRITTEN / 4], written);
    for (unsigned word = FERRY_FAULT_RECORD_WALK / 4; word < 16; word++)
        if (post->words[word])
            return say(number, "reserved word of a fault record", post->words[word], 0);
    return NULL;
}

// The first packet that changes tables and was not carried out; the entry's size when there is none.
static uint32_t undone_change(const struct double_entry *entry, const struct oracle_result *oracle)
{
    unsigned changes = 0, roots = entry->roots;
    uint32_t words, first = entry->bytes, end = oracle->fault.kind ? oracle->fault.packet_offset : entry->bytes;

    for (unsigned i = 0; i < entry->action_count; i++)
        changes += entry->actions[i].is_table_change;
    for (unsigned i = 0; i < oracle->action_count; i++)
        if (oracle->actions[i].is_table_change && changes-- == 0)
            first = oracle->actions[i].packet_offset;
    for (uint32_t at = 0; at < end && at < first; at += words >> 16 << 2) {
        memcpy(&words, entry->data + at, sizeof words);
        if ((words & 0xff) == FERRY_OPCODE_ROOT && roots-- == 0)
            first = at;
    }
    return first;
}

// What must be reported of the entry. The packets before the reported one are done, those after it are not.
static uint32_t expect(const struct double_entry *entry, const struct oracle_result *oracle, uint32_t got,
                       struct oracle_fault *fault, uint32_t *written)
{
    *written = 0;
    if (entry->engine_faulted) {
        *fault = entry->engine_fault;
        *written = entry->engine_written;
        memcpy(&fault->header, entry->data + fault->packet_offset, 4);
        return FERRY_BUFFER_STATUS_FAULTED;
    }
    // What a reset found and took nothing from has ended as it would have without.
    if (entry->dropped_by_reset) {
        *fault = (struct oracle_fault){.kind = FERRY_FAULT_KIND_ENGINE_RESET, .packet_offset = entry->dropped_packet};
        *written = entry->dropped_written;
        return FERRY_BUFFER_STATUS_ABORTED;
    }
    // No job was dropped, but a change of tables behind the reset is not made: when that ended only the firmware knows.
    if (entry->held_at_reset && got == FERRY_BUFFER_STATUS_ABORTED) {
        *fault = (struct oracle_fault){.kind = FERRY_FAULT_KIND_ENGINE_RESET,
                                       .packet_offset = (uint16_t)undone_change(entry, oracle)};
        if (fault->packet_offset < entry->bytes)
            return FERRY_BUFFER_STATUS_ABORTED;
    }
    *fault = oracle->fault;
    return fault->kind ? FERRY_BUFFER_STATUS_FAULTED : FERRY_BUFFER_STATUS_SUCCESS;
}

const char *double_verify(void)
{
    static struct oracle_result oracle;
    uint32_t retired[DOUBLE_RINGS] = {0}, faults[DOUBLE_RINGS] = {0}, last_faulted[DOUBLE_RINGS] = {0};
    uint32_t sequence = 0, interrupts = 0, packets = 0;
    unsigned post = 0;
    bool cut_any = false;

    memset(statuses, 0xff, sizeof statuses);
    if (machine.wrong[0])
        return machine.wrong;
    if (double_state() != FERRY_FIRMWARE_STATE_RUNNING) {
        snprintf(text, sizeof text, "firmware state %u, halt code %u, argument %x", double_state(),
                 machine.stage[FERRY_CORE_HALT_CODE / 4], machine.stage[FERRY_CORE_HALT_ARGUMENT / 4]);
        return text;
    }
    if (machine.claim_count != machine.entry_count)
        return say(0, "entries claimed", machine.claim_count, machine.entry_count);
    if (machine.stalls)
        return say(0, "accesses that made the core wait", machine.stalls, 0);
    if (machine.ended_count != machine.entry_count)
        return say(0, "entries ended", machine.ended_count, machine.entry_count);
    for (unsigned i = 0; i < machine.ended_count; i++) {
        unsigned number = machine.ended[i];
        const struct double_entry *entry = &machine.entries[number];
        struct oracle_limits limits = machine.limits;
        struct oracle_fault fault;
        uint32_t written;
        bool cut = entry->engine_faulted || entry->held_at_reset;
        const char *why;

        limits.rights = entry->rights;
        memset(&oracle, 0, sizeof oracle);
        if (entry->fetch_fault)
            oracle.fault = (struct oracle_fault){.kind = entry->fetch_fault,
                                                 .address_kind = FERRY_ADDRESS_KIND_SYSTEM,
                                                 .address = double_unfetched_at(entry)};
        else
            oracle_run(entry->data, entry->bytes, &limits, &oracle);
        cut_any |= cut;
        packets += oracle.packets;

        // The status as the fence record has it; a fault record, if there is one, stands before it.
        bool has_record = post < machine.post_count && machine.posts[post].count == 16;
        unsigned fence_at = post + has_record;

        if (fence_at >= machine.post_count)
            return say(number, "no fence record", 0, 1);

        const uint32_t *fence = machine.posts[fence_at].words;

        // Who says that all is done has done it, whatever else there was.
        why =
            check_actions(number, &oracle, cut && fence[FERRY_FENCE_RECORD_STATUS / 4] != FERRY_BUFFER_STATUS_SUCCESS);
        if (why)
            return why;

        uint32_t status = expect(entry, &oracle, fence[FERRY_FENCE_RECORD_STATUS / 4], &fault, &written);

        if (has_record != (status != FERRY_BUFFER_STATUS_SUCCESS))
            return say(number, "fault records", has_record, !has_record);
        if (has_record) {
            why = check_fault(number, &machine.posts[post], ++sequence, &fault, written);
            if (why)
                return why;
            interrupts |= FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK;
        }
        retired[entry->ring]++;
        if (status != FERRY_BUFFER_STATUS_SUCCESS) {
            faults[entry->ring]++;
            last_faulted[entry->ring] = retired[entry->ring];
        }
        if (machine.posts[fence_at].count != 8)
            return say(number, "fence record's words", machine.posts[fence_at].count, 8);
        if (machine.posts[fence_at].address != machine.fence_address[entry->ring])
            return say(number, "fence record's address", machine.posts[fence_at].address,
                       machine.fence_address[entry->ring]);
        if (two(fence, FERRY_FENCE_RECORD_VALUE) != entry->fence)
            return say(number, "fence value", two(fence, FERRY_FENCE_RECORD_VALUE), entry->fence);
        if (fence[FERRY_FENCE_RECORD_RETIRED / 4] != retired[entry->ring])
            return say(number, "fence record's count", fence[FERRY_FENCE_RECORD_RETIRED / 4], retired[entry->ring]);
        if (fence[FERRY_FENCE_RECORD_STATUS / 4] != status)
            return say(number, "status", fence[FERRY_FENCE_RECORD_STATUS / 4], status);
        if (fence[FERRY_FENCE_RECORD_FAULTS / 4] != faults[entry->ring])
            return say(number, "fence record's faults", fence[FERRY_FENCE_RECORD_FAULTS / 4], faults[entry->ring]);
        if (fence[FERRY_FENCE_RECORD_LAST_FAULTED / 4] != last_faulted[entry->ring])
            return say(number, "last faulted", fence[FERRY_FENCE_RECORD_LAST_FAULTED / 4], last_faulted[entry->ring]);
        statuses[number] = status;
        if (entry->interrupt)
            interrupts |= 1u << entry->ring;
        post = fence_at + 1;

        const struct double_ring *ring = &machine.rings[entry->ring];
        bool last = true;

        for (unsigned later = i + 1; later < machine.ended_count; later++) {
            if (machine.entries[machine.ended[later]].ring != entry->ring)
                continue;
            last = false;
            if (machine.ended[later] < number)
                return say(number, "ended before an earlier one of its ring", number, machine.ended[later]);
        }
        if (last && (ring->retired != retired[entry->ring] || ring->faults != faults[entry->ring] ||
                     ring->last_faulted != last_faulted[entry->ring] || ring->fence != entry->fence))
            return say(number, "registers of the ring", ring->retired, retired[entry->ring]);
    }
    if (post != machine.post_count)
        return say(0, "records", machine.post_count, post);
    if (machine.stage[FERRY_CORE_FAULT_LOG_PRODUCED / 4] != sequence)
        return say(0, "FAULT_LOG_PRODUCED", machine.stage[FERRY_CORE_FAULT_LOG_PRODUCED / 4], sequence);
    if (machine.interrupts != interrupts)
        return say(0, "interrupts", machine.interrupts, interrupts);
    if (!cut_any && machine.packets != packets)
        return say(0, "packets", machine.packets, packets);
    return NULL;
}

uint32_t double_status(unsigned entry)
{
    return statuses[entry];
}

const struct double_post *double_fault_record(unsigned n)
{
    for (unsigned i = 0; i < machine.post_count; i++)
        if (machine.posts[i].count == 16 && n-- == 0)
            return &machine.posts[i];
    return NULL;
}
