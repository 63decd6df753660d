// SPDX-License-Identifier: Apache-2.0
// The timeline: Chrome trace JSON that Perfetto and chrome://tracing open. One row for each of: frames, host calls,
// paging queue, paging fence, user queue, firmware, read channel, write channel; counters for resident bytes and reads
// outstanding; an arrow from each MakeResident to the fence it waits for. Written as it comes, so length costs no
// memory.
#ifndef FERRY_TOOLS_TIMELINE_H
#define FERRY_TOOLS_TIMELINE_H

#include <stdint.h>

#include "ferry/ferry.h"

// Device cycles are drawn at this clock.
#define FERRY_NOMINAL_MHZ 100u
// A timeline is for looking at: after this many records only frames and counters are added, and the end says so.
#define FERRY_LONGEST_TIMELINE 3000000u

struct ferry_timeline;

/// Returns the timeline, or NULL (errno tells why).
struct ferry_timeline *ferry_timeline_open(const char *path, const char *title);
/// Add one event. label says which allocation it is about, or is NULL. Safe inside the adapter's call-back.
void ferry_timeline_event(struct ferry_timeline *timeline, const struct ferry_event *event, const char *label);
/// The frame that goes on has ended.
void ferry_timeline_frame(struct ferry_timeline *timeline, uint64_t number);
/// Finish the file. Returns 0, or -1 when it could not be written whole (errno tells why). NULL is allowed.
int ferry_timeline_close(struct ferry_timeline *timeline);

#endif
