// SPDX-License-Identifier: Apache-2.0
// Processes of driver model 2: each has one of the device's address spaces, the paging process the first of them.
#include <stdlib.h>

#include "kmd/internal.h"

NTSTATUS kmd_create_process(HANDLE hAdapter, DXGKARG_CREATEPROCESS *arguments)
{
    struct kmd_adapter *adapter = hAdapter;
    uint32_t space = 0;

    if (!adapter || !arguments || adapter->model != 2)
        return STATUS_INVALID_PARAMETER;
    if (!arguments->Flags.SystemProcess) {
        for (space = 1; space < KMD_SPACES && (adapter->spaces >> space & 1); space++) {
        }
    }
    if (space == KMD_SPACES || (adapter->spaces >> space & 1))
        return STATUS_INSUFFICIENT_RESOURCES;
    struct kmd_process *process = calloc(1, sizeof *process);
    if (!process)
        return STATUS_NO_MEMORY;
    adapter->spaces |= 1u << space;
    process->adapter = adapter;
    process->space = space;
    if (arguments->Flags.SystemProcess)
        adapter->paging = process;
    arguments->hKmdProcess = process;
    return STATUS_SUCCESS;
}

// What is still known of its tables is forgotten when the space is given away again: its first flush is of the whole
// space. Until then nobody's buffer names it.
NTSTATUS kmd_destroy_process(HANDLE hAdapter, HANDLE hKmdProcess)
{
    struct kmd_adapter *adapter = hAdapter;
    struct kmd_process *process = hKmdProcess;

    if (!adapter || !process || process->adapter != adapter)
        return STATUS_INVALID_PARAMETER;
    adapter->spaces &= ~(1u << process->space);
    if (adapter->paging == process)
        adapter->paging = NULL;
    kmd_known_free(process);
    free(process);
    return STATUS_SUCCESS;
}
