// SPDX-License-Identifier: Apache-2.0
// The packaged controller, played by lights_test: nobody is served, and no light hangs on it.
`default_nettype none

module litedram_core (
    input  wire        clk,
    input  wire        rst,
    output wire        init_done,
    output wire        init_error,
    output wire        user_clk,
    output wire        user_rst,
    output wire        sdram_cke,
    output wire        sdram_cs_n,
    output wire        sdram_ras_n,
    output wire        sdram_cas_n,
    output wire        sdram_we_n,
    output wire [1:0]  sdram_ba,
    output wire [12:0] sdram_a,
    output wire [1:0]  sdram_dm,
    inout  wire [15:0] sdram_dq,
    input  wire [29:0] wb_ctrl_adr,
    input  wire [31:0] wb_ctrl_dat_w,
    output wire [31:0] wb_ctrl_dat_r,
    input  wire [3:0]  wb_ctrl_sel,
    input  wire        wb_ctrl_cyc,
    input  wire        wb_ctrl_stb,
    input  wire        wb_ctrl_we,
    output wire        wb_ctrl_ack,
    output wire        wb_ctrl_err,
    input  wire [2:0]  wb_ctrl_cti,
    input  wire [1:0]  wb_ctrl_bte,
    input  wire        user_port_video_cmd_valid,
    output wire        user_port_video_cmd_ready,
    input  wire        user_port_video_cmd_we,
    input  wire [23:0] user_port_video_cmd_addr,
    input  wire        user_port_video_wdata_valid,
    output wire        user_port_video_wdata_ready,
    input  wire [15:0] user_port_video_wdata_data,
    input  wire [1:0]  user_port_video_wdata_we,
    output wire        user_port_video_rdata_valid,
    input  wire        user_port_video_rdata_ready,
    output wire [15:0] user_port_video_rdata_data
);
    assign {init_done, init_error, user_clk, user_rst, sdram_cke, sdram_cs_n, sdram_ras_n, sdram_cas_n, sdram_we_n} = 9'd0;
    assign {sdram_ba, sdram_a, sdram_dm, wb_ctrl_dat_r, wb_ctrl_ack, wb_ctrl_err} = 51'd0;
    assign {user_port_video_cmd_ready, user_port_video_wdata_ready, user_port_video_rdata_valid, user_port_video_rdata_data} = 19'd0;
    assign sdram_dq = 16'hzzzz;
endmodule

`default_nettype wire
