// SPDX-License-Identifier: Apache-2.0
// When the page-table unit's `drop` falls no look-up stands: what was asked for meanwhile was asked by jobs that are gone, and none of
// theirs is walked afterwards, behind fences that have told them over. From reset on, with a copy of one word from one virtual
// address to another, whatever the unit answers and video memory does, but for what its bus promises.
`default_nettype none
`include "ferry_contract.vh"

module look_ups_end (
    // Clock, and synchronous reset, active high.
    input  wire        clk,
    input  wire        rst,
    // A job; a reset is asked for; a fault is taken.
    input  wire        job_valid,
    input  wire        reset_request,
    input  wire        fault_clear,
    // The page-table unit: answers of each side, a page of video memory or none; it owes something.
    input  wire [1:0]  answers,
    input  wire        hit,
    input  wire        tables_owed,
    // Video memory.
    input  wire        arready,
    input  wire        awready,
    input  wire        wready,
    input  wire        rvalid,
    input  wire        rerror,
    input  wire        bvalid
);
    wire [`FERRY_JOB_BITS-1:0] job;
    assign job[`FERRY_JOB_OP_RANGE] = `FERRY_JOB_OP_COPY;
    assign job[`FERRY_JOB_SOURCE_KIND_RANGE] = `FERRY_ADDRESS_KIND_VIRTUAL;
    assign job[`FERRY_JOB_DESTINATION_KIND_RANGE] = `FERRY_ADDRESS_KIND_VIRTUAL;
    assign job[`FERRY_JOB_LIST_RANGE] = 2'd0;
    assign job[`FERRY_JOB_UNORDERED_RANGE] = 1'b1;
    assign job[`FERRY_JOB_PROTECTED_RANGE] = 1'b0;
    assign job[`FERRY_JOB_URGENT_RANGE] = 1'b0;
    assign job[`FERRY_JOB_SLOT_RANGE] = 2'd0;
    assign job[`FERRY_JOB_PATTERN_LOG2_RANGE] = 2'd3;
    assign job[`FERRY_JOB_PACKET_OFFSET_RANGE] = 16'd0;
    assign job[`FERRY_JOB_SOURCE_RANGE] = 64'h10_0fc0;
    assign job[`FERRY_JOB_DESTINATION_RANGE] = 64'h20_0fc0;
    assign job[`FERRY_JOB_LENGTH_RANGE] = 32'd8;
    assign job[`FERRY_JOB_LIST_ADDRESS_RANGE] = 16'd0;
    assign job[`FERRY_JOB_SPACE_RANGE] = 4'd0;

    wire [`FERRY_PAGE_BITS-1:0] answer;
    assign answer[`FERRY_PAGE_HIT_RANGE] = hit;
    assign answer[`FERRY_PAGE_HOST_RANGE] = 1'b0;
    assign answer[`FERRY_PAGE_SNOOP_RANGE] = 1'b1;
    assign answer[`FERRY_PAGE_PAGE_RANGE] = 40'h3;
    assign answer[`FERRY_PAGE_FAULT_RANGE] = hit ? `FERRY_FAULT_KIND_NONE : `FERRY_FAULT_KIND_PAGE_ABSENT;
    assign answer[`FERRY_PAGE_HEIGHT_RANGE] = 2'd0;

    wire [`FERRY_LIMITS_BITS-1:0] limits;
    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = 64'h8000;
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = 64'd0;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = 64'd0;

    // One job: with a second one in the queue each step of the proof takes minutes.
    wire        job_ready;
    reg         taken = 1'b0;
    wire        resetting, stuck;
    wire        drop = resetting || stuck;
    wire [1:0]  looks;
    wire        arvalid, rready, awvalid, wvalid;
    wire [`FERRY_AXI_A_BITS-1:0] ar;
    wire [`FERRY_AXI_W_BITS-1:0] w;
    wire [`FERRY_AXI_R_BITS-1:0] r;
    wire [7:0]  length = ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign r[`FERRY_AXI_R_DATA_RANGE] = 64'd0;
    assign r[`FERRY_AXI_R_RESPONSE_RANGE] = {rerror, 1'b0};
    assign r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    assign r[`FERRY_AXI_R_LAST_RANGE] = 1'b0;

    ferry_engine #(
        .LOCAL_ADDRESS_BITS(15), .APERTURE_PAGES(0), .LISTS(0), .URGENT(0), .LG_JOBS(1), .LG_URGENT(1), .LG_READS(2), .LG_WRITES(2),
        .LG_DATA(8)
    ) engine (
        .clk(clk), .rst(rst), .job_valid(job_valid), .job_ready(job_ready), .job(job), .slot_tags(32'd0), .jobs_retired(),
        .jobs_retired_urgent(), .poison(), .poison_clear(4'd0), .fault_valid(), .fault(), .fault_clear(fault_clear), .aborted_job(),
        .limits(limits), .timeout(32'd3), .timeout_held(1'b0), .reset_request(reset_request), .resetting(resetting), .stuck(stuck),
        .busy(), .busy_read(), .busy_write(), .events(), .list_valid(), .list_ready(1'b0), .list_address(), .list_data_valid(1'b0),
        .list_data(64'd0), .read_lookup_valid(), .read_lookup_ready(1'b0), .read_lookup_page(), .read_result_valid(1'b0),
        .read_result({`FERRY_TRANSLATION_BITS{1'b0}}), .write_lookup_valid(), .write_lookup_ready(1'b0), .write_lookup_page(),
        .write_result_valid(1'b0), .write_result({`FERRY_TRANSLATION_BITS{1'b0}}), .tables_valid(looks), .tables_lookup(),
        .tables_answer_valid(answers), .tables_answer(answer), .tables_seen(128'd0), .tables_moves(1'b0), .tables_owed(tables_owed),
        .forget_valid(), .forget_ready(1'b0), .forget(),
        .m_axi_local_ar(ar), .m_axi_local_arvalid(arvalid), .m_axi_local_arready(arready), .m_axi_local_r(r),
        .m_axi_local_rvalid(rvalid), .m_axi_local_rready(rready), .m_axi_local_aw(), .m_axi_local_awvalid(awvalid),
        .m_axi_local_awready(awready), .m_axi_local_w(w), .m_axi_local_wvalid(wvalid), .m_axi_local_wready(wready),
        .m_axi_local_bresp(2'd0), .m_axi_local_bvalid(bvalid), .m_axi_local_bready(), .m_axi_host_ar(), .m_axi_host_arvalid(),
        .m_axi_host_arready(1'b0), .m_axi_host_r({`FERRY_AXI_R_BITS{1'b0}}), .m_axi_host_rvalid(1'b0), .m_axi_host_rready(),
        .m_axi_host_aw(), .m_axi_host_awvalid(), .m_axi_host_awready(1'b0), .m_axi_host_w(), .m_axi_host_wvalid(),
        .m_axi_host_wready(1'b0), .m_axi_host_bresp(2'd0), .m_axi_host_bvalid(1'b0), .m_axi_host_bready()
    );

    // What memory owes: beats of reads, answers to writes whose address and whose data it took.
    reg [7:0] beats = 0;
    reg [3:0] addresses = 0, datas = 0;
    reg       past_valid = 1'b0;
    reg       dropped = 1'b0;
    // A look-up stood while jobs were dropped, and while memory was given up on.
    reg       asked = 1'b0;
    reg       given_up = 1'b0;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        taken <= taken || (job_valid && job_ready && !rst);
        beats <= beats + (arvalid && arready ? length + 8'd1 : 8'd0) - (rvalid && rready);
        addresses <= addresses + (awvalid && awready) - bvalid;
        datas <= datas + (wvalid && wready && w[`FERRY_AXI_W_LAST_RANGE]) - bvalid;
        dropped <= drop && !rst;
        asked <= !rst && (asked || (drop && looks != 2'd0));
        given_up <= !rst && (given_up || (stuck && looks != 2'd0));
        cover (past_valid && dropped && !drop && asked);
        cover (past_valid && dropped && !drop && given_up);
    end
    always @(*) begin
        assume (rst == !past_valid);
        assume (!(job_valid && taken));
        assume (!rvalid || beats != 0);
        assume (!bvalid || (addresses != 0 && datas != 0));
        assume ((answers & ~looks) == 2'd0 && answers != 2'd3);
        if (past_valid && dropped && !drop) begin
            assert (looks == 2'd0);
        end
    end
endmodule

`default_nettype wire
