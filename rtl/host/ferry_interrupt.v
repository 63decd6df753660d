// SPDX-License-Identifier: Apache-2.0
// INTERRUPT_STATUS, and when an interrupt message (MSI) is due. Messages are coalesced, and wait while the vector is
// masked. The message itself is one of the posted writes of ferry_requester_write, so it never overtakes what it announces.
`default_nettype none

module ferry_interrupt (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // One-cycle pulses: a cause; the host's write of 1 to INTERRUPT_STATUS. A cause in the same cycle wins.
    input  wire [9:0]  cause,
    input  wire [9:0]  clear,
    // INTERRUPT_STATUS, INTERRUPT_ENABLE, both fields of INTERRUPT_COALESCE, INTERRUPT_COUNT.
    output reg  [9:0]  status,
    input  wire [9:0]  enable,
    input  wire [15:0] coalesce_count,
    input  wire [15:0] coalesce_cycles,
    output reg  [31:0] count,

    // Configuration space.
    input  wire        bus_master,
    input  wire        msi_enable,
    input  wire        msi_mask,
    output wire        msi_pending,

    // Messages may be sent. One is to be sent; taken is a pulse when it has its place among the posted writes, back one when it
    // has lost it again, since it may not be sent any more: it is owed as before.
    output wire        message_allowed,
    output wire        message_valid,
    input  wire        message_taken,
    input  wire        message_back
);
    // Enabled causes as of the cycle before: one that becomes active by its enable bit counts as a cause too.
    reg [9:0]  active_reg;
    // Causes of the cycle before.
    reg [9:0]  events_reg;
    // A message is owed; causes and cycles since the first of them.
    reg        owed_reg;
    reg [15:0] causes_reg;
    reg [15:0] cycles_reg;

    wire [9:0] status_next = (status & ~clear) | cause;
    wire [9:0] active = status_next & enable;
    wire [9:0] events_now = (active & ~active_reg) | (cause & enable);
    wire       event_now = events_now != 10'd0;
    // Several causes may come, or be enabled, in one cycle. They are counted in the next, as they are known late.
    reg  [3:0] number;
    always @* begin : count_events
        integer i;
        number = 4'd0;
        for (i = 0; i < 10; i = i + 1)
            number = number + {3'd0, events_reg[i]};
    end
    wire [16:0] causes_next = {1'b0, causes_reg} + {13'd0, number};
    wire       due = owed_reg && (causes_reg >= coalesce_count || cycles_reg >= coalesce_cycles);

    assign message_allowed = msi_enable && !msi_mask && bus_master;
    assign message_valid = due && message_allowed;
    assign msi_pending = due && msi_mask;

    always @(posedge clk) begin
        status <= status_next;
        active_reg <= active;
        events_reg <= events_now;
        if (message_taken || message_back)
            count <= message_back ? count - 32'd1 : count + 32'd1;
        // Nothing is owed any more when the host has seen and cleared every cause by itself.
        owed_reg <= event_now || ((message_back || (owed_reg && !message_taken)) && active != 10'd0);
        if (message_back) begin
            // It was due.
            causes_reg <= 16'hffff;
        end else if (!owed_reg || message_taken) begin
            causes_reg <= 16'd0;
            cycles_reg <= 16'd0;
        end else begin
            causes_reg <= causes_next[15:0] | {16{causes_next[16]}};
            if (cycles_reg != 16'hffff)
                cycles_reg <= cycles_reg + 16'd1;
        end
        if (rst) begin
            status <= 10'd0;
            active_reg <= 10'd0;
            owed_reg <= 1'b0;
            count <= 32'd0;
        end
    end
endmodule

`default_nettype wire
