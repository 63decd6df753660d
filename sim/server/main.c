// SPDX-License-Identifier: Apache-2.0
// ferry-sim: the simulated device as a process of its own, for hosts on this machine or elsewhere.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/version.h"
#include "link/problem.h"
#include "link/socket_address.h"
#include "server/pci.h"
#include "server/serial.h"
#include "server/server.h"
#include "server/usb.h"

#define MOST_DEVICES 8u

enum { EXIT_USAGE = 2, EXIT_SYSTEM = 4 };

static const char help[] =
    "usage: ferry-sim --listen ADDRESS [OPTIONS]\n"
    "       ferry-sim --uart [OPTIONS]\n"
    "       ferry-sim --usb ADDRESS [OPTIONS]\n"
    "       ferry-sim [OPTIONS] --pci unix:PATH | --pci -- COMMAND...\n"
    "\n"
    "Simulates a device (Verilated RTL) for hosts that connect: `ferry COMMAND --backend socket:ADDRESS`. Its clock "
    "runs\n"
    "only while a host says so. A host that goes leaves the device as it is, and the next one resets it. Ends with\n"
    "SIGINT or SIGTERM.\n"
    "\n"
    "  --listen ADDRESS   unix:PATH, or HOST:PORT; a port alone is one of this machine, 0.0.0.0:PORT is open to "
    "others,\n"
    "                     who can then read and write what the device may: there is no password\n"
    "  --uart             a device at a serial port instead: Verilog down to the two pins, at the far end of a pseudo\n"
    "                     terminal, for `ferry COMMAND --backend uart:PATH`; its clock runs while there is work\n"
    "  --usb ADDRESS      a device at a USB port: Verilog down to the two pins, for a virtual machine (QEMU's "
    "usb-redir), "
    "in\n"
    "                     which `ferry COMMAND --backend usb` finds it; ADDRESS as for --listen\n"
    "  --pci unix:PATH    a device in a PCI slot of a virtual machine: QEMU connects, with `-device "
    "x-pci-proxy-dev,fd=N`,\n"
    "                     from a descriptor N that is connected to this socket; its memory must be shared (see the "
    "manual)\n"
    "  --pci -- COMMAND   start QEMU, with the slot at descriptor 3, and end with it\n"
    "  --devices N        devices behind the address, 1 to 8, each for one host at a time (1)\n"
    "  --latency N        memory read latency of N cycles instead of the DRAM model\n"
    "  --link-latency N   one-way latency of the link in cycles (100)\n"
    "  --stall PERCENT    refuse this share of all handshakes\n"
    "  --seed N           seed of the simulation (1)\n"
    "  --wave FILE        write waves of the first device (FST)\n"
    "\n"
    "Says `listening on ADDRESS`, or `serial port at PATH`, on the standard output once hosts may come. Exit codes:\n"
    "0 ended by a signal, 2 a bad command line, 4 the system failed; with `--pci -- COMMAND`, those of the command.\n";

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

struct settings {
    const char *address;
    unsigned addresses; // So many were given.
    bool uart, pci, usb;
    char **command; // To be started for --pci, or NULL.
    uint64_t devices;
    uint64_t latency, link_latency, stall, seed;
    const char *wave_file;
};

static int usage(const char *format, const char *what)
{
    fprintf(stderr, "ferry-sim: ");
    fprintf(stderr, format, what);
    fprintf(stderr, "; try `ferry-sim --help`\n");
    return EXIT_USAGE;
}

static int read_options(int count, char **arguments, struct settings *settings)
{
    const struct {
        const char *name;
        const char **text;
        uint64_t *number;
        uint64_t least, most;
    } options[] = {
        {"--listen", &settings->address, NULL, 0, 0},
        {"--usb", &settings->address, NULL, 0, 0},
        {"--devices", NULL, &settings->devices, 1, MOST_DEVICES},
        {"--latency", NULL, &settings->latency, 1, 100000},
        {"--link-latency", NULL, &settings->link_latency, 1, 100000},
        {"--stall", NULL, &settings->stall, 0, 90},
        {"--seed", NULL, &settings->seed, 0, UINT64_MAX},
        {"--wave", &settings->wave_file, NULL, 0, 0},
    };
    const size_t known = sizeof(options) / sizeof(options[0]);
    for (int n = 1; n < count; n += 2) {
        size_t which = 0;
        if (strcmp(arguments[n], "--uart") == 0) {
            settings->uart = true;
            n--;
            continue;
        }
        if (strcmp(arguments[n], "--pci") == 0) {
            settings->pci = true;
            if (n + 1 < count && strcmp(arguments[n + 1], "--") == 0) {
                settings->command = n + 2 < count ? &arguments[n + 2] : NULL;
                break;
            }
            settings->address = n + 1 < count ? arguments[n + 1] : NULL;
            settings->addresses++;
            continue;
        }
        while (which < known && strcmp(options[which].name, arguments[n]) != 0) {
            which++;
        }
        if (which == known) {
            return usage("there is no option '%s'", arguments[n]);
        }
        const char *value = n + 1 < count ? arguments[n + 1] : "";
        if (*value == 0) {
            return usage("%s needs a value", arguments[n]);
        }
        if (strcmp(arguments[n], "--usb") == 0) {
            settings->usb = true;
        }
        if (options[which].text != NULL) {
            *options[which].text = value;
            settings->addresses += options[which].text == &settings->address;
            continue;
        }
        char *end;
        errno = 0;
        const uint64_t number = strtoull(value, &end, 0);
        if (*end != 0 || !isdigit((unsigned char)*value) || errno != 0 || number < options[which].least ||
            number > options[which].most) {
            return usage("%s: no number that it takes", arguments[n]);
        }
        *options[which].number = number;
    }
    if (settings->uart && (settings->address != NULL || settings->devices != 1 || settings->wave_file != NULL)) {
        return usage("%s", "--uart is one device, without --listen, --devices and --wave");
    }
    if (settings->usb && (settings->pci || settings->devices != 1 || settings->wave_file != NULL)) {
        return usage("%s", "--usb is one device, without --pci, --devices and --wave");
    }
    if (settings->pci &&
        (settings->uart || settings->devices != 1 ||
         (settings->command == NULL && (settings->address == NULL || ferry_socket_path(settings->address) == NULL)))) {
        return usage("%s", "--pci is one device, at unix:PATH or for a command behind --");
    }
    if (settings->addresses + (settings->command != NULL) > 1) {
        return usage("%s", "there is one device's place: one --listen, --usb or --pci");
    }
    if (settings->address == NULL) {
        return settings->uart || settings->pci ? 0 : usage("%s is missing", "--listen ADDRESS");
    }
    const char *wrong = ferry_socket_wrong(settings->address);
    return wrong != NULL ? usage("no address to listen on: %s", wrong) : 0;
}

