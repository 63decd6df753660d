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
};

struct oracle_action {
    bool is_table_change;
    uint32_t packet_offset;
    // A job.
    uint32_t op, source_kind, destination_kind, list, pattern_log2;
    bool unordered, is_protected;
    bool forgets; // The job of no bytes behind a FORGET: its pattern is nobody's.
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

// A job that no ring with these limits may ever cause, whatever its packet was: says why; null when it is allowed.
const char *oracle_job_is_illegal(const struct oracle_action *job, const struct oracle_limits *limits);

#endif
