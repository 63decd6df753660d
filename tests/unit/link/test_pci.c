// SPDX-License-Identifier: Apache-2.0
// Back end `pci` on functions made of files, when it is opened: who is found, and who is refused in which words. The
// guest test has the same on a kernel's own.
#define _GNU_SOURCE // flock(), seteuid()
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "device/device.h"
#include "pci_fixture.h"

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

/// What is said at standard error while it is opened; the caller's until the next one.
static const char *said_while_opened(int expected)
{
    static char said[1024];
    struct ferry_link *link = NULL;
    FILE *file = tmpfile();
    const int kept = dup(2);
    assert_true(file != NULL && kept >= 0);
    fflush(stderr);
    dup2(fileno(file), 2);
    const int error = open_at(NULL, &link);
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = 0;
    fclose(file);
    assert_int_equal(error, expected);
    if (error == FERRY_OK) {
        link->operations->close(link);
    }
    return said;
}

/// In one line that names the function, each time that a device gets all of memory; and not when it does not get it.
static void who_has_no_iommu_is_warned(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++) {
        assert_string_equal(said_while_opened(FERRY_OK),
                            "ferry: 0000:01:00.0 has no IOMMU: the device can write to all of this machine's memory, "
                            "and a mistake in it or in this driver destroys data\n");
    }
    tree_text(TREE_FOLDER "/device", "0x1234\n");
    assert_string_equal(said_while_opened(FERRY_ERROR_BACKEND), "");
}

/// Domains behind a bridge of the processor's own (VMD) are numbered from 10000 on.
static void a_domain_has_more_than_four_digits(void **state)
{
    (void)state;
    struct ferry_pci_place place;
    tree_text("sys/bus/pci/devices/10000:e1:00.0/vendor", "0x1209\n");
    tree_text("sys/bus/pci/devices/10000:e1:00.0/device", "0xfe01\n");
    assert_true(ferry_pci_next(tree, TREE_AT, &place));
    assert_string_equal(place.address, "10000:e1:00.0");
    assert_int_equal(ferry_pci_find(tree, place.address, &place), FERRY_OK);
    assert_string_equal(place.address, "10000:e1:00.0");
    assert_false(ferry_pci_next(tree, place.address, &place));
    assert_int_equal(ferry_pci_find(tree, "fffffff:e1:00.0", &place), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "is no address of a PCI function"));
}

/// PCI Express (2.8) strongly recommends that a requester waits 10 ms at least; boards' clocks have 125 MHz at most.
/// And what it gives up is given up before who waits for it gives up the device.
static void a_host_has_ten_milliseconds_to_answer(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    const uint32_t delay = link->operations->delay == NULL ? 0 : link->operations->delay(link);
    assert_true(delay >= 125000 * 10);
    assert_true(delay + delay / 8 < FERRY_GPU_DEFAULT_TIMEOUT);
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
    refused(NULL, FERRY_ERROR_CONTRACT, "`make -C boards/X flash`");
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

/// A minor version adds, and what this driver does not know of it leaves alone.
static void another_minor_version_is_served(void **state)
{
    (void)state;
    for (uint32_t other = 1; other <= 0x8000; other <<= 5) {
        tree_set_word("resource0", FERRY_BAR0_CONTRACT_VERSION, FERRY_CONTRACT_VERSION ^ other);
        struct ferry_link *link = open_good();
        link->operations->close(link);
    }
}

static void work_of_who_died_is_reset_before_it_reaches_memory(void **state)
{
    (void)state;
    tree_set_word("resource0", FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
    tree_set_word("config", FERRY_CONFIG_SPACE_COMMAND, 6);
    unlink(tree_path(TREE_FOLDER "/reset"));
    refused(NULL, FERRY_ERROR_BACKEND, "has work of a program that died, and cannot be reset");
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    assert_int_equal(mkdir(tree_path(TREE_FOLDER "/reset"), 0755), 0);
    refused(NULL, FERRY_ERROR_BACKEND, TREE_FOLDER "/reset: Is a directory");
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    assert_int_equal(rmdir(tree_path(TREE_FOLDER "/reset")), 0);
    tree_text(TREE_FOLDER "/reset", "");
    refused(NULL, FERRY_ERROR_TIMEOUT, "its reset has no end"); // A file's registers do not change by it.
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    char told = 0;
    const int fd = open(tree_path(TREE_FOLDER "/reset"), O_RDONLY);
    assert_int_equal(read(fd, &told, 1), 1);
    assert_int_equal(told, '1');
    close(fd);
}

/// Who cannot be taken off the bus is not reset: what it had on its way would go to memory behind that.
static void a_function_that_stays_on_the_bus_is_not_reset(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    struct rlimit limit, none;
    struct stat reset;
    assert_int_equal(sigaction(SIGXFSZ, &ignored, &before), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = limit;
    none.rlim_cur = FERRY_CONFIG_SPACE_COMMAND; // A file is written up to there.
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const int error = link->operations->reset(link);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(sigaction(SIGXFSZ, &before, NULL), 0);
    assert_int_equal(error, FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), TREE_FOLDER "/reset: "));
    assert_int_equal(stat(tree_path(TREE_FOLDER "/reset"), &reset), 0);
    assert_int_equal(reset.st_size, 0);
    link->operations->close(link);
}

static void expect_enabled(const char *times)
{
    char there[8] = "";
    FILE *file = fopen(tree_path(TREE_FOLDER "/enable"), "r");
    assert_non_null(file);
    assert_non_null(fgets(there, sizeof(there), file));
    fclose(file);
    assert_string_equal(there, times);
}

/// The kernel counts how often a function was enabled, and has it so until it was disabled as often.
static void a_function_is_left_enabled_as_it_was_found(void **state)
{
    (void)state;
    struct ferry_link *link;
    tree_text(TREE_FOLDER "/enable", "0");
    for (unsigned n = 0; n < 2; n++) {
        link = open_good();
        expect_enabled("1");
        refused(NULL, FERRY_ERROR_IN_USE, "is in use");
        expect_enabled("1");
        link->operations->close(link);
        expect_enabled("0");
    }
    // A program that died has it enabled still.
    tree_text(TREE_FOLDER "/enable", "2");
    link = open_good();
    expect_enabled("2");
    link->operations->close(link);
    expect_enabled("2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(functions_are_found_by_address_and_by_id),
        CASE(who_has_no_iommu_is_warned),
        CASE(a_domain_has_more_than_four_digits),
        CASE(a_host_has_ten_milliseconds_to_answer),
        CASE(what_is_not_there_is_told),
        CASE(who_has_it_decides_the_way),
        CASE(a_second_host_is_told_who_is_the_first),
        CASE(permission_is_asked_for_by_name),
        CASE(a_kernel_that_moves_or_hides_memory_is_refused),
        CASE(what_answers_must_be_a_device_of_this_contract),
        CASE(another_minor_version_is_served),
        CASE(work_of_who_died_is_reset_before_it_reaches_memory),
        CASE(a_function_that_stays_on_the_bus_is_not_reset),
        CASE(a_function_is_left_enabled_as_it_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
