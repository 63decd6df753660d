// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // struct ucred, ppoll()
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/peer.h"
#include "server/wait.h"

#define MOST_HOSTS 32u
// Words for one that does not take them; then what it sends waits, and its credits go. A turn's are far less.
#define MOST_BACK 16384u

struct host {
    int fd;
    uint32_t pid;                 // 0 = not known.
    bool gone;                    // To be freed.
    struct server_device *device; // NULL before its hello, or when it was refused.
    struct ferry_frames frames;
    uint8_t bytes[4096]; // To the host.
    size_t byte_count, byte_taken;
};

struct server {
    struct server_device *devices;
    unsigned device_count;
    struct host *hosts[MOST_HOSTS]; // Oldest first.
    unsigned host_count;
    unsigned next; // Whose turn it is, if it has something to do.
};

/// The host is gone: its device is free, and ready for another.
static void leave(struct host *host)
{
    host->gone = true;
    if (host->device != NULL) {
        server_device_settle(host->device);
        host->device->used = false;
        host->device = NULL;
    }
}

static void free_those_gone(struct server *server)
{
    unsigned kept = 0;
    for (unsigned n = 0; n < server->host_count; n++) {
        struct host *host = server->hosts[n];
        if (host->gone) {
            close(host->fd);
            free(host);
        } else {
            server->hosts[kept++] = host;
        }
    }
    server->host_count = kept;
}

/// Make room for one more: those that said nothing yet are not kept for ever.
static bool make_room(struct server *server)
{
    for (unsigned n = 0; n < server->host_count && server->host_count == MOST_HOSTS; n++) {
        if (server->hosts[n]->device == NULL) {
            leave(server->hosts[n]);
            free_those_gone(server);
        }
    }
    return server->host_count < MOST_HOSTS;
}

static void take_host(struct server *server, int listener)
{
    const int fd = accept(listener, NULL, NULL);
    struct ucred who;
    socklen_t size = sizeof(who);
    struct host *host = fd < 0 || !make_room(server) ? NULL : calloc(1, sizeof(*host));
    if (host == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    host->fd = fd;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 0) {
        host->pid = (uint32_t)who.pid;
    }
    server_peer_keep_asking(fd);
    ferry_frames_start(&host->frames, 0);
    server->hosts[server->host_count++] = host;
}

// ---- Sessions ---------------------------------------------------------------------------------------------------

static uint32_t user_of(const struct server *server)
{
    for (unsigned n = 0; n < server->host_count; n++) {
        if (server->hosts[n]->device != NULL) {
            return server->hosts[n]->pid;
        }
    }
    return 0;
}

/// Those that have a device and hung up, whatever they said before and was not read: who takes leave waits until all of
/// it has arrived, so this one died.
static void look_who_died(struct server *server)
{
    for (unsigned n = 0; n < server->host_count; n++) {
        struct host *host = server->hosts[n];
        struct pollfd ready = {.fd = host->fd, .events = POLLRDHUP};
        if (host->device != NULL && poll(&ready, 1, 0) > 0) {
            leave(host);
        }
    }
}

static void answer(struct server *server, struct host *host, const struct ferry_tunnel_hello *question)
{
    struct ferry_tunnel_hello answer = {.magic = FERRY_TUNNEL_HELLO_MAGIC_RESET,
                                        .contract_version = FERRY_CONTRACT_VERSION,
                                        .session = question->session};
    uint32_t verdict = FERRY_TUNNEL_VERDICT_ACCEPTED;
    memcpy(answer.name, "simulated, full", 15);
    if (host->device != NULL) {
        server_device_settle(host->device);
    }
    if (question->contract_version >> 16 != FERRY_CONTRACT_VERSION >> 16) {
        verdict = FERRY_TUNNEL_VERDICT_CONTRACT;
        fprintf(stderr, "ferry-sim: refused a host of contract %u.%u: the device's is %u.%u\n",
                question->contract_version >> 16, question->contract_version & 0xffff, FERRY_CONTRACT_VERSION >> 16,
                FERRY_CONTRACT_VERSION & 0xffff);
    }
    if (host->device == NULL) {
        look_who_died(server);
    }
    for (unsigned n = 0; n < server->device_count && verdict == FERRY_TUNNEL_VERDICT_ACCEPTED && host->device == NULL;
         n++) {
        if (!server->devices[n].used) {
            host->device = &server->devices[n];
            host->device->used = true;
            host->device->given = 0;
        }
    }
    if (verdict == FERRY_TUNNEL_VERDICT_ACCEPTED && host->device == NULL) {
        verdict = FERRY_TUNNEL_VERDICT_IN_USE;
        answer.user = user_of(server);
    }
    answer.what = FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_ANSWER, 1u) | FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_CLOCKED, 1u) |
                  FERRY_PUT(FERRY_TUNNEL_HELLO_WHAT_VERDICT, verdict);
    ferry_frames_answer(&host->frames, &answer);
}

