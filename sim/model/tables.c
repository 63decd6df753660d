// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses: the walk of page tables as docs/manual/page-tables.md has it, level by level, and what may be
// remembered of it. The model remembers as much as a device may: a page that was found stays what it was until it is
// forgotten, so a host that changes an entry and forgets nothing goes on meeting the old one.
#include "model/internal.h"

#define ENTRY(FIELD) FERRY_TABLE_ENTRY_ENTRY_##FIELD##_MASK
#define PAGE_MASK    ENTRY(PAGE)

static struct model_known *known_at(struct ferry_model *model, uint32_t space, uint64_t page)
{
    return &model->known[(page ^ page >> 9 ^ (uint64_t)space << 7) % MODEL_KNOWN];
}

// entry: 0 if its table lies in the protected range, whose content is nobody's to see.
static bool fail(struct model_fault *fault, uint32_t kind, uint32_t height, uint64_t entry)
{
    fault->kind = kind;
    fault->walked = true;
    fault->height = height;
    fault->entry = entry;
    return false;
}

// All of the memory that a page or table takes is in video memory.
static bool inside(const struct ferry_model *model, uint64_t address, uint64_t bytes)
{
    uint64_t limit = model->local_limit < model->options.local_bytes ? model->local_limit : model->options.local_bytes;

    return address < limit && bytes <= (limit & ~(uint64_t)(MODEL_PAGE - 1)) - address;
}

static bool breaks_a_rule(uint64_t entry, uint32_t height, uint64_t address)
{
    const uint64_t named = ENTRY(VALID) | ENTRY(HOST) | ENTRY(SNOOP) | ENTRY(READ_ONLY) | ENTRY(PROTECTED) |
                           ENTRY(LEAF) | ENTRY(GROUP) | PAGE_MASK;
    bool leaf = entry & ENTRY(LEAF), group = entry & ENTRY(GROUP);

    if ((entry & ~named) || ((entry & ENTRY(SNOOP)) && !(entry & ENTRY(HOST))))
        return true;
    if (!leaf && (entry & (ENTRY(READ_ONLY) | ENTRY(PROTECTED) | ENTRY(GROUP))))
        return true;
    if (height == 0)
        return !leaf || (group && ((entry ^ address) & 0xf000));
    if (height == 1)
        return leaf && (group || (entry & 0x1ff000));
    return leaf;
}

static uint64_t bytes_of_leaf(uint64_t entry, uint32_t height)
{
    return height ? 2u << 20 : entry & ENTRY(GROUP) ? 64u << 10 : MODEL_PAGE;
}

static bool meets_protected(const struct ferry_model *model, bool host, uint64_t page, uint64_t bytes)
{
    uint64_t base = model->protect_base & ~(uint64_t)(MODEL_PAGE - 1);

    return !host && page < model->protect_limit && page + bytes > base && model->protect_base < model->protect_limit;
}

