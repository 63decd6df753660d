// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_POLICY_FILES_H
#define FERRY_TOOLS_POLICY_FILES_H

#include "tools/policy_report.h"

/// Write the files that the options name. Returns an exit code.
int ferry_policy_files(const struct ferry_policy_report *report);

#endif
