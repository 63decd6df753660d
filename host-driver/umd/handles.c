// SPDX-License-Identifier: Apache-2.0
// The table of live handles of all adapters. An entry's place and its generation make the handle; the generation moves
// on when the handle ends, so a value is not given out twice.
//
// Entries are written under the table's lock, those of an adapter under the adapter's too, and they never move. So who
// holds an adapter's lock reads without the table's: when an entry holds the handle and names this adapter, it is the
// adapter's own and stays as it is; that of another one may change meanwhile, but never into one of this adapter.
#include "umd/handles.h"

#include <stdlib.h>

#define INDEX_BITS 24
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

struct entry {
    _Atomic uint64_t handle;             // As a number; while it is free the one that it will have.
    struct umd_adapter *_Atomic adapter; // NULL = free.
    void *object;
    enum umd_kind kind;
    uint32_t next_free;
};

// Each piece is as large as all before it together, the first two FIRST entries.
#define FIRST_LOG2 8
#define FIRST      (UINT64_C(1) << FIRST_LOG2)
#define PIECES     (INDEX_BITS - FIRST_LOG2 + 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t put = PTHREAD_COND_INITIALIZER; // An adapter has one user left.
static struct entry *_Atomic pieces[PIECES];
static uint32_t capacity, first_free;

// Handles are numbers in a pointer's clothes; nothing ever reads through them.
static uint64_t number_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static unsigned piece_of(uint64_t index)
{
    return index < FIRST ? 0 : 64u - FIRST_LOG2 - (unsigned)__builtin_clzll(index);
}

// NULL when the table has never been so large.
static struct entry *entry_at(uint64_t index)
{
    unsigned piece = piece_of(index);
    struct entry *entries = pieces[piece];
    uint64_t before = piece == 0 ? 0 : FIRST << (piece - 1);

    return entries ? &entries[index - before] : NULL;
}

static bool grow(void)
{
    uint32_t more = capacity ? capacity : FIRST;
    unsigned piece = piece_of(capacity);

    if (piece == PIECES)
        return false;
    struct entry *entries = calloc(more, sizeof *entries);
    if (!entries)
        return false;
    for (uint32_t i = 0; i < more; i++) {
        entries[i].handle = UINT64_C(1) << INDEX_BITS | (capacity + i);
        entries[i].next_free = capacity + i + 1;
    }
    pieces[piece] = entries;
    first_free = capacity;
    capacity += more;
    return true;
}

// Live, and of this kind.
static struct entry *find(enum umd_kind kind, const void *handle)
{
    struct entry *entry = entry_at(number_of(handle) & INDEX_MASK);
    bool found = entry && entry->handle == number_of(handle) && entry->adapter && entry->kind == kind;

    return found ? entry : NULL;
}

void *umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter)
{
    void *handle = NULL;

    pthread_mutex_lock(&lock);
    if (first_free < capacity || grow()) {
        struct entry *entry = entry_at(first_free);

        handle = (void *)(uintptr_t)entry->handle;
        first_free = entry->next_free;
        entry->object = object;
        entry->kind = kind;
        entry->adapter = adapter;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void umd_handle_end(const void *handle)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_at(number_of(handle) & INDEX_MASK);
    if (entry && entry->handle == number_of(handle) && entry->adapter) {
        entry->adapter = NULL;
        entry->handle += UINT64_C(1) << INDEX_BITS;
        entry->next_free = first_free;
        first_free = (uint32_t)(number_of(handle) & INDEX_MASK);
    }
    pthread_mutex_unlock(&lock);
}

void *umd_object(const struct umd_adapter *adapter, enum umd_kind kind, const void *handle)
{
    const struct entry *entry = entry_at(number_of(handle) & INDEX_MASK);

    // In this order: see above.
    if (!entry || entry->handle != number_of(handle) || entry->adapter != adapter || entry->kind != kind)
        return NULL;
    return entry->object;
}

int umd_handle_error(enum umd_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    bool live = find(kind, handle) != NULL;
    pthread_mutex_unlock(&lock);
    return live ? FERRY_ERROR_FOREIGN : FERRY_ERROR_HANDLE;
}

struct umd_adapter *umd_adapter_get(enum umd_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = find(kind, handle);
    struct umd_adapter *adapter = entry ? entry->adapter : NULL;
    if (adapter)
        adapter->users++;
    pthread_mutex_unlock(&lock);
    return adapter;
}

void umd_adapter_put(struct umd_adapter *adapter)
{
    // Whoever waits is the one that is left. From here on the adapter may be gone.
    if (atomic_fetch_sub(&adapter->users, 1) != 2)
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&put);
    pthread_mutex_unlock(&lock);
}

void umd_adapter_wait_for_others(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&lock);
    while (adapter->users > 1)
        pthread_cond_wait(&put, &lock);
    pthread_mutex_unlock(&lock);
}
