// SPDX-License-Identifier: Apache-2.0
// The two builds of the device: the plain one, and the one that can write waves, which runs slower even with waves off.
#ifndef FERRY_SIM_DEVICES_H
#define FERRY_SIM_DEVICES_H

#include <memory>

#include "harness.h"

namespace ferry
{

/// Bytes of video memory: LOCAL_ADDRESS_BITS of ferry_device as it is Verilated here.
constexpr size_t video_memory_bytes = size_t{1} << 26;

/// nullptr when memory is short or the wave file cannot be written.
std::unique_ptr<Simulation> make_plain(const ferry_sim_config &config);
std::unique_ptr<Simulation> make_traced(const ferry_sim_config &config);

} // namespace ferry

#endif
