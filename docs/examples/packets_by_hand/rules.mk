# SPDX-License-Identifier: Apache-2.0
# The whole device with packets put together by hand: what docs/manual/device.md and page-tables.md show. `make example-packets`
# prints it; `make test` holds what the pages quote against it. The device is the one of tests/rtl/cpu, which is Verilated once.

PACKETS_BY_HAND := docs/examples/packets_by_hand/bench.cpp
PACKETS_PAGES := docs/manual/device.md docs/manual/page-tables.md

$(BUILD)/examples/packets_by_hand: $(PACKETS_BY_HAND) $$(DEVICE_ARCHIVE) $(VERILATED_RUNTIME) $(CONTRACT) | $(BUILD)/firmware/firmware.bin
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -Wall -Wextra -Werror -I$(GENERATED) -isystem $(DEVICE_MODEL) $(SIM_VERILATOR_HEADERS) \
	    $(filter %.cpp,$^) $(filter %.a,$^) $(filter %.o,$^) -lpthread -o $@

$(BUILD)/tests/packets_by_hand: $(BUILD)/examples/packets_by_hand $(PACKETS_PAGES)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $< $(PACKETS_PAGES)\n' > $@
	@chmod +x $@

TEST_PROGRAMS += $(BUILD)/tests/packets_by_hand

.PHONY: example-packets
example-packets: $(BUILD)/examples/packets_by_hand
	@$<
