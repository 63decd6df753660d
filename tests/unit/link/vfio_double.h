// SPDX-License-Identifier: Apache-2.0
// In VFIO's place: a double that records what it is asked and answers as the kernel does (vfio.rst, linux/vfio.h): no
// machine of the tests has an IOMMU. Programs are linked with --wrap for it.
#ifndef FERRY_TESTS_VFIO_DOUBLE_H
#define FERRY_TESTS_VFIO_DOUBLE_H

#define _GNU_SOURCE // memfd_create()
#include <errno.h>
#include <linux/vfio.h>
#include <setjmp.h>
#include <sys/eventfd.h>

#include "pci_tree.h"

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "link/link.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u

ssize_t __real_pread(int fd, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at);

int __wrap_mlock(const void *memory, size_t bytes);

/// The other test of this back end has more to do here; VFIO locks memory by itself.
int __wrap_mlock(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    return -1;
}

int __wrap_munlock(const void *memory, size_t bytes);

int __wrap_munlock(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    return -1;
}

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at)
{
    return __real_pread(fd, data, bytes, at);
}

// ---- The double -------------------------------------------------------------------------------------------------

enum { CONTAINER = 1000, GROUP, DEVICE };
#define CONFIG_AT 0x1000000
#define BAR2_AT   0x100000

static struct {
    char said[2000];            // What was asked, a word each.
    char commands[40];          // What was written as COMMAND, a digit each.
    const char *fails;          // The step that fails, or NULL.
    int error;                  // With this.
    int file;                   // The device's BARs and configuration space.
    int event;                  // That messages are to go to.
    uint32_t flags;             // Of the group.
    bool no_messages;           // Interrupts are there, and go to no eventfd.
    bool cut_reads, cut_writes; // Of configuration space: half a word.
    const char *last_words;     // The step behind which configuration space takes none, or NULL.
    bool lost_by_reset;         // It answers no more.
    size_t maps, most;          // Pages mapped, and before VFIO_IOMMU_MAP_DMA fails, with `error`.
    void *bars[40];             // Memory that was mapped,
    size_t bar_count;           // in so many pieces.
    struct {
        uint64_t iova, vaddr;
    } map[64];
    uint64_t page_sizes; // Of the IOMMU, a bit each; 0 = the kernel does not say.
    struct vfio_iova_range range[4];
    uint32_t ranges; // That the device may reach; 0 = the kernel does not say.
    enum { WHOLE, BITES_ITS_TAIL, GOES_ON_BEHIND_IT, ENDS_IN_A_HEADER, HAS_TOO_MANY } chain; // Of capabilities.
} kernel;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
/// Nobody sleeps here: VFIO waits for an eventfd.
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)time;
    (void)left;
    fail_msg("it sleeps");
    return -1;
}

static inline bool asked(const char *what)
{
    const size_t length = strlen(kernel.said);
    snprintf(kernel.said + length, sizeof(kernel.said) - length, "%s ", what);
    kernel.cut_writes |= kernel.last_words != NULL && strcmp(kernel.last_words, what) == 0;
    if (kernel.fails != NULL && strcmp(kernel.fails, what) == 0) {
        errno = kernel.error;
        return false;
    }
    return true;
}

static inline int double_open(const char *path, int flags)
{
    assert_int_equal(flags & O_ACCMODE, O_RDWR);
    assert_int_not_equal(flags & O_CLOEXEC, 0);
    assert_memory_equal(path, tree, strlen(tree));
    return !asked(path + strlen(tree)) ? -1 : strcmp(path + strlen(tree), "/dev/vfio/vfio") == 0 ? CONTAINER : GROUP;
}

