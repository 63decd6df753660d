#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall between manager and miniport, the floors of the manager, and no circle anywhere.

host-driver/vidmm includes only ddi/, vidmm/ and ferry/error.h; host-driver/kmd never includes vidmm/ (nor umd/); ddi/
stands alone. Inside vidmm/ a layer includes itself and the layers below it (RANKS); space/, which decides, knows of no
driver, no clock and nobody to wait for (PURE). No files of
host-driver/ or of firmware/ stand on each other in a ring (find_circles.py). Prints each breach, as file:line where
there is one, and ends with a nonzero status then. With --selftest it proves that it finds planted breaches.
"""
import os
import re
import sys
import tempfile
from pathlib import Path

import find_circles

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
ALLOWED = {
    "vidmm": lambda name: name.startswith(("ddi/", "vidmm/")) or name == "ferry/error.h",
    "kmd": lambda name: not name.startswith(("vidmm/", "umd/")),
    "ddi": lambda name: name.startswith("ddi/"),
}
ROOMS = {"vidmm", "kmd", "ddi", "umd", "device", "link"}
# The layers of vidmm/, lowest first. vidmm.h, the interface, stands on base/ and belongs to the top.
RANKS = ["base", "space", "sched", "memory", "policy", "api"]
INTERFACE = "vidmm.h"
# All that space/ may include besides itself; the other headers of base/ stand on ddi/.
PURE = {"vidmm/base/least.h", "vidmm/base/list.h", "ferry/error.h", *(f"{name}.h" for name in (
    "assert", "stdbool", "stddef", "stdint", "stdlib", "string"))}


def rank(parts):
    """The rank of a file of vidmm/ by its path below it, None when it is in no layer."""
    if parts == (INTERFACE,):
        return len(RANKS) - 1
    return RANKS.index(parts[0]) if len(parts) == 2 and parts[0] in RANKS else None


def upward(path, root, name):
    """What is wrong with an include of a vidmm/ header in a file of vidmm/; None when nothing is."""
    here = path.relative_to(root / "vidmm").parts
    there = tuple(name.split("/")[1:])
    if rank(here) is None:
        return "belongs to no layer"
    if rank(there) is None:
        return f"includes {name}, which belongs to no layer"
    if here == (INTERFACE,):
        return None if there[0] == RANKS[0] else f"includes {name}; the interface stands on {RANKS[0]}/ alone"
    if rank(there) > rank(here):
        return f"includes {name}, which lies above it"
    return None


def includes(path, root):
    """Of each include the line, the name that it has below the root, and whether it is ours, however it is written."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            mark, name = match.groups()
            name = os.path.relpath(path.parent / name, root) if name.startswith(".") else name
            yield number, name, mark == '"' or name.split("/")[0] in ROOMS


def breaches(root):
    found = []
    for room, allowed in ALLOWED.items():
        for path in sorted((root / room).rglob("*.[ch]")):
            pure = path.parent == root / "vidmm/space"
            for number, name, ours in includes(path, root):
                # A header named without its folder would slip past the ranks.
                local = "/" not in name and (path.parent / name).exists() and room != "vidmm"
                if ours and not local and not allowed(name):
                    found.append(f"{path}:{number}: {room}/ includes {name}, which is on the other side of the wall")
                elif name.startswith("vidmm/") and room == "vidmm" and upward(path, root, name):
                    found.append(f"{path}:{number}: {upward(path, root, name)}")
                elif pure and name not in PURE and not name.startswith("vidmm/space/"):
                    found.append(f"{path}:{number}: includes {name}; space/ only decides")
    return found


# File, its lines, and how many breaches they are.
PLANTED = [
    ("vidmm/api/a.c", ["vidmm/api/a.h", "kmd/kmd.h", "link/link.h"], 2),
    ("vidmm/api/b.c", ["vidmm/vidmm.h", "vidmm/base/x.h", "vidmm/policy/x.h"], 0),
    ("vidmm/sched/c.c", ["vidmm/sched/x.h", "vidmm/base/x.h", "vidmm/memory/x.h"], 1),
    ("vidmm/sched/d.c", ["vidmm/vidmm.h", "x.h"], 2),
    ("vidmm/sched/x.h", [], 0),
    ("vidmm/space/e.h", ["vidmm/sched/x.h"], 1),
    ("vidmm/space/e.c", ["vidmm/space/e.h", "vidmm/base/least.h", "vidmm/base/core.h", "<stdlib.h>", "<time.h>", "ddi/paging.h"], 3),
    ("vidmm/base/f.h", ["vidmm/space/x.h", "vidmm/elsewhere/x.h", "vidmm/x.h"], 3),
    ("vidmm/g.c", ["vidmm/base/x.h"], 1),
    ("vidmm/vidmm.h", ["vidmm/base/x.h", "ferry/error.h", "vidmm/memory/x.h"], 1),
    ("vidmm/sched/h.c", ["<kmd/kmd.h>", "<sys/mman.h>", "<vidmm/memory/x.h>", "../memory/x.h", "./x.h"], 3),
    ("kmd/h.c", ["ddi/miniport.h", "vidmm/vidmm.h"], 1),
    ("kmd/j.c", ["../vidmm/vidmm.h", "<vidmm/vidmm.h>", "<string.h>", "../ddi/paging.h"], 2),
    ("ddi/i.h", ["ddi/paging.h", "ferry_contract.h"], 1),
]


