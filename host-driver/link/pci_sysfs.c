// SPDX-License-Identifier: Apache-2.0
// A function without an IOMMU: its BARs are files of sysfs, and it reaches all of memory. Its interrupt messages are
// writes to memory like all others, and so they go to a page of this process, which is looked at.
#define _DEFAULT_SOURCE // flock()
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ferry/error.h"
#include "ferry_contract.h"
#include "link/above_streams.h"
#include "link/end_guard.h"
#include "link/file_user.h"
#include "link/link.h"
#include "link/pci_function.h"
#include "link/pinned_pages.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u
#define MESSAGE    0x4021u // Data of interrupt messages: anything but 0.

struct sysfs {
    struct ferry_pci_function function; // First, so that a function leads back here.
    struct ferry_pci_place place;
    struct ferry_pinned_pages *pages;
    int config, resource[FERRY_PCI_BARS]; // -1 = closed.
    uint32_t msi;                         // Where the capability stands.
    bool enabled;                         // By this program; the kernel counts who did.
    uint32_t *message;                    // A page, or NULL.
    uint64_t message_bus;
};

static struct sysfs *of(struct ferry_pci_function *function)
{
    return (struct sysfs *)function;
}

static bool config_read(struct ferry_pci_function *function, uint32_t offset, uint32_t *value)
{
    return pread(of(function)->config, value, 4, (off_t)offset) == 4;
}

static bool config_write(struct ferry_pci_function *function, uint32_t offset, uint32_t value)
{
    return pwrite(of(function)->config, &value, 4, (off_t)offset) == 4;
}

static int dma_map(struct ferry_pci_function *function, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    return ferry_pinned_add(of(function)->pages, memory, pages, flags, bus);
}

static void dma_unmap(struct ferry_pci_function *function, const uint64_t *bus, size_t pages)
{
    ferry_pinned_remove(of(function)->pages, bus, pages);
}

static const void *dma_find(struct ferry_pci_function *function, uint64_t bus)
{
    return ferry_pinned_find(of(function)->pages, bus);
}

static uint64_t mapped_pages(struct ferry_pci_function *function)
{
    return ferry_pinned_count(of(function)->pages);
}

/// Write a word for the kernel into a file of the function's. 0, or errno.
static int tell(const struct sysfs *sysfs, const char *name, const char *word)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", sysfs->place.folder, name);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool told = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);
    const int error = told ? 0 : errno;
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

/// A program that died left it enabled; once more would be for ever.
static bool is_enabled(const struct sysfs *sysfs)
{
    char path[600];
    unsigned times = 0;
    snprintf(path, sizeof(path), "%s/enable", sysfs->place.folder);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        times = fscanf(file, "%u", &times) == 1 ? times : 0;
        fclose(file);
    }
    return times != 0;
}

static int reset(struct ferry_pci_function *function)
{
    struct sysfs *sysfs = of(function);
    // The kernel puts back what it had set; interrupt messages are ours alone.
    const int error = ferry_pci_enable(function, true, false) ? tell(sysfs, "reset", "1") : EIO;
    if (error == ENOENT) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    if (error != 0) {
        ferry_problem_set("%s/reset: %s", sysfs->place.folder, strerror(error));
        return FERRY_ERROR_BACKEND;
    }
    return ferry_pci_enable(function, true, false) ? FERRY_OK : ferry_pci_no_config(&sysfs->place);
}

static int interrupts_on(struct ferry_pci_function *function)
{
    struct sysfs *sysfs = of(function);
    if (sysfs->message == NULL) {
        void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
        const int error = dma_map(function, page, 1, 0, &sysfs->message_bus);
        if (error != FERRY_OK) {
            munmap(page, PAGE_BYTES);
            return error;
        }
        sysfs->message = page;
    }
    const uint32_t shift = sysfs->msi - FERRY_CONFIG_SPACE_MSI;
    uint32_t control;
    return config_write(function, FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW + shift, (uint32_t)sysfs->message_bus) &&
                   config_write(function, FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH + shift,
                                (uint32_t)(sysfs->message_bus >> 32)) &&
                   config_write(function, FERRY_CONFIG_SPACE_MSI_DATA + shift, MESSAGE) &&
                   config_write(function, FERRY_CONFIG_SPACE_MSI_MASK + shift, 0) &&
                   config_read(function, sysfs->msi, &control) &&
                   config_write(function, sysfs->msi, control | FERRY_CONFIG_SPACE_MSI_ENABLE_MASK)
               ? FERRY_OK
               : ferry_pci_no_config(&sysfs->place);
}

static bool interrupt(struct ferry_pci_function *function)
{
    uint32_t *message = of(function)->message;
    return message != NULL && __atomic_load_n(message, __ATOMIC_RELAXED) != 0 &&
           __atomic_exchange_n(message, 0, __ATOMIC_ACQUIRE) != 0;
}

static void wait_for(struct ferry_pci_function *function, unsigned microseconds)
{
    (void)function;
    const struct timespec time = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    nanosleep(&time, NULL);
}

static void close_function(struct ferry_pci_function *function)
{
    struct sysfs *sysfs = of(function);
    if (sysfs->config >= 0 && sysfs->msi != 0) {
        // An answer to a write of configuration space comes behind all that the device had sent before.
        (void)ferry_pci_enable(function, true, false);
        uint32_t control;
        if (sysfs->message != NULL && config_read(function, sysfs->msi, &control)) {
            (void)config_write(function, sysfs->msi, control & ~FERRY_CONFIG_SPACE_MSI_ENABLE_MASK);
        }
    }
    ferry_pci_unmap_bars(function);
    if (sysfs->enabled) {
        (void)tell(sysfs, "enable", "0");
    }
    for (unsigned n = 0; n < FERRY_PCI_BARS; n++) {
        if (sysfs->resource[n] >= 0) {
            close(sysfs->resource[n]); // The lock too.
        }
    }
    ferry_pinned_destroy(sysfs->pages);
    if (sysfs->message != NULL) {
        munmap(sysfs->message, PAGE_BYTES);
    }
    if (sysfs->config >= 0) {
        ferry_end_unguard(sysfs->config);
        close(sysfs->config);
    }
    free(sysfs);
}