static inline int map_page(const struct vfio_iommu_type1_dma_map *map)
{
    assert_int_equal(map->argsz, sizeof(*map));
    assert_int_equal(map->flags, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE);
    assert_int_equal(map->size, PAGE_BYTES);
    assert_int_equal((map->iova | map->vaddr) % PAGE_BYTES, 0);
    bool reached = kernel.ranges == 0;
    for (uint32_t n = 0; n < kernel.ranges; n++) {
        reached =
            reached || (map->iova >= kernel.range[n].start && map->iova + (PAGE_BYTES - 1) <= kernel.range[n].end);
    }
    if (kernel.maps == kernel.most || !reached) {
        errno = reached ? kernel.error : EINVAL;
        return -1;
    }
    for (size_t n = 0; n < kernel.maps; n++) {
        assert_int_not_equal(kernel.map[n].iova, map->iova); // EEXIST.
    }
    kernel.map[kernel.maps].iova = map->iova;
    kernel.map[kernel.maps++].vaddr = map->vaddr;
    return 0;
}

static inline int unmap_page(const struct vfio_iommu_type1_dma_unmap *unmap)
{
    assert_int_equal(unmap->argsz, sizeof(*unmap));
    assert_int_equal(unmap->size, PAGE_BYTES);
    for (size_t n = 0; n < kernel.maps; n++) {
        if (kernel.map[n].iova == unmap->iova) {
            kernel.map[n] = kernel.map[--kernel.maps];
            return 0;
        }
    }
    fail_msg("a page is taken away that is not mapped");
    return -1;
}

/// What no kernel says.
static inline void spoil_chain(struct vfio_info_cap_header *first, struct vfio_iommu_type1_info_cap_iova_range *ranges,
                               unsigned char *end)
{
    const uint32_t at = first->next - (uint32_t)((unsigned char *)ranges - (unsigned char *)first);
    const uint32_t all = at + (uint32_t)(end - (unsigned char *)first);
    const struct vfio_info_cap_header last = {.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, .version = 1};
    switch (kernel.chain) {
    case WHOLE: break;
    case BITES_ITS_TAIL: first->next = at; break;
    case GOES_ON_BEHIND_IT: first->next = all; break;
    case ENDS_IN_A_HEADER:
        first->next = all - (uint32_t)sizeof(last);
        memcpy(end - sizeof(last), &last, sizeof(last));
        break;
    case HAS_TOO_MANY: ranges->nr_iovas++; break;
    }
}

/// As the kernel's chain: first the capability of migration, then that of ranges. Who brings no room for all of it
/// hears how much it is, and gets no chain.
static inline int tell_iommu(struct vfio_iommu_type1_info *info)
{
    enum { MIGRATION = 24, RANGES = MIGRATION + sizeof(struct vfio_iommu_type1_info_cap_migration) };
    const uint32_t room = info->argsz;
    const size_t all =
        RANGES + sizeof(struct vfio_iommu_type1_info_cap_iova_range) + sizeof(kernel.range[0]) * kernel.ranges;
    assert_true(room >= 16);
    if (!asked("IOMMU_INFO")) {
        return -1;
    }
    info->flags = kernel.page_sizes != 0 ? VFIO_IOMMU_INFO_PGSIZES : 0;
    info->iova_pgsizes = kernel.page_sizes;
    if (kernel.ranges == 0) {
        return 0;
    }
    info->flags |= VFIO_IOMMU_INFO_CAPS;
    if (room < all) {
        info->argsz = (uint32_t)all;
        info->cap_offset = 0;
        return 0;
    }
    const struct vfio_iommu_type1_info_cap_migration migration = {
        .header = {.id = VFIO_IOMMU_TYPE1_INFO_CAP_MIGRATION, .version = 1, .next = RANGES},
        .pgsize_bitmap = PAGE_BYTES,
        .max_dirty_bitmap_size = 1u << 28};
    const struct vfio_iommu_type1_info_cap_iova_range ranges = {
        .header = {.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, .version = 1}, .nr_iovas = kernel.ranges};
    unsigned char *bytes = (unsigned char *)info;
    info->cap_offset = MIGRATION;
    memcpy(bytes + MIGRATION, &migration, sizeof(migration));
    memcpy(bytes + RANGES, &ranges, sizeof(ranges));
    memcpy(bytes + RANGES + sizeof(ranges), kernel.range, sizeof(kernel.range[0]) * kernel.ranges);
    spoil_chain((struct vfio_info_cap_header *)(bytes + MIGRATION),
                (struct vfio_iommu_type1_info_cap_iova_range *)(bytes + RANGES), bytes + all);
    return 0;
}

