// SPDX-License-Identifier: Apache-2.0
// Answers the host's requests one after the other: configuration accesses, BAR0 as register reads and writes, BAR2
// through the window. Every request that wants an answer gets exactly one run of completions; what is not there gets
// Unsupported Request, or is counted when it is posted. Read data is cut at multiples of the maximum payload, which are
// multiples of the read completion boundary.
`default_nettype none

module ferry_completer #(
    // log2 of the bytes of BAR2.
    parameter BAR2_BITS = 27
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Good requests: {last beat of the packet, two words}.
    input  wire        request_valid,
    input  wire [64:0] request_beat,
    output wire        request_pop,

    // Configuration space.
    output wire [11:0]         config_address,
    input  wire [31:0]         config_rdata,
    output wire                config_write,
    output wire [31:0]         config_wdata,
    output wire [3:0]          config_wstrb,
    output wire [15:0]         config_target,
    input  wire [31:16]        bar0_base,
    input  wire [63:BAR2_BITS] bar2_base,
    input  wire                memory_enable,
    input  wire                max_payload,
    input  wire [15:0]         completer_id,

    // Register bus.
    output wire        reg_valid,
    output wire        reg_write,
    output wire [15:0] reg_address,
    output wire [31:0] reg_wdata,
    output wire [3:0]  reg_wstrb,
    input  wire        reg_ready,
    input  wire [31:0] reg_rdata,

    // Window: a request, held until ready; write data as beats; read data into the completion's buffer, then done.
    output wire                 window_valid,
    output wire                 window_write,
    output wire [BAR2_BITS-1:2] window_address,
    // Words of the access, all in one 4 KiB page; the data starts in the half of a beat that the address tells.
    output wire [6:0]           window_words,
    input  wire                 window_ready,
    output wire                 window_beat_valid,
    output wire [63:0]          window_beat_data,
    output wire [7:0]           window_beat_strobe,
    output wire                 window_beat_last,
    input  wire                 window_beat_ready,
    input  wire                 window_read_valid,
    input  wire [4:0]           window_read_index,
    input  wire [63:0]          window_read_data,
    input  wire                 window_read_done,
    // With done: 0 = good, 1 = Unsupported Request, 4 = Completer Abort.
    input  wire [2:0]           window_read_status,
    // Every write has been answered.
    input  wire                 window_idle,

    // Completions.
    output wire [63:0] tlp_data,
    output wire        tlp_upper,
    output wire        tlp_last,
    output wire        tlp_valid,
    input  wire        tlp_ready,

    // One-cycle strobe: a request was refused as unsupported.
    output wire        count_unsupported
);
    localparam [2:0] S_HEAD = 3'd0;
    localparam [2:0] S_ADDRESS = 3'd1;
    localparam [2:0] S_ROUTE = 3'd2;
    localparam [2:0] S_DRAIN = 3'd3;
    localparam [2:0] S_WRITE = 3'd4;
    localparam [2:0] S_CHUNK = 3'd5;
    localparam [2:0] S_READ = 3'd6;
    localparam [2:0] S_REPLY = 3'd7;

    localparam [2:0] STATUS_GOOD = 3'd0;
    localparam [2:0] STATUS_UNSUPPORTED = 3'd1;

    reg [2:0]  state_reg;
    // Header of the request.
    reg        four_reg;
    reg        data_reg;
    reg        poisoned_reg;
    reg        memory_reg;
    reg        locked_reg;
    reg        config_reg;
    reg [2:0]  class_reg;
    reg [2:0]  attributes_reg;
    reg [15:0] requester_reg;
    reg [7:0]  tag_reg;
    reg [3:0]  last_enable_reg;
    reg [3:0]  first_enable_reg;
    reg        bar0_hit_reg;
    reg        bar2_hit_reg;
    reg        config_hit_reg;
    // The packet's last beat was taken.
    reg        ended_reg;
    // Next word of the access, words still to be answered, bytes of the first and the last word that are not asked for.
    reg [BAR2_BITS-1:2] address_reg;
    reg [10:0] words_reg;
    reg [1:0]  offset_reg;
    reg [1:0]  trail_reg;
    // The part that is being answered.
    reg [6:0]  chunk_reg;
    reg [6:0]  lower_reg;
    reg [6:0]  done_reg;
    reg [2:0]  status_reg;
    // A window request was taken; which half of a beat goes to the registers.
    reg        asked_reg;
    reg        lane_reg;

    wire [31:0] word_low = request_beat[31:0];
    wire [31:0] word_high = request_beat[63:32];
    wire [63:2] address = four_reg ? {word_low, word_high[31:2]} : {32'd0, word_low[31:2]};

    wire address_taken = state_reg == S_ADDRESS && request_valid;
    wire posted = memory_reg && data_reg;
    wire hit = memory_reg && memory_enable && (bar0_hit_reg || bar2_hit_reg);
    wire supported = hit || config_hit_reg;

    // Bytes that the enables leave off at both ends (2.3.1.1); a read of no byte counts as one byte.
    wire       single = words_reg == 11'd1;
    wire [3:1] end_enable = single ? first_enable_reg[3:1] : last_enable_reg[3:1];
    wire [1:0] offset = first_enable_reg[0] ? 2'd0 : first_enable_reg[1] ? 2'd1 :
                        first_enable_reg[2] ? 2'd2 : first_enable_reg[3] ? 2'd3 : 2'd0;
    wire [1:0] trail = end_enable[3] ? 2'd0 : end_enable[2] ? 2'd1 : end_enable[1] ? 2'd2 : 2'd3;
    wire [2:0] off_both = {1'b0, offset_reg} + {1'b0, trail_reg};
    wire [11:0] bytes = {words_reg[9:0], 2'd0} - {9'd0, off_both};

    // Words up to the next multiple of the maximum payload.
    wire [6:0] to_edge = (max_payload ? 7'd64 : 7'd32) - {1'b0, max_payload && address_reg[7], address_reg[6:2]};
    wire       chunk_is_rest = words_reg[10:7] == 4'd0 && words_reg[6:0] <= to_edge;
    // An access stays in its page.
    wire [9:0] step = data_reg ? 10'd2 : bar0_hit_reg ? 10'd1 : {3'd0, chunk_reg};
    wire [9:0] address_next = address_reg[11:2] + step;

    // Beats of a write's payload.
    wire        align_valid;
    wire [63:0] align_data;
    wire [7:0]  align_strobe;
    wire        align_last;
    wire        align_source_ready;
    wire        beat_taken = align_valid && align_ready;
    wire        writing = state_reg == S_WRITE;
    wire [3:0]  lane_strobe = lane_reg ? align_strobe[7:4] : align_strobe[3:0];
    wire        lane_done = writing && bar0_hit_reg && align_valid && (lane_strobe == 4'd0 || reg_ready);
    wire        align_ready = writing && (bar0_hit_reg ? lane_done && lane_reg : window_beat_ready && asked_reg);

    wire reading = state_reg == S_READ;
    wire reg_read_done = reading && bar0_hit_reg && reg_ready;
    wire send_done;
    wire config_good = config_reg && !poisoned_reg && word_low[18:16] == 3'd0;

    // The second beat stays where the aligner takes it for the first one of the payload.
    wire keep = posted && !four_reg && address[2];
    assign request_pop = state_reg == S_HEAD || (state_reg == S_ADDRESS && !keep) || (state_reg == S_DRAIN && !ended_reg) ||
                         align_source_ready;
    assign config_address = {word_low[11:2], 2'd0};
    assign config_write = address_taken && config_good && data_reg;
    assign config_wdata = word_high;
    assign config_wstrb = first_enable_reg;
    assign config_target = word_low[31:16];

    assign reg_valid = bar0_hit_reg && (reading || (writing && align_valid && lane_strobe != 4'd0));
    assign reg_write = data_reg;
    assign reg_address = {address_reg[15:3], data_reg ? lane_reg : address_reg[2], 2'd0};
    assign reg_wdata = lane_reg ? align_data[63:32] : align_data[31:0];
    assign reg_wstrb = lane_strobe;

    assign window_valid = (writing || reading) && !bar0_hit_reg && !asked_reg;
    assign window_write = data_reg;
    assign window_address = address_reg;
    assign window_words = data_reg ? words_reg[6:0] : chunk_reg;
    assign window_beat_valid = writing && !bar0_hit_reg && asked_reg && align_valid;
    assign window_beat_data = align_data;
    assign window_beat_strobe = align_strobe;
    assign window_beat_last = align_last;

    assign count_unsupported = (state_reg == S_ROUTE && !supported) ||
                               (reading && window_read_done && window_read_status == STATUS_UNSUPPORTED);

    always @(posedge clk) begin
        case (state_reg)
        S_HEAD: begin
            four_reg <= word_low[29];
            data_reg <= word_low[30];
            poisoned_reg <= word_low[30] && word_low[14];
            memory_reg <= word_low[28:24] == 5'd0;
            locked_reg <= word_low[28:24] == 5'd1;
            config_reg <= word_low[28:24] == 5'd4;
            class_reg <= word_low[22:20];
            attributes_reg <= {word_low[18], word_low[13:12]};
            words_reg <= {word_low[9:0] == 10'd0, word_low[9:0]};
            requester_reg <= word_high[31:16];
            tag_reg <= word_high[15:8];
            last_enable_reg <= word_high[7:4];
            first_enable_reg <= word_high[3:0];
            if (request_valid)
                state_reg <= S_ADDRESS;
        end
        S_ADDRESS: begin
            bar0_hit_reg <= memory_reg && address[63:32] == 32'd0 && address[31:16] == bar0_base;
            bar2_hit_reg <= memory_reg && address[63:BAR2_BITS] == bar2_base;
            config_hit_reg <= config_good;
            ended_reg <= request_beat[64] && !keep;
            address_reg <= address[BAR2_BITS-1:2];
            offset_reg <= memory_reg || locked_reg ? offset : 2'd0;
            trail_reg <= memory_reg || locked_reg ? trail : 2'd0;
            if (!memory_reg && !locked_reg)
                words_reg <= 11'd1;
            lower_reg <= memory_reg || locked_reg ? {address[6:2], offset} : 7'd0;
            chunk_reg <= 7'd1;
            done_reg <= 7'd0;
            asked_reg <= 1'b0;
            lane_reg <= 1'b0;
            if (request_valid)
                state_reg <= S_ROUTE;
        end
        S_ROUTE: begin
            status_reg <= supported ? STATUS_GOOD : STATUS_UNSUPPORTED;
            if (!supported)
                state_reg <= S_DRAIN;
            else if (config_hit_reg)
                state_reg <= S_REPLY;
            else if (posted && !bar0_hit_reg)
                state_reg <= S_WRITE;
            else if (window_idle)
                state_reg <= posted ? S_WRITE : S_CHUNK;
        end
        S_DRAIN: begin
            if (request_valid && request_beat[64])
                ended_reg <= 1'b1;
            if (ended_reg)
                state_reg <= posted ? S_HEAD : S_REPLY;
        end
        S_WRITE: begin
            if (window_valid && window_ready)
                asked_reg <= 1'b1;
            if (lane_done)
                lane_reg <= !lane_reg;
            if (beat_taken) begin
                address_reg[11:2] <= address_next;
                if (align_last)
                    state_reg <= S_HEAD;
            end
        end
        S_CHUNK: begin
            chunk_reg <= chunk_is_rest ? words_reg[6:0] : to_edge;
            lower_reg <= {address_reg[6:2], offset_reg};
            done_reg <= 7'd0;
            asked_reg <= 1'b0;
            state_reg <= S_READ;
        end
        S_READ: begin
            if (window_valid && window_ready)
                asked_reg <= 1'b1;
            if (reg_read_done) begin
                address_reg[11:2] <= address_next;
                done_reg <= done_reg + 7'd1;
                if (done_reg + 7'd1 == chunk_reg)
                    state_reg <= S_REPLY;
            end
            if (!bar0_hit_reg && window_read_done) begin
                address_reg[11:2] <= address_next;
                status_reg <= window_read_status;
                state_reg <= S_REPLY;
            end
        end
        default: begin
            if (send_done) begin
                words_reg <= words_reg - {4'd0, chunk_reg};
                offset_reg <= 2'd0;
                state_reg <= hit && status_reg == STATUS_GOOD && words_reg != {4'd0, chunk_reg} ? S_CHUNK : S_HEAD;
            end
        end
        endcase
        if (rst)
            state_reg <= S_HEAD;
    end

    // Buffer writes: configuration data, a register, or a beat of the window. The buffer's first beat is the one that
    // holds the first word, so a register's beat number counts the changes from upper to lower half.
    wire [4:0] reg_index = done_reg[5:1] + {4'd0, done_reg[0] && lower_reg[2]};
    wire       buffer_window = reading && !bar0_hit_reg;

    ferry_completion completion (
        .clk(clk),
        .rst(rst),
        .write_valid(address_taken ? 2'b01 : buffer_window ? {2{window_read_valid}} :
                     {reg_read_done && address_reg[2], reg_read_done && !address_reg[2]}),
        .write_index(address_taken ? 5'd0 : buffer_window ? window_read_index : reg_index),
        .write_data(address_taken ? {32'd0, config_rdata} : buffer_window ? window_read_data : {2{reg_rdata}}),
        .send_valid(state_reg == S_REPLY),
        .send_done(send_done),
        .status(status_reg),
        .words(status_reg == STATUS_GOOD && !data_reg ? chunk_reg : 7'd0),
        .bytes(bytes),
        .lower_address(lower_reg),
        .locked(locked_reg),
        .traffic_class(class_reg),
        .attributes(attributes_reg),
        .requester_id(requester_reg),
        .tag(tag_reg),
        .completer_id(completer_id),
        .tlp_data(tlp_data),
        .tlp_upper(tlp_upper),
        .tlp_last(tlp_last),
        .tlp_valid(tlp_valid),
        .tlp_ready(tlp_ready)
    );

    ferry_tlp_align align (
        .clk(clk),
        .start(address_taken),
        .start_four(four_reg),
        .start_odd(address[2]),
        .start_words(words_reg[6:0]),
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
`include "ferry_completer_properties.vh"
`endif
endmodule

`default_nettype wire
