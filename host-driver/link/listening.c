// SPDX-License-Identifier: Apache-2.0
#include "link/listening.h"

#include <time.h>

#define DEAD_SECONDS 20.0 // Without a sign of life, while one is due; or with none but such. A slow line gets more,
#define DEAD_TIMES   4.0  // and so does who took long before: a simulated device on a machine that is busy.

static bool is_over(const struct ferry_listening *listening, double since)
{
    return listening->time - since > DEAD_SECONDS + 2 * listening->windows + DEAD_TIMES * listening->longest;
}

/// What was waited for is there.
static void end_wait(struct ferry_listening *listening, double *since)
{
    const double took = listening->time - *since;
    listening->longest = took > listening->longest ? took : listening->longest;
    *since = listening->time;
}

void ferry_listening_look(struct ferry_listening *listening)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, most = 2 * FERRY_LISTENING_SLICE / 1000.0;
    const double passed = time - listening->looked;
    listening->time += passed < most ? passed : most;
    listening->looked = time;
}

bool ferry_listening_tick(struct ferry_listening *listening, struct ferry_frames *frames)
{
    const uint32_t ticks = (uint32_t)((listening->time - listening->ticked) * 1000);
    ferry_frames_tick(frames, ticks);
    listening->ticked += ticks / 1000.0;
    if (!ferry_frames_open(frames)) {
        listening->heard = listening->time;
    } else if (ferry_frames_silent(frames) == 0) {
        end_wait(listening, &listening->heard);
    }
    return !is_over(listening, listening->heard);
}

bool ferry_listening_progress(struct ferry_listening *listening, uint64_t progress, bool waits)
{
    if (progress != listening->progress) {
        listening->progress = progress;
        end_wait(listening, &listening->progressed);
    } else if (!waits) {
        listening->progressed = listening->time;
    }
    return !is_over(listening, listening->progressed);
}

void ferry_listening_probe(struct ferry_listening *listening, struct ferry_frames *frames)
{
    if (frames->counts.bytes_in != listening->bytes_seen) {
        listening->bytes_seen = frames->counts.bytes_in;
        listening->probed = listening->time;
    } else if (listening->time - listening->probed > frames->patience / 1000.0) {
        ferry_frames_probe(frames);
        listening->probed = listening->time;
    }
}

double ferry_listening_slowness(const struct ferry_frames *frames)
{
    return frames->resend_ticks == 0 ? 1 : (double)frames->patience / frames->resend_ticks;
}
