// SPDX-License-Identifier: Apache-2.0
// The device's life: entries fetched into slots, buffers carried out, records posted.

// For MAP_ANONYMOUS, MAP_NORESERVE and madvise(), which POSIX does not name.
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "model/internal.h"

struct ferry_model *ferry_model_create(const struct ferry_model_options *options, const struct ferry_model_host *host)
{
    struct ferry_model *model = calloc(1, sizeof *model);

    if (!model)
        return NULL;
    model->options = *options;
    model->host = *host;
    if (!model->options.local_bytes)
        model->options.local_bytes = 64u << 20;
    if (!model->options.aperture_pages)
        model->options.aperture_pages = 16384;
    if (!model->options.contract_version)
        model->options.contract_version = FERRY_CONTRACT_VERSION;
    model->local_limit = model->options.local_bytes;
    model->completion_timeout = FERRY_BAR0_COMPLETION_TIMEOUT_RESET;
    model->random = options->seed * 2 + 1;
    // Of 64 GiB of video memory only what is touched takes memory of the host.
    model->local = mmap(NULL, model->options.local_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (model->local == MAP_FAILED)
        model->local = NULL;
#ifdef MADV_HUGEPAGE
    // Where the host has them, large pages: a replay that fills video memory faults 512 times less often.
    if (model->local)
        (void)madvise(model->local, model->options.local_bytes, MADV_HUGEPAGE);
#endif
    model->aperture = calloc(model->options.aperture_pages, sizeof *model->aperture);
    if (!model->local || !model->aperture) {
        ferry_model_destroy(model);
        return NULL;
    }
    return model;
}

void ferry_model_destroy(struct ferry_model *model)
{
    if (!model)
        return;
    if (model->local)
        munmap(model->local, model->options.local_bytes);
    free(model->aperture);
    free(model);
}

uint8_t *ferry_model_local(struct ferry_model *model)
{
    return model->local;
}

void ferry_model_flip(struct ferry_model *model, uint64_t bus, bool write)
{
    model->flip_armed = true;
    model->flip_write = write;
    model->flip_bus = bus;
}

uint64_t ferry_model_aperture_entry(const struct ferry_model *model, uint32_t page)
{
    return model->aperture[page];
}

uint64_t ferry_model_cycles(const struct ferry_model *model)
{
    return model->counters[MODEL_COUNTER(CYCLES)];
}

void ferry_model_inject(struct ferry_model *model, enum ferry_model_injection what, uint32_t count)
{
    model->injected[what] = count;
}

void ferry_model_hang(struct ferry_model *model)
{
    model->hung = true;
}

uint64_t model_random_below(struct ferry_model *model, uint64_t limit)
{
    // Knuth's MMIX generator; the high half is the good one.
    model->random = model->random * 6364136223846793005u + 1442695040888963407u;
    return (model->random >> 32) % limit;
}

// ---- Fetching ---------------------------------------------------------------------------------------------------

static bool ring_waits(const struct ferry_model *model, uint32_t ring)
{
    const struct model_ring *r = &model->rings[ring];

    return (r->control & FERRY_BAR0_RING_CONTROL_ENABLE_MASK) && r->producer != r->fetched;
}

// Which ring is fetched from next, or MODEL_RINGS. One slot is kept free for the paging ring, so that user work cannot
// hold paging up.
static uint32_t ring_to_fetch(struct ferry_model *model)
{
    unsigned empty = 0;

    for (unsigned i = 0; i < MODEL_SLOTS; i++)
        empty += !model->slots[i].held;
    if (empty && ring_waits(model, 0))
        return 0;
    for (unsigned i = 0; empty > 1 && i < MODEL_RINGS - 1; i++) {
        uint32_t ring = 1 + (model->next_user_ring_to_fetch + i) % (MODEL_RINGS - 1);

        if (ring_waits(model, ring)) {
            model->next_user_ring_to_fetch = ring % (MODEL_RINGS - 1);
            return ring;
        }
    }
    return MODEL_RINGS;
}

static void fetch_fault(struct model_slot *slot, uint32_t kind, uint64_t address)
{
    slot->status = FERRY_BUFFER_STATUS_FAULTED;
    slot->fault.kind = kind;
    slot->fault.address_kind = FERRY_ADDRESS_KIND_SYSTEM;
    slot->fault.address = address;
}

static void fetch(struct ferry_model *model, uint32_t ring)
{
    struct model_ring *r = &model->rings[ring];
    struct model_slot *slot = model->slots;
    uint8_t entry[FERRY_RING_ENTRY_SIZE];
    uint64_t failed, at = r->base + (uint64_t)FERRY_RING_ENTRY_SIZE * (r->fetched & ((1u << r->entries_log2) - 1));

    while (slot->held)
        slot++;
    *slot = (struct model_slot){.held = true, .ring = ring, .number = model->fetched_buffers++};
    model->counters[MODEL_COUNTER(CYCLES)] += 100;
    r->fetched++;

    // Behind the last address there are no entries.
    if (at < r->base || !model_fetch(model, at, entry, sizeof entry, &failed)) {
        slot->unread = true;
        fetch_fault(slot, FERRY_FAULT_KIND_BUFFER_FETCH, at < r->base ? at : failed);
        return;
    }
    slot->address = model_get64(entry + FERRY_RING_ENTRY_BUFFER_ADDRESS);
    slot->bytes = model_get32(entry + FERRY_RING_ENTRY_BUFFER_BYTES);
    slot->fence_value = model_get64(entry + FERRY_RING_ENTRY_FENCE_VALUE);
    uint32_t flags = model_get32(entry + FERRY_RING_ENTRY_FLAGS);
    uint32_t reserved = FERRY_RING_ENTRY_FLAGS_RESERVED_MASK | FERRY_RING_ENTRY_FLAGS_RESERVED2_MASK;

    if (model->options.page_tables) {
        slot->space = FERRY_GET(FERRY_RING_ENTRY_FLAGS_SPACE, flags);
        slot->virtual_only = flags & FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK;
    } else {
        reserved |= FERRY_RING_ENTRY_FLAGS_SPACE_MASK | FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK;
    }
    slot->interrupt = flags & FERRY_RING_ENTRY_FLAGS_INTERRUPT_MASK;
    bool goes_round = slot->bytes && slot->address + (slot->bytes - 1) < slot->address;
    if (slot->bytes > MODEL_SLOT_BYTES || slot->bytes % 8 || goes_round) {
        slot->bytes = 0;
        fetch_fault(slot, FERRY_FAULT_KIND_BUFFER_SIZE, slot->address);
    } else if ((flags & reserved) || slot->address % 8 || model_get64(entry + FERRY_RING_ENTRY_RESERVED)) {
        fetch_fault(slot, FERRY_FAULT_KIND_PACKET_RESERVED, slot->address);
    } else if (!model_fetch(model, slot->address, slot->data, slot->bytes, &failed)) {
        fetch_fault(slot, FERRY_FAULT_KIND_BUFFER_FETCH, failed);
    }
    slot->ready_at = ferry_model_cycles(model);
    if (model->options.defer_cycles)
        slot->ready_at += model_random_below(model, (uint64_t)model->options.defer_cycles + 1);
}

// ---- Retiring ---------------------------------------------------------------------------------------------------

static bool post_fault(struct ferry_model *model, const struct model_slot *slot)
{
    uint8_t record[FERRY_FAULT_RECORD_SIZE] = {0};
    const struct model_fault *fault = &slot->fault;
    uint32_t entries = 1u << model->fault_log_entries_log2;

    if (model->fault_log_produced - model->fault_log_consumed >= entries)
        return false;
    uint64_t at = model->fault_log + (uint64_t)FERRY_FAULT_RECORD_SIZE * (model->fault_log_produced & (entries - 1));
    model->fault_log_produced++;
    model_put32(record + FERRY_FAULT_RECORD_SEQUENCE, model->fault_log_produced);
    model_put32(record + FERRY_FAULT_RECORD_WHAT,
                FERRY_PUT(FERRY_FAULT_RECORD_WHAT_KIND, fault->kind) |
                    FERRY_PUT(FERRY_FAULT_RECORD_WHAT_RING, slot->ring) |
                    FERRY_PUT(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, fault->address_kind) |
                    FERRY_PUT(FERRY_FAULT_RECORD_WHAT_WRITE, (uint32_t)fault->write) |
                    FERRY_PUT(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, fault->packet_offset));
    model_put64(record + FERRY_FAULT_RECORD_TIME, ferry_model_cycles(model));
    model_put64(record + FERRY_FAULT_RECORD_ADDRESS, fault->address);
    model_put64(record + FERRY_FAULT_RECORD_FENCE_VALUE, slot->fence_value);
    model_put64(record + FERRY_FAULT_RECORD_BUFFER_ADDRESS, slot->address);
    model_put32(record + FERRY_FAULT_RECORD_HEADER, fault->header);
    model_put32(record + FERRY_FAULT_RECORD_WRITTEN, fault->written);
    model_put32(record + FERRY_FAULT_RECORD_LIST_INDEX, fault->list_index);
    if (fault->walked) {
        model_put32(record + FERRY_FAULT_RECORD_WALK, FERRY_PUT(FERRY_FAULT_RECORD_WALK_HEIGHT, fault->height) |
                                                          FERRY_PUT(FERRY_FAULT_RECORD_WALK_SPACE, fault->space) |
                                                          FERRY_FAULT_RECORD_WALK_WALKED_MASK);
        model_put64(record + FERRY_FAULT_RECORD_ENTRY, fault->entry);
    }
    model_post(model, at, record, sizeof record);
    model_cause(model, FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK);
    return true;
}

static void retire(struct ferry_model *model, struct model_slot *slot)
{
    struct model_ring *r = &model->rings[slot->ring];
    uint8_t record[FERRY_FENCE_RECORD_SIZE] = {0};

    if (slot->status != FERRY_BUFFER_STATUS_SUCCESS && !post_fault(model, slot))
        return; // The log is full; the slot waits as it is.
    r->retired++;
    if (!slot->unread)
        r->fence_value = slot->fence_value;
    if (slot->status != FERRY_BUFFER_STATUS_SUCCESS) {
        r->faults++;
        r->last_faulted = r->retired;
    }
    model_put64(record + FERRY_FENCE_RECORD_VALUE, r->fence_value);
    model_put64(record + FERRY_FENCE_RECORD_TIME, ferry_model_cycles(model));
    model_put32(record + FERRY_FENCE_RECORD_RETIRED, r->retired);
    model_put32(record + FERRY_FENCE_RECORD_STATUS, slot->status);
    model_put32(record + FERRY_FENCE_RECORD_FAULTS, r->faults);
    model_put32(record + FERRY_FENCE_RECORD_LAST_FAULTED, r->last_faulted);
    model_post(model, r->fence_address, record, sizeof record);
    slot->held = false;
    model->event = true;
    if (slot->interrupt)
        model_cause(model, 1u << slot->ring);
}

static void execute(struct ferry_model *model, struct model_slot *slot)
{
    if (slot->executed) {
        // Comes back here because the fault log was full.
    } else if (slot->aborted) {
        slot->status = FERRY_BUFFER_STATUS_ABORTED;
        slot->fault = (struct model_fault){
            .kind = FERRY_FAULT_KIND_ENGINE_RESET, .packet_offset = slot->done, .written = slot->written};
    } else if (slot->fault.kind == FERRY_FAULT_KIND_NONE) {
        model->running = slot;
        bool over = model_run_buffer(model, slot);
        model->running = NULL;
        if (!over)
            return;
    }
    slot->executed = true;
    model->counters[MODEL_COUNTER(CYCLES)] += 100;
    retire(model, slot);
}

// ---- Running ----------------------------------------------------------------------------------------------------

// The oldest held slot of a ring, or NULL.
static struct model_slot *oldest(struct ferry_model *model, uint32_t ring)
{
    struct model_slot *found = NULL;

    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        struct model_slot *slot = &model->slots[i];

