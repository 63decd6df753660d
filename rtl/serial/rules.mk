# SPDX-License-Identifier: Apache-2.0
# The serial port: a transport around the device, not a part of it. So it has its own lint and size, and the device's
# figures do not depend on it.

RTL_SERIAL := $(wildcard rtl/serial/*.v)
# The frames alone, and the pins' bytes, without a device.
RTL_FRAMES := $(filter-out %_device.v,$(RTL_SERIAL))
FRAMES_ALONE := $(RTL_FRAMES) rtl/fabric/ferry_letters.v
SERIAL_DEVICE = --top-module ferry_serial_device -Irtl/serial -GCPU_CORE='"$(CPU_CORE)"' \
    rtl/serial/ferry_serial_device.v rtl/serial/ferry_framed_device.v $(RTL_CORE)
serial_reads = -p "read_verilog -I$(GENERATED) $(addprefix -I,$(RTL_FOLDERS)) $(RTL_SERIAL) $(filter %.v,$(RTL_SOURCES)) \
    $(RTL_CORE); hierarchy -check -top ferry_serial_device; proc; opt_clean; check -assert"

LINTS += lint-rtl-serial
.PHONY: lint-rtl-serial area-rtl-serial
lint-rtl-serial: $(BUILD)/rtl/lint-serial.stamp

$(BUILD)/rtl/lint-serial.stamp: $(RTL_SERIAL) $(RTL_SOURCES) sim/ferry_serial_simulated.v $(CONTRACT) rtl/packaged_core.vlt $(VENV)/ready
	@mkdir -p $(@D)
	$(VERILATOR) --lint-only $(RTL_FLAGS) $(SERIAL_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) -GCONFIGURATION='"tiny"' -GBIT_SIXTEENTHS=267 -GLG_RECEIVE=10 -GLG_SEND=12 \
	    $(SERIAL_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) $(SIM_SERIAL_TOP)
	$(YOSYS) $(YOSYS_STRICT) $(serial_reads)
	@touch $@

# LUT4, flip-flops and block RAMs of the frames, without the UART, as Yosys counts them for iCE40.
area-rtl-serial: $(CONTRACT)
	@mkdir -p $(BUILD)/area
	$(YOSYS) -q -p 'read_verilog -I$(GENERATED) $(FRAMES_ALONE); synth_ice40 -top ferry_frames; tee -o $(BUILD)/area/frames.txt stat'
	@awk '/ SB_LUT4/ { l = $$2 } /SB_DFF/ { f += $$2 } /SB_RAM40_4K/ { r = $$2 } \
	    END { print "rtl/serial, ferry_frames: " l " LUT4, " f " flip-flops, " r " block RAMs" }' $(BUILD)/area/frames.txt

# The stores and what goes round in them, numbers and credits, requests that are set aside: for all time. And from reset on: bytes
# over the line.
FORMAL_SERIAL_STORE := ferry_byte_store 3,12 "-set LG_BYTES 3" rtl/serial/ferry_byte_store.v
FORMAL_SERIAL_ENCODE := ferry_frame_encode 3,16 "" rtl/serial/ferry_frame_crc.v rtl/serial/ferry_frame_encode.v
FORMAL_SERIAL_SEND := ferry_frame_send 3,14 "-set LG_BYTES 10 -set RESEND_CLOCKS 20" rtl/serial/ferry_byte_store.v \
	rtl/fabric/ferry_letters.v -- rtl/serial/ferry_frame_send.v
FORMAL_SERIAL_DELIVER := ferry_frame_deliver 3,30 "-set LG_BYTES 10" rtl/serial/ferry_frame_deliver.v
FORMAL_SERIAL_LINE := serial_line 52,52:bounded "" rtl/serial/ferry_uart_receive.v rtl/serial/ferry_uart_transmit.v -- \
	tests/formal/serial_line.v

FORMAL_SERIAL := STORE ENCODE SEND DELIVER LINE
FORMAL_ALL += $(addprefix SERIAL_,$(FORMAL_SERIAL))
FORMAL += $(addprefix formal-serial-,$(FORMAL_SERIAL))

.PHONY: $(addprefix formal-serial-,$(FORMAL_SERIAL))
$(addprefix formal-serial-,$(FORMAL_SERIAL)): formal-serial-%: $(CONTRACT)
	@tests/formal/prove.sh $(BUILD)/formal/serial-$* $(GENERATED) $(FORMAL_SERIAL_$*)
