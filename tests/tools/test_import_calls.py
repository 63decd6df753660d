#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry trace import`, call by call: small dumps with the trace that they must give by what OpenGL says of each call, and what is said
of them at the end. Those of test_import.py are of memory; these are of the calls that name it, in each of their forms."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from dumps import CONTEXT, DRAW, SWAP, buffer, check, end, image, imported, numbered, texture  # noqa: E402

ARRAYS = "glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)\n"
NO_PROGRAM = "glUseProgram(program = 0)\n"
POINTER = "glVertexAttribPointer(index = {0}, size = 2, type = GL_FLOAT, pointer = NULL)\nglEnableVertexAttribArray(index = {0})\n"
COORDINATES = ("glEnableClientState(array = GL_TEXTURE_COORD_ARRAY)\n"
               "glTexCoordPointer(size = 2, type = GL_FLOAT, stride = 0, pointer = NULL)\n")
READ = "glReadPixels(x = 0, y = 0, width = 1, height = 1, format = GL_RED, type = GL_BYTE, pixels = {0})\n"
MADE = "a {0} {1} buffer|w {0} 0 {1}|"


def bind(target, name):
    return f"glBindBuffer(target = GL_{target}, buffer = {name})\n"


def mapped(access, at, offset=0, length=100):
    return f"glMapBufferRange(target = GL_ARRAY_BUFFER, offset = {offset}, length = {length}, access = {access}) = {at}\n"


def copied(dest, count):
    return f"memcpy(dest = {dest}, src = blob({count}), n = {count})\n"


UNMAP = "glUnmapBuffer(target = GL_ARRAY_BUFFER) = GL_TRUE\n"


def part(x, y, width, height, name="glTexSubImage2D(target = GL_TEXTURE_2D", more=""):
    return (f"{name}, level = 0, xoffset = {x}, yoffset = {y}, {more}width = {width}, height = {height}, format = GL_RGBA, "
            f"type = GL_UNSIGNED_BYTE, pixels = blob({4 * width * height}))\n")


def volume(z, depth, width=2, height=2):
    return (f"glTexSubImage3D(target = GL_TEXTURE_3D, level = 0, xoffset = 0, yoffset = 0, zoffset = {z}, width = {width}, "
            f"height = {height}, depth = {depth}, format = GL_RGBA, type = GL_UNSIGNED_BYTE, pixels = blob(16))\n")


def whole(target, side, depth):
    return (f"glTexImage3D(target = GL_TEXTURE_{target}, level = 0, internalformat = GL_R8, width = {side}, height = {side}, "
            f"depth = {depth}, border = 0, format = GL_RED, type = GL_UNSIGNED_BYTE, pixels = NULL)\n")


def face(side, size, pixels="NULL"):
    return image(0, "GL_RGBA8", size, size, pixels).replace("GL_TEXTURE_2D", f"GL_TEXTURE_CUBE_MAP_{side}")


def framebuffer(name, textures):
    """Bound, with these textures as its colours."""
    return f"glBindFramebuffer(target = GL_FRAMEBUFFER, framebuffer = {name})\n" + "".join(
        f"glFramebufferTexture2D(target = GL_FRAMEBUFFER, attachment = GL_COLOR_ATTACHMENT{i}, textarget = GL_TEXTURE_2D, "
        f"texture = {texture}, level = 0)\n" for i, texture in enumerate(textures))


def images(count):
    """So many textures without content, of 4, 16, 36 ... bytes; none is bound."""
    return "".join(texture(i) + image(0, "GL_R8", 2 * i, 2 * i, "NULL") for i in range(1, count + 1)) + (
        "glBindTexture(target = GL_TEXTURE_2D, texture = 0)\n")


def sized(number, side):
    return f"a {number} {side * side} texture {side}x{side} GL_R8|"


