// SPDX-License-Identifier: Apache-2.0
// The device layer over a fake link: memory of the host and its pages.
#include "device/host_pages.h"
#include "device/kept_pages.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void gpu_memory_is_consecutive_zero_and_given_back(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_memory memory = {0};
    const uint64_t before = ferry_dma_map_pages(state->fake->map);
    assert_int_equal(ferry_gpu_memory_allocate(state->gpu, 3 * 4096 + 1, 0, &memory), FERRY_OK);
    assert_int_equal(memory.pages, 4);
    for (size_t n = 0; n < 4; n++) {
        assert_ptr_equal(ferry_dma_map_find(state->fake->map, memory.bus + 4096 * n, NULL),
                         (char *)memory.address + 4096 * n);
        assert_int_equal(((char *)memory.address)[4096 * n], 0);
    }
    ferry_gpu_memory_free(state->gpu, &memory);
    assert_null(memory.address);
    assert_int_equal(ferry_dma_map_pages(state->fake->map), before);
    assert_int_equal(ferry_gpu_memory_allocate(state->gpu, 0, 0, &memory), FERRY_ERROR_ARGUMENT);
}

void mdls_name_their_pages(void **context)
{
    struct state *state = *context;
    struct ferry_host_pages *pages;
    struct ferry_host_pages_totals totals;
    MDL *mdl = NULL;
    MDL *wrapped = NULL;
    unsigned char *own;
    const uint64_t before = ferry_dma_map_pages(state->fake->map);
    assert_int_equal(posix_memalign((void **)&own, 4096, 2 * 4096), 0);
    assert_int_equal(ferry_host_pages_create(state->gpu, &pages), FERRY_OK);
    const struct ferry_page_source *source = ferry_host_pages_source(pages);
    assert_int_equal(source->allocate(source->context, 40, 0, &mdl), FERRY_OK);
    assert_int_equal(source->wrap(source->context, own, 2, FERRY_PAGES_CONSECUTIVE, &wrapped), FERRY_OK);
    assert_true(mdl->PageCount == 40 && mdl->ByteCount == 40 * 4096);
    assert_ptr_equal(wrapped->MappedSystemVa, own);
    assert_true(wrapped->Pfn[1] == wrapped->Pfn[0] + 1);
    // Of those made here the manager says what they are to be.
    assert_true(mdl->Flags == 0 && wrapped->Flags == MDL_FLAG_CACHED);
    for (size_t n = 0; n < 40; n++) {
        unsigned char *page = (unsigned char *)mdl->MappedSystemVa + 4096 * n;
        assert_ptr_equal(ferry_dma_map_find(state->fake->map, mdl->Pfn[n] << 12, NULL), page);
        assert_int_equal(page[4095], 0);
        page[0] = 1;
    }
    ferry_host_pages_totals(pages, &totals);
    assert_true(totals.mdls == 2 && totals.pages == 42 && totals.wrapped_pages == 2 && totals.peak_pages == 42);
    const uint64_t first = mdl->Pfn[0] << 12;
    source->free(source->context, mdl);
    assert_null(ferry_dma_map_find(state->fake->map, first, NULL));
    source->free(source->context, NULL);
    ferry_host_pages_totals(pages, &totals);
    assert_true(totals.mdls == 1 && totals.pages == 2 && totals.peak_pages == 42);
    assert_int_equal(source->allocate(source->context, 1, 0, &mdl), FERRY_OK);
    ferry_host_pages_totals(pages, &totals);
    assert_true(totals.pages == 3 && totals.peak_pages == 42);
    ferry_host_pages_destroy(pages); // Takes those that are left with it.
    assert_int_equal(ferry_dma_map_pages(state->fake->map), before);
    own[0] = own[8191] = 1; // Still the caller's.
    free(own);
}

static bool all_are(const MDL *mdl, unsigned char value)
{
    const unsigned char *at = mdl->MappedSystemVa;
    for (size_t n = 0; n < mdl->ByteCount; n++) {
        if (at[n] != value) {
            return false;
        }
    }
    return true;
}

