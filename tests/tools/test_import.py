#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry trace import`: small dumps with the trace that they must give, a recorded one against a reader of its own
(allocations, frames, what each draw uses, bytes written), what bad input gets, dumps of any length, and dumps that
chance has damaged (FERRY_SEED) under the sanitizers."""
import gzip
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path.cwd()
FERRY = ROOT / "build/ferry"
SANITIZED = ROOT / "build/tests/parts/ferry-fake"
SCENE = ROOT / "tests/data/scene/scene.txt.gz"
SEED = int(os.environ.get("FERRY_SEED", "1"))
folder = Path(tempfile.mkdtemp(prefix="ferry-import-"))
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def imported(text, tool=FERRY, arguments=("-",)):
    return subprocess.run([tool, "trace", "import", *arguments], input=text if isinstance(text, bytes) else text.encode(),
                          capture_output=True, timeout=300, check=False)


# ---- Small dumps ----------------------------------------------------------------------------------------------------

CONTEXT = ("glXCreateContext(dpy = 0x1, vis = &{}, shareList = NULL, direct = True) = 0xa\n"
           "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xa) = True\n")
TEXTURE = "glGenTextures(n = 1, textures = &{0})\nglBindTexture(target = {1}, texture = {0})\n"
BUFFER = ("glGenBuffers(n = 1, buffers = &{0})\nglBindBuffer(target = GL_ARRAY_BUFFER, buffer = {0})\n"
          "glBufferData(target = GL_ARRAY_BUFFER, size = {1}, data = {2}, usage = GL_STATIC_DRAW)\n")
IMAGE = ("glTexImage2D(target = GL_TEXTURE_2D, level = {0}, internalformat = {1}, width = {2}, height = {3}, border = 0, "
         "format = GL_RGBA, type = {5}, pixels = {4})\n")
SWAP = "glXSwapBuffers(dpy = 0x1, drawable = 2)\n"
DRAW = "glUseProgram(program = 1)\nglDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n"


def image(level, internal, width, height, pixels="blob(1)", data_type="GL_UNSIGNED_BYTE"):
    return IMAGE.format(level, internal, width, height, pixels, data_type)


def numbered(text):
    return "".join(f"{i} {line}\n" for i, line in enumerate(text.splitlines()))


def texture(name=1, target="GL_TEXTURE_2D"):
    return TEXTURE.format(name, target)


def buffer(name, size, content="blob(1)"):
    return BUFFER.format(name, size, content)


FBO = "glBindFramebuffer(target = GL_FRAMEBUFFER, framebuffer = 1)\n"
ATTACH = ("glFramebufferTexture2D(target = GL_FRAMEBUFFER, attachment = GL_COLOR_ATTACHMENT0, textarget = GL_TEXTURE_2D, "
          "texture = 1, level = 0)\n")
SMALL = {
    "a_texture_is_written_when_it_is_used": (
        texture() + image(0, "GL_RGBA8", 4, 2) + image(1, "GL_RGBA8", 2, 1) + DRAW + SWAP,
        "a 1 40 texture 4x2 GL_RGBA8|w 1 0 32|w 1 32 8|d 1|f"),
    "a_texture_that_nobody_uses_is_there_at_the_end_of_its_frame": (
        texture() + image(0, "GL_RGB", 4, 2, "NULL") + SWAP + DRAW, "a 1 32 texture 4x2 GL_RGB|f|d 1"),
    "three_components_are_padded_and_formats_are_known": (
        "".join(texture(i + 1) + image(0, f, 8, 8, "NULL") for i, f in enumerate(
            ["GL_RGB8", "GL_R8", "3", "GL_LUMINANCE_ALPHA", "GL_RGBA16F", "GL_COMPRESSED_RGB_S3TC_DXT1_EXT", "GL_DEPTH_COMPONENT24",
             "GL_COMPRESSED_RGBA_ASTC_5x4_KHR", "GL_RGB565"])) + SWAP,
        "a 1 256 texture 8x8 GL_RGB8|a 2 64 texture 8x8 GL_R8|a 3 256 texture 8x8 GL_3|a 4 128 texture 8x8 GL_LUMINANCE_ALPHA"
        "|a 5 512 texture 8x8 GL_RGBA16F|a 6 32 texture 8x8 GL_COMPRESSED_RGB_S3TC_DXT1|a 7 256 texture 8x8 GL_DEPTH_COMPONENT24"
        "|a 8 64 texture 8x8 GL_COMPRESSED_RGBA_ASTC_5x4|a 9 128 texture 8x8 GL_RGB565|f"),
    "a_part_is_written_at_its_place": (
        texture() + image(0, "GL_RGBA8", 8, 8, "NULL") + DRAW +
        "glTexSubImage2D(target = GL_TEXTURE_2D, level = 0, xoffset = 2, yoffset = 3, width = 4, height = 2, "
        "format = GL_RGBA, type = GL_UNSIGNED_BYTE, pixels = blob(32))\n",
        "a 1 256 texture 8x8 GL_RGBA8|d 1|w 1 104 32"),
    "a_chain_is_made_by_the_gpu": (
        texture() + image(0, "GL_RGBA8", 4, 4) + "glGenerateMipmap(target = GL_TEXTURE_2D)\n",
        "a 1 84 texture 4x4 GL_RGBA8|w 1 0 64|t 1"),
    "a_chain_asked_for_before_as_old_programs_do": (
        texture() + "glTexParameteri(target = GL_TEXTURE_2D, pname = GL_GENERATE_MIPMAP, param = GL_TRUE)\n" + image(0,
        "GL_RGBA", 4, 4) + SWAP,
        "a 1 84 texture 4x4 GL_RGBA|w 1 0 64|f"),
    "a_cube_has_six_sides": (
        texture(1, "GL_TEXTURE_CUBE_MAP") + "".join(image(0, "GL_RGBA8", 2, 2).replace("GL_TEXTURE_2D", f"GL_TEXTURE_CUBE_MAP_{s}")
                                                    for s in ("POSITIVE_X", "NEGATIVE_X", "POSITIVE_Y", "NEGATIVE_Y",
                                                    "POSITIVE_Z", "NEGATIVE_Z")) + DRAW,
        "a 1 96 texture 2x2 GL_RGBA8|w 1 0 96|d 1"),
    "storage_has_all_levels": (
        texture() + "glTexStorage2D(target = GL_TEXTURE_2D, levels = 3, internalformat = GL_R8, width = 8, height = 4)\n" + SWAP,
        "a 1 42 texture 8x4 GL_R8|f"),
    "storage_gets_no_more_levels_from_a_chain": (
        texture() + "glTexStorage2D(target = GL_TEXTURE_2D, levels = 2, internalformat = GL_RGBA8, width = 8, height = 8)\n"
        "glGenerateMipmap(target = GL_TEXTURE_2D)\n",
        "a 1 320 texture 8x8 GL_RGBA8|t 1"),
    "a_chain_ends_where_the_program_says": (
        texture() + "glTexParameteri(target = GL_TEXTURE_2D, pname = GL_TEXTURE_MAX_LEVEL, param = 0)\n" + image(0, "GL_RGBA8", 8, 8) +
        "glGenerateMipmap(target = GL_TEXTURE_2D)\n" + texture(2) +
        "glTexParameteriv(target = GL_TEXTURE_2D, pname = GL_TEXTURE_MAX_LEVEL, params = &1)\n"
        "glTexParameteri(target = GL_TEXTURE_2D, pname = GL_GENERATE_MIPMAP, param = GL_TRUE)\n" + image(0, "GL_RGBA8", 8, 8) + SWAP,
        "a 1 256 texture 8x8 GL_RGBA8|w 1 0 256|t 1|a 2 320 texture 8x8 GL_RGBA8|w 2 0 256|f"),
    "a_chain_begins_where_the_program_says": (
        texture() + "glTexParameteri(target = GL_TEXTURE_2D, pname = GL_TEXTURE_BASE_LEVEL, param = 1)\n" + image(1, "GL_RGBA8", 4, 4) +
        "glGenerateMipmap(target = GL_TEXTURE_2D)\n",
        "a 1 84 texture 4x4 GL_RGBA8|w 1 0 64|t 1"),
    "depth_as_its_data_where_it_is_es": (
        "eglCreateContext(dpy = 0x1, config = 0x2, share_context = NULL, attrib_list = {}) = 0xe\n"
        "eglMakeCurrent(dpy = 0x1, draw = 0x3, read = 0x3, ctx = 0xe) = EGL_TRUE\n" + texture() +
        image(0, "GL_DEPTH_COMPONENT", 8, 8, "NULL", "GL_UNSIGNED_SHORT") + texture(2) +
        image(0, "GL_DEPTH_COMPONENT", 8, 8, "NULL", "GL_UNSIGNED_INT") + SWAP +
        "eglBindAPI(api = EGL_OPENGL_API) = EGL_TRUE\n"
        "eglCreateContext(dpy = 0x1, config = 0x2, share_context = NULL, attrib_list = {}) = 0xf\n"
        "eglMakeCurrent(dpy = 0x1, draw = 0x3, read = 0x3, ctx = 0xf) = EGL_TRUE\n" + texture() +
        image(0, "GL_DEPTH_COMPONENT", 8, 8, "NULL", "GL_UNSIGNED_SHORT") + SWAP,
        "a 1 128 texture 8x8 GL_DEPTH_COMPONENT|a 2 256 texture 8x8 GL_DEPTH_COMPONENT|f|"
        "a 3 256 texture 8x8 GL_DEPTH_COMPONENT|f"),
    "by_name": (
        "glCreateTextures(target = GL_TEXTURE_2D, n = 1, textures = &7)\n"
        "glTextureStorage2D(texture = 7, levels = 1, internalformat = GL_RGBA8, width = 4, height = 4)\n"
        "glCreateBuffers(n = 2, buffers = {3, 4})\nglNamedBufferStorage(buffer = 4, size = 100, data = NULL, flags = 0)\n"
        "glBindTextureUnit(unit = 3, texture = 7)\n" + DRAW,
        "a 1 100 buffer|a 2 64 texture 4x4 GL_RGBA8|d 2"),
    "another_size_is_another_allocation": (
        texture() + image(0, "GL_RGBA8", 4, 4) + DRAW + image(0, "GL_RGBA8", 8, 8) + DRAW,
        "a 1 64 texture 4x4 GL_RGBA8|w 1 0 64|d 1|x 1|a 2 256 texture 8x8 GL_RGBA8|w 2 0 256|d 2"),
    "data_again_gives_the_old_up": (
        buffer(1, 100) + buffer(1, 100).splitlines()[2] + "\n" + buffer(1, 100, "NULL").splitlines()[2] + "\n" +
        buffer(1, 50).splitlines()[2] + "\n",
        "a 1 100 buffer|w 1 0 100|l 1 discard|w 1 0 100|u 1|l 1 discard|u 1|x 1|a 2 50 buffer|w 2 0 50"),
    "a_map_is_a_lock": (
        buffer(1, 100, "NULL") + "glMapBufferRange(target = GL_ARRAY_BUFFER, offset = 20, "
        "length = 40, access = GL_MAP_WRITE_BIT) = 0x1000\n"
        "memcpy(dest = 0x1008, src = blob(8), n = 8) // fake\nglUnmapBuffer(target = GL_ARRAY_BUFFER) = GL_TRUE\n"
        "glMapBuffer(target = GL_ARRAY_BUFFER, access = GL_WRITE_ONLY) = 0x2000\nglDeleteBuffers(n = 1, buffers = &1)\n",
        "a 1 100 buffer|l 1 write|w 1 28 8|u 1|l 1 write|u 1|x 1"),
    "what_a_draw_uses": (
        buffer(1, 100) + "glVertexAttribPointer(index = 2, size = 2, type = GL_FLOAT, normalized = GL_FALSE, stride = 0, pointer = NULL)\n"
        "glEnableVertexAttribArray(index = 2)\n" + buffer(2, 200) + texture() + image(0, "GL_R8", 4, 4) +
        "glActiveTexture(texture = GL_TEXTURE9)\n" +
        texture(2) + image(0, "GL_R8", 4, 4) + DRAW + "glDisableVertexAttribArray(index = 2)\nglActiveTexture(texture = GL_TEXTURE0)\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 0)\nglDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n",
        "a 1 100 buffer|w 1 0 100|a 2 200 buffer|w 2 0 200|a 3 16 texture 4x4 GL_R8|w 3 0 16|"
        "a 4 16 texture 4x4 GL_R8|w 4 0 16|d 1 3 4|d 4"),
    "fixed_function_uses_what_is_switched_on": (
        texture() + image(0, "GL_R8", 4, 4) + "glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\nglEnable(cap = GL_TEXTURE_2D)\n"
        "glBegin(mode = GL_TRIANGLES)\nglVertex2f(x = 0, y = 1.5e-07)\nglEnd()\n" + SWAP,
        "a 1 16 texture 4x4 GL_R8|w 1 0 16|d 1|f"),
    "calls_that_begin_like_idle_ones_draw": (
        texture() + image(0, "GL_R8", 4, 4) + "glUseProgram(program = 1)\n" + buffer(1, 10) +
        "glBindBuffer(target = GL_PARAMETER_BUFFER, buffer = 1)\n"
        "glMultiDrawArraysIndirectCountARB(mode = GL_TRIANGLES, indirect = 0, drawcount = 0, maxdrawcount = 10, stride = 0)\n"
        "glMultiDrawElementsIndirectCount(mode = GL_TRIANGLES, type = GL_UNSIGNED_INT, indirect = 0)\n"
        "glMultiDrawArraysIndirectAMD(mode = GL_TRIANGLES, indirect = 0, primcount = 1, stride = 0)\n"
        "glRectf(x1 = 0, y1 = 0, x2 = 1, y2 = 1)\nglRectiv(v1 = {0, 0}, v2 = {1, 1})\n"
        "glEvalMesh2(mode = GL_FILL, i1 = 0, i2 = 9, j1 = 0, j2 = 9)\n",
        "a 1 10 buffer|w 1 0 10|a 2 16 texture 4x4 GL_R8|w 2 0 16|d 1 2|d 1 2|d 2|d 2|d 2|d 2"),
    "attributes_come_back_from_their_stack": (
        texture() + image(0, "GL_R8", 4, 4) + texture(2) + image(0, "GL_R8", 2, 2) +
        "glEnable(cap = GL_TEXTURE_2D)\nglPushAttrib(mask = GL_VIEWPORT_BIT)\nglPushAttrib(mask = GL_ENABLE_BIT | GL_TEXTURE_BIT)\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 1)\nglPopAttrib()\nglDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n"
        "glPushAttrib(mask = GL_ENABLE_BIT)\nglBindTexture(target = GL_TEXTURE_2D, texture = 1)\nglDisable(cap = GL_TEXTURE_2D)\n"
        "glPopAttrib()\nglDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n"
        "glPushAttrib(mask = GL_ALL_ATTRIB_BITS)\nglActiveTexture(texture = GL_TEXTURE1)\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 2)\nglEnable(cap = GL_TEXTURE_2D)\nglPopAttrib()\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 2)\nglDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n"
        "glPopAttrib()\nglPopAttrib()\nglDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n",
        "a 1 4 texture 2x2 GL_R8|w 1 0 4|d 1|a 2 16 texture 4x4 GL_R8|w 2 0 16|d 2|d 1|d 1"),
    "client_attributes_come_back_from_their_stack": (
        buffer(1, 10) + "glEnableClientState(array = GL_VERTEX_ARRAY)\n"
        "glVertexPointer(size = 3, type = GL_FLOAT, stride = 0, pointer = NULL)\n"
        "glPushClientAttrib(mask = GL_CLIENT_VERTEX_ARRAY_BIT)\n" + buffer(2, 20) +
        "glVertexPointer(size = 3, type = GL_FLOAT, stride = 0, pointer = NULL)\nglPopClientAttrib()\n"
        "glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n"
        "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 2, size = 3, data = blob(3))\n",
        "a 1 10 buffer|w 1 0 10|a 2 20 buffer|w 2 0 20|d 1|w 1 2 3"),
    "a_texture_lives_as_long_as_a_framebuffer_holds_it": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + FBO + ATTACH + FBO.replace("= 1", "= 0") +
        "glDeleteTextures(n = 1, textures = &1)\n" + SWAP + FBO + DRAW + "glDeleteFramebuffers(n = 1, framebuffers = &1)\n" + SWAP,
        "a 1 64 texture 4x4 GL_RGBA8|f|t 1|x 1|f"),
    "a_buffer_lives_as_long_as_a_vertex_array_holds_it": (
        "glBindVertexArray(array = 5)\n" + buffer(1, 100) + "glVertexAttribPointer(index = 2, size = 2, type = GL_FLOAT, pointer = NULL)\n"
        "glEnableVertexAttribArray(index = 2)\nglBindVertexArray(array = 0)\nglDeleteBuffers(n = 1, buffers = &1)\n" + SWAP +
        buffer(1, 20) + "glBindVertexArray(array = 5)\n" + DRAW + "glBindVertexArray(array = 0)\n"
        "glDeleteVertexArrays(n = 1, arrays = &5)\n" + SWAP,
        "a 1 100 buffer|w 1 0 100|f|a 2 20 buffer|w 2 0 20|d 1|x 1|f"),
    "what_is_bound_loses_what_is_deleted": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + FBO + ATTACH + "glBindVertexArray(array = 5)\n" + buffer(1, 100) +
        "glVertexAttribPointer(index = 2, size = 2, type = GL_FLOAT, pointer = NULL)\nglEnableVertexAttribArray(index = 2)\n"
        "glDeleteBuffers(n = 1, buffers = &1)\nglDeleteTextures(n = 1, textures = &1)\n" + DRAW + SWAP,
        "a 1 100 buffer|w 1 0 100|x 1|a 2 64 texture 4x4 GL_RGBA8|x 2|f"),
    "only_a_swap_that_went_well_ends_a_frame": (
        buffer(1, 10) + 2 * "eglSwapBuffers(dpy = 0x1, surface = 0x3) = EGL_FALSE\n" +
        "eglSwapBuffers(dpy = 0x1, surface = 0x3) = EGL_TRUE\n"
        "glXSwapBuffersMscOML(dpy = 0x1, drawable = 2, target_msc = 0, divisor = 0, remainder = 0) = 1\n"
        "glXSwapBuffersMscOML(dpy = 0x1, drawable = 2, target_msc = 0, divisor = 0, remainder = 0) = -1\n",
        "a 1 10 buffer|w 1 0 10|f|f"),
    "what_is_drawn_into": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + FBO + ATTACH +
        "glBindTexture(target = GL_TEXTURE_2D, texture = 0)\nglGenRenderbuffers(n = 1, renderbuffers = &1)\n"
        "glBindRenderbuffer(target = GL_RENDERBUFFER, renderbuffer = 1)\n"
        "glRenderbufferStorage(target = GL_RENDERBUFFER, internalformat = GL_DEPTH_COMPONENT16, width = 4, height = 4)\n"
        "glFramebufferRenderbuffer(target = GL_FRAMEBUFFER, attachment = GL_DEPTH_ATTACHMENT, "
        "renderbuffertarget = GL_RENDERBUFFER, renderbuffer = 1)\n"
        "glClear(mask = GL_DEPTH_BUFFER_BIT)\n" + DRAW,
        "a 1 32 texture 4x4 GL_DEPTH_COMPONENT16|t 1|a 2 64 texture 4x4 GL_RGBA8|t 2|t 1"),
    "the_gpu_fills_from_a_buffer": (
        "glBindBuffer(target = GL_PIXEL_UNPACK_BUFFER, buffer = 1)\n"
        "glBufferData(target = GL_PIXEL_UNPACK_BUFFER, size = 64, data = blob(64), usage = GL_STREAM_DRAW)\n" +
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL"),
        "a 1 64 buffer|w 1 0 64|a 2 64 texture 4x4 GL_RGBA8|d 1|t 2"),
    "what_a_context_has_ends_with_the_last_that_shares_it": (
        buffer(1, 10, "NULL") + "glXCreateContext(dpy = 0x1, vis = &{}, shareList = 0xa, direct = True) = 0xb\n"
        "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xb) = True\n"
        "glXDestroyContext(dpy = 0x1, ctx = 0xa)\nglBindBuffer(target = GL_ARRAY_BUFFER, buffer = 1)\n"
        "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 2, size = 3, data = blob(3))\nglXDestroyContext(dpy = 0x1, ctx = 0xb)\n",
        "a 1 10 buffer|w 1 2 3|x 1"),
    "names_are_of_their_context": (
        buffer(1, 10, "NULL") + "glXCreateContext(dpy = 0x1, vis = &{}, shareList = NULL, direct = True) = 0xb\n"
        "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xb) = True\n" +
        buffer(1, 20, "NULL"), "a 1 10 buffer|a 2 20 buffer"),
}


def small_dumps():
    for name, (text, expected) in SMALL.items():
        done = imported(numbered(CONTEXT + text))
        check(done.stdout.decode().replace("\n", "|").strip("|") == expected, name, (done.stdout.decode(), done.stderr.decode()))
    threads = "".join(f"{i} @{i % 2} {line}\n" for i, line in enumerate(
        [
            "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xa) = True", "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xb) = True",
            "glBindBuffer(target = GL_ARRAY_BUFFER, buffer = 1)", "glBindBuffer(target = GL_ARRAY_BUFFER, buffer = 1)",
            "glBufferData(target = GL_ARRAY_BUFFER, size = 10, data = NULL, usage = GL_STATIC_DRAW)",
            "glBufferData(target = GL_ARRAY_BUFFER, size = 20, data = NULL, usage = GL_STATIC_DRAW)"]))
    done = imported(threads)
    check(done.stdout == b"a 1 10 buffer\na 2 20 buffer\n", "each_thread_has_its_context", (done.stdout, done.stderr))


# Which sides a level halves, of each target that storage can be made for, and how many faces it has.
HALVED = {"1D": "w", "2D": "wh", "3D": "whd", "CUBE_MAP": "wh", "1D_ARRAY": "w", "2D_ARRAY": "wh", "CUBE_MAP_ARRAY": "wh", "RECTANGLE": ""}


def storage_of_every_target():
    """Sizes as the specification's tables of levels give them, against those of the import."""
    chance = random.Random(SEED + 1)
    text, expected = "", []
    for name in range(1, 121):
        target = chance.choice(list(HALVED))
        texel, internal = chance.choice([(1, "GL_R8"), (4, "GL_RGBA8"), (8, "GL_RGBA16F")])
        sides = {"w": chance.randint(1, 300)}
        if target != "1D":
            sides["h"] = sides["w"] if "CUBE" in target else chance.randint(1, 300)
        if target in ("3D", "2D_ARRAY", "CUBE_MAP_ARRAY"):
            sides["d"] = chance.randint(1, 40) * (6 if "CUBE" in target else 1)
        longest = max([sides[side] for side in HALVED[target]] or [1])
        levels = chance.randint(1, longest.bit_length())
        size = 0
        for level in range(levels):
            texels = 6 if target == "CUBE_MAP" else 1
            for side, length in sides.items():
                texels *= max(length >> level, 1) if side in HALVED[target] else length
            size += texels * texel
        expected.append(size)
        dims = len(sides)
        given = ", ".join(f"{word} = {sides[word[0]]}" for word in ("width", "height", "depth")[:dims])
        said = f"levels = {levels}, internalformat = {internal}, {given})\n"
        full = f"GL_TEXTURE_{target}"
        if chance.random() < 0.5:
            text += (f"glCreateTextures(target = {full}, n = 1, textures = &{name})\nglTextureStorage{dims}D(texture = {name}, {said}")
            text += f"glGenerateTextureMipmap(texture = {name})\n" if chance.random() < 0.5 else ""
        else:
            text += texture(name, full) + f"glTexStorage{dims}D(target = {full}, {said}"
            text += f"glGenerateMipmap(target = {full})\n" if chance.random() < 0.5 else ""
        text += SWAP
    done = imported(numbered(CONTEXT + text))
    sizes = [int(line.split()[2]) for line in done.stdout.decode().splitlines() if line[0] == "a"]
    check(sizes == expected, "storage_of_every_target_has_its_size", (SEED, sizes, expected, done.stderr.decode()))


