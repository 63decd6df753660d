// SPDX-License-Identifier: Apache-2.0
// The byte that is spoilt on purpose: which bus address the link is told of, and when. Nothing is executed here.
#include "page_tables.h"

#include <stdio.h>

#include "link/link.h"

#define PAGES   5
#define CONTENT (3 * 4096 - 96) // of three pages
#define NONE    UINT64_MAX

static uint64_t told;
static bool told_out;

static void flip(struct ferry_link *link, uint64_t bus, bool write)
{
    (void)link;
    told = bus;
    told_out = write;
}

static struct ferry_link_operations operations;

// The link's own, but for that call.
static void listen(struct rig *rig)
{
    operations = *rig->link->operations;
    operations.flip = flip;
    rig->link->operations = &operations;
    told = NONE;
}

static void arm(struct rig *rig, bool out, uint64_t number, uint64_t offset)
{
    ferry_kmd_flip(rig->adapter, out, number, offset);
    told = NONE;
    assert_false(ferry_kmd_flipped(rig->adapter));
}

static void expect(struct rig *rig, const struct host_pages *host, bool out, uint64_t at)
{
    assert_true(told == (host->pfn[at / 4096] << 12) + at % 4096);
    assert_true(told_out == out);
    assert_true(ferry_kmd_flipped(rig->adapter));
}

static void expect_nothing(struct rig *rig)
{
    assert_true(told == NONE);
    assert_false(ferry_kmd_flipped(rig->adapter));
}

// The content's pages, which lie in the list from page 1 on; the first call finds no room, and is of the same transfer.
static void move(struct rig *rig, HANDLE allocation, struct host_pages *host, bool in)
{
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 8, DXGK_OPERATION_TRANSFER);

    transfer_arguments(&a, allocation, &host->mdl, in, 0x40000, (uint64_t)3 * 4096);
    a.Transfer.MdlOffset = 1;
    a.Transfer.Flags.TransferStart = a.Transfer.Flags.TransferEnd = 1;
    assert_int_equal(append(rig, &a), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    a.DmaSize = 4096;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
}

static void a_byte_of_the_content_of_the_transfer_that_is_meant(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, CONTENT, false);
    const uint64_t offsets[] = {0, 5000, CONTENT - 1, CONTENT, CONTENT + 4097};
    struct host_pages host;

    pages_make(rig, &host, PAGES);
    listen(rig);
    for (unsigned i = 0; i < 10; i++) {
        bool out = i % 2;

        arm(rig, out, 2, offsets[i / 2]);
        move(rig, allocation, &host, !out);
        expect_nothing(rig);
        move(rig, allocation, &host, out); // The other way.
        expect_nothing(rig);
        move(rig, allocation, &host, !out);
        // What the allocation is rounded up by is no content.
        expect(rig, &host, out, 4096 + offsets[i / 2] % CONTENT);
        told = NONE;
        move(rig, allocation, &host, !out);
        assert_true(told == NONE); // Once.
    }
    destroy_allocation(rig, allocation);
    pages_free(rig, &host);
}

// One page, at this one of the window's: what it is of the allocation says the offset.
static void chunk(struct rig *rig, HANDLE allocation, bool out, uint64_t offset, uint64_t page)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);
    uint64_t host = page << 12, local = (page + 64) << 12;

    a.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER;
    a.TransferVirtual = (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){
        .hAllocation = allocation,
        .AllocationOffsetInBytes = offset,
        .TransferSizeInBytes = 4096,
        .SourceVirtualAddress = out ? local : host,
        .DestinationVirtualAddress = out ? host : local,
        .TransferDirection = out ? DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM : DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
}

static void show(struct rig *rig, HANDLE system, uint64_t page, DXGK_PTE *entries)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    update_arguments(&a, 0, LEVEL0_AT, (UINT)page, PAGES, entries);
    a.UpdatePageTable.hProcess = system;
    a.UpdatePageTable.FirstPteVirtualAddress = page << 12;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
}

// By addresses a transfer comes page by page: the window's pages 10 and on lead to the host's, 74 and on to video
// memory.
static void by_addresses_its_chunks_are_one_transfer(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, CONTENT, false), other = make_allocation(rig, CONTENT, false);
    HANDLE system = make_process(rig, true);
    struct host_pages host;
    DXGK_PTE to_host[PAGES], to_local[PAGES];

    pages_make(rig, &host, PAGES);
    for (unsigned i = 0; i < PAGES; i++) {
        to_host[i] = (DXGK_PTE){.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[i]};
        to_local[i] = local_page(CONTENT_AT + 4096 * i);
    }
    show(rig, system, 10, to_host);
    show(rig, system, 74, to_local);
    listen(rig);
    for (unsigned out = 0; out < 2; out++) {
        arm(rig, out, 2, 4096 + 77);
        for (unsigned i = 0; i < 3; i++)
            chunk(rig, allocation, out, 4096 * i, 10 + i);
        expect_nothing(rig);
        chunk(rig, allocation, !out, 0, 10); // The other way.
        // In its second chunk, in whichever page of the window that is.
        chunk(rig, other, out, 0, 11);
        expect_nothing(rig);
        chunk(rig, other, out, 4096, 14);
        expect(rig, &host, out, 4 * 4096 + 77);
        told = NONE;
        chunk(rig, other, out, 8192, 10);
        assert_true(told == NONE);
        // One that ends before that byte is not spoilt, nor is the one behind it.
        arm(rig, out, 1, 4096 + 77);
        chunk(rig, allocation, out, 0, 10);
        chunk(rig, other, out, 0, 10);
        chunk(rig, other, out, 4096, 11);
        expect_nothing(rig);
        // Asked for anew, it knows nothing of what went before: what goes on there is another transfer's beginning.
        arm(rig, out, 2, 0);
        chunk(rig, other, out, 0, 10);
        arm(rig, out, 1, 33);
        chunk(rig, other, out, 4096, 11);
        expect(rig, &host, out, 4096 + 33);
    }
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system), STATUS_SUCCESS);
    destroy_allocation(rig, allocation);
    destroy_allocation(rig, other);
    pages_free(rig, &host);
}

static int setup_model2(void **state)
{
    rig_model = 2;
    int result = rig_setup(state);
    rig_model = 1;
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_byte_of_the_content_of_the_transfer_that_is_meant),
        cmocka_unit_test_setup_teardown(by_addresses_its_chunks_are_one_transfer, setup_model2, rig_teardown),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
