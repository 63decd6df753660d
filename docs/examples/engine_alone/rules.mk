# SPDX-License-Identifier: Apache-2.0
# The engine alone: what the chapter docs/manual/engine-alone.md shows. `make example-engine` runs it; `make test` too.

ENGINE_ALONE := docs/examples/engine_alone
ENGINE_ALONE_RTL := $(wildcard rtl/engine/*.v rtl/mmu/*.v rtl/fabric/*.v)

$(BUILD)/tests/engine_alone: $(ENGINE_ALONE)/copy_engine.v $(ENGINE_ALONE)/bench.cpp $(ENGINE_ALONE_RTL) $(VERILATED_RUNTIME) \
    $(CONTRACT)
	@mkdir -p $(@D) $(BUILD)/obj/engine_alone
	$(VERILATE) --cc --exe --build -Wall --timescale 1ns/1ns -O3 -I$(GENERATED) -Irtl/engine -Irtl/mmu -Irtl/fabric \
	    -CFLAGS "-O2 -std=c++17 -Wall -Wextra -Werror" --Mdir $(BUILD)/obj/engine_alone --top-module copy_engine \
	    $(ENGINE_ALONE)/copy_engine.v $(abspath $(ENGINE_ALONE)/bench.cpp) -o $(abspath $@) > $(BUILD)/obj/engine_alone.log && touch $@

TEST_PROGRAMS += $(BUILD)/tests/engine_alone

.PHONY: example-engine
example-engine: $(BUILD)/tests/engine_alone
	@$<
