// SPDX-License-Identifier: Apache-2.0
// The double's sequencer, and what becomes of the jobs that it or a real one queues.
#include "double_parts.h"

#include <stdlib.h>
#include <string.h>

void double_keep_action(struct double_entry *entry, const struct oracle_action *action)
{
    if (entry->action_count == entry->action_room) {
        entry->action_room = 2 * entry->action_room + 16;
        entry->actions = realloc(entry->actions, entry->action_room * sizeof *entry->actions);
    }
    entry->actions[entry->action_count++] = *action;
}

struct double_entry *double_newest_claim(bool paging)
{
    for (unsigned i = machine.claim_count; i--;)
        if ((machine.entries[machine.claims[i]].ring == 0) == paging)
            return &machine.entries[machine.claims[i]];
    return NULL;
}

bool double_job_room(void)
{
    return machine.queue_count < DOUBLE_QUEUE && !machine.stuck && !machine.resetting;
}

void double_take_job(uint32_t slot, struct oracle_action job, uint32_t list_at)
{
    struct double_entry *entry = double_slot_owner(slot);

    if (!entry || entry->released) {
        double_wrong("job of a slot without a buffer", slot);
        return;
    }
    if (double_newest_claim(entry->ring == 0) != entry)
        double_wrong("job of another buffer than the one claimed last", slot);
    if (job.list) {
        job.list_offset = list_at - slot * DOUBLE_SLOT_BYTES;
        if (job.list_offset >= entry->bytes || job.list_offset % 8)
            double_wrong("page list outside the buffer", list_at);
        uint64_t first = job.list == FERRY_LIST_SIDE_SOURCE ? job.source : job.destination;
        if (job.list_offset + 8 * ((first + job.length + 4095) / 4096) > entry->bytes)
            double_wrong("page list runs out of the buffer", list_at);
    }

    struct oracle_limits limits = machine.limits;
    const char *why;

    limits.rights = entry->rights;
    why = oracle_job_is_illegal(&job, &limits);
    if (why)
        double_wrong(why, job.packet_offset);
    // What the operation does not look at does not count.
    if (job.op == FERRY_JOB_OP_READ)
        job.destination = 0;
    if (job.op != FERRY_JOB_OP_FILL)
        job.pattern_log2 = 0;
    if (job.op == FERRY_JOB_OP_FILL && job.pattern_log2 < 3)
        job.source &= (1ull << (8u << job.pattern_log2)) - 1;
    double_keep_action(entry, &job);
    if (machine.queue_count == 0)
        machine.job_done_at = machine.now + machine.job_ticks;
    unsigned at = (machine.queue_head + machine.queue_count++) % DOUBLE_QUEUE;
    machine.queue[at].entry = (unsigned)machine.slot_entry[slot];
    machine.queue[at].job = job;
    machine.jobs_queued++;
    machine.packets += !job.more;
    entry->last_job = machine.jobs_queued;
}

void double_start_sequencer(uint32_t command)
{
    uint32_t slot = FERRY_GET(FERRY_CORE_SEQUENCE_SLOT, command);
    struct double_entry *entry = double_slot_owner(slot);

    if (command & FERRY_CORE_SEQUENCE_STOP_MASK) {
        machine.sequencer.stop = true;
        return;
    }
    if (machine.sequencer.busy)
        double_wrong("sequencer started while it is busy", command);
    if (!entry || entry->fetch_fault) {
        double_wrong("sequencer started on a slot without a buffer", command);
        return;
    }
    if (machine.stage[FERRY_CORE_SEQUENCE_END / 4] != entry->bytes)
        double_wrong("sequencer told another length than the buffer's", machine.stage[FERRY_CORE_SEQUENCE_END / 4]);
    if (!(command & FERRY_CORE_SEQUENCE_VIRTUAL_ONLY_MASK) !=
        !(entry->rights & FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK))
        double_wrong("sequencer not told as the entry has it whether virtual addresses alone may be named",
                     entry->rights);
    if (((command & FERRY_CORE_SEQUENCE_SYSTEM_MASK) && !(entry->rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK)) ||
        ((command & FERRY_CORE_SEQUENCE_TABLES_MASK) && !(entry->rights & FERRY_BAR0_RING_RIGHTS_TABLES_MASK)))
        double_wrong("sequencer told of a right that the ring does not have", command);
    if (!(command & FERRY_CORE_SEQUENCE_SYSTEM_MASK) && (entry->rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK))
        double_wrong("sequencer not told of the right to system memory", entry->rights);
    machine.sequencer.slot = slot;
    machine.sequencer.offset = FERRY_GET(FERRY_CORE_SEQUENCE_PACKET_OFFSET, command);
    machine.sequencer.system = command & FERRY_CORE_SEQUENCE_SYSTEM_MASK;
    machine.sequencer.tables = command & FERRY_CORE_SEQUENCE_TABLES_MASK;
    machine.sequencer.checked = command & FERRY_CORE_SEQUENCE_CHECKED_MASK;
    machine.sequencer.stop = false;
    machine.sequencer.waiting = false;
    machine.sequencer.busy = true;
    machine.sequencer.table = false;
    machine.sequencer.think = 0;
    if (machine.sequencer.offset > entry->bytes)
        double_wrong("sequencer started behind the buffer", command);
}

