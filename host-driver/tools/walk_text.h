// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_WALK_TEXT_H
#define FERRY_TOOLS_WALK_TEXT_H

#include "ferry/va.h"

#define FERRY_STEP_TEXT 144

/// One level of a walk in a line: the table, the entry, and where that leads. Returns text.
const char *ferry_step_text(const struct ferry_va_step *step, char text[FERRY_STEP_TEXT]);

#endif
