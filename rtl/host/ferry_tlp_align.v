// SPDX-License-Identifier: Apache-2.0
// Turns the payload words of a write request, as they stand in the packet, into 8-byte beats as they stand in memory,
// with a strobe for each byte from the packet's byte enables. With three header words and an address in the upper half of
// a beat, the packet's second beat is as it stands in memory already, so it is taken as the first one of the source.
`default_nettype none

module ferry_tlp_align (
    // Clock.
    input  wire clk,

    // One-cycle pulse while the source shows the packet's second beat: the fields below are taken.
    input  wire        start,
    // The header has four words.
    input  wire        start_four,
    // The address is an odd multiple of 4.
    input  wire        start_odd,
    // Payload words, 1 to 64.
    input  wire [6:0]  start_words,
    // Byte enables of the first and the last word.
    input  wire [3:0]  start_first_enable,
    input  wire [3:0]  start_last_enable,
    // Upper word of the second beat: the first payload word of a packet with three header words.
    input  wire [31:0] start_carry,

    // Beats of the packet behind the second, or from it on (see above).
    input  wire        source_valid,
    input  wire [63:0] source_data,
    output wire        source_ready,

    // Beats of memory.
    output wire        beat_valid,
    output wire [63:0] beat_data,
    output wire [7:0]  beat_strobe,
    output wire        beat_last,
    input  wire        beat_ready
);
    reg        first_reg;
    reg        odd_reg;
    // Words are moved by one.
    reg        shift_reg;
    // Words left, counted from the lower half of the next beat.
    reg [6:0]  left_reg;
    reg [3:0]  first_enable_reg;
    reg [3:0]  last_enable_reg;
    reg [31:0] carry_reg;

    // The upper half of the beat carries a word.
    wire upper = left_reg != 7'd1;
    wire need_source = upper || !shift_reg;
    wire accept = beat_valid && beat_ready;

    assign beat_valid = !need_source || source_valid;
    assign beat_last = left_reg[6:2] == 5'd0 && left_reg[1:0] != 2'd3;
    assign beat_data[31:0] = shift_reg ? carry_reg : source_data[31:0];
    assign beat_data[63:32] = shift_reg ? source_data[31:0] : source_data[63:32];
    assign beat_strobe[3:0] = first_reg ? (odd_reg ? 4'd0 : first_enable_reg) :
                              upper ? 4'hf : last_enable_reg;
    assign beat_strobe[7:4] = !upper ? 4'd0 :
                              first_reg && odd_reg ? first_enable_reg :
                              beat_last ? last_enable_reg : 4'hf;
    assign source_ready = accept && need_source;

    always @(posedge clk) begin
        if (source_ready)
            carry_reg <= source_data[63:32];
        if (accept) begin
            first_reg <= 1'b0;
            left_reg <= left_reg - 7'd2;
        end
        if (start) begin
            first_reg <= 1'b1;
            odd_reg <= start_odd;
            shift_reg <= start_four == start_odd;
            left_reg <= start_words + {6'd0, start_odd};
            first_enable_reg <= start_first_enable;
            last_enable_reg <= start_last_enable;
            carry_reg <= start_carry;
        end
    end
endmodule

`default_nettype wire
