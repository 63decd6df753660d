// SPDX-License-Identifier: Apache-2.0
// What the manual promises of s_axis_tlp_request_ok, from the port at its width to the buffer: once it falls two more requests
// that begin find room. So a sender that keeps to it never sees the stream stand for want of room, and its writes and completions
// always get in (PCIe 2.4.1). What of a packet does not matter to that is left out: the buffer takes it at once.
`default_nettype none

module request_promise #(
    parameter TLP_BITS = 64
) (
    // Clock, and synchronous reset, active high.
    input wire                   clk,
    input wire                   rst,
    // The port; whether the buffer has room for a beat; whether a request that waits for its answer leaves.
    input wire [TLP_BITS-1:0]    tdata,
    input wire [TLP_BITS/32-1:0] tkeep,
    input wire                   tlast,
    input wire                   tvalid,
    input wire                   push_ready,
    input wire                   left
);
    wire        tready, in_tlast, in_tvalid, in_tready, coming, room, ok, push_commit, push_request, push_valid;
    wire [63:0] in_tdata;
    wire [1:0]  in_tkeep;
    wire        port_first, partial, held_last, in_first;
    wire [3:0]  count;

    ferry_tlp_width #(.TLP_BITS(TLP_BITS)) width (
        .clk(clk), .rst(rst), .s_axis_tlp_tdata(tdata), .s_axis_tlp_tkeep(tkeep), .s_axis_tlp_tlast(tlast),
        .s_axis_tlp_tvalid(tvalid), .s_axis_tlp_tready(tready), .in_tdata(in_tdata), .in_tkeep(in_tkeep), .in_tlast(in_tlast),
        .in_tvalid(in_tvalid), .in_tready(in_tready), .in_request_hidden(coming), .out_tdata(64'd0), .out_tkeep(2'd0),
        .out_tlast(1'b0), .out_tvalid(1'b0), .m_axis_tlp_tready(1'b1),
        .formal_first(port_first), .formal_partial(partial), .formal_last(held_last)
    );
    ferry_tlp_receive receive (
        .clk(clk), .rst(rst), .max_payload(1'b0), .s_axis_tlp_tdata(in_tdata), .s_axis_tlp_tkeep(in_tkeep),
        .s_axis_tlp_tlast(in_tlast), .s_axis_tlp_tvalid(in_tvalid), .s_axis_tlp_tready(in_tready), .push_ready(push_ready),
        .push_valid(push_valid), .push_commit(push_commit), .push_request(push_request), .request_room(room),
        .formal_first(in_first)
    );
    ferry_request_room waiting (
        .clk(clk), .rst(rst), .coming(coming), .entered(push_commit && push_request), .left(left), .room(room), .ok(ok),
        .formal_count(count)
    );

    reg f_started = 1'b0;
    always @(posedge clk) f_started <= 1'b1;
    always @* assume (rst == !f_started);

    // Followed at the port: the packet's first word says what it is. Requests that begin while they may not.
    reg        first;
    reg        latest_request;
    reg        offered;
    reg  [1:0] behind;
    wire [4:0] kind = tdata[28:24];
    wire       request = kind[4:1] != 4'b0101 && kind[4:3] != 2'b10 && !(kind == 5'd0 && tdata[30]);
    wire       begins = tvalid && tready && first;
    // And inside.
    reg        open;
    reg        inside_request;
    wire [4:0] in_kind = in_tdata[28:24];
    wire       in_request = in_kind[4:1] != 4'b0101 && in_kind[4:3] != 2'b10 && !(in_kind == 5'd0 && in_tdata[30]);
    wire       in_taken = in_tvalid && in_tready;

    // The sender keeps to it: one of two behind the fall. What left to be answered had come.
    always @* begin
        if (tvalid && first && request)
            assume (ok || behind != 2'd2);
        assume (!left || count != 4'd0);
    end

    always @(posedge clk) begin
        if (tvalid && tready)
            first <= tlast;
        if (begins)
            latest_request <= request;
        offered <= tvalid && !tready && first && request && ok;
        behind <= ok ? 2'd0 : behind + {1'b0, begins && request};
        open <= begins || (open && !(in_taken && in_tlast));
        if (in_taken && in_first)
            inside_request <= in_request;
        if (rst) begin
            first <= 1'b1;
            offered <= 1'b0;
            behind <= 2'd0;
            open <= 1'b0;
        end
    end

    always @* if (f_started && !rst) begin
        // The claim: nothing stands for want of room.
        if (in_tvalid && !in_tready)
            assert (!push_ready);
        // What was offered while it might be is not behind the fall.
        if (offered)
            assert (ok);
        // Exactly two: with as many behind the fall and nobody gone there is room for no more.
        assert (behind != 2'd3);
        assert (count <= 4'd8 && room == (count != 4'd8));
        assert (ok == (count + {3'd0, coming} < 4'd6));
        if (!ok)
            assert (count + {3'd0, coming} <= 4'd6 + {2'd0, behind});
        // What makes it inductive: the converter holds parts of one packet at most.
        if (!in_first)
            assert (push_request == inside_request);
    end
    always @(posedge clk) if (f_started && !rst) begin
        cover (behind == 2'd2 && !room && begins && kind == 5'd0 && tdata[30]);
        cover (behind == 2'd2 && !room && push_commit && !push_request);
    end

    generate if (TLP_BITS == 64) begin : direct
        always @* if (f_started && !rst) begin
            assert (!coming && in_first == first);
            if (!first && inside_request && !ok)
                assert (count < 4'd6 + {2'd0, behind});
        end
    end else begin : converted
        always @* if (f_started && !rst) begin
            assert (coming == (open && latest_request) && port_first == first);
            assert (!(partial && first) && !(partial && in_tvalid));
            if (in_tvalid)
                assert (open && held_last == first);
            if (!in_first)
                assert (open && inside_request == latest_request);
            if (!open)
                assert (first && in_first && !partial);
            if (open && in_first)
                assert ((in_tvalid || partial) && in_request == latest_request);
            if (open && first)
                assert (in_tvalid);
        end
    end endgenerate
endmodule

`default_nettype wire
