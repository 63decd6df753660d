# SPDX-License-Identifier: Apache-2.0
# The tool `ferry` with its laboratory, and the demo.

TOOL_SOURCES := $(wildcard host-driver/tools/*.c host-driver/tools/import/*.c host-driver/lab/*.c host-driver/lab/policies/*.c)
TOOL_OBJECTS := $(TOOL_SOURCES:%.c=$(BUILD)/obj/%.o)

# The report page's style and script, for page.c.
PAGE_ASSETS := $(GENERATED)/page_assets.h
$(PAGE_ASSETS): host-driver/tools/embed.py host-driver/tools/page.css host-driver/tools/page.js
	@python3 $^ $@

$(BUILD)/obj/host-driver/tools/page.o $(BUILD)/obj-san/host-driver/tools/page.o: $(PAGE_ASSETS)

# The C++ driver links, because the simulation is C++.
$(BUILD)/ferry: $(TOOL_OBJECTS) $(BUILD)/libferry.a
	$(CXX) $(LDFLAGS) $^ $(SIM_LIBS) $(LDLIBS) -o $@

# 60 frames of a game whose frame needs 5.5 MB, in 5 MiB: paging goes on in every frame.
DEMO_TRACE := tests/data/neverball.memtrace.gz
DEMO_OPTIONS := --vram 5M --frames 60

.PHONY: demo
demo: setup $(BUILD)/ferry
	@mkdir -p $(BUILD)/demo
	@$(BUILD)/ferry replay $(DEMO_TRACE) $(DEMO_OPTIONS) --backend sim --json $(BUILD)/demo/replay.json \
	    --timeline $(BUILD)/demo/timeline.json --svg $(BUILD)/demo/video-memory.svg
