// SPDX-License-Identifier: Apache-2.0
// The lowest floor of the root complex: a packet goes to the device.
#include "link/root_complex_state.h"

int ferry_rc_send(struct ferry_root_complex *rc, const struct ferry_tlp *tlp)
{
    uint32_t words[FERRY_TLP_MAX_WORDS];
    size_t count = ferry_tlp_encode(tlp, words);
    // Only the transport runs here, nothing is served: a completion may be sent from within ferry_rc_serve().
    for (uint64_t waited = 0; waited < FERRY_ROOT_COMPLEX_TIMEOUT;) {
        int error = rc->transport.send(rc->transport.context, words, count);
        if (error != FERRY_ERROR_BUSY) {
            return error;
        }
        uint64_t ran = rc->transport.run(rc->transport.context, 1);
        waited += ran != 0 ? ran : 1;
    }
    return FERRY_ERROR_TIMEOUT;
}
