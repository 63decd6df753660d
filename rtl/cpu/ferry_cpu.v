// SPDX-License-Identifier: Apache-2.0
// The soft core with its firmware RAM at 0, command RAM (read only) at 0x1000_0000 and its registers at 0x2000_0000.
// While the core is held in reset the host reads and writes firmware RAM through the same port that the core's data
// use.
`default_nettype none

module ferry_cpu #(
    // 32-bit words of firmware RAM, a power of two up to 8192.
    parameter FIRMWARE_RAM_WORDS = 4096,
    // File for $readmemh with the firmware, or empty.
    parameter FIRMWARE_HEX = "",
    // "vexriscv", "picorv32" or "serv".
    parameter [63:0] CPU_CORE = "vexriscv"
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs while 1 and is in reset while 0.
    input  wire        run,

    // Firmware RAM for the host, only served while run is 0: byte offset (multiple of 4), held until ready.
    input  wire        host_valid,
    input  wire        host_write,
    input  wire [14:0] host_address,
    input  wire [31:0] host_wdata,
    input  wire [3:0]  host_wstrb,
    output wire        host_ready,
    output wire [31:0] host_rdata,

    // Command RAM: byte offset (multiple of 4), held until ready.
    output wire        command_valid,
    output wire [15:0] command_address,
    input  wire        command_ready,
    input  wire [31:0] command_rdata,

    // Registers of the core: byte offset (multiple of 4), held until ready. Writes are of whole words.
    output wire        io_valid,
    output wire        io_write,
    output wire [11:0] io_address,
    output wire [31:0] io_wdata,
    input  wire        io_ready,
    input  wire [31:0] io_rdata
);

    localparam WORDS_LOG2 = $clog2(FIRMWARE_RAM_WORDS);

    reg core_rst_reg;
    always @(posedge clk) begin
        core_rst_reg <= rst || !run;
    end

    wire        fetch_valid;
    wire [29:0] fetch_address;
    wire        fetch_ready;
    wire [31:0] fetch_rdata;
    wire        data_valid;
    wire        data_write;
    wire [29:0] data_address;
    wire [31:0] data_wdata;
    wire [3:0]  data_wstrb;
    wire        data_ready;
    wire [31:0] data_rdata;

    generate
        if (CPU_CORE == "picorv32") begin : g_picorv32
            ferry_cpu_picorv32 core (
                .clk(clk), .rst(core_rst_reg),
                .fetch_valid(fetch_valid), .fetch_address(fetch_address),
                .fetch_ready(fetch_ready), .fetch_rdata(fetch_rdata),
                .data_valid(data_valid), .data_write(data_write), .data_address(data_address),
                .data_wdata(data_wdata), .data_wstrb(data_wstrb),
                .data_ready(data_ready), .data_rdata(data_rdata)
            );
        end else if (CPU_CORE == {32'd0, "serv"}) begin : g_serv
            ferry_cpu_serv core (
                .clk(clk), .rst(core_rst_reg),
                .fetch_valid(fetch_valid), .fetch_address(fetch_address),
                .fetch_ready(fetch_ready), .fetch_rdata(fetch_rdata),
                .data_valid(data_valid), .data_write(data_write), .data_address(data_address),
                .data_wdata(data_wdata), .data_wstrb(data_wstrb),
                .data_ready(data_ready), .data_rdata(data_rdata)
            );
        end else begin : g_vexriscv
            ferry_cpu_vexriscv core (
                .clk(clk), .rst(core_rst_reg),
                .fetch_valid(fetch_valid), .fetch_address(fetch_address),
                .fetch_ready(fetch_ready), .fetch_rdata(fetch_rdata),
                .data_valid(data_valid), .data_write(data_write), .data_address(data_address),
                .data_wdata(data_wdata), .data_wstrb(data_wstrb),
                .data_ready(data_ready), .data_rdata(data_rdata)
            );
        end
    endgenerate

    // Bits 31:28 of an address say where it goes. What nobody answers is answered with zero, so that no stray access of the
    // firmware can hang the core.
    wire core_on = !core_rst_reg;
    wire at_ram = data_address[29:26] == 4'd0;
    wire at_command = data_address[29:26] == 4'd1 && !data_write;
    wire at_io = data_address[29:26] == 4'd2;

    assign command_valid = core_on && data_valid && at_command;
    assign command_address = {data_address[13:0], 2'b00};
    assign io_valid = core_on && data_valid && at_io;
    assign io_write = data_write;
    assign io_address = {data_address[9:0], 2'b00};
    assign io_wdata = data_wdata;

    wire        ram_ready;
    wire [31:0] ram_rdata;
    wire        host_in_ram = {1'b0, host_address[14:2]} < FIRMWARE_RAM_WORDS[13:0];

    ferry_cpu_ram #(.WORDS_LOG2(WORDS_LOG2), .HEX(FIRMWARE_HEX)) ram (
        .clk(clk),
        .rst(core_rst_reg && !host_valid),
        .fetch_valid(fetch_valid && core_on),
        .fetch_address(fetch_address[WORDS_LOG2-1:0]),
        .fetch_ready(fetch_ready),
        .fetch_rdata(fetch_rdata),
        .data_valid(core_on ? data_valid && at_ram : host_valid && host_in_ram),
        .data_write(core_on ? data_write : host_write),
        .data_address(core_on ? data_address[WORDS_LOG2-1:0] : host_address[2 +: WORDS_LOG2]),
        .data_wdata(core_on ? data_wdata : host_wdata),
        .data_wstrb(core_on ? data_wstrb : host_wstrb),
        .data_ready(ram_ready),
        .data_rdata(ram_rdata)
    );

    assign data_ready = data_valid && (at_ram ? ram_ready : at_command ? command_ready : at_io ? io_ready : 1'b1);
    assign data_rdata = at_ram ? ram_rdata : at_command ? command_rdata : at_io ? io_rdata : 32'd0;

    assign host_ready = host_valid && (core_on || !host_in_ram || ram_ready);
    assign host_rdata = core_on || !host_in_ram ? 32'd0 : ram_rdata;

    wire unused = &{1'b0, fetch_address, data_address, host_address};

endmodule

`default_nettype wire
