// SPDX-License-Identifier: Apache-2.0
// BARs that may go: where a function is taken out of the machine while this process has it mapped, the kernel takes its
// BARs away, and what touches them then gets SIGBUS, which ends a program. As long as a range is guarded it reads as
// ones instead, as from a bus on which nobody answers, and what is written there is lost.
#ifndef FERRY_LINK_BAR_GUARD_H
#define FERRY_LINK_BAR_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/// From now on. The first one takes SIGBUS for the process; signals that are about something else go to whoever had it
/// before. Any thread. false = there are too many, or the system gives no handler: then it stays unguarded.
bool ferry_bar_guard(volatile void *memory, size_t bytes);
/// No more, before it is unmapped; with the last one SIGBUS is as it was. Nothing for what is not guarded.
void ferry_bar_unguard(volatile void *memory);

#endif
