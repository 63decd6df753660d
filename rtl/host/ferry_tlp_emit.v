// SPDX-License-Identifier: Apache-2.0
// Sends one packet: three or four header words, then the payload out of a memory of 8-byte beats. The payload is moved
// by one word where header and address do not fall into the same half of a beat. Once a packet has begun, valid stays
// up until its last beat, and the next packet follows without an idle beat.
`default_nettype none

module ferry_tlp_emit #(
    // log2 of the beats of the payload memory.
    parameter INDEX_WIDTH = 5
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // A packet stands ready: header and the fields below are stable until packet_taken.
    input  wire                   packet_valid,
    // Header and fields are no longer needed.
    output wire                   packet_taken,
    // The last beat of the packet was accepted.
    output wire                   packet_done,
    // Header words 0 to 3, word 0 in bits 31:0; word 3 counts only with packet_four.
    input  wire [127:0]           packet_header,
    // The header has four words.
    input  wire                   packet_four,
    // Payload words, 0 to 64.
    input  wire [6:0]             packet_words,
    // The first payload word stands in the upper half of beat 0 of the memory.
    input  wire                   packet_odd,

    // Beat of the payload memory whose data must stand on read_data in the next cycle.
    output wire [INDEX_WIDTH-1:0] read_index,
    input  wire [63:0]            read_data,

    // Packet stream.
    output wire [63:0]            tlp_data,
    // The upper word of the beat counts.
    output wire                   tlp_upper,
    output wire                   tlp_last,
    output wire                   tlp_valid,
    input  wire                   tlp_ready
`ifdef FORMAL
    // Between packets.
    , output wire                 formal_first
`endif
);
    localparam [1:0] S_FIRST = 2'd0;
    localparam [1:0] S_SECOND = 2'd1;
    localparam [1:0] S_DATA = 2'd2;

    reg [1:0]             state_reg;
    reg [INDEX_WIDTH-1:0] index_reg;
    // Payload words left behind the second beat, and whether they are moved by one word.
    reg [6:0]             left_reg;
    reg                   shift_reg;
    reg [31:0]            carry_reg;

    wire first = state_reg == S_FIRST;
    wire second = state_reg == S_SECOND;
    wire accept = tlp_valid && tlp_ready;
    wire consume = accept && (second ? !packet_four || packet_odd : !first);
    // With three header words the first payload word fills up the second beat; the rest follows as it falls.
    wire shift = second ? packet_four == packet_odd : shift_reg;
    wire [31:0] upper = shift ? read_data[31:0] : read_data[63:32];

    assign tlp_valid = first ? packet_valid : 1'b1;
    assign tlp_data[31:0] = first ? packet_header[31:0] : second ? packet_header[95:64] :
                            shift_reg ? carry_reg : read_data[31:0];
    assign tlp_data[63:32] = first ? packet_header[63:32] :
                             second && packet_four ? packet_header[127:96] : upper;
    assign tlp_upper = first || (second ? packet_four || packet_words != 7'd0 : left_reg != 7'd1);
    assign tlp_last = !first && (second ? packet_words == 7'd0 || (!packet_four && packet_words == 7'd1) :
                                 left_reg[6:2] == 5'd0 && left_reg[1:0] != 2'd3);
    assign packet_taken = second && accept;
    assign packet_done = accept && tlp_last;
    assign read_index = first ? {INDEX_WIDTH{1'b0}} :
                        consume ? index_reg + {{INDEX_WIDTH-1{1'b0}}, 1'b1} : index_reg;

`ifdef FORMAL
    assign formal_first = first;
    reg started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @*
        if (started)
            assert (first || second || state_reg == S_DATA);
`endif

    always @(posedge clk) begin
        index_reg <= read_index;
        if (consume)
            carry_reg <= read_data[63:32];
        if (accept) begin
            if (second) begin
                left_reg <= packet_four ? packet_words : packet_words - 7'd1;
                shift_reg <= shift;
            end else if (!first) begin
                left_reg <= left_reg - 7'd2;
            end
            state_reg <= tlp_last ? S_FIRST : first ? S_SECOND : S_DATA;
        end
        if (rst)
            state_reg <= S_FIRST;
    end
endmodule

`default_nettype wire
