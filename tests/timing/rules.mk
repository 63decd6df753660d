# SPDX-License-Identifier: Apache-2.0
# The timing diagrams of docs/manual/timing.md: made from waves, and looked after by a test.

TIMING := $(BUILD)/timing

# Verilator's own reader of its wave files is among what the simulation links.
$(TIMING)/moments: tests/timing/moments.c $(BUILD)/libferry.a $(wildcard host-driver/device/*.h host-driver/link/*.h) $(FLAGS) | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) -isystem $(SIM_INCLUDE) $< $(BUILD)/libferry.a -o $@ $(SIM_LIBS) $(LDLIBS)

.PHONY: timing-diagrams
timing-diagrams: $(TIMING)/moments
	$< $(TIMING)/waves.fst > $(TIMING)/moments.txt
	@python3 tests/timing/diagram.py write $(TIMING)/moments.txt docs/manual/timing.md

$(BUILD)/tests/timing_diagrams: tests/timing/test_timing.py $(TIMING)/moments
	@mkdir -p $(@D)
	install -m 755 $< $@

TEST_PROGRAMS += $(BUILD)/tests/timing_diagrams
