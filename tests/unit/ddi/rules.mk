# SPDX-License-Identifier: Apache-2.0
$(BUILD)/tests/ddi: tests/unit/ddi/test_ddi.c \
    $(call sanitized,$(wildcard host-driver/ddi/*.c) host-driver/umd/names.c) \
    $(wildcard host-driver/ddi/*.h host-driver/include/ferry/*.h) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ -lcmocka

TEST_PROGRAMS += $(BUILD)/tests/ddi
