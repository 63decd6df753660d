// SPDX-License-Identifier: Apache-2.0
#include "window_watch.h"

static bool of_window(const struct window_watch *watch, HANDLE process, uint64_t address)
{
    uint64_t page = address / PAGE_SIZE;
    return process == watch->world->manager->memory.paging.miniport && page >= WATCHED_FIRST &&
           page < WATCHED_FIRST + WATCHED_PAGES;
}

static void entries(struct window_watch *watch, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    if (!of_window(watch, update->hProcess, update->FirstPteVirtualAddress) || update->PageTableLevel != 0 ||
        update->Flags.InitialUpdate)
        return;
    uint64_t first = update->FirstPteVirtualAddress / PAGE_SIZE - WATCHED_FIRST;
    assert_false(update->Flags.Use64KBPages);
    for (UINT i = 0; i < update->NumPageTableEntries && first + i < WATCHED_PAGES; i++) {
        const DXGK_PTE *entry = &update->pPageTableEntries[update->Flags.Repeat ? 0 : i];
        enum watched *state = &watch->state[first + i];
        // What an address led to is forgotten before it leads somewhere else.
        if (entry->Valid && *state != WATCHED_FREE)
            fail_msg("page %llu of the window is used again, and was not forgotten", (unsigned long long)(first + i));
        *state = entry->Valid ? WATCHED_SHOWN : *state == WATCHED_FREE ? WATCHED_FREE : WATCHED_HIDDEN;
        watch->leads[first + i] = *entry;
    }
}

static void forgotten(struct window_watch *watch, const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *flush)
{
    if (!of_window(watch, flush->hProcess, flush->StartVirtualAddress))
        return;
    for (uint64_t at = flush->StartVirtualAddress / PAGE_SIZE; at < flush->EndVirtualAddress / PAGE_SIZE; at++)
        if (at - WATCHED_FIRST < WATCHED_PAGES && watch->state[at - WATCHED_FIRST] == WATCHED_HIDDEN)
            watch->state[at - WATCHED_FIRST] = WATCHED_FREE;
}

static void has_to_be_shown(const struct window_watch *watch, uint64_t address, uint64_t bytes)
{
    assert_true(bytes > 0 && bytes % PAGE_SIZE == 0);
    for (uint64_t at = 0; at < bytes; at += PAGE_SIZE) {
        uint64_t page = (address + at) / PAGE_SIZE - WATCHED_FIRST;
        assert_true(page < WATCHED_PAGES && watch->state[page] == WATCHED_SHOWN);
    }
}

static void worked(struct window_watch *watch, const DXGKARG_BUILDPAGINGBUFFER *argument, uint64_t bytes)
{
    watch->works++;
    if (bytes / PAGE_SIZE > watch->most_chunk)
        watch->most_chunk = (unsigned)(bytes / PAGE_SIZE);
    if (watch->on_work)
        watch->on_work(watch, argument);
}

static void look(void *context)
{
    struct window_watch *watch = context;
    const DXGKARG_BUILDPAGINGBUFFER *a = spy.building;
    watch->second = !watch->second;
    // A later pass of the same call is none of its own.
    if (!watch->second || spy.in_operation)
        return;
    switch (a->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE: entries(watch, &a->UpdatePageTable); break;
    case DXGK_OPERATION_FLUSH_TLB: forgotten(watch, &a->FlushTlb); break;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        has_to_be_shown(watch, a->TransferVirtual.SourceVirtualAddress, a->TransferVirtual.TransferSizeInBytes);
        has_to_be_shown(watch, a->TransferVirtual.DestinationVirtualAddress, a->TransferVirtual.TransferSizeInBytes);
        worked(watch, a, a->TransferVirtual.TransferSizeInBytes);
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        has_to_be_shown(watch, a->FillVirtual.DestinationVirtualAddress, a->FillVirtual.FillSizeInBytes);
        worked(watch, a, a->FillVirtual.FillSizeInBytes);
        break;
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_FILL: fail_msg("content is moved from place to place"); break;
    default: break;
    }
}

void window_watch_begin(struct window_watch *watch, struct world *world)
{
    memset(watch, 0, sizeof(*watch));
    watch->world = world;
    spy.in_build = look;
    spy.in_build_context = watch;
}

void window_watch_end(void)
{
    spy.in_build = NULL;
}

const DXGK_PTE *window_watch_at(const struct window_watch *watch, uint64_t address)
{
    return &watch->leads[address / PAGE_SIZE - WATCHED_FIRST];
}
