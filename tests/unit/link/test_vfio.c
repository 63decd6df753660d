// SPDX-License-Identifier: Apache-2.0
// The way through VFIO, against a double that records what it is asked and answers as the kernel does (vfio.rst,
// linux/vfio.h): no machine of the tests has an IOMMU. Each step is made to fail once.
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
    char said[2000];   // What was asked, a word each.
    char commands[40]; // What was written as COMMAND, a digit each.
    const char *fails; // The step that fails, or NULL.
    int error;         // With this.
    int file;          // The device's BARs and configuration space.
    int event;         // That messages are to go to.
    uint32_t flags;    // Of the group.
    bool no_messages;  // Interrupts are there, and go to no eventfd.
    size_t maps, most; // Pages mapped, and before VFIO_IOMMU_MAP_DMA fails, with `error`.
    void *bars[40];    // Memory that was mapped,
    size_t bar_count;  // in so many pieces.
    struct {
        uint64_t iova, vaddr;
    } map[64];
} kernel;

static bool asked(const char *what)
{
    const size_t length = strlen(kernel.said);
    snprintf(kernel.said + length, sizeof(kernel.said) - length, "%s ", what);
    if (kernel.fails != NULL && strcmp(kernel.fails, what) == 0) {
        errno = kernel.error;
        return false;
    }
    return true;
}

static int double_open(const char *path, int flags)
{
    assert_int_equal(flags & O_ACCMODE, O_RDWR);
    assert_int_not_equal(flags & O_CLOEXEC, 0);
    assert_memory_equal(path, tree, strlen(tree));
    return !asked(path + strlen(tree)) ? -1 : strcmp(path + strlen(tree), "/dev/vfio/vfio") == 0 ? CONTAINER : GROUP;
}

static int map_page(const struct vfio_iommu_type1_dma_map *map)
{
    assert_int_equal(map->argsz, sizeof(*map));
    assert_int_equal(map->flags, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE);
    assert_int_equal(map->size, PAGE_BYTES);
    assert_int_equal((map->iova | map->vaddr) % PAGE_BYTES, 0);
    if (kernel.maps == kernel.most) {
        errno = kernel.error;
        return -1;
    }
    for (size_t n = 0; n < kernel.maps; n++) {
        assert_int_not_equal(kernel.map[n].iova, map->iova); // EEXIST.
    }
    kernel.map[kernel.maps].iova = map->iova;
    kernel.map[kernel.maps++].vaddr = map->vaddr;
    return 0;
}

static int unmap_page(const struct vfio_iommu_type1_dma_unmap *unmap)
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

