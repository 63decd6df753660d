// SPDX-License-Identifier: Apache-2.0
// The cases of rtl_endings that stand in files of their own.
#ifndef FERRY_TESTS_RTL_CPU_ENDINGS_CASES_H
#define FERRY_TESTS_RTL_CPU_ENDINGS_CASES_H

#include "endings_bench.h"

void core_registers(Checks &checks, Random &random);

#endif
