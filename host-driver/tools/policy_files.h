// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_POLICY_FILES_H
#define FERRY_TOOLS_POLICY_FILES_H

#include "tools/policy_report.h"

/// Before anything is played: can they be written, and is none of them a trace or another of them? Returns an exit
/// code.
int ferry_policy_files_check(const struct ferry_policy_options *options);
/// Write the files that the options name. Returns an exit code.
int ferry_policy_files(const struct ferry_policy_report *report);

#endif
