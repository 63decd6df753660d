// SPDX-License-Identifier: Apache-2.0
// What every board with an SDR SDRAM chip has behind its clocks and pins: the device at its serial port or at two USB pins, the packaged
// controller (LiteDRAM, generated for the board) before the chip, and lights. A board's own module adds the clocks.
`default_nettype none

module ferry_sdram_board #(
    // What the board says to the host, at most 15 characters.
    parameter [127:0] NAME = "ferry",
    // Clocks a microsecond.
    parameter CLOCKS_PER_US = 50,
    // Where the host is: "serial" or "usb". The other one's pins are left alone.
    parameter TRANSPORT = "serial",
    // As ferry_serial_device's.
    parameter BIT_SIXTEENTHS = 267,
    parameter PAGE_TABLES = 0,
    parameter TILING = 0,
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // The chip: log2 of its bytes, bits of a row's address and of a word.
    parameter ADDRESS_BITS = 25,
    parameter ROW_BITS = 13,
    parameter WORD_BITS = 16,
    // As ferry_dram_port's.
    parameter MASKS = 1
) (
    // Clock of everything, and that it runs well.
    input  wire                   clk,
    input  wire                   locked,

    // The line, as ferry_serial_device's.
    input  wire                   rxd,
    output wire                   txd,

    // The bus' clocks and wires, as ferry_usb_device's; `locked` is of these clocks too.
    input  wire                   usb_clk,
    input  wire                   usb_io_clk,
    input  wire                   usb_dp_i,
    input  wire                   usb_dn_i,
    output wire                   usb_dp_o,
    output wire                   usb_dn_o,
    output wire                   usb_oe,
    output wire                   usb_pullup,

    // The chip, without its clock, which the board drives a quarter of a clock late.
    output wire                   sdram_cke,
    output wire                   sdram_cs_n,
    output wire                   sdram_ras_n,
    output wire                   sdram_cas_n,
    output wire                   sdram_we_n,
    output wire [1:0]             sdram_ba,
    output wire [ROW_BITS-1:0]    sdram_a,
    output wire [WORD_BITS/8-1:0] sdram_dm,
    inout  wire [WORD_BITS-1:0]   sdram_dq,

    // Lights, each high when lit: 0 the clock runs (2^25 clocks on, as many off), 1 the chip works, 2 a host has a session,
    // 3 bytes come, 4 bytes go, 5 memory is read, 6 memory is written, 7 something is wrong: the chip is not ready, or nobody is
    // at the other end, as the serial line has been low for more than a millisecond, or USB quiet for more than four.
    output wire [7:0]             lights
);
    localparam COMMAND_BITS = ADDRESS_BITS - $clog2(WORD_BITS / 8);

    // --- Reset ------------------------------------------------------------------------------------------------------
    // Everything waits for the clock, the device for the memory too. Flip-flops are 0 when the bitstream is loaded.

    reg [4:0] settled_reg = 5'd0;
    reg       rst_reg = 1'b1;
    reg       device_rst_reg = 1'b1;
    wire      memory_ready;

    always @(posedge clk or negedge locked) begin
        if (!locked)
            settled_reg <= 5'd0;
        else if (!settled_reg[4])
            settled_reg <= settled_reg + 5'd1;
    end
    always @(posedge clk) begin
        rst_reg <= !settled_reg[4];
        device_rst_reg <= rst_reg || !memory_ready;
    end

    // --- Memory -----------------------------------------------------------------------------------------------------

    wire [29:0] wb_adr;
    wire [31:0] wb_dat_w;
    wire        wb_stb, wb_ack;
    wire [4:0]  unused_core;
    wire [31:0] unused_read;
    wire        cmd_valid, cmd_ready, cmd_we, words_valid, words_ready, reads_valid;
    wire [COMMAND_BITS-1:0] cmd_addr;
    wire [WORD_BITS-1:0] words_data, reads_data;
    wire [WORD_BITS/8-1:0] words_we;

    ferry_dram_start #(.CLOCKS_PER_US(CLOCKS_PER_US)) start (
        .clk(clk), .rst(rst_reg), .ready(memory_ready), .wb_adr(wb_adr), .wb_dat_w(wb_dat_w), .wb_stb(wb_stb), .wb_ack(wb_ack)
    );

    litedram_core controller (
        .clk(clk), .rst(rst_reg), .init_done(unused_core[0]), .init_error(unused_core[1]), .user_clk(unused_core[2]),
        .user_rst(unused_core[3]),
        .sdram_cke(sdram_cke), .sdram_cs_n(sdram_cs_n), .sdram_ras_n(sdram_ras_n), .sdram_cas_n(sdram_cas_n),
        .sdram_we_n(sdram_we_n), .sdram_ba(sdram_ba), .sdram_a(sdram_a), .sdram_dm(sdram_dm), .sdram_dq(sdram_dq),
        .wb_ctrl_adr(wb_adr), .wb_ctrl_dat_w(wb_dat_w), .wb_ctrl_dat_r(unused_read), .wb_ctrl_sel(4'hf), .wb_ctrl_cyc(wb_stb),
        .wb_ctrl_stb(wb_stb), .wb_ctrl_we(1'b1), .wb_ctrl_ack(wb_ack), .wb_ctrl_err(unused_core[4]), .wb_ctrl_cti(3'd0), .wb_ctrl_bte(2'd0),
        .user_port_video_cmd_valid(cmd_valid), .user_port_video_cmd_ready(cmd_ready), .user_port_video_cmd_we(cmd_we),
        .user_port_video_cmd_addr(cmd_addr), .user_port_video_wdata_valid(words_valid),
        .user_port_video_wdata_ready(words_ready), .user_port_video_wdata_data(words_data), .user_port_video_wdata_we(words_we),
        .user_port_video_rdata_valid(reads_valid), .user_port_video_rdata_ready(1'b1), .user_port_video_rdata_data(reads_data)
    );

    wire [1:0]  awid, bid, arid, rid;
    wire [ADDRESS_BITS-1:0] awaddr, araddr;
    wire [7:0]  awlen, wstrb, arlen;
    wire [63:0] wdata, rdata;
    wire        awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rlast, rvalid, rready;

    ferry_dram_port #(.ADDRESS_BITS(ADDRESS_BITS), .NATIVE_BITS(WORD_BITS), .MASKS(MASKS)) port (
        .clk(clk), .rst(rst_reg),
        .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awlen(awlen), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
        .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
        .s_axi_bid(bid), .s_axi_bvalid(bvalid), .s_axi_bready(bready),
        .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arvalid(arvalid), .s_axi_arready(arready),
        .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rlast(rlast), .s_axi_rvalid(rvalid), .s_axi_rready(rready),
        .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_we(cmd_we), .cmd_addr(cmd_addr), .wdata_data(words_data),
        .wdata_we(words_we), .wdata_valid(words_valid), .wdata_ready(words_ready), .rdata_data(reads_data),
        .rdata_valid(reads_valid)
    );

    // --- The device -------------------------------------------------------------------------------------------------

    wire        session_open, link_busy;
    // Every burst is INCR of whole beats.
    wire [10:0] unused_shape;

    // Bytes move, and nobody is seen at the other end.
    wire        comes, goes, alone;

    generate
        if (TRANSPORT == "usb") begin : usb
            // The bus' reset begins with the device's and ends with a clock of its own.
            reg [1:0] usb_rst_reg = 2'b11;
            always @(posedge usb_clk or posedge device_rst_reg) begin
                if (device_rst_reg)
                    usb_rst_reg <= 2'b11;
                else
                    usb_rst_reg <= {usb_rst_reg[0], 1'b0};
            end

            ferry_usb_device #(
                .LOCAL_ADDRESS_BITS(ADDRESS_BITS), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING), .FIRMWARE_HEX(FIRMWARE_HEX),
                .CPU_CORE(CPU_CORE), .CLOCKS_PER_US(CLOCKS_PER_US), .NAME(NAME)
            ) device (
                .clk(clk), .rst(device_rst_reg), .usb_clk(usb_clk), .usb_rst(usb_rst_reg[1]), .usb_io_clk(usb_io_clk),
                .usb_dp_i(usb_dp_i), .usb_dn_i(usb_dn_i), .usb_dp_o(usb_dp_o), .usb_dn_o(usb_dn_o), .usb_oe(usb_oe),
                .usb_pullup(usb_pullup), .session_open(session_open), .byte_comes(comes), .byte_goes(goes), .link_busy(link_busy),
                .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(unused_shape[2:0]),
                .m_axi_awburst(unused_shape[4:3]), .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_wdata(wdata),
                .m_axi_wstrb(wstrb), .m_axi_wlast(unused_shape[5]),
                .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(bid), .m_axi_bresp(2'b00), .m_axi_bvalid(bvalid),
                .m_axi_bready(bready), .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(unused_shape[8:6]),
                .m_axi_arburst(unused_shape[10:9]), .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_rid(rid), .m_axi_rdata(rdata),
                .m_axi_rresp(2'b00), .m_axi_rlast(rlast), .m_axi_rvalid(rvalid), .m_axi_rready(rready)
            );
            // A host begins a frame every millisecond; between packets D+ is high.
            ferry_stuck #(.CLOCKS(4000 * CLOCKS_PER_US)) quiet (.clk(clk), .rst(rst_reg), .line(usb_dp_i), .stuck(alone));

            assign txd = 1'b1;
            wire unused_line = rxd;
        end else begin : serial
            ferry_serial_device #(
                .LOCAL_ADDRESS_BITS(ADDRESS_BITS), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING), .FIRMWARE_HEX(FIRMWARE_HEX),
                .CPU_CORE(CPU_CORE), .BIT_SIXTEENTHS(BIT_SIXTEENTHS), .NAME(NAME)
            ) device (
                .clk(clk), .rst(device_rst_reg), .rxd(rxd), .txd(txd), .session_open(session_open), .link_busy(link_busy),
                .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(unused_shape[2:0]),
                .m_axi_awburst(unused_shape[4:3]), .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_wdata(wdata),
                .m_axi_wstrb(wstrb), .m_axi_wlast(unused_shape[5]),
                .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(bid), .m_axi_bresp(2'b00), .m_axi_bvalid(bvalid),
                .m_axi_bready(bready), .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(unused_shape[8:6]),
                .m_axi_arburst(unused_shape[10:9]), .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_rid(rid), .m_axi_rdata(rdata),
                .m_axi_rresp(2'b00), .m_axi_rlast(rlast), .m_axi_rvalid(rvalid), .m_axi_rready(rready)
            );
            ferry_stuck #(.CLOCKS(1000 * CLOCKS_PER_US)) low (.clk(clk), .rst(rst_reg), .line(!rxd), .stuck(alone));
            reg [1:0] line_reg;
            always @(posedge clk)
                line_reg <= rst_reg ? 2'b11 : {line_reg[0], rxd};
            assign comes = !line_reg[1];
            assign goes = !txd;

            assign {usb_dp_o, usb_dn_o, usb_oe, usb_pullup} = 4'd0;
            wire unused_bus = &{1'b0, usb_clk, usb_io_clk, usb_dp_i, usb_dn_i};
        end
    endgenerate

    // --- Lights -----------------------------------------------------------------------------------------------------

    reg [25:0] beat_reg;

    always @(posedge clk)
        beat_reg <= rst_reg ? 26'd0 : beat_reg + 26'd1;

    assign lights[2:0] = {session_open, memory_ready, beat_reg[25]};
    ferry_light come_light (.clk(clk), .rst(rst_reg), .happens(comes), .lit(lights[3]));
    ferry_light go_light (.clk(clk), .rst(rst_reg), .happens(goes), .lit(lights[4]));
    ferry_light reads (.clk(clk), .rst(rst_reg), .happens(arvalid && arready), .lit(lights[5]));
    ferry_light writes (.clk(clk), .rst(rst_reg), .happens(awvalid && awready), .lit(lights[6]));
    assign lights[7] = !memory_ready || alone;

    wire unused = &{1'b0, link_busy, unused_core, unused_read, unused_shape};
endmodule

`default_nettype wire
