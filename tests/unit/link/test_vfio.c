// SPDX-License-Identifier: Apache-2.0
// The way through VFIO, call by call (vfio_double.h). Each step is made to fail once.
#include "vfio_double.h"

#include <sys/ioctl.h>
#include <time.h>

static const struct ferry_vfio_system *own_calls; // Before the double takes their place.

static void calls_come_in_the_kernel_s_order(void **state)
{
    (void)state;
    struct ferry_link_description description = {0};
    struct ferry_link *link = NULL;
    put(CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND, 0x00100140); // Parity and system errors are others' affair.
    assert_int_equal(open_it(&link), FERRY_OK);
    assert_string_equal(kernel.said, "/dev/vfio/vfio API_VERSION EXTENSION /dev/vfio/12 STATUS SET_CONTAINER SET_IOMMU "
                                     "IOMMU_INFO DEVICE_FD CONFIG BAR0 mmap BAR2 mmap IRQ_INFO eventfd SET_IRQS ");
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
        {"IOMMU_INFO", EFAULT, FERRY_ERROR_BACKEND, "VFIO_IOMMU_GET_INFO: "},
        {"DEVICE_FD", ENODEV, FERRY_ERROR_BACKEND, "VFIO_GROUP_GET_DEVICE_FD: "},
        {"CONFIG", EINVAL, FERRY_ERROR_BACKEND, "VFIO_DEVICE_GET_REGION_INFO: "},
        {"BAR0", 0, FERRY_ERROR_BACKEND, "BAR0 of 0000:01:00.0 cannot be mapped"},
        {"BAR0", EINVAL, FERRY_ERROR_BACKEND, "VFIO_DEVICE_GET_REGION_INFO: "},
        {"BAR2", 0, FERRY_ERROR_BACKEND, "BAR2 of 0000:01:00.0 cannot be mapped"},
        {"mmap", EPERM, FERRY_ERROR_BACKEND, "mapping a BAR: "},
        {"IRQ_INFO", 0, FERRY_ERROR_BACKEND, "no interrupt messages that the kernel passes on"},
        {"IRQ_INFO", EINVAL, FERRY_ERROR_BACKEND, "VFIO_DEVICE_GET_IRQ_INFO: "},
        {"eventfd", EMFILE, FERRY_ERROR_BACKEND, "eventfd: "},
        {"SET_IRQS", ENOSPC, FERRY_ERROR_BACKEND, "no interrupt messages: "},
    };
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct ferry_link *link = NULL;
        kernel.said[0] = 0;
        kernel.fails = cases[n].step;
        kernel.error = cases[n].error;
        put(CONFIG_AT + FERRY_CONFIG_SPACE_COMMAND, 0x00100006); // As somebody before may have left it.
        assert_int_equal(open_it(&link), cases[n].result);
        if (strstr(ferry_problem(), cases[n].words) == NULL) {
            fail_msg("%s: '%s' is not in '%s'", cases[n].step, cases[n].words, ferry_problem());
        }
        assert_int_equal((command() & 4) == 0, strstr(kernel.said, "BAR0") != NULL);
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

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// As long as it is told at least, though the system counts in milliseconds; and not longer than until a message comes.
static void a_wait_is_as_long_as_it_is_told(void **state)
{
    (void)state;
    struct ferry_pci_place place;
    struct ferry_pci_function *function;
    assert_int_equal(ferry_pci_find(tree, TREE_AT, &place), FERRY_OK);
    assert_int_equal(ferry_pci_open_vfio(&place, &function), FERRY_OK);
    assert_int_equal(function->operations->interrupts_on(function), FERRY_OK);
    double start = now();
    for (int n = 0; n < 20; n++) {
        function->operations->wait(function, 900);
    }
    assert_true(now() - start >= 20 * 0.0009);
    start = now();
    function->operations->wait(function, 9000);
    assert_true(now() - start < 8);
    assert_int_equal(eventfd_write(kernel.event, 1), 0);
    start = now();
    function->operations->wait(function, 9000000);
    assert_true(now() - start < 8);
    assert_true(function->operations->interrupt(function));
    assert_false(function->operations->interrupt(function));
    function->operations->close(function);
}

static void half_a_word_of_configuration_space_is_none(void **state)
{
    (void)state;
    struct ferry_link *link;
    kernel.cut_reads = true;
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    kernel.cut_reads = false;
    kernel.cut_writes = true;
    assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "configuration space of 0000:01:00.0 cannot be written"));
    kernel.cut_writes = false;
    assert_int_equal(open_it(&link), FERRY_OK);
    link->operations->close(link);
}

static void each_bar_stands_where_the_kernel_has_it(void **state)
{
    (void)state;
    struct ferry_link *link;
    uint32_t word;
    put(BAR2_AT + 64, 0x12345678);
    assert_int_equal(open_it(&link), FERRY_OK);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_MAGIC, &word), FERRY_OK);
    assert_int_equal(word, FERRY_BAR0_MAGIC_RESET);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_WINDOW, 64, &word), FERRY_OK);
    assert_int_equal(word, 0x12345678);
    link->operations->close(link);
}

