// SPDX-License-Identifier: Apache-2.0
// A function behind an IOMMU, as vfio-pci gives it to programs: it reaches the pages that were mapped for it and no
// others, and its interrupt messages come through an eventfd. Documentation/driver-api/vfio.rst of Linux has the order.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ferry/error.h"
#include "link/above_streams.h"
#include "link/dma_map.h"
#include "link/file_user.h"
#include "link/link.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u

static int system_open(const char *path, int flags)
{
    return ferry_above_streams(open(path, flags));
}

static int system_ioctl(int fd, unsigned long request, void *argument)
{
    return ioctl(fd, request, argument);
}

static void *system_mmap(size_t bytes, int fd, off_t offset)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static int system_eventfd(void)
{
    return ferry_above_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static const struct ferry_vfio_system linux_system = {.open = system_open,
                                                      .ioctl = system_ioctl,
                                                      .mmap = system_mmap,
                                                      .pread = pread,
                                                      .pwrite = pwrite,
                                                      .eventfd = system_eventfd,
                                                      .close = close};
const struct ferry_vfio_system *ferry_vfio_system = &linux_system;

struct vfio {
    struct ferry_pci_function function; // First, so that a function leads back here.
    struct ferry_pci_place place;
    int container, group, device, event; // -1 = closed.
    off_t config;                        // Offset of configuration space in `device`.
    struct ferry_dma_map *map;           // Who is where in the device's address space.
};

static struct vfio *of(struct ferry_pci_function *function)
{
    return (struct vfio *)function;
}

/// Integers are passed as pointers.
static int call(int fd, unsigned long request, uintptr_t argument)
{
    return ferry_vfio_system->ioctl(fd, request, (void *)argument);
}

static bool config_read(struct ferry_pci_function *function, uint32_t offset, uint32_t *value)
{
    const struct vfio *vfio = of(function);
    return ferry_vfio_system->pread(vfio->device, value, 4, vfio->config + (off_t)offset) == 4;
}

static bool config_write(struct ferry_pci_function *function, uint32_t offset, uint32_t value)
{
    const struct vfio *vfio = of(function);
    return ferry_vfio_system->pwrite(vfio->device, &value, 4, vfio->config + (off_t)offset) == 4;
}

// ---- Memory -----------------------------------------------------------------------------------------------------

/// Page by page, since a mapping is taken away as it was made.
static void dma_unmap(struct ferry_pci_function *function, const uint64_t *bus, size_t pages)
{
    struct vfio *vfio = of(function);
    for (size_t n = 0; n < pages; n++) {
        struct vfio_iommu_type1_dma_unmap undo = {.argsz = sizeof(undo), .iova = bus[n], .size = PAGE_BYTES};
        if (ferry_dma_map_find(vfio->map, bus[n], NULL) != NULL) {
            (void)ferry_vfio_system->ioctl(vfio->container, VFIO_IOMMU_UNMAP_DMA, &undo);
        }
    }
    ferry_dma_map_remove(vfio->map, bus, pages);
}

static int dma_map(struct ferry_pci_function *function, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    struct vfio *vfio = of(function);
    const int error = ferry_dma_map_add(vfio->map, memory, pages, flags, bus);
    if (error != FERRY_OK) {
        return error;
    }
    for (size_t n = 0; n < pages; n++) {
        struct vfio_iommu_type1_dma_map page = {.argsz = sizeof(page),
                                                .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
                                                .vaddr = (uintptr_t)memory + n * PAGE_BYTES,
                                                .iova = bus[n],
                                                .size = PAGE_BYTES};
        if (ferry_vfio_system->ioctl(vfio->container, VFIO_IOMMU_MAP_DMA, &page) != 0) {
            ferry_problem_set(errno == ENOMEM || errno == ENOSPC
                                  ? "memory cannot be mapped for %s: %s; `ulimit -l` is the limit of what may be "
                                    "locked, dma_entry_limit of vfio_iommu_type1 that of pages"
                                  : "memory cannot be mapped for %s: %s",
                              vfio->place.address, strerror(errno));
            // Those that were mapped, and then the addresses of those that were not.
            dma_unmap(function, bus, n);
            ferry_dma_map_remove(vfio->map, bus + n, pages - n);
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
    }
    return FERRY_OK;
}

static const void *dma_find(struct ferry_pci_function *function, uint64_t bus)
{
    return ferry_dma_map_find(of(function)->map, bus, NULL);
}

static uint64_t mapped_pages(struct ferry_pci_function *function)
{
    return ferry_dma_map_pages(of(function)->map);
}

// ---- Interrupts and reset ---------------------------------------------------------------------------------------

static int reset(struct ferry_pci_function *function)
{
    const struct vfio *vfio = of(function);
    if (call(vfio->device, VFIO_DEVICE_RESET, 0) != 0) {
        if (errno == ENOTTY || errno == EINVAL) {
            return FERRY_ERROR_UNSUPPORTED;
        }
        ferry_problem_set("%s cannot be reset: %s", vfio->place.address, strerror(errno));
        return FERRY_ERROR_BACKEND;
    }
    return ferry_pci_enable(function, true, false) ? FERRY_OK : ferry_pci_no_config(&vfio->place);
}

static int interrupts_on(struct ferry_pci_function *function)
{
    struct vfio *vfio = of(function);
    union { // With room for the descriptor behind it.
        struct vfio_irq_set set;
        unsigned char bytes[sizeof(struct vfio_irq_set) + sizeof(int)];
    } irq = {.set = {.argsz = sizeof(irq.bytes),
                     .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
                     .index = VFIO_PCI_MSI_IRQ_INDEX,
                     .start = 0,
                     .count = 1}};
    memcpy(irq.bytes + sizeof(struct vfio_irq_set), &vfio->event, sizeof(vfio->event));
    if (ferry_vfio_system->ioctl(vfio->device, VFIO_DEVICE_SET_IRQS, &irq.set) != 0) {
        ferry_problem_set("%s: no interrupt messages: %s", vfio->place.address, strerror(errno));
        return FERRY_ERROR_BACKEND;
    }
    return FERRY_OK;
}

static bool interrupt(struct ferry_pci_function *function)
{
    uint64_t messages = 0;
    return read(of(function)->event, &messages, sizeof(messages)) == (ssize_t)sizeof(messages);
}

static void wait_for(struct ferry_pci_function *function, unsigned microseconds)
{
    struct pollfd ready = {.fd = of(function)->event, .events = POLLIN};
    (void)poll(&ready, 1, (int)((microseconds + 999) / 1000));
}

static void shut(int fd)
{
    if (fd >= 0) {
        ferry_vfio_system->close(fd);
    }
}

static void close_function(struct ferry_pci_function *function)
{
    struct vfio *vfio = of(function);
    if (vfio->config != 0) {
        (void)ferry_pci_enable(function, true, false);
    }
    ferry_pci_unmap_bars(function);
    // In this order; with the container go its mappings, and the pages are unlocked.
    shut(vfio->device);
    shut(vfio->group);
    shut(vfio->container);
    shut(vfio->event);
    ferry_dma_map_destroy(vfio->map);
    free(vfio);
}

static const struct ferry_pci_operations operations = {
    .way = "VFIO",
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

static int cannot(const char *what)
{
    ferry_problem_set("%s: %s", what, strerror(errno));
    return FERRY_ERROR_BACKEND;
}

static int no_container(const char *path)
{
    ferry_problem_set("cannot open %s: %s; `sudo modprobe vfio-pci` makes it", path, strerror(errno));
    return FERRY_ERROR_BACKEND;
}

static int no_group(const char *path)
{
    if (errno != EACCES && errno != EPERM) {
        return cannot(path);
    }
    ferry_problem_set("you may not open %s: `sudo chown $USER %s`", path, path);
    return FERRY_ERROR_BACKEND;
}

static int shared_group(const struct ferry_pci_place *place)
{
    ferry_problem_set("%s shares IOMMU group %d with a device that another driver has: bind all of `ls "
                      "%s/iommu_group/devices` to vfio-pci, or use another slot",
                      place->address, place->group, place->folder);
    return FERRY_ERROR_BACKEND;
}

static int open_container(struct vfio *vfio)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/dev/vfio/vfio", vfio->place.root);
    vfio->container = ferry_vfio_system->open(path, O_RDWR | O_CLOEXEC);
    if (vfio->container < 0) {
        return no_container(path);
    }
    const int version = call(vfio->container, VFIO_GET_API_VERSION, 0);
    if (version != VFIO_API_VERSION) {
        ferry_problem_set("the kernel's VFIO is version %d, this driver's %d", version, VFIO_API_VERSION);
        return FERRY_ERROR_BACKEND;
    }
    if (call(vfio->container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1) {
        ferry_problem_set("the kernel's VFIO has no IOMMU of type 1: `sudo modprobe vfio_iommu_type1`");
        return FERRY_ERROR_BACKEND;
    }
    return FERRY_OK;
}

static int open_group(struct vfio *vfio)
{
    char path[512];
    struct vfio_group_status status = {.argsz = sizeof(status)};
    snprintf(path, sizeof(path), "%s/dev/vfio/%d", vfio->place.root, vfio->place.group);
    vfio->group = ferry_vfio_system->open(path, O_RDWR | O_CLOEXEC);
    if (vfio->group < 0 && errno == EBUSY) {
        return ferry_file_in_use(path, vfio->place.address);
    }
    if (vfio->group < 0) {
        return no_group(path);
    }
    if (ferry_vfio_system->ioctl(vfio->group, VFIO_GROUP_GET_STATUS, &status) != 0) {
        return cannot("VFIO_GROUP_GET_STATUS");
    }
    if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
        return shared_group(&vfio->place);
    }
    if (ferry_vfio_system->ioctl(vfio->group, VFIO_GROUP_SET_CONTAINER, &vfio->container) != 0) {
        return cannot("VFIO_GROUP_SET_CONTAINER");
    }
    if (call(vfio->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) {
        return cannot("VFIO_SET_IOMMU");
    }
    // The container has an IOMMU now.
    const int error = ferry_pci_dma_map(vfio->container, &vfio->place, &vfio->map);
    if (error != FERRY_OK) {
        return error;
    }
    vfio->device =
        ferry_above_streams(ferry_vfio_system->ioctl(vfio->group, VFIO_GROUP_GET_DEVICE_FD, vfio->place.address));
    return vfio->device < 0 ? cannot("VFIO_GROUP_GET_DEVICE_FD") : FERRY_OK;
}

static int find_region(const struct vfio *vfio, uint32_t index, struct vfio_region_info *region)
{
    *region = (struct vfio_region_info){.argsz = sizeof(*region), .index = index};
    return ferry_vfio_system->ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, region) != 0
               ? cannot("VFIO_DEVICE_GET_REGION_INFO")
               : FERRY_OK;
}

static int map_bar(struct vfio *vfio, unsigned bar)
{
    struct vfio_region_info region;
    const int error = find_region(vfio, VFIO_PCI_BAR0_REGION_INDEX + bar, &region);
    if (error != FERRY_OK) {
        return error;
    }
    if (region.size == 0 || (region.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0) {
        ferry_problem_set("BAR%u of %s cannot be mapped: the kernel gave it no place, or does not show it", bar,
                          vfio->place.address);
        return FERRY_ERROR_BACKEND;
    }
    void *memory = ferry_vfio_system->mmap(region.size, vfio->device, (off_t)region.offset);
    if (memory == MAP_FAILED) {
        return cannot("mapping a BAR");
    }
    vfio->function.bar[bar].memory = memory;
    vfio->function.bar[bar].bytes = region.size;
    return FERRY_OK;
}

static int look_at_interrupts(struct vfio *vfio)
{
    struct vfio_irq_info irq = {.argsz = sizeof(irq), .index = VFIO_PCI_MSI_IRQ_INDEX};
    if (ferry_vfio_system->ioctl(vfio->device, VFIO_DEVICE_GET_IRQ_INFO, &irq) != 0) {
        return cannot("VFIO_DEVICE_GET_IRQ_INFO");
    }
    if (irq.count == 0 || (irq.flags & VFIO_IRQ_INFO_EVENTFD) == 0) {
        ferry_problem_set("%s has no interrupt messages that the kernel passes on", vfio->place.address);
        return FERRY_ERROR_BACKEND;
    }
    vfio->event = ferry_vfio_system->eventfd();
    return vfio->event < 0 ? cannot("eventfd") : FERRY_OK;
}

static int bring_up(struct vfio *vfio)
{
    struct vfio_region_info region;
    int error = open_container(vfio);
    error = error == FERRY_OK ? open_group(vfio) : error;
    error = error == FERRY_OK ? find_region(vfio, VFIO_PCI_CONFIG_REGION_INDEX, &region) : error;
    if (error != FERRY_OK) {
        return error;
    }
    vfio->config = (off_t)region.offset;
    error = map_bar(vfio, 0);
    error = error == FERRY_OK ? map_bar(vfio, 2) : error;
    return error == FERRY_OK ? look_at_interrupts(vfio) : error;
}

/// Of the drivers in a group, those that leave their device's memory accesses to others.
static bool leaves_memory_alone(const char *driver)
{
    static const char *const those[] = {"", "vfio-pci", "pci-stub", "pcieport"};
    bool found = false;
    for (unsigned n = 0; n < sizeof(those) / sizeof(those[0]); n++) {
        found = found || strcmp(driver, those[n]) == 0;
    }
    return found;
}

/// As the kernel judges a group when it is opened.
static bool group_is_ours(const struct ferry_pci_place *place)
{
    char path[600], target[512];
    struct dirent *entry;
    bool ours = true;
    snprintf(path, sizeof(path), "%s/iommu_group/devices", place->folder);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof(path), "%.32s/driver", entry->d_name);
        const ssize_t length = readlinkat(dirfd(folder), path, target, sizeof(target) - 1);
        target[length < 0 ? 0 : length] = 0;
        const char *slash = strrchr(target, '/');
        ours = ours && leaves_memory_alone(slash == NULL ? target : slash + 1);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return ours;
}

int ferry_pci_look_vfio(const struct ferry_pci_place *place)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/dev/vfio/vfio", place->root);
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0) {
        return no_container(path);
    }
    snprintf(path, sizeof(path), "%s/dev/vfio/%d", place->root, place->group);
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0) {
        return no_group(path);
    }
    if (ferry_file_user(path) != 0) {
        return ferry_file_in_use(path, place->address);
    }
    return group_is_ours(place) ? FERRY_OK : shared_group(place);
}

int ferry_pci_open_vfio(const struct ferry_pci_place *place, struct ferry_pci_function **function)
{
    struct vfio *vfio = calloc(1, sizeof(*vfio));
    if (vfio == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    vfio->function.operations = &operations;
    vfio->place = *place;
    vfio->container = vfio->group = vfio->device = vfio->event = -1;
    const int error = bring_up(vfio);
    if (error != FERRY_OK) {
        close_function(&vfio->function);
        return error;
    }
    *function = &vfio->function;
    return FERRY_OK;
}
