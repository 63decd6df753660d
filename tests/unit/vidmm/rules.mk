# SPDX-License-Identifier: Apache-2.0
VIDMM_UNITS := segment_allocator victim plan handles
VIDMM_UNIT_PROGRAMS := $(VIDMM_UNITS:%=$(BUILD)/tests/vidmm_%)

$(VIDMM_UNIT_PROGRAMS): $(BUILD)/tests/vidmm_%: tests/unit/vidmm/test_%.c $$(wildcard host-driver/vidmm/*/%.c) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $(CPPFLAGS) $(filter %.c,$^) -o $@ -lcmocka

# The plan is more than one file.
PLAN_SOURCES := $(addprefix host-driver/vidmm/space/,steps.c search.c push.c window.c arrange.c want.c)
$(BUILD)/tests/vidmm_plan: $(PLAN_SOURCES) host-driver/vidmm/space/segment_allocator.c host-driver/vidmm/space/victim.c

TEST_PROGRAMS += $(VIDMM_UNIT_PROGRAMS)
