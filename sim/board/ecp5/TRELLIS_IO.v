// SPDX-License-Identifier: Apache-2.0
// ECP5's pin, as far as boards use it: B is the pin, T takes the driver away.
`default_nettype none

module TRELLIS_IO #(
    parameter DIR = "INPUT"
) (
    inout  wire B,
    input  wire I,
    input  wire T,
    output wire O
);
    assign B = DIR == "INPUT" || (DIR == "BIDIR" && T) ? 1'bz : I;
    assign O = B;
endmodule

`default_nettype wire
