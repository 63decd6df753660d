# SPDX-License-Identifier: Apache-2.0
# Proofs of the small parts and of the engine's bus masters. The properties stand in the modules, under FORMAL.

FORMAL_SKID := ferry_skid_buffer 4 "" rtl/fabric/ferry_skid_buffer.v
FORMAL_FIFO := ferry_fifo 4 "-set LG_DEPTH 2 -set WIDTH 4" rtl/fabric/ferry_fifo.v
FORMAL_BLOCK_FIFO := ferry_fifo 4 "-set LG_DEPTH 2 -set WIDTH 4 -set BLOCK 1" rtl/fabric/ferry_fifo.v
FORMAL_ARBITER := ferry_arbiter 4 "-set PORTS 3" rtl/fabric/ferry_arbiter.v
FORMAL_CUTTER := ferry_burst_cutter 3 "" rtl/fabric/ferry_choice.v rtl/fabric/ferry_burst_cutter.v
FORMAL_RANGE := ferry_address_generator 1 "" -DFORMAL_INSIDE rtl/fabric/ferry_choice.v rtl/fabric/ferry_burst_cutter.v \
	rtl/mmu/ferry_access_check.v rtl/engine/ferry_job_cutter.v rtl/engine/ferry_page_translate.v rtl/engine/ferry_page_join.v \
	rtl/engine/ferry_page_ahead.v rtl/engine/ferry_address_generator.v
FORMAL_AHEAD := ferry_page_ahead 3 "" rtl/fabric/ferry_choice.v rtl/engine/ferry_page_ahead.v
FORMAL_JOIN := ferry_page_join 3,12 "" rtl/engine/ferry_page_join.v
# The generator's proof stands for it in those of the masters.
FORMAL_READ := ferry_read_side 3 "-set LG_READS 2" -DFORMAL_INSIDE tests/formal/any_address_generator.v rtl/fabric/ferry_fifo.v \
	rtl/fabric/ferry_skid_buffer.v rtl/fabric/ferry_choice.v rtl/engine/ferry_realigner.v rtl/engine/ferry_read_room.v \
	rtl/engine/ferry_read_side.v
FORMAL_WRITE := ferry_write_side 3 "" tests/formal/any_address_generator.v rtl/engine/ferry_write_side.v
FORMAL_DATA := ferry_write_data 3 "" -DFORMAL_INSIDE rtl/fabric/ferry_fifo.v rtl/engine/ferry_write_data.v
FORMAL_BAD_WORDS := ferry_data_fifo 4 "-set LG_DEPTH 2" -DFORMAL_INSIDE rtl/fabric/ferry_fifo.v rtl/engine/ferry_data_fifo.v
FORMAL_IN_TURN := write_in_turn 4 "" -DFORMAL_INSIDE tests/formal/any_address_generator.v rtl/fabric/ferry_fifo.v \
	rtl/engine/ferry_write_side.v rtl/engine/ferry_write_data.v tests/formal/write_in_turn.v
FORMAL_QUEUE := ferry_job_queue 3 "-set LG_JOBS 2 -set LG_URGENT 1 -set LG_TURNS 1" -DFORMAL_INSIDE rtl/fabric/ferry_fifo.v \
	rtl/engine/ferry_job_pointers.v rtl/engine/ferry_job_queue.v
FORMAL_RETIRE := ferry_retire 3,12 "-set LG_TURNS 3 -set LG_WRITES 2" -DFORMAL_INSIDE rtl/fabric/ferry_fifo.v rtl/engine/ferry_retire.v
# The engine as a whole: what it asks for when it is stopped.
FORMAL_STOPPED_ENGINE := ferry_engine 2,14 "-set LG_JOBS 2 -set LG_READS 2 -set LG_WRITES 2 -set LG_DATA 8" -DFORMAL_PORTS \
	rtl/fabric/ferry_choice.v rtl/fabric/ferry_fifo.v rtl/fabric/ferry_skid_buffer.v rtl/fabric/ferry_arbiter.v \
	rtl/fabric/ferry_burst_cutter.v rtl/mmu/ferry_access_check.v rtl/mmu/ferry_limits.v \
	$(filter-out %/ferry_engine.v %/ferry_rectangle.v %/ferry_rectangle_side.v %/ferry_swizzle.v,$(wildcard rtl/engine/ferry_*.v)) -- \
	-Irtl/engine rtl/engine/ferry_engine.v
