# SPDX-License-Identifier: Apache-2.0
# A board at its pins, from power-on. With its serial port at a pseudo terminal: build/boards/ulx3s-sim at the rate that is flashed,
# ulx3s-sim-fast at 12.5 Mbaud, for tests, and colorlight-i5-sim-fast. With its USB wires at a host controller's port: ulx3s-usb-sim.

BOARD_SIM := $(BUILD)/boards/sim
BOARD_SIM_TOP = --top-module ulx3s_pins -GFIRMWARE_HEX='"$(FIRMWARE_HEX)"' -Iboards/ulx3s sim/board/ulx3s_pins.v \
    $(BUILD)/boards/ulx3s-85f/litedram_core.v $(USB_CORE) $(RTL_CORE)
BOARD_SIM_COLORLIGHT = --top-module colorlight_i5_pins -GFIRMWARE_HEX='"$(FIRMWARE_HEX)"' -Iboards/colorlight-i5 \
    sim/board/colorlight_i5_pins.v $(BUILD)/boards/colorlight-i5/litedram_core.v $(RTL_CORE)
# Processes of the chips' models wait for time and set what they have at once.
BOARD_SIM_FLAGS := --timing $(RTL_FLAGS) -Wno-BLKSEQ $(addprefix -I,rtl/serial rtl/usb rtl/board sim/board sim/board/ecp5) \
    sim/board/ecp5/cells.vlt
