// SPDX-License-Identifier: Apache-2.0
// Which of the operations that are not over have to do with one: four trees of ranges, of what they read and write, of
// the addresses that they are about, and of their subjects. A range stands in a domain, a segment or a program's space,
// and meets those alone that stand in the same. Each node also knows how far the ranges below it reach, and whether
// anything below it waits that was queued early enough, or is built into a buffer that is out; so what an operation has
// to stay behind is found without a look at the others, however many they are. A tree is kept level by chance: a node
// stands above those whose hash is smaller.
#include "vidmm/sched/paging.h"

enum kind { READS, WRITES, ADDRESSES, SUBJECTS };

// A node's name is its operation's number and kind; 0 = none.
static struct ferry_vm_indexed *at(const struct ferry_vm_sched *sched, uint64_t name)
{
    return &sched->indexed[name & (sched->capacity * FERRY_VM_TREES - 1)];
}

static uint64_t height(uint64_t name)
{
    uint64_t word = name * UINT64_C(0x9E3779B97F4A7C15);
    return (word ^ word >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
}

static bool begins_before(const struct ferry_vm_sched *sched, uint64_t name, uint64_t other)
{
    const struct ferry_vm_indexed *a = at(sched, name), *b = at(sched, other);
    if (a->domain != b->domain)
        return a->domain < b->domain;
    return a->first != b->first ? a->first < b->first : name < other;
}

// Of what waits the buffer is NONE, of what is built the number is.
#define NONE UINT64_MAX

static uint64_t waiting(const struct ferry_vm_indexed *node, uint64_t name)
{
    return node->buffer == NONE ? name / FERRY_VM_TREES : NONE;
}

// Whether what is known of it has changed by what is below.
static bool look_below(const struct ferry_vm_sched *sched, uint64_t name)
{
    struct ferry_vm_indexed *node = at(sched, name);
    const struct ferry_vm_indexed before = *node;
    node->last_domain = node->domain;
    node->reaches_to = node->end;
    node->waiting_from = waiting(node, name);
    node->buffer_from = node->buffer;
    for (unsigned side = 0; side < 2; side++) {
        if (node->below[side] == 0)
            continue;
        const struct ferry_vm_indexed *below = at(sched, node->below[side]);
        if (below->waiting_from < node->waiting_from)
            node->waiting_from = below->waiting_from;
        if (below->buffer_from < node->buffer_from)
            node->buffer_from = below->buffer_from;
        if (below->last_domain > node->last_domain ||
            (below->last_domain == node->last_domain && below->reaches_to > node->reaches_to)) {
            node->last_domain = below->last_domain;
            node->reaches_to = below->reaches_to;
        }
    }
    return node->last_domain != before.last_domain || node->reaches_to != before.reaches_to ||
           node->waiting_from != before.waiting_from || node->buffer_from != before.buffer_from;
}

// One more stands below it.
static void look_at(const struct ferry_vm_sched *sched, uint64_t tree, uint64_t name)
{
    const struct ferry_vm_indexed *one = at(sched, name);
    struct ferry_vm_indexed *node = at(sched, tree);
    if (waiting(one, name) < node->waiting_from)
        node->waiting_from = waiting(one, name);
    if (one->buffer < node->buffer_from)
        node->buffer_from = one->buffer;
    if (one->domain > node->last_domain || (one->domain == node->last_domain && one->end > node->reaches_to)) {
        node->last_domain = one->domain;
        node->reaches_to = one->end;
    }
}

// Whether what is known of it may come from the one.
static bool is_known_by(const struct ferry_vm_sched *sched, uint64_t tree, uint64_t name)
{
    const struct ferry_vm_indexed *one = at(sched, name), *node = at(sched, tree);
    return (one->buffer == NONE ? node->waiting_from == name / FERRY_VM_TREES : node->buffer_from == one->buffer) ||
           (node->last_domain == one->domain && node->reaches_to == one->end);
}

// Into those that begin before it and the others.
static void split(struct ferry_vm_sched *sched, uint64_t tree, uint64_t name, uint64_t half[2])
{
    half[0] = half[1] = 0;
    if (tree == 0)
        return;
    unsigned side = begins_before(sched, tree, name) ? 0 : 1;
    uint64_t inner[2];
    split(sched, at(sched, tree)->below[!side], name, inner);
    at(sched, tree)->below[!side] = inner[side];
    look_below(sched, tree);
    half[side] = tree;
    half[!side] = inner[!side];
}

static uint64_t join(struct ferry_vm_sched *sched, uint64_t low, uint64_t high)
{
    if (low == 0 || high == 0)
        return low + high;
    bool low_above = height(low) > height(high);
    uint64_t top = low_above ? low : high;
    uint64_t *below = &at(sched, top)->below[low_above];
    *below = low_above ? join(sched, *below, high) : join(sched, low, *below);
    look_below(sched, top);
    return top;
}

static uint64_t with(struct ferry_vm_sched *sched, uint64_t tree, uint64_t name)
{
    if (tree == 0 || height(name) > height(tree)) {
        split(sched, tree, name, at(sched, name)->below);
        look_below(sched, name);
        return name;
    }
    uint64_t *below = &at(sched, tree)->below[begins_before(sched, tree, name)];
    *below = with(sched, *below, name);
    look_at(sched, tree, name);
    return tree;
}

static uint64_t without(struct ferry_vm_sched *sched, uint64_t tree, uint64_t name)
{
    if (tree == name)
        return join(sched, at(sched, tree)->below[0], at(sched, tree)->below[1]);
    uint64_t *below = &at(sched, tree)->below[begins_before(sched, tree, name)];
    *below = without(sched, *below, name);
    if (is_known_by(sched, tree, name))
        look_below(sched, tree);
    return tree;
}

static void ranges(const struct ferry_vm_operation *operation, struct ferry_vm_indexed range[FERRY_VM_TREES])
{
    uint64_t subject = (uintptr_t)operation->subject, instance = (uint64_t)operation->allocation << 32;
    instance += operation->instance;
    range[READS] = (struct ferry_vm_indexed){
        .domain = operation->reads.segment, .first = operation->reads.first, .end = operation->reads.end};
    range[WRITES] = (struct ferry_vm_indexed){
        .domain = operation->writes.segment, .first = operation->writes.first, .end = operation->writes.end};
    range[ADDRESSES] = (struct ferry_vm_indexed){.domain = operation->end_address != 0 ? subject : 0,
                                                 .first = operation->first_address,
                                                 .end = operation->end_address};
    // No address of a subject is odd; and a handle is of one space alone.
    range[SUBJECTS] = (struct ferry_vm_indexed){
        .domain = operation->late != 0 ? 2 * operation->late + 1 : subject, .first = instance, .end = instance + 1};
}

// What does not share its buffer is in the way in whichever it is.
static uint64_t buffer_of(const struct ferry_vm_operation *operation)
{
    if (operation->state == FERRY_VM_WAITING)
        return NONE;
    return ferry_vm_shares_its_buffer(operation) ? operation->first_fence : 0;
}

void ferry_vm_index_enter(struct ferry_vm_sched *sched, uint64_t number)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    struct ferry_vm_indexed range[FERRY_VM_TREES];
    ranges(operation, range);
    for (unsigned kind = 0; kind < FERRY_VM_TREES; kind++) {
        uint64_t name = number * FERRY_VM_TREES + kind;
        range[kind].buffer = buffer_of(operation);
        *at(sched, name) = range[kind];
        if (range[kind].domain != 0)
            sched->trees[kind] = with(sched, sched->trees[kind], name);
    }
}

