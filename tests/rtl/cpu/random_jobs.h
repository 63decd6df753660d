// SPDX-License-Identifier: Apache-2.0
// Random copies and fills on two rings, and both memories compared to the last byte: that a device works.
#ifndef FERRY_TESTS_RTL_CPU_RANDOM_JOBS_H
#define FERRY_TESTS_RTL_CPU_RANDOM_JOBS_H

#include "host_ring.h"

static inline void compare(Checks &checks, const std::vector<uint8_t> &found, const std::vector<uint8_t> &expected,
                           const char *what)
{
    for (size_t i = 0; i < expected.size(); i++)
        if (found[i] != expected[i]) {
            std::printf("    %s differs from byte 0x%zx on\n", what, i);
            checks.equal(found[i], expected[i], what);
            return;
        }
}

static inline std::vector<uint8_t> host_data(RootComplex &root)
{
    std::vector<uint8_t> all;
    for (unsigned i = 0; i < DATA_PAGES; i++)
        all.insert(all.end(), root.page(DATA + i * 4096), root.page(DATA + i * 4096) + 4096);
    return all;
}

// Random copies and fills on two rings; each ring has its own half of both memories, so the order between them is free.
// Either ring gets a buffer: the fence of one that never had any never comes.
static inline void random_jobs(Checks &checks, Random &random, RootComplex &root, Ring *rings[2], unsigned buffers)
{
    const uint32_t half = DATA_PAGES * 4096 / 2;
    std::vector<uint8_t> local(root.local.begin(), root.local.begin() + 2 * half), host = host_data(root);
    for (unsigned buffer = 0; buffer < buffers; buffer++) {
        unsigned side = buffer < 2 ? buffer : random.below(2);
        Ring &ring = *rings[side];
        while (ring.full())
            root.tick();
        for (unsigned count = 1 + random.below(6); count; count--) {
            uint32_t bytes = random.once_in(4) ? random.below(9000) : random.below(200);
            uint32_t from = side * half + random.below(half - bytes), to = side * half + random.below(half - bytes);
            bool from_host = random.once_in(2), to_host = random.once_in(2);
            std::vector<uint8_t> &target = to_host ? host : local;
            uint32_t kind = to_host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
            uint64_t destination = to_host ? DATA + to : to;
            if (random.once_in(3)) {
                uint32_t log2 = random.below(4);
                uint64_t pattern = random.word();
                bytes &= ~((1u << log2) - 1);
                pattern &= log2 == 3 ? ~0ull : (1ull << (8u << log2)) - 1;
                ring.fill(kind, destination, bytes, log2, pattern);
                for (uint32_t i = 0; i < bytes; i++)
                    target[to + i] = static_cast<uint8_t>(pattern >> 8 * (i & ((1u << log2) - 1)));
            } else {
                std::vector<uint8_t> &source = from_host ? host : local;
                ring.copy(from_host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL,
                          from_host ? DATA + from : from, kind, destination, bytes);
                std::vector<uint8_t> moved(source.begin() + from, source.begin() + from + bytes);
                std::copy(moved.begin(), moved.end(), target.begin() + to);
            }
        }
        ring.submit();
    }
    checks.that(rings[0]->wait(), "fence of the first ring");
    checks.that(rings[1]->wait(), "fence of the second ring");
    checks.equal(rings[0]->status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the first ring");
    checks.equal(rings[1]->status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the second ring");
    root.local.resize(1u << 26);
    compare(checks, root.local, local, "video memory");
    compare(checks, host_data(root), host, "host memory");
}

#endif
