#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry trace import`: what bad input gets, what is never written over, dumps of any length, and dumps that chance has
damaged (FERRY_SEED) under the sanitizers."""
import gzip
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from dumps import (  # noqa: E402
    CONTEXT, DRAW, FERRY, ROOT, SCENE, SEED, SWAP, buffer, check, end, folder, image, imported, numbered, texture)

SANITIZED = ROOT / "build/tests/parts/ferry-fake"


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
    expect("cut_off_in_a_call", numbered(CONTEXT + sized).encode() + b"5 glTexImage2D(target = GL_TEXTURE_2D, level",
           r"line 6: the text is cut off in this call: 'glTexImage2D")
    expect("cut_off_in_a_number", numbered(CONTEXT + sized).encode() + b"93", r"line 6: the text is cut off in this call: ''")
    expect("a_call_without_an_end", sized + "glFlush(\n" + SWAP, r"line 6: the call has no end: 'glFlush")
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
    late = numbered(CONTEXT + sized + DRAW + SWAP)
    for first in (0, 1, 40):
        text = re.sub(r"(?m)^(\d+) ", lambda match: f"{int(match[1]) + first} ", late).encode()
        said = imported(text).stderr.decode()
        check((f"  {first} calls stand before this text" in said) == (first > 0), f"says_that_{first}_calls_are_not_there", said)
    expect("direct3d", b"1 IDirect3D9::CreateDevice(this = 0x1)\n2 IDirect3DDevice9::CreateTexture(this = 0x1, Width = 4)\n",
           r"line 1: IDirect3D9::CreateDevice is a call of Direct3D: only OpenGL")
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
    for name, out in (("itself", dump), ("another_name_of_it", folder / "hard.txt"), ("a_link_to_it", folder / "soft.txt"),
                      ("another_way_to_it", f"{folder}/../{folder.name}/dump.txt")):
        dump.write_text(text)
        if name == "another_name_of_it":
            os.link(dump, out)
        elif name == "a_link_to_it":
            out.symlink_to(dump)
        for how, arguments in (("by_name", (dump, "-o", out)), ("as_standard_input", ("-", "-o", out))):
            dump.write_text(text)
            with dump.open("rb") as file:
                done = subprocess.run([FERRY, "trace", "import", *arguments], stdin=file, capture_output=True, text=True, check=False)
            check(done.returncode == 2 and "a file to be read and a file to be written" in done.stderr and dump.read_text() == text,
                  f"the_recording_is_not_overwritten_{name}_{how}", done)
    # A name beside the recording's is nobody's, and the link that a trace is written through stays one.
    beside, away = folder / "dump.txt.part", folder / "away.memtrace"
    beside.write_text("mine\n")
    away.symlink_to(target)
    done = imported(b"", arguments=(dump, "-o", away))
    check(done.returncode == 0 and away.is_symlink() and target.read_text().startswith("a 1 64 texture") and beside.read_text() == "mine\n",
          "a_trace_takes_the_place_that_a_link_leads_to", done)
    for name, code, words, arguments in (("no_such_file", 2, "cannot be opened", (folder / "nowhere",)),
                                         ("no_such_folder", 2, "cannot write", (SCENE, "-o", folder / "no/where")),
                                         ("full_disk", 4, "cannot", (SCENE, "-o", "/dev/full"))):
        done = imported(b"", arguments=arguments)
        check(done.returncode == code and words in done.stderr.decode(), name, done)
    for name, arguments in (("no_verb", []), ("other_verb", ["export", "x"]), ("no_file", ["import"])):
        done = subprocess.run([FERRY, "trace", *arguments], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and "ferry trace import FILE" in done.stderr, name, done)


# ---- Of any length ----------------------------------------------------------------------------------------------------

def plain_files_below_dev():
    """/dev/shm has files like any other: an import that ends leaves the older one. What stands for a descriptor is written through."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK | os.X_OK):
        print("[  SKIPPED ] plain_files_below_dev: there is no /dev/shm to write to")
    else:
        with tempfile.TemporaryDirectory(prefix="ferry-import-", dir=place) as name:
            out = Path(name, "old.memtrace.gz")
            first = imported(b"", arguments=(SCENE, "-o", out))
            old, number = out.read_bytes(), out.stat().st_ino
            bad = imported(numbered(CONTEXT + texture() + image(0, "GL_NEW9", 4, 4)), arguments=("-", "-o", out))
            check(first.returncode == 0 and bad.returncode == 2 and b"GL_NEW9" in bad.stderr and len(old) > 1000
                  and out.read_bytes() == old and os.listdir(name) == [out.name], "a_refused_import_leaves_the_older_file_in_dev_shm", bad)
            again = imported(b"", arguments=(SCENE, "-o", out))
            check(again.returncode == 0 and out.read_bytes() == old and out.stat().st_ino != number,
                  "a_file_in_dev_shm_is_replaced_whole", again)
    through = folder / "through"
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with through.open("wb") as file:
            number = os.fstat(file.fileno()).st_ino
            done = subprocess.run([FERRY, "trace", "import", SCENE, "-o", name], stdout=file, stderr=subprocess.PIPE, check=False)
        check(done.returncode == 0 and through.stat().st_ino == number and through.read_bytes().count(b"\nf\n") > 10,
              f"{name}_is_written_in_place", done)


def recordings_name_no_machine():
    """What is committed says nothing of whoever recorded it."""
    files = sorted((ROOT / "tests/data").rglob("*.gz"))
    told = [(f.name, line) for f in files for line in gzip.decompress(f.read_bytes()).splitlines()
            if re.search(rb"/(root|home|work|Users|tmp|mnt)/", line)]
    check(SCENE in files and len(files) > 5 and not told, "recordings_name_no_machine", told[:3])
    check(gzip.decompress(SCENE.read_bytes()).startswith(b'// process.name = "./scene"\n'), "the_scene_is_recorded_as_its_source_says")


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


bad_input()
plain_files_below_dev()
recordings_name_no_machine()
length_costs_no_memory()
damaged_dumps()
sys.exit(end())
