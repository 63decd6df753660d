// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_SVG_TEXT_H
#define FERRY_TOOLS_SVG_TEXT_H

#include <stdio.h>

/// As text of an XML file.
void ferry_svg_text(FILE *file, const char *text);

#endif