BOARD_SIM_NEEDS := $(wildcard sim/board/*.v sim/board/*.h sim/usb_*.h sim/board/ecp5/* boards/*/*.v rtl/board/*.v rtl/usb/*.v) \
    $(RTL_SERIAL) $(USB_CORE) $(RTL_SOURCES) $(CONTRACT) rtl/packaged_core.vlt sim/board/rules.mk \
    $(BUILD)/boards/ulx3s-85f/litedram_core.v $(BUILD)/boards/colorlight-i5/litedram_core.v

$(BUILD)/boards/ulx3s-sim: BOARD_SIM_IS := -GBIT_SIXTEENTHS=267
$(BUILD)/boards/ulx3s-sim-fast: BOARD_SIM_IS := -GBIT_SIXTEENTHS=64
$(BUILD)/boards/colorlight-i5-sim-fast: BOARD_SIM_IS := -GBIT_SIXTEENTHS=64
$(BUILD)/boards/colorlight-i5-sim-fast: BOARD_SIM_WHAT = $(BOARD_SIM_COLORLIGHT)
$(BUILD)/boards/ulx3s-usb-sim: BOARD_SIM_IS := -GNAME='"ulx3s-85f-usb"' -GTRANSPORT='"usb"'
$(BUILD)/boards/ulx3s-usb-sim: BOARD_SIM_LIBS := -LDFLAGS -lusbredirparser
# A board of one's own, by `make sim` in its folder (boards/common.mk), which says the folder, its name and top, the oscillator's MHz and
# the top's parameters.
ifdef OWN_NAME
OWN_SIM := $(BUILD)/boards/$(OWN_NAME)-sim
OWN_CORE := $(BUILD)/boards/$(OWN_NAME)/litedram_core.v
$(OWN_SIM): BOARD_SIM_IS := $(if $(SIXTEENTHS),-DSIXTEENTHS=$(SIXTEENTHS)) '-DOPTIONS=$(OWN_OPTIONS)' \
    -CFLAGS -DHALF_CLOCK=$(shell awk 'BEGIN { printf "%.0f", 500000 / $(OWN_MHZ) }')
$(OWN_SIM): BOARD_SIM_WHAT = --top-module board_pins -GFIRMWARE_HEX='"$(FIRMWARE_HEX)"' \
    $(OWN_FOLDER)/board_pins.v $(OWN_FOLDER)/$(OWN_TOP).v $(OWN_CORE) $(RTL_CORE)
$(OWN_SIM): BOARD_SIM_OPT := -O1
$(OWN_SIM): sim/board/board_sim.cpp $(BUILD)/obj/sim/server/pty.o $(wildcard $(OWN_FOLDER)/*.v) $(OWN_CORE)
endif
# Half the time of a compilation at -O2, for three quarters of the speed: tests are short.
$(BUILD)/boards/ulx3s-sim-fast $(BUILD)/boards/colorlight-i5-sim-fast: BOARD_SIM_OPT := -O1
$(addprefix $(BUILD)/boards/,ulx3s-sim ulx3s-sim-fast colorlight-i5-sim-fast): sim/board/board_sim.cpp $(BUILD)/obj/sim/server/pty.o
$(BUILD)/boards/ulx3s-usb-sim: sim/board/board_usb_sim.cpp $(addprefix $(BUILD)/obj/,sim/server/redir.o host-driver/link/socket_address.o \
    host-driver/link/problem.o)
$(OWN_SIM) $(addprefix $(BUILD)/boards/,ulx3s-sim ulx3s-sim-fast ulx3s-usb-sim colorlight-i5-sim-fast): $(BOARD_SIM_NEEDS) $(FIRMWARE_HEX) \
    $(VENV)/ready
	@mkdir -p $(BOARD_SIM)/$(@F)
	@echo "building a board at its pins: $(@F)"
	$(VERILATOR) --cc --exe --no-skip-identical -O3 --x-assign fast --x-initial fast --noassert --flatten --threads 1 --output-split 0 \
	    $(BOARD_SIM_FLAGS) $(BOARD_SIM_IS) $(or $(BOARD_SIM_WHAT),$(BOARD_SIM_TOP)) --prefix Vboard --Mdir $(BOARD_SIM)/$(@F) \
	    -CFLAGS '-std=c++20 -O2 -Wall -Wextra $(addprefix -I$(CURDIR)/,sim sim/board host-driver $(GENERATED))' \
	    $(abspath $(filter %.cpp %.o,$^)) $(BOARD_SIM_LIBS) -o $(abspath $@)
	$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(BOARD_SIM)/$(@F) -f Vboard.mk OPT_FAST=$(or $(BOARD_SIM_OPT),-O2) OPT_SLOW=-O1 \
	    OPT_GLOBAL=-O2 CXX=$(CXX) VM_PARALLEL_BUILDS=0 $(abspath $@) && touch $@

# Yosys's own models of the cells that it makes, but for those that say nothing (block RAM) or that Verilator cannot read (a pin that asks
# whether its driver is there): sim/board/ecp5 has them.
YOSYS_DATA = $(dir $(realpath $(shell command -v $(YOSYS))))../share/yosys
ECP5_CELLS := $(BUILD)/boards/ecp5_cells.v
$(ECP5_CELLS): sim/board/rules.mk $(TOOLS)
	@mkdir -p $(@D)
	sed -e '/^module TRELLIS_IO/,/^endmodule/d' -e '/^module DP16KD/,/^endmodule/d' $(YOSYS_DATA)/ecp5/cells_sim.v > $@

# The netlist that is placed for the ULX3S with an LFE5U-25F, at its pins; at 12.5 Mbaud, or at the rate that is flashed with
# NETLIST_SIXTEENTHS=267. Yosys puts its own models in the place of LUTs, carries and flip-flops, and takes out what their settings leave
# of no use; memories, pins and PLL are modules still. It runs at some 15 kHz: there is code for each gate, more than a cache holds, so what
# is small is fast.
NETLIST_SIXTEENTHS ?= 64
NETLIST := $(BUILD)/boards/ulx3s-netlist-$(NETLIST_SIXTEENTHS)
NETLIST_LOGIC := t:LUT2 t:LUT4 t:PFUMX t:L6MUX21 t:CCU2C t:TRELLIS_FF
$(NETLIST)/netlist.json: $(RTL_SOURCES) $(RTL_SERIAL) $(CONTRACT) $(FIRMWARE_HEX) $(wildcard boards/ulx3s/* rtl/board/*.v) \
    boards/common.mk $(BUILD)/boards/ulx3s-85f/litedram_core.v
	@$(ALONE) $(MAKE_COMMAND) --no-print-directory -C boards/ulx3s netlist FPGA=25f OUT=$(abspath $(@D)) \
	    PARAMETERS='-set BIT_SIXTEENTHS $(NETLIST_SIXTEENTHS)' && touch $@
$(NETLIST)/netlist.v: $(NETLIST)/netlist.json sim/board/rules.mk
	@echo "its gates"
	$(YOSYS) -q -l $(@D)/gates.log -p 'read_json $<; hierarchy -top ferry_ulx3s; setattr -mod -unset keep_hierarchy *; flatten' \
	    -p 'techmap -autoproc -D NO_INCLUDES -map +/ecp5/cells_sim.v $(NETLIST_LOGIC)' \
	    -p 'select -assert-none $(NETLIST_LOGIC); simplemap; opt; splitnets; clean -purge; write_verilog -noattr $@'
$(NETLIST)/sim: $(NETLIST)/netlist.v $(ECP5_CELLS) $(BOARD_SIM_NEEDS) sim/board/board_sim.cpp $(BUILD)/obj/sim/server/pty.o
	@echo "building a netlist at its pins: $@"
	$(VERILATOR) --cc --exe --timing --timescale 1ns/1ps -O3 --x-assign fast --x-initial fast --noassert --threads 1 \
	    --output-split 40000 --output-split-cfuncs 2000 -Wno-fatal -Wno-lint -DNETLIST -DNO_INCLUDES -y sim/board -y sim/board/ecp5 \
	    --top-module ulx3s_pins --prefix Vboard --Mdir $(@D)/model \
	    -CFLAGS '-std=c++20 $(addprefix -I$(CURDIR)/,sim sim/board host-driver $(GENERATED))' \
	    $(ECP5_CELLS) $< sim/board/ulx3s_pins.v $(abspath $(filter %.cpp %.o,$^)) -o $(abspath $@) > $(@D)/verilator.log 2>&1 || \
	    { grep -v '^%Warning' $(@D)/verilator.log; exit 1; }
	$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(@D)/model -f Vboard.mk OPT_FAST=-Os OPT_SLOW=-O0 OPT_GLOBAL=-O2 CXX=$(CXX) \
	    VM_PARALLEL_BUILDS=1 $(abspath $@) && touch $@

# What the packaged generator writes for a board, by the board's own Makefile.
BOARD_MAKES := $(wildcard boards/*/litedram.yml boards/*/Makefile) boards/memory.py boards/common.mk boards/requirements.txt
$(BUILD)/boards/ulx3s-85f/litedram_core.v: $(BOARD_MAKES)
	@$(ALONE) $(MAKE_COMMAND) --no-print-directory -C boards/ulx3s memory && touch $@
# Behind the other one: the first of them installs the generator.
$(BUILD)/boards/colorlight-i5/litedram_core.v: $(BOARD_MAKES) | $(BUILD)/boards/ulx3s-85f/litedram_core.v
	@$(ALONE) $(MAKE_COMMAND) --no-print-directory -C boards/colorlight-i5 memory && touch $@

LINTS += lint-board
.PHONY: lint-board
lint-board: $(BUILD)/rtl/lint-board.stamp
$(BUILD)/rtl/lint-board.stamp: $(BOARD_SIM_NEEDS) $(VENV)/ready
	@mkdir -p $(@D)
	$(VERILATOR) --lint-only $(BOARD_SIM_FLAGS) $(BOARD_SIM_TOP)
	$(VERILATOR) --lint-only $(BOARD_SIM_FLAGS) -GNAME='"ulx3s-85f-usb"' -GTRANSPORT='"usb"' $(BOARD_SIM_TOP)
	$(VERILATOR) --lint-only $(BOARD_SIM_FLAGS) --top-module board_pins boards/template/board_pins.v boards/template/ferry_template.v \
	    $(BUILD)/boards/ulx3s-85f/litedram_core.v $(RTL_CORE)
	$(VERILATOR) --lint-only $(BOARD_SIM_FLAGS) $(BOARD_SIM_COLORLIGHT)
	$(YOSYS) $(YOSYS_STRICT) -p "read_verilog rtl/board/ferry_dram_port.v rtl/board/ferry_dram_start.v rtl/board/ferry_light.v \
	    rtl/board/ferry_stuck.v rtl/fabric/ferry_fifo.v rtl/fabric/ferry_skid_buffer.v; hierarchy -check; proc; opt_clean; check -assert"
	@touch $@