static inline int tell_region(struct vfio_region_info *region)
{
    assert_int_equal(region->argsz, sizeof(*region));
    region->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    switch (region->index) {
    case VFIO_PCI_BAR0_REGION_INDEX:
        region->flags |= asked("BAR0") ? VFIO_REGION_INFO_FLAG_MMAP : 0;
        region->size = TREE_BAR0;
        region->offset = 0;
        return (region->flags & VFIO_REGION_INFO_FLAG_MMAP) == 0 && kernel.error != 0 ? -1 : 0;
    case VFIO_PCI_BAR2_REGION_INDEX:
        region->flags |= VFIO_REGION_INFO_FLAG_MMAP;
        region->size = asked("BAR2") ? TREE_BAR2 : 0;
        region->offset = BAR2_AT;
        return 0;
    case VFIO_PCI_CONFIG_REGION_INDEX:
        region->size = 256;
        region->offset = CONFIG_AT;
        return asked("CONFIG") ? 0 : -1;
    default: fail_msg("region %u", region->index); return -1;
    }
}

static inline int set_interrupts(const struct vfio_irq_set *set)
{
    assert_int_equal(set->argsz, sizeof(*set) + sizeof(int));
    assert_int_equal(set->flags, VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER);
    assert_int_equal(set->index, VFIO_PCI_MSI_IRQ_INDEX);
    assert_int_equal(set->start, 0);
    assert_int_equal(set->count, 1);
    memcpy(&kernel.event, set->data, sizeof(kernel.event));
    return asked("SET_IRQS") ? 0 : -1;
}

static inline int of_container(unsigned long request, void *argument)
{
    switch (request) {
    case VFIO_GET_API_VERSION: return asked("API_VERSION") ? VFIO_API_VERSION : 7;
    case VFIO_CHECK_EXTENSION: assert_int_equal((uintptr_t)argument, VFIO_TYPE1v2_IOMMU); return asked("EXTENSION");
    case VFIO_SET_IOMMU: assert_int_equal((uintptr_t)argument, VFIO_TYPE1v2_IOMMU); return asked("SET_IOMMU") ? 0 : -1;
    case VFIO_IOMMU_GET_INFO: return tell_iommu(argument);
    case VFIO_IOMMU_MAP_DMA: return map_page(argument);
    case VFIO_IOMMU_UNMAP_DMA: return unmap_page(argument);
    default: fail_msg("container: request %lu", request); return -1;
    }
}

static inline int of_group(unsigned long request, void *argument)
{
    switch (request) {
    case VFIO_GROUP_GET_STATUS:
        assert_int_equal(((struct vfio_group_status *)argument)->argsz, sizeof(struct vfio_group_status));
        ((struct vfio_group_status *)argument)->flags = kernel.flags;
        return asked("STATUS") ? 0 : -1;
    case VFIO_GROUP_SET_CONTAINER:
        assert_int_equal(*(int *)argument, CONTAINER);
        return asked("SET_CONTAINER") ? 0 : -1;
    case VFIO_GROUP_GET_DEVICE_FD: assert_string_equal(argument, TREE_AT); return asked("DEVICE_FD") ? DEVICE : -1;
    default: fail_msg("group: request %lu", request); return -1;
    }
}

static inline void put(off_t at, uint32_t word)
{
    assert_int_equal(pwrite(kernel.file, &word, 4, at), 4);
}

static inline int of_device(unsigned long request, void *argument)
{
    switch (request) {
    case VFIO_DEVICE_GET_REGION_INFO: return tell_region(argument);
    case VFIO_DEVICE_GET_IRQ_INFO: {
        struct vfio_irq_info *irq = argument;
        assert_int_equal(irq->argsz, sizeof(*irq));
        assert_int_equal(irq->index, VFIO_PCI_MSI_IRQ_INDEX);
        irq->count = asked("IRQ_INFO");
        irq->flags = kernel.no_messages ? 0 : VFIO_IRQ_INFO_EVENTFD;
        return irq->count == 0 && kernel.error != 0 ? -1 : 0;
    }
    case VFIO_DEVICE_SET_IRQS: return set_interrupts(argument);
    case VFIO_DEVICE_RESET:
        if (!asked("RESET")) {
            return -1;
        }
        put(CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND, 0x00100000);
        put(FERRY_BAR0_HOST_CONTRACT, kernel.lost_by_reset ? 0xffffffffu : 0);
        if (kernel.lost_by_reset) {
            put(FERRY_BAR0_MAGIC, 0xffffffffu);
        }
        return 0;
    default: fail_msg("device: request %lu", request); return -1;
    }
}

