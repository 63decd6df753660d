// SPDX-License-Identifier: Apache-2.0
// Chance for stalls and reordering: one 64-bit draw a cycle, one byte of it a handshake.
#ifndef FERRY_SIM_RANDOM_H
#define FERRY_SIM_RANDOM_H

#include <cstdint>

namespace ferry
{

class Random
{
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull)
    {
        if (state_ == 0) {
            state_ = 1;
        }
    }

    /// xorshift64*
    uint64_t next()
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1dull;
    }

  private:
    uint64_t state_;
};

} // namespace ferry

#endif
