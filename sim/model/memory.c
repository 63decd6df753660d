// SPDX-License-Identifier: Apache-2.0
// Where bytes live: video memory, host memory, and host memory through the aperture table. A place is resolved page by
// page, and every move is a memmove of at most a page.
#include "model/internal.h"

// Bytes from address to the end of its page.
static uint64_t in_page(uint64_t address)
{
    return MODEL_PAGE - (address & (MODEL_PAGE - 1));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Use up one planted failure of a sort.
static bool planted(struct ferry_model *model, enum ferry_model_injection what)
{
    if (!model->injected[what])
        return false;
    model->injected[what]--;
    return true;
}

// NONE, or the failure planted for a read of host memory.
static uint32_t planted_host_fault(struct ferry_model *model)
{
    if (planted(model, FERRY_MODEL_HOST_TIMEOUT))
        return FERRY_FAULT_KIND_COMPLETION_TIMEOUT;
    return planted(model, FERRY_MODEL_HOST_ABORT) ? FERRY_FAULT_KIND_HOST_ABORT : FERRY_FAULT_KIND_NONE;
}

// Memory at a place for bytes that stay in a page. NULL: nothing is there, and *fault_kind says why (NONE for a posted
// write to an unmapped bus address, which a device cannot notice: PCIe base specification 2.4.1, posted requests have
// no completion; the host learns by the write's tag whose it was).
static uint8_t *resolve(struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes, bool write,
                        struct model_fault *fault, uint32_t *fault_kind)
{
    *fault_kind = FERRY_FAULT_KIND_NONE;
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL && !model_translate(model, address, write, &kind, &address, fault)) {
        *fault_kind = fault->kind;
        return NULL;
    }
    if (kind == FERRY_ADDRESS_KIND_LOCAL) {
        if (planted(model, write ? FERRY_MODEL_LOCAL_WRITE_ERROR : FERRY_MODEL_LOCAL_READ_ERROR)) {
            *fault_kind = FERRY_FAULT_KIND_LOCAL_ERROR;
            return NULL;
        }
        if (write)
            model->counters[MODEL_COUNTER(LOCAL_WRITE_BEATS)] += (bytes + 7) / 8;
        else
            model->counters[MODEL_COUNTER(LOCAL_READ_BEATS)] += (bytes + 7) / 8;
        return model->local + address;
    }
    if (kind == FERRY_ADDRESS_KIND_APERTURE) {
        uint64_t entry = model->aperture[address / MODEL_PAGE];

        if (!(entry & FERRY_APERTURE_ENTRY_ENTRY_VALID_MASK)) {
            *fault_kind = FERRY_FAULT_KIND_APERTURE_INVALID;
            return NULL;
        }
        address = (entry & FERRY_APERTURE_ENTRY_ENTRY_PAGE_MASK) | (address & (MODEL_PAGE - 1));
    }
    if (write) {
        model->counters[MODEL_COUNTER(HOST_WRITE_BEATS)] += (bytes + 7) / 8;
        model->counters[MODEL_COUNTER(TLP_SENT)] += (bytes + 127) / 128;
        model->counters[MODEL_COUNTER(LINK_SEND_BEATS)] += (bytes + 127) / 128 * 2 + (bytes + 7) / 8;
    } else {
        model->counters[MODEL_COUNTER(HOST_READ_BEATS)] += (bytes + 7) / 8;
        model->counters[MODEL_COUNTER(TLP_SENT)] += (bytes + 511) / 512;
        model->counters[MODEL_COUNTER(TLP_RECEIVED)] += (bytes + 127) / 128;
        model->counters[MODEL_COUNTER(LINK_RECEIVE_BEATS)] += (bytes + 127) / 128 * 2 + (bytes + 7) / 8;
    }
    if (!write && (*fault_kind = planted_host_fault(model)) != FERRY_FAULT_KIND_NONE)
        return NULL;
    uint8_t *memory = model->host.memory(model->host.context, address, bytes, write);
    if (!memory && !write)
        *fault_kind = FERRY_FAULT_KIND_HOST_UNSUPPORTED;
    if (!memory && write && model->running && model->host.refused) {
        // Buffers of a ring are carried out in order: this one's entry is the next to retire.
        uint32_t ring = model->running->ring;
        uint32_t tag = FERRY_PUT(FERRY_WRITE_TAG_TAG_RING, ring) |
                       FERRY_PUT(FERRY_WRITE_TAG_TAG_ENTRY, model->rings[ring].retired + 1);

        model->host.refused(model->host.context, address, tag);
    }
    return memory;
}

