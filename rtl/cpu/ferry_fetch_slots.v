// SPDX-License-Identifier: Apache-2.0
// State of the command slots: which are in use, which hold a whole buffer, in which order the core takes them, and
// what their ring entries said. The fetcher takes a slot, writes its entry there, and says when it is ready; the core claims
// it, reads the facts, and releases it.
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
    // Takes free_slot for an entry of a ring, given by the low bits of what RING.RETIRED is with it.
    input  wire         take,
    input  wire [2:0]   take_ring,
    input  wire [4:0]   take_entry,

    // A double word of this slot's facts is written: those of its entry as they arrive, 0 to 2; in 3 the byte offset of the
    // first double word of the buffer that could not be read.
    input  wire         write,
    input  wire [1:0]   write_slot,
    input  wire [1:0]   write_index,
    input  wire [63:0]  write_data,
    // The slot's entry has arrived; NONE, or why there is no buffer to fetch.
    input  wire         describe,
    input  wire         describe_interrupt,
    input  wire [3:0]   describe_space,
    input  wire         describe_virtual_only,
    input  wire [7:0]   describe_fault,
    // It could not be read itself.
    input  wire         describe_unread,
    // The slot is complete; or something of its buffer could not be read.
    input  wire         complete,
    input  wire         complete_failed,

    // One fact of any slot in the same cycle: for the fetcher while look, else for fact_slot or the slot claimed last.
    input  wire         look,
    input  wire [1:0]   look_slot,
    input  wire [2:0]   look_word,
    output wire         look_fault,
    input  wire         fact_valid,
    input  wire [1:0]   fact_slot,
    input  wire [2:0]   fact_word,
    // Zero when the entry could not be read.
    output wire [31:0]  fact,
    output wire         fact_unread,

    // The buffer to decode next, in the layout of FETCH_NEXT; claim takes it when its valid bit is set.
    output wire [31:0]  next,
    input  wire         claim,
    // Another slot counts as the one claimed last from the next cycle on.
    input  wire         select,
    input  wire [1:0]   select_slot,
    // Frees a slot.
    input  wire         release_slot,
    input  wire [1:0]   release_number,

    // Slots in use, and those of them that hold a whole buffer.
    output wire [3:0]   used,
    output wire [3:0]   ready,
    // Whose entry asks for an interrupt.
    output wire [3:0]   interrupts,
    // Spaces of their virtual addresses, 4 bits a slot.
    output wire [15:0]  spaces,
    // Whose buffer each slot holds, 8 bits a slot in the layout of WRITE_TAG; kept while the slot is in use.
    output wire [31:0]  tags
);

    localparam [3:0] PRESENT = SLOTS > 3 ? 4'b1111 : SLOTS > 2 ? 4'b0111 : 4'b0011;

    reg [3:0]  used_reg;
    reg [3:0]  ready_reg;
    reg [3:0]  interrupt_reg;
    reg [1:0]  claimed_reg;
    reg [2:0]  ring_reg [0:3];
    reg [4:0]  entry_reg [0:3];
    reg [3:0]  space_reg [0:3];
    reg [3:0]  virtual_only_reg;
    reg [7:0]  fault_reg [0:3];
    // Its entry could not be read.
    reg [3:0]  unread_reg;

    // What the entries say, four double words a slot, as two memories of words, so that one word at a time comes out.
    reg [31:0] even_facts [0:15];
    reg [31:0] odd_facts [0:15];

    wire [3:0] free = PRESENT & ~used_reg;
    assign free_slot = free[0] ? 2'd0 : free[1] ? 2'd1 : free[2] ? 2'd2 : 2'd3;
    assign paging_may_take = |free;
    assign user_may_take = |(free & (free - 4'd1));

    assign used = used_reg;
    assign ready = ready_reg;
    assign interrupts = interrupt_reg;
    assign spaces = {space_reg[3], space_reg[2], space_reg[1], space_reg[0]};
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

    wire       take_paging = take && take_ring == 3'd0;
    wire       take_user = take && take_ring != 3'd0;
    wire [1:0] paging_head = paging_order[paging_out_reg[1:0]];
    wire [1:0] user_head = user_order[user_out_reg[1:0]];
    wire       paging_ready = paging_in_reg != paging_out_reg && ready_reg[paging_head];
    wire       user_ready = user_in_reg != user_out_reg && ready_reg[user_head];
    wire [1:0] next_slot = paging_ready ? paging_head : user_head;
    wire       next_valid = paging_ready || user_ready;

    assign next = {
        next_valid, 3'd0, space_reg[next_slot],
        fault_reg[next_slot], 2'd0, entry_reg[next_slot], interrupt_reg[next_slot],
        virtual_only_reg[next_slot], ring_reg[next_slot], next_slot, 2'd0
    } & {32{next_valid}};

    wire [1:0] read_slot = look ? look_slot : fact_valid ? fact_slot : claimed_reg;
    wire [2:0] read_word = look ? look_word : fact_word;
    wire [3:0] read_index = {read_slot, read_word[2:1]};
    assign fact_unread = unread_reg[read_slot];
    assign fact = (read_word[0] ? odd_facts[read_index] : even_facts[read_index]) & {32{!fact_unread}};
    assign look_fault = fault_reg[look_slot] != `FERRY_FAULT_KIND_NONE;

    always @(posedge clk) begin
        if (describe) begin
            space_reg[write_slot] <= describe_space;
        end
        if (write) begin
            even_facts[{write_slot, write_index}] <= write_data[31:0];
            odd_facts[{write_slot, write_index}] <= write_data[63:32];
        end
        if (take_paging) begin
            paging_order[paging_in_reg[1:0]] <= free_slot;
        end
        if (take_user) begin
            user_order[user_in_reg[1:0]] <= free_slot;
        end
    end

    // Not a shift of the strobe: an index that is not known yet would spread over all slots in a simulator that knows that.
    wire [3:0] taken = take ? 4'd1 << free_slot : 4'd0;
    wire [3:0] described = describe ? 4'd1 << write_slot : 4'd0;
    wire [3:0] completed = complete ? 4'd1 << write_slot : 4'd0;
    wire [3:0] released = release_slot ? 4'd1 << release_number : 4'd0;

    always @(posedge clk) begin
        used_reg <= (used_reg | taken) & ~released;
        ready_reg <= (ready_reg | completed) & ~released;
        interrupt_reg <= (interrupt_reg & ~described) | (described & {4{describe_interrupt}});
        virtual_only_reg <= (virtual_only_reg & ~described) | (described & {4{describe_virtual_only}});
        unread_reg <= (unread_reg & ~described) | (described & {4{describe_unread}});
        if (take) begin
            ring_reg[free_slot] <= take_ring;
            entry_reg[free_slot] <= take_entry;
        end
        if (describe || (complete && complete_failed)) begin
            fault_reg[write_slot] <= describe ? describe_fault : `FERRY_FAULT_KIND_BUFFER_FETCH;
        end
        if (take_paging) begin
            paging_in_reg <= paging_in_reg + 3'd1;
        end
        if (take_user) begin
            user_in_reg <= user_in_reg + 3'd1;
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