BUFFERS = {
    "data_over_a_map_ends_it": (
        buffer(1, 100, "NULL") + mapped("GL_MAP_WRITE_BIT", "0x1000") + buffer(1, 100).splitlines()[2] + "\n" + copied("0x1000", 4),
        "a 1 100 buffer|l 1 write|u 1|l 1 discard|w 1 0 100|u 1"),
    "the_last_byte_is_inside": (
        buffer(1, 100, "NULL") + "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 90, size = 10, data = blob(10))\n",
        "a 1 100 buffer|w 1 90 10"),
    "what_is_mapped_is_not_mapped_again": (
        buffer(1, 100, "NULL") + mapped("GL_MAP_WRITE_BIT", "0x1000") + mapped("GL_MAP_WRITE_BIT", "0x2000") + copied("0x2000", 4) +
        copied("0x1060", 4) + UNMAP, "a 1 100 buffer|l 1 write|w 1 96 4|u 1"),
    "nothing_is_written_through_a_map_to_read": (
        buffer(1, 100, "NULL") + mapped("GL_MAP_READ_BIT", "0x1000") + copied("0x1000", 4) + UNMAP, "a 1 100 buffer"),
    "each_map_is_found_by_its_addresses": (
        "".join(buffer(i, 100, "NULL") + mapped("GL_MAP_WRITE_BIT", f"0x{3 - i}000", 10 * i, 50) for i in (1, 2)) +
        copied("0x2000", 50) + copied("0x1031", 1) + copied("0x1032", 1) + copied("0xfff", 1),
        "a 1 100 buffer|l 1 write|a 2 100 buffer|l 2 write|w 1 10 50|w 2 69 1"),
    "only_a_map_that_gives_all_up_discards": (
        buffer(1, 100, "NULL") + "".join(mapped(access, "0x1000", 0, length) + UNMAP for access, length in (
            ("GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_RANGE_BIT", 50), ("GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_RANGE_BIT", 100),
            ("GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT", 50))),
        "a 1 100 buffer|l 1 write|u 1|l 1 discard|u 1|l 1 discard|u 1"),
    "a_map_that_was_refused_is_none": (
        buffer(1, 100, "NULL") + mapped("GL_MAP_WRITE_BIT", "NULL") + mapped("GL_MAP_WRITE_BIT", "0x0") + UNMAP, "a 1 100 buffer"),
    "the_gpu_copies_from_target_to_target": (
        buffer(1, 10) + buffer(2, 20) + bind("COPY_READ_BUFFER", 1) + bind("COPY_WRITE_BUFFER", 2) +
        "glCopyBufferSubData(readTarget = GL_COPY_READ_BUFFER, writeTarget = GL_COPY_WRITE_BUFFER, readOffset = 0, writeOffset = 0, "
        "size = 4)\n", MADE.format(1, 10) + MADE.format(2, 20) + "d 1|t 2"),
    "and_by_name": (
        buffer(1, 10) + buffer(2, 20) +
        "glCopyNamedBufferSubData(readBuffer = 1, writeBuffer = 2, readOffset = 0, writeOffset = 0, size = 4)\n",
        MADE.format(1, 10) + MADE.format(2, 20) + "d 1|t 2"),
    "the_gpu_clears": (
        buffer(1, 10) + "glClearBufferData(target = GL_ARRAY_BUFFER, internalformat = GL_R8, format = GL_RED, type = GL_BYTE, "
        "data = NULL)\nglClearNamedBufferSubData(buffer = 1, internalformat = GL_R8, offset = 0, size = 4, format = GL_RED, "
        "type = GL_BYTE, data = NULL)\n",
        MADE.format(1, 10) + "t 1|t 1"),
    "counters_and_storage_have_indexes_of_their_own": (
        buffer(1, 10) + buffer(2, 20) + "glBindBufferBase(target = GL_SHADER_STORAGE_BUFFER, index = 0, buffer = 1)\n"
        "glBindBufferBase(target = GL_ATOMIC_COUNTER_BUFFER, index = 0, buffer = 2)\n"
        "glDispatchCompute(num_groups_x = 1, num_groups_y = 1, num_groups_z = 1)\n",
        MADE.format(1, 10) + MADE.format(2, 20) + "d 1 2|t 1|t 2"),
    "uniforms_are_read_while_they_are_bound": (
        buffer(1, 10) + "glBindBufferRange(target = GL_UNIFORM_BUFFER, index = 3, buffer = 1, offset = 0, size = 4)\n" + DRAW +
        "glBindBufferBase(target = GL_UNIFORM_BUFFER, index = 3, buffer = 0)\n" + ARRAYS, MADE.format(1, 10) + "d 1"),
    "as_many_names_are_deleted_as_are_said": (
        buffer(1, 10, "NULL") + buffer(2, 20, "NULL") + "glDeleteBuffers(n = 1, buffers = {2, 1})\n", "a 1 10 buffer|a 2 20 buffer|x 2"),
    "a_buffer_of_elements_lives_with_its_vertex_array": (
        "glBindVertexArray(array = 5)\n" + buffer(1, 10).replace("GL_ARRAY", "GL_ELEMENT_ARRAY") + "glBindVertexArray(array = 0)\n"
        "glDeleteBuffers(n = 1, buffers = &1)\nglBindVertexArray(array = 5)\n"
        "glDrawElements(mode = GL_TRIANGLES, count = 3, type = GL_UNSIGNED_BYTE, indices = NULL)\n", MADE.format(1, 10) + "d 1"),
}

