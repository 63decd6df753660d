// SPDX-License-Identifier: Apache-2.0
// A FIFO of packet beats in a block memory. The beats of a packet become visible to the reader only when the packet is
// committed, and are forgotten when it is discarded, so that the reader never sees a packet that turns out malformed.
`default_nettype none

module ferry_packet_fifo #(
    // Bits of a beat.
    parameter WIDTH = 65,
    // log2 of the beats.
    parameter LG_DEPTH = 9
) (
    // Clock.
    input  wire             clk,
    // Synchronous reset, active high.
    input  wire             rst,

    // A beat of the packet that is being written. Only while push_ready is up.
    input  wire             push_valid,
    input  wire [WIDTH-1:0] push_beat,
    // The packet, with the beat of this cycle, is complete and good.
    input  wire             push_commit,
    // The packet, with the beat of this cycle, is dropped.
    input  wire             push_discard,
    // There is room for a beat.
    output wire             push_ready,

    // Reader: pop_beat counts while pop_valid; pop takes it.
    output reg              pop_valid,
    output reg  [WIDTH-1:0] pop_beat,
    input  wire             pop
);
    // A committed beat is never being written while it is read.
    (* no_rw_check *)
    reg [WIDTH-1:0] memory [0:(1 << LG_DEPTH) - 1];

    reg [LG_DEPTH:0] write_reg;
    reg [LG_DEPTH:0] commit_reg;
    reg [LG_DEPTH:0] read_reg;

    wire [LG_DEPTH:0] one = {{LG_DEPTH{1'b0}}, 1'b1};
    wire [LG_DEPTH:0] write_next = push_valid ? write_reg + one : write_reg;
    wire              fetch = (!pop_valid || pop) && read_reg != commit_reg;

    assign push_ready = (write_reg ^ read_reg) != {1'b1, {LG_DEPTH{1'b0}}};

    always @(posedge clk) begin
        if (push_valid)
            memory[write_reg[LG_DEPTH-1:0]] <= push_beat;
        if (fetch)
            pop_beat <= memory[read_reg[LG_DEPTH-1:0]];
    end

    always @(posedge clk) begin
        write_reg <= push_discard ? commit_reg : write_next;
        if (push_commit)
            commit_reg <= write_next;
        if (fetch)
            read_reg <= read_reg + one;
        if (fetch)
            pop_valid <= 1'b1;
        else if (pop)
            pop_valid <= 1'b0;
        if (rst) begin
            write_reg <= {LG_DEPTH + 1{1'b0}};
            commit_reg <= {LG_DEPTH + 1{1'b0}};
            read_reg <= {LG_DEPTH + 1{1'b0}};
            pop_valid <= 1'b0;
        end
    end

`ifdef FORMAL
    // Order and no loss, of packets: the beat that enters at one place, whichever, leaves as the same beat at the same
    // place once its packet is committed, and never otherwise. A buffer that is full of more than one packet has
    // something to read, so whoever waits for room waits for the reader only.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);
    always @(*) begin
        assume (!push_valid || push_ready);
        assume (!(push_commit && push_discard));
        assume (!pop || pop_valid);
    end

    (* anyconst *) reg [LG_DEPTH:0] place;
    reg held = 1'b0;
    reg [WIDTH-1:0] beat = 0;
    wire [LG_DEPTH:0] level = write_reg - read_reg;
    wire [LG_DEPTH:0] ready = commit_reg - read_reg;
    wire [LG_DEPTH:0] ahead = place - read_reg;
    wire [LG_DEPTH:0] coming = write_reg - commit_reg;
    reg shown = 1'b0;
    reg [WIDTH-1:0] shown_beat = 0;
    always @(posedge clk) begin
        if (push_valid && write_reg == place) begin
            held <= 1'b1;
            beat <= push_beat;
        end
        if (fetch && read_reg == place) begin
            held <= 1'b0;
        end
        if (push_discard && ahead >= ready) begin
            held <= 1'b0;
        end
        if (fetch || pop) begin
            shown <= fetch && read_reg == place;
            shown_beat <= beat;
        end
        if (rst) begin
            held <= 1'b0;
            shown <= 1'b0;
        end
        cover (past_valid && !rst && !push_ready);
        cover (past_valid && !rst && push_discard && level > ready + 1);
    end
    always @(*) if (past_valid && !rst) begin
        assert (level <= (1 << LG_DEPTH) && ready <= level);
        assert (push_ready == (level != (1 << LG_DEPTH)));
        assert (held == (ahead < level));
        if (held)
            assert (memory[place[LG_DEPTH-1:0]] == beat);
        if (shown)
            assert (pop_valid && pop_beat == shown_beat);
        // Full, and the packet that is coming in does not fill it alone: a beat is there to take.
        if (!push_ready && coming != (1 << LG_DEPTH))
            assert (ready != 0);
    end
`endif
endmodule

`default_nettype wire
