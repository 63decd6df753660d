// SPDX-License-Identifier: Apache-2.0
// The two packet streams between the link's width and the inside's 64 bits a beat: wires at 64 bits, a converter each way at 32
// and 128.
`default_nettype none

module ferry_tlp_width #(
    // Bits of a beat at the link: 32, 64 or 128.
    parameter TLP_BITS = 64
) (
    // Clock and synchronous reset.
    input  wire                   clk,
    input  wire                   rst,

    // From the host, at the link's width and inside: data, words of the beat that count, last beat, beat is there, is taken.
    input  wire [TLP_BITS-1:0]    s_axis_tlp_tdata,
    input  wire [TLP_BITS/32-1:0] s_axis_tlp_tkeep,
    input  wire                   s_axis_tlp_tlast,
    input  wire                   s_axis_tlp_tvalid,
    output wire                   s_axis_tlp_tready,
    output wire [63:0]            in_tdata,
    output wire [1:0]             in_tkeep,
    output wire                   in_tlast,
    output wire                   in_tvalid,
    input  wire                   in_tready,
    // A request that wants an answer has begun at the port and has not ended inside, so it is not yet counted there.
    output wire                   in_request_hidden,

    // To the host, inside and at the link's width.
    input  wire [63:0]            out_tdata,
    input  wire [1:0]             out_tkeep,
    input  wire                   out_tlast,
    input  wire                   out_tvalid,
    output wire                   out_tready,
    // A packet has begun inside that has not begun at the port, so its credits are not yet counted there.
    output wire                   out_hidden,
    output wire [TLP_BITS-1:0]    m_axis_tlp_tdata,
    output wire [TLP_BITS/32-1:0] m_axis_tlp_tkeep,
    output wire                   m_axis_tlp_tlast,
    output wire                   m_axis_tlp_tvalid,
    input  wire                   m_axis_tlp_tready
`ifdef FORMAL
    ,
    // For proofs, of the way in: a packet begins next; a beat has begun to be collected; the beat that is held is its packet's
    // last.
    output wire                   formal_first,
    output wire                   formal_partial,
    output wire                   formal_last
`endif
);

    generate if (TLP_BITS == 32) begin : link_32
        ferry_tlp_widen #(.IN_WORDS(1), .OUT_WORDS(2)) from_host (
            .clk(clk), .rst(rst), .s_tdata(s_axis_tlp_tdata), .s_tkeep(s_axis_tlp_tkeep), .s_tlast(s_axis_tlp_tlast),
            .s_tvalid(s_axis_tlp_tvalid), .s_tready(s_axis_tlp_tready), .m_tdata(in_tdata), .m_tkeep(in_tkeep),
            .m_tlast(in_tlast), .m_tvalid(in_tvalid), .m_tready(in_tready)
`ifdef FORMAL
            , .formal_partial(formal_partial)
`endif
        );
`ifdef FORMAL
        assign formal_last = in_tlast;
`endif
        ferry_tlp_narrow #(.IN_WORDS(2), .OUT_WORDS(1)) to_host (
            .clk(clk), .rst(rst), .s_tdata(out_tdata), .s_tkeep(out_tkeep), .s_tlast(out_tlast), .s_tvalid(out_tvalid),
            .s_tready(out_tready), .m_tdata(m_axis_tlp_tdata), .m_tkeep(m_axis_tlp_tkeep),
            .m_tlast(m_axis_tlp_tlast), .m_tvalid(m_axis_tlp_tvalid), .m_tready(m_axis_tlp_tready)
        );
        // The first half of a beat is taken at the port before the converter takes the next beat.
        assign out_hidden = 1'b0;
    end else if (TLP_BITS == 128) begin : link_128
        ferry_tlp_narrow #(.IN_WORDS(4), .OUT_WORDS(2)) from_host (
            .clk(clk), .rst(rst), .s_tdata(s_axis_tlp_tdata), .s_tkeep(s_axis_tlp_tkeep), .s_tlast(s_axis_tlp_tlast),
            .s_tvalid(s_axis_tlp_tvalid), .s_tready(s_axis_tlp_tready), .m_tdata(in_tdata), .m_tkeep(in_tkeep),
            .m_tlast(in_tlast), .m_tvalid(in_tvalid), .m_tready(in_tready)
`ifdef FORMAL
            , .formal_last(formal_last)
