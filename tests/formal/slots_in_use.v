// SPDX-License-Identifier: Apache-2.0
// A slot that the core has claimed is neither written nor freed before the core releases it, or before the core has been
// stopped and nothing of its own can act any more (settled). Everything around ferry_fetch is free, but for what
// ferry_stop guarantees: the core runs only once the slots are wound back, and settled stays until they are.
`default_nettype none
`include "ferry_contract.vh"

module slots_in_use (
    input  wire        clk,
    input  wire        rst,
    input  wire        run,
    input  wire        hold,
    input  wire        settled,
    input  wire        ring_write,
    input  wire [5:0]  ring_offset,
    input  wire        ring_taken,
    input  wire [31:0] ring_rdata,
    input  wire        claim,
    input  wire        release_slot,
    input  wire        arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] r,
    input  wire        rvalid
);
    (* anyconst *) reg [1:0] slot;
    wire        wound;
    wire [63:0] rdata = r[`FERRY_AXI_R_DATA_RANGE];
    wire        write_valid;
    wire [15:0] write_address;
    wire [31:0] next;
    wire [3:0]  used;
    reg         held = 1'b0;
    reg         past_valid = 1'b0;

    ferry_fetch #(.RINGS(1), .SLOTS(2)) fetch (
        .clk(clk), .rst(rst), .run(run), .hold(hold), .settled(settled), .wound(wound), .ring_write(ring_write),
        .ring_number(3'd0), .ring_offset(ring_offset), .ring_read(), .ring_select(), .ring_word(),
        .ring_taken(ring_taken), .ring_rdata(ring_rdata), .fetched(), .write_valid(write_valid),
        .write_address(write_address), .write_data(), .next(next), .claim(claim), .fact_ready(), .fact_valid(1'b0),
        .fact_slot(2'd0), .fact_word(3'd0), .fact(), .fact_unread(), .select(1'b0), .select_slot(2'd0), .interrupts(),
        .release_slot(release_slot), .release_number(slot), .used(used), .ready(), .tags(), .busy(), .m_axi_ar(),
        .m_axi_arvalid(), .m_axi_arready(arready), .m_axi_r(r), .m_axi_rvalid(rvalid), .m_axi_rready()
    );

    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (rst || release_slot || (settled && !run)) begin
            held <= 1'b0;
        end else if (claim && next[`FERRY_CORE_FETCH_NEXT_VALID_SHIFT]
                && next[`FERRY_CORE_FETCH_NEXT_SLOT_RANGE] == slot) begin
            held <= 1'b1;
        end
        if (!past_valid) begin
            assume (rst);
        end else begin
            assume (!rst);
            assume (!release_slot || (held && run));
            assume (!claim || run);
            assume (!settled || !run);
            // Small addresses and numbers of entries, each kind of bad entry among them: the proof is minutes shorter.
            assume (ring_rdata[31:4] == 28'd0);
            assume (rdata[63:34] == 30'd0 && rdata[31:14] == 18'd0);
            assume (!run || $past(run) || $past(wound && settled));
            assume (!$past(settled && !wound) || settled);
            assert (!held || used[slot]);
            assert (!held || !write_valid || write_address[13:12] != slot);
            cover (held);
            cover ($past(held && !run) && held && !run);
        end
    end
endmodule

`default_nettype wire
