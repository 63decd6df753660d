// SPDX-License-Identifier: Apache-2.0
// The host's answers while memory was given up on: the engine gets as many beats as came, none is offered and withdrawn,
// none waits on the bus while memory is lost, and what was taken meanwhile comes as an error.
`default_nettype none
`include "ferry_contract.vh"

module lost_reads_count (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // What memory, host and engine do.
    input  wire lost,
    input  wire [`FERRY_AXI_R_BITS-1:0] r,
    input  wire rvalid,
    input  wire rready
);
    wire taken_ready, given_valid;
    wire [`FERRY_AXI_R_BITS-1:0] given;
    ferry_lost_reads #(.LG_BEATS(3)) part (
        .clk(clk), .rst(rst), .lost(lost), .s_axi_r(r), .s_axi_rvalid(rvalid), .s_axi_rready(taken_ready),
        .m_axi_r(given), .m_axi_rvalid(given_valid), .m_axi_rready(rready)
    );

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);
    valid_ready_properties #(.WIDTH(`FERRY_AXI_R_BITS), .ASSUME(1)) host (
        .clk(clk), .rst(rst), .valid(rvalid), .ready(taken_ready), .data(r)
    );
    // Only that the engine's offer stands; what it holds becomes an error when memory is given up on.
    valid_ready_properties #(.WIDTH(1)) engine (
        .clk(clk), .rst(rst), .valid(given_valid), .ready(rready), .data(1'b0)
    );

    // Beats the engine is owed. Fewer are outstanding than the count goes.
    reg [2:0] owed = 3'd0;
    wire      came = rvalid && taken_ready;
    wire      went = given_valid && rready;
    always @(posedge clk) owed <= rst ? 3'd0 : owed + {2'd0, came} - {2'd0, went};
    always @(*) begin
        assume (owed != 3'd7 || !rvalid);
        if (past_valid) begin
            assert (given_valid == (rvalid || owed != 3'd0));
            assert (!lost || taken_ready);
            assert (!went || came || owed != 3'd0);
            if (went && (owed != 3'd0 || lost)) begin
                assert (given[`FERRY_AXI_R_RESPONSE_RANGE] != 2'b00);
            end
            if (went && owed == 3'd0 && !lost) begin
                assert (came && given == r);
            end
        end
    end
    always @(posedge clk) cover (past_valid && !lost && owed == 3'd2 && went);
endmodule

`default_nettype wire
