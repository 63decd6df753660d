// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // mremap()
#include "link/pinned_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link/link.h"
#include "link/page_slots.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u
#define HUGE_BYTES 0x200000u
#define MOST_TRIES 4u   // Pieces of memory in which pages that follow each other are looked for.
#define MOST_LOOKS 256u // Pages that pagemap is asked about at a time, when they are unmapped.

// An entry of /proc/self/pagemap.
#define ENTRY_PRESENT 0x8000000000000000ull
#define ENTRY_SHARED  0x2000000000000000ull // Of a file, or of several processes.
#define ENTRY_FRAME   0x007fffffffffffffull

struct ferry_pinned_pages {
    int pagemap;
    struct ferry_page_slots reached;
    unsigned char *spare; // Locked pages whose frames follow each other.
    size_t spare_count;
};

// ---- Locking ----------------------------------------------------------------------------------------------------

static int lock(void *memory, size_t count)
{
    const size_t bytes = count * PAGE_BYTES;
    if (mlock(memory, bytes) != 0) {
        ferry_problem_set("%zu KiB more may not be locked in memory: %s; `ulimit -l` shows the limit, and "
                          "/etc/security/limits.conf raises it (memlock)",
                          bytes / 1024, strerror(errno));
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    // Neither may it become a large page's by being copied, nor a child's by being written to here. A kernel without
    // large pages knows nothing of the former.
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    (void)madvise(memory, bytes, MADV_DONTFORK);
    return FERRY_OK;
}

static void unlock(void *memory, size_t count)
{
    (void)madvise(memory, count * PAGE_BYTES, MADV_DOFORK);
    (void)munlock(memory, count * PAGE_BYTES);
}

/// The entries of pagemap for `count` pages. Errors: BACKEND.
static int look_up(const struct ferry_pinned_pages *pages, const void *memory, size_t count, uint64_t *entry)
{
    const size_t bytes = count * sizeof(*entry);
    const off_t at = (off_t)((uintptr_t)memory / PAGE_BYTES * sizeof(*entry));
    for (size_t got = 0; got < bytes;) {
        const ssize_t more = pread(pages->pagemap, (unsigned char *)entry + got, bytes - got, at + (off_t)got);
        if (more <= 0) {
            ferry_problem_set("/proc/self/pagemap cannot be read: %s", more == 0 ? "it ends" : strerror(errno));
            return FERRY_ERROR_BACKEND;
        }
        got += (size_t)more;
    }
    for (size_t n = 0; n < count; n++) {
        if ((entry[n] & ENTRY_PRESENT) == 0 || (entry[n] & ENTRY_FRAME) == 0) {
            ferry_problem_set("/proc/self/pagemap does not tell where memory is: that takes root (CAP_SYS_ADMIN)");
            return FERRY_ERROR_BACKEND;
        }
    }
    return FERRY_OK;
}

/// The process may have given the addresses up, and have other memory there, since the pages were mapped from them. A
/// kernel that does not tell any more changes nothing.
static void look_again(const struct ferry_pinned_pages *pages, const unsigned char *memory, size_t count,
                       const uint64_t *frame, bool *there)
{
    uint64_t entry[MOST_LOOKS];
    const off_t at = (off_t)((uintptr_t)memory / PAGE_BYTES * sizeof(*entry));
    size_t got = 0;
    for (ssize_t more = 1; got < count * sizeof(*entry) && more > 0; got += more > 0 ? (size_t)more : 0) {
        more = pread(pages->pagemap, (unsigned char *)entry + got, count * sizeof(*entry) - got, at + (off_t)got);
    }
    for (size_t n = 0; n < count; n++) {
        const bool told = n < got / sizeof(*entry);
        const uint64_t now = told ? entry[n] & ENTRY_FRAME : 0;
        there[n] = !told || ((entry[n] & ENTRY_PRESENT) != 0 && (now == frame[n] || now == 0));
    }
}

static bool is_there_still(const struct ferry_pinned_pages *pages, const struct ferry_page_slot *slot)
{
    bool there;
    look_again(pages, slot->memory, 1, &slot->frame, &there);
    return there;
}

// ---- Pages that follow each other -------------------------------------------------------------------------------

/// How many of the entries from `first` on follow each other.
static size_t run_length(const uint64_t *entry, size_t first, size_t count)
{
    size_t length = 1;
    while (first + length < count && (entry[first + length] & ENTRY_FRAME) == (entry[first] & ENTRY_FRAME) + length) {
        length++;
    }
    return length;
}

static void drop_spare(struct ferry_pinned_pages *pages)
{
    if (pages->spare_count != 0) {
        munmap(pages->spare, pages->spare_count * PAGE_BYTES);
        pages->spare_count = 0;
    }
}

/// Locked memory of `count` pages that begins where a large page may; MAP_FAILED when there is none.
static void *large_memory(size_t count)
{
    const size_t bytes = count * PAGE_BYTES;
    unsigned char *all = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        return all;
    }
    const size_t before = (size_t)(-(uintptr_t)all & (HUGE_BYTES - 1));
    if (before != 0) {
        munmap(all, before);
    }
    munmap(all + before + bytes, HUGE_BYTES - before);
    (void)madvise(all + before, bytes, MADV_HUGEPAGE);
    if (mlock(all + before, bytes) != 0) {
        munmap(all + before, bytes);
        return MAP_FAILED;
    }
    return all + before;
}

