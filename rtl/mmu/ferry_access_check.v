// SPDX-License-Identifier: Apache-2.0
// Checks one burst against the limits of video memory, beside the firmware's own checks: what the engine itself lets
// through is what reaches memory. Combinational; the limits come clipped from ferry_limits.
//
// GPU page tables will bring their own rights (read-only pages); they join here.
`default_nettype none

module ferry_access_check #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // 512-byte block of the burst, and the places of its first and last byte in it.
    input  wire [63:9] block,
    input  wire [8:0]  first,
    input  wire [8:0]  last,
    // Bytes of video memory in use; protected range [base, limit), empty when limit <= base. One bit more than an
    // address: 2^LOCAL_ADDRESS_BITS stands for all that is as high or higher.
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,
    // All of the burst is memory; some of it is protected. (Where it is not memory, the latter means nothing.)
    output wire        in_range,
    output wire        in_protected
);
    localparam B = LOCAL_ADDRESS_BITS;

    wire [B:0] first_byte = {1'b0, block[B-1:9], first};
    wire [B:0] last_byte = {1'b0, block[B-1:9], last};

    assign in_range = block[63:B] == 0 && last_byte < local_limit;
    assign in_protected = last_byte >= protect_base && first_byte < protect_limit;
endmodule

`default_nettype wire
