# SPDX-License-Identifier: Apache-2.0
# The same device behind other links. `simulator` is what ferry-sim is told, `socket` who is served and refused, and deaths;
# `serial` the host's side of a serial port, `usb` of a USB port; `pci_slot` the simulated slot, with a test where a virtual machine
# would be; `replays` one replay on all.
# The system tests run there too, of which `make test` takes some: the whole set with `make test-links`.

LINK_SAMPLE := failures
# At a serial port and on USB, where the other end is C (serial_end, usb_end): what takes some seconds there.
FRAMED_SAMPLE := residency runs calls call_backs

$(BUILD)/tests/socket: tests/links/test_socket.py tests/links/frames.py tests/links/peers.py $(BUILD)/ferry $(BUILD)/ferry-sim
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/simulator: tests/links/test_simulator.py $(BUILD)/ferry $(BUILD)/ferry-sim
	@mkdir -p $(@D)
	install -m 755 $< $@

# The host's side of a serial port needs no Verilog at the other one: C at a pseudo terminal, which is fast.
$(BUILD)/system/serial_end: tests/links/serial_end.c $(BUILD)/obj/sim/server/device.o $(BUILD)/obj/sim/server/pty.o $(BUILD)/libferry.a \
    tests/unit/link/noisy_channel.h tests/seed.h tests/links/c_end.h
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) -c $< -o $@.o
	$(CXX) $@.o $(filter %.o %.a,$^) $(SIM_LIBS) $(LDLIBS) -o $@

$(BUILD)/tests/serial: tests/links/test_serial.py tests/links/frames.py $(BUILD)/ferry $(BUILD)/ferry-sim \
    $(BUILD)/system/serial_end
	@mkdir -p $(@D)
	install -m 755 $< $@

# The same at a USB port; and what stands in for libusb and a kernel, so that it takes neither a port nor a virtual machine.
$(BUILD)/system/usb_end: tests/links/usb_end.c $(BUILD)/obj/sim/server/device.o $(BUILD)/obj/sim/server/redir.o $(BUILD)/libferry.a \
    tests/links/c_end.h
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) -c $< -o $@.o
	$(CXX) $@.o $(filter %.o %.a,$^) -lusbredirparser $(SIM_LIBS) $(LDLIBS) -o $@

$(BUILD)/system/libusb_redir.so: tests/links/libusb_redir.c $(FLAGS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -fPIC -shared -fvisibility=hidden -Wl,-soname,libusb-1.0.so.0 $< -lusbredirparser -o $@

$(BUILD)/tests/usb: tests/links/test_usb.py $(addprefix tests/links/,redir.py frames.py peers.py) $(BUILD)/ferry $(BUILD)/ferry-sim \
    $(BUILD)/system/usb_end $(BUILD)/system/libusb_redir.so
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/pci_slot: tests/links/test_pci.py tests/links/proxy.py $(BUILD)/ferry-sim $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D)
	install -m 755 $< $@

# The trace is that of the guest on USB: what goes over a slow link in seconds.
$(BUILD)/tests/replays: tests/links/test_replays.py tests/links/on_simulator.py $(BUILD)/guest/scene.memtrace $(BUILD)/ferry \
    $(BUILD)/ferry-sim $(BUILD)/system/serial_end $(BUILD)/system/usb_end $(BUILD)/system/libusb_redir.so
	@mkdir -p $(@D)
	install -m 755 $< $@

$(LINK_SAMPLE:%=$(BUILD)/tests/system_%_socket): $(BUILD)/tests/system_%_socket: $(BUILD)/system/% $(BUILD)/ferry-sim \
    tests/links/on_simulator.py
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 tests/links/on_simulator.py %s "$$@"\n' $< > $@ && chmod +x $@

$(FRAMED_SAMPLE:%=$(BUILD)/tests/system_%_uart): $(BUILD)/tests/system_%_uart: $(BUILD)/system/% $(BUILD)/system/serial_end \
    tests/links/on_simulator.py
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 tests/links/on_simulator.py --link uart %s "$$@"\n' $< > $@ && chmod +x $@

$(FRAMED_SAMPLE:%=$(BUILD)/tests/system_%_usb): $(BUILD)/tests/system_%_usb: $(BUILD)/system/% $(BUILD)/system/usb_end \
    $(BUILD)/system/libusb_redir.so tests/links/on_simulator.py
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 tests/links/on_simulator.py --link usb %s "$$@"\n' $< > $@ && chmod +x $@

TEST_PROGRAMS += $(addprefix $(BUILD)/tests/,simulator socket serial usb pci_slot replays) \
    $(LINK_SAMPLE:%=$(BUILD)/tests/system_%_socket) $(FRAMED_SAMPLE:%=$(BUILD)/tests/system_%_uart) \
    $(FRAMED_SAMPLE:%=$(BUILD)/tests/system_%_usb)
LONG_RANDOM += $(BUILD)/tests/serial $(BUILD)/tests/usb

.PHONY: test-links
SOAKS += test-links
test-links: $(SYSTEM_TESTS:%=$(BUILD)/system/%) $(BUILD)/ferry-sim $(BUILD)/system/serial_end $(BUILD)/system/usb_end \
    $(BUILD)/system/libusb_redir.so
	@failed=; for link in socket uart usb; do for test in $(SYSTEM_TESTS:%=$(BUILD)/system/%); do \
	    python3 tests/links/on_simulator.py --link $$link $$test || failed="$$failed $$test over $$link,"; \
	done; done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }
