// SPDX-License-Identifier: Apache-2.0
// The two readers of page lists, the engine's sides, on one port of command RAM, one read at a time: each asks for a page's entry a page
// ahead, so there is time. Hence the entry goes on out of flip-flops too: block RAM gives it half a cycle late, and neighbouring pages
// are found by comparing it.
`default_nettype none

module ferry_list_arbiter (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // Readers, as bits; addresses side by side, reader 0 lowest. Data is shared.
    input  wire [1:0]  in_valid,
    output wire [1:0]  in_ready,
    input  wire [31:0] in_address,
    output wire [1:0]  in_data_valid,
    output wire [63:0] in_data,
    // Command RAM; see ferry_engine.
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data
);
    reg [1:0]  owner_reg;
    reg [1:0]  data_valid_reg;
    reg [63:0] data_reg;
    wire       waiting = owner_reg != 0;
    wire [1:0] request = waiting ? 2'd0 : in_valid;
    wire [1:0] grant;

    ferry_arbiter #(.PORTS(2)) arbiter (
        .clk(clk), .rst(rst), .request(request), .accept(list_ready), .grant(grant)
    );

    assign list_valid = request != 0;
    assign list_address = ({16{grant[0]}} & in_address[15:0]) | ({16{grant[1]}} & in_address[31:16]);
    assign in_ready = grant & {2{list_ready}};
    assign in_data_valid = data_valid_reg;
    assign in_data = data_reg;

    always @(posedge clk) begin
        data_valid_reg <= owner_reg & {2{list_data_valid}};
        data_reg <= list_data;
        if (list_valid && list_ready) begin
            owner_reg <= grant;
        end else if (list_data_valid) begin
            owner_reg <= 2'd0;
        end
        if (rst) begin
            owner_reg <= 2'd0;
            data_valid_reg <= 2'd0;
        end
    end
endmodule

`default_nettype wire
