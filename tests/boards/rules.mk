# SPDX-License-Identifier: Apache-2.0
# Boards without a board: `boards_chip` is the memory chip's model and whether it sees mistakes, `boards_block_ram` the model of ECP5's
# block RAM, for netlists, against what Yosys makes block RAMs of, `boards_memory` a board's memory from
# the device's port on, `boards_block_memory` the one of block RAM, `boards_lights` what each light means, `boards_make` what people
# type, `boards_pins` their pins, `boards_firmware` whether a bitstream has the firmware in it, `boards_ulx3s` all that is
# flashed, at its pins, in short, `boards_ulx3s_usb` the same with the host on USB, `boards_colorlight` the Colorlight i5.
# `boards_own` is one that was made from boards/template, with another oscillator, clock and chip.
# `make test-boards` runs the self test there at the rate that is flashed: an hour and more.

# Models of chips: their processes wait for time, and set what they have at once.
BOARDS_SIMULATED := --timing --timescale 1ns/1ns -Wall -Wno-BLKSEQ --noassert --threads 1 --x-assign fast --x-initial fast -O3 \
    rtl/packaged_core.vlt -Irtl/board -Irtl/fabric -Isim/board -Isim/board/ecp5
BOARDS_MEMORY := $(BUILD)/boards/ulx3s-85f/litedram_core.v
BOARDS_MEMORY_V := $(wildcard rtl/board/*.v rtl/fabric/*.v sim/board/*.v sim/board/ecp5/*.v)

TEST_PROGRAMS += $(addprefix $(BUILD)/tests/boards_,chip block_ram block_memory memory memory_whole lights make pins firmware ulx3s \
    ulx3s_usb colorlight own)

$(BUILD)/tests/boards_chip: tests/boards/chip_test.v sim/board/sdram_chip.v
	@mkdir -p $(@D)
	iverilog -g2012 -Wall -s chip_test -o $@.vvp $(filter %.v,$^)
	@printf '#!/bin/sh\nvvp -N $@.vvp | tee $@.out\ngrep -q " 0 failed$$" $@.out\n' > $@ && chmod +x $@

$(BUILD)/tests/boards_lights: tests/boards/lights_test.v $(wildcard tests/boards/played/*.v) \
    $(addprefix rtl/board/,ferry_sdram_board.v ferry_light.v ferry_stuck.v)
	@mkdir -p $(@D)
	iverilog -g2012 -Wall -Wno-timescale -s lights_test -o $@.vvp $(filter %.v,$^)
	@printf '#!/bin/sh\nvvp -N $@.vvp | tee $@.out\ngrep -q " 0 failed$$" $@.out\n' > $@ && chmod +x $@

# Words of content for each width; Yosys reads them, and so does the source.
BLOCK_RAM := $(BUILD)/boards/block_ram
BLOCK_RAM_WORDS := 1:16384 2:8192 4:4096 9:2048 18:1024
$(BUILD)/tests/boards_block_ram: $(addprefix tests/boards/block_ram_,test.v shapes.v two_ports.v write_and_read.v) \
    sim/board/ecp5/DP16KD.v $(ECP5_CELLS)
	@mkdir -p $(@D) $(BLOCK_RAM)
	for words in $(BLOCK_RAM_WORDS); do awk -v bits=$${words%:*} -v count=$${words#*:} \
	    'BEGIN { srand(1); while (count-- > 0) printf "%x\n", int(rand() * 2 ^ bits) }' > $(BLOCK_RAM)/$${words%:*}.hex; done
	cd $(BLOCK_RAM) && $(YOSYS) -q -p 'read_verilog $(abspath $(wordlist 2,4,$^)); synth_ecp5 -top block_ram_shapes' \
	    -p 'rename block_ram_shapes block_ram_netlist' \
	    -p 'select -assert-count 11 t:DP16KD; write_verilog -noattr netlist.v'
	iverilog -g2012 -DNO_INCLUDES -s block_ram_test -o $@.vvp $(filter %.v,$^) $(BLOCK_RAM)/netlist.v
	@printf '#!/bin/sh\ncd $(BLOCK_RAM) && vvp -N $(abspath $@).vvp $${FERRY_SEED:++seed=$$FERRY_SEED} > $(abspath $@).out\n\
	cat $(abspath $@).out\ngrep -q " 0 failed$$" $(abspath $@).out\n' > $@ && chmod +x $@

# The ULX3S's memory, and one of 32 bits whose data masks are tied.
BOARDS_MEMORY_memory = 25 $(BOARDS_MEMORY)
BOARDS_MEMORY_memory_whole = 23 $(BUILD)/boards/colorlight-i5/litedram_core.v -GADDRESS_BITS=23 -GROW_BITS=11 -GCOLUMN_BITS=8 \
    -GWORD_BITS=32 -GMASKS=0 -GT_REFI=15625

$(addprefix $(BUILD)/tests/boards_,memory memory_whole): $(BUILD)/tests/boards_%: tests/boards/memory_test.cpp \
    tests/boards/memory_under_test.v $(BOARDS_MEMORY_V) sim/board/sdram_rules.h sim/random.h tests/seed.h $(BOARDS_MEMORY) \
    $(BUILD)/boards/colorlight-i5/litedram_core.v rtl/packaged_core.vlt
	@mkdir -p $(@D) $(BUILD)/obj/$(@F)
	$(VERILATOR) --cc --exe --build $(BOARDS_SIMULATED) --prefix Vmemory --Mdir $(BUILD)/obj/$(@F) --top-module memory_under_test \
	    -CFLAGS '-std=c++20 -O2 -Wall -Wextra -Werror $(addprefix -I$(CURDIR)/,sim sim/board)' \
	    -CFLAGS '-DADDRESS_BITS=$(firstword $(BOARDS_MEMORY_$*)) -DTRAFFIC=300000' tests/boards/memory_under_test.v \
	    $(wordlist 2,99,$(BOARDS_MEMORY_$*)) $(abspath $<) -o $(abspath $@) && touch $@

$(BUILD)/tests/boards_block_memory: tests/boards/block_memory_test.cpp rtl/board/ferry_block_memory.v sim/random.h tests/seed.h \
    $(VERILATED_RUNTIME)
	@mkdir -p $(@D) $(BUILD)/obj/$(@F)
	$(VERILATE) --cc -Wall --timescale 1ns/1ns -O3 --prefix Vblock_memory --Mdir $(BUILD)/obj/$(@F) --top-module ferry_block_memory \
	    -GADDRESS_BITS=14 --exe --build -CFLAGS '-O2 -std=c++17 -Wall -Wextra -Werror -I$(CURDIR)/sim -DADDRESS_BITS=14' \
	    rtl/board/ferry_block_memory.v $(abspath $<) -o $(abspath $@) && touch $@

$(BUILD)/tests/boards_make: tests/boards/test_make.py $(wildcard boards/*.py boards/*.mk boards/*/*) $(BOARDS_MEMORY)
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/boards_pins: tests/boards/test_pins.py $(wildcard boards/*/*.lpf boards/*/*.xdc boards/*/ferry_*.v) $(BOARDS_MEMORY)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(BUILD)/boards-venv/bin/python $<\n' > $@ && chmod +x $@

# Firmware RAM alone, placed and packed: seconds.
$(BUILD)/tests/boards_firmware: tests/boards/test_firmware.py boards/firmware.py boards/common.mk $(wildcard boards/colorlight-i5/*) \
    rtl/cpu/ferry_cpu_ram.v $(BUILD)/firmware/firmware.hex $(BOARDS_MEMORY)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec env YOSYS="$(YOSYS)" python3 $<\n' > $@ && chmod +x $@

$(BUILD)/tests/boards_ulx3s: tests/boards/test_board.py $(BUILD)/boards/ulx3s-sim-fast $(BUILD)/ferry
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 $< ulx3s-85f $(BUILD)/boards/ulx3s-sim-fast 12500000\n' > $@ && chmod +x $@

$(BUILD)/tests/boards_ulx3s_usb: tests/boards/test_board.py $(BUILD)/boards/ulx3s-usb-sim $(BUILD)/ferry $(BUILD)/system/libusb_redir.so
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 $< ulx3s-85f-usb $(BUILD)/boards/ulx3s-usb-sim usb\n' > $@ && chmod +x $@

$(BUILD)/tests/boards_colorlight: tests/boards/test_board.py $(BUILD)/boards/colorlight-i5-sim-fast $(BUILD)/ferry
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 $< colorlight-i5 $(BUILD)/boards/colorlight-i5-sim-fast 12500000\n' > $@ && chmod +x $@

# By the Makefile of its own folder. Behind the board whose memory controller is made first: that one installs the generator.
OWN_BOARD := $(BUILD)/own_board
$(BUILD)/boards/own-25f-sim-made: tests/boards/own.py $(wildcard boards/template/*) $(BOARD_MAKES) boards/check.py $(BOARD_SIM_NEEDS) \
    sim/board/board_sim.cpp $(FIRMWARE_HEX) $(BUILD)/obj/sim/server/pty.o $(VENV)/ready
	@rm -rf $(OWN_BOARD) && $(PYTHON) $< $(OWN_BOARD)
	@$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(OWN_BOARD) sim SIXTEENTHS=64 > /dev/null && touch $@
$(BUILD)/tests/boards_own: tests/boards/test_board.py $(BUILD)/boards/own-25f-sim-made $(BUILD)/ferry
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 $< own-25f $(BUILD)/boards/own-25f-sim 12000000\n' > $@ && chmod +x $@

# The netlist's self test: half an hour, or two at the flashed rate (NETLIST_SIXTEENTHS=267). The host is told how slowly bytes come.
.PHONY: test-netlist
SOAKS += test-netlist
test-netlist: $(NETLIST)/sim $(BUILD)/ferry
	@python3 tests/boards/test_board.py ulx3s-25f $< $$((800000000 / $(NETLIST_SIXTEENTHS)))@1200 info 'selftest --pages 2'

.PHONY: test-boards
SOAKS += test-boards
test-boards: $(BUILD)/boards/ulx3s-sim $(BUILD)/boards/ulx3s-usb-sim $(BUILD)/ferry $(BUILD)/system/libusb_redir.so
	@python3 tests/boards/test_board.py ulx3s-85f-usb $(BUILD)/boards/ulx3s-usb-sim usb info selftest
	@python3 tests/boards/test_board.py ulx3s-85f $(BUILD)/boards/ulx3s-sim 3000000 info selftest
