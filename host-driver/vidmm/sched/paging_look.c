// SPDX-License-Identifier: Apache-2.0
// Which operation may be built next. Each is looked at once; one that has to wait hangs on what it waits for: on a node
// until the job is over, or on an operation that it has to stay behind. Only that wakes it. So what waits costs nothing
// to those who have nothing to do with it, however much it is.
#include "vidmm/sched/paging.h"

// ---- Those that are awake: a heap ----

static void put_awake(struct ferry_vm_sched *sched, uint64_t number)
{
    size_t at = sched->awake_count++;
    for (; at > 0 && sched->awake[(at - 1) / 2] > number; at = (at - 1) / 2)
        sched->awake[at] = sched->awake[(at - 1) / 2];
    sched->awake[at] = number;
}

static void take_first_awake(struct ferry_vm_sched *sched)
{
    uint64_t last = sched->awake[--sched->awake_count];
    size_t count = sched->awake_count, at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && sched->awake[child + 1] < sched->awake[child];
        if (sched->awake[child] >= last)
            break;
        sched->awake[at] = sched->awake[child];
        at = child;
    }
    sched->awake[at] = last;
}

void ferry_vm_awaken(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    uint64_t hangs = operation->keeps;
    operation->keeps = 0;
    while (hangs != 0) {
        put_awake(sched, hangs);
        hangs = ferry_vm_operation_at(sched, hangs)->hangs_next;
    }
}

static void awaken_for_jobs(struct ferry_vm_sched *sched, unsigned number)
{
    struct ferry_vm_node *node = &sched->nodes[number];
    uint64_t hangs = node->hanging;
    if (hangs == 0 || node->hanging_for > node->completed)
        return;
    node->hanging = 0;
    while (hangs != 0) {
        struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, hangs);
        uint64_t next = operation->hangs_next, job = operation->after[number];
        if (job <= node->completed) {
            put_awake(sched, hangs);
        } else {
            node->hanging_for = node->hanging == 0 || job < node->hanging_for ? job : node->hanging_for;
            operation->hangs_next = node->hanging;
            node->hanging = hangs;
        }
        hangs = next;
    }
}

// ---- Those that have to wait ----

static void hang_on_node(struct ferry_vm_sched *sched, uint64_t number, unsigned on)
{
    struct ferry_vm_node *node = &sched->nodes[on];
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    uint64_t job = operation->after[on];
    node->hanging_for = node->hanging == 0 || job < node->hanging_for ? job : node->hanging_for;
    operation->hangs_next = node->hanging;
    node->hanging = number;
}

static void hang_on_operation(struct ferry_vm_sched *sched, uint64_t number, uint64_t on)
{
    ferry_vm_operation_at(sched, number)->hangs_next = ferry_vm_operation_at(sched, on)->keeps;
    ferry_vm_operation_at(sched, on)->keeps = number;
}

static bool same_buffer(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *before,
                        const struct ferry_vm_operation *operation)
{
    uint64_t open = sched->nodes[sched->paging_node].submitted + 1;
    return ferry_vm_shares_its_buffer(before) && before->first_fence == open && !operation->alone;
}

// `before` is built, and may have to go again alone (paging_again.c).
static bool has_to_be_over(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *before,
                           const struct ferry_vm_operation *operation)
{
    return ferry_vm_repeatable(before) && ferry_vm_in_order(before, operation) &&
           !same_buffer(sched, before, operation);
}

bool ferry_vm_goes_on_later(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *operation)
{
    // A transfer's first piece speaks for all.
    const struct ferry_vm_operation *first = ferry_vm_operation_at(sched, operation->first);
    for (uint64_t at = sched->built_first; at < sched->built_end; at++)
        if (has_to_be_over(sched, ferry_vm_operation_at(sched, *ferry_vm_built_at(sched, at)), first))
            return true;
    return false;
}

// `other` has to do with it: does it have to stay behind that one, which waits, or is built and may have to go again
// alone (paging_again.c)?
static bool keeps(struct ferry_vm_sched *sched, uint64_t other, uint64_t number)
{
    const struct ferry_vm_operation *before = ferry_vm_operation_at(sched, other);
    if (before->state == FERRY_VM_WAITING)
        return other < number;
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    return has_to_be_over(sched, before, operation) ||
           (!ferry_vm_repeatable(before) && ferry_vm_in_order(before, operation) &&
            ferry_vm_binds_to_a_stranger(sched, other, number));
}

// Of many that are behind all only the oldest is woken by each operation that ends, the others are by one another. What
// is done + 1 is the first that is not over.
static uint64_t before_all_is_over(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    sched->index_steps++;
    while (operation->previous > sched->done && ferry_vm_operation_over(sched, operation->previous))
        operation->previous = ferry_vm_operation_at(sched, operation->previous)->previous;
    if (operation->previous > sched->done)
        return operation->previous;
    return sched->done + 1 < number ? sched->done + 1 : 0;
}

static bool hangs(struct ferry_vm_sched *sched, uint64_t number)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    for (unsigned i = 0; i < sched->node_count; i++) {
        if (ferry_vm_reached(sched, i, operation->after[i]))
            continue;
        if (i == sched->paging_node)
            hang_on_operation(sched, number, operation->after[i]);
        else
            hang_on_node(sched, number, i);
        return true;
    }
    uint64_t before =
        operation->behind_all ? before_all_is_over(sched, number) : ferry_vm_index_find(sched, number, true, keeps);
    if (before != 0)
        hang_on_operation(sched, number, before);
    return before != 0;
}

// ---- The look ----

// What was built waits again (paging_again.c), so nothing holds that was found before.
static void begin_anew(struct ferry_vm_sched *sched)
{
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++)
        ferry_vm_operation_at(sched, number)->keeps = 0;
    for (unsigned i = 0; i < sched->node_count; i++)
        sched->nodes[i].hanging = 0;
    sched->awake_count = 0;
    sched->ready = 0;
    sched->looked_at = sched->unbuilt;
}

static uint64_t look(struct ferry_vm_sched *sched)
{
    if (sched->looked_at == 0)
        begin_anew(sched);
    for (unsigned i = 0; i < sched->node_count; i++)
        if (i != sched->paging_node)
            awaken_for_jobs(sched, i);
    for (;;) {
        bool awake = sched->awake_count > 0;
        uint64_t number = awake ? sched->awake[0] : sched->looked_at;
        if (number > sched->queued)
            return 0;
        bool waits = ferry_vm_operation_at(sched, number)->state == FERRY_VM_WAITING;
        if (waits && (number == sched->ready || !hangs(sched, number))) {
            sched->ready = number;
            return number;
        }
        if (awake)
            take_first_awake(sched);
        else
            sched->looked_at++;
    }
}

uint64_t ferry_vm_next_operation(struct ferry_vm_sched *sched)
{
    if (sched->current == 0)
        return look(sched);
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, sched->current);
    bool later =
        sched->nodes[sched->paging_node].retired < operation->idle_at || ferry_vm_goes_on_later(sched, operation);
    return later ? 0 : sched->current;
}
