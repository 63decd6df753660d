// SPDX-License-Identifier: Apache-2.0
// Skid buffer: cuts the ready path. in_ready is a register; data passes in the same cycle while nothing is stored, and
// one word is kept when the receiver stops. Full throughput.
`default_nettype none

module ferry_skid_buffer #(
    // Bits of a word.
    parameter WIDTH = 8
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // Words in.
    input  wire             in_valid,
    output wire             in_ready,
    input  wire [WIDTH-1:0] in_data,
    // Words out, in order.
    output wire             out_valid,
    input  wire             out_ready,
    output wire [WIDTH-1:0] out_data
`ifdef FORMAL
    ,
    // For proofs: the word that is kept, if there is one.
    output wire             formal_kept,
    output wire [WIDTH-1:0] formal_word
`endif
);
    reg             full_reg;
    reg [WIDTH-1:0] data_reg;

    assign in_ready = !full_reg;
    assign out_valid = full_reg || in_valid;
    assign out_data = full_reg ? data_reg : in_data;

    always @(posedge clk) begin
        if (!full_reg) begin
            data_reg <= in_data;
        end
        full_reg <= out_valid && !out_ready;
        if (rst) begin
            full_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    assign formal_kept = full_reg;
    assign formal_word = data_reg;

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    // Order and no loss: one followed word is followed from its entrance to its exit.
    (* anyconst *) reg [WIDTH-1:0] followed;
    (* anyseq *) reg follow_now;
    reg held = 1'b0;
    wire enters = follow_now && in_valid && in_ready && in_data == followed && !held;
    always @(posedge clk) begin
        if (rst) begin
            held <= 1'b0;
        end else begin
            held <= (held || enters) && !(out_valid && out_ready);
        end
        if (past_valid && !rst && !$past(rst)) begin
            // The sender holds its word. Inside another module that is not taken for granted.
            if ($past(in_valid && !in_ready)) begin
`ifdef FORMAL_INSIDE
                assert (in_valid && $stable(in_data));
`else
                assume (in_valid && $stable(in_data));
`endif
            end
            // So does this buffer.
            if ($past(out_valid && !out_ready)) begin
                assert (out_valid && $stable(out_data));
            end
`ifndef FORMAL_INSIDE
            cover (full_reg && out_ready);
`endif
        end
    end
    always @(*) if (past_valid && !rst) begin
        // The followed word is the one stored: it can neither be overtaken nor vanish.
        assert (!held || (full_reg && data_reg == followed));
        assert (!enters || (out_valid && out_data == followed));
    end
`endif
endmodule

`default_nettype wire
