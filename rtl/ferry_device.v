// SPDX-License-Identifier: Apache-2.0
// The portable top of Pageferry: one clock, one stream of PCIe transaction-layer packets in, one out, one AXI4 master
// to video memory. Every simulation and every board instantiates this module as it is.
`default_nettype none

module ferry_device #(
    // Name of a set of sizes: "full" (FPGAs with some 40,000 LUTs, and simulation) or "tiny" (5,000 LUTs). The
    // parameters below take their defaults from the set and may be given one by one instead.
    parameter CONFIGURATION = "full",
    // Read requests to the host that may be outstanding at once, 1 to 64. Reads of host memory collapse to
    // (max_read / round trip) without several of them; each costs max_read bytes of reorder RAM.
    parameter TAGS = CONFIGURATION == "tiny" ? 4 : 32,
    // Rings, 1 to 5. Ring 0 is the paging ring, the others are user rings.
    parameter RINGS = CONFIGURATION == "tiny" ? 2 : 5,
    // Command slots, 2 to 4: buffers that are fetched, decoded or running at once. One is kept for the paging ring.
    parameter SLOTS = CONFIGURATION == "tiny" ? 2 : 4,
    // log2 of the bytes of a command slot, 9 to 12: the largest buffer that a ring entry may name.
    parameter SLOT_BYTES_LOG2 = CONFIGURATION == "tiny" ? 10 : 12,
    // log2 of the bytes of video memory behind m_axi_*. BAR2 is twice as large; its upper half is the aperture.
    parameter LOCAL_ADDRESS_BITS = CONFIGURATION == "tiny" ? 17 : 26,
    // Pages of the aperture segment; 8 bytes of block RAM each. At most video memory's number of pages is reachable
    // through BAR2.
    parameter APERTURE_PAGES = CONFIGURATION == "tiny" ? 32 : 4096,
    // 32-bit words of firmware RAM, a power of two up to 8192. The firmware says at its build how much it needs.
    parameter FIRMWARE_RAM_WORDS = 4096,
    // File for $readmemh with the firmware, one 32-bit word a line, so that a bitstream can bring it along. Empty: the
    // host loads it through BAR0.
    parameter FIRMWARE_HEX = "",
    // Jobs that the engine's queue holds, a power of two. The core runs ahead of the data by so many.
    parameter JOB_QUEUE = CONFIGURATION == "tiny" ? 2 : 8,
    // Bits of a beat of the two packet streams: 32, 64 or 128, whichever the link's own side has. Inside, packets are 64
    // bits a beat; the other two widths cost a converter and a cycle or two each way.
    parameter TLP_BITS = 64,
    // The soft core: "vexriscv" (whichever variant's file is among the sources) or "picorv32". docs/decisions.md has
    // the measured choice.
    parameter CPU_CORE = "vexriscv"
) (
    // Clock of everything; all ports are synchronous to it.
    input  wire                          clk,
    // Reset, synchronous, active high, at least one cycle.
    input  wire                          rst,

    // Transaction-layer packets from the host: word 0 in bits 31:0, word 1 in bits 63:32, densely.
    input  wire [TLP_BITS-1:0]           s_axis_tlp_tdata,
    // One bit for each 32-bit word of the beat, from word 0 on; not all of them only in the last beat.
    input  wire [TLP_BITS/32-1:0]        s_axis_tlp_tkeep,
    // Last beat of a packet.
    input  wire                          s_axis_tlp_tlast,
    // Beat is there.
    input  wire                          s_axis_tlp_tvalid,
    // Beat is taken.
    output wire                          s_axis_tlp_tready,

    // Transaction-layer packets to the host, same layout.
    output wire [TLP_BITS-1:0]           m_axis_tlp_tdata,
    // One bit for each 32-bit word of the beat.
    output wire [TLP_BITS/32-1:0]        m_axis_tlp_tkeep,
    // Last beat of a packet.
    output wire                          m_axis_tlp_tlast,
    // Beat is there.
    output wire                          m_axis_tlp_tvalid,
    // Beat is taken.
    input  wire                          m_axis_tlp_tready,

    // Video memory, AXI4: INCR bursts of 8-byte beats that never cross 4 KiB; responses of one id in order.
    // Write address: id, byte address, beats - 1, log2 of bytes a beat (3), burst kind (INCR).
    output wire [1:0]                    m_axi_awid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0]                    m_axi_awlen,
    output wire [2:0]                    m_axi_awsize,
    output wire [1:0]                    m_axi_awburst,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    // Write data, in the order of the write addresses.
    output wire [63:0]                   m_axi_wdata,
    output wire [7:0]                    m_axi_wstrb,
    output wire                          m_axi_wlast,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    // Write response.
    input  wire [1:0]                    m_axi_bid,
    input  wire [1:0]                    m_axi_bresp,
    input  wire                          m_axi_bvalid,
    output wire                          m_axi_bready,
    // Read address, fields as for the write address.
    output wire [1:0]                    m_axi_arid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0]                    m_axi_arlen,
    output wire [2:0]                    m_axi_arsize,
    output wire [1:0]                    m_axi_arburst,
    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    // Read data.
    input  wire [1:0]                    m_axi_rid,
    input  wire [63:0]                   m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_rready
);

// Every burst is INCR of whole 8-byte beats.
assign m_axi_awsize = 3'd3;
assign m_axi_awburst = 2'b01;
assign m_axi_arsize = 3'd3;
assign m_axi_arburst = 2'b01;

wire reg_valid, reg_write, reg_ready, host_arnosnoop, host_arvalid, host_arready, host_rlast, host_rvalid,
    host_rready, host_awnosnoop, host_awvalid, host_awready, host_wlast, host_wvalid, host_wready, host_bvalid,
    host_bready, window_local_arvalid, window_local_arready, window_local_rlast, window_local_rvalid,
    window_local_rready, window_local_awvalid, window_local_awready, window_local_wlast, window_local_wvalid,
    window_local_wready, window_local_bvalid, window_local_bready, window_host_arnosnoop, window_host_arvalid,
    window_host_arready, window_host_rlast, window_host_rvalid, window_host_rready, window_host_awnosnoop,
    window_host_awvalid, window_host_awready, window_host_wlast, window_host_wvalid, window_host_wready,
    window_host_bvalid, window_host_bready, window_lookup_valid, window_lookup_ready, window_result_valid,
    window_result_hit, window_result_snoop, requester_busy, count_stall_link, count_tlp_received, count_tlp_sent,
    count_link_receive_beat, count_link_send_beat, count_unsupported, count_malformed, count_poisoned,
    count_unexpected, count_window_refused, core_busy, post_busy, fetch_busy, engine_busy, engine_busy_read,
    engine_busy_write, reset_request, resetting, job_valid, job_ready, job_unordered, job_protected, fault_valid,
    fault_write, fault_clear, update_valid, update_ready, update_unmap, update_snoop, update_busy, fetch_arnosnoop,
    fetch_arvalid, fetch_arready, fetch_rlast, fetch_rvalid, fetch_rready, engine_list_valid, engine_list_ready,
    engine_list_data_valid, update_list_valid, update_list_ready, update_list_data_valid, post_awnosnoop,
    post_awvalid, post_awready, post_wlast, post_wvalid, post_wready, post_bvalid, post_bready, count_job,
    count_local_read_beat, count_local_write_beat, count_host_read_beat, count_host_write_beat, count_stall_read,
    count_stall_write;
wire [15:0] reg_address, interrupt_coalesce_count, interrupt_coalesce_cycles, job_packet_offset, job_list_address,
    fault_packet_offset, update_list, engine_list_address, update_list_address;
wire [31:0] reg_wdata, reg_rdata, window_lookup_page, completion_timeout, interrupt_count, timeout, job_length,
    jobs_retired, fault_written, update_first, update_count;
wire [31:0] slot_tags;
wire [7:0] host_awtag;
wire [3:0] reg_wstrb, poison, poison_clear;
wire [1:0] host_arid, host_rid, host_rresp, host_awid, host_bid, host_bresp, 
    window_local_rresp, window_local_bresp, 
    window_host_rresp, window_host_bresp, job_source_kind, job_destination_kind,
    job_list, job_slot, job_pattern_log2, fault_slot, fault_address_kind, fetch_rresp, post_bresp;
wire [63:0] host_araddr, host_rdata, host_awaddr, host_wdata, window_local_rdata, window_local_wdata,
    window_host_araddr, window_host_rdata, window_host_awaddr, window_host_wdata, local_limit, protect_base,
    protect_limit, job_source, job_destination, fault_address, update_dummy, fetch_araddr, fetch_rdata,
    engine_list_data, update_list_data, post_awaddr, post_wdata;
wire [7:0] host_arlen, host_rfault, host_awlen, host_wstrb, window_local_arlen, window_local_awlen,
    window_local_wstrb, window_host_arlen, window_host_rfault, window_host_awlen, window_host_wstrb, tag_limit,
    fault_kind, fetch_arlen, post_awlen, post_wstrb;
wire [LOCAL_ADDRESS_BITS-1:0] window_local_araddr, window_local_awaddr;
wire [51:12] window_result_page;
wire [9:0] interrupt_cause, interrupt_clear, interrupt_status, interrupt_enable;
wire [2:0] job_op;

wire [1:0] unused_host_m_local_arid, unused_host_m_local_awid, unused_host_m_aperture_arid,
    unused_host_m_aperture_awid;
// The packet streams at the width of the inside.
wire [63:0] in_tdata, out_tdata;
wire [1:0] in_tkeep, out_tkeep;
wire in_tlast, in_tvalid, in_tready, out_tlast, out_tvalid, out_tready;

generate
    if (TLP_BITS == 32) begin : link_32
        ferry_tlp_widen #(.IN_WORDS(1), .OUT_WORDS(2)) from_host (
            .clk(clk), .rst(rst), .s_tdata(s_axis_tlp_tdata), .s_tkeep(s_axis_tlp_tkeep), .s_tlast(s_axis_tlp_tlast),
            .s_tvalid(s_axis_tlp_tvalid), .s_tready(s_axis_tlp_tready), .m_tdata(in_tdata), .m_tkeep(in_tkeep),
            .m_tlast(in_tlast), .m_tvalid(in_tvalid), .m_tready(in_tready)
        );
        ferry_tlp_narrow #(.IN_WORDS(2), .OUT_WORDS(1)) to_host (
            .clk(clk), .rst(rst), .s_tdata(out_tdata), .s_tkeep(out_tkeep), .s_tlast(out_tlast), .s_tvalid(out_tvalid),
            .s_tready(out_tready), .m_tdata(m_axis_tlp_tdata), .m_tkeep(m_axis_tlp_tkeep),
            .m_tlast(m_axis_tlp_tlast), .m_tvalid(m_axis_tlp_tvalid), .m_tready(m_axis_tlp_tready)
        );
    end else if (TLP_BITS == 128) begin : link_128
        ferry_tlp_narrow #(.IN_WORDS(4), .OUT_WORDS(2)) from_host (
            .clk(clk), .rst(rst), .s_tdata(s_axis_tlp_tdata), .s_tkeep(s_axis_tlp_tkeep), .s_tlast(s_axis_tlp_tlast),
            .s_tvalid(s_axis_tlp_tvalid), .s_tready(s_axis_tlp_tready), .m_tdata(in_tdata), .m_tkeep(in_tkeep),
            .m_tlast(in_tlast), .m_tvalid(in_tvalid), .m_tready(in_tready)
        );
        ferry_tlp_widen #(.IN_WORDS(2), .OUT_WORDS(4)) to_host (
            .clk(clk), .rst(rst), .s_tdata(out_tdata), .s_tkeep(out_tkeep), .s_tlast(out_tlast), .s_tvalid(out_tvalid),
            .s_tready(out_tready), .m_tdata(m_axis_tlp_tdata), .m_tkeep(m_axis_tlp_tkeep),
            .m_tlast(m_axis_tlp_tlast), .m_tvalid(m_axis_tlp_tvalid), .m_tready(m_axis_tlp_tready)
        );
    end else begin : link_64
        assign {in_tdata, in_tkeep, in_tlast, in_tvalid}
            = {s_axis_tlp_tdata, s_axis_tlp_tkeep, s_axis_tlp_tlast, s_axis_tlp_tvalid};
        assign s_axis_tlp_tready = in_tready;
        assign {m_axis_tlp_tdata, m_axis_tlp_tkeep, m_axis_tlp_tlast, m_axis_tlp_tvalid}
            = {out_tdata, out_tkeep, out_tlast, out_tvalid};
        assign out_tready = m_axis_tlp_tready;
    end
endgenerate

ferry_host #(.TAGS(TAGS), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) host (
    .clk(clk), .rst(rst), .s_axis_tlp_tdata(in_tdata), .s_axis_tlp_tkeep(in_tkeep),
    .s_axis_tlp_tlast(in_tlast), .s_axis_tlp_tvalid(in_tvalid),
    .s_axis_tlp_tready(in_tready), .m_axis_tlp_tdata(out_tdata), .m_axis_tlp_tkeep(out_tkeep),
    .m_axis_tlp_tlast(out_tlast), .m_axis_tlp_tvalid(out_tvalid),
    .m_axis_tlp_tready(out_tready), .reg_valid(reg_valid), .reg_write(reg_write), .reg_address(reg_address),
    .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready), .reg_rdata(reg_rdata),
    .s_axi_host_arid(host_arid), .s_axi_host_araddr(host_araddr), .s_axi_host_arlen(host_arlen),
    .s_axi_host_arnosnoop(host_arnosnoop), .s_axi_host_arvalid(host_arvalid), .s_axi_host_arready(host_arready),
    .s_axi_host_rid(host_rid), .s_axi_host_rdata(host_rdata), .s_axi_host_rresp(host_rresp),
    .s_axi_host_rfault(host_rfault), .s_axi_host_rlast(host_rlast), .s_axi_host_rvalid(host_rvalid),
    .s_axi_host_rready(host_rready), .s_axi_host_awid(host_awid), .s_axi_host_awaddr(host_awaddr),
    .s_axi_host_awlen(host_awlen), .s_axi_host_awnosnoop(host_awnosnoop), .s_axi_host_awtag(host_awtag),
    .s_axi_host_awvalid(host_awvalid),
    .s_axi_host_awready(host_awready), .s_axi_host_wdata(host_wdata), .s_axi_host_wstrb(host_wstrb),
    .s_axi_host_wlast(host_wlast), .s_axi_host_wvalid(host_wvalid), .s_axi_host_wready(host_wready),
    .s_axi_host_bid(host_bid), .s_axi_host_bresp(host_bresp), .s_axi_host_bvalid(host_bvalid),
    .s_axi_host_bready(host_bready), .m_axi_local_arid(unused_host_m_local_arid),
    .m_axi_local_araddr(window_local_araddr),
    .m_axi_local_arlen(window_local_arlen), .m_axi_local_arvalid(window_local_arvalid),
    .m_axi_local_arready(window_local_arready), .m_axi_local_rid(2'd2),
    .m_axi_local_rdata(window_local_rdata), .m_axi_local_rresp(window_local_rresp),
    .m_axi_local_rlast(window_local_rlast), .m_axi_local_rvalid(window_local_rvalid),
    .m_axi_local_rready(window_local_rready), .m_axi_local_awid(unused_host_m_local_awid),
    .m_axi_local_awaddr(window_local_awaddr), .m_axi_local_awlen(window_local_awlen),
    .m_axi_local_awvalid(window_local_awvalid), .m_axi_local_awready(window_local_awready),
    .m_axi_local_wdata(window_local_wdata), .m_axi_local_wstrb(window_local_wstrb),
    .m_axi_local_wlast(window_local_wlast), .m_axi_local_wvalid(window_local_wvalid),
    .m_axi_local_wready(window_local_wready), .m_axi_local_bid(2'd2),
    .m_axi_local_bresp(window_local_bresp), .m_axi_local_bvalid(window_local_bvalid),
    .m_axi_local_bready(window_local_bready), .m_axi_aperture_arid(unused_host_m_aperture_arid),
    .m_axi_aperture_araddr(window_host_araddr), .m_axi_aperture_arlen(window_host_arlen),
    .m_axi_aperture_arnosnoop(window_host_arnosnoop), .m_axi_aperture_arvalid(window_host_arvalid),
    .m_axi_aperture_arready(window_host_arready), .m_axi_aperture_rid(2'd2),
    .m_axi_aperture_rdata(window_host_rdata), .m_axi_aperture_rresp(window_host_rresp),
    .m_axi_aperture_rfault(window_host_rfault), .m_axi_aperture_rlast(window_host_rlast),
    .m_axi_aperture_rvalid(window_host_rvalid), .m_axi_aperture_rready(window_host_rready),
    .m_axi_aperture_awid(unused_host_m_aperture_awid), .m_axi_aperture_awaddr(window_host_awaddr),
    .m_axi_aperture_awlen(window_host_awlen), .m_axi_aperture_awnosnoop(window_host_awnosnoop),
    .m_axi_aperture_awvalid(window_host_awvalid), .m_axi_aperture_awready(window_host_awready),
    .m_axi_aperture_wdata(window_host_wdata), .m_axi_aperture_wstrb(window_host_wstrb),
    .m_axi_aperture_wlast(window_host_wlast), .m_axi_aperture_wvalid(window_host_wvalid),
    .m_axi_aperture_wready(window_host_wready), .m_axi_aperture_bid(2'd2),
    .m_axi_aperture_bresp(window_host_bresp), .m_axi_aperture_bvalid(window_host_bvalid),
    .m_axi_aperture_bready(window_host_bready), .lookup_valid(window_lookup_valid),
    .lookup_ready(window_lookup_ready), .lookup_page(window_lookup_page), .result_valid(window_result_valid),
    .result_hit(window_result_hit), .result_snoop(window_result_snoop), .result_page(window_result_page),
    .local_limit(local_limit), .protect_base(protect_base), .protect_limit(protect_limit),
    .completion_timeout(completion_timeout), .tag_limit(tag_limit), .interrupt_cause(interrupt_cause),
    .interrupt_clear(interrupt_clear), .interrupt_status(interrupt_status), .interrupt_enable(interrupt_enable),
    .interrupt_coalesce_count(interrupt_coalesce_count), .interrupt_coalesce_cycles(interrupt_coalesce_cycles),
    .interrupt_count(interrupt_count), .requester_busy(requester_busy), .count_stall_link(count_stall_link),
    .count_tlp_received(count_tlp_received), .count_tlp_sent(count_tlp_sent),
    .count_link_receive_beat(count_link_receive_beat), .count_link_send_beat(count_link_send_beat),
    .count_unsupported(count_unsupported), .count_malformed(count_malformed), .count_poisoned(count_poisoned),
    .count_unexpected(count_unexpected), .count_window_refused(count_window_refused)
);

ferry_control #(
    .TAGS(TAGS), .RINGS(RINGS), .SLOTS(SLOTS), .SLOT_BYTES_LOG2(SLOT_BYTES_LOG2),
    .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES),
    .FIRMWARE_RAM_WORDS(FIRMWARE_RAM_WORDS), .FIRMWARE_HEX(FIRMWARE_HEX), .JOB_QUEUE(JOB_QUEUE), .CPU_CORE(CPU_CORE)
) control (
    .clk(clk), .rst(rst), .reg_valid(reg_valid), .reg_write(reg_write), .reg_address(reg_address),
    .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready), .reg_rdata(reg_rdata),
    .local_limit(local_limit), .protect_base(protect_base), .protect_limit(protect_limit),
    .completion_timeout(completion_timeout), .tag_limit(tag_limit), .interrupt_cause(interrupt_cause),
    .interrupt_clear(interrupt_clear), .interrupt_status(interrupt_status), .interrupt_enable(interrupt_enable),
    .interrupt_coalesce_count(interrupt_coalesce_count), .interrupt_coalesce_cycles(interrupt_coalesce_cycles),
    .interrupt_count(interrupt_count), .requester_busy(requester_busy), .count_stall_link(count_stall_link),
    .count_tlp_received(count_tlp_received), .count_tlp_sent(count_tlp_sent),
    .count_link_receive_beat(count_link_receive_beat), .count_link_send_beat(count_link_send_beat),
    .count_unsupported(count_unsupported), .count_malformed(count_malformed), .count_poisoned(count_poisoned),
    .count_unexpected(count_unexpected), .count_window_refused(count_window_refused), .reset_request(reset_request),
    .resetting(resetting), .timeout(timeout), .core_busy(core_busy), .job_valid(job_valid), .job_ready(job_ready),
    .job_op(job_op), .job_source_kind(job_source_kind), .job_destination_kind(job_destination_kind),
    .job_list(job_list), .job_unordered(job_unordered), .job_protected(job_protected), .job_slot(job_slot),
    .slot_tags(slot_tags), .job_pattern_log2(job_pattern_log2), .job_packet_offset(job_packet_offset), .job_source(job_source),
    .job_destination(job_destination), .job_length(job_length), .job_list_address(job_list_address),
    .jobs_retired(jobs_retired), .poison(poison), .poison_clear(poison_clear), .fault_valid(fault_valid),
    .fault_kind(fault_kind), .fault_slot(fault_slot), .fault_write(fault_write),
    .fault_packet_offset(fault_packet_offset), .fault_address(fault_address),
    .fault_address_kind(fault_address_kind), .fault_written(fault_written), .fault_clear(fault_clear),
    .update_valid(update_valid), .update_ready(update_ready), .update_first(update_first),
    .update_count(update_count), .update_list(update_list), .update_unmap(update_unmap), .update_snoop(update_snoop),
    .update_dummy(update_dummy), .update_busy(update_busy), .post_busy(post_busy), .fetch_busy(fetch_busy),
    .fetch_araddr(fetch_araddr), .fetch_arlen(fetch_arlen), .fetch_arnosnoop(fetch_arnosnoop),
    .fetch_arvalid(fetch_arvalid), .fetch_arready(fetch_arready), .fetch_rdata(fetch_rdata),
    .fetch_rresp(fetch_rresp), .fetch_rlast(fetch_rlast), .fetch_rvalid(fetch_rvalid), .fetch_rready(fetch_rready),
    .engine_list_valid(engine_list_valid), .engine_list_ready(engine_list_ready),
    .engine_list_address(engine_list_address), .engine_list_data_valid(engine_list_data_valid),
    .engine_list_data(engine_list_data), .update_list_valid(update_list_valid),
    .update_list_ready(update_list_ready), .update_list_address(update_list_address),
    .update_list_data_valid(update_list_data_valid), .update_list_data(update_list_data), .post_awaddr(post_awaddr),
    .post_awlen(post_awlen), .post_awnosnoop(post_awnosnoop), .post_awvalid(post_awvalid),
    .post_awready(post_awready), .post_wdata(post_wdata), .post_wstrb(post_wstrb), .post_wlast(post_wlast),
    .post_wvalid(post_wvalid), .post_wready(post_wready), .post_bresp(post_bresp), .post_bvalid(post_bvalid),
    .post_bready(post_bready), .engine_busy(engine_busy), .engine_busy_read(engine_busy_read),
    .engine_busy_write(engine_busy_write), .count_job(count_job), .count_local_read_beat(count_local_read_beat),
    .count_local_write_beat(count_local_write_beat), .count_host_read_beat(count_host_read_beat),
    .count_host_write_beat(count_host_write_beat), .count_stall_read(count_stall_read),
    .count_stall_write(count_stall_write)
);

ferry_datapath #(
    .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .JOB_QUEUE(JOB_QUEUE)
) datapath (
    .clk(clk), .rst(rst), .host_arid(host_arid), .host_araddr(host_araddr), .host_arlen(host_arlen),
    .host_arnosnoop(host_arnosnoop), .host_arvalid(host_arvalid), .host_arready(host_arready), .host_rid(host_rid),
    .host_rdata(host_rdata), .host_rresp(host_rresp), .host_rfault(host_rfault), .host_rlast(host_rlast),
    .host_rvalid(host_rvalid), .host_rready(host_rready), .host_awid(host_awid), .host_awaddr(host_awaddr),
    .host_awlen(host_awlen), .host_awnosnoop(host_awnosnoop), .host_awtag(host_awtag),
    .host_awvalid(host_awvalid),
    .host_awready(host_awready), .host_wdata(host_wdata), .host_wstrb(host_wstrb), .host_wlast(host_wlast),
    .host_wvalid(host_wvalid), .host_wready(host_wready), .host_bid(host_bid), .host_bresp(host_bresp),
    .host_bvalid(host_bvalid), .host_bready(host_bready), .window_local_araddr(window_local_araddr),
    .window_local_arlen(window_local_arlen), .window_local_arvalid(window_local_arvalid),
    .window_local_arready(window_local_arready), .window_local_rdata(window_local_rdata),
    .window_local_rresp(window_local_rresp), .window_local_rlast(window_local_rlast),
    .window_local_rvalid(window_local_rvalid), .window_local_rready(window_local_rready),
    .window_local_awaddr(window_local_awaddr), .window_local_awlen(window_local_awlen),
    .window_local_awvalid(window_local_awvalid), .window_local_awready(window_local_awready),
    .window_local_wdata(window_local_wdata), .window_local_wstrb(window_local_wstrb),
    .window_local_wlast(window_local_wlast), .window_local_wvalid(window_local_wvalid),
    .window_local_wready(window_local_wready), .window_local_bresp(window_local_bresp),
    .window_local_bvalid(window_local_bvalid), .window_local_bready(window_local_bready),
    .window_host_araddr(window_host_araddr), .window_host_arlen(window_host_arlen),
    .window_host_arnosnoop(window_host_arnosnoop), .window_host_arvalid(window_host_arvalid),
    .window_host_arready(window_host_arready), .window_host_rdata(window_host_rdata),
    .window_host_rresp(window_host_rresp), .window_host_rfault(window_host_rfault),
    .window_host_rlast(window_host_rlast), .window_host_rvalid(window_host_rvalid),
    .window_host_rready(window_host_rready), .window_host_awaddr(window_host_awaddr),
    .window_host_awlen(window_host_awlen), .window_host_awnosnoop(window_host_awnosnoop),
    .window_host_awvalid(window_host_awvalid), .window_host_awready(window_host_awready),
    .window_host_wdata(window_host_wdata), .window_host_wstrb(window_host_wstrb),
    .window_host_wlast(window_host_wlast), .window_host_wvalid(window_host_wvalid),
    .window_host_wready(window_host_wready), .window_host_bresp(window_host_bresp),
    .window_host_bvalid(window_host_bvalid), .window_host_bready(window_host_bready),
    .window_lookup_valid(window_lookup_valid), .window_lookup_ready(window_lookup_ready),
    .window_lookup_page(window_lookup_page), .window_result_valid(window_result_valid),
    .window_result_hit(window_result_hit), .window_result_snoop(window_result_snoop),
    .window_result_page(window_result_page), .local_limit(local_limit), .protect_base(protect_base),
    .protect_limit(protect_limit), .reset_request(reset_request), .resetting(resetting), .timeout(timeout),
    .job_valid(job_valid), .job_ready(job_ready), .job_op(job_op), .job_source_kind(job_source_kind),
    .job_destination_kind(job_destination_kind), .job_list(job_list), .job_unordered(job_unordered),
    .job_protected(job_protected), .job_slot(job_slot), .slot_tags(slot_tags), .job_pattern_log2(job_pattern_log2),
    .job_packet_offset(job_packet_offset), .job_source(job_source), .job_destination(job_destination),
    .job_length(job_length), .job_list_address(job_list_address), .jobs_retired(jobs_retired), .poison(poison),
    .poison_clear(poison_clear), .fault_valid(fault_valid), .fault_kind(fault_kind), .fault_slot(fault_slot),
    .fault_write(fault_write), .fault_packet_offset(fault_packet_offset), .fault_address(fault_address),
    .fault_address_kind(fault_address_kind), .fault_written(fault_written), .fault_clear(fault_clear),
    .update_valid(update_valid), .update_ready(update_ready), .update_first(update_first),
    .update_count(update_count), .update_list(update_list), .update_unmap(update_unmap), .update_snoop(update_snoop),
    .update_dummy(update_dummy), .update_busy(update_busy), .fetch_araddr(fetch_araddr), .fetch_arlen(fetch_arlen),
    .fetch_arnosnoop(fetch_arnosnoop), .fetch_arvalid(fetch_arvalid), .fetch_arready(fetch_arready),
    .fetch_rdata(fetch_rdata), .fetch_rresp(fetch_rresp), .fetch_rlast(fetch_rlast), .fetch_rvalid(fetch_rvalid),
    .fetch_rready(fetch_rready), .engine_list_valid(engine_list_valid), .engine_list_ready(engine_list_ready),
    .engine_list_address(engine_list_address), .engine_list_data_valid(engine_list_data_valid),
    .engine_list_data(engine_list_data), .update_list_valid(update_list_valid),
    .update_list_ready(update_list_ready), .update_list_address(update_list_address),
    .update_list_data_valid(update_list_data_valid), .update_list_data(update_list_data), .post_awaddr(post_awaddr),
    .post_awlen(post_awlen), .post_awnosnoop(post_awnosnoop), .post_awvalid(post_awvalid),
    .post_awready(post_awready), .post_wdata(post_wdata), .post_wstrb(post_wstrb), .post_wlast(post_wlast),
    .post_wvalid(post_wvalid), .post_wready(post_wready), .post_bresp(post_bresp), .post_bvalid(post_bvalid),
    .post_bready(post_bready), .engine_busy(engine_busy), .engine_busy_read(engine_busy_read),
    .engine_busy_write(engine_busy_write), .count_job(count_job), .count_local_read_beat(count_local_read_beat),
    .count_local_write_beat(count_local_write_beat), .count_host_read_beat(count_host_read_beat),
    .count_host_write_beat(count_host_write_beat), .count_stall_read(count_stall_read),
    .count_stall_write(count_stall_write), .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr),
    .m_axi_arlen(m_axi_arlen), .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid),
    .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid),
    .m_axi_rready(m_axi_rready), .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen),
    .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready), .m_axi_wdata(m_axi_wdata),
    .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready),
    .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid), .m_axi_bready(m_axi_bready)
);

ferry_observe observe (
    .clk(clk), .core(core_busy), .engine(engine_busy), .engine_read(engine_busy_read),
    .engine_write(engine_busy_write), .requester(requester_busy), .fetch(fetch_busy), .post(post_busy)
);

endmodule

`default_nettype wire
