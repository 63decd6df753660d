// SPDX-License-Identifier: Apache-2.0
#include "tools/import/gl_format.h"

#include <stdio.h>
#include <string.h>

// Bits of a texel, and names.
static const struct {
    unsigned bits;
    const char *names;
} plain[] = {
    {8,
     " R8 R8_SNORM R8I R8UI R3_G3_B2 ALPHA4 ALPHA8 LUMINANCE4 LUMINANCE8 SLUMINANCE SLUMINANCE8 INTENSITY INTENSITY4 "
     "INTENSITY8 ALPHA8UI ALPHA8I LUMINANCE8UI LUMINANCE8I INTENSITY8UI STENCIL_INDEX STENCIL_INDEX1 STENCIL_INDEX4 "
     "STENCIL_INDEX8 LUMINANCE4_ALPHA4 "},
    {16, " R16 R16_SNORM R16F R16I R16UI RG8 RG8_SNORM RG8I RG8UI RGB4 RGB5 RGB565 RGBA2 RGBA4 RGB5_A1 ALPHA12 ALPHA16 "
         "ALPHA16F LUMINANCE12 LUMINANCE16 LUMINANCE16F INTENSITY12 INTENSITY16 INTENSITY16F LUMINANCE6_ALPHA2 "
         "LUMINANCE8_ALPHA8 SLUMINANCE_ALPHA SLUMINANCE8_ALPHA8 DEPTH_COMPONENT16 STENCIL_INDEX16 "},
    {32, " R32F R32I R32UI RG16 RG16_SNORM RG16F RG16I RG16UI RGB8 RGB8_SNORM RGB8I RGB8UI SRGB SRGB8 SRGB_ALPHA "
         "SRGB8_ALPHA8 RGBA8 RGBA8_SNORM RGBA8I RGBA8UI BGRA8 BGRA RGB10 RGB10_A2 RGB10_A2UI R11F_G11F_B10F RGB9_E5 "
         "ALPHA32F LUMINANCE32F INTENSITY32F LUMINANCE12_ALPHA4 LUMINANCE12_ALPHA12 LUMINANCE16_ALPHA16 "
         "LUMINANCE_ALPHA16F DEPTH_COMPONENT DEPTH_COMPONENT24 DEPTH_COMPONENT32 DEPTH_COMPONENT32F DEPTH_STENCIL "
         "DEPTH24_STENCIL8 "},
    {64, " RG32F RG32I RG32UI RGB12 RGB16 RGB16_SNORM RGB16F RGB16I RGB16UI RGBA12 RGBA16 RGBA16_SNORM RGBA16F RGBA16I "
         "RGBA16UI LUMINANCE_ALPHA32F DEPTH32F_STENCIL8 "},
    {128, " RGB32F RGB32I RGB32UI RGBA32F RGBA32I RGBA32UI "},
};

// Blocks of 4x4 texels.
static const struct {
    unsigned bytes;
    bool guessed;
    const char *names;
} blocks[] = {
    {8, false,
     " COMPRESSED_RGB_S3TC_DXT1 COMPRESSED_RGBA_S3TC_DXT1 COMPRESSED_SRGB_S3TC_DXT1 "
     "COMPRESSED_SRGB_ALPHA_S3TC_DXT1 COMPRESSED_RED_RGTC1 COMPRESSED_SIGNED_RED_RGTC1 "
     "COMPRESSED_LUMINANCE_LATC1 COMPRESSED_SIGNED_LUMINANCE_LATC1 ETC1_RGB8 COMPRESSED_RGB8_ETC2 "
     "COMPRESSED_SRGB8_ETC2 COMPRESSED_RGB8_PUNCHTHROUGH_ALPHA1_ETC2 "
     "COMPRESSED_SRGB8_PUNCHTHROUGH_ALPHA1_ETC2 COMPRESSED_R11_EAC COMPRESSED_SIGNED_R11_EAC "},
    {16, false,
     " COMPRESSED_RGBA_S3TC_DXT3 COMPRESSED_RGBA_S3TC_DXT5 COMPRESSED_SRGB_ALPHA_S3TC_DXT3 "
     "COMPRESSED_SRGB_ALPHA_S3TC_DXT5 COMPRESSED_RG_RGTC2 COMPRESSED_SIGNED_RG_RGTC2 COMPRESSED_RGBA8_ETC2_EAC "
     "COMPRESSED_SRGB8_ALPHA8_ETC2_EAC COMPRESSED_RG11_EAC COMPRESSED_SIGNED_RG11_EAC "
     "COMPRESSED_RGBA_BPTC_UNORM COMPRESSED_SRGB_ALPHA_BPTC_UNORM COMPRESSED_RGB_BPTC_SIGNED_FLOAT "
     "COMPRESSED_RGB_BPTC_UNSIGNED_FLOAT COMPRESSED_LUMINANCE_ALPHA_LATC2 "
     "COMPRESSED_SIGNED_LUMINANCE_ALPHA_LATC2 COMPRESSED_LUMINANCE_ALPHA_3DC "},
    {8, true,
     " COMPRESSED_RGB COMPRESSED_SRGB COMPRESSED_RED COMPRESSED_ALPHA COMPRESSED_LUMINANCE "
     "COMPRESSED_SLUMINANCE COMPRESSED_INTENSITY "},
    {16, true,
     " COMPRESSED_RGBA COMPRESSED_SRGB_ALPHA COMPRESSED_RG COMPRESSED_LUMINANCE_ALPHA "
     "COMPRESSED_SLUMINANCE_ALPHA "},
};