static bool fail(struct model_fault *fault, uint32_t fault_kind, uint32_t kind, uint64_t address, bool write,
                 uint64_t written)
{
    fault->kind = fault_kind;
    fault->address_kind = kind;
    fault->address = address;
    fault->write = write;
    fault->written = (uint32_t)written;
    return false;
}

// Move bytes that stay in one page on either side.
static bool move(struct ferry_model *model, uint32_t destination_kind, uint64_t destination, uint32_t source_kind,
                 uint64_t source, uint64_t bytes, uint64_t written, struct model_fault *fault)
{
    uint32_t why;
    const uint8_t *from = resolve(model, source_kind, source, bytes, false, fault, &why);

    if (!from)
        return fail(fault, why, source_kind, source, false, written);
    uint8_t *to = resolve(model, destination_kind, destination, bytes, true, fault, &why);
    if (!to && why != FERRY_FAULT_KIND_NONE)
        return fail(fault, why, destination_kind, destination, true, written);
    if (to)
        memmove(to, from, bytes);
    uint64_t bus = model->flip_write ? destination : source;
    uint32_t kind = model->flip_write ? destination_kind : source_kind;
    if (model->flip_armed && to && kind == FERRY_ADDRESS_KIND_SYSTEM && model->flip_bus - bus < bytes) {
        to[model->flip_bus - bus] ^= 1;
        model->flip_armed = false;
    }
    return true;
}

bool model_copy(struct ferry_model *model, uint32_t destination_kind, uint64_t destination, uint32_t source_kind,
                uint64_t source, uint64_t bytes, struct model_fault *fault)
{
    // A destination that begins inside the source is copied from the end, so that nothing is overwritten unread.
    bool backward = destination_kind == source_kind && destination > source && destination - source < bytes;
    uint64_t done = 0;

    while (done < bytes) {
        uint64_t piece, at;

        if (backward) {
            uint64_t end = bytes - done;
            uint64_t destination_piece = ((destination + end - 1) & (MODEL_PAGE - 1)) + 1;
            uint64_t source_piece = ((source + end - 1) & (MODEL_PAGE - 1)) + 1;

            piece = least(end, least(destination_piece, source_piece));
            at = end - piece;
        } else {
            piece = least(bytes - done, least(in_page(destination + done), in_page(source + done)));
            at = done;
        }
        if (!move(model, destination_kind, destination + at, source_kind, source + at, piece, backward ? 0 : done,
                  fault))
            return false;
        done += piece;
    }
    return true;
}

bool model_copy_pages(struct ferry_model *model, bool pages_are_source, const uint8_t *pages, uint32_t first_offset,
                      uint32_t kind, uint64_t address, uint64_t bytes, struct model_fault *fault)
{
    uint64_t done = 0;

    while (done < bytes) {
        uint64_t position = first_offset + done;
        uint64_t page = model_get64(pages + position / MODEL_PAGE * 8);
        uint64_t system = page | (position & (MODEL_PAGE - 1));
        uint64_t piece = least(bytes - done, in_page(position));

        // Counts only if the fault is in a page of the list.
        fault->list_index = (uint32_t)(position / MODEL_PAGE);
        // An entry with a bit that no page's address has is no page.
        if (page & ~(uint64_t)FERRY_APERTURE_ENTRY_ENTRY_PAGE_MASK)
            return fail(fault, FERRY_FAULT_KIND_RANGE, FERRY_ADDRESS_KIND_SYSTEM, page, !pages_are_source, done);
        // The linear side need not be aligned as the pages are: an aperture page edge may fall in between.
        if (kind != FERRY_ADDRESS_KIND_LOCAL)
            piece = least(piece, in_page(address + done));
        bool good = pages_are_source
                        ? move(model, kind, address + done, FERRY_ADDRESS_KIND_SYSTEM, system, piece, done, fault)
                        : move(model, FERRY_ADDRESS_KIND_SYSTEM, system, kind, address + done, piece, done, fault);
        if (!good) {
            if (fault->address_kind != FERRY_ADDRESS_KIND_SYSTEM)
                fault->list_index = 0;
            return false;
        }
        done += piece;
    }
    return true;
}

