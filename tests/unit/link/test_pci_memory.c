// SPDX-License-Identifier: Apache-2.0
// Back end `pci` on a function made of files: which memory the device is told of, and what of it stays locked.
#define _GNU_SOURCE
#include "pci_fixture.h"

static unsigned char *pages_of(size_t count)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, PAGE_BYTES, count * PAGE_BYTES), 0);
    for (size_t n = 0; n < count * PAGE_BYTES; n++) {
        ((unsigned char *)memory)[n] = (unsigned char)(n / PAGE_BYTES * 31 + n);
    }
    return memory;
}

static void the_device_is_told_where_memory_is(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    struct ferry_link_counts counts;
    uint64_t bus[8], again[8];
    unsigned char *memory = pages_of(8);
    assert_int_equal(link->operations->dma_map(link, memory, 8, 0, bus), FERRY_OK);
    for (size_t n = 0; n < 8; n++) {
        assert_int_equal(bus[n], frame_of((uintptr_t)memory / PAGE_BYTES + n) * PAGE_BYTES);
        assert_ptr_equal(link->operations->dma_find(link, bus[n] + 5), memory + n * PAGE_BYTES + 5);
    }
    link->operations->counts(link, &counts);
    assert_int_equal(counts.mapped_pages, 8 + 1); // And that of interrupt messages.
    // The same pages once more: both must go before they are out of reach.
    assert_int_equal(link->operations->dma_map(link, memory, 8, 0, again), FERRY_OK);
    assert_memory_equal(again, bus, sizeof(bus));
    link->operations->dma_unmap(link, bus, 8);
    assert_ptr_equal(link->operations->dma_find(link, bus[3]), memory + 3 * PAGE_BYTES);
    link->operations->dma_unmap(link, bus, 8);
    link->operations->dma_unmap(link, bus, 8); // Not mapped: left alone.
    assert_null(link->operations->dma_find(link, bus[3]));
    link->operations->counts(link, &counts);
    assert_int_equal(counts.mapped_pages, 1);
    may_not_lock = true;
    assert_int_equal(link->operations->dma_map(link, memory, 8, 0, bus), FERRY_ERROR_NO_HOST_MEMORY);
    assert_non_null(strstr(ferry_problem(), "32 KiB more may not be locked in memory"));
    assert_non_null(strstr(ferry_problem(), "`ulimit -l`"));
    assert_int_equal(link->operations->dma_map(link, memory + 1, 1, 0, bus), FERRY_ERROR_ARGUMENT);
    assert_int_equal(link->operations->dma_map(link, memory, 0, 0, bus), FERRY_ERROR_ARGUMENT);
    assert_int_equal(link->operations->dma_map(link, memory, 1, 0x80, bus), FERRY_ERROR_ARGUMENT);
    link->operations->close(link);
    free(memory);
}

