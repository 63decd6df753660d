// SPDX-License-Identifier: Apache-2.0
// The soft core with its firmware RAM and the command RAM as they stand in the device; its registers are the test's.
`default_nettype none

module core_machine #(
    // As ferry_device's.
    parameter [63:0] CPU_CORE = "vexriscv"
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs.
    input  wire        run,

    // Firmware RAM, while run is 0.
    input  wire        host_valid,
    input  wire [14:0] host_address,
    input  wire [31:0] host_wdata,
    output wire        host_ready,

    // Command RAM's write port.
    input  wire        write_valid,
    input  wire [15:0] write_address,
    input  wire [63:0] write_data,

    // Registers.
    output wire        io_valid,
    output wire        io_write,
    output wire [11:0] io_address,
    output wire [31:0] io_wdata,
    input  wire        io_ready,
    input  wire [31:0] io_rdata
);

wire        command_valid;
wire [15:0] command_address;
wire        command_ready;
wire [31:0] command_rdata;
wire [31:0] host_rdata;
wire        list0_ready;
wire        list0_data_valid;
wire [63:0] list0_data;
wire        list1_ready;
wire        list1_data_valid;
wire [63:0] list1_data;

ferry_cpu #(.CPU_CORE(CPU_CORE)) cpu (
    .clk(clk), .rst(rst), .run(run),
    .host_valid(host_valid), .host_write(1'b1), .host_address(host_address), .host_wdata(host_wdata),
    .host_wstrb(4'hf), .host_ready(host_ready), .host_rdata(host_rdata),
    .command_valid(command_valid), .command_address(command_address), .command_ready(command_ready),
    .command_rdata(command_rdata),
    .io_valid(io_valid), .io_write(io_write), .io_address(io_address), .io_wdata(io_wdata), .io_ready(io_ready),
    .io_rdata(io_rdata)
);

ferry_command_ram command (
    .clk(clk), .rst(rst),
    .write_valid(write_valid), .write_address(write_address), .write_data(write_data),
    .core_valid(command_valid), .core_address(command_address), .core_ready(command_ready),
    .core_rdata(command_rdata),
    .list0_valid(1'b0), .list0_ready(list0_ready), .list0_address(16'd0), .list0_data_valid(list0_data_valid),
    .list0_data(list0_data),
    .list1_valid(1'b0), .list1_ready(list1_ready), .list1_address(16'd0), .list1_data_valid(list1_data_valid),
    .list1_data(list1_data)
);

wire unused = &{1'b0, host_rdata, list0_ready, list0_data_valid, list0_data, list1_ready, list1_data_valid, list1_data};

endmodule

`default_nettype wire
