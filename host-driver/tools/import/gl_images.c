// SPDX-License-Identifier: Apache-2.0
// Calls that give textures and renderbuffers their size and fill them.
#include <inttypes.h>
#include <string.h>

#include "tools/import/gl_state.h"

#define MOST_NAME UINT32_MAX
#define MOST_SIDE (1u << 20)
#define CUBE      3

static int no_texture(struct ferry_gl *gl)
{
    ferry_memory_note(gl->memory, FERRY_IMPORT_UNSIZED, 0);
    return 0;
}

// Of "texture = ..." or of what is bound to "target = ...": 1, 0 where none is meant or one that takes no memory (a
// proxy).
static int texture_meant(struct ferry_gl *gl, struct ferry_gl_object **object, int *target_number, unsigned *face)
{
    const char *target = ferry_dump_value(gl->call, "target");
    uint64_t name;
    *face = 0;
    *target_number = target ? ferry_gl_target_of(target, face) : -1;
    if (ferry_gl_has(gl, "texture")) {
        if (ferry_gl_unsigned(gl, "texture", MOST_NAME, &name) != 0)
            return -1;
        *object = name ? ferry_gl_object(gl, FERRY_GL_TEXTURE, name) : NULL;
        if (*object && !target)
            *target_number = (*object)->target;
        return *object ? 1 : name ? -1 : 0;
    }
    if (ferry_gl_text(gl, "target", &target) != 0)
        return -1;
    if (strncmp(target, "GL_PROXY_", 9) == 0)
        return 0;
    if (*target_number < 0)
        return ferry_memory_refuse(gl->memory, "%.40s: no texture is known by %.40s: sizes would be wrong",
                                   gl->call->name, target);
    *object = ferry_gl_find(gl, FERRY_GL_TEXTURE, gl->context->textures[gl->context->unit][*target_number]);
    return *object ? 1 : no_texture(gl);
}

// Sides that the call does not name are 1.
static int read_sides(struct ferry_gl *gl, struct ferry_gl_image *image)
{
    static const char *const names[] = {"width", "height", "depth"};
    uint32_t *sides[] = {&image->width, &image->height, &image->depth};
    for (int i = 0; i < 3; i++) {
        uint64_t side = 1;
        if ((i == 0 || ferry_gl_has(gl, names[i])) && ferry_gl_unsigned(gl, names[i], MOST_SIDE, &side) != 0)
            return -1;
        *sides[i] = (uint32_t)side;
    }
    return 0;
}

static int read_level(struct ferry_gl *gl, const char *name, uint32_t *level)
{
    uint64_t number;
    if (ferry_gl_unsigned(gl, name, FERRY_GL_LEVELS - 1, &number) != 0)
        return -1;
    *level = (uint32_t)number;
    return 0;
}

// "internalformat", in the words of whichever call.
static int read_format(struct ferry_gl *gl, struct ferry_gl_format *format, bool bytes_given)
{
    const char *name = ferry_dump_value(gl->call, "internalformat");
    if (!name && ferry_gl_text(gl, "internalFormat", &name) != 0)
        return -1;
    if (ferry_gl_format(name, ferry_dump_value(gl->call, "type"), gl->context->es, format))
        return 0;
    if (!bytes_given)
        return ferry_memory_refuse(gl->memory, "%.40s: the format %.60s is not known: sizes would be wrong",
                                   gl->call->name, name);
    // Its bytes are in the call.
    *format = (struct ferry_gl_format){.name = "COMPRESSED", .width = 1, .height = 1, .bytes = 1};
    return 0;
}

static int multiply_samples(struct ferry_gl *gl, struct ferry_gl_image *image)
{
    uint64_t samples = 1;
    if (ferry_gl_has(gl, "samples") && ferry_gl_unsigned(gl, "samples", 64, &samples) != 0)
        return -1;
    image->depth *= samples > 1 ? (uint32_t)samples : 1;
    return 0;
}

// A driver refuses such a call: what the program then has is not what it asked for.
static int compressed_bytes(struct ferry_gl *gl, const struct ferry_gl_format *format, struct ferry_gl_image *image)
{
    if (ferry_gl_unsigned(gl, "imageSize", UINT32_MAX, &image->bytes) != 0)
        return -1;
    uint64_t bytes = ferry_image_bytes(format, image);
    bool known = format->width > 1 && !format->guessed;
    if (!known || image->bytes == bytes)
        return 0;
    return ferry_memory_refuse(gl->memory,
                               "%.40s: imageSize = %" PRIu64 ", but %" PRIu32 "x%" PRIu32 "x%" PRIu32
                               " texels of GL_%s are %" PRIu64 " bytes: sizes would be wrong",
                               gl->call->name, image->bytes, image->width, image->height, image->depth, format->name,
                               bytes);
}

