// SPDX-License-Identifier: Apache-2.0
// `ferry policy`: what a size of video memory and a policy make of whole traces, without moving a byte.
#ifndef FERRY_TOOLS_POLICY_H
#define FERRY_TOOLS_POLICY_H

#include "tools/policy_report.h"

/// Run it. Returns an exit code.
int ferry_policy(const struct ferry_policy_options *options);

#endif
