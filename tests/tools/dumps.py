# SPDX-License-Identifier: Apache-2.0
"""What the tests of `ferry trace import` share: the words of a dump, an import, and the score."""
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path.cwd()
FERRY = ROOT / "build/ferry"
SCENE = ROOT / "tests/data/scene/scene.txt.gz"
SEED = int(os.environ.get("FERRY_SEED", "1"))
folder = Path(tempfile.mkdtemp(prefix="ferry-import-"))
score = {True: 0, False: 0}


def check(good, name, detail=""):
    score[bool(good)] += 1
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def end():
    print(f"{score[True]} passed, {score[False]} failed")
    return 1 if score[False] else 0


def imported(text, tool=FERRY, arguments=("-",)):
    return subprocess.run([tool, "trace", "import", *arguments], input=text if isinstance(text, bytes) else text.encode(),
                          capture_output=True, timeout=300, check=False)


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
