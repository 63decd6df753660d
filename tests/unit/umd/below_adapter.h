// SPDX-License-Identifier: Apache-2.0
// All that an adapter is made of, in the test's hands: link, device, miniport and manager, which note what they are
// given and end as they are told to.
#ifndef BELOW_ADAPTER_H
#define BELOW_ADAPTER_H

#include <stdio.h>

#include "adapter_alone.h"
#include "ddi/miniport.h"
#include "umd/device.h"
#include "umd/events.h"
#include "umd/process.h"

static struct ferry_link_config linked;          // As the link was given them.
static struct ferry_vidmm_options started;       // And the manager.
static struct ferry_vidmm_statistics statistics; // The manager's,
static int statistics_outcome, counters_outcome; // with which outcome; and the device's.
static unsigned opened, stopped;                 // Links; managers.
static char backend[32];                         // As asked for.
static const char *firmware;
static uint64_t budget;
static bool flips_out, is_flipped, page_tables;
static uint64_t flip_number, flip_offset;
static int progress_outcome;
static int link_outcome, gpu_outcome, manager_outcome; // Of what is opened.
static NTSTATUS device_outcome;
static unsigned closed; // Links, by whoever opened them.
static bool has_fault;

static void close_link(struct ferry_link *link)
{
    (void)link;
    closed++;
}

static const struct ferry_link_operations operations = {.close = close_link};
static struct ferry_link the_link = {.operations = &operations};

int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link)
{
    opened++;
    snprintf(backend, sizeof backend, "%s", name ? name : "");
    linked = *config;
    *link = &the_link;
    return link_outcome;
}

const char *ferry_link_backend_name(size_t n)
{
    return n == 0 ? "first" : NULL;
}

int ferry_gpu_open(struct ferry_link *link, const struct ferry_gpu_options *options, struct ferry_gpu **gpu)
{
    assert_ptr_equal(link, &the_link);
    firmware = options->firmware_file;
    *gpu = NULL;
    return gpu_outcome;
}

void ferry_gpu_close(struct ferry_gpu *gpu)
{
    (void)gpu;
}

void ferry_gpu_query(const struct ferry_gpu *gpu, struct ferry_gpu_info *info)
{
    (void)gpu;
    *info = (struct ferry_gpu_info){.contract_version = 11,
                                    .firmware_version = 12,
                                    .rings = 13,
                                    .tags = 14,
                                    .slots = 15,
                                    .slot_bytes = 16,
                                    .local_bytes = 17,
                                    .page_tables = page_tables,
                                    .link = {.medium = "a cable", .device = "a board"}};
}

int ferry_gpu_counters(struct ferry_gpu *gpu, struct ferry_statistics *out)
{
    (void)gpu;
    out->cycles = 99;
    return counters_outcome;
}

int ferry_gpu_wait_progress(struct ferry_gpu *gpu, struct ferry_gpu_progress *progress)
{
    (void)gpu;
    (void)progress;
    return progress_outcome;
}

int ferry_gpu_rows_read(struct ferry_gpu *gpu, uint64_t address, void *data, size_t bytes)
{
    (void)gpu;
    memset(data, (int)address, bytes);
    return FERRY_ERROR_RANGE;
}

int ferry_gpu_rows_write(struct ferry_gpu *gpu, uint64_t address, const void *data, size_t bytes)
{
    (void)gpu;
    (void)address;
    (void)data;
    return (int)bytes;
}

void ferry_gpu_set_interrupt(struct ferry_gpu *gpu, ferry_gpu_interrupt *handler, void *context)
{
    (void)gpu;
    (void)handler;
    (void)context;
}

int ferry_host_pages_create(struct ferry_gpu *gpu, struct ferry_host_pages **pages)
{
    (void)gpu;
    *pages = NULL;
    return FERRY_OK;
}

void ferry_host_pages_destroy(struct ferry_host_pages *pages)
{
    (void)pages;
}

const struct ferry_page_source *ferry_host_pages_source(struct ferry_host_pages *pages)
{
    (void)pages;
    return NULL;
}

static NTSTATUS add_device(VOID *physical, HANDLE *context)
{
    (void)physical;
    *context = NULL;
    return device_outcome;
}

static bool interrupt(HANDLE context, ULONG message)
{
    (void)context;
    (void)message;
    return false;
}

static unsigned asked_ways;
static DRIVER_INITIALIZATION_DATA miniport;

const DRIVER_INITIALIZATION_DATA *ferry_kmd_miniport(void)
{
    miniport.DxgkDdiAddDevice = add_device;
    miniport.DxgkDdiInterruptRoutine = interrupt;
    return &miniport;
}

const DRIVER_INITIALIZATION_DATA *ferry_kmd_miniport_model2(unsigned ways)
{
    asked_ways = ways;
    return ferry_kmd_miniport();
}

uint64_t ferry_kmd_faults(HANDLE kmd)
{
    (void)kmd;
    return 88;
}

bool ferry_kmd_next_fault(HANDLE kmd, struct ferry_fault *fault)
{
    (void)kmd;
    *fault = (struct ferry_fault){.kind = 5};
    return has_fault;
}

void ferry_kmd_flip(HANDLE kmd, bool out, uint64_t number, uint64_t offset)
{
    (void)kmd;
    flips_out = out;
    flip_number = number;
    flip_offset = offset;
}

bool ferry_kmd_flipped(HANDLE kmd)
{
    (void)kmd;
    return is_flipped;
}

int ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **manager)
{
    started = *options;
    *manager = NULL;
    return manager_outcome;
}

void ferry_vidmm_stop(struct ferry_vidmm *manager)
{
    (void)manager;
    stopped++;
}

int ferry_vidmm_segment(struct ferry_vidmm *manager, unsigned index, struct ferry_vidmm_segment_info *info)
{
    (void)manager;
    *info = (struct ferry_vidmm_segment_info){.bytes = UINT64_C(1) << index};
    info->flags.Aperture = index == 1;
    return index < 3 ? FERRY_OK : FERRY_ERROR_RANGE;
}

int ferry_vidmm_statistics(struct ferry_vidmm *manager, struct ferry_vidmm_statistics *out)
{
    (void)manager;
    *out = statistics;
    return statistics_outcome;
}

int ferry_vidmm_set_budget(struct ferry_vidmm *manager, uint64_t bytes)
{
    (void)manager;
    budget = bytes;
    return FERRY_ERROR_CRITICAL;
}

int ferry_vidmm_reset_engine(struct ferry_vidmm *manager)
{
    (void)manager;
    return FERRY_ERROR_TIMEOUT;
}

int ferry_vidmm_destroy_device(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    (void)manager;
    (void)handle;
    return FERRY_OK;
}

void umd_device_end(struct umd_device *device)
{
    (void)device;
}

void umd_process_end(struct umd_process *process)
{
    (void)process;
}

void umd_silence_budgets(struct umd_adapter *of)
{
    (void)of;
}

void umd_on_vidmm_event(void *context, const struct ferry_vidmm_event *event)
{
    (void)context;
    (void)event;
}

int umd_runner_start(struct umd_adapter *of)
{
    (void)of;
    return FERRY_ERROR_NO_HOST_MEMORY;
}

int umd_runner_descriptor(const struct umd_adapter *of, int *fd)
{
    (void)of;
    *fd = 3;
    return FERRY_OK;
}

void umd_runner_end(struct umd_adapter *of)
{
    (void)of;
}

#endif
