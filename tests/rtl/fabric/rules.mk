# SPDX-License-Identifier: Apache-2.0
# The test of the fabric parts.

TEST_PROGRAMS += $(BUILD)/tests/rtl_fabric

$(BUILD)/tests/rtl_fabric: $(wildcard rtl/fabric/*.v tests/rtl/fabric/*) tests/rtl/random.h tests/seed.h $(VERILATED_RUNTIME) $(CONTRACT)
	@mkdir -p $(@D) $(BUILD)/obj/rtl_fabric
	$(VERILATE) --cc -Wall --timescale 1ns/1ns -O3 -I$(GENERATED) -Irtl/fabric --Mdir $(BUILD)/obj/rtl_fabric \
		--top-module fabric_under_test --exe --build -CFLAGS "-O2 -std=c++17 -Wall -Wextra -Werror" \
		tests/rtl/fabric/fabric_under_test.v $(abspath tests/rtl/fabric/main.cpp) -o $(abspath $@) && touch $@
