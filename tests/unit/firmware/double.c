// SPDX-License-Identifier: Apache-2.0
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

struct double_machine machine;

static void wrong(const char *what, uint64_t with)
{
    if (!machine.wrong[0])
        snprintf(machine.wrong, sizeof machine.wrong, "%s (%llx)", what, (unsigned long long)with);
}

static uint32_t *slot_words(uint32_t slot)
{
    return &machine.command_ram[slot * DOUBLE_SLOT_BYTES / 4];
}

void double_reset(void)
{
    ASAN_UNPOISON_MEMORY_REGION(machine.command_ram, sizeof machine.command_ram);
    for (unsigned i = 0; i < machine.entry_count; i++) {
        free(machine.entries[i].data);
        free(machine.entries[i].actions);
        free(machine.entries[i].oracle);
    }
    memset(&machine, 0, sizeof machine);
    machine.hardware_contract = FERRY_CONTRACT_VERSION;
    machine.host_contract = FERRY_CONTRACT_VERSION;
    machine.capabilities = FERRY_PUT(FERRY_BAR0_CAPABILITIES_RINGS, DOUBLE_RINGS) |
                           FERRY_PUT(FERRY_BAR0_CAPABILITIES_SLOTS, DOUBLE_SLOTS) |
                           FERRY_PUT(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, 12u) |
                           FERRY_PUT(FERRY_BAR0_CAPABILITIES_JOB_QUEUE_LOG2, 3u);
    machine.limits = (struct oracle_limits){.aperture_pages = 4096, .local_limit = 64u << 20};
    machine.rights[0] = 7;
    for (unsigned ring = 0; ring < DOUBLE_RINGS; ring++) {
        machine.fence_address[ring] = 0x123450000ull + 64 * ring;
        machine.ring_base[ring] = 0x30ffffffc0ull + 0x1000000000ull * ring;
        machine.ring_entries_log2[ring] = 1 + ring;
    }
    machine.log_address = 0xfffffff80ull;
    machine.log_entries_log2 = 3;
    machine.job_ticks = 20;
    machine.mmu_ticks_per_page = 2;
    machine.post_ticks = 12;
    machine.log_is_read = true;
    for (unsigned slot = 0; slot < DOUBLE_SLOTS; slot++)
        machine.slot_entry[slot] = -1;
    ASAN_POISON_MEMORY_REGION(machine.command_ram, sizeof machine.command_ram);
}

static struct double_entry *append(uint32_t ring, uint64_t fence)
{
    struct double_entry *entry = &machine.entries[machine.entry_count];

    if (machine.entry_count == DOUBLE_ENTRIES)
        abort();
    machine.entry_count++;
    entry->ring = ring;
    entry->fence = fence;
    return entry;
}

unsigned double_submit(uint32_t ring, const uint32_t *words, unsigned count, uint64_t fence, bool interrupt)
{
    struct double_entry *entry = append(ring, fence);

    entry->bytes = count * 4;
    entry->interrupt = interrupt;
    entry->address = 0x5000000000ull + 0x1000 * (machine.entry_count - 1);
    entry->data = malloc(count * 4 + 1);
    for (unsigned i = 0; i < count; i++)
        for (unsigned byte = 0; byte < 4; byte++)
            entry->data[4 * i + byte] = (uint8_t)(words[i] >> 8 * byte);
    return machine.entry_count - 1;
}

unsigned double_submit_unfetched(uint32_t ring, uint32_t fault, uint64_t address, uint32_t failed, uint64_t fence)
{
    bool unread = fault == FERRY_FAULT_KIND_BUFFER_FETCH && failed == DOUBLE_UNREAD;
    struct double_entry *entry = append(ring, unread ? 0 : fence);

    entry->fetch_fault = fault;
    entry->failed = failed;
    entry->address = unread ? 0 : address;
    entry->bytes = unread ? 0 : 0xfffffff4u; // Whatever the entry said; nobody may trust it.
    return machine.entry_count - 1;
}

