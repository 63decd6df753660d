// SPDX-License-Identifier: Apache-2.0
// In the place of ferry_arbiter: any choice that grants at most one port, one that asks. For what does not depend on whose turn
// it is, and for users that may withdraw a request.
`default_nettype none

module ferry_arbiter #(
    // Number of ports.
    parameter PORTS = 2
) (
    // As ferry_arbiter's.
    input  wire             clk,
    input  wire             rst,
    input  wire [PORTS-1:0] request,
    input  wire             accept,
    output wire [PORTS-1:0] grant
);
    (* anyseq *) wire [PORTS-1:0] any;
    assign grant = any;
    always @* assume ((any & ~request) == {PORTS{1'b0}} && (any & (any - 1'b1)) == {PORTS{1'b0}});
    wire unused = &{1'b0, clk, rst, accept};
endmodule

`default_nettype wire
