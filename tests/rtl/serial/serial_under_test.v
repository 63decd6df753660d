// SPDX-License-Identifier: Apache-2.0
// The serial port without a device: line on one side, packets on the other. Beside it a second line with bits of a length that is
// no whole number of clocks, whose bytes come back; and what sends frames where a byte takes more clocks than it can say.
`default_nettype none

module serial_under_test (
    input  wire        clk,
    input  wire        rst,
    input  wire        rxd,
    output wire        txd,
    output wire        session_open,
    output wire        busy,
    // A byte came from the line that the frames had no time for.
    output wire        overrun,

    // As ferry_device's ports.
    output wire [31:0] to_tdata,
    output wire        to_tlast,
    output wire        to_tvalid,
    input  wire        to_tready,
    input  wire        request_ok,
    input  wire [31:0] from_tdata,
    input  wire        from_tlast,
    input  wire        from_tvalid,
    output wire        from_tready,

    input  wire        echo_rxd,
    output wire        echo_txd,

    input  wire        slow_hello,
    output wire        slow_valid,
    output wire [7:0]  slow_data
);
    // A quarter of the clock, and times that pass in a test.
    localparam BIT = 64;
    localparam RESEND = 3000 * 40;

    wire       rx_valid, rx_busy, rx_ready, tx_valid, tx_ready, tx_busy, frames_busy;
    wire [7:0] rx_data, tx_data;
    assign overrun = rx_valid && !rx_ready;
    assign busy = rx_busy || rx_valid || !rx_ready || tx_busy || frames_busy;

    ferry_uart_receive #(.BIT_SIXTEENTHS(BIT)) receive (
        .clk(clk), .rst(rst), .rxd(rxd), .byte_valid(rx_valid), .byte_data(rx_data), .busy(rx_busy)
    );
    ferry_uart_transmit #(.BIT_SIXTEENTHS(BIT)) transmit (
        .clk(clk), .rst(rst), .byte_valid(tx_valid), .byte_data(tx_data), .byte_ready(tx_ready), .txd(txd), .busy(tx_busy)
    );
    ferry_frames #(.RESEND_CLOCKS(RESEND), .NAME("bench")) frames (
        .clk(clk), .rst(rst), .in_valid(rx_valid), .in_data(rx_data), .in_ready(rx_ready), .out_valid(tx_valid),
        .out_data(tx_data), .out_ready(tx_ready), .m_axis_tlp_tdata(to_tdata), .m_axis_tlp_tlast(to_tlast),
        .m_axis_tlp_tvalid(to_tvalid), .m_axis_tlp_tready(to_tready), .m_axis_tlp_request_ok(request_ok),
        .s_axis_tlp_tdata(from_tdata), .s_axis_tlp_tlast(from_tlast), .s_axis_tlp_tvalid(from_tvalid),
        .s_axis_tlp_tready(from_tready), .session_open(session_open), .busy(frames_busy)
    );

    // 3 Mbaud at 50 MHz: 16.67 clocks.
    wire       echo_valid, echo_ready, echo_rx_busy, echo_tx_busy;
    wire [7:0] echo_data;
    reg        kept_reg;
    reg [7:0]  kept_data;
    always @(posedge clk) begin
        if (echo_valid)
            kept_data <= echo_data;
        kept_reg <= !rst && (echo_valid || (kept_reg && !echo_ready));
    end
    ferry_uart_receive #(.BIT_SIXTEENTHS(267)) echo_receive (
        .clk(clk), .rst(rst), .rxd(echo_rxd), .byte_valid(echo_valid), .byte_data(echo_data), .busy(echo_rx_busy)
    );
    ferry_uart_transmit #(.BIT_SIXTEENTHS(267)) echo_transmit (
        .clk(clk), .rst(rst), .byte_valid(kept_reg), .byte_data(kept_data), .byte_ready(echo_ready), .txd(echo_txd),
        .busy(echo_tx_busy)
    );

    wire [9:0] unused_slow;
    ferry_frame_send #(.BYTE_CLOCKS(65536 + 40), .NAME("slow")) slow (
        .clk(clk), .rst(rst), .open(1'b0), .hello_due(slow_hello), .refused(1'b0), .hello_begins(unused_slow[0]),
        .hello_goes(unused_slow[1]), .session(8'd0), .session_turn(unused_slow[2]), .hello_taken(1'b0), .ack_valid(1'b0), .ack(7'd0),
        .ack_credit(8'd0), .ack_again(1'b0), .ack_fits(unused_slow[3]), .expected(7'd0), .credit(8'd0), .tell(1'b0), .again(1'b0),
        .number_free(unused_slow[4]), .push_valid(1'b0), .push_data(8'd0), .push_ready(unused_slow[5]), .commit(1'b0), .mark(8'd0),
        .discard(1'b0), .out_valid(slow_valid), .out_data(slow_data), .out_last(unused_slow[6]), .out_zero(unused_slow[7]),
        .out_ready(1'b1), .busy(unused_slow[8])
    );
    assign unused_slow[9] = 1'b0;
    wire unused = &{1'b0, echo_rx_busy, echo_tx_busy, unused_slow};
endmodule

`default_nettype wire