// What the device reaches stays locked, whatever becomes of other calls about the same memory; and all else is
// unlocked.
static void what_the_device_reaches_stays_locked(void **state)
{
    (void)state;
    enum { COUNT = 16 };
    struct ferry_link *link = open_good();
    uint64_t bus[COUNT], other[COUNT];
    unsigned char *all = pages_of(COUNT + 1);
    // Not where a large page begins, whose pages follow each other.
    unsigned char *memory = all + ((uintptr_t)all / PAGE_BYTES % 512 == 0 ? PAGE_BYTES : 0);
    watched = memory;
    assert_int_equal(link->operations->dma_map(link, memory + 4 * PAGE_BYTES, 3, 0, bus + 4), FERRY_OK);
    assert_int_equal(link->operations->dma_map(link, memory + 9 * PAGE_BYTES, 1, 0, bus + 9), FERRY_OK);
    for (unsigned way = 0; way < 3; way++) {
        may_not_lock = way == 0;
        frames = way == 1 ? HIDDEN : SCATTERED;
        unlocked = 0;
        ferry_problem_clear();
        assert_int_equal(link->operations->dma_map(link, memory, COUNT, way == 2 ? FERRY_DMA_CONSECUTIVE : 0, other),
                         way == 1 ? FERRY_ERROR_BACKEND : FERRY_ERROR_NO_HOST_MEMORY);
        // And it is not moved.
        assert_true(way != 2 || strstr(ferry_problem(), "the device reaches already") != NULL);
        assert_int_equal(unlocked, 0xffff & ~(7u << 4 | 1u << 9));
        assert_ptr_equal(link->operations->dma_find(link, bus[5]), memory + 5 * PAGE_BYTES);
    }
    // In runs, of which one ends where the other begins in the list.
    assert_int_equal(link->operations->dma_map(link, memory, 2, 0, bus), FERRY_OK);
    memcpy(other, bus + 4, 3 * sizeof(*bus));
    memcpy(other + 3, bus, 2 * sizeof(*bus));
    unlocked = 0;
    link->operations->dma_unmap(link, other, 5);
    assert_int_equal(unlocked, 3u | 7u << 4);
    unlocked = 0;
    link->operations->dma_unmap(link, bus + 9, 1);
    assert_int_equal(unlocked, 1u << 9);
    watched = NULL;
    link->operations->close(link);
    free(all);
}

// A file that is mapped twice: pages have two addresses. The device reaches each as long as one of the two is mapped,
// and when that is over both are unlocked; but not what stands at one of them by then.
static void a_page_at_two_addresses_stays_locked_at_both(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    for (unsigned way = 0; way < 4; way++) {
        const bool gone = (way & 1) != 0, first = (way & 2) == 0;
        struct ferry_link *link = open_good();
        uint64_t bus[COUNT], other[COUNT], next[COUNT];
        unsigned char *all = pages_of(2 * COUNT + 16);
        // Not where a large page begins, whose pages follow each other.
        unsigned char *one = all + ((uintptr_t)all / PAGE_BYTES % 512 < 16 ? 16 * PAGE_BYTES : 0);
        unsigned char *two = one + COUNT * PAGE_BYTES;
        watched = one;
        unlocked = 0;
        seen_twice = (uintptr_t)two / PAGE_BYTES;
        twice = COUNT;
        assert_int_equal(link->operations->dma_map(link, first ? one : two, COUNT, 0, bus), FERRY_OK);
        assert_int_equal(link->operations->dma_map(link, first ? two : one, COUNT, 0, other), FERRY_OK);
        assert_memory_equal(other, bus, sizeof(bus));
        link->operations->dma_unmap(link, other, COUNT);
        assert_int_equal(unlocked, 0);
        assert_non_null(link->operations->dma_find(link, bus[2]));
        if (gone) {
            // The second is given up, and other memory stands there, which the device reaches.
            twice = 0;
            assert_int_equal(link->operations->dma_map(link, two, COUNT, 0, next), FERRY_OK);
            assert_int_not_equal(next[2], bus[2]);
            assert_ptr_equal(link->operations->dma_find(link, bus[2] + 9), one + 2 * PAGE_BYTES + 9);
            assert_ptr_equal(link->operations->dma_find(link, next[2] + 9), two + 2 * PAGE_BYTES + 9);
        }
        link->operations->dma_unmap(link, bus, COUNT);
        assert_int_equal(unlocked, gone ? 0x0f : 0xff);
        assert_null(link->operations->dma_find(link, bus[2]));
        if (gone) {
            link->operations->dma_unmap(link, next, COUNT);
            assert_int_equal(unlocked, 0xff);
        }
        twice = 0;
        watched = NULL;
        link->operations->close(link);
        free(all);
    }
}

