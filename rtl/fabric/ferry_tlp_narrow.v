// SPDX-License-Identifier: Apache-2.0
// Packet stream to a narrower one: sends each beat of IN_WORDS 32-bit words as beats of OUT_WORDS, as many as hold words.
`default_nettype none

module ferry_tlp_narrow #(
    // 32-bit words of a beat coming in; a power of two above OUT_WORDS.
    parameter IN_WORDS = 2,
    // 32-bit words of a beat going out; a power of two.
    parameter OUT_WORDS = 1
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
    // For proofs: the beat of which parts are shown is its packet's last.
    output wire                    formal_last
`endif
);
    reg [32*IN_WORDS-1:0] data_reg;
    reg [IN_WORDS-1:0]    keep_reg;
    reg                   last_reg;
    reg                   valid_reg;

    // What stands above the part that is shown; none of it: this part is the beat's last.
    wire [IN_WORDS-1:0] rest = keep_reg >> OUT_WORDS;
    wire                final_part = rest == {IN_WORDS{1'b0}};

    assign s_tready = !valid_reg || (m_tready && final_part);
    assign m_tdata = data_reg[32*OUT_WORDS-1:0];
    assign m_tkeep = keep_reg[OUT_WORDS-1:0];
    assign m_tlast = last_reg && final_part;
    assign m_tvalid = valid_reg;
`ifdef FORMAL
    assign formal_last = last_reg;
`endif

    always @(posedge clk) begin
        if (s_tready) begin
            data_reg <= s_tdata;
            keep_reg <= s_tkeep;
            last_reg <= s_tlast;
            valid_reg <= s_tvalid;
        end else if (m_tready) begin
            data_reg <= data_reg >> 32 * OUT_WORDS;
            keep_reg <= rest;
        end
        if (rst)
            valid_reg <= 1'b0;
    end
endmodule

`default_nettype wire
