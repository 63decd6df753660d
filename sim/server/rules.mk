# SPDX-License-Identifier: Apache-2.0
# ferry-sim: the simulated device as a process of its own.

SERVER_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard sim/server/*.c))

# The C++ driver links, because the simulation is C++.
$(BUILD)/ferry-sim: $(SERVER_OBJECTS) $(BUILD)/libferry.a
	$(CXX) $^ $(SIM_LIBS) $(LDLIBS) -o $@
