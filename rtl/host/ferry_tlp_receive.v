// SPDX-License-Identifier: Apache-2.0
// Takes packets from the host apart: checks form and length (PCI Express base specification 2.2 and 2.3), writes good
// requests into the request buffer and hands completions to the requester as 8-byte beats. A malformed packet leaves
// no trace but its count. A digest is dropped unread, since no capability says that it would be checked (2.7.1).
//
// Completions are taken even while the request buffer is full, and writes whatever the requests that want an answer
// wait for: only the first beat of such a request can be held, by request_room.
`default_nettype none

module ferry_tlp_receive (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Largest payload: 0 = 128 bytes, 1 = 256 bytes.
    input  wire        max_payload,

    // Packet stream from the host.
    input  wire [63:0] s_axis_tlp_tdata,
    input  wire [1:0]  s_axis_tlp_tkeep,
    input  wire        s_axis_tlp_tlast,
    input  wire        s_axis_tlp_tvalid,
    output wire        s_axis_tlp_tready,

    // Request buffer: {last beat of the packet, two words}.
    output wire        push_valid,
    output wire [64:0] push_beat,
    output wire        push_commit,
    output wire        push_discard,
    input  wire        push_ready,
    // With commit: the request wants an answer. There is room for one more of those.
    output wire        push_request,
    input  wire        request_room,

    // A beat of a completion's payload, or with completion_last the completion's end (or both).
    output reg         completion_valid,
    output reg         completion_write,
    output reg  [63:0] completion_data,
    output reg         completion_last,
    // With completion_last: the packet was well formed.
    output reg         completion_good,
    // Header fields, stable for every beat of the completion.
    output reg  [7:0]  completion_tag,
    output reg  [15:0] completion_requester,
    output wire [2:0]  completion_status,
    output wire [11:0] completion_bytes,
    output wire [9:0]  completion_words,
    output wire        completion_has_data,
    output wire        completion_poisoned,

    // One-cycle strobes for the counters.
    output wire        count_received,
    output wire        count_beat,
    output wire        count_malformed,
    output wire        count_poisoned,
    // With count_poisoned: nobody gets an answer to it; it was a completion.
    output wire        poisoned_write,
    output wire        poisoned_completion,
    // One-cycle strobe: a message that this function does not know. Nobody gets an answer to it.
    output wire        message_unsupported
`ifdef FORMAL
    ,
    // For proofs: the next beat is a packet's first.
    output wire        formal_first
