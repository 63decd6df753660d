// SPDX-License-Identifier: Apache-2.0
// The state of one replay. A session has the adapter and all that its programs share; a player is one program with the
// trace that it plays, as a process of its own. Not for several threads.
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
#include "tools/space_map.h"
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

// A byte to flip: of the number-th page-in, or of the number-th allocation that leaves, of all programs together.
struct ferry_injection {
    bool link; // On its way over the link.
    bool in;
    uint64_t number, offset; // number 0 = none
};

#define FERRY_MILLISECONDS(cycles) ((double)(cycles) / (1000.0 * FERRY_NOMINAL_MHZ))

struct ferry_session;

struct ferry_player {
    struct ferry_session *session;
    unsigned number; // From 0 on.
    const char *trace_name;
    struct ferry_trace trace;
    size_t event, event_end; // The next one to play.
    uint64_t frame_count;    // That will be played.
    size_t frame_end;        // Event after the end of the frame that goes on.
    double frame_work, frame_done;
    bool ended;
    struct ferry_process *process;
    uint64_t process_id;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_play_object *objects; // One for each trace object.
    uint32_t first_object;             // The number of objects[0] among those of all players.
    struct ferry_readback areas[2];
    unsigned area;
    uint64_t fence;           // Of its newest job.
    uint64_t usage, in_place; // As the timeline shows them.
    uint32_t *evicted;        // Objects to compare, because they left video memory.
    size_t evicted_count, evicted_capacity;
    struct ferry_allocation **handles;
    size_t handle_capacity;
    uint32_t line; // Of the event that is played.
    uint64_t seed, writes, random;
    struct ferry_program_report *report;
};

struct ferry_session {
    const struct ferry_replay_options *options;
    struct ferry_player *players;
    unsigned player_count;
    uint32_t object_count; // Of all players. Readback areas follow: object_count + the player's number.
    struct ferry_adapter *adapter;
    struct ferry_adapter_info info;
    struct ferry_id_map by_library_id; // ferry_allocation_id() -> number among the objects of all players.
    uint64_t living;
    uint64_t page_ins, page_outs; // So far.
    struct ferry_injection inject;
    double work, work_done; // For the progress.
    struct ferry_vram_map map;
    struct ferry_space_map spaces; // With --spaces.
    bool map_ready;
    struct ferry_timeline *timeline;
    struct ferry_report report;
    struct ferry_statistics start, end; // end: before the last program is compared; size is 0 until then.
    struct ferry_statistics outside;    // Comparing what the others had at their end: not in the figures.
    uint64_t first_time;                // Of the first event that was observed, in device cycles.
    double start_seconds, outside_seconds;
    char names[400], title[160]; // Of the traces; with the back end.
};

/// Report a library error at the line that is played; picks the exit code. Returns it.
int ferry_player_failed(struct ferry_player *player, const char *what, int error);
/// The same where no program is concerned.
int ferry_session_failed(struct ferry_session *session, const char *what, int error);
/// "program 2 (neverball.memtrace), " where there are several, else "". Returns text.
const char *ferry_player_text(const struct ferry_player *player, char text[96]);
/// A fresh content key. Returns it.
uint64_t ferry_player_key(struct ferry_player *player);
/// A random number below limit (not 0), from the seed.
uint64_t ferry_player_random(struct ferry_player *player, uint64_t limit);
/// How much longer the GPU's work takes than other events, for places inside a frame and for the progress.
double ferry_play_work(const struct ferry_trace_event *event);

// The files, lowest first; each calls only those above it here.

// ---- observe.c ------------------------------------------------------------------------------------------------------

/// The adapter's call-back; context is the session.
void ferry_session_observe(void *context, const struct ferry_event *event);
/// Show the picture if it is time, or now.
void ferry_session_show(struct ferry_session *session, bool now);

// ---- inject.c -------------------------------------------------------------------------------------------------------

/// Read --inject and --verify. Returns an exit code.
int ferry_inject_begin(struct ferry_session *session);
/// Tell an adapter that is open. Returns an exit code.
int ferry_inject_on_link(struct ferry_session *session);
/// An allocation is about to be paged in, or has been paged out: flip the byte if it is the one. Returns an exit code.
int ferry_inject(struct ferry_player *player, uint32_t object, bool in);
/// Complains when the place never came.
int ferry_inject_end(struct ferry_session *session);

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

// ---- programs.c -----------------------------------------------------------------------------------------------------

/// Read --weights and --reservations into the players' reports. Returns an exit code, as the next two.
int ferry_programs_read(struct ferry_session *session);
/// Make the processes, and check that every draw fits into its program's budget: found out before anything runs.
int ferry_programs_begin(struct ferry_session *session);
/// Note what the program has used.
int ferry_program_count(struct ferry_player *player);

// ---- session.c ------------------------------------------------------------------------------------------------------

/// Read the traces, open the adapter, make programs, devices and files. Returns an exit code.
int ferry_session_begin(struct ferry_session *session);
void ferry_session_free(struct ferry_session *session);
/// The adapter's counters now. Returns an exit code.
int ferry_session_statistics(struct ferry_session *session, struct ferry_statistics *statistics);

#endif