# ---- A recorded program -----------------------------------------------------------------------------------------------

class Reader:
    """The scene's dump by other means: regular expressions, one texture unit, and only what that program does."""

    TEXEL = {"GL_RGBA8": 4, "GL_RGB8": 4, "GL_R8": 1, "GL_RGBA16F": 8, "GL_DEPTH_COMPONENT24": 4}

    def __init__(self, text):
        self.made, self.draws, self.jobs_that_write, self.written, self.frames, self.freed = [], [], 0, 0, 0, 0
        self.size, self.bound, self.arrays, self.attached, self.frame, self.mapped = {}, {}, {}, [], 0, None
        for name, inside in re.findall(r'^\d+ (\w+)\(((?:[^"\n]|"(?:[^"\\]|\\.)*")*)\)', text, re.M | re.S):
            if hasattr(self, name):
                getattr(self, name)({k: v for k, v in re.findall(r"(\w+) = ([^,]*)", inside)})
        self.made = sorted(self.size.values()) if not self.freed else self.made

    def texture(self, a):
        return "texture", self.bound[re.sub(r"_(POSI|NEGA)TIVE_.", "", a["target"])]

    def glBindTexture(self, a):
        self.bound[a["target"]] = int(a["texture"])

    def glBindBuffer(self, a):
        self.bound[a["target"]] = int(a["buffer"])

    def glBindFramebuffer(self, a):
        self.frame = int(a["framebuffer"])

    def glTexImage2D(self, a):
        bytes_ = self.TEXEL[a["internalformat"]] * int(a["width"]) * int(a["height"])
        key = self.texture(a)
        self.size[key] = (self.size.get(key, 0) if "CUBE" in a["target"] else 0) + bytes_
        self.side = int(a["width"])
        if self.bound.get("GL_PIXEL_UNPACK_BUFFER"):
            self.jobs_that_write += 1
            self.draws.append([self.size["buffer", self.bound["GL_PIXEL_UNPACK_BUFFER"]]])
        else:
            self.written += 0 if a["pixels"] == "NULL" else bytes_

    def glGenerateMipmap(self, a):
        self.size[self.texture(a)] = sum(4 * (self.side >> i) ** 2 for i in range(self.side.bit_length()))
        self.jobs_that_write += 1

    def glTexStorage2D(self, a):
        self.size[self.texture(a)] = sum(max(128 >> i, 1) * max(64 >> i, 1) for i in range(int(a["levels"])))

    def glTexSubImage2D(self, a):
        self.written += int(a["width"]) * int(a["height"])

    def glCompressedTexImage2D(self, a):
        self.size[self.texture(a)] = int(a["imageSize"])
        self.written += int(a["imageSize"])

    def glRenderbufferStorage(self, a):
        self.size["renderbuffer", 1] = 4 * int(a["width"]) * int(a["height"])

    def glFramebufferTexture2D(self, a):
        self.attached.append(("texture", int(a["texture"])))

    def glFramebufferRenderbuffer(self, a):
        self.attached.append(("renderbuffer", 1))

    def glBufferData(self, a):
        self.size["buffer", self.bound[a["target"]]] = int(a["size"])
        self.written += 0 if a["data"] == "NULL" else int(a["size"])

    def memcpy(self, a):
        self.written += int(a["n"])

    def glVertexAttribPointer(self, a):
        self.arrays[a["index"]] = "buffer", self.bound["GL_ARRAY_BUFFER"]

    def glClear(self, a):
        self.jobs_that_write += len(self.attached) if self.frame else 0

    def glDrawArrays(self, a, more=()):
        uses = {*self.arrays.values(), *(("texture", n) for t, n in self.bound.items() if "TEXTURE" in t), *more}
        self.draws.append(sorted(self.size[key] for key in uses))
        self.jobs_that_write += len(self.attached) if self.frame else 0

    def glDrawElements(self, a):
        self.glDrawArrays(a, [("buffer", self.bound["GL_ELEMENT_ARRAY_BUFFER"])])

    def glDeleteTextures(self, a):
        self.freed += 1
        names = [int(a["textures"].strip("&{"))] if a["n"] == "1" else []
        self.made = self.made or []
        for name in names:
            self.made.append(self.size.pop(("texture", name)))
        if not names:
            self.made = sorted(self.made + list(self.size.values()))

    def glXSwapBuffers(self, a):
        self.frames += 1


