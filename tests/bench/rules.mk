# SPDX-License-Identifier: Apache-2.0
# `make bench`: every benchmark leaves rows in build/bench/, collect.py puts them together, in build/ only.

BENCHES += bench-replay
TEST_PROGRAMS += $(BUILD)/tests/bench_collect

# As the demo, shorter and without pictures: neverball's frames are alike from the second on.
# It measures the simulation's speed, so nothing else may run beside it.
.PHONY: bench bench-replay bench-readme bench-luts
bench-replay: $(BUILD)/ferry | $$(filter-out bench-replay,$$(BENCHES))
	@mkdir -p $(BUILD)/bench/figures
	$(BUILD)/ferry replay $(DEMO_TRACE) --vram 5M --frames 20 --backend sim --quiet --json $(BUILD)/bench/figures/replay.json \
	    > $(BUILD)/bench/figures/replay.txt
	$(BUILD)/ferry replay $(DEMO_TRACE) --vram 5M --frames 20 --backend sim --quiet --model 1 --json $(BUILD)/bench/figures/replay1.json \
	    > $(BUILD)/bench/figures/replay1.txt
	$(BUILD)/ferry replay $(DEMO_TRACE) --vram 5M --frames 20 --backend sim --quiet --tables system \
	    --json $(BUILD)/bench/figures/replay-tables.json > $(BUILD)/bench/figures/replay-tables.txt
	@python3 tests/bench/collect.py replay $(BUILD)/bench/figures/replay.json $(BUILD)/bench/figures/replay1.json \
	    $(BUILD)/bench/figures/replay-tables.json $(BUILD)/bench/replay.json

# Several programs: one within its budget beside two that take all they can get, and three alike that need twice what there
# is. The model's time is enough for both.
BENCHES += $(BUILD)/bench/programs.json
BENCH_PROGRAM = $(BUILD)/ferry replay --backend model --quiet --seed 3 --json $(BUILD)/bench/figures
$(BUILD)/bench/programs.json: $(BUILD)/ferry tests/bench/collect.py
	@mkdir -p $(BUILD)/bench/figures
	$(BENCH_PROGRAM)/protected.json $(DEMO_TRACE) $(DEMO_TRACE) $(DEMO_TRACE) --vram 9M --frames 30 --weights 3,1,1 > /dev/null
	$(BENCH_PROGRAM)/alone.json $(DEMO_TRACE) --vram 9M --frames 30 > /dev/null
	$(BENCH_PROGRAM)/equal.json $(DEMO_TRACE) $(DEMO_TRACE) $(DEMO_TRACE) --vram 7984K --frames 60 > /dev/null
	@python3 tests/bench/collect.py programs $(foreach name,protected alone equal,$(BUILD)/bench/figures/$(name).json) $@