// What the ring's RETIRED is with the entry.
static uint32_t number_of(const struct double_entry *entry)
{
    uint32_t number = machine.first_retired[entry->ring];

    for (const struct double_entry *other = machine.entries; other <= entry; other++)
        number += other->ring == entry->ring;
    return number;
}

uint64_t double_unfetched_at(const struct double_entry *entry)
{
    uint32_t index = (number_of(entry) - 1) & ((1u << machine.ring_entries_log2[entry->ring]) - 1);

    if (entry->fetch_fault != FERRY_FAULT_KIND_BUFFER_FETCH)
        return entry->address;
    return entry->failed == DOUBLE_UNREAD ? machine.ring_base[entry->ring] + (uint64_t)index * FERRY_RING_ENTRY_SIZE
                                          : entry->address + entry->failed;
}

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

// Fetch: entries go into free slots, in order within a ring, one slot being kept for the paging ring.
static void fetch_step(void)
{
    for (unsigned n = 0; n < DOUBLE_RINGS; n++) {
        unsigned ring = n == 0 ? 0 : 1 + (machine.turn + n - 1) % (DOUBLE_RINGS - 1);
        unsigned *next = &machine.fetched[ring], free_slots = 0, slot = 0;

        while (*next < machine.entry_count && machine.entries[*next].ring != ring)
            ++*next;
        for (unsigned s = 0; s < DOUBLE_SLOTS; s++) {
            if (machine.slot_entry[s] < 0) {
                free_slots++;
                slot = s;
            }
        }
        if (*next == machine.entry_count || free_slots < (ring == 0 ? 1u : 2u))
            continue;

        struct double_entry *entry = &machine.entries[*next];

        machine.slot_entry[slot] = (int)*next;
        entry->slot = slot;
        entry->fetched = true;
        if (entry->data) {
            ASAN_UNPOISON_MEMORY_REGION(slot_words(slot), DOUBLE_SLOT_BYTES);
            for (unsigned i = 0; i < entry->bytes / 4; i++)
                slot_words(slot)[i] = entry->data[4 * i] | entry->data[4 * i + 1] << 8 | entry->data[4 * i + 2] << 16 |
                                      (uint32_t)entry->data[4 * i + 3] << 24;
            ASAN_POISON_MEMORY_REGION(slot_words(slot) + entry->bytes / 4, DOUBLE_SLOT_BYTES - entry->bytes);
        }
        ++*next;
    }
}

// What the FETCH_ registers speak of.
static void latch(const struct double_entry *entry)
{
    machine.latched[0] = entry->bytes;
    machine.latched[1] = (uint32_t)entry->fence;
    machine.latched[2] = (uint32_t)(entry->fence >> 32);
    machine.latched[3] = (uint32_t)entry->address;
    machine.latched[4] = (uint32_t)(entry->address >> 32);
    machine.latched[5] = entry->failed | ~FERRY_CORE_FETCH_FAILED_OFFSET_MASK;
}

static void ask_oracle(struct double_entry *entry)
{
    struct oracle_limits limits = machine.limits;

    limits.rights = entry->rights;
    entry->oracle = calloc(1, sizeof *entry->oracle);
    if (entry->data)
        oracle_run(entry->data, entry->bytes, &limits, entry->oracle);
}

