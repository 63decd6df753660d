# SPDX-License-Identifier: Apache-2.0
# Tests of the tool. `tools` runs the real tool linked against a double of the library, where any fault can be ordered;
# `replay` runs the real thing on both back ends,
# `replay_programs` several traces at once; `policy` compares the laboratory with an implementation of its own.

TOOL_TEST_FLAGS = $(CFLAGS) $(SANITIZE) $(CPPFLAGS)
TOOL_PARTS := host-driver/tools/tool.c host-driver/tools/id_map.c
TOOL_HEADERS := $(wildcard host-driver/tools/*.h)

TEST_PROGRAMS += $(BUILD)/tests/tool_trace $(BUILD)/tests/tool_content $(BUILD)/tests/tools $(BUILD)/tests/replay \
    $(BUILD)/tests/replay_programs $(BUILD)/tests/policy

$(BUILD)/tests/tool_trace: tests/tools/test_trace.c host-driver/tools/trace.c $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(TOOL_TEST_FLAGS) $(filter %.c,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/tool_content: tests/tools/test_content.c host-driver/tools/content.c host-driver/tools/vram_map.c \
    $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(TOOL_TEST_FLAGS) $(filter %.c,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/parts/ferry-fake: $(wildcard tests/tools/fake_*.c) tests/tools/fake_ferry.h host-driver/ddi/operation_names.c \
    $(TOOL_SOURCES) $(wildcard host-driver/vidmm/*/*.c) host-driver/ddi/flag_rules.c $(HOST_HEADERS) $(FLAGS) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(TOOL_TEST_FLAGS) $(filter %.c,$^) $(LDLIBS) -o $@

$(BUILD)/tests/tools: tests/tools/test_tool.py tests/tools/files.py $(BUILD)/tests/parts/ferry-fake
	install -m 755 $< $@

$(BUILD)/tests/replay: tests/tools/test_replay.py tests/tools/files.py $(BUILD)/ferry
	install -m 755 $< $@

$(BUILD)/tests/replay_programs: tests/tools/test_programs.py tests/tools/files.py $(BUILD)/ferry $(BUILD)/tests/parts/ferry-fake
	install -m 755 $< $@

$(BUILD)/tests/policy: tests/tools/test_policy.py $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $< $@

# The large traces, whole, on the model, in little video memory and in the most there is: minutes each.
SOAKS += soak-replay
.PHONY: soak-replay
soak-replay: $(BUILD)/ferry
	@mkdir -p $(BUILD)/soak
	@set -e; for name in openarena stellarium minetest; do for vram in 64M 64G; do \
	    $(BUILD)/ferry replay tests/data/$$name.memtrace.gz --backend model --vram $$vram --json $(BUILD)/soak/$$name-$$vram.json \
	        --svg $(BUILD)/soak/$$name-$$vram.svg; done; done
