// SPDX-License-Identifier: Apache-2.0
// For MAP_ANONYMOUS, which POSIX does not name.
#define _DEFAULT_SOURCE
#include "device/host_pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/kept_pages.h"

/// One MDL, its arena and its page frame numbers, in a list of all.
struct arena {
    MDL mdl; // First, so that an MDL leads back here.
    struct arena *next, *previous;
    bool wrapped, unmapped;
    unsigned dma; // FERRY_DMA_ flags
    uint64_t pfn[];
};

struct ferry_host_pages {
    struct ferry_page_source source;
    struct ferry_gpu *gpu;
    pthread_mutex_t mutex; // Guards all below.
    struct arena *arenas;
    struct ferry_kept_pages kept;
    struct ferry_host_pages_totals totals;
};

static int add(struct ferry_host_pages *pages, void *memory, size_t count, unsigned flags, bool wrapped, MDL **mdl)
{
    struct arena *arena = calloc(1, sizeof(*arena) + count * sizeof(arena->pfn[0]));
    if (arena == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    const unsigned dma = flags & FERRY_PAGES_CONSECUTIVE ? FERRY_DMA_CONSECUTIVE : 0;
    int error = ferry_gpu_dma_map(pages->gpu, memory, count, dma, arena->pfn);
    if (error != FERRY_OK) {
        free(arena);
        return error;
    }
    for (size_t n = 0; n < count; n++) {
        arena->pfn[n] >>= PAGE_SHIFT;
    }
    arena->mdl.MappedSystemVa = memory;
    arena->mdl.PageCount = count;
    arena->mdl.ByteCount = count * PAGE_SIZE;
    arena->mdl.Pfn = arena->pfn;
    // Existing memory is what it is: an ordinary program's, and so cacheable (R135). Of pages made here the manager
    // says what they are to be (R119, R120).
    arena->mdl.Flags = wrapped ? MDL_FLAG_CACHED : 0;
    arena->wrapped = wrapped;
    arena->dma = dma;
    pthread_mutex_lock(&pages->mutex);
    arena->next = pages->arenas;
    if (arena->next != NULL) {
        arena->next->previous = arena;
    }
    pages->arenas = arena;
    struct ferry_host_pages_totals *totals = &pages->totals;
    totals->mdls++;
    totals->pages += count;
    totals->wrapped_pages += wrapped ? count : 0;
    totals->peak_pages = totals->pages > totals->peak_pages ? totals->pages : totals->peak_pages;
    pthread_mutex_unlock(&pages->mutex);
    *mdl = &arena->mdl;
    return FERRY_OK;
}

static bool arguments_legal(const void *context, size_t count, unsigned flags, MDL *const *mdl)
{
    // The bound keeps every size computed from the count inside size_t.
    return context != NULL && mdl != NULL && count != 0 && count <= SIZE_MAX / PAGE_SIZE / 2 &&
           (flags & ~FERRY_PAGES_CONSECUTIVE) == 0;
}

// NULL when the host has no memory left.
static void *new_memory(struct ferry_host_pages *pages, size_t count)
{
    pthread_mutex_lock(&pages->mutex);
    void *memory = ferry_kept_pages_take(&pages->kept, count);
    pthread_mutex_unlock(&pages->mutex);
    if (memory != NULL) {
        return memset(memory, 0, count * PAGE_SIZE);
    }
    memory = mmap(NULL, count * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void old_memory(struct ferry_host_pages *pages, void *memory, size_t count)
{
    pthread_mutex_lock(&pages->mutex);
    void *gone =
        ferry_kept_pages_give(&pages->kept, memory, count) ? ferry_kept_pages_excess(&pages->kept, &count) : memory;
    while (gone != NULL) {
        pthread_mutex_unlock(&pages->mutex);
        munmap(gone, count * PAGE_SIZE);
        pthread_mutex_lock(&pages->mutex);
        gone = ferry_kept_pages_excess(&pages->kept, &count);
    }
    pthread_mutex_unlock(&pages->mutex);
}

static int allocate(void *context, size_t count, unsigned flags, MDL **mdl)
{
    if (!arguments_legal(context, count, flags, mdl)) {
        return FERRY_ERROR_ARGUMENT;
    }
    void *memory = new_memory(context, count);
    if (memory == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    int error = add(context, memory, count, flags, false, mdl);
    if (error != FERRY_OK) {
        old_memory(context, memory, count);
    }
    return error;
}

static int wrap(void *context, void *memory, size_t count, unsigned flags, MDL **mdl)
{
    if (!arguments_legal(context, count, flags, mdl) || memory == NULL || (uintptr_t)memory % PAGE_SIZE != 0) {
        return FERRY_ERROR_ARGUMENT;
    }
    return add(context, memory, count, flags, true, mdl);
}

// The array turns back into bus addresses in place, here and at the end: unmapping needs no memory and so cannot fail.
static void unmap(struct ferry_host_pages *pages, struct arena *arena)
{
    for (size_t n = 0; n < arena->mdl.PageCount; n++) {
        arena->pfn[n] <<= PAGE_SHIFT;
    }
    ferry_gpu_dma_unmap(pages->gpu, arena->pfn, arena->mdl.PageCount);
    arena->unmapped = true;
}

static void unmap_mdl(void *context, MDL *mdl)
{
    unmap(context, (struct arena *)mdl);
}

static int map_mdl(void *context, MDL *mdl)
{
    struct ferry_host_pages *pages = context;
    struct arena *arena = (struct arena *)mdl;
    int error = ferry_gpu_dma_map(pages->gpu, mdl->MappedSystemVa, mdl->PageCount, arena->dma, arena->pfn);
    for (size_t n = 0; n < mdl->PageCount && error == FERRY_OK; n++) {
        arena->pfn[n] >>= PAGE_SHIFT;
    }
    arena->unmapped = error != FERRY_OK;
    return error;
}

static void free_mdl(void *context, MDL *mdl)
{
    struct ferry_host_pages *pages = context;
    struct arena *arena = (struct arena *)mdl;
    if (arena == NULL) {
        return;
    }
    pthread_mutex_lock(&pages->mutex);
    if (arena->previous != NULL) {
        arena->previous->next = arena->next;
    } else {
        pages->arenas = arena->next;
    }
    if (arena->next != NULL) {
        arena->next->previous = arena->previous;
    }
    pages->totals.mdls--;
    pages->totals.pages -= mdl->PageCount;
    pages->totals.wrapped_pages -= arena->wrapped ? mdl->PageCount : 0;
    pthread_mutex_unlock(&pages->mutex);
    if (!arena->unmapped) {
        unmap(pages, arena);
    }
    if (!arena->wrapped) {
        old_memory(pages, mdl->MappedSystemVa, mdl->PageCount);
    }
    free(arena);
}

int ferry_host_pages_create(struct ferry_gpu *gpu, struct ferry_host_pages **pages)
{
    if (gpu == NULL || pages == NULL) {
        return FERRY_ERROR_ARGUMENT;
    }
    struct ferry_host_pages *made = calloc(1, sizeof(*made));
    if (made == NULL || pthread_mutex_init(&made->mutex, NULL) != 0) {
        free(made);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    made->gpu = gpu;
    made->source = (struct ferry_page_source){
        .context = made, .allocate = allocate, .wrap = wrap, .unmap = unmap_mdl, .map = map_mdl, .free = free_mdl};
    *pages = made;
    return FERRY_OK;
}

void ferry_host_pages_destroy(struct ferry_host_pages *pages)
{
    if (pages == NULL) {
        return;
    }
    while (pages->arenas != NULL) {
        free_mdl(pages, &pages->arenas->mdl);
    }
    size_t count;
    for (void *memory; (memory = ferry_kept_pages_drain(&pages->kept, &count)) != NULL;) {
        munmap(memory, count * PAGE_SIZE);
    }
    pthread_mutex_destroy(&pages->mutex);
    free(pages);
}

const struct ferry_page_source *ferry_host_pages_source(struct ferry_host_pages *pages)
{
    return &pages->source;
}

void ferry_host_pages_totals(struct ferry_host_pages *pages, struct ferry_host_pages_totals *totals)
{
    pthread_mutex_lock(&pages->mutex);
    *totals = pages->totals;
    pthread_mutex_unlock(&pages->mutex);
}
