// SPDX-License-Identifier: Apache-2.0
// The two streams of ferry_slot: what is offered stays; a packet of the mirror never stands inside one of the host, nor
// one of the host's inside its; the answer to the mirror's write stays here, and nothing else does. In a clock in which the
// block has no leave to speak no write, message or read of the device begins, whatever the device has been told.
`default_nettype none

module slot_streams (
    input wire clk,
    input wire rst,
    input wire [63:0] rx_data,
    input wire rx_last,
    input wire rx_valid,
    input wire [63:0] out_data,
    input wire out_last,
    input wire out_valid,
    input wire in_ready,
    input wire in_request_ok,
    input wire tx_ready,
    input wire leave
);
    (* anyconst *) wire [7:0] bus;
    wire [63:0] in_data, tx_data;
    wire        rx_ready, np_ok, in_last, in_valid, out_ready, tx_last, tx_valid;
    wire [1:0]  in_keep;
    wire [7:0]  tx_keep;
    wire [2:0]  unused_sel;
    wire        posted_ok, request_ok, unused_completion_ok;
    wire [9:0]  unused_word;
    wire        unused_read;

    ferry_slot slot (
        .clk(clk), .rst(rst), .m_axis_rx_tdata(rx_data), .m_axis_rx_tkeep(8'hff), .m_axis_rx_tlast(rx_last),
        .m_axis_rx_tvalid(rx_valid), .m_axis_rx_tready(rx_ready), .rx_bar_hit(8'd1), .rx_np_ok(np_ok), .s_axis_tx_tdata(tx_data),
        .s_axis_tx_tkeep(tx_keep), .s_axis_tx_tlast(tx_last), .s_axis_tx_tvalid(tx_valid), .s_axis_tx_tready(tx_ready),
        .fc_sel(unused_sel), .fc_ph(8'd0), .fc_pd(12'd0), .fc_nph(8'd0), .fc_cplh(8'd0), .fc_cpld(12'd0),
        .cfg_mgmt_dwaddr(unused_word), .cfg_mgmt_rd_en(unused_read), .cfg_mgmt_do(32'd0), .cfg_mgmt_rd_wr_done(1'b0),
        .cfg_bus_number(bus), .cfg_device_number(5'd0), .cfg_function_number(3'd0), .cfg_command({13'd0, leave, 2'd0}),
        .cfg_dcommand(16'd0), .cfg_pmcsr_powerstate(2'd0), .cfg_interrupt_msienable(1'b0), .cfg_received_func_lvl_rst(1'b0),
        .s_axis_tlp_tdata(in_data), .s_axis_tlp_tkeep(in_keep), .s_axis_tlp_tlast(in_last), .s_axis_tlp_tvalid(in_valid),
        .s_axis_tlp_tready(in_ready), .s_axis_tlp_request_ok(in_request_ok), .m_axis_tlp_tdata(out_data),
        .m_axis_tlp_tkeep(2'b11), .m_axis_tlp_tlast(out_last), .m_axis_tlp_tvalid(out_valid),
        .m_axis_tlp_tready(out_ready), .m_axis_tlp_posted_ok(posted_ok), .m_axis_tlp_request_ok(request_ok),
        .m_axis_tlp_completion_ok(unused_completion_ok)
    );

    valid_ready_properties #(.WIDTH(65), .ASSUME(1)) host (
        .clk(clk), .rst(rst), .valid(rx_valid), .ready(rx_ready), .data({rx_data, rx_last})
    );
    valid_ready_properties #(.WIDTH(65), .ASSUME(1)) device (
        .clk(clk), .rst(rst), .valid(out_valid), .ready(out_ready), .data({out_data, out_last})
    );
    valid_ready_properties #(.WIDTH(67)) to_device (
        .clk(clk), .rst(rst), .valid(in_valid), .ready(in_ready), .data({in_data, in_keep, in_last})
    );
    valid_ready_properties #(.WIDTH(73)) to_host (
        .clk(clk), .rst(rst), .valid(tx_valid), .ready(tx_ready), .data({tx_data, tx_keep, tx_last})
    );

    reg       old = 1'b0;
    // A packet is under way: to the device, of the mirror's; from the host; from the device, an answer; to the host.
    reg       in_inside, in_own, rx_inside, out_inside, out_answer, tx_inside;
    // A write of the mirror's is not yet answered.
    reg       owed;
    // The first beat of a packet of the device was offered and not taken.
    reg       out_stood;

    wire in_goes = in_valid && in_ready, rx_goes = rx_valid && rx_ready;
    wire out_goes = out_valid && out_ready, tx_goes = tx_valid && tx_ready;
    wire own = in_inside ? in_own : in_data[31:24] == 8'h44;
    wire is_answer = out_data[31:24] == 8'h0a && out_data[47:45] == 3'd0;
    wire answer = out_inside ? out_answer : is_answer;
    wire out_begins = out_valid && !out_inside && !out_stood;
    // It reads; it writes or is a message.
    wire reads = out_data[30] == 1'b0 && out_data[28:24] == 5'd0;
    wire tells = (out_data[30] && out_data[28:24] == 5'd0) || out_data[28:27] == 2'b10;

    always @(*) begin
        assume (rst == !old);
        // The block answers requests of configuration itself, no packet has one beat, and the device answers what it got.
        if (rx_valid && !rx_inside)
            assume (rx_data[28:25] != 4'b0010 && !rx_last);
        if (out_valid && !out_inside)
            assume (!out_last && (!is_answer || owed));
        if (out_valid && out_inside && out_answer)
            assume (out_last);
        // What stands may stand for long; it began when there was room for it.
        if (out_begins)
            assume ((!reads || request_ok) && (!tells || posted_ok));
        if (!rst) begin
            assert (!out_begins || !(reads || tells) || leave);
            cover (out_begins && reads && leave);
            cover (out_begins && tells && leave);
            cover (tx_goes && !tx_inside && tells && !leave);
            cover (out_begins && !reads && !tells && !answer && !leave);
            assert (rx_goes == (in_goes && !own));
            assert (!in_goes || own || (in_last == rx_last && (in_inside == rx_inside)));
            assert (!in_goes || !own || in_last == in_inside);
            // One that is whole: nothing of the host's has begun then.
            assert (!in_goes || !own || !rx_inside);
            assert (tx_goes == (out_goes && !answer));
            assert (!tx_goes || (tx_last == out_last && tx_inside == out_inside));
            cover (in_goes && own && in_last && rx_valid);
            cover (in_goes && !own && in_last && owed);
            cover (out_goes && answer && out_last);
            cover (tx_goes && tx_last && owed);
        end
    end

    always @(posedge clk) begin
        old <= 1'b1;
        if (in_goes) begin
            in_inside <= !in_last;
            in_own <= own;
            if (own && in_last)
                owed <= 1'b1;
        end
        out_stood <= out_valid && !out_ready;
        if (rx_goes)
            rx_inside <= !rx_last;
        if (out_goes) begin
            out_inside <= !out_last;
            out_answer <= answer;
            if (answer && !out_inside)
                owed <= 1'b0;
        end
        if (tx_goes)
            tx_inside <= !tx_last;
        if (rst) begin
            in_inside <= 1'b0;
            in_own <= 1'b0;
            rx_inside <= 1'b0;
            out_inside <= 1'b0;
            out_stood <= 1'b0;
            out_answer <= 1'b0;
            tx_inside <= 1'b0;
            owed <= 1'b0;
        end
    end
endmodule

`default_nettype wire
