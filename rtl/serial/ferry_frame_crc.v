// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320), a bit at a time. Behind a frame and its CRC the register has
// the same value whatever the frame was.
`default_nettype none

module ferry_frame_crc (
    // Clock; start over, which a reset has to do too.
    input  wire        clk,
    input  wire        start,
    // A bit of the frame comes in; with `out` zeros do, while the register leaves by its low end.
    input  wire        step,
    input  wire        bit_in,
    input  wire        out,
    // The register; the CRC is its inverse.
    output reg  [31:0] crc,
    // A frame that ends with its own CRC was taken in.
    output wire        good
);
    wire feed = !out && (crc[0] ^ bit_in);
    assign good = crc == 32'hdebb20e3;

    always @(posedge clk) begin
        if (step)
            crc <= {1'b0, crc[31:1]} ^ (feed ? 32'hedb88320 : 32'd0);
        if (start)
            crc <= 32'hffffffff;
    end
endmodule

`default_nettype wire
