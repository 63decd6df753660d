# SPDX-License-Identifier: Apache-2.0
# ferry_host against a root complex in C++.

TEST_PROGRAMS += $(BUILD)/tests/rtl_host
TESTS_RTL_HOST := $(filter-out $(wildcard rtl/host/ferry_registers*.v),$(wildcard rtl/host/*.v)) rtl/fabric/ferry_fifo.v \
	rtl/engine/ferry_swizzle.v

$(BUILD)/tests/rtl_host: $(wildcard tests/rtl/host/*.cpp tests/rtl/host/*.h tests/rtl/host/*.v) tests/rtl/rectangle/images.h tests/seed.h \
    $(TESTS_RTL_HOST) $(VERILATED_RUNTIME) $(CONTRACT)
	@mkdir -p $(BUILD)/tests $(BUILD)/obj/rtl_host
	$(VERILATE) --cc --exe --build -O3 --x-assign unique --x-initial unique -Wall --top-module host_under_test --prefix Vferry_host \
	    -I$(GENERATED) -Irtl/host -CFLAGS '-O1 -std=c++17 -Wall -Wextra' --Mdir $(BUILD)/obj/rtl_host \
	    tests/rtl/host/host_under_test.v $(TESTS_RTL_HOST) $(abspath $(filter %.cpp,$^)) -o $(abspath $@) && touch $@

# The same bench shows its configuration space to pciutils.
TEST_PROGRAMS += $(BUILD)/tests/lspci

$(BUILD)/tests/lspci: tests/rtl/host/lspci.py tests/rtl/host/lspci.txt $(BUILD)/tests/rtl_host
	@printf '#!/bin/sh\nexec $(PYTHON) tests/rtl/host/lspci.py $(BUILD)/tests/rtl_host\n' > $@
	@chmod +x $@

SOAKS += soak-hostile
.PHONY: soak-hostile
soak-hostile: $(BUILD)/tests/rtl_host
	FERRY_HOSTILE=1000000 $(BUILD)/tests/rtl_host hostile_host