static void stop_sequencer(void)
{
    machine.sequencer.busy = false;
    machine.sequencer.waiting = false;
}

// A change of the table that breaks no rule but that of the right to it, of which the sequencer knows nothing.
static bool lacks_the_right_only(const struct oracle_fault *fault, const uint8_t *packet)
{
    uint32_t words[2];

    if (fault->kind != FERRY_FAULT_KIND_RIGHTS || fault->packet_offset != machine.sequencer.offset ||
        (packet[0] != FERRY_OPCODE_MAP_APERTURE && packet[0] != FERRY_OPCODE_UNMAP_APERTURE))
        return false;
    memcpy(words, packet + FERRY_PACKET_MAP_APERTURE_FIRST_PAGE, sizeof words);
    return (uint64_t)words[0] + words[1] <= machine.limits.aperture_pages;
}

void double_sequencer_step(void)
{
    struct double_entry *entry = &machine.entries[machine.slot_entry[machine.sequencer.slot]];
    const struct oracle_action *job = NULL;

    machine.sequencer.ended = machine.sequencer.offset == machine.stage[FERRY_CORE_SEQUENCE_END / 4];
    if (machine.sequencer.stop || machine.sequencer.ended) {
        stop_sequencer();
        return;
    }
    if (!machine.sequencer.waiting && ++machine.sequencer.think % machine.look_ticks)
        return;
    for (unsigned i = 0; i < entry->oracle->action_count; i++)
        if (entry->oracle->actions[i].packet_offset == machine.sequencer.offset)
            job = &entry->oracle->actions[i];
    if (job && job->is_table_change) {
        machine.sequencer.table = !machine.shy || ++machine.sequencer.taken % machine.shy != 0;
        job = NULL;
    }

    const uint8_t *header = entry->data + machine.sequencer.offset;

    if (lacks_the_right_only(&entry->oracle->fault, header))
        machine.sequencer.table = true;

    bool names_system =
        job && (job->source_kind == FERRY_ADDRESS_KIND_SYSTEM || job->destination_kind == FERRY_ADDRESS_KIND_SYSTEM);
    bool good = entry->oracle->fault.kind == FERRY_FAULT_KIND_NONE ||
                machine.sequencer.offset < entry->oracle->fault.packet_offset;
    bool skips = good && (header[0] == FERRY_OPCODE_NOP || header[0] == FERRY_OPCODE_DISCARD);
    bool simple = header[0] == FERRY_OPCODE_COPY || header[0] == FERRY_OPCODE_COPY_PAGES ||
                  header[0] == FERRY_OPCODE_FILL || header[0] == FERRY_OPCODE_FENCE || header[0] == FERRY_OPCODE_NOP ||
                  header[0] == FERRY_OPCODE_DISCARD || (header[0] == FERRY_OPCODE_FORGET && machine.sequencer.tables);

    if (machine.sequencer.checked && !job && !skips)
        double_wrong("a packet was called good that is not, or is not the sequencer's", machine.sequencer.offset);
    if (!machine.sequencer.checked &&
        (!(job || skips) || !simple || (job && job->is_protected) || (names_system && !machine.sequencer.system) ||
         (machine.shy && !machine.sequencer.waiting && ++machine.sequencer.taken % machine.shy == 0))) {
        stop_sequencer();
        return;
    }
    // A walk that was stopped goes on, unless another was begun meanwhile.
    if (job && job->rows && (machine.sequencer.walk != entry || machine.sequencer.walk_offset != job->packet_offset)) {
        machine.sequencer.walk = entry;
        machine.sequencer.walk_offset = job->packet_offset;
        machine.sequencer.walk_byte = machine.sequencer.walk_row = 0;
    }
    machine.sequencer.waiting = job && !double_job_room();
    if (!(job || skips) || machine.sequencer.waiting)
        return;
    if (skips) {
        machine.packets++;
    } else if (job->rows) {
        struct oracle_action piece =
            oracle_rectangle_piece(job, &machine.sequencer.walk_byte, &machine.sequencer.walk_row);

        double_take_job(machine.sequencer.slot, piece, 0);
        if (piece.more)
            return;
        machine.sequencer.walk = NULL;
    } else {
        double_take_job(machine.sequencer.slot, *job, machine.sequencer.slot * DOUBLE_SLOT_BYTES + job->list_offset);
    }
    machine.sequencer.offset += 4u * (header[2] | header[3] << 8);
    machine.sequencer.checked = false;
}