static int tell_region(struct vfio_region_info *region)
{
    assert_int_equal(region->argsz, sizeof(*region));
    region->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    switch (region->index) {
    case VFIO_PCI_BAR0_REGION_INDEX:
        region->flags |= asked("BAR0") ? VFIO_REGION_INFO_FLAG_MMAP : 0;
        region->size = TREE_BAR0;
        region->offset = 0;
        return 0;
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

static int set_interrupts(const struct vfio_irq_set *set)
{
    assert_int_equal(set->argsz, sizeof(*set) + sizeof(int));
    assert_int_equal(set->flags, VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER);
    assert_int_equal(set->index, VFIO_PCI_MSI_IRQ_INDEX);
    assert_int_equal(set->start, 0);
    assert_int_equal(set->count, 1);
    memcpy(&kernel.event, set->data, sizeof(kernel.event));
    return asked("SET_IRQS") ? 0 : -1;
}

static int of_container(unsigned long request, void *argument)
{
    switch (request) {
    case VFIO_GET_API_VERSION: return asked("API_VERSION") ? VFIO_API_VERSION : 7;
    case VFIO_CHECK_EXTENSION: assert_int_equal((uintptr_t)argument, VFIO_TYPE1v2_IOMMU); return asked("EXTENSION");
    case VFIO_SET_IOMMU: assert_int_equal((uintptr_t)argument, VFIO_TYPE1v2_IOMMU); return asked("SET_IOMMU") ? 0 : -1;
    case VFIO_IOMMU_MAP_DMA: return map_page(argument);
    case VFIO_IOMMU_UNMAP_DMA: return unmap_page(argument);
    default: fail_msg("container: request %lu", request); return -1;
    }
}

static int of_group(unsigned long request, void *argument)
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

static void put(off_t at, uint32_t word)
{
    assert_int_equal(pwrite(kernel.file, &word, 4, at), 4);
}

static int of_device(unsigned long request, void *argument)
{
    switch (request) {
    case VFIO_DEVICE_GET_REGION_INFO: return tell_region(argument);
    case VFIO_DEVICE_GET_IRQ_INFO: {
        struct vfio_irq_info *irq = argument;
        assert_int_equal(irq->argsz, sizeof(*irq));
        assert_int_equal(irq->index, VFIO_PCI_MSI_IRQ_INDEX);
        irq->count = asked("IRQ_INFO");
        irq->flags = kernel.no_messages ? 0 : VFIO_IRQ_INFO_EVENTFD;
        return 0;
    }
    case VFIO_DEVICE_SET_IRQS: return set_interrupts(argument);
    case VFIO_DEVICE_RESET:
        if (!asked("RESET")) {
            return -1;
        }
        put(CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND, 0x00100000);
        put(FERRY_BAR0_HOST_CONTRACT, 0);
        return 0;
    default: fail_msg("device: request %lu", request); return -1;
    }
}

static int double_ioctl(int fd, unsigned long request, void *argument)
{
    switch (fd) {
    case CONTAINER: return of_container(request, argument);
    case GROUP: return of_group(request, argument);
    case DEVICE: return of_device(request, argument);
    default: fail_msg("ioctl on %d", fd); return -1;
    }
}

static void *double_mmap(size_t bytes, int fd, off_t offset)
{
    assert_int_equal(fd, DEVICE);
    if (!asked("mmap")) {
        return MAP_FAILED;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kernel.file, offset);
    kernel.bars[kernel.bar_count++] = memory;
    return memory;
}

static ssize_t double_pread(int fd, void *data, size_t bytes, off_t offset)
{
    assert_int_equal(fd, DEVICE);
    return __real_pread(kernel.file, data, bytes, offset);
}

static ssize_t double_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    assert_int_equal(fd, DEVICE);
    if (offset == CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND) {
        snprintf(kernel.commands + strlen(kernel.commands), 2, "%u", *(const unsigned char *)data & 7u);
    }
    return pwrite(kernel.file, data, bytes, offset);
}

static int double_eventfd(void)
{
    return asked("eventfd") ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
}

static int double_close(int fd)
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

static uint32_t command(void)
{
    uint32_t word;
    assert_int_equal(__real_pread(kernel.file, &word, 4, CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND), 4);
    return word & 0xffff;
}

/// Nothing that was mapped is there any more.
static void no_bar_is_mapped(void)
{
    unsigned char there;
    for (size_t n = 0; n < kernel.bar_count; n++) {
        assert_int_equal(mincore(kernel.bars[n], PAGE_BYTES, &there), -1);
    }
    kernel.bar_count = 0;
}

static int setup(void **state)
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

static int teardown(void **state)
{
    (void)state;
    close(kernel.file);
    tree_drop();
    return 0;
}

// ---- Cases ------------------------------------------------------------------------------------------------------

static int open_it(struct ferry_link **link)
{
    const struct ferry_link_config config = {.size = sizeof(config)};
    ferry_problem_clear();
    return ferry_backend_pci.open(&config, link);
}

static void calls_come_in_the_kernel_s_order(void **state)
{
    (void)state;
    struct ferry_link_description description = {0};
    struct ferry_link *link = NULL;
    put(CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND, 0x00100140); // Parity and system errors are others' affair.
    assert_int_equal(open_it(&link), FERRY_OK);
    assert_string_equal(kernel.said, "/dev/vfio/vfio API_VERSION EXTENSION /dev/vfio/12 STATUS SET_CONTAINER SET_IOMMU "
                                     "DEVICE_FD CONFIG BAR0 mmap BAR2 mmap IRQ_INFO eventfd SET_IRQS ");
    assert_int_equal(command(), 0x146);
    assert_int_equal(kernel.bar_count, 2);
    link->operations->describe(link, &description);
    assert_string_equal(description.medium, "PCI 0000:01:00.0, VFIO, 2.5 GT/s PCIe x1");
    kernel.said[0] = 0;
    assert_int_equal(link->operations->reset(link), FERRY_OK);
    assert_string_equal(kernel.said, "RESET SET_IRQS ");
    assert_int_equal(command(), 6); // It forgot all of it.
    kernel.said[0] = 0;
    link->operations->close(link);
    assert_string_equal(kernel.said, "~device ~group ~container ~event ");
    assert_int_equal(command(), 2);
    no_bar_is_mapped();
}

static void each_step_that_fails_is_told(void **state)
{
    (void)state;
    const struct {
        const char *step;
        int error, result;
        const char *words;
    } cases[] = {
        {"/dev/vfio/vfio", ENOENT, FERRY_ERROR_BACKEND, "`sudo modprobe vfio-pci` makes it"},
        {"API_VERSION", 0, FERRY_ERROR_BACKEND, "the kernel's VFIO is version 7, this driver's 0"},
        {"EXTENSION", 0, FERRY_ERROR_BACKEND, "no IOMMU of type 1"},
        {"/dev/vfio/12", EBUSY, FERRY_ERROR_IN_USE, "0000:01:00.0 is in use by"},
        {"/dev/vfio/12", EACCES, FERRY_ERROR_BACKEND, "`sudo chown $USER "},
        {"/dev/vfio/12", EPERM, FERRY_ERROR_BACKEND, "`sudo chown $USER "},
        {"/dev/vfio/12", ENOENT, FERRY_ERROR_BACKEND, "/dev/vfio/12: No such file"},
        {"STATUS", EINVAL, FERRY_ERROR_BACKEND, "VFIO_GROUP_GET_STATUS: "},
        {"SET_CONTAINER", EINVAL, FERRY_ERROR_BACKEND, "VFIO_GROUP_SET_CONTAINER: "},
        {"SET_IOMMU", EPERM, FERRY_ERROR_BACKEND, "VFIO_SET_IOMMU: "},
        {"DEVICE_FD", ENODEV, FERRY_ERROR_BACKEND, "VFIO_GROUP_GET_DEVICE_FD: "},
        {"CONFIG", EINVAL, FERRY_ERROR_BACKEND, "VFIO_DEVICE_GET_REGION_INFO: "},
        {"BAR0", 0, FERRY_ERROR_BACKEND, "BAR0 of 0000:01:00.0 cannot be mapped"},
        {"BAR2", 0, FERRY_ERROR_BACKEND, "BAR2 of 0000:01:00.0 cannot be mapped"},
        {"mmap", EPERM, FERRY_ERROR_BACKEND, "mapping a BAR: "},
        {"IRQ_INFO", 0, FERRY_ERROR_BACKEND, "no interrupt messages that the kernel passes on"},
        {"eventfd", EMFILE, FERRY_ERROR_BACKEND, "eventfd: "},
        {"SET_IRQS", ENOSPC, FERRY_ERROR_BACKEND, "no interrupt messages: "},
    };
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct ferry_link *link = NULL;
        kernel.said[0] = 0;
        kernel.fails = cases[n].step;
        kernel.error = cases[n].error;
        assert_int_equal(open_it(&link), cases[n].result);
        if (strstr(ferry_problem(), cases[n].words) == NULL) {
            fail_msg("%s: '%s' is not in '%s'", cases[n].step, cases[n].words, ferry_problem());
        }
        assert_int_equal(command() & 4, 0);
        // What was opened before is closed.
        assert_int_equal(strstr(kernel.said, "API_VERSION") != NULL, strstr(kernel.said, "~container") != NULL);
        assert_int_equal(strstr(kernel.said, "STATUS") != NULL, strstr(kernel.said, "~group") != NULL);
        assert_int_equal(strstr(kernel.said, "CONFIG") != NULL, strstr(kernel.said, "~device") != NULL);
        no_bar_is_mapped();
    }
    struct ferry_link *link;
    kernel.fails = NULL;
    kernel.no_messages = true;
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "no interrupt messages that the kernel passes on"));
    kernel.flags = 0;
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "shares IOMMU group 12 with a device that another driver has"));
}

