// SPDX-License-Identifier: Apache-2.0
// Changes a run of aperture table entries: to the host pages of a list in command RAM (map), or all to one dummy page
// (unmap). One entry a cycle, while lookups go on.
`default_nettype none
`include "ferry_contract.vh"

module ferry_aperture_update (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A change is offered; taken when update_ready is 1 too, and sampled then.
    input  wire         update_valid,
    output wire         update_ready,
    input  wire [`FERRY_UPDATE_BITS-1:0] update,
    // 1 from the cycle after a change is taken until its last entry is written.
    output wire         update_busy,

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
    wire [31:0] update_first = update[`FERRY_UPDATE_FIRST_RANGE];
    wire [31:0] update_count = update[`FERRY_UPDATE_COUNT_RANGE];
    wire [15:0] update_list = update[`FERRY_UPDATE_LIST_RANGE];
    wire        update_unmap = update[`FERRY_UPDATE_UNMAP_RANGE];
    wire        update_snoop = update[`FERRY_UPDATE_SNOOP_RANGE];
    wire [63:0] update_dummy = update[`FERRY_UPDATE_DUMMY_RANGE];

    reg         busy_reg;
    reg         unmap_reg;
    reg         snoop_reg;
    reg [31:0]  page_reg;
    reg [51:12] dummy_reg;
    // Entries to ask for and entries to write.
    reg [31:0]  asks_reg;
    reg [31:0]  writes_reg;
    reg [15:0]  list_reg;
    // List entries asked for and not yet written: the buffer below takes four.
    reg [2:0]   ahead_reg;

    wire        have;
    wire        room;
    wire [51:12] listed;
    wire        list_take = list_valid && list_ready;
    wire        write_take = write_valid && write_ready;

    ferry_fifo #(.WIDTH(40), .LG_DEPTH(2)) entries (
        .clk(clk), .rst(rst), .in_valid(list_data_valid), .in_ready(room), .in_data(list_data[51:12]),
        .out_valid(have), .out_ready(write_take && !unmap_reg), .out_data(listed)
    );
    wire unused = &{room, list_data[63:52], list_data[11:0], update_dummy[63:52], update_dummy[11:0], 1'b0};

    assign update_ready = !busy_reg;
    assign update_busy = busy_reg;
    assign list_valid = busy_reg && !unmap_reg && asks_reg != 0 && !ahead_reg[2];
    assign list_address = list_reg;
    assign write_valid = busy_reg && writes_reg != 0 && (unmap_reg || have);
    assign write_page = page_reg;
    assign write_entry[`FERRY_TRANSLATION_HIT_RANGE] = 1'b1;
    assign write_entry[`FERRY_TRANSLATION_SNOOP_RANGE] = snoop_reg;
    assign write_entry[`FERRY_TRANSLATION_PAGE_RANGE] = unmap_reg ? dummy_reg : listed;

    always @(posedge clk) begin
        if (update_valid && update_ready) begin
            busy_reg <= update_count != 0;
            unmap_reg <= update_unmap;
            snoop_reg <= update_snoop;
            page_reg <= update_first;
            dummy_reg <= update_dummy[51:12];
            asks_reg <= update_count;
            writes_reg <= update_count;
            list_reg <= update_list;
        end
        if (list_take) begin
            list_reg <= list_reg + 16'd8;
            asks_reg <= asks_reg - 32'd1;
        end
        ahead_reg <= ahead_reg + {2'd0, list_take} - {2'd0, write_take && !unmap_reg};
        if (write_take) begin
            page_reg <= page_reg + 32'd1;
            writes_reg <= writes_reg - 32'd1;
            busy_reg <= writes_reg != 32'd1;
        end
        if (rst) begin
            busy_reg <= 1'b0;
            ahead_reg <= 3'd0;
        end
    end
endmodule

`default_nettype wire
