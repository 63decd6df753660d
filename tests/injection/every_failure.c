// SPDX-License-Identifier: Apache-2.0
// cmocka.h wants these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "every_failure.h"

void wrong(struct attempt *attempt, const char *call, const char *format, ...)
{
    char text[200];
    va_list list;
    if (attempt->failure[0])
        return;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    snprintf(attempt->failure, sizeof(attempt->failure), "%s: %s number %llu fails (%s): %.120s: %s", attempt->variant,
             inject.kind == INJECT_MEMORY ? "memory" : "DDI call", (unsigned long long)inject.after,
             inject.what ? inject.what : "none", call, text);
}

bool call_begins(void)
{
    bool fresh = !inject.fired;
    inject_arm(fresh);
    return fresh;
}

bool call_failed(struct attempt *attempt, const char *call, int result, int wanted, bool fresh)
{
    inject.armed = false;
    if (result == wanted || (wanted == FERRY_OK && result == FERRY_PENDING))
        return false;
    if (!fresh || !inject.fired) {
        wrong(attempt, call, "returned %s unasked", ferry_error_name(result));
        return false;
    }
    if (result == FERRY_ERROR_CRITICAL) {
        attempt->stopped = true;
        if (!inject.stops)
            wrong(attempt, call, "the manager has stopped");
        return false;
    }
    // AddDevice has no other answer than memory, and a reset that fails is a device that does not come back.
    bool memory = inject.kind == INJECT_MEMORY || strcmp(inject.what, "DxgkDdiAddDevice") == 0;
    bool reset = strcmp(inject.what, "DxgkDdiResetEngine") == 0;
    int named = memory ? FERRY_ERROR_NO_HOST_MEMORY : reset ? FERRY_ERROR_TIMEOUT : FERRY_ERROR_DEVICE_LOST;
    if (result != named)
        wrong(attempt, call, "returned %s for %s", ferry_error_name(result), inject.what);
    if (memory && strstr(call, "_destroy"))
        wrong(attempt, call, "is kept for want of memory to destroy it");
    return true;
}

static injected_program *program;
static unsigned variants;
static uint64_t first_only, last_only = UINT64_MAX;

static void run_all(enum inject_kind kind)
{
    unsigned bad = 0;
    uint64_t sum = 0;
    for (unsigned variant = 0; variant < variants; variant++) {
        uint64_t n = first_only ? first_only : 1;
        for (bool more = true; more && n <= last_only; n++) {
            struct attempt attempt = {0};
            inject_set(kind, n, STATUS_DEVICE_REMOVED);
            program(variant, &attempt);
            more = inject.fired;
            sum += more;
            if (attempt.failure[0] && bad++ < 40)
                print_error("%s\n", attempt.failure);
        }
    }
    printf("%llu failures, one at a time\n", (unsigned long long)sum);
    assert_true(sum > 0); // Without one nothing was injected.
    assert_int_equal(bad, 0);
}

static void every_failure_of_memory_leaves_the_state_as_it_was(void **state)
{
    (void)state;
    run_all(INJECT_MEMORY);
}

static void every_failure_of_a_ddi_call_is_named_and_changes_nothing(void **state)
{
    (void)state;
    run_all(INJECT_DDI);
}

int every_failure(injected_program *injected, unsigned count)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_of_memory_leaves_the_state_as_it_was),
        cmocka_unit_test(every_failure_of_a_ddi_call_is_named_and_changes_nothing),
    };
    program = injected;
    variants = count;
    if (getenv("INJECT_ONLY"))
        first_only = last_only = strtoull(getenv("INJECT_ONLY"), NULL, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
