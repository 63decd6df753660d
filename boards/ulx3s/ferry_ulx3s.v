// SPDX-License-Identifier: Apache-2.0
// Pageferry on an ULX3S (v2.x and v3.0.x): 25 MHz in, 50 MHz inside, 32 MB of SDRAM, eight lights, and the host at the FTDI serial
// port (US1), at 3 Mbaud, or at the USB connector whose wires come to the chip (US2). The pins are those of ulx3s.lpf.
`default_nettype none

module ferry_ulx3s #(
    // What the board says to the host: the Makefile names the chip.
    parameter [127:0] NAME = "ulx3s-85f",
    // As ferry_device's.
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // 1: page tables (driver model 2) and tiled images. The Makefile says where they are left out.
    parameter PAGE_TABLES = 1,
    parameter TILING = 1,
    // "serial" or "usb".
    parameter TRANSPORT = "serial",
    // Length of a bit on the line in sixteenths of a clock: 267 are 3 Mbaud, 0.1 % slow. Simulation has no time for that.
    parameter BIT_SIXTEENTHS = 267
) (
    // Oscillator.
    input  wire        clk_25mhz,
    // FTDI's names, seen from there: it sends on txd.
    output wire        ftdi_rxd,
    input  wire        ftdi_txd,
    // US2: D+, D-, and the resistor of 1.5 kOhm that tells the host of a full-speed device.
    inout  wire        usb_fpga_bd_dp,
    inout  wire        usb_fpga_bd_dn,
    inout  wire        usb_fpga_pu_dp,
    // Lights D0 to D7: lit when high.
    output wire [7:0]  led,
    // High lets the Wi-Fi module alone, which could restart the board.
    output wire        wifi_gpio0,

    // SDRAM chip.
    output wire        sdram_clk,
    output wire        sdram_cke,
    output wire        sdram_csn,
    output wire        sdram_wen,
    output wire        sdram_rasn,
    output wire        sdram_casn,
    output wire [12:0] sdram_a,
    output wire [1:0]  sdram_ba,
    output wire [1:0]  sdram_dqm,
    inout  wire [15:0] sdram_d
);
    wire clk, late_clk, pll_locked, locked;
    wire usb_clk, usb_io_clk, usb_dp_i, usb_dn_i, usb_dp_o, usb_dn_o, usb_oe, usb_pullup;

    assign wifi_gpio0 = 1'b1;

    // 25 MHz * 24 = 600 MHz, / 12 = 50 MHz twice; the second one three of its twelve steps late, a quarter of a clock.
    (* FREQUENCY_PIN_CLKI="25" *) (* FREQUENCY_PIN_CLKOP="50" *) (* FREQUENCY_PIN_CLKOS="50" *)
    EHXPLLL #(
        .CLKI_DIV(1), .CLKFB_DIV(2), .FEEDBK_PATH("CLKOP"), .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"),
        .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(12), .CLKOP_CPHASE(5), .CLKOP_FPHASE(0),
        .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV(12), .CLKOS_CPHASE(8), .CLKOS_FPHASE(0)
    ) pll (
        .CLKI(clk_25mhz), .CLKFB(clk), .CLKOP(clk), .CLKOS(late_clk), .LOCK(pll_locked), .RST(1'b0), .STDBY(1'b0),
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0), .PLLWAKESYNC(1'b0),
        .ENCLKOP(1'b0), .ENCLKOS(1'b0)
    );

    // USB's are nothing to 50 MHz, and come from a PLL of their own: 25 MHz / 5 = 5 MHz, * 2 = 10 MHz is what goes round, * 48 = 480 MHz
    // inside; / 10 = 48 MHz and / 40 = 12 MHz, which begin together: a phase of a divider less one is none.
    generate
        if (TRANSPORT == "usb") begin : usb
            wire round, usb_locked;
            (* FREQUENCY_PIN_CLKI="25" *) (* FREQUENCY_PIN_CLKOP="10" *) (* FREQUENCY_PIN_CLKOS="48" *) (* FREQUENCY_PIN_CLKOS2="12" *)
            EHXPLLL #(
                .CLKI_DIV(5), .CLKFB_DIV(2), .FEEDBK_PATH("CLKOP"), .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"),
                .OUTDIVIDER_MUXC("DIVC"), .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(48), .CLKOP_CPHASE(47), .CLKOP_FPHASE(0),
                .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV(10), .CLKOS_CPHASE(9), .CLKOS_FPHASE(0),
                .CLKOS2_ENABLE("ENABLED"), .CLKOS2_DIV(40), .CLKOS2_CPHASE(39), .CLKOS2_FPHASE(0)
            ) pll (
                .CLKI(clk_25mhz), .CLKFB(round), .CLKOP(round), .CLKOS(usb_io_clk), .CLKOS2(usb_clk), .LOCK(usb_locked), .RST(1'b0),
                .STDBY(1'b0), .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0),
                .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0), .ENCLKOS(1'b0), .ENCLKOS2(1'b0)
            );
            assign locked = pll_locked && usb_locked;
        end else begin : serial
            assign {usb_io_clk, usb_clk} = 2'b00;
            assign locked = pll_locked;
        end
    endgenerate

    // Pins that are let go of where the host is at the other connector.
    TRELLIS_IO #(.DIR("BIDIR")) wire_dp (.B(usb_fpga_bd_dp), .I(usb_dp_o), .T(!usb_oe), .O(usb_dp_i));
    TRELLIS_IO #(.DIR("BIDIR")) wire_dn (.B(usb_fpga_bd_dn), .I(usb_dn_o), .T(!usb_oe), .O(usb_dn_i));
    wire unused_pullup;
    TRELLIS_IO #(.DIR("BIDIR")) pull (.B(usb_fpga_pu_dp), .I(1'b1), .T(!usb_pullup), .O(unused_pullup));

    // A clock leaves through the cell that data leaves through, so that it is as late as they are and a quarter more.
    ODDRX1F clock_out (.SCLK(late_clk), .RST(1'b0), .D0(1'b1), .D1(1'b0), .Q(sdram_clk));

    ferry_sdram_board #(
        .NAME(NAME), .CLOCKS_PER_US(50), .TRANSPORT(TRANSPORT), .BIT_SIXTEENTHS(BIT_SIXTEENTHS), .FIRMWARE_HEX(FIRMWARE_HEX),
        .PAGE_TABLES(PAGE_TABLES), .TILING(TILING), .CPU_CORE(CPU_CORE), .ADDRESS_BITS(25), .ROW_BITS(13), .WORD_BITS(16)
    ) board (
        .clk(clk), .locked(locked), .rxd(ftdi_txd), .txd(ftdi_rxd),
        .usb_clk(usb_clk), .usb_io_clk(usb_io_clk), .usb_dp_i(usb_dp_i), .usb_dn_i(usb_dn_i), .usb_dp_o(usb_dp_o), .usb_dn_o(usb_dn_o),
        .usb_oe(usb_oe), .usb_pullup(usb_pullup),
        .sdram_cke(sdram_cke), .sdram_cs_n(sdram_csn), .sdram_ras_n(sdram_rasn), .sdram_cas_n(sdram_casn),
        .sdram_we_n(sdram_wen), .sdram_ba(sdram_ba), .sdram_a(sdram_a), .sdram_dm(sdram_dqm), .sdram_dq(sdram_d),
        .lights(led)
    );

    wire unused = unused_pullup;
endmodule

`default_nettype wire