void ferry_vm_index_leave(struct ferry_vm_sched *sched, uint64_t number)
{
    for (unsigned kind = 0; kind < FERRY_VM_TREES; kind++) {
        uint64_t name = number * FERRY_VM_TREES + kind;
        if (at(sched, name)->domain != 0)
            sched->trees[kind] = without(sched, sched->trees[kind], name);
    }
}

// As far up as something changes by it.
static bool look_above(const struct ferry_vm_sched *sched, uint64_t tree, uint64_t name)
{
    return (tree == name || look_above(sched, at(sched, tree)->below[begins_before(sched, tree, name)], name)) &&
           look_below(sched, tree);
}

void ferry_vm_index_state(struct ferry_vm_sched *sched, uint64_t number)
{
    uint64_t buffer = buffer_of(ferry_vm_operation_at(sched, number));
    for (unsigned kind = 0; kind < FERRY_VM_TREES; kind++) {
        uint64_t name = number * FERRY_VM_TREES + kind;
        if (at(sched, name)->buffer == buffer)
            continue;
        at(sched, name)->buffer = buffer;
        if (at(sched, name)->domain != 0)
            look_above(sched, sched->trees[kind], name);
    }
}

struct query {
    struct ferry_vm_sched *sched;
    uint64_t number;
    bool (*is_it)(struct ferry_vm_sched *sched, uint64_t other, uint64_t number);
    const struct ferry_vm_indexed *range;
    uint64_t before, buffer; // what waits up to here, and is built into one up to there
    bool newest_only;        // of what waits
};

