// SPDX-License-Identifier: Apache-2.0
// Changes of the aperture table, from reset on: entries go to the pages from the first one on, each once and in order, the
// words of the list in theirs, as many as were asked for and none behind a bad one; what is offered to command RAM and to the table
// stays until it is taken.
`default_nettype none
`include "ferry_contract.vh"

module update_ports (
    // Clock, and synchronous reset, active high.
    input  wire        clk,
    input  wire        rst,
    // What the core, command RAM and the table do.
    input  wire        update_valid,
    input  wire [1:0]  count,
    input  wire        unmap,
    input  wire        list_ready,
    input  wire        list_data_valid,
    input  wire [1:0]  list_word,
    input  wire        write_ready
);
    wire [`FERRY_UPDATE_BITS-1:0] update;
    wire        update_ready, update_busy, list_valid, write_valid;
    wire [15:0] list_address;
    wire [31:0] write_page;
    wire [`FERRY_TRANSLATION_BITS-1:0] write_entry;
    wire [`FERRY_UPDATE_FAULT_BITS-1:0] fault;
    assign update[`FERRY_UPDATE_FIRST_RANGE] = 32'd0;
    assign update[`FERRY_UPDATE_COUNT_RANGE] = {30'd0, count};
    assign update[`FERRY_UPDATE_LIST_RANGE] = 16'd0;
    assign update[`FERRY_UPDATE_UNMAP_RANGE] = unmap;
    assign update[`FERRY_UPDATE_SNOOP_RANGE] = 1'b0;
    assign update[`FERRY_UPDATE_DUMMY_RANGE] = 64'h3000;

    // A word is a page's number, or bad.
    wire        bad_word = list_word == 2'd3;
    ferry_aperture_update #(.PAGES(4)) part (
        .clk(clk), .rst(rst), .update_valid(update_valid), .update_ready(update_ready), .update(update),
        .update_busy(update_busy), .fault(fault), .list_valid(list_valid), .list_ready(list_ready), .list_address(list_address),
        .list_data_valid(list_data_valid), .list_data({50'd0, list_word, 11'd0, bad_word}), .write_valid(write_valid),
        .write_ready(write_ready), .write_page(write_page), .write_entry(write_entry)
    );

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    // Of the present change: asked for, answered, written; its words.
    reg [2:0] asked = 3'd0;
    reg [2:0] came = 3'd0;
    reg [2:0] wrote = 3'd0;
    reg [7:0] words = 8'd0;
    reg [1:0] wanted = 2'd0;
    reg       unmaps = 1'b0;
    reg       spoilt = 1'b0;
    wire      write = write_valid && write_ready;
    wire [1:0] word = words[2*wrote[1:0] +: 2];
    always @(posedge clk) if (!rst) begin
        if (list_valid && list_ready) asked <= asked + 3'd1;
        if (list_data_valid) begin
            came <= came + 3'd1;
            words[2*came[1:0] +: 2] <= list_word;
            spoilt <= spoilt || bad_word;
        end
        if (write) wrote <= wrote + 3'd1;
        if (update_valid && update_ready) begin
            {asked, came, wrote} <= 9'd0;
            wanted <= count;
            unmaps <= unmap;
            spoilt <= 1'b0;
        end
    end
    always @(*) begin
        assume (!list_data_valid || came != asked);
        if (past_valid) begin
            assert (!(list_valid && list_ready) || (update_busy && !unmaps && asked < {1'b0, wanted}
                && list_address == {10'd0, asked, 3'd0}));
            if (write) begin
                assert (update_busy && wrote < {1'b0, wanted} && write_page == {29'd0, wrote});
                assert (unmaps || (wrote < came && word != 2'd3));
                assert (write_entry[`FERRY_TRANSLATION_PAGE_RANGE] == (unmaps ? 40'd3 : {38'd0, word}));
            end
            // At its end all are written, but for what stands behind a bad word.
            assert (update_busy || asked == came);
            assert (update_busy || wrote == {1'b0, wanted} || spoilt);
        end
    end
    valid_ready_properties #(.WIDTH(16)) list_port (
        .clk(clk), .rst(rst), .valid(list_valid), .ready(list_ready), .data(list_address)
    );
    valid_ready_properties #(.WIDTH(32 + `FERRY_TRANSLATION_BITS)) write_port (
        .clk(clk), .rst(rst), .valid(write_valid), .ready(write_ready), .data({write_page, write_entry})
    );
    always @(posedge clk) begin
        cover (past_valid && !update_busy && wrote == 3'd3 && !unmaps);
        cover (past_valid && !update_busy && spoilt && wrote == 3'd1);
    end
    wire unused = &{1'b0, fault};
endmodule

`default_nettype wire