// Content comes from the CPU, from a buffer (the GPU copies), or not at all.
static int fill(struct ferry_gl *gl, struct ferry_gl_object *object, const struct ferry_gl_image *image,
                const char *from)
{
    struct ferry_gl_object *source = ferry_gl_find(gl, FERRY_GL_BUFFER, *ferry_gl_slot(gl, FERRY_GL_UNPACK));
    if (!source)
        return strcmp(from, "NULL") == 0 ? 0 : ferry_image_write(gl->memory, object, image);
    ferry_job_begin(gl->memory);
    if (ferry_job_reads(gl->memory, source) != 0 || ferry_job_writes(gl->memory, object) != 0)
        return -1;
    return ferry_job_end(gl->memory);
}

static bool has_layers_in_depth(int target)
{
    return target == 5 || target == 7 || target == 9 || target == 10;
}

static int image_call(struct ferry_gl *gl, bool compressed)
{
    struct ferry_gl_object *object;
    struct ferry_gl_image image = {0};
    struct ferry_gl_format format;
    const char *from = "NULL";
    unsigned face;
    int target;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    if ((ferry_gl_has(gl, "level") && read_level(gl, "level", &image.level) != 0) || read_sides(gl, &image) != 0)
        return -1;
    if (!compressed &&
        (ferry_gl_has(gl, "samples") ? multiply_samples(gl, &image) : ferry_gl_text(gl, "pixels", &from)) != 0)
        return -1;
    if (read_format(gl, &format, compressed) != 0 ||
        (compressed && (ferry_gl_text(gl, "data", &from) != 0 || compressed_bytes(gl, &format, &image) != 0)) ||
        ferry_image_define(gl->memory, object, &image, 1u << face, &format) != 0)
        return -1;
    image.face = face;
    if (object->chain && image.level == object->base_level &&
        ferry_image_chain(gl->memory, object, has_layers_in_depth(target), target == 4) != 0)
        return -1;
    return fill(gl, object, &image, from);
}

static int image(struct ferry_gl *gl)
{
    return image_call(gl, false);
}

static int compressed_image(struct ferry_gl *gl)
{
    return image_call(gl, true);
}

static int read_place(struct ferry_gl *gl, struct ferry_gl_image *image)
{
    static const char *const names[] = {"xoffset", "yoffset", "zoffset"};
    uint32_t *places[] = {&image->x, &image->y, &image->z};
    uint64_t place;
    for (int i = 0; i < 3; i++) {
        if (!ferry_gl_has(gl, names[i]))
            continue;
        if (ferry_gl_unsigned(gl, names[i], MOST_SIDE, &place) != 0)
            return -1;
        *places[i] = (uint32_t)place;
    }
    return read_level(gl, "level", &image->level);
}

// The text begins after this was made: what it takes would be missing.
static int never_sized(struct ferry_gl *gl, const struct ferry_gl_object *object)
{
    if (!object->generated)
        return ferry_memory_refuse(gl->memory, "%s %llu is used and its size is not in the text, which begins too late",
                                   object->kind == FERRY_GL_TEXTURE ? "texture" : "renderbuffer",
                                   (unsigned long long)object->name);
    return no_texture(gl);
}

static int part_call(struct ferry_gl *gl, bool compressed)
{
    struct ferry_gl_object *object;
    struct ferry_gl_image image = {0};
    const char *from = "NULL";
    unsigned face;
    int target;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    if (read_place(gl, &image) != 0 || read_sides(gl, &image) != 0 ||
        ferry_gl_text(gl, compressed ? "data" : "pixels", &from) != 0)
        return -1;
    if (!ferry_object_sized(object))
        return never_sized(gl, object);
    if (compressed && compressed_bytes(gl, &object->format, &image) != 0)
        return -1;
    // A cube that is named without a target has its sides one behind the other.
    if (!ferry_gl_has(gl, "target") && object->cube) {
        image.face = image.z < 6 ? image.z : 5;
        image.z = 0;
        image.bytes /= image.depth ? image.depth : 1;
        for (uint32_t left = image.depth; left > 0 && image.face < 6; left--, image.face++) {
            image.depth = 1;
            if (fill(gl, object, &image, from) != 0)
                return -1;
        }
        return 0;
    }
    image.face = face;
    return fill(gl, object, &image, from);
}

static int part(struct ferry_gl *gl)
{
    return part_call(gl, false);
}

static int compressed_part(struct ferry_gl *gl)
{
    return part_call(gl, true);
}

