// SPDX-License-Identifier: Apache-2.0
// Back end `socket`: the simulator in another process, here or elsewhere (ferry-sim --listen).
#include "link/fd_channel.h"
#include "link/link.h"
#include "link/simulator_list.h"
#include "link/socket_address.h"

static int open_socket(const struct ferry_link_config *config, struct ferry_link **link)
{
    struct ferry_channel channel = {.where = config->address,
                                    .medium = "socket",
                                    .closed = "it closed the connection",
                                    .silent = "is it a ferry-sim?"};
    const int fd = ferry_socket_connect(config->address);
    const int error = fd < 0 ? FERRY_ERROR_BACKEND : ferry_fd_channel(fd, true, &channel);
    return error != FERRY_OK ? error : ferry_framed_open(&channel, config, link);
}

static void list_simulators(ferry_candidate_callback *callback, void *context)
{
    ferry_simulator_list("", callback, context);
}

const struct ferry_backend ferry_backend_socket = {
    .name = "socket", .has_address = true, .open = open_socket, .list = list_simulators};
