// SPDX-License-Identifier: Apache-2.0
// Firmware RAM: true dual-port block RAM, one port for instructions, one for data. Block RAM answers a cycle late; so
// each port reads the word after the one that was just taken, and a core that goes on in order gets an answer in the
// cycle of its request. Any other word comes one cycle later.
`default_nettype none

module ferry_cpu_ram #(
    // log2 of the 32-bit words.
    parameter WORDS_LOG2 = 12,
    // File for $readmemh with the contents, or empty.
    parameter HEX = ""
) (
    // Clock and synchronous reset (of what is read ahead, not of the contents).
    input  wire                  clk,
    input  wire                  rst,

    // Instructions: word address, held until ready, with which the word is there.
    input  wire                  fetch_valid,
    input  wire [WORDS_LOG2-1:0] fetch_address,
    output wire                  fetch_ready,
    output wire [31:0]           fetch_rdata,

    // Data: the same, with byte enables for writes, which are taken at once.
    input  wire                  data_valid,
    input  wire                  data_write,
    input  wire [WORDS_LOG2-1:0] data_address,
    input  wire [31:0]           data_wdata,
    input  wire [3:0]            data_wstrb,
    output wire                  data_ready,
    output wire [31:0]           data_rdata
);

    // What a fetch reads of a word that is written in the same cycle does not matter: code is not written while it runs.
    // Saying so lets synthesis use the block RAM's two true ports, instead of a second copy with a bypass around it.
    (* no_rw_check *)
    reg [31:0] memory [0:(1 << WORDS_LOG2) - 1];

    generate
        if (HEX != "") begin : g_contents
            initial $readmemh(HEX, memory);
        end
    endgenerate

    reg [31:0]           fetch_data_reg;
    reg                  fetch_hold_reg;
    reg [WORDS_LOG2-1:0] fetch_hold_address_reg;
    reg [31:0]           data_data_reg;
    reg                  data_hold_reg;
    reg [WORDS_LOG2-1:0] data_hold_address_reg;

    wire fetch_hit = fetch_hold_reg && fetch_hold_address_reg == fetch_address;
    wire data_hit  = data_hold_reg && data_hold_address_reg == data_address;

    wire [WORDS_LOG2-1:0] fetch_read_address = fetch_address + {{(WORDS_LOG2-1){1'b0}}, fetch_hit};
    // A write keeps its own address; reads go ahead as above.
    wire [WORDS_LOG2-1:0] data_port_address = data_address + {{(WORDS_LOG2-1){1'b0}}, data_hit && !data_write};

    assign fetch_ready = fetch_valid && fetch_hit;
    assign fetch_rdata = fetch_data_reg;
    assign data_ready  = data_valid && (data_write || data_hit);
    assign data_rdata  = data_data_reg;

    always @(posedge clk) begin
        if (fetch_valid) begin
            fetch_data_reg <= memory[fetch_read_address];
        end
    end

    wire       data_read = data_valid && !data_write;
    wire [3:0] data_strobe = data_wstrb & {4{data_valid && data_write}};

    always @(posedge clk) begin
        if (data_strobe[0]) begin
            memory[data_port_address][7:0] <= data_wdata[7:0];
        end
        if (data_strobe[1]) begin
            memory[data_port_address][15:8] <= data_wdata[15:8];
        end
        if (data_strobe[2]) begin
            memory[data_port_address][23:16] <= data_wdata[23:16];
        end
        if (data_strobe[3]) begin
            memory[data_port_address][31:24] <= data_wdata[31:24];
        end
        if (data_read) begin
            data_data_reg <= memory[data_port_address];
        end
    end

    always @(posedge clk) begin
        if (fetch_valid) begin
            fetch_hold_reg <= 1'b1;
            fetch_hold_address_reg <= fetch_read_address;
        end
        if (data_read) begin
            data_hold_reg <= 1'b1;
            data_hold_address_reg <= data_port_address;
        end else if (data_valid && data_hit) begin
            // The word read ahead has just been overwritten.
            data_hold_reg <= 1'b0;
        end
        if (rst) begin
            fetch_hold_reg <= 1'b0;
            data_hold_reg <= 1'b0;
        end
    end

endmodule

`default_nettype wire
