// SPDX-License-Identifier: Apache-2.0
// Back end `pci` on a function made of files, with the kernel's word on where memory is, and whether it may be locked,
// from the test.
#ifndef PCI_FIXTURE_H
#define PCI_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <time.h>

#include "pci_tree.h"

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "link/link.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u

// ---- /proc/self/pagemap as the test wants it: frame numbers by chance, none, or in the order of addresses ---------

static enum { SCATTERED, HIDDEN, IN_ORDER } frames;

// How much memory may be locked is each machine's own affair.
static bool may_not_lock;

int __wrap_mlock(const void *memory, size_t bytes);

int __wrap_mlock(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    errno = ENOMEM;
    return may_not_lock ? -1 : 0;
}

// Pages from `watched` on that were unlocked, a bit each.
static const unsigned char *watched;
static uint32_t unlocked;

int __wrap_munlock(const void *memory, size_t bytes);

int __wrap_munlock(const void *memory, size_t bytes)
{
    for (size_t n = 0; n < bytes / PAGE_BYTES; n++) {
        const uintptr_t page = ((uintptr_t)memory + n * PAGE_BYTES - (uintptr_t)watched) / PAGE_BYTES;
        unlocked |= watched != NULL && page < 32 ? 1u << page : 0;
    }
    return 0;
}

// How often pagemap was read; no more than so many entries at a time.
static unsigned looks;
static size_t told_at_once = SIZE_MAX;

ssize_t __real_pread(int fd, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at);

// Pages from `seen_twice` on are, `twice` of them, those that stand `twice` pages before; 0 = none are.
static uint64_t seen_twice, twice;

/// Pages of memory in general do not follow each other; those that begin where a large page may do.
static uint64_t frame_of(uint64_t page)
{
    page -= page - seen_twice < twice ? twice : 0;
    const bool large = page % 512 < 16 && frames == SCATTERED;
    return frames == IN_ORDER || large ? (page & 0xffffffff) + 1 : ((page & 0xfffffff) * 3 + 5) | 1ull << 33;
}

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at)
{
    struct stat file, pagemap;
    if (fstat(fd, &file) != 0 || stat(tree_path("proc/self/pagemap"), &pagemap) != 0 || file.st_ino != pagemap.st_ino) {
        return __real_pread(fd, data, bytes, at);
    }
    looks++;
    bytes = bytes / 8 > told_at_once ? told_at_once * 8 : bytes;
    for (size_t n = 0; n < bytes / 8; n++) {
        ((uint64_t *)data)[n] = 1ull << 63 | (frames == HIDDEN ? 0 : frame_of((uint64_t)at / 8 + n));
    }
    return (ssize_t)bytes;
}

// ---- Time: what the device's clock goes on by while the host sleeps; 0 = it sleeps as others do ---------------------

static uint32_t slept_cycles;
static unsigned sleeps;
static uint64_t slept_nanoseconds; // All of them together, as it was asked for.

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    const uint64_t now = ((uint64_t)tree_word("resource0", at + 4) << 32 | tree_word("resource0", at)) + slept_cycles;
    sleeps++;
    slept_nanoseconds += (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
    if (slept_cycles == 0) {
        return __real_nanosleep(time, left);
    }
    tree_set_word("resource0", at, (uint32_t)now);
    tree_set_word("resource0", at + 4, (uint32_t)(now >> 32));
    return 0;
}

// ---- Opening ----------------------------------------------------------------------------------------------------

static int setup(void **state)
{
    (void)state;
    frames = SCATTERED;
    may_not_lock = false;
    told_at_once = SIZE_MAX;
    twice = 0;
    slept_cycles = 0;
    sleeps = 0;
    slept_nanoseconds = 0;
    tree_make();
    ferry_pci_root = tree;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_drop();
    return 0;
}

static int open_at(const char *address, struct ferry_link **link)
{
    const struct ferry_link_config config = {.size = sizeof(config), .address = address};
    ferry_problem_clear();
    return ferry_backend_pci.open(&config, link);
}

static struct ferry_link *open_good(void)
{
    struct ferry_link *link = NULL;
    const int error = open_at(NULL, &link);
    if (error != FERRY_OK) {
        fail_msg("%d: %s", error, ferry_problem());
    }
    return link;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
