#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry trace import` of whole programs, as apitrace's own tests show them: threads, contexts of GLX, EGL, WGL and CGL that share
or do not, names that come again, backtraces and calls that a crash cut off, Direct3D; programs of chance (FERRY_SEED) against a
model of contexts; imports that are interrupted or run twice; and what a long text costs."""
import gzip
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, "tests/tools")
from dumps import FERRY, SEED, check, end, folder, imported


def gives(name, text, events, said=""):
    done = imported(text)
    got = done.stdout.decode().replace("\n", "|").strip("|")
    check(done.returncode == 0 and got == events and re.search(said, done.stderr.decode(), re.S), name,
          (done.returncode, got, done.stderr.decode()))


def refused(name, text, words):
    done = imported(text)
    lines = done.stderr.decode().strip().splitlines()
    check(done.returncode == 2 and len(lines) == 1 and words in lines[0], name, (done.returncode, done.stderr.decode()))


def numbered(*lines):
    return "".join(f"{i} {line}\n" for i, line in enumerate(lines))


def bind(name):
    return f"glBindBuffer(target = GL_ARRAY_BUFFER, buffer = {name})"


def data(size):
    return f"glBufferData(target = GL_ARRAY_BUFFER, size = {size}, data = NULL, usage = GL_STATIC_DRAW)"


WRITE = "glBufferSubData(target = GL_ARRAY_BUFFER, offset = 0, size = 4, data = blob(4))"


# ---- Each window system's own words -------------------------------------------------------------------------------------

def glx(share, context, how="glXCreateContextAttribsARB"):
    return {"glXCreateContextAttribsARB": f"glXCreateContextAttribsARB(dpy = 0x1, config = 0x5, share_context = {share}, direct = True, "
                                          f"attrib_list = {{GLX_CONTEXT_MAJOR_VERSION_ARB, 3, 0}}) = {context}",
            "glXCreateNewContext": f"glXCreateNewContext(dpy = 0x1, config = 0x5, renderType = GLX_RGBA_TYPE, shareList = {share}, "
                                   f"direct = True) = {context}",
            "glXCreateContextWithConfigSGIX": f"glXCreateContextWithConfigSGIX(dpy = 0x1, config = 0x5, render_type = GLX_RGBA_TYPE, "
                                              f"share_list = {share}, direct = True) = {context}"}[how]


SYSTEMS = {  # create(share, context), current(context), destroy(context)
    **{how: (lambda share, context, how=how: glx(share, context, how),
             lambda context: f"glXMakeContextCurrent(dpy = 0x1, draw = 7, read = 7, ctx = {context}) = True",
             lambda context: f"glXDestroyContext(dpy = 0x1, ctx = {context})")
       for how in ("glXCreateContextAttribsARB", "glXCreateNewContext", "glXCreateContextWithConfigSGIX")},
    "egl": (lambda share, context: f"eglCreateContext(dpy = 0x1, config = 0x2, share_context = {share}, attrib_list = {{}}) = {context}",
            lambda context: f"eglMakeCurrent(dpy = 0x1, draw = NULL, read = NULL, ctx = {context}) = EGL_TRUE",
            lambda context: f"eglDestroyContext(dpy = 0x1, ctx = {context}) = EGL_TRUE"),
    "wgl": (lambda share, context: f"wglCreateContextAttribsARB(hDC = 0x9, hShareContext = {share}, attribList = {{0}}) = {context}",
            lambda context: f"wglMakeCurrent(hdc = 0x9, hglrc = {context}) = TRUE",
            lambda context: f"wglDeleteContext(hglrc = {context}) = TRUE"),
    "wgl_read": (lambda share, context: f"wglCreateContextAttribsARB(hDC = 0x9, hShareContext = {share}, attribList = {{0}}) = {context}",
                 lambda context: f"wglMakeContextCurrentEXT(hDrawDC = 0x9, hReadDC = 0x8, hglrc = {context}) = TRUE",
                 lambda context: f"wglDeleteContext(hglrc = {context}) = TRUE"),
    "cgl": (lambda share, context: f"CGLCreateContext(pix = 0x3, share = {share}, ctx = &{context}) = kCGLNoError",
            lambda context: f"CGLSetCurrentContext(ctx = {context}) = kCGLNoError",
            lambda context: f"CGLDestroyContext(ctx = {context}) = kCGLNoError"),
}


def each_system():
    for name, (create, current, destroy) in SYSTEMS.items():
        # The first and the second share, the third stands alone; bindings are each context's.
        gives(f"contexts_share_or_not_{name}", numbered(
            create("NULL", "0xa"), create("0xa", "0xb"), create("NULL", "0xc"),
            current("0xa"), bind(1), data(10), current("0xb"), bind(1), WRITE, bind(2), data(20),
            current("0xc"), bind(1), data(30), current("0xa"), WRITE, current("0xc"), WRITE),
            "a 1 10 buffer|w 1 0 4|a 2 20 buffer|a 3 30 buffer|w 1 0 4|w 3 0 4")
        gives(f"a_group_ends_with_its_last_context_{name}", numbered(
            create("NULL", "0xa"), create("0xa", "0xb"), current("0xa"), bind(1), data(10), current("NULL"), destroy("0xa"),
            current("0xb"), bind(1), WRITE, current("NULL"), destroy("0xb")), "a 1 10 buffer|w 1 0 4|x 1")
    for name in ("glXCreateNewContext", "egl", "cgl"):
        create, current, destroy = SYSTEMS[name]
        # GLX 1.4, 3.3.7 and EGL 1.5, 3.7.1: the context ends when it is no longer current.
        gives(f"a_current_context_outlives_its_end_{name}", numbered(
            create("NULL", "0xa"), current("0xa"), bind(1), data(10), destroy("0xa"), WRITE, data(10), current("NULL"),
            create("NULL", "0xa"), current("0xa"), bind(1), data(30)), "a 1 10 buffer|w 1 0 4|l 1 discard|u 1|x 1|a 2 30 buffer")
        # Its address may be given to a new one meanwhile.
        gives(f"the_address_of_one_that_ends_comes_again_{name}", numbered(
            create("NULL", "0xa"), current("0xa"), bind(1), data(10), destroy("0xa"), create("NULL", "0xa"), WRITE,
            current("0xa"), bind(1), data(30)), "a 1 10 buffer|w 1 0 4|x 1|a 2 30 buffer")
    create, current, destroy = SYSTEMS["wgl"]
    gives("windows_takes_a_deleted_context_at_once", numbered(
        create("NULL", "0xa"), current("0xa"), bind(1), data(10), destroy("0xa"), WRITE), "a 1 10 buffer|x 1",
        r"1 calls left out: no context was current \(first: line 6\)")
    gives("what_failed_changes_nothing", numbered(
        create("NULL", "0xa"), create("NULL", "0xb"), current("0xa"), bind(1), data(10), "wglMakeCurrent(hdc = 0x9, hglrc = 0xb) = FALSE",
        "wglDeleteContext(hglrc = 0xa) = FALSE", WRITE, "wglCreateContext(hdc = 0x9) = NULL"), "a 1 10 buffer|w 1 0 4")
    gives("an_address_without_an_end_is_a_new_context", numbered(
        glx("NULL", "0xa"), "glXMakeCurrent(dpy = 0x1, drawable = 2, ctx = 0xa) = True", bind(1), data(10), glx("NULL", "0xa"), bind(1),
        data(20)), "a 1 10 buffer|x 1|a 2 20 buffer")


# ---- Threads ----------------------------------------------------------------------------------------------------------

def threads():
    create, current, _ = SYSTEMS["egl"]
    # As apitrace numbers them: in hexadecimal.
    lines, events = [], []
    for thread in range(40):
        lines += [f"@{thread:x} {line}" for line in (create("NULL", hex(0xa00 + thread)), current(hex(0xa00 + thread)))]
    for thread in range(40):
        lines += [f"@{thread:x} {bind(1)}", f"@{thread:x} {data(100 + thread)}"]
        events.append(f"a {thread + 1} {100 + thread} buffer")
    for thread in range(40):
        lines.append(f"@{thread:x} {WRITE}")
        events.append(f"w {thread + 1} 0 4")
    gives("forty_threads_have_a_context_each", numbered(*lines), "|".join(events))
    gives("threads_without_call_numbers", "".join(f"{line}\n" for line in lines), "|".join(events))
    gives("a_context_goes_from_thread_to_thread", numbered(
        "@a " + create("NULL", "0xa"), "@a " + current("0xa"), "@a " + bind(1), "@a " + data(10), "@a " + current("NULL"),
        "@1f " + current("0xa"), "@1f " + WRITE, "@a " + WRITE), "a 1 10 buffer|w 1 0 4",
        r"1 calls left out: no context was current \(first: line 8\)")
    refused("a_thread_that_is_no_number", numbered("@xyz " + bind(1)), "line 1: no call of `apitrace dump`")


# ---- Against a model --------------------------------------------------------------------------------------------------

def programs_of_chance():
    """Contexts in groups, threads that change theirs, names that come again; what is alive is a dictionary of Python's."""
    chance = random.Random(SEED)
    for number in range(25):
        create, current, destroy = SYSTEMS[chance.choice(list(SYSTEMS))]
        lines, events, next_id, next_group = [], [], 1, 1
        groups, contexts, now = {}, {}, {}  # group -> {name: (id, size)}; address -> group; thread -> address
        bound = {}  # context -> name
        for _ in range(200):
            thread = chance.randrange(20)
            say = lambda line: lines.append(f"@{thread:x} {line}")
            what = chance.random()
            idle = [address for address in contexts if address not in now.values()]
            mine = now.get(thread)
            if what < 0.12 or not contexts:
                address = hex(chance.randrange(1, 12) * 16)
                if address in contexts:
                    continue
                share = chance.choice([None, *contexts])
                contexts[address] = contexts[share] if share else next_group
                if not share:
                    groups[next_group] = {}
                    next_group += 1
                say(create(share or "NULL", address))
            elif what < 0.3 and idle:
                now[thread] = chance.choice(idle)
                say(current(now[thread]))
            elif what < 0.34 and mine:
                del now[thread]
                say(current("NULL"))
            elif what < 0.4 and idle:
                address = chance.choice(idle)
                group = contexts.pop(address)
                bound.pop(address, None)
                say(destroy(address))
                if group not in contexts.values():
                    gone = groups.pop(group)
                    events.append(("x", frozenset(i for i, _ in gone.values())))
            elif mine and what < 0.7:
                name, size = chance.randrange(1, 6), chance.randrange(1, 1000)
                mine_of_group = groups[contexts[mine]]
                say(bind(name))
                say(data(size))
                bound[mine] = name
                if name in mine_of_group and mine_of_group[name][1] == size:
                    continue_id = mine_of_group[name][0]
                    events += [("l", continue_id), ("u", continue_id)]
                    continue
                if name in mine_of_group:
                    events.append(("x", frozenset([mine_of_group[name][0]])))
                mine_of_group[name] = (next_id, size)
                events.append(("a", next_id, size))
                next_id += 1
            elif mine and what < 0.8 and groups[contexts[mine]]:
                name = chance.choice(list(groups[contexts[mine]]))
                say(f"glDeleteBuffers(n = 1, buffer = &{name})")
                events.append(("x", frozenset([groups[contexts[mine]].pop(name)[0]])))
            elif mine and groups[contexts[mine]]:
                name = chance.choice(list(groups[contexts[mine]]))
                size = groups[contexts[mine]][name][1]
                say(bind(name))
                say(f"glBufferSubData(target = GL_ARRAY_BUFFER, offset = 0, size = {size}, data = blob({size}))")
                events.append(("w", groups[contexts[mine]][name][0], size))
        if next_id == 1:
            continue
        done = imported(numbered(*lines))
        got = []
        for event in (line.split() for line in done.stdout.decode().splitlines()):
            if event[0] == "a":
                got.append(("a", int(event[1]), int(event[2])))
            elif event[0] == "w":
                got.append(("w", int(event[1]), int(event[3])))
            elif event[0] == "x" and got and got[-1][0] == "x":
                got[-1] = ("x", got[-1][1] | {int(event[1])})
            elif event[0] == "x":
                got.append(("x", frozenset([int(event[1])])))
            else:
                got.append((event[0], int(event[1])))
        expected = []  # Those that end together do so in any order.
        for event in events:
            if event[0] == "x" and expected and expected[-1][0] == "x":
                expected[-1] = ("x", expected[-1][1] | event[1])
            elif event != ("x", frozenset()):
                expected.append(event)
        if done.returncode != 0 or got != expected:
            at = next((i for i, pair in enumerate(zip(got, expected)) if pair[0] != pair[1]), min(len(got), len(expected)))
            check(False, "programs_of_chance", (f"FERRY_SEED={SEED}, program {number}", done.stderr.decode()[:300], at, got[at:at + 3],
                                                expected[at:at + 3]))
            return
    check(True, "programs_of_chance")


