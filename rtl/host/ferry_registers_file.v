// SPDX-License-Identifier: Apache-2.0
// One block RAM behind the registers of host and core: whatever only needs to be kept and read back stands here, and
// what one side writes for the other to read costs no flip-flops and no selection. The core comes first; the host
// waits. After reset a sequencer writes every word's first value. The second port of the RAM is the
// counters', and the fetcher's, which looks at the rings.
//
// Word n is the word at byte 4 * n of BAR0; the core sees those at 0x400 + 4 * n, and its own words, which are nothing to
// BAR0, at 0xc0 to 0x3fc.
`default_nettype none
`include "ferry_contract.vh"

module ferry_registers_file #(
    // Values of BAR0's constant registers.
    parameter [31:0] CAPABILITIES = 0,
    parameter [31:0] APERTURE_PAGES = 0,
    parameter [63:0] LOCAL_BYTES = 0,
    parameter [31:0] FIRMWARE_RAM_BYTES = 0,
    // Which board this is for.
    parameter [127:0] NAME = 0
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The sequencer is at work. Nobody else is served meanwhile.
    output wire        clearing,

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
    output wire [31:0] rdata,

    // Counters: place among bar0.COUNTER's words; data is read a cycle later. Nobody else touches one that is written.
    input  wire        counter_write,
    input  wire [5:0]  counter_word,
    input  wire [31:0] counter_wdata,
    output wire [31:0] counter_rdata,
    // Fetcher: a word of a ring's registers (byte offset in them), read instead of a counter's in a cycle with ring_taken.
    input  wire        ring_read,
    input  wire [2:0]  ring_number,
    input  wire [5:0]  ring_word,
    output wire        ring_taken,
    // The counters only read in this cycle, and can do it again in the next.
    input  wire        counter_yields
);

    // The counters begin to count when the sequencer has gone through all 512 words.
    localparam [63:0] CYCLES_AT_START = 64'd512;
    wire [127:0] board;
    ferry_letters #(.TEXT(NAME)) letters (.bytes(board));
`include "ferry_bar0_first.vh"

    (* no_rw_check *)
    reg [31:0] memory [0:511];
    reg [31:0] rdata_reg;
    reg [31:0] counter_rdata_reg;
    reg [9:0]  clear_reg;

    assign clearing = !clear_reg[9];
    assign host_taken = host_access && !core_access && !clearing;
    assign rdata = rdata_reg;
    assign counter_rdata = counter_rdata_reg;

    wire        write = clearing || (core_access ? core_write : host_access && host_write);
    wire        read = core_access ? !core_write : host_access && !host_write;
    wire [8:0]  index = clearing ? clear_reg[8:0] : core_access ? core_index : host_index;
    wire [31:0] wdata = clearing ? first_value(clear_reg[8:0]) : core_access ? core_wdata : host_wdata;

    always @(posedge clk) begin
        if (write) begin
            memory[index] <= wdata;
        end else if (read) begin
            rdata_reg <= memory[index];
        end
    end

    wire [15:0] counter_address = `FERRY_BAR0_COUNTER_AT | {8'd0, counter_word, 2'd0};
    wire [15:0] ring_address = `FERRY_BAR0_RING_AT + {7'd0, ring_number, ring_word};
    wire [8:0]  second_index = ring_taken ? ring_address[10:2] : counter_address[10:2];

    // Every other cycle at most, so that the counters get on; and not while the other port writes: it may be this word.
    reg taken_reg;
    assign ring_taken = ring_read && counter_yields && !taken_reg && !write;

    always @(posedge clk) begin
        taken_reg <= ring_taken;
        if (counter_write) begin
            memory[second_index] <= counter_wdata;
        end else begin
            counter_rdata_reg <= memory[second_index];
        end
    end

    wire unused = &{1'b0, counter_address, ring_address};

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
