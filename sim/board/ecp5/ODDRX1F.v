// SPDX-License-Identifier: Apache-2.0
// ECP5's output with two data a clock: D0 while the clock is high, D1 while it is low. The real one is late by some clocks, which
// the constants of a clock do not show.
`default_nettype none

module ODDRX1F (
    input  wire SCLK,
    input  wire RST,
    input  wire D0,
    input  wire D1,
    output wire Q
);
    assign Q = RST ? 1'b0 : SCLK ? D0 : D1;
endmodule

`default_nettype wire