# ---- What else stands in a dump ---------------------------------------------------------------------------------------

def oddities():
    create, current = SYSTEMS["egl"][:2]
    start = create("NULL", "0xa"), current("0xa")
    text = numbered(*start, bind(1), data(10))
    frames = ("Backtrace:\nbuild/demos/gears: gear+0x27aa: /home/me/gears.c:69\n"
              "/lib/x86_64-linux-gnu/libglut.so.3 at glutMainLoop() [0x64]\n"
              "./application [0x3e95]\n/usr/lib/libGame.so: game::Mesh<float>::draw(int, float)+0x12: /home/me/mesh.cpp:7\n?\n")
    gives("backtraces_are_skipped", text + "4 " + WRITE + "\n" + frames + "5 " + WRITE + "\n" + frames + "\n" + WRITE + "\n",
          "a 1 10 buffer|w 1 0 4|w 1 0 4|w 1 0 4")
    refused("a_frame_without_a_backtrace", text + "./application [0x3e95]\n", "line 5: no call of `apitrace dump`")
    gives("the_call_that_a_crash_cut_off_is_left_out", text + "4 glGenTextures(n = 1, textures = ?) // incomplete\n", "a 1 10 buffer",
          r"1 calls left out: the program ended in them \(first: line 5\)")
    gives("one_that_makes_memory_too", text + "4 glNewStorageMemXX(size = ?) // incomplete\n", "a 1 10 buffer", "the program ended in them")
    refused("an_argument_that_is_not_there", text + "4 glBufferData(target = GL_ARRAY_BUFFER, size = ?, data = NULL)\n",
            "line 5: glBufferData: size = ? is not a number")
    gives("strings_of_every_kind", '// process.name = "a \\"game\\" (2)"\n// argv.1 = "two\nlines ) ( {"\n' + text +
          '4 glShaderSource(shader = 1, count = 2, string = {"void main() {\n}\n", "// \\"x\\" \\\\"}, length = NULL)\n'
          '5 ID(a = 1)\n6 glObjectLabel(label = L"w, = (\\377") // fake\n7 ' + WRITE + "\n", "a 1 10 buffer|w 1 0 4", "ID 1 times")
    gives("windows_line_ends", text.replace("\n", "\r\n") + "4 " + WRITE + "\r\n\r\n", "a 1 10 buffer|w 1 0 4")
    swap = "eglSwapBuffers(dpy = 0x1, surface = 0x{}) = EGL_TRUE"
    gives("two_windows_have_a_frame_each", numbered(*start, bind(1), data(10), swap.format(3), swap.format(4), swap.format(3)),
          "a 1 10 buffer|f|f|f")
    for name in ("IDirect3D9::CreateDevice(this = 0x1, Adapter = D3DADAPTER_DEFAULT) = D3D_OK", "Direct3DCreate9(SDKVersion = 32) = 0x1",
                 "D3D11CreateDevice(pAdapter = NULL) = S_OK", "CreateDXGIFactory1(riid = IID_IDXGIFactory4, ppFactory = &0x2) = S_OK",
                 "ID3D12Device::SetName(this = 0x1, Name = L\"Device\") = S_OK", "DirectDrawCreateEx(lpGUID = NULL) = DD_OK"):
        refused(f"direct3d_{name.partition('(')[0].replace('::', '_')}", numbered("memcpy(dest = 0x1, src = blob(4), n = 4)", name),
                f"line 2: {name.partition('(')[0]} is a call of Direct3D: only OpenGL")


