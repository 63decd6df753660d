// SPDX-License-Identifier: Apache-2.0
// Packets of the device's on their way into the sender's store, byte by byte; without a session they are dropped. It sees
// the answer to ferry_frame_deliver's question, which is nobody else's.
`default_nettype none

module ferry_frame_collect (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // There is a session, and a number for one more packet.
    input  wire        open,
    input  wire        number_free,

    // A packet's words from the device.
    input  wire [31:0] tlp_tdata,
    input  wire        tlp_tlast,
    input  wire        tlp_tvalid,
    output wire        tlp_tready,

    // Into the store: bytes, the first of them in the place of the mark; then the packet is whole, its mark tells its words,
    // or it is forgotten.
    output wire        push_valid,
    output wire [7:0]  push_data,
    input  wire        push_ready,
    output wire        commit,
    output wire [7:0]  mark,
    output wire        discard,

    // For one cycle: the device has answered everything that it was asked.
    output wire        settled,
    // A packet is on its way through.
    output wire        busy
);
    localparam [1:0] S_FIRST = 2'd0;
    localparam [1:0] S_WORDS = 2'd1;
    localparam [1:0] S_END = 2'd2;

    reg [1:0] state_reg;
    reg       drop_reg;
    // Of a completion; with our own requester number.
    reg       completion_reg;
    reg       answer_reg;
    reg [1:0] byte_reg;
    reg [6:0] words_reg;

    wire push_word = state_reg == S_WORDS && !drop_reg && tlp_tvalid;
    wire begins = state_reg == S_FIRST && tlp_tvalid && open && number_free;
    wire taken = tlp_tvalid && tlp_tready;

    assign tlp_tready = state_reg == S_WORDS && (drop_reg || (push_ready && byte_reg == 2'd3));
    assign push_valid = (begins || push_word) && push_ready;
    assign push_data = tlp_tdata[8*byte_reg +: 8];
    assign mark = {1'b0, words_reg};
    assign commit = state_reg == S_END && !drop_reg && !answer_reg && open;
    assign discard = state_reg == S_END && !commit;
    assign settled = state_reg == S_END && answer_reg;
    assign busy = state_reg != S_FIRST || tlp_tvalid;

    always @(posedge clk) begin
        case (state_reg)
        S_FIRST: begin
            words_reg <= 7'd0;
            byte_reg <= 2'd0;
            answer_reg <= 1'b0;
            drop_reg <= !open;
            if (push_valid || (tlp_tvalid && !open))
                state_reg <= S_WORDS;
        end
        S_WORDS: begin
            if (push_valid)
                byte_reg <= byte_reg + 2'd1;
            drop_reg <= drop_reg || !open;
            if (taken) begin
                words_reg <= words_reg + 7'd1;
                if (words_reg == 7'd0)
                    completion_reg <= tlp_tdata[28:25] == 4'b0101;
                if (words_reg == 7'd2)
                    answer_reg <= completion_reg && tlp_tdata[31:16] == 16'hffff;
                if (tlp_tlast)
                    state_reg <= S_END;
            end
        end
        default:
            state_reg <= S_FIRST;
        endcase
        if (rst)
            state_reg <= S_FIRST;
    end
endmodule

`default_nettype wire