static uint32_t claim(void)
{
    for (unsigned n = 0; n < DOUBLE_RINGS; n++) {
        unsigned ring = n == 0 ? 0 : 1 + (machine.turn + n - 1) % (DOUBLE_RINGS - 1);
        int best = -1;

        for (unsigned slot = 0; slot < DOUBLE_SLOTS; slot++) {
            int entry = machine.slot_entry[slot];

            if (entry >= 0 && machine.entries[entry].ring == ring && !machine.entries[entry].claimed &&
                (best < 0 || entry < best))
                best = entry;
        }
        if (best < 0)
            continue;

        struct double_entry *entry = &machine.entries[best];

        if (ring != 0)
            machine.turn = ring % (DOUBLE_RINGS - 1);
        entry->claimed = true;
        entry->rights = machine.rights[ring];
        ask_oracle(entry);
        machine.claims[machine.claim_count++] = (unsigned)best;
        latch(entry);
        return FERRY_PUT(FERRY_CORE_FETCH_NEXT_SLOT, entry->slot) | FERRY_PUT(FERRY_CORE_FETCH_NEXT_RING, ring) |
               FERRY_PUT(FERRY_CORE_FETCH_NEXT_INTERRUPT, (uint32_t)entry->interrupt) |
               FERRY_PUT(FERRY_CORE_FETCH_NEXT_ENTRY, number_of(entry)) |
               FERRY_PUT(FERRY_CORE_FETCH_NEXT_FAULT, entry->fetch_fault) | FERRY_CORE_FETCH_NEXT_VALID_MASK;
    }
    return 0;
}

static struct double_entry *slot_owner(uint32_t slot)
{
    if (machine.slot_entry[slot] < 0 || !machine.entries[machine.slot_entry[slot]].claimed)
        return NULL;
    return &machine.entries[machine.slot_entry[slot]];
}

static void keep_action(struct double_entry *entry, const struct oracle_action *action)
{
    if (entry->action_count == entry->action_room) {
        entry->action_room = 2 * entry->action_room + 16;
        entry->actions = realloc(entry->actions, entry->action_room * sizeof *entry->actions);
    }
    entry->actions[entry->action_count++] = *action;
}

static uint64_t staged(unsigned low)
{
    return machine.stage[low / 4] | (uint64_t)machine.stage[low / 4 + 1] << 32;
}

// The newest buffer that was claimed of the paging ring, or of the others.
static struct double_entry *newest_claim(bool paging)
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
    struct double_entry *entry = slot_owner(slot);

    if (!entry || entry->released) {
        wrong("job of a slot without a buffer", slot);
        return;
    }
    if (newest_claim(entry->ring == 0) != entry)
        wrong("job of another buffer than the one claimed last", slot);
    if (job.list) {
        job.list_offset = list_at - slot * DOUBLE_SLOT_BYTES;
        if (job.list_offset >= entry->bytes || job.list_offset % 8)
            wrong("page list outside the buffer", list_at);
        uint64_t first = job.list == FERRY_LIST_SIDE_SOURCE ? job.source : job.destination;
        if (job.list_offset + 8 * ((first + job.length + 4095) / 4096) > entry->bytes)
            wrong("page list runs out of the buffer", list_at);
    }

    struct oracle_limits limits = machine.limits;
    const char *why;

    limits.rights = entry->rights;
    why = oracle_job_is_illegal(&job, &limits);
    if (why)
        wrong(why, job.packet_offset);
    // What the operation does not look at does not count.
    if (job.op == FERRY_JOB_OP_READ)
        job.destination = 0;
    if (job.op != FERRY_JOB_OP_FILL)
        job.pattern_log2 = 0;
    if (job.op == FERRY_JOB_OP_FILL && job.pattern_log2 < 3)
        job.source &= (1ull << (8u << job.pattern_log2)) - 1;
    keep_action(entry, &job);
    if (machine.queue_count == 0)
        machine.job_done_at = machine.now + machine.job_ticks;
    unsigned at = (machine.queue_head + machine.queue_count++) % DOUBLE_QUEUE;
    machine.queue[at].entry = (unsigned)machine.slot_entry[slot];
    machine.queue[at].job = job;
    machine.jobs_queued++;
    machine.packets++;
    entry->last_job = machine.jobs_queued;
}

