// SPDX-License-Identifier: Apache-2.0
// Video memory of block RAM, for a board without a memory chip that its tools can drive: AXI4 as ferry_device speaks it,
// INCR bursts of 8-byte beats inside 4 KiB. A beat each clock both ways, the first data two clocks after their address.
`default_nettype none

module ferry_block_memory #(
    // log2 of its bytes.
    parameter ADDRESS_BITS = 20
) (
    // Clock and synchronous reset; the content stays.
    input  wire                    clk,
    input  wire                    rst,

    input  wire [1:0]              s_axi_awid,
    input  wire [ADDRESS_BITS-1:0] s_axi_awaddr,
    input  wire                    s_axi_awvalid,
    output wire                    s_axi_awready,
    input  wire [63:0]             s_axi_wdata,
    input  wire [7:0]              s_axi_wstrb,
    input  wire                    s_axi_wlast,
    input  wire                    s_axi_wvalid,
    output wire                    s_axi_wready,
    output reg  [1:0]              s_axi_bid,
    output wire                    s_axi_bvalid,
    input  wire                    s_axi_bready,
    input  wire [1:0]              s_axi_arid,
    input  wire [ADDRESS_BITS-1:0] s_axi_araddr,
    input  wire [7:0]              s_axi_arlen,
    input  wire                    s_axi_arvalid,
    output wire                    s_axi_arready,
    output reg  [1:0]              s_axi_rid,
    output reg  [63:0]             s_axi_rdata,
    output reg                     s_axi_rlast,
    output wire                    s_axi_rvalid,
    input  wire                    s_axi_rready
);
    localparam WORD_BITS = ADDRESS_BITS - 3;

    reg [63:0] words [0:(1 << WORD_BITS)-1];
    integer    i;

    // A burst under way each way; the answer to a write; the data of a read that wait to be taken.
    reg                 writes_reg, answers_reg, reads_reg, shows_reg;
    reg [WORD_BITS-1:0] write_word_reg, read_word_reg;
    reg [7:0]           left_reg;
    reg [1:0]           read_id_reg;

    wire write_goes = s_axi_wvalid && s_axi_wready;
    // The place where data wait is free, or gets free now.
    wire read_goes = reads_reg && (!shows_reg || s_axi_rready);

    assign s_axi_awready = !writes_reg && !answers_reg;
    assign s_axi_wready = writes_reg;
    assign s_axi_bvalid = answers_reg;
    assign s_axi_arready = !reads_reg || (read_goes && left_reg == 8'd0);
    assign s_axi_rvalid = shows_reg;

    always @(posedge clk) begin
        for (i = 0; i < 8; i = i + 1)
            if (write_goes && s_axi_wstrb[i])
                words[write_word_reg][8*i +: 8] <= s_axi_wdata[8*i +: 8];
        if (read_goes)
            s_axi_rdata <= words[read_word_reg];
    end

    always @(posedge clk) begin
        if (s_axi_awvalid && s_axi_awready) begin
            writes_reg <= 1'b1;
            s_axi_bid <= s_axi_awid;
            write_word_reg <= s_axi_awaddr[ADDRESS_BITS-1:3];
        end
        if (write_goes) begin
            write_word_reg <= write_word_reg + 1'b1;
            writes_reg <= !s_axi_wlast;
            answers_reg <= s_axi_wlast;
        end
        if (s_axi_bvalid && s_axi_bready)
            answers_reg <= 1'b0;
        if (s_axi_rvalid && s_axi_rready)
            shows_reg <= 1'b0;
        if (read_goes) begin
            shows_reg <= 1'b1;
            s_axi_rid <= read_id_reg;
            s_axi_rlast <= left_reg == 8'd0;
            read_word_reg <= read_word_reg + 1'b1;
            left_reg <= left_reg - 8'd1;
            reads_reg <= left_reg != 8'd0;
        end
        if (s_axi_arvalid && s_axi_arready) begin
            reads_reg <= 1'b1;
            read_id_reg <= s_axi_arid;
            read_word_reg <= s_axi_araddr[ADDRESS_BITS-1:3];
            left_reg <= s_axi_arlen;
        end
        if (rst) begin
            writes_reg <= 1'b0;
            answers_reg <= 1'b0;
            reads_reg <= 1'b0;
            shows_reg <= 1'b0;
            // Known from the start, for simulators that tell unknown from 0.
            s_axi_bid <= 2'd0;
            s_axi_rid <= 2'd0;
        end
    end

    wire unused = &{1'b0, s_axi_awaddr[2:0], s_axi_araddr[2:0]};
endmodule

`default_nettype wire
