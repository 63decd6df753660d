# SPDX-License-Identifier: Apache-2.0
# The laboratory below the tool: policies that misbehave, counts made by hand.
LAB_SOURCES := $(wildcard host-driver/lab/*.c host-driver/lab/policies/*.c)

$(BUILD)/tests/lab: tests/unit/lab/test_lab.c \
    $(call sanitized,$(LAB_SOURCES) $(addprefix host-driver/tools/,trace.c trace_lines.c tool.c id_map.c)) \
    $$(MANAGER_SAN) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ -lcmocka -lz -lpthread

TEST_PROGRAMS += $(BUILD)/tests/lab
