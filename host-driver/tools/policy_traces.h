// SPDX-License-Identifier: Apache-2.0
// How `ferry policy` comes by its traces.
#ifndef FERRY_TOOLS_POLICY_TRACES_H
#define FERRY_TOOLS_POLICY_TRACES_H

#include "tools/policy_report.h"

/// Read the traces that the report's options name and look them over: held in traces[], or, when they are long and
/// nothing is asked for that needs them whole, read from their files for each run; future: somebody knows it. Names
/// them in the report. Returns an exit code; free traces[] and release *prepared either way.
int ferry_policy_read(struct ferry_policy_report *report, struct ferry_trace traces[FERRY_LAB_MOST_TRACES], bool future,
                      struct ferry_lab_traces *prepared);

#endif
