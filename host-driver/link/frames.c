// SPDX-License-Identifier: Apache-2.0
#include "link/frames.h"

#include <string.h>

#define SEQUENCES     128u
#define HELLO_WORDS   (FERRY_TUNNEL_HELLO_SIZE / 4)
#define CONTROL       0x80u // In `size`.
#define MOST_PATIENCE 16u   // Times `resend_ticks`.

static uint32_t units(size_t words)
{
    return ((uint32_t)words + 3) / 4;
}

void ferry_frames_start(struct ferry_frames *frames, uint32_t resend_ticks)
{
    memset(frames, 0, sizeof(*frames));
    frames->resend_ticks = frames->patience = resend_ticks;
}

/// Both directions count from 0.
static void begin_session(struct ferry_frames *frames, uint32_t credit)
{
    frames->oldest = frames->sent = frames->highest = frames->next = 0;
    frames->credit = credit;
    frames->age = frames->silent = 0;
    frames->timed = false;
    frames->patience = frames->resend_ticks;
    frames->tell = frames->again = frames->gap = false;
    frames->expected = frames->told_expected = 0;
    frames->arrived = frames->consumed = frames->told_consumed = 0;
}

// ---- From the channel -------------------------------------------------------------------------------------------

/// A frame came before one that is missing: say so, once a round, for the other side goes back each time. Numbers that
/// do not rise are a new round, in which it was lost again.
static void miss(struct ferry_frames *frames, uint32_t distance)
{
    frames->again = frames->again || !frames->gap || distance <= frames->gap_last;
    frames->gap = true;
    frames->gap_last = distance;
}

static void take_hello(struct ferry_frames *frames, uint32_t head, const uint32_t *words, uint32_t count)
{
    struct ferry_tunnel_hello hello;
    if (count != HELLO_WORDS || words[0] != FERRY_TUNNEL_HELLO_MAGIC_RESET) {
        frames->counts.refused++;
        return;
    }
    memcpy(&hello, words, sizeof(hello));
    const bool answer = FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_ANSWER, hello.what) != 0;
    if (answer != frames->host) {
        frames->counts.refused++; // One's own words come back, or two hosts face each other.
        return;
    }
    if (frames->state == FERRY_FRAMES_OPEN && hello.session == frames->hello.session) {
        frames->hello_due = !answer; // The answer was lost, or is on its way twice.
        return;
    }
    if (answer && (frames->state != FERRY_FRAMES_ASKING || hello.session != frames->hello.session)) {
        return;
    }
    frames->came = hello;
    frames->hello_came = true;
    frames->came_credit = FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_CREDIT, head);
    frames->state = FERRY_FRAMES_CLOSED;
    frames->hello_due = false;
    if (answer && FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, hello.what) == FERRY_TUNNEL_VERDICT_ACCEPTED) {
        begin_session(frames, frames->came_credit);
        frames->state = FERRY_FRAMES_OPEN;
    }
}

/// A frame that was sent once is there: twice as long is patience enough. One that takes less time than before lowers
/// it, by half at most.
static void take_time(struct ferry_frames *frames)
{
    if (!frames->timed || (int32_t)(frames->oldest - frames->timed_number) <= 0) {
        return;
    }
    const uint32_t most = MOST_PATIENCE * frames->resend_ticks;
    const uint32_t twice = frames->timed_ticks < most / 2 ? 2 * frames->timed_ticks : most;
    const uint32_t less = frames->patience / 2;
    frames->timed = false;
    frames->patience = twice > less ? twice : less;
    frames->patience = frames->patience > frames->resend_ticks ? frames->patience : frames->resend_ticks;
}

/// What every frame says of the other direction. false = it cannot be of this session.
static bool take_head(struct ferry_frames *frames, uint32_t head)
{
    const uint32_t more = (FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_ACK, head) - frames->oldest) % SEQUENCES;
    if (more > frames->highest - frames->oldest) {
        return false;
    }
    frames->silent = 0;
    frames->age = more != 0 ? 0 : frames->age;
    frames->oldest += more;
    frames->counts.acknowledged += more;
    take_time(frames);
    // Acknowledged while it was to be sent again.
    frames->sent = (int32_t)(frames->sent - frames->oldest) < 0 ? frames->oldest : frames->sent;
    frames->credit = FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_CREDIT, head);
    if (FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_AGAIN, head) != 0) {
        frames->sent = frames->oldest;
        frames->tell = true;
    }
    return true;
}

static void store(struct ferry_frames *frames, bool control, const uint32_t *words, uint32_t count)
{
    const uint32_t place = frames->arrived % 256;
    frames->size[place] = (uint8_t)(count | (control ? CONTROL : 0));
    for (uint32_t n = 0; n < count; n++) {
        frames->room[(4 * place + n) % (4 * 256)] = words[n];
    }
    frames->arrived += units(count);
}