// What was given back comes again, to whoever wants so much, and never to two; zero, whatever was left in it.
void pages_that_were_given_back_come_again_as_zero(void **context)
{
    enum { MDLS = 6 };
    // 3 and 259 are kept in one place; the largest is more than is kept at all.
    static const size_t sizes[MDLS] = {3, 259, 3, 1, 259, 20000};
    struct state *state = *context;
    struct ferry_host_pages *pages;
    MDL *mdls[MDLS];
    void *before[MDLS];
    unsigned char own[2 * 4096] __attribute__((aligned(4096))) = {0};
    assert_int_equal(ferry_host_pages_create(state->gpu, &pages), FERRY_OK);
    const struct ferry_page_source *source = ferry_host_pages_source(pages);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < MDLS; i++) {
            assert_int_equal(source->allocate(source->context, sizes[i], 0, &mdls[i]), FERRY_OK);
            assert_true(all_are(mdls[i], 0));
            memset(mdls[i]->MappedSystemVa, (int)(round * MDLS + i + 1), mdls[i]->ByteCount);
        }
        for (size_t i = 0; i < MDLS; i++) {
            assert_true(all_are(mdls[i], (unsigned char)(round * MDLS + i + 1)));
            before[i] = mdls[i]->MappedSystemVa;
            source->free(source->context, mdls[i]);
        }
    }
    // The caller's own memory is not kept.
    MDL *wrapped, *fresh;
    assert_int_equal(source->wrap(source->context, own, 2, 0, &wrapped), FERRY_OK);
    source->free(source->context, wrapped);
    assert_int_equal(source->allocate(source->context, 2, 0, &fresh), FERRY_OK);
    assert_ptr_not_equal(fresh->MappedSystemVa, own);
    assert_int_equal(source->allocate(source->context, 1, 0, &fresh), FERRY_OK);
    assert_ptr_equal(fresh->MappedSystemVa, before[3]);
    ferry_host_pages_destroy(pages);
}

static size_t found(const struct state *state, const MDL *mdl)
{
    size_t count = 0;
    for (size_t n = 0; n < mdl->PageCount; n++) {
        count += ferry_dma_map_find(state->fake->map, mdl->Pfn[n] << 12, NULL) ==
                 (unsigned char *)mdl->MappedSystemVa + 4096 * n;
    }
    return count;
}

// The device loses them and has them again, at other bus addresses; the CPU has them all the time. Given back in either
// state, nothing stays mapped.
void pages_are_unmapped_and_mapped_again(void **context)
{
    enum { PAGES = 40 };
    struct state *state = *context;
    struct ferry_host_pages *pages;
    uint64_t before[PAGES];
    MDL *mdl;
    assert_int_equal(ferry_host_pages_create(state->gpu, &pages), FERRY_OK);
    const struct ferry_page_source *source = ferry_host_pages_source(pages);
    const uint64_t mapped = ferry_dma_map_pages(state->fake->map);
    for (unsigned times = 0; times < 5; times++) {
        assert_int_equal(source->allocate(source->context, PAGES, times % 2 ? FERRY_PAGES_CONSECUTIVE : 0, &mdl),
                         FERRY_OK);
        memset(mdl->MappedSystemVa, 0x5a, mdl->ByteCount);
        for (unsigned n = 0; n < times; n++) {
            memcpy(before, mdl->Pfn, sizeof(before));
            source->unmap(source->context, mdl);
            assert_int_equal(ferry_dma_map_pages(state->fake->map), mapped);
            for (size_t page = 0; page < PAGES; page++) {
                assert_null(ferry_dma_map_find(state->fake->map, before[page] << 12, NULL));
            }
            // The last time it is given back as it is.
            if (times > 2 && n + 1 == times) {
                break;
            }
            assert_int_equal(source->map(source->context, mdl), FERRY_OK);
            assert_int_equal(ferry_dma_map_pages(state->fake->map), mapped + PAGES);
            assert_int_equal(found(state, mdl), PAGES);
            for (size_t page = 1; page < PAGES && times % 2; page++) {
                assert_true(mdl->Pfn[page] == mdl->Pfn[0] + page);
            }
        }
        assert_true(all_are(mdl, 0x5a));
        source->free(source->context, mdl);
        assert_int_equal(ferry_dma_map_pages(state->fake->map), mapped);
    }
    ferry_host_pages_destroy(pages);
}

