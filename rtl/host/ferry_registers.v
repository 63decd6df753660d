// SPDX-License-Identifier: Apache-2.0
// BAR0: the host's registers, contract map `bar0`, and through ferry_registers_core those of the soft core. An access
// takes three or four cycles: every word is read first, so that a write with byte enables can leave the other bytes
// as they are.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers #(
    // log2 of the bytes of video memory.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Register bus of the completer: held until reg_ready.
    input  wire        reg_valid,
    input  wire        reg_write,
    input  wire [15:0] reg_address,
    input  wire [31:0] reg_wdata,
    input  wire [3:0]  reg_wstrb,
    output wire        reg_ready,
    output wire [31:0] reg_rdata,

    // Firmware RAM: byte offset, held until ready.
    output wire        firmware_valid,
    output wire        firmware_write,
    output wire [14:0] firmware_address,
    output wire [31:0] firmware_wdata,
    output wire [3:0]  firmware_wstrb,
    input  wire        firmware_ready,
    input  wire [31:0] firmware_rdata,

    // Counter number and value, held until ready.
    output wire        counter_valid,
    output wire [4:0]  counter_number,
    input  wire        counter_ready,
    input  wire [63:0] counter_value,

    // Port of ferry_registers_file.
    output wire        file_access,
    output wire        file_write,
    output wire [8:0]  file_index,
    output wire [31:0] file_wdata,
    input  wire        file_taken,
    input  wire [31:0] file_rdata,

    // A ring's register is written; and RING.FETCHED of the ring that the access is to.
    output wire        ring_write,
    output wire [2:0]  ring_number,
    output wire [5:0]  ring_offset,
    input  wire [31:0] ring_fetched,
    // FENCE_VALUE is being read: neither of its words may change.
    output wire        fence_hold,

    // Cycle counter, STATUS, and whether the firmware has told its state since the core was started.
    input  wire [63:0] time_now,
    input  wire [11:0] status,
    input  wire        firmware_told,

    // What the host sets.
    output wire        core_run,
    // One-cycle pulse: reset the engine; done when engine_resetting has come and gone.
    output reg         engine_reset,
    input  wire        engine_resetting,
    // LOCAL_LIMIT is never behind the end of video memory here.
    output wire [`FERRY_LIMITS_BITS-1:0] limits,
    output wire [31:0] engine_timeout,
    output wire [31:0] completion_timeout,
    output wire [7:0]  tag_limit,

    // Interrupt module.
    input  wire [9:0]  interrupt_status,
    output wire [9:0]  interrupt_clear,
    output wire [`FERRY_INTERRUPT_SETTINGS_BITS-1:0] interrupt_settings,
    input  wire [31:0] interrupt_count
);

localparam [63:0] LOCAL_BYTES = 64'd1 << LOCAL_ADDRESS_BITS;
reg        core_run_reg;
reg [63:0] local_limit_reg;
reg [63:0] protect_base_reg;
reg [63:0] protect_limit_reg;
reg [31:0] engine_timeout_reg;
reg [31:0] completion_timeout_reg;
reg [7:0]  tag_limit_reg;
reg [9:0]  interrupt_enable_reg;
reg [31:0] interrupt_coalesce_reg;

assign core_run = core_run_reg;
assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = local_limit_reg > LOCAL_BYTES ? LOCAL_BYTES : local_limit_reg;
assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = protect_base_reg;
assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = protect_limit_reg;
assign engine_timeout = engine_timeout_reg;
assign completion_timeout = completion_timeout_reg;
assign tag_limit = tag_limit_reg;
assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_ENABLE_RANGE] = interrupt_enable_reg;
assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_COUNT_RANGE] =
    interrupt_coalesce_reg[`FERRY_BAR0_INTERRUPT_COALESCE_COUNT_RANGE];
assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_CYCLES_RANGE] =
    interrupt_coalesce_reg[`FERRY_BAR0_INTERRUPT_COALESCE_CYCLES_RANGE];

// --- Where an access goes ------------------------------------------------------------------------------------------

localparam [2:0] S_IDLE  = 3'd0;
localparam [2:0] S_READ  = 3'd1;
localparam [2:0] S_WRITE = 3'd2;
localparam [2:0] S_DONE  = 3'd3;
localparam [2:0] S_UPPER = 3'd4;
localparam [2:0] S_LATCH = 3'd5;

reg [2:0]  state_reg;
reg [31:0] rdata_reg;
// High word of the 64-bit value whose low word was read last: what hardware counts or writes may change in between.
reg [31:0] high_reg;

wire at_firmware = reg_address[15];
wire at_rings = reg_address >= `FERRY_BAR0_RING_AT &&
                reg_address < `FERRY_BAR0_RING_AT + `FERRY_BAR0_RING_STRIDE * `FERRY_BAR0_RING_COUNT;
