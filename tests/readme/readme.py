#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the README promises: its program compiles without a warning, runs and prints its line; its paths exist; the
commands it names are make's. And the links of all pages lead somewhere, to a heading where they name one, and the cases and proofs
that the manual's tables of tests name exist.

usage: readme.py LIBS...      (run from the repository root)
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = "ferried through video memory\n"


def program_of(text):
    return re.search(r"^```c\n(.*?)^```", text, re.M | re.S).group(1)


def check_program(text, compiler, libs):
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "first.c", Path(folder) / "first"
        source.write_text(program_of(text))
        subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source,
                        "-Ihost-driver/include", "build/libferry.a", *libs, "-o", program], check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        assert done.stdout == EXPECTED, f"printed {done.stdout!r}"


def check_paths(text):
    text = re.sub(r"<!-- bench -->.*<!-- /bench -->", "", text, flags=re.S)  # Names of figures look like paths.
    for path in set(re.findall(r"`((?:contract|rtl|firmware|host-driver|sim|tests|docs)/[\w./-]*)`", text)):
        assert Path(path).exists(), f"{path} is named and does not exist"


def without_code(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    """What a heading is called in a link: small letters, hyphens for blanks, no other signs."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", without_code(page), re.M)}


def check_links():
    pages = [Path("README.md"), *Path("docs").rglob("*.md")]
    assert len(pages) > 20, "the pages were not found"
    for page in pages:
        for link in re.findall(r"\]\(((?!https?:)[^)\s]+)\)", without_code(page)):
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page}: {link} is linked and does not exist"
            assert not heading or heading in anchors(target), f"{page}: {link} names no heading"


def check_commands(text):
    known = subprocess.run(["make", "-pnq", "help"], capture_output=True, text=True, check=False).stdout
    for goal in set(re.findall(r"(?:^|`)make ([a-z]+)(?![\w/])", text, re.M)):
        assert re.search(rf"^{goal}:", known, re.M), f"make {goal} is named and no such target exists"


def check_length(text):
    lines = len(program_of(text).split("int main")[1].splitlines())
    assert lines <= 40, f"main has {lines} lines"


def check_tables():
    sources = "".join(path.read_text(errors="ignore") for path in sorted(Path("tests").rglob("*"))
                      if path.suffix in (".c", ".cpp", ".h", ".py"))
    proofs = Path("build/formal/proofs").read_text().split()
    named = 0
    for page in Path("docs/manual").glob("*-tests.md"):
        for name in re.findall(r"`(\w+)`(?=[^\n]*\|$)", page.read_text(), re.M):
            named += 1
            if name.isupper():
                assert name in proofs, f"{page}: there is no proof {name}"
            else:
                assert re.search(rf"\b{name}\b", sources), f"{page}: there is no case {name}"
    assert named > 50, "the tables were not read"


def main():
    text = Path("README.md").read_text()
    cases = {
        "program_compiles_with_gcc_and_runs": lambda: check_program(text, "gcc", sys.argv[1:]),
        "program_compiles_with_clang_and_runs": lambda: check_program(text, "clang", sys.argv[1:]),
        "program_has_40_lines_at_most": lambda: check_length(text),
        "paths_exist": lambda: check_paths(text),
        "links_of_all_pages_lead_somewhere": check_links,
        "commands_exist": lambda: check_commands(text),
        "cases_of_the_tables_exist": check_tables,
    }
    passed = failed = 0
    for name, case in cases.items():
        try:
            case()
            print(f"[       OK ] {name}")
            passed += 1
        except (AssertionError, subprocess.CalledProcessError) as error:
            print(f"    {error}\n[  FAILED  ] {name}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
