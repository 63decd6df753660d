// SPDX-License-Identifier: Apache-2.0
// Turns busy signals sampled every cycle into spans with short gaps bridged, so that a timeline stays small.
#ifndef FERRY_SIM_SPANS_H
#define FERRY_SIM_SPANS_H

#include <cstdint>

#include "ferry_sim.h"

namespace ferry
{

class Spans
{
  public:
    static constexpr uint64_t bridged = 32;      // Cycles of a gap that does not end a span.
    static constexpr uint64_t sample_every = 64; // Cycles between looks at a value; a power of two.

    /// nullptr ends reporting.
    void observe(const ferry_sim_observer *observer)
    {
        flush();
        on_ = observer != nullptr;
        observer_ = on_ ? *observer : ferry_sim_observer{};
        for (uint32_t &value : values_)
            value = 0;
    }
    bool on() const { return on_; }

    void sample(uint64_t now, ferry_sim_activity activity, bool busy)
    {
        Span &span = spans_[activity];
        if (busy) {
            if (!span.open) {
                span = {now, now, true};
            }
            span.end = now + 1;
        } else if (span.open && now >= span.end + bridged) {
            close(activity);
        }
    }
    void sample_value(uint64_t now, ferry_sim_value what, uint32_t value)
    {
        if (now % sample_every == 0 && value != values_[what]) {
            values_[what] = value;
            if (observer_.value != nullptr) {
                observer_.value(observer_.context, what, now, value);
            }
        }
    }
    /// Report spans that are still open.
    void flush()
    {
        for (int n = 0; n < FERRY_SIM_ACTIVITIES; n++) {
            if (spans_[n].open) {
                close(static_cast<ferry_sim_activity>(n));
            }
        }
    }

  private:
    struct Span {
        uint64_t begin, end;
        bool open;
    };
    void close(ferry_sim_activity activity)
    {
        Span &span = spans_[activity];
        span.open = false;
        if (observer_.span != nullptr) {
            observer_.span(observer_.context, activity, span.begin, span.end);
        }
    }

    bool on_ = false;
    ferry_sim_observer observer_ = {};
    Span spans_[FERRY_SIM_ACTIVITIES] = {};
    uint32_t values_[FERRY_SIM_VALUES] = {};
};

} // namespace ferry

#endif