wire at_counters = reg_address >= `FERRY_BAR0_COUNTER_AT &&
                   reg_address < `FERRY_BAR0_COUNTER_AT + `FERRY_BAR0_COUNTER_STRIDE;
wire at_cycles = reg_address[7:3] == 5'd0;

wire [15:0] ring_address = reg_address - `FERRY_BAR0_RING_AT;
assign ring_number = ring_address[8:6];
assign ring_offset = ring_address[5:0];
assign counter_number = reg_address[7:3];
assign counter_valid = state_reg == S_READ && at_counters && !at_cycles && !reg_address[2];

wire at_fence_low = at_rings && {10'd0, ring_offset} == `FERRY_BAR0_RING_FENCE_VALUE;
wire at_fence_high = at_rings && {10'd0, ring_offset} == `FERRY_BAR0_RING_FENCE_VALUE + 16'd4;
assign fence_hold = reg_valid && !reg_write && at_fence_low && state_reg != S_DONE;

assign firmware_valid = state_reg == S_READ && at_firmware;
assign firmware_write = reg_write;
assign firmware_address = reg_address[14:0];
assign firmware_wdata = reg_wdata;
assign firmware_wstrb = reg_wstrb;

// The word in the register file. What the firmware tells is read where the core wrote it.
reg [15:0] word;
reg        told;
always @* begin
    told = 1'b1;
    case (reg_address)
    `FERRY_BAR0_FIRMWARE_VERSION:   word = {4'd0, `FERRY_CORE_FIRMWARE_VERSION};
    `FERRY_BAR0_FIRMWARE_STATE:     word = {4'd0, `FERRY_CORE_FIRMWARE_STATE};
    `FERRY_BAR0_HALT_CODE:          word = {4'd0, `FERRY_CORE_HALT_CODE};
    `FERRY_BAR0_HALT_ARGUMENT:      word = {4'd0, `FERRY_CORE_HALT_ARGUMENT};
    default: begin
        told = 1'b0;
        word = reg_address == `FERRY_BAR0_FAULT_LOG_PRODUCED ? {4'd0, `FERRY_CORE_FAULT_LOG_PRODUCED} :
               at_rings ? ring_address + 16'd1536 : reg_address + 16'd1856;
    end
    endcase
end
wire at_file = at_rings || reg_address < 16'hc0;

