// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_POLICY_SVG_H
#define FERRY_TOOLS_POLICY_SVG_H

#include <stdio.h>

#include "tools/policy_report.h"

/// Bytes of each frame: a panel a size, a line a policy.
void ferry_policy_svg(FILE *file, const struct ferry_policy_report *report);

#endif