`endif
        );
`ifdef FORMAL
        assign formal_partial = 1'b0;
`endif
        ferry_tlp_widen #(.IN_WORDS(2), .OUT_WORDS(4)) to_host (
            .clk(clk), .rst(rst), .s_tdata(out_tdata), .s_tkeep(out_tkeep), .s_tlast(out_tlast), .s_tvalid(out_tvalid),
            .s_tready(out_tready), .m_tdata(m_axis_tlp_tdata), .m_tkeep(m_axis_tlp_tkeep),
            .m_tlast(m_axis_tlp_tlast), .m_tvalid(m_axis_tlp_tvalid), .m_tready(m_axis_tlp_tready)
        );
        // The converter may still hold a short packet whole when the next one is chosen.
        reg out_first_reg;
        reg port_first_reg;
        reg hidden_reg;
        wire port_taken = m_axis_tlp_tvalid && m_axis_tlp_tready;
        always @(posedge clk) begin
            if (out_tvalid && out_tready)
                out_first_reg <= out_tlast;
            if (port_taken)
                port_first_reg <= m_axis_tlp_tlast;
            hidden_reg <= (out_tvalid && out_tready && out_first_reg) || (hidden_reg && !(port_taken && port_first_reg));
            if (rst) begin
                out_first_reg <= 1'b1;
                port_first_reg <= 1'b1;
                hidden_reg <= 1'b0;
            end
        end
        assign out_hidden = hidden_reg;
    end else begin : link_64
        assign {in_tdata, in_tkeep, in_tlast, in_tvalid}
            = {s_axis_tlp_tdata, s_axis_tlp_tkeep, s_axis_tlp_tlast, s_axis_tlp_tvalid};
        assign s_axis_tlp_tready = in_tready;
        assign {m_axis_tlp_tdata, m_axis_tlp_tkeep, m_axis_tlp_tlast, m_axis_tlp_tvalid}
            = {out_tdata, out_tkeep, out_tlast, out_tvalid};
        assign out_tready = m_axis_tlp_tready;
        assign out_hidden = 1'b0;
    end
    endgenerate

    generate if (TLP_BITS == 64) begin : plain
        assign in_request_hidden = 1'b0;
        wire unused = &{1'b0, clk, rst};
`ifdef FORMAL
        assign {formal_first, formal_partial, formal_last} = 3'd0;
`endif
    end else begin : converted
        // A converter takes a packet's first word as it gives the last of the one before, so there is never more than one.
        reg first_reg;
        reg request_reg;
        wire begins = s_axis_tlp_tvalid && s_axis_tlp_tready && first_reg;
        wire ends = in_tvalid && in_tready && in_tlast;
        wire [4:0] kind = s_axis_tlp_tdata[28:24];
        wire completion = kind[4:1] == 4'b0101;
        wire message = kind[4:3] == 2'b10;
        wire memory_write = kind == 5'd0 && s_axis_tlp_tdata[30];
        always @(posedge clk) begin
            if (s_axis_tlp_tvalid && s_axis_tlp_tready)
                first_reg <= s_axis_tlp_tlast;
            if (begins)
                request_reg <= !completion && !message && !memory_write;
            else if (ends)
                request_reg <= 1'b0;
            if (rst) begin
                first_reg <= 1'b1;
                request_reg <= 1'b0;
            end
        end
        assign in_request_hidden = request_reg;
`ifdef FORMAL
        assign formal_first = first_reg;
`endif
    end endgenerate

endmodule

`default_nettype wire
