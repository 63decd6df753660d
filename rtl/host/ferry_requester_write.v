// SPDX-License-Identifier: Apache-2.0
// AXI4 writes of the host port to posted memory writes. Data is collected into one of four slots of a maximum payload
// each and sent when the packet is complete, since its header tells length and byte enables. Packets end at multiples of
// the maximum payload (so none crosses 4 KiB), at the last strobed byte, and at the end of the burst. While one packet is
// sent, the next waits and the one behind it is collected: packets leave without idle beats.
`default_nettype none

module ferry_requester_write #(
    // Width of the AXI ids.
    parameter ID_WIDTH = 2
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Configuration: packets may be sent; 0 = 128, 1 = 256 bytes; No Snoop allowed.
    input  wire        bus_master,
    input  wire        max_payload,
    input  wire        no_snoop_enable,
    // Packets that have not begun are thrown away, and count as sent.
    input  wire        discard,
    // No burst and no packet is under way.
    output wire        idle,

    // AXI4 slave, write channels.
    input  wire [ID_WIDTH-1:0] s_axi_awid,
    input  wire [63:3]         s_axi_awaddr,
    input  wire                s_axi_awnosnoop,
    // Tag of the burst's packets: a posted request's tag means nothing to PCIe (base specification 2.2.6.2).
    input  wire [7:0]          s_axi_awtag,
    input  wire                s_axi_awvalid,
    output wire                s_axi_awready,
    input  wire [63:0]         s_axi_wdata,
    input  wire [7:0]          s_axi_wstrb,
    input  wire                s_axi_wlast,
    input  wire                s_axi_wvalid,
    output wire                s_axi_wready,
    output reg  [ID_WIDTH-1:0] s_axi_bid,
    output reg                 s_axi_bvalid,
    input  wire                s_axi_bready,

    // Interrupt message: one word to an address. It takes its place between two bursts; taken is a pulse. One that has not begun
    // when messages may not be sent any more is given back (a pulse): it would wait in front of everything else, and then go
    // where the host does not want it any more.
    input  wire        message_allowed,
    input  wire        message_valid,
    input  wire [63:2] message_address,
    input  wire [15:0] message_data,
    output wire        message_taken,
    output wire        message_back,

    // The next packet, to ferry_transmit: stable until taken; done is a pulse with its last beat.
    output wire        packet_valid,
    // ferry_transmit has begun with a packet of this source.
    input  wire        packet_begun,
    input  wire        packet_taken,
    input  wire        packet_done,
    output wire [63:2] packet_address,
    // Words, 1 to 64; the first of them stands in the upper half of beat 0.
    output wire [6:0]  packet_words,
    output wire        packet_odd,
    output wire [3:0]  packet_first_enable,
    output wire [3:0]  packet_last_enable,
    output wire [7:0]  packet_tag,
    output wire        packet_no_snoop,
    // Beat of the packet whose data stands on packet_data in the next cycle.
    input  wire [4:0]  packet_index,
    output wire [63:0] packet_data
);
    // A slot is sent only after it has been written.
    (* ram_style = "block", no_rw_check *)
    reg [63:0] memory [0:127];
    reg [63:0] read_data_reg;

    // The burst that is being taken.
    reg                active_reg;
    reg [63:3]         address_reg;
    reg [ID_WIDTH-1:0] id_reg;
    reg                no_snoop_reg;
    reg [7:0]          tag_reg;
    // The packet that is being collected: slot, beats so far, where it starts, byte enables; closed = it is complete.
    reg [1:0]          slot_reg;
    reg [5:0]          beats_reg;
    reg                closed_reg;
    reg                burst_end_reg;
    reg [63:3]         start_reg;
    reg                odd_reg;
    reg                upper_reg;
    reg                message_reg;
    reg [3:0]          first_enable_reg;
    reg [3:0]          last_enable_reg;
    reg [ID_WIDTH-1:0] packet_id_reg;
    reg                packet_no_snoop_reg;
    reg [7:0]          packet_tag_reg;
    // The packet that is next to be sent, or is being sent.
    reg                next_valid_reg;
    reg                next_end_reg;
    reg                next_message_reg;
    reg [63:2]         next_address_reg;
    reg [6:0]          next_words_reg;
    reg                next_lane_reg;
    reg [3:0]          next_first_reg;
    reg [3:0]          next_last_reg;
    reg [ID_WIDTH-1:0] next_id_reg;
    reg                next_no_snoop_reg;
    reg [7:0]          next_tag_reg;
    // What is left of it once its header has gone: end of the burst, id.
    reg [1:0]          send_slot_reg;
    reg                sending_reg;
    reg                sending_end_reg;
    reg [ID_WIDTH-1:0] sending_id_reg;

    wire open = beats_reg != 6'd0;
    wire take = s_axi_wvalid && s_axi_wready;
    wire strobed = s_axi_wstrb != 8'd0;
    wire low_some = s_axi_wstrb[3:0] != 4'd0;
    wire high_some = s_axi_wstrb[7:4] != 4'd0;
    wire at_edge = address_reg[6:3] == 4'hf && (address_reg[7] || !max_payload);
    // A packet without a beat stands for a burst that ends behind its last packet: it only gives the response.
    wire close = take && (s_axi_wlast || (strobed ? at_edge || !s_axi_wstrb[7] : open));
    wire empty_next = next_words_reg == 7'd0;

    wire ended = sending_reg ? sending_end_reg : next_end_reg;
    // A packet starts only when its response has a place to go.
    wire response_free = !s_axi_bvalid || s_axi_bready;
    wire forbidden = next_message_reg && !message_allowed;
    wire drop = (discard || forbidden) && !empty_next && !packet_begun;
    wire skip = next_valid_reg && (empty_next || drop) && !sending_reg && response_free;
    wire next_free = !next_valid_reg || packet_taken || skip;
    wire move = closed_reg && next_free;
    // Words: two a beat, less the halves that the packet leaves off at its ends.
    wire [6:0] words = open ? {beats_reg, 1'b0} - {6'd0, odd_reg} - {6'd0, !upper_reg} : 7'd0;

    assign s_axi_awready = !active_reg && !message_valid;
    assign message_taken = message_valid && !active_reg && !closed_reg;
    // Also behind a packet that waits.
    wire undone = closed_reg && message_reg && !message_allowed && !next_free;
    assign message_back = (skip && drop && next_message_reg) || undone;
    assign s_axi_wready = active_reg && !closed_reg;

    always @(posedge clk) begin
        if ((take && strobed) || message_taken)
            memory[{slot_reg, beats_reg[4:0]}] <= {s_axi_wdata[63:32], active_reg ? s_axi_wdata[31:0] :
                                                                                    {16'd0, message_data}};
        read_data_reg <= memory[{send_slot_reg, packet_index}];
    end

    always @(posedge clk) begin
        if (s_axi_awvalid && s_axi_awready) begin
            active_reg <= 1'b1;
            address_reg <= s_axi_awaddr;
            id_reg <= s_axi_awid;
            no_snoop_reg <= s_axi_awnosnoop;
            tag_reg <= s_axi_awtag;
        end
        if (take) begin
            address_reg[11:3] <= address_reg[11:3] + 9'd1;
            if (s_axi_wlast)
                active_reg <= 1'b0;
            if (strobed) begin
                upper_reg <= high_some;
                last_enable_reg <= high_some ? s_axi_wstrb[7:4] : s_axi_wstrb[3:0];
                if (!open) begin
                    odd_reg <= !low_some;
                    first_enable_reg <= low_some ? s_axi_wstrb[3:0] : s_axi_wstrb[7:4];
                end
            end
            packet_id_reg <= id_reg;
            packet_no_snoop_reg <= no_snoop_reg;
            packet_tag_reg <= tag_reg;
            burst_end_reg <= s_axi_wlast;
        end
        if ((take && strobed) || message_taken)
            beats_reg <= beats_reg + 6'd1;
        if (!open)
            start_reg <= active_reg ? address_reg : message_address[63:3];
        if (take)
            message_reg <= 1'b0;
        // The word of a message stands in the lower half of its beat, wherever it goes.
        if (message_taken) begin
            message_reg <= 1'b1;
            odd_reg <= message_address[2];
            upper_reg <= message_address[2];
            first_enable_reg <= 4'hf;
            burst_end_reg <= 1'b0;
            packet_no_snoop_reg <= 1'b0;
            packet_tag_reg <= 8'hff;
        end
        closed_reg <= close || message_taken || (closed_reg && !move && !undone);
        if (undone)
            beats_reg <= 6'd0;
        if (move) begin
            next_end_reg <= burst_end_reg;
            next_message_reg <= message_reg;
            next_address_reg <= {start_reg, odd_reg};
            next_words_reg <= words;
            next_lane_reg <= odd_reg && !message_reg;
            next_first_reg <= first_enable_reg;
            next_last_reg <= words == 7'd1 ? 4'd0 : last_enable_reg;
            next_id_reg <= packet_id_reg;
            next_no_snoop_reg <= packet_no_snoop_reg;
            next_tag_reg <= packet_tag_reg;
            beats_reg <= 6'd0;
            if (open)
                slot_reg <= slot_reg + 2'd1;
        end
        next_valid_reg <= move || (next_valid_reg && !packet_taken && !skip);

        if (packet_taken) begin
            sending_end_reg <= next_end_reg;
            sending_id_reg <= next_id_reg;
        end
        if (packet_done || (skip && drop))
            send_slot_reg <= send_slot_reg + 2'd1;
        sending_reg <= (sending_reg || packet_taken) && !packet_done;
        if ((skip || packet_done) && ended) begin
            s_axi_bvalid <= 1'b1;
            s_axi_bid <= sending_reg ? sending_id_reg : next_id_reg;
        end else if (s_axi_bready) begin
            s_axi_bvalid <= 1'b0;
        end
        if (rst) begin
            active_reg <= 1'b0;
            closed_reg <= 1'b0;
            slot_reg <= 2'd0;
            beats_reg <= 6'd0;
            next_valid_reg <= 1'b0;
            send_slot_reg <= 2'd0;
            sending_reg <= 1'b0;
            s_axi_bvalid <= 1'b0;
            // The mux behind follows it before the first response, which simulators with unknown values take badly.
            s_axi_bid <= {ID_WIDTH{1'b0}};
        end
    end

    assign idle = !active_reg && !closed_reg && !next_valid_reg && !sending_reg && !s_axi_bvalid;
    assign packet_valid = next_valid_reg && !empty_next && bus_master && !discard && !forbidden && response_free;
    assign packet_address = next_address_reg;
    assign packet_words = next_words_reg;
    assign packet_odd = next_lane_reg;
    assign packet_first_enable = next_first_reg;
    assign packet_last_enable = next_last_reg;
    assign packet_tag = next_tag_reg;
    assign packet_no_snoop = next_no_snoop_reg && no_snoop_enable;
    assign packet_data = read_data_reg;

`ifdef FORMAL
    // Every burst gets one response, when all of its packets are sent or thrown away; no packet crosses a multiple of the
    // maximum payload; byte enables are those that the bus knows (2.2.5); a slot is written again only when its packet is gone.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    // Bursts that were taken and not answered, of any one id and of all. The last beat with bytes had its upper one.
    (* anyconst *) reg [ID_WIDTH-1:0] followed_id;
    reg [3:0]  followed;
    reg [3:0]  bursts;
    reg        last_full;
    reg        set_payload;
    // What the transmitter was shown, had begun, had ended and had taken in the cycle before.
    reg        valid_before;
    reg        begun;
    reg        ended_before;
    reg        taken;
    wire       contiguous = (s_axi_wstrb & (s_axi_wstrb + (s_axi_wstrb & (~s_axi_wstrb + 8'd1)))) == 8'd0;
    wire [4:0] at = max_payload ? start_reg[7:3] : {1'b0, start_reg[6:3]};
    wire [5:0] block = max_payload ? 6'd32 : 6'd16;
    wire [4:0] next_at = max_payload ? next_address_reg[7:3] : {1'b0, next_address_reg[6:3]};

    always @(*) begin
        // ferry_write_data: bytes of a burst are one range, up to where it is given up.
        assume (!take || contiguous);
        assume (!take || !strobed || !open || s_axi_wstrb[0]);
        // ferry_transmit: begins with what was shown, takes its header once, and ends what it began.
        assume (!(packet_taken || packet_done) || packet_begun);
        assume (!packet_taken || !taken);
        assume (!packet_done || taken || packet_taken);
        assume (!begun || ended_before || packet_begun);
        assume (!packet_begun || (begun ? !ended_before : valid_before));
        if (past_valid)
            assume (idle || max_payload == set_payload);
    end
    always @(posedge clk) begin
        set_payload <= max_payload;
        bursts <= bursts + {3'd0, s_axi_awvalid && s_axi_awready} - {3'd0, s_axi_bvalid && s_axi_bready};
        followed <= followed + {3'd0, s_axi_awvalid && s_axi_awready && s_axi_awid == followed_id}
            - {3'd0, s_axi_bvalid && s_axi_bready && s_axi_bid == followed_id};
        if (take && strobed)
            last_full <= s_axi_wstrb[7];
        valid_before <= packet_valid;
        begun <= packet_begun;
        ended_before <= packet_done;
        taken <= (taken || packet_taken) && !packet_done;
        if (rst) begin
            bursts <= 4'd0;
            followed <= 4'd0;
            valid_before <= 1'b0;
            begun <= 1'b0;
            taken <= 1'b0;
        end
    end
    always @(*) if (past_valid) begin
        assert (bursts == {3'd0, active_reg} + {3'd0, closed_reg && burst_end_reg} + {3'd0, next_valid_reg && next_end_reg}
            + {3'd0, sending_reg && sending_end_reg} + {3'd0, s_axi_bvalid});
        assert (followed == {3'd0, active_reg && id_reg == followed_id}
            + {3'd0, closed_reg && burst_end_reg && packet_id_reg == followed_id}
            + {3'd0, next_valid_reg && next_end_reg && next_id_reg == followed_id}
            + {3'd0, sending_reg && sending_end_reg && sending_id_reg == followed_id}
            + {3'd0, s_axi_bvalid && s_axi_bid == followed_id});
        assert (sending_reg == taken && (!sending_reg || (begun && !ended_before)));
        assert (!packet_begun || taken || (next_valid_reg && !empty_next));
        // The place of its response was free when it began.
        assert (!packet_begun || !s_axi_bvalid);
        // Slots in order: those that are sent or wait, then the one that is filled.
        assert (slot_reg == send_slot_reg + {1'b0, next_valid_reg && !empty_next} + {1'b0, sending_reg});
        if (open) begin
            assert ({2'd0, at} + beats_reg <= block);
            assert (closed_reg || (active_reg && last_full && upper_reg && address_reg[11:3] == start_reg[11:3] + {3'd0, beats_reg}
                && {2'd0, at} + beats_reg < block));
            assert (words != 7'd0 && first_enable_reg != 4'd0 && (words == 7'd1 || last_enable_reg != 4'd0));
        end
        assert (!closed_reg || open || burst_end_reg);
        if (next_valid_reg && !empty_next) begin
            // Words from its address on end inside the block.
            assert ({2'd0, next_at, packet_address[2]} + packet_words <= {block, 1'b0});
            assert (packet_first_enable != 4'd0 && (packet_last_enable == 4'd0) == (packet_words == 7'd1));
        end
        assert (!packet_valid || (next_valid_reg && !empty_next));
        // A message is no burst's, and does not begin when none may be sent.
        assert (!(closed_reg && message_reg) || (open && !burst_end_reg));
        assert (!(next_valid_reg && next_message_reg) || (!next_end_reg && !empty_next));
        assert (!(packet_valid && next_message_reg) || message_allowed);
    end
    valid_ready_properties #(.WIDTH(ID_WIDTH)) answered (
        .clk(clk), .rst(rst), .valid(s_axi_bvalid), .ready(s_axi_bready), .data(s_axi_bid)
    );
    always @(posedge clk) begin
        cover (past_valid && packet_done && packet_words == 7'd5);
        cover (past_valid && s_axi_bvalid && s_axi_bready && bursts == 4'd3);
        cover (past_valid && skip && drop && next_end_reg);
        cover (past_valid && message_taken && sending_reg);
        cover (past_valid && undone);
    end
`endif
endmodule

`default_nettype wire
