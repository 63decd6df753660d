// SPDX-License-Identifier: Apache-2.0
// The page-table unit with its bundles taken apart, for the tests.
`default_nettype none
`include "ferry_contract.vh"

module page_tables_under_test #(
    // As ferry_page_tables has it.
    parameter [0:0] HOST_TABLES = 1
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        clear,
    input  wire        drop,
    input  wire        root_valid,
    output wire        root_ready,
    input  wire [3:0]  root_space,
    input  wire        root_there,
    input  wire        root_host,
    input  wire        root_snoop,
    input  wire [1:0]  root_height,
    input  wire [39:0] root_page,
    input  wire        forget_valid,
    output wire        forget_ready,
    input  wire [1:0]  forget_scope,
    input  wire [3:0]  forget_space,
    input  wire [35:0] forget_page,
    input  wire [1:0]  lookup_valid,
    input  wire [3:0]  lookup0_space,
    input  wire [35:0] lookup0_page,
    input  wire        lookup0_write,
    input  wire        lookup0_protected,
    input  wire [3:0]  lookup1_space,
    input  wire [35:0] lookup1_page,
    input  wire        lookup1_write,
    input  wire        lookup1_protected,
    output wire [1:0]  answer_valid,
    output wire        answer_hit,
    output wire        answer_host,
    output wire        answer_snoop,
    output wire [39:0] answer_page,
    output wire [7:0]  answer_fault,
    output wire [1:0]  answer_height,
    output wire [63:0] seen0,
    output wire [63:0] seen1,
    output wire        missed,
    output wire        read,
    output wire        walking,
    output wire        forgets,
    output wire        owed,
    output wire        moves,
    input  wire [26:0] local_limit,
    input  wire [26:0] protect_base,
    input  wire [26:0] protect_limit,
    output wire [63:0] local_araddr,
    output wire [7:0]  local_arlen,
    output wire        local_arvalid,
    input  wire        local_arready,
    input  wire [63:0] local_rdata,
    input  wire [1:0]  local_rresp,
    input  wire        local_rlast,
    input  wire        local_rvalid,
    output wire        local_rready,
    output wire [63:0] host_araddr,
    output wire [7:0]  host_arlen,
    output wire        host_arnosnoop,
    output wire        host_arvalid,
    input  wire        host_arready,
    input  wire [63:0] host_rdata,
    input  wire [1:0]  host_rresp,
    input  wire        host_rlast,
    input  wire        host_rvalid,
    output wire        host_rready
);
    wire [`FERRY_PAGE_BITS-1:0] answer;
    wire [`FERRY_AXI_A_BITS-1:0] local_ar;
    wire [`FERRY_AXI_A_BITS-1:0] host_ar;

    ferry_page_tables #(.HOST_TABLES(HOST_TABLES)) unit (
        .clk(clk), .rst(rst), .clear(clear), .drop(drop), .root_valid(root_valid), .root_ready(root_ready), .root_space(root_space),
        .root({root_page, root_height, root_snoop, root_host, root_there}), .forget_valid(forget_valid),
        .forget_ready(forget_ready), .forget({forget_page, forget_space, forget_scope}), .lookup_valid(lookup_valid),
        .lookup({lookup1_protected, lookup1_write, lookup1_page, lookup1_space,
            lookup0_protected, lookup0_write, lookup0_page, lookup0_space}),
        .answer_valid(answer_valid), .answer(answer), .seen({seen1, seen0}), .missed(missed), .read(read),
        .walking(walking), .forgets(forgets), .owed(owed), .moves(moves),
        .local_limit(local_limit), .protect_base(protect_base), .protect_limit(protect_limit),
        .local_ar(local_ar), .local_arvalid(local_arvalid), .local_arready(local_arready),
        .local_r({local_rlast, 8'd0, local_rresp, local_rdata}), .local_rvalid(local_rvalid), .local_rready(local_rready),
        .host_ar(host_ar), .host_arvalid(host_arvalid), .host_arready(host_arready),
        .host_r({host_rlast, 8'd0, host_rresp, host_rdata}), .host_rvalid(host_rvalid), .host_rready(host_rready)
    );

    assign answer_hit = answer[`FERRY_PAGE_HIT_RANGE];
    assign answer_host = answer[`FERRY_PAGE_HOST_RANGE];
    assign answer_snoop = answer[`FERRY_PAGE_SNOOP_RANGE];
    assign answer_page = answer[`FERRY_PAGE_PAGE_RANGE];
    assign answer_fault = answer[`FERRY_PAGE_FAULT_RANGE];
    assign answer_height = answer[`FERRY_PAGE_HEIGHT_RANGE];
    assign local_araddr = local_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    assign local_arlen = local_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign host_araddr = host_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    assign host_arlen = host_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign host_arnosnoop = host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE];

    wire unused = &{1'b0, local_ar, host_ar};
endmodule

`default_nettype wire
