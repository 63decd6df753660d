// SPDX-License-Identifier: Apache-2.0
// Back end `pci` on functions made of files: who is found and who is refused in which words, what is written into
// configuration space, and which memory the device is told of. The guest test has the same on a kernel's own.
#define _GNU_SOURCE // flock(), seteuid()
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

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
        const uintptr_t page = ((uintptr_t)memory - (uintptr_t)watched) / PAGE_BYTES + n;
        unlocked |= watched != NULL && page < 32 ? 1u << page : 0;
    }
    return 0;
}

ssize_t __real_pread(int fd, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at);

/// Pages of memory in general do not follow each other; those that begin where a large page may do.
static uint64_t frame_of(uint64_t page)
{
    const bool large = page % 512 < 16 && frames == SCATTERED;
    return frames == IN_ORDER || large ? (page & 0xffffffff) + 1 : ((page & 0xfffffff) * 3 + 5) | 1ull << 33;
}

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at)
{
    struct stat file, pagemap;
    if (fstat(fd, &file) != 0 || stat(tree_path("proc/self/pagemap"), &pagemap) != 0 || file.st_ino != pagemap.st_ino) {
        return __real_pread(fd, data, bytes, at);
    }
    for (size_t n = 0; n < bytes / 8; n++) {
        ((uint64_t *)data)[n] = 1ull << 63 | (frames == HIDDEN ? 0 : frame_of((uint64_t)at / 8 + n));
    }
    return (ssize_t)bytes;
}

// ---- Opening ----------------------------------------------------------------------------------------------------

