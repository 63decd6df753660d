// SPDX-License-Identifier: Apache-2.0
// The memory map of a run that moves no byte: the manager says where everything is, as on a device.
#ifndef FERRY_TOOLS_PAGE_MAP_H
#define FERRY_TOOLS_PAGE_MAP_H

#include <stdio.h>

#include "tools/policy_session.h"
#include "tools/vram_map.h"

struct ferry_page_map {
    struct ferry_vram_map map;                       // its objects are allocations in the order of creation
    struct ferry_trace names[FERRY_LAB_MOST_TRACES]; // their objects, formats and units, no events
};

/// Play the traces on the manager once more and keep what was where: some 150 bytes for each allocation ever made. To
/// be freed, whatever it returns (an exit code).
int ferry_page_map(struct ferry_policy_session *session, const struct ferry_policy_size *size,
                   struct ferry_page_map *map);
void ferry_page_map_free(struct ferry_page_map *map);
/// Draw it.
int ferry_page_map_draw(FILE *file, const struct ferry_policy_session *session, const struct ferry_page_map *map);

#endif
