# SPDX-License-Identifier: Apache-2.0
# Under a root complex that nobody here wrote, cocotbext-pcie, on Icarus Verilog: the device, and with what a board in a slot has around
# it, the link block's ports played by hard_block.py.

COCOTB_TESTS := $(BUILD)/tests/cocotb $(BUILD)/tests/cocotb_slot
COCOTB_FOLDERS := $(RTL_FOLDERS) rtl/slot rtl/board
COCOTB_SOURCES := $(RTL_SOURCES) $(wildcard rtl/slot/*.v) rtl/board/ferry_block_memory.v
COCOTB_OF_cocotb := root_complex
COCOTB_OF_cocotb_slot := slot
TEST_PROGRAMS += $(COCOTB_TESTS)
LONG_RANDOM += $(COCOTB_TESTS)

$(COCOTB_TESTS): $(wildcard tests/cocotb/*) $(COCOTB_SOURCES) $(CONTRACT) $(BUILD)/firmware/firmware.bin $(VENV)/ready
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) tests/cocotb/run.py $(COCOTB_OF_$(@F)) $(BUILD)/$(@F) $(BUILD)/firmware/firmware.bin %s %s %s\n' \
	    "$(RTL_CORE)" "$(GENERATED):$(subst $() ,:,$(strip $(COCOTB_FOLDERS)))" "$(filter %.v,$(COCOTB_SOURCES))" > $@
	@chmod +x $@
