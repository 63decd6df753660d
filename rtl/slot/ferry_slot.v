// SPDX-License-Identifier: Apache-2.0
// Between ferry_device and the PCI Express block of a 7-series FPGA, as its core shows it (AMD PG054): 64 bits a beat on
// both sides, so one lane of 2.5 GT/s has one clock of 62.5 MHz, and nothing is converted but
//   * the order of bytes: headers are alike, data are not;
//   * places: the block knows its BARs and says which of them a request is for; the device's stay where they are (BAR0_AT,
//     and BAR2 at 0), and requests are sent there. So whatever the block lets through arrives, wherever the host has moved its BARs,
//     and whether it has switched memory off since;
//   * configuration: the block answers the host, and ferry_slot_mirror tells the device what it was told, by packets that
//     are put between the host's; the answers to them are the only packets without data that say "successful", and stay;
//   * credits: ferry_slot_credits.
`default_nettype none

module ferry_slot #(
    // Where the block has its capabilities, in bytes.
    parameter [11:0] POWER_AT = 12'h040,
    parameter [11:0] MSI_AT = 12'h048,
    parameter [11:0] PCIE_AT = 12'h060,
    // log2 of the bytes of BAR2, at most 31.
    parameter BAR2_BITS = 27
) (
    // Clock of the block's user side; reset while the link is down, active high.
    input  wire        clk,
    input  wire        rst,

    // Packets from the block, and which BARs they are for, all the time (tuser, 9 to 2); that requests which want an answer
    // may come (rx_np_ok).
    input  wire [63:0] m_axis_rx_tdata,
    input  wire [7:0]  m_axis_rx_tkeep,
    input  wire        m_axis_rx_tlast,
    input  wire        m_axis_rx_tvalid,
    output wire        m_axis_rx_tready,
    input  wire [7:0]  rx_bar_hit,
    output wire        rx_np_ok,
    // Packets to the block.
    output wire [63:0] s_axis_tx_tdata,
    output wire [7:0]  s_axis_tx_tkeep,
    output wire        s_axis_tx_tlast,
    output wire        s_axis_tx_tvalid,
    input  wire        s_axis_tx_tready,
    // Credits: transmit credits that are left.
    output wire [2:0]  fc_sel,
    input  wire [7:0]  fc_ph,
    input  wire [11:0] fc_pd,
    input  wire [7:0]  fc_nph,
    input  wire [7:0]  fc_cplh,
    input  wire [11:0] fc_cpld,
    // Configuration.
    output wire [9:0]  cfg_mgmt_dwaddr,
    output wire        cfg_mgmt_rd_en,
    input  wire [31:0] cfg_mgmt_do,
    input  wire        cfg_mgmt_rd_wr_done,
    input  wire [7:0]  cfg_bus_number,
    input  wire [4:0]  cfg_device_number,
    input  wire [2:0]  cfg_function_number,
    input  wire [15:0] cfg_command,
    input  wire [15:0] cfg_dcommand,
    input  wire [1:0]  cfg_pmcsr_powerstate,
    input  wire        cfg_interrupt_msienable,
    input  wire        cfg_received_func_lvl_rst,

    // The packet ports of ferry_device.
    output wire [63:0] s_axis_tlp_tdata,
    output wire [1:0]  s_axis_tlp_tkeep,
    output wire        s_axis_tlp_tlast,
    output wire        s_axis_tlp_tvalid,
    input  wire        s_axis_tlp_tready,
    input  wire        s_axis_tlp_request_ok,
    input  wire [63:0] m_axis_tlp_tdata,
    input  wire [1:0]  m_axis_tlp_tkeep,
    input  wire        m_axis_tlp_tlast,
    input  wire        m_axis_tlp_tvalid,
    output wire        m_axis_tlp_tready,
    output wire        m_axis_tlp_posted_ok,
    output wire        m_axis_tlp_request_ok,
    output wire        m_axis_tlp_completion_ok
);
    function [31:0] swapped;
        input [31:0] word;
        swapped = {word[7:0], word[15:8], word[23:16], word[31:24]};
    endfunction

    // Beat 0 is header, of beat 1 the second word if there are four, nothing behind it.
    function [63:0] turned;
        input [63:0] beat;
        input [1:0]  number;
        input        four;
        turned = number == 2'd0 || (number == 2'd1 && four) ? beat
            : {swapped(beat[63:32]), number == 2'd1 ? beat[31:0] : swapped(beat[31:0])};
    endfunction

    // Where the device has BAR0: behind all that BAR2 can be.
    localparam [31:0] BAR0_AT = 32'h8000_0000;

    wire [15:0] function_id = {cfg_bus_number, cfg_device_number, cfg_function_number};

    // ---- From the host -------------------------------------------------------------------------------------------

    wire        stand, write, write_waits;
    wire [11:0] write_address;
    wire [31:0] write_data;
    // Number of the beat, up to 2, of whichever packet is under way; it is the mirror's; the host's has four words.
    reg  [1:0]  in_beat_reg;
    reg         in_four_reg;
    // It has an address.
    reg         in_request_reg;
    reg         writes_reg;
    // A beat is offered and was not taken: it stays.
    reg         offered_reg;

    wire        in_begins = in_beat_reg == 2'd0;
    wire        chooses = in_begins && !offered_reg;
    // One that wants an answer has room while the device says so; the host's are told to wait for it.
    wire        writes = chooses ? write && s_axis_tlp_request_ok : writes_reg;
    wire        passes = !writes && !(chooses && stand);
    wire        in_goes = s_axis_tlp_tvalid && s_axis_tlp_tready;
    // Its address: of four header words the last. What is for no BAR goes where the device has none.
    wire        addressed = in_request_reg && in_beat_reg == 2'd1;
    wire [31:0] address = in_four_reg ? m_axis_rx_tdata[63:32] : m_axis_rx_tdata[31:0];
    wire [31:0] place = rx_bar_hit[2] ? {{(32-BAR2_BITS){1'b0}}, address[BAR2_BITS-1:0]}
        : {BAR0_AT[31], !rx_bar_hit[0], 14'd0, address[15:0]};
    wire [63:0] turned_in = turned(m_axis_rx_tdata, in_beat_reg, in_four_reg);

    assign rx_np_ok = s_axis_tlp_request_ok && !write;
    assign m_axis_rx_tready = passes && s_axis_tlp_tready;
    assign s_axis_tlp_tvalid = writes || (passes && m_axis_rx_tvalid);
    assign s_axis_tlp_tlast = writes ? !in_begins : m_axis_rx_tlast;
    assign s_axis_tlp_tkeep = writes ? 2'b11 : {m_axis_rx_tkeep[4], m_axis_rx_tkeep[0]};
    // Configuration Write Type 0 of one word, by nobody, all four bytes (base specification 2.2.7.1).
    assign s_axis_tlp_tdata = !writes ? (!addressed ? turned_in : in_four_reg ? {place, 32'd0} : {turned_in[63:32], place})
        : in_begins ? {32'h0000_000f, 32'h4400_0001} : {write_data, function_id, 4'd0, write_address};

    always @(posedge clk) begin
        offered_reg <= s_axis_tlp_tvalid && !s_axis_tlp_tready;
        writes_reg <= writes;
        if (in_goes) begin
            in_beat_reg <= s_axis_tlp_tlast ? 2'd0 : in_beat_reg[1] ? 2'd2 : in_beat_reg + 2'd1;
            if (in_begins) begin
                in_four_reg <= m_axis_rx_tdata[29];
                // Neither a completion nor a message.
                in_request_reg <= m_axis_rx_tdata[28:25] != 4'b0101 && m_axis_rx_tdata[28:27] != 2'b10;
            end
        end
        if (rst) begin
            in_beat_reg <= 2'd0;
            writes_reg <= 1'b0;
            offered_reg <= 1'b0;
        end
    end

    // ---- To the host -----------------------------------------------------------------------------------------------

    reg  [1:0]  out_beat_reg;
    reg         out_four_reg;
    reg         keeps_reg;

    wire        out_begins = out_beat_reg == 2'd0;
    // Completion without data, status 0.
    wire        is_answer = m_axis_tlp_tdata[31:24] == 8'h0a && m_axis_tlp_tdata[47:45] == 3'd0;
    wire        keeps = out_begins ? write_waits && is_answer : keeps_reg;
    wire        out_goes = m_axis_tlp_tvalid && m_axis_tlp_tready;

    assign m_axis_tlp_tready = keeps || s_axis_tx_tready;
    assign s_axis_tx_tvalid = m_axis_tlp_tvalid && !keeps;
    assign s_axis_tx_tlast = m_axis_tlp_tlast;
    assign s_axis_tx_tkeep = {{4{m_axis_tlp_tkeep[1]}}, {4{m_axis_tlp_tkeep[0]}}};
    assign s_axis_tx_tdata = turned(m_axis_tlp_tdata, out_beat_reg, out_four_reg);

    always @(posedge clk) begin
        if (out_goes) begin
            out_beat_reg <= m_axis_tlp_tlast ? 2'd0 : out_beat_reg[1] ? 2'd2 : out_beat_reg + 2'd1;
            keeps_reg <= keeps;
            if (out_begins)
                out_four_reg <= m_axis_tlp_tdata[29];
        end
        if (rst) begin
            out_beat_reg <= 2'd0;
            keeps_reg <= 1'b0;
        end
    end

    // ---- Configuration and credits ------------------------------------------------------------------------------------

    reg asked_reg;

    ferry_slot_mirror #(.POWER_AT(POWER_AT), .MSI_AT(MSI_AT), .PCIE_AT(PCIE_AT), .BAR0_AT(BAR0_AT)) mirror (
        .clk(clk), .rst(rst), .manage_word(cfg_mgmt_dwaddr), .manage_read(cfg_mgmt_rd_en), .manage_data(cfg_mgmt_do),
        .manage_done(cfg_mgmt_rd_wr_done), .function_id(function_id), .command(cfg_command), .device_control(cfg_dcommand),
        .power_state(cfg_pmcsr_powerstate), .msi_enable(cfg_interrupt_msienable), .function_reset(cfg_received_func_lvl_rst && !asked_reg),
        .stand(stand), .write(write), .write_address(write_address), .write_data(write_data),
        .write_waits(write_waits),
        .write_taken(writes && in_goes && s_axis_tlp_tlast), .write_answered(keeps && out_goes && m_axis_tlp_tlast)
    );

    // One reset for each time it is asked for, however long the block says so.
    always @(posedge clk)
        asked_reg <= cfg_received_func_lvl_rst && !rst;

    assign fc_sel = 3'b100;

    // Nobody speaks without leave, though the device be told of it late.
    wire posted_room, request_room;
    assign m_axis_tlp_posted_ok = posted_room && cfg_command[2];
    assign m_axis_tlp_request_ok = request_room && cfg_command[2];

    ferry_slot_credits credits (
        .clk(clk), .rst(rst), .posted_headers(fc_ph), .posted_data(fc_pd), .request_headers(fc_nph),
        .completion_headers(fc_cplh), .completion_data(fc_cpld), .max_payload(cfg_dcommand[7:5]),
        .beat_goes(out_goes && !keeps), .packet_begins(out_begins), .packet_kind(m_axis_tlp_tdata[31:24]),
        .posted_ok(posted_room), .request_ok(request_room), .completion_ok(m_axis_tlp_completion_ok)
    );

    wire unused = &{1'b0, m_axis_rx_tkeep[7:5], m_axis_rx_tkeep[3:1], rx_bar_hit[7:3], rx_bar_hit[1], address[31:16]};
endmodule

`default_nettype wire
