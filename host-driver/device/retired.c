// SPDX-License-Identifier: Apache-2.0
// How many entries of a ring the device has done, as far as that can be believed. Waits, faults and refusals go by it.
#include "device/device_state.h"
#include "link/problem.h"

uint32_t ferry_gpu_ring_retired(struct ferry_gpu *gpu, uint32_t number)
{
    struct ferry_gpu_ring *ring = &gpu->ring[number];
    if (ring->entries == 0) {
        return 0;
    }
    // What is read behind the count is as new as it, and so is what the entry has written: no processor may read that
    // before, or a fault of an entry that is counted would not be among the faults.
    const uint32_t told = __atomic_load_n(&ring->fence->retired, __ATOMIC_ACQUIRE);
    const uint32_t submitted = ring->produced + ring->ringing;
    // More than there were, or fewer than before: whoever believed it would give memory back under entries that run.
    if (told - ring->retired <= submitted - ring->retired) {
        ring->retired = told;
    } else if (!gpu->lies) {
        gpu->lies = true;
        ferry_problem_set("the device says that it has done %u entries of ring %u, of which there were %u, %u of them "
                          "done before: is its bitstream whole?",
                          told, number, submitted, ring->retired);
    }
    return ring->retired;
}