// The sequencer, with the oracle for what comparisons tell: it may leave any packet, and take no bad one.
static void start_sequencer(uint32_t command)
{
    uint32_t slot = FERRY_GET(FERRY_CORE_SEQUENCE_SLOT, command);
    struct double_entry *entry = slot_owner(slot);

    if (command & FERRY_CORE_SEQUENCE_STOP_MASK) {
        machine.sequencer.stop = true;
        return;
    }
    if (machine.sequencer.busy)
        wrong("sequencer started while it is busy", command);
    if (!entry || entry->fetch_fault) {
        wrong("sequencer started on a slot without a buffer", command);
        return;
    }
    if (machine.stage[FERRY_CORE_SEQUENCE_END / 4] != entry->bytes)
        wrong("sequencer told another length than the buffer's", machine.stage[FERRY_CORE_SEQUENCE_END / 4]);
    if ((command & FERRY_CORE_SEQUENCE_SYSTEM_MASK) && !(entry->rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK))
        wrong("sequencer told of a right that the ring does not have", command);
    machine.sequencer.slot = slot;
    machine.sequencer.offset = FERRY_GET(FERRY_CORE_SEQUENCE_PACKET_OFFSET, command);
    machine.sequencer.system = command & FERRY_CORE_SEQUENCE_SYSTEM_MASK;
    machine.sequencer.checked = command & FERRY_CORE_SEQUENCE_CHECKED_MASK;
    machine.sequencer.stop = false;
    machine.sequencer.waiting = false;
    machine.sequencer.busy = true;
    machine.sequencer.table = false;
    machine.sequencer.think = 0;
    if (machine.sequencer.offset > entry->bytes)
        wrong("sequencer started behind the buffer", command);
}

static void stop_sequencer(void)
{
    machine.sequencer.busy = false;
    machine.sequencer.waiting = false;
}

static void sequencer_step(void)
{
    struct double_entry *entry = &machine.entries[machine.slot_entry[machine.sequencer.slot]];
    const struct oracle_action *job = NULL;

    machine.sequencer.ended = machine.sequencer.offset == machine.stage[FERRY_CORE_SEQUENCE_END / 4];
    if (machine.sequencer.stop || machine.sequencer.ended) {
        stop_sequencer();
        return;
    }
    if (!machine.sequencer.waiting && ++machine.sequencer.think % 2)
        return;
    for (unsigned i = 0; i < entry->oracle->action_count; i++)
        if (entry->oracle->actions[i].packet_offset == machine.sequencer.offset)
            job = &entry->oracle->actions[i];
    if (job && job->is_table_change) {
        machine.sequencer.table = !machine.shy || ++machine.sequencer.taken % machine.shy != 0;
        job = NULL;
    }

    const uint8_t *header = entry->data + machine.sequencer.offset;
    bool names_system =
        job && (job->source_kind == FERRY_ADDRESS_KIND_SYSTEM || job->destination_kind == FERRY_ADDRESS_KIND_SYSTEM);
    bool simple = header[0] == FERRY_OPCODE_COPY || header[0] == FERRY_OPCODE_COPY_PAGES ||
                  header[0] == FERRY_OPCODE_FILL || header[0] == FERRY_OPCODE_FENCE;

    if (machine.sequencer.checked && !job)
        wrong("a packet was called good that is not, or makes no job", machine.sequencer.offset);
    if (!machine.sequencer.checked &&
        (!job || !simple || job->is_protected || (names_system && !machine.sequencer.system) ||
         (machine.shy && !machine.sequencer.waiting && ++machine.sequencer.taken % machine.shy == 0))) {
        stop_sequencer();
        return;
    }
    machine.sequencer.waiting = job && !double_job_room();
    if (!job || machine.sequencer.waiting)
        return;
    double_take_job(machine.sequencer.slot, *job, machine.sequencer.slot * DOUBLE_SLOT_BYTES + job->list_offset);
    machine.sequencer.offset += 4u * (header[2] | header[3] << 8);
    machine.sequencer.checked = false;
}

