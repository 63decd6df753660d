// SPDX-License-Identifier: Apache-2.0
// The limits of video memory as the access checks use them: clipped to one bit more than an address, registered, and an
// empty protected range made one that no access meets.
`default_nettype none
`include "ferry_contract.vh"

module ferry_limits #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // Clock.
    input  wire clk,
    // As the registers hold them.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,
    // A cycle later, clipped.
    output reg  [LOCAL_ADDRESS_BITS:0] local_limit_clipped,
    output reg  [LOCAL_ADDRESS_BITS:0] protect_base_clipped,
    output reg  [LOCAL_ADDRESS_BITS:0] protect_limit_clipped
);
    localparam B = LOCAL_ADDRESS_BITS;

    // The top bit says "at or above 2^B"; what lies below it is then of no matter, as no address reaches that far.
    function [B:0] clip(input [63:0] value);
        clip = {value[63:B] != 0, value[B-1:0]};
    endfunction

    wire [B:0] base = clip(limits[`FERRY_LIMITS_PROTECT_BASE_RANGE]);
    wire [B:0] limit = clip(limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE]);

    always @(posedge clk) begin
        local_limit_clipped <= clip(limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE]);
        // A base at or above the limit: nothing lies below 0 or at the highest value.
        protect_base_clipped <= limit > base ? base : {(B + 1){1'b1}};
        protect_limit_clipped <= limit > base ? limit : {(B + 1){1'b0}};
    end
endmodule

`default_nettype wire
