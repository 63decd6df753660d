// SPDX-License-Identifier: Apache-2.0
// The main of a fuzzer where it is a test: some random inputs, so that it is known to build, and to find nothing in
// these, wherever nobody runs `make soak`.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUTS     400u
#define MOST_BYTES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % limit;
}

int main(void)
{
    static uint8_t input[MOST_BYTES];
    const char *given = getenv("FERRY_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 1;

    printf("FERRY_SEED=%llu\n", (unsigned long long)seed);
    printf("[ RUN      ] some_inputs\n");
    fflush(stdout);
    state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (unsigned i = 0; i < INPUTS; i++) {
        size_t bytes = draw(draw(2) ? 64 : MOST_BYTES);
        unsigned of = 1 + (unsigned)draw(4); // Every so many bytes one that is not 0.

        for (size_t at = 0; at < bytes; at++)
            input[at] = draw(of) ? 0 : (uint8_t)draw(draw(2) ? 16 : 256);
        LLVMFuzzerTestOneInput(input, bytes);
    }
    printf("[       OK ] some_inputs\n");
    return 0;
}