static const struct ferry_pci_operations operations = {
    .way = "sysfs, no IOMMU",
    .config_read = config_read,
    .config_write = config_write,
    .dma_map = dma_map,
    .dma_unmap = dma_unmap,
    .dma_find = dma_find,
    .mapped_pages = mapped_pages,
    .reset = reset,
    .interrupts_on = interrupts_on,
    .interrupt = interrupt,
    .wait = wait_for,
    .close = close_function,
};

// ---- Open -------------------------------------------------------------------------------------------------------

/// errno says why.
static int cannot_open(const char *path)
{
    if (errno == EACCES || errno == EPERM) {
        ferry_problem_set("you may not open %s: without an IOMMU this takes root (with one, vfio-pci does not)", path);
    } else {
        ferry_problem_set("cannot open %s: %s", path, strerror(errno));
    }
    return FERRY_ERROR_BACKEND;
}

/// A file of the function's, or a negative error.
static int open_file(const struct sysfs *sysfs, const char *name)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", sysfs->place.folder, name);
    const int fd = ferry_above_streams(open(path, O_RDWR | O_CLOEXEC));
    return fd < 0 ? cannot_open(path) : fd;
}

static int open_bar(struct sysfs *sysfs, unsigned bar)
{
    char name[16];
    struct stat file;
    snprintf(name, sizeof(name), "resource%u", bar);
    const int fd = open_file(sysfs, name);
    if (fd < 0) {
        return fd;
    }
    sysfs->resource[bar] = fd;
    // One program at a time has it: the lock ends with the program.
    if (bar == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        char path[600];
        close(fd);
        sysfs->resource[bar] = -1;
        snprintf(path, sizeof(path), "%s/%s", sysfs->place.folder, name);
        return ferry_file_in_use(path, sysfs->place.address);
    }
    void *memory = MAP_FAILED;
    if (fstat(fd, &file) == 0 && file.st_size > 0) {
        memory = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (memory == MAP_FAILED) {
        ferry_problem_set("%s/%s cannot be mapped: %s", sysfs->place.folder, name,
                          file.st_size > 0 ? strerror(errno) : "the kernel gave it no place");
        return FERRY_ERROR_BACKEND;
    }
    sysfs->function.bar[bar].memory = memory;
    sysfs->function.bar[bar].bytes = (uint64_t)file.st_size;
    return FERRY_OK;
}

static int bring_up(struct sysfs *sysfs)
{
    int error = open_bar(sysfs, 0);
    error = error == FERRY_OK ? open_bar(sysfs, 2) : error;
    if (error != FERRY_OK || (error = open_file(sysfs, "config")) < 0) {
        return error;
    }
    sysfs->config = error;
    if (!ferry_end_guard(sysfs->config)) {
        ferry_problem_set("this program has too many PCI functions open");
        return FERRY_ERROR_BACKEND;
    }
    if ((error = ferry_pinned_create(sysfs->place.root, &sysfs->pages)) != FERRY_OK) {
        return error;
    }
    const bool before = is_enabled(sysfs);
    const int told = before ? 0 : tell(sysfs, "enable", "1");
    sysfs->enabled = !before && told == 0;
    if (told != 0) {
        ferry_problem_set("%s/enable: %s", sysfs->place.folder, strerror(told));
        return FERRY_ERROR_BACKEND;
    }
    sysfs->msi = ferry_pci_msi(&sysfs->function);
    if (sysfs->msi == 0) {
        ferry_problem_set("%s has no MSI capability, or does not answer: is it in a state of sleep, or unplugged?",
                          sysfs->place.address);
        return FERRY_ERROR_BACKEND;
    }
    return FERRY_OK;
}

int ferry_pci_look_sysfs(const struct ferry_pci_place *place)
{
    // Permission first: whoever has none is not told who has the files open.
    static const char *const names[] = {"config", "resource2", "resource0"};
    struct ferry_pinned_pages *pages;
    char path[600];
    for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        snprintf(path, sizeof(path), "%s/%s", place->folder, names[n]);
        if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0) {
            return cannot_open(path);
        }
    }
    if (ferry_file_user(path) != 0) {
        return ferry_file_in_use(path, place->address);
    }
    const int error = ferry_pinned_create(place->root, &pages);
    if (error == FERRY_OK) {
        ferry_pinned_destroy(pages);
    }
    return error;
}

int ferry_pci_open_sysfs(const struct ferry_pci_place *place, struct ferry_pci_function **function)
{
    struct sysfs *sysfs = calloc(1, sizeof(*sysfs));
    if (sysfs == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    sysfs->function.operations = &operations;
    sysfs->place = *place;
    sysfs->config = -1;
    for (unsigned n = 0; n < FERRY_PCI_BARS; n++) {
        sysfs->resource[n] = -1;
    }
    const int error = bring_up(sysfs);
    if (error != FERRY_OK) {
        close_function(&sysfs->function);
        return error;
    }
    fprintf(stderr,
            "ferry: %s has no IOMMU: the device can write to all of this machine's memory, and a mistake in it or in "
            "this driver destroys data\n",
            place->address);
    *function = &sysfs->function;
    return FERRY_OK;
}