# Bounded: a job is taken, looks up its pages, is thrown away and gone; that memory is trusted again takes as long.
FORMAL_LOOK_UPS_END := look_ups_end 16,16:bounded "" rtl/fabric/ferry_choice.v rtl/fabric/ferry_fifo.v rtl/fabric/ferry_skid_buffer.v \
	rtl/fabric/ferry_arbiter.v rtl/fabric/ferry_burst_cutter.v rtl/mmu/ferry_access_check.v rtl/mmu/ferry_limits.v \
	$(filter-out %/ferry_rectangle.v %/ferry_rectangle_side.v %/ferry_swizzle.v,$(wildcard rtl/engine/ferry_*.v)) -- \
	tests/formal/look_ups_end.v
# The walk over a rectangle and its tiles.
FORMAL_RECTANGLE := ferry_rectangle 3,27 "" rtl/fabric/ferry_choice.v rtl/engine/ferry_swizzle.v rtl/engine/ferry_rectangle_side.v -- \
	-Irtl/engine rtl/engine/ferry_rectangle.v
FORMAL_RECTANGLE_SIDE := ferry_rectangle_side 3 "" -Irtl/engine rtl/fabric/ferry_choice.v rtl/engine/ferry_swizzle.v \
	rtl/engine/ferry_rectangle_side.v
FORMAL_REALIGNER := ferry_realigner 3 "" rtl/fabric/ferry_choice.v rtl/engine/ferry_realigner.v
# The page-table unit; no covers, see its properties.
FORMAL_PAGE_TABLES := ferry_page_tables 2,0 "-set LOCAL_ADDRESS_BITS 51" -Irtl/mmu rtl/fabric/ferry_choice.v rtl/fabric/ferry_equal.v \
	rtl/mmu/ferry_table_cache.v rtl/mmu/ferry_table_entry.v rtl/mmu/ferry_table_reads.v rtl/mmu/ferry_tlb.v rtl/mmu/ferry_page_tables.v
# The muxes: by induction what each cycle shows, the order of the write data among it; that order is also followed from reset on,
# beat by beat, by a proof that takes none of the mux's own properties.
FORMAL_MUX := -DFORMAL_INSIDE rtl/fabric/ferry_arbiter.v rtl/fabric/ferry_fifo.v
FORMAL_READ_MUX := ferry_axi_read_mux 4 "" $(FORMAL_MUX) rtl/fabric/ferry_axi_read_mux.v
FORMAL_WRITE_MUX := ferry_axi_write_mux 4 "-set LG_BURSTS 2" $(FORMAL_MUX) rtl/fabric/ferry_axi_write_mux.v
FORMAL_WRITE_ORDER := write_mux_order 7,7:bounded "" rtl/fabric/ferry_arbiter.v rtl/fabric/ferry_fifo.v \
	rtl/fabric/ferry_axi_write_mux.v -- tests/formal/write_mux_order.v
# The master of the BAR2 window.
FORMAL_WINDOW := ferry_window 4 "-set LOCAL_ADDRESS_BITS 14" -Irtl/host rtl/host/ferry_window.v
FORMAL_VIEW := ferry_view_place 3,20 "-set LOCAL_ADDRESS_BITS 17" -Irtl/host rtl/engine/ferry_swizzle.v rtl/host/ferry_view_place.v
FORMAL_LOST_WINDOW := ferry_lost_window 3,14 "-set LOCAL_ADDRESS_BITS 14 -set LG_PATIENCE 1" -Irtl/host rtl/host/ferry_lost_window.v

# What stands between others' ports, from reset on: long enough for each of its few states to be entered from each and left again.
FORMAL_LIST_READS := list_reads 12,12:bounded "" rtl/fabric/ferry_arbiter.v rtl/engine/ferry_list_arbiter.v -- tests/formal/list_reads.v
FORMAL_LOST_READS := lost_reads_count 12,12:bounded "" rtl/engine/ferry_lost_reads.v tests/formal/lost_reads_count.v
FORMAL_THERE_AND_BACK := tlp_there_and_back 14,14:bounded "" rtl/fabric/ferry_tlp_narrow.v rtl/fabric/ferry_tlp_widen.v \
	tests/formal/tlp_there_and_back.v
