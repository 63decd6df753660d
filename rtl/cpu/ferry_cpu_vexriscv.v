// SPDX-License-Identifier: Apache-2.0
// The packaged VexRiscv (any variant with Wishbone instruction and data buses and no interrupt used) behind two plain
// valid/ready buses. Both Wishbone buses take an answer in the cycle of the request.
`default_nettype none

module ferry_cpu_vexriscv (
    // Clock and synchronous reset; execution starts at address 0.
    input  wire        clk,
    input  wire        rst,

    // Instructions: word address.
    output wire        fetch_valid,
    output wire [29:0] fetch_address,
    input  wire        fetch_ready,
    input  wire [31:0] fetch_rdata,

    // Data: word address and byte enables.
    output wire        data_valid,
    output wire        data_write,
    output wire [29:0] data_address,
    output wire [31:0] data_wdata,
    output wire [3:0]  data_wstrb,
    input  wire        data_ready,
    input  wire [31:0] data_rdata
);

    wire        fetch_cyc;
    wire        fetch_stb;
    wire        fetch_we;
    wire [31:0] fetch_wdata;
    wire [3:0]  fetch_sel;
    wire [2:0]  fetch_cti;
    wire [1:0]  fetch_bte;
    wire        data_cyc;
    wire        data_stb;
    wire [2:0]  data_cti;
    wire [1:0]  data_bte;

    assign fetch_valid = fetch_cyc && fetch_stb;
    assign data_valid = data_cyc && data_stb;

    VexRiscv core (
        .clk(clk),
        .reset(rst),
        .externalResetVector(32'd0),
        .timerInterrupt(1'b0),
        .softwareInterrupt(1'b0),
        .externalInterruptArray(32'd0),
        .iBusWishbone_CYC(fetch_cyc),
        .iBusWishbone_STB(fetch_stb),
        .iBusWishbone_ACK(fetch_ready),
        .iBusWishbone_WE(fetch_we),
        .iBusWishbone_ADR(fetch_address),
        .iBusWishbone_DAT_MISO(fetch_rdata),
        .iBusWishbone_DAT_MOSI(fetch_wdata),
        .iBusWishbone_SEL(fetch_sel),
        .iBusWishbone_ERR(1'b0),
        .iBusWishbone_CTI(fetch_cti),
        .iBusWishbone_BTE(fetch_bte),
        .dBusWishbone_CYC(data_cyc),
        .dBusWishbone_STB(data_stb),
        .dBusWishbone_ACK(data_ready),
        .dBusWishbone_WE(data_write),
        .dBusWishbone_ADR(data_address),
        .dBusWishbone_DAT_MISO(data_rdata),
        .dBusWishbone_DAT_MOSI(data_wdata),
        .dBusWishbone_SEL(data_wstrb),
        .dBusWishbone_ERR(1'b0),
        .dBusWishbone_CTI(data_cti),
        .dBusWishbone_BTE(data_bte)
    );

    wire unused = &{1'b0, fetch_we, fetch_wdata, fetch_sel, fetch_cti, fetch_bte, data_cti, data_bte};

endmodule

`default_nettype wire
