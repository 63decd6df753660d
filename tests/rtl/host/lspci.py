#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lspci.py RTL_HOST: what `lspci -vv` of pciutils reads in the simulated configuration space.

The golden lines of lspci.txt must appear in that order. Newer versions of lspci add words to a line, so the words of a
golden line must be among those of lspci's line, in their order; commas do not count.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def contains(line, words):
    """The words are in the line, in their order, perhaps with others between them."""
    rest = iter(line)
    return all(word in rest for word in words)


def not_found(golden, text):
    """The lines of the file that are not in the text, behind each other."""
    lines = [line.replace(",", " ").split() for line in text.splitlines()]
    missing = []
    at = 0
    for wanted in golden.read_text(encoding="utf-8").splitlines():
        words = wanted.replace(",", " ").split()
        found = next((n for n in range(at, len(lines)) if contains(lines[n], words)), None)
        if found is None:
            missing.append(wanted)
        else:
            at = found + 1
    return missing


def main():
    """Runs both programs and compares."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as dump:
        dump.write(subprocess.run([os.path.abspath(sys.argv[1]), "dump"], stdout=subprocess.PIPE, text=True, check=True).stdout)
        dump.flush()
        text = subprocess.run(["lspci", "-F", dump.name, "-n", "-vv"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=True).stdout
    missing = not_found(Path(__file__).resolve().parent / "lspci.txt", text)
    if missing:
        print(text)
    for wanted in missing:
        print("    not found:", wanted)
    print("[  FAILED  ]" if missing else "[       OK ]", "lspci_reads_configuration_space")
    print(f"{0 if missing else 1} passed, {1 if missing else 0} failed")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
