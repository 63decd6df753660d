// SPDX-License-Identifier: Apache-2.0
// State of the command slots: which are in use, which hold a whole buffer, in which order the core takes them, and
// what their ring entries said. The fetcher takes a slot, describes it, and says when it is ready; the core claims
// it, reads the description, and releases it.
`default_nettype none
`include "ferry_contract.vh"

module ferry_fetch_slots #(
    // Command slots, 2 to 4.
    parameter SLOTS = 4
) (
    // Clock and synchronous reset.
    input  wire         clk,
    input  wire         rst,
    // Frees every slot.
    input  wire         clear,

    // The slot that would be taken next, and whether the paging ring and the user rings may take it. The last free slot
    // is the paging ring's, so that no number of user buffers can hold it up.
    output wire [1:0]   free_slot,
    output wire         paging_may_take,
    output wire         user_may_take,
    // Takes free_slot for an entry of a ring, given by the low bits of what RING.RETIRED is with it, and notes the bus
    // address of the entry, for the case that it cannot be read.
    input  wire         take,
    input  wire [2:0]   take_ring,
    input  wire [4:0]   take_entry,
    input  wire [63:0]  take_address,

    // The entry of a slot has arrived.
    input  wire         describe,
    input  wire [1:0]   describe_slot,
    input  wire [63:0]  describe_address,
    input  wire [12:0] describe_bytes,
    input  wire [63:0]  describe_fence,
    input  wire         describe_interrupt,
    // NONE, or why there is no buffer to fetch.
    input  wire [7:0]   describe_fault,
    // The entry could not be read: the address noted by take stays.
    input  wire         describe_unread,

    // Description of any slot for the fetcher.
    input  wire         look,
    input  wire [1:0]   look_slot,
    output wire [63:0]  look_address,
    output wire [12:0] look_bytes,
    output wire         look_fault,

    // The slot is complete; or the buffer's read failed at this byte offset.
    input  wire         complete,
    input  wire [1:0]   complete_slot,
    input  wire         complete_failed,
    input  wire [11:0] complete_offset,

    // The buffer to decode next, in the layout of FETCH_NEXT; claim takes it when its valid bit is set.
    output wire [31:0]  next,
    input  wire         claim,
    // The buffer claimed last. Not valid in a cycle with look.
    output wire [31:0]  claimed_bytes,
    output wire [63:0]  claimed_fence,
    output wire [63:0]  claimed_address,
    // Shows another slot there from the next cycle on; or in this cycle.
    input  wire         select,
    input  wire [1:0]   select_slot,
    input  wire         fact_valid,
    input  wire [1:0]   fact_slot,
    // Frees a slot.
    input  wire         release_slot,
    input  wire [1:0]   release_number,

    // Slots in use, and those of them that hold a whole buffer.
    output wire [3:0]   used,
    output wire [3:0]   ready,
    // Whose entry asks for an interrupt.
    output wire [3:0]   interrupts,
    // Whose buffer each slot holds, 8 bits a slot in the layout of WRITE_TAG; kept while the slot is in use.
    output wire [31:0]  tags,
    // Number of slots that were taken for this ring and are not complete.
    input  wire [2:0]   count_ring,
    output reg  [2:0]   count_arriving
);

localparam [3:0] PRESENT = SLOTS > 3 ? 4'b1111 : SLOTS > 2 ? 4'b0111 : 4'b0011;

reg [3:0]  used_reg;
reg [3:0]  ready_reg;
reg [3:0]  interrupt_reg;
reg [1:0]  claimed_reg;
reg [2:0]  ring_reg [0:3];
reg [4:0]  entry_reg [0:3];
reg [7:0]  fault_reg [0:3];
reg [11:0] offset_reg [0:3];

// One read port: the fetcher's look, else the core's claimed slot.
reg [63:0] address_memory [0:3];
reg [63:0] fence_memory [0:3];
reg [12:0] bytes_memory [0:3];

