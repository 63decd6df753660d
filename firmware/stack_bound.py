# SPDX-License-Identifier: Apache-2.0
"""Adds up the stack of the deepest chain of calls from the files that gcc -fcallgraph-info=su writes.

Fails, and names the reason, when a chain is deeper than the limit, when a function calls itself through others, when a
call goes through a pointer, when a frame's size depends on run-time values, or when a called function is not among the
files, since none of these has a bound that this script could know."""

import argparse
import pathlib
import re
import sys

NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
FRAME = re.compile(r"\\n(\d+) bytes \(([a-z,]+)\)")


class Unbounded(Exception):
    pass


def read(paths: list[pathlib.Path]) -> tuple[dict[str, int], dict[str, set[str]]]:
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for path in paths:
        text = path.read_text()
        for title, label in NODE.findall(text):
            frame = FRAME.search(label)
            if frame:
                if frame.group(2) != "static":
                    raise Unbounded(f"{title}: its frame is {frame.group(2)}")
                frames[title] = int(frame.group(1))
        for source, target in EDGE.findall(text):
            calls.setdefault(source, set()).add(target)
    return frames, calls


def deepest(frames: dict[str, int], calls: dict[str, set[str]], name: str, above: list[str]) -> tuple[int, list[str]]:
    if name in above:
        raise Unbounded("recursion: " + " -> ".join(above[above.index(name) :] + [name]))
    if name == "__indirect_call":
        raise Unbounded(f"{above[-1]} calls through a pointer")
    if name not in frames:
        raise Unbounded(f"{name}, called by {above[-1] if above else 'nobody'}, has no known frame")
    below = (0, [])
    for target in sorted(calls.get(name, ())):
        below = max(below, deepest(frames, calls, target, above + [name]))
    return frames[name] + below[0], [name] + below[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, required=True, help="bytes")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE", help="write the bytes found there, for the linker")
    parser.add_argument("--root", required=True, help="function at the bottom of the stack")
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    try:
        frames, calls = read(arguments.files)
        depth, chain = deepest(frames, calls, arguments.root, [])
    except Unbounded as reason:
        print(f"stack bound: {reason}", file=sys.stderr)
        return 1
    names = " -> ".join(f"{name.rsplit(':', 1)[-1]} {frames[name]}" for name in chain)
    if depth > arguments.limit:
        print(f"stack bound: {depth} bytes are over the limit of {arguments.limit}: {names}", file=sys.stderr)
        return 1
    if arguments.write:
        arguments.write.write_text(f"{depth}\n")
    print(f"stack bound: {depth} of {arguments.limit} bytes: {names}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