// What is no longer needed of a call that fails is there for the next one, and of what is not mapped nothing is
// unmapped.
void a_mapping_that_fails_loses_no_memory(void **context)
{
    enum { PAGES = 5 };
    struct state *state = *context;
    struct ferry_host_pages *pages;
    struct ferry_host_pages_totals totals;
    unsigned char own[2 * 4096] __attribute__((aligned(4096))) = {0};
    MDL *mdl;
    assert_int_equal(ferry_host_pages_create(state->gpu, &pages), FERRY_OK);
    const struct ferry_page_source *source = ferry_host_pages_source(pages);
    assert_int_equal(source->allocate(source->context, PAGES, 0, &mdl), FERRY_OK);
    const void *memory = mdl->MappedSystemVa;
    source->free(source->context, mdl);
    state->fake->map_error = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(source->allocate(source->context, PAGES, 0, &mdl), FERRY_ERROR_NO_HOST_MEMORY);
    state->fake->map_error = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(source->wrap(source->context, own, 2, 0, &mdl), FERRY_ERROR_NO_HOST_MEMORY);
    ferry_host_pages_totals(pages, &totals);
    assert_true(totals.mdls == 0 && totals.pages == 0 && totals.wrapped_pages == 0);
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(source->allocate(source->context, PAGES, 0, &mdl), FERRY_OK);
        assert_ptr_equal(mdl->MappedSystemVa, memory);
        source->unmap(source->context, mdl);
        const uint64_t unmapped = state->fake->pages_unmapped;
        state->fake->map_error = FERRY_ERROR_NO_HOST_MEMORY;
        assert_int_equal(source->map(source->context, mdl), FERRY_ERROR_NO_HOST_MEMORY);
        if (again) {
            assert_int_equal(source->map(source->context, mdl), FERRY_OK);
            assert_int_equal(found(state, mdl), PAGES);
        }
        source->free(source->context, mdl);
        assert_int_equal(state->fake->pages_unmapped - unmapped, again ? PAGES : 0);
    }
    assert_int_equal(source->wrap(source->context, own, 2, 0, &mdl), FERRY_OK);
    source->free(source->context, mdl);
    ferry_host_pages_totals(pages, &totals);
    assert_true(totals.mdls == 0 && totals.pages == 0 && totals.wrapped_pages == 0);
    ferry_host_pages_destroy(pages);
}

// What nobody asks for any more makes room for what is given and taken today, down to the bound and no further.
void kept_pages_make_room(void **context)
{
    enum { BLOCK = 1024, BLOCKS = 16, PAGES = 5, TOO_LARGE = 4097 };
    (void)context;
    struct ferry_kept_pages kept = {0};
    char *memory = malloc((size_t)(BLOCK * BLOCKS + PAGES) * 4096);
    char *newest = memory + (size_t)BLOCK * BLOCKS * 4096;
    size_t pages = 0;
    assert_non_null(memory);
    assert_false(ferry_kept_pages_give(&kept, memory, TOO_LARGE));
    for (size_t n = 0; n < BLOCKS; n++) {
        assert_true(ferry_kept_pages_give(&kept, memory + n * BLOCK * 4096, BLOCK));
    }
    assert_null(ferry_kept_pages_excess(&kept, &pages));
    assert_true(ferry_kept_pages_give(&kept, newest, PAGES));
    assert_ptr_equal(ferry_kept_pages_excess(&kept, &pages), memory + (size_t)(BLOCKS - 1) * BLOCK * 4096);
    assert_int_equal(pages, BLOCK);
    assert_null(ferry_kept_pages_excess(&kept, &pages));
    assert_ptr_equal(ferry_kept_pages_take(&kept, PAGES), newest);
    // The sizes take turns: it is not the same one's turn twice.
    assert_true(ferry_kept_pages_give(&kept, newest, PAGES));
    assert_true(ferry_kept_pages_give(&kept, memory + (size_t)(BLOCKS - 1) * BLOCK * 4096, BLOCK));
    assert_ptr_equal(ferry_kept_pages_excess(&kept, &pages), newest);
    assert_int_equal(pages, PAGES);
    for (size_t n = 0; n < BLOCKS; n++) {
        assert_non_null(ferry_kept_pages_drain(&kept, &pages));
    }
    assert_null(ferry_kept_pages_drain(&kept, &pages));
    free(memory);
}

void bad_page_requests_are_named(void **context)
{
    struct state *state = *context;
    struct ferry_host_pages *pages;
    MDL *mdl = NULL;
    assert_int_equal(ferry_host_pages_create(state->gpu, &pages), FERRY_OK);
    const struct ferry_page_source *source = ferry_host_pages_source(pages);
    assert_int_equal(source->allocate(source->context, 0, 0, &mdl), FERRY_ERROR_ARGUMENT);
    assert_int_equal(source->allocate(source->context, SIZE_MAX / 4096, 0, &mdl), FERRY_ERROR_ARGUMENT);
    assert_int_equal(source->allocate(source->context, 1, 2, &mdl), FERRY_ERROR_ARGUMENT);
    assert_int_equal(source->allocate(source->context, 1, 0, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(source->wrap(source->context, (void *)(uintptr_t)0x1008, 1, 0, &mdl), FERRY_ERROR_ARGUMENT);
    assert_int_equal(source->wrap(source->context, NULL, 1, 0, &mdl), FERRY_ERROR_ARGUMENT);
    // More than all bus address space.
    assert_int_equal(source->allocate(source->context, FERRY_DMA_HIGH_PAGES + 0x40000ul, 0, &mdl),
                     FERRY_ERROR_NO_HOST_MEMORY);
    assert_null(mdl);
    ferry_host_pages_destroy(pages);
    ferry_host_pages_destroy(NULL);
    ferry_gpu_close(NULL);
}