// The entry that decides about the page, its height, and what of it may be shown; false with the fault.
static bool walk(struct ferry_model *model, uint32_t space, uint64_t address, uint64_t *found, uint32_t *found_height,
                 uint64_t *shown, struct model_fault *fault)
{
    const struct model_root *root = &model->roots[space];
    bool host = root->host;
    uint64_t table = root->table, entry = 0;

    *shown = 0;
    model->counters[MODEL_COUNTER(TABLE_WALKS)]++;
    if (!root->valid)
        return fail(fault, FERRY_FAULT_KIND_PAGE_ABSENT, root->height, 0);
    if (root->height < 3 && address >> (21 + 9 * root->height))
        return fail(fault, FERRY_FAULT_KIND_RANGE, root->height, 0);
    if (!host && !inside(model, table, MODEL_PAGE))
        return fail(fault, FERRY_FAULT_KIND_TABLE_RANGE, root->height, 0);
    for (uint32_t height = root->height;; height--) {
        uint64_t at = table + 8 * (address >> (12 + 9 * height) & 511);

        model->counters[MODEL_COUNTER(CYCLES)] += 20;
        model->counters[MODEL_COUNTER(TABLE_READS)]++;
        if (!model_read_entry(model, host, at, &entry))
            return fail(fault, FERRY_FAULT_KIND_TABLE_ERROR, height, 0);
        *shown = meets_protected(model, host, table, MODEL_PAGE) ? 0 : entry;
        if (!(entry & ENTRY(VALID)))
            return fail(fault, FERRY_FAULT_KIND_PAGE_ABSENT, height, *shown);
        if (breaks_a_rule(entry, height, address))
            return fail(fault, FERRY_FAULT_KIND_TABLE_ENTRY, height, *shown);
        table = entry & PAGE_MASK;
        host = entry & ENTRY(HOST);
        if (entry & ENTRY(LEAF)) {
            uint64_t bytes = bytes_of_leaf(entry, height);

            if (!host && !inside(model, table & ~(bytes - 1), bytes))
                return fail(fault, FERRY_FAULT_KIND_RANGE, height, *shown);
            *found = entry;
            *found_height = height;
            return true;
        }
        if (!host && !inside(model, table, MODEL_PAGE))
            return fail(fault, FERRY_FAULT_KIND_TABLE_RANGE, height, *shown);
    }
}

// Some of what the entry stands for is in the protected range, or the entry says so.
static bool closed(const struct ferry_model *model, uint64_t entry, uint32_t height)
{
    uint64_t bytes = bytes_of_leaf(entry, height), page = entry & PAGE_MASK & ~(bytes - 1);

    return (entry & ENTRY(PROTECTED)) || meets_protected(model, entry & ENTRY(HOST), page, bytes);
}

bool model_translate(struct ferry_model *model, uint64_t address, bool write, uint32_t *kind, uint64_t *place,
                     struct model_fault *fault)
{
    uint32_t space = model->running->space, height;
    uint64_t page = address / MODEL_PAGE, entry, shown;
    struct model_known *known = known_at(model, space, page);
    bool hit = known->valid && known->space == space && known->page == page;

    fault->space = space;
    // What is remembered and does not allow the access is walked again.
    if (!hit || (known->read_only && write) || (known->closed && !model->running_protected)) {
        if (!walk(model, space, address, &entry, &height, &shown, fault))
            return false;
        *known = (struct model_known){
            .valid = true,
            .host = entry & ENTRY(HOST),
            .read_only = entry & ENTRY(READ_ONLY),
            .closed = closed(model, entry, height),
            .space = space,
            .page = page,
            .place = entry & PAGE_MASK,
        };
        if (height)
            known->place |= address & 0x1ff000;
        if (known->closed && !model->running_protected)
            return fail(fault, FERRY_FAULT_KIND_PROTECTED, height, shown);
        if (known->read_only && write)
            return fail(fault, FERRY_FAULT_KIND_PAGE_READ_ONLY, height, shown);
    }
    *kind = known->host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
    *place = known->place | (address & (MODEL_PAGE - 1));
    return true;
}

static void forget(struct model_known *known, uint32_t space, uint64_t page)
{
    if (known->space == space && known->page == page)
        known->valid = false;
}

void model_forget(struct ferry_model *model, uint32_t scope, uint32_t space, uint64_t address)
{
    uint64_t pages = scope == FERRY_FORGET_SCOPE_GROUP ? 16 : 512;
    uint64_t first = address / MODEL_PAGE & ~(pages - 1);

    model->counters[MODEL_COUNTER(TABLE_FORGETS)]++;
    switch (scope) {
    case FERRY_FORGET_SCOPE_GROUP:
    case FERRY_FORGET_SCOPE_TABLE:
        for (uint64_t page = first; page < first + pages; page++)
            forget(known_at(model, space, page), space, page);
        break;
    default:
        for (uint32_t i = 0; i < MODEL_KNOWN; i++)
            model->known[i].valid &= scope != FERRY_FORGET_SCOPE_ALL && model->known[i].space != space;
    }
}
