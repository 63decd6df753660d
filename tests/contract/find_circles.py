# SPDX-License-Identifier: Apache-2.0
"""Circles between C files: files that stand on each other, one by one, in a ring.

A file stands on the headers that it includes, and on the file that defines a function or a table that it uses, so that a
header which several files share hides nothing. A source and its header count as one file. What is read is text, in the
way this project writes C: a definition begins in the first column of nothing but declarations, and no macro makes one.
"""
import re

LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
MACRO_BODY = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+((?:.*\\\n)*.*)$", re.M)
# A tag or a member of some struct that bears a function's name is no use of the function.
NO_USE = re.compile(r"\b(?:struct|enum|union)\s+\w+|(?:->|\.)\s*\w+")


def code(text):
    """The text without comments and without what strings say."""
    return LITERAL.sub(lambda match: " " if match.group()[0] == "/" else match.group()[0] * 2, text)


def top_level(text):
    """Pairs: what stands before an outermost brace, and what stands inside."""
    head, body, depth = "", "", 0
    for letter in text:
        if letter == "{":
            depth += 1
        if depth > 0:
            body += letter
        elif letter == ";":
            head = ""
        else:
            head += letter
        if letter == "}":
            depth -= 1
            if depth == 0:
                yield head.strip(), body
                head, body = "", ""


def defined(head):
    """The name of the function or table that other files can use and that begins like this, or None."""
    if re.match(r"static\b|typedef\b|(?:struct|enum|union)(?:\s+\w+)?$", head):
        return None
    match = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=$", head) or re.search(r"(\w+)\s*\(", head)
    return match.group(1) if match else None


def read(path):
    """Names that the file defines, and names that it uses."""
    text = code(path.read_text(encoding="utf-8"))
    used = [NO_USE.sub(" ", body) for body in MACRO_BODY.findall(text)]
    # C++ may read a header; what it puts around it is no block.
    plain = re.sub(r'extern\s+""\s*\{', "", DIRECTIVE.sub("", text))
    names = set()
    for head, body in top_level(plain):
        if not re.match(r"(?:typedef\s+)?(?:struct|enum|union)(?:\s+\w+)?$", head):
            used.append(NO_USE.sub(" ", body))
            names.add(defined(head) if path.suffix == ".c" else None)
    return names - {None}, set(re.findall(r"\w+", " ".join(used)))


def graph(paths, roots):
    """{file: {file that it stands on: {why}}}; a file is named by its path without the ending."""
    def name(path):
        return str(path.with_suffix(""))
    definers, uses, edges = {}, {}, {name(path): {} for path in paths}
    for path in paths:
        names, used = read(path)
        for one in names:
            definers.setdefault(one, set()).add(name(path))
        uses.setdefault(name(path), set()).update(used)
        for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            for folder in [path.parent, *roots]:
                target = name(folder / header)
                if (folder / header) in paths:
                    if target != name(path):
                        edges[name(path)].setdefault(target, set()).add("#include")
                    break
    for user, used in uses.items():
        for one in used & definers.keys():
            # Two files that define a name are of two programs: who is meant, no text tells.
            if len(definers[one]) == 1 and user not in definers[one]:
                edges[user].setdefault(min(definers[one]), set()).add(one)
    return edges


def circles(edges):
    """Groups of files of which each reaches each other (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in edges[file]:
            if other not in number:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], number[other])
        if low[file] == number[file]:
            group = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(group) > 1:
                found.append(sorted(group))

    for file in sorted(edges):
        if file not in number:
            visit(file)
    return found


def find(folders, roots):
    """Lines that tell of each circle of the folders' files; none when there is none."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.[ch]"))
    edges = graph(set(paths), roots)
    lines = []
    for group in circles(edges):
        lines.append(f"circle of {len(group)} files:")
        for file in group:
            for other in sorted(set(edges[file]) & set(group)):
                lines.append(f"    {file} stands on {other}: {', '.join(sorted(edges[file][other]))}")
    return lines