static void take_table_change(uint32_t control)
{
    struct double_entry *entry = NULL;
    struct oracle_action change = {
        .is_table_change = true,
        .unmap = FERRY_GET(FERRY_CORE_MMU_CONTROL_UNMAP, control),
        .snoop = FERRY_GET(FERRY_CORE_MMU_CONTROL_SNOOP, control),
        .first = machine.stage[FERRY_CORE_MMU_FIRST / 4],
        .count = machine.stage[FERRY_CORE_MMU_COUNT / 4],
    };

    // Whose it is: the next thing that one of the two buffers that are decoded has to do.
    for (unsigned paging = 0; paging < 2; paging++) {
        struct double_entry *claimed = newest_claim(paging);

        if (claimed && !claimed->released && claimed->action_count < claimed->oracle->action_count &&
            claimed->oracle->actions[claimed->action_count].is_table_change &&
            claimed->oracle->actions[claimed->action_count].first == change.first)
            entry = claimed;
    }
    if (!entry) {
        wrong("table changed without a buffer that asks for it", control);
        return;
    }
    if (change.unmap)
        change.dummy = staged(FERRY_CORE_MMU_DUMMY_LOW);
    else
        change.list_offset = (machine.stage[FERRY_CORE_MMU_LIST / 4] & 0xffff) - entry->slot * DOUBLE_SLOT_BYTES;
    if ((uint64_t)change.first + change.count > machine.limits.aperture_pages)
        wrong("table changed outside the aperture", change.first);
    if (!(entry->rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK))
        wrong("table changed without the right", entry->ring);
    if (!change.unmap && change.list_offset + 8 * (uint64_t)change.count > entry->bytes)
        wrong("page list of a table change runs out of the buffer", change.list_offset);
    if (entry->engine_faulted)
        wrong("table changed although an earlier packet of the buffer faulted", change.first);
    if (entry->dropped_by_reset)
        wrong("table changed although a reset dropped an earlier packet of the buffer", change.first);
    // Every earlier job of the ring must be done.
    for (unsigned i = 0; i < machine.claim_count; i++) {
        const struct double_entry *earlier = &machine.entries[machine.claims[i]];

        if (earlier->ring == entry->ring && !earlier->released &&
            (int32_t)(machine.jobs_retired - earlier->last_job) < 0 && earlier->action_count)
            wrong("table changed under a running job of its ring", earlier->last_job);
    }
    keep_action(entry, &change);
    machine.mmu_fault = 0;
    for (uint32_t i = 0; i < (change.unmap ? 1 : change.count) && !machine.wrong[0] && !machine.mmu_fault; i++) {
        const uint32_t *word = slot_words(entry->slot) + (change.list_offset + 8 * i) / 4;

        machine.mmu_entry = change.unmap ? change.dummy : word[0] | (uint64_t)word[1] << 32;
        if (machine.mmu_entry & (0xfffull << 52 | 0xfff))
            machine.mmu_fault = FERRY_CORE_MMU_FAULT_VALID_MASK | FERRY_PUT(FERRY_CORE_MMU_FAULT_INDEX, i);
    }
    // Even a change of the largest aperture ends while somebody still looks.
    uint64_t ticks = (uint64_t)machine.mmu_ticks_per_page * change.count;
    machine.mmu_done_at = machine.now + 1 + (ticks < 10000 ? ticks : 10000);
}

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

