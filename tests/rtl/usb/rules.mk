# SPDX-License-Identifier: Apache-2.0
# The USB port at its pins, with a host controller at the other end of the wires.

TEST_PROGRAMS += $(BUILD)/tests/rtl_usb

$(BUILD)/tests/rtl_usb: $(wildcard tests/rtl/usb/*.cpp tests/rtl/usb/*.h) rtl/usb/ferry_usb_port.v $(USB_CORE) \
    sim/usb_host.h sim/usb_wire.h tests/seed.h rtl/packaged_core.vlt $(VERILATED_RUNTIME)
	@mkdir -p $(BUILD)/tests $(BUILD)/obj/rtl_usb
	$(VERILATE) --cc --exe --build -O3 --x-assign unique --x-initial unique -Wall --timescale 1ns/1ns --top-module ferry_usb_port \
	    -CFLAGS '-O2 -std=c++17 -Wall -Wextra -Werror' -CFLAGS '-I$(CURDIR)/sim' --Mdir $(BUILD)/obj/rtl_usb \
	    rtl/packaged_core.vlt rtl/usb/ferry_usb_port.v $(USB_CORE) $(abspath $(filter %.cpp,$^)) -o $(abspath $@) && touch $@
