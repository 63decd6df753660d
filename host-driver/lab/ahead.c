// SPDX-License-Identifier: Apache-2.0
#include "lab/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SLOTS (FERRY_LAB_MOST_WISHES + FERRY_LAB_MOST_OTHERS)

enum state { FREE, WISHED, RUNS, DONE };

struct slot {
    enum state state;
    atomic_bool cut_off; // while it runs: nobody wants it any more
    struct ferry_lab_wish wish;
    struct ferry_lab_outcome outcome; // when it is done
};

struct ferry_lab_ahead {
    const struct ferry_lab_bench *bench;
    pthread_mutex_t lock; // of the rest
    pthread_cond_t changed;
    bool ending;
    // Those that are wished stand in the order of the wishes. What was cut off still takes a place each.
    struct slot slots[SLOTS];
    unsigned count;
    pthread_t threads[FERRY_LAB_MOST_OTHERS];
};

static bool same(const struct ferry_lab_wish *a, const struct ferry_lab_wish *b)
{
    return a->policy == b->policy && a->bytes == b->bytes && a->without == b->without &&
           a->until_paging == b->until_paging;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void ferry_lab_play_wish(const struct ferry_lab_bench *bench, const struct ferry_lab_wish *wish,
                         struct ferry_lab_outcome *outcome)
{
    struct ferry_lab_bench this = *bench;
    this.manner.until_paging = wish->until_paging;
    this.manner.without = wish->without == FERRY_LAB_ALL_USED ? NULL : &wish->without;
    double begin = seconds();
    ferry_lab_run(&this, wish->policy, wish->bytes, outcome);
    outcome->seconds = seconds() - begin;
}

// What a run notes about allocations, as they are created, is its own; nobody is told of it.
static void play_beside(const struct ferry_lab_bench *bench, struct slot *slot, const struct ferry_lab_wish *wish,
                        struct ferry_lab_outcome *outcome)
{
    struct ferry_lab_bench own = *bench;
    own.manner.progress = NULL;
    own.manner.cut_off = &slot->cut_off;
    own.traces.objects = calloc(own.traces.object_count + 1, sizeof *own.traces.objects);
    *outcome = (struct ferry_lab_outcome){.result = FERRY_LAB_NO_MEMORY};
    if (own.traces.objects)
        ferry_lab_play_wish(&own, wish, outcome);
    free(own.traces.objects);
}

static struct slot *next_of(struct ferry_lab_ahead *ahead, enum state state)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (ahead->slots[i].state == state)
            return &ahead->slots[i];
    return NULL;
}

// The next that is wished, or wait until something has changed. The lock is held before and behind.
static void play_or_wait(struct ferry_lab_ahead *ahead)
{
    struct slot *slot = next_of(ahead, WISHED);
    struct ferry_lab_outcome outcome;

    if (!slot) {
        pthread_cond_wait(&ahead->changed, &ahead->lock);
        return;
    }
    const struct ferry_lab_wish wish = slot->wish;
    slot->state = RUNS;
    pthread_mutex_unlock(&ahead->lock);
    play_beside(ahead->bench, slot, &wish, &outcome);
    pthread_mutex_lock(&ahead->lock);
    // Where there was no memory, who asks for it tries himself.
    bool good = !slot->cut_off && outcome.result != FERRY_LAB_NO_MEMORY;
    if (!good)
        ferry_lab_outcome_release(&outcome);
    slot->outcome = outcome;
    slot->state = good ? DONE : FREE;
    pthread_cond_broadcast(&ahead->changed);
}

static void *help(void *context)
{
    struct ferry_lab_ahead *ahead = context;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->ending)
        play_or_wait(ahead);
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

struct ferry_lab_ahead *ferry_lab_ahead_begin(const struct ferry_lab_bench *bench)
{
    sigset_t all, before;
    // Who watches is to be told of one run after the other.
    unsigned others = bench->watch ? 0 : bench->others;
    others = others < FERRY_LAB_MOST_OTHERS ? others : FERRY_LAB_MOST_OTHERS;
    struct ferry_lab_ahead *ahead = others ? calloc(1, sizeof *ahead) : NULL;
    if (!ahead)
        return NULL;
    ahead->bench = bench;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    // Signals are the first thread's business.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (ahead->count < others && pthread_create(&ahead->threads[ahead->count], NULL, help, ahead) == 0)
        ahead->count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ahead;
}

size_t ferry_lab_ahead_most(const struct ferry_lab_ahead *ahead)
{
    return ahead ? 2 * ahead->count + 1 : 0;
}

static bool is_among(const struct ferry_lab_wish *wish, const struct ferry_lab_wish *wishes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (same(wish, &wishes[i]))
            return true;
    return false;
}

static bool is_under_way(const struct ferry_lab_ahead *ahead, const struct ferry_lab_wish *wish)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (ahead->slots[i].state != FREE && !ahead->slots[i].cut_off && same(wish, &ahead->slots[i].wish))
            return true;
    return false;
}

static void free_all_but(struct ferry_lab_ahead *ahead, const struct ferry_lab_wish *wishes, size_t count)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &ahead->slots[i];
        if (slot->state == RUNS) {
            slot->cut_off |= !is_among(&slot->wish, wishes, count);
        } else if (slot->state == WISHED || (slot->state == DONE && !is_among(&slot->wish, wishes, count))) {
            if (slot->state == DONE)
                ferry_lab_outcome_release(&slot->outcome);
            slot->state = FREE;
        }
    }
}

void ferry_lab_ahead_wish(struct ferry_lab_ahead *ahead, const struct ferry_lab_wish *wishes, size_t count)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    free_all_but(ahead, wishes, count);
    for (size_t i = 1; i < count; i++) {
        struct slot *slot = next_of(ahead, FREE);
        if (!slot || is_under_way(ahead, &wishes[i]))
            continue;
        slot->state = WISHED;
        slot->cut_off = false;
        slot->wish = wishes[i];
    }
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

bool ferry_lab_ahead_take(struct ferry_lab_ahead *ahead, const struct ferry_lab_wish *wish,
                          struct ferry_lab_outcome *outcome)
{
    struct slot *found = NULL;
    bool done = false;
    if (!ahead)
        return false;
    pthread_mutex_lock(&ahead->lock);
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &ahead->slots[i];
        if (slot->state != FREE && !slot->cut_off && same(wish, &slot->wish))
            found = slot;
    }
    while (found && found->state == RUNS)
        play_or_wait(ahead);
    if (found) {
        done = found->state == DONE;
        if (done)
            *outcome = found->outcome;
        found->state = FREE;
    }
    pthread_mutex_unlock(&ahead->lock);
    return done;
}

void ferry_lab_ahead_end(struct ferry_lab_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->ending = true;
    free_all_but(ahead, NULL, 0);
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    // What they still play is cut off: nothing of it is kept.
    for (unsigned i = 0; i < ahead->count; i++)
        pthread_join(ahead->threads[i], NULL);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
