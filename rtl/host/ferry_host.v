// SPDX-License-Identifier: Apache-2.0
// Everything between the PCIe packet stream and the rest of the device: configuration space, completer, requester,
// interrupt message, BAR2 window, and the arbiter that puts their packets on the one transmit stream.
`default_nettype none
`include "ferry_contract.vh"

module ferry_host #(
    // Read requests to the host that may be outstanding; a power of two, 2 to 32. Each takes 512 bytes of reorder RAM.
    parameter TAGS = 32,
    // log2 of the bytes of local memory. BAR2 is twice as large: local memory below, the aperture segment above.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Width of the AXI ids on the host port.
    parameter ID_WIDTH = 2,
    // log2 of the beats of requests from the host that wait for the completer. While they are full, the receive stream
    // stalls at the next request, and with it completions behind that; so a transport must not offer more request
    // beats than this holds while a BAR2 read of the aperture is open.
    parameter REQUEST_BEATS_LOG2 = 9
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
    // Packets to the host, same layout. tvalid never drops inside a packet.
    output wire [63:0] m_axis_tlp_tdata,
    output wire [1:0]  m_axis_tlp_tkeep,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,

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

    // BAR2 window to host pages behind the aperture, AXI4 master to the host port's mux.
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_aperture_ar,
    output wire                m_axi_aperture_arvalid,
    input  wire                m_axi_aperture_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_aperture_r,
    input  wire                m_axi_aperture_rvalid,
    output wire                m_axi_aperture_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_aperture_aw,
    output wire                m_axi_aperture_awvalid,
    input  wire                m_axi_aperture_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_aperture_w,
    output wire                m_axi_aperture_wvalid,
    input  wire                m_axi_aperture_wready,
    input  wire [1:0]          m_axi_aperture_bresp,
    input  wire                m_axi_aperture_bvalid,
    output wire                m_axi_aperture_bready,

    // Aperture table, third lookup port: requests and results in order.
    output wire         lookup_valid,
    input  wire         lookup_ready,
    // Page of the aperture segment.
    output wire [31:0]  lookup_page,
    input  wire         result_valid,
    input  wire [`FERRY_TRANSLATION_BITS-1:0] result,

    // Contract registers that stand in ferry_registers.
    // What BAR2 may reach of local memory.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,
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
    wire                no_snoop_enable;
    wire                msi_enable;
    wire [63:2]         msi_address;
    wire [15:0]         msi_data;
    wire                msi_mask;
    wire                msi_pending;
    wire [15:0]         completer_id;

    // Requests from receiver to completer; completions from receiver to requester.
    wire        push_valid;
    wire [64:0] push_beat;
    wire        push_commit;
    wire        push_discard;
    wire        push_ready;
    wire        request_valid;
    wire [64:0] request_beat;
    wire        request_pop;
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

    // Completer to window.
    wire                 window_valid;
    wire                 window_write;
    wire [BAR2_BITS-1:2] window_address;
    wire [6:0]           window_words;
    wire                 window_ready;
    wire                 window_beat_valid;
    wire [63:0]          window_beat_data;
    wire [7:0]           window_beat_strobe;
    wire                 window_beat_last;
    wire                 window_beat_ready;
    wire                 window_read_valid;
    wire [4:0]           window_read_index;
    wire [63:0]          window_read_data;
    wire                 window_read_done;
    wire [2:0]           window_read_status;
    wire                 window_idle;
    wire [LOCAL_ADDRESS_BITS-1:0] local_address;
    wire [63:0]          aperture_address;
    wire [7:0]           axi_length;
    wire                 axi_no_snoop;
    wire [63:0]          axi_wdata;
    wire [7:0]           axi_wstrb;
    wire                 axi_wlast;

    // Packets to the transmit stream: {upper word counts, last beat, two words}.
    wire [65:0] reply_beat;
    wire        reply_valid;
    wire        reply_ready;
    wire        message_valid;
    wire        message_taken;
    wire [65:0] posted_beat;
    wire        posted_valid;
    wire        posted_ready;
    wire [65:0] read_beat;
    wire        read_valid;
    wire        read_ready;
    wire        count_completer_unsupported;
    wire        count_window_unsupported;
    wire        count_window_dropped;

    wire count_stall_link;
    wire count_tlp_received;
    wire count_tlp_sent;
    wire count_link_receive_beat;
    wire count_link_send_beat;
    wire count_malformed;
    wire count_poisoned;
    wire count_unexpected;
    // Both can speak in one cycle only for different packets, and the completer waits while the window works.
    wire count_unsupported = count_completer_unsupported || count_window_unsupported;
    wire count_window_refused = count_window_dropped || (m_axi_local_bvalid && m_axi_local_bresp != 2'b00);
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
    // Posted writes cannot fail; a tag on a read has no meaning, and a write burst's end is its last beat.
    assign s_axi_host_bresp = 2'b00;
    wire unused_inputs = &{1'b0, s_axi_host_ar, s_axi_host_aw, host_araddr[2:0], host_awaddr[2:0], m_axi_local_r,
                           m_axi_aperture_r, m_axi_aperture_bresp};

    // Both masters of the window carry the same address and data; only one is valid at a time.
    assign m_axi_local_ar[`FERRY_AXI_A_ADDRESS_RANGE] = {{(64-LOCAL_ADDRESS_BITS){1'b0}}, local_address};
    assign m_axi_local_ar[`FERRY_AXI_A_LENGTH_RANGE] = axi_length;
    assign m_axi_local_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
    assign m_axi_local_ar[`FERRY_AXI_A_TAG_RANGE] = 8'hff;
    assign m_axi_local_aw = m_axi_local_ar;
    assign m_axi_local_rready = 1'b1;
    assign m_axi_local_w[`FERRY_AXI_W_DATA_RANGE] = axi_wdata;
    assign m_axi_local_w[`FERRY_AXI_W_STROBE_RANGE] = axi_wstrb;
    assign m_axi_local_w[`FERRY_AXI_W_LAST_RANGE] = axi_wlast;
    assign m_axi_local_bready = 1'b1;
    // The CPU's own writes are nobody's buffer.
    assign m_axi_aperture_ar[`FERRY_AXI_A_ADDRESS_RANGE] = aperture_address;
    assign m_axi_aperture_ar[`FERRY_AXI_A_LENGTH_RANGE] = axi_length;
    assign m_axi_aperture_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = axi_no_snoop;
    assign m_axi_aperture_ar[`FERRY_AXI_A_TAG_RANGE] = 8'hff;
    assign m_axi_aperture_aw = m_axi_aperture_ar;
    assign m_axi_aperture_rready = 1'b1;
    assign m_axi_aperture_w = m_axi_local_w;
    assign m_axi_aperture_bready = 1'b1;

    ferry_config #(.BAR2_BITS(BAR2_BITS)) config_space (
        .clk(clk),
        .rst(rst),
        .config_address(config_address),
        .config_rdata(config_rdata),
        .config_write(config_write),
        .config_wdata(config_wdata),
        .config_wstrb(config_wstrb),
        .config_target(config_target),
        .bar0_base(bar0_base),
        .bar2_base(bar2_base),
        .memory_enable(memory_enable),
        .bus_master(bus_master),
        .max_payload(max_payload),
        .max_read(max_read),
        .no_snoop_enable(no_snoop_enable),
        .msi_enable(msi_enable),
        .msi_address(msi_address),
        .msi_data(msi_data),
        .msi_mask(msi_mask),
        .msi_pending(msi_pending),
        .completer_id(completer_id)
    );

    ferry_tlp_receive receive (
        .clk(clk),
        .rst(rst),
        .max_payload(max_payload),
        .s_axis_tlp_tdata(s_axis_tlp_tdata),
        .s_axis_tlp_tkeep(s_axis_tlp_tkeep),
        .s_axis_tlp_tlast(s_axis_tlp_tlast),
        .s_axis_tlp_tvalid(s_axis_tlp_tvalid),
        .s_axis_tlp_tready(s_axis_tlp_tready),
        .push_valid(push_valid),
        .push_beat(push_beat),
        .push_commit(push_commit),
        .push_discard(push_discard),
        .push_ready(push_ready),
        .completion_valid(completion_valid),
        .completion_write(completion_write),
        .completion_data(completion_data),
        .completion_last(completion_last),
        .completion_good(completion_good),
        .completion_tag(completion_tag),
        .completion_requester(completion_requester),
        .completion_status(completion_status),
        .completion_bytes(completion_bytes),
        .completion_words(completion_words),
        .completion_has_data(completion_has_data),
        .completion_poisoned(completion_poisoned),
        .count_received(count_tlp_received),
        .count_beat(count_link_receive_beat),
        .count_malformed(count_malformed),
        .count_poisoned(count_poisoned)
    );

    ferry_packet_fifo #(.LG_DEPTH(REQUEST_BEATS_LOG2)) requests (
        .clk(clk),
        .rst(rst),
        .push_valid(push_valid),
        .push_beat(push_beat),
        .push_commit(push_commit),
        .push_discard(push_discard),
        .push_ready(push_ready),
        .pop_valid(request_valid),
        .pop_beat(request_beat),
        .pop(request_pop)
    );

    ferry_completer #(.BAR2_BITS(BAR2_BITS)) completer (
        .clk(clk),
        .rst(rst),
        .request_valid(request_valid),
        .request_beat(request_beat),
        .request_pop(request_pop),
        .config_address(config_address),
        .config_rdata(config_rdata),
        .config_write(config_write),
        .config_wdata(config_wdata),
        .config_wstrb(config_wstrb),
        .config_target(config_target),
        .bar0_base(bar0_base),
        .bar2_base(bar2_base),
        .memory_enable(memory_enable),
        .max_payload(max_payload),
        .completer_id(completer_id),
        .reg_valid(reg_valid),
        .reg_write(reg_write),
        .reg_address(reg_address),
        .reg_wdata(reg_wdata),
        .reg_wstrb(reg_wstrb),
        .reg_ready(reg_ready),
        .reg_rdata(reg_rdata),
        .window_valid(window_valid),
        .window_write(window_write),
        .window_address(window_address),
        .window_words(window_words),
        .window_ready(window_ready),
        .window_beat_valid(window_beat_valid),
        .window_beat_data(window_beat_data),
        .window_beat_strobe(window_beat_strobe),
        .window_beat_last(window_beat_last),
        .window_beat_ready(window_beat_ready),
        .window_read_valid(window_read_valid),
        .window_read_index(window_read_index),
        .window_read_data(window_read_data),
        .window_read_done(window_read_done),
        .window_read_status(window_read_status),
        .window_idle(window_idle),
        .tlp_data(reply_beat[63:0]),
        .tlp_upper(reply_beat[65]),
        .tlp_last(reply_beat[64]),
        .tlp_valid(reply_valid),
        .tlp_ready(reply_ready),
        .count_unsupported(count_completer_unsupported)
    );

    ferry_window #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) window (
        .clk(clk),
        .rst(rst),
        .request_valid(window_valid),
        .request_write(window_write),
        .request_address(window_address),
        .request_words(window_words),
        .request_ready(window_ready),
        .beat_valid(window_beat_valid),
        .beat_data(window_beat_data),
        .beat_strobe(window_beat_strobe),
        .beat_last(window_beat_last),
        .beat_ready(window_beat_ready),
        .read_valid(window_read_valid),
        .read_index(window_read_index),
        .read_data(window_read_data),
        .read_done(window_read_done),
        .read_status(window_read_status),
        .idle(window_idle),
        .local_limit(limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE]),
        .protect_base(limits[`FERRY_LIMITS_PROTECT_BASE_RANGE]),
        .protect_limit(limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE]),
        .lookup_valid(lookup_valid),
        .lookup_ready(lookup_ready),
        .lookup_page(lookup_page),
        .result_valid(result_valid),
        .result_hit(result[`FERRY_TRANSLATION_HIT_RANGE]),
        .result_snoop(result[`FERRY_TRANSLATION_SNOOP_RANGE]),
        .result_page(result[`FERRY_TRANSLATION_PAGE_RANGE]),
        .local_address(local_address),
        .aperture_address(aperture_address),
        .axi_length(axi_length),
        .axi_no_snoop(axi_no_snoop),
        .axi_wdata(axi_wdata),
        .axi_wstrb(axi_wstrb),
        .axi_wlast(axi_wlast),
        .local_arvalid(m_axi_local_arvalid),
        .local_arready(m_axi_local_arready),
        .local_rdata(m_axi_local_r[`FERRY_AXI_R_DATA_RANGE]),
        .local_rresp(m_axi_local_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .local_rlast(m_axi_local_r[`FERRY_AXI_R_LAST_RANGE]),
        .local_rvalid(m_axi_local_rvalid),
        .local_awvalid(m_axi_local_awvalid),
        .local_awready(m_axi_local_awready),
        .local_wvalid(m_axi_local_wvalid),
        .local_wready(m_axi_local_wready),
        .local_bvalid(m_axi_local_bvalid),
        .aperture_arvalid(m_axi_aperture_arvalid),
        .aperture_arready(m_axi_aperture_arready),
        .aperture_rdata(m_axi_aperture_r[`FERRY_AXI_R_DATA_RANGE]),
        .aperture_rresp(m_axi_aperture_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .aperture_rfault(m_axi_aperture_r[`FERRY_AXI_R_FAULT_RANGE]),
        .aperture_rlast(m_axi_aperture_r[`FERRY_AXI_R_LAST_RANGE]),
        .aperture_rvalid(m_axi_aperture_rvalid),
        .aperture_awvalid(m_axi_aperture_awvalid),
        .aperture_awready(m_axi_aperture_awready),
        .aperture_wvalid(m_axi_aperture_wvalid),
        .aperture_wready(m_axi_aperture_wready),
        .aperture_bvalid(m_axi_aperture_bvalid),
        .count_refused(count_window_dropped),
        .count_unsupported(count_window_unsupported)
    );

    ferry_requester #(.LG_TAGS(LG_TAGS), .ID_WIDTH(ID_WIDTH)) requester (
        .clk(clk),
        .rst(rst),
        .bus_master(bus_master),
        .max_payload(max_payload),
        .max_read(max_read),
        .no_snoop_enable(no_snoop_enable),
        .requester_id(completer_id),
        .completion_timeout(completion_timeout),
        .tag_limit(tag_limit),
        .busy(requester_busy),
        .s_axi_arid(s_axi_host_arid),
        .s_axi_araddr(host_araddr[63:3]),
        .s_axi_arlen(s_axi_host_ar[`FERRY_AXI_A_LENGTH_RANGE]),
        .s_axi_arnosnoop(s_axi_host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE]),
        .s_axi_arvalid(s_axi_host_arvalid),
        .s_axi_arready(s_axi_host_arready),
        .s_axi_rid(s_axi_host_rid),
        .s_axi_rdata(s_axi_host_r[`FERRY_AXI_R_DATA_RANGE]),
        .s_axi_rresp(s_axi_host_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .s_axi_rfault(s_axi_host_r[`FERRY_AXI_R_FAULT_RANGE]),
        .s_axi_rlast(s_axi_host_r[`FERRY_AXI_R_LAST_RANGE]),
        .s_axi_rvalid(s_axi_host_rvalid),
        .s_axi_rready(s_axi_host_rready),
        .s_axi_awid(s_axi_host_awid),
        .s_axi_awaddr(host_awaddr[63:3]),
        .s_axi_awnosnoop(s_axi_host_aw[`FERRY_AXI_A_NO_SNOOP_RANGE]),
        .s_axi_awtag(s_axi_host_aw[`FERRY_AXI_A_TAG_RANGE]),
        .s_axi_awvalid(s_axi_host_awvalid),
        .s_axi_awready(s_axi_host_awready),
        .s_axi_wdata(s_axi_host_w[`FERRY_AXI_W_DATA_RANGE]),
        .s_axi_wstrb(s_axi_host_w[`FERRY_AXI_W_STROBE_RANGE]),
        .s_axi_wlast(s_axi_host_w[`FERRY_AXI_W_LAST_RANGE]),
        .s_axi_wvalid(s_axi_host_wvalid),
        .s_axi_wready(s_axi_host_wready),
        .s_axi_bid(s_axi_host_bid),
        .s_axi_bvalid(s_axi_host_bvalid),
        .s_axi_bready(s_axi_host_bready),
        .completion_valid(completion_valid),
        .completion_write(completion_write),
        .completion_data(completion_data),
        .completion_last(completion_last),
        .completion_good(completion_good),
        .completion_tag(completion_tag),
        .completion_requester(completion_requester),
        .completion_status(completion_status),
        .completion_bytes(completion_bytes),
        .completion_words(completion_words),
        .completion_has_data(completion_has_data),
        .completion_poisoned(completion_poisoned),
        .count_unexpected(count_unexpected),
        .message_valid(message_valid),
        .message_address(msi_address),
        .message_data(msi_data),
        .message_taken(message_taken),
        .posted_beat(posted_beat),
        .posted_valid(posted_valid),
        .posted_ready(posted_ready),
        .read_beat(read_beat),
        .read_valid(read_valid),
        .read_ready(read_ready)
    );

    ferry_interrupt interrupt (
        .clk(clk),
        .rst(rst),
        .cause(interrupt_cause),
        .clear(interrupt_clear),
        .status(interrupt_status),
        .enable(interrupt_settings[`FERRY_INTERRUPT_SETTINGS_ENABLE_RANGE]),
        .coalesce_count(interrupt_settings[`FERRY_INTERRUPT_SETTINGS_COUNT_RANGE]),
        .coalesce_cycles(interrupt_settings[`FERRY_INTERRUPT_SETTINGS_CYCLES_RANGE]),
        .count(interrupt_count),
        .bus_master(bus_master),
        .msi_enable(msi_enable),
        .msi_mask(msi_mask),
        .msi_pending(msi_pending),
        .message_valid(message_valid),
        .message_taken(message_taken)
    );

    ferry_transmit transmit (
        .clk(clk),
        .rst(rst),
        .completion_beat(reply_beat),
        .completion_valid(reply_valid),
        .completion_ready(reply_ready),
        .posted_beat(posted_beat),
        .posted_valid(posted_valid),
        .posted_ready(posted_ready),
        .read_beat(read_beat),
        .read_valid(read_valid),
        .read_ready(read_ready),
        .m_axis_tlp_tdata(m_axis_tlp_tdata),
        .m_axis_tlp_tkeep(m_axis_tlp_tkeep),
        .m_axis_tlp_tlast(m_axis_tlp_tlast),
        .m_axis_tlp_tvalid(m_axis_tlp_tvalid),
        .m_axis_tlp_tready(m_axis_tlp_tready),
        .count_sent(count_tlp_sent),
        .count_beat(count_link_send_beat),
        .count_stall(count_stall_link)
    );
endmodule

`default_nettype wire
