// SPDX-License-Identifier: Apache-2.0
// "3,1,1" and "4M,0,0" of the command line: a field for each trace.
#ifndef FERRY_TOOLS_NUMBER_LIST_H
#define FERRY_TOOLS_NUMBER_LIST_H

#include <stdint.h>

/// Text NULL leaves all as it is. Complains of what is wrong; returns an exit code.
int ferry_read_weights(const char *text, unsigned traces, uint64_t *weights);
int ferry_read_reservations(const char *text, unsigned traces, uint64_t *reservations);

#endif
