# SPDX-License-Identifier: Apache-2.0
# Failure injection. The library's sources are built once more, with what can fail renamed to tests/injection/inject.c.

INJECT_ROOM := tests/injection
INJECT_NAMES := malloc calloc realloc free posix_memalign mmap munmap
INJECT_FLAGS := $(foreach name,$(INJECT_NAMES),-D$(name)=inject_$(name))
INJECT_WRAPS := -Wl,--wrap=ferry_vm_reserve,--wrap=ferry_vm_queue_reserve
INJECT_MANAGER := $(MANAGER_SOURCES:%.c=$(BUILD)/obj-inject/%.o)
INJECT_KMD := $(patsubst %.c,$(BUILD)/obj-inject/%.o,$(wildcard host-driver/kmd/*.c host-driver/device/*.c) \
	$(addprefix host-driver/link/,dma_map.c problem.c))

$(BUILD)/obj-inject/%.o: %.c $(FLAGS) $(INJECT_ROOM)/rules.mk | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(INJECT_FLAGS) -Itests/unit/kmd/no_firmware $(HOST_CPPFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj-suite/$(INJECT_ROOM)/%.o: HOST_CPPFLAGS := -I$(CONTRACT_SUITE) $(HOST_CPPFLAGS)
INJECT_TEST := $(patsubst %,$(BUILD)/obj-suite/$(INJECT_ROOM)/%.o,inject every_failure manager_addresses manager_run \
	test_manager) \
	$(BUILD)/obj-san/host-driver/umd/error.o

$(BUILD)/tests/inject_manager: $(INJECT_TEST) $(INJECT_MANAGER) \
		$(patsubst %,$(BUILD)/obj-suite/$(CONTRACT_SUITE)/%.o,memcpy_build memcpy_machine memcpy_miniport memcpy_pages memcpy_ranges \
		memcpy_run memcpy_tables)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) -o $@ -lcmocka -lpthread
$(BUILD)/tests/inject_manager_kmd: $(INJECT_TEST) $(INJECT_MANAGER) $(INJECT_KMD) \
		$(patsubst %,$(BUILD)/obj-suite/$(CONTRACT_SUITE)/%.o,kmd_answers kmd_machine kmd_on_model) \
		$(patsubst %.c,$(BUILD)/obj-san/%.o,$(wildcard sim/model/*.c))
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) -o $@ -lcmocka -lpthread
# Random programs (tests/contract/chaos.h): memory ends for them too.
$(BUILD)/tests/contract_chaos: $(CHAOS:%=$(BUILD)/obj-suite/%.o) $(SUITE_COMMON:%=$(BUILD)/obj-suite/%.o) $(INJECT_MANAGER)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) -o $@ $(CROWD_WAITS) -lcmocka -lz -lpthread
$(BUILD)/tests/contract_chaos_kmd: $(CHAOS:%=$(BUILD)/obj-suite/%.o) $(INJECT_MANAGER) $(INJECT_KMD) \
		$(filter-out $(BUILD)/obj-san/host-driver/% $(BUILD)/obj-suite/host-driver/%,$(KMD_SUITE_OBJECTS))
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) -o $@ $(CROWD_WAITS) -lcmocka -lz -lpthread
# All of the library but its back ends, of which the test has the model.
INJECT_UMD := $(patsubst %.c,$(BUILD)/obj-inject/%.o,$(wildcard host-driver/umd/*.c))
INJECT_PUBLIC := $(patsubst %,$(BUILD)/obj-suite/$(INJECT_ROOM)/%.o,inject every_failure test_public)
$(INJECT_UMD): HOST_CPPFLAGS += -Dferry_kmd_miniport=inject_kmd_miniport
$(BUILD)/obj-suite/$(INJECT_ROOM)/test_public.o: HOST_CPPFLAGS := -Itests/unit/kmd/no_firmware $(HOST_CPPFLAGS)
$(BUILD)/tests/inject_public: $(INJECT_PUBLIC) $(INJECT_MANAGER) $(INJECT_KMD) $(INJECT_UMD) \
		$(patsubst %.c,$(BUILD)/obj-san/%.o,$(wildcard sim/model/*.c))
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) -Wl,--wrap=umd_handle_make,--wrap=ferry_vidmm_submit -o $@ \
	    -lcmocka -lpthread
# Two submissions of one queue that fail at the same time.
INJECT_TWO := $(patsubst %,$(BUILD)/obj-suite/$(INJECT_ROOM)/%.o,inject plain_model test_two_submits)
$(addprefix $(BUILD)/obj-suite/$(INJECT_ROOM)/,plain_model.o test_two_submits.o): \
    HOST_CPPFLAGS := -Itests/unit/kmd/no_firmware $(HOST_CPPFLAGS)
$(BUILD)/tests/inject_two_submits: $(INJECT_TWO) $(INJECT_MANAGER) $(INJECT_KMD) $(INJECT_UMD) \
		$(patsubst %.c,$(BUILD)/obj-san/%.o,$(wildcard sim/model/*.c))
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) -Wl,--wrap=ferry_vidmm_submit -o $@ -lcmocka -lpthread
# Two calls of one device, the first in the middle of destroying an allocation.
INJECT_BESIDE_WRAPS := $(addprefix -Wl$(comma)--wrap=,ferry_vm_block ferry_vidmm_make_resident \
	ferry_vidmm_destroy_allocation ferry_vidmm_submit)
INJECT_BESIDE := $(patsubst %,$(BUILD)/obj-suite/$(INJECT_ROOM)/%.o,inject plain_model test_beside_destroy)
$(BUILD)/obj-suite/$(INJECT_ROOM)/test_beside_destroy.o: HOST_CPPFLAGS := -Itests/unit/kmd/no_firmware $(HOST_CPPFLAGS)
$(BUILD)/tests/inject_beside_destroy: $(INJECT_BESIDE) $(INJECT_MANAGER) $(INJECT_KMD) $(INJECT_UMD) \
		$(patsubst %.c,$(BUILD)/obj-san/%.o,$(wildcard sim/model/*.c))
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(filter %.o,$^) $(INJECT_WRAPS) $(INJECT_BESIDE_WRAPS) -o $@ -lcmocka -lpthread
TEST_PROGRAMS += $(patsubst %,$(BUILD)/tests/inject_%,beside_destroy two_submits manager manager_kmd public)
.SECONDARY: $(INJECT_TEST) $(INJECT_MANAGER) $(INJECT_KMD) $(INJECT_UMD) $(INJECT_PUBLIC) $(INJECT_TWO) $(INJECT_BESIDE)
-include $(shell find $(BUILD)/obj-inject -name '*.d' 2>/dev/null)
