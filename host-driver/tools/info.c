// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ferry/ferry.h"
#include "tools/commands.h"
#include "tools/report.h"
#include "tools/tool.h"
#include "tools/why.h"

static int refused(const char *what, const char *backend, int error)
{
    ferry_complain("cannot %s back end '%s': %s: %s", what, backend ? backend : "sim", ferry_error_name(error),
                   ferry_why(error));
    return error == FERRY_ERROR_BACKEND ? FERRY_EXIT_USAGE : FERRY_EXIT_LIBRARY;
}

void ferry_warn_of_board(const struct ferry_adapter_info *info, const char *board)
{
    if (board && !info->device[0])
        ferry_complain("warning: the device does not say for which board it is, and '%s' was asked for", board);
    else if (board && strcmp(info->device, board) != 0)
        ferry_complain(
            "warning: the device says that it is '%s', not '%s': another board's or another chip's bitstream is "
            "loaded, or this is another port",
            info->device, board);
}

int ferry_info(const char *backend, const char *board)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend};
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    struct ferry_adapter *adapter;
    char size[FERRY_SIZE_TEXT];
    int error = ferry_adapter_open(&options, &adapter);
    if (error < 0)
        return refused("open", backend, error);
    error = ferry_adapter_query(adapter, &info);
    if (error == FERRY_OK)
        error = ferry_adapter_statistics(adapter, &statistics);
    if (error == FERRY_OK) {
        printf("back end           %s\n", info.backend);
        if (info.link[0])
            ferry_print_line(stdout, "link               %s", info.link);
        if (info.device[0])
            ferry_print_line(stdout, "device             %s", info.device);
        printf("contract           %u.%u\n", info.contract_version >> 16, info.contract_version & 0xffff);
        printf("firmware           0x%08x\n", info.firmware_version);
        printf("driver model       %u (%s)\n", info.model,
               info.model == 2 ? "GPU virtual addresses" : "physical addresses");
        printf("rings              %u (1 for paging, %u for users)\n", info.rings, info.rings ? info.rings - 1 : 0);
        printf("command slots      %u of %u bytes\n", info.command_slots, info.command_slot_bytes);
        printf("read tags          %u\n", info.tags);
        printf("local memory       %s\n", ferry_size_text(info.local_bytes, size));
        printf("video memory used  %s\n", ferry_size_text(info.video_memory_bytes, size));
        printf("aperture           %s\n", ferry_size_text(info.aperture_bytes, size));
        printf("cycles since reset %" PRIu64 "\n", statistics.cycles);
        printf("faults             %" PRIu64 "\n", statistics.faults);
        if (statistics.noise_bytes || statistics.broken_frames || statistics.frames_again)
            ferry_print_line(
                stdout,
                "noise on the line  %" PRIu64 " bytes, %" PRIu64 " frames came broken, %" PRIu64
                " were sent again; nothing is lost, but time: is the cable good, and the rate not too high?",
                statistics.noise_bytes, statistics.broken_frames, statistics.frames_again);
        ferry_warn_of_board(&info, board);
    }
    ferry_adapter_close(adapter);
    return error < 0 ? refused("query", backend, error) : FERRY_EXIT_OK;
}
