// SPDX-License-Identifier: Apache-2.0
// What ferry_adapter_list() tells of slots, serial ports and simulators, on folders made of files and on pseudo
// terminals; and that it leaves all of them as they were.
#define _GNU_SOURCE // posix_openpt(), seteuid()
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include "pci_tree.h"

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "link/pci_function.h"
#include "link/problem.h"
#include "link/serial_port.h"
#include "link/simulator_list.h"
#include "link/socket_address.h"

#define OTHER    "sys/bus/pci/devices/0000:00:02.0"
#define SECOND   "sys/bus/pci/devices/0000:02:00.0"
#define STRANGER 65534

static struct ferry_candidate got[8];
static size_t count;

static void take(void *context, const struct ferry_candidate *candidate)
{
    assert_ptr_equal(context, got);
    assert_in_range(count, 0, 7);
    assert_int_equal(candidate->size, sizeof(*candidate));
    got[count++] = *candidate;
}

static void list_pci(void)
{
    count = 0;
    ferry_pci_list(tree, take, got);
}

static void list_serial(void)
{
    count = 0;
    ferry_serial_list(tree, take, got);
}

static void list_simulators(void)
{
    count = 0;
    ferry_simulator_list(tree, take, got);
}

static void told(size_t n, enum ferry_reach reach, const char *backend, const char *what, const char *problem)
{
    // A port of the tree's stands below it.
    const bool ours = strncmp(backend, "uart:/dev/tty", 13) == 0;
    char whole[256];
    assert_in_range(n, 0, count - 1);
    snprintf(whole, sizeof(whole), "%s%s%s", ours ? "uart:" : "", ours ? tree : "", backend + (ours ? 5 : 0));
    assert_string_equal(got[n].backend, whole);
    assert_string_equal(got[n].what, what);
    if (got[n].reach != reach || strstr(got[n].problem, problem) == NULL || (problem[0] == 0 && got[n].problem[0])) {
        fail_msg("reach %d instead of %d, '%s' instead of '%s'", got[n].reach, reach, got[n].problem, problem);
    }
}

static int setup(void **state)
{
    (void)state;
    tree_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(seteuid(getuid()), 0);
    tree_drop();
    return 0;
}

/// A child that has the file open, until it is told to end by end_user().
static pid_t use(const char *path)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t user = fork();
    if (user == 0) {
        if (open(path, O_RDWR | O_NOCTTY) >= 0 && write(ready[1], "", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return user;
}

static void end_user(pid_t user)
{
    kill(user, SIGKILL);
    waitpid(user, NULL, 0);
}

// ---- Slots ------------------------------------------------------------------------------------------------------

static void functions_are_told_in_order_and_left_alone(void **state)
{
    (void)state;
    tree_text(OTHER "/vendor", "0x8086\n");
    tree_text(OTHER "/device", "0x1234\n");
    tree_text(SECOND "/vendor", "0x1209\n");
    tree_text(SECOND "/device", "0xfe01\n");
    tree_link(SECOND "/driver", "../../../../bus/pci/drivers/nouveau");
    tree_set_word("resource0", FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION); // Of one that died.
    list_pci();
    assert_int_equal(count, 2);
    told(0, FERRY_REACH_READY, "pci:0000:01:00.0", "PCI 1209:fe01, no IOMMU, 2.5 GT/s PCIe x1", "");
    told(1, FERRY_REACH_BLOCKED, "pci:0000:02:00.0", "PCI 1209:fe01, no IOMMU, driver nouveau",
         "`echo 0000:02:00.0 | sudo tee /sys/bus/pci/drivers/nouveau/unbind`");
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND), 0x00100000u);
    assert_int_equal(tree_word("resource0", FERRY_BAR0_HOST_CONTRACT), FERRY_CONTRACT_VERSION);
    struct stat file;
    assert_int_equal(stat(tree_path(TREE_FOLDER "/reset"), &file), 0);
    assert_int_equal(file.st_size, 0);
    assert_int_equal(stat(tree_path(TREE_FOLDER "/enable"), &file), 0);
    assert_int_equal(file.st_size, 0);
}

static void where_there_is_no_function_none_is_told(void **state)
{
    (void)state;
    tree_text(TREE_FOLDER "/device", "0x1234\n");
    list_pci();
    assert_int_equal(count, 0);
    ferry_pci_list("/nowhere", take, got);
    assert_int_equal(count, 0);
}

