# SPDX-License-Identifier: Apache-2.0
# The serial port, with the C end of the frames at the other end of the line.

TEST_PROGRAMS += $(BUILD)/tests/rtl_serial
TESTS_RTL_SERIAL_C := $(patsubst %.c,$(BUILD)/obj/%.o,host-driver/link/frames.c host-driver/link/frame_code.c)

$(BUILD)/tests/rtl_serial: $(wildcard tests/rtl/serial/*.cpp tests/rtl/serial/*.h tests/rtl/serial/*.v) $(FRAMES_ALONE) \
    $(TESTS_RTL_SERIAL_C) tests/unit/link/noisy_channel.h tests/seed.h $(VERILATED_RUNTIME) $(CONTRACT)
	@mkdir -p $(BUILD)/tests $(BUILD)/obj/rtl_serial
	$(VERILATE) --cc --exe --build -O3 --x-assign unique --x-initial unique -Wall --top-module serial_under_test \
	    -I$(GENERATED) -CFLAGS '-O2 -std=c++17 -Wall -Wextra -Werror' \
	    -CFLAGS '$(addprefix -I$(CURDIR)/,$(GENERATED) host-driver tests/unit/link)' \
	    --Mdir $(BUILD)/obj/rtl_serial tests/rtl/serial/serial_under_test.v $(FRAMES_ALONE) $(abspath $(filter %.cpp,$^)) \
	    $(abspath $(TESTS_RTL_SERIAL_C)) -o $(abspath $@) && touch $@
