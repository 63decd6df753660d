// SPDX-License-Identifier: Apache-2.0
// BAR2's upper half: ranges of tiled video memory as the rows that they hold (ferry_view_place). The byte at upper half + n is
// one of the image that the range around n holds. Stands in front of ferry_window, and hands it what is asked of the lower half
// as it is; of the upper half a granule of 16 bytes, or the part of one that is asked for, at a time.
// What lies in no range is answered with Unsupported Request, and writes to it are dropped and counted so. Writes behind a view's
// read wait for it: memory answers it whatever leaves the device.
`default_nettype none
`include "ferry_contract.vh"

module ferry_view #(
    // log2 of the bytes of local memory.
    parameter LOCAL_ADDRESS_BITS = 26,
    // 0: there is no upper half; nobody asks for it.
    parameter [0:0] VIEWS = 1
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // A word of VIEW is written.
    input  wire [`FERRY_VIEW_WRITE_BITS-1:0] set,

    // As ferry_window has it, with one bit of the address more: 1 for the upper half.
    input  wire                        write_valid,
    input  wire [LOCAL_ADDRESS_BITS:2] write_address,
    input  wire [6:0]                  write_words,
    output wire                        write_ready,
    input  wire                        beat_valid,
    input  wire                        beat_last,
    output wire                        beat_ready,
    input  wire                        read_valid,
    input  wire [LOCAL_ADDRESS_BITS:2] read_address,
    input  wire [6:0]                  read_words,
    output wire                        read_ready,
    output wire [4:0]                  data_index,
    output wire                        read_done,
    output wire [2:0]                  read_status,

    // The window. Data goes past this module.
    output wire                          window_write_valid,
    output wire [LOCAL_ADDRESS_BITS-1:2] window_write_address,
    output wire [6:0]                    window_write_words,
    input  wire                          window_write_ready,
    output wire                          window_beat_valid,
    output wire                          window_beat_last,
    input  wire                          window_beat_ready,
    output wire                          window_read_valid,
    output wire [LOCAL_ADDRESS_BITS-1:2] window_read_address,
    output wire [6:0]                    window_read_words,
    input  wire                          window_read_ready,
    input  wire                          window_data_valid,
    input  wire [4:0]                    window_data_index,
    input  wire                          window_read_done,
    input  wire [2:0]                    window_read_status,
    input  wire                          window_refused,

    // One-cycle strobes: a write lies in no range; the window refused a write, of the upper half at least a granule of it.
    output wire                          write_unsupported,
    output wire                          count_refused
);
    localparam LAB = LOCAL_ADDRESS_BITS;

    generate if (!VIEWS) begin : g_none

    wire unused = &{1'b0, clk, rst, set, write_address[LAB], read_address[LAB], window_data_valid};

    assign write_ready = window_write_ready;
    assign beat_ready = window_beat_ready;
    assign read_ready = window_read_ready;
    assign data_index = window_data_index;
    assign read_done = window_read_done;
    assign read_status = window_read_status;
    assign window_write_valid = write_valid;
    assign window_write_address = write_address[LAB-1:2];
    assign window_write_words = write_words;
    assign window_beat_valid = beat_valid;
    assign window_beat_last = beat_last;
    assign window_read_valid = read_valid;
    assign window_read_address = read_address[LAB-1:2];
    assign window_read_words = read_words;
    assign write_unsupported = 1'b0;
    assign count_refused = window_refused;

    end else begin : g_views

    localparam [2:0] S_IDLE = 3'd0;
    localparam [2:0] S_LINE = 3'd1;
    localparam [2:0] S_FIND = 3'd2;
    localparam [2:0] S_GRANULE = 3'd3;
    localparam [2:0] S_ASK = 3'd4;
    localparam [2:0] S_DATA = 3'd5;
    localparam [2:0] S_DROP = 3'd6;

    localparam [2:0] STATUS_GOOD = 3'd0;
    localparam [2:0] STATUS_UNSUPPORTED = 3'd1;

    reg [2:0]     state_reg;
    // The request of the upper half: which of the two, and what is left of it.
    reg           is_write_reg;
    reg [LAB-1:2] address_reg;
    reg [6:0]     words_reg;
    // The next beat of a write is the second of its granule. Beats of a read so far.
    reg           second_reg;
    reg [4:0]     index_reg;
    reg [LAB-1:4] place_reg;
    // The read under way is one of the upper half; its end. The window has refused a granule of this write.
    reg           reading_reg;
    reg           read_done_reg;
    reg [2:0]     read_status_reg;
    reg           refused_reg;

    wire idle = state_reg == S_IDLE;
    wire asking = state_reg == S_ASK;
    wire moving = state_reg == S_DATA;
    wire dropping = state_reg == S_DROP;
    wire takes_write = idle && write_valid && write_address[LAB];
    wire takes_read = idle && !write_valid && read_valid && read_address[LAB];

    // Words of this granule.
    wire [2:0] to_edge = 3'd4 - {1'b0, address_reg[3:2]};
    wire       ends = words_reg <= {4'd0, to_edge};
    wire [6:0] granule_words = ends ? words_reg : {4'd0, to_edge};

    wire           place_done;
    wire           place_found;
    wire           place_there;
    wire [LAB-1:4] place;
    ferry_view_place #(.LOCAL_ADDRESS_BITS(LAB)) ranges (
        .clk(clk), .rst(rst), .set(set), .start(state_reg == S_LINE), .line(address_reg[LAB-1:6]), .done(place_done),
        .found(place_found), .granule(address_reg[5:4]), .place(place), .there(place_there)
    );

    // The window takes one at a time, a write first.
    wire [LAB-1:2] asked_address = write_valid ? write_address[LAB-1:2] : read_address[LAB-1:2];
    wire [6:0]     asked_words = write_valid ? write_words : read_words;
    wire [LAB-1:2] window_address = idle ? asked_address : {place_reg, address_reg[3:2]};
    wire [6:0]     window_words = idle ? asked_words : granule_words;
    wire bypass_write = idle && !write_address[LAB];
    wire bypass_read = idle && !write_valid && !read_address[LAB];
    assign window_write_valid = (bypass_write && write_valid) || (asking && is_write_reg);
    assign window_write_address = window_address;
    assign window_write_words = window_words;
    assign window_read_valid = (bypass_read && read_valid) || (asking && !is_write_reg);
    assign window_read_address = window_address;
    assign window_read_words = window_words;
    assign write_ready = idle && (write_address[LAB] || window_write_ready);
    assign read_ready = idle && !write_valid && (read_address[LAB] || window_read_ready);

    // Beats of a write to the lower half never wait here: memory that has its address may do nothing else before they come.
    wire bypass_beats = idle || !is_write_reg;
    wire granule_last = second_reg || beat_last;
    assign window_beat_valid = beat_valid && (bypass_beats || moving);
    assign window_beat_last = bypass_beats ? beat_last : granule_last;
    assign beat_ready = bypass_beats || moving ? window_beat_ready : dropping;
    wire beat_taken = beat_valid && beat_ready;

    assign data_index = reading_reg ? index_reg : window_data_index;
    assign read_done = reading_reg ? read_done_reg : window_read_done;
    assign read_status = reading_reg ? read_status_reg : window_read_status;

    wire lost = (state_reg == S_FIND && place_done && !place_found) || (state_reg == S_GRANULE && !place_there);
    assign write_unsupported = lost && is_write_reg;
    assign count_refused = window_refused && !refused_reg;

    wire granule_done = moving && (is_write_reg ? beat_taken && granule_last : window_read_done);
    wire bad = !is_write_reg && window_read_status != STATUS_GOOD;

    always @(posedge clk) begin
        read_done_reg <= 1'b0;
        case (state_reg)
        S_IDLE: begin
            is_write_reg <= write_valid;
            address_reg <= asked_address;
            words_reg <= asked_words;
            index_reg <= 5'd0;
            if (takes_read)
                reading_reg <= 1'b1;
            if (takes_write || takes_read)
                state_reg <= S_LINE;
        end
        S_LINE:
            state_reg <= S_FIND;
        S_FIND:
            if (place_done)
                state_reg <= lost ? S_DROP : S_GRANULE;
        S_GRANULE: begin
            place_reg <= place;
            second_reg <= address_reg[3];
            state_reg <= lost ? S_DROP : S_ASK;
        end
        S_ASK:
            if (is_write_reg ? window_write_ready : window_read_ready)
                state_reg <= S_DATA;
        S_DATA: begin
            if (beat_taken)
                second_reg <= 1'b1;
            if (window_data_valid)
                index_reg <= index_reg + 5'd1;
            if (granule_done) begin
                // A request stays in its page.
                address_reg[11:2] <= {address_reg[11:4] + 8'd1, 2'd0};
                words_reg <= words_reg - granule_words;
                state_reg <= ends || bad ? S_IDLE : address_reg[5:4] == 2'd3 ? S_LINE : S_GRANULE;
                if (!is_write_reg && (ends || bad)) begin
                    read_done_reg <= 1'b1;
                    read_status_reg <= window_read_status;
                end
            end
        end
        default: begin
            if (!is_write_reg) begin
                read_done_reg <= 1'b1;
                read_status_reg <= STATUS_UNSUPPORTED;
            end
            if (!is_write_reg || (beat_taken && beat_last))
                state_reg <= S_IDLE;
        end
        endcase
        // A write's refusals come while it is at hand.
        refused_reg <= !idle && (refused_reg || window_refused);
        if (read_done_reg)
            reading_reg <= 1'b0;
        if (rst) begin
            state_reg <= S_IDLE;
            reading_reg <= 1'b0;
            read_done_reg <= 1'b0;
            refused_reg <= 1'b0;
        end
    end

    end endgenerate
endmodule

`default_nettype wire
