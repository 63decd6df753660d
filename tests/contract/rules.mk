# SPDX-License-Identifier: Apache-2.0
# The manager's suite on the memcpy miniport. Everything is compiled here, with sanitizers, from the few sources under test.

CONTRACT_SUITE := tests/contract
MANAGER_SOURCES := $(wildcard host-driver/vidmm/*.c host-driver/ddi/*.c)
MANAGER_SAN := $(MANAGER_SOURCES:%.c=$(BUILD)/obj-suite/%.o)
MANAGER_TSAN := $(MANAGER_SOURCES:%.c=$(BUILD)/obj-tsan/%.o)
SUITE_COMMON := $(addprefix $(CONTRACT_SUITE)/,memcpy_machine memcpy_miniport memcpy_run spy world)
SUITE_TESTS := $(filter-out test_threads,$(notdir $(basename $(wildcard $(CONTRACT_SUITE)/test_*.c))))
SUITE_PROGRAMS := $(SUITE_TESTS:test_%=$(BUILD)/tests/contract_%)

$(BUILD)/obj-suite/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $(CPPFLAGS) -I$(CONTRACT_SUITE) -MMD -MP -c $< -o $@

$(BUILD)/obj-tsan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=thread $(CPPFLAGS) -I$(CONTRACT_SUITE) -MMD -MP -c $< -o $@

$(SUITE_PROGRAMS): $(BUILD)/tests/contract_%: $(BUILD)/obj-suite/$(CONTRACT_SUITE)/test_%.o \
		$(SUITE_COMMON:%=$(BUILD)/obj-suite/%.o) $(MANAGER_SAN)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $^ -o $@ -lcmocka -lz -lpthread

.SECONDARY: $(MANAGER_SAN) $(MANAGER_TSAN)
TEST_PROGRAMS += $(SUITE_PROGRAMS)
-include $(shell find $(BUILD)/obj-suite $(BUILD)/obj-tsan -name '*.d' 2>/dev/null)

# The same manager under the thread sanitizer.
$(BUILD)/tests/contract_threads: $(BUILD)/obj-tsan/$(CONTRACT_SUITE)/test_threads.o \
		$(SUITE_COMMON:%=$(BUILD)/obj-tsan/%.o) $(MANAGER_TSAN)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=thread $^ -o $@ -lcmocka -lpthread
TEST_PROGRAMS += $(BUILD)/tests/contract_threads

# The wall, as a test (with a planted breach) and as a lint.
$(BUILD)/tests/contract_wall: $(CONTRACT_SUITE)/check_wall.py
	@mkdir -p $(@D)
	@printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' > $@
	@printf 'python3 $(CONTRACT_SUITE)/check_wall.py && exec python3 $(CONTRACT_SUITE)/check_wall.py --selftest\n' >> $@
	@chmod +x $@
TEST_PROGRAMS += $(BUILD)/tests/contract_wall

.PHONY: lint-wall
lint-wall:
	@python3 $(CONTRACT_SUITE)/check_wall.py
LINTS += lint-wall
