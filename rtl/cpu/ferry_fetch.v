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
    parameter SLOT_BYTES_LOG2 = 12,
    // 1: there is a page-table unit: the flags of an entry may name a space.
    parameter [0:0] PAGE_TABLES = 1
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

    // The host wrote a word of a ring's registers: byte offset in them.
    input  wire        ring_write,
    input  wire [2:0]  ring_number,
    input  wire [5:0]  ring_offset,
    // Reads of a ring's registers: held until taken; data a cycle later.
    output wire        ring_read,
    output wire [2:0]  ring_select,
    output reg  [5:0]  ring_word,
    input  wire        ring_taken,
    input  wire [31:0] ring_rdata,
    // RING.FETCHED of ring_number, in the same cycle.
    output wire [31:0] fetched,

    // Write port of command RAM.
    output wire        write_valid,
    output wire [15:0] write_address,
    output wire [63:0] write_data,

    // FETCH_NEXT; claim takes what it shows.
    output wire [31:0] next,
    input  wire        claim,
    // A fact of a slot, FETCH_ADDRESS_LOW and on, in the same cycle while fact_ready: of fact_slot, else of the slot claimed
    // last; select makes another one count as that from the next cycle on.
    output wire        fact_ready,
    input  wire        fact_valid,
    input  wire [1:0]  fact_slot,
    input  wire [2:0]  fact_word,
    output wire [31:0] fact,
    // That slot's entry could not be read, and its facts are 0.
    output wire        fact_unread,
    input  wire        select,
    input  wire [1:0]  select_slot,
    // FETCH_RELEASE.
    input  wire        release_slot,
    input  wire [1:0]  release_number,

    // Slots that are not free, and slots that hold a whole buffer.
    output wire [3:0]  used,
    output wire [3:0]  ready,
    // Whose entry asks for an interrupt. Space of their virtual addresses, 4 bits a slot.
    output wire [3:0]  interrupts,
    output wire [15:0] spaces,
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

    localparam LAST = RINGS - 1;
    localparam [2:0] LAST_RING = LAST[2:0];

    // CHECK reads a ring's registers one after the other, PLACE adds the entry's place; LOOK reads what an entry said; REWIND
    // reads each ring's RETIRED.
    localparam [3:0] S_IDLE   = 4'd0;
    localparam [3:0] S_CHECK  = 4'd1;
    localparam [3:0] S_PLACE  = 4'd2;
    localparam [3:0] S_ENTRY  = 4'd3;
    localparam [3:0] S_LOOK   = 4'd4;
    localparam [3:0] S_BUFFER = 4'd5;
    localparam [3:0] S_STOP   = 4'd6;
    localparam [3:0] S_REWIND = 4'd7;
    localparam [3:0] S_WOUND  = 4'd8;

    // What CHECK reads, in this order: nothing else counts before the ring is enabled.
    localparam [2:0] R_CONTROL   = 3'd0;
    localparam [2:0] R_PRODUCER  = 3'd1;
    localparam [2:0] R_ENTRIES   = 3'd2;
    localparam [2:0] R_BASE_LOW  = 3'd3;
    localparam [2:0] R_BASE_HIGH = 3'd4;

    // What LOOK reads of the slot's facts.
    localparam [2:0] F_ADDRESS_LOW  = 3'd0;
    localparam [2:0] F_ADDRESS_HIGH = 3'd1;
    localparam [2:0] F_BYTES        = 3'd2;

    reg [3:0]  state_reg;
    // The word that CHECK asks for, and the one that comes next; that it is there. The word that LOOK is at.
    reg [2:0]  ask_reg;
    reg [2:0]  word_reg;
    reg        there_reg;
    reg [2:0]  look_reg;
    reg [4:0]  pending_reg;
    reg [2:0]  ring_reg;
    reg [2:0]  turn_reg;
    reg [4:0]  entries_log2_reg;
    reg [63:3] address_reg;
    // The entry that is asked for would stand behind the last address.
    reg        beyond_reg;
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

    // The first pending user ring behind the one served last, else the first.
    localparam [4:1] USER_RINGS = RINGS > 4 ? 4'b1111 : RINGS > 3 ? 4'b0111 : RINGS > 2 ? 4'b0011 : RINGS > 1 ? 4'b0001 : 4'b0000;
    wire [4:1] user_rings = pending_reg[4:1] & USER_RINGS;
    wire [4:1] rings_behind = user_rings & {turn_reg < 3'd4, turn_reg < 3'd3, turn_reg < 3'd2, 1'b0};
    wire [4:1] rings_next = rings_behind != 4'd0 ? rings_behind : user_rings;
    wire [2:0] user_ring = rings_next[1] ? 3'd1 : rings_next[2] ? 3'd2 : rings_next[3] ? 3'd3 : 3'd4;
    wire       user_pending = rings_next != 4'd0;

    wire choose_paging = pending_reg[0] && paging_may_take;
    wire choose_user = user_pending && user_may_take;
    // Nothing more in this ring: look again at its next doorbell.
    wire there = state_reg == S_CHECK && there_reg;
    wire drained = there && ((word_reg == R_CONTROL && !ring_rdata[0]) || (word_reg == R_PRODUCER && ring_rdata == issued_now));

    localparam [15:0] CONTROL_OFFSET = `FERRY_BAR0_RING_CONTROL;
    localparam [15:0] PRODUCER_OFFSET = `FERRY_BAR0_RING_PRODUCER;
    localparam [15:0] ENTRIES_OFFSET = `FERRY_BAR0_RING_ENTRIES_LOG2;
    localparam [15:0] BASE_OFFSET = `FERRY_BAR0_RING_BASE;
    localparam [15:0] RETIRED_OFFSET = `FERRY_BAR0_RING_RETIRED;

    wire [7:0] kick = {7'd0, ring_write && (ring_offset == PRODUCER_OFFSET[5:0] || ring_offset == CONTROL_OFFSET[5:0])} << ring_number;
    wire [7:0] looked = {7'd0, state_reg == S_IDLE && check} << ring_chosen;
    // The host stops or moves the ring that is looked at: what was read of it may be half old.
    wire moved = ring_write && ring_number == ring_reg && ring_offset != PRODUCER_OFFSET[5:0] &&
                 (state_reg == S_CHECK || state_reg == S_PLACE || state_reg == S_ENTRY);
    wire [7:0] goes_on = {7'd0, take || moved} << ring_reg;

    assign ring_read = (state_reg == S_CHECK && ask_reg <= R_BASE_HIGH) || (rewind && !there_reg);
    always @* begin
        case (ask_reg)
        R_CONTROL:  ring_word = CONTROL_OFFSET[5:0];
        R_PRODUCER: ring_word = PRODUCER_OFFSET[5:0];
        R_ENTRIES:  ring_word = ENTRIES_OFFSET[5:0];
        R_BASE_LOW: ring_word = BASE_OFFSET[5:0];
        default:    ring_word = BASE_OFFSET[5:0] + 6'd4;
        endcase
        if (rewind) begin
            ring_word = RETIRED_OFFSET[5:0];
        end
    end

    // --- Addresses -----------------------------------------------------------------------------------------------------

    // At most 4096 entries a ring.
    wire [11:0] entry_number = issued_now[11:0] & ~(12'hfff << entries_log2_reg);
    // Beats to the next 2 KiB boundary, and beats left.
    wire [9:0]  beats_to_edge = 10'd256 - {2'd0, address_reg[10:3]};
    wire [9:0]  beats_left = bytes_reg[12:3];
    wire        burst_final = beats_left <= beats_to_edge;
    wire [9:0]  burst_beats = burst_final ? beats_left : beats_to_edge;
    wire [9:0]  burst_length = burst_beats - 10'd1;
    // The address of a ring or of a buffer comes in halves; then the next entry's place, or what was asked for, is added.
    wire        load_low = (there && word_reg == R_BASE_LOW) || (look && look_reg == F_ADDRESS_LOW);
    wire        load_high = (there && word_reg == R_BASE_HIGH) || (look && look_reg == F_ADDRESS_HIGH);
    wire [31:0] half;
    ferry_choice #(.WIDTH(32)) loaded (.second(look), .word0(ring_rdata), .word1(fact), .chosen(half));
    wire [13:0] address_step = state_reg == S_PLACE ? {entry_number, 2'd0} : {4'd0, burst_beats};
    wire [64:3] address_next = {1'b0, address_reg} + {48'd0, address_step};
    wire        add = state_reg == S_PLACE || issue;

    always @(posedge clk) begin
        if (load_low || add) begin
            address_reg[31:3] <= add ? address_next[31:3] : state_reg == S_CHECK ? {half[31:5], 2'd0} : half[31:3];
        end
        if (load_high || add) begin
            address_reg[63:32] <= add ? address_next[63:32] : half;
        end
    end

    // --- Asking --------------------------------------------------------------------------------------------------------

    localparam [1:0] K_ENTRY  = 2'd0;
    localparam [1:0] K_BUFFER = 2'd1;
    localparam [1:0] K_MARKER = 2'd2;
    localparam [1:0] K_BEYOND = 2'd3;

    wire        fact_write;
    wire [1:0]  fact_write_slot;
    wire [1:0]  fact_write_index;
    wire [63:0] fact_write_data;
    wire        describe;
    wire        describe_interrupt;
    wire [3:0]  describe_space;
    wire        describe_virtual_only;
    wire [7:0]  describe_fault;
    wire        describe_unread;
    wire        complete;
    wire        complete_failed;
    wire        queue_full;
    wire        queue_empty;
    wire        look_fault;

    wire look = state_reg == S_LOOK;
    wire look_none = look_reg == F_BYTES && (look_fault || fact[12:3] == 10'd0);
    wire address_free = !m_axi_arvalid || m_axi_arready;
    wire take = state_reg == S_ENTRY && address_free && !queue_full;
    wire issue = state_reg == S_BUFFER && address_free && !queue_full;
    wire put_marker = look && look_none && !queue_full;
    wire rewind = state_reg == S_REWIND;
    wire rewound = rewind && there_reg;

    assign wound = state_reg == S_WOUND;
    assign fact_ready = !look;
    assign busy = !queue_empty || state_reg == S_CHECK || state_reg == S_PLACE || state_reg == S_ENTRY || state_reg == S_LOOK ||
                  state_reg == S_BUFFER;
    assign ring_select = ring_reg;
    assign fetched = issued[ring_number];

    ferry_fetch_receive #(.SLOT_BYTES_LOG2(SLOT_BYTES_LOG2), .PAGE_TABLES(PAGE_TABLES)) receive (
        .clk(clk), .rst(rst),
        .push(take || issue || put_marker), .push_kind(take ? (beyond_reg ? K_BEYOND : K_ENTRY) : issue ? K_BUFFER : K_MARKER),
        .push_final(!issue || burst_final), .push_slot(take ? free_slot : slot_reg),
        .full(queue_full), .empty(queue_empty),
        .fact_write(fact_write), .fact_slot(fact_write_slot), .fact_index(fact_write_index), .fact_data(fact_write_data),
        .describe(describe), .describe_interrupt(describe_interrupt), .describe_space(describe_space),
        .describe_virtual_only(describe_virtual_only), .describe_fault(describe_fault), .describe_unread(describe_unread),
        .complete(complete), .complete_failed(complete_failed),
        .write_valid(write_valid), .write_address(write_address), .write_data(write_data),
        .m_axi_rdata(m_axi_r[`FERRY_AXI_R_DATA_RANGE]), .m_axi_rresp(m_axi_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .m_axi_rlast(m_axi_r[`FERRY_AXI_R_LAST_RANGE]), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready)
    );

    ferry_fetch_slots #(.SLOTS(SLOTS)) slots (
        .clk(clk), .rst(rst), .clear(rewind),
        .free_slot(free_slot), .paging_may_take(paging_may_take), .user_may_take(user_may_take),
        .take(take), .take_ring(ring_reg), .take_entry(issued_now[4:0] + 5'd1),
        .write(fact_write), .write_slot(fact_write_slot), .write_index(fact_write_index), .write_data(fact_write_data),
        .describe(describe), .describe_interrupt(describe_interrupt), .describe_space(describe_space),
        .describe_virtual_only(describe_virtual_only), .describe_fault(describe_fault), .describe_unread(describe_unread),
        .complete(complete), .complete_failed(complete_failed),
        .look(look), .look_slot(slot_reg), .look_word(look_reg), .look_fault(look_fault),
        .fact_valid(fact_valid), .fact_slot(fact_slot), .fact_word(fact_word), .fact(fact), .fact_unread(fact_unread),
        .next(next), .claim(claim),
        .select(select), .select_slot(select_slot), .interrupts(interrupts), .spaces(spaces),
        .release_slot(release_slot), .release_number(release_number),
        .used(used), .ready(ready), .tags(tags)
    );

    // --- Sequencer -----------------------------------------------------------------------------------------------------

    wire       check = run && arrived_empty && !hold && (choose_paging || choose_user);
    wire [2:0] ring_chosen = choose_paging ? 3'd0 : user_ring;

    always @(posedge clk) begin
        if (describe) begin
            arrived[arrived_in_reg[1:0]] <= fact_write_slot;
        end
        if (take || rewound) begin
            issued[ring_reg] <= rewind ? ring_rdata : issued_now + 32'd1;
        end
    end

    always @(posedge clk) begin
        // A ring that gave an entry or was moved is looked at again, and one whose doorbell rang while or after it was looked at.
        pending_reg <= (pending_reg & ~looked[4:0]) | goes_on[4:0] | kick[4:0] | {5{rewind}};
        arrived_in_reg <= arrived_in_reg + {2'd0, describe};
        there_reg <= ring_read && ring_taken;
        if (m_axi_arready) begin
            m_axi_arvalid <= 1'b0;
        end

        case (state_reg)
        S_IDLE: begin
            ask_reg <= R_CONTROL;
            word_reg <= R_CONTROL;
            look_reg <= F_BYTES;
            if (!run) begin
                state_reg <= S_STOP;
            end else if (!arrived_empty) begin
                slot_reg <= arrived[arrived_out_reg[1:0]];
                arrived_out_reg <= arrived_out_reg + 3'd1;
                state_reg <= S_LOOK;
            end else if (check) begin
                ring_reg <= ring_chosen;
                state_reg <= S_CHECK;
            end
        end
        S_CHECK: begin
            if (ring_read && ring_taken) begin
                ask_reg <= ask_reg + 3'd1;
            end
            if (there_reg) begin
                word_reg <= word_reg + 3'd1;
                if (word_reg == R_ENTRIES) begin
                    entries_log2_reg <= ring_rdata[4:0];
                end
                state_reg <= drained ? S_IDLE : word_reg == R_BASE_HIGH ? S_PLACE : S_CHECK;
            end
        end
        S_PLACE: begin
            beyond_reg <= address_next[64];
            state_reg <= S_ENTRY;
        end
        S_ENTRY:
            if (take) begin
                araddr_reg <= {address_reg, 3'd0};
                arlen_reg <= 8'd3;
                m_axi_arvalid <= !beyond_reg;
                turn_reg <= ring_reg == 3'd0 ? turn_reg : ring_reg;
                state_reg <= S_IDLE;
            end
        S_LOOK: begin
            if (look_reg == F_BYTES) begin
                bytes_reg <= fact[12:0];
            end
            if (!look_none) begin
                look_reg <= look_reg == F_BYTES ? F_ADDRESS_LOW : F_ADDRESS_HIGH;
                state_reg <= look_reg == F_ADDRESS_HIGH ? S_BUFFER : S_LOOK;
            end else if (put_marker) begin
                state_reg <= S_IDLE;
            end
        end
        S_BUFFER:
            if (issue) begin
                araddr_reg <= {address_reg, 3'd0};
                arlen_reg <= burst_length[7:0];
                m_axi_arvalid <= 1'b1;
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
            arrived_out_reg <= arrived_in_reg;
            if (there_reg) begin
                ring_reg <= ring_reg + 3'd1;
                if (ring_reg == LAST_RING) begin
                    state_reg <= S_WOUND;
                end
            end
        end
        default:
            if (run) begin
                state_reg <= S_IDLE;
            end
        endcase
        if (moved) begin
            state_reg <= S_IDLE;
        end

        if (rst) begin
            state_reg <= S_STOP;
            turn_reg <= 3'd1;
            m_axi_arvalid <= 1'b0;
            there_reg <= 1'b0;
            arrived_in_reg <= 3'd0;
            arrived_out_reg <= 3'd0;
        end
    end

`ifdef FORMAL
        reg past_valid = 1'b0;
        // While the core is stopped: an entry was asked for, or the last of a buffer; something of a buffer was.
        reg formal_asked = 1'b0;
        reg formal_within = 1'b0;
        wire [9:0] end_in_block = {2'd0, araddr_reg[10:3]} + {2'd0, arlen_reg} + 10'd1;
        always @(posedge clk) begin
            past_valid <= 1'b1;
            formal_asked <= !rst && !run && (formal_asked || take || (issue && burst_final));
            formal_within <= !rst && !run && (formal_within || issue);
            if (!past_valid) begin
                assume (rst);
            end else begin
                // No burst leaves a 2 KiB block, hence no page.
                if (m_axi_arvalid) begin
                    assert (end_in_block <= 10'd256);
                end
                // An entry is a multiple of its length, so that none leaves a page either.
                if (state_reg == S_ENTRY || state_reg == S_PLACE || (state_reg == S_CHECK && word_reg == R_BASE_HIGH)) begin
                    assert (address_reg[4:3] == 2'd0);
                end
                if (state_reg == S_BUFFER || (state_reg == S_LOOK && look_reg != F_BYTES)) begin
                    assert (beats_left != 10'd0);
                end
                assert (word_reg <= R_BASE_HIGH || state_reg != S_CHECK);
                // A core that is stopped has one more entry read, or what is left of one buffer.
                if (!run && formal_asked) begin
                    assert (state_reg == S_IDLE || state_reg == S_STOP || state_reg == S_REWIND || state_reg == S_WOUND);
                    assert (!take && !issue);
                end
                if (!run && formal_within) begin
                    assert (state_reg == S_BUFFER || formal_asked);
                    assert (!take);
                end
                // Wound back, started, and a ring's entry is asked for.
                cover (m_axi_arvalid && state_reg == S_IDLE);
            end
        end
        axi4_address_properties #(.BEATS(256)) ar_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(m_axi_arvalid), .ready(m_axi_arready),
            .page_offset(araddr_reg[11:0]), .page(araddr_reg[63:12]), .length(arlen_reg),
            .extra(m_axi_ar[`FERRY_AXI_A_NO_SNOOP_RANGE])
        );
`endif

    wire unused = &{1'b0, half[2:0], burst_length[9:8], kick, looked, goes_on, m_axi_r};

endmodule

`default_nettype wire
