// SPDX-License-Identifier: Apache-2.0
// The cases of tests/rtl_host. A case gets a bench after reset and reports through bench.fail.
#ifndef FERRY_TEST_HOST_CASES_H
#define FERRY_TEST_HOST_CASES_H

#include "bench.h"

struct Case {
    const char *name;
    void (*run)(Bench &bench);
};

// Ended by a case without a name.
extern const Case completer_cases[];
extern const Case interrupt_cases[];
extern const Case window_cases[];
extern const Case view_cases[];
extern const Case view_live_cases[];
extern const Case requester_cases[];
extern const Case requester_fault_cases[];
extern const Case line_cases[];
extern const Case link_cases[];
extern const Case error_cases[];
extern const Case hostile_cases[];

// Bits of Device Status, and of Device Control where they enable the messages.
enum { CORRECTABLE = 1, NONFATAL = 2, FATAL = 4, UNSUPPORTED_REQUEST = 8 };

// Every partner of the device lets it wait so often.
inline void stalls(Bench &b, unsigned percent)
{
    b.stall_tx = b.stall_rx = b.stall_axi = b.stall_reg = b.stall_slave = percent;
}

// A read was served, with what stands in host memory.
inline void check_data(Bench &b, const AxiRead &r)
{
    if (!r.done)
        b.fail("read %llx was not served", (unsigned long long)r.address);
    for (size_t i = 0; i < r.data.size(); i++) {
        uint64_t at = r.address + 8 * i, want = b.host.word(at) | uint64_t(b.host.word(at + 4)) << 32;
        if (r.faults[i])
            b.fail("read %llx beat %zu: fault %u", (unsigned long long)r.address, i, r.faults[i]);
        else if (r.data[i] != want)
            b.fail("read %llx beat %zu: %llx, expected %llx", (unsigned long long)r.address, i,
                   (unsigned long long)r.data[i], (unsigned long long)want);
    }
}

// Expect a value; the message names the place.
#define EXPECT(bench, what, got, want)                                                                                 \
    do {                                                                                                               \
        unsigned long long got_ = (unsigned long long)(got), want_ = (unsigned long long)(want);                       \
        if (got_ != want_)                                                                                             \
            (bench).fail("%s:%d: %s is %llx, expected %llx", __func__, __LINE__, what, got_, want_);                   \
    } while (0)

#endif
