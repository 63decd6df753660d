// SPDX-License-Identifier: Apache-2.0
// The double's engine and aperture table.
#include "double_parts.h"

#include <stdlib.h>
#include <string.h>

void double_fault_job(uint32_t job, uint32_t kind, bool write, uint32_t distance, uint32_t written)
{
    for (unsigned i = 0; i < sizeof machine.faults / sizeof machine.faults[0]; i++) {
        if (!machine.faults[i].armed) {
            machine.faults[i].armed = true;
            machine.faults[i].job = job;
            machine.faults[i].kind = kind;
            machine.faults[i].write = write;
            machine.faults[i].distance = distance;
            machine.faults[i].written = written;
            return;
        }
    }
    abort();
}

void double_engine_reset(unsigned ticks)
{
    machine.resetting = true;
    machine.reset_done_at = machine.now + ticks;
}

// Every earlier job of the ring must be done.
static void must_be_alone(const struct double_entry *entry)
{
    for (unsigned i = 0; i < machine.claim_count; i++) {
        const struct double_entry *earlier = &machine.entries[machine.claims[i]];

        if (earlier->ring == entry->ring && !earlier->released &&
            (int32_t)(machine.jobs_retired - earlier->last_job) < 0 && earlier->action_count)
            double_wrong("table changed under a running job of its ring", earlier->last_job);
    }
}

void double_tell_root(uint32_t value)
{
    const uint32_t told[6] = {FERRY_OPCODE_ROOT,
                              machine.stage[FERRY_CORE_SPACE_PLACES / 4],
                              value,
                              0,
                              machine.stage[FERRY_CORE_SPACE_TABLE_LOW / 4],
                              machine.stage[FERRY_CORE_SPACE_TABLE_HIGH / 4]};

    // Whose it is: one of the two buffers that are decoded has such a packet next, behind those that it told of.
    for (unsigned paging = 0; paging < 2; paging++) {
        struct double_entry *entry = double_newest_claim(paging);
        unsigned at = 0, seen = 0;

        if (!entry || !entry->data || entry->released || !(entry->rights & FERRY_BAR0_RING_RIGHTS_TABLES_MASK))
            continue;
        uint32_t end = entry->oracle->fault.kind ? entry->oracle->fault.packet_offset : entry->bytes;
        while (at < end) {
            uint32_t words[6];

            memcpy(words, entry->data + at, at + sizeof words <= end ? sizeof words : 8);
            at += words[0] >> 16 << 2;
            if ((words[0] & 0xff) != told[0] || seen++ != entry->roots)
                continue;
            words[0] &= 0xff;
            if (memcmp(words, told, sizeof told) != 0)
                break;
            must_be_alone(entry);
            if (entry->engine_faulted || entry->dropped_by_reset)
                double_wrong("page tables told although an earlier packet was not done", at);
            entry->roots++;
            return;
        }
    }
    double_wrong("page tables told what no packet says", value);
}

static const struct oracle_action *next_table_change(const struct double_entry *entry)
{
    unsigned made = 0;

    for (unsigned i = 0; i < entry->action_count; i++)
        made += entry->actions[i].is_table_change;
    for (unsigned i = 0; i < entry->oracle->action_count; i++)
        if (entry->oracle->actions[i].is_table_change && made-- == 0)
            return &entry->oracle->actions[i];
    return NULL;
}

