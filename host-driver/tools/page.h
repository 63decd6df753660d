// SPDX-License-Identifier: Apache-2.0
// `ferry report`: one page that says what a size of video memory makes of traces.
#ifndef FERRY_TOOLS_PAGE_H
#define FERRY_TOOLS_PAGE_H

#include "tools/policy_report.h"

/// Run the laboratory and write the page, whose name ends with .html. Returns an exit code.
int ferry_page(const char *path, const struct ferry_policy_options *options);

#endif
