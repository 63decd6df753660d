// SPDX-License-Identifier: Apache-2.0
// The table of live handles of all adapters. An entry's place, its kind and its generation make the handle; the
// generation moves on when the handle ends, so a value is not given out twice.
//
// Entries are written under the table's lock, those of an adapter under the adapter's too, and they never move. So who
// holds an adapter's lock reads without the table's: when an entry holds the handle and names this adapter, it is the
// adapter's own and stays as it is; that of another one may change meanwhile, but never into one of this adapter.
//
// An adapter is never freed, only used again: so its lock can be taken by who has read of it in an entry without any
// lock, and who has it looks again.
#include "umd/handles.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_BITS      24
#define INDEX_MASK      ((UINT64_C(1) << INDEX_BITS) - 1)
#define KIND_MASK       UINT64_C(7)
#define GENERATION_STEP ((KIND_MASK + 1) << INDEX_BITS)

struct entry {
    _Atomic uint64_t handle;             // As a number; while it is free the one that it will have, but of no kind.
    struct umd_adapter *_Atomic adapter; // NULL = free.
    union {
        void *object;
        uint64_t next_free;
    };
};

#define PIECE_LOG2    12
#define PIECE_ENTRIES (UINT64_C(1) << PIECE_LOG2)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *_Atomic pieces[1 << (INDEX_BITS - PIECE_LOG2)];
static uint64_t capacity, first_free;
static struct umd_adapter *free_adapters;

// Handles are numbers in a pointer's clothes; nothing ever reads through them.
static uint64_t number_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

// NULL when the table has never been so large.
static struct entry *entry_at(uint64_t index)
{
    struct entry *entries = pieces[index >> PIECE_LOG2];

    return entries ? &entries[index % PIECE_ENTRIES] : NULL;
}

static bool grow(void)
{
    if (capacity > INDEX_MASK)
        return false;
    struct entry *entries = calloc(PIECE_ENTRIES, sizeof *entries);
    if (!entries)
        return false;
    for (uint64_t i = 0; i < PIECE_ENTRIES; i++) {
        entries[i].handle = GENERATION_STEP | (capacity + i);
        entries[i].next_free = capacity + i + 1;
    }
    pieces[capacity >> PIECE_LOG2] = entries;
    first_free = capacity;
    capacity += PIECE_ENTRIES;
    return true;
}

// Which holds this handle, live or not; NULL for one of another kind too.
static inline struct entry *find(enum umd_kind kind, const void *handle)
{
    uint64_t number = number_of(handle);
    struct entry *entry = (number >> INDEX_BITS & KIND_MASK) == kind ? entry_at(number & INDEX_MASK) : NULL;

    return entry && entry->handle == number ? entry : NULL;
}

void *umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter)
{
    void *handle = NULL;

    pthread_mutex_lock(&lock);
    if (first_free < capacity || grow()) {
        struct entry *entry = entry_at(first_free);

        first_free = entry->next_free;
        entry->object = object;
        entry->adapter = adapter;
        entry->handle |= (uint64_t)kind << INDEX_BITS;
        handle = (void *)(uintptr_t)entry->handle;
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
        entry->handle = (entry->handle & ~(KIND_MASK << INDEX_BITS)) + GENERATION_STEP;
        entry->next_free = first_free;
        first_free = number_of(handle) & INDEX_MASK;
    }
    pthread_mutex_unlock(&lock);
}

void *umd_object(const struct umd_adapter *adapter, enum umd_kind kind, const void *handle)
{
    const struct entry *entry = find(kind, handle); // Before the adapter is looked at: see above.

    return entry && entry->adapter == adapter ? entry->object : NULL;
}

void *umd_lock_object(enum umd_kind kind, const void *handle, struct umd_adapter **adapter)
{
    const struct entry *entry = find(kind, handle);
    struct umd_adapter *found = entry ? entry->adapter : NULL;

    if (!found)
        return NULL;
    pthread_mutex_lock(&found->lock);
    // The handle can have ended meanwhile.
    if (entry->handle != number_of(handle) || entry->adapter != found) {
        pthread_mutex_unlock(&found->lock);
        return NULL;
    }
    *adapter = found;
    return entry->object;
}

int umd_handle_error(enum umd_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = find(kind, handle);
    bool live = entry && entry->adapter;
    pthread_mutex_unlock(&lock);
    return live ? FERRY_ERROR_FOREIGN : FERRY_ERROR_HANDLE;
}

struct umd_adapter *umd_adapter_new(void)
{
    pthread_mutex_lock(&lock);
    struct umd_adapter *adapter = free_adapters;
    if (adapter)
        free_adapters = adapter->next_free;
    pthread_mutex_unlock(&lock);
    if (adapter) {
        memset((char *)adapter + sizeof adapter->lock, 0, sizeof *adapter - sizeof adapter->lock);
    } else {
        adapter = calloc(1, sizeof *adapter);
        if (adapter)
            pthread_mutex_init(&adapter->lock, NULL);
    }
    return adapter;
}

void umd_adapter_free(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&lock);
    adapter->next_free = free_adapters;
    free_adapters = adapter;
    pthread_mutex_unlock(&lock);
}
