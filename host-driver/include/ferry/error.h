// SPDX-License-Identifier: Apache-2.0
// The one error enum of Pageferry's own calls. DDI calls return NTSTATUS instead (ddi/), the device's faults are a
// third kind (ferry_contract.h, fault_kind): the three are never mixed in one value.
#ifndef FERRY_ERROR_H
#define FERRY_ERROR_H

enum ferry_error {
    FERRY_OK = 0,
    FERRY_PENDING = 1,                // Accepted; wait for the fence value that came with it.
    FERRY_ERROR_ARGUMENT = -1,        // A null pointer, a struct size, a size or a flag that is never legal.
    FERRY_ERROR_FLAGS = -2,           // Allocation flags that break a rule; the rule's id is in the message.
    FERRY_ERROR_HANDLE = -3,          // Not a live handle of the kind asked for.
    FERRY_ERROR_FOREIGN = -4,         // A live handle of another adapter or device.
    FERRY_ERROR_NO_HOST_MEMORY = -5,  // The host has no memory left.
    FERRY_ERROR_NO_VIDEO_MEMORY = -6, // Not everything can be resident; bytes_to_trim says by how much.
    FERRY_ERROR_NOT_RESIDENT = -7,    // GPU work names an allocation that is not on the device's residency list.
    FERRY_ERROR_NOT_LOCKABLE = -8,    // The allocation was made without CPU access.
    FERRY_ERROR_LOCKED = -9,          // Already locked, or still locked.
    FERRY_ERROR_NOT_LOCKED = -10,     // Unlock without a lock.
    FERRY_ERROR_RANGE = -11,          // An offset and size that leave the allocation.
    FERRY_ERROR_BUSY = -12,           // The GPU uses it and the caller asked not to wait.
    FERRY_ERROR_DEVICE_LOST = -13,    // The device is in error; it takes no more work.
    FERRY_ERROR_TIMEOUT = -14,        // The hardware did not answer in time.
    FERRY_ERROR_FAULT = -15,          // The GPU job faulted; ferry_adapter_next_fault() tells how.
    FERRY_ERROR_CONTRACT = -16,       // Hardware, firmware and driver are of different contract versions.
    FERRY_ERROR_FIRMWARE = -17,       // The firmware halted or did not start.
    FERRY_ERROR_BACKEND = -18,        // No back end of that name, or it cannot start.
    FERRY_ERROR_UNSUPPORTED = -19,    // A part of the contract that this adapter does not announce.
    FERRY_ERROR_CRITICAL = -20,       // The manager stopped at a broken DDI rule; the record says which.
    FERRY_ERROR_IN_USE = -21,         // Another program has the device.
    FERRY_ERROR_NOT_AVAILABLE = -22,  // No swizzling range shows it, and the caller asked not to evict it.
    FERRY_ERROR_RECURSIVE_CALL = -23, // A call-back of an adapter calls the library.
};

#ifdef __cplusplus
extern "C" {
#endif
// A shared library that is built with -fvisibility=hidden shows these and nothing else.
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/// The enumerator's name without prefix, for example "NO_VIDEO_MEMORY"; "?" for a value that is none. Any thread.
const char *ferry_error_name(int error);
/// One sentence for people. Any thread.
const char *ferry_error_text(int error);
/// More of why ferry_adapter_open() refused in this thread, or of how the device was lost in a call of it, or of what
/// ferry_process_create() has found none left: a sentence with names and numbers, for people, or "". Valid until the
/// thread's next call that opens an adapter, lists them, creates a process or loses a device.
const char *ferry_problem(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
