// SPDX-License-Identifier: Apache-2.0
// Undoes the stuffing of a frame (docs/manual/link.md) and checks its CRC. A byte takes nine cycles when the CRC has to
// take one in; a serial line has 38 and more between two.
`default_nettype none

module ferry_frame_decode (
    // Clock and synchronous reset.
    input  wire       clk,
    input  wire       rst,

    // Bytes of the channel.
    input  wire       in_valid,
    input  wire [7:0] in_data,
    output wire       in_ready,

    // A byte of the frame, its CRC's included; for one cycle.
    output wire       plain_valid,
    output wire [7:0] plain_data,
    // What came since the last zero ends, for one cycle; it is a frame if it was as long as it says.
    output wire       end_valid,
    output wire       end_good
);
    // Bytes of the block that are to come; 0: the next one is a code. A zero stands behind the block if another follows.
    reg [7:0] left_reg;
    reg       zero_reg;
    // Something came since the last zero.
    reg       any_reg;
    // Byte on its way into the CRC, and its bits that are to go.
    reg [7:0] byte_reg;
    reg [3:0] bits_reg;

    wire take = in_valid && in_ready;
    wire ends = in_data == 8'd0;
    wire code = left_reg == 8'd0;
    wire crc_good;

    assign in_ready = bits_reg == 4'd0;
    assign plain_valid = take && !ends && (!code || zero_reg);
    assign plain_data = code ? 8'd0 : in_data;
    assign end_valid = take && ends && any_reg;
    assign end_good = code && crc_good;

    wire [31:0] unused_crc;
    ferry_frame_crc check (
        .clk(clk), .start(rst || (take && ends)), .step(!in_ready), .bit_in(byte_reg[0]), .out(1'b0), .crc(unused_crc),
        .good(crc_good)
    );

    always @(posedge clk) begin
        if (take) begin
            any_reg <= !ends;
            left_reg <= ends ? 8'd0 : (code ? in_data : left_reg) - 8'd1;
            if (code)
                zero_reg <= in_data != 8'd255;
            if (ends)
                zero_reg <= 1'b0;
        end
        if (plain_valid) begin
            byte_reg <= plain_data;
            bits_reg <= 4'd8;
        end else if (!in_ready) begin
            byte_reg <= {1'b0, byte_reg[7:1]};
            bits_reg <= bits_reg - 4'd1;
        end
        if (rst) begin
            left_reg <= 8'd0;
            zero_reg <= 1'b0;
            any_reg <= 1'b0;
            bits_reg <= 4'd0;
        end
    end

    wire unused = &{1'b0, unused_crc};
endmodule

`default_nettype wire
