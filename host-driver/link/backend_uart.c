// SPDX-License-Identifier: Apache-2.0
// Back end `uart`: a device at a serial port of this machine, uart:PORT or uart:PORT@BAUD.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/fd_channel.h"
#include "link/link.h"
#include "link/problem.h"
#include "link/serial_port.h"

#define DEFAULT_BAUD 3000000u
#define BITS_A_BYTE  10u // With a start and a stop bit.
#define MOST_PATH    192 // Names of udev's in /dev/serial/by-id have a hundred characters and more.

/// false = no address, or a rate that no port has. A port without a folder is one of /dev.
static bool read_address(const char *address, char path[MOST_PATH], uint32_t *baud)
{
    const char *at = strrchr(address, '@');
    const size_t length = at == NULL ? strlen(address) : (size_t)(at - address);
    const int written =
        snprintf(path, MOST_PATH, "%s%.*s", memchr(address, '/', length) != NULL ? "" : "/dev/", (int)length, address);
    *baud = DEFAULT_BAUD;
    if (at != NULL) {
        char *end;
        const unsigned long rate = strtoul(at + 1, &end, 10);
        if (*end != 0 || at[1] < '0' || at[1] > '9' || rate < FERRY_SERIAL_LEAST_BAUD ||
            rate > FERRY_SERIAL_MOST_BAUD) {
            return false;
        }
        *baud = (uint32_t)rate;
    }
    return length != 0 && written < MOST_PATH;
}

static int open_uart(const struct ferry_link_config *config, struct ferry_link **link)
{
    char path[MOST_PATH], medium[64], silent[160];
    uint32_t baud;
    if (!read_address(config->address, path, &baud)) {
        ferry_problem_set("'%s' is no PORT and no PORT@BAUD with %u to %u baud", config->address,
                          FERRY_SERIAL_LEAST_BAUD, FERRY_SERIAL_MOST_BAUD);
        return FERRY_ERROR_BACKEND;
    }
    struct ferry_serial_settings before;
    const int fd = ferry_serial_open(path, baud, &before);
    if (fd < 0) {
        return fd;
    }
    snprintf(medium, sizeof(medium), "serial port, %u baud", baud);
    snprintf(silent, sizeof(silent), "is it on, is its bitstream loaded, is %u its baud rate (uart:PORT@BAUD)?", baud);
    struct ferry_channel channel = {
        .bytes_per_second = baud / BITS_A_BYTE,
        .where = path,
        .medium = medium,
        .closed = "the port is gone: unplugged, or its other end closed",
        .silent = silent,
    };
    // The link closes its own when nobody answers, and the settings are still to be put back.
    const int spare = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = ferry_fd_channel(fd, false, &channel);
    error = error != FERRY_OK ? error : ferry_framed_open(&channel, config, link);
    if (spare >= 0) {
        if (error != FERRY_OK) {
            ferry_serial_put_back(spare, &before);
        }
        close(spare);
    }
    return error;
}

static void list_uart(ferry_candidate_callback *callback, void *context)
{
    ferry_serial_list("", callback, context);
}

const struct ferry_backend ferry_backend_uart = {
    .name = "uart", .has_address = true, .open = open_uart, .list = list_uart};
