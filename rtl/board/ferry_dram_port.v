// SPDX-License-Identifier: Apache-2.0
// From the device's video memory port, AXI4 of 64 bits, to the native port of a packaged DRAM controller (LiteDRAM), which is as
// wide as the chip: commands of one word, data of writes fetched when their time has come, data of reads that nobody can hold
// up. A beat is 64 / NATIVE_BITS commands, one a clock. What the device asks for is done in an order that AXI4 allows:
// reads among reads and writes among writes as they come, and a read behind a write whose response was given sees it,
// because the controller keeps the order of each bank. On a board that ties the chip's data masks, a beat that is not written whole
// is read before and written whole.
`default_nettype none

module ferry_dram_port #(
    // log2 of the bytes of video memory.
    parameter ADDRESS_BITS = 25,
    // Bits of the controller's port: 16 or 32.
    parameter NATIVE_BITS = 16,
    // 1: the chip's data masks come from the controller; 0: the board ties them, and whatever is written is written whole.
    parameter MASKS = 1
) (
    // Clock and synchronous reset.
    input  wire                    clk,
    input  wire                    rst,

    // The device's port: as ferry_device's, less the fields that never change.
    input  wire [1:0]              s_axi_awid,
    input  wire [ADDRESS_BITS-1:0] s_axi_awaddr,
    input  wire [7:0]              s_axi_awlen,
    input  wire                    s_axi_awvalid,
    output wire                    s_axi_awready,
    input  wire [63:0]             s_axi_wdata,
    input  wire [7:0]              s_axi_wstrb,
    input  wire                    s_axi_wvalid,
    output wire                    s_axi_wready,
    output wire [1:0]              s_axi_bid,
    output wire                    s_axi_bvalid,
    input  wire                    s_axi_bready,
    input  wire [1:0]              s_axi_arid,
    input  wire [ADDRESS_BITS-1:0] s_axi_araddr,
    input  wire [7:0]              s_axi_arlen,
    input  wire                    s_axi_arvalid,
    output wire                    s_axi_arready,
    output wire [1:0]              s_axi_rid,
    output wire [63:0]             s_axi_rdata,
    output wire                    s_axi_rlast,
    output wire                    s_axi_rvalid,
    input  wire                    s_axi_rready,

    // The controller's port. A command is one word; its address counts words.
    output reg                     cmd_valid,
    input  wire                    cmd_ready,
    output reg                     cmd_we,
    output reg  [ADDRESS_BITS-1-$clog2(NATIVE_BITS/8):0] cmd_addr,
    // Words of writes in the order of their commands. Each is here before its command is taken, as the controller does not wait.
    output wire [NATIVE_BITS-1:0]  wdata_data,
    output wire [NATIVE_BITS/8-1:0] wdata_we,
    output wire                    wdata_valid,
    input  wire                    wdata_ready,
    // Words of reads in the order of their commands; there is room for each that was asked for.
    input  wire [NATIVE_BITS-1:0]  rdata_data,
    input  wire                    rdata_valid
);
    generate if (NATIVE_BITS != 16 && NATIVE_BITS != 32) begin : refused
`ifndef __ICARUS__
        $error("ferry_dram_port: NATIVE_BITS is 16 or 32");
