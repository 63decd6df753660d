// SPDX-License-Identifier: Apache-2.0
// An AXI4 address channel, AR or AW, as this device uses it: bursts of whole 8-byte beats that never leave a 4 KiB page,
// kept as they are until they are taken. Instantiated beside each such port under FORMAL.
`default_nettype none

module axi4_address_properties #(
    // Bits that travel beside address and length (ID, attributes); at least 1.
    parameter EXTRA = 1,
    // The most beats of a burst.
    parameter BEATS = 256,
    // 1: the master is outside and keeps the rules; 0: it is what is proved.
    parameter ASSUME = 0
) (
    // Clock and synchronous reset of the port.
    input  wire clk,
    input  wire rst,
    // The channel; length is beats - 1.
    input  wire valid,
    input  wire ready,
    input  wire [11:0] page_offset,
    input  wire [51:0] page,
    input  wire [7:0]  length,
    input  wire [EXTRA-1:0] extra
);
    valid_ready_properties #(.WIDTH(64 + 8 + EXTRA), .ASSUME(ASSUME)) kept (
        .clk(clk), .rst(rst), .valid(valid), .ready(ready), .data({page, page_offset, length, extra})
    );

    wire [9:0] first = {1'b0, page_offset[11:3]};
    wire [9:0] beats = {2'd0, length} + 10'd1;
    wire fits = page_offset[2:0] == 3'd0 && first + beats <= 10'd512 && beats <= BEATS;
    generate
        if (ASSUME != 0) begin : outside
            always @(*) assume (rst || !valid || fits);
        end else begin : proved
            always @(*) assert (rst || !valid || fits);
        end
    endgenerate
endmodule

`default_nettype wire