assign file_index = word[10:2] | {8'd0, state_reg == S_UPPER};
assign file_access = (state_reg == S_IDLE && reg_valid) || state_reg == S_UPPER || (state_reg == S_WRITE && at_file && |write_mask);
assign file_write = state_reg == S_WRITE;

reg [31:0] read_value;
always @* begin
    if (at_firmware) begin
        read_value = firmware_rdata;
    end else if (at_rings) begin
        read_value = {10'd0, ring_offset} == `FERRY_BAR0_RING_FETCHED ? ring_fetched :
                     at_fence_high ? high_reg : file_rdata;
    end else if (at_counters) begin
        read_value = reg_address[2] ? high_reg : at_cycles ? time_now[31:0] : counter_value[31:0];
    end else if (!at_file || (told && !firmware_told)) begin
        read_value = 32'd0;
    end else begin
        case (reg_address)
        `FERRY_BAR0_CONTROL:          read_value = {30'd0, engine_reset || engine_resetting, core_run_reg};
        `FERRY_BAR0_STATUS:           read_value = {20'd0, status};
        `FERRY_BAR0_INTERRUPT_STATUS: read_value = {22'd0, interrupt_status};
        `FERRY_BAR0_INTERRUPT_COUNT:  read_value = interrupt_count;
        default:                      read_value = file_rdata;
        endcase
    end
end

// --- Writes --------------------------------------------------------------------------------------------------------

wire [31:0] byte_mask = {{8{reg_wstrb[3]}}, {8{reg_wstrb[2]}}, {8{reg_wstrb[1]}}, {8{reg_wstrb[0]}}};
wire [31:0] merged = ((rdata_reg & ~byte_mask) | (reg_wdata & byte_mask)) & write_mask;
wire [31:0] ones = reg_wdata & byte_mask;
wire        write = state_reg == S_WRITE && (!file_access || file_taken);

// Bits of the word that the host may write.
reg [31:0] write_mask;
always @* begin
    if (at_rings) begin
        case ({10'd0, ring_offset})
        `FERRY_BAR0_RING_BASE, `FERRY_BAR0_RING_BASE + 16'd4, `FERRY_BAR0_RING_PRODUCER,
        `FERRY_BAR0_RING_FENCE_ADDRESS, `FERRY_BAR0_RING_FENCE_ADDRESS + 16'd4: write_mask = 32'hffff_ffff;
        `FERRY_BAR0_RING_ENTRIES_LOG2: write_mask = `FERRY_BAR0_RING_ENTRIES_LOG2_VALUE_MASK;
        `FERRY_BAR0_RING_RIGHTS:  write_mask = `FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK |
                                               `FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK |
                                               `FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK;
        `FERRY_BAR0_RING_CONTROL: write_mask = `FERRY_BAR0_RING_CONTROL_ENABLE_MASK;
        default:                  write_mask = 32'd0;
        endcase
    end else begin
        case (reg_address)
        `FERRY_BAR0_SCRATCH, `FERRY_BAR0_LOCAL_LIMIT, `FERRY_BAR0_LOCAL_LIMIT + 16'd4, `FERRY_BAR0_PROTECT_BASE,
        `FERRY_BAR0_PROTECT_BASE + 16'd4, `FERRY_BAR0_PROTECT_LIMIT, `FERRY_BAR0_PROTECT_LIMIT + 16'd4,
        `FERRY_BAR0_HOST_CONTRACT, `FERRY_BAR0_ENGINE_TIMEOUT, `FERRY_BAR0_COMPLETION_TIMEOUT,
        `FERRY_BAR0_INTERRUPT_COALESCE, `FERRY_BAR0_FAULT_LOG_ADDRESS, `FERRY_BAR0_FAULT_LOG_ADDRESS + 16'd4,
        `FERRY_BAR0_FAULT_LOG_CONSUMED: write_mask = 32'hffff_ffff;
        `FERRY_BAR0_CONTROL:            write_mask = 32'd1;
        `FERRY_BAR0_TAG_LIMIT:          write_mask = `FERRY_BAR0_TAG_LIMIT_VALUE_MASK;
        `FERRY_BAR0_INTERRUPT_ENABLE:   write_mask = 32'h3ff;
        `FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2: write_mask = `FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2_VALUE_MASK;
        default:                        write_mask = 32'd0;
        endcase
    end
end

assign file_wdata = merged;
assign ring_write = write && at_rings && file_taken;
assign interrupt_clear = ones[9:0] & {10{write && reg_address == `FERRY_BAR0_INTERRUPT_STATUS}};

assign reg_ready = state_reg == S_DONE;
assign reg_rdata = rdata_reg;

wire read_waits = (firmware_valid && !firmware_ready) || (counter_valid && !counter_ready);

always @(posedge clk) begin
    engine_reset <= 1'b0;
    case (state_reg)
    S_IDLE:
        if (file_taken) begin
            state_reg <= S_READ;
        end
    S_READ: begin
        rdata_reg <= read_value;
        if (!read_waits) begin
            state_reg <= reg_write && !at_firmware ? S_WRITE : at_fence_low && !reg_write ? S_UPPER : S_DONE;
            if (at_counters && !reg_address[2]) begin
                high_reg <= at_cycles ? time_now[63:32] : counter_value[63:32];
            end
        end
    end
    S_WRITE:
        if (!file_access || file_taken) begin
            state_reg <= S_DONE;
        end
    S_UPPER:
        if (file_taken) begin
            state_reg <= S_LATCH;
        end
    S_LATCH: begin
        high_reg <= file_rdata;
        state_reg <= S_DONE;
    end
    default:
        state_reg <= S_IDLE;
    endcase

    if (write) begin
        case (reg_address)
        `FERRY_BAR0_CONTROL: begin
            core_run_reg <= merged[`FERRY_BAR0_CONTROL_CORE_RUN_SHIFT];
            engine_reset <= ones[`FERRY_BAR0_CONTROL_ENGINE_RESET_SHIFT];
        end
        `FERRY_BAR0_LOCAL_LIMIT:            local_limit_reg[31:0] <= merged;
        `FERRY_BAR0_LOCAL_LIMIT + 16'd4:    local_limit_reg[63:32] <= merged;
        `FERRY_BAR0_PROTECT_BASE:           protect_base_reg[31:0] <= merged;
        `FERRY_BAR0_PROTECT_BASE + 16'd4:   protect_base_reg[63:32] <= merged;
        `FERRY_BAR0_PROTECT_LIMIT:          protect_limit_reg[31:0] <= merged;
        `FERRY_BAR0_PROTECT_LIMIT + 16'd4:  protect_limit_reg[63:32] <= merged;
        `FERRY_BAR0_ENGINE_TIMEOUT:         engine_timeout_reg <= merged;
        `FERRY_BAR0_COMPLETION_TIMEOUT:     completion_timeout_reg <= merged;
        `FERRY_BAR0_TAG_LIMIT:              tag_limit_reg <= merged[7:0];
        `FERRY_BAR0_INTERRUPT_ENABLE:       interrupt_enable_reg <= merged[9:0];
        `FERRY_BAR0_INTERRUPT_COALESCE:     interrupt_coalesce_reg <= merged;
        default: ;
        endcase
    end

    if (rst) begin
        state_reg <= S_IDLE;
        core_run_reg <= 1'b0;
        engine_reset <= 1'b0;
        local_limit_reg <= LOCAL_BYTES;
        protect_base_reg <= 64'd0;
        protect_limit_reg <= 64'd0;
        engine_timeout_reg <= 32'd0;
        completion_timeout_reg <= `FERRY_BAR0_COMPLETION_TIMEOUT_RESET;
        tag_limit_reg <= 8'd0;
        interrupt_enable_reg <= 10'd0;
        interrupt_coalesce_reg <= 32'd0;
    end
end

wire unused = &{1'b0, ring_address, ones, word};

endmodule

`default_nettype wire
