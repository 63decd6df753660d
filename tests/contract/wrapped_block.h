// SPDX-License-Identifier: Apache-2.0
// A turn of waiting in the manager, for tests that stand in its way. Programs that include this are linked with
// --wrap=ferry_vm_block and say what __wrap_ferry_vm_block does.
#ifndef FERRY_TESTS_WRAPPED_BLOCK_H
#define FERRY_TESTS_WRAPPED_BLOCK_H

#include "vidmm/api/call.h"

int __real_ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number,
                          struct ferry_vm_patience *patience);
int __wrap_ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number,
                          struct ferry_vm_patience *patience);

#endif
