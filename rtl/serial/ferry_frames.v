// SPDX-License-Identifier: Apache-2.0
// The device's end of frames over bytes (docs/manual/link.md): packets between a channel that may lose, change, double or
// swap bytes and ferry_device's packet streams of 32 bits. What is sent arrives once, whole and in order. The channel is
// bytes, whoever carries them: a serial line, USB endpoints. A byte takes some eleven cycles here.
//
// Here is the session; what comes, what goes and the bytes' code have modules of their own.
`default_nettype none

module ferry_frames #(
    // log2 of the bytes that are kept of packets for the device and of packets to the host: 10 to 12.
    parameter LG_RECEIVE = 11,
    parameter LG_SEND = 11,
    // Cycles without an acknowledgement after which packets are sent again. Longer than a window takes to the host and its
    // answer back.
    parameter RESEND_CLOCKS = 655360,
    // What the hello says: cycles that a byte takes on the channel, and who this is, at most 15 characters.
    parameter BYTE_CLOCKS = 40,
    parameter [127:0] NAME = "ferry_serial"
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Bytes from the channel and to it.
    input  wire        in_valid,
    input  wire [7:0]  in_data,
    output wire        in_ready,
    output wire        out_valid,
    output wire [7:0]  out_data,
    input  wire        out_ready,

    // Packets to the device and from it, as ferry_device has them with TLP_BITS = 32. Its credits may be tied to 1: a host
    // takes what comes whatever it has to send.
    output wire [31:0] m_axis_tlp_tdata,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,
    input  wire        m_axis_tlp_request_ok,
    input  wire [31:0] s_axis_tlp_tdata,
    input  wire        s_axis_tlp_tlast,
    input  wire        s_axis_tlp_tvalid,
    output wire        s_axis_tlp_tready,

    // A host has a session.
    output wire        session_open,
    // Something is under way here, or sent and not acknowledged.
    output wire        busy
);
    // --- Session ---------------------------------------------------------------------------------------------------------

    // Its number; the host's contract is not ours.
    reg        open_reg;
    reg [31:0] session_reg;
    reg        refused_reg;
    // A hello waits until the device has answered what it was asked; that question is to be asked, was asked. The answer is due.
    reg        settling_reg;
    reg        ask_reg;
    reg        asked_reg;
    reg        hello_due_reg;

    wire        hello_valid, hello_same, hello_contract, hello_begins, hello_goes, session_turn, asked, settled;
    wire [31:0] hello_session;
    // While an answer goes its number turns, and no other can be compared with it. The host will ask again.
    wire        hello = hello_valid && !hello_goes && !hello_begins;
    wire        hello_again = open_reg && hello_same;
    wire        hello_new = hello && !hello_again;
    assign session_open = open_reg;

    always @(posedge clk) begin
        if (session_turn)
            session_reg <= {session_reg[7:0], session_reg[31:8]};
        if (hello_begins) begin
            hello_due_reg <= 1'b0;
            open_reg <= !refused_reg;
        end
        if (asked) begin
            ask_reg <= 1'b0;
            asked_reg <= 1'b1;
        end
        if (settled) begin
            asked_reg <= 1'b0;
            settling_reg <= 1'b0;
            hello_due_reg <= settling_reg;
        end
        if (hello && hello_again)
            hello_due_reg <= 1'b1;
        if (hello_new) begin
            open_reg <= 1'b0;
            session_reg <= hello_session;
            refused_reg <= !hello_contract;
            hello_due_reg <= settled;
            settling_reg <= !settled;
            // Asked already, nothing has gone to the device since.
            ask_reg <= !settled && !asked && !asked_reg;
        end
        if (rst) begin
            open_reg <= 1'b0;
            hello_due_reg <= 1'b0;
            settling_reg <= 1'b0;
            ask_reg <= 1'b0;
            asked_reg <= 1'b0;
        end
    end

    // --- From the channel to the device ----------------------------------------------------------------------------------

    wire       plain_valid, end_valid, end_good;
    wire [7:0] plain_data;
    wire       ack_valid, ack_again, ack_fits, told, freed, again;
    wire [6:0] ack, expected;
    wire [7:0] ack_credit, credit, packet_data;
    wire [LG_RECEIVE-1:0] end_place, oldest, read_place;
    wire       deliver_busy;

    ferry_frame_decode decode (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_data(in_data), .in_ready(in_ready), .plain_valid(plain_valid),
        .plain_data(plain_data), .end_valid(end_valid), .end_good(end_good)
    );

    ferry_frame_receive #(.LG_BYTES(LG_RECEIVE)) receive (
        .clk(clk), .rst(rst), .plain_valid(plain_valid), .plain_data(plain_data), .end_valid(end_valid), .end_good(end_good),
        .open(open_reg), .session(session_reg), .hello_valid(hello_valid), .hello_session(hello_session), .hello_same(hello_same),
        .hello_contract(hello_contract), .ack_valid(ack_valid), .ack(ack), .ack_credit(ack_credit), .ack_again(ack_again),
        .ack_fits(ack_fits), .expected(expected), .credit(credit), .tell(told), .again(again), .end_place(end_place),
        .oldest(oldest), .read_place(read_place), .read_data(packet_data)
    );

    ferry_frame_deliver #(.LG_BYTES(LG_RECEIVE)) deliver (
        .clk(clk), .rst(rst), .end_place(end_place), .oldest(oldest), .read_place(read_place), .read_data(packet_data),
        .freed(freed), .ask(ask_reg), .asked(asked), .tlp_tdata(m_axis_tlp_tdata), .tlp_tlast(m_axis_tlp_tlast),
        .tlp_tvalid(m_axis_tlp_tvalid), .tlp_tready(m_axis_tlp_tready), .request_ok(m_axis_tlp_request_ok), .busy(deliver_busy)
    );

    // --- From the device to the channel ----------------------------------------------------------------------------------

    wire       number_free, push_valid, push_ready, commit, discard, collect_busy;
    wire [7:0] push_data, mark;
    wire       frame_valid, frame_last, frame_zero, frame_ready, send_busy, encode_busy;
    wire [7:0] frame_data;

    ferry_frame_collect collect (
        .clk(clk), .rst(rst), .open(open_reg), .number_free(number_free), .tlp_tdata(s_axis_tlp_tdata),
        .tlp_tlast(s_axis_tlp_tlast), .tlp_tvalid(s_axis_tlp_tvalid), .tlp_tready(s_axis_tlp_tready), .push_valid(push_valid),
        .push_data(push_data), .push_ready(push_ready), .commit(commit), .mark(mark), .discard(discard), .settled(settled),
        .busy(collect_busy)
    );

    ferry_frame_send #(.LG_BYTES(LG_SEND), .RESEND_CLOCKS(RESEND_CLOCKS), .BYTE_CLOCKS(BYTE_CLOCKS), .NAME(NAME)) send (
        .clk(clk), .rst(rst), .open(open_reg), .session(session_reg[7:0]), .hello_due(hello_due_reg), .refused(refused_reg),
        .hello_begins(hello_begins), .hello_goes(hello_goes), .session_turn(session_turn), .hello_taken(hello_new),
        .ack_valid(ack_valid), .ack(ack), .ack_credit(ack_credit), .ack_again(ack_again), .ack_fits(ack_fits),
        .expected(expected), .credit(credit), .tell(told || freed), .again(again), .number_free(number_free),
        .push_valid(push_valid), .push_data(push_data), .push_ready(push_ready), .commit(commit), .mark(mark),
        .discard(discard), .out_valid(frame_valid), .out_data(frame_data), .out_last(frame_last), .out_zero(frame_zero),
        .out_ready(frame_ready), .busy(send_busy)
    );

    ferry_frame_encode encode (
        .clk(clk), .rst(rst), .in_valid(frame_valid), .in_data(frame_data), .in_last(frame_last), .in_zero(frame_zero),
        .in_ready(frame_ready), .out_valid(out_valid), .out_data(out_data), .out_ready(out_ready), .busy(encode_busy)
    );

    assign busy = deliver_busy || collect_busy || send_busy || encode_busy || settling_reg;
endmodule

`default_nettype wire
