// SPDX-License-Identifier: Apache-2.0
// BAR2: the lower half is local memory, the upper half the aperture segment. Each packet (or part of a read) is one
// burst. Local memory outside LOCAL_LIMIT or inside the protected range, and aperture pages that are not mapped, are
// refused: writes are dropped and counted, reads answered with Unsupported Request.
`default_nettype none
`include "ferry_contract.vh"

module ferry_window #(
    // log2 of the bytes of local memory.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Request of the completer: held until ready, which takes it.
    input  wire                          request_valid,
    input  wire                          request_write,
    // Byte offset in BAR2 of the first word.
    input  wire [LOCAL_ADDRESS_BITS:2]   request_address,
    // Words, 1 to 64, all in one 4 KiB page.
    input  wire [6:0]                    request_words,
    output wire                          request_ready,
    // Beats of a write, after ready.
    input  wire                          beat_valid,
    input  wire [63:0]                   beat_data,
    input  wire [7:0]                    beat_strobe,
    input  wire                          beat_last,
    output wire                          beat_ready,
    // Beats of a read, then done with the completion status: 0 good, 1 Unsupported Request, 4 Completer Abort.
    output wire                          read_valid,
    output reg  [4:0]                    read_index,
    output wire [63:0]                   read_data,
    output wire                          read_done,
    output wire [2:0]                    read_status,
    // Every write has been answered by its memory.
    output wire                          idle,

    // Contract registers LOCAL_LIMIT, PROTECT_BASE and PROTECT_LIMIT.
    input  wire [63:0]                   local_limit,
    input  wire [63:0]                   protect_base,
    input  wire [63:0]                   protect_limit,

    // Aperture table lookup.
    output wire                          lookup_valid,
    input  wire                          lookup_ready,
    output wire [31:0]                   lookup_page,
    input  wire                          result_valid,
    input  wire                          result_hit,
    input  wire                          result_snoop,
    input  wire [51:12]                  result_page,

    // Both AXI4 masters: what they share, then what each has of its own.
    output wire [7:0]                    axi_length,
    output wire                          axi_no_snoop,
    output wire [63:0]                   axi_wdata,
    output wire [7:0]                    axi_wstrb,
    output wire                          axi_wlast,
    output wire [LOCAL_ADDRESS_BITS-1:0] local_address,
    output wire                          local_arvalid,
    input  wire                          local_arready,
    input  wire [63:0]                   local_rdata,
    input  wire [1:0]                    local_rresp,
    input  wire                          local_rlast,
    input  wire                          local_rvalid,
    output wire                          local_awvalid,
    input  wire                          local_awready,
    output wire                          local_wvalid,
    input  wire                          local_wready,
    input  wire                          local_bvalid,
    output wire [63:0]                   aperture_address,
    output wire                          aperture_arvalid,
    input  wire                          aperture_arready,
    input  wire [63:0]                   aperture_rdata,
    input  wire [1:0]                    aperture_rresp,
    input  wire [7:0]                    aperture_rfault,
    input  wire                          aperture_rlast,
    input  wire                          aperture_rvalid,
    output wire                          aperture_awvalid,
    input  wire                          aperture_awready,
    output wire                          aperture_wvalid,
    input  wire                          aperture_wready,
    input  wire                          aperture_bvalid,

    // One-cycle strobes: a write to local memory was refused; a write to an aperture page that is not mapped.
    output wire                          count_refused,
    output wire                          count_unsupported
);
    localparam LAB = LOCAL_ADDRESS_BITS;
    localparam [2:0] S_IDLE = 3'd0;
    localparam [2:0] S_CHECK = 3'd1;
    localparam [2:0] S_RESULT = 3'd2;
    localparam [2:0] S_ADDRESS = 3'd3;
    localparam [2:0] S_DATA = 3'd4;
    localparam [2:0] S_DROP = 3'd5;
    localparam [2:0] S_DONE = 3'd6;

    localparam [2:0] STATUS_GOOD = 3'd0;
    localparam [2:0] STATUS_UNSUPPORTED = 3'd1;
    localparam [2:0] STATUS_ABORT = 3'd4;

    reg [2:0]     state_reg;
    reg           write_reg;
    reg           aperture_reg;
    reg [LAB-1:2] address_reg;
    reg [6:0]     words_reg;
    reg [51:12]   page_reg;
    reg           snoop_reg;
    reg [2:0]     status_reg;
    // Writes without an answer yet, and to which side they went.
    reg [2:0]     open_reg;
    reg           open_side_reg;

    // Range check of [first, last] in bytes; a register with a bit above local memory lies behind all of it.
    wire [9:0]     last_word = address_reg[11:2] + {3'd0, words_reg} - 10'd1;
    wire [LAB-1:0] first = {address_reg, 2'd0};
    wire [LAB-1:0] last = {address_reg[LAB-1:12], last_word, 2'd3};
    wire over_limit = local_limit[63:LAB] == {64-LAB{1'b0}} && last >= local_limit[LAB-1:0];
    // The base is a multiple of a page, and no access leaves its page.
    wire from_base = protect_base[63:LAB] == {64-LAB{1'b0}} && address_reg[LAB-1:12] >= protect_base[LAB-1:12];
    wire unused_base = &{1'b0, protect_base[11:0]};
    wire below_end = protect_limit[63:LAB] != {64-LAB{1'b0}} || first < protect_limit[LAB-1:0];
    wire refused = over_limit || (from_base && below_end);

    // A write waits while the other side has writes open, so that writes become visible in their order.
    wire go = state_reg == S_ADDRESS && open_reg != 3'd7 && (idle || open_side_reg == aperture_reg);
    wire address_taken = write_reg ? (aperture_awvalid && aperture_awready) || (local_awvalid && local_awready) :
                         (aperture_arvalid && aperture_arready) || (local_arvalid && local_arready);
    wire data_write = state_reg == S_DATA && write_reg;
    wire data_read = state_reg == S_DATA && !write_reg;
    wire read_last = aperture_reg ? aperture_rlast : local_rlast;
    wire read_error = aperture_reg ? aperture_rresp != 2'd0 : local_rresp != 2'd0;
    wire open_more = address_taken && write_reg;
    wire open_less = local_bvalid || aperture_bvalid;
    // Beats less one; an even number of words that starts in the upper half spreads over one beat more.
    wire [5:0] length = words_reg[6:1] - {5'd0, !words_reg[0] && !address_reg[2]};

    assign request_ready = state_reg == S_IDLE;
    assign idle = open_reg == 3'd0;
    assign beat_ready = state_reg == S_DROP || (data_write && (aperture_reg ? aperture_wready : local_wready));
    assign read_valid = data_read && (aperture_reg ? aperture_rvalid : local_rvalid);
    assign read_data = aperture_reg ? aperture_rdata : local_rdata;
    assign read_done = state_reg == S_DONE;
    assign read_status = status_reg;
    assign lookup_valid = state_reg == S_CHECK && aperture_reg;
    assign lookup_page = {{44-LAB{1'b0}}, address_reg[LAB-1:12]};
    assign local_address = {address_reg[LAB-1:3], 3'd0};
    assign aperture_address = {12'd0, page_reg, address_reg[11:3], 3'd0};
    assign axi_length = {2'd0, length};
    assign axi_no_snoop = !snoop_reg;
    assign axi_wdata = beat_data;
    assign axi_wstrb = beat_strobe;
    assign axi_wlast = beat_last;
    assign local_arvalid = go && !write_reg && !aperture_reg;
    assign aperture_arvalid = go && !write_reg && aperture_reg;
    assign local_awvalid = go && write_reg && !aperture_reg;
    assign aperture_awvalid = go && write_reg && aperture_reg;
    assign local_wvalid = data_write && !aperture_reg && beat_valid;
    assign aperture_wvalid = data_write && aperture_reg && beat_valid;
    assign count_refused = state_reg == S_CHECK && !aperture_reg && refused && write_reg;
    assign count_unsupported = state_reg == S_RESULT && result_valid && !result_hit && write_reg;

    always @(posedge clk) begin
        case (state_reg)
        S_IDLE: begin
            write_reg <= request_write;
            aperture_reg <= request_address[LAB];
            address_reg <= request_address[LAB-1:2];
            words_reg <= request_words;
            status_reg <= STATUS_GOOD;
            read_index <= 5'd0;
            if (request_valid)
                state_reg <= S_CHECK;
        end
        S_CHECK: begin
            if (aperture_reg) begin
                if (lookup_ready)
                    state_reg <= S_RESULT;
            end else if (refused) begin
                status_reg <= STATUS_UNSUPPORTED;
                state_reg <= write_reg ? S_DROP : S_DONE;
            end else begin
                state_reg <= S_ADDRESS;
            end
        end
        S_RESULT: begin
            page_reg <= result_page;
            snoop_reg <= result_snoop;
            if (result_valid) begin
                if (!result_hit)
                    status_reg <= STATUS_UNSUPPORTED;
                state_reg <= result_hit ? S_ADDRESS : write_reg ? S_DROP : S_DONE;
            end
        end
        S_ADDRESS: begin
            if (write_reg && go)
                open_side_reg <= aperture_reg;
            if (address_taken)
                state_reg <= S_DATA;
        end
        S_DATA: begin
            if (beat_valid && beat_ready && beat_last)
                state_reg <= S_IDLE;
            if (read_valid) begin
                read_index <= read_index + 5'd1;
                if (read_error)
                    status_reg <= aperture_reg && aperture_rfault == `FERRY_FAULT_KIND_HOST_UNSUPPORTED ?
                                  STATUS_UNSUPPORTED : STATUS_ABORT;
                if (read_last)
                    state_reg <= S_DONE;
            end
        end
        S_DROP: begin
            if (beat_valid && beat_last)
                state_reg <= S_IDLE;
        end
        default: state_reg <= S_IDLE;
        endcase
        open_reg <= open_reg + {2'd0, open_more} - {2'd0, open_less};
        if (rst) begin
            state_reg <= S_IDLE;
            open_reg <= 3'd0;
        end
    end

`ifdef FORMAL
`include "ferry_window_properties.vh"
`endif
endmodule

`default_nettype wire
