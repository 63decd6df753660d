// SPDX-License-Identifier: Apache-2.0
// The other end is a device, or a simulator whose clock runs only when it is told to: RUN goes out behind the packets,
// and RAN comes in behind those of the device. So a run over a socket is the run that it is in one process, cycle by
// cycle. A device's clock is not to be had: there time is what passes while nothing moves.
#include "link/framed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "link/frames.h"
#include "link/listening.h"
#include "link/packet_queue.h"
#include "link/problem.h"
#include "link/root_complex.h"
#include "link/verdict.h"

#define ANSWER_SECONDS  10.0 // For a hello; whoever listens and says nothing is no device. A slow line gets more.
#define END_SECONDS     2.0  // Without a sign of life, for what is still to be sent at the end. A slow line gets more.
#define CYCLES_A_SECOND 1e5  // Of silence, where the device has no clock that could be read.
// Of a packet that is not waited for, while nothing of ours is on its way: before an answer there may be what the
// device had begun to send, some hundred packets, so two thousand without it are what two seconds of silence are.
#define PACKET_CYCLES 100u
// A simulator has no sign of life but that it has run as far as it was told. So it is told a little at a time, which
// even a slow one on a busy machine does in much less than a minute; and one that took longer before gets more.
#define TURN_CYCLES  1000u
#define TURN_SECONDS 60.0
#define TURN_TIMES   10.0 // What the longest so far took.
// Between two bursts of bytes: an adapter's driver keeps them back for up to 16 ms, a simulated device longer.
#define PAUSE_SECONDS 0.1
#define MOST_WORDS    (1u << 20) // Each way. A simulator in a turn, or a device in a window, sends far less.
// What may stand before an answer: all that the root complex queues, a window of frames and what the device asks for,
// and all of it three times more for a line with noise.
#define FULL_LINK_BYTES (4u * 80u * 1024u)

struct framed {
    struct ferry_channel channel;
    bool lost;
    bool clocked;         // A simulator, with a clock.
    uint32_t byte_cycles; // As the hello's answer has it.
    struct ferry_frames frames;
    struct ferry_packet_queue out, in; // To the frames; TLPs from them.
    size_t out_words;                  // Of TLPs in `out`.
    uint32_t sent, taken;              // Words of TLPs, free-running: given to send(), and at the device.
    uint64_t cycles, before;           // The device's, and what they were when the session began.
    bool ran;
    double turn; // Seconds that the longest took.
    double seconds;
    struct ferry_listening listening;
    double silence;      // Seconds of it so far,
    double silent_from;  // and from when on more is counted, if no byte comes.
    uint64_t talked;     // Cycles that count for packets.
    uint8_t bytes[4096]; // On the way to the descriptor.
    size_t byte_count, byte_taken;
    char where[128], medium[64], name[16];
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
        if (message.value < framed->cycles) {
            lose(framed, "its clock goes back"); // Whoever waits for a time would wait for ever.
        }
        framed->cycles = message.value;
        framed->taken = message.number;
        framed->ran = true;
    }
    if (message.code == FERRY_TUNNEL_CODE_STOPPED) {
        lose(framed, "it broke a rule of its memory port, and the simulator stopped it");
    }
}

static void lose_channel(struct framed *framed)
{
    lose(framed, errno == EIO || errno == ENXIO || errno == ENODEV    ? framed->channel.closed
                 : errno == EPROTO && framed->channel.failing != NULL ? framed->channel.failing
                                                                      : strerror(errno));
}

static void read_bytes(struct framed *framed)
{
    uint8_t bytes[4096];
    bool control;
    size_t count;
    const uint32_t *words;
    const ssize_t got = framed->channel.operations->read(framed->channel.context, bytes, sizeof(bytes));
    if (got < 0) {
        lose_channel(framed);
    }
    ferry_frames_feed(&framed->frames, bytes, got < 0 ? 0 : (size_t)got);
    while ((words = ferry_frames_receive(&framed->frames, &control, &count)) != NULL) {
        if (control) {
            take_message(framed, words, count);
        } else if (ferry_packet_queue_words(&framed->in) > MOST_WORDS ||
                   !ferry_packet_queue_put(&framed->in, false, words, count)) {
            lose(framed, "it sends more than there is room for");
        }
    }
}

