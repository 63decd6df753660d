# SPDX-License-Identifier: Apache-2.0
# The reference model's own tests; the link around it is tested with the device and the whole system.

MODEL_CORE := $(call sanitized,$(filter-out sim/model/link.c,$(wildcard sim/model/*.c)))
MODEL_TESTS := $(patsubst tests/unit/model/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/model/test_*.c))

$(MODEL_TESTS): $(BUILD)/tests/%: tests/unit/model/%.c $(wildcard tests/unit/model/*.h) tests/seed.h $(MODEL_CORE) \
    $(wildcard sim/model/*.h) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $< $(MODEL_CORE) -lcmocka -o $@
TEST_PROGRAMS += $(MODEL_TESTS)
