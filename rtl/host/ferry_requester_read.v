// SPDX-License-Identifier: Apache-2.0
// AXI4 read requests of the host port to memory read requests. A burst is cut at multiples of the maximum read request
// (so no request crosses 4 KiB), each part takes the next tag in turn, and a tag that is still waiting for a completion
// that timed out is passed over, and so is ferry_requester_line's.
`default_nettype none

module ferry_requester_read #(
    // log2 of the tags.
    parameter LG_TAGS = 5,
    // Width of the AXI ids.
    parameter ID_WIDTH = 2,
    // 1: the highest tag is somebody else's, and is passed over.
    parameter [0:0] LINES = 1
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Configuration: requests may be sent; 0 = 128, 1 = 256, 2 = 512 bytes; No Snoop allowed.
    input  wire        bus_master,
    input  wire [1:0]  max_read,
    input  wire        no_snoop_enable,
    // Requests that have not begun are not sent: they take the next tag, late or not, as one that has its answer.
    input  wire        discard,
    // No burst is under way.
    output wire        idle,
    // Tags in use at most; 0 = all.
    input  wire [7:0]  tag_limit,

    // AXI4 slave, read address channel.
    input  wire [ID_WIDTH-1:0] s_axi_arid,
    input  wire [63:3]         s_axi_araddr,
    input  wire [7:0]          s_axi_arlen,
    input  wire                s_axi_arnosnoop,
    input  wire                s_axi_arvalid,
    output wire                s_axi_arready,

    // The next tag, with one bit more than a tag to tell full from empty; the oldest tag that is not yet delivered.
    output reg  [LG_TAGS:0]    next_tag,
    input  wire [LG_TAGS:0]    oldest_tag,
    // The next tag may not be used now.
    input  wire                next_tag_late,
    // Take next_tag for a request of so many 8-byte beats; 0 = pass it over. Held until ready.
    output wire                take_valid,
    output wire [6:0]          take_beats,
    output wire                take_unsent,
    // The request is the last of its burst; id of the burst.
    output wire                take_last,
    output wire [ID_WIDTH-1:0] take_id,
    input  wire                take_ready,

    // The request, to ferry_transmit: stable until done, a pulse with its last beat.
    output wire        packet_valid,
    input  wire        packet_begun,
    input  wire        packet_done,
    output wire [63:3] packet_address,
    output wire [6:0]  packet_beats,
    output wire [7:0]  packet_tag,
    output wire        packet_no_snoop
);
    localparam [1:0] S_IDLE = 2'd0;
    localparam [1:0] S_CUT = 2'd1;
    localparam [1:0] S_SEND = 2'd2;
    localparam [1:0] S_TAKE = 2'd3;

    reg [1:0]          state_reg;
    reg [63:3]         address_reg;
    // Beats left and beats of this request, less one.
    reg [7:0]          left_reg;
    reg [5:0]          chunk_reg;
    reg [ID_WIDTH-1:0] id_reg;
    reg                no_snoop_reg;
    reg                unsent_reg;

    wire [LG_TAGS:0] used = next_tag - oldest_tag;
    wire tag_free = !used[LG_TAGS] && (tag_limit == 8'd0 || {{7-LG_TAGS{1'b0}}, used} < tag_limit);
    wire passed = LINES && next_tag[LG_TAGS-1:0] == {LG_TAGS{1'b1}};
    // Beats up to the next multiple of the maximum read request, less one.
    wire [5:0] to_edge = ~address_reg[8:3] & {max_read[1], max_read != 2'd0, 4'hf};
    wire [6:0] beats = {1'b0, chunk_reg} + 7'd1;

    assign s_axi_arready = state_reg == S_IDLE;
    assign take_valid = state_reg == S_TAKE || (state_reg == S_CUT && tag_free && (passed || (next_tag_late && !discard)));
    assign take_beats = state_reg == S_TAKE ? beats : 7'd0;
    assign take_unsent = unsent_reg;
    assign take_last = left_reg == {2'd0, chunk_reg};
    assign take_id = id_reg;
    assign idle = state_reg == S_IDLE;
    assign packet_valid = state_reg == S_SEND && bus_master && !discard;
    assign packet_address = address_reg;
    assign packet_beats = beats;
    assign packet_tag = {{8-LG_TAGS{1'b0}}, next_tag[LG_TAGS-1:0]};
    assign packet_no_snoop = no_snoop_reg && no_snoop_enable;

    always @(posedge clk) begin
        case (state_reg)
        S_IDLE: begin
            address_reg <= s_axi_araddr;
            left_reg <= s_axi_arlen;
            id_reg <= s_axi_arid;
            no_snoop_reg <= s_axi_arnosnoop;
            if (s_axi_arvalid)
                state_reg <= S_CUT;
        end
        S_CUT: begin
            chunk_reg <= left_reg <= {2'd0, to_edge} ? left_reg[5:0] : to_edge;
            if (tag_free && !passed && (discard || (bus_master && !next_tag_late)))
                state_reg <= S_SEND;
        end
        S_SEND: begin
            unsent_reg <= !packet_done;
            if (packet_done || (discard && !packet_begun))
                state_reg <= S_TAKE;
        end
        default: begin
            if (take_ready) begin
                address_reg[11:3] <= address_reg[11:3] + {2'd0, beats};
                left_reg <= left_reg - {1'b0, beats};
                state_reg <= take_last ? S_IDLE : S_CUT;
            end
        end
        endcase
        if (take_valid && take_ready)
            next_tag <= next_tag + {{LG_TAGS{1'b0}}, 1'b1};
        if (rst) begin
            state_reg <= S_IDLE;
            next_tag <= {LG_TAGS + 1{1'b0}};
        end
    end

`ifdef FORMAL
    localparam TAGS = 1 << LG_TAGS;
    // The requests of a burst cover it, one behind the other and each inside one block of the maximum read request; one is
    // sent with a tag that is free and not late, as a bus master, and is taken once, after it was sent or thrown away.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    // The burst: where it begins, its beats, and those of requests that were taken.
    reg [63:3] first;
    reg [8:0]  wanted;
    reg [8:0]  covered;
    // This request was begun, and sent.
    reg        begun;
    reg        sent;
    reg [1:0]  set_read;
    reg        discard_before;
    reg        idle_before;
    reg [LG_TAGS:0] oldest_before;
    reg [LG_TAGS:0] used_before;
    reg        late_before;
    reg        next_before;
    wire       takes = take_valid && take_ready;
    wire [63:3] where = first + {52'd0, covered};

    always @(*) begin
        // AXI4 A3.4.1: a burst stays inside 4 KiB.
        assume (!s_axi_arvalid || {1'b0, s_axi_araddr[11:3]} + {2'd0, s_axi_arlen} < 10'd512);
        // ferry_transmit begins with what is shown, and ends what it began.
        assume (!(packet_begun || packet_done) || packet_valid || begun);
        assume (!begun || packet_begun);
        assume (!packet_done || !sent);
        assume (max_read <= 2'd2);
        if (past_valid) begin
            // The host changes it while nothing is asked for (ferry_config takes it so).
            assume (idle || max_read == set_read);
            // A function reset ends behind a cycle in which nothing is under way (ferry_function_reset).
            assume (!discard_before || discard || idle_before);
            // Requests are delivered in order, those that there are (ferry_reorder); a tag becomes late while it is in use only
            // (ferry_tag_table).
            assume (oldest_tag - oldest_before <= (used_before != 0));
            assume (!next_tag_late || late_before || next_before);
        end else begin
            assume (oldest_tag == 0);
        end
    end

    always @(posedge clk) begin
        set_read <= max_read;
        discard_before <= discard;
        idle_before <= idle;
        oldest_before <= oldest_tag;
        used_before <= next_tag - oldest_tag;
        late_before <= next_tag_late;
        next_before <= takes || rst;
        if (s_axi_arvalid && s_axi_arready) begin
            first <= s_axi_araddr;
            wanted <= {1'b0, s_axi_arlen} + 9'd1;
            covered <= 9'd0;
        end
        if (takes)
            covered <= covered + {2'd0, take_beats};
        begun <= (packet_begun || begun) && !packet_done;
        sent <= (packet_done || sent) && !takes;
        if (rst) begin
            begun <= 1'b0;
            sent <= 1'b0;
            discard_before <= 1'b0;
            used_before <= {LG_TAGS + 1{1'b0}};
        end
    end

    wire [6:0] block = max_read[1] ? 7'd64 : max_read[0] ? 7'd32 : 7'd16;
    always @(*) if (past_valid) begin
        assert (used <= TAGS);
        if (state_reg != S_IDLE) begin
            assert (covered < wanted && wanted <= 9'd256);
            assert ({1'b0, first[11:3]} + {1'b0, wanted} <= 10'd512);
            assert (address_reg == where);
            assert ({1'b0, left_reg} == wanted - covered - 9'd1);
        end
        if (state_reg == S_SEND || state_reg == S_TAKE) begin
            assert (used < TAGS);
            // Inside the burst, and inside a block.
            assert ({2'd0, beats} <= wanted - covered);
            assert ({1'b0, packet_address[8:3] & (block[5:0] - 6'd1)} + beats <= block);
        end
        assert (!(state_reg == S_SEND && next_tag_late) || discard);
        if (packet_valid) begin
            assert (bus_master || begun);
            assert (!next_tag_late && used < TAGS);
        end
        if (state_reg == S_SEND || state_reg == S_TAKE)
            assert (!passed);
        // Taken with its beats once it was sent, without if not; passed over only when it is late.
        assert (!begun || state_reg == S_SEND);
        assert (!sent || state_reg == S_TAKE);
        assert (state_reg != S_TAKE || unsent_reg != sent);
        if (takes) begin
            assert (take_beats != 7'd0 ? take_unsent != sent : (next_tag_late || passed) && !sent && state_reg == S_CUT);
            assert (!(take_beats != 7'd0) || take_last == (covered + {2'd0, take_beats} == wanted));
            assert (used < TAGS);
        end
    end
    always @(posedge clk) begin
        cover (past_valid && takes && take_last && covered == 9'd32 && !take_unsent);
        cover (past_valid && takes && take_beats == 7'd0);
        cover (past_valid && takes && take_unsent && take_beats != 7'd0);
    end
`endif
endmodule

`default_nettype wire
