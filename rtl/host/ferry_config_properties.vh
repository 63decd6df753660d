// SPDX-License-Identifier: Apache-2.0
// Part of ferry_config under FORMAL: an error's status bit is 1 from the error on until the host
// writes a 1 to it, whatever else is written and read meanwhile, and no bit is 1 without an error (PCI 3.0 6.2.3, PCI Express
// 7.5.3.5); power state D3hot comes and goes with the host's writes alone, and nothing is answered or asked for in it (PCI power
// management 5.4.1).
    reg f_started = 1'b0;

    always @(posedge clk)
        f_started <= 1'b1;
    always @*
        if (!f_started)
            assume (rst);

    // Each error, and where its bit is: bits 31 to 24 of COMMAND, 19 to 16 of DEVICE_CONTROL (PCI Express 7.5.1.1.4, 7.5.3.5).
    (* anyconst *) wire [3:0] f_error;
    wire [9:0]  f_errors = {set_detected_parity, set_signaled_error, set_received_unsupported, set_received_abort,
        set_signaled_abort, set_master_parity, set_unsupported, set_fatal, set_nonfatal, set_correctable};
    wire        f_link = f_error < 4'd4;
    wire [4:0]  f_bit = f_link ? 5'd16 + {1'b0, f_error} : f_error == 4'd4 ? 5'd24 : {1'b0, f_error} + 5'd22;
    wire [11:0] f_place = f_link ? `FERRY_CONFIG_SPACE_DEVICE_CONTROL : `FERRY_CONFIG_SPACE_COMMAND;

    always @*
        assume (f_error < 4'd10);

    // The host's write of a cycle before: it takes effect in this one.
    reg        f_write = 1'b0;
    reg [11:0] f_address;
    reg [31:0] f_wdata;
    reg [3:0]  f_wstrb;
    reg        f_set = 1'b0;
    reg        f_sleeps = 1'b0;
    wire       f_power_write = f_write && f_wstrb[0] && f_address == `FERRY_CONFIG_SPACE_POWER_CONTROL;

    always @(posedge clk) begin
        f_write <= config_write && !rst;
        f_address <= config_address;
        f_wdata <= config_wdata;
        f_wstrb <= config_wstrb;
        f_set <= !rst && !function_reset &&
            (f_errors[f_error] || (f_set && !(f_write && f_address == f_place && f_wstrb[f_bit[4:3]] && f_wdata[f_bit])));
        if (f_power_write && f_wdata[1:0] == 2'd0)
            f_sleeps <= 1'b0;
        if (f_power_write && f_wdata[1:0] == 2'd3)
            f_sleeps <= 1'b1;
        if (rst || function_reset)
            f_sleeps <= 1'b0;
    end

    always @(posedge clk) if (f_started && $past(f_started)) begin
        // Where it is kept; then what the host reads.
        assert (f_set == (f_link ? device_status_reg[f_bit] : status_reg[f_bit]));
        assert (f_sleeps == sleep_reg);
        if (f_address == f_place)
            assert (config_rdata[f_bit] == f_set);
        assert (asleep == f_sleeps);
        assert (!asleep || (!memory_enable && !bus_master));
        if (f_address == `FERRY_CONFIG_SPACE_POWER_CONTROL)
            assert (config_rdata[1:0] == {2{f_sleeps}});
        cover (f_set && f_address == f_place && f_write && !$past(f_set, 1));
        cover (asleep && $past(memory_enable && bus_master));
    end
