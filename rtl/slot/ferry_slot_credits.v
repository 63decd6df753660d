// SPDX-License-Identifier: Apache-2.0
// From the credits that the link block shows to the three levels that the device waits for. What it shows is behind what
// it was given by some clocks, and "infinite" is told as a 0 that always stands there: a 0 beside any other number is none.
// (The first number may be such a 0: the block answers configuration requests by itself, with the one credit that there may
// be.) So a kind with many credits goes on as it likes, and one with few sends a packet and waits until that is accounted for:
// at 64 beats a packet nothing is lost by it, since a link of one lane takes longer for one of the largest.
`default_nettype none

module ferry_slot_credits (
    // Clock of the block's user side; reset while the link is down, active high.
    input  wire        clk,
    input  wire        rst,

    // Credits of the far end that are left: posted, non-posted, completion; packets, and units of 16 bytes.
    input  wire [7:0]  posted_headers,
    input  wire [11:0] posted_data,
    input  wire [7:0]  request_headers,
    input  wire [7:0]  completion_headers,
    input  wire [11:0] completion_data,
    // Largest payload that is configured: 0 = 128 bytes, others stand for 256.
    input  wire [2:0]  max_payload,
    // A beat of a packet goes; it is the first, with its first word's format and type.
    input  wire        beat_goes,
    input  wire        packet_begins,
    input  wire [7:0]  packet_kind,

    // The levels of ferry_device.
    output wire        posted_ok,
    output wire        request_ok,
    output wire        completion_ok
);
    // Clocks from a packet's last beat until the credits that are shown are without its own, more than enough; and what
    // can go in so many: packets of two beats, and data. One more packet has to fit still.
    localparam [5:0]  LATE = 6'd63;
    localparam [7:0]  MANY_HEADERS = 8'd33;
    localparam [11:0] MANY_DATA = 12'd48;

    // Posted, request, completion.
    reg  [2:0] endless_headers_reg;
    reg  [2:0] endless_data_reg;
    reg  [17:0] late_reg;
    reg  [2:0] one_reg;
    reg  [2:0] many_reg;
    reg  [3:0] begun_reg;

    wire [11:0] units = max_payload == 3'd0 ? 12'd8 : 12'd16;
    wire [23:0] headers = {completion_headers, request_headers, posted_headers};
    // Reads carry nothing.
    wire [35:0] data = {completion_data, 12'd0, posted_data};
    wire        begun = begun_reg == 4'd15;
    // Of which kind the packet is that is under way.
    reg  [2:0]  kind_reg;
    wire [2:0]  kind = !packet_begins ? kind_reg : {packet_kind[4:1] == 4'b0101, packet_kind[4:1] == 4'b0000 && !packet_kind[6],
        packet_kind[4] || (packet_kind[4:1] == 4'b0000 && packet_kind[6])};
    wire [2:0]  goes = kind & {3{beat_goes}};
    reg  [2:0]  late;
    integer     i;

    always @*
        for (i = 0; i < 3; i = i + 1)
            late[i] = late_reg[6*i +: 6] != 6'd0;

    assign {completion_ok, request_ok, posted_ok} = many_reg | (one_reg & ~late);

    always @(posedge clk) begin
        if (beat_goes)
            kind_reg <= kind;
        for (i = 0; i < 3; i = i + 1) begin
            one_reg[i] <= begun && (endless_headers_reg[i] || headers[8*i +: 8] != 8'd0)
                && (endless_data_reg[i] || data[12*i +: 12] >= units);
            many_reg[i] <= begun && (endless_headers_reg[i] || headers[8*i +: 8] >= MANY_HEADERS)
                && (endless_data_reg[i] || data[12*i +: 12] >= MANY_DATA);
            if (goes[i])
                late_reg[6*i +: 6] <= LATE;
            else if (late[i])
                late_reg[6*i +: 6] <= late_reg[6*i +: 6] - 6'd1;
        end
        if (!begun)
            begun_reg <= begun_reg + 4'd1;
        // The first clocks behind a reset say nothing.
        for (i = 0; i < 3; i = i + 1) begin
            endless_headers_reg[i] <= !begun_reg[3] || (endless_headers_reg[i] && headers[8*i +: 8] == 8'd0);
            endless_data_reg[i] <= !begun_reg[3] || (endless_data_reg[i] && data[12*i +: 12] == 12'd0);
        end
        if (rst) begin
            begun_reg <= 4'd0;
            one_reg <= 3'd0;
            many_reg <= 3'd0;
            late_reg <= 18'd0;
        end
    end

    wire unused = &{1'b0, packet_kind[7], packet_kind[5], packet_kind[0]};

`ifdef FORMAL
    // Who has shown credits of a kind, and then none, gets no packet of that kind. Who never has shown any has them without end.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    reg  [5:0] some = 6'd0;
    reg  [5:0] gone = 6'd0;
    wire [5:0] none = {data[35:24] == 12'd0, data[23:12] == 12'd0, data[11:0] == 12'd0, headers[23:16] == 8'd0, headers[15:8] == 8'd0,
        headers[7:0] == 8'd0};
    always @(posedge clk) begin
        some <= rst || !begun_reg[3] ? 6'd0 : some | ~none;
        gone <= rst ? 6'd0 : some & none;
        cover (past_valid && begun && gone != 6'd0 && {completion_ok, request_ok, posted_ok} == 3'b011);
        cover (past_valid && begun && some == 6'd0 && {completion_ok, request_ok, posted_ok} == 3'b111);
    end
    always @(*) if (past_valid) begin
        assert (({completion_ok, request_ok, posted_ok} & (gone[5:3] | gone[2:0])) == 3'd0);
        if (begun_reg != 4'd0)
            assert (some == ~{endless_data_reg, endless_headers_reg});
    end
`endif
endmodule

`default_nettype wire
