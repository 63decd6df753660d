// SPDX-License-Identifier: Apache-2.0
// The receiving half of ferry_fetch: a queue of what was asked for, and the read data that comes back in that order.
// Data is always taken at once, since stopping it could stop the very completions that free the tags the asking half
// waits for. An entry without a buffer passes through the queue as a marker, so slots become ready in the order they
// were taken.
`default_nettype none
`include "ferry_contract.vh"

module ferry_fetch_receive #(
    // log2 of the bytes of a slot, at most 12.
    parameter SLOT_BYTES_LOG2 = 12
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Notes a burst that was asked for, while not full: kind (0 ring entry, 1 part of a buffer, 2 marker: no data
    // comes), whether it is the last of its buffer, and the slot it is for.
    input  wire        push,
    input  wire [1:0]  push_kind,
    input  wire        push_final,
    input  wire [1:0]  push_slot,
    output wire        full,
    output wire        empty,

    // A ring entry has arrived for this slot. fault is NONE or why there is no buffer to fetch; unread says that the
    // entry itself could not be read.
    output wire        describe,
    output wire [1:0]  describe_slot,
    output reg  [63:0] describe_address,
    output wire [12:0] describe_bytes,
    output reg  [63:0] describe_fence,
    output wire        describe_interrupt,
    output wire [7:0]  describe_fault,
    output wire        describe_unread,

    // A slot is complete, or its buffer could not be read from this byte offset on.
    output wire        complete,
    output wire        complete_failed,
    output wire [11:0] complete_offset,

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
assign describe_slot = head[1:0];

reg [1:0]  beat_reg;
reg        error_reg;
reg [31:0] bytes_reg;
reg [31:0] flags_reg;
reg [8:0]  offset_reg;
reg [8:0]  error_offset_reg;

wire marker = !empty && head_kind == K_MARKER;
assign m_axi_rready = !empty && !marker;

wire beat = m_axi_rvalid && m_axi_rready;
wire beat_error = m_axi_rresp != 2'b00;
wire error_now = error_reg || beat_error;
wire entry_beat = beat && head_kind == K_ENTRY;
wire buffer_beat = beat && head_kind == K_BUFFER;
wire pop = marker || (beat && m_axi_rlast);

// The last beat of an entry is its reserved word, which is not kept but must be zero.
wire bad_size = bytes_reg > SLOT_BYTES || |bytes_reg[2:0];
wire bad_reserved = |flags_reg[31:1] || |m_axi_rdata || |describe_address[2:0];

assign describe = entry_beat && m_axi_rlast;
assign describe_bytes = bytes_reg[12:0];
assign describe_interrupt = flags_reg[0];
assign describe_unread = error_now;
assign describe_fault = error_now    ? `FERRY_FAULT_KIND_BUFFER_FETCH :
                        bad_size     ? `FERRY_FAULT_KIND_BUFFER_SIZE :
                        bad_reserved ? `FERRY_FAULT_KIND_PACKET_RESERVED : `FERRY_FAULT_KIND_NONE;

assign complete = marker || (buffer_beat && m_axi_rlast && head_final);
assign complete_failed = buffer_beat && error_now;
assign complete_offset = {error_reg ? error_offset_reg : offset_reg, 3'd0};

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
        2'd0: describe_address <= m_axi_rdata;
        2'd1: {flags_reg, bytes_reg} <= m_axi_rdata;
        2'd2: describe_fence <= m_axi_rdata;
        default: ;
        endcase
        beat_reg <= beat_reg + 2'd1;
    end
    if (beat) begin
        error_reg <= error_now;
        if (!error_reg) begin
            error_offset_reg <= offset_reg;
        end
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
