// SPDX-License-Identifier: Apache-2.0
// ECP5's flip-flop with preset.
`default_nettype none

module FD1S3BX (
    input  wire CK,
    input  wire PD,
    input  wire D,
    output reg  Q
);
    initial Q = 1'b1;
    always @(posedge CK or posedge PD) begin
        if (PD)
            Q <= 1'b1;
        else
            Q <= D;
    end
endmodule

`default_nettype wire