// Memory is given up before it is unmapped, and other memory stands there, which the device reaches or not.
static void what_was_given_up_unlocks_nothing_else(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    for (unsigned again = 0; again < 2; again++) {
        struct ferry_link *link = open_good();
        uint64_t bus[COUNT], next[COUNT];
        unsigned char *all = pages_of(2 * COUNT + 16);
        // Not where a large page begins, whose pages follow each other.
        unsigned char *memory =
            all + ((uintptr_t)all / PAGE_BYTES % 512 < 16 ? 16 : 0) * PAGE_BYTES + COUNT * PAGE_BYTES;
        watched = memory;
        unlocked = 0;
        seen_twice = (uintptr_t)memory / PAGE_BYTES;
        twice = COUNT;
        assert_int_equal(link->operations->dma_map(link, memory, COUNT, 0, bus), FERRY_OK);
        twice = 0;
        if (again) {
            assert_int_equal(link->operations->dma_map(link, memory, COUNT, 0, next), FERRY_OK);
            assert_int_not_equal(next[2], bus[2]);
        }
        assert_null(link->operations->dma_find(link, bus[2]));
        link->operations->dma_unmap(link, bus, COUNT);
        assert_int_equal(unlocked, 0);
        if (again) {
            assert_ptr_equal(link->operations->dma_find(link, next[2] + 9), memory + 2 * PAGE_BYTES + 9);
            link->operations->dma_unmap(link, next, COUNT);
            assert_int_equal(unlocked, 0x0f);
        }
        watched = NULL;
        link->operations->close(link);
        free(all);
    }
}

// Who closes unlocks what he has mapped and not unmapped, but not what stands at an address by then that he gave up.
static void closing_unlocks_what_was_mapped_and_nothing_else(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    for (unsigned gone = 0; gone < 2; gone++) {
        struct ferry_link *link = open_good();
        uint64_t bus[COUNT];
        unsigned char *all = pages_of(2 * COUNT + 16);
        // Not where a large page begins, whose pages follow each other.
        unsigned char *memory =
            all + ((uintptr_t)all / PAGE_BYTES % 512 < 16 ? 16 : 0) * PAGE_BYTES + COUNT * PAGE_BYTES;
        watched = memory;
        unlocked = 0;
        seen_twice = (uintptr_t)memory / PAGE_BYTES;
        twice = gone ? COUNT : 0;
        assert_int_equal(link->operations->dma_map(link, memory, COUNT, 0, bus), FERRY_OK);
        twice = 0;
        link->operations->close(link);
        assert_int_equal(unlocked, gone ? 0 : 0x0f);
        watched = NULL;
        free(all);
    }
}

// Where memory is that is unmapped the kernel is asked once for many pages, and not for each; of those that were given
// up meanwhile none is unlocked, wherever among them they are, also where it tells of a few at a time.
static void pages_that_go_together_are_looked_at_together(void **state)
{
    (void)state;
    enum { COUNT = 1500, SEEN = 32 };
    static uint64_t bus[COUNT];
    for (unsigned way = 0; way < 4; way++) {
        struct ferry_link *link = open_good();
        unsigned char *memory = pages_of(COUNT);
        frames = IN_ORDER;
        assert_int_equal(link->operations->dma_map(link, memory, COUNT, 0, bus), FERRY_OK);
        // Other memory stands at these pages of those that are watched: from 5 on up to 9, or up to the end.
        const size_t from = way == 1 ? 300 : 1000;
        watched = memory + from * PAGE_BYTES;
        seen_twice = (uintptr_t)watched / PAGE_BYTES + 5;
        twice = way == 0 ? 0 : way == 3 ? COUNT : 4;
        unlocked = 0;
        looks = 0;
        told_at_once = way == 2 ? 7 : SIZE_MAX;
        link->operations->dma_unmap(link, bus, COUNT);
        assert_int_equal(unlocked, way == 0 ? 0xffffffff : way == 3 ? 0x1f : ~(0xfu << 5));
        assert_in_range(looks, 1, way == 2 ? COUNT / 6 : COUNT / 100);
        told_at_once = SIZE_MAX;
        watched = NULL;
        twice = 0;
        link->operations->close(link);
        free(memory);
    }
}

