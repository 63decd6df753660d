// SPDX-License-Identifier: Apache-2.0
// What the CPU does costs what it costs under the manager (cpu_access.c there), so that the policies differ in who
// leaves and in nothing else: a lock brings content that is newer in video memory back, and takes what is not
// PermanentSysMem out; an unlock brings what is PermanentSysMem and in place up to date.
#include "lab/policy_machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE_BYTES UINT64_C(4096)
#define NOBODY     UINT32_MAX

struct policy_machine {
    struct ferry_lab_machine machine; // first
    const struct ferry_lab_policy *policy;
    const struct ferry_lab_object *objects;
    size_t object_count;
    struct ferry_lab_count count;
    // What a policy is shown is its to write in, and is never read back, but for the state of its chance: `memory` is
    // filled before each call, `items` as things change. What is true stands below.
    struct ferry_lab_memory memory;
    struct ferry_lab_item *items; // by their numbers
    // A policy's numbers are in order of creation, so that they tell nothing of what is yet to come.
    uint32_t *objects_by_number;
    size_t made;
    uint32_t *placed; // the list, of numbers
    struct object_state {
        uint32_t number, place;              // place: in the list
        bool in_place, dirty, pinned, fresh; // fresh: not written yet
        bool used;                           // by a job, and not taken by the CPU since
    } * states;
    uint64_t now, frame;
    uint32_t program; // whose job is under way
    bool own_first;
    uint64_t pages, free_pages;
    size_t *in_place, pinned; // how many of each program's; and of them, what the job under way names
    size_t placed_count;
    uint64_t *object_in;
    uint32_t *free_numbers;
    size_t free_count;
    uint64_t created;
    const uint32_t *next_uses;
    uint64_t used_so_far;
};

static struct policy_machine *of(struct ferry_lab_machine *machine)
{
    return (struct policy_machine *)machine;
}

static void show(struct policy_machine *m, uint32_t object)
{
    struct ferry_lab_item *item = &m->items[m->states[object].number];
    item->pages = m->objects[object].pages;
    item->program = m->objects[object].program;
    item->in_place = m->states[object].in_place;
    item->dirty = m->states[object].dirty;
    item->pinned = m->states[object].pinned;
}

// Before each call.
static struct ferry_lab_memory *fill(struct policy_machine *m, uint64_t wanted)
{
    m->memory = (struct ferry_lab_memory){.items = m->items,
                                          .item_count = m->made,
                                          .placed = m->placed,
                                          .placed_count = m->placed_count,
                                          .pages = m->pages,
                                          .free_pages = m->free_pages,
                                          .now = m->now,
                                          .frame = m->frame,
                                          .program = m->program,
                                          .own_first = m->own_first,
                                          .wanted = wanted,
                                          .random = m->memory.random};
    return &m->memory;
}

static uint64_t bytes_of(const struct policy_machine *m, uint32_t object)
{
    return m->objects[object].pages * PAGE_BYTES;
}

static void bring(struct policy_machine *m, uint32_t object)
{
    uint64_t bytes = bytes_of(m, object);
    m->count.in += bytes;
    m->object_in[object] += bytes;
    m->count.paged += m->states[object].used ? bytes : 0;
}

static void take(struct policy_machine *m, uint32_t object)
{
    struct object_state *state = &m->states[object];
    state->in_place = true;
    state->dirty = !m->objects[object].permanent && !state->fresh;
    m->free_pages -= m->objects[object].pages;
    m->in_place[m->objects[object].program]++;
    m->pinned += state->pinned;
    state->place = (uint32_t)m->placed_count;
    m->placed[m->placed_count++] = state->number;
    m->items[state->number].came = m->now;
    show(m, object);
}

