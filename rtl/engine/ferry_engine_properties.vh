// SPDX-License-Identifier: Apache-2.0
// An engine that is stopped asks for nothing more, by induction: while a reset goes on, or memory is given up on, no address
// appears on any of the four channels but one that stood there, or, of a read of video memory, right behind it. (What page tables
// are read for it, ferry_page_tables leaves out.) Included by ferry_engine under FORMAL.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (past_valid || rst);

    wire [3:0] addresses = {m_axi_host_awvalid, m_axi_local_awvalid, m_axi_host_arvalid, m_axi_local_arvalid};
    // What stood in the cycle before, and was not taken; the engine had been stopped by then.
    reg [3:0]  stood = 4'd0;
    reg        waited = 1'b0;
    reg        stopped = 1'b0;
    // It was stopped while an address stood, and is not any more.
    reg        began_anew = 1'b0;
    always @(posedge clk) begin
        stood <= addresses & ~{m_axi_host_awready, m_axi_local_awready, m_axi_host_arready, m_axi_local_arready} & {4{!rst}};
        waited <= local_waits && !rst;
        stopped <= drop_all && !rst;
        began_anew <= !rst && (began_anew || (stopped && !drop_all));
        cover (past_valid && !rst && stopped && stood != 4'd0);
        cover (past_valid && !rst && stopped && waited && addresses[0] && !stood[0]);
        cover (past_valid && !rst && began_anew && !stopped && stood == 4'd0 && addresses != 4'd0);
    end
    always @(*) if (past_valid && !rst && stopped) begin
        assert ((addresses & ~stood & ~{3'd0, waited}) == 4'd0);
        assert (!local_waits || waited);
    end