TEXTURES = {
    "of_those_that_wait_each_is_written_once": (
        images(3) + "glUseProgram(program = 1)\n" + "".join(f"glBindTexture(target = GL_TEXTURE_2D, texture = {i})\n" + ARRAYS
                                                            for i in (1, 3)) + SWAP + SWAP,
        sized(1, 2) + "d 1|" + sized(2, 6) + "d 2|" + sized(3, 4) + "f|f"),
    "the_same_bytes_of_another_format_are_another_image": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + DRAW + image(0, "GL_R32F", 4, 4, "NULL") + ARRAYS,
        "a 1 64 texture 4x4 GL_RGBA8|d 1|x 1|a 2 64 texture 4x4 GL_R32F|d 2"),
    "the_same_bytes_of_other_sides_are_another_image": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + DRAW + image(0, "GL_RGBA8", 8, 2, "NULL") + ARRAYS,
        "a 1 64 texture 4x4 GL_RGBA8|d 1|x 1|a 2 64 texture 8x2 GL_RGBA8|d 2"),
    "a_face_of_another_size_is_alone": (
        texture(1, "GL_TEXTURE_CUBE_MAP") + face("POSITIVE_X", 2) + face("NEGATIVE_X", 2) + face("POSITIVE_X", 4) + SWAP,
        "a 1 64 texture 4x4 GL_RGBA8|f"),
    "a_face_has_its_place_among_those_that_are_there": (
        texture(1, "GL_TEXTURE_CUBE_MAP") + face("NEGATIVE_X", 2) + face("POSITIVE_Z", 2) + DRAW +
        part(0, 1, 2, 1, "glTexSubImage2D(target = GL_TEXTURE_CUBE_MAP_POSITIVE_Z"), "a 1 32 texture 2x2 GL_RGBA8|d 1|w 1 24 8"),
    "parts_with_a_gap_are_two": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + part(0, 0, 4, 1) + part(0, 2, 4, 2) + DRAW,
        "a 1 64 texture 4x4 GL_RGBA8|w 1 0 16|w 1 32 32|d 1"),
    "parts_that_leave_the_image_are_left_out": (
        texture() + image(0, "GL_RGBA8", 4, 4, "NULL") + DRAW + part(1, 0, 4, 1) + part(0, 1, 4, 4) + part(3, 3, 1, 1),
        "a 1 64 texture 4x4 GL_RGBA8|d 1|w 1 60 4"),
    "slices_have_their_places": (
        texture(1, "GL_TEXTURE_3D") + "glTexStorage3D(target = GL_TEXTURE_3D, levels = 1, internalformat = GL_RGBA8, width = 2, "
        "height = 2, depth = 4)\n" + DRAW + volume(1, 2) + volume(3, 1) + volume(3, 2),
        "a 1 64 texture 2x2 GL_RGBA8|d 1|w 1 16 32|w 1 48 16"),
    "no_more_is_written_than_a_compressed_image_has": (
        texture() + "glCompressedTexImage2D(target = GL_TEXTURE_2D, level = 0, internalformat = GL_NEW_BLOCKS, width = 8, height = 8, "
        "border = 0, imageSize = 48, data = NULL)\n" + DRAW + "glCompressedTexSubImage2D(target = GL_TEXTURE_2D, level = 0, xoffset = 0, "
        "yoffset = 0, width = 8, height = 8, format = GL_NEW_BLOCKS, imageSize = 60, data = blob(60))\n",
        "a 1 48 texture 8x8 GL_COMPRESSED|d 1|w 1 0 48"),
    "a_cube_by_name_has_its_sides_one_behind_the_other": (
        "glCreateTextures(target = GL_TEXTURE_CUBE_MAP, n = 1, textures = &1)\n"
        "glTextureStorage2D(texture = 1, levels = 1, internalformat = GL_RGBA8, width = 2, height = 2)\n"
        "glBindTextureUnit(unit = 0, texture = 1)\n" + DRAW +
        part(0, 0, 2, 2, "glTextureSubImage3D(texture = 1", "zoffset = 2, ").replace("format", "depth = 2, format", 1),
        "a 1 96 texture 2x2 GL_RGBA8|d 1|w 1 32 16|w 1 48 16"),
    "compressed_sides_by_name_have_a_part_each": (
        "glCreateTextures(target = GL_TEXTURE_CUBE_MAP, n = 1, textures = &1)\nglTextureStorage2D(texture = 1, levels = 1, "
        "internalformat = GL_COMPRESSED_RGB_S3TC_DXT1_EXT, width = 8, height = 8)\nglBindTextureUnit(unit = 0, texture = 1)\n" + DRAW +
        "glCompressedTextureSubImage3D(texture = 1, level = 0, xoffset = 0, yoffset = 0, zoffset = 1, width = 4, height = 4, depth = 3, "
        "format = GL_COMPRESSED_RGB_S3TC_DXT1_EXT, imageSize = 24, data = blob(24))\n",
        "a 1 192 texture 8x8 GL_COMPRESSED_RGB_S3TC_DXT1|d 1|w 1 32 8|w 1 64 8|w 1 96 8"),
    "samples_are_stored_each": (
        texture(1, "GL_TEXTURE_2D_MULTISAMPLE") + "glTexStorage2DMultisample(target = GL_TEXTURE_2D_MULTISAMPLE, samples = 4, "
        "internalformat = GL_RGBA8, width = 4, height = 4, fixedsamplelocations = GL_TRUE)\n" + SWAP, "a 1 256 texture 4x4 GL_RGBA8|f"),
    "a_copy_of_what_is_drawn_into_reads_it": (
        images(1) + framebuffer(1, [1]) + texture(2) + "glCopyTexImage2D(target = GL_TEXTURE_2D, level = 0, internalformat = GL_R8, x = 0, "
        "y = 0, width = 4, height = 4, border = 0)\n", sized(1, 2) + sized(2, 4) + "d 1|t 2"),
    "a_chain_is_asked_for_and_no_more": (
        texture() + "".join(f"glTexParameteri(target = GL_TEXTURE_2D, pname = GL_GENERATE_MIPMAP, param = {wish})\n"
                            for wish in ("GL_TRUE", "GL_FALSE")) + image(0, "GL_R8", 4, 4, "NULL") + SWAP, sized(1, 4) + "f"),
    "a_chain_keeps_layers": (
        texture(1, "GL_TEXTURE_2D_ARRAY") + whole("2D_ARRAY", 4, 3) + "glGenerateMipmap(target = GL_TEXTURE_2D_ARRAY)\n",
        "a 1 63 texture 4x4 GL_R8|t 1"),
    "a_chain_goes_on_as_long_as_any_side_does": (
        texture(1, "GL_TEXTURE_3D") + whole("3D", 2, 4) + "glGenerateMipmap(target = GL_TEXTURE_3D)\n", "a 1 19 texture 2x2 GL_R8|t 1"),
    "a_proxy_takes_nothing": (
        texture() + image(0, "GL_R8", 4, 4, "NULL").replace("GL_TEXTURE_2D", "GL_PROXY_TEXTURE_2D") + SWAP, "f"),
    "a_level_that_is_1_may_be_a_word": (
        texture() + "glTexParameteri(target = GL_TEXTURE_2D, pname = GL_TEXTURE_MAX_LEVEL, param = GL_TRUE)\n" +
        image(0, "GL_R8", 8, 8, "NULL") + "glGenerateMipmap(target = GL_TEXTURE_2D)\n", "a 1 80 texture 8x8 GL_R8|t 1"),
    "a_renderbuffer_by_name": (
        "glCreateRenderbuffers(n = 1, renderbuffers = &4)\n"
        "glNamedRenderbufferStorage(renderbuffer = 4, internalformat = GL_RGBA8, width = 4, height = 4)\n" + SWAP,
        "a 1 64 texture 4x4 GL_RGBA8|f"),
}

