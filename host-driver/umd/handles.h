// SPDX-License-Identifier: Apache-2.0
// What the caller holds is not an address: it is a table index with a generation, so that a stale handle, a made-up
// one and one of another kind are told from a live one without looking at memory that may be gone.
#ifndef FERRY_UMD_HANDLES_H
#define FERRY_UMD_HANDLES_H

#include "umd/objects.h"

enum umd_kind { UMD_ADAPTER = 1, UMD_DEVICE, UMD_ALLOCATION, UMD_QUEUE, UMD_PROCESS };

// NULL when there is no memory. object, of this adapter, is what umd_object() gives back.
void *umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter);
void umd_handle_end(const void *handle);
// The live object of this adapter behind a handle of this kind, or NULL. It stays while the adapter's lock is held.
void *umd_object(const struct umd_adapter *adapter, enum umd_kind kind, const void *handle);
// The same of whatever adapter: *adapter is it, and its lock is the caller's then. With NULL nothing is locked.
void *umd_lock_object(enum umd_kind kind, const void *handle, struct umd_adapter **adapter);
// Why umd_object() has none: FOREIGN for a live handle, of another adapter then, HANDLE for any other.
int umd_handle_error(enum umd_kind kind, const void *handle);
// An adapter of zeros, but for its lock, which there is for ever: who found a handle that has ended since may still
// take it. NULL when there is no memory.
struct umd_adapter *umd_adapter_new(void);
// It is used again. No handle of it is live.
void umd_adapter_free(struct umd_adapter *adapter);

#endif
