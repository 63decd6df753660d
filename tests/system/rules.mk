# SPDX-License-Identifier: Apache-2.0
# Whole machine, each program on each back end. The C of the host side runs under the sanitizers.

SYSTEM_TESTS := calls call_backs poll poll_ends residency failures programs random_calls rectangles rectangle_sides tiles tiled_images \
    copy_rectangle va_rectangles copy_tiles tile_addresses \
    views linear_views runs iommu models virtual virtual_aperture virtual_instances virtual_paging tables va_update va_pages va_zeros \
    va_named walks agreement
# Threads, which are about the host's side, on the model alone.
SYSTEM_ON_MODEL := va_threads
# On the model the agreement run compares the model with itself: it shows that the comparison is fair.
SYSTEM_RUNS := $(SYSTEM_TESTS:%=$(BUILD)/tests/system_%_model) $(SYSTEM_TESTS:%=$(BUILD)/tests/system_%_sim) \
    $(SYSTEM_ON_MODEL:%=$(BUILD)/tests/system_%_model)
# In driver model 2 jobs name allocations by GPU virtual addresses; those of `virtual...`, `tables`, `va_...` and `walks` have it always.
SYSTEM_MODEL2 := copy_rectangle copy_tiles tiles tiled_images calls call_backs poll poll_ends residency failures programs random_calls
SYSTEM_RUNS += $(SYSTEM_MODEL2:%=$(BUILD)/tests/system_%_model2)
SYSTEM_RUNS += $(SYSTEM_MODEL2:%=$(BUILD)/tests/system_%_sim_model2)
# Page tables in system memory, which are walked over the link.
SYSTEM_HOST_TABLES := random_calls virtual_aperture virtual_instances walks
SYSTEM_HOST_TABLES := $(SYSTEM_HOST_TABLES:%=%_sim) $(SYSTEM_HOST_TABLES:%=%_model) \
    $(addsuffix _model,tables va_named va_pages va_rectangles va_update va_zeros virtual virtual_paging)
SYSTEM_RUNS += $(SYSTEM_HOST_TABLES:%=$(BUILD)/tests/system_%_host_tables)
# Content by addresses of the paging process, also what is in tiles on one side.
SYSTEM_VIRTUAL_PAGING := copy_tiles tiled_images tile_addresses random_calls
SYSTEM_RUNS += $(SYSTEM_VIRTUAL_PAGING:%=$(BUILD)/tests/system_%_model_virtual)
SYSTEM_RUNS += $(SYSTEM_VIRTUAL_PAGING:%=$(BUILD)/tests/system_%_sim_virtual)
# The model alone has 64 GiB.
SYSTEM_RUNS += $(BUILD)/tests/system_large_memory_model

$(SYSTEM_TESTS:%=$(BUILD)/system/%) $(SYSTEM_ON_MODEL:%=$(BUILD)/system/%) $(BUILD)/system/large_memory: $(BUILD)/system/%: \
		tests/system/test_%.c tests/system/adapter_inside.h tests/system/system.h tests/seed.h $(BUILD)/libferry-san.a $(FLAGS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c,$^) $(BUILD)/libferry-san.a $(SIM_LIBS) -lcmocka $(LDLIBS) -o $@

$(BUILD)/system/poll $(BUILD)/system/poll_ends: tests/system/poll_loops.h
# The library's own thread is held off.
$(BUILD)/system/poll_ends $(BUILD)/tests/system_poll_ends_threads: private LDLIBS += -Wl,--wrap=ferry_vidmm_work
$(BUILD)/system/rectangles $(BUILD)/system/rectangle_sides: tests/system/rectangle_machine.h tests/system/rectangle_images.h
$(BUILD)/system/copy_rectangle $(BUILD)/system/va_rectangles $(BUILD)/system/copy_tiles \
    $(BUILD)/system/tiles $(BUILD)/system/tiled_images $(BUILD)/system/tile_addresses $(BUILD)/system/views $(BUILD)/system/linear_views \
    $(BUILD)/system/random_calls: tests/system/tile_images.h
$(BUILD)/system/random_calls: tests/system/call_shadow.h
$(BUILD)/system/va_update $(BUILD)/system/va_pages $(BUILD)/system/va_zeros $(BUILD)/system/va_named: tests/system/updates.h
$(BUILD)/system/virtual $(BUILD)/system/tables: tests/system/virtual_machine.h
$(BUILD)/system/va_threads $(BUILD)/tests/system_va_threads: tests/system/va_threads.h
# Others come in between two reads of a walk.
$(BUILD)/system/walks: private LDLIBS += -Wl,--wrap=ferry_gpu_window_read,--wrap=ferry_vidmm_read_table
AGREEMENT := $(addprefix tests/system/agreement_,buffers.c buffers.h spaces.c spaces.h)
$(BUILD)/system/agreement: $(AGREEMENT)

$(BUILD)/tests/system_%_model: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend model "$$@"\n' $< > $@ && chmod +x $@

$(SYSTEM_MODEL2:%=$(BUILD)/tests/system_%_model2): $(BUILD)/tests/system_%_model2: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend model --model 2 "$$@"\n' $< > $@ && chmod +x $@

$(SYSTEM_MODEL2:%=$(BUILD)/tests/system_%_sim_model2): $(BUILD)/tests/system_%_sim_model2: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend sim --model 2 "$$@"\n' $< > $@ && chmod +x $@