// All levels at once.
static int storage(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    struct ferry_gl_image image = {0};
    struct ferry_gl_format format;
    uint64_t levels = 1;
    unsigned face;
    int target;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    if (ferry_gl_has(gl, "levels") && ferry_gl_unsigned(gl, "levels", FERRY_GL_LEVELS, &levels) != 0)
        return -1;
    if (read_sides(gl, &image) != 0 || multiply_samples(gl, &image) != 0 || read_format(gl, &format, false) != 0)
        return -1;
    bool layers = has_layers_in_depth(target) || target < 0; // without a target, as arrays: never too small
    object->immutable = true;
    for (; image.level < levels; image.level++) {
        if (ferry_image_define(gl->memory, object, &image, target == CUBE || object->cube ? 0x3f : 1, &format) != 0)
            return -1;
        image.width = image.width > 1 ? image.width / 2 : 1;
        image.height = image.height > 1 && target != 4 ? image.height / 2 : image.height;
        image.depth = image.depth > 1 && !layers ? image.depth / 2 : image.depth;
    }
    return 0;
}

static int chain(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    unsigned face;
    int target;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    if (!ferry_object_sized(object))
        return never_sized(gl, object);
    if (ferry_image_chain(gl->memory, object, has_layers_in_depth(target), target == 4) != 0)
        return -1;
    ferry_job_begin(gl->memory);
    return ferry_job_writes(gl->memory, object) == 0 ? ferry_job_end(gl->memory) : -1;
}

// The one number of a parameter's call, however it is given.
static int parameter_level(struct ferry_gl *gl, const char *value, uint32_t *level)
{
    // apitrace may take a small number for the word of the same value.
    static const char *const words[] = {"GL_FALSE", "GL_TRUE", "GL_NONE", "GL_ONE", "GL_ZERO", "GL_LINES", "GL_POINTS"};
    int64_t number;
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value, words[i]) == 0) {
            *level = i % 2;
            return 0;
        }
    }
    if (!ferry_dump_next_number(&value, &number) || number < 0)
        return ferry_memory_refuse(gl->memory, "%.40s: %.40s is no level: sizes would be wrong", gl->call->name, value);
    *level = number < FERRY_GL_LEVELS ? (uint32_t)number : FERRY_GL_LEVELS - 1;
    return 0;
}

// Old programs ask for the chain before they give the image; others say where it begins and ends.
static int parameter(struct ferry_gl *gl)
{
    const char *name, *value;
    struct ferry_gl_object *object;
    unsigned face;
    int target;
    if (ferry_gl_text(gl, "pname", &name) != 0)
        return -1;
    bool is_base = strcmp(name, "GL_TEXTURE_BASE_LEVEL") == 0, is_top = strncmp(name, "GL_TEXTURE_MAX_LEVEL", 20) == 0;
    if (strncmp(name, "GL_GENERATE_MIPMAP", 18) != 0 && !is_base && !is_top)
        return 0;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    value = gl->call->arguments[gl->call->argument_count - 1].value;
    if (is_base || is_top)
        return parameter_level(gl, value, is_base ? &object->base_level : &object->top_level);
    object->chain = strcmp(value, "GL_FALSE") != 0 && strcmp(value, "0") != 0 && strcmp(value, "&0") != 0;
    return 0;
}

// From what is drawn into, or what it is: the GPU copies.
static int copy_image(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    struct ferry_gl_image image = {0};
    struct ferry_gl_format format;
    unsigned face;
    int target;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    if (ferry_gl_has(gl, "internalformat")) {
        if (read_level(gl, "level", &image.level) != 0 || read_sides(gl, &image) != 0 ||
            read_format(gl, &format, false) != 0 ||
            ferry_image_define(gl->memory, object, &image, 1u << face, &format) != 0)
            return -1;
    }
    if (!ferry_object_sized(object))
        return never_sized(gl, object);
    ferry_job_begin(gl->memory);
    const struct ferry_gl_framebuffer *from = ferry_name_get(&gl->context->framebuffers, gl->context->read_framebuffer);
    struct ferry_gl_object *read =
        from ? ferry_gl_find(gl, from->attachments[0].kind, from->attachments[0].object) : NULL;
    if (!read && !from)
        ferry_memory_note(gl->memory, FERRY_IMPORT_WINDOW, 0);
    if ((read && ferry_job_reads(gl->memory, read) != 0) || ferry_job_writes(gl->memory, object) != 0)
        return -1;
    return ferry_job_end(gl->memory);
}

