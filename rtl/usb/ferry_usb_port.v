// SPDX-License-Identifier: Apache-2.0
// Bytes through two USB pins, full speed: the packaged core (usb_core.py) with a bulk endpoint in each direction. A device that has no
// room refuses packets, a host that asks too early is refused: nobody loses a byte, but for what the core keeps for the host, a packet
// or two, when SET_CONFIGURATION begins anew.
`default_nettype none

module ferry_usb_port (
    // Clock of the bytes and its synchronous reset. Of any rate, and on its own; but neither reset comes without the other.
    input  wire       clk,
    input  wire       rst,
    // The bus': 12 MHz with a synchronous reset, and 48 MHz in phase with it.
    input  wire       usb_clk,
    input  wire       usb_rst,
    input  wire       usb_io_clk,

    // D+ and D-: as they are, as they are to be driven while usb_oe is set; and a pull-up of 1.5 kOhm at D+.
    input  wire       usb_dp_i,
    input  wire       usb_dn_i,
    output wire       usb_dp_o,
    output wire       usb_dn_o,
    output wire       usb_oe,
    output wire       usb_pullup,

    // Bytes from the host and to it.
    output wire       down_valid,
    output wire [7:0] down_data,
    input  wire       down_ready,
    input  wire       up_valid,
    input  wire [7:0] up_data,
    output wire       up_ready,
    // Bytes wait on this side of the core.
    output wire       busy
);
    // A host's transfer ends with a packet that is not full, and the core sends one behind the byte that is said to be the last.
    // Whether another follows shows only later: a byte is held until then, or until it has been quiet for longer than the frames
    // pause between two bytes.
    localparam REST_CLOCKS = 63;

    reg       held_reg;
    reg [7:0] held_data_reg;
    reg [5:0] quiet_reg;
    wire      core_ready;
    wire      rested = quiet_reg == REST_CLOCKS;
    wire      goes = held_reg && core_ready && (up_valid || rested);

    assign up_ready = !held_reg || core_ready;
    assign busy = down_valid || held_reg;

    always @(posedge clk) begin
        if (up_valid && up_ready)
            held_data_reg <= up_data;
        held_reg <= (up_valid && up_ready) || (held_reg && !goes);
        quiet_reg <= !held_reg || up_valid ? 6'd0 : rested ? quiet_reg : quiet_reg + 6'd1;
        if (rst)
            held_reg <= 1'b0;
    end

    ferry_usb_core core (
        .clk(clk), .rst(rst), .usb_clk(usb_clk), .usb_rst(usb_rst), .usb_io_clk(usb_io_clk), .usb_dp_i(usb_dp_i),
        .usb_dn_i(usb_dn_i), .usb_dp_o(usb_dp_o), .usb_dn_o(usb_dn_o), .usb_dp_oe(usb_oe), .usb_pullup_o(usb_pullup),
        .out_data(down_data), .out_valid(down_valid), .out_ready(down_ready), .in_data(held_data_reg), .in_last(!up_valid),
        .in_valid(held_reg && (up_valid || rested)), .in_ready(core_ready)
    );
endmodule

`default_nettype wire