JOBS = {
    "a_job_names_each_once": (
        buffer(1, 10) + POINTER.format(0) + POINTER.format(1) + images(1) + framebuffer(1, [1, 1]) + DRAW,
        MADE.format(1, 10) + sized(2, 2) + "d 1|t 2"),
    "only_arrays_that_are_switched_on_are_read": (
        buffer(1, 10) + POINTER.format(0) + "glDisableVertexAttribArray(index = 0)\n" + buffer(2, 20) + POINTER.format(1) + DRAW,
        MADE.format(1, 10) + MADE.format(2, 20) + "d 2"),
    "what_has_its_corners_in_the_call_reads_no_array": (
        buffer(1, 10) + POINTER.format(0) + "glRectf(x1 = 0, y1 = 0, x2 = 1, y2 = 1)\n" + ARRAYS, MADE.format(1, 10) + "d 1"),
    "elements_are_read": (
        buffer(1, 10) + POINTER.format(0) + buffer(2, 20).replace("GL_ARRAY", "GL_ELEMENT_ARRAY") + ARRAYS +
        "glDrawElements(mode = GL_TRIANGLES, count = 3, type = GL_UNSIGNED_BYTE, indices = NULL)\n",
        MADE.format(1, 10) + MADE.format(2, 20) + "d 1|d 1 2"),
    "an_indirect_draw_reads_its_buffer": (
        buffer(1, 10) + bind("DRAW_INDIRECT_BUFFER", 1) + "glDrawArraysIndirect(mode = GL_TRIANGLES, indirect = NULL)\n" + ARRAYS,
        MADE.format(1, 10) + "d 1"),
    "a_clear_by_name_is_of_that_framebuffer": (
        images(2) + framebuffer(1, [1]) + framebuffer(2, [2]) +
        "glClearNamedFramebufferfv(framebuffer = 1, buffer = GL_COLOR, drawbuffer = 0, value = {0, 0, 0, 0})\n",
        sized(1, 2) + "t 1"),
    "a_clear_of_colour_clears_every_colour": (
        images(2) + framebuffer(1, [1, 2]) + "glClear(mask = GL_COLOR_BUFFER_BIT)\n", sized(1, 2) + sized(2, 4) + "t 1|t 2"),
    "a_blit_goes_from_what_is_read_to_what_is_drawn_into": (
        images(2) + framebuffer(1, [1]) + framebuffer(2, [2]) + "glBindFramebuffer(target = GL_READ_FRAMEBUFFER, framebuffer = 1)\n"
        "glBlitFramebuffer(srcX0 = 0, srcY0 = 0, srcX1 = 2, srcY1 = 2, mask = GL_COLOR_BUFFER_BIT, filter = GL_NEAREST)\n",
        sized(1, 2) + sized(2, 4) + "d 1|t 2"),
    "or_from_name_to_name": (
        images(2) + framebuffer(1, [1]) + framebuffer(2, [2]) +
        "glBlitNamedFramebuffer(readFramebuffer = 1, drawFramebuffer = 2, mask = GL_COLOR_BUFFER_BIT, filter = GL_NEAREST)\n",
        sized(1, 2) + sized(2, 4) + "d 1|t 2"),
    "a_texture_is_cleared": (
        images(1) + "glClearTexImage(texture = 1, level = 0, format = GL_RED, type = GL_BYTE, data = NULL)\n", sized(1, 2) + "t 1"),
    "a_list_is_carried_out_while_it_is_made_when_it_is_said": (
        images(1) + framebuffer(1, [1]) + "glNewList(list = 1, mode = GL_COMPILE_AND_EXECUTE)\n" + ARRAYS + "glEndList()\n"
        "glNewList(list = 2, mode = GL_COMPILE)\n" + ARRAYS + ARRAYS + "glEndList()\n" + ARRAYS, sized(1, 2) + "t 1|t 1"),
    "what_is_bound_to_read_is_not_drawn_into": (
        images(2) + framebuffer(1, [1]) + "glBindFramebuffer(target = GL_READ_FRAMEBUFFER, framebuffer = 2)\n"
        "glFramebufferTexture2D(target = GL_READ_FRAMEBUFFER, attachment = GL_COLOR_ATTACHMENT0, textarget = GL_TEXTURE_2D, texture = 2, "
        "level = 0)\n" + ARRAYS + READ.format("0x1"),
        sized(1, 2) + "t 1|" + sized(2, 4) + "d 2"),
    "a_framebuffer_that_is_deleted_is_not_read": (
        images(1) + framebuffer(1, [1]) + "glDeleteFramebuffers(n = 1, framebuffers = &1)\nglGenFramebuffers(n = 1, framebuffers = &1)\n"
        "glNamedFramebufferTexture(framebuffer = 1, attachment = GL_COLOR_ATTACHMENT0, texture = 1, level = 0)\n" +
        READ.format("0x1") + SWAP, sized(1, 2) + "f"),
    "a_framebuffer_by_name_need_not_be_bound": (
        images(2) + framebuffer(2, [2]) + "glNamedFramebufferTexture(framebuffer = 1, attachment = GL_COLOR_ATTACHMENT0, texture = 1, "
        "level = 0)\nglBindFramebuffer(target = GL_FRAMEBUFFER, framebuffer = 1)\n" + ARRAYS, sized(1, 2) + "t 1"),
    "an_attachment_of_both_is_depth_and_stencil": (
        images(2) + framebuffer(1, []) + "".join(f"glFramebufferTexture2D(target = GL_FRAMEBUFFER, attachment = GL_{which}_ATTACHMENT, "
                                                 f"textarget = GL_TEXTURE_2D, texture = {i}, level = 0)\n"
                                                 for i, which in ((1, "DEPTH_STENCIL"), (2, "DEPTH"))) +
        "glClear(mask = GL_STENCIL_BUFFER_BIT)\nglClear(mask = GL_DEPTH_BUFFER_BIT)\n", sized(1, 2) + "t 1|" + sized(2, 4) + "t 2"),
    "a_pipeline_has_shaders": (
        images(1) + "glBindTexture(target = GL_TEXTURE_2D, texture = 1)\n" + ARRAYS + "glBindProgramPipeline(pipeline = 7)\n" + ARRAYS,
        sized(1, 2) + "d 1"),
    "each_unit_is_switched_on_by_itself": (
        images(2) + "glEnable(cap = GL_TEXTURE_2D)\nglActiveTexture(texture = GL_TEXTURE1)\nglEnable(cap = GL_TEXTURE_2D)\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 2)\n" + ARRAYS + "glActiveTexture(texture = GL_TEXTURE0)\n"
        "glDisable(cap = GL_TEXTURE_2D)\nglBindTexture(target = GL_TEXTURE_2D, texture = 1)\n" + ARRAYS,
        sized(1, 4) + "d 1|d 1"),
    "units_beyond_those_with_names": (
        images(2) + "".join(f"glActiveTexture(texture = {unit})\nglBindTexture(target = GL_TEXTURE_2D, texture = {i})\n"
                            for unit, i in (("GL_TEXTURE31", 1), (0x84c0 + 32, 2))) + DRAW,
        sized(1, 2) + sized(2, 4) + "d 1 2"),
    "texture_coordinates_are_of_the_clients_unit": (
        "".join(f"glClientActiveTexture(texture = GL_TEXTURE{unit})\n" + buffer(unit + 1, 10 + unit) +
                COORDINATES for unit in (0, 1)) + ARRAYS, MADE.format(1, 10) + MADE.format(2, 11) + "d 1 2"),
    "vertices_by_binding": (
        buffer(1, 10) + buffer(2, 20) + "glBindVertexBuffer(bindingindex = 3, buffer = 1, offset = 0, stride = 8)\n"
        "glVertexAttribBinding(attribindex = 0, bindingindex = 3)\nglEnableVertexAttribArray(index = 0)\n" + ARRAYS +
        "glVertexAttribPointer(index = 0, size = 2, type = GL_FLOAT, pointer = NULL)\n" + ARRAYS,
        MADE.format(1, 10) + MADE.format(2, 20) + "d 1|d 2"),
    "a_vertex_array_by_name": (
        buffer(1, 10) + buffer(2, 20) + "glVertexArrayVertexBuffer(vaobj = 9, bindingindex = 0, buffer = 1, offset = 0, stride = 8)\n"
        "glEnableVertexArrayAttrib(vaobj = 9, index = 0)\nglVertexArrayElementBuffer(vaobj = 9, buffer = 2)\n" + ARRAYS +
        "glBindVertexArray(array = 9)\nglDrawElements(mode = GL_TRIANGLES, count = 3, type = GL_UNSIGNED_BYTE, indices = NULL)\n",
        MADE.format(1, 10) + MADE.format(2, 20) + "d 1 2"),
    "interleaved_arrays_are_read": (
        buffer(1, 10) + "glInterleavedArrays(format = GL_V3F, stride = 0, pointer = NULL)\n" + ARRAYS, MADE.format(1, 10) + "d 1"),
    "the_clients_stack_has_units_arrays_and_pixels": (
        buffer(1, 10) + buffer(2, 20) + bind("PIXEL_UNPACK_BUFFER", 1) + bind("PIXEL_PACK_BUFFER", 2) + "glBindVertexArray(array = 4)\n"
        "glPushClientAttrib(mask = GL_CLIENT_ALL_ATTRIB_BITS)\nglClientActiveTexture(texture = GL_TEXTURE1)\n"
        "glBindVertexArray(array = 5)\n" +
        bind("PIXEL_UNPACK_BUFFER", 0) + bind("PIXEL_PACK_BUFFER", 0) + "glPopClientAttrib()\n" + bind("ARRAY_BUFFER", 2) +
        COORDINATES +
        "glClientActiveTexture(texture = GL_TEXTURE0)\n" + bind("ARRAY_BUFFER", 1) +
        "glTexCoordPointer(size = 2, type = GL_FLOAT, stride = 0, pointer = NULL)\n" + ARRAYS + "glBindVertexArray(array = 4)\n" + ARRAYS +
        images(1) + framebuffer(1, [1]) + READ.format("NULL"),
        MADE.format(1, 10) + MADE.format(2, 20) + "d 1|d 1|" + sized(3, 2) + "d 1|t 3|d 3|t 2"),
    "a_vertex_array_that_was_deleted_is_not_what_comes_back": (
        buffer(1, 10) + POINTER.format(0) + "glBindVertexArray(array = 5)\nglDeleteVertexArrays(n = 1, arrays = &5)\n"
        "glPushClientAttrib(mask = GL_CLIENT_VERTEX_ARRAY_BIT)\nglBindVertexArray(array = 6)\nglPopClientAttrib()\n" + ARRAYS,
        MADE.format(1, 10) + "d 1"),
    "sixteen_are_kept_and_one_more_is_not": (
        images(3) + "glEnable(cap = GL_TEXTURE_2D)\n" + "glPushAttrib(mask = GL_TEXTURE_BIT)\n" * 15 +
        "".join(f"glBindTexture(target = GL_TEXTURE_2D, texture = {i})\nglPushAttrib(mask = GL_TEXTURE_BIT)\n" for i in (1, 2)) +
        "glBindTexture(target = GL_TEXTURE_2D, texture = 3)\nglPopAttrib()\n" + ARRAYS + "glPopAttrib()\n" * 15 + ARRAYS,
        sized(1, 2) + "d 1"),
    "the_unit_comes_back_with_its_textures": (
        images(2) + "glPushAttrib(mask = 0x42000)\nglActiveTexture(texture = GL_TEXTURE1)\nglPopAttrib()\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 2)\nglPushAttrib(mask = 0x2000)\nglEnable(cap = GL_TEXTURE_2D)\nglPopAttrib()\n" +
        ARRAYS + "glEnable(cap = GL_TEXTURE_2D)\n" + ARRAYS + "glActiveTexture(texture = GL_TEXTURE1)\n"
        "glBindTexture(target = GL_TEXTURE_2D, texture = 1)\n" + ARRAYS, sized(1, 4) + "d 1|d 1"),
}

