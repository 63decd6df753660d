// SPDX-License-Identifier: Apache-2.0
// Everything between the PCIe packet stream and the rest of the device: configuration space, what the host asks of the
// device (ferry_target), what the device asks of the host (requester), interrupt and error messages, and what puts their
// packets on the one transmit stream. What comes in parts here: completions go to the requester at once.
`default_nettype none
`include "ferry_contract.vh"

module ferry_host #(
    // Read requests to the host that may be outstanding; a power of two, 2 to 32. Each takes 512 bytes of reorder RAM.
    parameter TAGS = 32,
    // log2 of the bytes of local memory. BAR2 is twice as large: local memory below, above the same with tiles shown as rows.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Something is in the upper half.
    parameter [0:0] VIEWS = 1,
    // Width of the AXI ids on the host port.
    parameter ID_WIDTH = 2,
    // 1: page tables may be in the host's memory, and the port that reads them is there; it has one of the tags.
    parameter [0:0] HOST_TABLES = 1,
    // log2 of the beats of requests from the host that are buffered in front of what carries them out.
    parameter REQUEST_BEATS_LOG2 = 9,
    // log2 of the requests that want an answer which are taken in before the first of them has been answered; at least 2.
    parameter REQUESTS_LOG2 = 3
) (
    // Clock of everything.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Packets from the host: 64 bits, first header word in bits 31:0; tkeep has one bit a 32-bit word.
    input  wire [63:0] s_axis_tlp_tdata,
    input  wire [1:0]  s_axis_tlp_tkeep,
    input  wire        s_axis_tlp_tlast,
    input  wire        s_axis_tlp_tvalid,
    output wire        s_axis_tlp_tready,
    // Requests that want an answer (reads, configuration) may be offered. Once it falls there is room for two more of
    // them, so that one may be on its way; a third makes the stream wait at its first beat. While it is respected, tready
    // never waits for packets to the host: writes and completions always get in.
    output wire        s_axis_tlp_request_ok,
    // One of those has begun at the device's port and is not here yet.
    input  wire        s_axis_tlp_request_coming,
    // Packets to the host, same layout. tvalid never drops inside a packet.
    output wire [63:0] m_axis_tlp_tdata,
    output wire [1:0]  m_axis_tlp_tkeep,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,
    // The link has credits for a posted request, a request that wants an answer, a completion, each of the largest size
    // (256 bytes of data). A packet whose first beat was taken in an earlier cycle counts as having used its own.
    input  wire        m_axis_tlp_posted_ok,
    input  wire        m_axis_tlp_request_ok,
    input  wire        m_axis_tlp_completion_ok,

    // Register bus, BAR0: the request holds until reg_ready, a pulse of one cycle with the read data.
    output wire        reg_valid,
    output wire        reg_write,
    // Byte offset in BAR0, multiple of 4.
    output wire [15:0] reg_address,
    output wire [31:0] reg_wdata,
    // Byte enables of a write; may be zero only for reads.
    output wire [3:0]  reg_wstrb,
    input  wire        reg_ready,
    input  wire [31:0] reg_rdata,

    // Host port, AXI4 slave, INCR bursts of 8-byte beats; addresses are multiples of 8, no burst crosses 4 KiB.
    // Read data of all ids comes back in the order of the requests. no_snoop sets the No Snoop attribute when
    // configuration allows; fault of an error response is HOST_UNSUPPORTED, HOST_ABORT or COMPLETION_TIMEOUT.
    input  wire [ID_WIDTH-1:0] s_axi_host_arid,
    input  wire [`FERRY_AXI_A_BITS-1:0] s_axi_host_ar,
    input  wire                s_axi_host_arvalid,
    output wire                s_axi_host_arready,
    output wire [ID_WIDTH-1:0] s_axi_host_rid,
    output wire [`FERRY_AXI_R_BITS-1:0] s_axi_host_r,
    output wire                s_axi_host_rvalid,
    input  wire                s_axi_host_rready,
    input  wire [ID_WIDTH-1:0] s_axi_host_awid,
    input  wire [`FERRY_AXI_A_BITS-1:0] s_axi_host_aw,
    input  wire                s_axi_host_awvalid,
    output wire                s_axi_host_awready,
    // The strobes of a burst are one run of bytes; a beat without any is skipped.
    input  wire [`FERRY_AXI_W_BITS-1:0] s_axi_host_w,
    input  wire                s_axi_host_wvalid,
    output wire                s_axi_host_wready,
    // A response is given once the burst's last packet has entered the transmit stream; always OKAY (posted).
    output wire [ID_WIDTH-1:0] s_axi_host_bid,
    output wire [1:0]          s_axi_host_bresp,
    output wire                s_axi_host_bvalid,
    input  wire                s_axi_host_bready,

    // Page tables in the host's memory, AXI4 slave, read channels: bursts inside 64 bytes, answered in order, which stay behind
    // no data of the host port.
    input  wire [`FERRY_AXI_A_BITS-1:0] s_axi_tables_ar,
    input  wire                s_axi_tables_arvalid,
    output wire                s_axi_tables_arready,
    output wire [`FERRY_AXI_R_BITS-1:0] s_axi_tables_r,
    output wire                s_axi_tables_rvalid,
    input  wire                s_axi_tables_rready,

    // BAR2 window to local memory, AXI4 master, one burst of at most 33 beats a packet. Upper address bits are 0.
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_local_ar,
    output wire                m_axi_local_arvalid,
    input  wire                m_axi_local_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_local_r,
    input  wire                m_axi_local_rvalid,
    output wire                m_axi_local_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_local_aw,
    output wire                m_axi_local_awvalid,
    input  wire                m_axi_local_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_local_w,
    output wire                m_axi_local_wvalid,
    input  wire                m_axi_local_wready,
    input  wire [1:0]          m_axi_local_bresp,
    input  wire                m_axi_local_bvalid,
    output wire                m_axi_local_bready,

    // Contract registers that stand in ferry_registers.
    // What BAR2 may reach of local memory.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,
    // What BAR2 shows as rows, as it is set.
    input  wire [`FERRY_VIEW_WRITE_BITS-1:0] view_write,
    // COMPLETION_TIMEOUT in cycles, 0 = for ever.
    input  wire [31:0] completion_timeout,
    // TAG_LIMIT, 0 = all there are.
    input  wire [7:0]  tag_limit,

    // INTERRUPT_STATUS lives here (bits 7:0 ring, 8 fault, 9 halt). A one-cycle pulse sets a bit and counts as a cause.
    input  wire [9:0]  interrupt_cause,
    // One-cycle pulse clears a bit (a write of 1 to INTERRUPT_STATUS); a cause in the same cycle wins.
    input  wire [9:0]  interrupt_clear,
    // Value of INTERRUPT_STATUS.
    output wire [9:0]  interrupt_status,
    input  wire [`FERRY_INTERRUPT_SETTINGS_BITS-1:0] interrupt_settings,
    // INTERRUPT_COUNT.
    output wire [31:0] interrupt_count,

    // STATUS.requester: a read request to the host is outstanding.
    output wire        requester_busy,

    // Function level reset, ferry_function_reset: software asks for it (a pulse); it is going on; no burst of the host port
    // is under way.
    output wire        function_reset,
    input  wire        function_resetting,
    output wire        requester_idle,
    // Power state D3hot: nothing of the host port goes on, and nobody may take that for a fault.
    output wire        asleep,

    // Events for the counters, a bit each (FERRY_EVENT_*); those that are not the host side's stay 0.
    output wire [`FERRY_EVENTS_BITS-1:0] events
);
    localparam LG_TAGS = $clog2(TAGS);
    localparam BAR2_BITS = LOCAL_ADDRESS_BITS + 1;

    // Configuration space.
    wire [11:0]         config_address;
    wire [31:0]         config_rdata;
    wire                config_write;
    wire [31:0]         config_wdata;
    wire [3:0]          config_wstrb;
    wire [15:0]         config_target;
    wire [31:16]        bar0_base;
    wire [63:BAR2_BITS] bar2_base;
    wire                memory_enable;
    wire                bus_master;
    wire                max_payload;
    wire [1:0]          max_read;
    wire                timeout_disable;
    wire                no_snoop_enable;
    wire                msi_enable;
    wire [63:2]         msi_address;
    wire [15:0]         msi_data;
    wire                msi_mask;
    wire                msi_pending;
    wire [15:0]         device_id;
    wire                report_correctable;
    wire                report_nonfatal;
    wire                report_fatal;
    wire                report_unsupported;
    wire                parity_response;
    wire                system_error_enable;

    // Errors.
    wire                set_correctable;
    wire                set_nonfatal;
    wire                set_fatal;
    wire                set_unsupported;
    wire                set_detected_parity;
    wire                set_master_parity;
    wire                set_signaled_abort;
    wire                set_signaled_error;
    wire                poisoned_write;
    wire                message_unsupported;
    wire                poisoned_completion;
    wire                write_unsupported;
    wire                read_unsupported;
    wire                read_aborted;
    wire                window_refused;
    wire                got_unsupported;
    wire                got_abort;
    wire                got_timeout;
    wire                error_valid;
    wire [7:0]          error_code;
    wire                error_done;

    // Requests from the receiver.
    wire        push_valid;
    wire [64:0] push_beat;
    wire        push_commit;
    wire        push_discard;
    wire        push_ready;
    wire        push_request;
    wire        request_room;

    // Completions from the receiver to the requester.
    wire        completion_valid;
    wire        completion_write;
    wire [63:0] completion_data;
    wire        completion_last;
    wire        completion_good;
    wire [7:0]  completion_tag;
    wire [15:0] completion_requester;
    wire [2:0]  completion_status;
    wire [11:0] completion_bytes;
    wire [9:0]  completion_words;
    wire        completion_has_data;
    wire        completion_poisoned;

    // Completions to send.
    wire        reply_valid;
    wire        reply_done;
    wire [2:0]  reply_status;
    wire [6:0]  reply_words;
    wire [11:0] reply_bytes;
    wire [6:0]  reply_lower;
    wire        reply_locked;
    wire [2:0]  reply_class;
    wire [2:0]  reply_attributes;
    wire [15:0] reply_requester;
    wire [7:0]  reply_tag;
    wire [63:0] reply_data;
    // Writes and read requests to send.
    wire        write_valid;
    wire        write_begun;
    wire        write_taken;
    wire        write_done;
    wire [63:2] write_address;
    wire [6:0]  write_words;
    wire        write_odd;
    wire [3:0]  write_first_enable;
    wire [3:0]  write_last_enable;
    wire [7:0]  write_tag;
    wire        write_no_snoop;
    wire [63:0] write_data;
    wire        read_valid;
    wire        read_begun;
    wire        read_done;
    wire [63:3] read_address;
    wire [6:0]  read_beats;
    wire [7:0]  read_tag;
    wire        read_no_snoop;
    wire [4:0]  data_index;
    wire        message_valid;
    wire        message_taken;
    wire        message_allowed;
    wire        message_back;

    wire count_stall_link;
    wire count_tlp_received;
    wire count_tlp_sent;
    wire count_link_receive_beat;
    wire count_link_send_beat;
    wire count_malformed;
    wire count_poisoned;
    wire count_unexpected;
    wire count_unsupported;
    wire count_window_refused;
    localparam E = `FERRY_EVENTS_BITS;
    assign events = {{(E-1){1'b0}}, count_stall_link} << `FERRY_EVENT_STALL_LINK
        | {{(E-1){1'b0}}, count_tlp_received} << `FERRY_EVENT_TLP_RECEIVED
        | {{(E-1){1'b0}}, count_tlp_sent} << `FERRY_EVENT_TLP_SENT
        | {{(E-1){1'b0}}, count_link_receive_beat} << `FERRY_EVENT_LINK_RECEIVE_BEATS
        | {{(E-1){1'b0}}, count_link_send_beat} << `FERRY_EVENT_LINK_SEND_BEATS
        | {{(E-1){1'b0}}, count_unsupported} << `FERRY_EVENT_TLP_UNSUPPORTED
        | {{(E-1){1'b0}}, count_malformed} << `FERRY_EVENT_TLP_MALFORMED
        | {{(E-1){1'b0}}, count_poisoned} << `FERRY_EVENT_TLP_POISONED
        | {{(E-1){1'b0}}, count_unexpected} << `FERRY_EVENT_TLP_UNEXPECTED
        | {{(E-1){1'b0}}, count_window_refused} << `FERRY_EVENT_WINDOW_REFUSED;

    // Requests to the host.
    wire [63:0] host_araddr = s_axi_host_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    wire [63:0] host_awaddr = s_axi_host_aw[`FERRY_AXI_A_ADDRESS_RANGE];
    wire [63:0] tables_araddr = s_axi_tables_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    wire [7:0]  tables_arlen = s_axi_tables_ar[`FERRY_AXI_A_LENGTH_RANGE];
    // Posted writes cannot fail; a tag on a read has no meaning, and a write burst's end is its last beat. Of a table's read the
    // page-table unit says what was wrong.
    assign s_axi_host_bresp = 2'b00;
    assign s_axi_tables_r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    wire unused_inputs = &{1'b0, s_axi_host_ar, s_axi_host_aw, host_araddr[2:0], host_awaddr[2:0], s_axi_tables_ar, tables_araddr[2:0],
        tables_arlen[7:3]};

    ferry_config #(.BAR2_BITS(BAR2_BITS)) config_space (
        .clk(clk), .rst(rst), .config_address(config_address), .config_rdata(config_rdata), .config_write(config_write),
        .config_wdata(config_wdata), .config_wstrb(config_wstrb), .config_target(config_target),
        .set_correctable(set_correctable), .set_nonfatal(set_nonfatal), .set_fatal(set_fatal),
        .set_unsupported(set_unsupported), .set_detected_parity(set_detected_parity),
        .set_master_parity(set_master_parity), .set_signaled_abort(set_signaled_abort), .set_received_abort(got_abort),
        .set_received_unsupported(got_unsupported), .set_signaled_error(set_signaled_error),
        .report_correctable(report_correctable), .report_nonfatal(report_nonfatal), .report_fatal(report_fatal),
        .report_unsupported(report_unsupported), .parity_response(parity_response),
        .system_error_enable(system_error_enable), .requests_pending(requester_busy), .function_reset(function_reset),
        .bar0_base(bar0_base), .bar2_base(bar2_base), .memory_enable(memory_enable), .bus_master(bus_master),
        .asleep(asleep), .max_payload(max_payload), .max_read(max_read), .timeout_disable(timeout_disable),
        .no_snoop_enable(no_snoop_enable), .msi_enable(msi_enable), .msi_address(msi_address), .msi_data(msi_data),
        .msi_mask(msi_mask), .msi_pending(msi_pending), .completer_id(device_id)
    );

    ferry_errors errors (
        .clk(clk), .rst(rst || function_reset), .malformed(count_malformed), .poisoned(count_poisoned),
        .poisoned_write(poisoned_write), .poisoned_completion(poisoned_completion),
        .write_unsupported(write_unsupported || window_refused || message_unsupported), .request_unsupported(read_unsupported),
        .request_aborted(read_aborted), .unexpected(count_unexpected), .timed_out(got_timeout && !function_resetting),
        .report_correctable(report_correctable), .report_nonfatal(report_nonfatal), .report_fatal(report_fatal),
        .report_unsupported(report_unsupported), .parity_response(parity_response),
        .system_error_enable(system_error_enable), .set_correctable(set_correctable), .set_nonfatal(set_nonfatal),
        .set_fatal(set_fatal), .set_unsupported(set_unsupported), .set_detected_parity(set_detected_parity),
        .set_master_parity(set_master_parity), .set_signaled_abort(set_signaled_abort),
        .set_signaled_error(set_signaled_error), .message_valid(error_valid), .message_code(error_code),
        .message_done(error_done)
    );

    ferry_tlp_receive receive (
        .clk(clk), .rst(rst), .max_payload(max_payload), .s_axis_tlp_tdata(s_axis_tlp_tdata),
        .s_axis_tlp_tkeep(s_axis_tlp_tkeep), .s_axis_tlp_tlast(s_axis_tlp_tlast), .s_axis_tlp_tvalid(s_axis_tlp_tvalid),
        .s_axis_tlp_tready(s_axis_tlp_tready), .push_valid(push_valid), .push_beat(push_beat),
        .push_commit(push_commit), .push_discard(push_discard), .push_ready(push_ready), .push_request(push_request),
        .request_room(request_room), .completion_valid(completion_valid), .completion_write(completion_write),
        .completion_data(completion_data), .completion_last(completion_last), .completion_good(completion_good),
        .completion_tag(completion_tag), .completion_requester(completion_requester),
        .completion_status(completion_status), .completion_bytes(completion_bytes), .completion_words(completion_words),
        .completion_has_data(completion_has_data), .completion_poisoned(completion_poisoned),
        .count_received(count_tlp_received), .count_beat(count_link_receive_beat), .count_malformed(count_malformed),
        .count_poisoned(count_poisoned), .poisoned_write(poisoned_write), .poisoned_completion(poisoned_completion),
        .message_unsupported(message_unsupported)
    );

    ferry_target #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .VIEWS(VIEWS), .REQUEST_BEATS_LOG2(REQUEST_BEATS_LOG2), .REQUESTS_LOG2(REQUESTS_LOG2)
    ) target (
        .clk(clk), .rst(rst), .push_valid(push_valid), .push_beat(push_beat), .push_commit(push_commit),
        .push_discard(push_discard), .push_ready(push_ready), .push_request(push_request), .request_coming(s_axis_tlp_request_coming),
        .request_room(request_room), .request_ok(s_axis_tlp_request_ok), .config_address(config_address), .config_rdata(config_rdata),
        .config_write(config_write), .config_wdata(config_wdata), .config_wstrb(config_wstrb),
        .config_target(config_target), .bar0_base(bar0_base), .bar2_base(bar2_base), .memory_enable(memory_enable),
        .max_payload(max_payload), .limits(limits), .view_write(view_write), .reg_valid(reg_valid), .reg_write(reg_write),
        .reg_address(reg_address), .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready),
        .reg_rdata(reg_rdata), .m_axi_local_ar(m_axi_local_ar), .m_axi_local_arvalid(m_axi_local_arvalid),
        .m_axi_local_arready(m_axi_local_arready), .m_axi_local_r(m_axi_local_r),
        .m_axi_local_rvalid(m_axi_local_rvalid), .m_axi_local_rready(m_axi_local_rready),
        .m_axi_local_aw(m_axi_local_aw), .m_axi_local_awvalid(m_axi_local_awvalid),
        .m_axi_local_awready(m_axi_local_awready), .m_axi_local_w(m_axi_local_w),
        .m_axi_local_wvalid(m_axi_local_wvalid), .m_axi_local_wready(m_axi_local_wready),
        .m_axi_local_bresp(m_axi_local_bresp), .m_axi_local_bvalid(m_axi_local_bvalid),
        .m_axi_local_bready(m_axi_local_bready), .reply_valid(reply_valid), .reply_done(reply_done),
        .reply_status(reply_status), .reply_words(reply_words), .reply_bytes(reply_bytes), .reply_lower(reply_lower),
        .reply_locked(reply_locked), .reply_class(reply_class), .reply_attributes(reply_attributes),
        .reply_requester(reply_requester), .reply_tag(reply_tag), .reply_index(data_index), .reply_data(reply_data),
        .write_unsupported(write_unsupported), .read_unsupported(read_unsupported), .read_aborted(read_aborted),
        .window_refused(window_refused), .count_unsupported(count_unsupported),
        .count_window_refused(count_window_refused)
    );

    ferry_requester #(.LG_TAGS(LG_TAGS), .ID_WIDTH(ID_WIDTH), .LINES(HOST_TABLES)) requester (
        .clk(clk), .rst(rst), .bus_master(bus_master), .discard(function_resetting), .max_payload(max_payload),
        .max_read(max_read), .no_snoop_enable(no_snoop_enable), .requester_id(device_id),
        .completion_timeout(timeout_disable ? 32'd0 : completion_timeout), .tag_limit(tag_limit), .busy(requester_busy),
        .idle(requester_idle), .s_axi_arid(s_axi_host_arid), .s_axi_araddr(host_araddr[63:3]),
        .s_axi_arlen(s_axi_host_ar[`FERRY_AXI_A_LENGTH_RANGE]),
        .s_axi_arnosnoop(s_axi_host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE]), .s_axi_arvalid(s_axi_host_arvalid),
        .s_axi_arready(s_axi_host_arready), .s_axi_rid(s_axi_host_rid),
        .s_axi_rdata(s_axi_host_r[`FERRY_AXI_R_DATA_RANGE]), .s_axi_rresp(s_axi_host_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .s_axi_rfault(s_axi_host_r[`FERRY_AXI_R_FAULT_RANGE]), .s_axi_rlast(s_axi_host_r[`FERRY_AXI_R_LAST_RANGE]),
        .s_axi_rvalid(s_axi_host_rvalid), .s_axi_rready(s_axi_host_rready), .s_axi_awid(s_axi_host_awid),
        .s_axi_awaddr(host_awaddr[63:3]), .s_axi_awnosnoop(s_axi_host_aw[`FERRY_AXI_A_NO_SNOOP_RANGE]),
        .s_axi_awtag(s_axi_host_aw[`FERRY_AXI_A_TAG_RANGE]), .s_axi_awvalid(s_axi_host_awvalid),
        .s_axi_awready(s_axi_host_awready), .s_axi_wdata(s_axi_host_w[`FERRY_AXI_W_DATA_RANGE]),
        .s_axi_wstrb(s_axi_host_w[`FERRY_AXI_W_STROBE_RANGE]), .s_axi_wlast(s_axi_host_w[`FERRY_AXI_W_LAST_RANGE]),
        .s_axi_wvalid(s_axi_host_wvalid), .s_axi_wready(s_axi_host_wready), .s_axi_bid(s_axi_host_bid),
        .s_axi_bvalid(s_axi_host_bvalid), .s_axi_bready(s_axi_host_bready), .s_axi_line_araddr(tables_araddr[63:3]),
        .s_axi_line_arlen(tables_arlen[2:0]), .s_axi_line_arnosnoop(s_axi_tables_ar[`FERRY_AXI_A_NO_SNOOP_RANGE]),
        .s_axi_line_arvalid(s_axi_tables_arvalid), .s_axi_line_arready(s_axi_tables_arready),
        .s_axi_line_rdata(s_axi_tables_r[`FERRY_AXI_R_DATA_RANGE]),
        .s_axi_line_rresp(s_axi_tables_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .s_axi_line_rlast(s_axi_tables_r[`FERRY_AXI_R_LAST_RANGE]), .s_axi_line_rvalid(s_axi_tables_rvalid),
        .s_axi_line_rready(s_axi_tables_rready), .completion_valid(completion_valid),
        .completion_write(completion_write), .completion_data(completion_data), .completion_last(completion_last),
        .completion_good(completion_good), .completion_tag(completion_tag), .completion_requester(completion_requester),
        .completion_status(completion_status), .completion_bytes(completion_bytes), .completion_words(completion_words),
        .completion_has_data(completion_has_data), .completion_poisoned(completion_poisoned),
        .count_unexpected(count_unexpected), .got_unsupported(got_unsupported), .got_abort(got_abort),
        .got_timeout(got_timeout), .message_allowed(message_allowed), .message_back(message_back),
        .message_valid(message_valid), .message_address(msi_address),
        .message_data(msi_data), .message_taken(message_taken), .write_packet_valid(write_valid),
        .write_packet_begun(write_begun), .write_packet_taken(write_taken), .write_packet_done(write_done),
        .write_packet_address(write_address), .write_packet_words(write_words), .write_packet_odd(write_odd),
        .write_packet_first_enable(write_first_enable), .write_packet_last_enable(write_last_enable),
        .write_packet_tag(write_tag), .write_packet_no_snoop(write_no_snoop), .write_packet_index(data_index),
        .write_packet_data(write_data), .read_packet_valid(read_valid), .read_packet_begun(read_begun),
        .read_packet_done(read_done), .read_packet_address(read_address), .read_packet_beats(read_beats),
        .read_packet_tag(read_tag), .read_packet_no_snoop(read_no_snoop)
    );

    ferry_interrupt interrupt (
        .clk(clk), .rst(rst || function_resetting), .cause(interrupt_cause), .clear(interrupt_clear),
        .status(interrupt_status), .enable(interrupt_settings[`FERRY_INTERRUPT_SETTINGS_ENABLE_RANGE]),
        .coalesce_count(interrupt_settings[`FERRY_INTERRUPT_SETTINGS_COUNT_RANGE]),
        .coalesce_cycles(interrupt_settings[`FERRY_INTERRUPT_SETTINGS_CYCLES_RANGE]), .count(interrupt_count),
        .bus_master(bus_master), .msi_enable(msi_enable), .msi_mask(msi_mask), .msi_pending(msi_pending),
        .message_allowed(message_allowed), .message_valid(message_valid), .message_taken(message_taken), .message_back(message_back)
    );

    ferry_transmit transmit (
        .clk(clk), .rst(rst), .device_id(device_id), .completion_valid(reply_valid), .completion_done(reply_done),
        .completion_status(reply_status), .completion_words(reply_words), .completion_bytes(reply_bytes),
        .completion_lower(reply_lower), .completion_locked(reply_locked), .completion_class(reply_class),
        .completion_attributes(reply_attributes), .completion_requester(reply_requester), .completion_tag(reply_tag),
        .completion_data(reply_data), .write_valid(write_valid), .write_begun(write_begun), .write_taken(write_taken),
        .write_done(write_done), .write_address(write_address), .write_words(write_words), .write_odd(write_odd),
        .write_first_enable(write_first_enable), .write_last_enable(write_last_enable), .write_tag(write_tag),
        .write_no_snoop(write_no_snoop), .write_data(write_data), .read_valid(read_valid), .read_begun(read_begun),
        .read_done(read_done), .read_address(read_address), .read_beats(read_beats), .read_tag(read_tag),
        .read_no_snoop(read_no_snoop), .message_valid(error_valid), .message_code(error_code),
        .message_done(error_done), .data_index(data_index), .room_posted(m_axis_tlp_posted_ok),
        .room_request(m_axis_tlp_request_ok), .room_completion(m_axis_tlp_completion_ok),
        .m_axis_tlp_tdata(m_axis_tlp_tdata), .m_axis_tlp_tkeep(m_axis_tlp_tkeep), .m_axis_tlp_tlast(m_axis_tlp_tlast),
        .m_axis_tlp_tvalid(m_axis_tlp_tvalid), .m_axis_tlp_tready(m_axis_tlp_tready), .count_sent(count_tlp_sent),
        .count_beat(count_link_send_beat), .count_stall(count_stall_link)
    );
endmodule

`default_nettype wire