static void what_opening_would_refuse_is_told_in_its_words(void **state)
{
    (void)state;
    tree_text("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, "PCI 1209:fe01, no IOMMU, 2.5 GT/s PCIe x1",
         "locked down (Secure Boot)");
    tree_text("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    tree_text("proc/sys/kernel/numa_balancing", "1\n");
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, got[0].what, "`sudo sysctl vm.compact_unevictable_allowed=0");
    tree_text("proc/sys/kernel/numa_balancing", "0\n");
    unlink(tree_path(TREE_FOLDER "/resource2"));
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, got[0].what, "resource2: No such file");
    tree_link(TREE_FOLDER "/driver", "../../../../bus/pci/drivers/vfio-pci");
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, "PCI 1209:fe01, no IOMMU, driver vfio-pci, 2.5 GT/s PCIe x1",
         "there is no IOMMU");
    unlink(tree_path(TREE_FOLDER "/driver"));
    tree_link(TREE_FOLDER "/iommu_group", "../../../../kernel/iommu_groups/7");
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, "PCI 1209:fe01, IOMMU group 7, 2.5 GT/s PCIe x1",
         "`sudo modprobe vfio-pci");
}

static void a_function_in_use_is_told_with_its_user(void **state)
{
    (void)state;
    char words[64];
    const pid_t user = use(tree_path(TREE_FOLDER "/resource0"));
    snprintf(words, sizeof(words), "0000:01:00.0 is in use by process %d", (int)user);
    list_pci();
    told(0, FERRY_REACH_IN_USE, "pci:" TREE_AT, got[0].what, words);
    end_user(user);
    list_pci();
    told(0, FERRY_REACH_READY, "pci:" TREE_AT, got[0].what, "");
}

static void permission_is_looked_at_file_by_file(void **state)
{
    (void)state;
    static const char *const names[] = {"resource0", "resource2", "config"};
    char words[256];
    for (unsigned n = 0; n < 3; n++) {
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(chmod(tree_path(TREE_FOLDER "/%s", names[k]), k == n ? 0444 : 0666), 0);
        }
        assert_int_equal(seteuid(getuid() == 0 ? STRANGER : getuid()), 0);
        list_pci();
        assert_int_equal(seteuid(getuid()), 0);
        snprintf(words, sizeof(words), "you may not open %s", tree_path(TREE_FOLDER "/%s", names[n]));
        told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, got[0].what, words);
    }
}

static void a_group_is_judged_as_the_kernel_does(void **state)
{
    (void)state;
    static const struct {
        const char *driver;
        enum ferry_reach reach;
    } neighbours[] = {{"", FERRY_REACH_READY},         {"vfio-pci", FERRY_REACH_READY}, {"pcieport", FERRY_REACH_READY},
                      {"pci-stub", FERRY_REACH_READY}, {"e1000", FERRY_REACH_BLOCKED},  {"vfio", FERRY_REACH_BLOCKED}};
    const char *what = "PCI 1209:fe01, IOMMU group 7, driver vfio-pci, 2.5 GT/s PCIe x1";
    char words[128];
    tree_link(TREE_FOLDER "/driver", "../../../../bus/pci/drivers/vfio-pci");
    tree_text("sys/kernel/iommu_groups/7/type", "DMA\n");
    tree_link("sys/kernel/iommu_groups/7/devices/" TREE_AT, "../../../../bus/pci/devices/" TREE_AT);
    tree_link("sys/kernel/iommu_groups/7/devices/0000:00:02.0", "../../../../bus/pci/devices/0000:00:02.0");
    tree_link(TREE_FOLDER "/iommu_group", "../../../../kernel/iommu_groups/7");
    tree_text(OTHER "/vendor", "0x8086\n");
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, what, "`sudo modprobe vfio-pci` makes it");
    tree_text("dev/vfio/vfio", "");
    list_pci();
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, what, "/dev/vfio/7: No such file");
    tree_text("dev/vfio/7", "");
    for (unsigned n = 0; n < sizeof(neighbours) / sizeof(neighbours[0]); n++) {
        unlink(tree_path(OTHER "/driver"));
        if (neighbours[n].driver[0] != 0) {
            char target[64];
            snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", neighbours[n].driver);
            tree_link(OTHER "/driver", target);
        }
        list_pci();
        told(0, neighbours[n].reach, "pci:" TREE_AT, what,
             neighbours[n].reach == FERRY_REACH_READY ? ""
                                                      : "shares IOMMU group 7 with a device that another driver has");
    }
    unlink(tree_path(OTHER "/driver"));
    const pid_t user = use(tree_path("dev/vfio/7"));
    snprintf(words, sizeof(words), "is in use by process %d", (int)user);
    list_pci();
    told(0, FERRY_REACH_IN_USE, "pci:" TREE_AT, what, words);
    end_user(user);
    assert_int_equal(chmod(tree_path("dev/vfio/vfio"), 0666) + chmod(tree_path("dev/vfio/7"), 0444), 0);
    assert_int_equal(seteuid(getuid() == 0 ? STRANGER : getuid()), 0);
    list_pci();
    assert_int_equal(seteuid(getuid()), 0);
    snprintf(words, sizeof(words), "`sudo chown $USER %s`", tree_path("dev/vfio/7"));
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, what, words);
    assert_int_equal(chmod(tree_path("dev/vfio/vfio"), 0444) + chmod(tree_path("dev/vfio/7"), 0666), 0);
    assert_int_equal(seteuid(getuid() == 0 ? STRANGER : getuid()), 0);
    list_pci();
    assert_int_equal(seteuid(getuid()), 0);
    snprintf(words, sizeof(words), "cannot open %s: Permission denied", tree_path("dev/vfio/vfio"));
    told(0, FERRY_REACH_BLOCKED, "pci:" TREE_AT, what, words);
}

