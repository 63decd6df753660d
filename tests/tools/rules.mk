# SPDX-License-Identifier: Apache-2.0
# Tests of the tool. `tools` runs the real tool linked against a double of the library, where any fault can be ordered;
# `tool_text` is what it reads and shows; `tool_output` where its files go (`_refused`: where the system will not), `tool_place`
# what their names lead to; `tool_list` has that double, and simulators to be found; `replay` runs the real thing on both back
# ends, `fault` the walks of its faults, `spaces` the picture of addresses over time, `replay_programs` several traces at once;
# `import` reads dumps, `import_calls` each call of them, `import_refusals` those that are none, `import_programs` whole
# programs with their threads and contexts; `recorder` tinygrad's programs; `tutorial` does what docs/tutorial.md says; `policy`
# compares the laboratory with an implementation of its own, `advice` and `advice_sizes` its sentence with runs,
# `policy_refusals` is what it refuses, `long_traces` what it does not hold; `sweep` kills what runs it; `report` opens the page
# in a browser.

TOOL_PARTS := $(call sanitized,host-driver/tools/tool.c host-driver/tools/id_map.c)
TOOL_HEADERS := $(wildcard host-driver/tools/*.h)

TEST_PROGRAMS += $(addprefix $(BUILD)/tests/tool_,output output_refused place text trace content) $(BUILD)/tests/tools \
    $(BUILD)/tests/replay \
    $(BUILD)/tests/replay_programs $(BUILD)/tests/policy $(BUILD)/tests/policy_refusals $(BUILD)/tests/advice \
    $(BUILD)/tests/advice_sizes $(BUILD)/tests/long_traces \
    $(BUILD)/tests/import $(BUILD)/tests/import_calls $(BUILD)/tests/import_refusals $(BUILD)/tests/import_programs \
    $(BUILD)/tests/fault $(BUILD)/tests/tool_space_map $(BUILD)/tests/spaces \
    $(BUILD)/tests/tool_list $(BUILD)/tests/recorder $(BUILD)/tests/tutorial $(BUILD)/tests/sweep $(BUILD)/tests/report
LONG_RANDOM += $(addprefix $(BUILD)/tests/,advice advice_sizes policy replay replay_programs)

$(BUILD)/tests/tool_trace: tests/tools/test_trace.c tests/seed.h \
    $(call sanitized,host-driver/tools/trace.c host-driver/tools/trace_lines.c) $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/tool_text: tests/tools/test_text.c $(call sanitized,host-driver/tools/svg_text.c) $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/tool_output: tests/tools/test_output.c tests/tools/output_folder.h \
    $(call sanitized,host-driver/tools/output.c host-driver/tools/place.c) $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka $(LDLIBS) -o $@

# The system refuses what it is asked.
$(BUILD)/tests/tool_output_refused: tests/tools/test_output_refused.c tests/tools/output_folder.h \
    $(call sanitized,host-driver/tools/output.c host-driver/tools/place.c) $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -Wl,--wrap=mkstemp,--wrap=rename,--wrap=fchown,--wrap=fchmod,--wrap=fallocate \
	    -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/tool_place: tests/tools/test_place.c $(call sanitized,host-driver/tools/output.c host-driver/tools/place.c) \
    $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/tool_space_map: tests/tools/test_space_map.c tests/seed.h \
    $(call sanitized,host-driver/tools/space_map.c) $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/tool_content: tests/tools/test_content.c tests/seed.h \
    $(call sanitized,host-driver/tools/content.c host-driver/tools/vram_map.c) \
    $(TOOL_PARTS) $(TOOL_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka $(LDLIBS) -o $@

$(BUILD)/tests/parts/ferry-fake: $(wildcard tests/tools/fake_*.c) tests/tools/fake_ferry.h \
    $(call sanitized,$(TOOL_SOURCES) $(wildcard host-driver/vidmm/*/*.c) host-driver/ddi/flag_rules.c \
    $(addprefix host-driver/umd/,names.c version.c)) $(HOST_HEADERS) $(PAGE_ASSETS) $(FLAGS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) $(LDLIBS) -o $@

$(BUILD)/tests/tools: tests/tools/test_tool.py tests/tools/files.py $(BUILD)/tests/parts/ferry-fake
	install -m 755 $< $@

$(BUILD)/tests/tool_list: tests/tools/test_list.py $(BUILD)/tests/parts/ferry-fake $(BUILD)/ferry $(BUILD)/ferry-sim
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/fault: $(BUILD)/tests/parts/ferry-fake
$(BUILD)/tests/fault $(BUILD)/tests/spaces: $(BUILD)/tests/%: tests/tools/test_%.py $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $(filter %.py,$^) $@

$(BUILD)/tests/replay: tests/tools/test_replay.py tests/tools/files.py tests/tools/injection.py $(BUILD)/ferry
	install -m 755 $< $@

$(BUILD)/tests/replay_programs: tests/tools/test_programs.py tests/tools/files.py tests/tools/injection.py \
    docs/manual/programs.md $(BUILD)/ferry $(BUILD)/tests/parts/ferry-fake
	install -m 755 $< $@

$(BUILD)/tests/policy $(BUILD)/tests/policy_refusals $(BUILD)/tests/advice $(BUILD)/tests/advice_sizes \
    $(BUILD)/tests/long_traces: $(BUILD)/tests/%: tests/tools/test_%.py \
    tests/tools/laboratory.py $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/import $(BUILD)/tests/import_calls: $(BUILD)/tests/%: tests/tools/test_%.py tests/tools/dumps.py $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/import_refusals: tests/tools/test_import_refusals.py tests/tools/dumps.py $(BUILD)/ferry $(BUILD)/tests/parts/ferry-fake
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/import_programs: tests/tools/test_import_programs.py tests/tools/dumps.py $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/tests/tutorial: tests/tools/test_tutorial.py docs/tutorial.md $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $< $@

# A wheel of 3 MB, on its own: nothing else here needs it.
$(BUILD)/tinygrad/ready: scripts/requirements-tinygrad.txt $(VENV)/ready
	@rm -rf $(@D) && $(PYTHON) -m pip install --disable-pip-version-check -q --no-deps --require-hashes --target $(@D) -r $<
	@touch $@

$(BUILD)/tests/recorder: tests/tools/test_recorder.py tests/tools/tinygrad_program.py scripts/record_tinygrad.py $(BUILD)/ferry \
    $(BUILD)/tinygrad/ready
	@mkdir -p $(@D)
	install -m 755 $< $@

# In a headless browser.
$(BUILD)/tests/report: tests/tools/test_report.py tests/tools/browser.py tests/tools/files.py $(BUILD)/ferry
	@mkdir -p $(@D)
	install -m 755 $< $@

# Runs scripts/sweep.py, and Dask's scheduler and workers from the environment.
$(BUILD)/tests/sweep: tests/tools/test_sweep.py scripts/sweep.py $(BUILD)/ferry $(VENV)/ready
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
	@set -e; for what in smollm2:200M qwen3:900M; do \
	    $(BUILD)/ferry replay tests/data/$${what%:*}.memtrace.gz --backend model --vram $${what#*:}; done
