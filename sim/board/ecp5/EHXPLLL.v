// SPDX-License-Identifier: Apache-2.0
// ECP5's PLL, as far as boards use it: CLKOP fed back, CLKOS and CLKOS2 beside it. Its settings are read as the data sheet has them, the
// oscillator's period is measured, and one that the chip cannot do gives no clock.
`timescale 1ns/1ps
`default_nettype none

module EHXPLLL #(
    parameter CLKI_DIV = 1,
    parameter CLKFB_DIV = 1,
    parameter FEEDBK_PATH = "CLKOP",
    parameter OUTDIVIDER_MUXA = "DIVA",
    parameter OUTDIVIDER_MUXB = "DIVB",
    parameter OUTDIVIDER_MUXC = "DIVC",
    parameter CLKOP_ENABLE = "ENABLED",
    parameter CLKOP_DIV = 8,
    parameter CLKOP_CPHASE = 0,
    parameter CLKOP_FPHASE = 0,
    parameter CLKOS_ENABLE = "DISABLED",
    parameter CLKOS_DIV = 8,
    parameter CLKOS_CPHASE = 0,
    parameter CLKOS_FPHASE = 0,
    parameter CLKOS2_ENABLE = "DISABLED",
    parameter CLKOS2_DIV = 8,
    parameter CLKOS2_CPHASE = 0,
    parameter CLKOS2_FPHASE = 0
) (
    input  wire CLKI,
    input  wire CLKFB,
    output reg  CLKOP,
    output reg  CLKOS,
    output reg  CLKOS2,
    output reg  LOCK,
    input  wire RST,
    input  wire STDBY,
    input  wire PHASESEL0,
    input  wire PHASESEL1,
    input  wire PHASEDIR,
    input  wire PHASESTEP,
    input  wire PHASELOADREG,
    input  wire PLLWAKESYNC,
    input  wire ENCLKOP,
    input  wire ENCLKOS,
    input  wire ENCLKOS2
);
    // In nanoseconds. The oscillator inside may run at 400 to 800 MHz, an output at 3.125 to 400.
    realtime edge_at, period, step, runs_at;
    integer  edges;
    reg      runs;
    wire     used = FEEDBK_PATH == "CLKOP" && OUTDIVIDER_MUXA == "DIVA" && OUTDIVIDER_MUXB == "DIVB" && OUTDIVIDER_MUXC == "DIVC" &&
        CLKOP_ENABLE == "ENABLED" && CLKOP_FPHASE == 0 && CLKOS_FPHASE == 0 && CLKOS2_FPHASE == 0;

    initial begin
        CLKOP = 1'b0;
        CLKOS = 1'b0;
        CLKOS2 = 1'b0;
        LOCK = 1'b0;
        edges = 0;
        runs = 1'b0;
        edge_at = 0;
        period = 0;
    end

    // Behind the third period the clocks run; LOCK comes later, as in the chip.
    always @(posedge CLKI) begin
        period = $realtime - edge_at;
        edge_at = $realtime;
        if (edges < 4)
            edges = edges + 1;
        if (edges == 3) begin
            runs_at = $realtime;
            step = period * CLKI_DIV / (1.0 * CLKFB_DIV * CLKOP_DIV);
            runs = used && step >= 1.25 && step <= 2.5;
            if (!runs)
                $display("EHXPLLL: settings that are not modelled, or no frequency for its oscillator: %f ns", step);
        end
    end
    // A clock rises CPHASE + 1 steps behind the start, then every DIV. Edges are counted from the start: a period that is no whole number
    // of picoseconds would make clocks of one PLL drift apart.
    generate
        if (CLKOP_ENABLE == "ENABLED") begin : clkop
            real n;
            initial begin
                n = 0;
                wait (runs);
                forever begin
                    #(runs_at + step * (CLKOP_CPHASE + 1 + n * CLKOP_DIV / 2.0) - $realtime) CLKOP = !CLKOP;
                    n = n + 1;
                end
            end
        end
        if (CLKOS_ENABLE == "ENABLED") begin : clkos
            real n;
            initial begin
                n = 0;
                wait (runs);
                forever begin
                    #(runs_at + step * (CLKOS_CPHASE + 1 + n * CLKOS_DIV / 2.0) - $realtime) CLKOS = !CLKOS;
                    n = n + 1;
                end
            end
        end
        if (CLKOS2_ENABLE == "ENABLED") begin : clkos2
            real n;
            initial begin
                n = 0;
                wait (runs);
                forever begin
                    #(runs_at + step * (CLKOS2_CPHASE + 1 + n * CLKOS2_DIV / 2.0) - $realtime) CLKOS2 = !CLKOS2;
                    n = n + 1;
                end
            end
        end
    endgenerate
    initial begin
        wait (runs);
        #(50 * period) LOCK = 1'b1;
    end

    wire unused = &{1'b0, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP, ENCLKOS,
                    ENCLKOS2};
endmodule

`default_nettype wire