static void take_frame(struct ferry_frames *frames, uint32_t head, const uint32_t *words, uint32_t count)
{
    const bool counted = FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_COUNTED, head) != 0;
    const bool control = FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_CONTROL, head) != 0;
    if (control && !counted) {
        take_hello(frames, head, words, count);
        return;
    }
    if (frames->state != FERRY_FRAMES_OPEN || counted != (count != 0) || !take_head(frames, head)) {
        frames->counts.refused++;
        return;
    }
    const uint32_t distance = (FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_SEQUENCE, head) - frames->expected) % SEQUENCES;
    if (distance >= SEQUENCES / 2) {
        frames->counts.doubled += counted;
        frames->tell = true;
    } else if (distance != 0) {
        frames->counts.early += counted;
        miss(frames, distance);
    } else if (!counted) {
        frames->gap = false;
    } else if (units(count) > FERRY_FRAMES_ROOM - (frames->arrived - frames->consumed)) {
        frames->counts.refused++;
    } else {
        store(frames, control, words, count);
        frames->expected++;
        frames->counts.frames_in++;
        frames->gap = false;
    }
}

void ferry_frames_feed(struct ferry_frames *frames, const uint8_t *bytes, size_t count)
{
    uint32_t words[FERRY_FRAME_MAX_WORDS];
    frames->counts.bytes_in += count;
    for (size_t n = 0; n < count; n++) {
        uint32_t head = 0;
        uint32_t lost = 0;
        const enum ferry_frame_step step = ferry_frame_decode(&frames->decoder, bytes[n], &head, words, &lost);
        if (step == FERRY_FRAME_GOOD) {
            take_frame(frames, head, words, FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_WORDS, head));
        } else if (step == FERRY_FRAME_BAD) {
            frames->counts.noise_bytes += lost;
            frames->counts.bad_frames++;
            // It may have been the frame that is waited for, and the last one: nothing else would tell.
            frames->again = true;
        }
    }
}

// ---- To the channel ---------------------------------------------------------------------------------------------

/// A packet waits, and the other side has room for it.
static bool may_send(const struct ferry_frames *frames)
{
    uint32_t used = 0;
    for (uint32_t n = frames->oldest; frames->sent != frames->next && n != frames->sent + 1; n++) {
        used += units(frames->slot[n % (FERRY_FRAMES_WINDOW + 1)].count);
    }
    return frames->sent != frames->next && used <= frames->credit;
}

static uint32_t common_head(const struct ferry_frames *frames, uint32_t count)
{
    return FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_WORDS, count) |
           FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_AGAIN, frames->again ? 1u : 0u) |
           FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_SEQUENCE, frames->sent) |
           FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_ACK, frames->expected) |
           FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, FERRY_FRAMES_ROOM - (frames->arrived - frames->consumed));
}

static void build_hello(struct ferry_frames *frames)
{
    uint32_t words[HELLO_WORDS];
    memcpy(words, &frames->hello, sizeof(words));
    const uint32_t head = FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_WORDS, HELLO_WORDS) | FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK |
                          FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, FERRY_FRAMES_ROOM);
    // A zero first, so that what stood on the line before is not taken for the beginning of it.
    frames->out[0] = 0;
    frames->out_count = 1 + (uint32_t)ferry_frame_encode(head, words, HELLO_WORDS, frames->out + 1);
    frames->hello_due = false;
}

static bool build(struct ferry_frames *frames)
{
    frames->out_taken = frames->out_count = 0;
    if (frames->hello_due) {
        build_hello(frames);
        return true;
    }
    const bool news = frames->tell || frames->again || frames->expected != frames->told_expected ||
                      frames->consumed != frames->told_consumed;
    const bool packet = frames->state == FERRY_FRAMES_OPEN && may_send(frames);
    if (!packet && (frames->state != FERRY_FRAMES_OPEN || !news)) {
        return false;
    }
    if (packet) {
        const struct ferry_frames_slot *slot = &frames->slot[frames->sent % (FERRY_FRAMES_WINDOW + 1)];
        const uint32_t head = common_head(frames, slot->count) | FERRY_TUNNEL_FRAME_HEAD_COUNTED_MASK |
                              (slot->control ? FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK : 0);
        frames->out_count = (uint32_t)ferry_frame_encode(head, slot->words, slot->count, frames->out);
        frames->age = frames->sent == frames->oldest ? 0 : frames->age;
        if (frames->sent != frames->highest) {
            frames->timed = false; // Which of the two it is that is acknowledged, nobody could tell.
        } else if (!frames->timed) {
            frames->timed = true;
            frames->timed_number = frames->sent;
            frames->timed_ticks = 0;
        }
        *(frames->sent == frames->highest ? &frames->counts.frames_out : &frames->counts.resent) += 1;
        frames->highest += frames->sent == frames->highest;
        frames->sent++;
    } else {
        frames->out_count = (uint32_t)ferry_frame_encode(common_head(frames, 0), NULL, 0, frames->out);
    }
    frames->tell = frames->again = false;
    frames->told_expected = frames->expected;
    frames->told_consumed = frames->consumed;
    return true;
}

