// SPDX-License-Identifier: Apache-2.0
// The moving half of the device: the copy engine, the aperture table, and the multiplexers that bring their accesses,
// the fetcher's, the poster's and the BAR2 window's to video memory and to the host.
`default_nettype none

module ferry_datapath #(
    // Parameters as in ferry_device.
    parameter LOCAL_ADDRESS_BITS = 26,
    parameter APERTURE_PAGES = 4096,
    parameter JOB_QUEUE = 8
) (
    // Clock and synchronous reset.
    input  wire clk,
    input  wire rst,

    // Host port, AXI4: what all masters ask of host memory.
    output wire [1:0] host_arid,
    output wire [63:0] host_araddr,
    output wire [7:0] host_arlen,
    output wire host_arnosnoop,
    output wire host_arvalid,
    input  wire host_arready,
    input  wire [1:0] host_rid,
    input  wire [63:0] host_rdata,
    input  wire [1:0] host_rresp,
    input  wire [7:0] host_rfault,
    input  wire host_rlast,
    input  wire host_rvalid,
    output wire host_rready,
    output wire [1:0] host_awid,
    output wire [63:0] host_awaddr,
    output wire [7:0] host_awlen,
    output wire host_awnosnoop,
    output wire [7:0] host_awtag,
    output wire host_awvalid,
    input  wire host_awready,
    output wire [63:0] host_wdata,
    output wire [7:0] host_wstrb,
    output wire host_wlast,
    output wire host_wvalid,
    input  wire host_wready,
    input  wire [1:0] host_bid,
    input  wire [1:0] host_bresp,
    input  wire host_bvalid,
    output wire host_bready,

    // BAR2 window to local memory, AXI4.
    input  wire [LOCAL_ADDRESS_BITS-1:0] window_local_araddr,
    input  wire [7:0] window_local_arlen,
    input  wire window_local_arvalid,
    output wire window_local_arready,
    output wire [63:0] window_local_rdata,
    output wire [1:0] window_local_rresp,
    output wire window_local_rlast,
    output wire window_local_rvalid,
    input  wire window_local_rready,
    input  wire [LOCAL_ADDRESS_BITS-1:0] window_local_awaddr,
    input  wire [7:0] window_local_awlen,
    input  wire window_local_awvalid,
    output wire window_local_awready,
    input  wire [63:0] window_local_wdata,
    input  wire [7:0] window_local_wstrb,
    input  wire window_local_wlast,
    input  wire window_local_wvalid,
    output wire window_local_wready,
    output wire [1:0] window_local_bresp,
    output wire window_local_bvalid,
    input  wire window_local_bready,

    // BAR2 window to host pages behind the aperture, AXI4.
    input  wire [63:0] window_host_araddr,
    input  wire [7:0] window_host_arlen,
    input  wire window_host_arnosnoop,
    input  wire window_host_arvalid,
    output wire window_host_arready,
    output wire [63:0] window_host_rdata,
    output wire [1:0] window_host_rresp,
    output wire [7:0] window_host_rfault,
    output wire window_host_rlast,
    output wire window_host_rvalid,
    input  wire window_host_rready,
    input  wire [63:0] window_host_awaddr,
    input  wire [7:0] window_host_awlen,
    input  wire window_host_awnosnoop,
    input  wire window_host_awvalid,
    output wire window_host_awready,
    input  wire [63:0] window_host_wdata,
    input  wire [7:0] window_host_wstrb,
    input  wire window_host_wlast,
    input  wire window_host_wvalid,
    output wire window_host_wready,
    output wire [1:0] window_host_bresp,
    output wire window_host_bvalid,
    input  wire window_host_bready,

    // BAR2 window's lookups in the aperture table.
    input  wire window_lookup_valid,
    output wire window_lookup_ready,
    input  wire [31:0] window_lookup_page,
    output wire window_result_valid,
    output wire window_result_hit,
    output wire window_result_snoop,
    output wire [51:12] window_result_page,

    // What the host set: limits of video memory, timeouts, tags.
    input  wire [63:0] local_limit,
    input  wire [63:0] protect_base,
    input  wire [63:0] protect_limit,

    // Engine reset: a pulse, and 1 while it goes on.
    input  wire reset_request,
    output wire resetting,

    // ENGINE_TIMEOUT.
    input  wire [31:0] timeout,

    // Engine jobs and their retirement, as in ferry_engine.
    input  wire job_valid,
    output wire job_ready,
    input  wire [2:0] job_op,
    input  wire [1:0] job_source_kind,
    input  wire [1:0] job_destination_kind,
    input  wire [1:0] job_list,
    input  wire job_unordered,
    input  wire job_protected,
    input  wire [1:0] job_slot,
    // Whose buffer each slot holds, 8 bits a slot in the layout of WRITE_TAG.
    input  wire [31:0] slot_tags,
    input  wire [1:0] job_pattern_log2,
    input  wire [15:0] job_packet_offset,
    input  wire [63:0] job_source,
    input  wire [63:0] job_destination,
    input  wire [31:0] job_length,
    input  wire [15:0] job_list_address,
    output wire [31:0] jobs_retired,
    output wire [3:0] poison,
    input  wire [3:0] poison_clear,

    // The engine's fault.
    output wire fault_valid,
    output wire [7:0] fault_kind,
    output wire [1:0] fault_slot,
    output wire fault_write,
    output wire [15:0] fault_packet_offset,
    output wire [63:0] fault_address,
    output wire [1:0] fault_address_kind,
    output wire [31:0] fault_written,
    input  wire fault_clear,

    // A change of the aperture table, as in ferry_aperture_update.
    input  wire update_valid,
    output wire update_ready,
    input  wire [31:0] update_first,
    input  wire [31:0] update_count,

    // Page lists of the aperture table's changes, in command RAM.
    input  wire [15:0] update_list,

    // A change of the aperture table, as in ferry_aperture_update.
    input  wire update_unmap,
    input  wire update_snoop,
    input  wire [63:0] update_dummy,
    output wire update_busy,

    // Reads of ring entries and buffers, AXI4 read port.
    input  wire [63:0] fetch_araddr,
    input  wire [7:0] fetch_arlen,
    input  wire fetch_arnosnoop,
    input  wire fetch_arvalid,
    output wire fetch_arready,
    output wire [63:0] fetch_rdata,
    output wire [1:0] fetch_rresp,
    output wire fetch_rlast,
    output wire fetch_rvalid,
    input  wire fetch_rready,

    // Page lists of the engine, in command RAM.
    output wire engine_list_valid,
    input  wire engine_list_ready,
    output wire [15:0] engine_list_address,
    input  wire engine_list_data_valid,
    input  wire [63:0] engine_list_data,

    // Page lists of the aperture table's changes, in command RAM.
    output wire update_list_valid,
    input  wire update_list_ready,
    output wire [15:0] update_list_address,
    input  wire update_list_data_valid,
    input  wire [63:0] update_list_data,

    // Fence and fault records, AXI4 write port.
    input  wire [63:0] post_awaddr,
    input  wire [7:0] post_awlen,
    input  wire post_awnosnoop,
    input  wire post_awvalid,
    output wire post_awready,
    input  wire [63:0] post_wdata,
    input  wire [7:0] post_wstrb,
    input  wire post_wlast,
    input  wire post_wvalid,
    output wire post_wready,
    output wire [1:0] post_bresp,
    output wire post_bvalid,
    input  wire post_bready,

    // The engine has a job, a read, a write outstanding.
    output wire engine_busy,
    output wire engine_busy_read,
    output wire engine_busy_write,

    // One-cycle strobes for the counters of the contract.
    output wire count_job,
    output wire count_local_read_beat,
    output wire count_local_write_beat,
    output wire count_host_read_beat,
    output wire count_host_write_beat,
    output wire count_stall_read,
    output wire count_stall_write,

    // Video memory, AXI4, as in ferry_device.
    output wire [1:0] m_axi_arid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0] m_axi_arlen,
    output wire m_axi_arvalid,
    input  wire m_axi_arready,
    input  wire [1:0] m_axi_rid,
    input  wire [63:0] m_axi_rdata,
    input  wire [1:0] m_axi_rresp,
    input  wire m_axi_rlast,
    input  wire m_axi_rvalid,
    output wire m_axi_rready,
    output wire [1:0] m_axi_awid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0] m_axi_awlen,
    output wire m_axi_awvalid,
    input  wire m_axi_awready,
    output wire [63:0] m_axi_wdata,
    output wire [7:0] m_axi_wstrb,
    output wire m_axi_wlast,
    output wire m_axi_wvalid,
    input  wire m_axi_wready,
    input  wire [1:0] m_axi_bid,
    input  wire [1:0] m_axi_bresp,
    input  wire m_axi_bvalid,
    output wire m_axi_bready
);

wire read_lookup_valid, read_lookup_ready, read_result_valid, read_result_hit, read_result_snoop, write_lookup_valid,
    write_lookup_ready, write_result_valid, write_result_hit, write_result_snoop, engine_local_arvalid,
    engine_local_arready, engine_local_rlast, engine_local_rvalid, engine_local_rready, engine_local_awvalid,
    engine_local_awready, engine_local_wlast, engine_local_wvalid, engine_local_wready, engine_local_bvalid,
    engine_local_bready, engine_host_arnosnoop, engine_host_arvalid, engine_host_arready, engine_host_rlast,
    engine_host_rvalid, engine_host_rready, engine_host_awnosnoop, engine_host_awvalid, engine_host_awready,
    engine_host_wlast, engine_host_wvalid, engine_host_wready, engine_host_bvalid, engine_host_bready,
    table_write_valid, table_write_ready, table_write_entry_valid, table_write_entry_snoop, table_clearing;
wire [31:0] read_lookup_page, write_lookup_page, table_write_page;
wire [51:12] read_result_page, write_result_page, table_write_entry_page;
wire [LOCAL_ADDRESS_BITS-1:0] engine_local_araddr, engine_local_awaddr;
wire [7:0] engine_local_arlen, engine_local_awlen, engine_local_wstrb, engine_host_arlen, engine_host_rfault,
    engine_host_awlen, engine_host_wstrb;
wire [63:0] engine_local_rdata, engine_local_wdata, engine_host_araddr, engine_host_rdata, engine_host_awaddr,
    engine_host_wdata;
wire [1:0] engine_local_rresp, engine_local_bresp, engine_host_rresp, engine_host_bresp, engine_host_awslot;

ferry_engine #(
    .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .LG_JOBS($clog2(JOB_QUEUE))
) engine (
    .clk(clk), .rst(rst), .job_valid(job_valid), .job_ready(job_ready), .job_op(job_op),
    .job_source_kind(job_source_kind), .job_destination_kind(job_destination_kind), .job_list(job_list),
    .job_unordered(job_unordered), .job_protected(job_protected), .job_slot(job_slot),
    .job_pattern_log2(job_pattern_log2), .job_packet_offset(job_packet_offset), .job_source(job_source),
    .job_destination(job_destination), .job_length(job_length), .job_list_address(job_list_address),
    .jobs_retired(jobs_retired), .poison(poison), .poison_clear(poison_clear), .fault_valid(fault_valid),
    .fault_kind(fault_kind), .fault_slot(fault_slot), .fault_write(fault_write),
    .fault_packet_offset(fault_packet_offset), .fault_address(fault_address),
    .fault_address_kind(fault_address_kind), .fault_written(fault_written), .fault_clear(fault_clear),
    .local_limit(local_limit), .protect_base(protect_base), .protect_limit(protect_limit), .timeout(timeout),
    .reset_request(reset_request), .resetting(resetting), .busy(engine_busy), .busy_read(engine_busy_read),
    .busy_write(engine_busy_write), .count_job(count_job), .count_local_read_beat(count_local_read_beat),
    .count_local_write_beat(count_local_write_beat), .count_host_read_beat(count_host_read_beat),
    .count_host_write_beat(count_host_write_beat), .count_stall_read(count_stall_read),
    .count_stall_write(count_stall_write), .list_valid(engine_list_valid), .list_ready(engine_list_ready),
    .list_address(engine_list_address), .list_data_valid(engine_list_data_valid), .list_data(engine_list_data),
    .read_lookup_valid(read_lookup_valid), .read_lookup_ready(read_lookup_ready),
    .read_lookup_page(read_lookup_page), .read_result_valid(read_result_valid), .read_result_hit(read_result_hit),
    .read_result_snoop(read_result_snoop), .read_result_page(read_result_page),
    .write_lookup_valid(write_lookup_valid), .write_lookup_ready(write_lookup_ready),
    .write_lookup_page(write_lookup_page), .write_result_valid(write_result_valid),
    .write_result_hit(write_result_hit), .write_result_snoop(write_result_snoop),
    .write_result_page(write_result_page), .m_axi_local_araddr(engine_local_araddr),
    .m_axi_local_arlen(engine_local_arlen), .m_axi_local_arvalid(engine_local_arvalid),
    .m_axi_local_arready(engine_local_arready), .m_axi_local_rdata(engine_local_rdata),
    .m_axi_local_rresp(engine_local_rresp), .m_axi_local_rlast(engine_local_rlast),
    .m_axi_local_rvalid(engine_local_rvalid), .m_axi_local_rready(engine_local_rready),
    .m_axi_local_awaddr(engine_local_awaddr), .m_axi_local_awlen(engine_local_awlen),
    .m_axi_local_awvalid(engine_local_awvalid), .m_axi_local_awready(engine_local_awready),
    .m_axi_local_wdata(engine_local_wdata), .m_axi_local_wstrb(engine_local_wstrb),
    .m_axi_local_wlast(engine_local_wlast), .m_axi_local_wvalid(engine_local_wvalid),
    .m_axi_local_wready(engine_local_wready), .m_axi_local_bresp(engine_local_bresp),
    .m_axi_local_bvalid(engine_local_bvalid), .m_axi_local_bready(engine_local_bready),
    .m_axi_host_araddr(engine_host_araddr), .m_axi_host_arlen(engine_host_arlen),
    .m_axi_host_arnosnoop(engine_host_arnosnoop), .m_axi_host_arvalid(engine_host_arvalid),
    .m_axi_host_arready(engine_host_arready), .m_axi_host_rdata(engine_host_rdata),
    .m_axi_host_rresp(engine_host_rresp), .m_axi_host_rfault(engine_host_rfault),
    .m_axi_host_rlast(engine_host_rlast), .m_axi_host_rvalid(engine_host_rvalid),
    .m_axi_host_rready(engine_host_rready), .m_axi_host_awaddr(engine_host_awaddr),
    .m_axi_host_awlen(engine_host_awlen), .m_axi_host_awnosnoop(engine_host_awnosnoop),
    .m_axi_host_awslot(engine_host_awslot),
    .m_axi_host_awvalid(engine_host_awvalid), .m_axi_host_awready(engine_host_awready),
    .m_axi_host_wdata(engine_host_wdata), .m_axi_host_wstrb(engine_host_wstrb), .m_axi_host_wlast(engine_host_wlast),
    .m_axi_host_wvalid(engine_host_wvalid), .m_axi_host_wready(engine_host_wready),
    .m_axi_host_bresp(engine_host_bresp), .m_axi_host_bvalid(engine_host_bvalid),
    .m_axi_host_bready(engine_host_bready)
);

ferry_aperture_update aperture_update (
    .clk(clk), .rst(rst), .update_valid(update_valid), .update_ready(update_ready), .update_first(update_first),
    .update_count(update_count), .update_list(update_list), .update_unmap(update_unmap), .update_snoop(update_snoop),
    .update_dummy(update_dummy), .update_busy(update_busy), .list_valid(update_list_valid),
    .list_ready(update_list_ready), .list_address(update_list_address), .list_data_valid(update_list_data_valid),
    .list_data(update_list_data), .write_valid(table_write_valid), .write_ready(table_write_ready),
    .write_page(table_write_page), .write_entry_valid(table_write_entry_valid),
    .write_entry_snoop(table_write_entry_snoop), .write_entry_page(table_write_entry_page)
);

ferry_aperture_table #(.PAGES(APERTURE_PAGES)) aperture_table (
    .clk(clk), .rst(rst), .clearing(table_clearing), .lookup0_valid(read_lookup_valid),
    .lookup0_ready(read_lookup_ready), .lookup0_page(read_lookup_page), .result0_valid(read_result_valid),
    .result0_hit(read_result_hit), .result0_snoop(read_result_snoop), .result0_page(read_result_page),
    .lookup1_valid(write_lookup_valid), .lookup1_ready(write_lookup_ready), .lookup1_page(write_lookup_page),
    .result1_valid(write_result_valid), .result1_hit(write_result_hit), .result1_snoop(write_result_snoop),
    .result1_page(write_result_page), .lookup2_valid(window_lookup_valid), .lookup2_ready(window_lookup_ready),
    .lookup2_page(window_lookup_page), .result2_valid(window_result_valid), .result2_hit(window_result_hit),
    .result2_snoop(window_result_snoop), .result2_page(window_result_page), .write_valid(table_write_valid),
    .write_ready(table_write_ready), .write_page(table_write_page), .write_entry_valid(table_write_entry_valid),
    .write_entry_snoop(table_write_entry_snoop), .write_entry_page(table_write_entry_page)
);

wire [7:0] unused_host_read_s1_rfault;
ferry_axi_read_mux #(.ADDRESS_BITS(64)) host_read_mux (
    .clk(clk), .rst(rst), .s0_axi_araddr(engine_host_araddr), .s0_axi_arlen(engine_host_arlen),
    .s0_axi_arnosnoop(engine_host_arnosnoop), .s0_axi_arvalid(engine_host_arvalid),
    .s0_axi_arready(engine_host_arready), .s0_axi_rdata(engine_host_rdata), .s0_axi_rresp(engine_host_rresp),
    .s0_axi_rfault(engine_host_rfault), .s0_axi_rlast(engine_host_rlast), .s0_axi_rvalid(engine_host_rvalid),
    .s0_axi_rready(engine_host_rready), .s1_axi_araddr(fetch_araddr), .s1_axi_arlen(fetch_arlen),
    .s1_axi_arnosnoop(fetch_arnosnoop), .s1_axi_arvalid(fetch_arvalid), .s1_axi_arready(fetch_arready),
    .s1_axi_rdata(fetch_rdata), .s1_axi_rresp(fetch_rresp), .s1_axi_rfault(unused_host_read_s1_rfault),
    .s1_axi_rlast(fetch_rlast),
    .s1_axi_rvalid(fetch_rvalid), .s1_axi_rready(fetch_rready), .s2_axi_araddr(window_host_araddr),
    .s2_axi_arlen(window_host_arlen), .s2_axi_arnosnoop(window_host_arnosnoop), .s2_axi_arvalid(window_host_arvalid),
    .s2_axi_arready(window_host_arready), .s2_axi_rdata(window_host_rdata), .s2_axi_rresp(window_host_rresp),
    .s2_axi_rfault(window_host_rfault), .s2_axi_rlast(window_host_rlast), .s2_axi_rvalid(window_host_rvalid),
    .s2_axi_rready(window_host_rready), .m_axi_arid(host_arid), .m_axi_araddr(host_araddr), .m_axi_arlen(host_arlen),
    .m_axi_arnosnoop(host_arnosnoop), .m_axi_arvalid(host_arvalid), .m_axi_arready(host_arready),
    .m_axi_rid(host_rid), .m_axi_rdata(host_rdata), .m_axi_rresp(host_rresp), .m_axi_rfault(host_rfault),
    .m_axi_rlast(host_rlast), .m_axi_rvalid(host_rvalid), .m_axi_rready(host_rready)
);

// A posted write has no completion, so a host that refuses one can tell the driver only by the write's tag whose it was.
wire [7:0] engine_tag = slot_tags[{engine_host_awslot, 3'd0} +: 8];
localparam [7:0] NO_TAG = 8'hff;

ferry_axi_write_mux #(.ADDRESS_BITS(64)) host_write_mux (
    .clk(clk), .rst(rst), .s0_axi_awaddr(engine_host_awaddr), .s0_axi_awlen(engine_host_awlen),
    .s0_axi_awnosnoop(engine_host_awnosnoop), .s0_axi_awtag(engine_tag),
    .s0_axi_awvalid(engine_host_awvalid),
    .s0_axi_awready(engine_host_awready), .s0_axi_wdata(engine_host_wdata), .s0_axi_wstrb(engine_host_wstrb),
    .s0_axi_wlast(engine_host_wlast), .s0_axi_wvalid(engine_host_wvalid), .s0_axi_wready(engine_host_wready),
    .s0_axi_bresp(engine_host_bresp), .s0_axi_bvalid(engine_host_bvalid), .s0_axi_bready(engine_host_bready),
    .s1_axi_awaddr(post_awaddr), .s1_axi_awlen(post_awlen), .s1_axi_awnosnoop(post_awnosnoop),
    .s1_axi_awtag(NO_TAG),
    .s1_axi_awvalid(post_awvalid), .s1_axi_awready(post_awready), .s1_axi_wdata(post_wdata),
    .s1_axi_wstrb(post_wstrb), .s1_axi_wlast(post_wlast), .s1_axi_wvalid(post_wvalid), .s1_axi_wready(post_wready),
    .s1_axi_bresp(post_bresp), .s1_axi_bvalid(post_bvalid), .s1_axi_bready(post_bready),
    .s2_axi_awaddr(window_host_awaddr), .s2_axi_awlen(window_host_awlen), .s2_axi_awnosnoop(window_host_awnosnoop), .s2_axi_awtag(NO_TAG),
    .s2_axi_awvalid(window_host_awvalid), .s2_axi_awready(window_host_awready), .s2_axi_wdata(window_host_wdata),
    .s2_axi_wstrb(window_host_wstrb), .s2_axi_wlast(window_host_wlast), .s2_axi_wvalid(window_host_wvalid),
    .s2_axi_wready(window_host_wready), .s2_axi_bresp(window_host_bresp), .s2_axi_bvalid(window_host_bvalid),
    .s2_axi_bready(window_host_bready), .m_axi_awid(host_awid), .m_axi_awaddr(host_awaddr), .m_axi_awlen(host_awlen),
    .m_axi_awnosnoop(host_awnosnoop), .m_axi_awtag(host_awtag), .m_axi_awvalid(host_awvalid),
    .m_axi_awready(host_awready),
    .m_axi_wdata(host_wdata), .m_axi_wstrb(host_wstrb), .m_axi_wlast(host_wlast), .m_axi_wvalid(host_wvalid),
    .m_axi_wready(host_wready), .m_axi_bid(host_bid), .m_axi_bresp(host_bresp), .m_axi_bvalid(host_bvalid),
    .m_axi_bready(host_bready)
);

wire [7:0] unused_local_read_s0_rfault, unused_local_read_s1_rfault, unused_local_read_s2_rfault;
wire unused_local_read_s1_arready, unused_local_read_s1_rlast, unused_local_read_s1_rvalid,
    unused_local_read_m_arnosnoop;
wire [63:0] unused_local_read_s1_rdata;
wire [1:0] unused_local_read_s1_rresp;
ferry_axi_read_mux #(.ADDRESS_BITS(LOCAL_ADDRESS_BITS)) local_read_mux (
    .clk(clk), .rst(rst), .s0_axi_araddr(engine_local_araddr), .s0_axi_arlen(engine_local_arlen),
    .s0_axi_arnosnoop(1'b0), .s0_axi_arvalid(engine_local_arvalid), .s0_axi_arready(engine_local_arready),
    .s0_axi_rdata(engine_local_rdata), .s0_axi_rresp(engine_local_rresp), .s0_axi_rfault(unused_local_read_s0_rfault),
    .s0_axi_rlast(engine_local_rlast), .s0_axi_rvalid(engine_local_rvalid), .s0_axi_rready(engine_local_rready),
    .s1_axi_araddr({LOCAL_ADDRESS_BITS{1'b0}}), .s1_axi_arlen(8'd0), .s1_axi_arnosnoop(1'b0), .s1_axi_arvalid(1'b0),
    .s1_axi_arready(unused_local_read_s1_arready), .s1_axi_rdata(unused_local_read_s1_rdata),
    .s1_axi_rresp(unused_local_read_s1_rresp), .s1_axi_rfault(unused_local_read_s1_rfault),
    .s1_axi_rlast(unused_local_read_s1_rlast), .s1_axi_rvalid(unused_local_read_s1_rvalid),
    .s1_axi_rready(1'b0), .s2_axi_araddr(window_local_araddr), .s2_axi_arlen(window_local_arlen),
    .s2_axi_arnosnoop(1'b0), .s2_axi_arvalid(window_local_arvalid), .s2_axi_arready(window_local_arready),
    .s2_axi_rdata(window_local_rdata), .s2_axi_rresp(window_local_rresp), .s2_axi_rfault(unused_local_read_s2_rfault),
    .s2_axi_rlast(window_local_rlast), .s2_axi_rvalid(window_local_rvalid), .s2_axi_rready(window_local_rready),
    .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen),
    .m_axi_arnosnoop(unused_local_read_m_arnosnoop),
    .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata),
    .m_axi_rresp(m_axi_rresp), .m_axi_rfault(8'd0), .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid),
    .m_axi_rready(m_axi_rready)
);

wire unused_local_write_s1_awready, unused_local_write_s1_wready, unused_local_write_s1_bvalid,
    unused_local_write_m_awnosnoop;
wire [7:0] unused_local_write_m_awtag;
wire [1:0] unused_local_write_s1_bresp;
ferry_axi_write_mux #(.ADDRESS_BITS(LOCAL_ADDRESS_BITS)) local_write_mux (
    .clk(clk), .rst(rst), .s0_axi_awaddr(engine_local_awaddr), .s0_axi_awlen(engine_local_awlen),
    .s0_axi_awnosnoop(1'b0), .s0_axi_awtag(8'd0),
    .s0_axi_awvalid(engine_local_awvalid), .s0_axi_awready(engine_local_awready),
    .s0_axi_wdata(engine_local_wdata), .s0_axi_wstrb(engine_local_wstrb), .s0_axi_wlast(engine_local_wlast),
    .s0_axi_wvalid(engine_local_wvalid), .s0_axi_wready(engine_local_wready), .s0_axi_bresp(engine_local_bresp),
    .s0_axi_bvalid(engine_local_bvalid), .s0_axi_bready(engine_local_bready),
    .s1_axi_awaddr({LOCAL_ADDRESS_BITS{1'b0}}), .s1_axi_awlen(8'd0), .s1_axi_awnosnoop(1'b0), .s1_axi_awtag(8'd0),
    .s1_axi_awvalid(1'b0),
    .s1_axi_awready(unused_local_write_s1_awready), .s1_axi_wdata(64'd0), .s1_axi_wstrb(8'd0), .s1_axi_wlast(1'b0),
    .s1_axi_wvalid(1'b0),
    .s1_axi_wready(unused_local_write_s1_wready), .s1_axi_bresp(unused_local_write_s1_bresp),
    .s1_axi_bvalid(unused_local_write_s1_bvalid), .s1_axi_bready(1'b0), .s2_axi_awaddr(window_local_awaddr),
    .s2_axi_awlen(window_local_awlen), .s2_axi_awnosnoop(1'b0), .s2_axi_awtag(8'd0),
    .s2_axi_awvalid(window_local_awvalid),
    .s2_axi_awready(window_local_awready), .s2_axi_wdata(window_local_wdata), .s2_axi_wstrb(window_local_wstrb),
    .s2_axi_wlast(window_local_wlast), .s2_axi_wvalid(window_local_wvalid), .s2_axi_wready(window_local_wready),
    .s2_axi_bresp(window_local_bresp), .s2_axi_bvalid(window_local_bvalid), .s2_axi_bready(window_local_bready),
    .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen),
    .m_axi_awnosnoop(unused_local_write_m_awnosnoop), .m_axi_awtag(unused_local_write_m_awtag),
    .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready), .m_axi_wdata(m_axi_wdata),
    .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready),
    .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid), .m_axi_bready(m_axi_bready)
);

wire unused = &{1'b0, table_clearing};

endmodule

`default_nettype wire
