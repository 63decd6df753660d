// SPDX-License-Identifier: Apache-2.0
#include "tools/svg_text.h"

#include <string.h>

#include "tools/tool.h"

void ferry_svg_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        int length = ferry_utf8_length(text);
        // What XML cannot hold, not even escaped: U+FFFE and U+FFFF.
        if (length > 1 && !(length == 3 && memcmp(text, "\xef\xbf", 2) == 0 && (unsigned char)text[2] >= 0xbe)) {
            fwrite(text, 1, (size_t)length, file);
            text += length - 1;
            continue;
        }
        switch (*text) {
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '&': fputs("&amp;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? '?' : *text, file); break;
        }
    }
}
