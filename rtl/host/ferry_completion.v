// SPDX-License-Identifier: Apache-2.0
// Builds one completion (base specification 2.2.9): keeps the read data of at most one maximum payload, and sends
// header and data as one packet when told to.
`default_nettype none

module ferry_completion (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Read data: either half of a beat of the buffer.
    input  wire [1:0]  write_valid,
    input  wire [4:0]  write_index,
    input  wire [63:0] write_data,

    // Send: the fields below are stable until done, a pulse with the last beat,
    // and send_valid falls with it.
    input  wire        send_valid,
    output wire        send_done,
    // 0 = successful, 1 = unsupported request, 4 = completer abort.
    input  wire [2:0]  status,
    // Payload words; 0 = completion without data.
    input  wire [6:0]  words,
    // Bytes of the request that are still to come, this packet's included; modulo 4096.
    input  wire [11:0] bytes,
    // Lowest bits of the address of the first byte; bit 2 tells in which half of the first beat the data begins.
    input  wire [6:0]  lower_address,
    // The request was a locked read.
    input  wire        locked,
    // Traffic class and attributes of the request.
    input  wire [2:0]  traffic_class,
    input  wire [2:0]  attributes,
    input  wire [15:0] requester_id,
    input  wire [7:0]  tag,
    input  wire [15:0] completer_id,

    // Packet stream.
    output wire [63:0] tlp_data,
    output wire        tlp_upper,
    output wire        tlp_last,
    output wire        tlp_valid,
    input  wire        tlp_ready
);
    // Block memory; nothing is sent while it is written.
    (* ram_style = "block", no_rw_check *)
    reg [31:0] low_memory [0:31];
    (* ram_style = "block", no_rw_check *)
    reg [31:0] high_memory [0:31];
    reg [63:0] read_data_reg;
    wire [4:0] read_index;
    // The fields stand until the end, so nobody asks when they were taken.
    wire       unused_taken;

    wire [31:0] word0 = {1'b0, words != 7'd0, 5'b00101, locked, 1'b0, traffic_class, 1'b0, attributes[2], 4'd0,
                         attributes[1:0], 2'd0, 3'd0, words};
    wire [31:0] word1 = {completer_id, status, 1'b0, bytes};
    wire [31:0] word2 = {requester_id, tag, 1'b0, lower_address};

`ifdef FORMAL
    // What the data is does not matter to the proofs.
    (* anyseq *) wire [63:0] read_data;
`else
    wire [63:0] read_data = read_data_reg;
    always @(posedge clk) begin
        if (write_valid[0])
            low_memory[write_index] <= write_data[31:0];
        if (write_valid[1])
            high_memory[write_index] <= write_data[63:32];
        read_data_reg <= {high_memory[read_index], low_memory[read_index]};
    end
`endif

    ferry_tlp_emit #(.INDEX_WIDTH(5)) emit (
        .clk(clk),
        .rst(rst),
        .packet_valid(send_valid),
        .packet_taken(unused_taken),
        .packet_done(send_done),
        .packet_header({32'd0, word2, word1, word0}),
        .packet_four(1'b0),
        .packet_words(words),
        .packet_odd(lower_address[2]),
        .read_index(read_index),
        .read_data(read_data),
        .tlp_data(tlp_data),
        .tlp_upper(tlp_upper),
        .tlp_last(tlp_last),
        .tlp_valid(tlp_valid),
        .tlp_ready(tlp_ready)
    );
endmodule

`default_nettype wire