void double_take_table_change(uint32_t control)
{
    struct double_entry *entry = NULL;
    struct oracle_action change = {
        .is_table_change = true,
        .unmap = FERRY_GET(FERRY_CORE_MMU_CONTROL_UNMAP, control),
        .snoop = FERRY_GET(FERRY_CORE_MMU_CONTROL_SNOOP, control),
        .first = machine.stage[FERRY_CORE_MMU_FIRST / 4],
        .count = machine.stage[FERRY_CORE_MMU_COUNT / 4],
    };

    // Whose it is: the next change that one of the two buffers that are decoded asks for.
    for (unsigned paging = 0; paging < 2; paging++) {
        struct double_entry *claimed = double_newest_claim(paging);
        const struct oracle_action *next = claimed && !claimed->released ? next_table_change(claimed) : NULL;

        if (next && next->first == change.first)
            entry = claimed;
    }
    if (!entry) {
        double_wrong("table changed without a buffer that asks for it", control);
        return;
    }
    if (change.unmap)
        change.dummy = double_staged(FERRY_CORE_MMU_DUMMY_LOW);
    else
        change.list_offset = (machine.stage[FERRY_CORE_MMU_LIST / 4] & 0xffff) - entry->slot * DOUBLE_SLOT_BYTES;
    if ((uint64_t)change.first + change.count > machine.limits.aperture_pages)
        double_wrong("table changed outside the aperture", change.first);
    if (!(entry->rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK))
        double_wrong("table changed without the right", entry->ring);
    if (!change.unmap && change.list_offset + 8 * (uint64_t)change.count > entry->bytes)
        double_wrong("page list of a table change runs out of the buffer", change.list_offset);
    if (entry->engine_faulted)
        double_wrong("table changed although an earlier packet of the buffer faulted", change.first);
    if (entry->dropped_by_reset)
        double_wrong("table changed although a reset dropped an earlier packet of the buffer", change.first);
    must_be_alone(entry);
    double_keep_action(entry, &change);
    machine.mmu_fault = 0;
    for (uint32_t i = 0; i < (change.unmap ? 1 : change.count) && !machine.wrong[0] && !machine.mmu_fault; i++) {
        const uint32_t *word = double_slot_words(entry->slot) + (change.list_offset + 8 * i) / 4;

        machine.mmu_entry = change.unmap ? change.dummy : word[0] | (uint64_t)word[1] << 32;
        if (machine.mmu_entry & (0xfffull << 52 | 0xfff))
            machine.mmu_fault = FERRY_CORE_MMU_FAULT_VALID_MASK | FERRY_PUT(FERRY_CORE_MMU_FAULT_INDEX, i);
    }
    // Even a change of the largest aperture ends while somebody still looks.
    uint64_t ticks = (uint64_t)machine.mmu_ticks_per_page * change.count;
    machine.mmu_done_at = machine.now + 1 + (ticks < 10000 ? ticks : 10000);
}

// A reset has cut the job off, anywhere; the host hears of copies alone how far they came.
static void cut_job(struct double_entry *entry, const struct oracle_action *job)
{
    bool copy = entry->data[job->packet_offset] == FERRY_OPCODE_COPY;

    entry->dropped_by_reset = true;
    entry->dropped_packet = job->packet_offset;
    entry->dropped_left = job->length > 0 && machine.now % 3 == 0;
    entry->dropped_place = job->length > 0 ? (uint32_t)(machine.now * 2654435761u) % (uint32_t)job->length : 0;
    entry->dropped_written = !copy                 ? 0
                             : entry->dropped_left ? (uint32_t)job->length - 1 - entry->dropped_place
                                                   : entry->dropped_place;
    machine.aborted |= 1u << entry->slot;
}

static void retire_job(bool by_reset)
{
    unsigned number = machine.queue[machine.queue_head].entry;
    struct double_entry *entry = &machine.entries[number];

    if (by_reset && !entry->engine_faulted && !entry->dropped_by_reset)
        cut_job(entry, &machine.queue[machine.queue_head].job);
    if (entry->released)
        double_wrong("buffer retired before its jobs", number);
    machine.queue_head = (machine.queue_head + 1) % DOUBLE_QUEUE;
    machine.queue_count--;
    machine.jobs_retired++;
    machine.job_done_at = machine.now + machine.job_ticks;
}

static uint64_t lowest_byte(const struct double_entry *entry, uint32_t packet_offset)
{
    for (unsigned i = 0; i < entry->oracle->action_count; i++)
        if (entry->oracle->actions[i].packet_offset == packet_offset)
            return entry->oracle->actions[i].from.low;
    abort();
}

