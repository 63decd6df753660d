// SPDX-License-Identifier: Apache-2.0
// Chooses which packet leaves next and sends it, whole and without idle beats inside or between packets. Posted requests
// (writes and messages), requests that want an answer (reads) and completions each need room at the far end of the link
// (PCI Express base specification 2.6); a packet that has none is passed by packets of the other kinds, so a read that
// waits never holds a completion or a write (2.4.1).
//
// What is done to host memory gets its response (B) here, with a write's last beat. So what this device makes known
// because of a response, a register or a record, leaves behind the write it speaks of: order needs no queue.
`default_nettype none

module ferry_transmit (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Bus, device and function number of this device.
    input  wire [15:0] device_id,

    // Completion: stable until done, a pulse with its last beat. Fields as in ferry_completer.
    input  wire        completion_valid,
    output wire        completion_done,
    input  wire [2:0]  completion_status,
    input  wire [6:0]  completion_words,
    input  wire [11:0] completion_bytes,
    input  wire [6:0]  completion_lower,
    input  wire        completion_locked,
    input  wire [2:0]  completion_class,
    input  wire [2:0]  completion_attributes,
    input  wire [15:0] completion_requester,
    input  wire [7:0]  completion_tag,
    input  wire [63:0] completion_data,

    // Posted write: stable until taken, when the header has left; done comes with its last beat. A write and a read request
    // that have not begun may be withdrawn.
    input  wire        write_valid,
    output wire        write_begun,
    output wire        write_taken,
    output wire        write_done,
    input  wire [63:2] write_address,
    input  wire [6:0]  write_words,
    // The first payload word stands in the upper half of beat 0.
    input  wire        write_odd,
    input  wire [3:0]  write_first_enable,
    input  wire [3:0]  write_last_enable,
    input  wire [7:0]  write_tag,
    input  wire        write_no_snoop,
    input  wire [63:0] write_data,

    // Read request for whole beats: stable until done.
    input  wire        read_valid,
    output wire        read_begun,
    output wire        read_done,
    input  wire [63:3] read_address,
    input  wire [6:0]  read_beats,
    input  wire [7:0]  read_tag,
    input  wire        read_no_snoop,

    // Error message to the root: stable until done. Code of the message (2.2.8.3).
    input  wire        message_valid,
    output wire        message_done,
    input  wire [7:0]  message_code,

    // Beat of the packet's data that must stand on its source's data input in the next cycle.
    output wire [4:0]  data_index,

    // The far end has room for a posted request, for a request that wants an answer, for a completion, each of the
    // largest size. Looked at when a packet is chosen; a packet whose first beat was taken in an earlier cycle counts
    // as having used its room.
    input  wire        room_posted,
    input  wire        room_request,
    input  wire        room_completion,

    // Packet stream to the host.
    output wire [63:0] m_axis_tlp_tdata,
    output wire [1:0]  m_axis_tlp_tkeep,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,

    // One-cycle strobes for the counters.
    output wire        count_sent,
    output wire        count_beat,
    output wire        count_stall
);
    // Source of the packet that has begun; none between packets.
    reg [3:0]  grant_reg;
    // The last of writes and read requests that was served was a read request.
    reg        read_last_reg;
    reg        valid_reg;
    reg [65:0] beat_reg;

    localparam COMPLETION = 0;
    localparam WRITE = 1;
    localparam READ = 2;
    localparam MESSAGE = 3;

    // Completions go first: the host waits for them, and they are rare. Then messages, of which there is one an error.
    wire write_may = write_valid && room_posted;
    wire read_may = read_valid && room_request;
    wire [3:0] pick = completion_valid && room_completion ? 4'b0001 :
                      message_valid && room_posted ? 4'b1000 :
                      write_may && (read_last_reg || !read_may) ? 4'b0010 :
                      {1'b0, read_may, 2'b00};
    wire       begun = grant_reg != 4'd0;
    wire [3:0] grant = begun ? grant_reg : pick;
    wire       space = !valid_reg || m_axis_tlp_tready;
    wire       waiting = completion_valid || write_valid || read_valid || message_valid;

    // The first two words of the header, of the packet that is chosen now. What two kinds have in the same place is ORed from
    // their parts.
    wire        write_high = write_address[63:32] != 32'd0;
    wire        read_high = read_address[63:32] != 32'd0;
    wire        high = (grant[WRITE] && write_high) || (grant[READ] && read_high);
    wire        four = high || grant[MESSAGE];
    wire [6:0]  words = grant[COMPLETION] ? completion_words : grant[WRITE] ? write_words : 7'd0;
    wire        no_snoop = (grant[WRITE] && write_no_snoop) || (grant[READ] && read_no_snoop);
    wire [4:0]  kind = grant[COMPLETION] ? {4'b0101, completion_locked} : {grant[MESSAGE], 4'd0};
    wire [2:0]  traffic_class = completion_class & {3{grant[COMPLETION]}};
    wire [2:0]  attributes = grant[COMPLETION] ? completion_attributes : {2'd0, no_snoop};
    wire [7:0]  length = {1'b0, words} | ({read_beats, 1'b0} & {8{grant[READ]}});
    wire [7:0]  tag = (write_tag & {8{grant[WRITE]}}) | (read_tag & {8{grant[READ]}});
    wire [7:0]  enables = grant[WRITE] ? {write_last_enable, write_first_enable} :
                          grant[MESSAGE] ? message_code : 8'hff;
    wire [31:0] word0 = {1'b0, words != 7'd0, four, kind, 1'b0, traffic_class, 1'b0, attributes[2], 4'd0,
                         attributes[1:0], 4'd0, length};
    wire [31:0] word1 = {device_id, grant[COMPLETION] ? {completion_status, 1'b0, completion_bytes} : {tag, enables}};

    // The rest, of the packet that has begun: nothing of it waits for the choice.
    reg         high_reg;
    reg         four_reg;
    wire [63:0] address = {write_address & {62{grant_reg[WRITE]}}, 2'd0} | {read_address & {61{grant_reg[READ]}}, 3'd0};
    wire [31:0] word2 = grant_reg[COMPLETION] ? {completion_requester, completion_tag, 1'b0, completion_lower} :
                        high_reg ? address[63:32] : address[31:0];
    wire [6:0]  words_begun = grant_reg[COMPLETION] ? completion_words : grant_reg[WRITE] ? write_words : 7'd0;

    wire [63:0] beat_data;
    wire        beat_upper;
    wire        beat_last;
    wire        beat_valid;
    wire        packet_taken;
    wire        packet_done;
`ifdef FORMAL
    wire        f_first;
