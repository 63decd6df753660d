// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_JSON_H
#define FERRY_TOOLS_JSON_H

#include <stdio.h>

#include "tools/report.h"

/// Write text as a JSON string: quotes, backslashes and control characters escaped, bytes that are not UTF-8 replaced.
void ferry_json_text(FILE *file, const char *text);
/// Write a replay's figures (docs/manual/watching.md has the names). Returns 0, or -1 with errno set.
int ferry_json_write(const char *path, const struct ferry_report *report);

#endif
