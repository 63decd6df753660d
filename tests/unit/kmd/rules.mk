# SPDX-License-Identifier: Apache-2.0
# The miniport alone, on the device layer: over the reference model, and where it says so over the Verilog.

# Compiled once, with the library and the contract suite (tests/contract/rules.mk).
KMD_TEST_OBJECTS = $(call sanitized,$(KMD_LIBRARY) host-driver/ddi/flag_rules.c) $(BUILD)/obj-suite/$(KMD_LOADER).o
KMD_TEST_HEADERS = $(HOST_HEADERS) $(wildcard sim/model/*.h tests/unit/kmd/*.h tests/unit/kmd/*/*.h) tests/seed.h
KMD_TESTS := $(addprefix $(BUILD)/tests/test_,adapter cut_jobs doorbells each_access edges emptied_rings flip full_rings \
    late_resets miniport notices own_faults page_tables paging_hazards paging_order paging_sizes resets user_confined user_hazards \
    user_order user_places views virtual_caps virtual_entries virtual_fence virtual_order virtual_tiles)

$(KMD_TESTS): $(BUILD)/tests/%: tests/unit/kmd/%.c $$(KMD_TEST_OBJECTS) $$(KMD_TEST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -Itests/unit/kmd/no_firmware $< $(KMD_TEST_OBJECTS) $(KMD_WRAPS) -lcmocka -lpthread -o $@
$(BUILD)/tests/test_virtual_tiles: tests/contract/tiles.h
$(BUILD)/tests/test_edges: private KMD_WRAPS := -Wl,--wrap=realloc
# What is left of a buffer is judged by the oracle of the firmware's tests.
KMD_ORACLE := $(addprefix tests/unit/firmware/oracle,.c _rectangle.c)
$(BUILD)/tests/test_user_confined: $(KMD_ORACLE) $(addprefix tests/unit/firmware/oracle,.h _rules.h)
$(BUILD)/tests/test_user_confined: private KMD_WRAPS := $(KMD_ORACLE)
TEST_PROGRAMS += $(KMD_TESTS)

# Page tables and monitored fences, by operations that no program of the public API has carried out, and what resets cut, on the
# device's Verilog too.
KMD_SIM_UNITS := cut_jobs each_access emptied_rings own_faults page_tables virtual_fence
KMD_SIM_UNIT_PROGRAMS := $(KMD_SIM_UNITS:%=$(BUILD)/tests/test_%_sim)
$(KMD_SIM_UNIT_PROGRAMS): $(BUILD)/tests/test_%_sim: tests/unit/kmd/test_%.c $(BUILD)/libferry-san.a $$(KMD_TEST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -DRIG_ON_SIM $< $(BUILD)/libferry-san.a $(SIM_LIBS) -lcmocka $(LDLIBS) -o $@
TEST_PROGRAMS += $(KMD_SIM_UNIT_PROGRAMS)
