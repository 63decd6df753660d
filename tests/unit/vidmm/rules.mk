# SPDX-License-Identifier: Apache-2.0
VIDMM_UNITS := segment_allocator victim plan handles
VIDMM_UNIT_PROGRAMS := $(VIDMM_UNITS:%=$(BUILD)/tests/vidmm_%)

$(VIDMM_UNIT_PROGRAMS): $(BUILD)/tests/vidmm_%: tests/unit/vidmm/test_%.c $$(wildcard host-driver/vidmm/*/%.c) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $(CPPFLAGS) $(filter %.c,$^) -o $@ -lcmocka

# These are more than one file.
$(BUILD)/tests/vidmm_segment_allocator: host-driver/vidmm/space/directory.c
PLAN_SOURCES := $(addprefix host-driver/vidmm/space/,steps.c search.c push.c window.c arrange.c want.c)
$(BUILD)/tests/vidmm_plan: $(PLAN_SOURCES) $(addprefix host-driver/vidmm/space/,segment_allocator.c directory.c victim.c)

TEST_PROGRAMS += $(VIDMM_UNIT_PROGRAMS)

# The plan on a million random states.
.PHONY: soak-plan
SOAKS += soak-plan
soak-plan: $(BUILD)/tests/vidmm_plan
	FERRY_STATES=1000000 $<
