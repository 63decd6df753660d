// SPDX-License-Identifier: Apache-2.0
// An ULX3S as it stands on a desk: what is flashed, an oscillator, a memory chip; the serial port's two lines and the USB cable's two
// wires go to whoever simulates.
`timescale 1ns/1ps
`default_nettype none

module ulx3s_pins #(
    // As ferry_ulx3s's.
    parameter [127:0] NAME = "ulx3s-85f",
    parameter FIRMWARE_HEX = "",
    parameter TRANSPORT = "serial",
    parameter PAGE_TABLES = 1,
    parameter TILING = 1,
    parameter BIT_SIXTEENTHS = 267
) (
    input  wire       oscillator,
    input  wire       rxd,
    output wire       txd,
    // What a host drives onto D+ and D-, if it does, and the wires as they are then.
    input  wire       host_drives,
    input  wire       host_dp,
    input  wire       host_dn,
    output wire       usb_dp,
    output wire       usb_dn,
    output wire       board_drives,
    output wire [7:0] led,
    // What the chip has against it (sdram_chip.v), and whether it was woken.
    output wire [4:0] broken,
    output wire       awake,
    // A clock more may change something.
    output wire       busy
);
    wire        sdram_clk, cke, csn, wen, rasn, casn;
    wire [12:0] a;
    wire [1:0]  ba, dqm;
    wire [15:0] d;
    wire        unused_wifi;
    wire        dp, dn, pull;

    // A netlist has no parameters any more.
    ferry_ulx3s
`ifndef NETLIST
    #(
        .NAME(NAME), .FIRMWARE_HEX(FIRMWARE_HEX), .TRANSPORT(TRANSPORT), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING),
        .BIT_SIXTEENTHS(BIT_SIXTEENTHS)
    )
`endif
    board (
        .clk_25mhz(oscillator), .ftdi_rxd(txd), .ftdi_txd(rxd), .usb_fpga_bd_dp(dp), .usb_fpga_bd_dn(dn), .usb_fpga_pu_dp(pull),
        .led(led), .wifi_gpio0(unused_wifi), .sdram_clk(sdram_clk), .sdram_cke(cke), .sdram_csn(csn), .sdram_wen(wen),
        .sdram_rasn(rasn), .sdram_casn(casn), .sdram_a(a), .sdram_ba(ba), .sdram_dqm(dqm), .sdram_d(d)
    );

    sdram_chip chip (
        .clk(sdram_clk), .cke(cke), .cs_n(csn), .ras_n(rasn), .cas_n(casn), .we_n(wen), .ba(ba), .a(a), .dqm(dqm), .dq(d),
        .broken(broken), .awake(awake)
    );

    // Where nobody drives, the host's resistors pull both wires down and the board's, if it is driven, D+ up: it is the stronger one.
    assign dp = host_drives ? host_dp : board_drives ? 1'bz : pull;
    assign dn = host_drives ? host_dn : board_drives ? 1'bz : 1'b0;
    assign usb_dp = dp;
    assign usb_dn = dn;

`ifdef NETLIST
    // Of a netlist (with the host at its serial port) only the pins are seen: nobody has woken the chip, or a host has a session.
    assign board_drives = 1'b0;
    assign busy = !led[1] || led[2];
`else
    assign board_drives = board.usb_oe;
    wire link_busy = board.board.link_busy;
    wire core_busy, read_busy, write_busy, requester_busy;
    generate
        if (TRANSPORT == "usb") begin : usb
            assign core_busy = board.board.usb.device.framed.device.units.observe.core_busy;
            assign read_busy = board.board.usb.device.framed.device.units.observe.read_busy;
            assign write_busy = board.board.usb.device.framed.device.units.observe.write_busy;
            assign requester_busy = board.board.usb.device.framed.device.units.observe.requester_busy;
        end else begin : serial
            assign core_busy = board.board.serial.device.framed.device.units.observe.core_busy;
            assign read_busy = board.board.serial.device.framed.device.units.observe.read_busy;
            assign write_busy = board.board.serial.device.framed.device.units.observe.write_busy;
            assign requester_busy = board.board.serial.device.framed.device.units.observe.requester_busy;
        end
    endgenerate
    assign busy = !board.board.memory_ready || link_busy || core_busy || read_busy || write_busy || requester_busy;
`endif
endmodule

`default_nettype wire
