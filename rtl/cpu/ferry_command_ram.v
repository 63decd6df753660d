// SPDX-License-Identifier: Apache-2.0
// Command RAM: the slots into which ferry_fetch puts buffers. One write port (fetch) and one read port, which the core,
// the engine's and the aperture table's page lists and the sequencer share; the core comes first since it waits for each
// word, lists are prefetched by their readers and take few cycles, the sequencer has the rest.
// Slot n stands at n * 4096 for everybody, whatever a slot's real size is.
`default_nettype none

module ferry_command_ram #(
    // Command slots, 2 to 4.
    parameter SLOTS = 4,
    // log2 of the bytes of a slot, 9 to 12.
    parameter SLOT_BYTES_LOG2 = 12
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Write port of the fetcher: byte address (multiple of 8), never refused.
    input  wire        write_valid,
    input  wire [15:0] write_address,
    input  wire [63:0] write_data,

    // Core: byte address (multiple of 4), held until core_ready, with which the word is there.
    input  wire        core_valid,
    input  wire [15:0] core_address,
    output wire        core_ready,
    output wire [31:0] core_rdata,

    // Page lists of the engine: byte address (multiple of 8); data in order, one cycle after the request was taken, over a reset
    // too: a function reset leaves an engine as it is whose memory is dead, and that one waits for its answer.
    input  wire        list0_valid,
    output wire        list0_ready,
    input  wire [15:0] list0_address,
    output wire        list0_data_valid,
    output wire [63:0] list0_data,

    // Page lists of the aperture table, the same.
    input  wire        list1_valid,
    output wire        list1_ready,
    input  wire [15:0] list1_address,
    output wire        list1_data_valid,
    output wire [63:0] list1_data,

    // Packets of the sequencer, the same.
    input  wire        packet_valid,
    output wire        packet_ready,
    input  wire [15:0] packet_address,
    output wire        packet_data_valid,
    output wire [63:0] packet_data
);

    localparam SLOT_BITS = SLOTS > 2 ? 2 : 1;
    localparam INDEX_BITS = SLOT_BITS + SLOT_BYTES_LOG2 - 3;

    // Nobody uses what was read of a word in the cycle in which it was written: hold_reg sees to it for the core, and lists are
    // read of slots that are whole. Block RAM needs no way around it then.
    (* no_rw_check *)
    reg [63:0] memory [0:(1 << INDEX_BITS) - 1];
    reg [63:0] data_reg;

    // What data_reg holds: the core's double word (with its index), or what one of the other readers asked for.
    reg                  hold_reg;
    reg [INDEX_BITS-1:0] hold_index_reg;
    reg                  list0_reg;
    reg                  list1_reg;
    reg                  packet_reg;
    // The list that was served last, so that the other is next.
    reg                  turn_reg;

    wire [INDEX_BITS-1:0] write_index = {write_address[12 +: SLOT_BITS], write_address[SLOT_BYTES_LOG2-1:3]};
    wire [INDEX_BITS-1:0] core_index  = {core_address[12 +: SLOT_BITS], core_address[SLOT_BYTES_LOG2-1:3]};
    wire [INDEX_BITS-1:0] list0_index = {list0_address[12 +: SLOT_BITS], list0_address[SLOT_BYTES_LOG2-1:3]};
    wire [INDEX_BITS-1:0] list1_index = {list1_address[12 +: SLOT_BITS], list1_address[SLOT_BYTES_LOG2-1:3]};
    wire [INDEX_BITS-1:0] packet_index = {packet_address[12 +: SLOT_BITS], packet_address[SLOT_BYTES_LOG2-1:3]};

    // Packets are decoded from front to back. So when the core takes the upper word of a double word that is already here,
    // the next double word is read in the same cycle, and the core finds that one waiting too.
    wire core_hit  = hold_reg && hold_index_reg == core_index;
    wire core_read = core_valid && (!core_hit || core_address[2]);
    wire [INDEX_BITS-1:0] core_read_index;
    ferry_choice #(.WIDTH(INDEX_BITS)) ahead (
        .second(core_hit), .word0(core_index), .word1(core_index + 1'b1), .chosen(core_read_index)
    );

    assign core_ready = core_valid && core_hit;
    assign core_rdata = core_address[2] ? data_reg[63:32] : data_reg[31:0];

    wire list1_first = !(list0_valid && turn_reg == 1'b1);
    wire any_list = list0_valid || list1_valid;
    assign list0_ready = !core_read && !(list1_valid && turn_reg == 1'b0);
    assign list1_ready = !core_read && list1_first;
    wire list0_read = list0_valid && list0_ready;
    wire list1_read = list1_valid && list1_ready;
    assign packet_ready = !core_read && !any_list;
    wire packet_read = packet_valid && packet_ready;

    assign list0_data_valid = list0_reg;
    assign list1_data_valid = list1_reg;
    assign list0_data = data_reg;
    assign list1_data = data_reg;
    assign packet_data_valid = packet_reg;
    assign packet_data = data_reg;

    wire read_enable = core_read || list0_read || list1_read || packet_read;
    // In steps with a border: who is served is not worked out anew for each bit.
    wire [INDEX_BITS-1:0] list_index, other_index, read_index;
    ferry_choice #(.WIDTH(INDEX_BITS)) list (
        .second(list1_valid && list1_first), .word0(list0_index), .word1(list1_index), .chosen(list_index)
    );
    ferry_choice #(.WIDTH(INDEX_BITS)) other (.second(any_list), .word0(packet_index), .word1(list_index), .chosen(other_index));
    ferry_choice #(.WIDTH(INDEX_BITS)) reader (.second(core_read), .word0(other_index), .word1(core_read_index), .chosen(read_index));

    always @(posedge clk) begin
        if (write_valid) begin
            memory[write_index] <= write_data;
        end
        if (read_enable) begin
            data_reg <= memory[read_index];
        end
    end

    always @(posedge clk) begin
        list0_reg <= list0_read;
        list1_reg <= list1_read;
        packet_reg <= packet_read;
        if (list0_read) begin
            turn_reg <= 1'b0;
        end else if (list1_read) begin
            turn_reg <= 1'b1;
        end

        // A double word that the fetcher writes while or after it is read ahead must be read again: what was read ahead
        // past the end of one buffer may be the start of a buffer that is only now arriving.
        if (read_enable) begin
            hold_reg <= core_read && !(write_valid && write_index == core_read_index);
            hold_index_reg <= core_read_index;
        end else if (write_valid && write_index == hold_index_reg) begin
            hold_reg <= 1'b0;
        end

        if (rst) begin
            hold_reg  <= 1'b0;
            list1_reg <= 1'b0;
            packet_reg <= 1'b0;
            turn_reg  <= 1'b0;
        end
    end

`ifdef FORMAL
    // What the core is given stands in the memory now, be it that it was read ahead; each other reader gets the word that stood where
    // it asked as it was served, and nobody two of them. Lists that both wait are served in turn; the sequencer is when nobody else
    // asks. Behind an upper word that the core took the next double word is there, unless it is written in that cycle.
    reg past_valid = 1'b0;
    reg [63:0] stood;
    reg [2:0]  served;
    reg        last_list;
    reg        ahead_due = 1'b0;
    reg [INDEX_BITS-1:0] ahead_index;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        last_list <= !rst && (list1_read || (last_list && !list0_read));
        ahead_due <= past_valid && !rst && core_ready && core_address[2] && !(write_valid && write_index == core_index + 1'b1);
        ahead_index <= core_index + 1'b1;
        served <= {packet_read, list1_read, list0_read} & {~{2{rst}}, 1'b1};
        stood <= memory[list0_read ? list0_index : list1_read ? list1_index : packet_index];
        cover (past_valid && !rst && core_ready && core_address[2] && hold_reg && write_valid);
        cover (past_valid && !rst && list1_reg && list0_read);
    end
    always @(*) begin
        assume (past_valid || rst);
        if (past_valid && !rst) begin
            assert (!hold_reg || data_reg == memory[hold_index_reg]);
            assert (!core_ready || core_rdata == (core_address[2] ? memory[core_index][63:32] : memory[core_index][31:0]));
            assert ({packet_data_valid, list1_data_valid, list0_data_valid} == served);
            assert (served == 3'd0 || data_reg == stood);
            assert (served[0] + served[1] + served[2] + hold_reg <= 1);
            assert (last_list == turn_reg);
            assert (!(list0_valid && list1_valid) || core_read || (last_list ? list0_read : list1_read));
            assert (core_read || any_list || packet_ready);
            assert (!ahead_due || (hold_reg && hold_index_reg == ahead_index));
        end
    end
`endif

    wire unused = &{1'b0, write_address, core_address[15:0], list0_address, list1_address, packet_address};

endmodule

`default_nettype wire
