// SPDX-License-Identifier: Apache-2.0
// Wakes an SDR SDRAM chip as its maker wants it, through the control registers of a packaged DRAM controller (LiteDRAM, Wishbone):
// 200 us of clock and nothing else, all banks closed, eight refreshes, the mode register; then the controller gets the chip and its
// port is opened. JEDEC 21-C section 3.11.5 and the data sheets of the chips; the registers' places and bits are those of LiteDRAM
// 2024.12 without a processor, which boards/memory.py compares with what the generator says.
`default_nettype none

module ferry_dram_start #(
    // Clocks a microsecond, rounded up.
    parameter CLOCKS_PER_US = 50,
    // Clocks from a read to its data (CAS latency), 2 or 3: what the controller was generated for.
    parameter CAS_LATENCY = 2
) (
    // Clock and synchronous reset. With a reset in the middle everything begins anew.
    input  wire        clk,
    input  wire        rst,

    // The chip works, and the controller's port is open.
    output reg         ready,

    // The controller's registers: classic Wishbone, writes of whole words alone.
    output reg  [29:0] wb_adr,
    output reg  [31:0] wb_dat_w,
    output reg         wb_stb,
    input  wire        wb_ack
);
    // Registers, as word addresses.
    localparam [29:0] INIT_DONE = 30'h000, CONTROL = 30'h200, COMMAND = 30'h201, ISSUE = 30'h202, ADDRESS = 30'h203, BANK = 30'h204;
    // Control: 1 the controller has the chip, 2 clock enable (4 and 8 are of other kinds of chip).
    localparam [31:0] OURS = 32'h0000000e, THEIRS = 32'h00000001;
    // Commands: 1 chip select, 2 write, 4 column, 8 row.
    localparam [31:0] PRECHARGE = 32'h0000000b, REFRESH = 32'h0000000d, MODE = 32'h0000000f;
    // A10: of all banks.
    localparam [31:0] ALL_BANKS = 32'h00000400;
    localparam CAS_INT = CAS_LATENCY;
    localparam POWER_INT = 200 * CLOCKS_PER_US;
    localparam W = $clog2(POWER_INT + 1);
    localparam [W-1:0] POWER = POWER_INT[W-1:0];
    // Behind each command: a refresh takes 70 ns, a mode two clocks.
    localparam REST_INT = 16;
    localparam [W-1:0] REST = REST_INT[W-1:0];

    // A write a step, but for the wait S_POWER. S_BANK to S_ISSUE are one command, and there are ten: precharge, eight refreshes, mode.
    localparam [2:0] S_CONTROL = 3'd0, S_POWER = 3'd1, S_BANK = 3'd2, S_ADDRESS = 3'd3, S_COMMAND = 3'd4, S_ISSUE = 3'd5,
        S_HAND = 3'd6, S_OPEN = 3'd7;
    localparam [3:0] LAST = 4'd9;

    reg [2:0]   state_reg;
    reg [3:0]   number_reg;
    reg [W-1:0] wait_reg;

    wire first = number_reg == 4'd0;
    wire last = number_reg == LAST;
    wire done = wb_stb && wb_ack;

    always @(posedge clk) begin
        if (wait_reg != {W{1'b0}}) begin
            wait_reg <= wait_reg - 1'b1;
        end else if (done) begin
            wb_stb <= 1'b0;
            case (state_reg)
            S_CONTROL: begin
                state_reg <= S_POWER;
                wait_reg <= POWER;
            end
            S_ISSUE: begin
                state_reg <= last ? S_HAND : S_BANK;
                number_reg <= number_reg + 4'd1;
                wait_reg <= REST;
            end
            S_OPEN: ready <= 1'b1;
            default: state_reg <= state_reg + 3'd1;
            endcase
        end else if (state_reg == S_POWER) begin
            state_reg <= S_BANK;
        end else if (!ready) begin
            wb_stb <= 1'b1;
        end
        if (rst) begin
            state_reg <= S_CONTROL;
            number_reg <= 4'd0;
            wait_reg <= {W{1'b0}};
            wb_stb <= 1'b0;
            ready <= 1'b0;
        end
    end

    always @(*) begin
        case (state_reg)
        S_CONTROL: {wb_adr, wb_dat_w} = {CONTROL, OURS};
        S_BANK: {wb_adr, wb_dat_w} = {BANK, 32'd0};
        S_ADDRESS: {wb_adr, wb_dat_w} = {ADDRESS, last ? {25'd0, CAS_INT[2:0], 4'd0} : ALL_BANKS};
        S_COMMAND: {wb_adr, wb_dat_w} = {COMMAND, first ? PRECHARGE : last ? MODE : REFRESH};
        S_ISSUE: {wb_adr, wb_dat_w} = {ISSUE, 32'd1};
        S_HAND: {wb_adr, wb_dat_w} = {CONTROL, THEIRS};
        default: {wb_adr, wb_dat_w} = {INIT_DONE, 32'd1};
        endcase
    end
endmodule

`default_nettype wire
