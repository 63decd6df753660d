// SPDX-License-Identifier: Apache-2.0
// Room for requests that want an answer. They may wait for what leaves; writes and completions behind them may not. So the far
// end is told in time to hold requests back: once it is, exactly two more that begin at the port find room.
`default_nettype none

module ferry_request_room #(
    // log2 of the requests that are taken in before the first of them has been answered; at least 2.
    parameter REQUESTS_LOG2 = 3
) (
    // Clock and synchronous reset.
    input  wire clk,
    input  wire rst,

    // A request has begun at the port and is not yet in the buffer.
    input  wire coming,
    // One is committed to the buffer; one leaves it to be answered.
    input  wire entered,
    input  wire left,

    // There is room for one in the buffer; for two that have not begun.
    output wire room,
    output wire ok
`ifdef FORMAL
    ,
    // For proofs: those in the buffer.
    output wire [REQUESTS_LOG2:0] formal_count
`endif
);
    localparam [REQUESTS_LOG2:0] REQUESTS = 1 << REQUESTS_LOG2;
    localparam [REQUESTS_LOG2:0] TWO = 2;

    reg [REQUESTS_LOG2:0] count_reg;

    assign room = count_reg != REQUESTS;
    assign ok = count_reg + {{REQUESTS_LOG2{1'b0}}, coming} < REQUESTS - TWO;

`ifdef FORMAL
    assign formal_count = count_reg;
`endif

    always @(posedge clk) begin
        count_reg <= count_reg + {{REQUESTS_LOG2{1'b0}}, entered} - {{REQUESTS_LOG2{1'b0}}, left};
        if (rst)
            count_reg <= {REQUESTS_LOG2 + 1{1'b0}};
    end
endmodule

`default_nettype wire