# A change of three pages, from its offer to its end.
FORMAL_UPDATE_PORTS := update_ports 10,12:bounded "" rtl/fabric/ferry_fifo.v rtl/mmu/ferry_aperture_update.v -- tests/formal/update_ports.v
# Between a hard link block and the device, ten clocks: both ways two packets and more. Another mirror and other
# credits, which do what they like.
FORMAL_SLOT := slot_streams 10,10:bounded "" -Irtl/slot tests/formal/any_slot_mirror.v tests/formal/any_slot_credits.v \
	rtl/slot/ferry_slot.v -- tests/formal/slot_streams.v
# Which of the block's credits have no end. Covers lie behind the clocks that it waits for at first.
FORMAL_SLOT_CREDITS := ferry_slot_credits 3,20 "" rtl/slot/ferry_slot_credits.v
# The aperture table, with four pages.
FORMAL_APERTURE := ferry_aperture_table 3,14 "-set PAGES 4" tests/formal/any_arbiter.v rtl/mmu/ferry_aperture_table.v

FORMAL_FABRIC := RECTANGLE RECTANGLE_SIDE SKID FIFO BLOCK_FIFO ARBITER CUTTER AHEAD JOIN RANGE READ WRITE DATA BAD_WORDS IN_TURN QUEUE \
	RETIRE STOPPED_ENGINE LOOK_UPS_END REALIGNER READ_MUX WRITE_MUX WRITE_ORDER WINDOW VIEW LOST_WINDOW APERTURE LIST_READS LOST_READS \
	THERE_AND_BACK UPDATE_PORTS SLOT SLOT_CREDITS PAGE_TABLES
# What `make test` proves too, a minute of processor time in all, which it holds; other rooms add theirs. Only `make formal` proves
# those that take longest: the write mux (half a minute), the walk over a rectangle, the generator as a whole, the job queue,
# retirement, marks of bad words, the lost window, the page-table unit, the division of ferry_view_place, the read side, the write
# side's data in turn, the streams of a slot, and the bounded ones.
FORMAL_QUICK += $(filter-out RECTANGLE STOPPED_ENGINE LOOK_UPS_END VIEW UPDATE_PORTS THERE_AND_BACK RANGE QUEUE RETIRE BAD_WORDS \
	WRITE_MUX WRITE_ORDER LOST_WINDOW PAGE_TABLES READ IN_TURN SLOT,$(FORMAL_FABRIC))
FORMAL_ALL += $(FORMAL_FABRIC)
FORMAL += $(addprefix formal-fabric-,$(FORMAL_FABRIC))

.PHONY: $(addprefix formal-fabric-,$(FORMAL_FABRIC))
$(addprefix formal-fabric-,$(FORMAL_FABRIC)): formal-fabric-%: $(CONTRACT)
	@tests/formal/prove.sh $(BUILD)/formal/$* $(GENERATED) $(FORMAL_$*)

# A proof as run.py reads it: whether `make test` has it too, its name, its folder, what prove.sh takes.
FORMAL_LINE = $(if $(filter $1,$(FORMAL_QUICK)),quick,long) $1 $(BUILD)/formal/$1 $(GENERATED) $(FORMAL_$1)

# One case a proof; formal_NAME is one alone, which is how a mutation names it.
TEST_PROGRAMS += $(BUILD)/tests/formal

$(BUILD)/tests/formal: tests/formal/run.py $(filter %.mk,$(MAKEFILE_LIST)) $(wildcard rtl/*/rules.mk tests/rtl/*/rules.mk) $(CONTRACT)
	@mkdir -p $(@D) $(BUILD)/formal
	@printf '%s\n' $(foreach name,$(sort $(FORMAL_ALL) $(FORMAL_QUICK)),'$(call FORMAL_LINE,$(name))') > $(BUILD)/formal/proofs
	@printf '#!/bin/sh\nexec python3 $< $(BUILD)/formal/proofs "$$@"\n' > $@
	@chmod +x $@

$(BUILD)/tests/formal_%: $(BUILD)/tests/formal
	@printf '#!/bin/sh\nexec $< $*\n' > $@
	@chmod +x $@
