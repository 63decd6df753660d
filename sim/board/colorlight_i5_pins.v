// SPDX-License-Identifier: Apache-2.0
// A Colorlight i5 as it stands on a desk: what is flashed, an oscillator, a memory chip whose select, clock enable and data masks the
// module ties; the serial port's two lines go to whoever simulates. Ports as ulx3s_pins has them.
`timescale 1ns/1ps
`default_nettype none

module colorlight_i5_pins #(
    // As ferry_colorlight_i5's.
    parameter FIRMWARE_HEX = "",
    parameter BIT_SIXTEENTHS = 800
) (
    input  wire       oscillator,
    input  wire       rxd,
    output wire       txd,
    // There is no USB.
    input  wire       host_drives,
    input  wire       host_dp,
    input  wire       host_dn,
    output wire       usb_dp,
    output wire       usb_dn,
    output wire       board_drives,
    // The one light, where the ULX3S has the same: a host has a session.
    output wire [7:0] led,
    output wire [4:0] broken,
    output wire       awake,
    output wire       busy
);
    wire        sdram_clk, wen, rasn, casn, led_n;
    wire [10:0] a;
    wire [1:0]  ba;
    wire [31:0] d;

    ferry_colorlight_i5 #(.FIRMWARE_HEX(FIRMWARE_HEX), .BIT_SIXTEENTHS(BIT_SIXTEENTHS)) board (
        .clk_25mhz(oscillator), .rxd(rxd), .txd(txd), .led_n(led_n), .sdram_clk(sdram_clk), .sdram_wen(wen), .sdram_rasn(rasn),
        .sdram_casn(casn), .sdram_a(a), .sdram_ba(ba), .sdram_d(d)
    );

    sdram_chip #(.ROW_BITS(11), .COLUMN_BITS(8), .WORD_BITS(32), .T_REFI(15625)) chip (
        .clk(sdram_clk), .cke(1'b1), .cs_n(1'b0), .ras_n(rasn), .cas_n(casn), .we_n(wen), .ba(ba), .a(a), .dqm(4'd0), .dq(d),
        .broken(broken), .awake(awake)
    );

    assign led = {5'd0, !led_n, 2'd0};
    assign {usb_dp, usb_dn, board_drives} = 3'd0;
    assign busy = !board.board.memory_ready || board.board.link_busy ||
                  board.board.serial.device.framed.device.units.observe.core_busy ||
                  board.board.serial.device.framed.device.units.observe.read_busy ||
                  board.board.serial.device.framed.device.units.observe.write_busy ||
                  board.board.serial.device.framed.device.units.observe.requester_busy;
    wire unused = &{1'b0, host_drives, host_dp, host_dn};
endmodule

`default_nettype wire
