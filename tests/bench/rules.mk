# SPDX-License-Identifier: Apache-2.0
# `make bench`: every benchmark leaves rows in build/bench/, collect.py puts them together.

BENCHES += bench-replay
TEST_PROGRAMS += $(BUILD)/tests/bench_collect

# As the demo, shorter and without pictures: neverball's frames are alike from the second on.
.PHONY: bench bench-replay
bench-replay: $(BUILD)/ferry
	@mkdir -p $(BUILD)/bench/figures
	$(BUILD)/ferry replay $(DEMO_TRACE) --vram 5M --frames 20 --backend sim --quiet --json $(BUILD)/bench/figures/replay.json \
	    > $(BUILD)/bench/figures/replay.txt
	@python3 tests/bench/collect.py replay $(BUILD)/bench/figures/replay.json $(BUILD)/bench/replay.json

bench: $$(BENCHES)
	@python3 tests/bench/collect.py collect $(BUILD)/bench $(BUILD)/bench.json README.md

$(BUILD)/tests/bench_collect: tests/bench/test_collect.py tests/bench/collect.py
	@mkdir -p $(@D)
	install -m 755 $< $@
