# SPDX-License-Identifier: Apache-2.0
# The engine's tests and its bench: one Verilator build, two programs.

ENGINE_RTL := $(wildcard rtl/*.vh rtl/engine/*.v rtl/mmu/*.v rtl/fabric/*.v)
ENGINE_TESTS := tests/rtl/engine
ENGINE_FLAGS = --cc -Wall --timescale 1ns/1ns -O3 -I$(GENERATED) -Irtl -Irtl/engine -Irtl/mmu -Irtl/fabric \
	--top-module engine_under_test --exe --build \
	-CFLAGS "-O2 -std=c++20 -Wall -Wextra -Werror -I$(abspath $(GENERATED))" $(ENGINE_TESTS)/engine_under_test.v
ENGINE_NEEDS = $(ENGINE_RTL) tests/rtl/mmu/tables.h tests/rtl/rectangle/images.h tests/rtl/random.h tests/seed.h \
	$(wildcard $(ENGINE_TESTS)/*.v $(ENGINE_TESTS)/*.h $(ENGINE_TESTS)/*.cpp) \
	$(VERILATED_RUNTIME) $(FLAGS) $(CONTRACT)

TEST_PROGRAMS += $(BUILD)/tests/rtl_engine
BENCHES += $(BUILD)/bench/engine.json

$(BUILD)/tests/rtl_engine: $(ENGINE_NEEDS)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_engine
	$(VERILATE) $(ENGINE_FLAGS) --Mdir $(BUILD)/obj/rtl_engine \
		$(addprefix $(abspath $(ENGINE_TESTS))/,main.cpp machine.cpp engine_copy.cpp engine_pages.cpp \
		engine_flight.cpp engine_faults.cpp engine_over.cpp engine_resets.cpp engine_overlaps.cpp engine_edges.cpp engine_limits.cpp \
		engine_preempt.cpp engine_cuts.cpp engine_virtual.cpp engine_coming.cpp engine_ahead.cpp engine_ahead_faults.cpp \
		engine_entries.cpp engine_storm.cpp engine_forget.cpp engine_forget_storm.cpp) -o $(abspath $@) && touch $@

$(BUILD)/bench/engine: $(ENGINE_NEEDS)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_engine_bench
	$(VERILATE) $(ENGINE_FLAGS) --Mdir $(BUILD)/obj/rtl_engine_bench \
		$(addprefix $(abspath $(ENGINE_TESTS))/,bench.cpp machine.cpp) -o $(abspath $@) && touch $@

$(BUILD)/bench/engine.json: $(BUILD)/bench/engine
	$(BUILD)/bench/engine $@