# Paging over the link, the firmware's cost and preemption, on the device as it ships.
BENCHES += $(BUILD)/bench/path.json
$(BUILD)/bench/path: tests/bench/path.c tests/bench/machine.h $(BUILD)/libferry.a $(wildcard host-driver/device/*.h host-driver/link/*.h) \
    $(FLAGS) | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $< $(BUILD)/libferry.a -o $@ $(SIM_LIBS) $(LDLIBS)

$(BUILD)/bench/path.json: $(BUILD)/bench/path
	@$< $@.new && mv $@.new $@

# Bytes of a serial port and of a USB port that are payload.
BENCHES += $(BUILD)/bench/share.json
$(BUILD)/bench/share: tests/bench/share.c tests/bench/machine.h $(SIM_SERIAL_OBJECTS) $(SIM_USB_OBJECTS) $(BUILD)/libferry.a \
    $(wildcard host-driver/device/*.h host-driver/link/*.h sim/*.h) $(FLAGS) | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) -c $< -o $@.o
	$(CXX) $@.o $(filter %.o %.a,$^) $(SIM_LIBS) $(LDLIBS) -o $@

$(BUILD)/bench/share.json: $(BUILD)/bench/share
	@$< $@.new && mv $@.new $@

# A vertex buffer that is discarded before each draw.
BENCHES += $(BUILD)/bench/rename.json
$(BUILD)/bench/rename: tests/bench/rename.c $(BUILD)/libferry.a $(FLAGS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $< $(BUILD)/libferry.a -o $@ $(SIM_LIBS) $(LDLIBS)

$(BUILD)/bench/rename.json: $(BUILD)/bench/rename
	@$< $@.new && mv $@.new $@

# GPU virtual addresses, mapped and unmapped.
BENCHES += $(BUILD)/bench/addresses.json
$(BUILD)/bench/addresses: tests/bench/addresses.c $(BUILD)/libferry.a $(wildcard host-driver/vidmm/space/*.h) $(FLAGS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $< $(BUILD)/libferry.a -o $@ $(SIM_LIBS) $(LDLIBS)

$(BUILD)/bench/addresses.json: $(BUILD)/bench/addresses
	@$< $@.new && mv $@.new $@

# What the manager's decisions cost.
BENCHES += $(BUILD)/bench/manager.json
$(BUILD)/bench/manager: tests/bench/manager.c tests/seed.h $(BUILD)/libferry.a \
    $(wildcard host-driver/vidmm/space/*.h) $(FLAGS) | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $< $(BUILD)/libferry.a -o $@ $(SIM_LIBS) $(LDLIBS)

$(BUILD)/bench/manager.json: $(BUILD)/bench/manager
	@$< $@.new && mv $@.new $@

# What it pages in on every trace: whole traces without a byte moved, a minute in all.
BENCHES += $(BUILD)/bench/policy.json
$(BUILD)/bench/policy.json: tests/bench/policy.py $(BUILD)/ferry $(wildcard tests/data/*.gz)
	@mkdir -p $(@D)
	@python3 $< $(BUILD)/ferry $@.new && mv $@.new $@

# And what the miniport's part costs.
BENCHES += $(BUILD)/bench/build_paging.json
$(BUILD)/bench/build_paging: tests/bench/build_paging.c $(BUILD)/libferry.a $(HOST_HEADERS) $(wildcard sim/model/*.h) $(FLAGS) | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $< $(BUILD)/libferry.a -o $@ $(SIM_LIBS) $(LDLIBS)

$(BUILD)/bench/build_paging.json: $(BUILD)/bench/build_paging
	@$< $@.new && mv $@.new $@

# Rows of a benchmark that is gone, or of place and route before the RTL changed, are of another device.
BENCH_PNR := $(BUILD)/bench/pnr-device.json $(BUILD)/bench/pnr-linear.json
BENCH_ROWS = $(filter %.json,$(BENCHES)) $(BUILD)/bench/replay.json \
    $(foreach rows,$(BENCH_PNR),$(if $(shell find $(RTL_SOURCES) $(CONTRACT) -newer $(rows) 2>/dev/null),,$(rows)))

bench: $$(BENCHES)
	@rm -f $(filter-out $(BENCH_ROWS),$(wildcard $(BUILD)/bench/*.json))
	@python3 tests/bench/collect.py collect $(BUILD)/bench $(BUILD)/bench.json $(BUILD)/bench.md \
	    --figures $(BENCH_LUTS) $(BENCH_SOURCES)

bench-readme: bench
	@python3 tests/bench/collect.py pages $(BUILD)/bench.md docs/manual/figures.md README.md

# The committed LUTs of each Yosys that was tried, with a digest of the RTL that they are of.
BENCH_LUTS := tests/bench/luts.json
BENCH_SOURCES = --sources $(RTL_SOURCES) $(filter %.vh,$(CONTRACT)) rtl/synthesis.sh rtl/lut.py
bench-luts: $(BUILD)/bench/lut.json
	@python3 tests/bench/collect.py record $< $(BENCH_LUTS) $(BENCH_SOURCES)

# The other Yosys: that of the newest Debian, on what is committed here.
.PHONY: bench-luts-fresh
bench-luts-fresh:
	scripts/fresh.sh $(BUILD)/fresh $(lastword $(FRESH)) "make bench-luts"
	@cp $(BUILD)/fresh/$(lastword $(FRESH))/src/$(BENCH_LUTS) $(BENCH_LUTS)

$(BUILD)/tests/bench_collect: tests/bench/test_collect.py tests/bench/collect.py tests/bench/goals.json
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/bench_lut: tests/bench/test_lut.py rtl/lut.py rtl/synthesis.sh
	@mkdir -p $(@D)
	install -m 755 $< $@

TEST_PROGRAMS += $(BUILD)/tests/bench_lut

# Those that are C are built with the tests: what is measured now and then only must not stop being built unseen.
TEST_PROGRAMS += $(BUILD)/tests/bench_programs
$(BUILD)/tests/bench_programs: tests/bench/test_programs.py tests/bench/goals.json docs/manual/figures.md \
    $(addprefix $(BUILD)/bench/,path share rename addresses manager build_paging page_tables)
	@mkdir -p $(@D)
	install -m 755 $< $@
