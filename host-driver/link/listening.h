// SPDX-License-Identifier: Apache-2.0
// How the other end of a line gets on: whether it is slow, silent, stuck or dead. One thread.
#ifndef FERRY_LINK_LISTENING_H
#define FERRY_LINK_LISTENING_H

#include "link/frames.h"

#define FERRY_LISTENING_SLICE 10 // Milliseconds between two looks at the time, at most.

/// All zero before the first look.
struct ferry_listening {
    double looked;        // When last, and how long in all, in seconds: times below are of that clock, which stands
    double time;          // while this program does something else.
    double windows;       // Seconds that the line takes for what may be under way, there and back: the owner's.
    double longest;       // That was waited for a sign of life, or for progress, which came then.
    double ticked, heard; // When the frames were last told the time, and were last not silent.
    double progressed;    // When something last got on, or nothing was waited for,
    uint64_t progress;    // and how much had.
    double probed;        // When bytes came or were asked for.
    uint64_t bytes_seen;
};

/// Time passes from look to look. Who did not look for long heard nothing meanwhile, and what came lies there still: it
/// did other things, was stopped, or the machine is busy.
void ferry_listening_look(struct ferry_listening *listening);
/// Tell the frames how much time has passed. false: without a sign of life for longer than any line takes, and several
/// times longer than this one has taken.
bool ferry_listening_tick(struct ferry_listening *listening, struct ferry_frames *frames);
/// progress: a count of what got on; waits: more of it is due. false: for so long as above there was none.
bool ferry_listening_progress(struct ferry_listening *listening, uint64_t progress, bool waits);
/// The packet that is waited for may have been lost with nothing sent behind it that would show the gap: it is asked
/// for.
void ferry_listening_probe(struct ferry_listening *listening, struct ferry_frames *frames);
/// How many times longer than its rate says a frame and its acknowledgement take, as the frames measure it: a busy
/// machine, a network on the way, a simulated device.
double ferry_listening_slowness(const struct ferry_frames *frames);

#endif
