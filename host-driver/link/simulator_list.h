// SPDX-License-Identifier: Apache-2.0
// The simulators that run on this machine as processes of their own (ferry-sim).
#ifndef FERRY_LINK_SIMULATOR_LIST_H
#define FERRY_LINK_SIMULATOR_LIST_H

#include "ferry/ferry.h"

/// Tell of them as ferry_adapter_list() promises: those at a socket as `socket:`, those at a pseudo terminal as `uart:`
/// (this user's alone, since the system hides the others'). `root` stands before /proc: "", or a test's folder.
void ferry_simulator_list(const char *root, ferry_candidate_callback *callback, void *context);

#endif
