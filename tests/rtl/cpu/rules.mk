# SPDX-License-Identifier: Apache-2.0
# RTL tests of the deciding half and of the whole device. Each is one C++ program around one Verilated module.

RTL_CPU_TEST := tests/rtl/cpu
RTL_CXXFLAGS := -std=c++17 -O2 -Wall -Wextra -I$(abspath $(RTL_CPU_TEST)) -I$(abspath $(GENERATED))
# $(call rtl_program,TOP,TEST SOURCE,FLAGS): Verilates TOP and builds the program; it is new also when nothing of it changed.
rtl_program = $(VERILATE) --cc --exe --build -O3 $(RTL_FLAGS) --top-module $(1) $(3) \
    --Mdir $(BUILD)/verilated/$(notdir $@) -CFLAGS "$(RTL_CXXFLAGS)" -MAKEFLAGS "OPT_FAST=-O2 OPT_SLOW=-O1" \
    -o $(abspath $@) $(abspath $(2)) > $(BUILD)/verilated/$(notdir $@).log && touch $@

RTL_CPU_PROGRAMS := $(addprefix $(BUILD)/tests/,rtl_control rtl_device_32 rtl_device_128 rtl_endings rtl_fetch rtl_restart \
    rtl_sequencer rtl_sequencer_flat rtl_tiny)
DEVICE_PROGRAMS := $(addprefix $(BUILD)/tests/,rtl_device rtl_function_reset rtl_host_view rtl_memory_faults rtl_resumed rtl_storm \
    rtl_troubles rtl_virtual)
