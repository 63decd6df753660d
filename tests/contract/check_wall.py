#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall between manager and miniport: neither may include what belongs to the other side.

host-driver/vidmm includes only ddi/, vidmm/ and ferry/error.h; host-driver/kmd never includes vidmm/ (nor umd/); ddi/
stands alone. Prints each breach as file:line and ends with a nonzero status when there is one. With --selftest it
proves that it finds planted breaches.
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


def breaches(root):
    found = []
    for room, allowed in ALLOWED.items():
        for path in sorted((root / room).glob("*.[ch]")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                name = match.group(1)
                local = "/" not in name and (path.parent / name).exists()
                if not local and not allowed(name):
                    found.append(f"{path}:{number}: {room}/ includes {name}, which is on the other side of the wall")
    return found


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for room in ALLOWED:
            (root / room).mkdir()
        (root / "vidmm" / "a.c").write_text('#include "vidmm/a.h"\n#include "kmd/kmd.h"\n#include "link/link.h"\n')
        (root / "kmd" / "b.c").write_text('#include "ddi/miniport.h"\n # include "vidmm/vidmm.h"\n')
        (root / "ddi" / "c.h").write_text('#include "ddi/paging.h"\n#include "ferry_contract.h"\n')
        return len(breaches(root)) == 4


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
