// SPDX-License-Identifier: Apache-2.0
// What the tool `ferry` and each of its commands say when they are asked for help: whole lines, as they are printed.
#ifndef FERRY_TOOLS_HELP_TEXT_H
#define FERRY_TOOLS_HELP_TEXT_H

extern const char ferry_general_help[];
extern const char ferry_replay_help[];
extern const char ferry_policy_help[];
extern const char ferry_report_help[];
extern const char ferry_trace_help[];
extern const char ferry_list_help[];
extern const char ferry_info_help[];
extern const char ferry_selftest_help[];
extern const char ferry_fault_help[];

#endif
