# SPDX-License-Identifier: Apache-2.0
"""Verilog of the register file's generated half: which word an address is, what may be written, what stands in flip-flops,
first values. Included by the modules of rtl/host that are named in each file's head.
"""

ACCESS_HEAD = """\
// Included in ferry_registers. That declares:
//   clk, rst
//   address[15:2]  word that the host accesses
//   write          the host's word goes in now
//   merged         that word, with the bytes that are not written and without bits that cannot be
//   ones           bits that the host writes as 1
//   live_NAME      for each register below that is read from a wire
// and uses, in stages since that keeps the selection small: one cycle after the address
//   mapped         there is a register
//   live           it is read from a wire
//   told_only      it reads zero until the firmware has told its state
//   low_half, high_half   of 64 bits that hardware changes: read together, the low half first
// and two cycles after it
//   writable, write_mask   bits that keep what the host writes, and whether there are any
//   live_value     what the wire says, 0 when it is not read from one
//   NAME_reg       what the host wrote last; NAME_pulse: it wrote a 1 in the cycle before; NAME_clear: it writes 1s now
"""
FIRST_HEAD = """\
// Included in ferry_registers_file: first_value(word) is what a word of the register file is after reset.
"""
CORE_HEAD = """\
// Included in ferry_registers_core. That declares:
//   io_address     byte offset of the word that the core accesses
//   live_NAME      for each register below that is read from a wire; some share one
// and uses:
//   may_write(io_address[11:2])   the word is the core's to write
//   live_now, rdata_now           it is read from a wire, and what that says
"""


def blocks(start, end):
    """The range [start, end) as aligned powers of two: [(address, log2 of the bytes)]."""
    found = []
    while start < end:
        log2 = (start & -start or 1 << 16).bit_length() - 1
        while start + (1 << log2) > end:
            log2 -= 1
        found.append((start, log2))
        start += 1 << log2
    return found


def inside(signal, bits, start, end):
    """Verilog: the byte address lies in [start, end)."""
    return " || ".join(f"{signal}[{bits - 1}:{log2}] == {bits - log2}'h{at >> log2:x}" for at, log2 in blocks(start, end))


