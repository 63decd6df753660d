# SPDX-License-Identifier: Apache-2.0
# The USB port: a transport around the device, as the serial port is. Its core is written by a package's generator.

USB_CORE := $(BUILD)/usb/ferry_usb_core.v
RTL_USB := $(wildcard rtl/usb/*.v) rtl/serial/ferry_framed_device.v $(RTL_FRAMES)
USB_DEVICE = --top-module ferry_usb_device -Irtl/serial -GCPU_CORE='"$(CPU_CORE)"' $(wildcard rtl/usb/*.v) \
    rtl/serial/ferry_framed_device.v $(USB_CORE) $(RTL_CORE)
usb_reads = -p "read_verilog -I$(GENERATED) $(addprefix -I,$(RTL_FOLDERS)) $(RTL_USB) $(USB_CORE) $(filter %.v,$(RTL_SOURCES)) \
    $(RTL_CORE); hierarchy -check -top ferry_usb_device; proc; opt_clean; check -assert"

$(USB_CORE): rtl/usb/usb_core.py $(GENERATED)/ferry_usb.h $(VENV)/ready
	@mkdir -p $(@D)
	$(PYTHON) -B $< $(GENERATED)/ferry_usb.h $@

LINTS += lint-rtl-usb
.PHONY: lint-rtl-usb
lint-rtl-usb: $(BUILD)/rtl/lint-usb.stamp

$(BUILD)/rtl/lint-usb.stamp: $(RTL_USB) $(USB_CORE) $(RTL_SOURCES) sim/ferry_usb_simulated.v $(CONTRACT) rtl/packaged_core.vlt $(VENV)/ready
	@mkdir -p $(@D)
	$(VERILATOR) --lint-only $(RTL_FLAGS) $(USB_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) -GCONFIGURATION='"tiny"' -GCLOCKS_PER_US=24 $(USB_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) $(SIM_USB_TOP)
	$(YOSYS) $(YOSYS_STRICT) $(usb_reads)
	@touch $@
