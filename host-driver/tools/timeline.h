// SPDX-License-Identifier: Apache-2.0
// The timeline: Chrome trace JSON that Perfetto and chrome://tracing open. One row for each of: frames (of one program
// alone), host calls, paging queue, paging fence, user queue, firmware, read channel, write channel, and in driver
// model 2 page-table walks and invalidates; counters for resident bytes, reads outstanding and page-table misses; an
// arrow from each MakeResident to the fence it waits for. Below it a process for each program, with its frames, its
// jobs and its paging, and counters for what it has in video memory and on its residency lists and for its budget.
// Written as it comes, so length costs no memory.
#ifndef FERRY_TOOLS_TIMELINE_H
#define FERRY_TOOLS_TIMELINE_H

#include <stdint.h>

#include "ferry/ferry.h"

// Device cycles are drawn at this clock.
#define FERRY_NOMINAL_MHZ 100u
// A timeline is for looking at: after this many records only frames and counters are added, and the end says so.
#define FERRY_LONGEST_TIMELINE 3000000u

#define FERRY_NO_PROGRAM UINT32_MAX

struct ferry_timeline;

/// Returns the timeline, or NULL (errno tells why).
struct ferry_timeline *ferry_timeline_open(const char *path, const char *title, unsigned programs);
/// Name the program with this number, from 0 on.
void ferry_timeline_program(struct ferry_timeline *timeline, unsigned program, const char *name);
/// Add one event. label says which allocation it is about, or is NULL; program whose it is, or FERRY_NO_PROGRAM. Safe
/// inside the adapter's call-back.
void ferry_timeline_event(struct ferry_timeline *timeline, const struct ferry_event *event, const char *label,
                          unsigned program);
/// The program's frame that goes on has ended.
void ferry_timeline_frame(struct ferry_timeline *timeline, unsigned program, uint64_t number);
/// A counter of the program's has this value now.
void ferry_timeline_value(struct ferry_timeline *timeline, unsigned program, const char *name, uint64_t value);
/// Finish the file. Returns 0, or -1 when it could not be written whole (errno tells why). NULL is allowed.
int ferry_timeline_close(struct ferry_timeline *timeline);

#endif
