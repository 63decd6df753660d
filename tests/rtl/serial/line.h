// SPDX-License-Identifier: Apache-2.0
// A serial line as the other end has it: bits of any length in clocks, written and read by times, not by a divider.
#ifndef FERRY_TESTS_RTL_SERIAL_LINE_H
#define FERRY_TESTS_RTL_SERIAL_LINE_H

#include <cstddef>
#include <cstdint>
#include <deque>

struct LineOut {
    double bit = 4; // Clocks.
    std::deque<uint16_t>
        bytes; // 256: a byte's time of silence; 512 + byte: one without a stop bit; 1024: a low line for three bytes.
    double start = 0, end = 0; // Of what is on the line.
    uint16_t now = 256;

    /// The line in clock `clock`.
    bool level(uint64_t clock)
    {
        const double time = (double)clock;
        if (time >= end) {
            start = time - end < 1 ? end : time;
            now = 256;
            if (!bytes.empty()) {
                now = bytes.front();
                bytes.pop_front();
                end = start + (now == 1024 ? 30 : 10) * bit;
            }
        }
        const unsigned at = (unsigned)((time - start) / bit);
        if ((now & 256) != 0 || time >= end)
            return true;
        if (now == 1024 || at == 0)
            return false;
        return at <= 8 ? (now >> (at - 1) & 1) != 0 : now < 512;
    }
};

struct LineIn {
    double bit = 4;
    std::deque<uint8_t> bytes;
    uint64_t broken = 0; // Bytes without a stop bit.
    bool before = true, busy = false;
    double next = 0;
    unsigned at = 0;
    uint8_t byte = 0;

    void see(uint64_t clock, bool level)
    {
        if (!busy && before && !level) {
            busy = true;
            at = 0;
            next = (double)clock + 1.5 * bit - 0.5;
        }
        if (busy && (double)clock >= next) {
            if (at < 8) {
                byte = (uint8_t)(byte >> 1 | (level ? 0x80 : 0));
            } else {
                busy = false;
                if (level)
                    bytes.push_back(byte);
                else
                    broken++;
            }
            at++;
            next += bit;
        }
        before = level;
    }
};

#endif