size_t ferry_frames_take(struct ferry_frames *frames, uint8_t *bytes, size_t room)
{
    size_t taken = 0;
    while (taken < room && (frames->out_taken != frames->out_count || build(frames))) {
        const size_t left = frames->out_count - frames->out_taken;
        const size_t piece = left < room - taken ? left : room - taken;
        memcpy(bytes + taken, frames->out + frames->out_taken, piece);
        frames->out_taken += (uint32_t)piece;
        taken += piece;
    }
    frames->counts.bytes_out += taken;
    return taken;
}

void ferry_frames_tick(struct ferry_frames *frames, uint32_t ticks)
{
    const bool waits =
        frames->state == FERRY_FRAMES_ASKING || (frames->state == FERRY_FRAMES_OPEN && frames->oldest != frames->next);
    frames->age += ticks; // It begins anew with what is sent when nothing waits.
    frames->timed_ticks += ticks;
    if (!waits || frames->resend_ticks == 0 || frames->age < frames->patience) {
        return;
    }
    frames->age = 0;
    frames->silent++;
    frames->counts.silences++;
    if (frames->state == FERRY_FRAMES_ASKING) {
        frames->hello_due = true;
        return;
    }
    // Perhaps what is on its way is only slow: sent again before its time, it makes that worse.
    if (frames->sent != frames->oldest) {
        const uint32_t most = MOST_PATIENCE * frames->resend_ticks;
        frames->patience = frames->patience < most / 2 ? 2 * frames->patience : most;
    }
    frames->sent = frames->oldest;
    frames->again = true;
}

void ferry_frames_probe(struct ferry_frames *frames)
{
    frames->again = true;
}

uint32_t ferry_frames_silent(const struct ferry_frames *frames)
{
    return frames->silent;
}

// ---- Sessions and packets ---------------------------------------------------------------------------------------

void ferry_frames_ask(struct ferry_frames *frames, const struct ferry_tunnel_hello *hello)
{
    frames->host = true;
    frames->hello = *hello;
    frames->hello_due = true;
    frames->hello_came = false;
    begin_session(frames, 0);
    frames->state = FERRY_FRAMES_ASKING;
}

bool ferry_frames_hello(struct ferry_frames *frames, struct ferry_tunnel_hello *hello)
{
    if (!frames->hello_came) {
        return false;
    }
    frames->hello_came = false;
    *hello = frames->came;
    return true;
}

void ferry_frames_answer(struct ferry_frames *frames, const struct ferry_tunnel_hello *hello)
{
    frames->hello = *hello;
    frames->hello_due = true;
    begin_session(frames, frames->came_credit);
    frames->state = FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, hello->what) == FERRY_TUNNEL_VERDICT_ACCEPTED
                        ? FERRY_FRAMES_OPEN
                        : FERRY_FRAMES_CLOSED;
}

bool ferry_frames_open(const struct ferry_frames *frames)
{
    return frames->state == FERRY_FRAMES_OPEN;
}

bool ferry_frames_send(struct ferry_frames *frames, bool control, const uint32_t *words, size_t count)
{
    if (frames->state != FERRY_FRAMES_OPEN || frames->next - frames->oldest == FERRY_FRAMES_WINDOW || count == 0 ||
        count > FERRY_FRAME_MAX_WORDS) {
        return false;
    }
    struct ferry_frames_slot *slot = &frames->slot[frames->next % (FERRY_FRAMES_WINDOW + 1)];
    slot->control = control;
    slot->count = (uint8_t)count;
    memcpy(slot->words, words, 4 * count);
    frames->next++;
    return true;
}

size_t ferry_frames_queued(const struct ferry_frames *frames)
{
    size_t words = 0;
    for (uint32_t n = frames->oldest; n != frames->next; n++) {
        const struct ferry_frames_slot *slot = &frames->slot[n % (FERRY_FRAMES_WINDOW + 1)];
        words += slot->control ? 0 : slot->count;
    }
    return words;
}

bool ferry_frames_waiting(const struct ferry_frames *frames)
{
    return frames->arrived != frames->consumed;
}

const uint32_t *ferry_frames_receive(struct ferry_frames *frames, bool *control, size_t *count)
{
    if (!ferry_frames_waiting(frames)) {
        return NULL;
    }
    const uint32_t place = frames->consumed % 256;
    *control = (frames->size[place] & CONTROL) != 0;
    *count = frames->size[place] & ~CONTROL;
    for (uint32_t n = 0; n < *count; n++) {
        frames->packet[n] = frames->room[(4 * place + n) % (4 * 256)];
    }
    frames->consumed += units(*count);
    return frames->packet;
}
