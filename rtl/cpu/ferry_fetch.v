// SPDX-License-Identifier: Apache-2.0
// Brings ring entries and the buffers they name into command slots by itself, while the core decodes another slot.
//
// One small sequencer issues all reads: entries of rings with a doorbell (the paging ring first, the user rings in
// turn) and buffers of entries that have arrived, in bursts that stay inside 2 KiB blocks. ferry_fetch_receive takes
// what comes back, ferry_fetch_slots keeps the slots.
//
// When the core is stopped, what is asked for is taken in and nothing more is asked for. Once nothing of the core's can
// act any more (ferry_stop), every slot is freed and each ring goes back to its first entry that was not retired, so no
// entry is lost over a restart of the firmware. Not before: page lists stand in the slots, and the engine reads them.
`default_nettype none
`include "ferry_contract.vh"

module ferry_fetch #(
    // Rings, 1 to 5.
    parameter RINGS = 5,
    // Command slots, 2 to 4.
    parameter SLOTS = 4,
    // log2 of the bytes of a slot, 9 to 12.
    parameter SLOT_BYTES_LOG2 = 12
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs.
    input  wire        run,
    // No new entry is taken while 1 (an engine reset goes on).
    input  wire        hold,
    // With run 0: slots may be freed. Answered by wound, which stays until the core runs.
    input  wire        settled,
    output wire        wound,

    // One-cycle pulse a ring: its producer or control register was written; the new value is seen a cycle later.
    input  wire [4:0]  ring_kick,
    // The ring that is looked at, and its registers, in the same cycle.
    output wire [2:0]  ring_select,
    input  wire [63:0] ring_base,
    input  wire [4:0]  ring_entries_log2,
    input  wire [31:0] ring_producer,
    input  wire [31:0] ring_retired,
    input  wire        ring_enable,
    // RING.FETCHED of any ring for the register file, in the same cycle.
    input  wire [2:0]  fetched_ring,
    output wire [31:0] fetched,

    // Write port of command RAM.
    output wire        write_valid,
    output wire [15:0] write_address,
    output wire [63:0] write_data,

    // FETCH_NEXT; claim takes what it shows. The description of the buffer claimed last is valid while claimed_valid.
    output wire [31:0] next,
    input  wire        claim,
    output wire        claimed_valid,
    output wire [31:0] claimed_bytes,
    output wire [63:0] claimed_fence,
    output wire [63:0] claimed_address,
    // Shows another slot's description from the next cycle on; or in this cycle.
    input  wire        select,
    input  wire [1:0]  select_slot,
    input  wire        fact_valid,
    input  wire [1:0]  fact_slot,
    // FETCH_RELEASE.
    input  wire        release_slot,
    input  wire [1:0]  release_number,

    // Slots that are not free, and slots that hold a whole buffer.
    output wire [3:0]  used,
    output wire [3:0]  ready,
    // Whose entry asks for an interrupt.
    output wire [3:0]  interrupts,
    // Whose buffer each slot holds, 8 bits a slot in the layout of WRITE_TAG.
    output wire [31:0] tags,
    // A read is outstanding or about to be issued.
    output wire        busy,

    // AXI4 read master to the host port.
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_ar,
    output reg         m_axi_arvalid,
    input  wire        m_axi_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_r,
    input  wire        m_axi_rvalid,
    output wire        m_axi_rready
);

reg [63:0] araddr_reg;
reg [7:0]  arlen_reg;
assign m_axi_ar[`FERRY_AXI_A_ADDRESS_RANGE] = araddr_reg;
assign m_axi_ar[`FERRY_AXI_A_LENGTH_RANGE] = arlen_reg;
assign m_axi_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
assign m_axi_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;

localparam [2:0] LAST_RING = RINGS - 1;

localparam [2:0] S_IDLE   = 3'd0;
localparam [2:0] S_CHECK  = 3'd1;
localparam [2:0] S_ENTRY  = 3'd2;
localparam [2:0] S_LOOK   = 3'd3;
localparam [2:0] S_BUFFER = 3'd4;
localparam [2:0] S_STOP   = 3'd5;
localparam [2:0] S_REWIND = 3'd6;
localparam [2:0] S_WOUND  = 3'd7;

reg [2:0]  state_reg;
reg [4:0]  pending_reg;
reg [2:0]  ring_reg;
reg [2:0]  turn_reg;
reg [63:3] address_reg;
reg [12:0] bytes_reg;
reg [1:0]  slot_reg;

// Number of the next entry to ask for, free-running, one a ring.
reg  [31:0] issued [0:7];
wire [31:0] issued_now = issued[ring_reg];

// Slots whose entry has arrived and whose buffer is still to be asked for.
reg  [1:0] arrived [0:3];
reg  [2:0] arrived_in_reg;
reg  [2:0] arrived_out_reg;
wire       arrived_empty = arrived_in_reg == arrived_out_reg;

// --- Whose turn it is ----------------------------------------------------------------------------------------------

wire [1:0] free_slot;
wire       paging_may_take;
wire       user_may_take;

