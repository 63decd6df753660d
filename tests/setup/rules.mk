# SPDX-License-Identifier: Apache-2.0
# Tests of what stands around the project: set-up, the runner of tests, the makefiles.
TEST_PROGRAMS += $(BUILD)/tests/setup $(BUILD)/tests/run_tests $(BUILD)/tests/rebuild $(BUILD)/tests/scripts

$(BUILD)/tests/setup: tests/setup/test_setup.py tests/setup/cases.py scripts/setup.sh scripts/tools.txt
	@mkdir -p $(@D)
	@install -m 755 $< $@

$(BUILD)/tests/run_tests: tests/setup/test_run_tests.py tests/setup/cases.py scripts/run_tests.py
	@mkdir -p $(@D)
	@install -m 755 $< $@

$(BUILD)/tests/scripts: tests/setup/test_scripts.py tests/setup/cases.py scripts/lint.sh scripts/fresh.sh
	@mkdir -p $(@D)
	@install -m 755 $< $@

# Runs when all programs are made, as every test does.
$(BUILD)/tests/rebuild: tests/setup/test_rebuild.py tests/setup/cases.py
	@mkdir -p $(@D)
	@install -m 755 $< $@
