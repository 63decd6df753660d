// SPDX-License-Identifier: Apache-2.0
// Failures on request. The library is built a second time for these tests, with its calls of malloc and the like, and
// of the page source underneath it, renamed to the ones here; the miniport's table has a wrapper before it. Each call
// that could fail counts, and the n-th does.
#ifndef FERRY_TESTS_INJECT_H
#define FERRY_TESTS_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "ddi/miniport.h"

enum inject_kind {
    INJECT_NOTHING,
    INJECT_MEMORY, // malloc, calloc, realloc, posix_memalign, mmap, pages
    INJECT_DDI,    // a call of the miniport does nothing and answers with `status`
};

struct inject {
    enum inject_kind kind;
    NTSTATUS status;
    uint64_t after; // this one fails, counted from 1
    uint64_t seen;  // calls that could have failed so far
    bool armed;     // only then they count
    bool fired;
    const char *what; // name of the call that failed
    bool stops;       // the contract knows no failure of it: the manager has to stop with a record
    int64_t live;     // blocks of the library that are not freed
};
extern struct inject inject;

/// From now on; nothing has been seen.
void inject_set(enum inject_kind kind, uint64_t after, NTSTATUS status);
/// A call begins, in which one may fail.
void inject_arm(bool armed);
/// The table with the wrapper before it. One at a time.
const DRIVER_INITIALIZATION_DATA *inject_table(const DRIVER_INITIALIZATION_DATA *under);
/// Does this call fail?
bool inject_hit(enum inject_kind kind, const char *what);

#endif
