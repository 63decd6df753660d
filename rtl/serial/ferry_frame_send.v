// SPDX-License-Identifier: Apache-2.0
// Sends frames (docs/manual/link.md): packets in their order, each kept until it is acknowledged, and from the oldest one on
// again when the other side asks for it or says nothing for too long; acknowledgements and credits when there is news and no
// packet; the answer to a hello.
`default_nettype none
`include "ferry_contract.vh"

module ferry_frame_send #(
    // log2 of the bytes that are kept for packets, 10 to 12.
    parameter LG_BYTES = 11,
    // Cycles without an acknowledgement after which packets are sent again.
    parameter RESEND_CLOCKS = 655360,
    // What the hello says: cycles that a byte takes on the channel, and who this is, at most 15 characters.
    parameter BYTE_CLOCKS = 40,
    parameter [127:0] NAME = "ferry_serial"
) (
    // Clock and synchronous reset.
    input  wire                clk,
    input  wire                rst,

    // There is a session. Without one nothing is kept.
    input  wire                open,
    // A hello is to be answered, and the contract refused; for one cycle: the answer begins; it goes.
    input  wire                hello_due,
    input  wire                refused,
    output wire                hello_begins,
    output wire                hello_goes,
    // The lowest byte of the session's number; for one cycle: it was used, the number is to be turned by a byte.
    input  wire [7:0]          session,
    output wire                session_turn,

    // What the receiver has seen, for one cycle, and whether it can be; the first credit comes with the hello.
    input  wire                hello_taken,
    input  wire                ack_valid,
    input  wire [6:0]          ack,
    input  wire [7:0]          ack_credit,
    input  wire                ack_again,
    output wire                ack_fits,
    // What it wants to be told: state, and when.
    input  wire [6:0]          expected,
    input  wire [7:0]          credit,
    input  wire                tell,
    input  wire                again,

    // Packets that ferry_frame_collect brings.
    output wire                number_free,
    input  wire                push_valid,
    input  wire [7:0]          push_data,
    output wire                push_ready,
    input  wire                commit,
    input  wire [7:0]          mark,
    input  wire                discard,

    // To ferry_frame_encode.
    output wire                out_valid,
    output wire [7:0]          out_data,
    output wire                out_last,
    output wire                out_zero,
    input  wire                out_ready,
    // Something is to be sent, or was sent and is not acknowledged.
    output wire                busy
);
    localparam [1:0] S_IDLE = 2'd0;
    // The mark of the oldest packet comes, which is acknowledged; or of the one to be sent next.
    localparam [1:0] S_MARK = 2'd1;
    localparam [1:0] S_HEAD = 2'd2;
    localparam [1:0] S_BODY = 2'd3;
    localparam       T = $clog2(RESEND_CLOCKS + 1);
    localparam       RESEND_INT = RESEND_CLOCKS;
    localparam [T-1:0] RESEND = RESEND_INT[T-1:0];
    localparam [31:0] MAGIC = `FERRY_TUNNEL_HELLO_MAGIC_RESET;
    localparam [31:0] VERSION = `FERRY_CONTRACT_VERSION;
    localparam       BYTE_INT = BYTE_CLOCKS;
    // 0 would say that it does not matter how many.
    localparam [15:0] CLOCKS = BYTE_CLOCKS > 65535 ? 16'd65535 : BYTE_INT[15:0];
    localparam [6:0] HELLO_WORDS = 7'd9;
    localparam [6:0] WINDOW = 7'd63;
    wire [127:0] name;
    ferry_letters #(.TEXT(NAME)) letters (.bytes(name));

    reg [1:0] state_reg;
    // What goes: a packet, or the answer to a hello; else a header alone. Or a packet is given up.
    reg       packet_reg;
    reg       hello_reg;
    reg       forget_reg;
    // Byte of the header; bytes of the body that are to come.
    reg [1:0] head_byte_reg;
    reg [8:0] left_reg;

    // Numbers: what the other side expects, which is the oldest that it may ask for; that packet whose place is known; to be
    // sent next; to be sent for the first time; to be given by the device.
    reg [6:0] acked_reg;
    reg [6:0] oldest_number_reg;
    reg [6:0] sent_reg;
    reg [6:0] highest_reg;
    reg [6:0] next_reg;
    // Places of two of them.
    reg [LG_BYTES-1:0] oldest_reg;
    reg [LG_BYTES-1:0] place_reg;
    // Units of 4 words from the oldest to the one to be sent next; what the other side has room for.
    reg [7:0] used_reg;
    reg [7:0] credit_reg;
    // Go back to the oldest; a frame is due; one that asks to send again; cycles since something was acknowledged.
    reg       back_reg;
    reg       tell_reg;
    reg       again_reg;
    reg [T-1:0] age_reg;

    wire [7:0] stored;
    wire [LG_BYTES-1:0] unused_end;
    wire       idle = state_reg == S_IDLE;
    // Acknowledged packets leave the store one by one, before anything else is done.
    wire       forgets = idle && oldest_number_reg != acked_reg;

    ferry_byte_store #(.LG_BYTES(LG_BYTES)) store (
        .clk(clk), .rst(rst || (idle && !open)), .push_valid(push_valid), .push_data(push_data), .push_ready(push_ready),
        .commit(commit), .mark(mark), .discard(discard), .end_place(unused_end), .oldest(oldest_reg),
        .read_place(forgets ? oldest_reg : place_reg), .read_data(stored)
    );

    // --- What the other side says --------------------------------------------------------------------------------------

    // At most 63 are under way, so half of the numbers are behind and half before.
    wire [6:0] ack_ahead = ack - acked_reg;
    wire [6:0] ack_short = highest_reg - ack;
    wire [6:0] window = next_reg - acked_reg;
    wire       waits = open && window != 7'd0;
    wire       late = waits && age_reg == RESEND;
    assign ack_fits = !ack_ahead[6] && !ack_short[6];
    assign number_free = window != WINDOW;

    // --- What goes -------------------------------------------------------------------------------------------------------

    wire [6:0] words = stored[6:0];
    wire [5:0] units = {1'b0, words[6:2]} + {5'd0, words[1:0] != 2'd0};
    wire [8:0] used_then = {1'b0, used_reg} + {3'd0, units};
    wire       fits = used_then <= {1'b0, credit_reg};
    wire       news = tell_reg || again_reg;
    wire       waiting = sent_reg != next_reg;
    wire       begins_hello = idle && hello_due;
    wire       begins_packet = state_reg == S_MARK && !forget_reg && fits;
    wire       begins_news = open && news && ((idle && !begins_hello && !forgets && !back_reg && !waiting)
                                              || (state_reg == S_MARK && !forget_reg && !fits));
    wire       goes = out_valid && out_ready;
    wire       head_ends = goes && state_reg == S_HEAD && head_byte_reg == 2'd3;
    wire       body_ends = goes && state_reg == S_BODY && out_last;
    wire       packet_ends = body_ends && packet_reg;

    // The hello's bytes by how many are to come.
    wire [5:0] hello_byte = 6'd36 - left_reg[5:0];
    wire       session_byte = hello_byte[5:2] == 4'd2;
    wire [3:0] name_byte = hello_byte[3:0] - 4'd4;
    reg [7:0]  hello;
    always @* case (hello_byte[5:2])
        4'd0: hello = MAGIC[8*hello_byte[1:0] +: 8];
        4'd1: hello = VERSION[8*hello_byte[1:0] +: 8];
        4'd2: hello = session;
        4'd3: hello = hello_byte[1:0] == 2'd0 ? 8'd1 << `FERRY_TUNNEL_HELLO_WHAT_ANSWER_SHIFT
                      : hello_byte[1:0] == 2'd1 ? (refused ? `FERRY_TUNNEL_VERDICT_CONTRACT : `FERRY_TUNNEL_VERDICT_ACCEPTED)
                      : hello_byte[0] ? CLOCKS[15:8] : CLOCKS[7:0];
        4'd4: hello = 8'd0;
        default: hello = name[8*name_byte +: 8];
    endcase

    wire [31:0] head;
    assign head[`FERRY_TUNNEL_FRAME_HEAD_WORDS_RANGE] = left_reg[8:2];
    assign head[`FERRY_TUNNEL_FRAME_HEAD_AGAIN_RANGE] = again_reg && !hello_reg;
    assign head[`FERRY_TUNNEL_FRAME_HEAD_SEQUENCE_RANGE] = sent_reg;
    assign head[`FERRY_TUNNEL_FRAME_HEAD_COUNTED_RANGE] = packet_reg;
    assign head[`FERRY_TUNNEL_FRAME_HEAD_ACK_RANGE] = expected;
    assign head[`FERRY_TUNNEL_FRAME_HEAD_CONTROL_RANGE] = hello_reg;
    assign head[`FERRY_TUNNEL_FRAME_HEAD_CREDIT_RANGE] = credit;

    assign out_valid = state_reg[1];
    assign out_data = state_reg == S_HEAD ? head[8*head_byte_reg +: 8] : hello_reg ? hello : stored;
    assign out_last = state_reg == S_HEAD ? left_reg == 9'd0 && head_byte_reg == 2'd3 : left_reg == 9'd1;
    assign out_zero = hello_reg && state_reg == S_HEAD && head_byte_reg == 2'd0;
    assign hello_begins = begins_hello;
    assign hello_goes = !idle && hello_reg;
    assign session_turn = goes && state_reg == S_BODY && hello_reg && session_byte;
    assign busy = !idle || hello_due || waits || (open && news);

    always @(posedge clk) begin
        case (state_reg)
        S_IDLE: begin
            packet_reg <= 1'b0;
            hello_reg <= hello_due;
            forget_reg <= forgets;
            head_byte_reg <= 2'd0;
            left_reg <= hello_due ? {HELLO_WORDS, 2'b00} : 9'd0;
            if (begins_hello || begins_news)
                state_reg <= S_HEAD;
            else if (open && (forgets || (waiting && !back_reg)))
                state_reg <= S_MARK;
        end
        S_MARK: begin
            packet_reg <= begins_packet;
            if (begins_packet)
                left_reg <= {words, 2'b00};
            state_reg <= begins_packet || begins_news ? S_HEAD : S_IDLE;
        end
        S_HEAD: begin
            if (goes)
                head_byte_reg <= head_byte_reg + 2'd1;
            if (head_ends)
                state_reg <= out_last ? S_IDLE : S_BODY;
        end
        default: begin
            if (goes)
                left_reg <= left_reg - 9'd1;
            if (body_ends)
                state_reg <= S_IDLE;
        end
        endcase

        // Its bytes: the mark is behind it once the header has gone. The encoder takes no byte in the two cycles after one, so
        // the store's byte is always there in time.
        if (packet_reg && (head_ends || (goes && state_reg == S_BODY)))
            place_reg <= place_reg + {{LG_BYTES - 1{1'b0}}, 1'b1};
        if (begins_packet)
            used_reg <= used_then[7:0];
        if (packet_ends) begin
            sent_reg <= sent_reg + 7'd1;
            if (sent_reg == highest_reg)
                highest_reg <= highest_reg + 7'd1;
        end

        // The oldest is given up.
        if (state_reg == S_MARK && forget_reg) begin
            oldest_reg <= oldest_reg + {{LG_BYTES - 9{1'b0}}, words, 2'b01};
            oldest_number_reg <= oldest_number_reg + 7'd1;
            used_reg <= used_reg - {2'd0, units};
            // It was to be sent again.
            if (sent_reg == oldest_number_reg)
                back_reg <= 1'b1;
        end
        // Back to the oldest, between two frames.
        if (idle && !forgets && back_reg) begin
            back_reg <= 1'b0;
            place_reg <= oldest_reg;
            sent_reg <= oldest_number_reg;
            used_reg <= 8'd0;
        end

        if (commit)
            next_reg <= next_reg + 7'd1;
        if (state_reg == S_HEAD && !hello_reg && goes && head_byte_reg == 2'd0) begin
            tell_reg <= 1'b0;
            again_reg <= 1'b0;
        end
        age_reg <= age_reg + {{T - 1{1'b0}}, 1'b1};
        if (!waits || (packet_ends && sent_reg == acked_reg) || late)
            age_reg <= {T{1'b0}};
        if (late) begin
            back_reg <= 1'b1;
            again_reg <= 1'b1;
        end
        if (hello_taken || ack_valid)
            credit_reg <= ack_credit;
        if (ack_valid) begin
            acked_reg <= ack;
            if (ack_ahead != 7'd0)
                age_reg <= {T{1'b0}};
            if (ack_again) begin
                back_reg <= 1'b1;
                tell_reg <= 1'b1;
            end
        end
        if (tell)
            tell_reg <= 1'b1;
        if (again)
            again_reg <= 1'b1;

        // What was under way is forgotten, once the frame that goes has gone.
        if (rst || (idle && !open)) begin
            acked_reg <= 7'd0;
            oldest_number_reg <= 7'd0;
            sent_reg <= 7'd0;
            highest_reg <= 7'd0;
            next_reg <= 7'd0;
            oldest_reg <= {LG_BYTES{1'b0}};
            place_reg <= {LG_BYTES{1'b0}};
            used_reg <= 8'd0;
            back_reg <= 1'b0;
            tell_reg <= 1'b0;
            again_reg <= 1'b0;
        end
        if (rst) begin
            state_reg <= S_IDLE;
            hello_reg <= 1'b0;
        end
    end

    wire unused = &{1'b0, unused_end, ack_ahead, ack_short};

`ifdef FORMAL
    // Counted from the oldest packet that is kept, everything is in its order: what is acknowledged was sent, what is sent again
    // was sent before, what is sent was given; and never is more sent than there is credit for.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) begin
        if (!past_valid)
            assume (rst);
        // ferry_frame_receive and ferry_frame_collect.
        assume (!ack_valid || (ack_fits && open));
        assume (!commit || (number_free && open));
        // The session ends by a hello, and begins with its answer.
        assume (!hello_due || !rst);
    end
    reg open_was = 1'b0;
    reg began_was = 1'b0;
    always @(posedge clk) begin
        open_was <= open && !rst;
        began_was <= hello_begins;
    end
    always @(*) assume (!open || open_was || began_was);

    wire [6:0] from_acked = acked_reg - oldest_number_reg;
    wire [6:0] from_sent = sent_reg - oldest_number_reg;
    wire [6:0] from_highest = highest_reg - oldest_number_reg;
    wire [6:0] from_next = next_reg - oldest_number_reg;
    wire       goes_out = state_reg == S_HEAD || state_reg == S_BODY;
    always @(posedge clk) begin
        cover (past_valid && !rst && state_reg == S_BODY);
    end
    always @(*) if (past_valid && !rst) begin
        assert (from_acked <= from_highest && from_highest <= from_next);
        assert (from_highest <= 7'd63 && window <= 7'd63);
        assert (back_reg || from_sent <= from_highest);
        // A packet that goes, or will, was given.
        if ((packet_reg && goes_out) || (state_reg == S_MARK && !forget_reg))
            assert (from_sent <= from_highest && from_sent < from_next && from_sent <= 7'd62);
        assert (!(goes_out && packet_reg && hello_reg));
        if (begins_packet)
            assert (used_then <= {1'b0, credit_reg});
        if (state_reg == S_MARK && forget_reg)
            assert (from_acked != 7'd0);
        // Nothing is forgotten while something goes.
        if (goes_out)
            assert (!forgets);
    end
`endif
endmodule

`default_nettype wire
