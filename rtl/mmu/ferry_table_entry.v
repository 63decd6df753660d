// SPDX-License-Identifier: Apache-2.0
// Reads one entry of a page table by the rules of the contract (table_entry). Combinational.
`default_nettype none
`include "ferry_contract.vh"

module ferry_table_entry (
    // The entry, the level of its table, and where in 64 KiB the page is that it is for.
    input  wire [63:0] entry,
    input  wire [1:0]  height,
    input  wire [15:12] place,
    // There is one; it breaks a rule.
    output wire        valid,
    output wire        broken,
    // What it says; a page is one only if the entry is valid and keeps the rules.
    output wire [`FERRY_MAPPING_BITS-1:0] mapping
);
    wire host = entry[`FERRY_TABLE_ENTRY_ENTRY_HOST_RANGE];
    wire snoop = entry[`FERRY_TABLE_ENTRY_ENTRY_SNOOP_RANGE];
    wire read_only = entry[`FERRY_TABLE_ENTRY_ENTRY_READ_ONLY_RANGE];
    wire is_protected = entry[`FERRY_TABLE_ENTRY_ENTRY_PROTECTED_RANGE];
    wire leaf = entry[`FERRY_TABLE_ENTRY_ENTRY_LEAF_RANGE];
    wire group = entry[`FERRY_TABLE_ENTRY_ENTRY_GROUP_RANGE];
    wire [51:12] page = entry[`FERRY_TABLE_ENTRY_ENTRY_PAGE_RANGE];

    wire reserved = entry[63:52] != 12'd0 || entry[11:7] != 5'd0 || (snoop && !host)
        || (!leaf && (read_only || is_protected || group));
    wire wrong_level = height == 2'd0 ? !leaf : height[1] && leaf;
    wire misplaced = height == 2'd0 ? group && page[15:12] != place : leaf && (group || page[20:12] != 9'd0);

    assign valid = entry[`FERRY_TABLE_ENTRY_ENTRY_VALID_RANGE];
    assign broken = reserved || wrong_level || misplaced;
    assign mapping[`FERRY_MAPPING_HOST_RANGE] = host;
    assign mapping[`FERRY_MAPPING_SNOOP_RANGE] = snoop;
    assign mapping[`FERRY_MAPPING_READ_ONLY_RANGE] = read_only;
    assign mapping[`FERRY_MAPPING_PROTECTED_RANGE] = is_protected;
    assign mapping[`FERRY_MAPPING_LEAF_RANGE] = leaf && valid && !broken;
    assign mapping[`FERRY_MAPPING_GROUP_RANGE] = group;
    assign mapping[`FERRY_MAPPING_PAGE_RANGE] = page;
endmodule

`default_nettype wire
