// SPDX-License-Identifier: Apache-2.0
// Threads of which one at a time goes on: between calls, and in each turn of waiting inside one, a seed says whose turn
// it is. So what one of them does in the midst of another one's call is the same in each run of a seed. Programs that
// include this are linked with --wrap=ferry_vm_block and ferry_vm_yield (rules.mk).
#ifndef FERRY_TESTS_BATON_H
#define FERRY_TESTS_BATON_H

#include "world.h"
#include "wrapped_block.h"

#include <pthread.h>

#define BATON_MOST 4u

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned threads, next;
    uint64_t random;
    unsigned waited; // turns of waiting in which somebody else was asked
    bool over[BATON_MOST];
    const char *wrong; // what was, first
    long long that;
} baton = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static _Thread_local int self = -1; // this thread's number; -1: it is none of them

static inline uint32_t draw(uint32_t below)
{
    return draw_below(&baton.random, below);
}

// A thread may not leave by cmocka's assertions. False: nobody goes on.
static inline bool well(bool is_so, const char *what, long long that)
{
    if (!is_so && !baton.wrong) {
        baton.wrong = what;
        baton.that = that;
    }
    return is_so && !baton.wrong;
}

// Somebody who is not over goes on, perhaps the caller.
static inline void baton_give(void)
{
    unsigned next = draw(baton.threads);
    for (unsigned i = 0; i < baton.threads && baton.over[next]; i++)
        next = (next + 1) % baton.threads;
    baton.next = next;
    pthread_cond_broadcast(&baton.changed);
}

static inline void baton_wait(void)
{
    while (baton.next != (unsigned)self)
        pthread_cond_wait(&baton.changed, &baton.mutex);
}

static inline void baton_turn(void)
{
    pthread_mutex_lock(&baton.mutex);
    baton_give();
    baton_wait();
    pthread_mutex_unlock(&baton.mutex);
}

static inline void baton_let_in(struct ferry_vidmm *manager)
{
    if (self < 0)
        return;
    baton.waited++;
    ferry_vm_give_lock(manager);
    baton_turn();
    ferry_vm_take_lock(manager);
}

// Whoever waits lets others in, for something of the device's, or for another call to go on.
void __real_ferry_vm_yield(struct ferry_vidmm *manager);
void __wrap_ferry_vm_yield(struct ferry_vidmm *manager);

int __wrap_ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number,
                          struct ferry_vm_patience *patience)
{
    int result = __real_ferry_vm_block(manager, node, number, patience);
    if (result == FERRY_PENDING)
        baton_let_in(manager);
    return result;
}

void __wrap_ferry_vm_yield(struct ferry_vidmm *manager)
{
    __real_ferry_vm_yield(manager);
    baton_let_in(manager);
}

struct baton_thread {
    pthread_t thread;
    int number;
    unsigned steps;
    bool (*step)(unsigned number); // false: it does not go on
};

static inline void *baton_go(void *context)
{
    const struct baton_thread *thread = context;
    self = thread->number;
    pthread_mutex_lock(&baton.mutex);
    baton_wait();
    pthread_mutex_unlock(&baton.mutex);
    for (unsigned step = 0; step < thread->steps && !baton.wrong && thread->step((unsigned)self); step++)
        baton_turn();
    pthread_mutex_lock(&baton.mutex);
    baton.over[self] = true;
    baton_give();
    pthread_mutex_unlock(&baton.mutex);
    return NULL;
}

// So many threads with so many steps each, until all are over or something is wrong, which is nothing at first.
static inline void baton_run(bool (*step)(unsigned number), unsigned threads, unsigned steps)
{
    struct baton_thread all[BATON_MOST];
    baton.threads = threads;
    baton.next = baton.waited = 0;
    memset(baton.over, 0, sizeof(baton.over));
    for (unsigned i = 0; i < threads; i++) {
        all[i] = (struct baton_thread){.number = (int)i, .steps = steps, .step = step};
        assert_int_equal(pthread_create(&all[i].thread, NULL, baton_go, &all[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(all[i].thread, NULL);
}

// A run's turns, and its machine, which looks up what a job reaches as soon as it has the job.
static inline struct world *baton_begin(uint64_t seed, struct world_options *options)
{
    options->machine.iommu = seed % 5 == 1;
    options->machine.seed = seed + 1;
    baton.random = draw_state(seed);
    baton.wrong = NULL;
    struct world *world = world_open(options);
    spy.keep = false;
    world->knobs->looks_up_at_once = true;
    world->knobs->delay = 2;
    return world;
}

// Paging or a node for so many turns at the most, or neither.
static inline void baton_hold_back(struct world *world, uint32_t turns)
{
    world->knobs->hold_node = draw(3);
    world->knobs->hold_paging = draw(2) == 0;
    world->knobs->hold_turns = 1 + draw(turns);
    world->knobs->delay = 1 + draw(3);
}

// Fails with the seed if anything was wrong that is not forgiven, or the machine saw a fault of the manager's.
static inline void baton_judge(uint64_t seed, struct world *world, bool forgiven)
{
    const char *text = "";
    unsigned errors = machine_errors(world->machine, &text);
    if ((baton.wrong && !forgiven) || errors != 0)
        fail_msg("FERRY_SEED=%llu: %s, %llx; the machine saw %u: %s", (unsigned long long)seed,
                 baton.wrong ? baton.wrong : "", (unsigned long long)baton.that, errors, text);
}

#endif
