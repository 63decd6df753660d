// SPDX-License-Identifier: Apache-2.0
// Programs that share an adapter: their weight, budget, and end.
#include "umd/process.h"

#include <stdlib.h>

#include "link/problem.h"
#include "umd/call.h"
#include "umd/device.h"

// In driver model 2, where each program has an address space of the device's, and the devices of no program one.
static bool spaces_are_taken(const struct umd_adapter *adapter)
{
    uint32_t taken = 1;

    for (const struct umd_process *process = adapter->processes; process; process = process->next)
        taken++;
    return adapter->model == 2 && taken >= FERRY_KMD_PROGRAM_SPACES;
}

int ferry_process_create(struct ferry_adapter *adapter_handle, const struct ferry_process_options *options,
                         struct ferry_process **handle)
{
    struct umd_call call;

    if (!handle || (options && options->size != sizeof *options))
        return FERRY_ERROR_ARGUMENT;
    *handle = NULL;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, adapter_handle, "create process");
    if (!adapter)
        return umd_not_entered();
    struct umd_process *process = calloc(1, sizeof *process);
    if (!process)
        return umd_leave(&call, FERRY_ERROR_NO_HOST_MEMORY);
    struct ferry_vidmm_process_options vidmm = {.size = sizeof vidmm};
    process->adapter = adapter;
    ferry_problem_clear();
    if (options) {
        vidmm.weight = options->weight;
        vidmm.reservation = options->reservation_bytes;
        process->callback = options->callback;
        process->context = options->context;
    }
    // First, since the manager tells all others of the new one; and it of what changes from then on.
    vidmm.program = process->handle = umd_handle_make(UMD_PROCESS, process, adapter);
    int error = process->handle ? ferry_vidmm_create_process(adapter->vidmm, &vidmm, &process->vidmm)
                                : FERRY_ERROR_NO_HOST_MEMORY;
    if (error == FERRY_ERROR_NO_VIDEO_MEMORY && spaces_are_taken(adapter))
        ferry_problem_set("the device has %u address spaces, one for each program and one for the devices of no "
                          "program, and all are taken: end a program, or use driver model 1",
                          FERRY_KMD_PROGRAM_SPACES);
    if (error != FERRY_OK && process->handle)
        umd_handle_end(process->handle);
    if (error != FERRY_OK) {
        free(process);
        return umd_leave(&call, error);
    }
    pthread_mutex_lock(&adapter->telling);
    process->next = adapter->processes;
    adapter->processes = process;
    pthread_mutex_unlock(&adapter->telling);
    *handle = process->handle;
    return umd_leave(&call, FERRY_OK);
}

void umd_process_end(struct umd_process *process)
{
    struct umd_adapter *adapter = process->adapter;

    pthread_mutex_lock(&adapter->telling);
    struct umd_process **link = &adapter->processes;
    while (*link != process)
        link = &(*link)->next;
    *link = process->next;
    umd_handle_end(process->handle);
    pthread_mutex_unlock(&adapter->telling);
    free(process);
}

// One of the program's devices, if there is any one that no other call is destroying.
static struct umd_device *device_of(const struct umd_process *process)
{
    struct umd_device *ending = NULL;

    for (struct umd_device *device = process->adapter->devices; device; device = device->next) {
        if (device->process == process && !device->ending)
            return device;
        ending = device->process == process ? device : ending;
    }
    return ending;
}

// One device after the other, so that what the manager has destroyed is gone here too when a later one fails. What
// other calls are destroying comes last, and is waited for.
static int end_devices(struct umd_call *call, struct ferry_process *handle)
{
    const struct umd_process *process;
    int error = FERRY_OK;

    while (umd_is_gone(error) && (process = umd_object(call->adapter, UMD_PROCESS, handle)) && device_of(process)) {
        struct umd_device *device = device_of(process);

        if (device->ending)
            umd_park_until(call, &call->adapter->device_ended);
        else
            error = umd_device_destroy(call, device);
    }
    return error;
}

