// SPDX-License-Identifier: Apache-2.0
// A read of the host's: sent, and waited for while the device runs and is served.
#include "link/root_complex_state.h"

int ferry_rc_finish_read(struct ferry_root_complex *rc, uint32_t tag)
{
    struct ferry_rc_request *request = &rc->request[tag];
    const uint64_t start = rc->transport.cycles(rc->transport.context);
    while (!request->done) {
        uint64_t waited = rc->transport.cycles(rc->transport.context) - start;
        if (waited >= FERRY_ROOT_COMPLEX_TIMEOUT) {
            // The tag is given up: a completion that comes after all finds no request and is counted as unexpected.
            request->busy = false;
            return FERRY_ERROR_TIMEOUT;
        }
        if (!ferry_rc_run(rc, FERRY_ROOT_COMPLEX_TIMEOUT - waited)) {
            request->busy = false;
            return FERRY_ERROR_DEVICE_LOST;
        }
    }
    request->busy = false;
    return request->result;
}

int ferry_rc_start_read(struct ferry_root_complex *rc, struct ferry_tlp *tlp, void *data, uint32_t bytes, uint32_t *tag)
{
    *tag = rc->next_tag;
    rc->next_tag = (rc->next_tag + 1) % FERRY_RC_TAGS;
    tlp->requester = FERRY_RC_REQUESTER;
    tlp->tag = (uint8_t)*tag;
    rc->request[*tag] = (struct ferry_rc_request){.busy = true, .data = data, .left = bytes};
    int error = ferry_rc_send(rc, tlp);
    rc->request[*tag].busy = error == FERRY_OK;
    return error;
}