// ---- Serial ports -----------------------------------------------------------------------------------------------

/// A pseudo terminal as a port of the tree; the descriptor of its other end.
static int make_port(const char *name, char path[64])
{
    char at[64];
    const int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 && ptsname_r(fd, path, 64) == 0);
    snprintf(at, sizeof(at), "dev/%s", name);
    tree_link(at, path);
    return fd;
}

static void no_port_is_none(void **state)
{
    (void)state;
    list_serial();
    assert_int_equal(count, 0);
    tree_text("dev/ttyS0", "");
    tree_text("dev/tty1", "");
    list_serial();
    assert_int_equal(count, 0);
}

static void ports_are_told_with_what_usb_says_of_them(void **state)
{
    (void)state;
    char path[64];
    const int ports[] = {make_port("ttyUSB10", path), make_port("ttyUSB2", path), make_port("ttyACM0", path),
                         make_port("ttyXR0", path)};
#define USB "sys/devices/usb1/1-"
    tree_text(USB "1/idVendor", "0403\n");
    tree_text(USB "1/idProduct", "6015\n");
    tree_text(USB "1/manufacturer", "FER-RADIONA-EMARD\n");
    tree_text(USB "1/product", "ULX3S FPGA 85K v3.0.8\n");
    tree_text(USB "1/1-1:1.0/ttyUSB2/port_number", "0\n");
    tree_link("sys/class/tty/ttyUSB2/device", "../../../devices/usb1/1-1/1-1:1.0/ttyUSB2");
    tree_text(USB "2/idVendor", "1209\n");
    tree_text(USB "2/idProduct", "0001\n");
    tree_text(USB "2/1-2:1.0/bInterfaceNumber", "00\n");
    tree_link("sys/class/tty/ttyACM0/device", "../../../devices/usb1/1-2/1-2:1.0");
    tree_link("dev/serial/by-id/usb-A-if00", "../../ttyUSB2");
    tree_link("dev/serial/by-id/usb-B-if00", "../../ttyXR0");
    tree_link("dev/serial/by-id/usb-C-if00", "../../ttyGONE");
    list_serial();
    assert_int_equal(count, 5);
    told(0, FERRY_REACH_UNKNOWN, "uart:/dev/ttyACM0", "serial port, USB 1209:0001", "");
    told(1, FERRY_REACH_BLOCKED, "uart:/dev/ttyGONE", "serial port", "there is no ");
    told(2, FERRY_REACH_UNKNOWN, "uart:/dev/ttyUSB2",
         "serial port, USB 0403:6015, FER-RADIONA-EMARD, ULX3S FPGA 85K v3.0.8", "");
    told(3, FERRY_REACH_UNKNOWN, "uart:/dev/ttyUSB10", "serial port", "");
    told(4, FERRY_REACH_UNKNOWN, "uart:/dev/ttyXR0", "serial port", "");
    for (unsigned n = 0; n < 4; n++) {
        close(ports[n]);
    }
}

static void a_port_in_use_or_another_s_is_told(void **state)
{
    (void)state;
    char path[64], words[64];
    const int port = make_port("ttyUSB0", path);
    const pid_t user = use(path);
    list_serial();
    snprintf(words, sizeof(words), "is in use by process %d", (int)user);
    told(0, FERRY_REACH_IN_USE, "uart:/dev/ttyUSB0", "serial port", words);
    end_user(user);
    list_serial();
    told(0, FERRY_REACH_UNKNOWN, "uart:/dev/ttyUSB0", "serial port", "");
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(seteuid(getuid() == 0 ? STRANGER : getuid()), 0);
    list_serial();
    assert_int_equal(seteuid(getuid()), 0);
    told(0, FERRY_REACH_BLOCKED, "uart:/dev/ttyUSB0", "serial port", "is there, but you may not open it");
    close(port);
}

