// SPDX-License-Identifier: Apache-2.0
// Which allocation stands where in video memory, now and (when asked for) over the whole run: fed by the adapter's
// PLACED and REMOVED events, read by the terminal picture and by the SVG.
#ifndef FERRY_TOOLS_VRAM_MAP_H
#define FERRY_TOOLS_VRAM_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY_LOCAL_SEGMENT 1u
#define FERRY_NOT_PLACED    UINT32_MAX
#define FERRY_NOWHERE       UINT64_MAX
// Whenever the history reaches this (2^21 stays are 80 MB), the smaller half of it is forgotten; the SVG says how much.
#define FERRY_LONGEST_HISTORY (1u << 21)

// One stay of one object, in the map's time. An object that is renamed stands in several places at once: parked is one
// that does not hold its content.
struct ferry_stay {
    uint64_t offset, bytes;
    uint32_t object;
    uint32_t next; // While it goes on: number in living of another one of the object, or FERRY_NOT_PLACED.
    float begin, end;
    bool parked;
};

struct ferry_frame_figures {
    uint64_t placed_bytes;
    uint32_t placed, removed, moved, draws;
};

struct ferry_vram_map {
    uint64_t video_bytes;
    double now; // One program: frames since the start, with a fraction inside the frame. Several: milliseconds.
    struct ferry_stay *living; // Who stands there now, in no order.
    uint32_t *place_of_object; // Object -> number of its first one in living, or FERRY_NOT_PLACED.
    uint32_t *rank_of_object;  // Its place when its program's objects are sorted by size, largest first: its colour.
    uint8_t *program_of_object;
    unsigned program_count;
    size_t living_count, living_capacity, object_count;
    uint64_t resident_bytes, most_resident_bytes;
    struct ferry_frame_figures frame; // The frame that goes on.
    struct ferry_frame_figures last;  // The one before.
    uint32_t last_removed;            // The object of the newest event, if that was a removal in the same step.
    bool keep_history;
    struct ferry_stay *stays;           // Ended ones, in no order.
    struct ferry_frame_figures *frames; // Ended ones.
    size_t stay_count, stay_capacity, frame_count, frame_capacity;
    uint64_t stays_lost; // Forgotten, or not kept for lack of memory.
};

/// sizes has the bytes of each object, programs (NULL: there is one) whose it is; neither is needed afterwards. Returns
/// 0, or -1 without memory.
int ferry_vram_map_begin(struct ferry_vram_map *map, uint64_t video_bytes, size_t objects, const uint64_t *sizes,
                         const uint8_t *programs, unsigned program_count, bool keep_history);
void ferry_vram_map_free(struct ferry_vram_map *map);
/// In one more place. Returns whether it only moved: it was removed just before, in the same step.
bool ferry_vram_map_placed(struct ferry_vram_map *map, uint32_t object, uint64_t offset, uint64_t bytes);
/// No longer there.
void ferry_vram_map_removed(struct ferry_vram_map *map, uint32_t object, uint64_t offset);
/// Its content is in the place at offset now, or in none with FERRY_NOWHERE: what stands in its others is parked.
void ferry_vram_map_current(struct ferry_vram_map *map, uint32_t object, uint64_t offset);
/// A new step of the program begins: what it places was not moved by the one before.
void ferry_vram_map_step(struct ferry_vram_map *map);
void ferry_vram_map_end_frame(struct ferry_vram_map *map);
/// End the stays that still go on, so that the history is whole.
void ferry_vram_map_end(struct ferry_vram_map *map);

/// Order for qsort(): stays that take most room in a picture (bytes times frames) come first.
int ferry_stay_by_area(const void *left, const void *right);

struct ferry_colour {
    uint8_t red, green, blue;
};
#define FERRY_SHADES 4u
/// A colour for an object, the same in the terminal and in the SVG; the largest objects differ most. Of several
/// programs each has a hue of its own, of which its objects have shades.
struct ferry_colour ferry_object_colour(const struct ferry_vram_map *map, uint32_t object);
/// One of a program's shades, of FERRY_SHADES. The first is the program's own.
struct ferry_colour ferry_program_colour(unsigned program, unsigned shade);

#endif
