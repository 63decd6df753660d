// SPDX-License-Identifier: Apache-2.0
// The soft core's registers, contract map `core`. A write is taken in the cycle it comes, unless what it would change
// is still being handed over; a read takes two cycles, so that the wide selection below stays out of the core's own
// paths.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers_core (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs. While not, its state as the host sees it is cleared. settled: nothing that it has set going is left.
    input  wire        run,
    input  wire        settled,

    // Bus from ferry_cpu: held until ready.
    input  wire        io_valid,
    input  wire        io_write,
    input  wire [11:0] io_address,
    input  wire [31:0] io_wdata,
    output wire        io_ready,
    output wire [31:0] io_rdata,

    // The firmware has told its state since the core was started.
    output reg         firmware_told,
    // Counters: a packet was taken, and the firmware has a buffer to decode.
    output wire        packet_taken,
    output wire        core_busy,
    // Interrupt causes, pulses; given only when no record is on its way, so that a message never overtakes its record.
    output wire [9:0]  interrupt_cause,

    // Port of ferry_registers_file: read data a cycle later.
    output wire        file_access,
    output wire        file_write,
    output wire [8:0]  file_index,
    output wire [31:0] file_wdata,
    input  wire [31:0] file_rdata,

    // Sequencer: start and stop, the buffer's length, where it is.
    output wire        sequence_start,
    output wire        sequence_stop,
    output wire [1:0]  sequence_slot,
    output wire [15:0] sequence_offset,
    output wire        sequence_system,
    output wire        sequence_tables,
    output wire        sequence_checked,
    output wire        sequence_virtual_only,
    output reg  [12:0] sequence_end,
    input  wire        sequence_busy,
    input  wire        sequence_waiting,
    input  wire        sequence_ended,
    input  wire        sequence_table,
    input  wire [15:0] sequence_at,
    // Its jobs.
    input  wire        packet_valid,
    output wire        packet_ready,
    // More jobs of its packet come.
    input  wire        packet_more,
    input  wire [`FERRY_JOB_BITS-1:0] packet_job,
    // A packet was taken that makes none.
    input  wire        packet_skipped,
    // Engine: a job.
    output wire        job_valid,
    input  wire        job_ready,
    output wire [`FERRY_JOB_BITS-1:0] job,
    // Engine: retirement (modulo 2^16), poison, fault, reset.
    input  wire [15:0] jobs_retired,
    input  wire [15:0] jobs_retired_urgent,
    input  wire [3:0]  poison,
    output wire [3:0]  poison_clear,
    // Slots whose jobs are dropped: POISON.
    output wire [3:0]  slots_dropped,
    input  wire        fault_valid,
    input  wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault,
    output wire        fault_clear,
    input  wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job,
    input  wire        resetting,
    input  wire        stuck,

    // Aperture table update.
    output wire        update_valid,
    input  wire        update_ready,
    output wire [`FERRY_UPDATE_BITS-1:0] update,
    input  wire        update_busy,
    input  wire [`FERRY_UPDATE_FAULT_BITS-1:0] update_fault,

    // Page-table unit: a root.
    output wire        root_valid,
    input  wire        root_ready,
    output wire [3:0]  root_space,
    output wire [`FERRY_ROOT_BITS-1:0] root,

    // Fetcher.
    input  wire [31:0] fetch_next,
    output wire        fetch_claim,
    // Slots that are not free; whose buffer they hold; whose entry asks for an interrupt.
    input  wire [3:0]  slots_used,
    input  wire [31:0] slot_tags,
    input  wire [3:0]  slot_interrupts,
    // A fact of the slot claimed last, or of fact_slot while fact_valid, by its place behind FETCH_ADDRESS_LOW; in the same
    // cycle while fact_ready. select makes another slot the one claimed last.
    output wire        fetch_select,
    output wire [1:0]  fetch_select_slot,
    output wire        fact_valid,
    output wire [1:0]  fact_slot,
    output wire [2:0]  fact_word,
    input  wire        fact_ready,
    input  wire [31:0] fact,
    // That slot's entry could not be read.
    input  wire        fact_unread,

    // Record poster.
    output wire        post_data_write,
    output wire [3:0]  post_data_index,
    output wire [31:0] post_data_wdata,
    output wire        post_start,
    output wire [63:0] post_address,
    output wire        post_long,
    output wire [2:0]  post_ring,
    output wire [1:0]  post_slot,
    output wire        post_interrupt,
    input  wire        post_busy,
    // What a record says goes into the register file; see ferry_post.
    input  wire        enter,
    input  wire        enter_long,
    input  wire [2:0]  enter_word,
    input  wire [31:0] enter_data,
    input  wire [2:0]  enter_ring,
    input  wire        ended,
    input  wire        ended_interrupt
);

    wire write = io_valid && io_write && io_ready;

    // --- Engine jobs and aperture table --------------------------------------------------------------------------------

    wire        update_free;
    wire [15:0] jobs_queued;
    wire [15:0] jobs_queued_urgent;
    wire [3:0]  aborted;
    wire [15:0] aborted_at;
    wire        aborted_left;
    wire [31:0] aborted_place;
    wire [3:0]  dropped;
    assign slots_dropped = poison | dropped;

    ferry_registers_jobs jobs (
        .clk(clk), .rst(rst), .run(run), .settled(settled), .write(write),
        .io_address(io_address), .io_wdata(io_wdata), .update_free(update_free),
        .jobs_queued(jobs_queued), .jobs_queued_urgent(jobs_queued_urgent), .slot_tags(slot_tags),
        .jobs_retired_urgent(jobs_retired_urgent), .aborted(aborted), .aborted_slot(finish_asks_slot),
        .aborted_at(aborted_at), .aborted_left(aborted_left), .aborted_place(aborted_place), .dropped(dropped),
        .slots_used(slots_used), .jobs_retired(jobs_retired), .packet_valid(packet_valid),
        .packet_ready(packet_ready), .packet_job(packet_job), .job_valid(job_valid), .job_ready(job_ready), .job(job),
        .poison_clear(poison_clear), .fault_clear(fault_clear), .aborted_job(aborted_job), .resetting(resetting), .stuck(stuck),
        .update_valid(update_valid),
        .update_ready(update_ready), .update(update), .root_valid(root_valid), .root_ready(root_ready), .root_space(root_space),
        .root(root)
    );

    // --- Sequencer ------------------------------------------------------------------------------------------------------

    wire write_sequence = write && io_address == `FERRY_CORE_SEQUENCE;
    assign sequence_stop = write_sequence && io_wdata[`FERRY_CORE_SEQUENCE_STOP_SHIFT];
    assign sequence_start = write_sequence && !io_wdata[`FERRY_CORE_SEQUENCE_STOP_SHIFT];
    assign sequence_slot = io_wdata[`FERRY_CORE_SEQUENCE_SLOT_RANGE];
    assign sequence_offset = io_wdata[`FERRY_CORE_SEQUENCE_PACKET_OFFSET_RANGE];
    assign sequence_system = io_wdata[`FERRY_CORE_SEQUENCE_SYSTEM_SHIFT];
    assign sequence_tables = io_wdata[`FERRY_CORE_SEQUENCE_TABLES_SHIFT];
    assign sequence_checked = io_wdata[`FERRY_CORE_SEQUENCE_CHECKED_SHIFT];
    assign sequence_virtual_only = io_wdata[`FERRY_CORE_SEQUENCE_VIRTUAL_ONLY_SHIFT];

    // FETCH_NEXT would give a buffer of ring 0.
    wire paging_waits = fetch_next[`FERRY_CORE_FETCH_NEXT_VALID_SHIFT] &&
                        fetch_next[`FERRY_CORE_FETCH_NEXT_RING_RANGE] == 3'd0;
    wire [31:0] work = {sequence_at, 6'd0, finish_asks_slot, 1'b0, sequence_table, finish_asks, fault_valid, paging_waits, sequence_ended,
                        sequence_waiting, sequence_busy};

    // --- Records and interrupts ----------------------------------------------------------------------------------------

    reg [63:0] post_address_reg;
    reg [9:0]  interrupt_reg;

    // The core sends fault records, ferry_finish fence records. Each writes a record's words in one go.
    // Groups of registers: the bits in which the addresses of one differ count for nothing.
    localparam [11:0] POST_DATA_BITS = `FERRY_CORE_POST_DATA_COUNT * `FERRY_CORE_POST_DATA_STRIDE - 12'd1;
    localparam [11:0] UPDATE_BITS = (`FERRY_CORE_MMU_FIRST ^ `FERRY_CORE_MMU_FAULT) | 12'd3;
    localparam [11:0] FACT_BITS = (`FERRY_CORE_FETCH_ADDRESS_LOW ^ `FERRY_CORE_FETCH_FAILED)
        | (`FERRY_CORE_FETCH_ADDRESS_LOW ^ `FERRY_CORE_FETCH_ADDRESS_HIGH) | 12'd3;
    wire at_post_data = (io_address & ~POST_DATA_BITS) == `FERRY_CORE_POST_DATA;
    wire send_fault = write && io_address == `FERRY_CORE_POST_CONTROL;
    reg  post_filling_reg;
    assign post_data_write = finish_data_write || (write && at_post_data);
    assign post_data_index = finish_owns ? finish_data_index : io_address[5:2];
    ferry_choice #(.WIDTH(32)) post_word (.second(finish_owns), .word0(io_wdata), .word1(finish_data), .chosen(post_data_wdata));
    assign post_start = finish_start || send_fault;
    assign post_address = post_address_reg;
    assign post_long = !finish_start;
    assign post_ring = finish_ring;
    assign post_slot = fact_slot;

    wire        finish_owns, finish_data_write, finish_start, finish_address_low, finish_address_high, finish_read, finish_asks,
                fact_high;
    wire [1:0]  finish_asks_slot;
    wire [2:0]  finish_ring;
    wire [3:0]  finish_data_index;
    wire [15:0] finish_offset;
    wire [31:0] finish_data;

    ferry_finish endings (
        .clk(clk), .rst(rst), .run(run), .finish(write && io_address == `FERRY_CORE_FINISH),
        .finish_slot(io_wdata[`FERRY_CORE_FINISH_SLOT_RANGE]), .finish_refused(io_wdata[`FERRY_CORE_FINISH_REFUSED_SHIFT]),
        .slot_tags(slot_tags), .slot_interrupts(slot_interrupts), .user_queued(jobs_queued), .user_retired(jobs_retired),
        .paging_queued(jobs_queued_urgent), .paging_retired(jobs_retired_urgent), .resetting(resetting || resetting_reg),
        .marks(slots_dropped | aborted), .asks(finish_asks), .asks_slot(finish_asks_slot),
        .status_valid(write && io_address == `FERRY_CORE_FINISH_STATUS), .status(io_wdata[7:0]), .fact_valid(fact_valid),
        .fact_slot(fact_slot), .fact_high(fact_high), .fact_wait(!fact_ready), .fact(fact), .fact_unread(fact_unread),
        .file_read(finish_read),
        .file_ring(finish_ring), .file_offset(finish_offset), .file_rdata(file_rdata),
        .post_taken(post_busy || post_filling_reg || (write && at_post)), .owns(finish_owns),
        .data_write(finish_data_write), .data_index(finish_data_index), .data(finish_data),
        .address_low(finish_address_low), .address_high(finish_address_high), .start(finish_start),
        .start_interrupt(post_interrupt)
    );
    localparam [11:0] FENCE_PLACE = `FERRY_CORE_FETCH_FENCE_LOW;
    assign fact_word = fact_valid ? {FENCE_PLACE[4:3], fact_high} : io_address[4:2];
    assign interrupt_cause = interrupt_reg & {10{!post_busy}};

    // The sequencer's packets count themselves; one of the core's own is counted in the next cycle without one of these.
    wire at_packets = io_address == `FERRY_CORE_PACKETS;
    reg  packet_owed_reg;
    wire   packet_whole = (packet_ready && !packet_more) || packet_skipped;
    assign packet_taken = packet_whole || packet_owed_reg;
    reg core_busy_reg;
    assign core_busy = core_busy_reg && !sequence_waiting;

    wire [9:0] cause_ring = {9'd0, ended_interrupt && !enter_long} << enter_ring;
    wire [9:0] cause_fault = {9'd0, enter_long} << `FERRY_BAR0_INTERRUPT_STATUS_FAULT_SHIFT;
    wire write_halted = write && io_address == `FERRY_CORE_FIRMWARE_STATE &&
                        io_wdata[7:0] == `FERRY_FIRMWARE_STATE_HALTED;

    always @(posedge clk) begin
        if (write) begin
            case (io_address)
            `FERRY_CORE_FIRMWARE_STATE:     firmware_told <= 1'b1;
            `FERRY_CORE_BUSY:               core_busy_reg <= io_wdata[0];
            `FERRY_CORE_SEQUENCE_END:       sequence_end <= io_wdata[12:0];
            default: ;
            endcase
        end
        if (fetch_claim) begin
            core_busy_reg <= fetch_next[`FERRY_CORE_FETCH_NEXT_VALID_SHIFT];
        end
        packet_owed_reg <= (write && at_packets) || (packet_owed_reg && packet_whole);
        post_filling_reg <= run && !send_fault && (post_filling_reg || (write && at_post));
        if (finish_address_low || (write && io_address == `FERRY_CORE_POST_ADDRESS_LOW)) begin
            post_address_reg[31:0] <= post_data_wdata;
        end
        if (finish_address_high || (write && io_address == `FERRY_CORE_POST_ADDRESS_HIGH)) begin
            post_address_reg[63:32] <= post_data_wdata;
        end
        interrupt_reg <= (interrupt_reg & ~interrupt_cause) |
                         ((cause_ring | cause_fault) & {10{ended}}) |
                         {write_halted, 9'd0};
        if (!run) begin
            firmware_told <= 1'b0;
            core_busy_reg <= 1'b0;
        end
        if (rst) begin
            interrupt_reg <= 10'd0;
            packet_owed_reg <= 1'b0;
            post_filling_reg <= 1'b0;
        end
    end

    // --- The bus -------------------------------------------------------------------------------------------------------

    // What a record says goes into the host's words; it comes before the core, as does what a fence record will say.
    reg [15:0] enter_offset;
    always @* begin
        case (enter_word)
        3'd0:    enter_offset = `FERRY_BAR0_RING_FENCE_VALUE;
        3'd1:    enter_offset = `FERRY_BAR0_RING_FENCE_VALUE + 16'd4;
        3'd4:    enter_offset = `FERRY_BAR0_RING_RETIRED;
        3'd6:    enter_offset = `FERRY_BAR0_RING_FAULTS;
        default: enter_offset = `FERRY_BAR0_RING_LAST_FAULTED;
        endcase
    end
    // A ring's words begin at a multiple of their room.
    localparam [15:0] RINGS_AT = `FERRY_BAR0_RING_AT;
    localparam [15:0] PRODUCED_AT = `FERRY_BAR0_FAULT_LOG_PRODUCED;
    wire [3:0]  ring_place = RINGS_AT[9:6] + {1'b0, enter ? enter_ring : finish_ring};
    wire [5:2]  ring_word = enter ? enter_offset[5:2] : finish_offset[5:2];

    // Words of BAR0 begin at byte 0 of the register file; the core sees them from another byte on, and its own before.
    localparam [15:0] SEEN_AT = {4'd0, `FERRY_CORE_RING_AT} - RINGS_AT;
    wire [11:0] place = io_address ^ SEEN_AT[11:0];
    // Only in the cycle that counts: a core that waits must not keep the host from its registers.
    assign file_access = enter || finish_read || write || read_now;
    // Constants and the host's settings do not change under the host.
    assign file_write = enter || (!finish_read && write && may_write(io_address[11:2]));
    assign file_index = enter && enter_long ? PRODUCED_AT[10:2] :
                        enter || finish_read ? {RINGS_AT[10], ring_place, ring_word} : place[10:2];
    assign file_wdata = enter ? enter_data : io_wdata;

    wire [63:0] fault_entry = fault[`FERRY_ENGINE_FAULT_ENTRY_RANGE];
    wire [31:0] fault_word = {fault[`FERRY_ENGINE_FAULT_PACKET_OFFSET_RANGE], fault_valid, 1'b0, fault[`FERRY_ENGINE_FAULT_HEIGHT_RANGE],
        fault[`FERRY_ENGINE_FAULT_UP_TO_POSITION_RANGE], fault[`FERRY_ENGINE_FAULT_WRITE_RANGE], fault[`FERRY_ENGINE_FAULT_SLOT_RANGE],
        fault[`FERRY_ENGINE_FAULT_KIND_RANGE]};

    wire [63:0] update_entry = update_fault[`FERRY_UPDATE_FAULT_ENTRY_RANGE];

    // Registers that live elsewhere; the others are in the file.
    wire [31:0] live_packets = 32'd0;
    wire [31:0] live_busy = {31'd0, core_busy_reg};
    wire [31:0] live_work = work;
    wire [31:0] live_poison = {28'd0, slots_dropped};
    wire [31:0] live_engine_fault = fault_word;
    wire [31:0] live_engine_fault_position = fault[`FERRY_ENGINE_FAULT_POSITION_RANGE];
    wire [31:0] live_engine_fault_written = fault[`FERRY_ENGINE_FAULT_WRITTEN_RANGE];
    wire [31:0] live_engine_fault_entry_low = fault_entry[31:0];
    wire [31:0] live_engine_fault_entry_high = fault_entry[63:32];
    wire [31:0] live_engine_state = {28'd0, jobs_queued_urgent != jobs_retired_urgent,
        jobs_queued != jobs_retired, stuck, resetting};
    wire [31:0] live_mmu_fault = {3'd0, update_fault[`FERRY_UPDATE_FAULT_INDEX_RANGE], 15'd0,
        update_fault[`FERRY_UPDATE_FAULT_VALID_RANGE]};
    wire [31:0] live_mmu_fault_entry_low = update_entry[31:0];
    wire [31:0] live_mmu_fault_entry_high = update_entry[63:32];
    wire [31:0] live_aborted = {aborted_at, 11'd0, aborted_left, aborted};
    wire [31:0] live_aborted_place = aborted_place;
    wire [31:0] live_mmu_busy = {31'd0, update_valid || update_busy};
    wire [31:0] live_fetch_next = fetch_next;
    wire [31:0] live_fetch_fact = fact;
    wire [31:0] live_post_busy = {31'd0, post_busy || finish_owns};
`include "ferry_core_access.vh"

    // What must not be touched while it is handed over, or cannot be read in this cycle.
    wire at_update = (io_address & ~UPDATE_BITS) == `FERRY_CORE_MMU_FIRST;
    wire at_post = io_address >= `FERRY_CORE_POST_DATA && io_address <= `FERRY_CORE_POST_CONTROL;
    wire at_fact = (io_address & ~FACT_BITS) == `FERRY_CORE_FETCH_ADDRESS_LOW;
    wire wait_post = at_post && (post_busy || finish_owns);
    // A root is taken as soon as the unit has cleared them after a reset.
    localparam [11:0] ROOT_BITS = (`FERRY_CORE_SPACE_PLACES ^ `FERRY_CORE_SPACE_ROOT) | 12'd3;
    wire at_root = (io_address & ~ROOT_BITS) == (`FERRY_CORE_SPACE_PLACES & ~ROOT_BITS);
    wire wait_write = (at_root && root_valid) ||
                      (at_packets && packet_owed_reg) || (at_update && !update_free) || wait_post || enter || finish_read;
    wire wait_read = (at_fact && (!fact_ready || fact_valid)) || enter || finish_read;

    reg        read_done_reg;
    reg        live_reg;
    reg [31:0] rdata_reg;
    reg        resetting_reg;

    wire read_now = io_valid && !io_write && !read_done_reg && !wait_read;
    assign fetch_select = write && io_address == `FERRY_CORE_FETCH_SLOT;
    assign fetch_select_slot = io_wdata[1:0];
    assign fetch_claim = read_now && io_address == `FERRY_CORE_FETCH_NEXT;
    assign io_ready = io_valid && (io_write ? !wait_write : read_done_reg);
    assign io_rdata = live_reg ? rdata_reg : file_rdata;

    always @(posedge clk) begin
        read_done_reg <= read_now;
        live_reg <= live_now;
        rdata_reg <= rdata_now;
        resetting_reg <= resetting;
        if (rst) begin
            read_done_reg <= 1'b0;
            resetting_reg <= 1'b0;
        end
    end

    wire unused = &{1'b0, place, enter_offset, finish_offset, RINGS_AT, PRODUCED_AT, FENCE_PLACE};

endmodule

`default_nettype wire
