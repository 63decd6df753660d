// SPDX-License-Identifier: Apache-2.0
// Takes frames (docs/manual/link.md): those that are no frame, come early, were there already or belong to no session are
// dropped, and what is to be done about it is told. Packets go into a store, from which ferry_frame_deliver takes them; a
// packet there begins with a byte that has its words in bits 6:0 and in bit 7 whether it is a request that may be set aside.
`default_nettype none
`include "ferry_contract.vh"

module ferry_frame_receive #(
    // log2 of the bytes that are kept for packets, 10 to 12.
    parameter LG_BYTES = 11
) (
    // Clock and synchronous reset.
    input  wire                clk,
    input  wire                rst,

    // From ferry_frame_decode.
    input  wire                plain_valid,
    input  wire [7:0]          plain_data,
    input  wire                end_valid,
    input  wire                end_good,

    // There is a session; its number.
    input  wire                open,
    input  wire [31:0]         session,
    // A hello has come, for one cycle: its session number, whether that is the one above, and whether its contract is ours.
    output wire                hello_valid,
    output wire [31:0]         hello_session,
    output wire                hello_same,
    output wire                hello_contract,

    // For one cycle: what a frame of this session says of the other direction. ack_fits: it can be.
    output wire                ack_valid,
    output wire [6:0]          ack,
    output wire [7:0]          ack_credit,
    output wire                ack_again,
    input  wire                ack_fits,

    // What frames to the host say: the number that is expected, room. For one cycle: say so soon; ask to send again.
    output wire [6:0]          expected,
    output wire [7:0]          credit,
    output wire                tell,
    output wire                again,

    // The packets: behind the last one, the first place that is needed, and reading.
    output wire [LG_BYTES-1:0] end_place,
    input  wire [LG_BYTES-1:0] oldest,
    input  wire [LG_BYTES-1:0] read_place,
    output wire [7:0]          read_data
);
    localparam [6:0] HELLO_WORDS = 7'd9;
    localparam [31:0] MAGIC = `FERRY_TUNNEL_HELLO_MAGIC_RESET;
    localparam [31:0] VERSION = `FERRY_CONTRACT_VERSION;

    // Place in the frame of the byte that comes next; stays at its end.
    reg [8:0]  place_reg;
    reg [31:0] head_reg;
    // The packet is a request that wants an answer; it did not fit into the store.
    reg        request_reg;
    reg        overflow_reg;
    // This is no hello of a host's; its contract is not ours; the session that it names.
    reg        strange_reg;
    reg        foreign_reg;
    reg [31:0] session_reg;
    // The number that is expected; a frame before it is missing, and that was said; how far the last early one was away.
    reg [6:0]  expected_reg;
    reg        gap_reg;
    reg [6:0]  gap_last_reg;

    // --- Head ----------------------------------------------------------------------------------------------------------

    wire [6:0] words = head_reg[`FERRY_TUNNEL_FRAME_HEAD_WORDS_RANGE];
    wire       counted = head_reg[`FERRY_TUNNEL_FRAME_HEAD_COUNTED_SHIFT];
    wire       control = head_reg[`FERRY_TUNNEL_FRAME_HEAD_CONTROL_SHIFT];
    wire [6:0] sequence_number = head_reg[`FERRY_TUNNEL_FRAME_HEAD_SEQUENCE_RANGE];
    assign ack = head_reg[`FERRY_TUNNEL_FRAME_HEAD_ACK_RANGE];
    assign ack_credit = head_reg[`FERRY_TUNNEL_FRAME_HEAD_CREDIT_RANGE];
    assign ack_again = head_reg[`FERRY_TUNNEL_FRAME_HEAD_AGAIN_SHIFT];

    // --- What it is, once it has ended -----------------------------------------------------------------------------------

    // As long as it says, header and CRC besides, and at most 68 words.
    wire       too_long = words[6] && (words[5:3] != 3'd0 || (words[2] && words[1:0] != 2'd0));
    wire       whole = place_reg == {words + 7'd2, 2'b00} && !too_long;
    wire       frame = end_valid && end_good && whole;
    wire       speaks = control && !counted;
    wire       ours = frame && !speaks && open && counted == (words != 7'd0) && ack_fits;
    wire [6:0] distance = sequence_number - expected_reg;
    wire       early = ours && distance != 7'd0 && !distance[6];
    wire       in_turn = ours && distance == 7'd0;
    // A message of what carries a simulator is taken and means nothing here.
    wire       taken = in_turn && counted && (control || !overflow_reg);
    wire       commit = taken && !control;
    // Once a round: the other side goes back each time. Numbers that do not rise are a new round.
    wire       missed = early && (!gap_reg || distance <= gap_last_reg);

    assign ack_valid = ours;
    assign expected = expected_reg;
    assign tell = taken || (ours && distance[6]);
    assign again = missed || (open && end_valid && !frame);
    assign hello_valid = frame && speaks && words == HELLO_WORDS && !strange_reg;
    assign hello_session = session_reg;
    assign hello_same = session_reg == session;
    assign hello_contract = !foreign_reg;

    // --- Packets ---------------------------------------------------------------------------------------------------------

    // The last byte of the header keeps the mark's place.
    wire       payload = place_reg == 9'd3 || (place_reg[8:2] != 7'd0 && place_reg[8:2] <= words);
    wire       push_ready;
    wire       push = plain_valid && payload && push_ready;
    // In word 0 of a TLP: format and type.
    wire [4:0] kind = plain_data[4:0];
    wire       wants_answer = kind[4:1] != 4'b0101 && kind[4:3] != 2'b10 && !(kind == 5'd0 && plain_data[6]);

    ferry_byte_store #(.LG_BYTES(LG_BYTES)) store (
        .clk(clk), .rst(rst), .push_valid(push), .push_data(plain_data), .push_ready(push_ready), .commit(commit),
        .mark({request_reg && words <= 7'd4, words}), .discard(end_valid && !commit), .end_place(end_place), .oldest(oldest),
        .read_place(read_place), .read_data(read_data)
    );

    // A packet of n units of 4 words takes 16 * n + 1 bytes, 17 * n at most: 15 units for 256 bytes always fit.
    wire [LG_BYTES-1:0] free = oldest + ~end_place;
    wire [LG_BYTES+3:0] free_units = {free, 4'd0} - {4'd0, free};
    generate if (LG_BYTES == 12) begin : all_bits
        assign credit = free_units[15:8];
    end else begin : few_bits
        assign credit = {{12 - LG_BYTES{1'b0}}, free_units[LG_BYTES+3:8]};
    end endgenerate

    // --- Registers -------------------------------------------------------------------------------------------------------

    always @(posedge clk) begin
        if (plain_valid) begin
            if (place_reg != 9'h1ff)
                place_reg <= place_reg + 9'd1;
            if (place_reg[8:2] == 7'd0)
                head_reg <= {plain_data, head_reg[31:8]};
            if (payload && !push_ready)
                overflow_reg <= 1'b1;
            if (place_reg == 9'd7)
                request_reg <= wants_answer;
            if (place_reg[8:2] == 7'd1 && plain_data != MAGIC[8*place_reg[1:0] +: 8])
                strange_reg <= 1'b1;
            if (place_reg[8:1] == 8'd5 && plain_data != VERSION[16 + 8*place_reg[0] +: 8])
                foreign_reg <= 1'b1;
            if (place_reg[8:2] == 7'd3)
                session_reg <= {plain_data, session_reg[31:8]};
            if (place_reg == 9'd16 && plain_data[`FERRY_TUNNEL_HELLO_WHAT_ANSWER_SHIFT])
                strange_reg <= 1'b1;
        end
        if (end_valid || rst) begin
            place_reg <= 9'd0;
            overflow_reg <= 1'b0;
            strange_reg <= 1'b0;
            foreign_reg <= 1'b0;
        end
        if (taken)
            expected_reg <= expected_reg + 7'd1;
        if (in_turn)
            gap_reg <= gap_reg && counted && !taken;
        if (early) begin
            gap_reg <= 1'b1;
            gap_last_reg <= distance;
        end
        if (!open) begin
            expected_reg <= 7'd0;
            gap_reg <= 1'b0;
        end
    end

    wire unused = &{1'b0, free_units[7:0]};
endmodule

`default_nettype wire
