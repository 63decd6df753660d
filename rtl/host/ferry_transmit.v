// SPDX-License-Identifier: Apache-2.0
// Puts the three sources of packets on the one transmit stream, whole packets at a time and without idle beats between
// them. Completions go first (the host waits for them, and they are rare); posted writes and read requests take turns.
// What a source has handed over here leaves in that order, so posted order is kept and a completion never overtakes a
// write that was accepted before it.
`default_nettype none

module ferry_transmit (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Sources, each {upper word counts, last beat of the packet, two words}: completions, posted writes, read
    // requests. A packet that has begun has a beat in every cycle.
    input  wire [65:0] completion_beat,
    input  wire        completion_valid,
    output wire        completion_ready,
    input  wire [65:0] posted_beat,
    input  wire        posted_valid,
    output wire        posted_ready,
    input  wire [65:0] read_beat,
    input  wire        read_valid,
    output wire        read_ready,

    // Packet stream to the host.
    output wire [63:0] m_axis_tlp_tdata,
    output wire [1:0]  m_axis_tlp_tkeep,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,

    // One-cycle strobes for the counters.
    output wire        count_sent,
    output wire        count_beat,
    output wire        count_stall
);
    // Source of the packet that has begun; none between packets.
    reg [2:0]  grant_reg;
    // The last of posted writes and read requests that was served was a read request.
    reg        read_last_reg;
    reg        valid_reg;
    reg [65:0] beat_reg;

    wire [2:0] pick = completion_valid ? 3'b001 :
                      posted_valid && (read_last_reg || !read_valid) ? 3'b010 :
                      {read_valid, 2'b00};
    wire [2:0] grant = grant_reg != 3'd0 ? grant_reg : pick;
    wire       space = !valid_reg || m_axis_tlp_tready;
    wire [65:0] beat = grant[0] ? completion_beat : grant[1] ? posted_beat : read_beat;
    wire       some = grant != 3'd0;

    assign completion_ready = space && grant[0];
    assign posted_ready = space && grant[1];
    assign read_ready = space && grant[2];
    assign m_axis_tlp_tdata = beat_reg[63:0];
    assign m_axis_tlp_tlast = beat_reg[64];
    assign m_axis_tlp_tkeep = {beat_reg[65], 1'b1};
    assign m_axis_tlp_tvalid = valid_reg;
    assign count_beat = valid_reg && m_axis_tlp_tready;
    assign count_sent = count_beat && beat_reg[64];
    assign count_stall = valid_reg && !m_axis_tlp_tready;

    always @(posedge clk) begin
        if (space) begin
            valid_reg <= some;
            beat_reg <= beat;
            if (some) begin
                grant_reg <= beat[64] ? 3'd0 : grant;
                read_last_reg <= grant[2] || (read_last_reg && !grant[1]);
            end
        end
        if (rst) begin
            grant_reg <= 3'd0;
            read_last_reg <= 1'b0;
            valid_reg <= 1'b0;
        end
    end
endmodule

`default_nettype wire
