# SPDX-License-Identifier: Apache-2.0
TEST_PROGRAMS += $(BUILD)/tests/setup

$(BUILD)/tests/setup: tests/setup/test_setup.py scripts/setup.sh scripts/tools.txt
	@mkdir -p $(@D)
	@install -m 755 $< $@
