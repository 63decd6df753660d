// SPDX-License-Identifier: Apache-2.0
#include "link/problem.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[256];

void ferry_problem_clear(void)
{
    text[0] = 0;
}

void ferry_problem_set(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
}

const char *ferry_problem(void)
{
    return text;
}