// The first pending user ring behind the one served last.
reg  [2:0] user_ring;
reg        user_pending;
always @* begin : choose
    integer i;
    reg [2:0] ring;
    user_ring = 3'd1;
    user_pending = 1'b0;
    ring = turn_reg;
    for (i = 1; i < RINGS; i = i + 1) begin
        ring = ring >= LAST_RING ? 3'd1 : ring + 3'd1;
        if (pending_reg[ring] && !user_pending) begin
            user_ring = ring;
            user_pending = 1'b1;
        end
    end
end

wire choose_paging = pending_reg[0] && paging_may_take;
wire choose_user = user_pending && user_may_take;
// Nothing more in this ring: look again at its next doorbell.
wire drained = state_reg == S_CHECK && (!ring_enable || ring_producer == issued_now);

// --- Addresses -----------------------------------------------------------------------------------------------------

// At most 4096 entries a ring.
wire [11:0] entry_number = issued_now[11:0] & ~(12'hfff << ring_entries_log2);
// Beats to the next 2 KiB boundary, and beats left.
wire [9:0]  beats_to_edge = 10'd256 - {2'd0, address_reg[10:3]};
wire [9:0]  beats_left = bytes_reg[12:3];
wire        burst_final = beats_left <= beats_to_edge;
wire [9:0]  burst_beats = burst_final ? beats_left : beats_to_edge;
wire [9:0]  burst_length = burst_beats - 10'd1;
// Address of the next entry, of a buffer, or of what is left of it.
wire [63:3] address_from = state_reg == S_CHECK ? {ring_base[63:5], 2'd0} : state_reg == S_LOOK ? look_address[63:3] : address_reg;
wire [13:0] address_step = ({entry_number, 2'd0} & {14{state_reg == S_CHECK}}) | ({4'd0, burst_beats} & {14{issue}});
wire [63:3] address_next = address_from + {47'd0, address_step};

// --- Asking --------------------------------------------------------------------------------------------------------

localparam [1:0] K_ENTRY  = 2'd0;
localparam [1:0] K_BUFFER = 2'd1;
localparam [1:0] K_MARKER = 2'd2;

wire        describe;
wire [1:0]  describe_slot;
wire [63:0] describe_address;
wire [12:0] describe_bytes;
wire [63:0] describe_fence;
wire        describe_interrupt;
wire [7:0]  describe_fault;
wire        describe_unread;
wire        complete;
wire        complete_failed;
wire [11:0] complete_offset;
wire        queue_full;
wire        queue_empty;
wire [63:0] look_address;
wire [12:0] look_bytes;
wire        look_fault;
wire [2:0]  arriving;

wire look = state_reg == S_LOOK;
wire look_none = look_fault || look_bytes[12:3] == 10'd0;
wire address_free = !m_axi_arvalid || m_axi_arready;
// The entry's address is noted in the same memory that describe writes, and describe cannot wait.
wire take = state_reg == S_ENTRY && address_free && !queue_full && !describe;
wire issue = state_reg == S_BUFFER && address_free && !queue_full;
wire mark = look && look_none && !queue_full;
wire rewind = state_reg == S_REWIND;

assign wound = state_reg == S_WOUND;
assign claimed_valid = !look;
assign busy = !queue_empty || state_reg == S_ENTRY || state_reg == S_LOOK || state_reg == S_BUFFER;
assign ring_select = ring_reg;
assign fetched = issued[fetched_ring] - {29'd0, arriving};

ferry_fetch_receive #(.SLOT_BYTES_LOG2(SLOT_BYTES_LOG2)) receive (
    .clk(clk), .rst(rst),
    .push(take || issue || mark), .push_kind(take ? K_ENTRY : issue ? K_BUFFER : K_MARKER),
    .push_final(!issue || burst_final), .push_slot(take ? free_slot : slot_reg),
    .full(queue_full), .empty(queue_empty),
    .describe(describe), .describe_slot(describe_slot), .describe_address(describe_address),
    .describe_bytes(describe_bytes), .describe_fence(describe_fence), .describe_interrupt(describe_interrupt),
    .describe_fault(describe_fault), .describe_unread(describe_unread),
    .complete(complete), .complete_failed(complete_failed), .complete_offset(complete_offset),
    .write_valid(write_valid), .write_address(write_address), .write_data(write_data),
    .m_axi_rdata(m_axi_r[`FERRY_AXI_R_DATA_RANGE]), .m_axi_rresp(m_axi_r[`FERRY_AXI_R_RESPONSE_RANGE]),
    .m_axi_rlast(m_axi_r[`FERRY_AXI_R_LAST_RANGE]), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready)
);

ferry_fetch_slots #(.SLOTS(SLOTS)) slots (
    .clk(clk), .rst(rst), .clear(rewind),
    .free_slot(free_slot), .paging_may_take(paging_may_take), .user_may_take(user_may_take),
    .take(take), .take_ring(ring_reg), .take_entry(issued_now[4:0] + 5'd1), .take_address({address_reg, 3'd0}),
    .describe(describe), .describe_slot(describe_slot), .describe_address(describe_address),
    .describe_bytes(describe_bytes), .describe_fence(describe_fence), .describe_interrupt(describe_interrupt),
    .describe_fault(describe_fault), .describe_unread(describe_unread),
    .look(look), .look_slot(slot_reg), .look_address(look_address), .look_bytes(look_bytes), .look_fault(look_fault),
    .complete(complete), .complete_slot(describe_slot), .complete_failed(complete_failed),
    .complete_offset(complete_offset),
    .next(next), .claim(claim),
    .claimed_bytes(claimed_bytes), .claimed_fence(claimed_fence), .claimed_address(claimed_address),
    .select(select), .select_slot(select_slot), .fact_valid(fact_valid), .fact_slot(fact_slot), .interrupts(interrupts),
    .release_slot(release_slot), .release_number(release_number),
    .used(used), .ready(ready), .tags(tags), .count_ring(fetched_ring), .count_arriving(arriving)
);

// --- Sequencer -----------------------------------------------------------------------------------------------------

always @(posedge clk) begin
    if (describe) begin
        arrived[arrived_in_reg[1:0]] <= describe_slot;
    end
    if (take || rewind) begin
        issued[ring_reg] <= rewind ? ring_retired : issued_now + 32'd1;
    end
end

always @(posedge clk) begin
    // A doorbell wins over the end of a look that may not have seen it.
    pending_reg <= (pending_reg & ~({4'd0, drained} << ring_reg)) | ring_kick | {5{rewind}};
    arrived_in_reg <= arrived_in_reg + {2'd0, describe};
    if (m_axi_arready) begin
        m_axi_arvalid <= 1'b0;
    end

    case (state_reg)
    S_IDLE:
        if (!run) begin
            state_reg <= S_STOP;
        end else if (!arrived_empty) begin
            slot_reg <= arrived[arrived_out_reg[1:0]];
            arrived_out_reg <= arrived_out_reg + 3'd1;
            state_reg <= S_LOOK;
        end else if (!hold && (choose_paging || choose_user)) begin
            ring_reg <= choose_paging ? 3'd0 : user_ring;
            state_reg <= S_CHECK;
        end
    S_CHECK: begin
        address_reg <= address_next;
        state_reg <= drained ? S_IDLE : S_ENTRY;
    end
    S_ENTRY:
        if (take) begin
            araddr_reg <= {address_reg, 3'd0};
            arlen_reg <= 8'd3;
            m_axi_arvalid <= 1'b1;
            turn_reg <= ring_reg == 3'd0 ? turn_reg : ring_reg;
            state_reg <= S_IDLE;
        end
    S_LOOK: begin
        address_reg <= address_next;
        bytes_reg <= look_bytes;
        if (!look_none) begin
            state_reg <= S_BUFFER;
        end else if (mark) begin
            state_reg <= S_IDLE;
        end
    end
    S_BUFFER:
        if (issue) begin
            araddr_reg <= {address_reg, 3'd0};
            arlen_reg <= burst_length[7:0];
            m_axi_arvalid <= 1'b1;
            address_reg <= address_next;
            bytes_reg <= bytes_reg - {burst_beats, 3'd0};
            state_reg <= burst_final ? S_IDLE : S_BUFFER;
        end
    // Stopped: what was asked for must have come, or it would be taken for something else.
    S_STOP: begin
        ring_reg <= 3'd0;
        if (settled && queue_empty) begin
            state_reg <= S_REWIND;
        end
    end
    S_REWIND: begin
        ring_reg <= ring_reg + 3'd1;
        arrived_out_reg <= arrived_in_reg;
        if (ring_reg == LAST_RING) begin
            state_reg <= S_WOUND;
        end
    end
    default:
        if (run) begin
            state_reg <= S_IDLE;
        end
    endcase

    if (rst) begin
        state_reg <= S_STOP;
        turn_reg <= 3'd1;
        m_axi_arvalid <= 1'b0;
        arrived_in_reg <= 3'd0;
        arrived_out_reg <= 3'd0;
    end
end

`ifdef FORMAL
    reg past_valid = 1'b0;
    wire [9:0] end_in_block = {2'd0, araddr_reg[10:3]} + {2'd0, arlen_reg} + 10'd1;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) begin
            assume (rst);
        end else begin
            // A request stays as it is until it is taken, and no burst leaves a 2 KiB block, hence no page.
            if (!$past(rst) && $past(m_axi_arvalid && !m_axi_arready)) begin
                assert (m_axi_arvalid && $stable(araddr_reg) && $stable(arlen_reg));
            end
            if (m_axi_arvalid) begin
                assert (end_in_block <= 10'd256);
            end
            // An entry is a multiple of its length, so that none leaves a page either.
            if (state_reg == S_ENTRY) begin
                assert (address_reg[4:3] == 2'd0);
            end
            if (state_reg == S_BUFFER) begin
                assert (beats_left != 10'd0);
            end
        end
    end
`endif

wire unused = &{1'b0, ring_base[4:0], look_address[2:0], burst_length[9:8], m_axi_r};

endmodule

`default_nettype wire
