// SPDX-License-Identifier: Apache-2.0
// Changes a run of aperture table entries: to the host pages of a list in command RAM (map), or all to one dummy page
// (unmap). One entry a cycle, while lookups go on. Each entry of the list is checked as it is read: at one with a bit
// that no page's address has the change stops, and `fault` tells which it was.
`default_nettype none
`include "ferry_contract.vh"

module ferry_aperture_update #(
    // Pages of the table, a power of two.
    parameter PAGES = 4096
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A change is offered; taken when update_ready is 1 too, and sampled then.
    input  wire         update_valid,
    output wire         update_ready,
    input  wire [`FERRY_UPDATE_BITS-1:0] update,
    // 1 from the cycle after a change is taken until its last entry is written or it has stopped.
    output wire         update_busy,
    // Whether and where the latest change stopped: from its end until the next one is taken.
    output wire [`FERRY_UPDATE_FAULT_BITS-1:0] fault,

    // Command RAM, 64 bits wide; data in order, 1 or more cycles after the request.
    output wire         list_valid,
    input  wire         list_ready,
    output wire [15:0]  list_address,
    input  wire         list_data_valid,
    input  wire [63:0]  list_data,

    // Entry write port of ferry_aperture_table.
    output wire         write_valid,
    input  wire         write_ready,
    output wire [31:0]  write_page,
    output wire [`FERRY_TRANSLATION_BITS-1:0] write_entry
);
    localparam LG = $clog2(PAGES);
    localparam [LG:0] ONE = 1;

    wire [31:0] update_first = update[`FERRY_UPDATE_FIRST_RANGE];
    wire [31:0] update_count = update[`FERRY_UPDATE_COUNT_RANGE];
    wire [15:0] update_list = update[`FERRY_UPDATE_LIST_RANGE];
    wire        update_unmap = update[`FERRY_UPDATE_UNMAP_RANGE];
    wire        update_snoop = update[`FERRY_UPDATE_SNOOP_RANGE];
    wire [63:0] update_dummy = update[`FERRY_UPDATE_DUMMY_RANGE];

    reg         busy_reg;
    reg         unmap_reg;
    reg         snoop_reg;
    // A page of the table, or one beyond it once the last was passed: the table takes no notice of that.
    reg [LG:0]  page_reg;
    // Entries to ask for, or pages to point at the dummy page.
    reg [LG:0]  left_reg;
    reg [15:0]  list_reg;
    // List entries asked for and not yet written: the buffer below takes four.
    reg [2:0]   ahead_reg;

    // Pages changed, which is the index of the entry at hand; that entry is bad, and what it is. Of an unmap, the dummy page.
    reg [12:0]  index_reg;
    reg         fault_reg;
    reg [63:0]  bad_reg;
    reg         caught_reg;

    // Only bits 51 to 12 make a page's address, here as everywhere ([51:12]).
    localparam [63:0] PAGE_BITS = {12'd0, {(51 - 12 + 1){1'b1}}, 12'd0};
    function sound(input [63:0] entry);
        sound = (entry & ~PAGE_BITS) == 64'd0;
    endfunction

    wire        have;
    wire        room;
    wire        listed_sound;
    wire [51:12] listed;
    wire        list_take = list_valid && list_ready;
    wire        write_take = write_valid && write_ready;
    wire        stop = have && !listed_sound && !fault_reg;
    // After a bad entry those that were asked for behind it are thrown away.
    wire        entry_take = (write_take && !unmap_reg) || stop || (have && fault_reg);
    wire        start = update_valid && update_ready;
    wire        more = |left_reg;
    wire        start_bad = update_unmap && !sound(update_dummy);

    ferry_fifo #(.WIDTH(41), .LG_DEPTH(2)) entries (
        .clk(clk), .rst(rst), .in_valid(list_data_valid), .in_ready(room),
        .in_data({sound(list_data), list_data[51:12]}), .out_valid(have), .out_ready(entry_take),
        .out_data({listed_sound, listed})
    );
    wire unused = &{room, 1'b0};

    assign fault[`FERRY_UPDATE_FAULT_VALID_RANGE] = fault_reg;
    assign fault[`FERRY_UPDATE_FAULT_INDEX_RANGE] = index_reg;
    assign fault[`FERRY_UPDATE_FAULT_ENTRY_RANGE] = bad_reg;

    assign update_ready = !busy_reg;
    assign update_busy = busy_reg;
    assign list_valid = busy_reg && !unmap_reg && more && !ahead_reg[2];
    assign list_address = list_reg;
    assign write_valid = busy_reg && !fault_reg && (unmap_reg ? more : have && listed_sound);
    assign write_page = {{31-LG{1'b0}}, page_reg};
    assign write_entry[`FERRY_TRANSLATION_HIT_RANGE] = 1'b1;
    assign write_entry[`FERRY_TRANSLATION_SNOOP_RANGE] = snoop_reg;
    assign write_entry[`FERRY_TRANSLATION_PAGE_RANGE] = unmap_reg ? bad_reg[51:12] : listed;

    always @(posedge clk) begin
        // The first bad entry to come is the first to be met: they come in order.
        if (start || (list_data_valid && !sound(list_data) && !caught_reg)) begin
            bad_reg <= start ? update_dummy : list_data;
            caught_reg <= !start;
        end
        if (start) begin
            busy_reg <= update_count != 0 && !start_bad;
            fault_reg <= update_count != 0 && start_bad;
            index_reg <= 13'd0;
            unmap_reg <= update_unmap;
            snoop_reg <= update_snoop;
            page_reg <= {|update_first[31:LG], update_first[LG-1:0]};
            // More than the table has stands for any number that is.
            left_reg <= update_count[LG:0] | {LG+1{|update_count[31:LG+1]}};
            list_reg <= update_list;
        end
        if (list_take) begin
            list_reg <= list_reg + 16'd8;
        end
        if (list_take || (write_take && unmap_reg)) begin
            left_reg <= left_reg - ONE;
        end
        ahead_reg <= ahead_reg + {2'd0, list_take} - {2'd0, entry_take};
        if (stop) begin
            fault_reg <= 1'b1;
        end
        if (busy_reg && fault_reg) begin
            // A request that stands is not withdrawn.
            left_reg <= {{LG{1'b0}}, list_valid && !list_ready};
        end
        if (busy_reg && !more && ahead_reg == 3'd0) begin
            busy_reg <= 1'b0;
        end
        if (write_take) begin
            index_reg <= index_reg + 13'd1;
            page_reg <= {page_reg[LG] || &page_reg[LG-1:0], page_reg[LG-1:0] + ONE[LG-1:0]};
        end
        if (rst) begin
            busy_reg <= 1'b0;
            fault_reg <= 1'b0;
            caught_reg <= 1'b0;
            ahead_reg <= 3'd0;
        end
    end
endmodule

`default_nettype wire
