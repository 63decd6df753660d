// SPDX-License-Identifier: Apache-2.0
// The other end is a simulator, whose clock runs only when it is told to: RUN goes out behind the packets, and RAN
// comes in behind those of the device. So a run over a socket is the run that it is in one process, cycle by cycle.
#include "link/framed.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "link/frames.h"
#include "link/packet_queue.h"
#include "link/problem.h"
#include "link/root_complex.h"

#define ANSWER_SECONDS 10.0 // For a hello; whoever listens and says nothing is no device.
#define END_SECONDS    2.0  // For what is still to be sent at the end.
#define MOST_WORDS     (1u << 20)

struct framed {
    int fd;
    bool lost;
    struct ferry_frames frames;
    struct ferry_packet_queue out, in; // To the frames; TLPs from them.
    size_t out_words;                  // Of TLPs in `out`.
    uint32_t sent, taken;              // Words of TLPs, free-running: given to send(), and at the device.
    uint64_t cycles, before;           // The device's, and what they were when the session began.
    bool ran;
    double seconds;
    uint8_t bytes[4096]; // On the way to the descriptor.
    size_t byte_count, byte_taken;
    char where[128];
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void lose(struct framed *framed, const char *why)
{
    if (!framed->lost) {
        framed->lost = true;
        ferry_problem_set("the device at %s is gone: %s", framed->where, why);
    }
}

// ---- Bytes ------------------------------------------------------------------------------------------------------

static void take_message(struct framed *framed, const uint32_t *words, size_t count)
{
    struct ferry_tunnel_message message;
    if (count != sizeof(message) / 4) {
        return;
    }
    memcpy(&message, words, sizeof(message));
    if (message.code == FERRY_TUNNEL_CODE_RAN || message.code == FERRY_TUNNEL_CODE_STOPPED) {
        framed->cycles = message.value;
        framed->taken = message.number;
        framed->ran = true;
    }
    if (message.code == FERRY_TUNNEL_CODE_STOPPED) {
        lose(framed, "it broke a rule of its memory port, and the simulator stopped it");
    }
}

static void read_bytes(struct framed *framed)
{
    uint8_t bytes[4096];
    bool control;
    size_t count;
    const uint32_t *words;
    const ssize_t got = recv(framed->fd, bytes, sizeof(bytes), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (got <= 0) {
        lose(framed, got == 0 ? "it closed the connection" : strerror(errno));
        return;
    }
    ferry_frames_feed(&framed->frames, bytes, (size_t)got);
    while ((words = ferry_frames_receive(&framed->frames, &control, &count)) != NULL) {
        if (control) {
            take_message(framed, words, count);
        } else if (!ferry_packet_queue_put(&framed->in, false, words, count)) {
            lose(framed, "no memory for what it sends");
        }
    }
}

static void write_bytes(struct framed *framed)
{
    const ssize_t put = send(framed->fd, framed->bytes + framed->byte_taken, framed->byte_count - framed->byte_taken,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
        framed->byte_taken += (size_t)put;
    } else if (errno != EINTR && errno != EAGAIN) {
        lose(framed, strerror(errno));
    }
}

static void fill_frames(struct framed *framed)
{
    bool control;
    size_t count;
    const uint32_t *words;
    while ((words = ferry_packet_queue_first(&framed->out, &control, &count)) != NULL &&
           ferry_frames_send(&framed->frames, control, words, count)) {
        framed->out_words -= control ? 0 : count;
        ferry_packet_queue_drop(&framed->out);
    }
    if (framed->byte_taken == framed->byte_count) {
        framed->byte_taken = 0;
        framed->byte_count = ferry_frames_take(&framed->frames, framed->bytes, sizeof(framed->bytes));
    }
}

/// Send what can be sent and take what has come; wait for one of them, so many milliseconds at most, -1 = ever.
static void exchange(struct framed *framed, int milliseconds)
{
    fill_frames(framed);
    const bool writes = framed->byte_taken != framed->byte_count;
    struct pollfd ready = {.fd = framed->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    if (poll(&ready, 1, milliseconds) < 0) {
        if (errno != EINTR) {
            lose(framed, strerror(errno));
        }
        return;
    }
    if ((ready.revents & POLLOUT) != 0) {
        write_bytes(framed);
    }
    if ((ready.revents & ~POLLOUT) != 0) {
        read_bytes(framed);
    }
}

// ---- The transport ----------------------------------------------------------------------------------------------

static bool put_message(struct framed *framed, const struct ferry_tunnel_message *message)
{
    uint32_t words[sizeof(*message) / 4];
    memcpy(words, message, sizeof(words));
    return ferry_packet_queue_put(&framed->out, true, words, sizeof(words) / 4);
}

static int framed_send(void *context, const uint32_t *words, size_t count)
{
    struct framed *framed = context;
    if (framed->lost) {
        return FERRY_ERROR_DEVICE_LOST;
    }
    if (framed->out_words > MOST_WORDS) {
        return FERRY_ERROR_BUSY;
    }
    if (!ferry_packet_queue_put(&framed->out, false, words, count)) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    framed->out_words += count;
    framed->sent += (uint32_t)count;
    return FERRY_OK;
}

static size_t framed_queued(void *context)
{
    const struct framed *framed = context;
    return framed->sent - framed->taken;
}

static const uint32_t *framed_receive(void *context, size_t *count)
{
    struct framed *framed = context;
    bool control;
    const uint32_t *words = ferry_packet_queue_first(&framed->in, &control, count);
    if (words != NULL) {
        ferry_packet_queue_drop(&framed->in);
    }
    return words;
}

/// false = the device is gone.
static bool run(struct framed *framed, uint64_t cycles)
{
    const struct ferry_tunnel_message message = {.code = FERRY_TUNNEL_CODE_RUN, .value = cycles};
    framed->ran = false;
    if (!framed->lost && !put_message(framed, &message)) {
        lose(framed, "no memory for what is to be sent");
    }
    while (!framed->ran && !framed->lost) {
        exchange(framed, -1);
    }
    return framed->ran;
}

static uint64_t framed_run(void *context, uint64_t cycles)
{
    struct framed *framed = context;
    const uint64_t before = framed->cycles;
    if (framed->in.taken != framed->in.count) {
        return 0;
    }
    const double start = now();
    run(framed, cycles);
    framed->seconds += now() - start;
    return framed->cycles - before;
}

static uint64_t framed_cycles(void *context)
{
    const struct framed *framed = context;
    return framed->cycles - framed->before;
}

static double framed_seconds(void *context)
{
    return ((struct framed *)context)->seconds;
}

static int framed_inject(void *context, enum ferry_injection kind, uint32_t count)
{
    const struct ferry_tunnel_message plant = {
        .code = FERRY_TUNNEL_CODE_PLANT, .number = count, .value = kind == FERRY_INJECT_LOCAL_WRITE_ERROR};
    if (kind != FERRY_INJECT_LOCAL_READ_ERROR && kind != FERRY_INJECT_LOCAL_WRITE_ERROR) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    return put_message(context, &plant) ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

static void framed_close(void *context)
{
    struct framed *framed = context;
    // The last writes stop the device: they are to arrive.
    const double end = now() + END_SECONDS;
    while (!framed->lost && ferry_frames_open(&framed->frames) && now() < end &&
           (framed->out.taken != framed->out.count || ferry_frames_queued(&framed->frames) != 0)) {
        exchange(framed, 100);
    }
    close(framed->fd);
    ferry_packet_queue_end(&framed->out);
    ferry_packet_queue_end(&framed->in);
    free(framed);
}

// ---- Open -------------------------------------------------------------------------------------------------------

static uint32_t session_number(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint32_t)time.tv_nsec ^ (uint32_t)time.tv_sec << 20 ^ (uint32_t)getpid() << 8;
}

static int refused(const struct framed *framed, const struct ferry_tunnel_hello *answer)
{
    const uint32_t theirs = answer->contract_version;
    switch (FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, answer->what)) {
    case FERRY_TUNNEL_VERDICT_ACCEPTED:
        if (theirs >> 16 == FERRY_CONTRACT_VERSION >> 16) {
            return FERRY_OK;
        }
        // fall through
    case FERRY_TUNNEL_VERDICT_CONTRACT:
        ferry_problem_set("the device at %s has contract %u.%u, this driver %u.%u: take both from one release",
                          framed->where, theirs >> 16, theirs & 0xffff, FERRY_CONTRACT_VERSION >> 16,
                          FERRY_CONTRACT_VERSION & 0xffff);
        return FERRY_ERROR_CONTRACT;
    case FERRY_TUNNEL_VERDICT_IN_USE:
        if (answer->user != 0) {
            ferry_problem_set("the device at %s is in use by process %u", framed->where, answer->user);
        } else {
            ferry_problem_set("the device at %s is in use by another host", framed->where);
        }
        return FERRY_ERROR_IN_USE;
    default:
        ferry_problem_set("the device at %s refused, for a reason that this driver does not know", framed->where);
        return FERRY_ERROR_BACKEND;
    }
}

static int begin(struct framed *framed)
{
    const struct ferry_tunnel_hello question = {.magic = FERRY_TUNNEL_HELLO_MAGIC_RESET,
                                                .contract_version = FERRY_CONTRACT_VERSION,
                                                .session = session_number()};
    struct ferry_tunnel_hello answer;
    const double end = now() + ANSWER_SECONDS;
    ferry_frames_start(&framed->frames, 0);
    ferry_frames_ask(&framed->frames, &question);
    while (!ferry_frames_hello(&framed->frames, &answer)) {
        if (framed->lost) {
            return FERRY_ERROR_DEVICE_LOST;
        }
        if (now() >= end) {
            ferry_problem_set("nothing at %s answers as a device of this driver's does", framed->where);
            return FERRY_ERROR_TIMEOUT;
        }
        exchange(framed, 200);
    }
    const int error = refused(framed, &answer);
    if (error == FERRY_OK && !run(framed, 0)) { // Only says how far it has run.
        return FERRY_ERROR_DEVICE_LOST;
    }
    framed->before = framed->cycles;
    return error;
}

int ferry_framed_open(int fd, const char *where, const struct ferry_link_config *config, struct ferry_link **link)
{
    struct framed *framed = calloc(1, sizeof(*framed));
    if (framed == NULL) {
        close(fd);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    framed->fd = fd;
    snprintf(framed->where, sizeof(framed->where), "%s", where);
    const int error = begin(framed);
    if (error != FERRY_OK) {
        framed_close(framed);
        return error;
    }
    const struct ferry_tlp_transport transport = {
        .context = framed,
        .send = framed_send,
        .queued = framed_queued,
        .receive = framed_receive,
        .run = framed_run,
        .cycles = framed_cycles,
        .run_seconds = framed_seconds,
        .inject = framed_inject,
        .close = framed_close,
    };
    return ferry_root_complex_open(&transport, config, link);
}
