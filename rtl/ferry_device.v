// SPDX-License-Identifier: Apache-2.0
// The portable top of Pageferry: one clock, one stream of PCIe transaction-layer packets in, one out, one AXI4 master
// to video memory. Every simulation and every board instantiates this module as it is.
`default_nettype none
`include "ferry_contract.vh"
`include "ferry_sets.vh"

module ferry_device #(
    // Name of a set of sizes, "full" or "tiny" (ferry_sets.vh). The parameters below take their defaults from the set and
    // may be given one by one instead.
    parameter CONFIGURATION = "full",
    // Read requests to the host that may be outstanding at once: a power of two, 2 to 32. Reads of host memory collapse to
    // (max_read / round trip) without several of them; each costs max_read bytes of reorder RAM.
    parameter TAGS = `FERRY_SET_TAGS(CONFIGURATION),
    // Rings, 1 to 5. Ring 0 is the paging ring, the others are user rings.
    parameter RINGS = `FERRY_SET_RINGS(CONFIGURATION),
    // Command slots, 2 to 4: buffers that are fetched, decoded or running at once. One is kept for the paging ring.
    parameter SLOTS = `FERRY_SET_SLOTS(CONFIGURATION),
    // log2 of the bytes of a command slot, 9 to 12: the largest buffer that a ring entry may name.
    parameter SLOT_BYTES_LOG2 = `FERRY_SET_SLOT_BYTES_LOG2(CONFIGURATION),
    // log2 of the bytes of video memory behind m_axi_*. BAR2 is twice as large; its upper half shows tiles as rows.
    parameter LOCAL_ADDRESS_BITS = `FERRY_SET_LOCAL_ADDRESS_BITS(CONFIGURATION),
    // Pages of the aperture segment; 8 bytes of block RAM each.
    parameter APERTURE_PAGES = `FERRY_SET_APERTURE_PAGES(CONFIGURATION),
    // 1: a page-table unit, for virtual addresses; 0: such addresses are refused.
    parameter PAGE_TABLES = `FERRY_SET_PAGE_TABLES(CONFIGURATION),
    // 1: rectangles and tiled images are copied (COPY_RECTANGLE), and BAR2 shows tiles as rows; 0: both are refused.
    parameter TILING = `FERRY_SET_TILING(CONFIGURATION),
    // 32-bit words of firmware RAM: 2048, 4096 or 8192. The firmware takes nearly all of the smallest.
    parameter FIRMWARE_RAM_WORDS = `FERRY_SET_FIRMWARE_RAM_WORDS(CONFIGURATION),
    // File for $readmemh with the firmware, one 32-bit word a line, so that a bitstream can bring it along. Empty: the
    // host loads it through BAR0.
    parameter FIRMWARE_HEX = "",
    // Which board this is for, at most 15 letters, which the host is told (BOARD). Empty: it is told nothing.
    parameter [127:0] NAME = 0,
    // Jobs that the engine's queue holds, a power of two. The core runs ahead of the data by so many.
    parameter JOB_QUEUE = `FERRY_SET_JOB_QUEUE(CONFIGURATION),
    // The same for urgent jobs, which have places of their own: a power of two, at most JOB_QUEUE.
    parameter URGENT_QUEUE = `FERRY_SET_URGENT_QUEUE(CONFIGURATION),
    // 1: video memory may read nothing from when it has taken a write's address until it has the data, as one with a single port does.
    // Copies inside it then wait for a whole burst, up to 64 cycles more for one that is alone; with 0 such memory stands still.
    parameter [0:0] ONE_PORT = `FERRY_SET_ONE_PORT(CONFIGURATION),
    // Bits of a beat of the two packet streams: 32, 64 or 128, whichever the link's own side has. Inside, packets are 64
    // bits a beat; the other two widths cost a converter and a cycle or two each way.
    parameter TLP_BITS = 64,
    // The soft core: "vexriscv" (whichever variant's file is among the sources), "picorv32" or "serv".
    // docs/decisions.md has the measured choice.
    parameter [63:0] CPU_CORE = "vexriscv"
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
    // Requests that want an answer (reads, configuration) may be offered. Once it falls there is room for two more, so
    // that one may be on its way already; writes and completions go past those that wait at the far end. While it is
    // respected, tready never waits for m_axis_tlp_tready or the three below.
    output wire                          s_axis_tlp_request_ok,

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
    // The link has credits for a posted request (write, message), for a request that wants an answer (read), for a
    // completion, each with the largest payload that is configured. A packet whose first beat was taken in an earlier
    // cycle counts as having used its credits. Packets of a kind that has none are passed by the others.
    input  wire                          m_axis_tlp_posted_ok,
    input  wire                          m_axis_tlp_request_ok,
    input  wire                          m_axis_tlp_completion_ok,
    // Reads of host memory were asked for and not answered: Transactions Pending, for a link block that answers configuration itself.
    output wire                          requests_pending,

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

`include "ferry_parameter_limits.vh"
    localparam [0:0] SIZES_HOLD = TAGS_HOLD && RINGS_HOLD && SLOTS_HOLD && SLOT_BYTES_HOLD && LOCAL_HOLDS && PAGES_HOLD
        && FIRMWARE_HOLDS && JOBS_HOLD && URGENT_HOLDS && STREAM_HOLDS;
    localparam [0:0] CONFIGURATION_IS_KNOWN = CONFIGURATION == "full" || CONFIGURATION == "tiny";
    localparam [0:0] CPU_CORE_IS_KNOWN = CPU_CORE == "vexriscv" || CPU_CORE == "picorv32" || CPU_CORE == {32'd0, "serv"};

    generate if (!SIZES_HOLD || !CONFIGURATION_IS_KNOWN || !CPU_CORE_IS_KNOWN) begin : refused

    ferry_parameter_check #(
        .CONFIGURATION_IS_KNOWN(CONFIGURATION_IS_KNOWN), .TAGS(TAGS), .RINGS(RINGS), .SLOTS(SLOTS),
        .SLOT_BYTES_LOG2(SLOT_BYTES_LOG2), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES),
        .PAGE_TABLES(PAGE_TABLES), .FIRMWARE_RAM_WORDS(FIRMWARE_RAM_WORDS), .JOB_QUEUE(JOB_QUEUE), .URGENT_QUEUE(URGENT_QUEUE),
        .TLP_BITS(TLP_BITS),
        .CPU_CORE_IS_KNOWN(CPU_CORE_IS_KNOWN)
    ) sizes ();

    // Nothing to complain about but that size.
    assign {s_axis_tlp_tready, s_axis_tlp_request_ok, m_axis_tlp_tdata, m_axis_tlp_tkeep, m_axis_tlp_tlast, m_axis_tlp_tvalid,
        requests_pending, m_axi_awid,
        m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awvalid, m_axi_wdata, m_axi_wstrb, m_axi_wlast,
        m_axi_wvalid, m_axi_bready, m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arvalid,
        m_axi_rready} = 0;
    wire unused = &{clk, rst, s_axis_tlp_tdata, s_axis_tlp_tkeep, s_axis_tlp_tlast, s_axis_tlp_tvalid, m_axis_tlp_tready,
        m_axis_tlp_posted_ok, m_axis_tlp_request_ok, m_axis_tlp_completion_ok,
        m_axi_awready, m_axi_wready, m_axi_bid, m_axi_bresp, m_axi_bvalid, m_axi_arready, m_axi_rid, m_axi_rdata,
        m_axi_rresp, m_axi_rlast, m_axi_rvalid, 1'b0};

    end else begin : units

    // Every burst is INCR of whole 8-byte beats.
    assign m_axi_awsize = 3'd3;
    assign m_axi_awburst = 2'b01;
    assign m_axi_arsize = 3'd3;
    assign m_axi_arburst = 2'b01;

    // --- Wires between the units, by who drives them --------------------------------------------------------------------

    localparam A = `FERRY_AXI_A_BITS;
    localparam W = `FERRY_AXI_W_BITS;
    localparam R = `FERRY_AXI_R_BITS;
    localparam E = `FERRY_EVENTS_BITS;
    localparam T = `FERRY_TRANSLATION_BITS;

    // Host: register bus, interrupt state, what it counts.
    wire        reg_valid, reg_write, reg_ready;
    wire [15:0] reg_address;
    wire [31:0] reg_wdata, reg_rdata, interrupt_count;
    wire [3:0]  reg_wstrb;
    wire [9:0]  interrupt_status;
    wire [E-1:0] host_events;

    // Registers: what the host set.
    wire        core_run, reset_request;
    wire [`FERRY_LIMITS_BITS-1:0] limits;
    wire [`FERRY_VIEW_WRITE_BITS-1:0] view_write;
    wire [`FERRY_INTERRUPT_SETTINGS_BITS-1:0] interrupt_settings;
    wire [31:0] engine_timeout, completion_timeout;
    wire [7:0]  tag_limit;
    wire [9:0]  interrupt_clear;

    // Registers: firmware RAM, counters, register file, rings.
    wire        firmware_valid, firmware_write, firmware_ready, counter_valid, counter_ready;
    wire [14:0] firmware_address;
    wire [31:0] firmware_wdata, firmware_rdata;
    wire [3:0]  firmware_wstrb;
    wire [4:0]  counter_number;
    wire        counter_word_write;
    wire [5:0]  counter_word;
    wire [31:0] counter_word_wdata, counter_word_rdata;
    wire        host_file_access, host_file_write, host_file_taken, core_file_access, core_file_write, file_clearing;
    wire [8:0]  host_file_index, core_file_index;
    wire [31:0] host_file_wdata, core_file_wdata, file_rdata;
    wire        ring_write, ring_read, ring_taken, counter_yields;
    wire [2:0]  ring_number, fetch_ring;
    wire [5:0]  ring_offset, fetch_ring_word;
    wire [31:0] ring_fetched;

    // Command processor: state of the core, of slots and records; who stops and resets.
    wire        run, settled, stopping, host_reset, stop_reset, fetch_wound, fetch_busy, post_busy, fence_hold;
    wire        core_busy, firmware_told, packet_taken;
    wire [9:0]  interrupt_cause;
    wire [3:0]  slots_used, slots_ready;
    wire [31:0] slot_tags;

    // Function level reset, and what it resets: everything behind the host side, but not an engine whose memory is dead.
    wire        function_reset, function_resetting, reset_units, requester_idle, asleep;
    wire        units_rst = rst || reset_units;
    wire        engine_rst = rst || (reset_units && !engine_stuck);

    // Engine: jobs, retirement, faults.
    wire        job_valid, job_ready, fault_valid, fault_clear, resetting, engine_stuck, engine_busy, engine_busy_read, engine_busy_write;
    wire [`FERRY_JOB_BITS-1:0] job;
    wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault;
    wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job;
    wire [15:0] jobs_retired;
    wire [15:0] jobs_retired_urgent;
    wire [3:0]  poison, poison_clear;
    wire [E-1:0] engine_events;

    // Page lists in command RAM, and the aperture table.
    wire        engine_list_valid, engine_list_ready, engine_list_data_valid;
    wire        update_list_valid, update_list_ready, update_list_data_valid;
    wire [15:0] engine_list_address, update_list_address;
    wire [63:0] engine_list_data, update_list_data;
    wire        update_valid, update_ready, update_busy;
    wire [`FERRY_UPDATE_BITS-1:0] update;
    wire [`FERRY_UPDATE_FAULT_BITS-1:0] update_fault;
    wire        read_lookup_valid, read_lookup_ready, read_result_valid;
    wire        write_lookup_valid, write_lookup_ready, write_result_valid;
    wire [31:0] read_lookup_page, write_lookup_page;
    wire [T-1:0] read_result, write_result;
    wire        table_write_valid, table_write_ready, table_clearing;
    wire [31:0] table_write_page;
    wire [T-1:0] table_write_entry;

    // Page-table unit.
    wire        root_valid, root_ready, forget_valid, forget_ready, tables_moves, tables_owed, walking, forgets;
    wire        table_missed, table_read;
    wire [3:0]  root_space;
    wire [`FERRY_ROOT_BITS-1:0] root;
    wire [`FERRY_FORGET_BITS-1:0] forget;
    wire [1:0]  tables_valid, tables_answer_valid;
    wire [2*`FERRY_LOOKUP_BITS-1:0] tables_lookup;
    wire [`FERRY_PAGE_BITS-1:0] tables_answer;
    wire [127:0] tables_seen;
    wire [A-1:0] tables_ar, host_tables_ar;
    wire [R-1:0] host_tables_r;
    wire        tables_arvalid, tables_arready, tables_rvalid, tables_rready;
    wire        host_tables_arvalid, host_tables_arready, host_tables_rvalid, host_tables_rready;

    // Masters of host memory: engine, fetcher (reads) or record poster (writes); and the port.
    wire [A-1:0] engine_host_ar, engine_host_aw, fetch_ar, post_aw, host_ar, host_aw;
    wire [W-1:0] engine_host_w, post_w, host_w;
    wire [R-1:0] host_read_data, host_r;
    wire [1:0]   host_response, host_arid, host_rid, host_awid, host_bid, host_bresp;
    wire         engine_host_arvalid, engine_host_arready, engine_host_rvalid, engine_host_rready, engine_host_awvalid,
                 engine_host_awready, engine_host_wvalid, engine_host_wready, engine_host_bvalid, engine_host_bready;
    wire         fetch_arvalid, fetch_arready, fetch_rvalid, fetch_rready;
    wire         post_awvalid, post_awready, post_wvalid, post_wready, post_bvalid, post_bready;
    wire         host_arvalid, host_arready, host_rvalid, host_rready, host_awvalid, host_awready, host_wvalid,
                 host_wready, host_bvalid, host_bready;

    // Masters of video memory: engine, BAR2 window; and the port.
    wire [A-1:0] engine_local_ar, engine_local_aw, window_local_ar, window_local_aw, local_ar, local_aw;
    wire [W-1:0] engine_local_w, window_local_w, local_w;
    wire [R-1:0] local_read_data, local_r;
    wire [1:0]   local_response;
    wire         engine_local_arvalid, engine_local_arready, engine_local_rvalid, engine_local_rready,
                 engine_local_awvalid, engine_local_awready, engine_local_wvalid, engine_local_wready,
                 engine_local_bvalid, engine_local_bready;
    wire         window_local_arvalid, window_local_arready, window_local_rvalid, window_local_rready,
                 window_local_awvalid, window_local_awready, window_local_wvalid, window_local_wready,
                 window_local_bvalid, window_local_bready;

    // --- Time, counters, status -----------------------------------------------------------------------------------------

    reg [63:0] time_reg;
    always @(posedge clk) begin
        time_reg <= units_rst ? 64'd0 : time_reg + 64'd1;
    end

    wire         job_missing = !engine_busy && (|slots_ready);
    wire [E-1:0] events = host_events | engine_events
        | {{(E-1){1'b0}}, 1'b1} << `FERRY_EVENT_CYCLES
        | {{(E-1){1'b0}}, job_missing} << `FERRY_EVENT_STALL_JOB
        | {{(E-1){1'b0}}, packet_taken} << `FERRY_EVENT_CORE_PACKETS
        | {{(E-1){1'b0}}, core_busy} << `FERRY_EVENT_CORE_BUSY
        | {{(E-1){1'b0}}, table_missed} << `FERRY_EVENT_TABLE_WALKS
        | {{(E-1){1'b0}}, table_read} << `FERRY_EVENT_TABLE_READS
        | {{(E-1){1'b0}}, forget_valid && forget_ready} << `FERRY_EVENT_TABLE_FORGETS;

    wire [11:0] status = {
        engine_stuck, stopping, fault_valid, update_valid || update_busy, post_busy, requests_pending, |slots_used, fetch_busy,
        engine_busy_write,
        engine_busy_read, engine_busy, run
    };

    // --- Sizes that the host can read -----------------------------------------------------------------------------------

    localparam        TAGS_LOG2 = $clog2(TAGS);
    localparam        JOBS_LOG2 = $clog2(JOB_QUEUE);
    localparam        URGENT_LOG2 = $clog2(URGENT_QUEUE);
    localparam [31:0] CAPABILITIES = {
        3'd0, TILING != 0, 2'd0, JOBS_LOG2[3:0], TILING != 0, PAGE_TABLES != 0, 4'd3,
        SLOT_BYTES_LOG2[3:0], SLOTS[3:0], TAGS_LOG2[3:0], RINGS[3:0]
    };

    // --- Packet streams at the width of the inside ----------------------------------------------------------------------

    wire [63:0] in_tdata, out_tdata;
    wire [1:0] in_tkeep, out_tkeep;
    wire in_tlast, in_tvalid, in_tready, out_tlast, out_tvalid, out_tready;
    wire in_request_hidden, out_hidden;

    ferry_tlp_width #(.TLP_BITS(TLP_BITS)) width (
        .clk(clk), .rst(rst), .s_axis_tlp_tdata(s_axis_tlp_tdata), .s_axis_tlp_tkeep(s_axis_tlp_tkeep),
        .s_axis_tlp_tlast(s_axis_tlp_tlast), .s_axis_tlp_tvalid(s_axis_tlp_tvalid),
        .s_axis_tlp_tready(s_axis_tlp_tready), .in_tdata(in_tdata), .in_tkeep(in_tkeep), .in_tlast(in_tlast),
        .in_tvalid(in_tvalid), .in_tready(in_tready), .in_request_hidden(in_request_hidden), .out_tdata(out_tdata),
        .out_tkeep(out_tkeep), .out_tlast(out_tlast), .out_tvalid(out_tvalid), .out_tready(out_tready),
        .out_hidden(out_hidden), .m_axis_tlp_tdata(m_axis_tlp_tdata), .m_axis_tlp_tkeep(m_axis_tlp_tkeep),
        .m_axis_tlp_tlast(m_axis_tlp_tlast), .m_axis_tlp_tvalid(m_axis_tlp_tvalid),
        .m_axis_tlp_tready(m_axis_tlp_tready)
    );

    // --- Host side ------------------------------------------------------------------------------------------------------

    ferry_host #(
        .TAGS(TAGS), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .VIEWS(TILING != 0), .HOST_TABLES(PAGE_TABLES != 0)
    ) host (
        .clk(clk), .rst(rst), .s_axis_tlp_tdata(in_tdata), .s_axis_tlp_tkeep(in_tkeep), .s_axis_tlp_tlast(in_tlast),
        .s_axis_tlp_tvalid(in_tvalid), .s_axis_tlp_tready(in_tready), .s_axis_tlp_request_ok(s_axis_tlp_request_ok),
        .s_axis_tlp_request_coming(in_request_hidden), .m_axis_tlp_tdata(out_tdata), .m_axis_tlp_tkeep(out_tkeep),
        .m_axis_tlp_tlast(out_tlast), .m_axis_tlp_tvalid(out_tvalid), .m_axis_tlp_tready(out_tready),
        .m_axis_tlp_posted_ok(m_axis_tlp_posted_ok && !out_hidden),
        .m_axis_tlp_request_ok(m_axis_tlp_request_ok && !out_hidden),
        .m_axis_tlp_completion_ok(m_axis_tlp_completion_ok && !out_hidden), .reg_valid(reg_valid), .reg_write(reg_write),
        .reg_address(reg_address), .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready), .reg_rdata(reg_rdata),
        .s_axi_host_arid(host_arid), .s_axi_host_ar(host_ar), .s_axi_host_arvalid(host_arvalid),
        .s_axi_host_arready(host_arready), .s_axi_host_rid(host_rid), .s_axi_host_r(host_r),
        .s_axi_host_rvalid(host_rvalid), .s_axi_host_rready(host_rready), .s_axi_host_awid(host_awid),
        .s_axi_host_aw(host_aw), .s_axi_host_awvalid(host_awvalid), .s_axi_host_awready(host_awready),
        .s_axi_host_w(host_w), .s_axi_host_wvalid(host_wvalid), .s_axi_host_wready(host_wready),
        .s_axi_host_bid(host_bid), .s_axi_host_bresp(host_bresp), .s_axi_host_bvalid(host_bvalid),
        .s_axi_host_bready(host_bready), .s_axi_tables_ar(host_tables_ar), .s_axi_tables_arvalid(host_tables_arvalid),
        .s_axi_tables_arready(host_tables_arready), .s_axi_tables_r(host_tables_r), .s_axi_tables_rvalid(host_tables_rvalid),
        .s_axi_tables_rready(host_tables_rready), .m_axi_local_ar(window_local_ar), .m_axi_local_arvalid(window_local_arvalid),
        .m_axi_local_arready(window_local_arready), .m_axi_local_r(local_read_data),
        .m_axi_local_rvalid(window_local_rvalid), .m_axi_local_rready(window_local_rready),
        .m_axi_local_aw(window_local_aw), .m_axi_local_awvalid(window_local_awvalid),
        .m_axi_local_awready(window_local_awready), .m_axi_local_w(window_local_w),
        .m_axi_local_wvalid(window_local_wvalid), .m_axi_local_wready(window_local_wready),
        .m_axi_local_bresp(local_response), .m_axi_local_bvalid(window_local_bvalid),
        .m_axi_local_bready(window_local_bready), .limits(limits), .view_write(view_write),
        .completion_timeout(completion_timeout), .tag_limit(tag_limit), .interrupt_cause(interrupt_cause),
        .interrupt_clear(interrupt_clear), .interrupt_status(interrupt_status), .interrupt_settings(interrupt_settings),
        .interrupt_count(interrupt_count), .requester_busy(requests_pending), .function_reset(function_reset),
        .function_resetting(function_resetting), .requester_idle(requester_idle), .asleep(asleep), .events(host_events)
    );

    ferry_function_reset function_level (
        .clk(clk), .rst(rst), .start(function_reset), .resetting(function_resetting), .reset_units(reset_units),
        .core_settled(settled), .fetch_wound(fetch_wound),
        .engine_at_rest(engine_stuck || (!engine_busy && !resetting)), .requester_idle(requester_idle)
    );

    // --- Registers of host and core -------------------------------------------------------------------------------------

    ferry_registers #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) registers (
        .clk(clk), .rst(units_rst), .reg_valid(reg_valid), .reg_write(reg_write), .reg_address(reg_address),
        .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready), .reg_rdata(reg_rdata),
        .firmware_valid(firmware_valid), .firmware_write(firmware_write), .firmware_address(firmware_address),
        .firmware_wdata(firmware_wdata), .firmware_wstrb(firmware_wstrb), .firmware_ready(firmware_ready),
        .firmware_rdata(firmware_rdata), .counter_valid(counter_valid), .counter_number(counter_number),
        .counter_ready(counter_ready), .file_access(host_file_access),
        .file_write(host_file_write), .file_index(host_file_index), .file_wdata(host_file_wdata),
        .file_taken(host_file_taken), .file_rdata(file_rdata), .ring_write(ring_write), .ring_number(ring_number),
        .ring_offset(ring_offset), .ring_fetched(ring_fetched), .fence_hold(fence_hold), .status(status),
        .firmware_told(firmware_told), .core_run(core_run), .engine_reset(host_reset), .engine_resetting(resetting),
        .limits(limits), .view_write(view_write), .engine_timeout(engine_timeout),
        .completion_timeout(completion_timeout), .tag_limit(tag_limit),
        .interrupt_status(interrupt_status), .interrupt_clear(interrupt_clear), .interrupt_settings(interrupt_settings),
        .interrupt_count(interrupt_count)
    );

    ferry_registers_file #(
        .CAPABILITIES(CAPABILITIES), .APERTURE_PAGES(APERTURE_PAGES), .LOCAL_BYTES(64'd1 << LOCAL_ADDRESS_BITS),
        .FIRMWARE_RAM_BYTES(FIRMWARE_RAM_WORDS * 4), .NAME(NAME)
    ) file (
        .clk(clk), .rst(units_rst), .clearing(file_clearing), .core_access(core_file_access),
        .core_write(core_file_write), .core_index(core_file_index), .core_wdata(core_file_wdata),
        .host_access(host_file_access), .host_write(host_file_write), .host_index(host_file_index),
        .host_wdata(host_file_wdata), .host_taken(host_file_taken), .rdata(file_rdata),
        .counter_write(counter_word_write), .counter_word(counter_word), .counter_wdata(counter_word_wdata),
        .counter_rdata(counter_word_rdata), .ring_read(ring_read), .ring_number(fetch_ring), .ring_word(fetch_ring_word),
        .ring_taken(ring_taken), .counter_yields(counter_yields)
    );

    ferry_registers_counters #(.COUNT(`FERRY_EVENTS_BITS)) counters (
        .clk(clk), .rst(units_rst || file_clearing), .events(events),
        .yields(counter_yields), .hold(ring_taken), .read_valid(counter_valid), .read_number(counter_number), .read_ready(counter_ready),
        .word_write(counter_word_write), .word(counter_word), .word_wdata(counter_word_wdata), .word_rdata(counter_word_rdata)
    );

    // --- From rings to jobs -----------------------------------------------------------------------------------------------

    assign reset_request = host_reset || stop_reset;

    ferry_command_processor #(
        .RINGS(RINGS), .SLOTS(SLOTS), .SLOT_BYTES_LOG2(SLOT_BYTES_LOG2), .APERTURE_PAGES(APERTURE_PAGES), .PAGE_TABLES(PAGE_TABLES != 0),
        .TILING(TILING != 0), .FIRMWARE_RAM_WORDS(FIRMWARE_RAM_WORDS), .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE)
    ) commands (
        .clk(clk), .rst(units_rst), .core_run(core_run && !function_resetting), .run(run), .stopping(stopping),
        .settled(settled), .wound(fetch_wound),
        .firmware_told(firmware_told), .core_busy(core_busy), .packet_taken(packet_taken), .post_busy(post_busy),
        .fetch_busy(fetch_busy), .slots_used(slots_used), .slots_ready(slots_ready), .interrupt_cause(interrupt_cause),
        .firmware_valid(firmware_valid), .firmware_write(firmware_write), .firmware_address(firmware_address),
        .firmware_wdata(firmware_wdata), .firmware_wstrb(firmware_wstrb), .firmware_ready(firmware_ready),
        .firmware_rdata(firmware_rdata), .file_access(core_file_access), .file_write(core_file_write),
        .file_index(core_file_index), .file_wdata(core_file_wdata), .file_rdata(file_rdata), .file_clearing(file_clearing),
        .ring_write(ring_write), .ring_number(ring_number), .ring_offset(ring_offset), .ring_fetched(ring_fetched),
        .ring_read(ring_read), .fetch_ring(fetch_ring), .fetch_ring_word(fetch_ring_word), .ring_taken(ring_taken),
        .ring_rdata(counter_word_rdata), .limits(limits), .time_now(time_reg), .fence_hold(fence_hold),
        .job_valid(job_valid), .job_ready(job_ready), .job(job), .slot_tags(slot_tags), .jobs_retired(jobs_retired),
        .jobs_retired_urgent(jobs_retired_urgent), .poison(poison), .poison_clear(poison_clear), .fault_valid(fault_valid),
        .fault(fault), .fault_clear(fault_clear), .aborted_job(aborted_job), .engine_busy(engine_busy), .engine_stuck(engine_stuck),
        .resetting(resetting), .engine_reset(stop_reset), .root_valid(root_valid), .root_ready(root_ready),
        .root_space(root_space), .root(root),
        .update_valid(update_valid), .update_ready(update_ready),
        .update(update),
        .update_busy(update_busy), .update_fault(update_fault), .engine_list_valid(engine_list_valid),
        .engine_list_ready(engine_list_ready), .engine_list_address(engine_list_address),
        .engine_list_data_valid(engine_list_data_valid), .engine_list_data(engine_list_data),
        .update_list_valid(update_list_valid), .update_list_ready(update_list_ready),
        .update_list_address(update_list_address), .update_list_data_valid(update_list_data_valid),
        .update_list_data(update_list_data), .fetch_ar(fetch_ar), .fetch_arvalid(fetch_arvalid),
        .fetch_arready(fetch_arready), .fetch_r(host_read_data), .fetch_rvalid(fetch_rvalid), .fetch_rready(fetch_rready),
        .post_aw(post_aw), .post_awvalid(post_awvalid), .post_awready(post_awready), .post_w(post_w),
        .post_wvalid(post_wvalid), .post_wready(post_wready), .post_bresp(host_response), .post_bvalid(post_bvalid),
        .post_bready(post_bready)
    );

    // --- Engine and aperture table --------------------------------------------------------------------------------------

    // Who looks up a page while the table is cleared waits for nothing that could be dead.
    wire waits_for_clearing = table_clearing && (read_lookup_valid || write_lookup_valid);

    ferry_engine #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .TABLES(PAGE_TABLES), .LG_JOBS(JOBS_LOG2),
        .LG_URGENT(URGENT_LOG2),
        .LG_READS(`FERRY_SET_LG_READS(CONFIGURATION)), .LG_WRITES(`FERRY_SET_LG_WRITES(CONFIGURATION)),
        .LG_DATA(`FERRY_SET_LG_DATA(CONFIGURATION)), .ONE_PORT(ONE_PORT)
    ) engine (
        .clk(clk), .rst(engine_rst), .job_valid(job_valid), .job_ready(job_ready), .job(job), .slot_tags(slot_tags),
        .jobs_retired(jobs_retired), .jobs_retired_urgent(jobs_retired_urgent), .poison(poison),
        .poison_clear(poison_clear), .fault_valid(fault_valid), .fault(fault), .fault_clear(fault_clear), .aborted_job(aborted_job),
        .limits(limits), .timeout(engine_timeout), .timeout_held(asleep || waits_for_clearing),
        .reset_request(reset_request), .resetting(resetting), .stuck(engine_stuck), .busy(engine_busy),
        .busy_read(engine_busy_read), .busy_write(engine_busy_write), .events(engine_events), .list_valid(engine_list_valid),
        .list_ready(engine_list_ready), .list_address(engine_list_address), .list_data_valid(engine_list_data_valid),
        .list_data(engine_list_data), .read_lookup_valid(read_lookup_valid), .read_lookup_ready(read_lookup_ready),
        .read_lookup_page(read_lookup_page), .read_result_valid(read_result_valid), .read_result(read_result),
        .write_lookup_valid(write_lookup_valid), .write_lookup_ready(write_lookup_ready),
        .write_lookup_page(write_lookup_page), .write_result_valid(write_result_valid), .write_result(write_result),
        .tables_valid(tables_valid), .tables_lookup(tables_lookup), .tables_answer_valid(tables_answer_valid),
        .tables_answer(tables_answer), .tables_seen(tables_seen), .tables_moves(tables_moves), .tables_owed(tables_owed),
        .forget_valid(forget_valid), .forget_ready(forget_ready), .forget(forget),
        .m_axi_local_ar(engine_local_ar), .m_axi_local_arvalid(engine_local_arvalid),
        .m_axi_local_arready(engine_local_arready), .m_axi_local_r(local_read_data),
        .m_axi_local_rvalid(engine_local_rvalid), .m_axi_local_rready(engine_local_rready),
        .m_axi_local_aw(engine_local_aw), .m_axi_local_awvalid(engine_local_awvalid),
        .m_axi_local_awready(engine_local_awready), .m_axi_local_w(engine_local_w),
        .m_axi_local_wvalid(engine_local_wvalid), .m_axi_local_wready(engine_local_wready),
        .m_axi_local_bresp(local_response), .m_axi_local_bvalid(engine_local_bvalid),
        .m_axi_local_bready(engine_local_bready), .m_axi_host_ar(engine_host_ar),
        .m_axi_host_arvalid(engine_host_arvalid), .m_axi_host_arready(engine_host_arready),
        .m_axi_host_r(host_read_data), .m_axi_host_rvalid(engine_host_rvalid), .m_axi_host_rready(engine_host_rready),
        .m_axi_host_aw(engine_host_aw), .m_axi_host_awvalid(engine_host_awvalid),
        .m_axi_host_awready(engine_host_awready), .m_axi_host_w(engine_host_w), .m_axi_host_wvalid(engine_host_wvalid),
        .m_axi_host_wready(engine_host_wready), .m_axi_host_bresp(host_response),
        .m_axi_host_bvalid(engine_host_bvalid), .m_axi_host_bready(engine_host_bready)
    );

    ferry_aperture_update #(.PAGES(APERTURE_PAGES)) aperture_update (
        .clk(clk), .rst(units_rst), .update_valid(update_valid), .update_ready(update_ready), .update(update),
        .update_busy(update_busy), .fault(update_fault), .list_valid(update_list_valid), .list_ready(update_list_ready),
        .list_address(update_list_address), .list_data_valid(update_list_data_valid), .list_data(update_list_data),
        .write_valid(table_write_valid), .write_ready(table_write_ready), .write_page(table_write_page),
        .write_entry(table_write_entry)
    );

    ferry_aperture_table #(.PAGES(APERTURE_PAGES)) aperture_table (
        .clk(clk), .rst(units_rst), .clearing(table_clearing), .lookup0_valid(read_lookup_valid),
        .lookup0_ready(read_lookup_ready), .lookup0_page(read_lookup_page), .result0_valid(read_result_valid),
        .result0(read_result), .lookup1_valid(write_lookup_valid), .lookup1_ready(write_lookup_ready),
        .lookup1_page(write_lookup_page), .result1_valid(write_result_valid), .result1(write_result),
        .write_valid(table_write_valid),
        .write_ready(table_write_ready), .write_page(table_write_page), .write_entry(table_write_entry)
    );

    // --- Page-table unit --------------------------------------------------------------------------------------------------

    // It lives as long as the engine, whose requests it has; but all that it knows goes with the registers. Tables of the host's
    // memory are read by a port of their own: behind the engine's data, which waits for translations, none of these may have to wait.
    if (PAGE_TABLES != 0) begin : paged

    wire [LOCAL_ADDRESS_BITS:0] limit, closed_base, closed_limit;

    // That jobs are dropped is known late, and told a cycle later: what begins in that cycle might have begun in the one before.
    reg drop_reg;
    always @(posedge clk) drop_reg <= resetting || engine_stuck;

    ferry_limits #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) clipped_limits (
        .clk(clk), .limits(limits), .local_limit_clipped(limit), .protect_base_clipped(closed_base), .protect_limit_clipped(closed_limit)
    );

    ferry_page_tables #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) page_tables (
        .clk(clk), .rst(engine_rst), .clear(reset_units), .drop(drop_reg), .root_valid(root_valid),
        .root_ready(root_ready), .root_space(root_space), .root(root), .forget_valid(forget_valid), .forget_ready(forget_ready),
        .forget(forget), .lookup_valid(tables_valid),
        .lookup(tables_lookup), .answer_valid(tables_answer_valid), .answer(tables_answer), .seen(tables_seen),
        .missed(table_missed), .read(table_read), .walking(walking), .forgets(forgets), .owed(tables_owed), .moves(tables_moves),
        .local_limit(limit),
        .protect_base(closed_base), .protect_limit(closed_limit), .local_ar(tables_ar),
        .local_arvalid(tables_arvalid), .local_arready(tables_arready), .local_r(local_read_data), .local_rvalid(tables_rvalid),
        .local_rready(tables_rready), .host_ar(host_tables_ar), .host_arvalid(host_tables_arvalid),
        .host_arready(host_tables_arready), .host_r(host_tables_r), .host_rvalid(host_tables_rvalid), .host_rready(host_tables_rready)
    );

    end else begin : unpaged

    assign {root_ready, forget_ready} = 2'b11;
    assign {tables_answer_valid, tables_answer, tables_seen, tables_moves, tables_owed, table_missed, table_read, walking, forgets,
        tables_ar, tables_arvalid, host_tables_ar, host_tables_arvalid} = 0;
    assign {tables_rready, host_tables_rready} = 2'b11;
    wire unused = &{1'b0, root_valid, root_space, root, forget_valid, forget, tables_valid, tables_lookup, tables_arready, tables_rvalid,
        host_tables_arready, host_tables_r, host_tables_rvalid};

    end

    // --- Who may speak to the host, and who to video memory -------------------------------------------------------------

    ferry_axi_read_mux #(.PORTS(2)) host_read_mux (
        .clk(clk), .rst(rst), .s_axi_ar({fetch_ar, engine_host_ar}),
        .s_axi_arvalid({fetch_arvalid, engine_host_arvalid}),
        .s_axi_arready({fetch_arready, engine_host_arready}), .s_axi_r(host_read_data),
        .s_axi_rvalid({fetch_rvalid, engine_host_rvalid}),
        .s_axi_rready({fetch_rready, engine_host_rready}), .m_axi_arid(host_arid),
        .m_axi_ar(host_ar), .m_axi_arvalid(host_arvalid), .m_axi_arready(host_arready), .m_axi_rid(host_rid),
        .m_axi_r(host_r), .m_axi_rvalid(host_rvalid), .m_axi_rready(host_rready)
    );

    ferry_axi_write_mux #(.PORTS(2)) host_write_mux (
        .clk(clk), .rst(rst), .s_axi_aw({post_aw, engine_host_aw}),
        .s_axi_awvalid({post_awvalid, engine_host_awvalid}),
        .s_axi_awready({post_awready, engine_host_awready}),
        .s_axi_w({post_w, engine_host_w}),
        .s_axi_wvalid({post_wvalid, engine_host_wvalid}),
        .s_axi_wready({post_wready, engine_host_wready}), .s_axi_bresp(host_response),
        .s_axi_bvalid({post_bvalid, engine_host_bvalid}),
        .s_axi_bready({post_bready, engine_host_bready}), .m_axi_awid(host_awid),
        .m_axi_aw(host_aw), .m_axi_awvalid(host_awvalid), .m_axi_awready(host_awready), .m_axi_w(host_w),
        .m_axi_wvalid(host_wvalid), .m_axi_wready(host_wready), .m_axi_bid(host_bid), .m_axi_bresp(host_bresp),
        .m_axi_bvalid(host_bvalid), .m_axi_bready(host_bready)
    );

    ferry_axi_read_mux #(.PORTS(3)) local_read_mux (
        .clk(clk), .rst(rst), .s_axi_ar({tables_ar, window_local_ar, engine_local_ar}),
        .s_axi_arvalid({tables_arvalid, window_local_arvalid, engine_local_arvalid}),
        .s_axi_arready({tables_arready, window_local_arready, engine_local_arready}), .s_axi_r(local_read_data),
        .s_axi_rvalid({tables_rvalid, window_local_rvalid, engine_local_rvalid}),
        .s_axi_rready({tables_rready, window_local_rready, engine_local_rready}), .m_axi_arid(m_axi_arid), .m_axi_ar(local_ar),
        .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_r(local_r),
        .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready)
    );

    ferry_axi_write_mux #(.PORTS(2)) local_write_mux (
        .clk(clk), .rst(rst), .s_axi_aw({window_local_aw, engine_local_aw}),
        .s_axi_awvalid({window_local_awvalid, engine_local_awvalid}),
        .s_axi_awready({window_local_awready, engine_local_awready}), .s_axi_w({window_local_w, engine_local_w}),
        .s_axi_wvalid({window_local_wvalid, engine_local_wvalid}),
        .s_axi_wready({window_local_wready, engine_local_wready}), .s_axi_bresp(local_response),
        .s_axi_bvalid({window_local_bvalid, engine_local_bvalid}),
        .s_axi_bready({window_local_bready, engine_local_bready}), .m_axi_awid(m_axi_awid), .m_axi_aw(local_aw),
        .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready), .m_axi_w(local_w), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready)
    );

    assign m_axi_araddr = local_ar[LOCAL_ADDRESS_BITS-1:0];
    assign m_axi_arlen = local_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign local_r[`FERRY_AXI_R_DATA_RANGE] = m_axi_rdata;
    assign local_r[`FERRY_AXI_R_RESPONSE_RANGE] = m_axi_rresp;
    assign local_r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    assign local_r[`FERRY_AXI_R_LAST_RANGE] = m_axi_rlast;
    assign m_axi_awaddr = local_aw[LOCAL_ADDRESS_BITS-1:0];
    assign m_axi_awlen = local_aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_wdata = local_w[`FERRY_AXI_W_DATA_RANGE];
    assign m_axi_wstrb = local_w[`FERRY_AXI_W_STROBE_RANGE];
    assign m_axi_wlast = local_w[`FERRY_AXI_W_LAST_RANGE];

    ferry_observe observe (
        .clk(clk), .core(core_busy), .engine(engine_busy), .engine_read(engine_busy_read),
        .engine_write(engine_busy_write), .requester(requests_pending), .fetch(fetch_busy), .post(post_busy),
        .walk(walking), .forget(forgets), .missed(table_missed)
    );

    wire unused = &{1'b0, local_ar, local_aw};

    end endgenerate

endmodule

`default_nettype wire