/// What the double stands for: memory of a file is the file's, and who looks for messages does not wait for one.
static void the_system_s_own_calls(void **state)
{
    (void)state;
    char byte = 0;
    uint64_t messages;
    const int file = own_calls->open(tree_path(TREE_FOLDER "/resource0"), O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    unsigned char *memory = own_calls->mmap(PAGE_BYTES, file, PAGE_BYTES);
    assert_true(memory != MAP_FAILED);
    memory[3] = 0x5a;
    assert_int_equal(__real_pread(file, &byte, 1, PAGE_BYTES + 3), 1);
    assert_int_equal(byte, 0x5a);
    munmap(memory, PAGE_BYTES);
    assert_int_equal(own_calls->ioctl(file, FIOCLEX, NULL), 0);
    const int event = own_calls->eventfd();
    assert_true(event >= 0);
    assert_int_not_equal(fcntl(event, F_GETFD) & FD_CLOEXEC, 0);
    assert_int_not_equal(fcntl(event, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(eventfd_write(event, 2), 0);
    assert_int_equal(read(event, &messages, sizeof(messages)), sizeof(messages));
    assert_int_equal(messages, 2);
    assert_int_equal(own_calls->close(event), 0);
    assert_int_equal(own_calls->close(file), 0);
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

/// The reset has begun when its registers are as after power-on, and is over when STATUS is.
static void a_reset_that_goes_on_is_waited_for(void **state)
{
    (void)state;
    struct ferry_link *link;
    put(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
    put(FERRY_BAR0_STATUS, FERRY_BAR0_STATUS_ENGINE_WRITE_MASK);
    assert_int_equal(open_it(&link), FERRY_ERROR_TIMEOUT);
    assert_non_null(strstr(ferry_problem(), "0000:01:00.0 has work of a program that died, and its reset has no end"));
    assert_int_equal(command() & 4, 0); // It never mastered the bus.
}

/// Its registers, or its configuration space, are not there behind the reset.
static void a_function_that_a_reset_takes_away_is_told(void **state)
{
    (void)state;
    const char *const steps[] = {"RESET", "SET_IRQS"};
    struct ferry_link *link;
    for (unsigned n = 0; n < 2; n++) {
        put(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
        kernel.last_words = steps[n];
        assert_int_equal(open_it(&link), FERRY_ERROR_BACKEND);
        assert_string_equal(ferry_problem(), "configuration space of 0000:01:00.0 cannot be written");
        assert_int_equal(command() & 4, 0);
        kernel.last_words = NULL;
        kernel.cut_writes = false;
        assert_int_equal(open_it(&link), FERRY_OK); // It has forgotten who died.
        kernel.last_words = steps[n];
        kernel.said[0] = 0;
        ferry_problem_clear();
        assert_int_equal(link->operations->reset(link), FERRY_ERROR_BACKEND);
        assert_string_equal(kernel.said, n == 0 ? "RESET " : "RESET SET_IRQS ");
        assert_string_equal(ferry_problem(), "configuration space of 0000:01:00.0 cannot be written");
        kernel.last_words = NULL;
        kernel.cut_writes = false;
        link->operations->close(link);
        assert_int_equal(command() & 4, 0);
    }
    put(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
    kernel.lost_by_reset = true;
    assert_int_equal(open_it(&link), FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 answers no more: it was reset, or sleeps");
    assert_int_equal(command() & 4, 0);
}

/// Its time goes on as before, and what it has told is not lost.
static void a_reset_that_fails_changes_nothing(void **state)
{
    (void)state;
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    const uint64_t one = 1;
    struct ferry_link *link;
    unsigned reasons = 0;
    assert_int_equal(open_it(&link), FERRY_OK);
    put(at, 1000);
    assert_int_equal(link->operations->cycles(link), 1000);
    assert_int_equal(write(kernel.event, &one, sizeof(one)), sizeof(one));
    kernel.fails = "RESET";
    for (int error = 0; error < 3; error++) {
        kernel.error = error == 0 ? ENOTTY : error == 1 ? EINVAL : EIO;
        assert_int_not_equal(link->operations->reset(link), FERRY_OK);
        put(at, 1500);
        assert_int_equal(link->operations->cycles(link), 1500);
        assert_int_equal(command() & 6, 6);
    }
    assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    assert_int_equal(link->operations->take_interrupts(link), 1);
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
    own_calls = ferry_vfio_system;
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(calls_come_in_the_kernel_s_order),
        CASE(each_step_that_fails_is_told),
        CASE(pages_are_mapped_for_the_device),
        CASE(a_message_ends_a_wait),
        CASE(work_of_who_died_is_reset),
        CASE(a_function_that_cannot_be_reset_says_so),
        CASE(a_group_without_an_iommu_is_none),
        CASE(a_reset_that_goes_on_is_waited_for),
        CASE(a_function_that_a_reset_takes_away_is_told),
        CASE(a_reset_that_fails_changes_nothing),
        CASE(a_wait_is_as_long_as_it_is_told),
        CASE(half_a_word_of_configuration_space_is_none),
        CASE(each_bar_stands_where_the_kernel_has_it),
        CASE(the_system_s_own_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
