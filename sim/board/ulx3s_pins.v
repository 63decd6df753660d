// SPDX-License-Identifier: Apache-2.0
// An ULX3S as it stands on a desk: what is flashed, an oscillator, a memory chip; the serial port's two lines go to whoever simulates.
`timescale 1ns/1ps
`default_nettype none

module ulx3s_pins #(
    // As ferry_ulx3s's.
    parameter FIRMWARE_HEX = "",
    parameter BIT_SIXTEENTHS = 267
) (
    input  wire       clk_25mhz,
    input  wire       rxd,
    output wire       txd,
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

    ferry_ulx3s #(.FIRMWARE_HEX(FIRMWARE_HEX), .BIT_SIXTEENTHS(BIT_SIXTEENTHS)) board (
        .clk_25mhz(clk_25mhz), .ftdi_rxd(txd), .ftdi_txd(rxd), .led(led), .wifi_gpio0(unused_wifi), .sdram_clk(sdram_clk), .sdram_cke(cke),
        .sdram_csn(csn), .sdram_wen(wen), .sdram_rasn(rasn), .sdram_casn(casn), .sdram_a(a), .sdram_ba(ba), .sdram_dqm(dqm),
        .sdram_d(d)
    );

    sdram_chip chip (
        .clk(sdram_clk), .cke(cke), .cs_n(csn), .ras_n(rasn), .cas_n(casn), .we_n(wen), .ba(ba), .a(a), .dqm(dqm), .dq(d),
        .broken(broken), .awake(awake)
    );

    assign busy = !board.board.memory_ready || board.board.link_busy || board.board.device.framed.device.units.observe.core_busy ||
                  board.board.device.framed.device.units.observe.read_busy || board.board.device.framed.device.units.observe.write_busy ||
                  board.board.device.framed.device.units.observe.requester_busy;
endmodule

`default_nettype wire