`endif
    end endgenerate

    localparam LG_WORD = $clog2(NATIVE_BITS / 8);
    // log2 of the words of a beat.
    localparam LG_WORDS = 3 - LG_WORD;
    localparam BEAT_BITS = ADDRESS_BITS - 3;
    localparam [LG_WORDS-1:0] LAST_WORD = {LG_WORDS{1'b1}};
    // log2 of the beats that reads may have under way, and of the words that writes may: more than the controller keeps of
    // commands (four a bank, and one on its way).
    localparam LG_READ = 4;
    localparam LG_WRITE = 5;
    // Beats of one direction before the other one has its turn: the bus between chip and controller is turned round seldom.
    localparam [3:0] TURN = 4'd15;

    // One burst of each direction: beats that are left less one, the beat's address, and which word of it is next.
    reg                 read_reg, write_reg;
    reg [7:0]           read_left_reg, write_left_reg;
    reg [BEAT_BITS-1:0] read_beat_reg, write_beat_reg;
    reg [1:0]           read_id_reg, write_id_reg;
    reg [LG_WORDS-1:0]  word_reg;
    // Whose turn it is, and beats of the turn.
    reg                 writing_reg;
    reg [3:0]           turn_reg;
    // The beat to be written was read, or will be; it has come.
    reg                 fetched_reg, merge_reg;
    reg [63:0]          before_reg;
    // Words of the beat that comes.
    reg [63:0]          gather_reg;

    wire shape_ready, words_ready, answer_ready;
    // A beat of a write. Whether it is taken is known late in a clock, so the device is told in the next one.
    wire [63:0] w_data;
    wire [7:0]  w_strb;
    wire        w_valid;
    wire in_beat = word_reg != {LG_WORDS{1'b0}};
    // A beat is begun when it has its place.
    wire read_may = read_reg && (in_beat || shape_ready);
    wire parts = MASKS == 0 && w_strb != 8'hff;
    wire fetches = parts && !fetched_reg;
    wire write_may = write_reg && w_valid && (fetches || (answer_ready && words_ready && (!parts || merge_reg)));
    wire stays = in_beat || (writing_reg ? write_may && !(read_may && turn_reg == TURN)
                                         : read_may && !(write_may && turn_reg == TURN));
    wire writes = stays ? writing_reg : !writing_reg;
    wire may = writes ? write_may : read_may;
    wire free = !cmd_valid || cmd_ready;
    wire go = may && free;
    wire beat_done = go && word_reg == LAST_WORD;
    wire write_done = beat_done && writes && !fetches;
    wire fetch_done = beat_done && writes && fetches;
    wire fetch_came;
    wire read_done = beat_done && !writes;
    wire [BEAT_BITS-1:0] beat = writes ? write_beat_reg : read_beat_reg;

    assign s_axi_awready = !write_reg;
    assign s_axi_arready = !read_reg;

    always @(posedge clk) begin
        if (go) begin
            cmd_we <= writes && !fetches;
            cmd_addr <= {beat, word_reg};
            word_reg <= word_reg + 1'b1;
            writing_reg <= writes;
        end
        if (free)
            cmd_valid <= may;
        if (go && !stays)
            turn_reg <= 4'd0;
        else if (beat_done && turn_reg != TURN)
            turn_reg <= turn_reg + 4'd1;

        if (s_axi_awready && s_axi_awvalid) begin
            write_reg <= 1'b1;
            write_left_reg <= s_axi_awlen;
            write_beat_reg <= s_axi_awaddr[ADDRESS_BITS-1:3];
            write_id_reg <= s_axi_awid;
        end else if (write_done) begin
            write_reg <= write_left_reg != 8'd0;
            write_left_reg <= write_left_reg - 8'd1;
            write_beat_reg <= write_beat_reg + 1'b1;
        end
        if (s_axi_arready && s_axi_arvalid) begin
            read_reg <= 1'b1;
            read_left_reg <= s_axi_arlen;
            read_beat_reg <= s_axi_araddr[ADDRESS_BITS-1:3];
            read_id_reg <= s_axi_arid;
        end else if (read_done) begin
            read_reg <= read_left_reg != 8'd0;
            read_left_reg <= read_left_reg - 8'd1;
            read_beat_reg <= read_beat_reg + 1'b1;
        end
        if (fetch_done)
            fetched_reg <= 1'b1;
        if (fetch_came) begin
            merge_reg <= 1'b1;
            before_reg <= gather_reg;
        end
        if (write_done) begin
            fetched_reg <= 1'b0;
            merge_reg <= 1'b0;
        end

        if (rst) begin
            cmd_valid <= 1'b0;
            read_reg <= 1'b0;
            write_reg <= 1'b0;
            word_reg <= {LG_WORDS{1'b0}};
            writing_reg <= 1'b0;
            turn_reg <= 4'd0;
            fetched_reg <= 1'b0;
            merge_reg <= 1'b0;
        end
    end

    ferry_skid_buffer #(.WIDTH(72)) taken (
        .clk(clk), .rst(rst), .in_valid(s_axi_wvalid), .in_ready(s_axi_wready), .in_data({s_axi_wstrb, s_axi_wdata}),
        .out_valid(w_valid), .out_ready(write_done), .out_data({w_strb, w_data})
    );

    // --- Writes -----------------------------------------------------------------------------------------------------

    wire [63:0] whole;
    wire [7:0]  mask = MASKS != 0 ? w_strb : 8'hff;
    genvar n;
    generate for (n = 0; n < 8; n = n + 1) begin : g_byte
        assign whole[8 * n +: 8] = MASKS != 0 || w_strb[n] ? w_data[8 * n +: 8] : before_reg[8 * n +: 8];
    end endgenerate

    ferry_fifo #(.WIDTH(NATIVE_BITS + NATIVE_BITS / 8), .LG_DEPTH(LG_WRITE)) words (
        .clk(clk), .rst(rst), .in_valid(go && writes && !fetches), .in_ready(words_ready),
        .in_data({mask[word_reg * (NATIVE_BITS / 8) +: NATIVE_BITS / 8], whole[word_reg * NATIVE_BITS +: NATIVE_BITS]}),
        .out_valid(wdata_valid), .out_ready(wdata_ready), .out_data({wdata_we, wdata_data})
    );

    // The last command is in the controller's order, or is the next to be: what is asked for behind it sees it.
    ferry_fifo #(.WIDTH(2), .LG_DEPTH(2)) answers (
        .clk(clk), .rst(rst), .in_valid(write_done && write_left_reg == 8'd0), .in_ready(answer_ready), .in_data(write_id_reg),
        .out_valid(s_axi_bvalid), .out_ready(s_axi_bready), .out_data(s_axi_bid)
    );

    // --- Reads ------------------------------------------------------------------------------------------------------

    reg [LG_WORDS-1:0] gathered_reg;
    reg                whole_reg;
    // A beat that comes was asked for, and a beat that was asked for has its place: a shape is there until the device has taken it.
    wire               unused_shape, unused_room;

    always @(posedge clk) begin
        whole_reg <= rdata_valid && gathered_reg == LAST_WORD;
        if (rdata_valid) begin
            gather_reg <= {rdata_data, gather_reg[63:NATIVE_BITS]};
            gathered_reg <= gathered_reg + 1'b1;
        end
        if (rst) begin
            gathered_reg <= {LG_WORDS{1'b0}};
            whole_reg <= 1'b0;
        end
    end

    // Whose a beat is that comes: beats for the device and at most one for a write, in the order in which they were asked for.
    generate if (MASKS == 0) begin : g_kinds
        wire kind;
        wire [1:0] unused_kind;
        ferry_fifo #(.WIDTH(1), .LG_DEPTH(LG_READ + 1)) kinds (
            .clk(clk), .rst(rst), .in_valid(read_done || fetch_done), .in_ready(unused_kind[0]), .in_data(fetch_done),
            .out_valid(unused_kind[1]), .out_ready(whole_reg), .out_data(kind)
        );
        assign fetch_came = whole_reg && kind;
        wire unused = &{1'b0, unused_kind};
    end else begin : g_no_kinds
        assign fetch_came = 1'b0;
    end endgenerate

    ferry_fifo #(.WIDTH(3), .LG_DEPTH(LG_READ)) shapes (
        .clk(clk), .rst(rst), .in_valid(read_done), .in_ready(shape_ready), .in_data({read_left_reg == 8'd0, read_id_reg}),
        .out_valid(unused_shape), .out_ready(s_axi_rvalid && s_axi_rready), .out_data({s_axi_rlast, s_axi_rid})
    );

    ferry_fifo #(.WIDTH(64), .LG_DEPTH(LG_READ)) beats (
        .clk(clk), .rst(rst), .in_valid(whole_reg && !fetch_came), .in_ready(unused_room), .in_data(gather_reg),
        .out_valid(s_axi_rvalid), .out_ready(s_axi_rready), .out_data(s_axi_rdata)
    );

    // Every burst begins with a whole beat.
    wire unused = &{1'b0, unused_shape, unused_room, s_axi_awaddr[2:0], s_axi_araddr[2:0]};
endmodule

`default_nettype wire
