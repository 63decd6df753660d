// SPDX-License-Identifier: Apache-2.0
// Random work of several programs with all that can go wrong below it, against a shadow: a plain copy of what each
// allocation must hold. Who has lost nothing of his own must find every byte.
#ifndef FERRY_TESTS_CHAOS_H
#define FERRY_TESTS_CHAOS_H

#include "world.h"

/// The seed decides the machine, the programs' sizes and weights, what goes wrong and when. Everything that a failure
/// says begins with it. images: some allocations are tiled, in driver model 1 seen in place too. beside: what
/// chaos_beside.c does comes on top, from a random stream of its own: without it a seed draws what it drew before there
/// was any of that. more: and what chaos_meanwhile.c does, a second queue of each device, ranges that calls map,
/// copies of what other queues have mapped, jobs of several buffers, jobs of what a lock discards meanwhile, and in
/// every fourth run allocations of large pages, in the same way.
void chaos_run(uint64_t seed, unsigned steps, bool images, bool beside, bool more);

#endif