static int setup(void **state)
{
    (void)state;
    frames = SCATTERED;
    may_not_lock = false;
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

static void refused(const char *address, int error, const char *words)
{
    struct ferry_link *link;
    assert_int_equal(open_at(address, &link), error);
    if (strstr(ferry_problem(), words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, ferry_problem());
    }
}

static void functions_are_found_by_address_and_by_id(void **state)
{
    (void)state;
    struct ferry_link_description description = {0};
    struct ferry_link *link;
    for (const char *const *at = (const char *const[]){NULL, TREE_AT, "01:00.0", "\0"}; at[0] == NULL || at[0][0];
         at++) {
        assert_int_equal(open_at(*at, &link), FERRY_OK);
        link->operations->describe(link, &description);
        assert_string_equal(description.medium, "PCI 0000:01:00.0, sysfs, no IOMMU, 2.5 GT/s PCIe x1");
        link->operations->close(link);
    }
    tree_text("sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
    tree_text("sys/bus/pci/devices/0000:00:02.0/device", "0x1234\n");
    link = open_good();
    link->operations->close(link);
}

static void what_is_not_there_is_told(void **state)
{
    (void)state;
    refused("0000:02:00.0", FERRY_ERROR_BACKEND, "there is no PCI device 0000:02:00.0; `lspci -nn -d 1209:fe01`");
    for (const char *const *bad = (const char *const[]){"", "x", "01:00", "01:00.0x", "1:2:3:4.5", "0000:01:20.0",
                                                        "0000:01:00.8", "01:00.-1", NULL};
         *bad != NULL; bad++) {
        refused(*bad, FERRY_ERROR_BACKEND, "is no address of a PCI function as in 0000:01:00.0");
    }
    tree_text(TREE_FOLDER "/device", "0x1234\n");
    refused(TREE_AT, FERRY_ERROR_BACKEND, "0000:01:00.0 is 1209:1234, and this driver's are 1209:fe01");
    refused(NULL, FERRY_ERROR_BACKEND, "no PCI device 1209:fe01 is in this machine");
    ferry_pci_root = "/nowhere";
    refused(NULL, FERRY_ERROR_BACKEND, "no PCI device 1209:fe01 is in this machine");
}

static void who_has_it_decides_the_way(void **state)
{
    (void)state;
    tree_link(TREE_FOLDER "/driver", "../../../../bus/pci/drivers/nouveau");
    refused(NULL, FERRY_ERROR_BACKEND,
            "0000:01:00.0 is bound to the driver nouveau: `echo 0000:01:00.0 | sudo tee "
            "/sys/bus/pci/drivers/nouveau/unbind`");
    tree_link(TREE_FOLDER "/driver", "../../../../bus/pci/drivers/vfio-pci");
    refused(NULL, FERRY_ERROR_BACKEND, "but there is no IOMMU");
    unlink(tree_path(TREE_FOLDER "/driver"));
    tree_link(TREE_FOLDER "/iommu_group", "../../../../kernel/iommu_groups/7");
    refused(NULL, FERRY_ERROR_BACKEND, "is behind an IOMMU: `sudo modprobe vfio-pci");
    unlink(tree_path(TREE_FOLDER "/iommu_group"));
    for (const char *const *mode =
             (const char *const[]){"none [integrity] confidentiality\n", "none integrity [confidentiality]\n", NULL};
         *mode != NULL; mode++) {
        tree_text("sys/kernel/security/lockdown", *mode);
        refused(NULL, FERRY_ERROR_BACKEND, "locked down (Secure Boot)");
    }
}

static void a_second_host_is_told_who_is_the_first(void **state)
{
    (void)state;
    char words[64], go;
    int told[2];
    assert_int_equal(pipe(told), 0);
    const pid_t other = fork();
    if (other == 0) {
        const int fd = open(tree_path(TREE_FOLDER "/resource0"), O_RDWR);
        if (flock(fd, LOCK_EX) == 0 && write(told[1], "", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(told[0], &go, 1), 1);
    snprintf(words, sizeof(words), "0000:01:00.0 is in use by process %d", (int)other);
    refused(NULL, FERRY_ERROR_IN_USE, words);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    struct ferry_link *link = open_good();
    snprintf(words, sizeof(words), "0000:01:00.0 is in use by process %d", (int)getpid());
    refused(NULL, FERRY_ERROR_IN_USE, words);
    link->operations->close(link);
    link = open_good();
    link->operations->close(link);
    close(told[0]);
    close(told[1]);
}

static void permission_is_asked_for_by_name(void **state)
{
    (void)state;
    const uid_t me = geteuid();
    chmod(tree_path(TREE_FOLDER "/config"), 0444);
    if (me == 0) {
        // Whose the locked file is does not matter, but it has to be writable.
        chmod(tree_path(TREE_FOLDER "/resource0"), 0666);
        chmod(tree_path(TREE_FOLDER "/resource2"), 0666);
        assert_int_equal(seteuid(65534), 0);
    }
    char words[256];
    snprintf(words, sizeof(words), "you may not open %s: without an IOMMU this takes root",
             tree_path(TREE_FOLDER "/config"));
    refused(NULL, FERRY_ERROR_BACKEND, words);
    assert_int_equal(seteuid(me), 0);
}

static void a_kernel_that_moves_or_hides_memory_is_refused(void **state)
{
    (void)state;
    tree_text("proc/sys/vm/compact_unevictable_allowed", "1\n");
    refused(NULL, FERRY_ERROR_BACKEND, "`sudo sysctl vm.compact_unevictable_allowed=0 kernel.numa_balancing=0`");
    tree_text("proc/sys/vm/compact_unevictable_allowed", "0\n");
    tree_text("proc/sys/kernel/numa_balancing", "2\n");
    refused(NULL, FERRY_ERROR_BACKEND, "this kernel moves locked memory");
    tree_text("proc/sys/kernel/numa_balancing", "0\n");
    frames = HIDDEN;
    refused(NULL, FERRY_ERROR_BACKEND, "that takes root (CAP_SYS_ADMIN)");
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 4, 0); // It never mastered the bus.
}

static void what_answers_must_be_a_device_of_this_contract(void **state)
{
    (void)state;
    char words[96];
    tree_set_word("resource0", FERRY_BAR0_CONTRACT_VERSION, FERRY_CONTRACT_VERSION + 0x10000u);
    snprintf(words, sizeof(words), "has contract %u.%u, this driver %u.%u", (FERRY_CONTRACT_VERSION >> 16) + 1,
             FERRY_CONTRACT_VERSION & 0xffff, FERRY_CONTRACT_VERSION >> 16, FERRY_CONTRACT_VERSION & 0xffff);
    refused(NULL, FERRY_ERROR_CONTRACT, words);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    refused(NULL, FERRY_ERROR_BACKEND, "answers with ffffffff");
    tree_size(TREE_FOLDER "/resource0", PAGE_BYTES);
    refused(NULL, FERRY_ERROR_BACKEND, "BAR0 of 0000:01:00.0 has 4096 bytes");
    tree_size(TREE_FOLDER "/resource0", 0);
    refused(NULL, FERRY_ERROR_BACKEND, "resource0 cannot be mapped: the kernel gave it no place");
    tree_set_word("config", FERRY_CONFIG_SPACE_CAPABILITY, 0);
    tree_size(TREE_FOLDER "/resource0", TREE_BAR0);
    refused(NULL, FERRY_ERROR_BACKEND, "has no MSI capability");
    tree_set_word("config", FERRY_CONFIG_SPACE_CAPABILITY, FERRY_CONFIG_SPACE_PCIE);
    tree_set_word("config", FERRY_CONFIG_SPACE_PCIE, 0x10u | FERRY_CONFIG_SPACE_PCIE << 8); // Bites its tail.
    refused(NULL, FERRY_ERROR_BACKEND, "has no MSI capability");
}

static void work_of_who_died_is_reset_before_it_reaches_memory(void **state)
{
    (void)state;
    tree_set_word("resource0", FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
    tree_set_word("config", FERRY_CONFIG_SPACE_COMMAND, 6);
    unlink(tree_path(TREE_FOLDER "/reset"));
    refused(NULL, FERRY_ERROR_BACKEND, "has work of a program that died, and cannot be reset");
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    tree_text(TREE_FOLDER "/reset", "");
    refused(NULL, FERRY_ERROR_TIMEOUT, ""); // A file's registers do not change by it.
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    char told = 0;
    const int fd = open(tree_path(TREE_FOLDER "/reset"), O_RDONLY);
    assert_int_equal(read(fd, &told, 1), 1);
    assert_int_equal(told, '1');
    close(fd);
}

// ---- Working ----------------------------------------------------------------------------------------------------

static void registers_and_video_memory(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    const struct ferry_link_operations *call = link->operations;
    unsigned char data[64], back[64];
    uint32_t value;
    assert_int_equal(call->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, 0x12345678), FERRY_OK);
    assert_int_equal(tree_word("resource0", FERRY_BAR0_SCRATCH), 0x12345678);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value), FERRY_OK);
    assert_int_equal(value, 0x12345678);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, TREE_BAR0, &value), FERRY_ERROR_RANGE);
    assert_int_equal(value, 0xffffffffu);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, 2, &value), FERRY_ERROR_RANGE);
    assert_int_equal(call->write32(link, FERRY_BAR_REGISTERS, TREE_BAR0 - 2, 0), FERRY_ERROR_RANGE);
    assert_int_equal(call->write32(link, (enum ferry_bar)1, 0, 0), FERRY_ERROR_RANGE);
    for (size_t n = 0; n < sizeof(data); n++) {
        data[n] = (unsigned char)(n * 7 + 1);
    }
    for (uint64_t at = 0; at < 16; at++) {
        for (size_t bytes = 0; bytes <= 24; bytes++) {
            memset(back, 0, sizeof(back));
            assert_int_equal(call->write_block(link, FERRY_BAR_WINDOW, 4096 + at, data, bytes), FERRY_OK);
            assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, 4096 + at, back, bytes), FERRY_OK);
            assert_memory_equal(back, data, bytes);
            assert_int_equal(back[bytes], 0);
        }
    }
    assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, TREE_BAR2 - 8, back, 9), FERRY_ERROR_RANGE);
    assert_int_equal(call->write_block(link, FERRY_BAR_WINDOW, UINT64_MAX - 3, data, 8), FERRY_ERROR_RANGE);
    call->close(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2); // It reaches no memory any more.
}

