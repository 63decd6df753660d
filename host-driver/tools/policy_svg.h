// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_POLICY_SVG_H
#define FERRY_TOOLS_POLICY_SVG_H

#include "tools/policy_report.h"

/// Returns 0, or -1 with errno set.
int ferry_policy_svg(const char *path, const struct ferry_policy_report *report);

#endif
