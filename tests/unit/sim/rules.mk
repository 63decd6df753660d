# SPDX-License-Identifier: Apache-2.0

$(BUILD)/tests/machine: $(addprefix tests/unit/sim/,machine_rig.c test_machine.c test_machine_faults.c) $(ROOT_COMPLEX) \
    $(call sanitized,$(addprefix host-driver/link/,backend_sim.c problem.c) $(wildcard host-driver/device/*.c) $(FIRMWARE_IMAGE)) \
    $(SIM_DEVICE_OBJECTS) $(HOST_HEADERS) \
    $(wildcard sim/*.h tests/unit/sim/*.h) tests/seed.h $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -Itests/unit/sim $(filter %.c %.o,$^) -o $@ -lcmocka \
	    $(SIM_LIBS) $(LDLIBS)

TEST_PROGRAMS += $(BUILD)/tests/machine

SIM_TEST_FLAGS := -std=c++17 -O1 -g $(WARNINGS) $(SANITIZE) -Isim -Itests/unit/sim

$(BUILD)/tests/dram: tests/unit/sim/test_dram.cpp sim/dram.cpp tests/unit/sim/check.h tests/seed.h $(wildcard sim/*.h)
	@mkdir -p $(@D)
	$(CXX) $(SIM_TEST_FLAGS) $(filter %.cpp,$^) -o $@

$(BUILD)/tests/link_model: tests/unit/sim/test_link_model.cpp sim/link_model.cpp tests/unit/sim/check.h tests/seed.h $(wildcard sim/*.h)
	@mkdir -p $(@D)
	$(CXX) $(SIM_TEST_FLAGS) $(filter %.cpp,$^) -o $@

TEST_PROGRAMS += $(BUILD)/tests/dram $(BUILD)/tests/link_model

$(BUILD)/tests/harness: tests/unit/sim/test_harness.cpp sim/link_model.cpp sim/dram.cpp tests/unit/sim/check.h tests/seed.h \
    $(wildcard sim/*.h)
	@mkdir -p $(@D)
	$(CXX) $(SIM_TEST_FLAGS) $(filter %.cpp,$^) -o $@

TEST_PROGRAMS += $(BUILD)/tests/harness

# The simulated slot; its device is the test's.
$(BUILD)/tests/slot: tests/unit/sim/test_slot.c $(wildcard sim/server/*.h) \
    $(call sanitized,$(addprefix sim/server/,slot.c guest_memory.c) \
    $(addprefix host-driver/link/,root_complex_serve.c root_complex_send.c root_complex_read.c tlp.c)) $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ -lcmocka

TEST_PROGRAMS += $(BUILD)/tests/slot

# The simulated serial port, with a program at its other end.
$(BUILD)/tests/pty: tests/unit/sim/test_pty.c $(wildcard sim/server/*.h) $(call sanitized,sim/server/pty.c)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ -lcmocka

TEST_PROGRAMS += $(BUILD)/tests/pty

# The end of a USB redirection that has the device; the guest and the bus are the test's.
$(BUILD)/tests/redir: tests/unit/sim/test_redir.c $(wildcard sim/server/*.h tests/unit/sim/redir_*.h) $(call sanitized,sim/server/redir.c)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ -lcmocka -lusbredirparser -lpthread

TEST_PROGRAMS += $(BUILD)/tests/redir

# The device at a serial port as ferry-sim has it.
$(BUILD)/tests/serial_sim: tests/unit/sim/test_serial_sim.c $(SIM_SERIAL_OBJECTS) $(BUILD)/libferry.a $(HOST_HEADERS) \
    $(wildcard sim/*.h) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) -c $< -o $@.o
	$(CXX) $@.o $(SIM_SERIAL_OBJECTS) $(BUILD)/libferry.a -o $@ -lcmocka $(SIM_LIBS) $(LDLIBS)

TEST_PROGRAMS += $(BUILD)/tests/serial_sim
