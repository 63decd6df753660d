// SPDX-License-Identifier: Apache-2.0
// Keeps the read data of one completion, at most one maximum payload, until ferry_transmit sends it.
`default_nettype none

module ferry_completion (
    // Clock.
    input  wire clk,

    // Read data: either half of a beat of the buffer.
    input  wire [1:0]  write_valid,
    input  wire [4:0]  write_index,
    input  wire [63:0] write_data,

    // Beat whose data stands on read_data in the next cycle.
    input  wire [4:0]  read_index,
    output reg  [63:0] read_data
);
    // Block memory; nothing is sent while it is written.
    (* ram_style = "block", no_rw_check *)
    reg [31:0] low_memory [0:31];
    (* ram_style = "block", no_rw_check *)
    reg [31:0] high_memory [0:31];

    always @(posedge clk) begin
        if (write_valid[0])
            low_memory[write_index] <= write_data[31:0];
        if (write_valid[1])
            high_memory[write_index] <= write_data[63:32];
        read_data <= {high_memory[read_index], low_memory[read_index]};
    end
endmodule

`default_nettype wire
