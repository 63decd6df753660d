// SPDX-License-Identifier: Apache-2.0
// The smaller of two counts of pages or bytes, and the larger.
#ifndef FERRY_VIDMM_BASE_LEAST_H
#define FERRY_VIDMM_BASE_LEAST_H

#include <stdint.h>

static inline uint64_t ferry_vm_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t ferry_vm_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