static void write_bytes(struct framed *framed)
{
    const ssize_t put = framed->channel.operations->write(framed->channel.context, framed->bytes + framed->byte_taken,
                                                          framed->byte_count - framed->byte_taken);
    if (put < 0) {
        lose_channel(framed);
    } else {
        framed->byte_taken += (size_t)put;
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
    const unsigned ready = framed->channel.operations->wait(framed->channel.context, writes, milliseconds);
    ferry_listening_look(&framed->listening);
    if ((ready & FERRY_CHANNEL_GONE) != 0) {
        lose_channel(framed);
        return;
    }
    if ((ready & FERRY_CHANNEL_WRITES) != 0) {
        write_bytes(framed);
    }
    if ((ready & FERRY_CHANNEL_READS) != 0) {
        read_bytes(framed);
    }
    if (framed->channel.bytes_per_second != 0 && !ferry_listening_tick(&framed->listening, &framed->frames)) {
        lose(framed, "it does not answer any more; was it reset, or has it no power?");
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
    return framed->clocked ? framed->sent - framed->taken : framed->out_words + ferry_frames_queued(&framed->frames);
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

/// A turn of a simulator's. false = the device is gone.
static bool run(struct framed *framed, uint64_t cycles)
{
    const struct ferry_tunnel_message message = {.code = FERRY_TUNNEL_CODE_RUN, .value = cycles};
    const double start = framed->listening.time;
    framed->ran = false;
    if (!framed->lost && !put_message(framed, &message)) {
        lose(framed, "no memory for what is to be sent");
    }
    while (!framed->ran && !framed->lost) {
        exchange(framed, FERRY_LISTENING_SLICE);
        if (!framed->ran && framed->listening.time - start > TURN_SECONDS + TURN_TIMES * framed->turn) {
            lose(framed, "it does not answer any more; was the simulator stopped, or is its machine gone?");
        }
    }
    framed->turn = framed->listening.time - start > framed->turn ? framed->listening.time - start : framed->turn;
    return framed->ran;
}

/// Until a packet comes, or so many cycles have passed.
static void run_on(struct framed *framed, uint64_t cycles)
{
    const uint64_t start = framed->cycles;
    uint64_t ran = 0;
    while (framed->in.taken == framed->in.count && ran < cycles &&
           run(framed, cycles - ran < TURN_CYCLES ? cycles - ran : TURN_CYCLES) && framed->cycles - start != ran) {
        ran = framed->cycles - start;
    }
}

/// Something of ours is on its way.
static bool sends(const struct framed *framed)
{
    return framed->out.taken != framed->out.count || ferry_frames_queued(&framed->frames) != 0;
}

/// How both ends get on: by acknowledgements while something of ours is on its way, as a device that takes nothing may
/// send without an end; by packets too while nothing is.
static uint64_t moved(const struct framed *framed)
{
    return framed->frames.counts.acknowledged + (sends(framed) ? 0 : framed->frames.counts.frames_in);
}

/// Until a packet comes, or so many cycles of silence have passed, which take longer where everything does. While
/// something of ours is on its way it is not the device that keeps us waiting, and a packet that comes slowly is no
/// silence: its bytes count, and so does a short time behind them, as an adapter's driver hands bytes over in bursts. A
/// line that is dead has an end of its own (exchange()).
static void wait_in_silence(struct framed *framed, uint64_t cycles)
{
    const double end = framed->silence + (double)cycles / CYCLES_A_SECOND;
    uint64_t seen = framed->frames.counts.bytes_in;
    double since = framed->listening.time;
    while (framed->in.taken == framed->in.count && framed->silence < end && !framed->lost) {
        const double slow = ferry_listening_slowness(&framed->frames), left = (end - framed->silence) * slow * 1000;
        exchange(framed, left < FERRY_LISTENING_SLICE ? (int)left + 1 : FERRY_LISTENING_SLICE);
        const double time = framed->listening.time;
        if (sends(framed) || framed->frames.counts.bytes_in != seen) {
            framed->silent_from = time + PAUSE_SECONDS * slow;
        }
        const double from = since > framed->silent_from ? since : framed->silent_from;
        framed->silence += time > from ? (time - from) / slow : 0;
        // It has power, and says so, but takes no packets, or sends none: no time-out of silence would ever come.
        if (!ferry_listening_progress(&framed->listening, moved(framed), time <= framed->silent_from)) {
            lose(framed,
                 "it takes nothing any more, and says nothing that is a packet; does it hang, or is it another?");
        }
        ferry_listening_probe(&framed->listening, &framed->frames);
        seen = framed->frames.counts.bytes_in;
        since = time;
    }
    if (!framed->lost) {
        framed->talked += framed->in.taken != framed->in.count && !sends(framed) ? PACKET_CYCLES : 0;
        const uint64_t passed = (uint64_t)(framed->silence * CYCLES_A_SECOND) + framed->talked;
        // One more at least: none would say that the device is gone.
        framed->talked += passed > framed->cycles ? 0 : framed->cycles + 1 - passed;
        framed->cycles = passed > framed->cycles ? passed : framed->cycles + 1;
    }
}

static uint64_t framed_run(void *context, uint64_t cycles)
{
    struct framed *framed = context;
    const uint64_t before = framed->cycles;
    if (framed->in.taken != framed->in.count) {
        return 0;
    }
    const double start = now();
    if (framed->clocked) {
        run_on(framed, cycles);
    } else {
        wait_in_silence(framed, cycles);
    }
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
    if (!((struct framed *)context)->clocked || // Nobody is there who could.
        (kind != FERRY_INJECT_LOCAL_READ_ERROR && kind != FERRY_INJECT_LOCAL_WRITE_ERROR)) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    return put_message(context, &plant) ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

static uint32_t framed_delay(void *context)
{
    const uint64_t cycles = (uint64_t)((const struct framed *)context)->byte_cycles * FULL_LINK_BYTES;
    return cycles < INT32_MAX ? (uint32_t)cycles : INT32_MAX;
}

static void framed_counts(void *context, struct ferry_link_counts *counts)
{
    const struct ferry_frames_counts *frames = &((const struct framed *)context)->frames.counts;
    counts->noise_bytes = frames->noise_bytes;
    counts->broken_frames = frames->bad_frames;
    counts->frames_again = frames->resent;
}

static void framed_describe(void *context, struct ferry_link_description *description)
{
    const struct framed *framed = context;
    snprintf(description->medium, sizeof(description->medium), "%s", framed->medium);
    snprintf(description->device, sizeof(description->device), "%s", framed->name);
}

static void framed_close(void *context)
{
    struct framed *framed = context;
    // The last writes stop the device: they are to arrive, and to be sent again if they were lost. What it sends
    // meanwhile shows nothing of that.
    const double patience = END_SECONDS + framed->listening.windows;
    uint64_t seen = framed->frames.counts.acknowledged;
    double end = framed->listening.time + patience;
    while (!framed->lost && ferry_frames_open(&framed->frames) && framed->listening.time < end &&
           (framed->out.taken != framed->out.count || ferry_frames_queued(&framed->frames) != 0)) {
        exchange(framed, FERRY_LISTENING_SLICE);
        end = framed->frames.counts.acknowledged == seen ? end : framed->listening.time + patience;
        seen = framed->frames.counts.acknowledged;
    }
    framed->channel.operations->close(framed->channel.context);
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

static int begin(struct framed *framed)
{
    const struct ferry_tunnel_hello question = {.magic = FERRY_TUNNEL_HELLO_MAGIC_RESET,
                                                .contract_version = FERRY_CONTRACT_VERSION,
                                                .session = session_number()};
    struct ferry_tunnel_hello answer;
    // A window there and one back, and what the system needs for it.
    const double window = 2.0 * FERRY_FRAMES_WINDOW * FERRY_FRAME_BYTES;
    const uint32_t rate = framed->channel.bytes_per_second;
    framed->listening.windows = rate == 0 ? 0 : window / rate;
    const double end = framed->listening.time + ANSWER_SECONDS + framed->listening.windows;
    ferry_frames_start(&framed->frames, rate == 0 ? 0 : (uint32_t)(framed->listening.windows * 1000) + 100);
    ferry_frames_ask(&framed->frames, &question);
    while (!ferry_frames_hello(&framed->frames, &answer)) {
        if (framed->lost) {
            return FERRY_ERROR_DEVICE_LOST;
        }
        if (framed->listening.time >= end) {
            ferry_problem_set("%s at %s answers as a device of this driver's does: %s",
                              framed->frames.counts.bytes_in == 0 ? "nothing" : "nothing of what is said",
                              framed->where, framed->channel.silent);
            return FERRY_ERROR_TIMEOUT;
        }
        exchange(framed, FERRY_LISTENING_SLICE);
    }
    const int error = ferry_verdict(framed->where, &answer);
    framed->clocked = FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_CLOCKED, answer.what) != 0;
    framed->byte_cycles = FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_BYTE_CYCLES, answer.what);
    memcpy(framed->name, answer.name, sizeof(framed->name) - 1);
    if (error == FERRY_OK && framed->clocked && !run(framed, 0)) { // Only says how far it has run.
        return FERRY_ERROR_DEVICE_LOST;
    }
    framed->before = framed->cycles;
    return error;
}

int ferry_framed_open(const struct ferry_channel *channel, const struct ferry_link_config *config,
                      struct ferry_link **link)
{
    struct framed *framed = calloc(1, sizeof(*framed));
    if (framed == NULL) {
        channel->operations->close(channel->context);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    framed->channel = *channel;
    snprintf(framed->where, sizeof(framed->where), "%s", channel->where);
    snprintf(framed->medium, sizeof(framed->medium), "%s", channel->medium);
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
        .counts = framed_counts,
        .delay = framed_delay,
        .describe = framed_describe,
        .close = framed_close,
    };
    return ferry_root_complex_open(&transport, config, link);
}
