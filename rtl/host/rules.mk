# SPDX-License-Identifier: Apache-2.0
# Lint, area and proofs of the host side. Shared by nobody else: the device's own lint is in rtl/rules.mk.

.PHONY: lint-rtl-host area-rtl-host
LINTS += lint-rtl-host

RTL_HOST := $(filter-out $(wildcard rtl/host/ferry_registers*.v),$(wildcard rtl/host/*.v)) rtl/fabric/ferry_fifo.v \
	rtl/engine/ferry_swizzle.v

lint-rtl-host: $(CONTRACT)
	$(VERILATOR) --lint-only -Wall -I$(GENERATED) -Irtl/host --top-module ferry_host $(RTL_HOST)
	$(VERILATOR) --lint-only -Wall -I$(GENERATED) -Irtl/host -GLOCAL_ADDRESS_BITS=17 -GTAGS=4 --top-module ferry_host \
	    $(RTL_HOST)

# LUTs as Yosys counts them for ECP5.
area-rtl-host: $(CONTRACT)
	@mkdir -p $(BUILD)/area
	$(YOSYS) -q -p 'read_verilog -I$(GENERATED) $(RTL_HOST); synth_ecp5 -top ferry_host; tee -o $(BUILD)/area/host.txt stat'
	@awk '/ LUT4/ { l = $$2 } / CCU2C/ { c = $$2 } /DPR16X4/ { d = $$2 } \
	    END { print "rtl/host: " l + 2 * c + 6 * d " LUT (LUT4 " l ", CCU2C " c ", DPR16X4 " d ")" }' $(BUILD)/area/host.txt

# The completer answers each request that wants an answer exactly once: by induction for all time; and within a stated
# time when its partners answer, for requests of up to two words from reset on.
FORMAL_HOST_COMPLETER := ferry_completer 3,10 "" -Irtl/host rtl/host/ferry_completer.v
FORMAL_HOST_ANSWER_TIME := ferry_completer 19,14:bounded "" -DFORMAL_BOUND -Irtl/host rtl/host/ferry_completer.v

# The way in and the way out, module by module: what comes in waits for nothing that leaves.
FORMAL_HOST_RECEIVE := ferry_tlp_receive 3 "" -Irtl/host rtl/host/ferry_tlp_receive.v
FORMAL_HOST_BUFFER := ferry_packet_fifo 3,14 "-set LG_DEPTH 3 -set WIDTH 4" rtl/host/ferry_packet_fifo.v
FORMAL_HOST_POSTED := ferry_posted 20 "" -Irtl/host rtl/host/ferry_posted.v rtl/host/ferry_tlp_align.v
FORMAL_HOST_TRANSMIT := ferry_transmit 3 "" -Irtl/host rtl/host/ferry_transmit.v rtl/host/ferry_tlp_emit.v

FORMAL_HOST_REORDER := ferry_reorder 3 "-set LG_TAGS 2" rtl/host/ferry_reorder.v

FORMAL_HOST_TAGS := ferry_tag_table 3,12 "-set LG_TAGS 1" rtl/host/ferry_tag_table.v
FORMAL_HOST_REQUESTS := ferry_requester_read 3 "-set LG_TAGS 1" rtl/host/ferry_requester_read.v
FORMAL_HOST_LINES := ferry_requester_line 3 "" rtl/host/ferry_requester_line.v
FORMAL_HOST_WRITES := ferry_requester_write 3 "" rtl/host/ferry_requester_write.v

# Registers of 64 bits are read whole: the sequence of an access, and the counters' sweep. Error bits and the power state.
FORMAL_HOST_REGISTERS := ferry_registers 4,24 "" -Irtl/host rtl/host/ferry_registers.v
FORMAL_HOST_COUNTERS := ferry_registers_counters 4,14 "-set COUNT 3" -Irtl/host rtl/host/ferry_registers_counters.v
FORMAL_HOST_CONFIG := ferry_config 3,8 "" -Irtl/host rtl/host/ferry_config.v

# What request_ok promises, at each width of the link. Its covers lie behind eight requests, a minute of processor time.
HOST_PROMISE := -Irtl/host rtl/fabric/ferry_tlp_narrow.v rtl/fabric/ferry_tlp_widen.v rtl/host/ferry_tlp_width.v \
	rtl/host/ferry_tlp_receive.v rtl/host/ferry_request_room.v tests/formal/request_promise.v
FORMAL_HOST_PROMISE_32 := request_promise 4,0 "-set TLP_BITS 32" $(HOST_PROMISE)
FORMAL_HOST_PROMISE_64 := request_promise 4,26 "-set TLP_BITS 64" $(HOST_PROMISE)
FORMAL_HOST_PROMISE_128 := request_promise 4,0 "-set TLP_BITS 128" $(HOST_PROMISE)

FORMAL_HOST := COMPLETER ANSWER_TIME RECEIVE BUFFER POSTED TRANSMIT REORDER TAGS REQUESTS LINES WRITES REGISTERS COUNTERS CONFIG \
	PROMISE_32 PROMISE_64 PROMISE_128
# POSTED's induction goes over twenty cycles, the covers of tag table, promise and REGISTERS over many, which is long for make test;
# so are the configuration space, and the promise at any width.
FORMAL_QUICK += HOST_COMPLETER HOST_RECEIVE HOST_BUFFER HOST_TRANSMIT HOST_REORDER HOST_REQUESTS HOST_LINES \
	HOST_WRITES HOST_COUNTERS
FORMAL_ALL += $(addprefix HOST_,$(FORMAL_HOST))
FORMAL += $(addprefix formal-host-,$(FORMAL_HOST))

.PHONY: $(addprefix formal-host-,$(FORMAL_HOST))
$(addprefix formal-host-,$(FORMAL_HOST)): formal-host-%: $(CONTRACT)
	@tests/formal/prove.sh $(BUILD)/formal/host-$* $(GENERATED) $(FORMAL_HOST_$*)
