// SPDX-License-Identifier: Apache-2.0
// Checks one burst against the limits of video memory, beside the firmware's own checks: what the engine itself lets
// through is what reaches memory. Combinational; the limits come clipped from ferry_limits.
//
// GPU page tables will bring their own rights (read-only pages); they join here.
`include "ferry_contract.vh"
`default_nettype none

module ferry_access_check #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // First byte of the burst in video memory; the burst lies in one 512-byte block.
    input  wire [63:0] address,
    // Place of its last byte in that block.
    input  wire [8:0]  top,
    // The job may touch the protected range.
    input  wire        may_protected,
    // Bytes of video memory in use; protected range [base, limit), empty when limit <= base. One bit more than an
    // address: 2^LOCAL_ADDRESS_BITS stands for all that is as high or higher.
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,
    // The whole block is in range and open: no need to wait for `fault`. (0 says nothing.)
    output wire        clear,
    // FERRY_FAULT_KIND_NONE, RANGE or PROTECTED.
    output wire [7:0]  fault
);
    localparam B = LOCAL_ADDRESS_BITS;

    // By blocks, which `top` has no part in; then, in a block with a limit in it, by the bytes of the block.
    wire [B-9:0] block = {1'b0, address[B-1:9]};
    wire [8:0] first = address[8:0];
    wire reachable = address[63:B] == 0;
    wire below_limit = block < local_limit[B:9];
    wire at_limit = block == local_limit[B:9];
    wire below_base = block < protect_base[B:9];
    wire at_base = block == protect_base[B:9];
    wire below_end = block < protect_limit[B:9];
    wire at_end = block == protect_limit[B:9];

    wire in_range = reachable && (below_limit || (at_limit && top < local_limit[8:0]));
    wire last_reaches_base = !below_base && !(at_base && top < protect_base[8:0]);
    wire first_before_end = below_end || (at_end && first < protect_limit[8:0]);
    wire denied = last_reaches_base && first_before_end && !may_protected;

    assign clear = reachable && below_limit && (may_protected || below_base || !(below_end || at_end));
    assign fault = !in_range ? `FERRY_FAULT_KIND_RANGE
        : denied ? `FERRY_FAULT_KIND_PROTECTED : `FERRY_FAULT_KIND_NONE;
endmodule

`default_nettype wire
