# SPDX-License-Identifier: Apache-2.0
# ferry-sim: the simulated device as a process of its own.

SERVER_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard sim/server/*.c))
SIM_SERIAL_OBJECTS := $(BUILD)/sim/ferry_serial_sim.o $(BUILD)/sim/serial/Vferry_serial__ALL.o
SIM_USB_OBJECTS := $(BUILD)/sim/ferry_usb_sim.o $(BUILD)/sim/usb/Vferry_usb__ALL.o

# The C++ driver links, because the simulation is C++.
$(BUILD)/ferry-sim: $(SERVER_OBJECTS) $(SIM_SERIAL_OBJECTS) $(SIM_USB_OBJECTS) $(BUILD)/libferry.a
	$(CXX) $(LDFLAGS) $^ -lusbredirparser $(SIM_LIBS) $(LDLIBS) -o $@