// A fault record of the core's.
static void take_post(void)
{
    struct double_post *post = new_post(16);

    memcpy(post->words, &machine.stage[FERRY_CORE_POST_DATA / 4], sizeof post->words);
    post->words[2] = (uint32_t)machine.now;
    post->words[3] = (uint32_t)(machine.now >> 32);
    post->address = staged(FERRY_CORE_POST_ADDRESS_LOW);
    if (!machine.log_is_read && machine.fault_records - machine.log_consumed >= 1u << machine.log_entries_log2)
        wrong("fault record over one that was not read", machine.fault_records);
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

static void take_finish(uint32_t command)
{
    uint32_t slot = FERRY_GET(FERRY_CORE_FINISH_SLOT, command);
    struct double_entry *entry = slot_owner(slot);
    bool paging = entry && entry->ring == 0;

    if (!entry || entry->finished) {
        wrong("a buffer finished that is not held, or twice", slot);
        return;
    }
    if (machine.sequencer.busy && machine.sequencer.slot == slot)
        wrong("a buffer finished that the sequencer is at work on", slot);
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

static void finish_step(void)
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
    struct double_entry *entry = slot_owner(slot);

    if (!entry || entry->released) {
        wrong("slot given back that is not held", slot);
        return;
    }
    entry->released = true;
    machine.ended[machine.ended_count++] = (unsigned)machine.slot_entry[slot];
    machine.slot_entry[slot] = -1;
    machine.poison &= ~(1u << slot);
    machine.aborted &= ~(1u << slot);
    ASAN_POISON_MEMORY_REGION(slot_words(slot), DOUBLE_SLOT_BYTES);
}

// What the hardware does once a record has left.
static void end_post(void)
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

static void retire_job(bool by_reset)
{
    unsigned number = machine.queue[machine.queue_head].entry;
    struct double_entry *entry = &machine.entries[number];

    if (by_reset && !entry->engine_faulted)
        entry->dropped_by_reset = true;
    if (entry->released)
        wrong("buffer retired before its jobs", number);
    machine.queue_head = (machine.queue_head + 1) % DOUBLE_QUEUE;
    machine.queue_count--;
    machine.jobs_retired++;
    machine.job_done_at = machine.now + machine.job_ticks;
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

static void engine_step(void)
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
                    machine.aborted |= 1u << slot;
                    machine.entries[machine.slot_entry[slot]].marked_aborted = true;
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
        retire_job(machine.aborted & 1u << entry->slot);
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

void double_tick(void)
{
    machine.now++;
    if (machine.reset_at && machine.now == machine.reset_at)
        double_engine_reset(machine.reset_ticks);
    if (machine.stuck_at && machine.now == machine.stuck_at) {
        machine.stuck = true;
        machine.job_ticks = 1;
        machine.job_done_at = machine.now;
    }
    if (machine.stage[FERRY_CORE_BUSY / 4] && !machine.sequencer.waiting)
        machine.busy_ticks++;
    fetch_step();
    engine_step();
    if (machine.sequencer.busy && !machine.sequencer_elsewhere)
        sequencer_step();
    if (machine.posting && machine.now >= machine.post_done_at)
        end_post();
    finish_step();
}

bool double_idle(void)
{
    for (unsigned i = 0; i < machine.entry_count; i++)
        if (!machine.entries[i].released)
            return false;
    return true;
}

uint32_t double_state(void)
{
    return machine.stage[FERRY_CORE_FIRMWARE_STATE / 4];
}

static uint32_t work_state(void)
{
    bool paging = false;

    for (unsigned slot = 0; slot < DOUBLE_SLOTS; slot++)
        paging = paging || (machine.slot_entry[slot] >= 0 && machine.entries[machine.slot_entry[slot]].ring == 0 &&
                            !machine.entries[machine.slot_entry[slot]].claimed);
    return FERRY_PUT(FERRY_CORE_WORK_BUSY, (uint32_t)machine.sequencer.busy) |
           FERRY_PUT(FERRY_CORE_WORK_WAITING, (uint32_t)machine.sequencer.waiting) |
           FERRY_PUT(FERRY_CORE_WORK_ENDED, (uint32_t)machine.sequencer.ended) |
           FERRY_PUT(FERRY_CORE_WORK_PAGING, (uint32_t)paging) |
           (machine.engine_fault & FERRY_CORE_ENGINE_FAULT_VALID_MASK ? FERRY_CORE_WORK_FAULT_MASK : 0) |
           FERRY_PUT(FERRY_CORE_WORK_FINISH, (uint32_t)(machine.finish.asks && !machine.finish.told)) |
           FERRY_PUT(FERRY_CORE_WORK_TABLE, (uint32_t)machine.sequencer.table) |
           FERRY_PUT(FERRY_CORE_WORK_FINISH_SLOT, machine.finish.slot) |
           FERRY_PUT(FERRY_CORE_WORK_PACKET_OFFSET, machine.sequencer.offset);
}

static bool class_runs(bool paging)
{
    for (unsigned i = 0; i < machine.queue_count; i++)
        if ((machine.entries[machine.queue[(machine.queue_head + i) % DOUBLE_QUEUE].entry].ring == 0) == paging)
            return true;
    // Jobs that nobody here queued are of some ring.
    return machine.jobs_queued - machine.jobs_retired != machine.queue_count;
}

static uint32_t read_ring(unsigned ring, unsigned offset)
{
    switch (offset) {
    case FERRY_CORE_RING_BASE_LOW: return (uint32_t)machine.ring_base[ring];
    case FERRY_CORE_RING_BASE_HIGH: return (uint32_t)(machine.ring_base[ring] >> 32);
    case FERRY_CORE_RING_ENTRIES_LOG2: return machine.ring_entries_log2[ring];
    case FERRY_CORE_RING_RIGHTS: return machine.rights[ring];
    case FERRY_CORE_RING_FENCE_ADDRESS_LOW: return (uint32_t)machine.fence_address[ring];
    case FERRY_CORE_RING_FENCE_ADDRESS_HIGH: return (uint32_t)(machine.fence_address[ring] >> 32);
    case FERRY_CORE_RING_RETIRED: return machine.rings[ring].retired;
    case FERRY_CORE_RING_FAULTS: return machine.rings[ring].faults;
    case FERRY_CORE_RING_LAST_FAULTED: return machine.rings[ring].last_faulted;
    default: return 0;
    }
}

uint32_t double_read(unsigned offset)
{
    if (offset >= FERRY_CORE_RING_AT && offset < FERRY_CORE_SIZE)
        return read_ring((offset - FERRY_CORE_RING_AT) / FERRY_CORE_RING_STRIDE,
                         (offset - FERRY_CORE_RING_AT) % FERRY_CORE_RING_STRIDE);
    switch (offset) {
    case FERRY_CORE_TIME_LOW: return (uint32_t)machine.now;
    case FERRY_CORE_TIME_HIGH: return (uint32_t)(machine.now >> 32);
    case FERRY_CORE_HARDWARE_CONTRACT: return machine.hardware_contract;
    case FERRY_CORE_HOST_CONTRACT: return machine.host_contract;
    case FERRY_CORE_CAPABILITIES: return machine.capabilities;
    case FERRY_CORE_APERTURE_PAGES: return machine.limits.aperture_pages;
    case FERRY_CORE_LOCAL_LIMIT_LOW: return (uint32_t)machine.limits.local_limit;
    case FERRY_CORE_LOCAL_LIMIT_HIGH: return (uint32_t)(machine.limits.local_limit >> 32);
    case FERRY_CORE_PROTECT_BASE_LOW: return (uint32_t)machine.limits.protect_base;
    case FERRY_CORE_PROTECT_BASE_HIGH: return (uint32_t)(machine.limits.protect_base >> 32);
    case FERRY_CORE_PROTECT_LIMIT_LOW: return (uint32_t)machine.limits.protect_limit;
    case FERRY_CORE_PROTECT_LIMIT_HIGH: return (uint32_t)(machine.limits.protect_limit >> 32);
    case FERRY_CORE_POISON: return machine.poison;
    case FERRY_CORE_ABORTED: return machine.aborted;
    case FERRY_CORE_ENGINE_FAULT: return machine.engine_fault;
    case FERRY_CORE_ENGINE_FAULT_POSITION: return machine.engine_fault_position;
    case FERRY_CORE_ENGINE_FAULT_WRITTEN: return machine.engine_fault_written;
    case FERRY_CORE_ENGINE_STATE:
        return FERRY_PUT(FERRY_CORE_ENGINE_STATE_RESETTING, (uint32_t)machine.resetting) |
               FERRY_PUT(FERRY_CORE_ENGINE_STATE_STUCK, (uint32_t)machine.stuck) |
               FERRY_PUT(FERRY_CORE_ENGINE_STATE_USER_RUNS, (uint32_t)class_runs(false)) |
               FERRY_PUT(FERRY_CORE_ENGINE_STATE_PAGING_RUNS, (uint32_t)class_runs(true));
    case FERRY_CORE_WORK: return work_state();
    case FERRY_CORE_MMU_FAULT: return machine.mmu_fault;
    case FERRY_CORE_MMU_FAULT_ENTRY_LOW: return (uint32_t)machine.mmu_entry;
    case FERRY_CORE_MMU_FAULT_ENTRY_HIGH: return (uint32_t)(machine.mmu_entry >> 32);
    case FERRY_CORE_MMU_BUSY: return machine.now < machine.mmu_done_at;
    case FERRY_CORE_FETCH_NEXT: {
        uint32_t next = claim();

        machine.stage[FERRY_CORE_BUSY / 4] = next != 0;
        return next;
    }
    case FERRY_CORE_FETCH_BYTES: return machine.latched[0];
    case FERRY_CORE_FETCH_FENCE_LOW: return machine.latched[1];
    case FERRY_CORE_FETCH_FENCE_HIGH: return machine.latched[2];
    case FERRY_CORE_FETCH_ADDRESS_LOW: return machine.latched[3];
    case FERRY_CORE_FETCH_ADDRESS_HIGH: return machine.latched[4];
    case FERRY_CORE_FETCH_FAILED: return machine.latched[5];
    case FERRY_CORE_POST_BUSY: return machine.posting;
    case FERRY_CORE_FAULT_LOG_ADDRESS_LOW: return (uint32_t)machine.log_address;
    case FERRY_CORE_FAULT_LOG_ADDRESS_HIGH: return (uint32_t)(machine.log_address >> 32);
    case FERRY_CORE_FAULT_LOG_ENTRIES_LOG2: return machine.log_entries_log2;
    case FERRY_CORE_FAULT_LOG_CONSUMED:
        return machine.log_is_read ? machine.stage[FERRY_CORE_FAULT_LOG_PRODUCED / 4] : machine.log_consumed;
    default: return offset < FERRY_CORE_SIZE ? machine.stage[offset / 4] : 0;
    }
}

bool double_write_waits(unsigned offset)
{
    bool waits = (offset == FERRY_CORE_MMU_CONTROL && machine.now < machine.mmu_done_at) ||
                 (offset == FERRY_CORE_POST_CONTROL && machine.posting);

    machine.stalls += waits;
    return waits;
}

void double_write(unsigned offset, uint32_t value)
{
    if (offset >= FERRY_CORE_POST_DATA && offset <= FERRY_CORE_POST_CONTROL && machine.posting)
        wrong("record changed while it is on its way", offset);
    switch (offset) {
    case FERRY_CORE_SEQUENCE:
        if (!machine.sequencer_elsewhere)
            start_sequencer(value);
        break;
    case FERRY_CORE_MMU_CONTROL: take_table_change(value); break;
    case FERRY_CORE_POST_CONTROL: take_post(); break;
    case FERRY_CORE_FINISH: take_finish(value); break;
    case FERRY_CORE_FINISH_STATUS:
        if (!machine.finish.asks || machine.finish.told)
            wrong("status of a buffer that nobody asked for", value);
        machine.finish.told = true;
        machine.finish.status = value;
        break;
    case FERRY_CORE_FETCH_SLOT:
        if (!slot_owner(value))
            wrong("facts of a slot that is not held", value);
        else
            latch(slot_owner(value));
        break;
    case FERRY_CORE_ENGINE_FAULT: machine.engine_fault &= ~(value & FERRY_CORE_ENGINE_FAULT_VALID_MASK); break;
    case FERRY_CORE_PACKETS: machine.packets += value; break;
    default:
        if (offset >= FERRY_CORE_RING_AT || offset == FERRY_CORE_FAULT_LOG_PRODUCED)
            wrong("write to a register that is not the core's", offset);
        else
            machine.stage[offset / 4] = value;
        break;
    }
}
