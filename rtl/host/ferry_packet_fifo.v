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
endmodule

`default_nettype wire
