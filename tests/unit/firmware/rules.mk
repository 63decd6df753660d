# SPDX-License-Identifier: Apache-2.0
# The firmware's own sources natively over a double of the hardware.

FIRMWARE_TEST := tests/unit/firmware
FIRMWARE_TEST_SHARED := $(addprefix $(FIRMWARE_TEST)/,double.c double_sequencer.c double_engine.c double_post.c verify.c oracle.c \
    oracle_rectangle.c packets.c scenarios.c)
FIRMWARE_TEST_SOURCES := $(FIRMWARE_TEST_SHARED) $(addprefix $(FIRMWARE_TEST)/,double_hal.c native.c test_packets.c test_edges.c \
    test_trouble.c test_stuck.c test_firmware.c)

# A header that only the soft core's compiler reads stands in no list that the host's writes.
FIRMWARE_NATIVE := $(call sanitized,$(FIRMWARE_SOURCES))
$(FIRMWARE_NATIVE): $(wildcard firmware/*.h)

$(BUILD)/tests/firmware_native: $(FIRMWARE_TEST_SOURCES) $(FIRMWARE_NATIVE) $(wildcard firmware/*.h $(FIRMWARE_TEST)/*.h) \
    tests/seed.h $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -Ifirmware -I$(FIRMWARE_TEST) $(filter %.c %.o,$^) -lcmocka -o $@

TEST_PROGRAMS += $(BUILD)/tests/firmware_native

# --- The same scenarios with the image on the simulated core ---------------------------------------------------------------

FIRMWARE_CORE := $(BUILD)/tests/firmware-core
FIRMWARE_CORE_OBJECTS := $(FIRMWARE_TEST_SHARED:$(FIRMWARE_TEST)/%.c=$(FIRMWARE_CORE)/%.o) $(FIRMWARE_CORE)/firmware_image.o
FIRMWARE_CORE_RTL := $(wildcard rtl/cpu/*.v rtl/engine/ferry_rectangle*.v) rtl/engine/ferry_swizzle.v rtl/fabric/ferry_choice.v \
    $(FIRMWARE_TEST)/core_machine.v

$(FIRMWARE_CORE)/%.o: $(FIRMWARE_TEST)/%.c $(wildcard $(FIRMWARE_TEST)/*.h) $(FLAGS) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -I$(GENERATED) -I$(FIRMWARE_TEST) -c $< -o $@

$(FIRMWARE_CORE)/firmware_image.o: $(FIRMWARE_IMAGE) $(FLAGS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -c $< -o $@

# $(call firmware_core,CORE,CORE FILES,FLAGS); it is new also when nothing of it changed
firmware_core = $(VERILATE) --cc --exe --build -O3 --Mdir $(FIRMWARE_CORE)/verilated-$(1) --top-module core_machine $(RTL_FLAGS) \
    -GCPU_CORE='"$(1)"' -CFLAGS "-O2 -I$(CURDIR)/$(GENERATED) -I$(CURDIR)/$(FIRMWARE_TEST) -I$(CURDIR)/$(FIRMWARE_BUILD) $(3)" \
    $(FIRMWARE_TEST)/core_machine.v $(2) $(abspath $(FIRMWARE_TEST)/core_run.cpp $(FIRMWARE_CORE_OBJECTS)) -o $(abspath $@) && touch $@

$(BUILD)/tests/firmware_core $(BUILD)/tests/firmware_core_serv: $(FIRMWARE_CORE_OBJECTS) $(FIRMWARE_CORE_RTL) \
    $(FIRMWARE_TEST)/core_run.cpp tests/seed.h rtl/packaged_core.vlt $(VERILATED_RUNTIME) $(VENV)/ready

$(BUILD)/tests/firmware_core:
	$(call firmware_core,$(CPU_CORE),$(RTL_CORE),)

# The smallest core takes some thirty times as long for each instruction; all else must be the same.
$(BUILD)/tests/firmware_core_serv:
	$(call firmware_core,serv,$(RTL_CORE_serv),-DSLOWER=30 -DRUNS=4)

TEST_PROGRAMS += $(BUILD)/tests/firmware_core_serv
TEST_PROGRAMS += $(BUILD)/tests/firmware_core

# --- The check of the stack's bound ----------------------------------------------------------------------------------------

$(BUILD)/tests/firmware_stack_bound: $(FIRMWARE_TEST)/test_stack_bound.py firmware/stack_bound.py $(VENV)/ready
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) $<\n' > $@
	@chmod +x $@

TEST_PROGRAMS += $(BUILD)/tests/firmware_stack_bound
