# SPDX-License-Identifier: Apache-2.0
# Fuzzers, part of `make soak`: FUZZ_SECONDS for each target. Their corpora stay in build/fuzz/. `make test` gives each some random
# inputs.

FUZZ_SECONDS ?= 600
FUZZ_CC := clang
FUZZ_FLAGS = -std=c11 -O1 -g $(WARNINGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_FIRMWARE_SOURCES = tests/fuzz/fuzz_firmware.c $(FIRMWARE_SOURCES) $(filter-out %/scenarios.c,$(FIRMWARE_TEST_SHARED)) \
    $(FIRMWARE_TEST)/double_hal.c

$(BUILD)/fuzz/fuzz_firmware: tests/fuzz/fuzz_firmware.c $$(FUZZ_FIRMWARE_SOURCES) \
    $$(wildcard firmware/*.h $$(FIRMWARE_TEST)/*.h) $(FLAGS) $(CONTRACT)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -I$(GENERATED) -Ifirmware -I$(FIRMWARE_TEST) $(FUZZ_FIRMWARE_SOURCES) -o $@

.PHONY: fuzz-firmware
fuzz-firmware: $(BUILD)/fuzz/fuzz_firmware
	@mkdir -p $(BUILD)/fuzz/firmware-corpus
	$< -max_len=8192 -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $(BUILD)/fuzz/firmware-corpus

SOAKS += fuzz-firmware

$(BUILD)/tests/firmware_fuzzed: tests/fuzz/some_inputs.c tests/seed.h $$(FUZZ_FIRMWARE_SOURCES) \
    $$(wildcard firmware/*.h $$(FIRMWARE_TEST)/*.h) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -Ifirmware -I$(FIRMWARE_TEST) $(filter %.c,$^) -o $@
TEST_PROGRAMS += $(BUILD)/tests/firmware_fuzzed

FUZZ_IMPORT_SOURCES := tests/fuzz/fuzz_import.c host-driver/tools/trace.c host-driver/tools/trace_lines.c \
    $(filter-out %/command.c,$(wildcard host-driver/tools/import/*.c)) $(addprefix host-driver/tools/,tool.c id_map.c)
FUZZ_IMPORT_HEADERS := $(wildcard host-driver/tools/import/*.h) \
    $(addprefix host-driver/tools/,trace.h trace_lines.h trace_events.h tool.h id_map.h)

$(BUILD)/fuzz/fuzz_import: $(FUZZ_IMPORT_SOURCES) $(FUZZ_IMPORT_HEADERS) $(FLAGS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -D_POSIX_C_SOURCE=200809L -Ihost-driver $(filter %.c,$^) -lz -o $@

.PHONY: fuzz-import
fuzz-import: $(BUILD)/fuzz/fuzz_import
	@mkdir -p $(BUILD)/fuzz/import-corpus
	gzip -dc tests/data/scene/scene.txt.gz | head -n 500 > $(BUILD)/fuzz/import-corpus/scene
	$< -max_len=65536 -timeout=20 -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $(BUILD)/fuzz/import-corpus

SOAKS += fuzz-import

$(BUILD)/tests/import_fuzzed: tests/fuzz/some_inputs.c tests/seed.h $(FUZZ_IMPORT_SOURCES) $(FUZZ_IMPORT_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c,$^) -lz -o $@
TEST_PROGRAMS += $(BUILD)/tests/import_fuzzed
