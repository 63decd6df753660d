// SPDX-License-Identifier: Apache-2.0
// A board of your own as it stands on a desk: what is flashed, an oscillator, a memory chip. `make sim` in this folder simulates it from
// power-on, with the serial port at a pseudo terminal; the oscillator has what the file of the pins says. Change ferry_template's name and
// ports as they are in TOP.v, and the chip's sizes and times; all else is what every board at a serial port has.
`timescale 1ns/1ps
`default_nettype none

module board_pins #(
    parameter FIRMWARE_HEX = ""
) (
    input  wire       oscillator,
    // The serial port: the first from the host, the second to it.
    input  wire       rxd,
    output wire       txd,
    // There is no USB.
    input  wire       host_drives,
    input  wire       host_dp,
    input  wire       host_dn,
    output wire       usb_dp,
    output wire       usb_dn,
    output wire       board_drives,
    // Eight lights, as ferry_sdram_board.v lists them; those that the board does not have are dark.
    output wire [7:0] led,
    // What the chip has against it (sdram_chip.v), and whether it was woken.
    output wire [4:0] broken,
    output wire       awake,
    // A clock more may change something.
    output wire       busy
);
    wire        sdram_clk, cke, csn, rasn, casn, wen;
    wire [12:0] a;
    wire [1:0]  ba, dqm;
    wire [15:0] d;

    ferry_template #(
`ifdef SIXTEENTHS
        // Another rate than the flashed one: `make sim SIXTEENTHS=64`.
        .BIT_SIXTEENTHS(`SIXTEENTHS),
`endif
`ifdef OPTIONS
        // NAME and OPTIONS of the Makefile, as the netlist has them.
        `OPTIONS
`endif
        .FIRMWARE_HEX(FIRMWARE_HEX)
    ) board (
        .clk_in(oscillator), .rxd(rxd), .txd(txd), .led(led[2]), .sdram_clk(sdram_clk), .sdram_cke(cke), .sdram_csn(csn),
        .sdram_rasn(rasn), .sdram_casn(casn), .sdram_wen(wen), .sdram_ba(ba), .sdram_a(a), .sdram_dqm(dqm), .sdram_d(d)
    );

    // The chip of your data sheet: bits of a row's address, of a column's, of a word; nanoseconds between refreshes of two rows (64 ms by
    // their number). sdram_chip.v lists its other times, which are an MT48LC16M16A2's of speed -75 unless they are set here. What the
    // board ties is tied here too.
    sdram_chip #(.ROW_BITS(13), .COLUMN_BITS(9), .WORD_BITS(16), .T_REFI(7812)) chip (
        .clk(sdram_clk), .cke(cke), .cs_n(csn), .ras_n(rasn), .cas_n(casn), .we_n(wen), .ba(ba), .a(a), .dqm(dqm), .dq(d),
        .broken(broken), .awake(awake)
    );

    assign {led[7:3], led[1:0]} = 7'd0;
    assign {usb_dp, usb_dn, board_drives} = 3'd0;
    assign busy = !board.board.memory_ready || board.board.link_busy ||
                  board.board.serial.device.framed.device.units.observe.core_busy ||
                  board.board.serial.device.framed.device.units.observe.read_busy ||
                  board.board.serial.device.framed.device.units.observe.write_busy ||
                  board.board.serial.device.framed.device.units.observe.requester_busy;
    wire unused = &{1'b0, host_drives, host_dp, host_dn};
endmodule

`default_nettype wire