def the_recorded_scene():
    done = imported(b"", arguments=(SCENE, "-o", folder / "scene.memtrace.gz"))
    trace = gzip.open(folder / "scene.memtrace.gz", "rt").read().splitlines()
    expected = Reader(gzip.open(SCENE, "rt").read())
    events = [line.split() for line in trace]
    sizes = {e[1]: int(e[2]) for e in events if e[0] == "a"}
    check(done.returncode == 0 and sorted(sizes.values()) == expected.made, "scene_allocations", (sorted(sizes.values()), expected.made))
    check(sum(e[0] == "f" for e in events) == expected.frames == 90, "scene_frames", expected.frames)
    draws = [sorted(sizes[i] for i in e[1:]) for e in events if e[0] == "d"]
    check(draws == expected.draws, "scene_draws_use_the_same",
          next((p for p in zip(draws, expected.draws) if p[0] != p[1]), (len(draws), len(expected.draws))))
    check(sum(e[0] == "t" for e in events) == expected.jobs_that_write, "scene_is_drawn_into_as_often", expected.jobs_that_write)
    check(sum(int(e[3]) for e in events if e[0] == "w") == expected.written, "scene_bytes_written", expected.written)
    said = done.stderr.decode()
    check(re.search(r"90 frames, 1,260 draws; 59 allocations of 24.9 MiB", said) and
          "1 reads of and copies from or to a window left out" in said,
          "scene_summary", said)
    plain = imported(b"", arguments=(SCENE,)).stdout
    check(plain == ("\n".join(trace) + "\n").encode(), "output_plain_and_gzip_alike")
    seen = subprocess.run([FERRY, "policy", folder / "scene.memtrace.gz", "--vram", "0.95W",
           "--no-advice"], capture_output=True, text=True, check=False)
    check(seen.returncode == 0 and "furthest" in seen.stdout, "scene_can_be_played", seen)


