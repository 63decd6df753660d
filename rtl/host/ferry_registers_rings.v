// SPDX-License-Identifier: Apache-2.0
// What the fetcher looks at all the time of the rings' registers, kept a second time beside the register file: it is
// written together with the file's words and read for one ring at a time.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers_rings (
    // Clock.
    input  wire        clk,
    // Clears one ring after the other while the register file is cleared.
    input  wire        clearing,
    input  wire [2:0]  clear_ring,

    // The host wrote this word (offset in the ring's registers) of this ring.
    input  wire        host_write,
    input  wire [2:0]  host_ring,
    input  wire [5:0]  host_offset,
    input  wire [31:0] host_wdata,

    // The core wrote RETIRED of this ring.
    input  wire        retired_write,
    input  wire [2:0]  retired_ring,
    input  wire [31:0] retired_wdata,

    // Registers of one ring in the same cycle, and a pulse for a ring whose doorbell was written.
    input  wire [2:0]  fetch_ring,
    output wire [63:0] fetch_base,
    output wire [4:0]  fetch_entries_log2,
    output wire [31:0] fetch_producer,
    output wire [31:0] fetch_retired,
    output wire        fetch_enable,
    output wire [4:0]  fetch_kick
);

reg [31:0] base_low [0:7];
reg [31:0] base_high [0:7];
reg [4:0]  entries_log2 [0:7];
reg [31:0] producer [0:7];
reg [31:0] retired [0:7];
reg        enable [0:7];

wire [15:0] offset = {10'd0, host_offset};
wire [2:0]  ring = clearing ? clear_ring : host_ring;
wire [31:0] value = clearing ? 32'd0 : host_wdata;

always @(posedge clk) begin
    if (clearing || (host_write && offset == `FERRY_BAR0_RING_BASE)) begin
        base_low[ring] <= value;
    end
    if (clearing || (host_write && offset == `FERRY_BAR0_RING_BASE + 16'd4)) begin
        base_high[ring] <= value;
    end
    if (clearing || (host_write && offset == `FERRY_BAR0_RING_ENTRIES_LOG2)) begin
        entries_log2[ring] <= value[4:0];
    end
    if (clearing || (host_write && offset == `FERRY_BAR0_RING_PRODUCER)) begin
        producer[ring] <= value;
    end
    if (clearing || (host_write && offset == `FERRY_BAR0_RING_CONTROL)) begin
        enable[ring] <= value[0];
    end
    if (clearing || retired_write) begin
        retired[clearing ? clear_ring : retired_ring] <= clearing ? 32'd0 : retired_wdata;
    end
end

assign fetch_base = {base_high[fetch_ring], base_low[fetch_ring]};
assign fetch_entries_log2 = entries_log2[fetch_ring];
assign fetch_producer = producer[fetch_ring];
assign fetch_retired = retired[fetch_ring];
assign fetch_enable = enable[fetch_ring];

wire       kick = host_write && (offset == `FERRY_BAR0_RING_PRODUCER || offset == `FERRY_BAR0_RING_CONTROL);
wire [7:0] kick_ring = {7'd0, kick} << host_ring;
assign fetch_kick = kick_ring[4:0];

wire unused = &{1'b0, kick_ring[7:5]};

endmodule

`default_nettype wire
