# SPDX-License-Identifier: Apache-2.0
# The page-table unit: its test, and its bench.

PAGE_TABLES_RTL := rtl/mmu/ferry_page_tables.v rtl/mmu/ferry_table_cache.v rtl/mmu/ferry_table_entry.v rtl/mmu/ferry_table_reads.v \
	rtl/mmu/ferry_tlb.v rtl/fabric/ferry_choice.v rtl/fabric/ferry_equal.v
PAGE_TABLES_FLAGS = --cc -Wall --timescale 1ns/1ns -O3 -I$(GENERATED) --top-module page_tables_under_test --exe --build \
	-CFLAGS "-O2 -std=c++20 -Wall -Wextra -Werror -I$(abspath $(GENERATED))" tests/rtl/mmu/page_tables_under_test.v $(PAGE_TABLES_RTL)
PAGE_TABLES_NEEDS = $(PAGE_TABLES_RTL) $(wildcard tests/rtl/mmu/*) tests/rtl/random.h tests/seed.h $(VERILATED_RUNTIME) $(CONTRACT)

TEST_PROGRAMS += $(BUILD)/tests/rtl_page_tables

$(BUILD)/tests/rtl_page_tables: $(PAGE_TABLES_NEEDS)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_page_tables
	$(VERILATE) $(PAGE_TABLES_FLAGS) --Mdir $(BUILD)/obj/rtl_page_tables $(abspath tests/rtl/mmu/page_tables_test.cpp) \
		-o $(abspath $@) && touch $@

# Built without tables in host memory.
TEST_PROGRAMS += $(BUILD)/tests/rtl_local_tables

$(BUILD)/tests/rtl_local_tables: $(PAGE_TABLES_NEEDS)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_local_tables
	$(VERILATE) $(PAGE_TABLES_FLAGS) -GHOST_TABLES=0 --Mdir $(BUILD)/obj/rtl_local_tables $(abspath tests/rtl/mmu/local_tables_test.cpp) \
		-o $(abspath $@) && touch $@

# And the unit against a walker in Python.
TEST_PROGRAMS += $(BUILD)/tests/page_tables_walk

$(BUILD)/tests/page_tables_walk: tests/rtl/mmu/walk.py $(BUILD)/tests/rtl_page_tables
	@printf '#!/bin/sh\nexec python3 $< $(BUILD)/tests/rtl_page_tables\n' > $@
	@chmod +x $@

BENCHES += $(BUILD)/bench/page_tables.json

$(BUILD)/bench/page_tables: $(PAGE_TABLES_NEEDS) $(FLAGS)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_page_tables_bench
	$(VERILATE) $(PAGE_TABLES_FLAGS) --Mdir $(BUILD)/obj/rtl_page_tables_bench $(abspath tests/rtl/mmu/bench.cpp) \
		-o $(abspath $@) && touch $@

$(BUILD)/bench/page_tables.json: $(BUILD)/bench/page_tables
	$(BUILD)/bench/page_tables $@