static void leave(struct policy_machine *m, uint32_t object, bool drop)
{
    struct object_state *state = &m->states[object];
    if (state->dirty && !drop)
        m->count.out += bytes_of(m, object);
    state->in_place = state->dirty = false;
    m->free_pages += m->objects[object].pages;
    m->in_place[m->objects[object].program]--;
    uint32_t last = m->placed[--m->placed_count];
    m->placed[state->place] = last;
    m->states[m->objects_by_number[last]].place = state->place;
    show(m, object);
}

static int create(struct ferry_lab_machine *machine, uint32_t object)
{
    struct policy_machine *m = of(machine);
    uint32_t number = m->free_count ? m->free_numbers[--m->free_count] : (uint32_t)m->made++;
    m->states[object] = (struct object_state){.fresh = true, .number = number};
    m->object_in[object] = 0;
    m->objects_by_number[number] = object;
    m->items[number].made = ++m->created;
    show(m, object);
    return FERRY_LAB_OK;
}

static int destroy(struct ferry_lab_machine *machine, uint32_t object)
{
    struct policy_machine *m = of(machine);
    if (m->states[object].in_place)
        leave(m, object, true);
    uint32_t number = m->states[object].number;
    m->items[number] = (struct ferry_lab_item){0};
    // Several programs give their objects' numbers again in another order: this one is nobody's until it is given.
    m->objects_by_number[number] = NOBODY;
    m->free_numbers[m->free_count++] = number;
    return FERRY_LAB_OK;
}

static int lock(struct ferry_lab_machine *machine, uint32_t object, bool discard)
{
    struct policy_machine *m = of(machine);
    struct object_state *state = &m->states[object];
    state->used = false;
    if (state->in_place && !m->objects[object].permanent) {
        leave(m, object, discard);
    } else if (state->dirty) {
        m->count.out += discard ? 0 : bytes_of(m, object);
        state->dirty = false;
        show(m, object);
    }
    state->fresh = false;
    return FERRY_LAB_OK;
}

static int unlock(struct ferry_lab_machine *machine, uint32_t object)
{
    struct policy_machine *m = of(machine);
    if (m->states[object].in_place)
        m->count.uploaded += bytes_of(m, object);
    return FERRY_LAB_OK;
}

static int bad_choice(struct policy_machine *m, uint32_t chosen, uint64_t wanted)
{
    uint32_t object = chosen < m->made ? m->objects_by_number[chosen] : NOBODY;
    const char *why = chosen == FERRY_LAB_NONE      ? "nobody"
                      : object == NOBODY            ? "no allocation"
                      : !m->states[object].in_place ? "an allocation that is not in video memory"
                      : !m->states[object].pinned   ? "a foreign allocation, of another program,"
                                                    : "an allocation that the job under way needs";
    snprintf(m->machine.problem, sizeof m->machine.problem,
             "policy %s names %s (number %" PRIu32 ") in frame %" PRIu64 " to make room for %" PRIu64 " bytes",
             m->policy->name, why, chosen, m->frame, wanted * PAGE_BYTES);
    m->machine.chosen = object;
    return FERRY_LAB_BAD_CHOICE;
}

static bool may_leave(const struct policy_machine *m, uint32_t chosen)
{
    uint32_t object = chosen < m->made ? m->objects_by_number[chosen] : NOBODY;
    if (object == NOBODY)
        return false;
    bool foreign = m->own_first && m->objects[object].program != m->program;
    return m->states[object].in_place && !m->states[object].pinned && !foreign;
}

static int make_room(struct policy_machine *m, uint64_t pages)
{
    while (m->free_pages < pages) {
        uint64_t wanted = pages - m->free_pages;
        m->own_first = !m->policy->one_list && m->in_place[m->program] > m->pinned;
        uint32_t chosen = m->policy->choose(fill(m, wanted));
        if (!may_leave(m, chosen))
            return bad_choice(m, chosen, wanted);
        uint64_t before = m->count.out;
        leave(m, m->objects_by_number[chosen], false);
        m->count.evictions++;
        m->count.paged += m->count.out - before;
    }
    m->own_first = false;
    return FERRY_LAB_OK;
}

