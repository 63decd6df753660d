// SPDX-License-Identifier: Apache-2.0
// How `ferry policy` comes by its traces.
#ifndef FERRY_TOOLS_POLICY_TRACES_H
#define FERRY_TOOLS_POLICY_TRACES_H

#include "tools/policy_report.h"

/// Read the traces that the report's options name, once, pack them and look them over; future: somebody knows it. Names
/// them in the report. Returns an exit code; free packed[] and release *prepared either way.
int ferry_policy_read(struct ferry_policy_report *report, struct ferry_lab_packed packed[FERRY_LAB_MOST_TRACES],
                      bool future, struct ferry_lab_traces *prepared);

#endif