# ---- What bad input gets ----------------------------------------------------------------------------------------------

def expect(name, text, words, code=2):
    done = imported(text if isinstance(text, bytes) else numbered(CONTEXT + text))
    said = done.stderr.decode(errors="replace")
    check(done.returncode == code and re.search(words, said), name, (done.returncode, said))


def bad_input():
    sized = texture() + image(0, "GL_RGBA8", 4, 4)
    expect("unknown_format", texture() + image(0, "GL_NEW9", 4, 4),
           r"line 5: glTexImage2D: the format GL_NEW9 is not known: sizes would be wrong")
    expect("unknown_call_that_makes_memory", sized + "glTextureView(texture = 2)\n",
           r"line 6: glTextureView is not known, and it makes or shares memory")
    expect("argument_of_another_name", "glGenBuffers(n = 1, buffers = &1)\nglBindBuffer(target = GL_ARRAY_BUFFER, buffer = 1)\n"
           "glBufferData(target = GL_ARRAY_BUFFER, bytes = 3, data = NULL)\n",
           r"line 5: glBufferData has no argument 'size': the text of another version of apitrace\?")
    expect("no_argument_names", "glGenTextures(1, &1)\n",
           r"line 3: glGenTextures: an argument without a name: dump it with --arg-names=yes")
    expect("coloured", "\x1b[1mglFlush\x1b[0m()\n", r"line 3: coloured text")
    expect("no_dump", b"GET / HTTP/1.1\n", r"line 1: no call of `apitrace dump`: 'GET'?")
    expect("binary", b"\x06\x00\x01\x00trace", r"line 1: a zero byte: this is no text")
    expect("cut_off_in_a_string", sized + 'glShaderSource(shader = 1, count = 1, string = &"void main', r"line 6: a string that never ends")
    expect("cut_off_in_a_call", sized + "glTexImage2D(target = GL_TEXTURE_2D, level", r"line 6: the call has no end")
    expect("size_below_nothing", texture() + image(0, "GL_RGBA8", -4, 4), r"line 5: glTexImage2D: width = -4 is impossible: 0 to 1048576")
    expect("compressed_size_that_does_not_fit", texture() + "glCompressedTexImage2D(target = GL_TEXTURE_2D, level = 0, "
           "internalformat = GL_COMPRESSED_RGBA_S3TC_DXT5_EXT, width = 10, height = 10, border = 0, imageSize = 7, data = blob(7))\n",
           r"line 5: glCompressedTexImage2D: imageSize = 7, but 10x10x1 texels of GL_COMPRESSED_RGBA_S3TC_DXT5 are 144 bytes")
    expect("level_that_is_no_number", texture() + "glTexParameteri(target = GL_TEXTURE_2D, pname = GL_TEXTURE_MAX_LEVEL, param = many)\n",
           r"line 5: glTexParameteri: many is no level")
    expect("size_beyond_all", buffer(1, 1 << 50), r"line 5: a buffer of \d+ bytes is impossible")
    expect("size_that_is_no_number", buffer(1, "many"), r"line 5: glBufferData: size = many is not a number")
    expect("begins_too_late", "glBindTexture(target = GL_TEXTURE_2D, texture = 9)\n"
           "glTexSubImage2D(target = GL_TEXTURE_2D, level = 0, xoffset = 0, yoffset = 0, "
           "width = 1, height = 1, format = GL_RGBA, type = GL_UNSIGNED_BYTE, pixels = blob(4))\n",
           r"line 4: texture 9 is used and its size is not in the text")
    expect("direct3d", b"1 IDirect3D9::CreateDevice(this = 0x1)\n2 IDirect3DDevice9::CreateTexture(this = 0x1, Width = 4)\n",
           r"of 2 calls none is OpenGL's")
    expect("empty", b"", "holds no call")
    expect("nothing_made", "glFlush()\n", "nothing lies in memory")
    expect("unknown_calls_are_counted_and_named", sized + "glNewThing(a = 1)\nglFoo()\nglNewThing(a = 2)\n" + SWAP,
           r"3 calls that are not known left out.*: glNewThing 2 times \(first: line 6\), glFoo 1 times \(first: line 7\)", 0)
    expect("unknown_draws_are_named", sized + "glMultiModeDrawArraysIBM(mode = 1)\nglDrawMeshTasksNV(first = 0, count = 1)\n"
           "glMultiDrawArraysIndirectBindlessCountNV(mode = 1)\nglStencilThenCoverFillPathNV(path = 1)\n" + SWAP,
           r"4 calls that are not known.*: glMultiModeDrawArraysIBM 1 .*glDrawMeshTasksNV 1 .*BindlessCountNV 1 .*glStencilThen\w+ 1", 0)
    expect("pixel_buffers_are_said", sized + "glXCreatePbuffer(dpy = 0x1, config = 0x2, attribList = {}) = 77\n" + SWAP,
           r"1 pixel buffers \(pbuffers\) left out with what is drawn into them, as windows are \(first: line 6\)", 0)
    expect("objects_of_another_maker", "glNewObjectBufferATI(size = 100000000, pointer = NULL, usage = GL_STATIC) = 5\n",
           r"line 3: glNewObjectBufferATI is not known, and it makes or shares memory")
    idle = sized + "".join(f"{name}()\n" for name in (
        "glVertex3fv", "glVertexAttrib4Nubv", "glUniformMatrix2x3fv", "glProgramUniform4uiv", "glMultiTexCoord2fARB", "glColor4ub",
        "glDrawBuffers", "glNamedFramebufferDrawBuffers", "glTexEnvi", "glTexParameterIiv", "glSamplerParameterfv", "glBlendFuncSeparatei",
        "glMap2f", "glEvalCoord2f", "glGetError", "glGetIntegerv", "glIsTexture", "glViewportIndexedf", "glClearColor", "glPixelStorei",
        "glMultMatrixf", "glMultTransposeMatrixfARB", "glLoadIdentity", "glShaderSourceARB", "glObjectLabelKHR", "glPushDebugGroup",
        "glFlushMappedBufferRange", "glDeleteProgramsARB", "glDiscardFramebufferEXT", "glVertexAttribDivisorARB", "glPolygonOffset",
        "glXChooseVisual", "glXWaitX", "eglChooseConfig", "eglInitialize", "wglGetProcAddress", "wglSwapIntervalEXT"))
    done = imported(numbered(CONTEXT + idle.replace("glTexParameterIiv()", "glTexParameterIiv(pname = GL_TEXTURE_BORDER_COLOR)") + SWAP))
    check(done.returncode == 0 and "not known" not in done.stderr.decode(), "idle_calls_are_known", done)
    expect("what_is_left_out_is_said", sized + buffer(1, 100, "NULL") +
           "glMapBuffer(target = GL_ARRAY_BUFFER, access = GL_READ_ONLY) = 0x10\n"
           "glUnmapBuffer(target = GL_ARRAY_BUFFER) = GL_TRUE\n"
           "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 90, size = 20, data = blob(20))\n"
           "memcpy(dest = 0x99, src = blob(2), n = 2)\n" + SWAP,
           r"(?s)1 maps to read left out.*100 B \(first: line 9\).*1 writes left out: they lie outside.*20 B \(first: line 11\)"
           r".*1 memcpy lines left out.*2 B \(first: line 12\)", 0)
    expect("calls_without_a_context", "glXMakeCurrent(dpy = 0x1, drawable = 0, ctx = NULL) = True\n" + sized +
           "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xa) = True\n" + sized + SWAP,
           r"3 calls left out: no context was current \(first: line 4\)", 0)
    broken = gzip.compress(numbered(CONTEXT + sized + SWAP).encode() * 50)
    expect("gzip_cut_off", broken[:len(broken) // 2], "cut off|damaged")
    target = folder / "kept.memtrace"
    target.write_text("before\n")
    done = imported(numbered(CONTEXT + texture() + image(0, "GL_NEW9", 4, 4)), arguments=("-", "-o", target))
    check(done.returncode == 2 and target.read_text() == "before\n" and sorted(p.name for p in folder.glob("kept*")) == ["kept.memtrace"],
          "a_failed_import_leaves_the_old_file", sorted(folder.glob("kept*")))
    dump = folder / "dump.txt"
    text = numbered(CONTEXT + sized + SWAP)
    for name, out in (("itself", dump), ("another_name_of_it", folder / "dump.link"), ("its_part", folder / "dump")):
        source = folder / "dump.part" if name == "its_part" else dump
        source.write_text(text)
        if name == "another_name_of_it":
            os.link(dump, out)
        for how, arguments in (("by_name", (source, "-o", out)), ("as_standard_input", ("-", "-o", out))):
            source.write_text(text)
            with source.open("rb") as file:
                done = subprocess.run([FERRY, "trace", "import", *arguments], stdin=file, capture_output=True, text=True, check=False)
            check(done.returncode == 2 and "the recording is read from there" in done.stderr and source.read_text() == text,
                  f"the_recording_is_not_overwritten_{name}_{how}", done)
    for name, code, words, arguments in (("no_such_file", 2, "cannot be opened", (folder / "nowhere",)),
                                         ("no_such_folder", 4, "cannot write", (SCENE, "-o", folder / "no/where")),
                                         ("full_disk", 4, "cannot", (SCENE, "-o", "/dev/full"))):
        done = imported(b"", arguments=arguments)
        check(done.returncode == code and words in done.stderr.decode(), name, done)
    for name, arguments in (("no_verb", []), ("other_verb", ["export", "x"]), ("no_file", ["import"])):
        done = subprocess.run([FERRY, "trace", *arguments], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and "ferry trace import FILE" in done.stderr, name, done)


# ---- Of any length ----------------------------------------------------------------------------------------------------

def length_costs_no_memory():
    """Textures and buffers come and go under ever new names; what lives at once stays the same."""
    def peak(rounds):
        run = subprocess.Popen([FERRY, "trace", "import", "-", "-o", "/dev/null", "--quiet"], stdin=subprocess.PIPE)
        run.stdin.write(numbered(CONTEXT).encode())
        for i in range(1, rounds):
            run.stdin.write((texture(i) + image(0, "GL_RGBA8", 64, 64) + buffer(i, 4096) + DRAW + SWAP +
                             f"glDeleteTextures(n = 1, textures = &{i})\nglDeleteBuffers(n = 1, buffers = &{i})\n").encode())
        run.stdin.close()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        return run.returncode, used.ru_maxrss
    short, long = peak(1000), peak(60000)
    check(short[0] == long[0] == 0 and long[1] < short[1] + 1024, "memory_by_what_lives_not_by_lines", f"KiB: {short}, {long}")


def damaged(chance, text):
    text = bytearray(text)
    for _ in range(chance.choice([1, 2, 5, 20])):
        at = chance.randrange(len(text))
        what = chance.randrange(6)
        if what == 0:
            text[at] = chance.randrange(256)
        elif what == 1:
            text[at:at] = bytes(chance.choice(b'"(){}\\,=&\n0129-@/') for _ in range(chance.randint(1, 4)))
        elif what == 2:
            del text[at:at + chance.randint(1, 40)]
        elif what == 3:
            other = chance.randrange(len(text))
            text[at:at] = text[other:other + chance.randint(1, 400)]
        else:
            # Another number, or another call's name, as whole words.
            words = list(re.finditer(rb"\b(\d+|0x[0-9a-f]+|gl\w+|GL_\w+)\b", bytes(text[at:at + 300])))
            if words:
                word = chance.choice(words)
                new = chance.choice([b"0", b"1", b"4294967295", b"18446744073709551616", b"-1", b"1048576", b"glEndList",
                                     b"glDeleteTextures",
                                     b"GL_TEXTURE_CUBE_MAP", b"GL_TEXTURE_2D", chance.choice(words)[0]])
                text[at + word.start():at + word.end()] = new
    return bytes(text)


def damaged_dumps():
    print(f"FERRY_SEED={SEED}")
    chance = random.Random(SEED)
    lines = gzip.open(SCENE, "rb").read().splitlines(keepends=True)
    whole = b"".join(lines[:700])
    told, good = "", 0
    for i in range(120):
        text = damaged(chance, whole)
        done = imported(text, SANITIZED)
        said = done.stderr.decode(errors="replace")
        fits = done.returncode in (0, 2) and "Sanitizer" not in said and "runtime error" not in said and (
            done.returncode == 0 or len(said.strip().splitlines()) == 1)
        if fits and done.returncode == 0:
            path = folder / "damaged.memtrace"
            path.write_bytes(done.stdout)
            played = subprocess.run([FERRY, "policy", path, "--policy", "lru", "--vram", "1F", "--no-advice",
            "--quiet"], capture_output=True,
                                    text=True, check=False)
            fits = played.returncode == 0 or (played.returncode == 2 and "is no size" in played.stderr)
            said += played.stderr
        good += fits
        if not fits and not told:
            (folder.parent / "ferry-import-damaged.txt").write_bytes(text)
            told = f"FERRY_SEED={SEED}, case {i}: {done.returncode} {said[:2000]}"
    check(good == 120, "damaged_dumps_are_read_or_refused", told)


small_dumps()
storage_of_every_target()
the_recorded_scene()
bad_input()
length_costs_no_memory()
damaged_dumps()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
