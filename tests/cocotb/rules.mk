# SPDX-License-Identifier: Apache-2.0
# The device under a root complex that nobody here wrote: cocotbext-pcie, on Icarus Verilog.

TEST_PROGRAMS += $(BUILD)/tests/cocotb
LONG_RANDOM += $(BUILD)/tests/cocotb

$(BUILD)/tests/cocotb: $(wildcard tests/cocotb/*) $(RTL_SOURCES) $(CONTRACT) $(BUILD)/firmware/firmware.bin $(VENV)/ready
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) tests/cocotb/run.py $(BUILD)/cocotb $(BUILD)/firmware/firmware.bin %s %s %s\n' \
	    "$(RTL_CORE)" "$(GENERATED):$(subst $() ,:,$(strip $(RTL_FOLDERS)))" "$(filter %.v,$(RTL_SOURCES))" > $@
	@chmod +x $@
