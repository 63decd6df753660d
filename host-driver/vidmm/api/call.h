// SPDX-License-Identifier: Apache-2.0
// The way into and out of a public call: the manager's lock.
#ifndef FERRY_VIDMM_API_CALL_H
#define FERRY_VIDMM_API_CALL_H

#include "vidmm/api/manager.h"
#include "vidmm/memory/addresses.h"

int ferry_vm_enter(struct ferry_vidmm *manager); // locks; CRITICAL (and locked nevertheless) after a critical stop
/// As enter(), for calls that end something: they do so after a critical stop too, and leave() tells of it. The device
/// works on nothing any more then. Always FERRY_OK.
int ferry_vm_enter_to_end(struct ferry_vidmm *manager);
/// Hands what was queued to the miniport, and unlocks. The call's result: `result`, or CRITICAL when the manager
/// stopped meanwhile and the call had no error of its own.
int ferry_vm_leave(struct ferry_vidmm *manager, int result);
/// A turn of ferry_vm_turn(); when it is not enough, whoever stands before the manager is let in. PENDING: look up
/// everything again, then the next turn.
int ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number, struct ferry_vm_patience *patience);
/// A device that takes work; *error is HANDLE or DEVICE_LOST when NULL comes back.
struct ferry_vm_device *ferry_vm_working_device(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, int *error);
/// Map where something is mapped already (update.c): errors as ferry_vidmm_map_virtual(). PENDING: not before this job
/// of that node is over, and nothing has changed.
int ferry_vm_map_over(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation,
                      const struct ferry_vm_view *view, uint64_t *table_bytes, unsigned *node, uint64_t *number);
/// Let in whoever stands before the manager.
void ferry_vm_yield(struct ferry_vidmm *manager);
/// The lock itself, for the manager's own start.
void ferry_vm_take_lock(struct ferry_vidmm *manager);
void ferry_vm_give_lock(struct ferry_vidmm *manager);

#endif
