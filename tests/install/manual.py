# SPDX-License-Identifier: Apache-2.0
"""The manual pages of the tools held against what these say of themselves, and all pages against their formatter."""
import re
import subprocess
from pathlib import Path


def rendered(page):
    """The page as plain text, and what the formatter complains of."""
    command = ["groff", "-man", "-Tascii", "-P-cbou", "-ww", "-rHY=0", "-rLL=1000n", page]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def sections(text):
    """{subcommand: the lines of its part of the page}."""
    commands = re.search(r"^COMMANDS\n(.*?)^EXIT STATUS", text, re.M | re.S)[1]
    parts = re.split(r"^   (\w[\w ]*)\n", commands, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def help_of(tool, *command):
    return subprocess.run([tool, *command, "--help"], capture_output=True, text=True, check=True).stdout


def subcommands(tool):
    """Those that the tool's own list has, with the words before their operands: `trace import` is one of two words."""
    return [match.strip() for match in re.findall(r"^  ferry ((?:[a-z]+ )+)", help_of(tool), re.M)]


def options(text, indent):
    """{option: what stands for its value} of lines that begin so."""
    return {name: value.strip() for name, value in re.findall(rf"^{indent}(--[\w-]+)((?: [A-Zall]\S*)?)(?=\s|$)", text, re.M)}


def differences(tool, page):
    text, _ = rendered(page)
    here, found = sections(text), []
    commands = subcommands(tool)
    if len(commands) < 4 or sorted(commands) != sorted(here):
        found.append(f"the tool has {commands}, the page {sorted(here)}")
    for command in commands:
        said, paged = help_of(tool, *command.split()), here.get(command, "")
        wanted, got = options(said, "  "), options(paged, "       ")
        # Of a command with one option only, its usage line tells.
        wanted |= {name: value for name, value in re.findall(r"\[(--[\w-]+)(?: ([A-Z]+))?\]", said)}
        found += [f"{command}: {name} {wanted.get(name)} in --help, {got.get(name)} in the page"
                  for name in sorted(wanted.keys() | got.keys()) if wanted.get(name) != got.get(name)]
        found += [] if re.search(rf"^ +ferry {command}\b", text.partition("DESCRIPTION")[0], re.M) else [f"{command}: not in SYNOPSIS"]
    codes = set(re.findall(r"(?:Exit codes: |, )(\d)(?= )", " ".join(help_of(tool).split())))
    listed = set(re.findall(r"^       (\d)\b", text.partition("EXIT STATUS")[2].partition("EXAMPLES")[0], re.M))
    if codes != listed or not codes:
        found.append(f"exit codes {sorted(codes)} and {sorted(listed)}")
    return found


def option_differences(tool, page):
    """Of a tool without subcommands: its options, which may stand there more than once, and its exit codes."""
    text, said = rendered(page)[0], help_of(tool)
    forms = [sorted(set(re.findall(rf"^{indent}(--[\w-]+(?: --)?(?: (?:unix:)?(?:[A-Z]{{2,}}|N)\b)?)", where, re.M)))
             for indent, where in (("  ", said), ("       ", text.partition("\nOPTIONS\n")[2]))]
    found = [] if forms[0] and forms[0] == forms[1] else [f"{forms[0]} in --help, {forms[1]} in the page"]
    codes = set(re.findall(r"(?:Exit codes: |, )(\d) (?=ended|a bad|the system)", " ".join(said.split())))
    listed = set(re.findall(r"^       (\d)\b", text.partition("EXIT STATUS")[2].partition("EXAMPLES")[0], re.M))
    return found + ([] if codes and codes == listed else [f"exit codes {sorted(codes)} and {sorted(listed)}"])


def unnamed_calls(page, calls):
    """What the library's page names and the headers do not declare."""
    return sorted(set(re.findall(r"\b(ferry_\w+) ?\(", rendered(page)[0])) - set(calls))


def complaints(folder):
    return [f"{page.name}: {line}" for page in sorted(Path(folder).iterdir()) for line in rendered(page)[1].splitlines()]
