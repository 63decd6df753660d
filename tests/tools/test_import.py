#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry trace import`: small dumps with the trace that they must give, and a recorded one against a reader of its own
(allocations, frames, what each draw uses, bytes written)."""
import gzip
import random
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from dumps import (  # noqa: E402
    CONTEXT, DRAW, FERRY, SCENE, SEED, SWAP, buffer, check, end, folder, image, imported, numbered, texture)

# ---- Small dumps ----------------------------------------------------------------------------------------------------

FBO = "glBindFramebuffer(target = GL_FRAMEBUFFER, framebuffer = 1)\n"
ATTACH = ("glFramebufferTexture2D(target = GL_FRAMEBUFFER, attachment = GL_COLOR_ATTACHMENT0, textarget = GL_TEXTURE_2D, "
          "texture = 1, level = 0)\n")
# The framebuffer's only attachment.
RENDERBUFFER = ("glGenRenderbuffers(n = 1, renderbuffers = &1)\nglBindRenderbuffer(target = GL_RENDERBUFFER, renderbuffer = 1)\n"
                "glRenderbufferStorage(target = GL_RENDERBUFFER, internalformat = {}, width = 4, height = 4)\n"
                "glGenFramebuffers(n = 1, framebuffers = &1)\n" + FBO +
                "glFramebufferRenderbuffer(target = GL_FRAMEBUFFER, attachment = {}, renderbuffertarget = GL_RENDERBUFFER, "
                "renderbuffer = 1)\n")
DISPATCH = "glDispatchCompute(num_groups_x = 1, num_groups_y = 1, num_groups_z = 1)\n"
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
        "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 2, size = 3, data = blob(3))\n"
        "glXMakeCurrent(dpy = 0x1, drawable = 0, ctx = NULL) = True\n"
        "glXDestroyContext(dpy = 0x1, ctx = 0xb)\n",
        "a 1 10 buffer|w 1 2 3|x 1"),
    "names_are_of_their_context": (
        buffer(1, 10, "NULL") + "glXCreateContext(dpy = 0x1, vis = &{}, shareList = NULL, direct = True) = 0xb\n"
        "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xb) = True\n" +
        buffer(1, 20, "NULL"), "a 1 10 buffer|a 2 20 buffer"),
    # What a job reads and writes where neither an attribute nor a bound texture says so.
    "a_draw_reads_the_buffer_behind_a_buffer_texture": (
        texture(1, "GL_TEXTURE_BUFFER") + buffer(3, 64) +
        "glTexBuffer(target = GL_TEXTURE_BUFFER, internalformat = GL_RGBA32F, buffer = 3)\n" + DRAW,
        "a 1 64 buffer|w 1 0 64|d 1"),
    "a_clear_of_stencil_writes_stencil_alone": (
        RENDERBUFFER.format("GL_STENCIL_INDEX8", "GL_STENCIL_ATTACHMENT") + "glClear(mask = GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT)\n" +
        SWAP + "glClear(mask = GL_STENCIL_BUFFER_BIT)\nglClearBufferiv(buffer = GL_STENCIL, drawbuffer = 0, value = &0)\n",
        "a 1 16 texture 4x4 GL_STENCIL_INDEX8|f|t 1|t 1"),
    "an_indirect_dispatch_reads_its_buffer": (
        buffer(3, 64) + "glBindBuffer(target = GL_DISPATCH_INDIRECT_BUFFER, buffer = 3)\nglDispatchComputeIndirect(indirect = 0)\n",
        "a 1 64 buffer|w 1 0 64|d 1"),
    "a_copy_of_a_renderbuffer_is_not_of_the_texture_of_its_name": (
        texture() + image(0, "GL_RGBA8", 4, 4) + texture(2) + image(0, "GL_RGBA8", 2, 2) +
        RENDERBUFFER.format("GL_RGBA8", "GL_COLOR_ATTACHMENT0") +
        "glCopyImageSubData(srcName = 1, srcTarget = GL_RENDERBUFFER, srcLevel = 0, srcX = 0, srcY = 0, srcZ = 0, dstName = 2, "
        "dstTarget = GL_TEXTURE_2D, dstLevel = 0, dstX = 0, dstY = 0, dstZ = 0, srcWidth = 2, srcHeight = 2, srcDepth = 1)\n",
        "a 1 64 texture 4x4 GL_RGBA8|a 2 16 texture 2x2 GL_RGBA8|w 2 0 16|d 1|t 2"),
    "a_dispatch_writes_its_storage": (
        buffer(3, 64) + "glBindBufferBase(target = GL_SHADER_STORAGE_BUFFER, index = 1, buffer = 3)\n" + DISPATCH,
        "a 1 64 buffer|w 1 0 64|d 1|t 1"),
    "a_dispatch_writes_its_images": (
        texture() + image(0, "GL_RGBA8", 4, 4) + "glBindTexture(target = GL_TEXTURE_2D, texture = 0)\n"
        "glBindImageTexture(unit = 1, texture = 1, level = 0, layered = GL_FALSE, layer = 0, access = GL_WRITE_ONLY, format = GL_RGBA8)\n"
        + DISPATCH,
        "a 1 64 texture 4x4 GL_RGBA8|w 1 0 64|d 1|t 1"),
    "pixels_are_read_into_the_pack_buffer": (
        buffer(3, 64) + RENDERBUFFER.format("GL_RGBA8", "GL_COLOR_ATTACHMENT0") +
        "glBindBuffer(target = GL_PIXEL_PACK_BUFFER, buffer = 3)\n"
        "glReadPixels(x = 0, y = 0, width = 4, height = 4, format = GL_RGBA, type = GL_UNSIGNED_BYTE, pixels = NULL)\n",
        "a 1 64 buffer|w 1 0 64|a 2 64 texture 4x4 GL_RGBA8|d 2|t 1"),
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


small_dumps()
storage_of_every_target()
the_recorded_scene()
sys.exit(end())
