// SPDX-License-Identifier: Apache-2.0
// Reorder memory: completions write the slot of their tag in any order, the AXI4 read data channel is served from the
// slots in the order of the requests, one beat a cycle across slots. A beat that was read goes on through flip-flops: block
// RAM gives it half a cycle late, and whoever takes it has some way to go with it.
`default_nettype none
`include "ferry_contract.vh"

module ferry_reorder #(
    // log2 of the tags; a slot of 64 beats each.
    parameter LG_TAGS = 5,
    // Width of the AXI ids.
    parameter ID_WIDTH = 2
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // One-cycle pulse: tag next_tag was taken for a request of so many beats (0: passed over).
    input  wire                take,
    input  wire [LG_TAGS:0]    next_tag,
    input  wire [6:0]          take_beats,
    input  wire                take_last,
    input  wire [ID_WIDTH-1:0] take_id,
    // Mark of the request, kept for the tag table.
    input  wire                take_mark,

    // Completion data.
    input  wire                write_valid,
    input  wire [LG_TAGS+5:0]  write_address,
    input  wire [63:0]         write_data,

    // The oldest tag that is not delivered, its state.
    output reg  [LG_TAGS:0]    oldest_tag,
    output wire                oldest_mark,
    input  wire                oldest_waits,
    input  wire [1:0]          oldest_fault,

    // AXI4 slave, read data channel.
    output reg  [ID_WIDTH-1:0] s_axi_rid,
    output reg  [63:0]         s_axi_rdata,
    output wire [1:0]          s_axi_rresp,
    output reg  [7:0]          s_axi_rfault,
    output reg                 s_axi_rlast,
    output reg                 s_axi_rvalid,
    input  wire                s_axi_rready
);
    localparam TAGS = 1 << LG_TAGS;

    // A slot is read only after it has been written.
    (* no_rw_check *)
    reg [63:0]         data_memory [0:64 * TAGS - 1];
    // {mark, id, last of its burst, beats}
    reg [ID_WIDTH+8:0] request_memory [0:TAGS-1];

    // The beat that was read.
    reg                read_valid_reg;
    reg [ID_WIDTH-1:0] read_id_reg;
    reg [63:0]         read_data_reg;
    reg [1:0]          read_fault_reg;
    reg                read_last_reg;

    // A slot is being delivered, and its next beat.
    reg       inside_reg;
    reg [5:0] index_reg;

    wire [ID_WIDTH+8:0] request = request_memory[oldest_tag[LG_TAGS-1:0]];
    wire [6:0] beats = request[6:0];
    wire       outstanding = oldest_tag != next_tag;
    wire       ready = outstanding && !oldest_waits;
    wire       pass = outstanding && !inside_reg && beats == 7'd0;
    wire       moves = !s_axi_rvalid || s_axi_rready;
    wire       advance = !read_valid_reg || moves;
    wire       read = advance && (inside_reg || (ready && beats != 7'd0));
    // The data of a request ends at the last beat of its slot.
    wire [5:0] index = inside_reg ? index_reg : 6'd0 - beats[5:0];
    wire       slot_end = index == 6'd63;

    assign oldest_mark = request[ID_WIDTH+8];
    assign s_axi_rresp = {s_axi_rfault != `FERRY_FAULT_KIND_NONE, 1'b0};

    always @(posedge clk) begin
        if (take)
            request_memory[next_tag[LG_TAGS-1:0]] <= {take_mark, take_id, take_last, take_beats};
        if (write_valid)
            data_memory[write_address] <= write_data;
        if (read)
            read_data_reg <= data_memory[{oldest_tag[LG_TAGS-1:0], index}];
    end

    always @(posedge clk) begin
        if (moves) begin
            s_axi_rvalid <= read_valid_reg;
            s_axi_rid <= read_id_reg;
            s_axi_rdata <= read_data_reg;
            s_axi_rlast <= read_last_reg;
            case (read_fault_reg)
            2'd0: s_axi_rfault <= `FERRY_FAULT_KIND_NONE;
            2'd1: s_axi_rfault <= `FERRY_FAULT_KIND_HOST_UNSUPPORTED;
            2'd2: s_axi_rfault <= `FERRY_FAULT_KIND_HOST_ABORT;
            default: s_axi_rfault <= `FERRY_FAULT_KIND_COMPLETION_TIMEOUT;
            endcase
        end
        if (read) begin
            read_id_reg <= request[ID_WIDTH+7:8];
            read_last_reg <= slot_end && request[7];
            read_fault_reg <= oldest_fault;
            inside_reg <= !slot_end;
            index_reg <= index + 6'd1;
        end
        if (advance)
            read_valid_reg <= read;
        if ((read && slot_end) || pass)
            oldest_tag <= oldest_tag + {{LG_TAGS{1'b0}}, 1'b1};
        if (rst) begin
            inside_reg <= 1'b0;
            read_valid_reg <= 1'b0;
            s_axi_rvalid <= 1'b0;
            // The mux behind follows it before the first beat comes, which simulators with unknown values take badly.
            read_id_reg <= {ID_WIDTH{1'b0}};
            s_axi_rid <= {ID_WIDTH{1'b0}};
            oldest_tag <= {LG_TAGS + 1{1'b0}};
        end
    end

`ifdef FORMAL
    // Requests are delivered in the order in which they were taken, each with as many beats as it asked for, the last of a
    // burst marked and no other; none begins while its tag still waits; what is offered stands until it is taken.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    wire [LG_TAGS:0] used = next_tag - oldest_tag;
    reg  [LG_TAGS:0] next_shown;
    reg              took;
    reg  [6:0]       given;
    // Beats that were read and not taken; what the flip-flops behind the memory held, if it went on.
    reg  [1:0]       on_way;
    reg              moved;
    reg  [64:0]      was_read;
    always @(*) begin
        // One tag at a time, and never more than there are.
        if (past_valid)
            assume (next_tag == next_shown + {{LG_TAGS{1'b0}}, took});
        assume (!take || used < TAGS);
        assume (take_beats <= 7'd64);
    end
    always @(posedge clk) begin
        next_shown <= next_tag;
        took <= take;
        if (read)
            given <= slot_end ? 7'd0 : given + 7'd1;
        on_way <= on_way + {1'b0, read} - {1'b0, s_axi_rvalid && s_axi_rready};
        moved <= moves && read_valid_reg;
        was_read <= {read_last_reg, read_data_reg};
        if (rst) begin
            on_way <= 2'd0;
            moved <= 1'b0;
            next_shown <= {LG_TAGS + 1{1'b0}};
            took <= 1'b0;
            given <= 7'd0;
        end
    end
    // The entry of a tag that is in use says what the request said, for any one tag.
    (* anyconst *) reg [LG_TAGS:0] place;
    reg                held;
    reg [ID_WIDTH+8:0] asked;
    always @(posedge clk) begin
        if (take && next_tag == place) begin
            held <= 1'b1;
            asked <= {take_mark, take_id, take_last, take_beats};
        end
        if (((read && slot_end) || pass) && oldest_tag == place)
            held <= 1'b0;
        if (rst)
            held <= 1'b0;
    end
    wire [LG_TAGS:0] ahead = place - oldest_tag;
    always @(*) if (past_valid) begin
        assert (used <= TAGS && (!inside_reg || used != 0));
        assert (held == (ahead < used));
        if (held)
            assert (request_memory[place[LG_TAGS-1:0]] == asked && asked[6:0] <= 7'd64);
        assert (inside_reg == (given != 7'd0) && (!inside_reg || {1'b0, index_reg} >= given));
        if (place == oldest_tag) begin
            if (inside_reg)
                assert (held && given < asked[6:0] && {1'b0, index_reg} == 7'd64 - asked[6:0] + given);
            if (read)
                assert (held && (inside_reg || !oldest_waits) && slot_end == (given + 7'd1 == asked[6:0]));
        end
        assert (on_way == {1'b0, read_valid_reg} + {1'b0, s_axi_rvalid});
        if (moved)
            assert (s_axi_rvalid && {s_axi_rlast, s_axi_rdata} == was_read);
    end
    valid_ready_properties #(.WIDTH(65)) kept (
        .clk(clk), .rst(rst), .valid(s_axi_rvalid), .ready(s_axi_rready), .data({s_axi_rlast, s_axi_rdata})
    );
    always @(posedge clk) begin
        cover (past_valid && read && slot_end && given == 7'd2);
        cover (past_valid && pass);
    end
`endif
endmodule

`default_nettype wire