// ---- Simulators -------------------------------------------------------------------------------------------------

static void put_process(unsigned process, const char *name, const char *arguments, size_t bytes)
{
    char file[64];
    snprintf(file, sizeof(file), "proc/%u/comm", process);
    tree_text(file, name);
    snprintf(file, sizeof(file), "proc/%u/cmdline", process);
    tree_put(file, arguments, bytes);
    snprintf(file, sizeof(file), "proc/%u/cwd", process);
    tree_link(file, tree);
}
#define PROCESS(process, name, arguments) put_process(process, name "\n", arguments, sizeof(arguments))

static void simulators_are_told_where_a_host_finds_them(void **state)
{
    (void)state;
    char backend[128], words[128];
    tree_text("here", "");
    PROCESS(7, "ferry-sim",
            "ferry-sim\0--seed\0"
            "3\0--listen\0unix:here");
    list_simulators();
    assert_int_equal(count, 1);
    snprintf(backend, sizeof(backend), "socket:unix:%s/here", tree);
    told(0, FERRY_REACH_READY, backend, "ferry-sim, process 7", "");
    PROCESS(7, "ferry-sim", "ferry-sim\0--listen\0localhost:4711");
    list_simulators();
    told(0, FERRY_REACH_READY, "socket:localhost:4711", "ferry-sim, process 7", "");
    PROCESS(7, "ferry-sim", "ferry-sim\0--listen\0/nowhere/at/all");
    list_simulators();
    told(0, FERRY_REACH_BLOCKED, "socket:unix:/nowhere/at/all", "ferry-sim, process 7",
         "you may not connect to unix:/nowhere");
    assert_int_equal(chmod(tree_path("here"), 0444), 0);
    PROCESS(7, "ferry-sim", "ferry-sim\0--listen\0unix:here");
    assert_int_equal(seteuid(getuid() == 0 ? STRANGER : getuid()), 0);
    list_simulators();
    assert_int_equal(seteuid(getuid()), 0);
    snprintf(words, sizeof(words), "you may not connect to unix:%s/here", tree);
    told(0, FERRY_REACH_BLOCKED, backend, "ferry-sim, process 7", words);
    // A path without its folder is no path of ours, be there something or not.
    PROCESS(7, "ferry-sim", "ferry-sim\0--listen\0unix:tmp");
    assert_int_equal(unlink(tree_path("proc/7/cwd")), 0);
    list_simulators();
    told(0, FERRY_REACH_BLOCKED, "socket:unix:tmp", "ferry-sim, process 7", "it listens in a folder of its own");
}

/// Anybody may call a process of his ferry-sim, and have it name any place at all: nobody else connects there unasked.
static void another_user_s_simulator_is_told_as_such(void **state)
{
    (void)state;
    PROCESS(7, "ferry-sim", "ferry-sim\0--listen\0localhost:4711");
    tree_text("proc/7/status", "Name:\tferry-sim\nUid:\t4294967294\t0\t0\t0\n"); // Root's.
    list_simulators();
    told(0, FERRY_REACH_READY, "socket:localhost:4711", "ferry-sim, process 7", "");
    tree_text("proc/7/status", "Name:\tferry-sim\nUid:\t0\t4294967294\t0\t0\n");
    list_simulators();
    told(0, FERRY_REACH_FOREIGN, "socket:localhost:4711", "ferry-sim, process 7", "it is user 4294967294's, and");
}

static void who_cannot_connect_is_told_what_to_do(void **state)
{
    (void)state;
    char address[128];
    snprintf(address, sizeof(address), "unix:%s/socket", tree);
    assert_int_equal(ferry_socket_connect(address), -1);
    assert_non_null(strstr(ferry_problem(), "nobody listens: `ferry-sim --listen ADDRESS`"));
    const int fd = ferry_socket_listen(address);
    assert_true(fd >= 0);
    assert_int_equal(chmod(tree_path("socket"), 0600), 0);
    if (getuid() == 0) { // Everybody else may do as he likes with his own.
        assert_int_equal(seteuid(STRANGER), 0);
        assert_int_equal(ferry_socket_connect(address), -1);
        assert_int_equal(seteuid(0), 0);
        assert_non_null(strstr(ferry_problem(), "who started ferry-sim may open it: `chmod` the socket"));
    }
    close(fd);
    assert_int_equal(ferry_socket_connect(address), -1);
    assert_non_null(strstr(ferry_problem(), "refused; nobody listens"));
}

