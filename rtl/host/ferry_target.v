// SPDX-License-Identifier: Apache-2.0
// What the host asks of the device. Writes and requests that want an answer wait in one buffer, and writes are carried out
// in order; a request that wants an answer leaves it once every write before it is done, for a queue of its own, the only
// place that depends on what leaves. They go to configuration space, registers (BAR0) or local
// memory (BAR2), in its upper half by way of the ranges of tiles that are shown there as rows.
`default_nettype none
`include "ferry_contract.vh"

module ferry_target #(
    // log2 of the bytes of local memory. BAR2 is twice as large.
    parameter LOCAL_ADDRESS_BITS = 26,
    // BAR2's upper half shows tiles as rows (ferry_view).
    parameter [0:0] VIEWS = 1,
    // log2 of the beats of requests that are buffered in front of what carries them out.
    parameter REQUEST_BEATS_LOG2 = 9,
    // log2 of the requests that want an answer which are taken in before the first of them has been answered; at least 2.
    parameter REQUESTS_LOG2 = 3
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Requests from ferry_tlp_receive, a beat at a time: {last, 64 bits}; commit makes the packet count, discard drops it.
    input  wire        push_valid,
    input  wire [64:0] push_beat,
    input  wire        push_commit,
    input  wire        push_discard,
    output wire        push_ready,
    // The packet that is committed wants an answer; one of these has begun at the port and is not here yet. There is room for
    // one more; for two that have not begun.
    input  wire        push_request,
    input  wire        request_coming,
    output wire        request_room,
    output wire        request_ok,

    // Configuration space: read data comes in the cycle after the address.
    output wire [11:0] config_address,
    input  wire [31:0] config_rdata,
    output wire        config_write,
    output wire [31:0] config_wdata,
    output wire [3:0]  config_wstrb,
    output wire [15:0] config_target,
    input  wire [31:16] bar0_base,
    input  wire [63:LOCAL_ADDRESS_BITS+1] bar2_base,
    input  wire        memory_enable,
    input  wire        max_payload,
    // What BAR2 may reach of local memory.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,
    // What its upper half shows.
    input  wire [`FERRY_VIEW_WRITE_BITS-1:0] view_write,

    // Register bus, BAR0; see ferry_host.
    output wire        reg_valid,
    output wire        reg_write,
    output wire [15:0] reg_address,
    output wire [31:0] reg_wdata,
    output wire [3:0]  reg_wstrb,
    input  wire        reg_ready,
    input  wire [31:0] reg_rdata,

    // Local memory, AXI4; see ferry_host.
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_local_ar,
    output wire        m_axi_local_arvalid,
    input  wire        m_axi_local_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_local_r,
    input  wire        m_axi_local_rvalid,
    output wire        m_axi_local_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_local_aw,
    output wire        m_axi_local_awvalid,
    input  wire        m_axi_local_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_local_w,
    output wire        m_axi_local_wvalid,
    input  wire        m_axi_local_wready,
    input  wire [1:0]  m_axi_local_bresp,
    input  wire        m_axi_local_bvalid,
    output wire        m_axi_local_bready,

    // A completion for ferry_transmit, which asks for its data by double words; see there.
    output wire        reply_valid,
    input  wire        reply_done,
    output wire [2:0]  reply_status,
    output wire [6:0]  reply_words,
    output wire [11:0] reply_bytes,
    output wire [6:0]  reply_lower,
    output wire        reply_locked,
    output wire [2:0]  reply_class,
    output wire [2:0]  reply_attributes,
    output wire [15:0] reply_requester,
    output wire [7:0]  reply_tag,
    input  wire [4:0]  reply_index,
    output wire [63:0] reply_data,

    // One-cycle strobes: a write or a request was not supported; a request was aborted; the window refused a write.
    output wire        write_unsupported,
    output wire        read_unsupported,
    output wire        read_aborted,
    output wire        window_refused,
    // Events for the counters.
    output wire        count_unsupported,
    output wire        count_window_refused
);
    localparam BAR2_BITS = LOCAL_ADDRESS_BITS + 1;

    // What is at the front of the buffer, and those of them that want an answer.
    wire        request_valid;
    wire [64:0] request_beat;
    wire        request_pop;
    wire        answer_push;
    wire [63:0] answer_push_beat;
    wire        answer_valid;
    wire [63:0] answer_beat;
    wire        answer_pop;
    wire        unused_answer_ready;
    reg         answer_half_reg;

    // Register bus: of the writes and of the reads.
    wire        write_reg_valid;
    wire [15:0] write_reg_address;
    wire        read_reg_valid;
    wire [15:0] read_reg_address;
    // A read has the bus and keeps it; writes go first, and each ends by itself.
    reg         reg_read_reg;
    wire        reg_read = read_reg_valid && (reg_read_reg || !write_reg_valid);

    // Both halves of BAR2.
    wire                 write_valid;
    wire [BAR2_BITS-1:2] write_address;
    wire [6:0]           write_words;
    wire                 write_ready;
    wire                 beat_valid;
    wire [63:0]          beat_data;
    wire [7:0]           beat_strobe;
    wire                 beat_last;
    wire                 beat_ready;
    wire                 read_valid;
    wire [BAR2_BITS-1:2] read_address;
    wire [6:0]           read_words;
    wire                 read_ready;
    wire [4:0]           data_index;
    wire                 read_done;
    wire [2:0]           read_status;
    // Window: the lower one.
    wire                 window_write_valid;
    wire [BAR2_BITS-2:2] window_write_address;
    wire [6:0]           window_write_words;
    wire                 window_write_ready;
    wire                 window_beat_valid;
    wire                 window_beat_last;
    wire                 window_beat_ready;
    wire                 window_write_idle;
    wire                 window_read_valid;
    wire [BAR2_BITS-2:2] window_read_address;
    wire [6:0]           window_read_words;
    wire                 window_read_ready;
    wire                 window_data_valid;
    wire [4:0]           window_data_index;
    wire [63:0]          window_data;
    wire                 window_read_done;
    wire [2:0]           window_read_status;
    wire                 window_refuses;
    wire                 route_unsupported;
    wire                 view_unsupported;
    // Between the window and what stands in front of memory.
    wire [LOCAL_ADDRESS_BITS-1:0] window_axi_address;
    wire [7:0]           window_axi_length;
    wire                 window_arvalid;
    wire                 window_arready;
    wire [63:0]          window_rdata;
    wire [1:0]           window_rresp;
    wire                 window_rlast;
    wire                 window_rvalid;
    wire                 window_awvalid;
    wire                 window_awready;
    wire [63:0]          window_wdata;
    wire [7:0]           window_wstrb;
    wire                 window_wlast;
    wire                 window_wvalid;
    wire                 window_wready;
    wire [1:0]           window_bresp;
    wire                 window_bvalid;
    wire [LOCAL_ADDRESS_BITS-1:0] axi_address;
    wire [7:0]           axi_length;

    // Data of a completion.
    wire [1:0]  reply_write_valid;
    wire [4:0]  reply_write_index;
    wire [63:0] reply_write_data;

    // Each stands for a packet of its own; two in one cycle would count once, so one of them waits for the next cycle. Memory has at
    // most seven answers for the window, and in as many cycles it refuses no more than two writes.
    reg        read_unsupported_reg;
    reg  [1:0] refused_reg;
    wire       write_failed = window_bvalid && window_bresp != 2'b00;
    assign count_unsupported = write_unsupported || read_unsupported_reg;
    assign count_window_refused = write_failed || refused_reg != 2'd0;

    wire unused_inputs = &{1'b0, m_axi_local_r};

    assign reg_valid = write_reg_valid || read_reg_valid;
    assign reg_write = !reg_read;
    assign reg_address = reg_read ? read_reg_address : write_reg_address;

    assign m_axi_local_ar[`FERRY_AXI_A_ADDRESS_RANGE] = {{(64-LOCAL_ADDRESS_BITS){1'b0}}, axi_address};
    assign m_axi_local_ar[`FERRY_AXI_A_LENGTH_RANGE] = axi_length;
    assign m_axi_local_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
    assign m_axi_local_ar[`FERRY_AXI_A_TAG_RANGE] = 8'hff;
    assign m_axi_local_aw = m_axi_local_ar;
    assign m_axi_local_rready = 1'b1;
    assign m_axi_local_bready = 1'b1;

    always @(posedge clk) begin
        reg_read_reg <= reg_read && !reg_ready;
        answer_half_reg <= answer_half_reg ^ (answer_valid && answer_pop);
        read_unsupported_reg <= read_unsupported || (read_unsupported_reg && write_unsupported);
        refused_reg <= refused_reg + {1'b0, window_refused} - {1'b0, refused_reg != 2'd0 && !write_failed};
        if (rst) begin
            reg_read_reg <= 1'b0;
            answer_half_reg <= 1'b0;
            read_unsupported_reg <= 1'b0;
            refused_reg <= 2'd0;
        end
    end

    ferry_packet_fifo #(.LG_DEPTH(REQUEST_BEATS_LOG2)) requests (
        .clk(clk), .rst(rst), .push_valid(push_valid), .push_beat(push_beat), .push_commit(push_commit),
        .push_discard(push_discard), .push_ready(push_ready), .pop_valid(request_valid), .pop_beat(request_beat),
        .pop(request_pop)
    );

    assign write_unsupported = route_unsupported || view_unsupported;

    ferry_posted #(.BAR2_BITS(BAR2_BITS), .VIEWS(VIEWS)) posted (
        .clk(clk), .rst(rst), .request_valid(request_valid), .request_beat(request_beat), .request_pop(request_pop),
        .answer_valid(answer_push), .answer_beat(answer_push_beat), .bar0_base(bar0_base), .bar2_base(bar2_base),
        .memory_enable(memory_enable), .reg_valid(write_reg_valid), .reg_address(write_reg_address),
        .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready && !reg_read),
        .window_valid(write_valid), .window_address(write_address), .window_words(write_words),
        .window_ready(write_ready), .window_beat_valid(beat_valid), .window_beat_data(beat_data),
        .window_beat_strobe(beat_strobe), .window_beat_last(beat_last),
        .window_beat_ready(beat_ready), .window_idle(window_write_idle), .count_unsupported(route_unsupported)
    );

    // From their commit until the completer has taken them.
    ferry_request_room #(.REQUESTS_LOG2(REQUESTS_LOG2)) waiting (
        .clk(clk), .rst(rst), .coming(request_coming), .entered(push_commit && push_request),
        .left(answer_valid && answer_pop && answer_half_reg), .room(request_room), .ok(request_ok)
    );

    // Two beats each, and never full: the receiver lets in no more than fit.
    ferry_fifo #(.WIDTH(64), .LG_DEPTH(REQUESTS_LOG2 + 1)) answers (
        .clk(clk), .rst(rst), .in_valid(answer_push), .in_ready(unused_answer_ready), .in_data(answer_push_beat),
        .out_valid(answer_valid), .out_ready(answer_pop), .out_data(answer_beat)
    );

    ferry_completer #(.BAR2_BITS(BAR2_BITS), .VIEWS(VIEWS)) completer (
        .clk(clk), .rst(rst), .request_valid(answer_valid), .request_beat(answer_beat), .request_pop(answer_pop),
        .config_address(config_address), .config_rdata(config_rdata), .config_write(config_write),
        .config_wdata(config_wdata), .config_wstrb(config_wstrb), .config_target(config_target), .bar0_base(bar0_base),
        .bar2_base(bar2_base), .memory_enable(memory_enable), .max_payload(max_payload), .reg_valid(read_reg_valid),
        .reg_address(read_reg_address), .reg_ready(reg_ready && reg_read), .reg_rdata(reg_rdata),
        .window_valid(read_valid), .window_address(read_address), .window_words(read_words),
        .window_ready(read_ready), .window_read_valid(window_data_valid), .window_read_index(data_index),
        .window_read_data(window_data), .window_read_done(read_done), .window_read_status(read_status),
        .write_valid(reply_write_valid), .write_index(reply_write_index), .write_data(reply_write_data),
        .send_valid(reply_valid), .send_done(reply_done), .send_status(reply_status), .send_words(reply_words),
        .send_bytes(reply_bytes), .send_lower(reply_lower), .send_locked(reply_locked), .send_class(reply_class),
        .send_attributes(reply_attributes), .send_requester(reply_requester), .send_tag(reply_tag),
        .count_unsupported(read_unsupported), .count_abort(read_aborted)
    );

    ferry_completion completion (
        .clk(clk), .write_valid(reply_write_valid), .write_index(reply_write_index), .write_data(reply_write_data),
        .read_index(reply_index), .read_data(reply_data)
    );

    ferry_view #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .VIEWS(VIEWS)) view (
        .clk(clk), .rst(rst), .set(view_write), .write_valid(write_valid), .write_address(write_address), .write_words(write_words),
        .write_ready(write_ready), .beat_valid(beat_valid), .beat_last(beat_last), .beat_ready(beat_ready),
        .read_valid(read_valid), .read_address(read_address), .read_words(read_words), .read_ready(read_ready),
        .data_index(data_index), .read_done(read_done), .read_status(read_status), .window_write_valid(window_write_valid),
        .window_write_address(window_write_address), .window_write_words(window_write_words),
        .window_write_ready(window_write_ready), .window_beat_valid(window_beat_valid), .window_beat_last(window_beat_last),
        .window_beat_ready(window_beat_ready), .window_read_valid(window_read_valid),
        .window_read_address(window_read_address), .window_read_words(window_read_words), .window_read_ready(window_read_ready),
        .window_data_valid(window_data_valid), .window_data_index(window_data_index), .window_read_done(window_read_done),
        .window_read_status(window_read_status), .window_refused(window_refuses), .write_unsupported(view_unsupported),
        .count_refused(window_refused)
    );

    ferry_window #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) window (
        .clk(clk), .rst(rst), .write_valid(window_write_valid), .write_address(window_write_address),
        .write_words(window_write_words), .write_ready(window_write_ready), .beat_valid(window_beat_valid),
        .beat_data(beat_data), .beat_strobe(beat_strobe), .beat_last(window_beat_last),
        .beat_ready(window_beat_ready), .write_idle(window_write_idle), .read_valid(window_read_valid),
        .read_address(window_read_address), .read_words(window_read_words), .read_ready(window_read_ready),
        .data_valid(window_data_valid), .data_index(window_data_index), .data(window_data),
        .read_done(window_read_done), .read_status(window_read_status),
        .local_limit(limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE]), .protect_base(limits[`FERRY_LIMITS_PROTECT_BASE_RANGE]),
        .protect_limit(limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE]), .axi_address(window_axi_address),
        .axi_length(window_axi_length), .axi_arvalid(window_arvalid), .axi_arready(window_arready),
        .axi_rdata(window_rdata), .axi_rresp(window_rresp), .axi_rlast(window_rlast), .axi_rvalid(window_rvalid),
        .axi_awvalid(window_awvalid), .axi_awready(window_awready), .axi_wdata(window_wdata), .axi_wstrb(window_wstrb),
        .axi_wlast(window_wlast), .axi_wvalid(window_wvalid), .axi_wready(window_wready), .axi_bvalid(window_bvalid),
        .count_refused(window_refuses)
    );

    ferry_lost_window #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) lost_window (
        .clk(clk), .rst(rst), .s_axi_address(window_axi_address), .s_axi_length(window_axi_length),
        .s_axi_arvalid(window_arvalid), .s_axi_arready(window_arready), .s_axi_rdata(window_rdata),
        .s_axi_rresp(window_rresp), .s_axi_rlast(window_rlast), .s_axi_rvalid(window_rvalid),
        .s_axi_awvalid(window_awvalid), .s_axi_awready(window_awready), .s_axi_wdata(window_wdata),
        .s_axi_wstrb(window_wstrb), .s_axi_wlast(window_wlast), .s_axi_wvalid(window_wvalid),
        .s_axi_wready(window_wready), .s_axi_bresp(window_bresp), .s_axi_bvalid(window_bvalid),
        .m_axi_address(axi_address), .m_axi_length(axi_length), .m_axi_arvalid(m_axi_local_arvalid),
        .m_axi_arready(m_axi_local_arready), .m_axi_rdata(m_axi_local_r[`FERRY_AXI_R_DATA_RANGE]),
        .m_axi_rresp(m_axi_local_r[`FERRY_AXI_R_RESPONSE_RANGE]), .m_axi_rlast(m_axi_local_r[`FERRY_AXI_R_LAST_RANGE]),
        .m_axi_rvalid(m_axi_local_rvalid), .m_axi_awvalid(m_axi_local_awvalid), .m_axi_awready(m_axi_local_awready),
        .m_axi_wdata(m_axi_local_w[`FERRY_AXI_W_DATA_RANGE]), .m_axi_wstrb(m_axi_local_w[`FERRY_AXI_W_STROBE_RANGE]),
        .m_axi_wlast(m_axi_local_w[`FERRY_AXI_W_LAST_RANGE]), .m_axi_wvalid(m_axi_local_wvalid),
        .m_axi_wready(m_axi_local_wready), .m_axi_bresp(m_axi_local_bresp), .m_axi_bvalid(m_axi_local_bvalid)
    );
endmodule

`default_nettype wire
