// SPDX-License-Identifier: Apache-2.0
// Reads of up to 64 bytes of host memory that stay behind nobody: the page-table unit's. What the engine has asked of the
// host waits in ferry_reorder for room, which may come only once a page has been translated; so these have a tag and a place
// of their own, and are sent, answered and given one after the other. A burst is inside 64 bytes, so one request asks for
// it whatever the largest read request is. An answer is as good as the tag table says; what is not sent, or has a tag that
// is still late, ends in an error at once.
`default_nettype none

module ferry_requester_line (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Configuration: requests may be sent; No Snoop allowed.
    input  wire        bus_master,
    input  wire        no_snoop_enable,
    // A request that has not begun is not sent, nor is what is asked for meanwhile, and no answer counts.
    input  wire        discard,
    // No request is in front of the link or waits for its answer. What was answered may still be given.
    output wire        idle,

    // AXI4 slave, read channels: bursts of 1 to 8 beats inside 64 bytes.
    input  wire [63:3] s_axi_araddr,
    input  wire [2:0]  s_axi_arlen,
    input  wire        s_axi_arnosnoop,
    input  wire        s_axi_arvalid,
    output wire        s_axi_arready,
    output wire [63:0] s_axi_rdata,
    output wire [1:0]  s_axi_rresp,
    output wire        s_axi_rlast,
    output wire        s_axi_rvalid,
    input  wire        s_axi_rready,

    // The request, as ferry_requester_read's: stable until done once it has begun.
    output wire        packet_valid,
    input  wire        packet_begun,
    input  wire        packet_done,
    output wire [63:3] packet_address,
    output wire [3:0]  packet_beats,
    output wire        packet_no_snoop,

    // The tag table: the tag is taken for a request that was sent, held until ready; mark of the request; the tag is late; it
    // waits, and how it ended.
    output wire        take_valid,
    input  wire        take_ready,
    input  wire        take_mark,
    output wire        mark,
    input  wire        late,
    input  wire        waits,
    input  wire [1:0]  fault,

    // A beat of the tag's data, and the low bits of its place: the last of them is 7.
    input  wire        write_valid,
    input  wire [2:0]  write_place,
    input  wire [63:0] write_data
);
    localparam [2:0] S_IDLE = 3'd0;
    localparam [2:0] S_SEND = 3'd1;
    localparam [2:0] S_TAKE = 3'd2;
    localparam [2:0] S_WAIT = 3'd3;
    localparam [2:0] S_GIVE = 3'd4;

    reg [63:0] data_memory [0:7];
    reg [2:0]  state_reg;
    reg [63:3] address_reg;
    reg        no_snoop_reg;
    // Beats of the request; the place of the first, then of the next that is given.
    reg [3:0]  beats_reg;
    reg [2:0]  place_reg;
    reg        mark_reg;
    reg        failed_reg;
    // The burst that is asked for was so already while nothing was sent.
    reg        stale_reg;

    wire withdrawn = (discard || late) && !packet_begun;

    // Whoever asks may wait for a memory that is dead before it takes what it has asked for here.
    assign idle = state_reg == S_IDLE || state_reg == S_GIVE;
    assign s_axi_arready = state_reg == S_IDLE;
    assign packet_valid = state_reg == S_SEND && bus_master && !discard && !late;
    assign packet_address = address_reg;
    assign packet_beats = beats_reg;
    assign packet_no_snoop = no_snoop_reg && no_snoop_enable;
    assign take_valid = state_reg == S_TAKE;
    assign mark = mark_reg;
    assign s_axi_rvalid = state_reg == S_GIVE;
    // With an error nothing of what came before for somebody else.
    assign s_axi_rdata = data_memory[place_reg] & {64{!failed_reg}};
    assign s_axi_rresp = {failed_reg, 1'b0};
    assign s_axi_rlast = place_reg == 3'd7;

    always @(posedge clk) begin
        if (write_valid)
            data_memory[write_place] <= write_data;
    end

    always @(posedge clk) begin
        case (state_reg)
        S_IDLE: begin
            address_reg <= s_axi_araddr;
            beats_reg <= {1'b0, s_axi_arlen} + 4'd1;
            place_reg <= ~s_axi_arlen;
            no_snoop_reg <= s_axi_arnosnoop;
            failed_reg <= 1'b1;
            if (s_axi_arvalid)
                state_reg <= discard || stale_reg ? S_GIVE : S_SEND;
        end
        S_SEND: begin
            failed_reg <= 1'b1;
            if (packet_done)
                state_reg <= S_TAKE;
            else if (withdrawn)
                state_reg <= S_GIVE;
        end
        S_TAKE: begin
            mark_reg <= take_mark;
            if (take_ready)
                state_reg <= S_WAIT;
        end
        S_WAIT: begin
            failed_reg <= fault != 2'd0 || discard;
            if (!waits)
                state_reg <= S_GIVE;
        end
        default: begin
            if (s_axi_rready) begin
                place_reg <= place_reg + 3'd1;
                if (s_axi_rlast)
                    state_reg <= S_IDLE;
            end
        end
        endcase
        stale_reg <= s_axi_arvalid && !s_axi_arready && (discard || stale_reg);
        if (rst) begin
            state_reg <= S_IDLE;
            stale_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    // A burst gets as many beats as it asked for, the last marked and no other; one that is not an error has the beats that
    // came for the tag since its request, each in its place; a request is sent as a bus master with a tag that is not late, once, and
    // is taken once.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    reg [3:0]  wanted;
    reg [3:0]  given;
    reg        sent;
    reg        begun;
    reg        taken;
    // Of any one place: what came there last.
    (* anyconst *) reg [2:0] follow;
    reg [63:0] came;
    reg        late_before;
    // What is asked for, and what is under way, stood there while nothing was sent.
    reg        asked_in_vain;
    reg        in_vain;
    reg        asked_before;

    always @(*) begin
        // AXI4 A3.2.1: what is asked for stays.
        if (past_valid)
            assume (!asked_before || s_axi_arvalid);
        // The page-table unit: no burst leaves its 64 bytes.
        assume (!s_axi_arvalid || {1'b0, s_axi_araddr[5:3]} + {1'b0, s_axi_arlen} < 4'd8);
        // ferry_transmit begins with what is shown, and ends what it began.
        assume (!(packet_begun || packet_done) || packet_valid || begun);
        assume (!begun || packet_begun);
        assume (!packet_done || packet_begun);
        // ferry_tag_table: a tag becomes late by a request of its own; beats come for one that waits.
        if (past_valid) begin
            assume (!late || late_before || taken);
            assume (!write_valid || (state_reg == S_WAIT && waits));
        end
    end

    always @(posedge clk) begin
        late_before <= late && !rst;
        if (s_axi_arvalid && s_axi_arready) begin
            wanted <= {1'b0, s_axi_arlen} + 4'd1;
            given <= 4'd0;
            sent <= 1'b0;
            taken <= 1'b0;
            in_vain <= asked_in_vain || discard;
        end
        asked_before <= s_axi_arvalid && !s_axi_arready && !rst;
        asked_in_vain <= s_axi_arvalid && !s_axi_arready && !rst && (asked_in_vain || discard);
        begun <= (packet_begun || begun) && !packet_done;
        sent <= (sent || packet_done) && !(s_axi_arvalid && s_axi_arready);
        taken <= (taken || (take_valid && take_ready)) && !(s_axi_arvalid && s_axi_arready);
        if (s_axi_rvalid && s_axi_rready)
            given <= given + 4'd1;
        if (write_valid && write_place == follow)
            came <= write_data;
        if (rst) begin
            begun <= 1'b0;
            sent <= 1'b0;
            taken <= 1'b0;
            late_before <= 1'b0;
        end
    end

    reg        any = 1'b0;
    always @(posedge clk) if (write_valid && write_place == follow) any <= 1'b1;
    always @(*) if (past_valid) begin
        assert (state_reg <= S_GIVE);
        if (any)
            assert (data_memory[follow] == came);
        if (state_reg != S_IDLE) begin
            assert (wanted != 4'd0 && wanted <= 4'd8 && given < wanted);
            assert (beats_reg == wanted && {1'b0, place_reg} == 4'd8 - wanted + given);
            assert ({2'd0, packet_address[5:3]} + {1'b0, packet_beats} <= 5'd8);
            assert (state_reg == S_GIVE || given == 4'd0);
            assert (sent == (state_reg == S_TAKE || state_reg == S_WAIT || (state_reg == S_GIVE && taken)));
            assert (taken == (state_reg == S_WAIT || (state_reg == S_GIVE && sent)));
            assert (!(state_reg == S_GIVE && !taken) || failed_reg);
        end
        assert (!begun || state_reg == S_SEND);
        if (packet_valid)
            assert (bus_master && !late && !in_vain);
        assert (stale_reg == asked_in_vain);
        assert (!in_vain || state_reg == S_GIVE || state_reg == S_IDLE);
        assert (!idle || (!packet_valid && !take_valid && !begun));
        if (s_axi_rvalid) begin
            assert (s_axi_rlast == (given + 4'd1 == wanted));
            if (failed_reg)
                assert (s_axi_rdata == 64'd0);
            else if (any && place_reg == follow)
                assert (s_axi_rdata == came);
        end
    end
    valid_ready_properties #(.WIDTH(67)) kept_answer (
        .clk(clk), .rst(rst), .valid(s_axi_rvalid), .ready(s_axi_rready), .data({s_axi_rlast, s_axi_rresp, s_axi_rdata})
    );
    always @(posedge clk) begin
        cover (past_valid && s_axi_rvalid && s_axi_rready && s_axi_rlast && !failed_reg && wanted == 4'd3);
        cover (past_valid && s_axi_rvalid && failed_reg && !taken);
        cover (past_valid && s_axi_rvalid && in_vain && !discard);
    end
`endif
endmodule

`default_nettype wire