static void many_pages_come_and_go(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct ferry_link *link = open_good();
    static uint64_t bus[COUNT];
    unsigned char *memory = pages_of(COUNT);
    for (size_t n = 0; n < COUNT; n++) {
        assert_int_equal(link->operations->dma_map(link, memory + n * PAGE_BYTES, 1, 0, &bus[n]), FERRY_OK);
    }
    for (size_t n = 0; n < COUNT; n++) { // In another order.
        link->operations->dma_unmap(link, &bus[n * 7 % COUNT], 1);
        for (size_t left = n + 1; left < COUNT; left += 97) {
            const size_t page = left * 7 % COUNT;
            assert_ptr_equal(link->operations->dma_find(link, bus[page]), memory + page * PAGE_BYTES);
        }
        assert_null(link->operations->dma_find(link, bus[n * 7 % COUNT]));
    }
    link->operations->close(link);
    free(memory);
}

static void pages_that_follow_each_other_are_found(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    uint64_t bus[17];
    unsigned char *memory = mmap(NULL, 64 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *wanted = pages_of(6);
    memcpy(memory + 20 * PAGE_BYTES, wanted, 6 * PAGE_BYTES);
    frames = IN_ORDER; // As they are: nothing is moved.
    assert_int_equal(link->operations->dma_map(link, memory, 4, FERRY_DMA_CONSECUTIVE, bus), FERRY_OK);
    assert_int_equal(bus[3], bus[0] + 3 * PAGE_BYTES);
    // They do not, and none are found that do, but in a large page; the test's pagemap tells addresses and does not
    // move with the pages, so how the call ends says only that it looked, and what stands in the memory stays.
    frames = SCATTERED;
    (void)link->operations->dma_map(link, memory + 20 * PAGE_BYTES, 6, FERRY_DMA_CONSECUTIVE, bus);
    assert_memory_equal(memory + 20 * PAGE_BYTES, wanted, 6 * PAGE_BYTES);
    assert_int_equal(link->operations->dma_map(link, memory, 17, FERRY_DMA_CONSECUTIVE, bus),
                     FERRY_ERROR_NO_HOST_MEMORY);
    assert_non_null(strstr(ferry_problem(), "no 17 pages of memory that follow each other"));
    link->operations->close(link);
    munmap(memory, 64 * PAGE_BYTES);
    free(wanted);
}

static void writes_to_watched_pages_end_a_wait(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    uint64_t bus[3];
    unsigned reasons;
    unsigned char *memory = pages_of(3);
    frames = IN_ORDER;
    assert_int_equal(link->operations->dma_map(link, memory, 2, FERRY_DMA_WATCH, bus), FERRY_OK);
    assert_int_equal(link->operations->dma_map(link, memory + 2 * PAGE_BYTES, 1, 0, bus + 2), FERRY_OK);
    for (size_t at = 0; at < 3 * PAGE_BYTES; at += 1366) {
        memory[at]++;
        assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
        assert_int_equal(reasons, at < 2 * PAGE_BYTES ? FERRY_PUMP_WRITE : 0);
        assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
        assert_int_equal(reasons, 0);
    }
    link->operations->dma_unmap(link, bus, 1);
    memory[0]++;
    assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
    memory[PAGE_BYTES]++;
    assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, FERRY_PUMP_WRITE);
    link->operations->close(link);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_device_is_told_where_memory_is),
        CASE(what_the_device_reaches_stays_locked),
        CASE(a_page_at_two_addresses_stays_locked_at_both),
        CASE(what_was_given_up_unlocks_nothing_else),
        CASE(closing_unlocks_what_was_mapped_and_nothing_else),
        CASE(pages_that_go_together_are_looked_at_together),
        CASE(many_pages_come_and_go),
        CASE(pages_that_follow_each_other_are_found),
        CASE(writes_to_watched_pages_end_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
