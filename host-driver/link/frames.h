// SPDX-License-Identifier: Apache-2.0
// Packets over a byte stream that may lose, change, double or swap bytes: sequence numbers, acknowledgement, credits,
// resending, and the hello that begins a session. Both ends are of this kind; the host asks, the device answers. What
// is sent arrives once, whole and in order, as long as some frames get through.
//
// Pure: no clock, no memory of its own, no channel. The caller feeds the bytes that came, takes those that are to go,
// and says how much time has passed. One thread at a time. docs/manual/link.md has the rules.
#ifndef FERRY_LINK_FRAMES_H
#define FERRY_LINK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry_contract.h"
#include "link/frame_code.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Counted frames that may wait for their acknowledgement: less than half of what sequence numbers tell apart.
#define FERRY_FRAMES_WINDOW 63u
/// Room at the receiving end, in units of 4 words, as much as a credit can say.
#define FERRY_FRAMES_ROOM 255u

struct ferry_frames_counts {
    uint64_t bytes_in, bytes_out;
    uint64_t noise_bytes;        // Came, and were no part of a good frame.
    uint64_t bad_frames;         // Ends of something that was no frame: cut, corrupted, noise.
    uint64_t frames_in;          // Counted ones, taken.
    uint64_t doubled, early;     // Counted ones that were there already, or before one that is missing; dropped.
    uint64_t refused;            // Good frames that break a rule: no session, no credit, not what a frame may be.
    uint64_t frames_out, resent; // Counted ones, the first time and again.
    uint64_t acknowledged;       // Of them, those that the other side has.
    uint64_t silences;           // Times that nothing was acknowledged for too long.
};

struct ferry_frames_slot {
    bool control;
    uint8_t count;
    uint32_t words[FERRY_FRAME_MAX_WORDS];
};

/// Zeroed memory and ferry_frames_start() make one. Its members are the module's.
struct ferry_frames {
    uint32_t resend_ticks, patience; // At least, and now.
    enum { FERRY_FRAMES_CLOSED, FERRY_FRAMES_ASKING, FERRY_FRAMES_OPEN } state;
    struct ferry_frames_counts counts;
    // To the channel. The three run freely; their low 7 bits are on the wire.
    uint32_t oldest;                                        // Not acknowledged yet,
    uint32_t sent;                                          // to be sent next, again perhaps,
    uint32_t highest;                                       // to be sent for the first time,
    uint32_t next;                                          // to be given by the caller.
    struct ferry_frames_slot slot[FERRY_FRAMES_WINDOW + 1]; // By the low 6 bits.
    uint32_t credit;                                        // Units behind `oldest`.
    uint32_t age, silent; // Ticks since something was acknowledged; silences in a row.
    bool timed;           // One frame's way there, and its acknowledgement's back, is being measured:
    uint32_t timed_number, timed_ticks;
    bool tell, again; // A frame is due, one that asks to send again.
    bool host, hello_due;
    struct ferry_tunnel_hello hello; // The question that waits for its answer, or the answer that was given.
    uint8_t out[FERRY_FRAME_BYTES + 1];
    uint32_t out_count, out_taken;
    // From the channel.
    struct ferry_frame_decoder decoder;
    uint32_t expected;                     // Free-running.
    bool gap;                              // A frame is missing, and that was said.
    uint32_t gap_last;                     // Distance of the last frame that came too early.
    uint32_t told_expected, told_consumed; // What the last frame said.
    struct ferry_tunnel_hello came;
    bool hello_came;
    uint32_t came_credit;                   // Units that the sender of `came` has room for.
    uint32_t room[4 * 256];                 // A ring of units, of which one stays free.
    uint8_t size[256];                      // By the unit that a packet begins with: its words; bit 7: control.
    uint32_t arrived, consumed;             // Units taken from the channel, and by receive(); free-running.
    uint32_t packet[FERRY_FRAME_MAX_WORDS]; // What receive() gave.
};

/// `resend_ticks`: after so many ticks without an acknowledgement frames are sent again; 0 = never, for a channel that
/// loses nothing. To be longer than what a whole window takes to the other end and its answer back at the channel's
/// rate; where bytes wait longer than that (a buffer on the way, a slow other end), that is measured and allowed for.
void ferry_frames_start(struct ferry_frames *frames, uint32_t resend_ticks);

/// Bytes from the channel; all are taken.
void ferry_frames_feed(struct ferry_frames *frames, const uint8_t *bytes, size_t count);
/// Bytes for the channel, `room` at most; returns how many.
size_t ferry_frames_take(struct ferry_frames *frames, uint8_t *bytes, size_t room);
/// Time has passed.
void ferry_frames_tick(struct ferry_frames *frames, uint32_t ticks);
/// Have the other side send again what was not acknowledged, and answer: for who expects something and has heard
/// nothing for longer than `patience`. What got lost on the way here, only the other side could know of.
void ferry_frames_probe(struct ferry_frames *frames);
/// Silences in a row: times `resend_ticks` without a sign of life, while one was due.
uint32_t ferry_frames_silent(const struct ferry_frames *frames);

/// Begin a session, as the host: the hello is repeated until it is answered. What was under way is forgotten.
void ferry_frames_ask(struct ferry_frames *frames, const struct ferry_tunnel_hello *hello);
/// Take the hello that came: at the device a question, which ends the session of before; at the host its answer, with
/// which, if its verdict is ACCEPTED, the session is open. false = none came.
bool ferry_frames_hello(struct ferry_frames *frames, struct ferry_tunnel_hello *hello);
/// Answer, as the device. The session is open if the verdict is ACCEPTED.
void ferry_frames_answer(struct ferry_frames *frames, const struct ferry_tunnel_hello *hello);
bool ferry_frames_open(const struct ferry_frames *frames);

/// Queue a packet (copied): 1 to FERRY_FRAME_MAX_WORDS words. false = no room now, or no session.
bool ferry_frames_send(struct ferry_frames *frames, bool control, const uint32_t *words, size_t count);
/// Words that were queued, TLPs alone, and were not acknowledged.
size_t ferry_frames_queued(const struct ferry_frames *frames);
/// Whether receive() has one.
bool ferry_frames_waiting(const struct ferry_frames *frames);
/// The next packet, or NULL. Valid until the next call of this. Its room is the other side's again.
const uint32_t *ferry_frames_receive(struct ferry_frames *frames, bool *control, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
