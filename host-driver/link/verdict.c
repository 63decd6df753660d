// SPDX-License-Identifier: Apache-2.0
#include "link/verdict.h"

#include "ferry/error.h"
#include "link/problem.h"

int ferry_verdict(const char *where, const struct ferry_tunnel_hello *answer)
{
    const uint32_t theirs = answer->contract_version;
    switch (FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, answer->what)) {
    case FERRY_TUNNEL_VERDICT_ACCEPTED:
        if (theirs >> 16 == FERRY_CONTRACT_VERSION >> 16) {
            return FERRY_OK;
        }
        // fall through
    case FERRY_TUNNEL_VERDICT_CONTRACT: return ferry_problem_contract(where, theirs);
    case FERRY_TUNNEL_VERDICT_IN_USE:
        if (answer->user != 0) {
            ferry_problem_set("the device at %s is in use by process %u", where, answer->user);
        } else {
            ferry_problem_set("the device at %s is in use by another host", where);
        }
        return FERRY_ERROR_IN_USE;
    default:
        ferry_problem_set("the device at %s refused, for a reason that this driver does not know", where);
        return FERRY_ERROR_BACKEND;
    }
}