wire [3:0] free = PRESENT & ~used_reg;
assign free_slot = free[0] ? 2'd0 : free[1] ? 2'd1 : free[2] ? 2'd2 : 2'd3;
assign paging_may_take = |free;
assign user_may_take = |(free & (free - 4'd1));

assign used = used_reg;
assign ready = ready_reg;
assign interrupts = interrupt_reg;
assign tags = {
    ring_reg[3], entry_reg[3], ring_reg[2], entry_reg[2], ring_reg[1], entry_reg[1], ring_reg[0], entry_reg[0]
};

// Order of the slots, one queue for the paging ring and one for the user rings; the fetcher serves those in turn, so
// their common order is the turn.
reg [1:0] paging_order [0:3];
reg [1:0] user_order [0:3];
reg [2:0] paging_in_reg;
reg [2:0] paging_out_reg;
reg [2:0] user_in_reg;
reg [2:0] user_out_reg;

wire [1:0] paging_head = paging_order[paging_out_reg[1:0]];
wire [1:0] user_head = user_order[user_out_reg[1:0]];
wire       paging_ready = paging_in_reg != paging_out_reg && ready_reg[paging_head];
wire       user_ready = user_in_reg != user_out_reg && ready_reg[user_head];
wire [1:0] next_slot = paging_ready ? paging_head : user_head;
wire       next_valid = paging_ready || user_ready;

assign next = {
    next_valid, 7'd0, fault_reg[next_slot], 2'd0, entry_reg[next_slot], interrupt_reg[next_slot], 1'b0, ring_reg[next_slot], next_slot, 2'd0
} & {32{next_valid}};

wire [1:0] read_slot = look ? look_slot : fact_valid ? fact_slot : claimed_reg;
wire [63:0] read_address = address_memory[read_slot];
wire [12:0] read_bytes = bytes_memory[read_slot];
assign look_address = read_address;
assign look_bytes = read_bytes;
assign look_fault = fault_reg[look_slot] != `FERRY_FAULT_KIND_NONE;
assign claimed_bytes = {19'd0, read_bytes};
assign claimed_fence = fence_memory[read_slot];
assign claimed_address = read_address + {52'd0, offset_reg[read_slot]};

always @* begin : count
    integer i;
    count_arriving = 3'd0;
    for (i = 0; i < SLOTS; i = i + 1) begin
        count_arriving = count_arriving + {2'd0, used_reg[i] && !ready_reg[i] && ring_reg[i] == count_ring};
    end
end

// take and describe never come in the same cycle: the fetcher sees to that.
wire       write_address = take || (describe && !describe_unread);
wire [1:0] write_slot = take ? free_slot : describe_slot;

always @(posedge clk) begin
    if (write_address) begin
        address_memory[write_slot] <= take ? take_address : describe_address;
    end
    if (describe) begin
        fence_memory[describe_slot] <= describe_unread ? 64'd0 : describe_fence;
        bytes_memory[describe_slot] <= describe_unread ? 13'd0 : describe_bytes;
    end
end

always @(posedge clk) begin
    if (take) begin
        used_reg[free_slot] <= 1'b1;
        ready_reg[free_slot] <= 1'b0;
        interrupt_reg[free_slot] <= 1'b0;
        ring_reg[free_slot] <= take_ring;
        entry_reg[free_slot] <= take_entry;
        offset_reg[free_slot] <= 12'd0;
        if (take_ring == 3'd0) begin
            paging_order[paging_in_reg[1:0]] <= free_slot;
            paging_in_reg <= paging_in_reg + 3'd1;
        end else begin
            user_order[user_in_reg[1:0]] <= free_slot;
            user_in_reg <= user_in_reg + 3'd1;
        end
    end
    if (describe) begin
        interrupt_reg[describe_slot] <= describe_interrupt && !describe_unread;
        fault_reg[describe_slot] <= describe_fault;
    end
    if (complete) begin
        ready_reg[complete_slot] <= 1'b1;
        if (complete_failed) begin
            fault_reg[complete_slot] <= `FERRY_FAULT_KIND_BUFFER_FETCH;
            offset_reg[complete_slot] <= complete_offset;
        end
    end
    if (claim && next_valid) begin
        claimed_reg <= next_slot;
        if (paging_ready) begin
            paging_out_reg <= paging_out_reg + 3'd1;
        end else begin
            user_out_reg <= user_out_reg + 3'd1;
        end
    end
    if (select) begin
        claimed_reg <= select_slot;
    end
    if (release_slot) begin
        used_reg[release_number] <= 1'b0;
        ready_reg[release_number] <= 1'b0;
    end

    if (rst || clear) begin
        used_reg <= 4'd0;
        ready_reg <= 4'd0;
        claimed_reg <= 2'd0;
        paging_in_reg <= 3'd0;
        paging_out_reg <= 3'd0;
        user_in_reg <= 3'd0;
        user_out_reg <= 3'd0;
    end
end

endmodule

`default_nettype wire