/// There are packets of its that its device may have now.
static bool works(const struct host *host)
{
    return !host->gone && host->device != NULL && ferry_frames_waiting(&host->frames) &&
           ferry_packet_queue_words(&host->device->back) < MOST_BACK;
}

/// Its packets, until its device has run for as long as one may at a time.
static void take_packets(struct host *host)
{
    const uint64_t start = ferry_sim_cycles(host->device->sim);
    while (works(host) && ferry_sim_cycles(host->device->sim) - start < SERVER_TURN_CYCLES) {
        bool control;
        size_t count;
        const uint32_t *words = ferry_frames_receive(&host->frames, &control, &count);
        if (control) {
            server_device_message(host->device, words, count);
        } else {
            server_device_take(host->device, words, count);
        }
    }
}

// ---- Bytes ------------------------------------------------------------------------------------------------------

/// false = the host is gone.
static bool read_host(struct host *host)
{
    uint8_t bytes[4096];
    const ssize_t got = recv(host->fd, bytes, sizeof(bytes), 0);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    ferry_frames_feed(&host->frames, bytes, (size_t)got);
    return true;
}

static bool write_host(struct host *host)
{
    for (;;) {
        bool control;
        size_t count;
        const uint32_t *words;
        while (host->device != NULL &&
               (words = ferry_packet_queue_first(&host->device->back, &control, &count)) != NULL &&
               ferry_frames_send(&host->frames, control, words, count)) {
            ferry_packet_queue_drop(&host->device->back);
        }
        if (host->byte_taken == host->byte_count) {
            host->byte_taken = 0;
            host->byte_count = ferry_frames_take(&host->frames, host->bytes, sizeof(host->bytes));
        }
        if (host->byte_count == 0) {
            return true;
        }
        const ssize_t put =
            send(host->fd, host->bytes + host->byte_taken, host->byte_count - host->byte_taken, MSG_NOSIGNAL);
        if (put < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        host->byte_taken += (size_t)put;
    }
}

/// What moves without time passing at a device, so that nobody waits for another's. false = the host is gone.
static bool serve_host(struct server *server, struct host *host, bool reads)
{
    struct ferry_tunnel_hello hello;
    if (reads && !read_host(host)) {
        return false;
    }
    if (ferry_frames_hello(&host->frames, &hello)) {
        answer(server, host, &hello);
    }
    return write_host(host);
}

/// One host's, in turn: any number of turns may wait at each.
static void let_one_work(struct server *server)
{
    for (unsigned n = 0; n < server->host_count; n++) {
        struct host *host = server->hosts[(server->next + n) % server->host_count];
        if (works(host)) {
            server->next = (server->next + n + 1) % server->host_count;
            take_packets(host);
            if (!write_host(host)) {
                leave(host);
            }
            return;
        }
    }
}

static int serve(struct server *server, int listener)
{
    struct pollfd ready[MOST_HOSTS + 1] = {{.fd = listener, .events = POLLIN}};
    const struct timespec now = {0, 0};
    bool work = false;
    for (unsigned n = 0; n < server->host_count; n++) {
        const struct host *host = server->hosts[n];
        const bool writes = host->byte_taken != host->byte_count;
        ready[n + 1] = (struct pollfd){.fd = host->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
        work = work || works(host);
    }
    // The signals that end it are blocked but here, so that none comes between the question and the wait.
    if (server_wait(ready, server->host_count + 1, work ? &now : NULL) < 0) {
        return errno == EINTR ? 0 : -1;
    }
    for (unsigned n = 0; n < server->host_count; n++) {
        struct host *host = server->hosts[n];
        if (ready[n + 1].revents != 0 && !host->gone &&
            !serve_host(server, host, (ready[n + 1].revents & ~POLLOUT) != 0)) {
            leave(host);
        }
    }
    let_one_work(server);
    free_those_gone(server);
    if (ready[0].revents != 0) {
        take_host(server, listener);
    }
    return 0;
}

int server_run(int listener, struct server_device *devices, unsigned device_count, const volatile sig_atomic_t *stop)
{
    struct server server = {.devices = devices, .device_count = device_count};
    int error = 0;
    while (!*stop && error == 0) {
        error = serve(&server, listener);
    }
    if (error != 0) {
        fprintf(stderr, "ferry-sim: %s\n", strerror(errno));
    }
    for (unsigned n = 0; n < server.host_count; n++) {
        server.hosts[n]->gone = true;
    }
    free_those_gone(&server);
    return error;
}