static int job(struct ferry_lab_machine *machine, uint32_t program, const uint32_t *objects, size_t count, bool writes)
{
    struct policy_machine *m = of(machine);
    uint64_t pages = 0;
    int result = FERRY_LAB_OK;
    m->program = program;
    m->now++;
    m->pinned = 0;
    for (size_t i = 0; i < count; i++) {
        m->states[objects[i]].pinned = true;
        m->pinned += m->states[objects[i]].in_place;
        show(m, objects[i]);
        pages += m->objects[objects[i]].pages;
    }
    if (pages > m->pages)
        result = FERRY_LAB_TOO_SMALL;
    for (size_t i = 0; i < count && result == FERRY_LAB_OK; i++) {
        if (!m->states[objects[i]].in_place) {
            result = make_room(m, m->objects[objects[i]].pages);
            if (result != FERRY_LAB_OK)
                break;
            if (m->states[objects[i]].fresh)
                m->count.filled += bytes_of(m, objects[i]);
            else
                bring(m, objects[i]);
            take(m, objects[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct ferry_lab_item *item = &m->items[m->states[objects[i]].number];
        m->states[objects[i]].pinned = false;
        m->states[objects[i]].used = true;
        item->used = m->now;
        item->used_frame = m->frame;
        item->next = m->next_uses ? m->next_uses[m->used_so_far++] : 0;
        item->next = item->next == FERRY_LAB_NO_USE ? FERRY_LAB_NEVER : item->next;
        if (writes) {
            m->states[objects[i]].dirty = true;
            m->states[objects[i]].fresh = false;
        }
        show(m, objects[i]);
        if (m->policy->used)
            m->policy->used(fill(m, 0), item);
    }
    return result;
}

static int end_frame(struct ferry_lab_machine *machine)
{
    of(machine)->frame++;
    return FERRY_LAB_OK;
}

static void count_so_far(const struct ferry_lab_machine *machine, struct ferry_lab_count *count)
{
    *count = ((const struct policy_machine *)machine)->count;
}

static void end(struct ferry_lab_machine *machine)
{
    struct policy_machine *m = of(machine);
    free(m->items);
    free(m->objects_by_number);
    free(m->placed);
    free(m->states);
    free(m->object_in);
    free(m->in_place);
    free(m->free_numbers);
    free(m);
}

struct ferry_lab_machine *ferry_lab_policy_machine(const struct ferry_lab_policy *policy, uint64_t pages,
                                                   const struct ferry_lab_traces *traces, uint64_t seed)
{
    size_t room = traces->object_count + 1;
    struct policy_machine *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->machine = (struct ferry_lab_machine){.create = create,
                                            .destroy = destroy,
                                            .lock = lock,
                                            .unlock = unlock,
                                            .job = job,
                                            .end_frame = end_frame,
                                            .count = count_so_far,
                                            .end = end};
    m->policy = policy;
    m->objects = traces->objects;
    m->object_count = traces->object_count;
    m->pages = m->free_pages = pages;
    m->next_uses = policy->knows_future ? traces->next_uses : NULL;
    m->frame = 1;
    m->memory.random = seed;
    m->items = calloc(room, sizeof *m->items);
    m->objects_by_number = calloc(room, sizeof *m->objects_by_number);
    m->placed = calloc(room, sizeof *m->placed);
    m->states = calloc(room, sizeof *m->states);
    m->in_place = calloc(traces->count, sizeof *m->in_place);
    m->free_numbers = calloc(room, sizeof *m->free_numbers);
    m->object_in = calloc(room, sizeof *m->object_in);
    m->machine.object_in = m->object_in;
    if (!m->items || !m->objects_by_number || !m->placed || !m->states || !m->object_in || !m->in_place ||
        !m->free_numbers) {
        end(&m->machine);
        return NULL;
    }
    return &m->machine;
}