static int texel_buffer(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    uint64_t name;
    unsigned face;
    int target;
    int meant = texture_meant(gl, &object, &target, &face);
    if (meant <= 0)
        return meant;
    if (ferry_gl_unsigned(gl, "buffer", MOST_NAME, &name) != 0)
        return -1;
    struct ferry_gl_object *buffer = name ? ferry_gl_object(gl, FERRY_GL_BUFFER, name) : NULL;
    if (name && !buffer)
        return -1;
    struct ferry_gl_reference texels = ferry_gl_hold(buffer);
    object->texel_buffer = texels.name;
    object->texel_buffer_serial = texels.serial;
    return 0;
}

static int renderbuffer(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    struct ferry_gl_image image = {0};
    struct ferry_gl_format format;
    uint64_t name;
    if (ferry_gl_has(gl, "renderbuffer")) {
        if (ferry_gl_unsigned(gl, "renderbuffer", MOST_NAME, &name) != 0)
            return -1;
        object = name ? ferry_gl_object(gl, FERRY_GL_RENDERBUFFER, name) : NULL;
        if (name && !object)
            return -1;
    } else {
        object = ferry_gl_find(gl, FERRY_GL_RENDERBUFFER, gl->context->renderbuffer);
    }
    if (!object)
        return no_texture(gl);
    if (read_sides(gl, &image) != 0 || multiply_samples(gl, &image) != 0 || read_format(gl, &format, false) != 0)
        return -1;
    return ferry_image_define(gl->memory, object, &image, 1, &format);
}

const struct ferry_gl_call_rule ferry_gl_image_calls[] = {
    {"glCompressedTexImage1D", compressed_image, true},
    {"glCompressedTexImage2D", compressed_image, true},
    {"glCompressedTexImage3D", compressed_image, true},
    {"glCompressedTexSubImage1D", compressed_part, true},
    {"glCompressedTexSubImage2D", compressed_part, true},
    {"glCompressedTexSubImage3D", compressed_part, true},
    {"glCompressedTextureSubImage1D", compressed_part, true},
    {"glCompressedTextureSubImage2D", compressed_part, true},
    {"glCompressedTextureSubImage3D", compressed_part, true},
    {"glCopyTexImage1D", copy_image, true},
    {"glCopyTexImage2D", copy_image, true},
    {"glCopyTexSubImage1D", copy_image, true},
    {"glCopyTexSubImage2D", copy_image, true},
    {"glCopyTexSubImage3D", copy_image, true},
    {"glCopyTextureSubImage1D", copy_image, true},
    {"glCopyTextureSubImage2D", copy_image, true},
    {"glCopyTextureSubImage3D", copy_image, true},
    {"glGenerateMipmap", chain, true},
    {"glGenerateTextureMipmap", chain, true},
    {"glNamedRenderbufferStorage", renderbuffer, true},
    {"glNamedRenderbufferStorageMultisample", renderbuffer, true},
    {"glRenderbufferStorage", renderbuffer, true},
    {"glRenderbufferStorageMultisample", renderbuffer, true},
    {"glTexBuffer", texel_buffer, true},
    {"glTexBufferRange", texel_buffer, true},
    {"glTexImage1D", image, true},
    {"glTexImage2D", image, true},
    {"glTexImage2DMultisample", image, true},
    {"glTexImage3D", image, true},
    {"glTexImage3DMultisample", image, true},
    {"glTexParameterf", parameter, true},
    {"glTexParameterfv", parameter, true},
    {"glTexParameterIiv", parameter, true},
    {"glTexParameterIuiv", parameter, true},
    {"glTexParameteri", parameter, true},
    {"glTexParameteriv", parameter, true},
    {"glTexStorage1D", storage, true},
    {"glTexStorage2D", storage, true},
    {"glTexStorage2DMultisample", storage, true},
    {"glTexStorage3D", storage, true},
    {"glTexStorage3DMultisample", storage, true},
    {"glTexSubImage1D", part, true},
    {"glTexSubImage2D", part, true},
    {"glTexSubImage3D", part, true},
    {"glTextureBuffer", texel_buffer, true},
    {"glTextureBufferRange", texel_buffer, true},
    {"glTextureParameterIiv", parameter, true},
    {"glTextureParameterIuiv", parameter, true},
    {"glTextureParameterf", parameter, true},
    {"glTextureParameterfv", parameter, true},
    {"glTextureParameteri", parameter, true},
    {"glTextureParameteriv", parameter, true},
    {"glTextureStorage1D", storage, true},
    {"glTextureStorage2D", storage, true},
    {"glTextureStorage2DMultisample", storage, true},
    {"glTextureStorage3D", storage, true},
    {"glTextureStorage3DMultisample", storage, true},
    {"glTextureSubImage1D", part, true},
    {"glTextureSubImage2D", part, true},
    {"glTextureSubImage3D", part, true},
    {0},
};
