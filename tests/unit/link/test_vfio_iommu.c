// SPDX-License-Identifier: Apache-2.0
// What an IOMMU says of itself decides where memory is mapped for a device.
#include "vfio_double.h"

/// The device reaches no more than the IOMMU has ranges for: less than 4 GiB, nothing below it, a few pages, holes.
static void pages_are_mapped_where_the_iommu_lets_them_be(void **state)
{
    (void)state;
    static const struct {
        struct vfio_iova_range range[4];
        uint32_t ranges;
        size_t pages; // That find room.
    } cases[] = {
        {{{0, 0xfedfffff}, {0xfef00000, 0x7fffffffff}}, 2, 64}, // A PC: messages have a place of their own.
        {{{0, 0xfedfffff}, {0xfef00000, 0xffffffff}}, 2, 64},   // An IOMMU of 32 bits.
        {{{0, 0xfedfffff}, {0xfef00000, 0xfffffffff}}, 2, 64},  // Of 36,
        {{{0x100000000, 0x1ffffffff}}, 1, 64},                  // or nothing below 4 GiB.
        {{{0, 0x7ffffff}, {0x8100000, 0x3fffffff}, {0x50000000, 0x6fffffff}}, 3, 64}, // Reserved in the middle.
        {{{0x41000000, 0x41007fff}}, 1, 8},
        {{{0x1200001000, 0x1200008fff}}, 1, 8},
        {{{0x41000800, 0x410087ff}}, 1, 7}, // No page's boundaries.
    };
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, PAGE_BYTES, 64 * PAGE_BYTES), 0);
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct ferry_link *link;
        struct ferry_link_counts counts;
        uint64_t bus[64];
        memcpy(kernel.range, cases[n].range, sizeof(kernel.range));
        kernel.ranges = cases[n].ranges;
        assert_int_equal(open_it(&link), FERRY_OK);
        for (size_t page = 0; page < cases[n].pages; page++) {
            if (link->operations->dma_map(link, (unsigned char *)memory + page * PAGE_BYTES, 1, 0, &bus[page]) !=
                FERRY_OK) {
                fail_msg("case %zu, page %zu: %s", n, page, ferry_problem());
            }
            assert_ptr_equal(link->operations->dma_find(link, bus[page]), (unsigned char *)memory + page * PAGE_BYTES);
        }
        if (cases[n].pages < 64) {
            assert_int_equal(link->operations->dma_map(link, memory, 1, 0, bus + cases[n].pages),
                             FERRY_ERROR_NO_HOST_MEMORY);
        }
        link->operations->dma_unmap(link, bus, cases[n].pages);
        assert_int_equal(kernel.maps, 0);
        link->operations->counts(link, &counts);
        assert_int_equal(counts.mapped_pages, 0);
        link->operations->close(link);
    }
    free(memory);
}

/// The kernel shows a function's folder in that of the bridge above it.
static void put_below(const char *bridge, const char *resource)
{
    char file[128], target[128], old[256];
    snprintf(file, sizeof(file), "%s/resource", bridge);
    tree_text(file, resource);
    snprintf(old, sizeof(old), "%s", tree_path(TREE_FOLDER));
    snprintf(target, sizeof(target), "%s/" TREE_AT, bridge);
    if (rename(old, tree_path("%s", target)) != 0 || symlink(tree_path("%s", target), old) != 0) {
        abort();
    }
}

/// What a bridge has for those below it it does not pass up: an access there is one of a neighbour's, or of the
/// device's own BARs. Of a root port and a switch: BARs, windows, one that is not there, ports of I/O.
static void no_page_is_mapped_where_a_bridge_above_has_others(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, last;
    } kept[] = {{0, 0xfffff},
                {0x50400000, 0xbfffffff},
                {0x41000000, 0x41003fff},
                {0x1100000000, 0x12ffffffff},
                {0x1300000000, 0x1300ffffff},
                {0x48000000, 0x480fffff}};
    void *memory = NULL;
    struct ferry_link *link;
    uint64_t bus[64];
    tree_text("sys/devices/pci0000:00/0000:00:1c.0/resource",
              "0x0000000041000000 0x0000000041003fff 0x0000000000140204\n"
              "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
              "0x0000000040000000 0x0000000040000fff 0x0000000000000101\n"
              "0x0000000050400000 0x00000000bfffffff 0x0000000000000200\n"
              "0x0000001100000000 0x00000012ffffffff 0x0000000000102201\n");
    put_below("sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0",
              "0x0000000048000000 0x00000000480fffff 0x0000000000000200\n"
              "0x0000001300000000 0x0000001300ffffff 0x0000000000102201\n");
    assert_int_equal(posix_memalign(&memory, PAGE_BYTES, 64 * PAGE_BYTES), 0);
    for (unsigned told = 0; told < 2; told++) {
        kernel.range[0] = (struct vfio_iova_range){0, 0xffffffffffff};
        kernel.ranges = told;
        assert_int_equal(open_it(&link), FERRY_OK);
        assert_int_equal(link->operations->dma_map(link, memory, 64, 0, bus), FERRY_OK);
        size_t low = 0;
        for (size_t n = 0; n < 64; n++) {
            low += bus[n] >> 32 == 0;
            for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
                assert_true(bus[n] + (PAGE_BYTES - 1) < kept[k].first || bus[n] > kept[k].last);
            }
        }
        assert_in_range(low, 8, 56); // Both sides of 4 GiB are used.
        link->operations->dma_unmap(link, bus, 64);
        link->operations->close(link);
    }
    kernel.range[0] = (struct vfio_iova_range){0x50500000, 0x60000000};
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "leaves 0000:01:00.0 no addresses"));
    free(memory);
}

/// A page of the device's is one of 4 KiB; an IOMMU with larger ones alone would refuse each.
static void an_iommu_with_large_pages_alone_is_refused(void **state)
{
    (void)state;
    struct ferry_link *link;
    kernel.page_sizes = 0x20010000;
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "the IOMMU's pages have 65536 bytes at least"));
    kernel.page_sizes = 0x40201000;
    assert_int_equal(open_it(&link), FERRY_OK);
    link->operations->close(link);
}

/// Nothing is read behind what the kernel gave, and nothing for ever: then it has not said where memory may be.
static void a_chain_that_is_none_says_nothing(void **state)
{
    (void)state;
    struct ferry_link *link;
    kernel.range[0] = (struct vfio_iova_range){0x50500000, 0x500fffff}; // Of no page: whoever takes it is refused.
    kernel.ranges = 1;
    for (int chain = BITES_ITS_TAIL; chain <= HAS_TOO_MANY; chain++) {
        kernel.chain = chain;
        assert_int_equal(open_it(&link), FERRY_OK);
        link->operations->close(link);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_are_mapped_where_the_iommu_lets_them_be, setup, teardown),
        cmocka_unit_test_setup_teardown(no_page_is_mapped_where_a_bridge_above_has_others, setup, teardown),
        cmocka_unit_test_setup_teardown(an_iommu_with_large_pages_alone_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chain_that_is_none_says_nothing, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
