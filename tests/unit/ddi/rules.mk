# SPDX-License-Identifier: Apache-2.0
$(BUILD)/tests/ddi: tests/unit/ddi/test_ddi.c $(wildcard host-driver/ddi/*.c) host-driver/umd/operation_names.c \
    $(wildcard host-driver/ddi/*.h host-driver/include/ferry/*.h) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $(CPPFLAGS) $(filter %.c,$^) -o $@ -lcmocka

TEST_PROGRAMS += $(BUILD)/tests/ddi
