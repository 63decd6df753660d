// SPDX-License-Identifier: Apache-2.0
// Stands between the window and local memory, and answers in memory's place when memory does not: behind an access of BAR2
// stand register accesses and configuration requests, and no reset could be asked for. After 2^LG_PATIENCE cycles in which
// memory owes something and nothing moves it is given up on (`lost`). The window then has an error at once for all that it
// waits for and asks; memory is still shown what it was offered, gets its beats, with no byte enabled where there are no
// others, and what it answers counts for nobody. Lost ends when neither side owes the other anything.
`default_nettype none

module ferry_lost_window #(
    // log2 of the bytes of local memory.
    parameter LOCAL_ADDRESS_BITS = 26,
    // log2 of the cycles without any movement after which memory is given up on.
    parameter LG_PATIENCE = 16
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // From ferry_window: AXI4, address and length shared by both address channels. One read and one write at a time, up to
    // 7 writes without an answer; beats of a write come behind its address, and answers are always taken.
    input  wire [LOCAL_ADDRESS_BITS-1:0] s_axi_address,
    input  wire [7:0]                    s_axi_length,
    input  wire                          s_axi_arvalid,
    output wire                          s_axi_arready,
    output wire [63:0]                   s_axi_rdata,
    output wire [1:0]                    s_axi_rresp,
    output wire                          s_axi_rlast,
    output wire                          s_axi_rvalid,
    input  wire                          s_axi_awvalid,
    output wire                          s_axi_awready,
    input  wire [63:0]                   s_axi_wdata,
    input  wire [7:0]                    s_axi_wstrb,
    input  wire                          s_axi_wlast,
    input  wire                          s_axi_wvalid,
    output wire                          s_axi_wready,
    output wire [1:0]                    s_axi_bresp,
    output wire                          s_axi_bvalid,

    // To memory: AXI4, out of flip-flops; answers are always taken.
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_address,
    output wire [7:0]                    m_axi_length,
    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    input  wire [63:0]                   m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [63:0]                   m_axi_wdata,
    output wire [7:0]                    m_axi_wstrb,
    output wire                          m_axi_wlast,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    input  wire [1:0]                    m_axi_bresp,
    input  wire                          m_axi_bvalid
);
    localparam [1:0] ERROR = 2'b10;

    // What memory is offered.
    reg [LOCAL_ADDRESS_BITS-1:0] address_reg;
    reg [7:0]  length_reg;
    reg        read_valid_reg;
    reg        write_valid_reg;
    reg        beat_valid_reg;
    reg [63:0] data_reg;
    reg [7:0]  strobe_reg;
    // What memory is owed: beats of the write at hand. What it owes: answers to writes, the end of a read.
    reg [8:0]  beats_reg;
    reg [2:0]  memory_writes_reg;
    reg        memory_read_reg;
    // What the window waits for: answers to writes, beats of a read; it is in the middle of a write's beats.
    reg [2:0]  window_writes_reg;
    reg [8:0]  window_beats_reg;
    reg        middle_reg;

    reg        lost_reg;
    reg [LG_PATIENCE-1:0] still_reg;

    wire address_waits = read_valid_reg || write_valid_reg;
    wire memory_owes = address_waits || beats_reg != 9'd0 || memory_writes_reg != 3'd0 || memory_read_reg;
    wire window_waits = window_writes_reg != 3'd0 || window_beats_reg != 9'd0 || middle_reg;
    // Nothing is taken in the last cycle, so that all of an access belongs to one side of it.
    wire found = lost_reg && !memory_owes && !window_waits;

    wire s_ar = s_axi_arvalid && s_axi_arready;
    wire s_aw = s_axi_awvalid && s_axi_awready;
    wire s_w = s_axi_wvalid && s_axi_wready;
    wire m_ar = m_axi_arvalid && m_axi_arready;
    wire m_aw = m_axi_awvalid && m_axi_awready;
    wire m_w = m_axi_wvalid && m_axi_wready;
    wire moves = m_ar || m_aw || m_w || m_axi_rvalid || m_axi_bvalid || s_w;
    // A write whose beats the window has not all given is the window's to go on with.
    wire stands = memory_owes && !moves && !(middle_reg && !beat_valid_reg && !address_waits && !s_axi_wvalid);
    wire late = stands && still_reg == {LG_PATIENCE{1'b1}};

    assign s_axi_arready = lost_reg ? !found : !address_waits;
    assign s_axi_awready = lost_reg ? !found : !address_waits && beats_reg == 9'd0;
    assign s_axi_wready = lost_reg || !beat_valid_reg || m_w;
    assign s_axi_rdata = m_axi_rdata;
    assign s_axi_rresp = lost_reg ? ERROR : m_axi_rresp;
    assign s_axi_rvalid = lost_reg ? window_beats_reg != 9'd0 : m_axi_rvalid;
    assign s_axi_rlast = window_beats_reg == 9'd1;
    assign s_axi_bresp = lost_reg ? ERROR : m_axi_bresp;
    assign s_axi_bvalid = lost_reg ? window_writes_reg != {2'd0, middle_reg} : m_axi_bvalid;

    assign m_axi_address = address_reg;
    assign m_axi_length = length_reg;
    assign m_axi_arvalid = read_valid_reg;
    assign m_axi_awvalid = write_valid_reg;
    assign m_axi_wdata = data_reg;
    assign m_axi_wstrb = strobe_reg;
    assign m_axi_wlast = beats_reg == 9'd1;
    // Memory may wait for data before it takes the address (AXI4 A3.3.1).
    assign m_axi_wvalid = beat_valid_reg;

    wire [8:0] beats = {1'b0, s_axi_length} + 9'd1;
    wire [8:0] beats_left = beats_reg - {8'd0, m_w};

    always @(posedge clk) begin
        // Addresses.
        if (m_ar)
            read_valid_reg <= 1'b0;
        if (m_aw)
            write_valid_reg <= 1'b0;
        if ((s_ar || s_aw) && !lost_reg) begin
            address_reg <= s_axi_address;
            length_reg <= s_axi_length;
            read_valid_reg <= s_ar;
            write_valid_reg <= s_aw;
        end

        // Beats of a write.
        beats_reg <= s_aw && !lost_reg ? beats : beats_left;
        if (!beat_valid_reg || m_w) begin
            beat_valid_reg <= lost_reg ? beats_left != 9'd0 : s_w;
            data_reg <= s_axi_wdata;
            strobe_reg <= lost_reg ? 8'd0 : s_axi_wstrb;
        end

        // What is owed.
        memory_writes_reg <= memory_writes_reg + {2'd0, s_aw && !lost_reg} - {2'd0, m_axi_bvalid};
        memory_read_reg <= (memory_read_reg && !(m_axi_rvalid && m_axi_rlast)) || (s_ar && !lost_reg);
        window_writes_reg <= window_writes_reg + {2'd0, s_aw} - {2'd0, s_axi_bvalid};
        window_beats_reg <= s_ar ? beats : window_beats_reg - {8'd0, s_axi_rvalid};
        middle_reg <= (middle_reg && !(s_w && s_axi_wlast)) || s_aw;

        still_reg <= stands ? still_reg + 1'b1 : {LG_PATIENCE{1'b0}};
        lost_reg <= (lost_reg || late) && !found;
        if (rst) begin
            read_valid_reg <= 1'b0;
            write_valid_reg <= 1'b0;
            beat_valid_reg <= 1'b0;
            beats_reg <= 9'd0;
            memory_writes_reg <= 3'd0;
            memory_read_reg <= 1'b0;
            window_writes_reg <= 3'd0;
            window_beats_reg <= 9'd0;
            middle_reg <= 1'b0;
            lost_reg <= 1'b0;
            still_reg <= {LG_PATIENCE{1'b0}};
        end
    end

`ifdef FORMAL
`include "ferry_lost_window_properties.vh"
`endif
endmodule

`default_nettype wire
