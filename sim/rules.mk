# SPDX-License-Identifier: Apache-2.0
# The simulation: the device Verilated twice (plain for speed, and with waves), the models of link and video memory, and
# the loop around them. Adds its objects to libferry.a through SIM_OBJECTS.

include $(wildcard sim/*/rules.mk)

SIM_BUILD := $(BUILD)/sim
SIM_INCLUDE := $(shell $(VERILATOR) --getenv VERILATOR_ROOT 2>/dev/null)/include
SIM_VERILATOR_HEADERS := -isystem $(SIM_INCLUDE) -isystem $(SIM_INCLUDE)/vltstd
SIM_CXXFLAGS := -std=c++17 -O3 $(WARNINGS)
# These objects are part of a library that shows none of their names. Unique ones would be shared even so, with another
# Verilator's run time in the same program.
SIM_LIBRARY_FLAGS = $(LIBRARY_FLAGS) -fno-gnu-unique
# Verilator's makefile takes CXXFLAGS of the environment by itself. A -g among them is nothing that anybody could use in what Verilator
# writes, and the compiler takes several times as long.
SIM_MODEL_FLAGS = $(SIM_LIBRARY_FLAGS) -g0
# The warnings are for rtl-lint; here they would only be told twice.
SIM_VERILATE = $(VERILATOR) --cc --no-skip-identical -O3 --x-assign fast --x-initial fast --noassert --flatten --threads 1 \
    --output-split 0 $(RTL_FLAGS) -Wno-fatal $(SIM_TOP)
# By its path from here: Verilator writes the names of files into what it makes.
SIM_TOP = --top-module ferry_simulated -GCPU_CORE='"$(CPU_CORE)"' sim/ferry_simulated.v \
    $$(realpath -s --relative-to=. $(RTL_CORE))
SIM_NEEDS := sim/ferry_simulated.v $(RTL_SOURCES) $(CONTRACT) rtl/packaged_core.vlt rtl/rules.mk sim/rules.mk $(FLAGS) $(VENV)/ready
SIM_RUNTIME := verilated verilated_threads verilated_fst_c
SIM_OWN := dram link_model ferry_sim device_plain device_traced

$(SIM_BUILD)/plain/Vferry_plain.mk: $(SIM_NEEDS)
	@mkdir -p $(@D)
	@echo "building the simulated device, twice: plain, and with waves"
	$(SIM_VERILATE) --prefix Vferry_plain -Mdir $(@D) > $(@D)/verilator.log

$(SIM_BUILD)/traced/Vferry_traced.mk: $(SIM_NEEDS)
	@mkdir -p $(@D)
	$(SIM_VERILATE) --trace-fst --trace-structs --prefix Vferry_traced -Mdir $(@D) > $(@D)/verilator.log

# Verilator's makefile puts all of the model into one file; the compiler then sees through every call. -O2 runs a fifth
# faster than -O3 here (measured: 920 against 760 kHz). Waves are for looking, not for speed.
$(SIM_BUILD)/plain/Vferry_plain__ALL.o: $(SIM_BUILD)/plain/Vferry_plain.mk
	$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(@D) -f Vferry_plain.mk OPT_FAST="-O2 $(SIM_MODEL_FLAGS)" \
	    OPT_SLOW=-O1 OPT_GLOBAL=-O2 CXX=$(CXX) VM_PARALLEL_BUILDS=0 $(@F)

$(SIM_BUILD)/traced/Vferry_traced__ALL.o: $(SIM_BUILD)/traced/Vferry_traced.mk
	$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(@D) -f Vferry_traced.mk OPT_FAST="-O1 $(SIM_MODEL_FLAGS)" \
	    OPT_SLOW=-O0 OPT_GLOBAL=-O1 CXX=$(CXX) VM_PARALLEL_BUILDS=0 $(@F)

$(SIM_RUNTIME:%=$(SIM_BUILD)/%.o): $(SIM_BUILD)/%.o: $(SIM_INCLUDE)/%.cpp $(FLAGS) sim/rules.mk
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -w $(CPPFLAGS) $(CXXFLAGS) $(SIM_LIBRARY_FLAGS) -I$(SIM_INCLUDE) -I$(SIM_INCLUDE)/vltstd -c $< -o $@

$(VERILATED_RUNTIME): $(SIM_BUILD)/verilated.o $(SIM_BUILD)/verilated_threads.o
	$(LD) -r $^ -o $@

$(SIM_BUILD)/%.o: sim/%.cpp $(wildcard sim/*.h) $(FLAGS) sim/rules.mk
	@mkdir -p $(@D)
	$(CXX) $(SIM_CXXFLAGS) $(CPPFLAGS) $(CXXFLAGS) $(SIM_LIBRARY_FLAGS) -Isim -c $< -o $@

$(SIM_BUILD)/device_plain.o: sim/device_plain.cpp $(wildcard sim/*.h) $(FLAGS) $(SIM_BUILD)/plain/Vferry_plain.mk
	$(CXX) $(SIM_CXXFLAGS) $(CPPFLAGS) $(CXXFLAGS) $(SIM_LIBRARY_FLAGS) -Isim -isystem $(SIM_BUILD)/plain $(SIM_VERILATOR_HEADERS) -c $< -o $@

$(SIM_BUILD)/device_traced.o: sim/device_traced.cpp $(wildcard sim/*.h) $(FLAGS) $(SIM_BUILD)/traced/Vferry_traced.mk
	$(CXX) $(SIM_CXXFLAGS) $(CPPFLAGS) $(CXXFLAGS) $(SIM_LIBRARY_FLAGS) -Isim -isystem $(SIM_BUILD)/traced $(SIM_VERILATOR_HEADERS) -c $< -o $@

SIM_DEVICE_OBJECTS := $(SIM_OWN:%=$(SIM_BUILD)/%.o) $(SIM_RUNTIME:%=$(SIM_BUILD)/%.o) \
    $(SIM_BUILD)/plain/Vferry_plain__ALL.o $(SIM_BUILD)/traced/Vferry_traced__ALL.o
SIM_OBJECTS += $(SIM_DEVICE_OBJECTS)
# The sanitizers look at our C; the Verilated model would only become slow.
SIM_OBJECTS_SAN += $(SIM_DEVICE_OBJECTS)
SIM_LIBS += -lstdc++ -lz

# The device at a serial port is for ferry-sim alone.
SIM_SERIAL_TOP = --top-module ferry_serial_simulated -GCPU_CORE='"$(CPU_CORE)"' -Irtl/serial sim/ferry_serial_simulated.v \
    $$(realpath -s --relative-to=. $(RTL_CORE))

$(SIM_BUILD)/serial/Vferry_serial.mk: sim/ferry_serial_simulated.v $(RTL_SERIAL) $(SIM_NEEDS)
	@mkdir -p $(@D)
	@echo "building the simulated device at a serial port"
	$(VERILATOR) --cc --no-skip-identical -O3 --x-assign fast --x-initial fast --noassert --flatten --threads 1 --output-split 0 \
	    $(RTL_FLAGS) -Wno-fatal $(SIM_SERIAL_TOP) --prefix Vferry_serial -Mdir $(@D) > $(@D)/verilator.log

$(SIM_BUILD)/serial/Vferry_serial__ALL.o: $(SIM_BUILD)/serial/Vferry_serial.mk
	$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(@D) -f Vferry_serial.mk OPT_FAST="-O2 $(SIM_MODEL_FLAGS)" \
	    OPT_SLOW=-O1 OPT_GLOBAL=-O2 CXX=$(CXX) VM_PARALLEL_BUILDS=0 $(@F)

$(SIM_BUILD)/ferry_serial_sim.o: sim/ferry_serial_sim.cpp $(wildcard sim/*.h) $(FLAGS) $(SIM_BUILD)/serial/Vferry_serial.mk
	$(CXX) $(SIM_CXXFLAGS) $(CPPFLAGS) $(CXXFLAGS) $(SIM_LIBRARY_FLAGS) -Isim -isystem $(SIM_BUILD)/serial $(SIM_VERILATOR_HEADERS) -c $< -o $@

# So is the device at a USB port.
SIM_USB_TOP = --top-module ferry_usb_simulated -GCPU_CORE='"$(CPU_CORE)"' -Irtl/serial -Irtl/usb sim/ferry_usb_simulated.v $(USB_CORE) \
    $$(realpath -s --relative-to=. $(RTL_CORE))

$(SIM_BUILD)/usb/Vferry_usb.mk: sim/ferry_usb_simulated.v $(RTL_USB) $(USB_CORE) $(SIM_NEEDS)
	@mkdir -p $(@D)
	@echo "building the simulated device at a USB port"
	$(VERILATOR) --cc --no-skip-identical -O3 --x-assign fast --x-initial fast --noassert --flatten --threads 1 --output-split 0 \
	    $(RTL_FLAGS) -Wno-fatal $(SIM_USB_TOP) --prefix Vferry_usb -Mdir $(@D) > $(@D)/verilator.log

$(SIM_BUILD)/usb/Vferry_usb__ALL.o: $(SIM_BUILD)/usb/Vferry_usb.mk
	$(ALONE) $(MAKE_COMMAND) --no-print-directory -C $(@D) -f Vferry_usb.mk OPT_FAST="-O2 $(SIM_MODEL_FLAGS)" \
	    OPT_SLOW=-O1 OPT_GLOBAL=-O2 CXX=$(CXX) VM_PARALLEL_BUILDS=0 $(@F)

$(SIM_BUILD)/ferry_usb_sim.o: sim/ferry_usb_sim.cpp $(wildcard sim/*.h) $(FLAGS) $(SIM_BUILD)/usb/Vferry_usb.mk
	$(CXX) $(SIM_CXXFLAGS) $(CPPFLAGS) $(CXXFLAGS) $(SIM_LIBRARY_FLAGS) -Isim -isystem $(SIM_BUILD)/usb $(SIM_VERILATOR_HEADERS) -c $< -o $@

.PHONY: sim
sim: $(SIM_DEVICE_OBJECTS)
