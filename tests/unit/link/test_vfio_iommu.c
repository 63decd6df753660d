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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_are_mapped_where_the_iommu_lets_them_be, setup, teardown),
        cmocka_unit_test_setup_teardown(an_iommu_with_large_pages_alone_is_refused, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
