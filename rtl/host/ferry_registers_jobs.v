// SPDX-License-Identifier: Apache-2.0
// The core's registers behind which something starts: changes of the aperture table, whose registers are themselves the
// one place where a change waits. And what jobs pass on their way from the sequencer to the engine: they are counted, held
// back around a reset, and those of slots that were in use when it ended become empty. Of each slot it is kept here which packet a
// reset has cut: whoever runs the buffer again begins there.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers_jobs (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs. When it stops, the change that waits here is dropped. Once nothing of the core's is left (settled), jobs are
    // counted anew from those that have retired, and the fault is cleared.
    input  wire        run,
    input  wire        settled,

    // A word written by the core, and whether a write to the update registers can be taken.
    input  wire        write,
    input  wire [11:0] io_address,
    input  wire [31:0] io_wdata,
    output wire        update_free,
    // Jobs queued, of user rings and of the paging ring.
    output wire [15:0] jobs_queued,
    output wire [15:0] jobs_queued_urgent,
    // Slots of which a job was cut off by an engine reset, and the packet of the first one of aborted_slot; slots whose jobs become
    // empty.
    output wire [3:0]  aborted,
    input  wire [1:0]  aborted_slot,
    output wire [15:0] aborted_at,
    output wire        aborted_left,
    output wire [31:0] aborted_place,
    output wire [3:0]  dropped,
    // Slots that are not free. A slot that is freed loses its marks.
    input  wire [3:0]  slots_used,
    // Whose buffer each slot holds (WRITE_TAG, 8 bits a slot): jobs of ring 0 are urgent.
    input  wire [31:0] slot_tags,
    input  wire [15:0] jobs_retired,
    input  wire [15:0] jobs_retired_urgent,

    // Sequencer: a job. Its slot is the same in the cycle before.
    input  wire        packet_valid,
    output wire        packet_ready,
    input  wire [`FERRY_JOB_BITS-1:0] packet_job,
    // Engine: a job. None is offered while it is stuck.
    output wire        job_valid,
    input  wire        job_ready,
    output wire [`FERRY_JOB_BITS-1:0] job,
    // Engine: poison, fault, reset, and what that cuts off.
    output wire [3:0]  poison_clear,
    output wire        fault_clear,
    input  wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job,
    input  wire        resetting,
    input  wire        stuck,

    // Page-table unit: a root. It stays until it is taken, whatever becomes of the core; in a reset of the registers alone it goes,
    // as all that the unit knows does then.
    output wire        root_valid,
    input  wire        root_ready,
    output wire [3:0]  root_space,
    output wire [`FERRY_ROOT_BITS-1:0] root,

    // Aperture table update.
    output wire        update_valid,
    input  wire        update_ready,
    output wire [`FERRY_UPDATE_BITS-1:0] update
);

    // --- Engine jobs ---------------------------------------------------------------------------------------------------

    reg [15:0] jobs_queued_reg;
    reg [15:0] jobs_queued_urgent_reg;
    reg        resetting_reg;
    reg [3:0]  aborted_reg;
    reg [3:0]  dropped_reg;

    assign jobs_queued = jobs_queued_reg;
    assign jobs_queued_urgent = jobs_queued_urgent_reg;
    assign aborted = aborted_reg;
    assign dropped = dropped_reg;

    // A job of a cut slot still passes through the engine, so that jobs are counted in order, but has nothing to do: without
    // length, list and rights it looks at none of its other fields. No job is handed over around a reset: which slots it cuts
    // is known one cycle after its end. A job's slot is told, and its buffer known, long before it is offered, so what follows from
    // the slot is worked out a cycle ahead.
    wire [1:0] job_slot = packet_job[`FERRY_JOB_SLOT_RANGE];
    wire [3:0] dropped_next = (dropped_reg | {4{resetting_reg && !resetting}}) & slots_used;
    wire [7:0] job_tag = slot_tags[{job_slot, 3'd0} +: 8];
    reg        job_dropped;
    reg        urgent;
    always @(posedge clk) begin
        job_dropped <= dropped_next[job_slot];
        urgent <= job_tag[`FERRY_WRITE_TAG_TAG_RING_RANGE] == 3'd0;
    end
    reg [`FERRY_JOB_BITS-1:0] classed_job;
    always @* begin
        classed_job = packet_job;
        if (job_dropped) begin
            classed_job[`FERRY_JOB_OP_RANGE] = `FERRY_JOB_OP_COPY;
            classed_job[`FERRY_JOB_SOURCE_KIND_RANGE] = `FERRY_ADDRESS_KIND_LOCAL;
            classed_job[`FERRY_JOB_DESTINATION_KIND_RANGE] = `FERRY_ADDRESS_KIND_LOCAL;
            classed_job[`FERRY_JOB_LIST_RANGE] = 2'd0;
            classed_job[`FERRY_JOB_UNORDERED_RANGE] = 1'b0;
            classed_job[`FERRY_JOB_PROTECTED_RANGE] = 1'b0;
            classed_job[`FERRY_JOB_LENGTH_RANGE] = 32'd0;
        end
        classed_job[`FERRY_JOB_URGENT_RANGE] = urgent;
    end
    assign job = classed_job;
    assign job_valid = packet_valid && run && !resetting && !resetting_reg && !stuck;
    assign packet_ready = job_valid && job_ready;

    // The first job of a slot that is not carried out whole: by what the engine tells during a reset, else by what becomes empty here
    // behind it. Nothing is handed over while the engine still tells.
    reg  [48:0] place [0:3];
    wire        told_by_engine = aborted_job[`FERRY_ABORTED_JOB_VALID_RANGE];
    wire [1:0]  first_slot = told_by_engine ? aborted_job[`FERRY_ABORTED_JOB_SLOT_RANGE] : job_slot;
    wire        first_aborted = (told_by_engine || (packet_ready && job_dropped)) && !aborted_reg[first_slot];
    assign {aborted_at, aborted_left, aborted_place} = place[aborted_slot];

    assign poison_clear = ~slots_used;
    assign fault_clear = settled || (write && io_address == `FERRY_CORE_ENGINE_FAULT &&
                                     io_wdata[`FERRY_CORE_ENGINE_FAULT_VALID_SHIFT]);

    always @(posedge clk) begin
        if (packet_ready && !urgent) begin
            jobs_queued_reg <= jobs_queued_reg + 16'd1;
        end
        if (packet_ready && urgent) begin
            jobs_queued_urgent_reg <= jobs_queued_urgent_reg + 16'd1;
        end
        resetting_reg <= resetting;
        aborted_reg <= (aborted_reg | (first_aborted ? 4'd1 << first_slot : 4'd0)) & slots_used;
        // Every slot that is in use when a reset ends.
        dropped_reg <= dropped_next;
        if (first_aborted) begin
            place[first_slot] <= told_by_engine ? {aborted_job[`FERRY_ABORTED_JOB_PACKET_OFFSET_RANGE],
                aborted_job[`FERRY_ABORTED_JOB_LEFT_RANGE], aborted_job[`FERRY_ABORTED_JOB_PLACE_RANGE]}
                : {packet_job[`FERRY_JOB_PACKET_OFFSET_RANGE], 33'd0};
        end
        if (settled) begin
            jobs_queued_reg <= jobs_retired;
            jobs_queued_urgent_reg <= jobs_retired_urgent;
        end
        if (rst) begin
            jobs_queued_reg <= 16'd0;
            jobs_queued_urgent_reg <= 16'd0;
            resetting_reg <= 1'b0;
        end
    end

    // --- Aperture table ------------------------------------------------------------------------------------------------

    reg [31:0] update_first_reg;
    reg [31:0] update_count_reg;
    reg [15:0] update_list_reg;
    reg [63:0] update_dummy_reg;
    reg [1:0]  update_control_reg;
    reg        update_valid_reg;

    assign update_free = !update_valid_reg || update_ready;
    assign update_valid = update_valid_reg;
    assign update[`FERRY_UPDATE_FIRST_RANGE] = update_first_reg;
    assign update[`FERRY_UPDATE_COUNT_RANGE] = update_count_reg;
    assign update[`FERRY_UPDATE_LIST_RANGE] = update_list_reg;
    assign update[`FERRY_UPDATE_UNMAP_RANGE] = update_control_reg[`FERRY_CORE_MMU_CONTROL_UNMAP_SHIFT];
    assign update[`FERRY_UPDATE_SNOOP_RANGE] = update_control_reg[`FERRY_CORE_MMU_CONTROL_SNOOP_SHIFT];
    assign update[`FERRY_UPDATE_DUMMY_RANGE] = update_dummy_reg;

    always @(posedge clk) begin
        if (update_ready) begin
            update_valid_reg <= 1'b0;
        end
        if (write) begin
            case (io_address)
            `FERRY_CORE_MMU_FIRST:      update_first_reg <= io_wdata;
            `FERRY_CORE_MMU_COUNT:      update_count_reg <= io_wdata;
            `FERRY_CORE_MMU_LIST:       update_list_reg <= io_wdata[15:0];
            `FERRY_CORE_MMU_DUMMY_LOW:  update_dummy_reg[31:0] <= io_wdata;
            `FERRY_CORE_MMU_DUMMY_HIGH: update_dummy_reg[63:32] <= io_wdata;
            `FERRY_CORE_MMU_CONTROL: begin
                update_control_reg <= io_wdata[1:0];
                update_valid_reg <= 1'b1;
            end
            default: ;
            endcase
        end
        if (rst || !run) begin
            update_valid_reg <= 1'b0;
        end
    end

    // --- Page-table unit -----------------------------------------------------------------------------------------------

    reg [`FERRY_ROOT_BITS-1:0] root_reg;
    reg [3:0]  root_space_reg;
    reg        root_valid_reg;
    wire       write_root = write && io_address == `FERRY_CORE_SPACE_ROOT;

    assign root_valid = root_valid_reg;
    assign root_space = root_space_reg;
    assign root = root_reg;

    reg [51:12] table_reg;
    always @(posedge clk) begin
        if (root_ready) begin
            root_valid_reg <= 1'b0;
        end
        if (write && io_address == `FERRY_CORE_SPACE_PLACES) begin
            root_reg[`FERRY_ROOT_HOST_RANGE] <= io_wdata[`FERRY_CORE_SPACE_PLACES_DESTINATION_KIND_RANGE] == `FERRY_ADDRESS_KIND_SYSTEM;
            root_reg[`FERRY_ROOT_SNOOP_RANGE] <= io_wdata[`FERRY_CORE_SPACE_PLACES_SNOOP_SHIFT];
        end
        if (write && io_address == `FERRY_CORE_SPACE_TABLE_LOW) begin
            table_reg[31:12] <= io_wdata[31:12];
        end
        if (write && io_address == `FERRY_CORE_SPACE_TABLE_HIGH) begin
            table_reg[51:32] <= io_wdata[19:0];
        end
        if (write_root) begin
            root_space_reg <= io_wdata[`FERRY_CORE_SPACE_ROOT_SPACE_RANGE];
            root_reg[`FERRY_ROOT_HEIGHT_RANGE] <= io_wdata[`FERRY_CORE_SPACE_ROOT_HEIGHT_RANGE];
            root_reg[`FERRY_ROOT_VALID_RANGE] <= io_wdata[`FERRY_CORE_SPACE_ROOT_VALID_SHIFT];
            root_reg[`FERRY_ROOT_PAGE_RANGE] <= table_reg;
            root_valid_reg <= 1'b1;
        end
        if (rst) begin
            root_valid_reg <= 1'b0;
        end
    end

    wire unused = &{1'b0, job_tag};

endmodule

`default_nettype wire