/// Find `count` pages that follow each other: in a large page, or where chance has put them. They become the spare.
static int find_run(struct ferry_pinned_pages *pages, size_t count)
{
    const size_t most = (count * PAGE_BYTES + HUGE_BYTES - 1) / HUGE_BYTES * (HUGE_BYTES / PAGE_BYTES);
    uint64_t *entry = malloc(most * sizeof(*entry));
    void *tried[MOST_TRIES];
    unsigned tries = 0;
    int error = entry == NULL ? FERRY_ERROR_NO_HOST_MEMORY : FERRY_OK;
    drop_spare(pages);
    while (error == FERRY_OK && pages->spare_count == 0 && tries < MOST_TRIES) {
        unsigned char *memory = large_memory(most);
        if (memory == MAP_FAILED) {
            break;
        }
        tried[tries++] = memory; // Kept until the end, so that the next try is other memory.
        error = look_up(pages, memory, most, entry);
        for (size_t at = 0, length; error == FERRY_OK && at < most && pages->spare_count == 0; at += length) {
            length = run_length(entry, at, most);
            if (length >= count) {
                tries--;
                pages->spare = memory + at * PAGE_BYTES;
                pages->spare_count = length;
                munmap(memory, at * PAGE_BYTES);
                munmap(pages->spare + length * PAGE_BYTES, (most - at - length) * PAGE_BYTES);
            }
        }
    }
    while (tries != 0) {
        munmap(tried[--tries], most * PAGE_BYTES);
    }
    free(entry);
    if (error == FERRY_OK && pages->spare_count == 0) {
        ferry_problem_set("no %zu pages of memory that follow each other: it is cut up, or may not be locked", count);
        error = FERRY_ERROR_NO_HOST_MEMORY;
    }
    return error;
}

