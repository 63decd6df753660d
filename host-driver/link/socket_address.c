// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // flock()
#include "link/socket_address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "link/above_streams.h"
#include "link/problem.h"

#define CONNECT_SECONDS 10  // For who listens to take one that comes, or for another machine to say anything.
#define TURN_SLICES     300 // Of 10 ms each.
#define HOST_BYTES      256 // With the end of its name.

const char *ferry_socket_path(const char *address)
{
    if (strncmp(address, "unix:", 5) == 0) {
        return address + 5;
    }
    return strchr(address, '/') != NULL ? address : NULL;
}

const char *ferry_socket_wrong(const char *address)
{
    const char *path = ferry_socket_path(address), *colon = strrchr(address, ':');
    if (path != NULL) {
        const bool fits = path[0] != 0 && strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path);
        return fits ? NULL : "no path, or one too long for a socket";
    }
    const char *port = colon != NULL ? colon + 1 : address;
    if (port - address > HOST_BYTES || port[0] == 0 || port[strspn(port, "0123456789")] != 0) {
        return "it is no unix:PATH and no HOST:PORT";
    }
    // getaddrinfo() takes a port's low bits; at port 0 the system chooses one, which nobody would be told.
    const unsigned long number = strtoul(port, NULL, 10);
    return number > UINT16_MAX ? "no port is above 65535" : number == 0 ? "no port is 0" : NULL;
}

static int fail(int fd, const char *what, const char *address, const char *why)
{
    // A path is shorter; of what is too long to be one the reason counts.
    ferry_problem_set("cannot %s %.130s: %s", what, address, why);
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/// Of a connection, with what to do about it.
static const char *why_not(int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENOENT:
        return error == ENOENT ? "No such file or directory; nobody listens: `ferry-sim --listen ADDRESS`"
                               : "Connection refused; nobody listens: `ferry-sim --listen ADDRESS`";
    case EACCES:
    case EPERM: return "Permission denied; who started ferry-sim may open it: `chmod` the socket, or be that user";
    case EAGAIN:
    case EINPROGRESS: return "whoever listens there takes no connection: is it stopped?";
    default: return strerror(error);
    }
}

static int make(int family)
{
    // The time is that of connect() alone: afterwards nothing waits in the system.
    const struct timeval time = {.tv_sec = CONNECT_SECONDS};
    const int fd = ferry_above_streams(socket(family, SOCK_STREAM, 0));
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
    }
    return fd;
}

/// A signal that the program has a handler for ends connect(), but neither the wish nor, over TCP, what is under way:
/// asked again it waits for the rest. Each time has all of its time, so that there is an end to those as well.
static bool connects(int fd, const struct sockaddr *to, socklen_t bytes)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const time_t end = time.tv_sec + CONNECT_SECONDS;
    while (connect(fd, to, bytes) != 0) {
        const int why = errno;
        clock_gettime(CLOCK_MONOTONIC, &time);
        if (why != EINTR || time.tv_sec > end) {
            errno = why == EINTR ? EAGAIN : why;
            return false;
        }
    }
    return true;
}

static int connect_at(const char *address, const struct sockaddr_un *to)
{
    const int fd = make(AF_UNIX);
    const bool connected = fd >= 0 && connects(fd, (const struct sockaddr *)to, sizeof(*to));
    return connected ? fd : fail(fd, "connect to", address, fd < 0 ? strerror(errno) : why_not(errno));
}

static int listen_at(const char *address, const struct sockaddr_un *to)
{
    const char *what = "listen on";
    int fd = make(AF_UNIX);
    if (fd < 0) {
        return fail(fd, what, address, strerror(errno));
    }
    if (connects(fd, (const struct sockaddr *)to, sizeof(*to))) {
        return fail(fd, what, address, "somebody listens there");
    }
    const bool refused = errno == ECONNREFUSED; // As by a file that is no socket.
    struct stat file;
    if (stat(to->sun_path, &file) == 0 && !S_ISSOCK(file.st_mode)) {
        return fail(fd, what, address, "it is there, and is no socket");
    }
    if (refused) {
        unlink(to->sun_path); // Whoever listened there is gone.
    }
    close(fd);
    fd = make(AF_UNIX);
    if (fd < 0 || bind(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 || listen(fd, 8) != 0) {
        return fail(fd, what, address, strerror(errno));
    }
    return fd;
}

/// Whoever is to listen looks whether somebody does, takes away what one left who is gone, and only then is there: of
/// two at once one would take the other's away. So they take turns in a folder, unless somebody keeps it for long. A
/// descriptor to be closed, or -1.
static int take_turn(const char *path)
{
    const struct timespec slice = {.tv_nsec = 10000000};
    const char *slash = strrchr(path, '/');
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)] = ".";
    if (slash != NULL) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
    }
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int n = 0; n < TURN_SLICES && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; n++) {
        nanosleep(&slice, NULL);
    }
    return fd;
}

static int unix_socket(const char *address, const char *path, bool listens)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, path, strlen(path) + 1);
    if (!listens) {
        return connect_at(address, &to);
    }
    const int turn = take_turn(path);
    const int fd = listen_at(address, &to);
    if (turn >= 0) {
        close(turn);
    }
    return fd;
}

static int internet_socket(const char *address, bool listens)
{
    const char *what = listens ? "listen on" : "connect to";
    const char *colon = strrchr(address, ':');
    const char *port = colon != NULL ? colon + 1 : address;
    char host[HOST_BYTES] = "localhost";
    size_t length = colon != NULL ? (size_t)(colon - address) : 0;
    const bool brackets = length > 2 && address[0] == '[' && address[length - 1] == ']'; // [::1]:5555
    length -= brackets ? 2 : 0;
    if (length != 0) {
        memcpy(host, address + brackets, length);
        host[length] = 0;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    const int unknown = getaddrinfo(host, port, &hints, &list);
    if (unknown != 0) {
        return fail(-1, what, address, gai_strerror(unknown));
    }
    int fd = -1;
    const int on = 1;
    int why = 0;
    for (const struct addrinfo *to = list; to != NULL && fd < 0; to = to->ai_next) {
        fd = make(to->ai_family);
        if (fd < 0) {
            why = errno;
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); // Each run of the device waits for an answer.
        if (listens) {
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        }
        if (listens ? bind(fd, to->ai_addr, to->ai_addrlen) != 0 || listen(fd, 8) != 0
                    : !connects(fd, to->ai_addr, to->ai_addrlen)) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd >= 0 ? fd : fail(-1, what, address, listens ? strerror(why) : why_not(why));
}

static int any_socket(const char *address, bool listens)
{
    const char *path = ferry_socket_path(address), *wrong = ferry_socket_wrong(address);
    if (wrong != NULL) {
        return fail(-1, listens ? "listen on" : "connect to", address, wrong);
    }
    return path != NULL ? unix_socket(address, path, listens) : internet_socket(address, listens);
}

int ferry_socket_connect(const char *address)
{
    return any_socket(address, false);
}

int ferry_socket_listen(const char *address)
{
    return any_socket(address, true);
}
