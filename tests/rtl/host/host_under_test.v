// SPDX-License-Identifier: Apache-2.0
// ferry_host as the C++ bench drives it: every bundle taken apart.
`default_nettype none
`include "ferry_contract.vh"

module host_under_test (
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
    // More requests that want an answer may come.
    output wire        s_axis_tlp_request_ok,
    // Packets to the host, same layout. tvalid never drops inside a packet.
    output wire [63:0] m_axis_tlp_tdata,
    output wire [1:0]  m_axis_tlp_tkeep,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,
    // Credits of the link, by kind of packet.
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
    // Read data of all ids comes back in the order of the requests.
    input  wire [1:0] s_axi_host_arid,
    input  wire [63:0]         s_axi_host_araddr,
    input  wire [7:0]          s_axi_host_arlen,
    // 1 = the access need not snoop the host's caches (sets the No Snoop attribute when configuration allows).
    input  wire                s_axi_host_arnosnoop,
    input  wire                s_axi_host_arvalid,
    output wire                s_axi_host_arready,
    output wire [1:0] s_axi_host_rid,
    output wire [63:0]         s_axi_host_rdata,
    output wire [1:0]          s_axi_host_rresp,
    // fault_kind of the contract when rresp is not OKAY: HOST_UNSUPPORTED, HOST_ABORT or COMPLETION_TIMEOUT.
    output wire [7:0]          s_axi_host_rfault,
    output wire                s_axi_host_rlast,
    output wire                s_axi_host_rvalid,
    input  wire                s_axi_host_rready,
    input  wire [1:0] s_axi_host_awid,
    input  wire [63:0]         s_axi_host_awaddr,
    input  wire [7:0]          s_axi_host_awlen,
    input  wire                s_axi_host_awnosnoop,
    input  wire [7:0]          s_axi_host_awtag,
    input  wire                s_axi_host_awvalid,
    output wire                s_axi_host_awready,
    input  wire [63:0]         s_axi_host_wdata,
    // The strobes of a burst are one run of bytes; a beat without any is skipped.
    input  wire [7:0]          s_axi_host_wstrb,
    input  wire                s_axi_host_wlast,
    input  wire                s_axi_host_wvalid,
    output wire                s_axi_host_wready,
    // A response is given once the burst's last packet has entered the transmit stream; always OKAY (posted).
    output wire [1:0] s_axi_host_bid,
    output wire [1:0]          s_axi_host_bresp,
    output wire                s_axi_host_bvalid,
    input  wire                s_axi_host_bready,

    // Page tables' reads, AXI4 slave: bursts inside 64 bytes.
    input  wire [63:0]         s_axi_tables_araddr,
    input  wire [7:0]          s_axi_tables_arlen,
    input  wire                s_axi_tables_arnosnoop,
    input  wire                s_axi_tables_arvalid,
    output wire                s_axi_tables_arready,
    output wire [63:0]         s_axi_tables_rdata,
    output wire [1:0]          s_axi_tables_rresp,
    output wire                s_axi_tables_rlast,
    output wire                s_axi_tables_rvalid,
    input  wire                s_axi_tables_rready,

    // BAR2 window to local memory, AXI4 master, one burst of at most 33 beats a packet; ids are WINDOW_ID.
    output wire [1:0]           m_axi_local_arid,
    output wire [25:0] m_axi_local_araddr,
    output wire [7:0]                    m_axi_local_arlen,
    output wire                          m_axi_local_arvalid,
    input  wire                          m_axi_local_arready,
    input  wire [1:0]           m_axi_local_rid,
    input  wire [63:0]                   m_axi_local_rdata,
    input  wire [1:0]                    m_axi_local_rresp,
    input  wire                          m_axi_local_rlast,
    input  wire                          m_axi_local_rvalid,
    output wire                          m_axi_local_rready,
    output wire [1:0]           m_axi_local_awid,
    output wire [25:0] m_axi_local_awaddr,
    output wire [7:0]                    m_axi_local_awlen,
    output wire                          m_axi_local_awvalid,
    input  wire                          m_axi_local_awready,
    output wire [63:0]                   m_axi_local_wdata,
    output wire [7:0]                    m_axi_local_wstrb,
    output wire                          m_axi_local_wlast,
    output wire                          m_axi_local_wvalid,
    input  wire                          m_axi_local_wready,
    input  wire [1:0]           m_axi_local_bid,
    input  wire [1:0]                    m_axi_local_bresp,
    input  wire                          m_axi_local_bvalid,
    output wire                          m_axi_local_bready,

    // Contract registers that stand in ferry_registers.
    // LOCAL_LIMIT, PROTECT_BASE and PROTECT_LIMIT: what BAR2 may reach of local memory.
    input  wire [63:0] local_limit,
    input  wire [63:0] protect_base,
    input  wire [63:0] protect_limit,
    // A word of VIEW is written; nothing is shown any more.
    input  wire        view_write,
    input  wire        view_clear,
    input  wire [1:0]  view_word,
    input  wire [1:0]  view_range,
    input  wire [31:0] view_value,
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
    // INTERRUPT_ENABLE.
    input  wire [9:0]  interrupt_enable,
    // INTERRUPT_COALESCE, both fields.
    input  wire [15:0] interrupt_coalesce_count,
    input  wire [15:0] interrupt_coalesce_cycles,
    // INTERRUPT_COUNT.
    output wire [31:0] interrupt_count,

    // Function level reset: what stands behind the host side is at rest: core, fetcher, engine. It goes on; its last cycle; the host
    // side itself is at rest.
    input  wire [2:0]  at_rest,
    output wire        function_resetting,
    output wire        reset_units,
    output wire        requester_idle,

    // STATUS.requester: a read request to the host is outstanding.
    output wire        requester_busy,

    // One-cycle strobes for the counters of the contract.
    output wire        count_stall_link,
    output wire        count_tlp_received,
    output wire        count_tlp_sent,
    output wire        count_link_receive_beat,
    output wire        count_link_send_beat,
    output wire        count_unsupported,
    output wire        count_malformed,
    output wire        count_poisoned,
    output wire        count_unexpected,
    output wire        count_window_refused
);
    wire [`FERRY_AXI_A_BITS-1:0] host_ar, host_aw, tables_ar, local_ar, local_aw;
    wire [`FERRY_AXI_R_BITS-1:0] tables_r;
    wire [`FERRY_AXI_W_BITS-1:0] host_w, local_w;
    wire [`FERRY_AXI_R_BITS-1:0] host_r, local_r;
    wire [`FERRY_LIMITS_BITS-1:0] limits;
    wire [`FERRY_VIEW_WRITE_BITS-1:0] view_set;
    wire [`FERRY_INTERRUPT_SETTINGS_BITS-1:0] interrupt_settings;
    wire [`FERRY_EVENTS_BITS-1:0] events;

    assign host_ar[`FERRY_AXI_A_ADDRESS_RANGE] = s_axi_host_araddr;
    assign host_ar[`FERRY_AXI_A_LENGTH_RANGE] = s_axi_host_arlen;
    assign host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = s_axi_host_arnosnoop;
    assign host_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
    assign host_aw[`FERRY_AXI_A_ADDRESS_RANGE] = s_axi_host_awaddr;
    assign host_aw[`FERRY_AXI_A_LENGTH_RANGE] = s_axi_host_awlen;
    assign host_aw[`FERRY_AXI_A_NO_SNOOP_RANGE] = s_axi_host_awnosnoop;
    assign host_aw[`FERRY_AXI_A_TAG_RANGE] = s_axi_host_awtag;
    assign tables_ar[`FERRY_AXI_A_ADDRESS_RANGE] = s_axi_tables_araddr;
    assign tables_ar[`FERRY_AXI_A_LENGTH_RANGE] = s_axi_tables_arlen;
    assign tables_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = s_axi_tables_arnosnoop;
    assign tables_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
    assign s_axi_tables_rdata = tables_r[`FERRY_AXI_R_DATA_RANGE];
    assign s_axi_tables_rresp = tables_r[`FERRY_AXI_R_RESPONSE_RANGE];
    assign s_axi_tables_rlast = tables_r[`FERRY_AXI_R_LAST_RANGE];
    assign host_w[`FERRY_AXI_W_DATA_RANGE] = s_axi_host_wdata;
    assign host_w[`FERRY_AXI_W_STROBE_RANGE] = s_axi_host_wstrb;
    assign host_w[`FERRY_AXI_W_LAST_RANGE] = s_axi_host_wlast;
    assign s_axi_host_rdata = host_r[`FERRY_AXI_R_DATA_RANGE];
    assign s_axi_host_rresp = host_r[`FERRY_AXI_R_RESPONSE_RANGE];
    assign s_axi_host_rfault = host_r[`FERRY_AXI_R_FAULT_RANGE];
    assign s_axi_host_rlast = host_r[`FERRY_AXI_R_LAST_RANGE];
    assign m_axi_local_arid = 2'd2;
    assign m_axi_local_araddr = local_ar[25:0];
    assign m_axi_local_arlen = local_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_local_awid = 2'd2;
    assign m_axi_local_awaddr = local_aw[25:0];
    assign m_axi_local_awlen = local_aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_local_wdata = local_w[`FERRY_AXI_W_DATA_RANGE];
    assign m_axi_local_wstrb = local_w[`FERRY_AXI_W_STROBE_RANGE];
    assign m_axi_local_wlast = local_w[`FERRY_AXI_W_LAST_RANGE];
    assign local_r[`FERRY_AXI_R_DATA_RANGE] = m_axi_local_rdata;
    assign local_r[`FERRY_AXI_R_RESPONSE_RANGE] = m_axi_local_rresp;
    assign local_r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    assign local_r[`FERRY_AXI_R_LAST_RANGE] = m_axi_local_rlast;
    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = local_limit;
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = protect_base;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = protect_limit;
    assign view_set[`FERRY_VIEW_WRITE_WRITE_RANGE] = view_write;
    assign view_set[`FERRY_VIEW_WRITE_CLEAR_RANGE] = view_clear;
    assign view_set[`FERRY_VIEW_WRITE_WORD_RANGE] = view_word;
    assign view_set[`FERRY_VIEW_WRITE_RANGE_RANGE] = view_range;
    assign view_set[`FERRY_VIEW_WRITE_VALUE_RANGE] = view_value;
    assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_ENABLE_RANGE] = interrupt_enable;
    assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_COUNT_RANGE] = interrupt_coalesce_count;
    assign interrupt_settings[`FERRY_INTERRUPT_SETTINGS_CYCLES_RANGE] = interrupt_coalesce_cycles;
    assign count_stall_link = events[`FERRY_EVENT_STALL_LINK];
    assign count_tlp_received = events[`FERRY_EVENT_TLP_RECEIVED];
    assign count_tlp_sent = events[`FERRY_EVENT_TLP_SENT];
    assign count_link_receive_beat = events[`FERRY_EVENT_LINK_RECEIVE_BEATS];
    assign count_link_send_beat = events[`FERRY_EVENT_LINK_SEND_BEATS];
    assign count_unsupported = events[`FERRY_EVENT_TLP_UNSUPPORTED];
    assign count_malformed = events[`FERRY_EVENT_TLP_MALFORMED];
    assign count_poisoned = events[`FERRY_EVENT_TLP_POISONED];
    assign count_unexpected = events[`FERRY_EVENT_TLP_UNEXPECTED];
    assign count_window_refused = events[`FERRY_EVENT_WINDOW_REFUSED];
    wire unused = &{1'b0, events, tables_r, local_ar, local_aw, m_axi_local_rid, m_axi_local_bid};

    ferry_host host (
        .clk(clk), .rst(rst), .s_axis_tlp_tdata(s_axis_tlp_tdata), .s_axis_tlp_tkeep(s_axis_tlp_tkeep),
        .s_axis_tlp_tlast(s_axis_tlp_tlast), .s_axis_tlp_tvalid(s_axis_tlp_tvalid),
        .s_axis_tlp_tready(s_axis_tlp_tready), .s_axis_tlp_request_ok(s_axis_tlp_request_ok),
        .s_axis_tlp_request_coming(1'b0),
        .m_axis_tlp_posted_ok(m_axis_tlp_posted_ok), .m_axis_tlp_request_ok(m_axis_tlp_request_ok),
        .m_axis_tlp_completion_ok(m_axis_tlp_completion_ok), .m_axis_tlp_tdata(m_axis_tlp_tdata), .m_axis_tlp_tkeep(m_axis_tlp_tkeep),
        .m_axis_tlp_tlast(m_axis_tlp_tlast), .m_axis_tlp_tvalid(m_axis_tlp_tvalid),
        .m_axis_tlp_tready(m_axis_tlp_tready), .reg_valid(reg_valid), .reg_write(reg_write), .reg_address(reg_address),
        .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready), .reg_rdata(reg_rdata),
        .s_axi_host_arid(s_axi_host_arid), .s_axi_host_ar(host_ar), .s_axi_host_arvalid(s_axi_host_arvalid),
        .s_axi_host_arready(s_axi_host_arready), .s_axi_host_rid(s_axi_host_rid), .s_axi_host_r(host_r),
        .s_axi_host_rvalid(s_axi_host_rvalid), .s_axi_host_rready(s_axi_host_rready), .s_axi_host_awid(s_axi_host_awid),
        .s_axi_host_aw(host_aw), .s_axi_host_awvalid(s_axi_host_awvalid), .s_axi_host_awready(s_axi_host_awready),
        .s_axi_host_w(host_w), .s_axi_host_wvalid(s_axi_host_wvalid), .s_axi_host_wready(s_axi_host_wready),
        .s_axi_host_bid(s_axi_host_bid), .s_axi_host_bresp(s_axi_host_bresp), .s_axi_host_bvalid(s_axi_host_bvalid),
        .s_axi_host_bready(s_axi_host_bready), .s_axi_tables_ar(tables_ar), .s_axi_tables_arvalid(s_axi_tables_arvalid),
        .s_axi_tables_arready(s_axi_tables_arready), .s_axi_tables_r(tables_r), .s_axi_tables_rvalid(s_axi_tables_rvalid),
        .s_axi_tables_rready(s_axi_tables_rready), .m_axi_local_ar(local_ar), .m_axi_local_arvalid(m_axi_local_arvalid),
        .m_axi_local_arready(m_axi_local_arready), .m_axi_local_r(local_r), .m_axi_local_rvalid(m_axi_local_rvalid),
        .m_axi_local_rready(m_axi_local_rready), .m_axi_local_aw(local_aw), .m_axi_local_awvalid(m_axi_local_awvalid),
        .m_axi_local_awready(m_axi_local_awready), .m_axi_local_w(local_w), .m_axi_local_wvalid(m_axi_local_wvalid),
        .m_axi_local_wready(m_axi_local_wready), .m_axi_local_bresp(m_axi_local_bresp),
        .m_axi_local_bvalid(m_axi_local_bvalid), .m_axi_local_bready(m_axi_local_bready),
        .limits(limits), .view_write(view_set),
        .completion_timeout(completion_timeout), .tag_limit(tag_limit), .interrupt_cause(interrupt_cause),
        .interrupt_clear(interrupt_clear), .interrupt_status(interrupt_status), .interrupt_settings(interrupt_settings),
        .interrupt_count(interrupt_count), .requester_busy(requester_busy), .function_reset(function_reset),
        .function_resetting(function_resetting), .requester_idle(requester_idle), .asleep(unused_asleep), .events(events)
    );

    wire function_reset, unused_asleep;
    ferry_function_reset function_level (
        .clk(clk), .rst(rst), .start(function_reset), .resetting(function_resetting), .reset_units(reset_units),
        .core_settled(at_rest[0]), .fetch_wound(at_rest[1]), .engine_at_rest(at_rest[2]), .requester_idle(requester_idle)
    );
endmodule

`default_nettype wire