/// Put the memory onto pages that follow each other.
static int gather(struct ferry_pinned_pages *pages, void *memory, size_t count, uint64_t *entry)
{
    for (size_t n = 0; n < count; n++) {
        if (ferry_page_slot_of(&pages->reached, entry[n] & ENTRY_FRAME)->memory != NULL) {
            ferry_problem_set("memory that the device reaches already cannot be put where its pages follow each other");
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
        if ((entry[n] & ENTRY_SHARED) != 0) {
            ferry_problem_set("memory that others see too cannot be put where its pages follow each other");
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
    }
    const int error = pages->spare_count < count ? find_run(pages, count) : FERRY_OK;
    if (error != FERRY_OK) {
        return error;
    }
    memcpy(pages->spare, memory, count * PAGE_BYTES);
    if (mremap(pages->spare, count * PAGE_BYTES, count * PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, memory) != memory) {
        ferry_problem_set("pages cannot be moved within this process: %s", strerror(errno));
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    pages->spare += count * PAGE_BYTES;
    pages->spare_count -= count;
    const int locked = lock(memory, count);
    return locked == FERRY_OK ? look_up(pages, memory, count, entry) : locked;
}

// ---- Calls ------------------------------------------------------------------------------------------------------

/// The number in a file of /proc/sys; -1 = there is no such setting.
static long setting(const char *root, const char *name)
{
    char path[512];
    long value = -1;
    snprintf(path, sizeof(path), "%s/proc/sys/%s", root, name);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%ld", &value) != 1) {
            value = -1;
        }
        fclose(file);
    }
    return value;
}

int ferry_pinned_create(const char *root, struct ferry_pinned_pages **pages)
{
    char path[512];
    if (setting(root, "vm/compact_unevictable_allowed") > 0 || setting(root, "kernel/numa_balancing") > 0) {
        ferry_problem_set("this kernel moves locked memory, and the device would write where it was: `sudo sysctl "
                          "vm.compact_unevictable_allowed=0 kernel.numa_balancing=0` (or use an IOMMU)");
        return FERRY_ERROR_BACKEND;
    }
    struct ferry_pinned_pages *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    snprintf(path, sizeof(path), "%s/proc/self/pagemap", root);
    made->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (made->pagemap < 0) {
        ferry_problem_set("%s cannot be opened: %s", path, strerror(errno));
        free(made);
        return FERRY_ERROR_BACKEND;
    }
    *pages = made;
    return FERRY_OK;
}

void ferry_pinned_destroy(struct ferry_pinned_pages *pages)
{
    if (pages == NULL) {
        return;
    }
    for (size_t n = 0; n < pages->reached.slots; n++) {
        struct ferry_page_slot *slot = &pages->reached.slot[n];
        if (slot->memory != NULL && is_there_still(pages, slot)) {
            unlock(slot->memory, 1);
        }
    }
    drop_spare(pages);
    close(pages->pagemap);
    free(pages->reached.slot);
    free(pages);
}

static bool follow_each_other(const uint64_t *entry, size_t count)
{
    return run_length(entry, 0, count) == count;
}

/// What could not be mapped, but for pages of it that are mapped otherwise too: those the device still reaches. `mark`
/// is the caller's, a word for each page.
static void unlock_unmapped(const struct ferry_pinned_pages *pages, unsigned char *memory, size_t count, uint64_t *mark)
{
    memset(mark, 0, count * sizeof(*mark));
    for (size_t n = 0; n < pages->reached.slots; n++) {
        // As numbers: a page elsewhere is of another object.
        const uintptr_t page = ((uintptr_t)pages->reached.slot[n].memory - (uintptr_t)memory) / PAGE_BYTES;
        if (pages->reached.slot[n].memory != NULL && page < count) {
            mark[page] = 1;
        }
    }
    for (size_t first = 0, end; first < count; first = end + 1) {
        for (end = first; end < count && mark[end] == 0; end++) {
        }
        if (end != first) {
            unlock(memory + first * PAGE_BYTES, end - first);
        }
    }
}

int ferry_pinned_add(struct ferry_pinned_pages *pages, void *memory, size_t count, unsigned flags, uint64_t *bus)
{
    if (memory == NULL || count == 0 || bus == NULL || (uintptr_t)memory % PAGE_BYTES != 0 ||
        (flags & ~FERRY_DMA_CONSECUTIVE) != 0) {
        return FERRY_ERROR_ARGUMENT;
    }
    if (!ferry_page_slots_reserve(&pages->reached, count)) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    int error = lock(memory, count);
    error = error == FERRY_OK ? look_up(pages, memory, count, bus) : error;
    if (error == FERRY_OK && (flags & FERRY_DMA_CONSECUTIVE) != 0 && !follow_each_other(bus, count)) {
        error = gather(pages, memory, count, bus);
    }
    for (size_t n = 0; n < count && error == FERRY_OK; n++) {
        const uint64_t frame = bus[n] & ENTRY_FRAME;
        unsigned char *page = (unsigned char *)memory + n * PAGE_BYTES;
        struct ferry_page_slot *slot = ferry_page_slot_with(&pages->reached, frame, page);
        if (slot->memory == NULL) {
            *slot = (struct ferry_page_slot){.frame = frame, .memory = page};
            pages->reached.used++;
        }
        slot->times++;
        bus[n] = frame * PAGE_BYTES;
    }
    if (error != FERRY_OK) {
        unlock_unmapped(pages, memory, count, bus);
    }
    return error;
}

/// Of a page with several addresses: once less. They go when the last one does.
static void remove_one_of_several(struct ferry_pinned_pages *pages, uint64_t frame)
{
    struct ferry_page_slot *slot = ferry_page_slot_of(&pages->reached, frame);
    while (slot->times == 0) {
        slot = ferry_page_slot_behind(&pages->reached, slot, frame);
    }
    slot->times--;
    for (slot = ferry_page_slot_of(&pages->reached, frame); slot->memory != NULL;
         slot = ferry_page_slot_behind(&pages->reached, slot, frame)) {
        if (slot->times != 0) {
            return;
        }
    }
    while ((slot = ferry_page_slot_of(&pages->reached, frame))->memory != NULL) {
        if (is_there_still(pages, slot)) {
            unlock(slot->memory, 1);
        }
        ferry_page_slots_free(&pages->reached, slot);
    }
}

/// Pages at addresses that follow each other, which the device does not reach any more.
struct leaving {
    unsigned char *first;
    size_t count;
    uint64_t frame[MOST_LOOKS];
};

/// A call for each run of pages and not for each page. What stands there by now, and is not the page that was locked,
/// the device may reach.
static void unlock_leaving(const struct ferry_pinned_pages *pages, struct leaving *leaving)
{
    bool there[MOST_LOOKS];
    if (leaving->count == 0) {
        return;
    }
    look_again(pages, leaving->first, leaving->count, leaving->frame, there);
    for (size_t first = 0, end; first < leaving->count; first = end + 1) {
        for (end = first; end < leaving->count && there[end]; end++) {
        }
        if (end != first) {
            unlock(leaving->first + first * PAGE_BYTES, end - first);
        }
    }
    leaving->count = 0;
}

void ferry_pinned_remove(struct ferry_pinned_pages *pages, const uint64_t *bus, size_t count)
{
    struct leaving leaving = {.count = 0};
    for (size_t n = 0; n < count && pages->reached.used != 0; n++) {
        struct ferry_page_slot *slot = ferry_page_slot_of(&pages->reached, bus[n] / PAGE_BYTES);
        if (!ferry_page_is_alone(&pages->reached, bus[n] / PAGE_BYTES)) {
            remove_one_of_several(pages, bus[n] / PAGE_BYTES);
            continue;
        }
        if (slot->memory == NULL || --slot->times != 0) {
            continue;
        }
        if (leaving.count == MOST_LOOKS ||
            (leaving.count != 0 && slot->memory != leaving.first + leaving.count * PAGE_BYTES)) {
            unlock_leaving(pages, &leaving);
        }
        leaving.first = leaving.count == 0 ? slot->memory : leaving.first;
        leaving.frame[leaving.count++] = slot->frame;
        ferry_page_slots_free(&pages->reached, slot);
    }
    unlock_leaving(pages, &leaving);
}

const void *ferry_pinned_find(const struct ferry_pinned_pages *pages, uint64_t bus)
{
    const uint64_t frame = bus / PAGE_BYTES;
    const struct ferry_page_slot *slot = pages->reached.used == 0 ? NULL : ferry_page_slot_of(&pages->reached, frame);
    while (slot != NULL && slot->memory != NULL && !is_there_still(pages, slot)) {
        slot = ferry_page_slot_behind(&pages->reached, slot, frame);
    }
    return slot == NULL || slot->memory == NULL ? NULL : slot->memory + bus % PAGE_BYTES;
}

uint64_t ferry_pinned_count(const struct ferry_pinned_pages *pages)
{
    return pages->reached.used;
}
