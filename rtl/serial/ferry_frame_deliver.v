// SPDX-License-Identifier: Apache-2.0
// Gives packets that came in frames to the device. Requests that want an answer may have to wait there, and nothing behind
// them may: each is set aside first, in a room of its own for as many as a host may have asked (link/root_complex.h), and
// goes from there when the device has room for requests. Writes and completions go at once.
//
// When a session begins, the device is asked last of all, by a request with a requester number that no host has. It
// answers one request after the other, so with that answer (ferry_frame_send sees it) it has answered everything.
`default_nettype none

module ferry_frame_deliver #(
    // log2 of the bytes of the receiver's store.
    parameter LG_BYTES = 11
) (
    // Clock and synchronous reset.
    input  wire                clk,
    input  wire                rst,

    // The receiver's store.
    input  wire [LG_BYTES-1:0] end_place,
    output wire [LG_BYTES-1:0] oldest,
    output wire [LG_BYTES-1:0] read_place,
    input  wire [7:0]          read_data,
    // For one cycle: a packet has left the store.
    output wire                freed,

    // Ask the device when there is nothing else; for one cycle: that has begun.
    input  wire                ask,
    output wire                asked,

    // To the device: a packet's words.
    output wire [31:0]         tlp_tdata,
    output wire                tlp_tlast,
    output wire                tlp_tvalid,
    input  wire                tlp_tready,
    // It has room for a request that wants an answer.
    input  wire                request_ok,
    // Something is in here or in the store.
    output wire                busy
);
    localparam [1:0] S_PICK = 2'd0;
    // The mark comes; then each byte comes in one cycle and is used in the next.
    localparam [1:0] S_MARK = 2'd1;
    localparam [1:0] S_READ = 2'd2;
    localparam [1:0] S_USE = 2'd3;

    // Requests that are set aside: 16 places of 32 bytes, each a mark and at most 16 bytes.
    (* no_rw_check *)
    reg [7:0]  aside [0:511];
    reg [7:0]  aside_data;

    reg [1:0]  state_reg;
    // From where: the requests set aside, the question, or the store. To where: aside.
    reg        from_aside_reg;
    reg        from_question_reg;
    reg        to_aside_reg;
    reg [LG_BYTES-1:0] place_reg;
    reg [3:0]  aside_write_reg;
    reg [3:0]  aside_read_reg;
    reg [4:0]  aside_count_reg;
    reg [4:0]  aside_byte_reg;
    // Words of the packet that are to come, and the byte of the word.
    reg [6:0]  words_reg;
    reg [1:0]  byte_reg;
    reg [31:0] data_reg;
    reg        valid_reg;
    reg        last_reg;

    // A configuration read of register 0: type 4, length 1; requester FFFF, tag 0, all four bytes.
    reg [7:0]  question;
    always @* case (aside_byte_reg)
        5'd1: question = 8'h01;
        5'd4: question = 8'h04;
        5'd5: question = 8'h0f;
        5'd7, 5'd8: question = 8'hff;
        default: question = 8'h00;
    endcase

    wire       none = place_reg == end_place;
    wire       full = aside_count_reg[4];
    wire       pick_aside = aside_count_reg != 5'd0 && request_ok;
    wire       pick_question = ask && none && aside_count_reg == 5'd0 && request_ok;
    wire [7:0] data = from_aside_reg ? aside_data : from_question_reg ? (state_reg == S_MARK ? 8'd3 : question) : read_data;
    wire       from_store = !from_aside_reg && !from_question_reg;
    // A request out of the store; it has to stay there while there is no room for it.
    wire       request = from_store && data[7];
    wire       held = request && full;
    wire       use_mark = state_reg == S_MARK && !held;
    wire       use_byte = state_reg == S_USE && !valid_reg;
    wire       word_ends = use_byte && byte_reg == 2'd3;
    wire       ends = word_ends && words_reg == 7'd1;
    wire       set_aside = (use_mark && request) || (use_byte && to_aside_reg);

    assign oldest = place_reg;
    assign read_place = place_reg;
    assign freed = ends && from_store;
    assign asked = state_reg == S_PICK && pick_question;
    assign tlp_tdata = data_reg;
    assign tlp_tlast = last_reg;
    assign tlp_tvalid = valid_reg;
    assign busy = state_reg != S_PICK || !none || aside_count_reg != 5'd0 || valid_reg || ask;

    always @(posedge clk) begin
        if (set_aside)
            aside[{aside_write_reg, aside_byte_reg}] <= data;
        aside_data <= aside[{aside_read_reg, aside_byte_reg}];
    end

    always @(posedge clk) begin
        if (tlp_tready)
            valid_reg <= 1'b0;
        case (state_reg)
        S_PICK: begin
            from_aside_reg <= pick_aside;
            from_question_reg <= pick_question;
            to_aside_reg <= 1'b0;
            byte_reg <= 2'd0;
            if (pick_aside || pick_question || !none)
                state_reg <= S_MARK;
        end
        S_MARK: begin
            words_reg <= data[6:0];
            to_aside_reg <= request;
            // Held, it lets requests that are aside go first.
            state_reg <= held ? S_PICK : S_READ;
        end
        S_READ:
            state_reg <= S_USE;
        default:
            if (use_byte) begin
                data_reg <= {data, data_reg[31:8]};
                byte_reg <= byte_reg + 2'd1;
                state_reg <= ends ? S_PICK : S_READ;
                if (word_ends) begin
                    words_reg <= words_reg - 7'd1;
                    valid_reg <= !to_aside_reg;
                    last_reg <= ends;
                end
            end
        endcase
        if (use_mark || use_byte)
            aside_byte_reg <= ends ? 5'd0 : aside_byte_reg + 5'd1;
        if ((use_mark || use_byte) && from_store)
            place_reg <= place_reg + {{LG_BYTES - 1{1'b0}}, 1'b1};
        if (ends && to_aside_reg) begin
            aside_write_reg <= aside_write_reg + 4'd1;
            aside_count_reg <= aside_count_reg + 5'd1;
        end
        if (ends && from_aside_reg) begin
            aside_read_reg <= aside_read_reg + 4'd1;
            aside_count_reg <= aside_count_reg - 5'd1;
        end
        if (rst) begin
            state_reg <= S_PICK;
            valid_reg <= 1'b0;
            place_reg <= {LG_BYTES{1'b0}};
            aside_write_reg <= 4'd0;
            aside_read_reg <= 4'd0;
            aside_count_reg <= 5'd0;
            aside_byte_reg <= 5'd0;
        end
    end

`ifdef FORMAL
    // What is offered to the device stays; requests that are set aside are never more than their places, and none begins without
    // the device's leave.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);
    valid_ready_properties #(.WIDTH(33)) device (
        .clk(clk), .rst(rst), .valid(tlp_tvalid), .ready(tlp_tready), .data({tlp_tlast, tlp_tdata})
    );
    reg  leave_was = 1'b0;
    reg  picked_was = 1'b0;
    always @(posedge clk) begin
        leave_was <= request_ok;
        picked_was <= state_reg == S_PICK && !rst;
        cover (past_valid && !rst && set_aside);
    end
    wire [3:0] aside_places = aside_write_reg - aside_read_reg;
    always @(*) if (past_valid && !rst) begin
        assert (aside_count_reg <= 5'd16 && aside_count_reg[3:0] == aside_places);
        assert (!(to_aside_reg && state_reg != S_PICK && state_reg != S_MARK) || !full);
        assert (!from_aside_reg || state_reg == S_PICK || aside_count_reg != 5'd0);
        assert (!(pick_aside && pick_question));
        assert (!(from_aside_reg && from_question_reg) || state_reg == S_PICK);
        assert (!to_aside_reg || (!from_aside_reg && !from_question_reg) || state_reg == S_PICK);
        if (picked_was && state_reg == S_MARK && !from_store)
            assert (leave_was);
    end
`endif
endmodule

`default_nettype wire