static inline int double_ioctl(int fd, unsigned long request, void *argument)
{
    switch (fd) {
    case CONTAINER: return of_container(request, argument);
    case GROUP: return of_group(request, argument);
    case DEVICE: return of_device(request, argument);
    default: fail_msg("ioctl on %d", fd); return -1;
    }
}

static inline void *double_mmap(size_t bytes, int fd, off_t offset)
{
    assert_int_equal(fd, DEVICE);
    if (!asked("mmap")) {
        return MAP_FAILED;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kernel.file, offset);
    kernel.bars[kernel.bar_count++] = memory;
    return memory;
}

static inline ssize_t double_pread(int fd, void *data, size_t bytes, off_t offset)
{
    assert_int_equal(fd, DEVICE);
    return __real_pread(kernel.file, data, kernel.cut_reads ? bytes / 2 : bytes, offset);
}

static inline ssize_t double_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    assert_int_equal(fd, DEVICE);
    if (offset == CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND) {
        snprintf(kernel.commands + strlen(kernel.commands), 2, "%u", *(const unsigned char *)data & 7u);
    }
    return pwrite(kernel.file, data, kernel.cut_writes ? bytes / 2 : bytes, offset);
}

static inline int double_eventfd(void)
{
    return asked("eventfd") ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
}

static inline int double_close(int fd)
{
    asked(fd == CONTAINER ? "~container" : fd == GROUP ? "~group" : fd == DEVICE ? "~device" : "~event");
    return fd < CONTAINER ? close(fd) : 0;
}

static const struct ferry_vfio_system double_system = {.open = double_open,
                                                       .ioctl = double_ioctl,
                                                       .mmap = double_mmap,
                                                       .pread = double_pread,
                                                       .pwrite = double_pwrite,
                                                       .eventfd = double_eventfd,
                                                       .close = double_close};

static inline uint32_t command(void)
{
    uint32_t word;
    assert_int_equal(__real_pread(kernel.file, &word, 4, CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND), 4);
    return word & 0xffff;
}

/// Nothing that was mapped is there any more.
static inline void no_bar_is_mapped(void)
{
    unsigned char there;
    for (size_t n = 0; n < kernel.bar_count; n++) {
        assert_int_equal(mincore(kernel.bars[n], PAGE_BYTES, &there), -1);
    }
    kernel.bar_count = 0;
}

static inline int setup(void **state)
{
    (void)state;
    uint32_t space[64];
    tree_make();
    tree_link(TREE_FOLDER "/driver", "../../../../bus/pci/drivers/vfio-pci");
    tree_link(TREE_FOLDER "/iommu_group", "../../../../kernel/iommu_groups/12");
    ferry_pci_root = tree;
    ferry_vfio_system = &double_system;
    memset(&kernel, 0, sizeof(kernel));
    kernel.flags = VFIO_GROUP_FLAGS_VIABLE;
    kernel.most = 64;
    kernel.file = memfd_create("device", MFD_CLOEXEC);
    assert_int_equal(ftruncate(kernel.file, CONFIG_AT + 256), 0);
    put(FERRY_BAR0_MAGIC, FERRY_BAR0_MAGIC_RESET);
    put(FERRY_BAR0_CONTRACT_VERSION, FERRY_CONTRACT_VERSION);
    tree_config(space);
    assert_int_equal(pwrite(kernel.file, space, sizeof(space), CONFIG_AT), sizeof(space));
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    close(kernel.file);
    tree_drop();
    return 0;
}

static inline int open_it(struct ferry_link **link)
{
    const struct ferry_link_config config = {.size = sizeof(config)};
    ferry_problem_clear();
    return ferry_backend_pci.open(&config, link);
}

#endif