static void pages_are_mapped_for_the_device(void **state)
{
    (void)state;
    struct ferry_link *link;
    uint64_t bus[24], more[60];
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, PAGE_BYTES, 60 * PAGE_BYTES), 0);
    assert_int_equal(open_it(&link), FERRY_OK);
    assert_int_equal(link->operations->dma_map(link, memory, 20, 0, bus), FERRY_OK);
    assert_int_equal(
        link->operations->dma_map(link, (unsigned char *)memory + 20 * PAGE_BYTES, 4, FERRY_DMA_CONSECUTIVE, bus + 20),
        FERRY_OK);
    assert_int_equal(kernel.maps, 24);
    for (size_t n = 0; n < 24; n++) {
        assert_int_equal(kernel.map[n].iova, bus[n]);
        assert_int_equal(kernel.map[n].vaddr, (uintptr_t)memory + n * PAGE_BYTES);
        assert_true(n < 20 || bus[n] == bus[20] + (n - 20) * PAGE_BYTES);
        assert_ptr_equal(link->operations->dma_find(link, bus[n]), (unsigned char *)memory + n * PAGE_BYTES);
    }
    // When the kernel gives no more, what was mapped in vain is taken away.
    static const int errors[] = {ENOMEM, ENOSPC, EFAULT};
    for (size_t n = 0; n < 3; n++) {
        kernel.error = errors[n];
        assert_int_equal(link->operations->dma_map(link, memory, 60, 0, more), FERRY_ERROR_NO_HOST_MEMORY);
        assert_int_equal(strstr(ferry_problem(), "`ulimit -l`") != NULL, errors[n] != EFAULT);
        assert_int_equal(kernel.maps, 24);
    }
    struct ferry_link_counts counts;
    link->operations->counts(link, &counts);
    assert_int_equal(counts.mapped_pages, 24);
    link->operations->dma_unmap(link, bus, 24);
    link->operations->dma_unmap(link, bus, 24); // Not mapped: the kernel is not asked.
    assert_int_equal(kernel.maps, 0);
    link->operations->close(link);
    free(memory);
}

