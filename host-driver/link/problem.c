// SPDX-License-Identifier: Apache-2.0
#include "link/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "ferry_contract.h"

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

int ferry_problem_contract(const char *where, uint32_t version)
{
    ferry_problem_set("the device at %s has contract %u.%u, this driver %u.%u: take both from one release, "
                      "in its tree `make build/ferry`, and for a board `make -C boards/X flash`",
                      where, version >> 16, version & 0xffff, FERRY_CONTRACT_VERSION >> 16,
                      FERRY_CONTRACT_VERSION & 0xffff);
    return FERRY_ERROR_CONTRACT;
}

const char *ferry_problem(void)
{
    return text;
}
