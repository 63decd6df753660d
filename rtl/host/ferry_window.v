// SPDX-License-Identifier: Apache-2.0
// BAR2's lower half: local memory. Each packet (or part of a read) is one burst. What lies outside LOCAL_LIMIT or inside
// the protected range is refused: writes are dropped and counted, reads answered with Unsupported Request.
//
// Writes and reads go their own ways but for the check of the address and its hand-over to the memory, where one stands
// at a time; a write never waits for a read's data.
`default_nettype none

module ferry_window #(
    // log2 of the bytes of local memory.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Write: held until ready, which takes it; then its beats.
    input  wire                          write_valid,
    // Byte offset in local memory of the first word.
    input  wire [LOCAL_ADDRESS_BITS-1:2] write_address,
    // Words, 1 to 64, all in one 4 KiB page.
    input  wire [6:0]                    write_words,
    output wire                          write_ready,
    input  wire                          beat_valid,
    input  wire [63:0]                   beat_data,
    input  wire [7:0]                    beat_strobe,
    input  wire                          beat_last,
    output wire                          beat_ready,
    // Every write whose beats were taken has been answered by the memory.
    output wire                          write_idle,

    // Read: likewise; its beats, then done with the completion status: 0 good, 1 Unsupported Request, 4 Completer Abort.
    input  wire                          read_valid,
    input  wire [LOCAL_ADDRESS_BITS-1:2] read_address,
    input  wire [6:0]                    read_words,
    output wire                          read_ready,
    output wire                          data_valid,
    output reg  [4:0]                    data_index,
    output wire [63:0]                   data,
    output reg                           read_done,
    output reg  [2:0]                    read_status,

    // Contract registers LOCAL_LIMIT, PROTECT_BASE and PROTECT_LIMIT.
    input  wire [63:0]                   local_limit,
    input  wire [63:0]                   protect_base,
    input  wire [63:0]                   protect_limit,

    // AXI4 master; address and length are shared by both address channels.
    output wire [LOCAL_ADDRESS_BITS-1:0] axi_address,
    output wire [7:0]                    axi_length,
    output wire                          axi_arvalid,
    input  wire                          axi_arready,
    input  wire [63:0]                   axi_rdata,
    input  wire [1:0]                    axi_rresp,
    input  wire                          axi_rlast,
    input  wire                          axi_rvalid,
    output wire                          axi_awvalid,
    input  wire                          axi_awready,
    output wire [63:0]                   axi_wdata,
    output wire [7:0]                    axi_wstrb,
    output wire                          axi_wlast,
    output wire                          axi_wvalid,
    input  wire                          axi_wready,
    input  wire                          axi_bvalid,

    // One-cycle strobe: a write was refused.
    output wire                          count_refused
);
    localparam LAB = LOCAL_ADDRESS_BITS;
    localparam [1:0] S_IDLE = 2'd0;
    localparam [1:0] S_CHECK = 2'd1;
    localparam [1:0] S_ADDRESS = 2'd2;

    localparam [2:0] STATUS_GOOD = 3'd0;
    localparam [2:0] STATUS_UNSUPPORTED = 3'd1;
    localparam [2:0] STATUS_ABORT = 3'd4;

    // The request whose address is looked at.
    reg [1:0]     state_reg;
    reg           is_write_reg;
    reg [LAB-1:2] address_reg;
    reg [6:0]     words_reg;
    // Beats of a write go to the memory; are dropped.
    reg           writing_reg;
    reg           dropping_reg;
    // A read waits for its data.
    reg           reading_reg;
    // Writes without an answer.
    reg [2:0]     open_reg;

    // Limits look at the words touched, all of them.
    wire [9:0]     last_word = address_reg[11:2] + {3'd0, words_reg} - 10'd1;
    wire [LAB-1:0] first = {address_reg, 2'd0};
    wire [LAB-1:0] last = {address_reg[LAB-1:12], last_word, 2'd3};
    wire over_limit = local_limit[63:LAB] == {64-LAB{1'b0}} && last >= local_limit[LAB-1:0];
    // The base is a multiple of a page, and no access leaves its page.
    wire from_base = protect_base[63:LAB] == {64-LAB{1'b0}} && address_reg[LAB-1:12] >= protect_base[LAB-1:12];
    wire unused_base = &{1'b0, protect_base[11:0]};
    wire below_end = protect_limit[63:LAB] != {64-LAB{1'b0}} || first < protect_limit[LAB-1:0];
    wire refused = over_limit || (from_base && below_end);

    wire idle = state_reg == S_IDLE;
    wire checking = state_reg == S_CHECK;
    wire asking = state_reg == S_ADDRESS;
    wire address_taken = is_write_reg ? axi_awvalid && axi_awready : axi_arvalid && axi_arready;
    wire beat_ends = beat_valid && beat_ready && beat_last;
    // Beats less one; an even number of words that starts in the upper half spreads over one beat more.
    wire [5:0] length = words_reg[6:1] - {5'd0, !words_reg[0] && !address_reg[2]};

    // The one before has had its beats when the next write comes, since both come from one place in order.
    assign write_ready = idle;
    assign read_ready = idle && !write_valid;
    assign beat_ready = dropping_reg || (writing_reg && axi_wready);
    assign write_idle = open_reg == 3'd0;
    assign data_valid = reading_reg && axi_rvalid;
    assign data = axi_rdata;
    assign axi_address = {address_reg[LAB-1:3], 3'd0};
    assign axi_length = {2'd0, length};
    assign axi_arvalid = asking && !is_write_reg;
    assign axi_awvalid = asking && is_write_reg && open_reg != 3'd7;
    assign axi_wdata = beat_data;
    assign axi_wstrb = beat_strobe;
    assign axi_wlast = beat_last;
    assign axi_wvalid = writing_reg && beat_valid;
    assign count_refused = checking && refused && is_write_reg;

    always @(posedge clk) begin
        case (state_reg)
        S_IDLE: begin
            is_write_reg <= write_valid;
            address_reg <= write_valid ? write_address : read_address;
            words_reg <= write_valid ? write_words : read_words;
            if (write_valid || read_valid)
                state_reg <= S_CHECK;
        end
        S_CHECK:
            state_reg <= refused ? S_IDLE : S_ADDRESS;
        default:
            if (address_taken)
                state_reg <= S_IDLE;
        endcase

        if (checking && is_write_reg && refused)
            dropping_reg <= 1'b1;
        else if (beat_ends)
            dropping_reg <= 1'b0;
        if (asking && is_write_reg && address_taken)
            writing_reg <= 1'b1;
        else if (beat_ends)
            writing_reg <= 1'b0;
        open_reg <= open_reg + {2'd0, axi_awvalid && axi_awready} - {2'd0, axi_bvalid};

        read_done <= (checking && !is_write_reg && refused) || (data_valid && axi_rlast);
        if (checking && !is_write_reg) begin
            read_status <= refused ? STATUS_UNSUPPORTED : STATUS_GOOD;
            data_index <= 5'd0;
        end else if (data_valid) begin
            data_index <= data_index + 5'd1;
            if (axi_rresp != 2'd0)
                read_status <= STATUS_ABORT;
        end
        if (asking && !is_write_reg && address_taken)
            reading_reg <= 1'b1;
        else if (data_valid && axi_rlast)
            reading_reg <= 1'b0;
        if (rst) begin
            state_reg <= S_IDLE;
            writing_reg <= 1'b0;
            dropping_reg <= 1'b0;
            reading_reg <= 1'b0;
            read_done <= 1'b0;
            open_reg <= 3'd0;
        end
    end

`ifdef FORMAL
`include "ferry_window_properties.vh"
`endif
endmodule

`default_nettype wire
