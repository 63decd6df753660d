// SPDX-License-Identifier: Apache-2.0
// Packets through the narrow stream and back: the beat that goes in at one place, whichever, comes out at that place with its
// words, its keep bits and its end; what is offered on either stream stays until it is taken.
`default_nettype none

module tlp_there_and_back (
    // Clock, and synchronous reset, active high.
    input  wire        clk,
    input  wire        rst,
    // The stream in, and who takes it in the end.
    input  wire [63:0] tdata,
    input  wire [1:0]  tkeep,
    input  wire        tlast,
    input  wire        tvalid,
    input  wire        out_ready
);
    wire        in_ready, thin_last, thin_valid, thin_ready, out_last, out_valid;
    wire [31:0] thin_data;
    wire        thin_keep;
    wire [63:0] out_data;
    wire [1:0]  out_keep;
    wire        last_held, partial;

    ferry_tlp_narrow narrow (
        .clk(clk), .rst(rst), .s_tdata(tdata), .s_tkeep(tkeep), .s_tlast(tlast), .s_tvalid(tvalid), .s_tready(in_ready),
        .m_tdata(thin_data), .m_tkeep(thin_keep), .m_tlast(thin_last), .m_tvalid(thin_valid), .m_tready(thin_ready),
        .formal_last(last_held)
    );
    ferry_tlp_widen widen (
        .clk(clk), .rst(rst), .s_tdata(thin_data), .s_tkeep(thin_keep), .s_tlast(thin_last), .s_tvalid(thin_valid),
        .s_tready(thin_ready), .m_tdata(out_data), .m_tkeep(out_keep), .m_tlast(out_last), .m_tvalid(out_valid),
        .m_tready(out_ready), .formal_partial(partial)
    );

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) begin
        assume (rst == !past_valid);
        // Words lie densely: only a packet's last beat may be half full.
        assume (!tvalid || tkeep == 2'b11 || (tkeep == 2'b01 && tlast));
    end
    valid_ready_properties #(.WIDTH(35)) thin (
        .clk(clk), .rst(rst), .valid(thin_valid), .ready(thin_ready), .data({1'b0, thin_keep, thin_last, thin_data})
    );
    valid_ready_properties #(.WIDTH(67)) wide (
        .clk(clk), .rst(rst), .valid(out_valid), .ready(out_ready), .data({out_data, out_keep, out_last})
    );

    (* anyconst *) reg [2:0] place;
    reg [2:0]  ins = 3'd0;
    reg [2:0]  outs = 3'd0;
    reg [66:0] seen = 67'd0;
    wire [63:0] words = tkeep[1] ? tdata : {32'd0, tdata[31:0]};
    wire [63:0] shown = out_keep[1] ? out_data : {32'd0, out_data[31:0]};
    always @(posedge clk) if (!rst) begin
        if (tvalid && in_ready) begin
            ins <= ins + 3'd1;
            if (ins == place) begin
                seen <= {words, tkeep, tlast};
            end
        end
        if (out_valid && out_ready) begin
            outs <= outs + 3'd1;
        end
        cover (outs == 3'd3 && out_valid && out_keep == 2'b01);
    end
    always @(*) if (past_valid && out_valid) begin
        assert (ins != outs);
        if (outs == place) begin
            assert ({shown, out_keep, out_last} == seen);
        end
    end
    wire unused = &{1'b0, last_held, partial};
endmodule

`default_nettype wire