        if (slot->held && slot->ring == ring && (!found || slot->number < found->number))
            found = slot;
    }
    return found;
}

static bool log_is_full(const struct ferry_model *model)
{
    return model->fault_log_produced - model->fault_log_consumed >= 1u << model->fault_log_entries_log2;
}

// The slot to carry out next: one that was aborted, else the paging ring's first, then the user rings in turn. NULL
// when none can run now; *next is then the cycle at which one can, or UINT64_MAX.
static struct model_slot *slot_to_run(struct ferry_model *model, uint64_t *next)
{
    struct model_slot *slots[MODEL_RINGS];

    *next = UINT64_MAX;
    slots[0] = oldest(model, 0);
    for (unsigned i = 0; i < MODEL_RINGS - 1; i++)
        slots[1 + i] = oldest(model, 1 + (model->next_user_ring_to_run + i) % (MODEL_RINGS - 1));
    for (unsigned i = 0; i < MODEL_RINGS; i++) {
        // One core: while a record waits for room in the log, nothing else is served.
        if (slots[i] && slots[i]->executed)
            return log_is_full(model) ? NULL : slots[i];
    }
    // What a reset cut asks for nothing of the engine.
    for (unsigned i = 0; i < MODEL_RINGS; i++) {
        if (slots[i] && slots[i]->aborted)
            return slots[i];
    }
    for (unsigned i = 0; i < MODEL_RINGS && !model->hung; i++) {
        if (!slots[i])
            continue;
        if (slots[i]->ready_at <= ferry_model_cycles(model)) {
            if (slots[i]->ring)
                model->next_user_ring_to_run = slots[i]->ring % (MODEL_RINGS - 1);
            return slots[i];
        }
        if (slots[i]->ready_at < *next)
            *next = slots[i]->ready_at;
    }
    return NULL;
}

