// SPDX-License-Identifier: Apache-2.0
// ECP5's PLL, as far as boards use it: CLKOP fed back, CLKOS beside it. Its settings are read as the data sheet has them, the
// oscillator's period is measured, and one that the chip cannot do gives no clock.
`timescale 1ns/1ps
`default_nettype none

module EHXPLLL #(
    parameter CLKI_DIV = 1,
    parameter CLKFB_DIV = 1,
    parameter FEEDBK_PATH = "CLKOP",
    parameter OUTDIVIDER_MUXA = "DIVA",
    parameter OUTDIVIDER_MUXB = "DIVB",
    parameter CLKOP_ENABLE = "ENABLED",
    parameter CLKOP_DIV = 8,
    parameter CLKOP_CPHASE = 0,
    parameter CLKOP_FPHASE = 0,
    parameter CLKOS_ENABLE = "DISABLED",
    parameter CLKOS_DIV = 8,
    parameter CLKOS_CPHASE = 0,
    parameter CLKOS_FPHASE = 0
) (
    input  wire CLKI,
    input  wire CLKFB,
    output reg  CLKOP,
    output reg  CLKOS,
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
    input  wire ENCLKOS
);
    // In nanoseconds. The oscillator inside may run at 400 to 800 MHz, an output at 3.125 to 400.
    realtime edge_at, period, step;
    integer  edges;
    reg      runs;
    wire     used = FEEDBK_PATH == "CLKOP" && OUTDIVIDER_MUXA == "DIVA" && OUTDIVIDER_MUXB == "DIVB" && CLKOP_ENABLE == "ENABLED"
        && CLKOP_FPHASE == 0 && CLKOS_FPHASE == 0;

    initial begin
        CLKOP = 1'b0;
        CLKOS = 1'b0;
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
            step = period * CLKI_DIV / (1.0 * CLKFB_DIV * CLKOP_DIV);
            runs = used && step >= 1.25 && step <= 2.5;
            if (!runs)
                $display("EHXPLLL: settings that are not modelled, or no frequency for its oscillator: %f ns", step);
        end
    end
    initial begin
        wait (runs);
        forever #(step * CLKOP_DIV / 2.0) CLKOP = !CLKOP;
    end
    initial begin
        wait (runs && CLKOS_ENABLE == "ENABLED");
        #(step * (CLKOS_DIV + CLKOS_CPHASE - CLKOP_CPHASE));
        forever #(step * CLKOS_DIV / 2.0) CLKOS = !CLKOS;
    end
    initial begin
        wait (runs);
        #(50 * period) LOCK = 1'b1;
    end

    wire unused = &{1'b0, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP, ENCLKOS};
endmodule

`default_nettype wire
