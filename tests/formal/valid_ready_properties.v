// SPDX-License-Identifier: Apache-2.0
// The rule of every valid/ready port: what was offered and not taken stays, and stays as it is. Instantiated beside a port
// under FORMAL; the side that is proved is asserted, the other side assumed.
`default_nettype none

module valid_ready_properties #(
    // Bits of what is offered.
    parameter WIDTH = 1,
    // 1: the offering side is outside and keeps the rule; 0: it is what is proved.
    parameter ASSUME = 0
) (
    // Clock and synchronous reset of the port.
    input  wire clk,
    input  wire rst,
    // Offered, taken when ready is 1 too, and what.
    input  wire valid,
    input  wire ready,
    input  wire [WIDTH-1:0] data
);
    reg waits = 1'b0;
    reg [WIDTH-1:0] shown = 0;
    always @(posedge clk) begin
        waits <= !rst && valid && !ready;
        shown <= data;
    end

    wire kept = !waits || (valid && data == shown);
    generate
        if (ASSUME != 0) begin : outside
            always @(*) assume (rst || kept);
        end else begin : proved
            always @(*) assert (rst || kept);
            // It is alive: somebody waited and was served.
            always @(*) cover (!rst && waits && valid && ready);
        end
    endgenerate
endmodule

`default_nettype wire