static void a_device_that_goes_is_lost_by_name(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    uint32_t value;
    tree_set_word("resource0", FERRY_BAR0_SCRATCH, 0xffffffffu);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value), FERRY_OK);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value),
                     FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 answers no more: it was reset, or sleeps");
    assert_int_equal(link->operations->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    link->operations->close(link);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, FERRY_BAR0_MAGIC_RESET);
    link = open_good();
    tree_set_word("config", 0, 0xffffffffu);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    tree_set_word("resource0", FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES, 0xffffffffu);
    assert_int_equal(link->operations->pump(link, UINT64_MAX, NULL), FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 is gone: it was unplugged, or has no power");
    link->operations->close(link);
}

static void interrupt_messages_are_looked_for_in_memory(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    unsigned reasons = 99;
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 6);
    assert_int_not_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI) & FERRY_CONFIG_SPACE_MSI_ENABLE_MASK, 0);
    assert_int_not_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI_DATA), 0);
    const uint64_t at = (uint64_t)tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH) << 32 |
                        tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW);
    uint32_t *message = (uint32_t *)(uintptr_t)link->operations->dma_find(link, at);
    assert_non_null(message);
    assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
    *message = tree_word("config", FERRY_CONFIG_SPACE_MSI_DATA);
    assert_int_equal(link->operations->pump(link, UINT64_MAX, &reasons), FERRY_OK);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    assert_int_equal(link->operations->take_interrupts(link), 1);
    assert_int_equal(link->operations->take_interrupts(link), 0);
    link->operations->silence(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    link->operations->close(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI) & FERRY_CONFIG_SPACE_MSI_ENABLE_MASK, 0);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
}

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

static void time_is_the_device_s(void **state)
{
    (void)state;
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    struct ferry_link *link = open_good();
    tree_set_word("resource0", at, 0xfffffff0u);
    tree_set_word("resource0", at + 4, 3);
    assert_int_equal(link->operations->cycles(link), 0x3fffffff0ull);
    assert_int_equal(link->operations->reset(link), FERRY_OK);
    tree_set_word("resource0", at, 16);
    tree_set_word("resource0", at + 4, 0);
    assert_int_equal(link->operations->cycles(link), 0x400000000ull);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 6);
    link->operations->close(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(functions_are_found_by_address_and_by_id),
        CASE(what_is_not_there_is_told),
        CASE(who_has_it_decides_the_way),
        CASE(a_second_host_is_told_who_is_the_first),
        CASE(permission_is_asked_for_by_name),
        CASE(a_kernel_that_moves_or_hides_memory_is_refused),
        CASE(what_answers_must_be_a_device_of_this_contract),
        CASE(work_of_who_died_is_reset_before_it_reaches_memory),
        CASE(registers_and_video_memory),
        CASE(a_device_that_goes_is_lost_by_name),
        CASE(interrupt_messages_are_looked_for_in_memory),
        CASE(the_device_is_told_where_memory_is),
        CASE(what_the_device_reaches_stays_locked),
        CASE(many_pages_come_and_go),
        CASE(pages_that_follow_each_other_are_found),
        CASE(writes_to_watched_pages_end_a_wait),
        CASE(time_is_the_device_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
