// SPDX-License-Identifier: Apache-2.0
// A byte over a serial line, from reset on: it comes once, as it was, and nothing else does; two follow one another.
`default_nettype none

module serial_line (
    // Clock, and synchronous reset, active high.
    input  wire       clk,
    input  wire       rst,
    // The byte, offered until it is taken.
    input  wire       byte_valid,
    input  wire [7:0] byte_data
);
    wire       ready, line, came, rx_busy, tx_busy;
    wire [7:0] data;
    ferry_uart_transmit transmit (
        .clk(clk), .rst(rst), .byte_valid(byte_valid), .byte_data(byte_data), .byte_ready(ready), .txd(line), .busy(tx_busy)
    );
    ferry_uart_receive receive (
        .clk(clk), .rst(rst), .rxd(line), .byte_valid(came), .byte_data(data), .busy(rx_busy)
    );

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    // Bytes that were taken and have not come, the older one first; clocks since it was taken. A byte is seen in the middle of
    // its stop bit, some clocks late; the next one may have been taken meanwhile.
    reg [1:0] owed = 2'd0;
    reg [7:0] older = 8'd0;
    reg [7:0] newer = 8'd0;
    reg [5:0] since = 6'd0;
    wire      taken = byte_valid && ready;
    always @(posedge clk) if (past_valid) begin
        owed <= owed + {1'b0, taken} - {1'b0, came};
        since <= owed == 2'd0 ? 6'd0 : since + 6'd1;
        if (came) begin
            older <= newer;
            since <= 6'd0;
        end
        if (taken && owed - {1'b0, came} == 2'd0)
            older <= byte_data;
        if (taken)
            newer <= byte_data;
        cover (came && data == 8'ha5);
    end
    always @(*) if (past_valid) begin
        assert (!came || (owed != 2'd0 && data == older));
        assert (owed != 2'd3 && since < 6'd48);
    end
    wire unused = &{1'b0, rx_busy, tx_busy};
endmodule

`default_nettype wire