static void configure(const struct settings *settings, struct ferry_sim_config *config)
{
    ferry_sim_default_config(config);
    config->read_latency = (uint32_t)settings->latency;
    config->link_latency = settings->link_latency != 0 ? (uint32_t)settings->link_latency : config->link_latency;
    config->stall_percent = (uint32_t)settings->stall;
    config->seed = settings->seed;
    config->wave_file = settings->wave_file;
}

static int make_devices(const struct settings *settings, struct server_device *devices)
{
    for (uint64_t n = 0; n < settings->devices; n++) {
        struct ferry_sim_config config;
        configure(settings, &config);
        config.seed += n;
        config.wave_file = n == 0 ? config.wave_file : NULL;
        devices[n].sim = ferry_sim_open(&config);
        if (devices[n].sim == NULL) {
            fprintf(stderr, "ferry-sim: no memory for the device%s%s\n",
                    config.wave_file != NULL ? ", or no file can be written at " : "",
                    config.wave_file != NULL ? config.wave_file : "");
            return EXIT_SYSTEM;
        }
    }
    return 0;
}

/// Blocked but where they are waited for; and before a device is made, since its threads would hear them instead of who
/// waits.
static void hear_signals(void)
{
    const struct sigaction ends = {.sa_handler = on_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
}

static int serve_port(const struct settings *settings)
{
    struct ferry_sim_config config;
    configure(settings, &config);
    return serial_run(&config, &stop) == 0 ? 0 : EXIT_SYSTEM;
}

/// The socket's file, as it was made: what stands there later may be another's, who took the path meanwhile.
static void take_away(const char *path, const struct stat *made)
{
    struct stat there;
    if (path != NULL && lstat(path, &there) == 0 && there.st_dev == made->st_dev && there.st_ino == made->st_ino &&
        S_ISSOCK(there.st_mode)) {
        unlink(path);
    }
}

static int listen_and_serve(const struct settings *settings, struct server_device *devices)
{
    const int listener = ferry_socket_listen(settings->address);
    const char *path = ferry_socket_path(settings->address);
    struct stat made = {0};
    if (listener < 0) {
        fprintf(stderr, "ferry-sim: %s\n", ferry_problem());
        return EXIT_SYSTEM;
    }
    if (path != NULL) {
        (void)lstat(path, &made);
    }
    printf("listening on %s\n", settings->address);
    fflush(stdout);
    struct ferry_sim_config config;
    configure(settings, &config);
    const int error = settings->pci   ? pci_listen(listener, &config, &stop)
                      : settings->usb ? usb_run(listener, &config, &stop)
                                      : server_run(listener, devices, (unsigned)settings->devices, &stop);
    close(listener);
    take_away(path, &made);
    return error == 0 ? 0 : EXIT_SYSTEM;
}

static int start_machine(const struct settings *settings)
{
    struct ferry_sim_config config;
    configure(settings, &config);
    const int status = pci_start(settings->command, &config, &stop);
    return status < 0 ? EXIT_SYSTEM : status;
}

/// A stream that is closed would be the next file or socket that is opened, and what is said to people would go there.
static void keep_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDWR);
        }
    }
}

int main(int count, char **arguments)
{
    struct settings settings = {.devices = 1, .seed = 1};
    struct server_device devices[MOST_DEVICES] = {{0}};
    keep_streams();
    if (count == 2 && (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0)) {
        fputs(help, stdout);
        return fflush(stdout) == 0 ? 0 : EXIT_SYSTEM;
    }
    if (count == 2 && strcmp(arguments[1], "--version") == 0) {
        printf("ferry-sim %d.%d.%d\n", FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH);
        return fflush(stdout) == 0 ? 0 : EXIT_SYSTEM;
    }
    int status = read_options(count, arguments, &settings);
    hear_signals();
    if (status == 0 && settings.uart) {
        return serve_port(&settings);
    }
    if (status == 0 && settings.command != NULL) {
        return start_machine(&settings);
    }
    status = status == 0 && !settings.pci && !settings.usb ? make_devices(&settings, devices) : status;
    status = status == 0 ? listen_and_serve(&settings, devices) : status;
    for (unsigned n = 0; n < MOST_DEVICES; n++) {
        if (devices[n].sim != NULL) {
            ferry_sim_close(devices[n].sim);
        }
        ferry_packet_queue_end(&devices[n].back);
    }
    return status;
}
