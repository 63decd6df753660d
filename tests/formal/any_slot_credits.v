// SPDX-License-Identifier: Apache-2.0
// Stands for ferry_slot_credits in the proof of ferry_slot: there is room for a packet of any kind whenever it likes.
`default_nettype none

module ferry_slot_credits (
    // As the real one has them.
    input  wire        clk,
    input  wire        rst,
    input  wire [7:0]  posted_headers,
    input  wire [11:0] posted_data,
    input  wire [7:0]  request_headers,
    input  wire [7:0]  completion_headers,
    input  wire [11:0] completion_data,
    input  wire [2:0]  max_payload,
    input  wire        beat_goes,
    input  wire        packet_begins,
    input  wire [7:0]  packet_kind,
    output wire        posted_ok,
    output wire        request_ok,
    output wire        completion_ok
);
    (* anyseq *) wire [2:0] any_room;

    assign {completion_ok, request_ok, posted_ok} = any_room;
endmodule

`default_nettype wire
