#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the C header, the Verilog includes and the manual's chapter from the SystemRDL description in this folder.

usage: generate.py --c FILE --verilog FILE --access FOLDER --usb FOLDER --manual FILE      (any subset)

--usb writes what tells a device on USB, for who makes one, finds one and lets people use one: ferry_usb.h, 70-pageferry.rules. --access
writes what rtl/host includes of the register map: ferry_bar0_access.vh, ferry_bar0_first.vh, ferry_core_access.vh
(access.py). The other three outputs come from one walk over the elaborated description; tests/contract/agreement.py reads the first two
back with a C compiler and with Verilator and compares them with each other and with the description.
"""
import argparse
import os
import sys
from pathlib import Path

import access
from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, MemNode, RegfileNode, RegNode

HERE = Path(__file__).resolve().parent
SOURCES = ("properties", "enums", "bar0", "core", "packets", "records", "bundles")
# In the order of the manual's chapter.
ENUMS = ("address_kind", "opcode", "fault_kind", "buffer_status", "firmware_state", "job_op", "list_side",
         "forget_scope", "tunnel_verdict", "tunnel_code")
MAPS = ("bar0", "core", "packet_nop", "packet_copy", "packet_copy_pages", "packet_fill", "packet_read", "packet_write",
        "packet_map_aperture", "packet_unmap_aperture", "packet_fence", "packet_discard", "packet_root",
        "packet_forget", "packet_copy_rectangle", "ring_entry", "fence_record",
        "fault_record", "write_tag", "aperture_entry", "table_entry", "tunnel_frame", "tunnel_hello", "tunnel_message",
        "config_space")
# Registers that many packets share: their fields are written once, under the type's own name.
SHARED_TYPES = ("packet_header", "packet_places", "packet_layout")
# Width of an offset into the map, as a Verilog literal.
OFFSET_BITS = {"bar0": 16, "core": 12, "config_space": 12}
REGISTER_MAPS = ("bar0", "core", "config_space")
# Vectors between the device's modules; not in the C header.
BUNDLES = "bundles"
# On USB; in a header of its own, so that no device is built anew for it.
USB = "usb_descriptor"
# From here on the core's registers are words of BAR0, which stand at the same distance from its begin.
CORE_VIEW = 0x400


class Register:
    """One register or record member, with everything the three writers need."""

    def __init__(self, node, prefix, offset):
        self.name = node.inst_name
        self.prefix = prefix
        self.offset = offset
        self.bits = node.get_property("regwidth")
        self.desc = node.get_property("desc") or ""
        self.count = node.array_dimensions[0] if node.is_array else None
        self.stride = node.array_stride if node.is_array else None
        self.type = node.orig_type_name if node.orig_type_name in SHARED_TYPES else None
        self.fields = [Field(f) for f in node.fields()]
        self.access = "".join(letter for letter in "rw" if any(letter in f.access for f in self.fields))
        # Properties of properties.rdl.
        self.live, self.kept, self.told = (node.get_property(name) for name in ("live", "kept", "told"))
        self.wire = node.get_property("from") or node.inst_name.lower()
        self.built = node.get_property("built")
        # 64 bits that hardware changes: their halves are read together.
        self.halves = self.bits == 64 and all(f.hardware and "w" not in f.access for f in self.fields)


class Field:
    def __init__(self, node: FieldNode):
        self.name = node.inst_name
        self.low, self.width = node.low, node.width
        self.desc = node.get_property("desc") or ""
        self.reset = node.get_property("reset") or 0
        encode = node.get_property("encode")
        self.encode = encode.type_name if encode is not None else None
        self.access = {"rw": "rw", "r": "r", "w": "w"}.get(node.get_property("sw").name, "r")
        self.hardware = "w" in node.get_property("hw").name
        self.one_to_clear = node.get_property("woclr")
        self.pulse = node.get_property("singlepulse")

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.low


class Map:
    def __init__(self, top):
        self.name = top.inst_name
        self.bytes = top.size
        self.desc = top.get_property("desc") or ""
        self.registers = []   # direct members
        self.groups = []      # (name, offset, stride, count, [Register])
        self.memories = []    # (name, offset, bytes, desc)
        prefix = f"FERRY_{self.name.upper()}"
        for child in top.children():
            if isinstance(child, RegNode):
                self.registers.append(Register(child, prefix, child.raw_address_offset))
            elif isinstance(child, RegfileNode):
                count = child.array_dimensions[0] if child.is_array else 1
                stride = child.array_stride if child.is_array else child.size
                members = [Register(r, f"{prefix}_{child.inst_name}", r.raw_address_offset) for r in child.registers()]
                self.groups.append((child.inst_name, child.raw_address_offset, stride, count, members))
            elif isinstance(child, MemNode):
                size = child.get_property("mementries") * child.get_property("memwidth") // 8
                self.memories.append((child.inst_name, child.raw_address_offset, size, child.get_property("desc") or ""))

    # Of the core's map.
    view = CORE_VIEW

    @property
    def open_ended(self):
        return bool(self.registers) and self.registers[-1].count == 1

    @property
    def fixed_bytes(self):
        return self.registers[-1].offset if self.open_ended else self.bytes

    def all_registers(self):
        yield from self.registers
        for group in self.groups:
            yield from group[4]


def load():
    compiler = RDLCompiler()
    for source in SOURCES:
        compiler.compile_file(str(HERE / f"{source}.rdl"))
    maps = [Map(compiler.elaborate(name).top) for name in MAPS]
    enums = {name: list(compiler.namespace.lookup_type(name)) for name in ENUMS}
    return maps, enums, Map(compiler.elaborate(BUNDLES).top), Map(compiler.elaborate(USB).top)


def version_of(maps):
    register = next(r for r in maps[0].registers if r.name == "CONTRACT_VERSION")
    number = {f.name: f.reset for f in register.fields}
    return number["major"], number["minor"]


def definitions(maps, enums):
    """Every name of the contract as (name, value, bits or None), in order: what both languages must agree on."""
    seen = set()
    for row in all_definitions(maps, enums):
        if row[0] in seen:
            raise SystemExit(f"contract: the name {row[0]} is made twice; rename a register or field")
        seen.add(row[0])
        yield row


def all_definitions(maps, enums):
    major, minor = version_of(maps)
    yield "FERRY_CONTRACT_VERSION", major << 16 | minor, 32
    for name, members in enums.items():
        width = max(m.value for m in members).bit_length()
        width = {"address_kind": 2, "job_op": 3, "list_side": 2, "forget_scope": 2}.get(name, max(width, 8))
        for member in members:
            yield f"FERRY_{name.upper()}_{member.name}", member.value, width
    yield from map_definitions(maps)


def map_definitions(maps):
    shared = set()
    for m in maps:
        bits = OFFSET_BITS.get(m.name, 8)
        prefix = f"FERRY_{m.name.upper()}"
        yield f"{prefix}_SIZE", m.fixed_bytes, 32
        for name, offset, stride, count, _ in m.groups:
            yield f"{prefix}_{name}_AT", offset, bits
            yield f"{prefix}_{name}_STRIDE", stride, bits
            yield f"{prefix}_{name}_COUNT", count, 8
        for name, offset, size, _ in m.memories:
            yield f"{prefix}_{name}", offset, bits
            yield f"{prefix}_{name}_SPAN", size, 32
        for r in m.all_registers():
            yield f"{r.prefix}_{r.name}", r.offset, bits
            if r.count and r.count > 1:
                yield f"{r.prefix}_{r.name}_STRIDE", r.stride, bits
                yield f"{r.prefix}_{r.name}_COUNT", r.count, 8
            if r.type:
                if r.type in shared:
                    continue
                shared.add(r.type)
            where = f"FERRY_{r.type.upper()}" if r.type else f"{r.prefix}_{r.name}"
            for f in r.fields:
                if f.name == "value" and f.width == r.bits:
                    if f.reset:
                        yield f"{where}_RESET", f.reset, r.bits
                    continue
                yield f"{where}_{f.name.upper()}_SHIFT", f.low, None
                yield f"{where}_{f.name.upper()}_WIDTH", f.width, None
                yield f"{where}_{f.name.upper()}_MASK", f.mask, r.bits
                if f.reset and not r.type:
                    yield f"{where}_{f.name.upper()}_RESET", f.reset, None


BANNER = "Generated by contract/generate.py from contract/*.rdl. Do not edit."


def write_c(maps, enums):
    out = ["// SPDX-License-Identifier: Apache-2.0", f"// {BANNER}", "#ifndef FERRY_CONTRACT_H", "#define FERRY_CONTRACT_H", "",
           "#include <stdint.h>", "",
           "// FERRY_GET(FERRY_PACKET_HEADER_WORDS, word) takes a field out of a word, FERRY_PUT makes a word of a field's value.",
           "#define FERRY_GET(FIELD, word) (((word) & FIELD##_MASK) >> FIELD##_SHIFT)",
           "#define FERRY_PUT(FIELD, value) (((value) << FIELD##_SHIFT) & FIELD##_MASK)", ""]
    for name, members in enums.items():
        out.append(f"enum ferry_{name} {{")
        out += [f"    FERRY_{name.upper()}_{m.name} = {m.value}, /* {m.rdl_desc or ''} */" for m in members]
        out += ["};", "", f"// The name of a value without its prefix, or \"?\".",
                f"static inline const char *ferry_{name}_name(unsigned value)", "{", "    switch (value) {"]
        out += [f"    case FERRY_{name.upper()}_{m.name}: return \"{m.name}\";" for m in members]
        out += ["    default: return \"?\";", "    }", "}", ""]
    enum_names = {f"FERRY_{n.upper()}_{m.name}" for n, ms in enums.items() for m in ms}
    out += number_lines(row for row in definitions(maps, enums) if row[0] not in enum_names)
    out.append("")
    for m in maps:
        if m.name in REGISTER_MAPS:
            continue
        out += [f"// {m.desc}", f"struct ferry_{m.name} {{"]
        for r in m.registers:
            tail = "[]" if r.count == 1 else f"[{r.count}]" if r.count else ""
            out.append(f"    uint{r.bits}_t {r.name.lower()}{tail}; /* {r.desc} */")
        out += ["};", f"_Static_assert(sizeof(struct ferry_{m.name}) == FERRY_{m.name.upper()}_SIZE, \"layout of {m.name}\");", ""]
    out += ["#endif", ""]
    return "\n".join(out)


def number_lines(rows):
    for name, value, width in rows:
        yield f"#define {name} {value:#x}{'ull' if width == 64 else 'u'}" if width else f"#define {name} {value}"


def usb_numbers(usb):
    numbers = {f.name: f.reset for f in usb.registers[0].fields}
    return f"{numbers['vendor']:04x}", f"{numbers['product']:04x}"


def write_usb(usb):
    vendor, product = usb_numbers(usb)
    return "\n".join(["// SPDX-License-Identifier: Apache-2.0", f"// {BANNER}", "#ifndef FERRY_USB_H", "#define FERRY_USB_H", "",
                      *number_lines(map_definitions([usb])),
                      "// As people write it.", f'#define FERRY_USB_ID "{vendor}:{product}"', "", "#endif", ""])


def write_udev(usb):
    vendor, product = usb_numbers(usb)
    return f"""# SPDX-License-Identifier: Apache-2.0