TOLD = {
    "what_lives_at_once_and_what_is_written": (
        buffer(1, 1024) + "glDeleteBuffers(n = 1, buffers = &1)\n" + buffer(2, 2048) + 2 * SWAP,
        r"2 frames, 0 draws; 2 allocations of 3\.0 KiB \(2\.0 KiB at once\), 3\.0 KiB written by the CPU"),
    "a_texture_that_grows": (
        texture() + image(0, "GL_R8", 4, 4, "NULL") + DRAW + image(0, "GL_R8", 8, 8, "NULL") + ARRAYS,
        r"1 textures that changed their size after their first use, .*, 64 B \(first: line 9\)"),
    "an_image_of_a_guessed_size": (
        texture() + image(0, "GL_COMPRESSED_RGB", 8, 8, "NULL") + SWAP,
        r"1 images of a format whose size the driver chooses, taken as S3TC, 32 B"),
    "a_draw_of_nothing": (
        buffer(1, 10) + ARRAYS + "glDispatchCompute(num_groups_x = 1, num_groups_y = 1, num_groups_z = 1)\n",
        r"2 draws; (.|\n)*1 draws left out: all they read is client memory"),
    "calls_of_a_list": (
        buffer(1, 10) + "glNewList(list = 2, mode = GL_COMPILE)\n" + ARRAYS + ARRAYS + "glEndList()\n" + ARRAYS,
        r"2 calls compiled into display lists left out \(first: line 7\)"),
}

