// SPDX-License-Identifier: Apache-2.0
// Stands for ferry_slot_mirror in the proof of ferry_slot: writes whenever it likes, whatever it likes, holds the host back
// whenever it likes; but a write stays until it is taken, and the next one waits for its answer.
`default_nettype none

module ferry_slot_mirror #(
    parameter [11:0] POWER_AT = 12'h040,
    parameter [11:0] MSI_AT = 12'h048,
    parameter [11:0] PCIE_AT = 12'h060,
    parameter [31:0] BAR0_AT = 32'd0
) (
    // As the real one has them.
    input  wire        clk,
    input  wire        rst,
    output wire [9:0]  manage_word,
    output wire        manage_read,
    input  wire [31:0] manage_data,
    input  wire        manage_done,
    input  wire [15:0] function_id,
    input  wire [15:0] command,
    input  wire [15:0] device_control,
    input  wire [1:0]  power_state,
    input  wire        msi_enable,
    input  wire        function_reset,
    output wire        stand,
    output wire        write,
    output wire [11:0] write_address,
    output wire [31:0] write_data,
    output wire        write_waits,
    input  wire        write_taken,
    input  wire        write_answered
);
    (* anyseq *) wire        any_stand;
    (* anyseq *) wire        any_begin;
    (* anyseq *) wire [43:0] any_what;
    reg                      write_reg, waits_reg;
    reg [43:0]               what_reg;

    assign manage_word = 10'd0;
    assign manage_read = 1'b0;
    assign stand = any_stand;
    assign write = write_reg;
    assign write_waits = waits_reg;
    assign {write_address, write_data} = what_reg;

    always @(posedge clk) begin
        if (!write_reg && !waits_reg) begin
            write_reg <= any_begin;
            what_reg <= any_what;
        end
        if (write_taken) begin
            write_reg <= 1'b0;
            waits_reg <= 1'b1;
        end
        if (write_answered)
            waits_reg <= 1'b0;
        if (rst) begin
            write_reg <= 1'b0;
            waits_reg <= 1'b0;
        end
    end
endmodule

`default_nettype wire
