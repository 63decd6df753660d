// SPDX-License-Identifier: Apache-2.0
// Cuts [offset, offset + bytes) into AXI4 bursts of 8-byte beats, each inside one block of 2^LG_BLOCK bytes and hence
// inside one 4 KiB page. One burst a step; the next one is shown the cycle after.
`default_nettype none

module ferry_burst_cutter #(
    // log2 of the block that no burst leaves; 4 to 11, so that a burst has at most 256 beats.
    parameter LG_BLOCK = 9
) (
    // Clock. No reset: load starts it.
    input  wire clk,
    // Take a new range: byte offset in its first page, number of bytes, at least 1.
    input  wire        load,
    input  wire [11:0] load_offset,
    input  wire [31:0] load_bytes,
    // The burst shown is taken.
    input  wire        step,
    // Offset of the burst in its page.
    output wire [11:0] offset,
    // Bytes and beats of the burst.
    output wire [LG_BLOCK:0]   bytes,
    output wire [LG_BLOCK-3:0] beats,
    // It is the range's last burst.
    output wire        last,
    // The next burst begins a new page.
    output wire        page_end,
    // The range goes on into a next page.
    output wire        next_page
`ifdef FORMAL
    ,
    // Bytes of the range from this burst on, for proofs.
    output wire [31:0] formal_left
`endif
);
    reg [11:0] offset_reg;
    reg [31:0] left_reg;

    // Bytes to the end of the block.
    wire [LG_BLOCK:0] room = {1'b1, {LG_BLOCK{1'b0}}} - {1'b0, offset_reg[LG_BLOCK-1:0]};
    wire [LG_BLOCK:0] end_lane = {{(LG_BLOCK-2){1'b0}}, offset_reg[2:0]} + bytes + {{(LG_BLOCK-2){1'b0}}, 3'd7};
    wire unused = &{end_lane[2:0], 1'b0};
    // 4096 + 4095 is the most that decides: above, another page follows anyway.
    wire [13:0] reach = {1'b0, left_reg[12:0]} + {2'b0, offset_reg};

    assign offset = offset_reg;
    assign last = left_reg[31:LG_BLOCK+1] == 0 && left_reg[LG_BLOCK:0] <= room;
    assign bytes = last ? left_reg[LG_BLOCK:0] : room;
    assign beats = end_lane[LG_BLOCK:3];
    assign page_end = &offset_reg[11:LG_BLOCK];
    assign next_page = left_reg[31:13] != 0 || reach > 14'd4096;

    always @(posedge clk) begin
        if (step) begin
            offset_reg <= {offset_reg[11:LG_BLOCK] + 1'b1, {LG_BLOCK{1'b0}}};
            left_reg <= left_reg - {{(31-LG_BLOCK){1'b0}}, room};
        end
        if (load) begin
            offset_reg <= load_offset;
            left_reg <= load_bytes;
        end
    end

`ifdef FORMAL
    assign formal_left = left_reg;
    reg past_valid = 1'b0;
    reg loaded = 1'b0;
    reg finished = 1'b0;
    // Where the range began and ends, and the bytes handed out, counted apart.
    reg [32:0] end_at = 0;
    reg [32:0] at = 0;
    wire [LG_BLOCK:0] in_block = {1'b0, offset[LG_BLOCK-1:0]} + bytes;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (step) begin
            at <= at + bytes;
            finished <= last;
        end
        if (load) begin
            loaded <= 1'b1;
            finished <= 1'b0;
            at <= load_offset;
            end_at <= load_offset + {1'b0, load_bytes};
        end
        cover (loaded && !finished && last && at > 5000);
    end
    always @(*) begin
        assume (!load || load_bytes != 0);
        assume (!step || (loaded && !finished));
        if (loaded && !finished) begin
            // Covers the range exactly: each burst begins where the one before ended, the last ends at the end.
            assert (offset == at[11:0]);
            assert (at + left_reg == end_at && left_reg != 0);
            assert (last == (at + bytes == end_at));
            assert (bytes != 0);
            // Never leaves a block, hence never a page; the beats are those that hold the bytes.
            assert (in_block <= (1 << LG_BLOCK));
            assert (beats == ((offset[2:0] + bytes + 7) >> 3));
            assert (beats != 0 && beats <= (1 << (LG_BLOCK - 3)));
            assert (next_page == (at[11:0] + left_reg > 33'd4096));
        end
    end
`endif
endmodule

`default_nettype wire
