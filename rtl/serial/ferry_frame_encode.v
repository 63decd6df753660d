// SPDX-License-Identifier: Apache-2.0
// Puts the CRC behind a frame, stuffs both (docs/manual/link.md) and ends them with a zero. A block's code says how long it
// is, so it stands in a memory until its end is known; what follows is made meanwhile. A byte takes some eleven cycles, a
// serial line forty and more: the line never waits, once a frame has begun.
`default_nettype none

module ferry_frame_encode (
    // Clock and synchronous reset.
    input  wire       clk,
    input  wire       rst,

    // The frame's bytes. With the first one: a zero stands before the frame.
    input  wire       in_valid,
    input  wire [7:0] in_data,
    input  wire       in_last,
    input  wire       in_zero,
    output wire       in_ready,

    // Bytes for the channel.
    output reg        out_valid,
    output reg  [7:0] out_data,
    input  wire       out_ready,
    // Something is in here that is not in the channel.
    output wire       busy
);
    localparam [2:0] S_IDLE = 3'd0;
    // A byte is to be written, behind a code if its block is full; then its bits go into the CRC.
    localparam [2:0] S_FULL = 3'd1;
    localparam [2:0] S_PUT = 3'd2;
    localparam [2:0] S_CRC = 3'd3;
    // The next byte of the CRC; the last block's code, and the zero that ends the frame.
    localparam [2:0] S_TAIL = 3'd4;
    localparam [2:0] S_CODE = 3'd5;
    localparam [2:0] S_ZERO = 3'd6;

    // A place is read only once a block that begins behind it has begun.
    (* no_rw_check *)
    reg [7:0]  memory [0:511];

    reg [2:0]  state_reg;
    reg [7:0]  byte_reg;
    reg        last_reg;
    // Bytes of the CRC that were made.
    reg [2:0]  tail_reg;
    reg [2:0]  bit_reg;
    // Next place; the place that is kept for the code of the block; what the code is by now; next place to be read.
    reg [8:0]  write_reg;
    reg [8:0]  code_reg;
    reg [7:0]  run_reg;
    reg [8:0]  read_reg;
    // The zero before this frame is written.
    reg        zero_reg;

    wire [31:0] crc;
    wire        unused_good;
    wire [8:0]  level = write_reg - read_reg;
    // Looked at before each byte, the CRC's too; what comes without a look (codes, zeros) is three places.
    wire        room = level[8:3] != 6'h3f;
    wire        lead = state_reg == S_IDLE && in_valid && in_zero && !zero_reg;
    wire        full = run_reg == 8'd255;
    wire        put = state_reg == S_PUT && byte_reg != 8'd0;
    // A block ends: its code, or a zero in its place if it has not begun, is written, and the next one begins.
    wire        close = lead || (state_reg == S_FULL && full) || (state_reg == S_PUT && !put) || state_reg == S_CODE
                        || state_reg == S_ZERO;
    wire [7:0]  written = put ? byte_reg : lead || state_reg == S_ZERO ? 8'd0 : run_reg;
    wire        fetch = (!out_valid || out_ready) && read_reg != code_reg;

    assign in_ready = state_reg == S_IDLE && room && !lead;
    assign busy = out_valid || read_reg != code_reg || state_reg != S_IDLE;

    ferry_frame_crc make (
        .clk(clk), .start(rst || state_reg == S_ZERO), .step(state_reg == S_CRC), .bit_in(byte_reg[0]), .out(tail_reg != 3'd0),
        .crc(crc), .good(unused_good)
    );

    always @(posedge clk) begin
        if (put || close)
            memory[put ? write_reg : code_reg] <= written;
        if (fetch)
            out_data <= memory[read_reg];
    end

    always @(posedge clk) begin
        if (put || close)
            write_reg <= write_reg + 9'd1;
        if (close) begin
            code_reg <= write_reg;
            run_reg <= 8'd1;
        end else if (put) begin
            run_reg <= run_reg + 8'd1;
        end
        if (fetch)
            read_reg <= read_reg + 9'd1;
        out_valid <= fetch || (out_valid && !out_ready);

        case (state_reg)
        S_IDLE: begin
            if (lead)
                zero_reg <= 1'b1;
            if (in_valid && in_ready) begin
                zero_reg <= 1'b0;
                byte_reg <= in_data;
                last_reg <= in_last;
                state_reg <= S_FULL;
            end
        end
        S_FULL:
            if (room)
                state_reg <= S_PUT;
        S_PUT:
            state_reg <= S_CRC;
        S_CRC: begin
            bit_reg <= bit_reg + 3'd1;
            byte_reg <= {byte_reg[0], byte_reg[7:1]};
            if (bit_reg == 3'd7)
                state_reg <= last_reg ? S_TAIL : S_IDLE;
        end
        S_TAIL: begin
            byte_reg <= ~crc[7:0];
            tail_reg <= tail_reg + 3'd1;
            state_reg <= tail_reg[2] ? S_CODE : S_FULL;
        end
        S_CODE:
            state_reg <= S_ZERO;
        default: begin
            tail_reg <= 3'd0;
            state_reg <= S_IDLE;
        end
        endcase

        if (rst) begin
            state_reg <= S_IDLE;
            tail_reg <= 3'd0;
            bit_reg <= 3'd0;
            write_reg <= 9'd1;
            code_reg <= 9'd0;
            run_reg <= 8'd1;
            read_reg <= 9'd0;
            zero_reg <= 1'b0;
            out_valid <= 1'b0;
        end
    end

    wire unused = &{1'b0, unused_good, crc[31:8], level[2:0]};

`ifdef FORMAL
    // A block's code tells how far the next one is; zeros stand between frames and nowhere else; what was not sent is not written
    // over, and nothing is sent that may still change.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);
    valid_ready_properties #(.WIDTH(8)) channel (
        .clk(clk), .rst(rst), .valid(out_valid), .ready(out_ready), .data(out_data)
    );

    (* anyconst *) reg [8:0] place;
    wire [8:0] ready = code_reg - read_reg;
    wire held = place - read_reg < ready;
    reg  held_was = 1'b0;
    reg  [7:0] byte_was = 0;
    wire [8:0] most = state_reg == S_PUT ? 9'd504 : state_reg == S_ZERO || (state_reg == S_FULL && !full) ? 9'd506
                      : state_reg != S_IDLE ? 9'd505 : zero_reg ? 9'd508 : 9'd507;
    always @(posedge clk) begin
        held_was <= held && !rst;
        byte_was <= memory[place];
        cover (past_valid && !rst && state_reg == S_TAIL);
    end
    always @(*) if (past_valid && !rst) begin
        assert (run_reg != 8'd0 && {1'b0, run_reg} == write_reg - code_reg);
        // Room for a code, a byte, the end of the frame and the zero before the next one.
        assert (ready < level && level <= most);
        assert (state_reg != S_PUT || !full);
        assert (state_reg <= S_ZERO && tail_reg <= (state_reg == S_CODE || state_reg == S_ZERO ? 3'd5 : 3'd4));
        if (held && held_was)
            assert (memory[place] == byte_was);
        if ((put || close) && state_reg != S_ZERO && !lead)
            assert (written != 8'd0);
        // No block has begun where a zero stands.
        if (state_reg == S_ZERO)
            assert (run_reg == 8'd1);
    end
`endif
endmodule

`default_nettype wire