`endif
);
    // Which beat comes next: header words 0 and 1, words 2 and 3, or one behind them.
    reg        first_reg;
    reg        second_reg;
    // What counts of header word 0 (format and type, digest, poison, length) and of word 1 (status, byte count, enables).
    reg [19:0] word0_reg;
    reg [14:0] word1_reg;
    // Upper word of the beat before.
    reg [31:0] carry_reg;
    // Words still expected, the digest among them.
    reg [10:0] left_reg;
    reg        bad_reg;

    wire accept = s_axis_tlp_tvalid && s_axis_tlp_tready;
    wire [31:0] word_low = s_axis_tlp_tdata[31:0];
    wire [31:0] word_high = s_axis_tlp_tdata[63:32];

    // What the packet is; format and type stand in word 0, which is there with the first beat.
    wire       four = word0_reg[17];
    wire       data = word0_reg[18];
    wire [4:0] kind = word0_reg[16:12];
    wire       digest = word0_reg[11];
    wire [4:0] kind_now = first_reg ? word_low[28:24] : kind;
    wire       data_now = first_reg ? word_low[30] : data;
    wire       is_completion = kind_now[4:1] == 4'b0101;
    wire       is_message = kind_now[4:3] == 2'b10;
    wire       wants_answer = !is_completion && !is_message && !(kind_now == 5'd0 && data_now);
    wire       memory = kind == 5'b00000;
    wire       locked = kind == 5'b00001;
    wire       io = kind == 5'b00010;
    wire       config_access = kind[4:1] == 4'b0010;
    wire       completion = kind[4:1] == 4'b0101;
    wire       message = kind[4:3] == 2'b10;
    wire       atomic = kind[4:2] == 3'b011 && kind[1:0] != 2'b11;
    wire       known = !word0_reg[19] && (memory || (locked && !data) || ((io || config_access || completion) && !four) ||
                                         (message && four) || (atomic && data));
    wire [9:0] length = word0_reg[9:0];
    wire [3:0] first_enable = word1_reg[3:0];
    wire [3:0] last_enable = word1_reg[7:4];
    wire       single = length == 10'd1;

    // Payload over the maximum; length 0 stands for 1024 words.
    wire too_long = data && (length == 10'd0 || length[9:7] != 3'd0 || (length[6] && length[5:0] != 6'd0) ||
                             (!max_payload && (length[6] || (length[5] && length[4:0] != 5'd0))));
    // Byte enables (2.2.5): one word has no last enables; more words have both; and only a request of one word, or of
    // two in one aligned 8-byte word, may have holes.
    wire address_odd = four ? word_high[2] : word_low[2];
    wire holes_allowed = length == 10'd2 && !address_odd;
    wire first_run = first_enable == 4'hf || first_enable == 4'he || first_enable == 4'hc || first_enable == 4'h8;
    wire last_run = last_enable == 4'hf || last_enable == 4'h7 || last_enable == 4'h3 || last_enable == 4'h1;
    wire enables_bad = single ? last_enable != 4'd0 :
                       first_enable == 4'd0 || last_enable == 4'd0 || (!holes_allowed && !(first_run && last_run));
    // A request may not cross a 4 KiB boundary.
    wire [9:0]  page_word = four ? word_high[11:2] : word_low[11:2];
    wire [10:0] page_end = {1'b0, page_word} + {length == 10'd0, length};
    wire crosses = page_end[10] && page_end[9:0] != 10'd0;

    wire header_bad = !known || too_long ||
                      ((memory || locked) && (enables_bad || crosses)) ||
                      ((io || config_access) && (!single || last_enable != 4'd0));
    wire tail_good = s_axis_tlp_tkeep == 2'b11 ? left_reg == 11'd2 : s_axis_tlp_tkeep == 2'b01 && left_reg == 11'd1;
    wire more_good = s_axis_tlp_tkeep == 2'b11 && left_reg > 11'd2;
    wire bad = bad_reg || (first_reg ? s_axis_tlp_tlast || s_axis_tlp_tkeep != 2'b11 :
                                       (second_reg && header_bad) ||
                                       (s_axis_tlp_tlast ? !tail_good : !more_good));

    wire finish = accept && s_axis_tlp_tlast;
    wire poisoned = data && word0_reg[10];
    // The buffer sees the packet as if it had no digest: the beat before one that holds nothing else is the last.
    wire only_digest = !first_reg && digest && left_reg == 11'd1;
    wire last_words = left_reg <= 11'd2 || (digest && left_reg == 11'd3);

    assign s_axis_tlp_tready = bad_reg || is_completion || is_message ||
                               (push_ready && !(first_reg && wants_answer && !request_room));
    assign push_valid = accept && !is_completion && !is_message && !bad_reg && !only_digest;
    assign push_beat = {!first_reg && last_words, s_axis_tlp_tdata};
    assign push_request = wants_answer;
    // A poisoned memory write is dropped here; a poisoned request that wants an answer goes on to get its refusal.
    assign push_commit = finish && !bad && !completion && !message && !(poisoned && memory);
    assign push_discard = finish && !push_commit;
    assign count_received = finish;
    assign count_beat = accept;
    assign count_malformed = finish && bad;
    assign count_poisoned = finish && !bad && poisoned;
    assign poisoned_write = memory || message;
    assign poisoned_completion = completion;

    // What may be sent to any function and asks nothing of this one (2.2.8): Unlock, PM_Active_State_Nak, PME_Turn_Off (whose
    // answer is the hard block's), the seven of hot plug that are ignored, Set_Slot_Power_Limit, and Vendor_Defined Type 1.
    // Every other message is an Unsupported Request (2.3.1), Vendor_Defined Type 0 too.
    wire [7:0] message_code = word1_reg[7:0];
    wire hot_plug = message_code[7:3] == 5'b01000 ? message_code[1:0] != 2'd2 : message_code == 8'h48;
    wire ignored = message_code == 8'h00 || message_code == 8'h14 || message_code == 8'h19 || message_code == 8'h50
        || message_code == 8'h7f || hot_plug;
    assign message_unsupported = finish && !bad && message && !poisoned && !ignored;

    assign completion_status = word1_reg[14:12];
    assign completion_bytes = word1_reg[11:0];
    assign completion_words = length;
    assign completion_has_data = data;
    assign completion_poisoned = poisoned;

    always @(posedge clk) begin
        completion_valid <= accept && !first_reg && is_completion && (s_axis_tlp_tlast || !second_reg);
        completion_write <= !second_reg && !bad;
        completion_data <= {word_low, carry_reg};
        completion_last <= s_axis_tlp_tlast;
        completion_good <= !bad;
        if (accept) begin
            carry_reg <= word_high;
            first_reg <= s_axis_tlp_tlast;
            second_reg <= first_reg && !s_axis_tlp_tlast;
            bad_reg <= bad && !s_axis_tlp_tlast;
            if (first_reg) begin
                word0_reg <= {word_low[31:24], word_low[15:14], word_low[9:0]};
                word1_reg <= {word_high[15:13], word_high[11:0]};
                left_reg <= {8'd0, 1'b0, word_low[29], !word_low[29]} + {10'd0, word_low[15]} +
                            (word_low[30] ? {word_low[9:0] == 10'd0, word_low[9:0]} : 11'd0);
            end else begin
                left_reg <= left_reg - 11'd2;
            end
            if (second_reg) begin
                completion_tag <= word_low[15:8];
                completion_requester <= word_low[31:16];
            end
        end
        if (rst) begin
            first_reg <= 1'b1;
            second_reg <= 1'b0;
            bad_reg <= 1'b0;
            completion_valid <= 1'b0;
        end
    end

`ifdef FORMAL
    assign formal_first = first_reg;
`include "ferry_tlp_receive_properties.vh"
`endif
endmodule

`default_nettype wire
