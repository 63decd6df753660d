// SPDX-License-Identifier: Apache-2.0
// Takes the host's answers while video memory was given up on. The engine may be unable to take them then: its data FIFO
// is full of words for writes that memory owes it. But the host's read channel is shared, and a fetch behind such answers
// would wait with them until memory comes back. Nothing of what the engine holds is wanted any more, so answers are only
// counted, and the engine gets as many later, as errors.
`include "ferry_contract.vh"
`default_nettype none

module ferry_lost_reads #(
    // log2 of the beats that may be outstanding at most, plus 1.
    parameter LG_BEATS = 12
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Memory was given up on. It falls only when the engine has nothing outstanding, and no read begins meanwhile.
    input  wire        lost,

    // AXI4 read data from the host: taken at once while lost.
    input  wire [`FERRY_AXI_R_BITS-1:0] s_axi_r,
    input  wire        s_axi_rvalid,
    output wire        s_axi_rready,

    // To the engine. RLAST is not looked at there: it counts the beats that it asked for.
    output reg  [`FERRY_AXI_R_BITS-1:0] m_axi_r,
    output wire        m_axi_rvalid,
    input  wire        m_axi_rready
);
    // Beats that were taken and are still to be given.
    reg [LG_BEATS-1:0] kept_reg;
    wire kept = kept_reg != {LG_BEATS{1'b0}};
    wire take = s_axi_rvalid && s_axi_rready;
    wire give = m_axi_rvalid && m_axi_rready;

    assign s_axi_rready = lost || (m_axi_rready && !kept);
    assign m_axi_rvalid = s_axi_rvalid || kept;

    always @* begin
        m_axi_r = s_axi_r;
        if (lost || kept) begin
            m_axi_r[`FERRY_AXI_R_RESPONSE_RANGE] = 2'b10;
            m_axi_r[`FERRY_AXI_R_FAULT_RANGE] = `FERRY_FAULT_KIND_WATCHDOG;
        end
    end

    always @(posedge clk) begin
        kept_reg <= kept_reg + {{LG_BEATS-1{1'b0}}, take} - {{LG_BEATS-1{1'b0}}, give};
        if (rst)
            kept_reg <= {LG_BEATS{1'b0}};
    end
endmodule

`default_nettype wire
