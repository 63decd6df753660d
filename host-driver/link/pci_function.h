// SPDX-License-Identifier: Apache-2.0
// A PCI function of this machine: where it is, and the two ways to it, sysfs (pci_sysfs.c) and VFIO (pci_vfio.c). What
// goes wrong is told in ferry_problem(), with what to do. One thread at a time for one function.
#ifndef FERRY_LINK_PCI_FUNCTION_H
#define FERRY_LINK_PCI_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ferry/ferry.h"

#define FERRY_PCI_BARS 3u // 0 and 2 are used.

/// What stands in sysfs about a function.
struct ferry_pci_place {
    char address[16]; // 0000:01:00.0
    char folder[512]; // In sysfs.
    char driver[64];  // That it is bound to, or "".
    int group;        // Of the IOMMU, or -1.
    const char *root; // Before every path: "", or a test's.
    char speed[24];   // "2.5 GT/s PCIe", or "".
    unsigned width;   // Lanes, or 0.
    bool locked_down; // The kernel is, as with Secure Boot.
};

struct ferry_pci_function;

struct ferry_pci_operations {
    const char *way; // For people.
    /// One aligned word of configuration space. false = the function does not answer.
    bool (*config_read)(struct ferry_pci_function *function, uint32_t offset, uint32_t *value);
    bool (*config_write)(struct ferry_pci_function *function, uint32_t offset, uint32_t value);
    /// As in link.h, without FERRY_DMA_WATCH.
    int (*dma_map)(struct ferry_pci_function *function, void *memory, size_t pages, unsigned flags, uint64_t *bus);
    void (*dma_unmap)(struct ferry_pci_function *function, const uint64_t *bus, size_t pages);
    const void *(*dma_find)(struct ferry_pci_function *function, uint64_t bus);
    uint64_t (*mapped_pages)(struct ferry_pci_function *function);
    /// Reset it; its BARs stay where they are. Then it neither masters the bus nor sends interrupts. Errors:
    /// UNSUPPORTED, BACKEND.
    int (*reset)(struct ferry_pci_function *function);
    /// Have interrupt messages come. Errors: BACKEND, and those of dma_map.
    int (*interrupts_on)(struct ferry_pci_function *function);
    /// Whether one has come since the last call.
    bool (*interrupt)(struct ferry_pci_function *function);
    /// Wait for one, so many microseconds at most; may come back early.
    void (*wait)(struct ferry_pci_function *function, unsigned microseconds);
    /// The device does nothing to memory any more.
    void (*close)(struct ferry_pci_function *function);
};

/// First member of both ways' own structs.
struct ferry_pci_function {
    const struct ferry_pci_operations *operations;
    struct {
        volatile unsigned char *memory;
        uint64_t bytes;
    } bar[FERRY_PCI_BARS];
};

/// Stands before every path that is opened: "", or a test's folder.
extern const char *ferry_pci_root;

/// The function at `address` (0000:01:00.0, or 01:00.0), or the first one of this driver's if `address` is NULL.
/// `root` stays the caller's. Errors: BACKEND (there is none, or it is another's).
int ferry_pci_find(const char *root, const char *address, struct ferry_pci_place *place);
/// The function of this driver's whose address is the least above `after` ("" = of all). false = there is none.
bool ferry_pci_next(const char *root, const char *after, struct ferry_pci_place *place);
/// Which way there is to the function depends on who has it now: VFIO, or else sysfs. Errors: BACKEND.
int ferry_pci_way(const struct ferry_pci_place *place, bool *vfio);
/// Whether opening it would fail, as far as can be told without opening or locking anything. Errors: BACKEND, IN_USE.
int ferry_pci_look_sysfs(const struct ferry_pci_place *place);
int ferry_pci_look_vfio(const struct ferry_pci_place *place);
/// Tell of all functions of this driver's, as ferry_adapter_list() promises.
void ferry_pci_list(const char *root, ferry_candidate_callback *callback, void *context);
/// Errors: BACKEND, IN_USE, NO_HOST_MEMORY.
int ferry_pci_open_sysfs(const struct ferry_pci_place *place, struct ferry_pci_function **function);
int ferry_pci_open_vfio(const struct ferry_pci_place *place, struct ferry_pci_function **function);

struct ferry_dma_map;
/// The bus addresses that a function may be given, of what its VFIO container's IOMMU reaches and the bridges above it
/// pass on. The map is the caller's. Errors: BACKEND (it has none, or no pages of 4 KiB), NO_HOST_MEMORY.
int ferry_pci_dma_map(int container, const struct ferry_pci_place *place, struct ferry_dma_map **map);

/// Memory decoding and bus mastering on or off.
bool ferry_pci_enable(struct ferry_pci_function *function, bool memory, bool master);
/// What is told where that, or another write to configuration space, fails: BACKEND.
int ferry_pci_no_config(const struct ferry_pci_place *place);
/// Offset of the MSI capability; 0 = it has none.
uint32_t ferry_pci_msi(struct ferry_pci_function *function);
/// Have the BARs read as ones when the function is taken out of the machine (bar_guard.h).
void ferry_pci_guard_bars(struct ferry_pci_function *function);
/// Those that are mapped; the function's own end alone may follow.
void ferry_pci_unmap_bars(struct ferry_pci_function *function);

/// Calls of the system that VFIO takes; a test has a double of its own.
struct ferry_vfio_system {
    int (*open)(const char *path, int flags);
    int (*ioctl)(int fd, unsigned long request, void *argument);
    void *(*mmap)(size_t bytes, int fd, off_t offset); // Read, write and shared.
    ssize_t (*pread)(int fd, void *data, size_t bytes, off_t offset);
    ssize_t (*pwrite)(int fd, const void *data, size_t bytes, off_t offset);
    int (*eventfd)(void); // Close-on-exec, not blocking.
    int (*close)(int fd);
};
extern const struct ferry_vfio_system *ferry_vfio_system;

#endif
