// SPDX-License-Identifier: Apache-2.0
// The way into and out of a public call: its object found, its adapter's lock, and the observer told of both ends.
#ifndef FERRY_UMD_CALL_H
#define FERRY_UMD_CALL_H

#include "umd/handles.h"

struct umd_call {
    struct umd_adapter *adapter;
    const char *name; // For the observer; NULL = it is not told, and the call queues nothing.
    uint64_t id;
};

// Find the object, take its adapter's lock and tell the observer that a call begins. NULL when the handle is none of
// this kind, or when this thread is in a call-back and would wait for itself; then there is nothing to leave.
void *umd_enter(struct umd_call *call, enum umd_kind kind, const void *handle, const char *name);
// Why umd_enter() gave NULL.
int umd_not_entered(void);
// Tell that it ends, give the lock back, and hand the result through.
int umd_leave(struct umd_call *call, int result);
// Around a call of the manager that may wait for the GPU: others get in meanwhile. Objects may be gone afterwards;
// their handles tell (umd_object()).
void umd_park(struct umd_call *call);
void umd_return(struct umd_call *call);
// Until the condition is signalled; the same holds.
void umd_park_until(struct umd_call *call, pthread_cond_t *condition);
// Until no other call is parked. Nobody gets in any more.
void umd_wait_for_parked(struct umd_adapter *adapter);

// What the manager was asked to destroy: after a critical stop it is gone too.
static inline bool umd_is_gone(int error)
{
    return error == FERRY_OK || error == FERRY_ERROR_CRITICAL;
}

#endif
