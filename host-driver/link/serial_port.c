// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // flock()
#include "link/serial_port.h"

#include <asm/termbits.h> // termios2, whose rates are any numbers; it does not go with <termios.h>.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/major.h>
#include <linux/serial.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ferry/error.h"
#include "link/above_streams.h"
#include "link/file_user.h"
#include "link/problem.h"

// ---- Open -------------------------------------------------------------------------------------------------------

static int no_permission(const char *path)
{
    struct stat port;
    const struct group *group = stat(path, &port) == 0 && port.st_gid != 0 ? getgrgid(port.st_gid) : NULL;
    if (group != NULL && (port.st_mode & 060) == 060) {
        ferry_problem_set("%s is there, but you may not open it: join its group with `sudo usermod -aG %s $USER`, and "
                          "log in anew",
                          path, group->gr_name);
    } else {
        ferry_problem_set("%s is there, but you may not open it: a udev rule can give it a group, as in "
                          "SUBSYSTEM==\"tty\", ATTRS{idVendor}==\"0403\", GROUP=\"dialout\", MODE=\"0660\"",
                          path);
    }
    return FERRY_ERROR_BACKEND;
}

static int cannot_open(const char *path)
{
    switch (errno) {
    case EACCES:
    case EPERM: return no_permission(path);
    case EBUSY: return ferry_file_in_use(path, path);
    case ENOENT:
    case ENODEV:
    case ENXIO:
        ferry_problem_set("there is no %s; `ls /dev/serial/by-id` shows the ports that there are", path);
        return FERRY_ERROR_BACKEND;
    default: ferry_problem_set("cannot open %s: %s", path, strerror(errno)); return FERRY_ERROR_BACKEND;
    }
}

int ferry_serial_look(const char *path)
{
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0) {
        return cannot_open(path);
    }
    // Programs that lock no port read its bytes too.
    return ferry_file_user(path) != 0 ? ferry_file_in_use(path, path) : FERRY_OK;
}

/// Bytes as they are, at this rate. A port that has no such rate takes another one, and says so.
static bool make_raw(int fd, uint32_t baud, uint32_t *got)
{
    struct termios2 settings;
    if (ioctl(fd, TCGETS2, &settings) != 0) {
        return false;
    }
    settings.c_iflag = 0;
    settings.c_oflag = 0;
    settings.c_lflag = 0;
    settings.c_cflag = CS8 | CREAD | CLOCAL | BOTHER | BOTHER << IBSHIFT;
    settings.c_ispeed = settings.c_ospeed = baud;
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    if (ioctl(fd, TCSETS2, &settings) != 0 || ioctl(fd, TCGETS2, &settings) != 0) {
        return false;
    }
    *got = settings.c_ospeed;
    return true;
}

/// Adapters by FTDI keep what comes for 16 ms unless they are told. Others know nothing of it.
static void ask_for_short_ways(int fd)
{
    struct serial_struct port;
    if (ioctl(fd, TIOCGSERIAL, &port) == 0) {
        port.flags |= ASYNC_LOW_LATENCY;
        (void)ioctl(fd, TIOCSSERIAL, &port);
    }
}

/// The end of a pseudo terminal that programs open: a simulated device's port.
static bool is_pseudo(int fd)
{
    struct stat port;
    return fstat(fd, &port) == 0 && S_ISCHR(port.st_mode) && major(port.st_rdev) >= UNIX98_PTY_SLAVE_MAJOR &&
           major(port.st_rdev) < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT;
}

void ferry_serial_put_back(int fd, const struct ferry_serial_settings *before)
{
    // What was said at our rate is not to go out at the old one, and others may open the port again.
    (void)ioctl(fd, TCFLSH, TCIOFLUSH);
    (void)ioctl(fd, TIOCNXCL);
    (void)ioctl(fd, TCSETS2, before->words);
}

static int fail(int fd, const struct ferry_serial_settings *before)
{
    ferry_serial_put_back(fd, before);
    close(fd);
    return FERRY_ERROR_BACKEND;
}

int ferry_serial_open(const char *path, uint32_t baud, struct ferry_serial_settings *before)
{
    _Static_assert(sizeof(struct termios2) <= sizeof(before->words), "room for the kernel's settings");
    uint32_t got = 0;
    // Asked before this is one that has it open.
    const uint32_t user = ferry_file_user(path);
    const int fd = ferry_above_streams(open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (fd < 0) {
        return cannot_open(path);
    }
    // Before anything is changed: settings are the port's, not the descriptor's.
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return ferry_file_in_use(path, path);
    }
    // A terminal program may ask for no lock, and would take bytes that come. Other files have users that mean nothing.
    const bool is_port = ioctl(fd, TCGETS2, before->words) == 0;
    if (user != 0 && is_port) {
        close(fd);
        ferry_problem_set("%s is in use by process %u", path, user);
        return FERRY_ERROR_IN_USE;
    }
    if (!is_port) {
        ferry_problem_set(errno == ENOTTY ? "%s is no serial port" : "%s cannot be set up as a serial port", path);
        close(fd);
        return FERRY_ERROR_BACKEND;
    }
    if (!make_raw(fd, baud, &got)) {
        ferry_problem_set("%s cannot be set up as a serial port", path);
        return fail(fd, before);
    }
    // One stop bit bears 3 % and more, but the device's receiver, with four clocks a bit, 2 % (rtl/serial).
    if ((uint64_t)got * 100 < (uint64_t)baud * 98 || (uint64_t)got * 100 > (uint64_t)baud * 102) {
        ferry_problem_set("%s does %u baud, not %u: name a rate that both it and the device have, as in uart:%s@%u",
                          path, got, baud, path, got);
        return fail(fd, before);
    }
    // A pseudo terminal keeps this for as long as its other end is there, though the host that asked is long gone:
    // nobody but root could open it again. There the lock has to do.
    if (!is_pseudo(fd) && ioctl(fd, TIOCEXCL) != 0) {
        ferry_problem_set("%s cannot be had alone: %s", path, strerror(errno));
        return fail(fd, before);
    }
    ask_for_short_ways(fd);
    (void)ioctl(fd, TCFLSH, TCIOFLUSH);
    return fd;
}
