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
            // A completion that comes after all finds no request and is counted as unexpected.
            ferry_rc_give_up(rc, request);
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

/// The next tag in turn for which nothing may come any more. FERRY_RC_TAGS = none now.
static uint32_t next_tag(const struct ferry_root_complex *rc)
{
    const uint64_t now = rc->transport.cycles(rc->transport.context);
    for (uint32_t n = 0; n < FERRY_RC_TAGS; n++) {
        const uint32_t tag = (rc->next_tag + n) % FERRY_RC_TAGS;
        if (!rc->request[tag].busy && now >= rc->request[tag].late_until) {
            return tag;
        }
    }
    return FERRY_RC_TAGS;
}

bool ferry_rc_may_read(const struct ferry_root_complex *rc)
{
    return next_tag(rc) != FERRY_RC_TAGS;
}

int ferry_rc_start_read(struct ferry_root_complex *rc, struct ferry_tlp *tlp, void *data, uint32_t bytes, uint32_t *tag)
{
    const uint64_t start = rc->transport.cycles(rc->transport.context);
    while ((*tag = next_tag(rc)) == FERRY_RC_TAGS) {
        const uint64_t waited = rc->transport.cycles(rc->transport.context) - start;
        if (waited >= FERRY_ROOT_COMPLEX_TIMEOUT) {
            return FERRY_ERROR_TIMEOUT;
        }
        if (!ferry_rc_run(rc, FERRY_ROOT_COMPLEX_TIMEOUT - waited)) {
            return FERRY_ERROR_DEVICE_LOST;
        }
    }
    rc->next_tag = (*tag + 1) % FERRY_RC_TAGS;
    tlp->requester = FERRY_RC_REQUESTER;
    tlp->tag = (uint8_t)*tag;
    rc->request[*tag] = (struct ferry_rc_request){.busy = true, .data = data, .left = bytes};
    int error = ferry_rc_send(rc, tlp);
    rc->request[*tag].busy = error == FERRY_OK;
    return error;
}