static void boot(struct ferry_model *model)
{
    model->firmware_version = model->options.contract_version;
    model->firmware_state = model->host_contract >> 16 == model->options.contract_version >> 16
                                ? FERRY_FIRMWARE_STATE_RUNNING
                                : FERRY_FIRMWARE_STATE_REFUSED;
    model->counters[MODEL_COUNTER(CYCLES)] += 500;
}

// One event: an entry fetched, a buffer carried out, or the time until the next buffer may run, `end` at most. False
// when there was nothing to do before `end`.
static bool step(struct ferry_model *model, uint64_t end)
{
    uint64_t next = end;

    if (!(model->control & FERRY_BAR0_CONTROL_CORE_RUN_MASK))
        return false;
    if (model->firmware_state == FERRY_FIRMWARE_STATE_BOOTING)
        boot(model);
    uint32_t ring = ring_to_fetch(model);
    if (ring < MODEL_RINGS) {
        fetch(model, ring);
        return true;
    }
    if (model->firmware_state != FERRY_FIRMWARE_STATE_RUNNING)
        return false;
    struct model_slot *slot = slot_to_run(model, &next);
    if (slot) {
        execute(model, slot);
        return true;
    }
    if (next >= end)
        return false;
    model->counters[MODEL_COUNTER(CYCLES)] = next;
    return true;
}

static bool aborting(const struct ferry_model *model)
{
    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        if (model->slots[i].held && model->slots[i].aborted && !model->slots[i].executed)
            return true;
    }
    return false;
}

bool ferry_model_run(struct ferry_model *model, uint64_t cycles)
{
    uint64_t end = ferry_model_cycles(model) + cycles;

    model->event = false;
    while (!model->event && ferry_model_cycles(model) < end) {
        if (!step(model, end))
            model->counters[MODEL_COUNTER(CYCLES)] = end;
        model_interrupt_tick(model);
    }
    model->resetting = model->resetting && aborting(model);
    return model->event;
}

bool ferry_model_idle(const struct ferry_model *model)
{
    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        if (model->slots[i].held)
            return false;
    }
    for (unsigned i = 0; i < MODEL_RINGS; i++) {
        if (ring_waits(model, i))
            return false;
    }
    return true;
}