bool model_fill(struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes, const uint8_t *pattern,
                uint32_t pattern_bytes, struct model_fault *fault)
{
    uint64_t done = 0;

    while (done < bytes) {
        uint64_t piece = least(bytes - done, in_page(address + done));
        uint32_t why;
        uint8_t *to = resolve(model, kind, address + done, piece, true, fault, &why);

        if (!to && why != FERRY_FAULT_KIND_NONE)
            return fail(fault, why, kind, address + done, true, done);
        // The first bytes one by one, the others from those a whole pattern before: twice as many each time.
        for (uint64_t have = 0, more; to && have < piece; have += more) {
            if (have < pattern_bytes) {
                more = 1;
                to[have] = pattern[(done + have) % pattern_bytes];
            } else {
                more = least(piece - have, have - have % pattern_bytes);
                memcpy(to + have, to, more);
            }
        }
        done += piece;
    }
    return true;
}

bool model_read(struct ferry_model *model, uint32_t kind, uint64_t address, uint32_t bytes, struct model_fault *fault)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = least(bytes - done, in_page(address + done));
        uint32_t why;

        if (!resolve(model, kind, address + done, piece, false, fault, &why))
            return fail(fault, why, kind, address + done, false, 0);
        done += piece;
    }
    return true;
}

bool model_read_entry(struct ferry_model *model, bool host, uint64_t address, uint64_t *entry)
{
    struct model_fault fault = {0};
    uint32_t why;
    const uint8_t *at = resolve(model, host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL, address,
                                sizeof *entry, false, &fault, &why);

    if (at)
        *entry = model_get64(at);
    return at;
}

void model_post(struct ferry_model *model, uint64_t address, const uint8_t *data, uint32_t bytes)
{
    uint8_t *to = model->host.memory(model->host.context, address, bytes, true);

    model->counters[MODEL_COUNTER(TLP_SENT)]++;
    model->counters[MODEL_COUNTER(LINK_SEND_BEATS)] += 2 + bytes / 8;
    if (to)
        memcpy(to, data, bytes);
}

bool model_fetch(struct ferry_model *model, uint64_t address, uint8_t *data, uint32_t bytes, uint64_t *failed)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = least(bytes - done, in_page(address + done));
        const uint8_t *from = model->host.memory(model->host.context, address + done, piece, false);

        if (planted_host_fault(model) != FERRY_FAULT_KIND_NONE || !from) {
            *failed = address + done;
            return false;
        }
        memcpy(data + done, from, piece);
        done += piece;
    }
    return true;
}

// ---- BAR2 -------------------------------------------------------------------------------------------------------

uint64_t ferry_model_window_bytes(const struct ferry_model *model)
{
    uint64_t half = MODEL_PAGE;

    while (half < model->options.local_bytes || half < (uint64_t)model->options.aperture_pages * MODEL_PAGE)
        half *= 2;
    return 2 * half;
}

// Memory behind a piece of the window that stays in a page, or NULL.
static uint8_t *window(struct ferry_model *model, uint64_t offset, uint64_t bytes, bool write)
{
    uint64_t half = ferry_model_window_bytes(model) / 2;

    if (offset >= half) {
        model->counters[MODEL_COUNTER(TLP_UNSUPPORTED)]++;
        return NULL;
    }
    bool within = offset + bytes <= model->local_limit && offset + bytes <= model->options.local_bytes;
    bool protected_range = offset < model->protect_limit && offset + bytes > model->protect_base &&
                           model->protect_base < model->protect_limit;
    if (within && !protected_range)
        return model->local + offset;
    if (write)
        model->counters[MODEL_COUNTER(WINDOW_REFUSED)]++;
    return NULL;
}

void ferry_model_window_read(struct ferry_model *model, uint64_t offset, void *data, size_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = least(bytes - done, in_page(offset + done));
        const uint8_t *from = window(model, offset + done, piece, false);

        if (from)
            memcpy((uint8_t *)data + done, from, piece);
        else
            memset((uint8_t *)data + done, 0xff, piece);
        done += piece;
    }
}

void ferry_model_window_write(struct ferry_model *model, uint64_t offset, const void *data, size_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = least(bytes - done, in_page(offset + done));
        uint8_t *to = window(model, offset + done, piece, true);

        if (to)
            memcpy(to, (const uint8_t *)data + done, piece);
        done += piece;
    }
}
