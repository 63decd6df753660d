# SPDX-License-Identifier: Apache-2.0
# Set-up and the commands that people type. The targets themselves are filled by the rooms' rules.mk.

# What was found of scripts/tools.txt; names the firmware's compiler.
TOOLS := $(BUILD)/tools.mk

# `make install TOOLS_FOR=install`, for packages: nothing is looked for that only tests, proofs and figures need.
ifneq ($(filter-out install,$(TOOLS_FOR)),)
$(error TOOLS_FOR is "install" or nothing, not "$(TOOLS_FOR)")
endif
SETUP := TOOLS_FOR='$(TOOLS_FOR)' scripts/setup.sh

$(TOOLS): scripts/tools.txt scripts/setup.sh
	@$(SETUP) tools $@

# What only says something, or takes away, needs no tools; nor does asking what make would do.
NEEDS_NOTHING := help clean print-libs uninstall
CHANGES_NOTHING := $(if $(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),help)),$(if \
    $(findstring n,$(filter-out --% %=%,$(firstword $(MAKEFLAGS)))),yes),yes)

# After an upgrade of the system, with another PATH or in another folder: what is there is of other tools.
ifneq ($(CHANGES_NOTHING),yes)
STALE := $(shell $(SETUP) stale $(TOOLS) $(VENV))
ifneq ($(STALE),)
.PHONY: stale
$(STALE): stale
endif
endif

$(VENV)/ready: $(addprefix scripts/requirements,.txt -install.txt -sweep.txt) scripts/setup.sh $(TOOLS)
	@$(SETUP) python $(VENV)

# Where the packaged soft cores keep their Verilog.
$(BUILD)/setup.mk: $(TOOLS) $(VENV)/ready scripts/rules.mk
	@$(PYTHON) -c 'import pythondata_cpu_vexriscv as v, pythondata_cpu_picorv32 as p; \
	    print("VEXRISCV := " + v.data_location + "\nPICORV32 := " + p.data_location)' > $@.new && mv $@.new $@

.PHONY: help setup clean
help:
	@echo "make demo    replay a game's memory trace through the whole machine and show video memory"
	@echo "make test    every test; ends with 'N passed, N failed'"
	@echo "make install  library, headers, tools and manual pages into PREFIX (/usr/local); make uninstall takes them away"
	@echo "make requirements  the registry of the last test run: R-number, test, result, miniport, back end"
	@echo "make lint    warnings, format and style checks"
	@echo "make formal  prove the properties beside the RTL"
	@echo "make bench   measure; writes build/bench.json and build/bench.md; make bench-readme: docs/manual/figures.md and README too"
	@echo "make bench-pnr     place and route: how fast the clock may be (fetches its tool)"
	@echo "make timing-diagrams  draw docs/manual/timing.md anew from waves"
	@echo "make test-guest  the simulated device in the PCI slot, and on the USB, of a virtual machine with Debian's kernel (wants QEMU)"
	@echo "make test-fresh    both commands of README on a bare Debian 12 and 13 (root, debootstrap)"
	@echo "make example-engine  the copy engine alone, as another design would use it"
	@echo "make example-packets  the device with packets put together by hand: a copy, a walk of page tables, a fault"
	@echo "make mutation  mistakes made one at a time in a copy of the tree: does the named test see each?"
	@echo "make -C boards/ulx3s   what can be made for a board; make test-boards, test-netlist run its self test on a simulated one"
	@echo "make soak    the long campaigns"
	@echo "make clean   remove build/ but for the Python environment"

setup: $(BUILD)/setup.mk

# The commands of README on bare systems, one after the other: each uses all cores. Takes root, debootstrap and half an hour.
FRESH := bookworm trixie
.PHONY: test-fresh
test-fresh:
	@failed=0; for release in $(FRESH); do scripts/fresh.sh $(BUILD)/fresh $$release || failed=1; done; exit $$failed

# All cores would build and remove at the same time.
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
clean:
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv ! -name tools.mk ! -name setup.mk -exec rm -rf {} + 2>/dev/null; true

.PHONY: lint-style format
LINTS += lint-style
lint-style: $(VENV)/ready
	@FORMATTER=$(VENV)/bin/clang-format scripts/lint.sh

format: $(VENV)/ready
	@$(VENV)/bin/clang-format -i $$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp')
