// SPDX-License-Identifier: Apache-2.0
// The device's way to host memory: an AXI4 slave whose reads become memory read requests with many tags outstanding and
// whose writes become posted memory writes. Read data returns in request order; the two directions do not wait for each
// other. Beside it a second port reads up to 64 bytes at a time, and stays behind no data of the first.
`default_nettype none

module ferry_requester #(
    // log2 of the read requests that may be outstanding.
    parameter LG_TAGS = 5,
    // Width of the AXI ids.
    parameter ID_WIDTH = 2,
    // 1: the second port is there, with one of the tags.
    parameter [0:0] LINES = 1
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Configuration space.
    input  wire        bus_master,
    // Nothing more is sent that has not begun: writes count as sent, reads end as if timed out.
    input  wire        discard,
    input  wire        max_payload,
    input  wire [1:0]  max_read,
    input  wire        no_snoop_enable,
    input  wire [15:0] requester_id,
    // COMPLETION_TIMEOUT and TAG_LIMIT.
    input  wire [31:0] completion_timeout,
    input  wire [7:0]  tag_limit,
    // A read request is outstanding.
    output wire        busy,
    // No request is in front of the link or under way.
    output wire        idle,

    // AXI4 slave; INCR bursts of 8-byte beats, addresses in units of 8 bytes.
    input  wire [ID_WIDTH-1:0] s_axi_arid,
    input  wire [63:3]         s_axi_araddr,
    input  wire [7:0]          s_axi_arlen,
    input  wire                s_axi_arnosnoop,
    input  wire                s_axi_arvalid,
    output wire                s_axi_arready,
    output wire [ID_WIDTH-1:0] s_axi_rid,
    output wire [63:0]         s_axi_rdata,
    output wire [1:0]          s_axi_rresp,
    output wire [7:0]          s_axi_rfault,
    output wire                s_axi_rlast,
    output wire                s_axi_rvalid,
    input  wire                s_axi_rready,
    input  wire [ID_WIDTH-1:0] s_axi_awid,
    input  wire [63:3]         s_axi_awaddr,
    input  wire                s_axi_awnosnoop,
    input  wire [7:0]          s_axi_awtag,
    input  wire                s_axi_awvalid,
    output wire                s_axi_awready,
    input  wire [63:0]         s_axi_wdata,
    input  wire [7:0]          s_axi_wstrb,
    input  wire                s_axi_wlast,
    input  wire                s_axi_wvalid,
    output wire                s_axi_wready,
    output wire [ID_WIDTH-1:0] s_axi_bid,
    output wire                s_axi_bvalid,
    input  wire                s_axi_bready,

    // The second port, AXI4 read channels: bursts of 1 to 8 beats inside 64 bytes.
    input  wire [63:3]         s_axi_line_araddr,
    input  wire [2:0]          s_axi_line_arlen,
    input  wire                s_axi_line_arnosnoop,
    input  wire                s_axi_line_arvalid,
    output wire                s_axi_line_arready,
    output wire [63:0]         s_axi_line_rdata,
    output wire [1:0]          s_axi_line_rresp,
    output wire                s_axi_line_rlast,
    output wire                s_axi_line_rvalid,
    input  wire                s_axi_line_rready,

    // Completions from ferry_tlp_receive.
    input  wire        completion_valid,
    input  wire        completion_write,
    input  wire [63:0] completion_data,
    input  wire        completion_last,
    input  wire        completion_good,
    input  wire [7:0]  completion_tag,
    input  wire [15:0] completion_requester,
    input  wire [2:0]  completion_status,
    input  wire [11:0] completion_bytes,
    input  wire [9:0]  completion_words,
    input  wire        completion_has_data,
    input  wire        completion_poisoned,
    // One-cycle strobes: a completion that nothing waits for was dropped; how read requests ended otherwise than well.
    output wire        count_unexpected,
    output wire        got_unsupported,
    output wire        got_abort,
    output wire        got_timeout,

    // Interrupt message.
    input  wire        message_allowed,
    input  wire        message_valid,
    input  wire [63:2] message_address,
    input  wire [15:0] message_data,
    output wire        message_taken,
    output wire        message_back,

    // Packets to ferry_transmit, which says what they are: posted writes and read requests.
    output wire        write_packet_valid,
    input  wire        write_packet_begun,
    input  wire        write_packet_taken,
    input  wire        write_packet_done,
    output wire [63:2] write_packet_address,
    output wire [6:0]  write_packet_words,
    output wire        write_packet_odd,
    output wire [3:0]  write_packet_first_enable,
    output wire [3:0]  write_packet_last_enable,
    output wire [7:0]  write_packet_tag,
    output wire        write_packet_no_snoop,
    input  wire [4:0]  write_packet_index,
    output wire [63:0] write_packet_data,
    output wire        read_packet_valid,
    input  wire        read_packet_begun,
    input  wire        read_packet_done,
    output wire [63:3] read_packet_address,
    output wire [6:0]  read_packet_beats,
    output wire [7:0]  read_packet_tag,
    output wire        read_packet_no_snoop
);
    wire [LG_TAGS:0]    next_tag;
    wire [LG_TAGS:0]    oldest_tag;
    wire                take_late;
    wire                take_unsent;
    wire                take_valid;
    wire                take_ready;
    wire [6:0]          take_beats;
    wire                take_last;
    wire [ID_WIDTH-1:0] take_id;
    wire                write_valid;
    wire [LG_TAGS+5:0]  write_address;
    wire                take_mark;
    wire                oldest_mark;
    wire                oldest_waits;
    wire [1:0]          oldest_fault;

    wire                read_idle;
    wire                write_idle;

    // The second port's request, which is shown when it is there and the first's has not begun.
    wire                line_idle;
    wire                line_valid;
    wire [63:3]         line_address;
    wire [3:0]          line_beats;
    wire                line_no_snoop;
    wire                line_take;
    wire                line_ready;
    wire                line_mark;
    wire                line_held_mark;
    wire                line_late;
    wire                line_waits;
    wire [1:0]          line_fault;
    wire                bulk_valid;
    wire [63:3]         bulk_address;
    wire [6:0]          bulk_beats;
    wire [7:0]          bulk_tag;
    wire                bulk_no_snoop;
    reg                 line_reg;
    wire                line = read_packet_begun ? line_reg : line_valid;
    localparam [7:0]    LINE_TAG = (1 << LG_TAGS) - 1;

    assign busy = next_tag != oldest_tag || !line_idle;
    assign idle = !busy && read_idle && write_idle;
    assign read_packet_valid = line_valid || bulk_valid;
    assign read_packet_address = line ? line_address : bulk_address;
    assign read_packet_beats = line ? {3'd0, line_beats} : bulk_beats;
    assign read_packet_tag = line ? LINE_TAG : bulk_tag;
    assign read_packet_no_snoop = line ? line_no_snoop : bulk_no_snoop;

    always @(posedge clk) line_reg <= line;

    generate if (LINES) begin : lines

    ferry_requester_line read_lines (
        .clk(clk),
        .rst(rst),
        .bus_master(bus_master),
        .no_snoop_enable(no_snoop_enable),
        .discard(discard),
        .idle(line_idle),
        .s_axi_araddr(s_axi_line_araddr),
        .s_axi_arlen(s_axi_line_arlen),
        .s_axi_arnosnoop(s_axi_line_arnosnoop),
        .s_axi_arvalid(s_axi_line_arvalid),
        .s_axi_arready(s_axi_line_arready),
        .s_axi_rdata(s_axi_line_rdata),
        .s_axi_rresp(s_axi_line_rresp),
        .s_axi_rlast(s_axi_line_rlast),
        .s_axi_rvalid(s_axi_line_rvalid),
        .s_axi_rready(s_axi_line_rready),
        .packet_valid(line_valid),
        .packet_begun(read_packet_begun && line_reg),
        .packet_done(read_packet_done && line_reg),
        .packet_address(line_address),
        .packet_beats(line_beats),
        .packet_no_snoop(line_no_snoop),
        .take_valid(line_take),
        .take_ready(line_ready),
        .take_mark(line_mark),
        .mark(line_held_mark),
        .late(line_late),
        .waits(line_waits),
        .fault(line_fault),
        .write_valid(write_valid && write_address[LG_TAGS+5:6] == {LG_TAGS{1'b1}}),
        .write_place(write_address[2:0]),
        .write_data(completion_data)
    );

    end else begin : no_lines

    assign {line_valid, line_address, line_beats, line_no_snoop, line_take, line_held_mark} = 0;
    assign {s_axi_line_arready, s_axi_line_rdata, s_axi_line_rresp, s_axi_line_rlast, s_axi_line_rvalid} = 0;
    assign line_idle = 1'b1;
    wire unused = &{1'b0, line_ready, line_mark, line_late, line_waits, line_fault, s_axi_line_araddr, s_axi_line_arlen,
        s_axi_line_arnosnoop, s_axi_line_arvalid, s_axi_line_rready};

    end endgenerate

    ferry_requester_read #(.LG_TAGS(LG_TAGS), .ID_WIDTH(ID_WIDTH), .LINES(LINES)) read (
        .clk(clk),
        .rst(rst),
        .bus_master(bus_master),
        .max_read(max_read),
        .no_snoop_enable(no_snoop_enable),
        .discard(discard),
        .idle(read_idle),
        .tag_limit(tag_limit),
        .s_axi_arid(s_axi_arid),
        .s_axi_araddr(s_axi_araddr),
        .s_axi_arlen(s_axi_arlen),
        .s_axi_arnosnoop(s_axi_arnosnoop),
        .s_axi_arvalid(s_axi_arvalid),
        .s_axi_arready(s_axi_arready),
        .next_tag(next_tag),
        .oldest_tag(oldest_tag),
        .next_tag_late(take_late),
        .take_valid(take_valid),
        .take_beats(take_beats),
        .take_unsent(take_unsent),
        .take_last(take_last),
        .take_id(take_id),
        .take_ready(take_ready),
        .packet_valid(bulk_valid),
        .packet_begun(read_packet_begun && !line_reg),
        .packet_done(read_packet_done && !line_reg),
        .packet_address(bulk_address),
        .packet_beats(bulk_beats),
        .packet_tag(bulk_tag),
        .packet_no_snoop(bulk_no_snoop)
    );

    ferry_tag_table #(.LG_TAGS(LG_TAGS)) tags (
        .clk(clk),
        .rst(rst),
        .completion_timeout(completion_timeout),
        .abandon(discard),
        .requester_id(requester_id),
        .take_valid(take_valid),
        .take_tag(next_tag[LG_TAGS-1:0]),
        .take_beats(take_beats),
        .take_unsent(take_unsent),
        .take_ready(take_ready),
        .take_late(take_late),
        .take_mark(take_mark),
        .line_valid(line_take),
        .line_beats({3'd0, line_beats}),
        .line_ready(line_ready),
        .line_late(line_late),
        .line_mark(line_mark),
        .line_held_mark(line_held_mark),
        .line_waits(line_waits),
        .line_fault(line_fault),
        .completion_valid(completion_valid),
        .completion_write(completion_write),
        .completion_last(completion_last),
        .completion_good(completion_good),
        .completion_tag(completion_tag),
        .completion_requester(completion_requester),
        .completion_status(completion_status),
        .completion_bytes(completion_bytes),
        .completion_words(completion_words),
        .completion_has_data(completion_has_data),
        .completion_poisoned(completion_poisoned),
        .write_valid(write_valid),
        .write_address(write_address),
        .oldest_tag(oldest_tag[LG_TAGS-1:0]),
        .oldest_mark(oldest_mark),
        .oldest_waits(oldest_waits),
        .oldest_fault(oldest_fault),
        .count_unexpected(count_unexpected),
        .got_unsupported(got_unsupported),
        .got_abort(got_abort),
        .got_timeout(got_timeout)
    );

    ferry_reorder #(.LG_TAGS(LG_TAGS), .ID_WIDTH(ID_WIDTH)) reorder (
        .clk(clk),
        .rst(rst),
        .take(take_valid && take_ready),
        .next_tag(next_tag),
        .take_beats(take_beats),
        .take_last(take_last),
        .take_id(take_id),
        .take_mark(take_mark),
        .write_valid(write_valid),
        .write_address(write_address),
        .write_data(completion_data),
        .oldest_tag(oldest_tag),
        .oldest_mark(oldest_mark),
        .oldest_waits(oldest_waits),
        // Whatever is known of a tag, while packets are discarded no data counts.
        .oldest_fault(oldest_fault | {2{discard}}),
        .s_axi_rid(s_axi_rid),
        .s_axi_rdata(s_axi_rdata),
        .s_axi_rresp(s_axi_rresp),
        .s_axi_rfault(s_axi_rfault),
        .s_axi_rlast(s_axi_rlast),
        .s_axi_rvalid(s_axi_rvalid),
        .s_axi_rready(s_axi_rready)
    );

    ferry_requester_write #(.ID_WIDTH(ID_WIDTH)) write (
        .clk(clk),
        .rst(rst),
        .bus_master(bus_master),
        .max_payload(max_payload),
        .no_snoop_enable(no_snoop_enable),
        .discard(discard),
        .idle(write_idle),
        .s_axi_awid(s_axi_awid),
        .s_axi_awaddr(s_axi_awaddr),
        .s_axi_awnosnoop(s_axi_awnosnoop),
        .s_axi_awtag(s_axi_awtag),
        .s_axi_awvalid(s_axi_awvalid),
        .s_axi_awready(s_axi_awready),
        .s_axi_wdata(s_axi_wdata),
        .s_axi_wstrb(s_axi_wstrb),
        .s_axi_wlast(s_axi_wlast),
        .s_axi_wvalid(s_axi_wvalid),
        .s_axi_wready(s_axi_wready),
        .s_axi_bid(s_axi_bid),
        .s_axi_bvalid(s_axi_bvalid),
        .s_axi_bready(s_axi_bready),
        .message_allowed(message_allowed),
        .message_valid(message_valid),
        .message_address(message_address),
        .message_data(message_data),
        .message_taken(message_taken),
        .message_back(message_back),
        .packet_valid(write_packet_valid),
        .packet_begun(write_packet_begun),
        .packet_taken(write_packet_taken),
        .packet_done(write_packet_done),
        .packet_address(write_packet_address),
        .packet_words(write_packet_words),
        .packet_odd(write_packet_odd),
        .packet_first_enable(write_packet_first_enable),
        .packet_last_enable(write_packet_last_enable),
        .packet_tag(write_packet_tag),
        .packet_no_snoop(write_packet_no_snoop),
        .packet_index(write_packet_index),
        .packet_data(write_packet_data)
    );
endmodule

`default_nettype wire
