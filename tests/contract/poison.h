// SPDX-License-Identifier: Apache-2.0
// What a call looks at is seen by what it does not: in a child memory is poisoned that the call has nothing to do with.
// Under the address sanitizer the child ends as soon as somebody looks.
#ifndef FERRY_TESTS_POISON_H
#define FERRY_TESTS_POISON_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#include "world.h"

#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/// True in the child, which ends with _exit(): 0 = all is well.
static inline bool poison_in_a_child(void)
{
    int status = 1;
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        return true;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return false;
}

#endif
