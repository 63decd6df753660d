#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall between manager and miniport, and the floors of the manager.

host-driver/vidmm includes only ddi/, vidmm/ and ferry/error.h; host-driver/kmd never includes vidmm/ (nor umd/); ddi/
stands alone. Inside vidmm/ a layer includes itself and the layers below it (RANKS). Prints each breach as
file:line and ends with a nonzero status when there is one. With --selftest it proves that it finds planted breaches.
"""
import re
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
ALLOWED = {
    "vidmm": lambda name: name.startswith(("ddi/", "vidmm/")) or name == "ferry/error.h",
    "kmd": lambda name: not name.startswith(("vidmm/", "umd/")),
    "ddi": lambda name: name.startswith("ddi/"),
}
# The layers of vidmm/, lowest first. vidmm.h, the interface, stands on base/ and belongs to the top.
RANKS = ["base", "space", "sched", "memory", "policy", "api"]
INTERFACE = "vidmm.h"


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


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def breaches(root):
    found = []
    for room, allowed in ALLOWED.items():
        for path in sorted((root / room).rglob("*.[ch]")):
            for number, name in includes(path):
                # A header named without its folder would slip past the ranks.
                local = "/" not in name and (path.parent / name).exists() and room != "vidmm"
                if not local and not allowed(name):
                    found.append(f"{path}:{number}: {room}/ includes {name}, which is on the other side of the wall")
                elif room == "vidmm" and name.startswith("vidmm/") and upward(path, root, name):
                    found.append(f"{path}:{number}: {upward(path, root, name)}")
    return found


# File, its lines, and how many breaches they are.
PLANTED = [
    ("vidmm/api/a.c", ["vidmm/api/a.h", "kmd/kmd.h", "link/link.h"], 2),
    ("vidmm/api/b.c", ["vidmm/vidmm.h", "vidmm/base/x.h", "vidmm/policy/x.h"], 0),
    ("vidmm/sched/c.c", ["vidmm/sched/x.h", "vidmm/base/x.h", "vidmm/memory/x.h"], 1),
    ("vidmm/sched/d.c", ["vidmm/vidmm.h", "x.h"], 2),
    ("vidmm/sched/x.h", [], 0),
    ("vidmm/space/e.h", ["vidmm/sched/x.h"], 1),
    ("vidmm/base/f.h", ["vidmm/space/x.h", "vidmm/elsewhere/x.h", "vidmm/x.h"], 3),
    ("vidmm/g.c", ["vidmm/base/x.h"], 1),
    ("vidmm/vidmm.h", ["vidmm/base/x.h", "ferry/error.h", "vidmm/memory/x.h"], 1),
    ("kmd/h.c", ["ddi/miniport.h", "vidmm/vidmm.h"], 1),
    ("ddi/i.h", ["ddi/paging.h", "ferry_contract.h"], 1),
]


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, lines, _ in PLANTED:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f' # include "{line}"\n' for line in lines), encoding="utf-8")
        found = breaches(root)
        bad = [name for name, _, count in PLANTED if sum(f"{name}:" in text for text in found) != count]
        print("\n".join(f"{name}: not judged as planted" for name in bad), end="\n" if bad else "")
        return not bad


def main():
    if "--selftest" in sys.argv:
        good = selftest()
        print(f"{int(good)} passed, {int(not good)} failed")
        return 0 if good else 1
    found = breaches(Path("host-driver"))
    print("\n".join(found) if found else "wall: whole")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
