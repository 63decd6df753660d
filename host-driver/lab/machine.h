// SPDX-License-Identifier: Apache-2.0
// What a trace is played on: a policy (policy_machine.h), or the manager itself (manager_machine.h). Neither moves a
// byte; both count what would have been moved. Objects are numbered over all traces that are played together; what is
// created takes a number that is free.
#ifndef FERRY_LAB_MACHINE_H
#define FERRY_LAB_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/trace.h"

struct ferry_lab_object {
    uint64_t pages;
    uint64_t id;   // as its trace calls it,
    uint64_t made; // its place in the order of creation, of all traces one after the other
    uint32_t line; // and where it was made
    uint32_t program;
    bool permanent; // system memory keeps a copy (PermanentSysMem)
};

// Bytes that were transferred, but for the last.
struct ferry_lab_count {
    uint64_t in;       // of what a job names and what is not there
    uint64_t uploaded; // of what the CPU wrote and what is there
    uint64_t out;      // back to system memory
    uint64_t filled;   // of fresh ones, which nobody wrote yet
    uint64_t moved;    // inside video memory
    uint64_t evictions;
    // Of in and out, what was for want of room: out as somebody was driven out, and in of what a job had used and
    // nobody wrote since.
    uint64_t paged;
};

enum ferry_lab_result {
    FERRY_LAB_OK,
    FERRY_LAB_TOO_SMALL, // a job is larger than what it may have
    FERRY_LAB_BAD_CHOICE,
    FERRY_LAB_NO_MEMORY,
    FERRY_LAB_CUT_OFF,
    FERRY_LAB_PAGES,  // ended where something was paged after the warm-up, as was asked
    FERRY_LAB_FAILED, // the manager's word: machine->error
};

// Who wants to see what the manager does. Each is called as it happens; what is removed and placed at once has moved.
// made: the allocation's place in the order of creation, since its number may be another's by now.
struct ferry_lab_watch {
    void *context;
    /// An event of a program comes next; leads: its frames count.
    void (*event)(void *context, uint32_t program, const struct ferry_trace_event *event, bool leads, uint64_t cycles);
    void (*placed)(void *context, uint32_t made, uint64_t offset, uint64_t bytes);
    void (*removed)(void *context, uint32_t made, uint64_t offset);
};

struct ferry_lab_machine {
    /// Each returns an enum ferry_lab_result; `problem` says in words what went wrong, where there is more to say.
    int (*create)(struct ferry_lab_machine *machine, uint32_t object);
    int (*destroy)(struct ferry_lab_machine *machine, uint32_t object);
    /// The CPU takes it to write; discard = the old content is not needed. Then it gives it back.
    int (*lock)(struct ferry_lab_machine *machine, uint32_t object, bool discard);
    int (*unlock)(struct ferry_lab_machine *machine, uint32_t object);
    /// A GPU job of a program names these, each once, and writes them or not.
    int (*job)(struct ferry_lab_machine *machine, uint32_t program, const uint32_t *objects, size_t count, bool writes);
    int (*end_frame)(struct ferry_lab_machine *machine);
    /// So far.
    void (*count)(const struct ferry_lab_machine *machine, struct ferry_lab_count *count);
    void (*end)(struct ferry_lab_machine *machine);
    const uint64_t *object_in;           // bytes that came in of each object
    const struct ferry_lab_watch *watch; // NULL for none; the manager alone has places to tell of
    uint64_t (*cycles)(const struct ferry_lab_machine *machine); // of the GPU, so far; NULL where there is no GPU
    char problem[200];
    uint32_t chosen; // BAD_CHOICE: the object, UINT32_MAX when there is none of that number
};

#endif
