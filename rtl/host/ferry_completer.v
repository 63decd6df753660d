// SPDX-License-Identifier: Apache-2.0
// Answers the host's requests that want an answer, one after the other: configuration accesses, reads of BAR0 and, through
// the window, of BAR2. Each gets exactly one run of completions; what is not there gets Unsupported Request. Read data
// is cut at multiples of the maximum payload, which are multiples of the read completion boundary.
`default_nettype none

module ferry_completer #(
    // log2 of the bytes of BAR2.
    parameter BAR2_BITS = 27,
    // Something is in the upper half of BAR2.
    parameter [0:0] VIEWS = 1
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Requests, two beats each: the header and, of a write, its first word.
    input  wire        request_valid,
    input  wire [63:0] request_beat,
    output wire        request_pop,

    // Configuration space. What is read comes a cycle after the address.
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

    // Register bus: a read is held until ready.
    output wire        reg_valid,
    output wire [15:0] reg_address,
    input  wire        reg_ready,
    input  wire [31:0] reg_rdata,

    // Window: a request, held until ready; read data into the completion's buffer, then done.
    output wire                 window_valid,
    output wire [BAR2_BITS-1:2] window_address,
    // Words of the read, all in one 4 KiB page; the data starts in the half of a beat that the address tells.
    output wire [6:0]           window_words,
    input  wire                 window_ready,
    input  wire                 window_read_valid,
    input  wire [4:0]           window_read_index,
    input  wire [63:0]          window_read_data,
    input  wire                 window_read_done,
    // With done: 0 = good, 1 = Unsupported Request, 4 = Completer Abort.
    input  wire [2:0]           window_read_status,

    // Data of the completion: either half of a beat of its buffer.
    output wire [1:0]  write_valid,
    output wire [4:0]  write_index,
    output wire [63:0] write_data,
    // The completion: stable until its last beat was taken, done.
    output wire        send_valid,
    input  wire        send_done,
    // 0 = successful, 1 = unsupported request, 4 = completer abort.
    output wire [2:0]  send_status,
    // Payload words; 0 = completion without data.
    output wire [6:0]  send_words,
    // Bytes of the request that are still to come, this packet's included; modulo 4096.
    output wire [11:0] send_bytes,
    // Lowest bits of the address of the first byte; bit 2 tells in which half of the first beat the data begins.
    output wire [6:0]  send_lower,
    // The request was a locked read; its traffic class, attributes, requester and tag.
    output wire        send_locked,
    output wire [2:0]  send_class,
    output wire [2:0]  send_attributes,
    output wire [15:0] send_requester,
    output wire [7:0]  send_tag,

    // One-cycle strobes: a request was refused as unsupported, or ended as completer abort.
    output wire        count_unsupported,
    output wire        count_abort
);
    localparam [2:0] S_HEAD = 3'd0;
    localparam [2:0] S_ADDRESS = 3'd1;
    localparam [2:0] S_ROUTE = 3'd2;
    localparam [2:0] S_CHUNK = 3'd3;
    localparam [2:0] S_READ = 3'd4;
    localparam [2:0] S_REPLY = 3'd5;

    localparam [2:0] STATUS_GOOD = 3'd0;
    localparam [2:0] STATUS_UNSUPPORTED = 3'd1;
    localparam [2:0] STATUS_ABORT = 3'd4;

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
    reg [3:1]  last_enable_reg;
    reg [3:0]  first_enable_reg;
    reg        bar0_hit_reg;
    reg        bar2_hit_reg;
    reg        config_hit_reg;
    // Next word of the access, words still to be answered, bytes of the first and the last word that are not asked for.
    reg [63:2] address_reg;
    reg [10:0] words_reg;
    reg [1:0]  offset_reg;
    reg [1:0]  trail_reg;
    // The part that is being answered.
    reg [6:0]  chunk_reg;
    reg [6:0]  lower_reg;
    reg [6:0]  done_reg;
    reg [2:0]  status_reg;
    // A window request was taken.
    reg        asked_reg;

    wire [31:0] word_low = request_beat[31:0];
    wire [31:0] word_high = request_beat[63:32];
    wire [63:2] address = four_reg ? {word_low, word_high[31:2]} : {32'd0, word_low[31:2]};

    wire address_taken = state_reg == S_ADDRESS && request_valid;
    // Looked at in S_ROUTE. The aperture segment is not in BAR2: the CPU has its pages.
    wire bar0_match = memory_reg && address_reg[63:32] == 32'd0 && address_reg[31:16] == bar0_base;
    wire bar2_match = memory_reg && address_reg[63:BAR2_BITS] == bar2_base && (VIEWS || !address_reg[BAR2_BITS-1]);
    wire match = memory_enable && (bar0_match || bar2_match);
    // Afterwards.
    wire hit = memory_reg && memory_enable && (bar0_hit_reg || bar2_hit_reg);

    // Bytes that the enables leave off at both ends (2.3.1.1); a read of no byte counts as one byte.
    wire       single = words_reg == 11'd1;
    wire [3:1] end_enable = single ? first_enable_reg[3:1] : last_enable_reg;
    wire [1:0] offset = first_enable_reg[0] ? 2'd0 : first_enable_reg[1] ? 2'd1 :
                        first_enable_reg[2] ? 2'd2 : first_enable_reg[3] ? 2'd3 : 2'd0;
    wire [1:0] trail = end_enable[3] ? 2'd0 : end_enable[2] ? 2'd1 : end_enable[1] ? 2'd2 : 2'd3;
    wire [2:0] off_both = {1'b0, offset_reg} + {1'b0, trail_reg};

    // Words up to the next multiple of the maximum payload.
    wire [6:0] to_edge = (max_payload ? 7'd64 : 7'd32) - {1'b0, max_payload && address_reg[7], address_reg[6:2]};
    wire       chunk_is_rest = words_reg[10:7] == 4'd0 && words_reg[6:0] <= to_edge;
    // An access stays in its page.
    wire [9:0] step = {3'd0, bar0_hit_reg ? 7'd1 : chunk_reg};
    wire [9:0] address_next = address_reg[11:2] + step;

    wire reading = state_reg == S_READ;
    wire reg_read_done = reading && bar0_hit_reg && reg_ready;
    wire window_reading = reading && !bar0_hit_reg;
    wire config_good = config_reg && !poisoned_reg && word_low[18:16] == 3'd0;

    assign request_pop = state_reg == S_HEAD || state_reg == S_ADDRESS;
    assign config_address = {word_low[11:2], 2'd0};
    assign config_write = address_taken && config_good && data_reg;
    assign config_wdata = word_high;
    assign config_wstrb = first_enable_reg;
    assign config_target = word_low[31:16];

    assign reg_valid = reading && bar0_hit_reg;
    assign reg_address = {address_reg[15:2], 2'd0};
    assign window_valid = window_reading && !asked_reg;
    assign window_address = address_reg[BAR2_BITS-1:2];
    assign window_words = chunk_reg;

    // Buffer writes: configuration data, a register, or a beat of the window. The buffer's first beat is the one that
    // holds the first word, so a register's beat number counts the changes from upper to lower half.
    assign write_valid = state_reg == S_ROUTE ? 2'b01 : window_reading ? {2{window_read_valid}} :
                         {reg_read_done && address_reg[2], reg_read_done && !address_reg[2]};
    assign write_index = state_reg == S_ROUTE ? 5'd0 : window_reading ? window_read_index :
                         done_reg[5:1] + {4'd0, done_reg[0] && lower_reg[2]};
    assign write_data = state_reg == S_ROUTE ? {32'd0, config_rdata} : window_reading ? window_read_data : {2{reg_rdata}};

    assign send_valid = state_reg == S_REPLY;
    assign send_status = status_reg;
    assign send_words = status_reg == STATUS_GOOD && !data_reg ? chunk_reg : 7'd0;
    assign send_bytes = {words_reg[9:0], 2'd0} - {9'd0, off_both};
    assign send_lower = lower_reg;
    assign send_locked = locked_reg;
    assign send_class = class_reg;
    assign send_attributes = attributes_reg;
    assign send_requester = requester_reg;
    assign send_tag = tag_reg;

    assign count_unsupported = (state_reg == S_ROUTE && !match && !config_hit_reg) ||
                               (window_reading && window_read_done && window_read_status == STATUS_UNSUPPORTED);
    assign count_abort = window_reading && window_read_done && window_read_status == STATUS_ABORT;

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
            last_enable_reg <= word_high[7:5];
            first_enable_reg <= word_high[3:0];
            if (request_valid)
                state_reg <= S_ADDRESS;
        end
        S_ADDRESS: begin
            config_hit_reg <= config_good;
            address_reg <= address;
            offset_reg <= memory_reg || locked_reg ? offset : 2'd0;
            trail_reg <= memory_reg || locked_reg ? trail : 2'd0;
            if (!memory_reg && !locked_reg)
                words_reg <= 11'd1;
            lower_reg <= memory_reg || locked_reg ? {address[6:2], offset} : 7'd0;
            chunk_reg <= 7'd1;
            done_reg <= 7'd0;
            asked_reg <= 1'b0;
            if (request_valid)
                state_reg <= S_ROUTE;
        end
        S_ROUTE: begin
            bar0_hit_reg <= bar0_match;
            bar2_hit_reg <= bar2_match;
            status_reg <= match || config_hit_reg ? STATUS_GOOD : STATUS_UNSUPPORTED;
            state_reg <= match ? S_CHUNK : S_REPLY;
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

`ifdef FORMAL
`include "ferry_completer_properties.vh"
`endif
endmodule

`default_nettype wire
