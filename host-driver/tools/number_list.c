// SPDX-License-Identifier: Apache-2.0
#include "tools/number_list.h"

#include <inttypes.h>
#include <string.h>

#include "tools/tool.h"

#define MOST_WEIGHT 10000u
#define PAGE_BYTES  4096u

static int read_list(const char *option, const char *text, unsigned traces,
                     int (*parse)(const char *field, uint64_t *number), uint64_t *numbers)
{
    unsigned count = 1;
    for (const char *at = text; *at; at++)
        count += *at == ',';
    if (count != traces) {
        ferry_complain("--%s: '%s' has %u number%s for %u trace%s", option, text, count, count == 1 ? "" : "s", traces,
                       traces == 1 ? "" : "s");
        return FERRY_EXIT_USAGE;
    }
    for (unsigned i = 0; i < count; i++) {
        size_t length = strcspn(text, ",");
        char field[32] = "";
        if (length < sizeof field)
            memcpy(field, text, length);
        if (parse(field, &numbers[i]) != 0) {
            ferry_complain("--%s: '%.*s' is not a %s", option, (int)length, text,
                           parse == ferry_parse_size ? "size (a number with K, M or G)" : "number");
            return FERRY_EXIT_USAGE;
        }
        text += length + (text[length] == ',');
    }
    return FERRY_EXIT_OK;
}

int ferry_read_weights(const char *text, unsigned traces, uint64_t *weights)
{
    int status = text ? read_list("weights", text, traces, ferry_parse_number, weights) : FERRY_EXIT_OK;
    for (unsigned i = 0; i < traces && status == FERRY_EXIT_OK; i++) {
        if (weights[i] < 1 || weights[i] > MOST_WEIGHT) {
            ferry_complain("--weights: %" PRIu64 " is not from 1 to %u", weights[i], MOST_WEIGHT);
            status = FERRY_EXIT_USAGE;
        }
    }
    return status;
}

int ferry_read_reservations(const char *text, unsigned traces, uint64_t *reservations)
{
    int status = text ? read_list("reservations", text, traces, ferry_parse_size, reservations) : FERRY_EXIT_OK;
    for (unsigned i = 0; i < traces && status == FERRY_EXIT_OK; i++) {
        if (reservations[i] % PAGE_BYTES != 0 || reservations[i] > FERRY_TIB) {
            ferry_complain("--reservations: %" PRIu64 " is not a multiple of %u up to 1 TiB", reservations[i],
                           PAGE_BYTES);
            status = FERRY_EXIT_USAGE;
        }
    }
    return status;
}
