# SPDX-License-Identifier: Apache-2.0
# The walk over a rectangle.

RECTANGLE_RTL := rtl/engine/ferry_rectangle.v rtl/engine/ferry_rectangle_side.v rtl/engine/ferry_swizzle.v rtl/fabric/ferry_choice.v

TEST_PROGRAMS += $(BUILD)/tests/rtl_rectangle

$(BUILD)/tests/rtl_rectangle: $(RECTANGLE_RTL) $(wildcard tests/rtl/rectangle/*) tests/rtl/random.h tests/seed.h $(VERILATED_RUNTIME)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_rectangle
	$(VERILATE) --cc -Wall --timescale 1ns/1ns -O3 --top-module ferry_rectangle --exe --build -CFLAGS "-O2 -std=c++20 -Wall -Wextra -Werror" \
		--Mdir $(BUILD)/obj/rtl_rectangle $(RECTANGLE_RTL) $(abspath tests/rtl/rectangle/rectangle_test.cpp) -o $(abspath $@) && touch $@
