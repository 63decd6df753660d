# SPDX-License-Identifier: Apache-2.0
# Set-up and the commands that people type. The targets themselves are filled by the rooms' rules.mk.

PACKAGES_STAMP := $(BUILD)/packages.stamp

$(PACKAGES_STAMP): scripts/packages.txt scripts/setup.sh
	@scripts/setup.sh packages $@

$(VENV)/ready: scripts/requirements.txt scripts/setup.sh $(PACKAGES_STAMP)
	@scripts/setup.sh python $(VENV)

# Where the packaged soft cores keep their Verilog.
$(BUILD)/setup.mk: $(PACKAGES_STAMP) $(VENV)/ready scripts/rules.mk
	@$(PYTHON) -c 'import pythondata_cpu_vexriscv as v, pythondata_cpu_picorv32 as p; \
	    print("VEXRISCV := " + v.data_location + "\nPICORV32 := " + p.data_location)' > $@

.PHONY: help setup clean
help:
	@echo "make demo    replay a game's memory trace through the whole machine and show video memory"
	@echo "make test    every test; ends with 'N passed, N failed'"
	@echo "make requirements  the registry of the last test run: R-number, test, result"
	@echo "make lint    warnings, format and style checks"
	@echo "make formal  prove the properties beside the RTL"
	@echo "make bench   measure; writes build/bench.json and the table in README.md"
	@echo "make soak    the long campaigns"
	@echo "make clean   remove build/ but for the Python environment"

setup: $(BUILD)/setup.mk

clean:
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv ! -name packages.stamp ! -name setup.mk -exec rm -rf {} + 2>/dev/null; true

.PHONY: lint-style format
LINTS += lint-style
lint-style:
	@scripts/lint.sh

format:
	@clang-format -i $$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp')
