// SPDX-License-Identifier: Apache-2.0
// Takes the host's requests out of the buffer in the order they came. Memory writes are carried out here, one after the
// other: BAR0 as register writes, BAR2 through the window; what is not there is dropped and counted. A request that wants
// an answer is handed to ferry_completer once every write before it has been done, so a read never passes a write.
// Nothing here waits for an answer to leave: the hand-over has room for every request that was let in.
`default_nettype none

module ferry_posted #(
    // log2 of the bytes of BAR2.
    parameter BAR2_BITS = 27,
    // Something is in the upper half of BAR2.
    parameter [0:0] VIEWS = 1
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Good requests: {last beat of the packet, two words}.
    input  wire        request_valid,
    input  wire [64:0] request_beat,
    output wire        request_pop,

    // Requests that want an answer, as two beats of the packet: the header and, of a write, its first word.
    output wire        answer_valid,
    output wire [63:0] answer_beat,

    // Configuration space.
    input  wire [31:16]        bar0_base,
    input  wire [63:BAR2_BITS] bar2_base,
    input  wire                memory_enable,

    // Register bus: a write is held until ready.
    output wire        reg_valid,
    output wire [15:0] reg_address,
    output wire [31:0] reg_wdata,
    output wire [3:0]  reg_wstrb,
    input  wire        reg_ready,

    // Window: a request, held until ready, then its beats.
    output wire                 window_valid,
    output wire [BAR2_BITS-1:2] window_address,
    // Words of the write, all in one 4 KiB page; the data starts in the half of a beat that the address tells.
    output wire [6:0]           window_words,
    input  wire                 window_ready,
    output wire                 window_beat_valid,
    output wire [63:0]          window_beat_data,
    output wire [7:0]           window_beat_strobe,
    output wire                 window_beat_last,
    input  wire                 window_beat_ready,
    // Every write has been answered.
    input  wire                 window_idle,

    // One-cycle strobe: a write to what is not there was dropped.
    output wire        count_unsupported
);
    localparam [2:0] S_HEAD = 3'd0;
    localparam [2:0] S_ADDRESS = 3'd1;
    localparam [2:0] S_ROUTE = 3'd2;
    localparam [2:0] S_WRITE = 3'd3;
    localparam [2:0] S_HAND = 3'd4;
    localparam [2:0] S_DRAIN = 3'd5;

    reg [2:0]  state_reg;
    // Header of the write.
    reg        four_reg;
    reg [6:0]  words_reg;
    reg [3:0]  last_enable_reg;
    reg [3:0]  first_enable_reg;
    reg        bar0_hit_reg;
    // The packet's last beat was taken.
    reg        ended_reg;
    // Next two words of the write.
    reg [63:2] address_reg;
    // The window took the request; which half of a beat goes to the registers.
    reg        asked_reg;
    reg        lane_reg;

    wire [31:0] word_low = request_beat[31:0];
    wire [31:0] word_high = request_beat[63:32];
    wire [63:2] address = four_reg ? {word_low, word_high[31:2]} : {32'd0, word_low[31:2]};
    wire        is_write = word_low[30] && word_low[28:24] == 5'd0;

    wire heading = state_reg == S_HEAD;
    wire handing = state_reg == S_HAND;
    wire writing = state_reg == S_WRITE;
    wire address_taken = state_reg == S_ADDRESS && request_valid;
    // Looked at in S_ROUTE. The aperture segment is not in BAR2: the CPU has its pages.
    wire bar0_match = address_reg[63:32] == 32'd0 && address_reg[31:16] == bar0_base;
    wire bar2_match = address_reg[63:BAR2_BITS] == bar2_base && (VIEWS || !address_reg[BAR2_BITS-1]);
    wire match = memory_enable && (bar0_match || bar2_match);
    wire take_head = request_valid && (is_write || window_idle);

    // Beats of the payload.
    wire        align_valid;
    wire [63:0] align_data;
    wire [7:0]  align_strobe;
    wire        align_last;
    wire        align_source_ready;
    wire        beat_taken = align_valid && align_ready;
    wire [3:0]  lane_strobe = lane_reg ? align_strobe[7:4] : align_strobe[3:0];
    wire        lane_done = writing && bar0_hit_reg && align_valid && (lane_strobe == 4'd0 || reg_ready);
    wire        align_ready = writing && (bar0_hit_reg ? lane_done && lane_reg : window_beat_ready && asked_reg);

    // The second beat stays where the aligner takes it for the first one of the payload.
    wire keep = !four_reg && address[2];
    assign request_pop = (heading && take_head) || (state_reg == S_ADDRESS && !keep) || handing ||
                         (state_reg == S_DRAIN && !ended_reg) || align_source_ready;

    assign answer_valid = request_valid && (handing || (heading && !is_write && window_idle));
    assign answer_beat = request_beat[63:0];

    assign reg_valid = writing && bar0_hit_reg && align_valid && lane_strobe != 4'd0;
    assign reg_address = {address_reg[15:3], lane_reg, 2'd0};
    assign reg_wdata = lane_reg ? align_data[63:32] : align_data[31:0];
    assign reg_wstrb = lane_strobe;

    assign window_valid = writing && !bar0_hit_reg && !asked_reg;
    assign window_address = address_reg[BAR2_BITS-1:2];
    assign window_words = words_reg;
    assign window_beat_valid = writing && !bar0_hit_reg && asked_reg && align_valid;
    assign window_beat_data = align_data;
    assign window_beat_strobe = align_strobe;
    assign window_beat_last = align_last;

    assign count_unsupported = state_reg == S_ROUTE && !match;

    always @(posedge clk) begin
        case (state_reg)
        S_HEAD: begin
            four_reg <= word_low[29];
            words_reg <= word_low[6:0];
            last_enable_reg <= word_high[7:4];
            first_enable_reg <= word_high[3:0];
            if (take_head)
                state_reg <= is_write ? S_ADDRESS : S_HAND;
        end
        S_ADDRESS: begin
            ended_reg <= request_beat[64] && !keep;
            address_reg <= address;
            asked_reg <= 1'b0;
            lane_reg <= 1'b0;
            if (request_valid)
                state_reg <= S_ROUTE;
        end
        S_ROUTE: begin
            bar0_hit_reg <= bar0_match;
            if (!match)
                state_reg <= S_DRAIN;
            else if (!bar0_match || window_idle)
                state_reg <= S_WRITE;
        end
        S_WRITE: begin
            if (window_valid && window_ready)
                asked_reg <= 1'b1;
            if (lane_done)
                lane_reg <= !lane_reg;
            if (beat_taken) begin
                // A write stays in its page.
                address_reg[11:3] <= address_reg[11:3] + 9'd1;
                if (align_last)
                    state_reg <= S_HEAD;
            end
        end
        S_HAND: begin
            ended_reg <= request_beat[64];
            if (request_valid)
                state_reg <= S_DRAIN;
        end
        default: begin
            if (request_valid && request_beat[64])
                ended_reg <= 1'b1;
            if (ended_reg)
                state_reg <= S_HEAD;
        end
        endcase
        if (rst)
            state_reg <= S_HEAD;
    end

    ferry_tlp_align align (
        .clk(clk),
        .start(address_taken),
        .start_four(four_reg),
        .start_odd(address[2]),
        .start_words(words_reg),
        .start_first_enable(first_enable_reg),
        .start_last_enable(last_enable_reg),
        .start_carry(word_high),
        .source_valid(request_valid),
        .source_data(request_beat[63:0]),
        .source_ready(align_source_ready),
        .beat_valid(align_valid),
        .beat_data(align_data),
        .beat_strobe(align_strobe),
        .beat_last(align_last),
        .beat_ready(align_ready)
    );

`ifdef FORMAL
`include "ferry_posted_properties.vh"
`endif
endmodule

`default_nettype wire
