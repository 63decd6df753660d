// SPDX-License-Identifier: Apache-2.0
// The double's rings, fetch and registers; sequencer, engine and the ends of buffers have files of their own.
#include "double_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct double_machine machine;

void double_wrong(const char *what, uint64_t with)
{
    if (!machine.wrong[0])
        snprintf(machine.wrong, sizeof machine.wrong, "%s (%llx)", what, (unsigned long long)with);
}

uint32_t *double_slot_words(uint32_t slot)
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
    machine.look_ticks = 2;
    machine.log_is_read = true;
    for (unsigned slot = 0; slot < DOUBLE_SLOTS; slot++)
        machine.slot_entry[slot] = -1;
    ASAN_POISON_MEMORY_REGION(machine.command_ram, sizeof machine.command_ram);
}

void double_has_more(void)
{
    machine.capabilities |= FERRY_BAR0_CAPABILITIES_PAGE_TABLES_MASK | FERRY_BAR0_CAPABILITIES_TILING_MASK;
    machine.limits.page_tables = true;
    machine.limits.tiling = true;
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
            ASAN_UNPOISON_MEMORY_REGION(double_slot_words(slot), DOUBLE_SLOT_BYTES);
            for (unsigned i = 0; i < entry->bytes / 4; i++)
                double_slot_words(slot)[i] = entry->data[4 * i] | entry->data[4 * i + 1] << 8 |
                                             entry->data[4 * i + 2] << 16 | (uint32_t)entry->data[4 * i + 3] << 24;
            ASAN_POISON_MEMORY_REGION(double_slot_words(slot) + entry->bytes / 4, DOUBLE_SLOT_BYTES - entry->bytes);
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
               (entry->rights & FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK) |
               FERRY_PUT(FERRY_CORE_FETCH_NEXT_ENTRY, number_of(entry)) |
               FERRY_PUT(FERRY_CORE_FETCH_NEXT_FAULT, entry->fetch_fault) | FERRY_CORE_FETCH_NEXT_VALID_MASK;
    }
    return 0;
}

struct double_entry *double_slot_owner(uint32_t slot)
{
    if (machine.slot_entry[slot] < 0 || !machine.entries[machine.slot_entry[slot]].claimed)
        return NULL;
    return &machine.entries[machine.slot_entry[slot]];
}

uint64_t double_staged(unsigned low)
{
    return machine.stage[low / 4] | (uint64_t)machine.stage[low / 4 + 1] << 32;
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
    if (machine.stuck_until && machine.now == machine.stuck_until)
        machine.stuck = false;
    if (machine.stage[FERRY_CORE_BUSY / 4] && !machine.sequencer.waiting)
        machine.busy_ticks++;
    fetch_step();
    double_engine_step();
    if (machine.sequencer.busy && !machine.sequencer_elsewhere)
        double_sequencer_step();
    if (machine.posting && machine.now >= machine.post_done_at)
        double_end_post();
    double_finish_step();
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

bool double_class_runs(bool paging)
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
    case FERRY_CORE_RING_RIGHTS: return machine.rights[ring] & ~FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK;
    case FERRY_CORE_RING_FENCE_ADDRESS_LOW: return (uint32_t)machine.fence_address[ring];
    case FERRY_CORE_RING_FENCE_ADDRESS_HIGH: return (uint32_t)(machine.fence_address[ring] >> 32);
    case FERRY_CORE_RING_RETIRED: return machine.rings[ring].retired;
    case FERRY_CORE_RING_FAULTS: return machine.rings[ring].faults;
    case FERRY_CORE_RING_LAST_FAULTED: return machine.rings[ring].last_faulted;
    default: return 0;
    }
}

static uint32_t aborted(bool place)
{
    const struct double_entry *entry = &machine.entries[machine.slot_entry[machine.finish.slot]];

    if (!machine.finish.asks)
        return place ? 0 : machine.aborted;
    return place ? entry->dropped_place
                 : machine.aborted | FERRY_PUT(FERRY_CORE_ABORTED_PACKET_OFFSET, entry->dropped_packet) |
                       FERRY_PUT(FERRY_CORE_ABORTED_LEFT, (uint32_t)entry->dropped_left);
}

uint32_t double_read(unsigned offset)
{
    if (offset >= FERRY_CORE_RING_AT && offset < FERRY_CORE_SIZE)
        return read_ring((offset - FERRY_CORE_RING_AT) / FERRY_CORE_RING_STRIDE,
                         (offset - FERRY_CORE_RING_AT) % FERRY_CORE_RING_STRIDE);
    switch (offset) {
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
    case FERRY_CORE_ABORTED: return aborted(false);
    case FERRY_CORE_ABORTED_PLACE: return aborted(true);
    case FERRY_CORE_ENGINE_FAULT: return machine.engine_fault;
    case FERRY_CORE_ENGINE_FAULT_POSITION: return machine.engine_fault_position;
    case FERRY_CORE_ENGINE_FAULT_WRITTEN: return machine.engine_fault_written;
    case FERRY_CORE_ENGINE_STATE:
        return FERRY_PUT(FERRY_CORE_ENGINE_STATE_RESETTING, (uint32_t)machine.resetting) |
               FERRY_PUT(FERRY_CORE_ENGINE_STATE_STUCK, (uint32_t)machine.stuck) |
               FERRY_PUT(FERRY_CORE_ENGINE_STATE_USER_RUNS, (uint32_t)double_class_runs(false)) |
               FERRY_PUT(FERRY_CORE_ENGINE_STATE_PAGING_RUNS, (uint32_t)double_class_runs(true));
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
        double_wrong("record changed while it is on its way", offset);
    switch (offset) {
    case FERRY_CORE_SEQUENCE:
        if (!machine.sequencer_elsewhere)
            double_start_sequencer(value);
        break;
    case FERRY_CORE_MMU_CONTROL: double_take_table_change(value); break;
    case FERRY_CORE_SPACE_ROOT: double_tell_root(value); break;
    case FERRY_CORE_POST_CONTROL: double_take_post(); break;
    case FERRY_CORE_FINISH: double_take_finish(value); break;
    case FERRY_CORE_FINISH_STATUS:
        if (!machine.finish.asks || machine.finish.told)
            double_wrong("status of a buffer that nobody asked for", value);
        machine.finish.told = true;
        machine.finish.status = value;
        break;
    case FERRY_CORE_FETCH_SLOT:
        if (!double_slot_owner(value))
            double_wrong("facts of a slot that is not held", value);
        else
            latch(double_slot_owner(value));
        break;
    case FERRY_CORE_ENGINE_FAULT: machine.engine_fault &= ~(value & FERRY_CORE_ENGINE_FAULT_VALID_MASK); break;
    case FERRY_CORE_PACKETS: machine.packets += value; break;
    default:
        if (offset >= FERRY_CORE_RING_AT || offset == FERRY_CORE_FAULT_LOG_PRODUCED)
            double_wrong("write to a register that is not the core's", offset);
        else
            machine.stage[offset / 4] = value;
        break;
    }
}