# {BANNER}
# A Pageferry on USB may be used by whoever sits at the machine, and by the group plugdev. Its id is a test id that others use too.
SUBSYSTEM=="usb", ENV{{DEVTYPE}}=="usb_device", ATTR{{idVendor}}=="{vendor}", ATTR{{idProduct}}=="{product}", \\
    ATTR{{manufacturer}}=="Pageferry", MODE="0660", GROUP="plugdev", TAG+="uaccess"
"""


def events_of(maps):
    """The counters' registers give each event its bit in an event vector: (name, bit)."""
    bar0 = next(m for m in maps if m.name == "bar0")
    counters = next(group[4] for group in bar0.groups if group[0] == "COUNTER")
    return [(r.name, r.offset // 8) for r in counters]


def write_bundles(maps, bundles):
    """Verilog names of the bundles' fields, and of the bits of the counters' event vector."""
    out = []
    for r in bundles.registers:
        where = f"FERRY_{r.name}"
        out.append(f"`define {where}_BITS {max(f.low + f.width for f in r.fields)}")
        out += [f"`define {where}_{f.name.upper()}_RANGE {f.low + f.width - 1}:{f.low}" for f in r.fields]
    events = events_of(maps)
    out.append(f"`define FERRY_EVENTS_BITS {len(events)}")
    out += [f"`define FERRY_EVENT_{name} {bit}" for name, bit in events]
    return out


def write_verilog(maps, enums, bundles):
    out = ["// SPDX-License-Identifier: Apache-2.0", f"// {BANNER}", "`ifndef FERRY_CONTRACT_VH", "`define FERRY_CONTRACT_VH", ""]
    for name, value, width in definitions(maps, enums):
        out.append(f"`define {name} {width}'h{value:x}" if width else f"`define {name} {value}")
    shared = set()
    for m in maps:
        for r in m.all_registers():
            if r.type in shared:
                continue
            if r.type:
                shared.add(r.type)
            where = f"FERRY_{r.type.upper()}" if r.type else f"{r.prefix}_{r.name}"
            for f in r.fields:
                if not (f.name == "value" and f.width == r.bits):
                    out.append(f"`define {where}_{f.name.upper()}_RANGE {f.low + f.width - 1}:{f.low}")
    out += write_bundles(maps, bundles)
    names = [line.split()[1] for line in out if line.startswith("`define")]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"contract: made twice: {', '.join(sorted(twice))}; rename a register, field or bundle")
    out += ["", "`endif", ""]
    return "\n".join(out)


def bits_text(field):
    high = field.low + field.width - 1
    return str(field.low) if field.width == 1 else f"{high}:{field.low}"


def manual_registers(out, registers):
    out += ["| offset | name | bits | access | field | meaning |", "| --- | --- | --- | --- | --- | --- |"]
    for r in registers:
        tail = f"[{r.count}]" if r.count and r.count > 1 else "[...]" if r.count else ""
        whole = len(r.fields) == 1 and r.fields[0].name == "value"
        access = r.access
        reset = f" Reset {r.fields[0].reset:#x}." if whole and r.fields[0].reset else ""
        enum = f" One of *{r.fields[0].encode}*." if whole and r.fields[0].encode else ""
        bits = bits_text(r.fields[0]) if whole else r.bits
        out.append(f"| {r.offset:#05x} | {r.name}{tail} | {bits} | {access} | | {r.desc}{enum}{reset} |")
        if not whole:
            for f in r.fields:
                enum = f" One of *{f.encode}*." if f.encode else ""
                reset = f" Reset {f.reset:#x}." if f.reset else ""
                out.append(f"| | | {bits_text(f)} | {f.access} | {f.name} | {f.desc}{enum}{reset} |")
    out.append("")


def manual_bundles(out, bundles):
    out += ["## Bundles", "", bundles.desc, ""]
    for r in bundles.registers:
        out += [f"### Bundle `{r.name}`", "", r.desc, "", "| field | bits | meaning |", "| --- | --- | --- |"]
        for f in r.fields:
            enum = f" One of *{f.encode}*." if f.encode else ""
            out.append(f"| {f.name} | {f.width} | {(f.desc + enum).strip()} |")
        out.append("")


def write_manual(maps, enums, bundles, usb):
    major, minor = version_of(maps)
    out = ["# Registers, packets and records", "", f"<!-- {BANNER} -->", "",
           f"Contract version {major}.{minor}. Everything is little endian. C names stand in "
           "`ferry_contract.h`, Verilog names in `ferry_contract.vh`; both are generated from `contract/*.rdl`, as is this page.", "",
           "## Names and numbers", ""]
    for name, members in enums.items():
        out += [f"### {name}", "", "| value | name | meaning |", "| --- | --- | --- |"]
        out += [f"| {m.value} | {m.name} | {m.rdl_desc or ''} |" for m in members] + [""]
    for m in [*maps, usb]:
        out += [f"## {m.name}", "", m.desc, ""]
        manual_registers(out, m.registers)
        for name, offset, stride, count, members in m.groups:
            out += [f"### {m.name}.{name}: {count} from {offset:#x}, {stride:#x} bytes each", ""]
            manual_registers(out, members)
        for name, offset, size, desc in m.memories:
            out += [f"### {m.name}.{name}: {size} bytes from {offset:#x}", "", desc, ""]
    manual_bundles(out, bundles)
    return "\n".join(out).rstrip() + "\n"


def store(path, text):
    """Replace the file only when its text changed, so that make rebuilds nothing for nothing."""
    path = Path(path)
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--c")
    parser.add_argument("--verilog")
    parser.add_argument("--access")
    parser.add_argument("--usb")
    parser.add_argument("--manual")
    arguments = parser.parse_args()
    maps, enums, bundles, usb = load()
    if arguments.c:
        store(arguments.c, write_c(maps, enums))
    if arguments.verilog:
        store(arguments.verilog, write_verilog(maps, enums, bundles))
    if arguments.access:
        bar0, core = (next(m for m in maps if m.name == name) for name in ("bar0", "core"))
        for name, text in (("bar0_access", access.write_access(bar0)), ("core_access", access.write_core(core, bar0)),
                           ("bar0_first", access.write_first(bar0, version_of(maps)))):
            store(Path(arguments.access) / f"ferry_{name}.vh", f"// SPDX-License-Identifier: Apache-2.0\n// {BANNER}\n//\n{text}")
    if arguments.usb:
        for name, text in (("ferry_usb.h", write_usb(usb)), ("70-pageferry.rules", write_udev(usb))):
            store(Path(arguments.usb) / name, text)
    if arguments.manual:
        store(arguments.manual, write_manual(maps, enums, bundles, usb))
    return 0


if __name__ == "__main__":
    sys.exit(main())
