// SPDX-License-Identifier: Apache-2.0
// Posts fence and fault records: the core fills sixteen words, names an address, and the record leaves as one AXI4
// write burst with the cycle counter in words 2 and 3. The burst's address is aligned down to the record's size, so
// that no record can cross a 4 KiB boundary whatever the core was told.
//
// When the record has its place in the order of packets, what it says becomes the content of the host's registers, word
// by word, and the entry has ended: all in one go, whatever becomes of the core meanwhile, so that no entry is run again
// whose fence the host has seen.
`default_nettype none
`include "ferry_contract.vh"

module ferry_post (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,

    // Cycle counter.
    input  wire [63:0] time_now,

    // Words of the record: written one by one while not busy.
    input  wire        data_write,
    input  wire [3:0]  data_index,
    input  wire [31:0] data_wdata,

    // Start, while not busy: bus address and whether the record has 16 words (else 8).
    input  wire        start,
    input  wire [63:0] start_address,
    input  wire        start_long,
    // Of an entry's end: its ring, its slot, and whether it asks for an interrupt.
    input  wire [2:0]  start_ring,
    input  wire [1:0]  start_slot,
    input  wire        start_interrupt,
    // A record is on its way: until its last packet stands in the transmit queue and its words are in the registers.
    output wire        busy,

    // A word of the record goes into the registers in this cycle; it does not begin while enter_hold, and does not stop
    // before the last. Word 0 of a record of 16 words; words 6, 7, 0, 1, 4 of one of 8.
    input  wire        enter_hold,
    output wire        enter,
    output wire        enter_long,
    output wire [2:0]  enter_word,
    output wire [31:0] enter_data,
    output wire [2:0]  enter_ring,
    // The last word goes in: the entry has ended (8 words), or a fault has been told (16 words).
    output wire        ended,
    output wire [1:0]  ended_slot,
    output wire        ended_interrupt,

    // AXI4 write master to the host port.
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_aw,
    output wire        m_axi_awvalid,
    input  wire        m_axi_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_w,
    output wire        m_axi_wvalid,
    input  wire        m_axi_wready,
    input  wire [1:0]  m_axi_bresp,
    input  wire        m_axi_bvalid,
    output wire        m_axi_bready
);

    // Even and odd words apart, since a beat takes one of each.
    reg [31:0] even_words [0:7];
    reg [31:0] odd_words [0:7];

    reg        busy_reg;
    reg        long_reg;
    reg        address_reg;
    reg        data_reg;
    reg [2:0]  beat_reg;
    reg [63:0] time_reg;
    reg [2:0]  ring_reg;
    reg [1:0]  slot_reg;
    reg        interrupt_reg;
    // Words of the record that go into the registers: 0 none, else 1 more than their turn.
    reg [2:0]  step_reg;

    localparam [2:0] STEPS = 3'd5;

    // Word by turn: 6, 7, 0, 1, 4.
    wire [2:0] word = long_reg || step_reg == 3'd3 ? 3'd0 :
                      step_reg == 3'd1 ? 3'd6 : step_reg == 3'd2 ? 3'd7 : step_reg == 3'd4 ? 3'd1 : 3'd4;
    wire [2:0] pair = step_reg != 3'd0 ? {1'b0, word[2:1]} : beat_reg;

    wire [31:0] even_word = even_words[pair];
    wire [31:0] odd_word = odd_words[pair];

    assign busy = busy_reg;
    assign enter = step_reg > 3'd1 || (step_reg == 3'd1 && !enter_hold);
    assign enter_long = long_reg;
    assign enter_word = word;
    assign enter_data = word[0] ? odd_word : even_word;
    assign enter_ring = ring_reg;
    assign ended = enter && (long_reg || step_reg == STEPS);
    assign ended_slot = slot_reg;
    assign ended_interrupt = interrupt_reg;

    // Records are nobody's buffer.
    localparam [7:0] NO_TAG = 8'hff;

    reg [63:0] awaddr_reg;
    wire [7:0] awlen = long_reg ? 8'd7 : 8'd3;
    wire       wlast = beat_reg == (long_reg ? 3'd7 : 3'd3);

    assign m_axi_aw[`FERRY_AXI_A_ADDRESS_RANGE] = awaddr_reg;
    assign m_axi_aw[`FERRY_AXI_A_LENGTH_RANGE] = awlen;
    assign m_axi_aw[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
    assign m_axi_aw[`FERRY_AXI_A_TAG_RANGE] = NO_TAG;
    assign m_axi_awvalid = address_reg;
    assign m_axi_w[`FERRY_AXI_W_DATA_RANGE] = beat_reg == 3'd1 ? time_reg : {odd_word, even_word};
    assign m_axi_w[`FERRY_AXI_W_STROBE_RANGE] = 8'hff;
    assign m_axi_w[`FERRY_AXI_W_LAST_RANGE] = wlast;
    assign m_axi_wvalid = data_reg;
    assign m_axi_bready = 1'b1;

    always @(posedge clk) begin
        if (data_write && !data_index[0]) begin
            even_words[data_index[3:1]] <= data_wdata;
        end
        if (data_write && data_index[0]) begin
            odd_words[data_index[3:1]] <= data_wdata;
        end
    end

    always @(posedge clk) begin
        if (start && !busy_reg) begin
            busy_reg <= 1'b1;
            address_reg <= 1'b1;
            data_reg <= 1'b1;
            beat_reg <= 3'd0;
            long_reg <= start_long;
            time_reg <= time_now;
            ring_reg <= start_ring;
            slot_reg <= start_slot;
            interrupt_reg <= start_interrupt;
            awaddr_reg <= {start_address[63:6], start_address[5] && !start_long, 5'd0};
        end
        if (m_axi_awvalid && m_axi_awready) begin
            address_reg <= 1'b0;
        end
        if (m_axi_wvalid && m_axi_wready) begin
            beat_reg <= beat_reg + 3'd1;
            if (wlast) begin
                data_reg <= 1'b0;
            end
        end
        // A posted write always answers OKAY; the response only says that the record has its place in the packet order.
        if (m_axi_bvalid) begin
            step_reg <= 3'd1;
        end
        if (enter) begin
            step_reg <= ended ? 3'd0 : step_reg + 3'd1;
        end
        if (ended) begin
            busy_reg <= 1'b0;
        end

        if (rst) begin
            busy_reg <= 1'b0;
            address_reg <= 1'b0;
            data_reg <= 1'b0;
            beat_reg <= 3'd0;
            step_reg <= 3'd0;
        end
    end

`ifdef FORMAL
        reg past_valid = 1'b0;
        always @(posedge clk) begin
            past_valid <= 1'b1;
            if (!past_valid) begin
                assume (rst);
            end else begin
                // The other side answers once, after address and data.
                assume (!m_axi_bvalid || (busy_reg && !address_reg && !data_reg && step_reg == 3'd0));
                // The words are written only between records.
                assume (!data_write || !busy_reg);
                // One burst at a time; as many beats as were announced, each record at a multiple of 32.
                assert (busy_reg || (!address_reg && !data_reg && step_reg == 3'd0));
                assert (step_reg <= STEPS && (step_reg == 3'd0 || (!address_reg && !data_reg)));
                // The registers change only behind the record, and in one go.
                if (!$past(rst) && $past(enter && !ended)) begin
                    assert (enter);
                end
                if (!$past(rst) && enter && !$past(enter)) begin
                    assert (step_reg == 3'd1);
                end
                cover (ended && !long_reg);
                assert (!data_reg || {5'd0, beat_reg} <= awlen);
                assert (!address_reg || awaddr_reg[4:0] == 5'd0);
            end
        end
        axi4_address_properties #(.BEATS(8), .EXTRA(9)) aw_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(m_axi_awvalid), .ready(m_axi_awready),
            .page_offset(awaddr_reg[11:0]), .page(awaddr_reg[63:12]), .length(awlen),
            .extra({m_axi_aw[`FERRY_AXI_A_NO_SNOOP_RANGE], m_axi_aw[`FERRY_AXI_A_TAG_RANGE]})
        );
        valid_ready_properties #(.WIDTH(`FERRY_AXI_W_BITS)) w_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(m_axi_wvalid), .ready(m_axi_wready), .data(m_axi_w)
        );
`endif

    wire unused = &{1'b0, m_axi_bresp, start_address[4:0]};

endmodule

`default_nettype wire
