# SPDX-License-Identifier: Apache-2.0
# Fuzzers, part of `make soak`: FUZZ_SECONDS for each target. Their corpora stay in build/fuzz/.

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
