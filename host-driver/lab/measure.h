// SPDX-License-Identifier: Apache-2.0
// What traces are like, found before anything is played.
#ifndef FERRY_LAB_MEASURE_H
#define FERRY_LAB_MEASURE_H

#include "lab/traces.h"

/// Look packed traces over, which outlive *traces; future: somebody knows it. In memory by what lives at once, and for
/// the future by what jobs name. Returns 0, or -1 with the error in *reading.
int ferry_lab_prepare(struct ferry_lab_traces *traces, const struct ferry_lab_packed *const *packed, uint32_t count,
                      bool future, struct ferry_lab_reading *reading);
void ferry_lab_release(struct ferry_lab_traces *traces);

/// The allocation with this place in the order of creation, and whose it is: goes through its trace. False when that
/// cannot be read.
bool ferry_lab_creation_of(const struct ferry_lab_traces *traces, uint64_t made, uint32_t *program,
                           struct ferry_lab_creation *creation);

#endif
