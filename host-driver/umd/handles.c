// SPDX-License-Identifier: Apache-2.0
// The table of live handles of all adapters. An entry's place and its generation make the handle; the generation moves
// on when the handle ends, so a value is not given out twice.
#include "umd/handles.h"

#include <stdlib.h>

#define INDEX_BITS 24
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

struct entry {
    void *object; // NULL = free.
    struct umd_adapter *adapter;
    uint64_t generation;
    enum umd_kind kind;
    size_t next_free;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t put = PTHREAD_COND_INITIALIZER; // An adapter has one user less.
static struct entry *entries;
static size_t capacity, first_free;

static bool grow(void)
{
    size_t larger = capacity ? 2 * capacity : 256;

    if (larger > INDEX_MASK)
        return false;
    struct entry *more = realloc(entries, larger * sizeof *more);
    if (!more)
        return false;
    for (size_t i = capacity; i < larger; i++)
        more[i] = (struct entry){.generation = 1, .next_free = i + 1};
    entries = more;
    first_free = capacity;
    capacity = larger;
    return true;
}

// Handles are numbers in a pointer's clothes; nothing ever reads through them.
static void *pack(size_t index, uint64_t generation)
{
    return (void *)(uintptr_t)(generation << INDEX_BITS | (uint64_t)index);
}

static struct entry *find(const void *handle)
{
    uint64_t number = (uint64_t)(uintptr_t)handle;
    size_t index = (size_t)(number & INDEX_MASK);

    if (index >= capacity || !entries[index].object || entries[index].generation != number >> INDEX_BITS)
        return NULL;
    return &entries[index];
}

void *umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter)
{
    void *handle = NULL;

    pthread_mutex_lock(&lock);
    if (first_free < capacity || grow()) {
        struct entry *entry = &entries[first_free];

        handle = pack(first_free, entry->generation);
        first_free = entry->next_free;
        entry->object = object;
        entry->adapter = adapter;
        entry->kind = kind;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void umd_handle_end(const void *handle)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = find(handle);
    if (entry) {
        entry->object = NULL;
        entry->generation++;
        entry->next_free = first_free;
        first_free = (size_t)(entry - entries);
    }
    pthread_mutex_unlock(&lock);
}

void *umd_object(const struct umd_adapter *adapter, enum umd_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = find(handle);
    void *object = entry && entry->kind == kind && entry->adapter == adapter ? entry->object : NULL;
    pthread_mutex_unlock(&lock);
    return object;
}

int umd_handle_error(enum umd_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = find(handle);
    bool live = entry && entry->kind == kind;
    pthread_mutex_unlock(&lock);
    return live ? FERRY_ERROR_FOREIGN : FERRY_ERROR_HANDLE;
}

struct umd_adapter *umd_adapter_get(enum umd_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    const struct entry *entry = find(handle);
    struct umd_adapter *adapter = entry && entry->kind == kind ? entry->adapter : NULL;
    if (adapter)
        adapter->users++;
    pthread_mutex_unlock(&lock);
    return adapter;
}

void umd_adapter_put(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&lock);
    adapter->users--;
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