RTL_CPU_CORE := -GCPU_CORE='"$(CPU_CORE)"'
TEST_PROGRAMS += $(RTL_CPU_PROGRAMS) $(DEVICE_PROGRAMS)
$(RTL_CPU_PROGRAMS): $(RTL_SOURCES) rtl/packaged_core.vlt $(wildcard $(RTL_CPU_TEST)/*) $(wildcard tests/rtl/rectangle/*.h) \
    tests/rtl/host/hostile_packets.h tests/unit/firmware/oracle.h tests/seed.h $(VERILATED_RUNTIME) $(CONTRACT) $(VENV)/ready

# --- Programs about the device as it ships: it is Verilated once, with a look at its slots, and they link it ----------------------

DEVICE_MODEL := $(BUILD)/verilated/ferry_device
DEVICE_ARCHIVE := $(DEVICE_MODEL)/Vferry_device__ALL.a

SLOT_WATCH := $(RTL_CPU_TEST)/slot_watch.v
$(DEVICE_ARCHIVE): $(RTL_SOURCES) $(SLOT_WATCH) rtl/packaged_core.vlt rtl/rules.mk $(CONTRACT) $(FLAGS) $(VENV)/ready
	@mkdir -p $(@D)
	$(VERILATE) --cc --build -O3 $(RTL_FLAGS) $(RTL_DEVICE) $(SLOT_WATCH) --Mdir $(@D) \
	    -MAKEFLAGS "OPT_FAST=-O2 OPT_SLOW=-O1" > $(@D).log && touch $@

$(DEVICE_PROGRAMS): $(BUILD)/tests/rtl_%: $(RTL_CPU_TEST)/%_test.cpp $(DEVICE_ARCHIVE) $(VERILATED_RUNTIME) \
    $(wildcard $(RTL_CPU_TEST)/*.h tests/rtl/rectangle/*.h) tests/rtl/host/hostile_packets.h tests/seed.h | $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D)
	$(CXX) $(RTL_CXXFLAGS) -Werror -isystem $(DEVICE_MODEL) $(SIM_VERILATOR_HEADERS) $(filter %.cpp,$^) $(filter %.a,$^) \
	    $(filter %.o,$^) -lpthread -o $@

$(BUILD)/tests/rtl_function_reset: $(addprefix $(RTL_CPU_TEST)/,function_reset_tables.cpp function_reset_writes.cpp)
$(BUILD)/tests/rtl_host_view: $(addprefix $(RTL_CPU_TEST)/,blocked_link_cases.cpp hostile_device_cases.cpp)

# --- Others, each around a module of its own ---------------------------------------------------------------------------

$(BUILD)/tests/rtl_control: | $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,control_bench,$(RTL_CPU_TEST)/control_test.cpp,$(RTL_CPU_CORE) $(RTL_CPU_TEST)/control_bench.v $(RTL_CORE))

# The same test with the packet streams at another width.
$(BUILD)/tests/rtl_device_32 $(BUILD)/tests/rtl_device_128: $(BUILD)/tests/rtl_device_%: | $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,ferry_device,$(RTL_CPU_TEST)/device_test.cpp,$(RTL_CPU_CORE) -GTLP_BITS=$* \
	    -CFLAGS -DLINK_BITS=$* rtl/ferry_device.v $(RTL_CORE))

$(BUILD)/tests/rtl_tiny: | $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,ferry_device,$(RTL_CPU_TEST)/tiny_test.cpp,$(RTL_CPU_CORE) -GCONFIGURATION='"tiny"' \
	    rtl/ferry_device.v $(RTL_CORE))

# Disturbs a running program in some cycles; `make soak` does it in every cycle.
$(BUILD)/tests/rtl_restart: | $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,ferry_device,$(RTL_CPU_TEST)/restart_test.cpp,$(RTL_CPU_CORE) --flatten $(RTL_CPU_TEST)/restart_test.vlt \
	    -CFLAGS -DFIRMWARE_MEMORY=ferry_device__DOT__units__DOT__commands__DOT__cpu__DOT__ram__DOT__memory \
	    -CFLAGS -DREGISTER_FILE=ferry_device__DOT__units__DOT__file__DOT__memory rtl/ferry_device.v $(RTL_CORE))

.PHONY: soak-restart
soak-restart: $(BUILD)/tests/rtl_restart
	$< $(BUILD)/firmware/firmware.bin every
SOAKS += soak-restart

.PHONY: soak-function-reset
soak-function-reset: $(BUILD)/tests/rtl_function_reset
	FERRY_RESETS=300 $<
SOAKS += soak-function-reset

.PHONY: soak-troubles
soak-troubles: $(BUILD)/tests/rtl_troubles
	FERRY_DEVICES=100 $<
SOAKS += soak-troubles

.PHONY: soak-storm
soak-storm: $(BUILD)/tests/rtl_storm
	FERRY_DEVICES=150 $<
SOAKS += soak-storm

# A hundred thousand hostile packets into the whole device, jobs of both rings after each hundred.
.PHONY: soak-hostile-device
soak-hostile-device: $(BUILD)/tests/rtl_host_view
	FERRY_HOSTILE=100000 $< hostile
SOAKS += soak-hostile-device

$(BUILD)/tests/rtl_fetch:
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,fetch_bench,$(RTL_CPU_TEST)/fetch_test.cpp,$(RTL_CPU_TEST)/fetch_bench.v)

$(BUILD)/tests/rtl_endings:
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,endings_bench,$(addprefix $(RTL_CPU_TEST)/,endings_test.cpp endings_watch.cpp core_registers_cases.cpp),\
	    $(RTL_CPU_TEST)/endings_bench.v)

# The oracle is that of the firmware's tests.
ORACLE_OBJECT := $(addprefix $(BUILD)/tests/firmware-core/,oracle.o oracle_rectangle.o)
$(BUILD)/tests/rtl_sequencer: $(ORACLE_OBJECT)
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,sequencer_bench,$(RTL_CPU_TEST)/sequencer_test.cpp $(ORACLE_OBJECT),-CFLAGS -I$(abspath tests/unit/firmware) \
	    $(RTL_CPU_TEST)/sequencer_bench.v)

# The same without page tables, as the set `tiny` has it.
$(BUILD)/tests/rtl_sequencer_flat: $(ORACLE_OBJECT)
	@mkdir -p $(@D) $(BUILD)/verilated
	$(call rtl_program,sequencer_bench,$(RTL_CPU_TEST)/sequencer_test.cpp $(ORACLE_OBJECT),-CFLAGS -I$(abspath tests/unit/firmware) \
	    -GPAGE_TABLES=0 -CFLAGS -DPAGE_TABLES=false $(RTL_CPU_TEST)/sequencer_bench.v)

# Proofs of the two bus masters of this room, and that the core is stopped and started in order.
FORMAL_POST := ferry_post 3,20 "" rtl/cpu/ferry_post.v
FORMAL_FETCH := ferry_fetch 3,0 "" rtl/fabric/ferry_choice.v rtl/cpu/ferry_fetch.v rtl/cpu/ferry_fetch_receive.v rtl/cpu/ferry_fetch_slots.v
# Its covers lie behind a wind back of each ring: fifteen steps with one ring, which takes a minute.
FORMAL_FETCH_ALIVE := ferry_fetch 3,16 "-set RINGS 1" $(wordlist 4,9,$(FORMAL_FETCH))
FORMAL_STOP := ferry_stop 6 "" rtl/cpu/ferry_stop.v
# Bounded: long enough for a slot to be claimed, and for the core to be stopped behind it; not for the next entry to arrive
# meanwhile, some 34 cycles, which takes a quarter of an hour.
FORMAL_SLOTS := slots_in_use 24,24:bounded "" rtl/fabric/ferry_choice.v rtl/cpu/ferry_fetch.v rtl/cpu/ferry_fetch_receive.v \
	rtl/cpu/ferry_fetch_slots.v tests/formal/slots_in_use.v
# Bounded: a packet from its first read to its offer, some fifteen cycles; minutes. The walk over a rectangle has proofs of its own.
FORMAL_SEQUENCER := ferry_sequencer 19,19:bounded "-set TILING 0" -Irtl/cpu rtl/cpu/ferry_sequencer.v
# Bounded: the first end of a buffer, of either class, asked for or not.
FORMAL_FINISH := ferry_finish 16,16:bounded "" rtl/fabric/ferry_choice.v rtl/cpu/ferry_finish.v
# What is read ahead for the core is never older than what stands there.
FORMAL_COMMAND_RAM := ferry_command_ram 3 "-set SLOTS 2 -set SLOT_BYTES_LOG2 9" rtl/fabric/ferry_choice.v rtl/cpu/ferry_command_ram.v
FORMAL_CPU := POST FETCH FETCH_ALIVE STOP SLOTS COMMAND_RAM SEQUENCER FINISH
FORMAL_QUICK += POST FETCH STOP
FORMAL_ALL += $(FORMAL_CPU)
FORMAL += $(addprefix formal-cpu-,$(FORMAL_CPU))
.PHONY: $(addprefix formal-cpu-,$(FORMAL_CPU))
$(addprefix formal-cpu-,$(FORMAL_CPU)): formal-cpu-%: $(CONTRACT)
	@tests/formal/prove.sh $(BUILD)/formal/$* $(GENERATED) $(FORMAL_$*)
