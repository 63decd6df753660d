// SPDX-License-Identifier: Apache-2.0
// A board of your own, every line explained: an ECP5, an oscillator, a serial port, an SDR SDRAM chip, a light. What stands here is
// what differs between boards, clocks and pins; the rest is ferry_sdram_board.
`default_nettype none

module ferry_template #(
    // What the bitstream says to the host. The Makefile sets it, so that a bitstream for the wrong chip can be told.
    parameter [127:0] NAME = "template-25f",
    // The firmware that the bitstream brings along. The Makefile sets it; in simulation it may be empty.
    parameter FIRMWARE_HEX = "",
    // Which soft core is among the sources.
    parameter [63:0] CPU_CORE = "vexriscv",
    // 1 where there is room: page tables (driver model 2) fit an LFE5U-25F at a serial port, tiled images beside them do not.
    parameter PAGE_TABLES = 1,
    parameter TILING = 0,
    // Length of a bit on the line, in sixteenths of a clock: 16 * 50 MHz / 3 Mbaud, rounded. 2 % more or less still work. What the
    // USB chip at the other end can do is the limit; 64 is the least.
    parameter BIT_SIXTEENTHS = 267
) (
    // Oscillator.
    input  wire        clk_in,
    // Serial port: the first from the host, the second to it.
    input  wire        rxd,
    output wire        txd,
    // A light that is lit when high.
    output wire        led,
    // Memory chip. A board that ties clock enable or chip select leaves that port out, and the wire below goes nowhere. Data masks must
    // be there: the device writes single bytes.
    output wire        sdram_clk,
    output wire        sdram_cke,
    output wire        sdram_csn,
    output wire        sdram_rasn,
    output wire        sdram_casn,
    output wire        sdram_wen,
    output wire [1:0]  sdram_ba,
    output wire [12:0] sdram_a,
    output wire [1:0]  sdram_dqm,
    inout  wire [15:0] sdram_d
);
    // The device's clock, the chip's, and that the PLL has found its frequency.
    wire clk, late_clk, locked;
    wire [7:0] lights;
    wire [3:0] unused_usb;

    // The clock goes round: CLKOP is fed back and divided by CLKFB_DIV until it is as fast as the oscillator divided by CLKI_DIV, so that
    // CLKOP has 25 / 1 * 2 = 50 MHz. Inside runs 50 * CLKOP_DIV = 600 MHz, which has to be between 400 and 800.
    // `build/boards-venv/bin/yowasp-ecppll -i 25 -o 50` looks for dividers; it divides no oscillator to less than some 3 MHz, which
    // the chip would not take, so that not every frequency can be had from every oscillator: 48 MHz give 51.2 or stay 48, not 50.
    // CLKOS, for the chip, has the same divider, and a phase of 3 more: 3 of 12 are a quarter of a clock late, so that what changes at the
    // device's edge stands still at the chip's. FREQUENCY_PIN tells place and route nothing; other tools read it.
    (* FREQUENCY_PIN_CLKI="25" *) (* FREQUENCY_PIN_CLKOP="50" *) (* FREQUENCY_PIN_CLKOS="50" *)
    EHXPLLL #(
        .CLKI_DIV(1), .CLKFB_DIV(2), .FEEDBK_PATH("CLKOP"), .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"),
        .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(12), .CLKOP_CPHASE(5), .CLKOP_FPHASE(0),
        .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV(12), .CLKOS_CPHASE(8), .CLKOS_FPHASE(0)
    ) pll (
        .CLKI(clk_in), .CLKFB(clk), .CLKOP(clk), .CLKOS(late_clk), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        // Phases can be moved while it runs; nobody does.
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0), .PLLWAKESYNC(1'b0),
        .ENCLKOP(1'b0), .ENCLKOS(1'b0)
    );

    // The chip's clock leaves through an output cell, high in the first half: it is then as late at the pin as the data are.
    ODDRX1F clock_out (.SCLK(late_clk), .RST(1'b0), .D0(1'b1), .D1(1'b0), .Q(sdram_clk));

    ferry_sdram_board #(
        .NAME(NAME), .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE), .BIT_SIXTEENTHS(BIT_SIXTEENTHS),
        // MHz of clk: what waits for microseconds counts with it.
        .CLOCKS_PER_US(50),
        .PAGE_TABLES(PAGE_TABLES), .TILING(TILING),
        // The chip: 2^25 bytes, 13 bits of row address (the width of sdram_a), 16 bits a word. As litedram.yml has it.
        .ADDRESS_BITS(25), .ROW_BITS(13), .WORD_BITS(16)
    ) board (
        .clk(clk), .locked(locked), .rxd(rxd), .txd(txd),
        // A board whose USB wires come to the FPGA sets TRANSPORT("usb") and has clocks of 48 and 12 MHz, as boards/ulx3s does; this
        // one has none.
        .usb_clk(1'b0), .usb_io_clk(1'b0), .usb_dp_i(1'b0), .usb_dn_i(1'b0), .usb_dp_o(unused_usb[0]), .usb_dn_o(unused_usb[1]),
        .usb_oe(unused_usb[2]), .usb_pullup(unused_usb[3]),
        .sdram_cke(sdram_cke), .sdram_cs_n(sdram_csn), .sdram_ras_n(sdram_rasn), .sdram_cas_n(sdram_casn),
        .sdram_we_n(sdram_wen), .sdram_ba(sdram_ba), .sdram_a(sdram_a), .sdram_dm(sdram_dqm), .sdram_dq(sdram_d),
        .lights(lights)
    );

    // Of eight lights (ferry_sdram_board.v lists them) the one that says most: a host has a session. For a light that is lit when low, !.
    assign led = lights[2];

    wire unused = &{1'b0, lights, unused_usb};
endmodule

`default_nettype wire
