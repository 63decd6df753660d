// SPDX-License-Identifier: Apache-2.0
// What the programs have in common that run again and again, each time with another call failing: the first, the
// second, and so on until there is none left. Each program has a struct run that begins with a struct attempt, a struct
// look of all that a failing call must leave as it was, and look() and compare() for it.
#ifndef FERRY_TESTS_EVERY_FAILURE_H
#define FERRY_TESTS_EVERY_FAILURE_H

#include "ferry/error.h"
#include "inject.h"

// One run of the program.
struct attempt {
    const char *variant;
    bool stopped;      // the manager has, with a record: the rest of the program is left out
    char failure[400]; // the first thing that was wrong
};

void wrong(struct attempt *attempt, const char *call, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// A call begins; it is the one that fails, if none has yet.
bool call_begins(void);
/// It has come back. True when it failed for what was injected and says so: all must be as before, and called again it
/// succeeds. `fresh` is what call_begins() said, false the second time.
bool call_failed(struct attempt *attempt, const char *call, int result, int wanted, bool fresh);

#define CALL_AS(wanted, expression, text)                                                                              \
    do {                                                                                                               \
        struct look before, now;                                                                                       \
        if (run->attempt.stopped || run->attempt.failure[0])                                                           \
            return;                                                                                                    \
        look(run, text, &before);                                                                                      \
        if (call_failed(&run->attempt, text, (expression), wanted, call_begins())) {                                   \
            look(run, text, &now);                                                                                     \
            compare(run, text, &before, &now);                                                                         \
            call_failed(&run->attempt, text " once more", (expression), wanted, false);                                \
        }                                                                                                              \
        if (run->attempt.stopped || run->attempt.failure[0])                                                           \
            return;                                                                                                    \
    } while (0)
#define CALL_FOR(wanted, expression) CALL_AS(wanted, expression, #expression)
#define CALL(expression)             CALL_AS(FERRY_OK, expression, #expression)

/// A list of allocations by number, and how many.
#define LIST(...) (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned)

/// Two test cases: every failure of memory, every failure of a DDI call, of all variants of the program. It runs the
/// variant once and says in *attempt how that went. INJECT_ONLY in the environment picks one number, to look at closer.
typedef void injected_program(unsigned variant, struct attempt *attempt);
int every_failure(injected_program *program, unsigned variants);

#endif
