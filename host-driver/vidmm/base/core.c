// SPDX-License-Identifier: Apache-2.0
#include "vidmm/base/core.h"

int ferry_vm_stop_critical(struct ferry_vm_core *core, struct ferry_vidmm_critical record)
{
    if (core->critical.code == FERRY_CRITICAL_NONE)
        core->critical = record;
    return FERRY_ERROR_CRITICAL;
}

int ferry_vm_error_of_status(NTSTATUS status)
{
    switch (status) {
    case STATUS_SUCCESS: return FERRY_OK;
    case STATUS_NO_MEMORY:
    case STATUS_INSUFFICIENT_RESOURCES: return FERRY_ERROR_NO_HOST_MEMORY;
    case STATUS_INVALID_PARAMETER:
    case STATUS_BUFFER_TOO_SMALL: return FERRY_ERROR_ARGUMENT;
    case STATUS_INVALID_HANDLE: return FERRY_ERROR_HANDLE;
    case STATUS_REVISION_MISMATCH: return FERRY_ERROR_CONTRACT;
    case STATUS_DEVICE_NOT_READY:
    case STATUS_IO_DEVICE_ERROR: return FERRY_ERROR_FIRMWARE;
    case STATUS_TIMEOUT:
    case STATUS_IO_TIMEOUT: return FERRY_ERROR_TIMEOUT;
    case STATUS_DEVICE_REMOVED: return FERRY_ERROR_DEVICE_LOST;
    default: return FERRY_ERROR_UNSUPPORTED;
    }
}

void ferry_vm_emit(struct ferry_vm_core *core, struct ferry_vidmm_event event)
{
    if (core->observer)
        core->observer(core->observer_context, &event);
}

void ferry_vm_pages_free(struct ferry_vm_core *core, MDL *mdl)
{
    if (!mdl)
        return;
    core->statistics.backing_bytes -= mdl->PageCount * PAGE_SIZE;
    core->platform.pages->free(core->platform.pages->context, mdl);
}