def words_of(register):
    """(offset of a word, its lowest bit in the register) of a register of 32 or 64 bits."""
    return [(register.offset + 4 * i, 32 * i) for i in range(register.bits // 32)]


def word_mask(fields, low):
    """The bits of these fields in the word that begins at bit `low`."""
    return sum(f.mask for f in fields) >> low & 0xffffffff


def stored(field):
    """The field keeps what is written."""
    return field.access == "rw" and not field.one_to_clear and not field.pulse


def low_name(*parts):
    return "_".join(part.lower() for part in parts if part)


def or_of(names):
    """Verilog: one of these is 1."""
    return " || ".join(names) or "1'b0"


class Word:
    """A word of the map that is more than memory which the host only reads: its name, where it is, which half of its register."""

    def __init__(self, register, group, condition, low):
        half = ("_high" if low else "_low") if register.bits == 64 else ""
        self.register, self.low = register, low
        self.name = low_name(group, register.name) + half
        self.condition = condition
        self.mask = word_mask(filter(stored, register.fields), low)
        self.special = self.mask or register.live or register.told or register.halves or \
            any(f.one_to_clear or f.pulse for f in register.fields)


def words_of_map(bar0, span):
    """All special words of BAR0's own registers and of the groups with power-of-two strides."""
    found = []
    groups = [("", "registers", span, bar0.registers)]
    groups += [(name, low_name(name), stride, members) for name, _, stride, _, members in bar0.groups if not counts(members)]
    for group, where, size, members in groups:
        if size & size - 1:
            raise SystemExit(f"contract: {group}: {size} bytes each, not a power of two")
        bits = size.bit_length() - 1
        for r in members:
            for at, low in words_of(r):
                found.append(Word(r, group, f"at_{where} && address[{bits - 1}:2] == {bits - 2}'h{at >> 2:x}", low))
    return [word for word in found if word.special]


def counts(members):
    """The group is of counters: 64 bits each, the halves read together, nothing written."""
    return all(r.halves and not any(map(stored, r.fields)) for r in members)


def write_access(bar0):
    """ferry_bar0_access.vh."""
    span = 1 << (max(r.offset + r.bits // 8 for r in bar0.registers) - 1).bit_length()
    ranges = [("registers", 0, span)] + [(low_name(name), at, at + stride * count) for name, at, stride, count, _ in bar0.groups]
    counters = [f"at_{low_name(name)}" for name, _, _, _, members in bar0.groups if counts(members)]
    words = words_of_map(bar0, span)
    out = [ACCESS_HEAD.rstrip(), ""]
    out += [f"wire at_{name} = {inside('address', 16, start, end)};" for name, start, end in ranges]
    out += ["", "reg  mapped;", "reg  half_of_counter;"] + [f"reg  at_{word.name};" for word in words]
    out += ["always @(posedge clk) begin", f"    mapped <= {or_of('at_' + name for name, _, _ in ranges)};",
            f"    half_of_counter <= {or_of(counters)};"]
    out += [f"    at_{word.name} <= {word.condition};" for word in words] + ["end", ""]

    def where(choose):
        return [f"at_{word.name}" for word in words if choose(word)]

    masks = sorted({word.mask for word in words} - {0})
    live = [word for word in words if word.register.live]
    out += [f"wire live = {or_of(where(lambda word: word.register.live))};",
            f"wire told_only = {or_of(where(lambda word: word.register.told))};",
            f"wire low_half = (half_of_counter && !address[2]) || {or_of(where(lambda word: word.register.halves and not word.low))};",
            f"wire high_half = (half_of_counter && address[2]) || {or_of(where(lambda word: word.register.halves and word.low))};", "",
            "reg  writable;", "reg  [31:0] write_mask;", "reg  [31:0] live_value;", "always @(posedge clk) begin",
            f"    writable <= {or_of(where(lambda word: word.mask))};".replace(" || ", " ||\n        "), "    write_mask <="]
    for mask in masks:
        names = where(lambda word, m=mask: word.mask == m)
        lines = [", ".join(names[i:i + 5]) for i in range(0, len(names), 5)]
        out.append("        ({32{|{" + ",\n            ".join(lines) + f"}}}}}} & 32'h{mask:x}){' |' if mask != masks[-1] else ';'}")
    out.append("    live_value <=")
    out += [f"        ({{32{{at_{word.name}}}}} & live_{word.name}){' |' if word is not live[-1] else ';'}" for word in live]
    out += ["end", ""]
    writes, resets = [], []
    for word in words:
        r, name = word.register, low_name(word.register.name)
        clears = [f for f in r.fields if f.one_to_clear]
        if clears:
            top = max(f.low + f.width for f in clears)
            out += [f"wire [{top - 1}:0] {name}_clear = ones[{top - 1}:0] & {{{top}{{write && at_{word.name}}}}};"]
        for f in r.fields:
            field = low_name(r.name, "" if f.name == "value" else f.name)
            first, last = max(f.low, word.low), min(f.low + f.width, word.low + 32) - 1
            if first > last:
                continue
            if f.pulse:
                out += [f"reg  {field}_pulse;"]
                writes += [f"    {field}_pulse <= write && at_{word.name} && ones[{first - word.low}];"]
                resets += [f"        {field}_pulse <= 1'b0;"]
            elif r.kept:
                if first == f.low:
                    out += [f"reg  [{f.width - 1}:0] {field}_reg;" if f.width > 1 else f"reg  {field}_reg;"]
                    first_value = r.built or f"{f.width}'h{f.reset:x}"
                    resets += [f"        {field}_reg <= {first_value};"]
                part = "" if f.width == last - first + 1 else f"[{last - f.low}:{first - f.low}]"
                source = first - word.low if first == last else f"{last - word.low}:{first - word.low}"
                writes += [f"    if (write && at_{word.name}) begin", f"        {field}_reg{part} <= merged[{source}];", "    end"]
    out += ["", "always @(posedge clk) begin"] + writes + ["    if (rst) begin"] + resets + ["    end", "end", ""]
    return "\n".join(out)


def write_first(bar0, version):
    """ferry_bar0_first.vh."""
    out = [FIRST_HEAD.rstrip(), "", "function [31:0] first_value(input [8:0] word);", "    case (word)"]
    places = [(0, r) for r in bar0.registers] + [(at, r) for _, at, _, _, members in bar0.groups for r in members]
    for base, r in places:
        for at, low in words_of(r):
            value = sum(f.reset << f.low for f in r.fields) >> low & 0xffffffff
            if r.built:
                text = r.built if r.bits == 32 else f"{r.built}[{low + 31}:{low}]"
            elif r.name == "CONTRACT_VERSION":
                text = f"32'h{version[0] << 16 | version[1]:x}"
            elif value:
                text = f"32'h{value:x}"
            else:
                continue
            out.append(f"    9'h{base + at >> 2:03x}: first_value = {text}; // {r.name}")
    out += ["    default: first_value = 32'd0;", "    endcase", "endfunction", ""]
    return "\n".join(out)


def write_core(core, bar0):
    """ferry_core_access.vh. Core registers from VIEW on are words of BAR0: each must stand where such a word is."""
    host = {at for r in bar0.registers for at, _ in words_of(r)}
    for _, at, stride, count, members in bar0.groups:
        host |= {at + i * stride + word for i in range(count) for r in members for word, _ in words_of(r)}
    view = core.view
    # The core's own words share the register file with words of BAR0 that lie behind the view: those are not the core's.
    taken = max((at + 4 - view for at in host if view <= at < 2 * view), default=0)
    shared = []
    for r in core.registers:
        if r.offset < taken and not r.live:
            raise SystemExit(f"contract: core.{r.name} would stand in a word of BAR0 in the register file")
        if r.offset < view:
            continue
        if r.offset - view not in host:
            raise SystemExit(f"contract: core.{r.name} is no word of BAR0")
        if any(stored(f) for f in r.fields):
            shared.append((r.offset, r.name))
    for name, at, stride, count, members in core.groups:
        for r in members:
            if any(at + i * stride + r.offset - view not in host for i in range(count)):
                raise SystemExit(f"contract: core.{name}.{r.name} is no word of BAR0")
    own = inside("address", 12, taken, view)
    out = [CORE_HEAD.rstrip(), "", "function may_write(input [11:2] address);", "    case (address[11:2])"]
    out += [f"    10'h{at >> 2:x}: may_write = 1'b1; // {name}" for at, name in shared]
    out += [f"    default: may_write = {own};", "    endcase", "endfunction", ""]
    live = [r for r in core.registers if r.live]
    out += [f"wire [{len(live) - 1}:0] live_at;", f"ferry_select #(.COUNT({len(live)}), .BITS(10), .VALUES({{"]
    out += [f"    10'h{r.offset >> 2:x}{',' if r is not live[0] else ''} // {r.name}" for r in reversed(live)]
    out += ["})) live_select (.value(io_address[11:2]), .selected(live_at));", "wire live_now = |live_at;", "wire [31:0] rdata_now ="]
    wires = {}
    for i, r in enumerate(live):
        wires.setdefault(r.wire, []).append(f"live_at[{i}]")
    out += [f"    ({{32{{{or_of(places)}}}}} & live_{wire}){' |' if wire != live[-1].wire else ';'}" for wire, places in wires.items()]
    return "\n".join(out + [""])
