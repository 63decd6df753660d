// SPDX-License-Identifier: Apache-2.0
// What the manager knows of mappings, held against the plain list.
#ifndef FERRY_TESTS_VA_PLAIN_CHECK_H
#define FERRY_TESTS_VA_PLAIN_CHECK_H

#include "va_plain_list.h"
#include "vidmm/memory/mappings.h"

static inline struct ferry_vm_allocation *found(D3DKMT_HANDLE handle)
{
    return ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, handle);
}

static inline const struct ferry_vm_address_space *addresses_of(const struct space *s)
{
    const struct ferry_vm_process *process =
        ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_PROCESS, s->program.process);
    return &process->space->addresses;
}

static inline uint32_t height_of(const struct ferry_vm_range *range)
{
    return range ? range->tree.sums.height : 0;
}

// Ordered by address, nothing overlaps, and it is flat. Returns how many ranges there are.
static inline size_t check_tree(const struct ferry_vm_range *range, uint64_t least, uint64_t most)
{
    if (!range)
        return 0;
    CHECK(range->pages > 0 && range->first >= least && range->first + range->pages <= most);
    uint32_t left = height_of(range->tree.left), right = height_of(range->tree.right);
    CHECK(range->tree.sums.height == 1 + (left > right ? left : right));
    CHECK(left <= right + 1 && right <= left + 1);
    return 1 + check_tree(range->tree.left, least, range->first) +
           check_tree(range->tree.right, range->first + range->pages, most);
}

static inline size_t check_space(const struct space *s)
{
    const struct ferry_vm_address_space *addresses = addresses_of(s);
    size_t mappings = 0, ranges = 0, next = 0;
    uint64_t pages = 0, listed = 0, mapped = 0;
    const struct ferry_vm_range *range;
    for (uint64_t at = 0; (range = ferry_vm_address_find(addresses, at)); at = range->first + range->pages, ranges++) {
        mappings += range->owner != NULL;
        pages += range->pages;
        mapped += range->owner ? range->pages : 0;
        CHECK(range->first >= at);
        for (uint64_t page = range->first; page < range->first + range->pages;) {
            while (next < s->count && end_of(&s->pieces[next]) <= page)
                next++;
            CHECK(next < s->count && s->pieces[next].first <= page);
            const struct piece *piece = &s->pieces[next];
            const struct ferry_vm_range_more *more = ferry_vm_range_more(range);
            CHECK(more->reservation == piece->reservation);
            CHECK((range->owner ? key_of(range->owner) : 0) == piece->owner);
            CHECK(range->owner || more->offset == 0);
            CHECK(!range->owner || more->offset + (page - range->first) == piece->offset + (page - piece->first));
            CHECK(range->read_only == piece->read_only && range->each_instance == piece->each);
            page = end_of(piece);
        }
    }
    for (size_t i = 0; i < s->count; i++)
        listed += s->pieces[i].pages;
    CHECK(pages == listed);
    CHECK(addresses->mapped_pages == mapped);
    CHECK(check_tree(addresses->ranges, 0, FERRY_VM_VA_PAGES) == ranges);
    return mappings;
}

// Returns how many mappings it has.
static inline size_t check_instance(const struct space *s, const struct ferry_vm_allocation *instance)
{
    const struct ferry_vm_range *before = NULL, *waits = NULL, *own = NULL;
    struct ferry_vm_owned sums = {0}, all = ferry_vm_virtual_all(instance);
    for (const struct ferry_vm_range *range = instance->mappings; range; range = range->of_owner) {
        CHECK(range->owner == instance && range->of_owner_before == before);
        CHECK(ferry_vm_address_find(addresses_of(s), range->first) == range);
        CHECK(!range->each_instance || !before);
        own = range->each_instance ? range : own;
        sums.count++;
        sums.most += ferry_vm_address_most_pieces(range->pages) + 1;
        sums.tables_most += ferry_vm_virtual_tables_most(range->pages);
        if (ferry_vm_range_more(range)->after != 0) {
            CHECK(range->more->waits_before == waits && (waits ? waits->more->waits : all.waiting) == range);
            waits = range;
            seen.waiting++;
        }
        before = range;
    }
    CHECK(waits ? !waits->more->waits : !all.waiting);
    CHECK(all.count == sums.count && all.most == sums.most && all.tables_most == sums.tables_most);
    CHECK(ferry_vm_virtual_own(instance) == own);
    CHECK(ferry_vm_virtual_renamable(instance) == (sums.count == 0 || (sums.count == 1 && own)));
    CHECK(has_own(s, key_of(instance)) == (own != NULL));
    return sums.count;
}

static inline bool lives(const struct ferry_vm_allocation *allocation, uint64_t owner)
{
    for (uint32_t i = 0; i < ferry_vm_instance_count(allocation); i++)
        if (key_of(ferry_vm_instance((struct ferry_vm_allocation *)allocation, i)) == owner)
            return true;
    return false;
}

// Instances come with a discard, at addresses of the manager's choice, and go when room is needed.
static inline void learn_instances(struct space *s, D3DKMT_HANDLE handle, bool *has_come)
{
    struct ferry_vm_allocation *allocation = found(handle);
    for (size_t i = 0; i < s->count;) {
        uint64_t owner = s->pieces[i].owner;
        if (owner >> 32 == handle && !lives(allocation, owner))
            forget_owner(s, owner), i = 0;
        else
            i++;
    }
    for (uint32_t i = 0; i < ferry_vm_instance_count(allocation); i++) {
        const struct ferry_vm_allocation *instance = ferry_vm_instance(allocation, i);
        const struct ferry_vm_range *own = ferry_vm_virtual_own(instance);
        if (!own || has_own(s, key_of(instance)))
            continue;
        CHECK(has_come && !*has_come && is_free(s, own->first, own->first + own->pages));
        CHECK(own->pages == allocation->use.pages);
        add(s, (struct piece){.first = own->first, .pages = own->pages, .owner = key_of(instance), .each = true});
        *has_come = true;
        seen.instances++;
    }
}

static inline void check_all(void)
{
    for (struct space *s = spaces; s < spaces + PROGRAMS; s++) {
        for (unsigned i = 0; i < ALLOCATIONS; i++)
            if (s->owners[i].handle)
                learn_instances(s, s->owners[i].handle, NULL);
        size_t mappings = check_space(s), listed = check_instance(s, found(s->result));
        for (unsigned i = 0; i < ALLOCATIONS; i++) {
            struct ferry_vm_allocation *allocation = s->owners[i].handle ? found(s->owners[i].handle) : NULL;
            uint64_t own = 1;
            for (uint32_t k = 0; allocation && k < ferry_vm_instance_count(allocation); k++)
                listed += check_instance(s, ferry_vm_instance(allocation, k));
            if (!allocation)
                continue;
            CHECK(ferry_vidmm_own_address(world->manager, s->owners[i].handle, &own) == FERRY_OK);
            CHECK((own != 0) == has_own(s, key_of(allocation)));
            size_t at = piece_at(s, own / PAGE_SIZE);
            CHECK(own == 0 || (s->pieces[at].each && s->pieces[at].owner == key_of(allocation)));
        }
        CHECK(mappings == listed);
    }
}

#endif
