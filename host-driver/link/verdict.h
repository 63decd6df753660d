// SPDX-License-Identifier: Apache-2.0
// What a device's answer to a hello says of a host.
#ifndef FERRY_LINK_VERDICT_H
#define FERRY_LINK_VERDICT_H

#include "ferry_contract.h"

/// Whether the device at `where` takes this host. Errors, with the reason in ferry_problem(): CONTRACT, IN_USE, BACKEND
/// (a reason that this driver does not know).
int ferry_verdict(const char *where, const struct ferry_tunnel_hello *answer);

#endif
