// SPDX-License-Identifier: Apache-2.0
// What `ferry policy` and `ferry report` share: traces are read, sizes and policies are looked up, all is played.
#ifndef FERRY_TOOLS_POLICY_SESSION_H
#define FERRY_TOOLS_POLICY_SESSION_H

#include "tools/policy_report.h"

#define FERRY_POLICY_MOST 64u // that can be asked for at once

struct ferry_policy_session {
    struct ferry_lab_packed packed[FERRY_LAB_MOST_TRACES];
    struct ferry_lab_bench bench;
    const struct ferry_lab_policy *policies[FERRY_POLICY_MOST]; // NULL = the manager
    size_t policy_count;
    struct ferry_policy_report report;
};

/// Read what the options name; nothing is played. Returns an exit code, as all below.
int ferry_policy_begin(struct ferry_policy_session *session, const struct ferry_policy_options *options);
void ferry_policy_end(struct ferry_policy_session *session);
/// What came of it alone: the traces stay.
void ferry_policy_release(struct ferry_policy_report *report);
/// The sizes that are asked for, or one that is a little too small.
int ferry_policy_sizes(struct ferry_policy_session *session);
/// As many sizes, at even distances, from what the largest job needs to all that ever lives at once.
int ferry_policy_sweep_sizes(struct ferry_policy_session *session, uint64_t points);
/// Play all sizes on all policies, with a thread for each processor, and tell of each size behind the one before it;
/// played may be NULL. Ends at the first that cannot be played; but a curve may begin below what a policy needs.
int ferry_policy_play(struct ferry_policy_session *session,
                      void (*played)(const struct ferry_policy_report *report, const struct ferry_policy_size *size));
/// Tell why a run of this size did not come to its end.
int ferry_policy_complain(const struct ferry_policy_session *session, const struct ferry_policy_size *size,
                          const struct ferry_lab_outcome *outcome);
/// Find out what a person can do about it, where the manager was played. Sets ->advised.
int ferry_policy_advise(struct ferry_policy_session *session, struct ferry_policy_size *size);
/// "4.9 MiB (0.95W)". Returns text.
const char *ferry_policy_size_said(const struct ferry_policy_size *size, char text[64]);

#endif
