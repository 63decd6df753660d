// SPDX-License-Identifier: Apache-2.0
// The command processor: from a ring's doorbell to jobs for the engine and changes of the aperture table, and from the last
// job's retirement to the fence record. The fetcher brings buffers into command RAM, the firmware on the soft core decides,
// the sequencer carries, ferry_finish (in the core's registers) and ferry_post end. What stops and starts the core is here
// too, since it ends with everything of the core's at rest.
`default_nettype none
`include "ferry_contract.vh"

module ferry_command_processor #(
    // As in ferry_device.
    parameter RINGS = 5,
    parameter SLOTS = 4,
    parameter SLOT_BYTES_LOG2 = 12,
    parameter APERTURE_PAGES = 4096,
    parameter [0:0] PAGE_TABLES = 1,
    parameter [0:0] TILING = 1,
    parameter FIRMWARE_RAM_WORDS = 2048,
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv"
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // The host wants the core to run; it runs; it does not any more, and what it has set going comes to its end; nothing of
    // that is left. wound: nor does anybody hold a slot, and each ring is back at its first entry that has not retired.
    input  wire        core_run,
    output wire        run,
    output wire        stopping,
    output wire        settled,
    output wire        wound,

    // State for STATUS, counters and the host: the firmware has told its state; it has work; a packet was taken; a record is
    // on its way; reads of rings and buffers are; slots that are not free, and those that hold a whole buffer.
    output wire        firmware_told,
    output wire        core_busy,
    output wire        packet_taken,
    output wire        post_busy,
    output wire        fetch_busy,
    output wire [3:0]  slots_used,
    output wire [3:0]  slots_ready,
    // Interrupt causes, pulses.
    output wire [9:0]  interrupt_cause,

    // Firmware RAM, for the host while the core does not run.
    input  wire        firmware_valid,
    input  wire        firmware_write,
    input  wire [14:0] firmware_address,
    input  wire [31:0] firmware_wdata,
    input  wire [3:0]  firmware_wstrb,
    output wire        firmware_ready,
    output wire [31:0] firmware_rdata,

    // The core's port of the register file: read data a cycle later. clearing: the file is not ready yet.
    output wire        file_access,
    output wire        file_write,
    output wire [8:0]  file_index,
    output wire [31:0] file_wdata,
    input  wire [31:0] file_rdata,
    input  wire        file_clearing,

    // The host wrote a word of a ring's registers: byte offset in them. RING.FETCHED of that ring.
    input  wire        ring_write,
    input  wire [2:0]  ring_number,
    input  wire [5:0]  ring_offset,
    output wire [31:0] ring_fetched,
    // The fetcher reads a ring's registers: held until taken; data a cycle later.
    output wire        ring_read,
    output wire [2:0]  fetch_ring,
    output wire [5:0]  fetch_ring_word,
    input  wire        ring_taken,
    input  wire [31:0] ring_rdata,

    // What the host has set for addresses; the cycle counter; no record may enter the registers.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,
    input  wire [63:0] time_now,
    input  wire        fence_hold,

    // Engine: jobs, and whose buffer each slot holds (8 bits a slot in the layout of WRITE_TAG).
    output wire        job_valid,
    input  wire        job_ready,
    output wire [`FERRY_JOB_BITS-1:0] job,
    output wire [31:0] slot_tags,
    // Engine: retirement (modulo 2^16), poison, faults.
    input  wire [15:0] jobs_retired,
    input  wire [15:0] jobs_retired_urgent,
    input  wire [3:0]  poison,
    output wire [3:0]  poison_clear,
    input  wire        fault_valid,
    input  wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault,
    output wire        fault_clear,
    // Engine: a job that a reset has cut off.
    input  wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job,
    // Engine: at work, memory given up on, a reset goes on; a core that stops asks for one.
    input  wire        engine_busy,
    input  wire        engine_stuck,
    input  wire        resetting,
    output wire        engine_reset,

    // Page-table unit: a root.
    output wire        root_valid,
    input  wire        root_ready,
    output wire [3:0]  root_space,
    output wire [`FERRY_ROOT_BITS-1:0] root,

    // A change of the aperture table.
    output wire        update_valid,
    input  wire        update_ready,
    output wire [`FERRY_UPDATE_BITS-1:0] update,
    input  wire        update_busy,
    input  wire [`FERRY_UPDATE_FAULT_BITS-1:0] update_fault,

    // Page lists in command RAM, for the engine and for a change of the table: byte address; data in order.
    input  wire        engine_list_valid,
    output wire        engine_list_ready,
    input  wire [15:0] engine_list_address,
    output wire        engine_list_data_valid,
    output wire [63:0] engine_list_data,
    input  wire        update_list_valid,
    output wire        update_list_ready,
    input  wire [15:0] update_list_address,
    output wire        update_list_data_valid,
    output wire [63:0] update_list_data,

    // Reads of ring entries and buffers: AXI4 read master to the host port.
    output wire [`FERRY_AXI_A_BITS-1:0] fetch_ar,
    output wire        fetch_arvalid,
    input  wire        fetch_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] fetch_r,
    input  wire        fetch_rvalid,
    output wire        fetch_rready,
    // Fence and fault records: AXI4 write master to the host port.
    output wire [`FERRY_AXI_A_BITS-1:0] post_aw,
    output wire        post_awvalid,
    input  wire        post_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] post_w,
    output wire        post_wvalid,
    input  wire        post_wready,
    input  wire [1:0]  post_bresp,
    input  wire        post_bvalid,
    output wire        post_bready
);

    // --- Wires between the units, by who drives them --------------------------------------------------------------------

    // Soft core and its registers.
    wire        io_valid, io_write, io_ready, command_valid, command_ready;
    wire [11:0] io_address;
    wire [31:0] io_wdata, io_rdata, command_rdata;
    wire [15:0] command_address;
    wire        post_data_write, post_start, post_long;
    wire [3:0]  post_data_index;
    wire [31:0] post_data_wdata;
    wire [63:0] post_address;
    wire [1:0]  post_slot;
    wire [2:0]  post_ring;
    wire        post_interrupt;

    // Fetcher: command slots. Which slot's description is shown; whose entry asks for an interrupt.
    wire        fetch_claim, fact_ready, fact_unread, command_write_valid;
    wire [31:0] fetch_next, fact;
    wire [2:0]  fact_word;
    wire [15:0] command_write_address;
    wire [63:0] command_write_data;
    wire        fetch_select, fact_valid;
    wire [1:0]  fetch_select_slot, fact_slot;
    wire [3:0]  slot_interrupts;

    // Record poster: what goes into the registers. With its last word a fence's entry is retired.
    wire        enter, enter_long, ended, ended_interrupt;
    wire [1:0]  ended_slot;
    wire [2:0]  enter_word, enter_ring;
    wire [31:0] enter_data;
    wire        entry_retired = ended && !enter_long;

    // Sequencer: start, stop, where it is; its reads of command RAM; its jobs.
    wire        sequence_virtual_only;
    wire [3:0]  slots_dropped;
    // Space of each slot's virtual addresses, 4 bits a slot.
    wire [15:0] slot_spaces;
    wire        sequence_start, sequence_stop, sequence_system, sequence_tables, sequence_checked, sequence_busy, sequence_waiting,
                sequence_ended, sequence_table;
    wire        packet_read_valid, packet_read_ready, packet_data_valid, packet_valid, packet_ready, packet_more, packet_skipped;
    wire [1:0]  sequence_slot;
    wire [12:0] sequence_end;
    wire [15:0] sequence_offset, sequence_at, packet_read_address;
    wire [63:0] packet_data;
    wire [`FERRY_JOB_BITS-1:0] packet_job;

    // --- Units ----------------------------------------------------------------------------------------------------------

    ferry_stop stop (
        .clk(clk), .rst(rst), .core_run(core_run), .run(run), .stopping(stopping), .settled(settled),
        .engine_reset(engine_reset), .engine_busy(engine_busy && !engine_stuck), .engine_resetting(resetting),
        .update_busy(update_valid || update_busy), .post_busy(post_busy), .fetch_wound(wound)
    );

    ferry_registers_core core_registers (
        .clk(clk), .rst(rst), .run(run), .settled(settled), .root_valid(root_valid), .root_ready(root_ready),
        .root_space(root_space), .root(root),
        .sequence_virtual_only(sequence_virtual_only),
        .io_valid(io_valid), .io_write(io_write), .io_address(io_address),
        .io_wdata(io_wdata), .io_ready(io_ready), .io_rdata(io_rdata),
        .firmware_told(firmware_told), .packet_taken(packet_taken),
        .core_busy(core_busy), .interrupt_cause(interrupt_cause), .file_access(file_access),
        .file_write(file_write), .file_index(file_index), .file_wdata(file_wdata),
        .file_rdata(file_rdata), .sequence_start(sequence_start), .sequence_stop(sequence_stop),
        .sequence_slot(sequence_slot), .sequence_offset(sequence_offset), .sequence_system(sequence_system),
        .sequence_tables(sequence_tables),
        .sequence_checked(sequence_checked), .sequence_end(sequence_end), .sequence_busy(sequence_busy),
        .sequence_waiting(sequence_waiting), .sequence_ended(sequence_ended), .sequence_table(sequence_table), .sequence_at(sequence_at),
        .packet_valid(packet_valid), .packet_ready(packet_ready), .packet_job(packet_job), .packet_more(packet_more),
        .packet_skipped(packet_skipped), .job_valid(job_valid),
        .job_ready(job_ready), .job(job), .jobs_retired(jobs_retired),
        .jobs_retired_urgent(jobs_retired_urgent), .poison(poison), .poison_clear(poison_clear),
        .slots_dropped(slots_dropped),
        .fault_valid(fault_valid), .fault(fault), .fault_clear(fault_clear), .aborted_job(aborted_job), .resetting(resetting),
        .stuck(engine_stuck),
        .update_valid(update_valid), .update_ready(update_ready), .update(update), .update_busy(update_busy),
        .update_fault(update_fault), .fetch_next(fetch_next), .fetch_claim(fetch_claim),
        .slots_used(slots_used), .slot_tags(slot_tags), .slot_interrupts(slot_interrupts),
        .fetch_select(fetch_select), .fetch_select_slot(fetch_select_slot), .fact_valid(fact_valid), .fact_slot(fact_slot),
        .fact_word(fact_word), .fact_ready(fact_ready), .fact(fact), .fact_unread(fact_unread), .post_data_write(post_data_write),
        .post_data_index(post_data_index), .post_data_wdata(post_data_wdata),
        .post_start(post_start), .post_address(post_address), .post_long(post_long), .post_ring(post_ring),
        .post_slot(post_slot), .post_interrupt(post_interrupt), .post_busy(post_busy), .enter(enter),
        .enter_long(enter_long), .enter_word(enter_word), .enter_data(enter_data), .enter_ring(enter_ring),
        .ended(ended), .ended_interrupt(ended_interrupt)
    );

    ferry_cpu #(
        .FIRMWARE_RAM_WORDS(FIRMWARE_RAM_WORDS), .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE)
    ) cpu (
        .clk(clk), .rst(rst), .run(run), .host_valid(firmware_valid), .host_write(firmware_write),
        .host_address(firmware_address), .host_wdata(firmware_wdata), .host_wstrb(firmware_wstrb),
        .host_ready(firmware_ready), .host_rdata(firmware_rdata), .command_valid(command_valid),
        .command_address(command_address), .command_ready(command_ready), .command_rdata(command_rdata),
        .io_valid(io_valid), .io_write(io_write), .io_address(io_address), .io_wdata(io_wdata), .io_ready(io_ready),
        .io_rdata(io_rdata)
    );

    ferry_fetch #(
        .RINGS(RINGS), .SLOTS(SLOTS), .SLOT_BYTES_LOG2(SLOT_BYTES_LOG2), .PAGE_TABLES(PAGE_TABLES)
    ) fetch (
        .spaces(slot_spaces),
        .clk(clk), .rst(rst), .run(run), .hold(resetting), .settled(settled && !file_clearing), .wound(wound),
        .ring_write(ring_write), .ring_number(ring_number), .ring_offset(ring_offset), .ring_read(ring_read),
        .ring_select(fetch_ring), .ring_word(fetch_ring_word), .ring_taken(ring_taken), .ring_rdata(ring_rdata), .fetched(ring_fetched),
        .write_valid(command_write_valid), .write_address(command_write_address), .write_data(command_write_data),
        .next(fetch_next), .claim(fetch_claim), .fact_ready(fact_ready), .fact_word(fact_word), .fact(fact), .fact_unread(fact_unread),
        .select(fetch_select), .select_slot(fetch_select_slot), .fact_valid(fact_valid), .fact_slot(fact_slot),
        .interrupts(slot_interrupts),
        .release_slot(entry_retired),
        .release_number(ended_slot), .used(slots_used), .ready(slots_ready), .tags(slot_tags), .busy(fetch_busy),
        .m_axi_ar(fetch_ar), .m_axi_arvalid(fetch_arvalid), .m_axi_arready(fetch_arready), .m_axi_r(fetch_r),
        .m_axi_rvalid(fetch_rvalid), .m_axi_rready(fetch_rready)
    );

    ferry_command_ram #(.SLOTS(SLOTS), .SLOT_BYTES_LOG2(SLOT_BYTES_LOG2)) command_ram (
        .clk(clk), .rst(rst), .write_valid(command_write_valid), .write_address(command_write_address),
        .write_data(command_write_data), .core_valid(command_valid), .core_address(command_address),
        .core_ready(command_ready), .core_rdata(command_rdata), .list0_valid(engine_list_valid),
        .list0_ready(engine_list_ready), .list0_address(engine_list_address), .list0_data_valid(engine_list_data_valid),
        .list0_data(engine_list_data), .list1_valid(update_list_valid), .list1_ready(update_list_ready),
        .list1_address(update_list_address), .list1_data_valid(update_list_data_valid), .list1_data(update_list_data),
        .packet_valid(packet_read_valid),
        .packet_ready(packet_read_ready), .packet_address(packet_read_address), .packet_data_valid(packet_data_valid),
        .packet_data(packet_data)
    );

    ferry_sequencer #(.APERTURE_PAGES(APERTURE_PAGES), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING)) sequencer (
        .clk(clk), .rst(rst), .run(run), .start_space(slot_spaces[{sequence_slot, 2'd0} +: 4]), .start_virtual_only(sequence_virtual_only),
        .start(sequence_start), .start_slot(sequence_slot),
        .start_offset(sequence_offset), .start_system(sequence_system), .start_tables(sequence_tables), .start_checked(sequence_checked),
        .stop(sequence_stop), .buffer_bytes(sequence_end), .busy(sequence_busy), .waiting(sequence_waiting),
        .ended(sequence_ended), .table_change(sequence_table), .offset(sequence_at), .limits(limits), .read_valid(packet_read_valid),
        .read_ready(packet_read_ready), .read_address(packet_read_address), .read_data_valid(packet_data_valid),
        .read_data(packet_data), .job_valid(packet_valid), .job_ready(packet_ready), .job(packet_job), .skipped(packet_skipped),
        .job_more(packet_more), .slot_ended(entry_retired), .slot_ended_number(ended_slot), .slots_dropped(slots_dropped)
    );

    ferry_post post (
        .clk(clk), .rst(rst), .time_now(time_now), .data_write(post_data_write), .data_index(post_data_index),
        .data_wdata(post_data_wdata), .start(post_start), .start_address(post_address), .start_long(post_long),
        .start_ring(post_ring), .start_slot(post_slot), .start_interrupt(post_interrupt), .enter_hold(fence_hold),
        .enter(enter), .enter_long(enter_long), .enter_word(enter_word), .enter_data(enter_data),
        .enter_ring(enter_ring), .ended(ended), .ended_slot(ended_slot), .ended_interrupt(ended_interrupt),
        .busy(post_busy), .m_axi_aw(post_aw), .m_axi_awvalid(post_awvalid), .m_axi_awready(post_awready),
        .m_axi_w(post_w), .m_axi_wvalid(post_wvalid), .m_axi_wready(post_wready), .m_axi_bresp(post_bresp),
        .m_axi_bvalid(post_bvalid), .m_axi_bready(post_bready)
    );

endmodule

`default_nettype wire
