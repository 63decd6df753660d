#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""initramfs.py OUTPUT BUSYBOX INIT PROGRAMS AND FILES...: a root file system for a guest, as the kernel unpacks it (cpio, "newc").

Everything goes into /bin, programs with the libraries that they are linked to, at the places that the loader knows. INIT is /init.
The same files make the same archive."""
import re
import subprocess
import sys
from pathlib import Path

FOLDER, PROGRAM, LINK, DEVICE = 0o040755, 0o100755, 0o120777, 0o020600


def libraries(program):
    """What the loader of this machine finds for it."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", said)


def entry(number, name, mode, data=b"", device=(0, 0)):
    """One entry, padded to words."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def main():
    """Writes the archive."""
    output, busybox, init, *programs = sys.argv[1:]
    files = {"/init": (PROGRAM, Path(init).read_bytes()), "/bin/busybox": (PROGRAM, Path(busybox).read_bytes()),
             "/bin/sh": (LINK, b"busybox"), "/dev/console": (DEVICE, b"", (5, 1))}
    for program in programs:
        files[f"/bin/{Path(program).name}"] = (PROGRAM, Path(program).read_bytes())
        for library in libraries(program):
            files.setdefault(library, (PROGRAM, Path(library).read_bytes()))
    for name in list(files):
        for folder in Path(name).parents:
            files.setdefault(str(folder), (FOLDER,))
    for name in ("/proc", "/sys", "/tmp"):
        files[name] = (FOLDER,)
    names = sorted(set(files) - {"/"}, key=lambda name: (name.count("/"), name))
    archive = b"".join(entry(n + 1, name[1:], *files[name]) for n, name in enumerate(names)) + entry(0, "TRAILER!!!", 0)
    Path(output).write_bytes(archive)


if __name__ == "__main__":
    sys.exit(main())
