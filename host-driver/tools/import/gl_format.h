// SPDX-License-Identifier: Apache-2.0
// How many bytes the texels of an OpenGL internal format take in video memory, as drivers lay them out: three
// components are padded to four, 24 bits of depth to 32.
#ifndef FERRY_TOOLS_IMPORT_GL_FORMAT_H
#define FERRY_TOOLS_IMPORT_GL_FORMAT_H

#include <stdbool.h>

struct ferry_gl_format {
    char name[40];                 // without GL_
    unsigned width, height, bytes; // of a block
    bool guessed;                  // the driver chooses: taken as S3TC
};

/// What a dump calls it ("GL_RGBA8"; "4" in old programs); `type` is that of the data, which decides where an unsized
/// format is ES (may be NULL). False when it is not known.
bool ferry_gl_format(const char *internal, const char *type, bool es, struct ferry_gl_format *format);

#endif
