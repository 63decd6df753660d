// SPDX-License-Identifier: Apache-2.0
// BAR0: the host's registers, contract map `bar0`. What an address means, what may be written and what stands in flip-flops is
// generated (ferry_bar0_access.vh); this is the sequence of an access. It takes six to eight cycles: it is taken into
// registers, as it comes late in a cycle, and every word is read first, so that a write with byte enables can leave the other
// bytes as they are.
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

    // A counter is being read: its number, held while it is read from the register file, from ready on.
    output wire        counter_valid,
    output wire [4:0]  counter_number,
    input  wire        counter_ready,

    // Port of ferry_registers_file.
    output wire        file_access,
    output wire        file_write,
    output wire [8:0]  file_index,
    output wire [31:0] file_wdata,
    input  wire        file_taken,
    input  wire [31:0] file_rdata,

    // A word is written: byte offset of what is in a ring; and RING.FETCHED of the ring that the access is to.
    output wire        ring_write,
    output wire [2:0]  ring_number,
    output wire [5:0]  ring_offset,
    input  wire [31:0] ring_fetched,
    // FENCE_VALUE is being read: neither of its words may change.
    output wire        fence_hold,

    // STATUS, and whether the firmware has told its state since the core was started.
    input  wire [11:0] status,
    input  wire        firmware_told,

    // What the host sets.
    output wire        core_run,
    // One-cycle pulse: reset the engine; done when engine_resetting has come and gone.
    output wire        engine_reset,
    input  wire        engine_resetting,
    // LOCAL_LIMIT is never behind the end of video memory here.
    output wire [`FERRY_LIMITS_BITS-1:0] limits,
    // What BAR2 shows as rows, as it is set.
    output wire [`FERRY_VIEW_WRITE_BITS-1:0] view_write,
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

    // Take the access; look at the address; ask for the word; take it; write it, or read the upper half of 64 bits.
    localparam [2:0] S_IDLE  = 3'd0;
    localparam [2:0] S_FIND  = 3'd1;
    localparam [2:0] S_READ  = 3'd2;
    localparam [2:0] S_WRITE = 3'd3;
    localparam [2:0] S_UPPER = 3'd4;
    localparam [2:0] S_LATCH = 3'd5;
    localparam [2:0] S_DONE  = 3'd6;
    localparam [2:0] S_LOOK  = 3'd7;

    reg [2:0]  state_reg;
    // The access at hand.
    reg        write_reg;
    reg [15:2] address_reg;
    reg [31:0] wdata_reg;
    reg [3:0]  wstrb_reg;
    reg [31:0] rdata_reg;
    // High word of the 64-bit value whose low word was read last: what hardware counts or writes may change in between.
    reg [31:0] high_reg;
    // LOCAL_LIMIT is behind the end of video memory.
    reg        beyond_reg;

    // --- What the address means: generated ------------------------------------------------------------------------------

    wire [15:2] address = address_reg;
    wire [31:0] byte_mask = {{8{wstrb_reg[3]}}, {8{wstrb_reg[2]}}, {8{wstrb_reg[1]}}, {8{wstrb_reg[0]}}};
    wire [31:0] merged = ((rdata_reg & ~byte_mask) | (wdata_reg & byte_mask)) & write_mask;
    wire [31:0] ones = wdata_reg & byte_mask;
    wire        write = state_reg == S_WRITE && (!file_access || file_taken);

    wire [31:0] live_control = {30'd0, engine_reset || engine_resetting, core_run};
    wire [31:0] live_status = {20'd0, status};
    wire [31:0] live_interrupt_status = {22'd0, interrupt_status};
    wire [31:0] live_interrupt_count = interrupt_count;
    wire [31:0] live_ring_fetched = ring_fetched;
`include "ferry_bar0_access.vh"

    assign core_run = control_core_run_reg;
    assign engine_reset = control_engine_reset_pulse;
    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] =
        beyond_reg ? LOCAL_BYTES : {{64-LOCAL_ADDRESS_BITS{1'b0}}, local_limit_reg[LOCAL_ADDRESS_BITS-1:0]};
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = protect_base_reg;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = protect_limit_reg;
    assign view_write[`FERRY_VIEW_WRITE_WRITE_RANGE] = write && at_view;
    assign view_write[`FERRY_VIEW_WRITE_CLEAR_RANGE] = rst;
    assign view_write[`FERRY_VIEW_WRITE_WORD_RANGE] = address_reg[3:2];
    assign view_write[`FERRY_VIEW_WRITE_RANGE_RANGE] = address_reg[5:4];
    assign view_write[`FERRY_VIEW_WRITE_VALUE_RANGE] = merged;
    assign engine_timeout = engine_timeout_reg;
    assign completion_timeout = completion_timeout_reg;
    assign tag_limit = tag_limit_reg;
    assign interrupt_clear = interrupt_status_clear;
    assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_ENABLE_RANGE] = interrupt_enable_reg;
    assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_COUNT_RANGE] = interrupt_coalesce_count_reg;
    assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_CYCLES_RANGE] = interrupt_coalesce_cycles_reg;

    // --- Where an access goes ------------------------------------------------------------------------------------------

    wire at_firmware = address_reg[15];
    // Both halves are read before what changes them may go on.
    wire looked_at = state_reg != S_IDLE && state_reg != S_LOOK && state_reg != S_DONE;
    wire read_halves = !write_reg && low_half && looked_at;
    assign counter_valid = read_halves && at_counter;
    assign counter_number = address_reg[7:3];
    assign fence_hold = read_halves && at_ring;

    localparam [15:0] RING_FIRST = `FERRY_BAR0_RING_AT;
    assign ring_number = address_reg[8:6] - RING_FIRST[8:6];
    assign ring_offset = {address_reg[5:2], 2'd0};
    assign ring_write = write && at_ring;

    assign firmware_valid = state_reg == S_READ && at_firmware;
    assign firmware_write = write_reg;
    assign firmware_address = {address_reg[14:2], 2'd0};
    assign firmware_wdata = wdata_reg;
    assign firmware_wstrb = wstrb_reg;

    assign file_index = {address_reg[10:3], address_reg[2] || state_reg == S_UPPER};
    assign file_access = (state_reg == S_FIND && (!counter_valid || counter_ready)) || state_reg == S_UPPER ||
                         (state_reg == S_WRITE && writable);
    assign file_write = state_reg == S_WRITE;
    assign file_wdata = merged;

    // In S_READ it is one of these; zero where nothing is, and for what the firmware has not told yet.
    reg         from_file_reg;
    reg         from_high_reg;
    wire [31:0] read_value = (file_rdata & {32{from_file_reg}}) | (high_reg & {32{from_high_reg}}) | live_value |
                             (firmware_rdata & {32{at_firmware}});

    assign reg_ready = state_reg == S_DONE;
    assign reg_rdata = rdata_reg;

    always @(posedge clk) begin
        from_file_reg <= mapped && !high_half && !live && (!told_only || firmware_told);
        from_high_reg <= high_half;
        beyond_reg <= |local_limit_reg[63:LOCAL_ADDRESS_BITS];
        case (state_reg)
        S_IDLE: begin
            write_reg <= reg_write;
            address_reg <= reg_address[15:2];
            wdata_reg <= reg_wdata;
            wstrb_reg <= reg_wstrb;
            if (reg_valid) begin
                state_reg <= S_LOOK;
            end
        end
        S_LOOK:
            state_reg <= S_FIND;
        S_FIND:
            if (file_taken) begin
                state_reg <= S_READ;
            end
        S_READ: begin
            rdata_reg <= read_value;
            if (!at_firmware || firmware_ready) begin
                state_reg <= write_reg && !at_firmware ? S_WRITE : read_halves ? S_UPPER : S_DONE;
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
        if (rst) begin
            state_reg <= S_IDLE;
        end
    end

    wire unused = &{1'b0, ones, reg_address[1:0]};

`ifdef FORMAL
`include "ferry_registers_properties.vh"
`endif
endmodule

`default_nettype wire
