// SPDX-License-Identifier: Apache-2.0
#include "tools/svg_text.h"

void ferry_svg_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '&': fputs("&amp;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? '?' : *text, file); break;
        }
    }
}
