// SPDX-License-Identifier: Apache-2.0
// The packaged picorv32 behind the same two buses as the other core. It has one memory bus for instructions and data,
// so only one of the two is used at a time.
`default_nettype none

module ferry_cpu_picorv32 (
    // Clock and synchronous reset; execution starts at address 0.
    input  wire        clk,
    input  wire        rst,

    // Instructions: word address.
    output wire        fetch_valid,
    output wire [29:0] fetch_address,
    input  wire        fetch_ready,
    input  wire [31:0] fetch_rdata,

    // Data: word address and byte enables.
    output wire        data_valid,
    output wire        data_write,
    output wire [29:0] data_address,
    output wire [31:0] data_wdata,
    output wire [3:0]  data_wstrb,
    input  wire        data_ready,
    input  wire [31:0] data_rdata
);

    wire        memory_valid;
    wire        memory_instruction;
    wire [31:0] memory_address;

    assign fetch_valid = memory_valid && memory_instruction;
    assign fetch_address = memory_address[31:2];
    assign data_valid = memory_valid && !memory_instruction;
    assign data_write = |data_wstrb;
    assign data_address = memory_address[31:2];

    wire unused_trap;
    wire unused_mem_la_read;
    wire unused_mem_la_write;
    wire [31:0] unused_mem_la_addr;
    wire [31:0] unused_mem_la_wdata;
    wire [3:0] unused_mem_la_wstrb;
    wire unused_pcpi_valid;
    wire [31:0] unused_pcpi_insn;
    wire [31:0] unused_pcpi_rs1;
    wire [31:0] unused_pcpi_rs2;
    wire [31:0] unused_eoi;
    wire unused_trace_valid;
    wire [35:0] unused_trace_data;

    picorv32 #(
        .ENABLE_COUNTERS(0),
        .ENABLE_COUNTERS64(0),
        .TWO_STAGE_SHIFT(1),
        .CATCH_MISALIGN(0),
        .CATCH_ILLINSN(0),
        .PROGADDR_RESET(32'd0),
        .STACKADDR(32'hffff_ffff)
    ) core (
        .clk(clk),
        .resetn(!rst),
        .trap(unused_trap),
        .mem_valid(memory_valid),
        .mem_instr(memory_instruction),
        .mem_ready(memory_instruction ? fetch_ready : data_ready),
        .mem_addr(memory_address),
        .mem_wdata(data_wdata),
        .mem_wstrb(data_wstrb),
        .mem_rdata(memory_instruction ? fetch_rdata : data_rdata),
        .mem_la_read(unused_mem_la_read),
        .mem_la_write(unused_mem_la_write),
        .mem_la_addr(unused_mem_la_addr),
        .mem_la_wdata(unused_mem_la_wdata),
        .mem_la_wstrb(unused_mem_la_wstrb),
        .pcpi_valid(unused_pcpi_valid),
        .pcpi_insn(unused_pcpi_insn),
        .pcpi_rs1(unused_pcpi_rs1),
        .pcpi_rs2(unused_pcpi_rs2),
        .pcpi_wr(1'b0),
        .pcpi_rd(32'd0),
        .pcpi_wait(1'b0),
        .pcpi_ready(1'b0),
        .irq(32'd0),
        .eoi(unused_eoi),
        .trace_valid(unused_trace_valid),
        .trace_data(unused_trace_data)
    );

    wire unused = &{1'b0, memory_address[1:0]};

endmodule

`default_nettype wire
