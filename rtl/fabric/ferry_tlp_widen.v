// SPDX-License-Identifier: Apache-2.0
// Packet stream to a wider one: collects beats of IN_WORDS 32-bit words into beats of OUT_WORDS. A packet begins in a new
// beat; its last beat leaves when its last word has come.
`default_nettype none

module ferry_tlp_widen #(
    // 32-bit words of a beat coming in; a power of two.
    parameter IN_WORDS = 1,
    // 32-bit words of a beat going out; a power of two above IN_WORDS.
    parameter OUT_WORDS = 2
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Beats in: word 0 in bits 31:0, one keep bit a word, densely.
    input  wire [32*IN_WORDS-1:0]  s_tdata,
    input  wire [IN_WORDS-1:0]     s_tkeep,
    input  wire                    s_tlast,
    input  wire                    s_tvalid,
    output wire                    s_tready,
    // Beats out, the same layout.
    output wire [32*OUT_WORDS-1:0] m_tdata,
    output wire [OUT_WORDS-1:0]    m_tkeep,
    output wire                    m_tlast,
    output wire                    m_tvalid,
    input  wire                    m_tready
`ifdef FORMAL
    ,
    // For proofs: a beat is begun and not whole.
    output wire                    formal_partial
`endif
);
    localparam PARTS = OUT_WORDS / IN_WORDS;
    localparam LG_PARTS = $clog2(PARTS);

    reg [32*OUT_WORDS-1:0] data_reg;
    reg [OUT_WORDS-1:0]    keep_reg;
    reg                    last_reg;
    // The beat is whole.
    reg                    full_reg;
    // Where the next part goes.
    reg [LG_PARTS-1:0]     part_reg;

    assign s_tready = !full_reg || m_tready;
    assign {m_tdata, m_tkeep, m_tlast, m_tvalid} = {data_reg, keep_reg, last_reg, full_reg};
`ifdef FORMAL
    assign formal_partial = |part_reg;
`endif

    integer i;
    always @(posedge clk) begin
        if (m_tready)
            full_reg <= 1'b0;
        if (s_tvalid && s_tready) begin
            for (i = 0; i < PARTS; i = i + 1)
                if (i == {{32 - LG_PARTS{1'b0}}, part_reg}) begin
                    data_reg[32*IN_WORDS*i +: 32*IN_WORDS] <= s_tdata;
                    keep_reg[IN_WORDS*i +: IN_WORDS] <= s_tkeep;
                end else if (part_reg == {LG_PARTS{1'b0}})
                    keep_reg[IN_WORDS*i +: IN_WORDS] <= {IN_WORDS{1'b0}};
            last_reg <= s_tlast;
            full_reg <= s_tlast || (&part_reg);
            part_reg <= s_tlast ? {LG_PARTS{1'b0}} : part_reg + 1'b1;
        end
        if (rst) begin
            full_reg <= 1'b0;
            part_reg <= {LG_PARTS{1'b0}};
        end
    end
endmodule

`default_nettype wire