static void a_message_ends_a_wait(void **state)
{
    (void)state;
    struct ferry_link *link;
    unsigned reasons;
    assert_int_equal(open_it(&link), FERRY_OK);
    assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
    assert_int_equal(eventfd_write(kernel.event, 3), 0);
    assert_int_equal(link->operations->pump(link, UINT64_MAX, &reasons), FERRY_OK);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    assert_int_equal(link->operations->take_interrupts(link), 1);
    link->operations->close(link);
}

/// Registers are read behind the reset: they must be there, and the device not on the bus before its jobs are gone.
static void work_of_who_died_is_reset(void **state)
{
    (void)state;
    struct ferry_link *link;
    put(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
    assert_int_equal(open_it(&link), FERRY_OK);
    assert_non_null(strstr(kernel.said, "RESET SET_IRQS "));
    assert_string_equal(kernel.commands, "226");
    link->operations->close(link);
}

static void a_function_that_cannot_be_reset_says_so(void **state)
{
    (void)state;
    struct ferry_link *link;
    assert_int_equal(open_it(&link), FERRY_OK);
    kernel.fails = "RESET";
    kernel.error = ENOTTY;
    assert_int_equal(link->operations->reset(link), FERRY_ERROR_UNSUPPORTED);
    kernel.error = EINVAL; // Of a kernel that knows of no way at all.
    assert_int_equal(link->operations->reset(link), FERRY_ERROR_UNSUPPORTED);
    kernel.error = EIO;
    assert_int_equal(link->operations->reset(link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "cannot be reset"));
    link->operations->close(link);
}

/// As vfio-pci makes it with enable_unsafe_noiommu_mode: its file is /dev/vfio/noiommu-12, and no mapping of it is one.
static void a_group_without_an_iommu_is_none(void **state)
{
    (void)state;
    struct ferry_link *link;
    tree_text("sys/kernel/iommu_groups/12/name", "vfio-noiommu\n");
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "there is no IOMMU"));
    assert_non_null(strstr(ferry_problem(), "vfio-pci/unbind`, and it is reached through sysfs, as root"));
    assert_string_equal(kernel.said, "");
    tree_text("sys/kernel/iommu_groups/12/name", "another\n");
    assert_int_equal(open_it(&link), FERRY_OK);
    link->operations->close(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(calls_come_in_the_kernel_s_order), CASE(each_step_that_fails_is_told),
        CASE(pages_are_mapped_for_the_device),  CASE(a_message_ends_a_wait),
        CASE(work_of_who_died_is_reset),        CASE(a_function_that_cannot_be_reset_says_so),
        CASE(a_group_without_an_iommu_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