int ferry_process_destroy(struct ferry_process *handle)
{
    struct umd_call call;
    struct umd_process *process = umd_enter(&call, UMD_PROCESS, handle, "destroy process");

    if (!process)
        return umd_not_entered();
    if (process->ending)
        return umd_leave(&call, FERRY_ERROR_HANDLE);
    process->ending = true;
    D3DKMT_HANDLE vidmm = process->vidmm;
    int error = end_devices(&call, handle);
    if (umd_is_gone(error)) {
        umd_park(&call);
        error = ferry_vidmm_destroy_process(call.adapter->vidmm, vidmm);
        umd_return(&call);
    }
    process = umd_object(call.adapter, UMD_PROCESS, handle);
    // The adapter was closed meanwhile, and the process with it.
    if (!process)
        return umd_leave(&call, FERRY_ERROR_HANDLE);
    if (umd_is_gone(error))
        umd_process_end(process);
    else
        process->ending = false;
    return umd_leave(&call, error);
}

int ferry_process_set_weight(struct ferry_process *handle, uint32_t weight)
{
    struct umd_call call;
    const struct umd_process *process = umd_enter(&call, UMD_PROCESS, handle, "set weight");

    if (!process)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_set_weight(call.adapter->vidmm, process->vidmm, weight));
}

int ferry_process_set_reservation(struct ferry_process *handle, uint64_t bytes)
{
    struct umd_call call;
    const struct umd_process *process = umd_enter(&call, UMD_PROCESS, handle, "set reservation");

    if (!process)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_set_reservation(call.adapter->vidmm, process->vidmm, bytes));
}

int ferry_process_memory(struct ferry_process *handle, enum ferry_memory_group group, struct ferry_memory_info *info)
{
    struct umd_call call;
    struct ferry_vidmm_memory_info vidmm;

    if (!info || info->size != sizeof *info)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_process *process = umd_enter(&call, UMD_PROCESS, handle, NULL);
    if (!process)
        return umd_not_entered();
    int error = ferry_vidmm_memory_info(call.adapter->vidmm, process->vidmm, (unsigned)group, &vidmm);
    if (error == FERRY_OK)
        *info = (struct ferry_memory_info){
            .size = sizeof *info,
            .budget = vidmm.budget,
            .usage = vidmm.usage,
            .in_place = vidmm.in_place,
            .reservation = vidmm.reservation,
            .available_for_reservation = vidmm.available_for_reservation,
            .bytes_to_trim = vidmm.to_trim,
        };
    return umd_leave(&call, error);
}

int ferry_process_statistics(struct ferry_process *handle, struct ferry_process_usage *statistics)
{
    struct umd_call call;
    struct ferry_vidmm_process_statistics vidmm;

    if (!statistics || statistics->size != sizeof *statistics)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_process *process = umd_enter(&call, UMD_PROCESS, handle, NULL);
    if (!process)
        return umd_not_entered();
    int error = ferry_vidmm_process_statistics(call.adapter->vidmm, process->vidmm, &vidmm);
    if (error == FERRY_OK)
        *statistics = (struct ferry_process_usage){
            .size = sizeof *statistics,
            .jobs = vidmm.jobs,
            .gpu_cycles = vidmm.gpu_cycles,
            .last_job = vidmm.last_job,
            .bytes_in = vidmm.bytes_in,
            .bytes_out = vidmm.bytes_out,
            .bytes_discarded = vidmm.bytes_discarded,
            .bytes_filled = vidmm.bytes_filled,
            .bytes_moved = vidmm.bytes_moved,
            .evictions = vidmm.evictions,
        };
    return umd_leave(&call, error);
}

uint64_t ferry_process_id(const struct ferry_process *handle)
{
    struct umd_call call;
    const struct umd_process *process = umd_enter(&call, UMD_PROCESS, handle, NULL);

    if (!process)
        return 0;
    uint64_t id = process->vidmm;
    umd_leave(&call, FERRY_OK);
    return id;
}