# Those of addresses have model 2 always.
$(BUILD)/tests/system_random_calls_%: MODEL := --model 2
$(BUILD)/tests/system_%_model_host_tables: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend model $(MODEL) --tables system "$$@"\n' $< > $@ && chmod +x $@

$(BUILD)/tests/system_%_sim_host_tables: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend sim $(MODEL) --tables system "$$@"\n' $< > $@ && chmod +x $@

$(SYSTEM_VIRTUAL_PAGING:%=$(BUILD)/tests/system_%_model_virtual): $(BUILD)/tests/system_%_model_virtual: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend model --model 2 --paging virtual "$$@"\n' $< > $@ && chmod +x $@

$(SYSTEM_VIRTUAL_PAGING:%=$(BUILD)/tests/system_%_sim_virtual): $(BUILD)/tests/system_%_sim_virtual: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend sim --model 2 --paging virtual "$$@"\n' $< > $@ && chmod +x $@

$(BUILD)/tests/system_%_sim: $(BUILD)/system/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s --backend sim "$$@"\n' $< > $@ && chmod +x $@

TEST_PROGRAMS += $(SYSTEM_RUNS)

# The thread test and the poll loops have all of the host side built with the thread sanitizer.
# One stand-alone fence, which the thread sanitizer cannot see through, orders nothing between threads of ours.
THREAD_SANITIZE := -fsanitize=thread $(if $(findstring clang,$(CC)),,-Wno-tsan) -fno-sanitize-recover=all -fno-omit-frame-pointer
THREAD_SOURCES = $(HOST_SOURCES) $(MODEL_SOURCES)
THREAD_OBJECTS = $(THREAD_SOURCES:%.c=$(BUILD)/obj-threads/%.o)

$(BUILD)/obj-threads/%.o: %.c $(FLAGS) tests/system/rules.mk | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(FOR_A_SECOND) $(THREAD_SANITIZE) $(HOST_CPPFLAGS) -I$(BUILD)/firmware -MMD -MP -c $< -o $@

THREAD_TESTS := $(addprefix $(BUILD)/tests/system_,threads thread_programs thread_closes va_threads poll_threads poll_ends_threads)
$(BUILD)/tests/system_threads: tests/system/test_threads.c
$(BUILD)/tests/system_thread_programs: tests/system/test_thread_programs.c
$(BUILD)/tests/system_thread_closes: tests/system/test_thread_closes.c
$(BUILD)/tests/system_va_threads: tests/system/test_va_threads.c
$(BUILD)/tests/system_poll_threads: tests/system/test_poll.c tests/system/poll_loops.h
$(BUILD)/tests/system_poll_ends_threads: tests/system/test_poll_ends.c tests/system/poll_loops.h
$(THREAD_TESTS): tests/system/adapter_inside.h tests/system/system.h tests/seed.h $$(THREAD_OBJECTS) $$(SIM_DEVICE_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(FOR_A_SECOND) $(THREAD_SANITIZE) $(HOST_CPPFLAGS) $(filter %.c %.o,$^) $(SIM_LIBS) -lcmocka $(LDLIBS) -o $@
-include $(shell find $(BUILD)/obj-threads -name '*.d' 2>/dev/null)

TEST_PROGRAMS += $(THREAD_TESTS) $(BUILD)/tests/system_thread_programs_model2 $(BUILD)/tests/system_thread_closes_model2
$(BUILD)/tests/system_thread_programs_model2 $(BUILD)/tests/system_thread_closes_model2: %_model2: %
	@printf '#!/bin/sh\nexec %s --model 2 "$$@"\n' $< > $@ && chmod +x $@

.PHONY: soak-system
SOAKS += soak-system
soak-system: $(BUILD)/system/random_calls $(BUILD)/system/agreement $(BUILD)/tests/system_table_agreement_sim
	@for seed in $$(seq 11 30); do \
	    FERRY_SEED=$$seed $(BUILD)/system/random_calls --backend model || exit 1; \
	    FERRY_SEED=$$seed $(BUILD)/system/random_calls --backend sim || exit 1; \
	    FERRY_SEED=$$seed $(BUILD)/system/agreement --backend sim || exit 1; \
	    FERRY_LONG=1 FERRY_SEED=$$seed $(BUILD)/tests/system_table_agreement_sim || exit 1; \
	done

# Programs of page tables on the model and on each back end, and a walker in Python that judges both.
TABLE_AGREEMENT := $(BUILD)/system/table_agreement
$(TABLE_AGREEMENT): tests/system/test_table_agreement.c tests/system/table_programs.c tests/system/table_programs.h \
		tests/system/table_packets.h tests/system/table_record.h $(AGREEMENT) \
		tests/system/system.h tests/seed.h $(BUILD)/libferry-san.a $(FLAGS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c,$^) $(BUILD)/libferry-san.a $(SIM_LIBS) -lcmocka $(LDLIBS) -o $@

TEST_PROGRAMS += $(BUILD)/tests/system_table_agreement_model $(BUILD)/tests/system_table_agreement_sim
$(BUILD)/tests/system_table_agreement_%: tests/system/table_walks.py tests/rtl/mmu/walk.py $(TABLE_AGREEMENT)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec python3 $< $(BUILD)/table_agreement_$*.txt $(TABLE_AGREEMENT) --backend $*\n' > $@ && chmod +x $@
