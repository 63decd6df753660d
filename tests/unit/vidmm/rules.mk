# SPDX-License-Identifier: Apache-2.0
VIDMM_UNITS := address_space address_zeros address_places address_alignment address_batch address_batch_random table_shares \
    segment_allocator victim rhythm plan plan_cases handles reached paging_index paging_line paging_look
VIDMM_UNIT_PROGRAMS := $(VIDMM_UNITS:%=$(BUILD)/tests/vidmm_%)

$(VIDMM_UNIT_PROGRAMS): $(BUILD)/tests/vidmm_%: tests/unit/vidmm/test_%.c \
    $$(call sanitized,$$(wildcard host-driver/vidmm/*/%.c)) $(HOST_HEADERS) tests/seed.h
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ -lcmocka

# These are more than one file, or another one.
$(BUILD)/tests/vidmm_rhythm: $(call sanitized,host-driver/vidmm/space/victim.c)
$(BUILD)/tests/vidmm_segment_allocator: $(call sanitized,host-driver/vidmm/space/directory.c)
ADDRESS_BATCH_PROGRAMS := $(BUILD)/tests/vidmm_address_batch $(BUILD)/tests/vidmm_address_batch_random
$(ADDRESS_BATCH_PROGRAMS): tests/unit/vidmm/address_batch_fixture.h
$(BUILD)/tests/vidmm_table_shares $(ADDRESS_BATCH_PROGRAMS): $(call sanitized,host-driver/vidmm/space/address_batch.c)
$(addprefix $(BUILD)/tests/vidmm_,address_space address_zeros address_places address_alignment table_shares) $(ADDRESS_BATCH_PROGRAMS): \
	$(call sanitized,$(addprefix host-driver/vidmm/space/,address_tree.c address_ranges.c address_places.c address_tables.c \
	address_zeros.c table_pool.c))
PLAN_OBJECTS := $(call sanitized,$(addprefix host-driver/vidmm/space/,steps.c search.c push.c window.c arrange.c want.c))
PLAN_PROGRAMS := $(BUILD)/tests/vidmm_plan $(BUILD)/tests/vidmm_plan_cases
$(PLAN_PROGRAMS): tests/unit/vidmm/plan_owner.h $(PLAN_OBJECTS) \
	$(call sanitized,$(addprefix host-driver/vidmm/space/,segment_allocator.c directory.c victim.c))

# These call what tells the rest of the manager.
$(BUILD)/tests/vidmm_paging_line $(BUILD)/tests/vidmm_paging_look: $(MANAGER_SAN)

TEST_PROGRAMS += $(VIDMM_UNIT_PROGRAMS)

# The plan on a million random states.
.PHONY: soak-plan
SOAKS += soak-plan
soak-plan: $(BUILD)/tests/vidmm_plan
	FERRY_STATES=1000000 $<