`endif

    ferry_tlp_emit emit (
        .clk(clk),
        .rst(rst),
        .packet_valid(grant != 4'd0),
        .packet_taken(packet_taken),
        .packet_done(packet_done),
        .packet_header({address[31:0], word2, word1, word0}),
        .packet_four(four_reg),
        .packet_words(words_begun),
        .packet_odd(grant_reg[COMPLETION] ? completion_lower[2] : write_odd),
        .read_index(data_index),
        .read_data(grant_reg[COMPLETION] ? completion_data : write_data),
        .tlp_data(beat_data),
        .tlp_upper(beat_upper),
        .tlp_last(beat_last),
        .tlp_valid(beat_valid),
        .tlp_ready(space)
`ifdef FORMAL
        , .formal_first(f_first)
`endif
    );

    assign completion_done = packet_done && grant_reg[COMPLETION];
    assign write_begun = grant_reg[WRITE];
    assign read_begun = grant_reg[READ];
    assign write_taken = packet_taken && grant_reg[WRITE];
    assign write_done = packet_done && grant_reg[WRITE];
    assign read_done = packet_done && grant_reg[READ];
    assign message_done = packet_done && grant_reg[MESSAGE];
    assign m_axis_tlp_tdata = beat_reg[63:0];
    assign m_axis_tlp_tlast = beat_reg[64];
    assign m_axis_tlp_tkeep = {beat_reg[65], 1'b1};
    assign m_axis_tlp_tvalid = valid_reg;
    assign count_beat = valid_reg && m_axis_tlp_tready;
    assign count_sent = count_beat && beat_reg[64];
    assign count_stall = (valid_reg && !m_axis_tlp_tready) || (waiting && grant == 4'd0);

    always @(posedge clk) begin
        if (space) begin
            valid_reg <= beat_valid;
            beat_reg <= {beat_upper, beat_last, beat_data};
            grant_reg <= packet_done ? 4'd0 : grant;
            if (!begun) begin
                high_reg <= high;
                four_reg <= four;
            end
            read_last_reg <= grant[READ] || (read_last_reg && !grant[WRITE]);
        end
        if (rst) begin
            grant_reg <= 4'd0;
            read_last_reg <= 1'b0;
            valid_reg <= 1'b0;
        end
    end

`ifdef FORMAL
`include "ferry_transmit_properties.vh"
`endif
endmodule

`default_nettype wire
