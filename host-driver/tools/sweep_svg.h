// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_SWEEP_SVG_H
#define FERRY_TOOLS_SWEEP_SVG_H

#include <stdio.h>

#include "tools/policy_report.h"

/// Bytes paged against the size of video memory: a line a policy. The report's sizes are a curve.
void ferry_sweep_svg(FILE *file, const struct ferry_policy_report *report);

#endif