# Programs of a few files, and which of them stand in a circle.
CIRCLES = {
    "by headers": ({"a.c": '#include "b.h"', "a.h": "", "b.c": '#include "a.h"', "b.h": ""}, ["a", "b"]),
    "header and source": ({"a.c": '#include "a.h"\nint a(void)\n{\n    return b();\n}', "a.h": "int a(void);",
                           "b.c": '#include "b.h"\nint b(void)\n{\n    return 1;\n}', "b.h": "int b(void);"}, []),
    "by a shared header": ({"h.h": "int a(void);\nint b(void);",
                            "a.c": '#include "h.h"\nint a(void)\n{\n    return b();\n}',
                            "b.c": '#include "h.h"\nint b(void)\n{\n    return a();\n}'}, ["a", "b"]),
    "of three": ({"a.c": "int a(void)\n{\n    return b();\n}", "b.c": "struct s *b(int x,\n    int y)\n{\n    c(x);\n}",
                  "c.c": "int c(void)\n{\n    return a();\n}", "d.c": "int d(void)\n{\n    return a();\n}"},
                 ["a", "b", "c"]),
    "by a pointer": ({"a.c": "void a(void)\n{\n    b(a);\n}", "b.c": "const struct s b[] = {{1, a}};"}, ["a", "b"]),
    "by a table": ({"a.c": "const int a[2] = {1, 2};\nint c(void)\n{\n    return b();\n}",
                    "b.c": "int b(void)\n{\n    return a[0];\n}"}, ["a", "b"]),
    "by a macro": ({"a.h": "#define A(x) \\\n    b(x)", "b.c": '#include "a.h"\nint b(int x)\n{\n    return x;\n}'}, ["a", "b"]),
    "by an inline function": ({"a.h": "static inline int a(void)\n{\n    return b();\n}",
                               "b.c": '#include "a.h"\nint b(void)\n{\n    return 1;\n}'}, ["a", "b"]),
    "same names, other things": (
        {"a.c": "int a(void)\n{\n    return b();\n}\nstatic int c(void)\n{\n    return 1;\n}",
         "b.c": 'struct a {\n    int a;\n};\nint b(void)\n{\n    struct a *s = f("a()"); // a()\n    return s->a + c();\n}'},
        []),
    "of two programs": ({"a.c": "int a(void)\n{\n    return b();\n}", "b.c": "int b(void)\n{\n    return c();\n}",
                         "x.c": "int c(void)\n{\n    return a();\n}", "y.c": "int c(void)\n{\n    return 1;\n}"}, []),
}


def plant(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def misjudged():
    """Planted breaches and circles that are not told, or told of what is whole."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, lines, _ in PLANTED:
            plant(root, name, "".join(f" # include {line if line[0] == '<' else chr(34) + line + chr(34)}\n" for line in lines))
        found = breaches(root)
        bad = [name for name, _, count in PLANTED if sum(f"{name}:" in text for text in found) != count]
    for case, (files, expected) in CIRCLES.items():
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                plant(Path(folder), name, text + "\n")
            told = " ".join(find_circles.find([Path(folder)], [])).replace(folder + "/", "")
            members = sorted(set(re.findall(r"(\w+) stands on", told)))
            bad += [f"circle {case}"] if members != expected else []
    return bad


def main():
    if "--selftest" in sys.argv:
        bad = misjudged()
        print("".join(f"{name}: not judged as planted\n" for name in bad), end="")
        print(f"{len(PLANTED) + len(CIRCLES) - len(bad)} passed, {len(bad)} failed")
        return 1 if bad else 0
    host = Path("host-driver")
    found = breaches(host) + find_circles.find([host], [host, host / "include"]) + find_circles.find([Path("firmware")], [])
    print("\n".join(found) if found else "wall: whole")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
