// SPDX-License-Identifier: Apache-2.0
// What moves bytes: an address is resolved page by page, and every move is a memmove of at most a page.
#include "model/internal.h"

// What an address leads to.
struct place {
    uint32_t kind;
    uint64_t address;
    uint8_t *bytes;
};

// A place for bytes that stay in a page. False with *fault_kind where there is none (model_place()), or where the walk
// of a GPU virtual address ended: then *fault says at which entry.
static bool resolve(struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes, bool write,
                    struct place *place, struct model_fault *fault, uint32_t *fault_kind)
{
    *place = (struct place){.kind = kind, .address = address};
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL &&
        !model_translate(model, address, write, &place->kind, &place->address, fault)) {
        *fault_kind = fault->kind;
        return false;
    }
    place->bytes = model_place(model, place->kind, place->address, bytes, write, fault_kind);
    return place->bytes != NULL;
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
    struct place from, to;

    if (!resolve(model, source_kind, source, bytes, false, &from, fault, &why))
        return fail(fault, why, source_kind, source, false, written);
    if (!resolve(model, destination_kind, destination, bytes, true, &to, fault, &why))
        return why == FERRY_FAULT_KIND_NONE || fail(fault, why, destination_kind, destination, true, written);
    memmove(to.bytes, from.bytes, bytes);
    const struct place *host = model->flip_write ? &to : &from;
    if (model->flip_armed && host->kind == FERRY_ADDRESS_KIND_SYSTEM && model->flip_bus - host->address < bytes) {
        to.bytes[model->flip_bus - host->address] ^= 1;
        model->flip_armed = false;
    }
    return true;
}

// Whether the engine stops here, in the middle of a user's COPY.
static bool hangs_behind(struct ferry_model *model, uint64_t written)
{
    uint32_t *behind = &model->injected[FERRY_MODEL_HANG_IN_COPY];

    if (!model->written)
        return false;
    *model->written = (uint32_t)written;
    if (!*behind || written < *behind)
        return false;
    *behind = 0;
    model->hung = true;
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

        if (hangs_behind(model, done))
            return false;
        if (backward) {
            uint64_t end = bytes - done;
            uint64_t destination_piece = ((destination + end - 1) & (MODEL_PAGE - 1)) + 1;
            uint64_t source_piece = ((source + end - 1) & (MODEL_PAGE - 1)) + 1;

            piece = model_least(end, model_least(destination_piece, source_piece));
            at = end - piece;
        } else {
            piece =
                model_least(bytes - done, model_least(model_in_page(destination + done), model_in_page(source + done)));
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
        uint64_t piece = model_least(bytes - done, model_in_page(position));

        // Counts only if the fault is in a page of the list.
        fault->list_index = (uint32_t)(position / MODEL_PAGE);
        // An entry with a bit that no page's address has is no page.
        if (page & ~(uint64_t)FERRY_APERTURE_ENTRY_ENTRY_PAGE_MASK)
            return fail(fault, FERRY_FAULT_KIND_RANGE, FERRY_ADDRESS_KIND_SYSTEM, page, !pages_are_source, done);
        // The linear side need not be aligned as the pages are: an aperture page edge may fall in between.
        if (kind != FERRY_ADDRESS_KIND_LOCAL)
            piece = model_least(piece, model_in_page(address + done));
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
    // A line of the pattern, which every pattern's length divides, then copies of a length that the compiler knows. It
    // is the same for each page that begins at the same byte of the pattern.
    uint8_t line[64];
    uint64_t done = 0, begins_at = UINT64_MAX;

    while (done < bytes) {
        uint64_t piece = model_least(bytes - done, model_in_page(address + done));
        uint32_t why;
        struct place place;

        if (!resolve(model, kind, address + done, piece, true, &place, fault, &why) && why != FERRY_FAULT_KIND_NONE)
            return fail(fault, why, kind, address + done, true, done);
        for (uint32_t i = 0; i < sizeof line && done % pattern_bytes != begins_at; i++)
            line[i] = i < pattern_bytes ? pattern[(done + i) % pattern_bytes] : line[i - pattern_bytes];
        begins_at = done % pattern_bytes;
        uint64_t whole = place.bytes ? piece - piece % sizeof line : 0;
        for (uint64_t at = 0; at < whole; at += sizeof line)
            memcpy(place.bytes + at, line, sizeof line);
        if (place.bytes)
            memcpy(place.bytes + whole, line, piece - whole);
        done += piece;
    }
    return true;
}

bool model_read(struct ferry_model *model, uint32_t kind, uint64_t address, uint32_t bytes, struct model_fault *fault)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = model_least(bytes - done, model_in_page(address + done));
        uint32_t why;
        struct place place;

        if (!resolve(model, kind, address + done, piece, false, &place, fault, &why))
            return fail(fault, why, kind, address + done, false, 0);
        done += piece;
    }
    return true;
}

// ---- BAR2 -------------------------------------------------------------------------------------------------------

uint64_t ferry_model_window_bytes(const struct ferry_model *model)
{
    uint64_t half = MODEL_PAGE;

    while (half < model->options.local_bytes)
        half *= 2;
    return 2 * half;
}

// Memory behind a piece of the window's lower half that stays in a page, or NULL.
static uint8_t *window(struct ferry_model *model, uint64_t offset, uint64_t bytes)
{
    bool within = offset + bytes <= model->local_limit && offset + bytes <= model->options.local_bytes;
    bool protected_range = offset < model->protect_limit && offset + bytes > model->protect_base &&
                           model->protect_base < model->protect_limit;
    return within && !protected_range ? model->local + offset : NULL;
}

// A piece in one page: of the lower half at once, of the upper byte by byte. One of the two is NULL. Whether all was
// done.
static bool access_window(struct ferry_model *model, uint64_t offset, uint64_t bytes, uint8_t *to, const uint8_t *from)
{
    uint64_t half = ferry_model_window_bytes(model) / 2, step = offset < half ? bytes : 1;
    bool refused = false, unsupported = false;

    for (uint64_t done = 0; done < bytes; done += step) {
        uint64_t place = offset + done;
        bool is_there = offset < half || model_view(model, place - half, &place);
        uint8_t *at = is_there ? window(model, place, step) : NULL;

        unsupported |= !is_there;
        refused |= is_there && !at;
        if (at && from)
            memcpy(at, from + done, step);
        else if (at)
            memcpy(to + done, at, step);
        else if (to)
            memset(to + done, 0xff, step);
    }
    if (unsupported)
        model->counters[MODEL_COUNTER(TLP_UNSUPPORTED)]++;
    if (refused && from)
        model->counters[MODEL_COUNTER(WINDOW_REFUSED)]++;
    return !unsupported && !refused;
}

bool ferry_model_window_read(struct ferry_model *model, uint64_t offset, void *data, size_t bytes)
{
    bool all = true;

    for (uint64_t done = 0, piece; done < bytes; done += piece) {
        piece = model_least(bytes - done, model_in_page(offset + done));
        all &= access_window(model, offset + done, piece, (uint8_t *)data + done, NULL);
    }
    return all;
}

void ferry_model_window_write(struct ferry_model *model, uint64_t offset, const void *data, size_t bytes)
{
    for (uint64_t done = 0, piece; done < bytes; done += piece) {
        piece = model_least(bytes - done, model_in_page(offset + done));
        access_window(model, offset + done, piece, NULL, (const uint8_t *)data + done);
    }
}
