// SPDX-License-Identifier: Apache-2.0
// Packets as bytes in a block memory: a mark of one byte, which is known when the packet is whole, and what the packet is. A
// packet that is not whole can be forgotten. Who reads says where, and from which place on bytes are still needed.
`default_nettype none

module ferry_byte_store #(
    // log2 of the bytes; one place is never used.
    parameter LG_BYTES = 11
) (
    // Clock and synchronous reset, which forgets everything.
    input  wire                clk,
    input  wire                rst,

    // The packet's next byte, the first of them in the place of the mark. Only while push_ready is up.
    input  wire                push_valid,
    input  wire [7:0]          push_data,
    output wire                push_ready,
    // Not in a cycle with push_valid: the packet is whole, this is its mark; or it is forgotten.
    input  wire                commit,
    input  wire [7:0]          mark,
    input  wire                discard,

    // Behind the last whole packet; the first place that is needed.
    output wire [LG_BYTES-1:0] end_place,
    input  wire [LG_BYTES-1:0] oldest,
    // A byte comes the cycle after its place was told.
    input  wire [LG_BYTES-1:0] read_place,
    output reg  [7:0]          read_data
);
    // Never read in the cycle in which it is written: packets are read when they are whole.
    (* no_rw_check *)
    reg [7:0] memory [0:(1 << LG_BYTES) - 1];

    reg [LG_BYTES-1:0] write_reg;
    reg [LG_BYTES-1:0] commit_reg;

    wire [LG_BYTES-1:0] write_up = write_reg + {{LG_BYTES - 1{1'b0}}, 1'b1};
    assign push_ready = write_up != oldest;
    assign end_place = commit_reg;

    always @(posedge clk) begin
        if (push_valid || commit)
            memory[commit ? commit_reg : write_reg] <= commit ? mark : push_data;
        read_data <= memory[read_place];
    end

    always @(posedge clk) begin
        if (push_valid)
            write_reg <= write_up;
        if (discard)
            write_reg <= commit_reg;
        if (commit)
            commit_reg <= write_reg;
        if (rst) begin
            write_reg <= {LG_BYTES{1'b0}};
            commit_reg <= {LG_BYTES{1'b0}};
        end
    end

`ifdef FORMAL
    // What was committed stays as it is until it is not needed any more: no byte of a packet is written over.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    wire [LG_BYTES-1:0] used = commit_reg - oldest;
    wire [LG_BYTES-1:0] level = write_reg - oldest;
    reg  [LG_BYTES-1:0] oldest_was = 0;
    reg  [LG_BYTES-1:0] used_was = 0;
    always @(posedge clk) begin
        oldest_was <= oldest;
        used_was <= rst ? {LG_BYTES{1'b0}} : used;
    end
    always @(*) begin
        assume (!push_valid || push_ready);
        assume (push_valid + commit + discard <= 1);
        // A packet that is committed has its mark's place.
        assume (!commit || write_reg != commit_reg);
        // The first place that is needed goes on, as far as packets are whole.
        assume (oldest - oldest_was <= (past_valid ? used_was : 0) || rst);
        if (!past_valid || rst)
            assume (oldest == 0);
    end

    (* anyconst *) reg [LG_BYTES-1:0] place;
    wire [LG_BYTES-1:0] ahead = place - oldest;
    wire held = ahead < used;
    reg  held_was = 1'b0;
    reg  [7:0] byte_was = 0;
    always @(posedge clk) begin
        held_was <= held && !rst;
        byte_was <= memory[place];
        cover (past_valid && !rst && !push_ready && used > 2);
    end
    always @(*) if (past_valid && !rst) begin
        assert (used <= level);
        if (held && held_was)
            assert (memory[place] == byte_was);
    end
`endif
endmodule

`default_nettype wire
