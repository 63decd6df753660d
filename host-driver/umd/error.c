// SPDX-License-Identifier: Apache-2.0
#include "ferry/error.h"

#include <stddef.h>

static const struct {
    int error;
    const char *name, *text;
} table[] = {
    {FERRY_OK, "OK", "Done."},
    {FERRY_PENDING, "PENDING", "Accepted; wait for the fence value first."},
    {FERRY_ERROR_ARGUMENT, "ARGUMENT", "An argument, a struct size or a flag is never legal."},
    {FERRY_ERROR_FLAGS, "FLAGS", "The allocation flags break a rule of the driver contract."},
    {FERRY_ERROR_HANDLE, "HANDLE", "Not a live handle of the kind asked for."},
    {FERRY_ERROR_FOREIGN, "FOREIGN", "A handle of another adapter or device."},
    {FERRY_ERROR_NO_HOST_MEMORY, "NO_HOST_MEMORY", "The host has no memory left."},
    {FERRY_ERROR_NO_VIDEO_MEMORY, "NO_VIDEO_MEMORY", "Not everything fits into video memory."},
    {FERRY_ERROR_NOT_RESIDENT, "NOT_RESIDENT", "The allocation is not on the device's residency list."},
    {FERRY_ERROR_NOT_LOCKABLE, "NOT_LOCKABLE", "The allocation was made without CPU access."},
    {FERRY_ERROR_LOCKED, "LOCKED", "The allocation is locked."},
    {FERRY_ERROR_NOT_LOCKED, "NOT_LOCKED", "The allocation is not locked."},
    {FERRY_ERROR_RANGE, "RANGE", "Offset and size leave the allocation."},
    {FERRY_ERROR_BUSY, "BUSY", "The GPU uses it, and waiting was not asked for."},
    {FERRY_ERROR_DEVICE_LOST, "DEVICE_LOST", "The device is in error and takes no more work."},
    {FERRY_ERROR_TIMEOUT, "TIMEOUT", "The hardware did not answer in time."},
    {FERRY_ERROR_FAULT, "FAULT", "The GPU job faulted."},
    {FERRY_ERROR_CONTRACT, "CONTRACT", "Hardware, firmware and driver are of different contract versions."},
    {FERRY_ERROR_FIRMWARE, "FIRMWARE", "The firmware halted, or did not start."},
    {FERRY_ERROR_BACKEND, "BACKEND", "No back end of that name, or it cannot start."},
    {FERRY_ERROR_UNSUPPORTED, "UNSUPPORTED", "This adapter does not announce that part of the contract."},
    {FERRY_ERROR_IN_USE, "IN_USE", "Another program has the device."},
    {FERRY_ERROR_NOT_AVAILABLE, "NOT_AVAILABLE", "No range shows it to the CPU, and evicting was forbidden."},
    {FERRY_ERROR_RECURSIVE_CALL, "RECURSIVE_CALL", "A call-back of an adapter must not call the library."},
    {FERRY_ERROR_CRITICAL, "CRITICAL", "The memory manager stopped at a broken rule of the driver contract."},
};

const char *ferry_error_name(int error)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].error == error)
            return table[i].name;
    }
    return "?";
}

const char *ferry_error_text(int error)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].error == error)
            return table[i].text;
    }
    return "Not an error of Pageferry's.";
}
