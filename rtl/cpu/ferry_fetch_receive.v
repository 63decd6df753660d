// SPDX-License-Identifier: Apache-2.0
// The receiving half of ferry_fetch: a queue of what was asked for, and the read data that comes back in that order.
// Data is always taken at once, since stopping it could stop the very completions that free the tags the asking half
// waits for. An entry without a buffer passes through the queue as a marker, so slots become ready in the order they
// were taken.
`default_nettype none
`include "ferry_contract.vh"

module ferry_fetch_receive #(
    // log2 of the bytes of a slot, at most 12.
    parameter SLOT_BYTES_LOG2 = 12,
    // 1: there is a page-table unit.
    parameter [0:0] PAGE_TABLES = 1
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Notes a burst that was asked for, while not full: kind (0 ring entry, 1 part of a buffer; no data comes for 2 marker,
    // 3 ring entry behind the last address), whether it is the last of its buffer, and the slot it is for.
    input  wire        push,
    input  wire [1:0]  push_kind,
    input  wire        push_final,
    input  wire [1:0]  push_slot,
    output wire        full,
    output wire        empty,

    // Writes a double word of a slot's facts: those of its entry, 0 to 2, and in 3 the byte offset from which on its buffer
    // could not be read.
    output wire        fact_write,
    output wire [1:0]  fact_slot,
    output wire [1:0]  fact_index,
    output wire [63:0] fact_data,
    // That slot's ring entry has arrived; NONE, or why there is no buffer to fetch; it could not be read itself.
    output wire        describe,
    output wire        describe_interrupt,
    output wire [3:0]  describe_space,
    output wire        describe_virtual_only,
    output wire [7:0]  describe_fault,
    output wire        describe_unread,
    // That slot is complete, or something of its buffer could not be read.
    output wire        complete,
    output wire        complete_failed,

    // Write port of command RAM.
    output wire        write_valid,
    output wire [15:0] write_address,
    output wire [63:0] write_data,

    // Read data of the host port.
    input  wire [63:0] m_axi_rdata,
    input  wire [1:0]  m_axi_rresp,
    input  wire        m_axi_rlast,
    input  wire        m_axi_rvalid,
    output wire        m_axi_rready
);

    localparam [1:0] K_ENTRY  = 2'd0;
    localparam [1:0] K_BUFFER = 2'd1;
    localparam [1:0] K_MARKER = 2'd2;
    localparam [1:0] K_BEYOND = 2'd3;

    localparam [31:0] SLOT_BYTES = 32'd1 << SLOT_BYTES_LOG2;

    reg [4:0]  queue [0:15];
    reg [4:0]  in_reg;
    reg [4:0]  out_reg;
    wire [4:0] count = in_reg - out_reg;
    wire [4:0] head = queue[out_reg[3:0]];
    wire [1:0] head_kind = head[4:3];
    wire       head_final = head[2];

    assign full = count[4];
    assign empty = count == 5'd0;
    assign fact_slot = head[1:0];

    reg [1:0]  beat_reg;
    reg        error_reg;
    reg [8:0]  offset_reg;
    // What the beats of the entry that came so far say.
    reg        interrupt_reg;
    reg [3:0]  space_reg;
    reg        virtual_only_reg;
    reg        bad_size_reg;
    // The buffer begins in the last page of all addresses, at this word of it.
    reg        last_page_reg;
    reg [11:3] place_reg;
    reg        bad_reserved_reg;

    // Where there are no page tables, space and virtual_only are none of the flags.
    localparam [31:0] FLAGS_RESERVED = `FERRY_RING_ENTRY_FLAGS_RESERVED_MASK | `FERRY_RING_ENTRY_FLAGS_RESERVED2_MASK
        | (PAGE_TABLES ? 32'd0 : `FERRY_RING_ENTRY_FLAGS_SPACE_MASK | `FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK);

    wire marker = !empty && head_kind == K_MARKER;
    wire beyond = !empty && head_kind == K_BEYOND;
    assign m_axi_rready = !empty && !marker && !beyond;

    wire beat = m_axi_rvalid && m_axi_rready;
    wire beat_error = m_axi_rresp != 2'b00;
    wire error_now = error_reg || beat_error || beyond;
    wire entry_beat = beat && head_kind == K_ENTRY;
    wire buffer_beat = beat && head_kind == K_BUFFER;
    wire pop = marker || beyond || (beat && m_axi_rlast);

    wire [31:0] low = m_axi_rdata[31:0];
    wire [31:0] high = m_axi_rdata[63:32];

    // Words from the page's beginning to the buffer's end, of a size that fits into a slot. One that begins within a word ends
    // within the one behind; so far nothing else was reserved.
    wire [10:0] end_word = {2'd0, place_reg} + {1'b0, low[12:3]};
    wire        goes_round = last_page_reg && (end_word[10] || (end_word[9] && (end_word[8:0] != 9'd0 || bad_reserved_reg)));

    // The last beat of an entry is its reserved word, which must be zero.
    wire bad_reserved = bad_reserved_reg || low != 32'd0 || high != 32'd0;

    assign describe = beyond || (entry_beat && m_axi_rlast);
    assign describe_interrupt = interrupt_reg && !error_now;
    assign describe_space = space_reg;
    assign describe_virtual_only = virtual_only_reg;
    assign describe_unread = error_now;
    assign describe_fault = error_now    ? `FERRY_FAULT_KIND_BUFFER_FETCH :
                            bad_size_reg ? `FERRY_FAULT_KIND_BUFFER_SIZE :
                            bad_reserved ? `FERRY_FAULT_KIND_PACKET_RESERVED : `FERRY_FAULT_KIND_NONE;

    assign complete = marker || (buffer_beat && m_axi_rlast && head_final);
    assign complete_failed = buffer_beat && error_now;

    // Once error_reg is set the offset stays that of the first bad beat.
    assign fact_write = entry_beat || (buffer_beat && beat_error && !error_reg);
    assign fact_index = beat_reg | {2{buffer_beat}};
    assign fact_data = {high, low[31:12], buffer_beat ? {offset_reg, 3'd0} : low[11:0]};

    assign write_valid = buffer_beat;
    assign write_address = {2'd0, head[1:0], offset_reg, 3'd0};
    assign write_data = m_axi_rdata;

    always @(posedge clk) begin
        if (push) begin
            queue[in_reg[3:0]] <= {push_kind, push_final, push_slot};
        end
    end

    always @(posedge clk) begin
        in_reg <= in_reg + {4'd0, push};
        out_reg <= out_reg + {4'd0, pop};

        if (entry_beat) begin
            case (beat_reg)
            2'd0: begin
                bad_reserved_reg <= low[2:0] != 3'd0;
                last_page_reg <= {high, low[31:12]} == {52{1'b1}};
                place_reg <= low[11:3];
            end
            2'd1: begin
                bad_size_reg <= (|low[31:SLOT_BYTES_LOG2] && low != SLOT_BYTES) || low[2:0] != 3'd0 || goes_round;
                interrupt_reg <= high[0];
                space_reg <= high[`FERRY_RING_ENTRY_FLAGS_SPACE_RANGE];
                virtual_only_reg <= high[`FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_SHIFT];
                bad_reserved_reg <= bad_reserved_reg || (high & FLAGS_RESERVED) != 32'd0;
            end
            default: ;
            endcase
            beat_reg <= beat_reg + 2'd1;
        end
        if (beat) begin
            error_reg <= error_now;
        end
        if (buffer_beat) begin
            offset_reg <= offset_reg + 9'd1;
        end
        if (describe || complete) begin
            error_reg <= 1'b0;
            offset_reg <= 9'd0;
        end

        if (rst) begin
            in_reg <= 5'd0;
            out_reg <= 5'd0;
            beat_reg <= 2'd0;
            error_reg <= 1'b0;
            offset_reg <= 9'd0;
        end
    end

endmodule

`default_nettype wire