HUGE = 1 << 20
REFUSED = {
    "an_image_beyond_all": (texture() + image(0, "GL_RGBA32F", HUGE, HUGE, "NULL"), r"line 5: an image of 1048576x1048576x1 is impossible"),
    "an_image_whose_bytes_have_no_number": (
        texture(1, "GL_TEXTURE_3D") + f"glTexStorage3D(target = GL_TEXTURE_3D, levels = 1, internalformat = GL_RGBA32F, width = {HUGE}, "
        f"height = {HUGE}, depth = {HUGE})\n", r"line 5: an image of 1048576x1048576x1048576 is impossible"),
    "a_texture_whose_levels_are_too_many_bytes": (
        texture() + 2 * image(0, "GL_RGBA8", HUGE, HUGE // 4, "NULL") + image(1, "GL_RGBA8", HUGE, HUGE // 4, "NULL") + SWAP,
        r"line 8: a texture of 2199023255552 bytes is impossible: more than 1 TiB"),
    "a_compressed_part_that_does_not_fit": (
        texture() + "glTexStorage2D(target = GL_TEXTURE_2D, levels = 1, internalformat = GL_COMPRESSED_RGB_S3TC_DXT1_EXT, width = 8, "
        "height = 8)\nglCompressedTexSubImage2D(target = GL_TEXTURE_2D, level = 0, xoffset = 0, yoffset = 0, width = 8, height = 4, "
        "format = GL_COMPRESSED_RGB_S3TC_DXT1_EXT, imageSize = 8, data = blob(8))\n",
        r"line 6: glCompressedTexSubImage2D: imageSize = 8, but 8x4x1 texels of GL_COMPRESSED_RGB_S3TC_DXT1 are 16 bytes"),
}

# ---- Contexts: these begin as they say.
WGL = "wglCreateContext(hdc = 0x9) = {0}\n"
CURRENT = "wglMakeCurrent(hdc = 0x9, hglrc = {0}) = TRUE\n"
ES = "eglMakeCurrent(dpy = 0x1, draw = 0x3, read = 0x3, ctx = {0}) = EGL_TRUE\n"
FLOATS = image(0, "GL_RGBA", 2, 2, "NULL", "GL_FLOAT")
CONTEXTS = {
    "lists_are_shared_afterwards": (
        WGL.format("0xa") + WGL.format("0xb") + CURRENT.format("0xa") + buffer(1, 10, "NULL") +
        "wglShareLists(hglrcSrc = 0xa, hglrcDst = 0xb) = TRUE\n" + CURRENT.format("0xb") + bind("ARRAY_BUFFER", 1) +
        "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 0, size = 4, data = blob(4))\n", "a 1 10 buffer|w 1 0 4"),
    "a_context_of_egl_that_was_made_before_is_es": (
        ES.format("0xe") + texture() + FLOATS + SWAP + "eglBindAPI(api = EGL_OPENGL_API) = EGL_TRUE\n" + ES.format("0xf") + texture() +
        FLOATS + SWAP + "eglBindAPI(api = EGL_OPENGL_ES_API) = EGL_TRUE\n" + ES.format("0x1e") + texture() + FLOATS + SWAP,
        "a 1 64 texture 2x2 GL_RGBA|f|a 2 16 texture 2x2 GL_RGBA|f|a 3 64 texture 2x2 GL_RGBA|f"),
    "cgl_says_what_failed": (
        "CGLCreateContext(pix = 0x3, share = NULL, ctx = &0xa) = kCGLNoError\nCGLSetCurrentContext(ctx = 0xa) = kCGLNoError\n" +
        buffer(1, 10, "NULL") + "CGLDestroyContext(ctx = 0xa) = kCGLBadContext\nCGLSetCurrentContext(ctx = NULL) = kCGLBadContext\n" +
        buffer(2, 20, "NULL"), "a 1 10 buffer|a 2 20 buffer"),
    "a_text_that_begins_behind_the_first_context_has_one": (buffer(1, 10, "NULL"), "a 1 10 buffer"),
}

for name, (text, expected) in {**BUFFERS, **TEXTURES, **JOBS}.items():
    done = imported(numbered(CONTEXT + text))
    check(done.stdout.decode().replace("\n", "|").strip("|") == expected.strip("|"), name, (done.stdout.decode(), done.stderr.decode()))
for name, (text, expected) in CONTEXTS.items():
    done = imported(numbered(text))
    check(done.stdout.decode().replace("\n", "|").strip("|") == expected, name, (done.stdout.decode(), done.stderr.decode()))
for name, (text, words) in TOLD.items():
    done = imported(numbered(CONTEXT + text))
    check(done.returncode == 0 and re.search(words, done.stderr.decode()), f"it_is_told_of_{name}", done.stderr.decode())
for name, (text, words) in REFUSED.items():
    done = imported(numbered(CONTEXT + text))
    said = done.stderr.decode()
    check(done.returncode == 2 and re.search(words, said) and len(said.splitlines()) == 1, f"refused_{name}", said)
sys.exit(end())
