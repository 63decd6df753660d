// SPDX-License-Identifier: Apache-2.0
// The packaged bit-serial SERV behind the same two buses as the other cores: the smallest there is, and some twenty times
// slower, since it takes an instruction bit by bit. Its registers lie in a block RAM of their own, inside serv_rf_top.
`default_nettype none

module ferry_cpu_serv (
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

    wire [31:0] fetch_byte_address;
    wire [31:0] data_byte_address;

    assign fetch_address = fetch_byte_address[31:2];
    assign data_address = data_byte_address[31:2];

    wire [31:0] unused_ext_rs1;
    wire [31:0] unused_ext_rs2;
    wire [2:0]  unused_ext_funct3;
    wire        unused_mdu_valid;

    // The firmware needs two control registers: where a trap goes, and why it came.
    serv_rf_top #(.RESET_PC(32'd0), .WITH_CSR(1)) core (
        .clk(clk),
        .i_rst(rst),
        .i_timer_irq(1'b0),
        .o_ibus_adr(fetch_byte_address),
        .o_ibus_cyc(fetch_valid),
        .i_ibus_rdt(fetch_rdata),
        .i_ibus_ack(fetch_ready),
        .o_dbus_adr(data_byte_address),
        .o_dbus_dat(data_wdata),
        .o_dbus_sel(data_wstrb),
        .o_dbus_we(data_write),
        .o_dbus_cyc(data_valid),
        .i_dbus_rdt(data_rdata),
        .i_dbus_ack(data_ready),
        .o_ext_rs1(unused_ext_rs1),
        .o_ext_rs2(unused_ext_rs2),
        .o_ext_funct3(unused_ext_funct3),
        .i_ext_rd(32'd0),
        .i_ext_ready(1'b0),
        .o_mdu_valid(unused_mdu_valid)
    );

    wire unused = &{1'b0, fetch_byte_address[1:0], data_byte_address[1:0]};

endmodule

`default_nettype wire
