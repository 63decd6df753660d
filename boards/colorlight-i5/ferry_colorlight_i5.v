// SPDX-License-Identifier: Apache-2.0
// Pageferry on a Colorlight i5 (v7.0): 25 MHz in, 50 MHz inside, a serial port at 1 Mbaud through the debugging probe of the extension
// board, 8 MB of SDRAM whose data masks are tied, one light. The pins are those of colorlight-i5.lpf.
`default_nettype none

module ferry_colorlight_i5 #(
    // What the board says to the host.
    parameter [127:0] NAME = "colorlight-i5",
    // As ferry_device's.
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // Length of a bit on the line in sixteenths of a clock: 1 Mbaud.
    parameter BIT_SIXTEENTHS = 800
) (
    // Oscillator.
    input  wire        clk_25mhz,
    // Serial port.
    input  wire        rxd,
    output wire        txd,
    // Lit when low: a host has a session.
    output wire        led_n,

    // SDRAM chip.
    output wire        sdram_clk,
    output wire        sdram_wen,
    output wire        sdram_rasn,
    output wire        sdram_casn,
    output wire [10:0] sdram_a,
    output wire [1:0]  sdram_ba,
    inout  wire [31:0] sdram_d
);
    wire clk, late_clk, locked;
    wire [7:0] lights;
    // The module ties them: clock enable high, the others low.
    wire unused_cke, unused_csn;
    wire [3:0] unused_dm, unused_usb;

    // 25 MHz * 24 = 600 MHz, / 12 = 50 MHz twice; the second one three of its twelve steps late, a quarter of a clock.
    (* FREQUENCY_PIN_CLKI="25" *) (* FREQUENCY_PIN_CLKOP="50" *) (* FREQUENCY_PIN_CLKOS="50" *)
    EHXPLLL #(
        .CLKI_DIV(1), .CLKFB_DIV(2), .FEEDBK_PATH("CLKOP"), .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"),
        .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(12), .CLKOP_CPHASE(5), .CLKOP_FPHASE(0),
        .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV(12), .CLKOS_CPHASE(8), .CLKOS_FPHASE(0)
    ) pll (
        .CLKI(clk_25mhz), .CLKFB(clk), .CLKOP(clk), .CLKOS(late_clk), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0), .PLLWAKESYNC(1'b0),
        .ENCLKOP(1'b0), .ENCLKOS(1'b0)
    );

    // A clock leaves through the cell that data leaves through, so that it is as late as they are and a quarter more.
    ODDRX1F clock_out (.SCLK(late_clk), .RST(1'b0), .D0(1'b1), .D1(1'b0), .Q(sdram_clk));

    ferry_sdram_board #(
        .NAME(NAME), .CLOCKS_PER_US(50), .BIT_SIXTEENTHS(BIT_SIXTEENTHS), .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE),
        .ADDRESS_BITS(23), .ROW_BITS(11), .WORD_BITS(32), .MASKS(0), .PAGE_TABLES(1)
    ) board (
        .clk(clk), .locked(locked), .rxd(rxd), .txd(txd), .usb_clk(1'b0), .usb_io_clk(1'b0), .usb_dp_i(1'b0), .usb_dn_i(1'b0),
        .usb_dp_o(unused_usb[0]), .usb_dn_o(unused_usb[1]), .usb_oe(unused_usb[2]), .usb_pullup(unused_usb[3]),
        .sdram_cke(unused_cke), .sdram_cs_n(unused_csn), .sdram_ras_n(sdram_rasn), .sdram_cas_n(sdram_casn),
        .sdram_we_n(sdram_wen), .sdram_ba(sdram_ba), .sdram_a(sdram_a), .sdram_dm(unused_dm), .sdram_dq(sdram_d),
        .lights(lights)
    );

    assign led_n = !lights[2];

    wire unused = &{1'b0, lights, unused_cke, unused_csn, unused_dm, unused_usb};
endmodule

`default_nettype wire
