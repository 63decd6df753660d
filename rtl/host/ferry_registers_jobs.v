// SPDX-License-Identifier: Apache-2.0
// The core's registers behind which something starts: engine jobs and changes of the aperture table. Each set of
// registers is itself the one place where a job waits for the engine's queue; ready says whether it may be written
// again.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers_jobs (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs. When it stops, what is staged here is dropped. Once nothing of the core's is left (settled), jobs are
    // counted anew from those that have retired, and the fault is cleared.
    input  wire        run,
    input  wire        settled,

    // A word written by the core, and whether a write to the job and to the update registers can be taken.
    input  wire        write,
    input  wire [11:0] io_address,
    input  wire [31:0] io_wdata,
    output wire        job_free,
    output wire        update_free,
    // JOBS_QUEUED, and the slots cut by an engine reset: ABORTED, and their share of POISON.
    output wire [31:0] jobs_queued,
    output wire [3:0]  aborted,
    output wire [3:0]  dropped,
    // Slots that are not free. A slot that is freed loses its marks.
    input  wire [3:0]  slots_used,
    input  wire [31:0] jobs_retired,

    // Engine: a job.
    output wire        job_valid,
    input  wire        job_ready,
    output wire [`FERRY_JOB_BITS-1:0] job,
    // Engine: poison, fault, reset.
    output wire [3:0]  poison_clear,
    output wire        fault_clear,
    input  wire        resetting,

    // Aperture table update.
    output wire        update_valid,
    input  wire        update_ready,
    output wire [`FERRY_UPDATE_BITS-1:0] update
);

// --- Engine jobs ---------------------------------------------------------------------------------------------------

reg [63:0] job_source_reg;
reg [63:0] job_destination_reg;
reg [31:0] job_length_reg;
reg [15:0] job_list_reg;
reg [31:0] job_control_reg;
reg        job_valid_reg;
reg [31:0] jobs_queued_reg;
reg        resetting_reg;
reg [3:0]  aborted_reg;
reg [3:0]  dropped_reg;

assign job_free = !job_valid_reg || (job_valid && job_ready);
assign jobs_queued = jobs_queued_reg;
assign aborted = aborted_reg;
assign dropped = dropped_reg;

// A job of a cut slot still passes through the engine, so that jobs are counted in order, but has nothing to do. No job
// is handed over around a reset: which slots it cuts is known one cycle after its end.
wire [1:0] job_slot = job_control_reg[`FERRY_CORE_JOB_CONTROL_SLOT_RANGE];
wire job_dropped = dropped_reg[job_slot];
wire [31:0] job_control = job_control_reg & {32{!job_dropped}};
assign job_valid = job_valid_reg && run && !resetting && !resetting_reg;
assign job[`FERRY_JOB_OP_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_OP_RANGE];
assign job[`FERRY_JOB_SOURCE_KIND_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_SOURCE_KIND_RANGE];
assign job[`FERRY_JOB_DESTINATION_KIND_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_DESTINATION_KIND_RANGE];
assign job[`FERRY_JOB_LIST_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_LIST_RANGE];
assign job[`FERRY_JOB_UNORDERED_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_UNORDERED_RANGE];
assign job[`FERRY_JOB_PROTECTED_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_PROTECTED_RANGE];
assign job[`FERRY_JOB_URGENT_RANGE] = 1'b0;
assign job[`FERRY_JOB_SLOT_RANGE] = job_slot;
assign job[`FERRY_JOB_PATTERN_LOG2_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_PATTERN_LOG2_RANGE];
assign job[`FERRY_JOB_PACKET_OFFSET_RANGE] = job_control[`FERRY_CORE_JOB_CONTROL_PACKET_OFFSET_RANGE];
assign job[`FERRY_JOB_SOURCE_RANGE] = job_source_reg & {64{!job_dropped}};
assign job[`FERRY_JOB_DESTINATION_RANGE] = job_destination_reg & {64{!job_dropped}};
assign job[`FERRY_JOB_LENGTH_RANGE] = job_length_reg & {32{!job_dropped}};
assign job[`FERRY_JOB_LIST_ADDRESS_RANGE] = job_list_reg;

assign poison_clear = ~slots_used;
assign fault_clear = settled || (write && io_address == `FERRY_CORE_ENGINE_FAULT &&
                                 io_wdata[`FERRY_CORE_ENGINE_FAULT_VALID_SHIFT]);

always @(posedge clk) begin
    if (write) begin
        case (io_address)
        `FERRY_CORE_JOB_SOURCE_LOW:       job_source_reg[31:0] <= io_wdata;
        `FERRY_CORE_JOB_SOURCE_HIGH:      job_source_reg[63:32] <= io_wdata;
        `FERRY_CORE_JOB_DESTINATION_LOW:  job_destination_reg[31:0] <= io_wdata;
        `FERRY_CORE_JOB_DESTINATION_HIGH: job_destination_reg[63:32] <= io_wdata;
        `FERRY_CORE_JOB_LENGTH:           job_length_reg <= io_wdata;
        `FERRY_CORE_JOB_LIST:             job_list_reg <= io_wdata[15:0];
        `FERRY_CORE_JOB_CONTROL:          job_control_reg <= io_wdata;
        default: ;
        endcase
    end
    if (job_valid && job_ready) begin
        job_valid_reg <= 1'b0;
    end
    if (write && io_address == `FERRY_CORE_JOB_CONTROL) begin
        job_valid_reg <= 1'b1;
        jobs_queued_reg <= jobs_queued_reg + 32'd1;
    end
    resetting_reg <= resetting;
    // Every slot that is in use when a reset ends.
    aborted_reg <= (aborted_reg | {4{resetting_reg && !resetting}}) & slots_used;
    dropped_reg <= (dropped_reg | {4{resetting_reg && !resetting}}) & slots_used;
    if (!run) begin
        job_valid_reg <= 1'b0;
    end
    if (settled) begin
        jobs_queued_reg <= jobs_retired;
    end
    if (rst) begin
        job_valid_reg <= 1'b0;
        jobs_queued_reg <= 32'd0;
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

wire unused = &{1'b0, job_control};

endmodule

`default_nettype wire