// Without a size; components as stored.
static const struct {
    const char *name;
    unsigned components;
} unsized[] = {{"ALPHA", 1}, {"LUMINANCE", 1}, {"RED", 1},  {"LUMINANCE_ALPHA", 2},
               {"RG", 2},    {"RGB", 4},       {"RGBA", 4}, {"1", 1},
               {"2", 2},     {"3", 4},         {"4", 4}};

static bool among(const char *names, const char *name)
{
    char padded[44];
    snprintf(padded, sizeof padded, " %s ", name);
    return strstr(names, padded) != NULL;
}

static void cut_maker(char *name)
{
    static const char *const makers[] = {"_EXT", "_ARB", "_OES", "_ATI", "_ANGLE", "_NV", "_APPLE", "_SGIX", "_KHR"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        size_t tail = strlen(makers[i]);
        if (length > tail && strcmp(name + length - tail, makers[i]) == 0) {
            name[length - tail] = 0;
            return;
        }
    }
}

// COMPRESSED_[SRGB8_ALPHA8_|RGBA_]ASTC_WxH[_KHR]: 16 bytes a block.
static bool astc(struct ferry_gl_format *format)
{
    const char *at = strstr(format->name, "ASTC_");
    char end;
    return at && sscanf(at, "ASTC_%2ux%2u%c", &format->width, &format->height, &end) == 2 && format->width >= 4 &&
           format->width <= 12 && format->height >= 4 && format->height <= 12 && (format->bytes = 16) != 0;
}

// A desktop driver takes 24 bits or more of depth whatever the data are.
static bool is_short_depth(const struct ferry_gl_format *format, const char *type, bool es)
{
    return es && type && strcmp(format->name, "DEPTH_COMPONENT") == 0 && strcmp(type, "GL_UNSIGNED_SHORT") == 0;
}

// ES stores an unsized format as its data come; a desktop driver takes eight bits a component.
static unsigned component_bits(const char *type, bool es)
{
    if (!type || !es)
        return 8;
    if (strcmp(type, "GL_FLOAT") == 0)
        return 32;
    return strncmp(type, "GL_HALF_FLOAT", 13) == 0 ? 16 : 8;
}

bool ferry_gl_format(const char *internal, const char *type, bool es, struct ferry_gl_format *format)
{
    *format = (struct ferry_gl_format){.width = 1, .height = 1};
    if (!internal)
        return false;
    const char *name = strncmp(internal, "GL_", 3) == 0 ? internal + 3 : internal;
    size_t length = strlen(name);
    if (length >= sizeof format->name + 4 || strchr(name, ' '))
        return false;
    char whole[48];
    memcpy(whole, name, length + 1);
    cut_maker(whole);
    if (strlen(whole) >= sizeof format->name)
        return false;
    memcpy(format->name, whole, strlen(whole) + 1);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (among(plain[i].names, format->name)) {
            format->bytes = is_short_depth(format, type, es) ? 2 : plain[i].bits / 8;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (among(blocks[i].names, format->name)) {
            format->width = format->height = 4;
            format->bytes = blocks[i].bytes;
            format->guessed = blocks[i].guessed;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof unsized / sizeof *unsized; i++) {
        if (strcmp(format->name, unsized[i].name) != 0)
            continue;
        format->bytes = unsized[i].components * component_bits(type, es) / 8;
        if (type &&
            (strncmp(type, "GL_UNSIGNED_SHORT_4_4_4_4", 25) == 0 || strncmp(type, "GL_UNSIGNED_SHORT_5_", 20) == 0) &&
            es)
            format->bytes = 2;
        return true;
    }
    return astc(format);
}
