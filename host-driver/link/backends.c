// SPDX-License-Identifier: Apache-2.0
// The list of back ends, and nothing else: one line a back end.
#include <stdio.h>
#include <string.h>

#include "link/link.h"
#include "link/problem.h"

static const struct ferry_backend *const backends[] = {
    &ferry_backend_sim,  &ferry_backend_model, &ferry_backend_socket,
    &ferry_backend_uart, &ferry_backend_usb,   &ferry_backend_pci,
};
#define BACKENDS (sizeof(backends) / sizeof(backends[0]))

int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link)
{
    if (link == NULL || config == NULL || config->size != sizeof(*config)) {
        return FERRY_ERROR_ARGUMENT;
    }
    ferry_problem_clear();
    name = name == NULL ? backends[0]->name : name;
    const size_t length = strcspn(name, ":");
    struct ferry_link_config full = *config;
    full.address = name[length] == ':' ? name + length + 1 : NULL;
    for (size_t n = 0; n < BACKENDS; n++) {
        if (strlen(backends[n]->name) != length || strncmp(backends[n]->name, name, length) != 0) {
            continue;
        }
        if (backends[n]->has_address != (full.address != NULL) && !(backends[n]->finds_one && full.address == NULL)) {
            ferry_problem_set(backends[n]->has_address ? "the back end's name wants an address behind it, as in "
                                                         "%s:PLACE; `ferry list` shows those that are there"
                                                       : "the back end %s takes no address",
                              backends[n]->name);
            return FERRY_ERROR_BACKEND;
        }
        return backends[n]->open(&full, link);
    }
    char names[96] = "";
    for (size_t n = 0; n < BACKENDS; n++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s%s",
                 n == 0             ? ""
                 : n + 1 < BACKENDS ? ", "
                                    : " and ",
                 backends[n]->name,
                 !backends[n]->has_address ? ""
                 : backends[n]->finds_one  ? "[:ADDRESS]"
                                           : ":ADDRESS");
    }
    ferry_problem_set("there is no such back end; there are %s; `ferry list` shows those that are there", names);
    return FERRY_ERROR_BACKEND;
}

int ferry_adapter_list(ferry_candidate_callback *callback, void *context)
{
    if (callback == NULL) {
        return FERRY_ERROR_ARGUMENT;
    }
    for (size_t n = 0; n < BACKENDS; n++) {
        if (backends[n]->list != NULL) {
            backends[n]->list(callback, context);
        }
    }
    ferry_problem_clear();
    return FERRY_OK;
}

const char *ferry_link_backend_name(size_t n)
{
    return n < BACKENDS ? backends[n]->name : NULL;
}
