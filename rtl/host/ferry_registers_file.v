// SPDX-License-Identifier: Apache-2.0
// One block RAM behind the registers of host and core: whatever only needs to be kept and read back stands here, and
// what one side writes for the other to read costs no flip-flops and no selection. The core comes first; the host
// waits. After reset a sequencer writes every word's first value.
//
// Words: 0 to 319 the core's registers in the order of map `core`, 384 to 463 the rings as in map `bar0` (16 words
// each), 464 to 511 BAR0 from 0 to 0xbc.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers_file #(
    // Values of BAR0's constant registers.
    parameter [31:0] CAPABILITIES = 0,
    parameter [31:0] APERTURE_PAGES = 0,
    parameter [63:0] LOCAL_BYTES = 0,
    parameter [31:0] FIRMWARE_RAM_BYTES = 0
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The sequencer is at work; low bits of the word that it writes. Nobody else is served meanwhile.
    output wire        clearing,
    output wire [2:0]  clear_index,

    // Core: access, write, word. Read data comes a cycle later.
    input  wire        core_access,
    input  wire        core_write,
    input  wire [8:0]  core_index,
    input  wire [31:0] core_wdata,
    // Host: the same; an access is only served in a cycle with host_taken.
    input  wire        host_access,
    input  wire        host_write,
    input  wire [8:0]  host_index,
    input  wire [31:0] host_wdata,
    output wire        host_taken,
    // Word that was read in the cycle before.
    output wire [31:0] rdata
);

reg [31:0] memory [0:511];
reg [31:0] rdata_reg;
reg [9:0]  clear_reg;
reg [31:0] first_value;

assign clearing = !clear_reg[9];
assign clear_index = clear_reg[2:0];
assign host_taken = host_access && !core_access && !clearing;
assign rdata = rdata_reg;

always @* begin
    case ({5'd0, clear_reg[8:0] - 9'd464, 2'd0})
    `FERRY_BAR0_MAGIC: first_value = `FERRY_BAR0_MAGIC_RESET;
    `FERRY_BAR0_CONTRACT_VERSION: first_value = `FERRY_CONTRACT_VERSION;
    `FERRY_BAR0_CAPABILITIES: first_value = CAPABILITIES;
    `FERRY_BAR0_APERTURE_PAGES: first_value = APERTURE_PAGES;
    `FERRY_BAR0_LOCAL_BYTES: first_value = LOCAL_BYTES[31:0];
    `FERRY_BAR0_LOCAL_BYTES + 16'd4: first_value = LOCAL_BYTES[63:32];
    `FERRY_BAR0_FIRMWARE_RAM_BYTES: first_value = FIRMWARE_RAM_BYTES;
    `FERRY_BAR0_LOCAL_LIMIT: first_value = LOCAL_BYTES[31:0];
    `FERRY_BAR0_LOCAL_LIMIT + 16'd4: first_value = LOCAL_BYTES[63:32];
    `FERRY_BAR0_COMPLETION_TIMEOUT: first_value = `FERRY_BAR0_COMPLETION_TIMEOUT_RESET;
    default:                                   first_value = 32'd0;
    endcase
end

wire        write = clearing || (core_access ? core_write : host_access && host_write);
wire        read = core_access ? !core_write : host_access && !host_write;
wire [8:0]  index = clearing ? clear_reg[8:0] : core_access ? core_index : host_index;
wire [31:0] wdata = clearing ? first_value : core_access ? core_wdata : host_wdata;

always @(posedge clk) begin
    if (write) begin
        memory[index] <= wdata;
    end else if (read) begin
        rdata_reg <= memory[index];
    end
end

always @(posedge clk) begin
    if (clearing) begin
        clear_reg <= clear_reg + 10'd1;
    end
    if (rst) begin
        clear_reg <= 10'd0;
    end
end

endmodule

`default_nettype wire
