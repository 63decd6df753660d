// SPDX-License-Identifier: Apache-2.0
// The main of a fuzzer where it is a test: some random inputs, so that it is known to build, and to find nothing in
// these, wherever nobody runs `make soak`.
#include "../seed.h"

#define INPUTS     400u
#define MOST_BYTES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    return draw_wide(&state, limit);
}

int main(void)
{
    static uint8_t input[MOST_BYTES];

    state = draw_state(seed_given(1));
    printf("[ RUN      ] some_inputs\n");
    fflush(stdout);
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
