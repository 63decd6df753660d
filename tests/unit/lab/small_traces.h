// SPDX-License-Identifier: Apache-2.0
// What the tests of the laboratory share: a trace that stands in the test, and a bench of it.
#ifndef FERRY_TESTS_SMALL_TRACES_H
#define FERRY_TESTS_SMALL_TRACES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "lab/bench.h"

#define PAGE 4096u

static struct ferry_lab_packed packed;
static struct ferry_lab_bench bench;

static inline void load(const char *text)
{
    char path[] = "/tmp/ferry-lab-XXXXXX";
    struct ferry_lab_reading reading = {0};
    const struct ferry_lab_packed *const list[] = {&packed};
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    int read = ferry_lab_pack(&packed, path, &reading);
    unlink(path);
    if (read != 0)
        fail_msg("line %u: %s", (unsigned)reading.error.line, reading.error.reason);
    bench = (struct ferry_lab_bench){.seed = 1, .programs = {{.weight = 1}}};
    assert_int_equal(ferry_lab_prepare(&bench.traces, list, 1, true, &reading), 0);
}

static inline void unload(void)
{
    ferry_lab_release(&bench.traces);
    ferry_lab_packed_free(&packed);
}

#endif
