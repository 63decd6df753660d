// SPDX-License-Identifier: Apache-2.0
// The state of one replay, shared by the files that play a trace. Not for several threads.
#ifndef FERRY_TOOLS_PLAYER_H
#define FERRY_TOOLS_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/ferry.h"
#include "tools/content.h"
#include "tools/id_map.h"
#include "tools/replay_options.h"
#include "tools/report.h"
#include "tools/timeline.h"
#include "tools/trace.h"
#include "tools/vram_map.h"

struct ferry_play_object {
    struct ferry_allocation *allocation; // NULL when it does not live.
    struct ferry_content content;
    void *mapped;   // Not NULL while the library's lock is held.
    bool locked;    // Between the trace's l and u.
    bool written;   // Since the trace's l.
    bool unchecked; // Left video memory and was not compared since.
    bool placed;    // In video memory, at offset `at`: of several instances the one that holds the content.
    uint64_t at;
    bool verify; // Paged in, and to be read back whole.
};

// A piece of an allocation that a GPU job copied out, with what it must hold.
struct ferry_piece {
    uint64_t offset;
    uint32_t object, line, at, bytes;
    uint32_t first, count; // Stretches of it in the area.
};

// Host memory that the GPU copies pieces to. There are two: one fills while the jobs of the other end.
struct ferry_readback {
    struct ferry_allocation *allocation;
    struct ferry_piece *pieces;
    struct ferry_stretch *stretches; // begin is the offset in the piece's allocation.
    size_t piece_count, piece_capacity, stretch_count, stretch_capacity;
    uint64_t used, fence;
};

// A byte to flip: of the number-th page-in, or of the number-th allocation that leaves.
struct ferry_injection {
    bool in;
    uint64_t number, offset; // number 0 = none
};

struct ferry_player {
    const struct ferry_replay_options *options;
    const char *trace_name;
    struct ferry_trace trace;
    size_t event_end;
    uint64_t frame_count; // That will be played.
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_adapter_info info;
    struct ferry_play_object *objects; // One for each trace object.
    struct ferry_id_map by_library_id; // ferry_allocation_id() -> object.
    struct ferry_readback areas[2];
    unsigned area;
    uint32_t *evicted; // Objects to compare, because they left video memory.
    size_t evicted_count, evicted_capacity;
    struct ferry_allocation **handles;
    size_t handle_capacity;
    uint32_t line; // Of the event that is played.
    uint64_t writes, random, living;
    uint64_t page_ins, page_outs; // So far.
    struct ferry_injection inject;
    double work, work_done; // For the progress.
    struct ferry_vram_map map;
    bool map_ready;
    struct ferry_timeline *timeline;
    struct ferry_report report;
    struct ferry_statistics start;
    double start_seconds;
    char title[160];
};

/// Report a library error at the line that is played; picks the exit code. Returns it.
int ferry_player_failed(struct ferry_player *player, const char *what, int error);
/// A fresh content key. Returns it.
uint64_t ferry_player_key(struct ferry_player *player);
/// A random number below limit (not 0), from the seed.
uint64_t ferry_player_random(struct ferry_player *player, uint64_t limit);

// The files, lowest first; each calls only those above it here.

// ---- observe.c ------------------------------------------------------------------------------------------------------

/// The adapter's call-back; context is the player.
void ferry_player_observe(void *context, const struct ferry_event *event);
/// Show the picture if it is time, or now.
void ferry_player_show(struct ferry_player *player, bool now);

// ---- inject.c -------------------------------------------------------------------------------------------------------

/// Read --inject and --verify. Returns an exit code.
int ferry_inject_begin(struct ferry_player *player);
/// An allocation is about to be paged in, or has been paged out: flip the byte if it is the one. Returns an exit code.
int ferry_inject(struct ferry_player *player, uint32_t object, bool in);
/// Complains when the place never came.
int ferry_inject_end(const struct ferry_player *player);

// ---- check.c --------------------------------------------------------------------------------------------------------

/// Add to the verified bytes, and complain about *mismatch if there is one. Returns an exit code.
int ferry_check_result(struct ferry_player *player, uint32_t object, uint64_t compared,
                       const struct ferry_mismatch *mismatch, const char *when, uint32_t line);
/// Compare all of an object through a lock.
int ferry_check_object(struct ferry_player *player, uint32_t object, const char *when);
/// Compare it if it left video memory and was not compared since.
int ferry_check_if_evicted(struct ferry_player *player, uint32_t object);
/// Compare all that left video memory and did not come back.
int ferry_check_evicted(struct ferry_player *player);
/// Compare everything that lives.
int ferry_check_all(struct ferry_player *player);

// ---- readback.c -----------------------------------------------------------------------------------------------------

/// Make both areas. Returns an exit code, as all below.
int ferry_readback_begin(struct ferry_player *player);
void ferry_readback_free(struct ferry_player *player);
/// Record copies of a piece of the first, the last and one other page of an object that is resident.
int ferry_readback_object(struct ferry_player *player, uint32_t object);
/// Submit what was recorded.
int ferry_readback_submit(struct ferry_player *player);
/// Begin to fill the other area, after its jobs have ended and its pieces are compared.
int ferry_readback_turn(struct ferry_player *player);

// ---- play.c ---------------------------------------------------------------------------------------------------------

/// Play one event. Returns an exit code.
int ferry_play_event(struct ferry_player *player, const struct ferry_trace_event *event);
/// What these objects take of video memory, in whole pages.
uint64_t ferry_play_bytes(const struct ferry_player *player, const uint32_t *objects, size_t count);
/// Complain that the draw (or the render target) in a line does not fit. Returns the exit code.
int ferry_play_too_small(struct ferry_player *player, uint32_t line, const uint32_t *objects, size_t count, bool draw,
                         const char *reason);

#endif
