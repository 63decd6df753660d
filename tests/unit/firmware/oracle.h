// SPDX-License-Identifier: Apache-2.0
// What a buffer must lead to, written from the manual alone: the jobs and table changes in order, and the fault if any.
// Shares no code with the firmware.
#ifndef FERRY_TESTS_FIRMWARE_ORACLE_H
#define FERRY_TESTS_FIRMWARE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

struct oracle_limits {
    uint32_t rights, aperture_pages;
    uint64_t local_limit, protect_base, protect_limit;
    bool page_tables; // There are virtual addresses, ROOT and FORGET.
    bool tiling;      // There are rectangles.
};

// One side of a rectangle, as the packet has it. swizzle 0: rows.
struct oracle_side {
    int64_t pitch;
    uint32_t x, y, swizzle;
    bool small;
    uint64_t low; // Its lowest byte.
};

struct oracle_action {
    bool is_table_change;
    uint32_t packet_offset;
    // A job.
    uint32_t op, source_kind, destination_kind, list, pattern_log2;
    bool unordered, is_protected;
    uint32_t space; // Of a FORGET; any other job has its buffer's.
    // A rectangle: any number of copies, together these rows of length bytes. Of a copy: others of its packet come.
    uint32_t rows;
    struct oracle_side from, to;
    bool more;
    uint64_t source, destination;
    uint32_t length;
    uint32_t list_offset; // Byte offset of the page list in the buffer; 0 = none.
    // A table change.
    bool unmap, snoop;
    uint32_t first, count;
    uint64_t dummy;
};

struct oracle_fault {
    uint32_t kind, packet_offset, address_kind, header;
    uint32_t list_index;
    bool write;
    uint64_t address;
};

#define ORACLE_ACTIONS 512u

struct oracle_result {
    struct oracle_action actions[ORACLE_ACTIONS];
    unsigned action_count;
    unsigned packets;          // Looked at, a refused one included.
    struct oracle_fault fault; // kind 0: none.
};

// bytes: a multiple of 8, at most 4096. Result fields that an action does not use are 0.
void oracle_run(const uint8_t *buffer, uint32_t bytes, const struct oracle_limits *limits,
                struct oracle_result *result);

// Where a byte of a rectangle is, from the table of docs/manual/tiling.md.
uint64_t oracle_rectangle_byte(const struct oracle_action *rectangle, bool destination, uint32_t byte, uint32_t row);

// The copy that begins with this byte of this row and goes as far as both sides lie together; these are moved behind
// it. more: it is not the rectangle's last.
struct oracle_action oracle_rectangle_piece(const struct oracle_action *rectangle, uint32_t *byte, uint32_t *row);

// Reads a rectangle's pitch and layout of one side, which begins at address; false when they break a rule. With
// side->low, *bytes is the range that it takes, of tiles whole ones.
bool oracle_read_side(const uint8_t *words, uint64_t address, uint32_t width, uint32_t rows, struct oracle_side *side,
                      uint64_t *bytes);

// A job that no ring with these limits may ever cause, whatever its packet was: says why; null when it is allowed.
const char *oracle_job_is_illegal(const struct oracle_action *job, const struct oracle_limits *limits);

#endif