/// A path of 107 letters and its end are as long as sun_path, a name of 255 and its end as the room for one.
static void an_address_is_as_long_as_there_is_room(void **state)
{
    (void)state;
    char address[300];
    for (size_t length = 107; length <= 108; length++) {
        snprintf(address, sizeof(address), "unix:%s/%0*d", tree, (int)(length - strlen(tree) - 1), 0);
        assert_int_equal(ferry_socket_connect(address), -1);
        assert_non_null(strstr(ferry_problem(), length == 107 ? "No such file" : "too long for a socket"));
    }
    memset(address, '1', 256);
    snprintf(address + 256, sizeof(address) - 256, ":1");
    assert_int_equal(ferry_socket_connect(address), -1);
    assert_non_null(strstr(ferry_problem(), "no unix:PATH and no HOST:PORT"));
}

static void an_address_with_colons_stands_in_brackets(void **state)
{
    (void)state;
    // Nobody listens at port 1; a machine without IPv6 says so in other words, but it has understood the address.
    assert_int_equal(ferry_socket_connect("[::1]:1"), -1);
    const char *why = strstr(ferry_problem(), "connect to [::1]:1: ");
    if (why == NULL || (strstr(why, "refused") == NULL && strstr(why, strerror(EADDRNOTAVAIL)) == NULL &&
                        strstr(why, strerror(EAFNOSUPPORT)) == NULL)) {
        fail_msg("%s", ferry_problem());
    }
}

static void what_serves_no_host_is_no_simulator(void **state)
{
    (void)state;
    PROCESS(7, "ferry-sim", "ferry-sim\0--pci\0unix:/tmp/slot");
    PROCESS(8, "ferry-sims",
            "ferry-sim\0--listen\0"
            "4711");
    PROCESS(9, "ferry-sim", "");
    PROCESS(10, "ferry-sim", "ferry-sim\0--listen");
    PROCESS(11, "ferry-sim", "ferry-sim\0--uart");
    static const char far[] =
        "ferry-sim\0--listen\0unix:/0123456789012345678901234567890123456789012345678901234567890123456789"
        "012345678901234567890123456789012345678901234567890";
    PROCESS(12, "ferry-sim", far);
    list_simulators();
    assert_int_equal(count, 0);
}

static void a_simulated_serial_port_is_told_by_its_number(void **state)
{
    (void)state;
    char path[64], backend[80], words[128], text[64];
    const int port = make_port("unused", path);
    snprintf(backend, sizeof(backend), "uart:%s", path);
    PROCESS(7, "ferry-sim", "ferry-sim\0--uart");
    tree_text("proc/7/fdinfo/0", "pos:\t0\nflags:\t0100002\nmnt_id:\t27\n");
    snprintf(text, sizeof(text), "pos:\t0\nflags:\t02\ntty-index:\t%s\n", strrchr(path, '/') + 1);
    tree_text("proc/7/fdinfo/3", text);
    list_simulators();
    assert_int_equal(count, 1);
    told(0, FERRY_REACH_READY, backend, "ferry-sim, process 7", "");
    const pid_t user = use(path);
    list_simulators();
    snprintf(words, sizeof(words), "%s is in use by process %d", path, (int)user);
    told(0, FERRY_REACH_IN_USE, backend, "ferry-sim, process 7", words);
    end_user(user);
    close(port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(functions_are_told_in_order_and_left_alone),
        CASE(where_there_is_no_function_none_is_told),
        CASE(what_opening_would_refuse_is_told_in_its_words),
        CASE(a_function_in_use_is_told_with_its_user),
        CASE(permission_is_looked_at_file_by_file),
        CASE(a_group_is_judged_as_the_kernel_does),
        CASE(no_port_is_none),
        CASE(ports_are_told_with_what_usb_says_of_them),
        CASE(a_port_in_use_or_another_s_is_told),
        CASE(simulators_are_told_where_a_host_finds_them),
        CASE(another_user_s_simulator_is_told_as_such),
        CASE(what_serves_no_host_is_no_simulator),
        CASE(who_cannot_connect_is_told_what_to_do),
        CASE(an_address_is_as_long_as_there_is_room),
        CASE(an_address_with_colons_stands_in_brackets),
        CASE(a_simulated_serial_port_is_told_by_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
