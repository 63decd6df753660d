# SPDX-License-Identifier: Apache-2.0
# The manager's suite on the memcpy miniport, with sanitizers. Sources under test are compiled once for all programs with the same
# sanitizer: for libferry-san.a (host-driver/rules.mk), and for tests/system (its rules.mk).

CONTRACT_SUITE := tests/contract
MANAGER_SOURCES := $(wildcard host-driver/vidmm/*/*.c host-driver/ddi/*.c)
MANAGER_SAN := $(call sanitized,$(MANAGER_SOURCES))
MANAGER_TSAN := $(MANAGER_SOURCES:%.c=$(BUILD)/obj-threads/%.o)
SUITE_COMMON := $(addprefix $(CONTRACT_SUITE)/,addresses crowd memcpy_build memcpy_machine \
	memcpy_miniport memcpy_pages memcpy_ranges memcpy_run memcpy_tables spy tiled window_watch world)
SUITE_TESTS := $(filter-out test_threads,$(notdir $(basename $(wildcard $(CONTRACT_SUITE)/test_*.c))))
# crowd.c looks who waits in the manager's line.
CROWD_WAITS := -Wl,--wrap=pthread_cond_wait
# addresses.c makes a suite of driver model 2 of the same tests.
comma := ,
CROWD_WAITS += $(addprefix -Wl$(comma)--wrap=,machine_open \
	$(addprefix ferry_vidmm_,start create_allocation destroy_allocation submit))
# Jobs there are the real miniport's packets; and no link stands before the memcpy miniport's memory.
SUITE_PROGRAMS := $(patsubst test_%,$(BUILD)/tests/contract_%,$(filter-out test_address_faults test_deaf_link,$(SUITE_TESTS)))

$(BUILD)/obj-suite/%.o: %.c $(FLAGS) $(CONTRACT_SUITE)/rules.mk
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(HOST_CPPFLAGS) -I$(CONTRACT_SUITE) -MMD -MP -c $< -o $@

$(SUITE_TESTS:%=$(BUILD)/obj-suite/$(CONTRACT_SUITE)/%.o): HOST_CFLAGS := $(HOST_CFLAGS) $(FOR_A_SECOND)

$(BUILD)/obj-tsan/%.o: %.c $(FLAGS) $(CONTRACT_SUITE)/rules.mk
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(FOR_A_SECOND) -fsanitize=thread $(HOST_CPPFLAGS) -I$(CONTRACT_SUITE) -MMD -MP -c $< -o $@

# These have the library of tests/injection/rules.mk under them.
CHAOS := $(CONTRACT_SUITE)/test_chaos $(addprefix $(CONTRACT_SUITE)/chaos,$(addprefix _,addresses beside images meanwhile steps)) \
	$(CONTRACT_SUITE)/chaos tests/injection/inject
$(BUILD)/obj-suite/$(CONTRACT_SUITE)/chaos_beside.o: HOST_CPPFLAGS := -Itests $(HOST_CPPFLAGS)
CHAOS_PROGRAMS := $(BUILD)/tests/contract_chaos $(BUILD)/tests/contract_chaos_kmd

$(filter-out $(CHAOS_PROGRAMS),$(SUITE_PROGRAMS)): $(BUILD)/tests/contract_%: $(BUILD)/obj-suite/$(CONTRACT_SUITE)/test_%.o \
		$(SUITE_COMMON:%=$(BUILD)/obj-suite/%.o) $(MANAGER_SAN)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) -o $@ $(CROWD_WAITS) -lcmocka -lz -lpthread

# These count what ranges and what operations are looked at.
$(addprefix $(BUILD)/tests/contract_,va_many va_many_kmd): CROWD_WAITS += \
	$(addprefix -Wl$(comma)--wrap=,ferry_vm_address_most_pieces ferry_vm_address_find ferry_vm_batch_removed)
$(addprefix $(BUILD)/tests/contract_,va_line va_line_kmd): CROWD_WAITS += \
	$(addprefix -Wl$(comma)--wrap=,ferry_vm_reached ferry_vm_operation_over)
$(addprefix $(BUILD)/tests/contract_,many_waiting many_waiting_kmd): CROWD_WAITS += -Wl,--wrap=ferry_vm_plan_want

# A neighbour comes in between the turns of whoever waits.
$(addprefix $(BUILD)/tests/contract_,linear_waits linear_waits_kmd): CROWD_WAITS += -Wl,--wrap=ferry_vm_block

# And counts how often it is looked what is mapped.
$(addprefix $(BUILD)/tests/contract_,va_named va_named_kmd): CROWD_WAITS += \
	$(addprefix -Wl$(comma)--wrap=,ferry_vm_block ferry_vidmm_find_names)

# And here threads have turns there, and what a job has to find is what is mapped when it comes into the line.
$(addprefix $(BUILD)/tests/contract_,va_order va_order_kmd): CROWD_WAITS += \
	$(addprefix -Wl$(comma)--wrap=,ferry_vm_block ferry_vm_yield ferry_vm_job_queue)

$(addprefix $(BUILD)/tests/contract_,va_programs va_programs_kmd): CROWD_WAITS += \
	$(addprefix -Wl$(comma)--wrap=,ferry_vm_block ferry_vm_yield)

# This one is more than one file.
$(addprefix $(BUILD)/tests/contract_,va_cells va_cells_kmd): $(BUILD)/obj-suite/$(CONTRACT_SUITE)/va_cells.o

# This one has the user-mode driver's part above the manager.
$(addprefix $(BUILD)/tests/contract_,trims trims_kmd): \
		$(call sanitized,$(addprefix host-driver/umd/,residency.c call.c handles.c observer.c))
$(BUILD)/obj-suite/$(CONTRACT_SUITE)/test_trims.o: | $(CONTRACT)

.SECONDARY: $(MANAGER_SAN) $(MANAGER_TSAN)
TEST_PROGRAMS += $(SUITE_PROGRAMS)
-include $(shell find $(BUILD)/obj-suite $(BUILD)/obj-tsan -name '*.d' 2>/dev/null)

# The same manager under the thread sanitizer.
$(BUILD)/tests/contract_threads: $(BUILD)/obj-tsan/$(CONTRACT_SUITE)/test_threads.o \
		$(SUITE_COMMON:%=$(BUILD)/obj-tsan/%.o) $(MANAGER_TSAN)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -fsanitize=thread $(filter %.o,$^) -o $@ $(CROWD_WAITS) -lcmocka -lpthread
TEST_PROGRAMS += $(BUILD)/tests/contract_threads

# The wall, as a test (with a planted breach) and as a lint.
$(BUILD)/tests/contract_wall: $(CONTRACT_SUITE)/check_wall.py $(CONTRACT_SUITE)/find_circles.py
	@mkdir -p $(@D)
	@printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' > $@
	@printf 'python3 $(CONTRACT_SUITE)/check_wall.py && exec python3 $(CONTRACT_SUITE)/check_wall.py --selftest\n' >> $@
	@chmod +x $@
TEST_PROGRAMS += $(BUILD)/tests/contract_wall

.PHONY: lint-wall
lint-wall:
	@python3 $(CONTRACT_SUITE)/check_wall.py
LINTS += lint-wall

# The same tests on the real miniport over the reference model.
KMD_SUITE_SOURCES := $(wildcard host-driver/kmd/*.c host-driver/device/*.c sim/model/*.c) \
	$(addprefix host-driver/link/,dma_map.c problem.c)
# The loader is compiled here, to go without the firmware's image.
KMD_LOADER := host-driver/device/firmware_load
KMD_LIBRARY := $(filter-out $(KMD_LOADER).c,$(KMD_SUITE_SOURCES))
KMD_MACHINE := $(addprefix $(CONTRACT_SUITE)/,addresses crowd kmd_answers kmd_machine spy tiled window_watch world)
KMD_OWN := $(KMD_LOADER) $(CONTRACT_SUITE)/kmd_on_model $(KMD_MACHINE)
KMD_SUITE_OBJECTS := $(call sanitized,$(KMD_LIBRARY)) $(KMD_OWN:%=$(BUILD)/obj-suite/%.o)
KMD_SUITE_PROGRAMS := $(SUITE_TESTS:test_%=$(BUILD)/tests/contract_%_kmd)

$(KMD_OWN:%=$(BUILD)/obj-suite/%.o): HOST_CPPFLAGS := -Itests/unit/kmd/no_firmware $(HOST_CPPFLAGS)
$(KMD_OWN:%=$(BUILD)/obj-suite/%.o): | $(CONTRACT)
$(filter-out $(CHAOS_PROGRAMS),$(KMD_SUITE_PROGRAMS)): $(BUILD)/tests/contract_%_kmd: $(BUILD)/obj-suite/$(CONTRACT_SUITE)/test_%.o \
		$(KMD_SUITE_OBJECTS) $(MANAGER_SAN)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) -o $@ $(CROWD_WAITS) -lcmocka -lz -lpthread
.SECONDARY: $(KMD_SUITE_OBJECTS)
TEST_PROGRAMS += $(KMD_SUITE_PROGRAMS)

# And on the device's Verilog with its firmware: what no program of tests/system asks of the device through the public API.
KMD_SIM_TESTS := special_locks special_moves notice virtual_paging tiled_paging iommu iommu_places
KMD_SIM_PROGRAMS := $(KMD_SIM_TESTS:%=$(BUILD)/tests/contract_%_kmd_sim)
$(KMD_SIM_PROGRAMS): $(BUILD)/tests/contract_%_kmd_sim: $(BUILD)/obj-suite/$(CONTRACT_SUITE)/test_%.o \
		$(KMD_MACHINE:%=$(BUILD)/obj-suite/%.o) $(BUILD)/obj-suite/$(CONTRACT_SUITE)/kmd_on_sim.o $(BUILD)/libferry-san.a
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o %.a,$^) -o $@ $(CROWD_WAITS) $(SIM_LIBS) -lcmocka $(LDLIBS)
TEST_PROGRAMS += $(KMD_SIM_PROGRAMS)

# Threads on the real miniport too.
KMD_TSAN := $(KMD_LIBRARY:%.c=$(BUILD)/obj-threads/%.o) $(KMD_OWN:%=$(BUILD)/obj-tsan/%.o)
$(KMD_OWN:%=$(BUILD)/obj-tsan/%.o): HOST_CPPFLAGS := -Itests/unit/kmd/no_firmware $(HOST_CPPFLAGS)
$(KMD_OWN:%=$(BUILD)/obj-tsan/%.o): | $(CONTRACT)
$(BUILD)/tests/contract_threads_kmd: $(BUILD)/obj-tsan/$(CONTRACT_SUITE)/test_threads.o $(KMD_TSAN) $(MANAGER_TSAN)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -fsanitize=thread $(filter %.o,$^) -o $@ $(CROWD_WAITS) -lcmocka -lz -lpthread
.SECONDARY: $(KMD_TSAN)
TEST_PROGRAMS += $(BUILD)/tests/contract_threads_kmd

# All of them in driver model 2, but for those that choose their model themselves: here model 2 in every case, and so
# whatever else is asked for besides; below one or the other, each case always the same, as the registry shows.
MODEL2_ALWAYS := %_address_faults_kmd $(foreach name,va_instances va_update va_beside va_queues va_strays va_cells \
	va_line va_many va_named va_again va_at_once va_ends va_index va_order va_over va_programs va_protect va_starts va_tables va_tiles \
	va_unmapped va_lost va_places va_waits va_zeros virtual_paging tiled_paging, \
	%_$(name) %_$(name)_kmd)
CHOOSE_MODEL := $(foreach name,aperture_addresses foreign full_buffers iommu linear_views linear_waits no_memory notice space_reuse \
	special_locks special_moves swizzling_ranges,%/contract_$(name) %/contract_$(name)_kmd)
MODEL2_SUITE := $(patsubst %,%_model2,$(filter-out $(MODEL2_ALWAYS) $(CHOOSE_MODEL),$(SUITE_PROGRAMS) $(KMD_SUITE_PROGRAMS) \
	$(BUILD)/tests/contract_threads $(BUILD)/tests/contract_threads_kmd))
$(MODEL2_SUITE): %_model2: % $(CONTRACT_SUITE)/rules.mk
	@printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nFERRY_TEST_MODEL=2 exec %s\n' '$<' > $@
	@chmod +x $@
TEST_PROGRAMS += $(MODEL2_SUITE)

# And those that look at content, with a paging node that moves and fills it by addresses. The others count operations
# of a transfer from place to place; on the real miniport neighbours counts how often a job goes out beside paging, and
# the faults that va_update plants where addresses change would hit content there.
VIRTUAL_PAGING := budgets chaos contents divided_budgets half_way instance_faults instances iommu_places neighbours notice programs \
	random reserved residency reset_cuts table_faults tiles turns va_places va_update waits
VIRTUAL_PAGING_SUITE := $(VIRTUAL_PAGING:%=$(BUILD)/tests/contract_%_virtual) \
	$(patsubst %,$(BUILD)/tests/contract_%_kmd_virtual,$(filter-out neighbours va_update,$(VIRTUAL_PAGING)))
$(VIRTUAL_PAGING_SUITE): %_virtual: % $(CONTRACT_SUITE)/rules.mk
	@printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' > $@
	@printf 'FERRY_TEST_MODEL=2 FERRY_TEST_PAGING=virtual exec %s\n' '$<' >> $@
	@chmod +x $@
TEST_PROGRAMS += $(VIRTUAL_PAGING_SUITE)

# And with page tables in system memory, those that look at them or at content.
HOST_TABLES := chaos contents divided_budgets instances iommu_places notice pinned programs random reset_cuts table_faults tiles turns \
	va_beside va_cells va_at_once va_ends va_instances va_over va_places va_protect va_queues va_unmapped va_update va_waits va_zeros \
	virtual_paging waits
HOST_TABLES_SUITE := $(foreach name,$(HOST_TABLES),$(BUILD)/tests/contract_$(name)_host_tables \
	$(BUILD)/tests/contract_$(name)_kmd_host_tables)
$(filter-out $(MODEL2_ALWAYS:=_host_tables),$(HOST_TABLES_SUITE)): MODEL := FERRY_TEST_MODEL=2
$(HOST_TABLES_SUITE): %_host_tables: % $(CONTRACT_SUITE)/rules.mk
	@printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' > $@
	@printf '$(MODEL) FERRY_TEST_TABLES=system exec %s\n' '$<' >> $@
	@chmod +x $@
TEST_PROGRAMS += $(HOST_TABLES_SUITE)

.PHONY: soak-chaos
SOAKS += soak-chaos
soak-chaos: $(foreach name,chaos chaos_kmd chaos_model2 chaos_kmd_model2 chaos_virtual chaos_kmd_virtual,$(BUILD)/tests/contract_$(name))
	FERRY_SEED=$${FERRY_SEED:-$$(date +%s)} FERRY_RUNS=$${FERRY_RUNS:-400} FERRY_STEPS=4000 $(BUILD)/tests/contract_chaos
	FERRY_SEED=$${FERRY_SEED:-$$(date +%s)} FERRY_RUNS=$${FERRY_RUNS:-100} FERRY_STEPS=4000 $(BUILD)/tests/contract_chaos_kmd
	FERRY_SEED=$${FERRY_SEED:-$$(date +%s)} FERRY_RUNS=$${FERRY_RUNS:-100} FERRY_STEPS=4000 $(BUILD)/tests/contract_chaos_kmd_model2
	FERRY_SEED=$${FERRY_SEED:-$$(date +%s)} FERRY_RUNS=$${FERRY_RUNS:-400} FERRY_STEPS=4000 $(BUILD)/tests/contract_chaos_model2
	FERRY_SEED=$${FERRY_SEED:-$$(date +%s)} FERRY_RUNS=$${FERRY_RUNS:-200} FERRY_STEPS=4000 $(BUILD)/tests/contract_chaos_virtual
	FERRY_SEED=$${FERRY_SEED:-$$(date +%s)} FERRY_RUNS=$${FERRY_RUNS:-100} FERRY_STEPS=4000 $(BUILD)/tests/contract_chaos_kmd_virtual
