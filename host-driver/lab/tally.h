// SPDX-License-Identifier: Apache-2.0
// Many numbers of which few differ: the largest, the median, any rank exactly, in memory by how many differ.
#ifndef FERRY_LAB_TALLY_H
#define FERRY_LAB_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ferry_lab_tally {
    struct ferry_lab_tally_entry {
        uint64_t number, times;
    } * entries;
    size_t count, capacity;
    uint64_t numbers; // all of them
};

/// False without memory.
bool ferry_lab_tally_add(struct ferry_lab_tally *tally, uint64_t number);
/// The number of this rank: 0 = the smallest. The rank is less than tally->numbers.
uint64_t ferry_lab_tally_at(struct ferry_lab_tally *tally, uint64_t rank);
void ferry_lab_tally_free(struct ferry_lab_tally *tally);

#endif