# ---- Interrupted, and two at once -------------------------------------------------------------------------------------

def parts():
    return sorted(path.name for path in folder.iterdir() if ".part" in path.name)


def listens():
    """Who runs the tests may have had them ignore what ends the others (nohup, a shell's background)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def begun(out, preexec_fn=listens):
    """An import in the middle of its text, which does not end before we let it."""
    there = parts()
    run = subprocess.Popen([FERRY, "trace", "import", "-", "-o", out, "--quiet"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                           preexec_fn=preexec_fn)
    create, current = SYSTEMS["egl"][:2]
    run.stdin.write(numbered(create("NULL", "0xa"), current("0xa"), bind(1), data(10)).encode())
    run.stdin.flush()
    end = time.monotonic() + 60
    while parts() == there and time.monotonic() < end:
        time.sleep(0.01)
    return run


def interrupted():
    out = folder / "kept.memtrace"
    for numbers in ((signal.SIGINT,), (signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGQUIT,), (signal.SIGINT, signal.SIGTERM)):
        out.write_text("before\n")
        run = begun(out)
        was_there = parts()
        for number in numbers:
            run.send_signal(number)
        run.communicate(timeout=60)
        check(was_there and -run.returncode in numbers and out.read_text() == "before\n" and not parts(),
              "interrupted_by_" + "_then_".join(number.name for number in numbers), (run.returncode, was_there, parts()))
    # nohup's way, and a shell's with what it puts into the background.
    run = begun(out, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    check(run.returncode == 0 and out.read_text() == "a 1 10 buffer\n", "a_signal_that_is_ignored_stays_so",
          (run.returncode, out.read_text()))
    out.write_text("before\n")
    run = begun(out)
    run.kill()
    run.communicate(timeout=60)
    check(out.read_text() == "before\n" and len(parts()) == 1, "a_kill_leaves_what_stood_there", (out.read_text(), parts()))
    first, second = begun(out), begun(out)
    first.communicate(timeout=60)
    said = second.communicate(timeout=60)[1]
    check(first.returncode == second.returncode == 0 and out.read_text() == "a 1 10 buffer\n" and len(parts()) == 1,
          "two_imports_into_one_file", (first.returncode, second.returncode, said, parts()))
    packed = folder / "kept.memtrace.gz"
    begun(packed).communicate(timeout=60)
    check(gzip.decompress(packed.read_bytes()) == b"a 1 10 buffer\n", "a_packed_trace_is_whole", packed.read_bytes())
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE)
    done = imported(numbered(*(create("NULL", "0xa") for create, _, _ in [SYSTEMS["egl"]]), SYSTEMS["egl"][1]("0xa"), bind(1), data(10)),
                    arguments=("-", "-o", folder / "pipe"))
    check(done.returncode == 0 and reader.communicate(timeout=60)[0] == b"a 1 10 buffer\n", "into_a_pipe", done)


# ---- What a long text costs -------------------------------------------------------------------------------------------

LIVE = 500


def long_text(lines):
    """A game that loads and drops textures all the time: so many lines, of which LIVE textures live at once."""
    create, current = SYSTEMS["egl"][:2]
    yield numbered(create("NULL", "0xa"), current("0xa"), "glUseProgram(program = 1)")
    written, name = 3, 0
    while written < lines:
        name += 1
        part = [f"glGenTextures(n = 1, textures = &{name})", f"glBindTexture(target = GL_TEXTURE_2D, texture = {name})",
                "glTexImage2D(target = GL_TEXTURE_2D, level = 0, internalformat = GL_RGBA8, width = 64, height = 64, border = 0, "
                "format = GL_RGBA, type = GL_UNSIGNED_BYTE, pixels = blob(1))"]
        part += [f"glDeleteTextures(n = 1, textures = &{name - LIVE})"] if name > LIVE else []
        part += ["glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)", "eglSwapBuffers(dpy = 0x1, surface = 0x3) = EGL_TRUE"]
        part += [f"glUniform1f(location = {i}, v0 = 0.5)" for i in range(94)]
        written += len(part)
        yield numbered(*part)


def peak(trace, lines):
    """Exit code and KiB of memory that the import had at most, asked of the kernel when it has read all but what is in the pipe. (What
    wait4 tells begins with the memory of the program that started it.)"""
    run = subprocess.Popen([FERRY, "trace", "import", "-", "-o", trace, "--quiet"], stdin=subprocess.PIPE)
    for text in long_text(lines):
        run.stdin.write(text.encode())
    run.stdin.flush()
    most = int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{run.pid}/status").read_text())[1])
    run.communicate()
    return run.returncode, most


def length_costs_no_memory():
    short, long = (peak(folder / f"{lines}.memtrace.gz", lines) for lines in (300_000, 3_000_000))
    check(short[0] == long[0] == 0, "long_texts_are_imported", (short, long))
    with gzip.open(folder / "3000000.memtrace.gz", "rt") as trace:
        made = sum(line[0] == "a" for line in trace)
    # Ten times the lines are 27,000 textures more: kept in any form, at a cache line each, they were 1.7 MiB. Tables of names and
    # pages of libraries that one run touches and another not made 0.6 MiB in ten runs.
    check(made > 29_000 and long[1] < short[1] + 1024, "an_import_of_ten_times_the_lines_has_the_same_peak",
          f"KiB: {short[1]}, {long[1]}; {made} textures")
    print(f"peak of import: {short[1]} and {long[1]} KiB")


each_system()
threads()
print(f"FERRY_SEED={SEED}")
programs_of_chance()
oddities()
interrupted()
length_costs_no_memory()
sys.exit(end())
