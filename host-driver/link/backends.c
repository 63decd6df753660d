// SPDX-License-Identifier: Apache-2.0
// The list of back ends, and nothing else: one line a back end.
#include <string.h>

#include "link/link.h"

static const struct ferry_backend *const backends[] = {
    &ferry_backend_sim,
    &ferry_backend_model,
};
#define BACKENDS (sizeof(backends) / sizeof(backends[0]))

int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link)
{
    if (link == NULL || config == NULL || config->size != sizeof(*config)) {
        return FERRY_ERROR_ARGUMENT;
    }
    for (size_t n = 0; n < BACKENDS; n++) {
        if (strcmp(backends[n]->name, name == NULL ? backends[0]->name : name) == 0) {
            return backends[n]->open(config, link);
        }
    }
    return FERRY_ERROR_BACKEND;
}

const char *ferry_link_backend_name(size_t n)
{
    return n < BACKENDS ? backends[n]->name : NULL;
}
