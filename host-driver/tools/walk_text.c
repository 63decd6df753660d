// SPDX-License-Identifier: Apache-2.0
#include "tools/walk_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *ferry_step_text(const struct ferry_va_step *step, char text[FERRY_STEP_TEXT])
{
    // Of a page it is the address' own place that is told, which is seldom where the page begins.
    const char *page = step->level ? "in a page of 2 MiB" : step->group ? "in a page of 64 KiB" : "in a page of 4 KiB";
    char where[80] = "leads nowhere";
    if (step->valid && !step->is_page)
        snprintf(where, sizeof where, "to the table at 0x%" PRIx64 "%s", step->leads_to,
                 step->host ? " of host memory" : "");
    else if (step->valid)
        snprintf(where, sizeof where, "%s, at 0x%" PRIx64 " of %s%s", page, step->leads_to,
                 step->host ? "host memory" : "video memory", step->read_only ? ", read only" : "");
    snprintf(text, FERRY_STEP_TEXT, "level %u  table 0x%09" PRIx64 "  entry %3u  0x%016" PRIx64 "  %s", step->level,
             step->table, step->index, step->entry, where);
    return text;
}