// The engine tells of a job by a position on one of its sides; what the host must hear follows from the job.
static void fault_job(struct double_entry *entry, const struct oracle_action *job, uint32_t kind, bool write,
                      uint32_t distance, uint32_t written)
{
    bool lost = kind == FERRY_FAULT_KIND_WATCHDOG, up_to_position = written == DOUBLE_UP_TO_POSITION;
    bool on_write = job->op == FERRY_JOB_OP_FILL || (job->op == FERRY_JOB_OP_COPY && write && !lost);
    bool in_list = job->list == (on_write ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE);
    uint32_t reach = lost || job->length == 0 ? 0 : distance % job->length;
    uint64_t address = (on_write ? job->destination : job->source) + reach, page = 0;

    // What the registers that do not count then show is of no interest.
    machine.engine_fault_position = lost ? distance : (uint32_t)address;
    machine.engine_fault_written = up_to_position ? 0 : written;
    machine.engine_fault =
        FERRY_PUT(FERRY_CORE_ENGINE_FAULT_KIND, kind) | FERRY_PUT(FERRY_CORE_ENGINE_FAULT_SLOT, entry->slot) |
        FERRY_PUT(FERRY_CORE_ENGINE_FAULT_WRITE, (uint32_t)(on_write && !lost)) |
        FERRY_PUT(FERRY_CORE_ENGINE_FAULT_UP_TO_POSITION, (uint32_t)(up_to_position && !lost)) |
        FERRY_CORE_ENGINE_FAULT_VALID_MASK | FERRY_PUT(FERRY_CORE_ENGINE_FAULT_PACKET_OFFSET, job->packet_offset);
    entry->engine_faulted = true;
    entry->engine_written = lost ? 0 : up_to_position ? reach : written;
    // Of a rectangle nothing is told of what was written, and its lowest byte where memory does not say which.
    if (entry->data[job->packet_offset] == FERRY_OPCODE_COPY_RECTANGLE) {
        entry->engine_written = 0;
        address = lost ? lowest_byte(entry, job->packet_offset) : address;
    }
    entry->engine_fault = (struct oracle_fault){
        .kind = kind,
        .packet_offset = job->packet_offset,
        .address_kind = on_write ? job->destination_kind : job->source_kind,
        .write = on_write,
        .address = address,
    };
    if (in_list) {
        memcpy(&page, entry->data + job->packet_offset + FERRY_PACKET_COPY_PAGES_PAGE + 8 * (address >> 12), 8);
        entry->engine_fault.list_index = (uint32_t)(address >> 12);
        // An entry that is no page's address is told as it stands in the list.
        entry->engine_fault.address = page & 0xfff0000000000fffull ? page : page + (address & 4095);
    }
}

void double_engine_step(void)
{
    if (machine.resetting) {
        bool over = machine.now >= machine.reset_done_at;

        while (machine.queue_count) {
            retire_job(true);
            if (!over)
                break;
        }
        if (over) {
            machine.resetting = false;
            for (unsigned slot = 0; slot < DOUBLE_SLOTS; slot++) {
                if (machine.slot_entry[slot] >= 0) {
                    machine.poison |= 1u << slot;
                    machine.entries[machine.slot_entry[slot]].held_at_reset = true;
                }
            }
        }
        return;
    }
    if (!machine.queue_count)
        return;

    struct double_entry *entry = &machine.entries[machine.queue[machine.queue_head].entry];
    const struct oracle_action *job = &machine.queue[machine.queue_head].job;

    if (machine.poison & 1u << entry->slot) {
        if (machine.slow_drops && machine.now < machine.job_done_at)
            return;
        retire_job(entry->held_at_reset);
        return;
    }
    if (machine.now < machine.job_done_at)
        return;
    for (unsigned i = 0; i < sizeof machine.faults / sizeof machine.faults[0]; i++) {
        if (!machine.faults[i].armed || machine.faults[i].job != machine.jobs_retired)
            continue;
        if (machine.engine_fault & FERRY_CORE_ENGINE_FAULT_VALID_MASK)
            return;
        machine.faults[i].armed = false;
        fault_job(entry, job, machine.faults[i].kind, machine.faults[i].write, machine.faults[i].distance,
                  machine.faults[i].written);
        machine.poison |= 1u << entry->slot;
        break;
    }
    retire_job(false);
}
