// SPDX-License-Identifier: Apache-2.0
// The engine's two readers of page lists on one port: what a reader asks for stays as it asked until it is taken, no more than
// one read is out, and each answer goes to the reader that asked, once, in the cycle after it came.
`default_nettype none

module list_reads (
    // Clock, and synchronous reset, active high.
    input  wire        clk,
    input  wire        rst,
    // What readers and command RAM do.
    input  wire [1:0]  in_valid,
    input  wire [31:0] in_address,
    input  wire        list_ready,
    input  wire        list_data_valid,
    input  wire [63:0] list_data
);
    wire [1:0]  in_ready, in_data_valid;
    wire        list_valid;
    wire [15:0] list_address;
    wire [63:0] in_data;
    ferry_list_arbiter arbiter (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_address(in_address), .in_data_valid(in_data_valid),
        .list_valid(list_valid), .list_ready(list_ready), .list_address(list_address), .list_data_valid(list_data_valid),
        .in_data(in_data), .list_data(list_data)
    );

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    // For whom command RAM has an answer to give; what it gave in the cycle before, and to whom.
    reg  [1:0] waits = 2'd0;
    reg  [1:0] answered = 2'd0;
    reg [63:0] gave = 64'd0;
    wire [1:0] taken = in_valid & in_ready;
    always @(posedge clk) begin
        waits <= rst ? 2'd0 : (waits & ~{2{list_data_valid}}) | taken;
        answered <= rst ? 2'd0 : waits & {2{list_data_valid}};
        gave <= list_data;
    end
    always @(*) begin
        assume (!list_data_valid || waits != 2'd0);
        if (past_valid) begin
            assert (waits != 2'd3);
            assert (waits == 2'd0 || !list_valid);
            assert (in_data_valid == answered && (answered == 2'd0 || in_data == gave));
            assert (taken == 2'd0 || taken == 2'd1 || taken == 2'd2);
            assert ((list_valid && list_ready) == (taken != 2'd0));
            if (taken != 2'd0) begin
                assert (list_address == (taken[0] ? in_address[15:0] : in_address[31:16]));
            end
        end
    end
    genvar i;
    generate for (i = 0; i < 2; i = i + 1) begin : reader
        valid_ready_properties #(.WIDTH(16), .ASSUME(1)) asks (
            .clk(clk), .rst(rst), .valid(in_valid[i]), .ready(in_ready[i]), .data(in_address[16*i +: 16])
        );
    end endgenerate
    valid_ready_properties #(.WIDTH(16)) port (
        .clk(clk), .rst(rst), .valid(list_valid), .ready(list_ready), .data(list_address)
    );
    always @(posedge clk) cover (past_valid && in_data_valid[1] && in_valid[0]);
endmodule

`default_nettype wire