static bool asks_about(const struct query *query, uint64_t waits, uint64_t buffer)
{
    return waits < query->before || buffer < query->buffer;
}

// From the last one on.
static uint64_t find(struct query *query, uint64_t tree)
{
    const struct ferry_vm_indexed *range = query->range;
    while (tree != 0) {
        const struct ferry_vm_indexed *node = at(query->sched, tree);
        query->sched->index_steps++;
        if (node->last_domain < range->domain ||
            (node->last_domain == range->domain && node->reaches_to <= range->first) ||
            !asks_about(query, node->waiting_from, node->buffer_from))
            return 0;
        bool begins = node->domain < range->domain || (node->domain == range->domain && node->first < range->end);
        uint64_t other = begins ? find(query, node->below[1]) : 0;
        if (other != 0)
            return other;
        other = tree / FERRY_VM_TREES;
        if (begins && node->domain == range->domain && node->end > range->first && other != query->number &&
            asks_about(query, waiting(node, tree), node->buffer)) {
            if (node->buffer == NONE && query->newest_only)
                query->before = 0;
            if (query->is_it(query->sched, other, query->number))
                return other;
        }
        tree = node->below[0];
    }
    return 0;
}

uint64_t ferry_vm_index_find(struct ferry_vm_sched *sched, uint64_t number, bool built,
                             bool (*is_it)(struct ferry_vm_sched *sched, uint64_t other, uint64_t number))
{
    // What it is about, and whose ranges of the same domain that has to do with.
    static const struct {
        enum kind kind, others;
    } pairs[] = {{SUBJECTS, SUBJECTS}, {WRITES, WRITES}, {WRITES, READS}, {READS, WRITES}, {ADDRESSES, ADDRESSES}};
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    struct ferry_vm_indexed range[FERRY_VM_TREES];
    uint64_t open = sched->nodes[sched->paging_node].submitted + 1, other = 0;
    ranges(operation, range);
    for (size_t i = 0; other == 0 && i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct query query = {.sched = sched,
                              .number = number,
                              .is_it = is_it,
                              .range = &range[pairs[i].kind],
                              .before = number,
                              .buffer = !built             ? 0
                                        : operation->alone ? NONE
                                                           : open,
                              .newest_only = pairs[i].kind == SUBJECTS};
        if (query.range->domain != 0)
            other = find(&query, sched->trees[pairs[i].others]);
    }
    return other;
}

uint64_t ferry_vm_index_find_source(struct ferry_vm_sched *sched, uint64_t number,
                                    bool (*is_it)(struct ferry_vm_sched *sched, uint64_t other, uint64_t number))
{
    struct ferry_vm_indexed range[FERRY_VM_TREES];
    ranges(ferry_vm_operation_at(sched, number), range);
    struct query query = {
        .sched = sched, .number = number, .is_it = is_it, .range = &range[WRITES], .before = 0, .buffer = NONE};
    return range[WRITES].domain != 0 ? find(&query, sched->trees[READS]) : 0;
}
