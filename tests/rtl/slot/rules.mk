# SPDX-License-Identifier: Apache-2.0
# Between a hard PCI Express block and the device: what is copied of the block's registers, and what its credits let go. Seconds, where
# cocotb_slot has the device and a root complex besides.

$(BUILD)/tests/rtl_slot: tests/rtl/slot/slot_test.v $(addprefix rtl/slot/,ferry_slot_mirror.v ferry_slot_credits.v) $(CONTRACT)
	@mkdir -p $(@D)
	iverilog -g2012 -Wall -Wno-timescale -I$(GENERATED) -s slot_test -o $@.vvp $(filter %.v,$^)
	@printf '#!/bin/sh\nvvp -N $@.vvp | tee $@.out\ngrep -q " 0 failed$$" $@.out\n' > $@ && chmod +x $@

TEST_PROGRAMS += $(BUILD)/tests/rtl_slot
