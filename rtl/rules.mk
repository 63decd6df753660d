# SPDX-License-Identifier: Apache-2.0
# The RTL: where its files are, its lint, and its size. RTL_FLAGS and RTL_DEVICE are what Verilator needs for the
# whole device.

RTL_FOLDERS := rtl rtl/host rtl/cpu rtl/engine rtl/mmu rtl/fabric
RTL_SOURCES := $(wildcard rtl/*.vh) $(foreach folder,$(RTL_FOLDERS),$(wildcard $(folder)/*.v))
# The packaged core: files of the Python package, found at recipe time since the package may not be installed before.
CPU_CORE ?= vexriscv
CPU_VARIANT ?= Min
RTL_CORE = $(RTL_CORE_$(CPU_CORE))
RTL_CORE_vexriscv = $$($(PYTHON) -c "import pythondata_cpu_vexriscv as p; print(p.data_location)")/VexRiscv_$(CPU_VARIANT).v
RTL_CORE_picorv32 = $$($(PYTHON) -c "import pythondata_cpu_picorv32 as p; print(p.data_location)")/picorv32.v
# SERV is many files; its folder also holds tops for synthesis alone.
RTL_CORE_serv = $$($(PYTHON) -c "import glob, pythondata_cpu_serv as p; \
    print(*[f for f in sorted(glob.glob(p.data_location + '/rtl/serv_*.v')) if 'wrapper' not in f])")
# Only the packaged core's own file is excepted from the warnings, by rtl/packaged_core.vlt.
RTL_FLAGS := --timescale 1ns/1ns -Wall -I$(GENERATED) $(addprefix -I,$(RTL_FOLDERS)) rtl/packaged_core.vlt
RTL_DEVICE = --top-module ferry_device -GCPU_CORE='"$(CPU_CORE)"' rtl/ferry_device.v $(RTL_CORE)

# --- Lint: the device in both configurations ------------------------------------------------------------------------

# Yosys' warnings are errors too: what it reads otherwise than Verilator does, drivers, loops.
YOSYS_STRICT := -q -e .
yosys_reads = -p "read_verilog -I$(GENERATED) $(addprefix -I,$(RTL_FOLDERS)) $(filter %.v,$(RTL_SOURCES)) $(RTL_CORE); \
    chparam -set CONFIGURATION \"$(1)\" ferry_device; hierarchy -check -top ferry_device; proc; opt_clean; check -assert"

LINTS += rtl-lint
.PHONY: rtl-lint
rtl-lint: $(BUILD)/rtl/lint.stamp

$(BUILD)/rtl/lint.stamp: $(RTL_SOURCES) $(wildcard rtl/slot/*.v rtl/board/*.v boards/acorn/*.v) sim/ferry_simulated.v \
    $(CONTRACT) rtl/packaged_core.vlt $(VENV)/ready
	@mkdir -p $(@D)
	$(VERILATOR) --lint-only $(RTL_FLAGS) $(RTL_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) -GCONFIGURATION='"tiny"' $(RTL_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) -GTLP_BITS=32 $(RTL_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) -GTLP_BITS=128 $(RTL_DEVICE)
	$(VERILATOR) --lint-only $(RTL_FLAGS) $(SIM_TOP)
	$(VERILATOR) --lint-only $(RTL_FLAGS) --top-module ferry_page_tables rtl/mmu/ferry_page_tables.v
	$(VERILATOR) --lint-only $(RTL_FLAGS) --top-module ferry_rectangle rtl/engine/ferry_rectangle.v
	$(VERILATOR) --lint-only $(RTL_FLAGS) -Irtl/slot -Irtl/board --top-module ferry_slot_board rtl/slot/ferry_slot_board.v $(RTL_CORE)
	$(YOSYS) $(YOSYS_STRICT) $(call yosys_reads,full)
	$(YOSYS) $(YOSYS_STRICT) -p "read_verilog -lib +/xilinx/cells_xtra.v; read_verilog -I$(GENERATED) boards/acorn/pcie_7x.v \
	    boards/acorn/ferry_acorn.v rtl/slot/ferry_slot.v rtl/slot/ferry_slot_mirror.v rtl/slot/ferry_slot_credits.v \
	    rtl/board/ferry_light.v rtl/board/ferry_block_memory.v; \
	    read_verilog -lib $(addprefix -I,$(GENERATED) $(RTL_FOLDERS)) rtl/ferry_device.v rtl/slot/ferry_slot_board.v; \
	    hierarchy -check -top ferry_acorn; proc; opt_clean; check -assert"
	$(YOSYS) $(YOSYS_STRICT) $(call yosys_reads,tiny)
	@touch $@

# --- Size: LUTs on ECP5 as Yosys counts them: LUT4 + 2 * CCU2C + 6 * TRELLIS_DPR16X4 --------------------------------

BENCHES += $(BUILD)/bench/lut.json
# The modules that are counted one by one, each as it stands in the device.
LUT_KEPT = $(shell python3 -c 'import sys; sys.path.insert(0, "rtl"); import lut; print(*lut.BLOCK_OF)' 2>/dev/null)

$(BUILD)/rtl/device.size.json: $(RTL_SOURCES) $(CONTRACT) rtl/synthesis.sh $(VENV)/ready
	@mkdir -p $(@D)
	rtl/synthesis.sh ecp5 ferry_device "$(GENERATED)" "$(RTL_CORE)" $@ $(RTL_SOURCES)

$(BUILD)/rtl/blocks.size.json: $(RTL_SOURCES) $(CONTRACT) rtl/synthesis.sh rtl/lut.py $(VENV)/ready
	@mkdir -p $(@D)
	KEEP="$(filter-out ferry_device,$(LUT_KEPT))" rtl/synthesis.sh ecp5 ferry_device "$(GENERATED)" "$(RTL_CORE)" $@ $(RTL_SOURCES)

# The engine built for linear copies and fills inside one memory, as the manual's example has it.
LUT_LINEAR := docs/examples/engine_alone/copy_engine.v
$(BUILD)/rtl/linear.size.json: $(RTL_SOURCES) $(LUT_LINEAR) $(CONTRACT) rtl/synthesis.sh
	@mkdir -p $(@D)
	SET="ADDRESS_BITS 26" rtl/synthesis.sh ecp5 copy_engine "$(GENERATED)" "" $@ $(LUT_LINEAR) $(RTL_SOURCES)

# The page-table unit, and what cuts rectangles and tiles, each built alone and of its own files: what Yosys reads beside them
# changes its names, and with them the result by up to a tenth.
LUT_PTU := $(wildcard rtl/mmu/ferry_*.v rtl/fabric/ferry_*.v)
LUT_RECTANGLE := $(addprefix rtl/engine/ferry_,rectangle.v rectangle_side.v swizzle.v) rtl/fabric/ferry_choice.v
$(BUILD)/rtl/ptu.size.json: $(LUT_PTU) $(CONTRACT) rtl/synthesis.sh
	@mkdir -p $(@D)
	rtl/synthesis.sh ecp5 ferry_page_tables "$(GENERATED)" "" $@ $(LUT_PTU)
$(BUILD)/rtl/rectangle.size.json: $(LUT_RECTANGLE) $(CONTRACT) rtl/synthesis.sh
	@mkdir -p $(@D)
	rtl/synthesis.sh ecp5 ferry_rectangle "$(GENERATED)" "" $@ $(LUT_RECTANGLE)

$(BUILD)/bench/lut.json: $(BUILD)/rtl/device.size.json $(BUILD)/rtl/blocks.size.json $(BUILD)/rtl/linear.size.json \
    $(BUILD)/rtl/ptu.size.json $(BUILD)/rtl/rectangle.size.json rtl/lut.py
	@mkdir -p $(@D)
	$(PYTHON) rtl/lut.py $@ $(BUILD)/rtl/device.size.json $(BUILD)/rtl/blocks.size.json linear=$(BUILD)/rtl/linear.size.json \
	    ptu=$(BUILD)/rtl/ptu.size.json rectangle=$(BUILD)/rtl/rectangle.size.json

# The small configuration goes through the iCE40 flow.
.PHONY: rtl-tiny
rtl-tiny: $(BUILD)/rtl/tiny.size.json
$(BUILD)/rtl/tiny.size.json: $(RTL_SOURCES) $(CONTRACT) rtl/synthesis.sh $(VENV)/ready
	@mkdir -p $(@D)
	rtl/synthesis.sh ice40 ferry_device "$(GENERATED)" "$(RTL_CORE)" $@ $(RTL_SOURCES)

-include $(wildcard rtl/*/rules.mk)
