// SPDX-License-Identifier: Apache-2.0
// Does the memory chip's model see each breach of its data sheet? A life without fault, then one command each time that comes too soon,
// too late or not at all, behind a power-on of its own.
`timescale 1ns/1ps
`default_nettype none

module chip_test;
    localparam NOP = 3'b111, STOP = 3'b110, READ = 3'b101, WRITE = 3'b100, ACTIVATE = 3'b011, PRECHARGE = 3'b010, REFRESH = 3'b001,
        MODE = 3'b000;

    reg         clk = 1'b0, cke = 1'b0;
    reg [2:0]   command = NOP;
    reg [1:0]   ba = 2'd0;
    reg [12:0]  a = 13'd0;
    reg [1:0]   dqm = 2'd0;
    reg [15:0]  data = 16'd0;
    reg         drive = 1'b0;
    wire [15:0] dq = drive ? data : 16'hzzzz;
    wire [4:0]  broken;
    wire        awake;
    integer     passed = 0, failed = 0, n;
    reg [15:0]  seen;
    real        setup, half;

    sdram_chip #(.ROW_BITS(13), .COLUMN_BITS(4), .T_POWER(2000), .T_RAS_MOST(60000)) chip (
        .clk(clk), .cke(cke), .cs_n(1'b0), .ras_n(command[2]), .cas_n(command[1]), .we_n(command[0]), .ba(ba), .a(a), .dqm(dqm),
        .dq(dq), .broken(broken), .awake(awake)
    );

    // A clock of two halves, its edge in the middle; pins change `setup` before it and 1 ns behind it.
    task clocks(input integer count);
        repeat (count) begin
            #(half) clk = 1'b1;
            #(half) clk = 1'b0;
        end
    endtask
    task give(input [2:0] what, input [1:0] bank, input [12:0] address);
        begin
            #(half - setup);
            command = what;
            ba = bank;
            a = address;
            drive = what == WRITE;
            #(setup) clk = 1'b1;
            #1;
            command = NOP;
            drive = 1'b0;
            #(half - 1.0) clk = 1'b0;
        end
    endtask

    task power_on;
        begin
            chip.broken = 5'd0;
            chip.awake = 1'b0;
            chip.running = 1'b0;
            chip.closed_all = 1'b0;
            chip.moded_once = 1'b0;
            chip.refreshes = 0;
            chip.open = 4'd0;
            setup = 2.0;
            half = 10.0;
            cke = 1'b0;
            clocks(20);
            cke = 1'b1;
            clocks(110);
        end
    endtask
    task start(input integer refreshes, input [12:0] mode);
        begin
            power_on;
            give(PRECHARGE, 0, 13'h400);
            clocks(2);
            repeat (refreshes) begin
                give(REFRESH, 0, 0);
                clocks(4);
            end
            give(MODE, 0, mode);
            clocks(2);
        end
    endtask
    task expect_rule(input [4:0] rule, input [8*24-1:0] name);
        begin
            clocks(4);
            if (broken == rule) begin
                passed = passed + 1;
                $display("[       OK ] %0s", name);
            end else begin
                failed = failed + 1;
                $display("[  FAILED  ] %0s\n    the chip says %0d, not %0d", name, broken, rule);
            end
        end
    endtask

    initial begin
        // A life: four banks, writes with masks, reads, refresh.
        start(8, 13'h020);
        for (n = 0; n < 4; n = n + 1)
            give(ACTIVATE, n[1:0], 13'd7);
        clocks(1);
        data = 16'h1234;
        give(WRITE, 2, 13'd5);
        data = 16'hffff;
        dqm = 2'b01;
        give(WRITE, 2, 13'd5);
        dqm = 2'b00;
        // Two clocks behind the command the data are there.
        give(READ, 2, 13'd5);
        clocks(1);
        #9.5 seen = dq;
        #0.5 clk = 1'b1;
        #10 clk = 1'b0;
        if (seen != 16'hff34)
            $display("    read %h", seen);
        give(READ, 1, 13'h405);
        clocks(2);
        give(PRECHARGE, 0, 13'h400);
        clocks(1);
        give(REFRESH, 0, 0);
        clocks(4);
        give(ACTIVATE, 1, 13'd8);
        expect_rule(seen == 16'hff34 ? 5'd0 : 5'd31, "no_breach_is_seen");

        power_on; chip.running = 1'b0; clocks(50); give(PRECHARGE, 0, 13'h400); expect_rule(1, "power_comes_up");
        start(7, 13'h020); expect_rule(2, "too_few_refreshes");
        power_on; give(REFRESH, 0, 0); expect_rule(2, "refresh_before_precharge");
        power_on; give(PRECHARGE, 0, 13'h400); clocks(1); give(ACTIVATE, 0, 0); expect_rule(2, "no_mode");
        start(8, 13'h021); expect_rule(3, "burst_of_two");
        start(8, 13'h010); expect_rule(3, "latency_of_one");
        start(8, 13'h020); cke = 1'b0; clocks(1); expect_rule(4, "clock_enable");
        start(8, 13'h020); give(ACTIVATE, 1, 0); clocks(3); give(ACTIVATE, 1, 1); expect_rule(5, "open_bank");
        start(8, 13'h020); give(ACTIVATE, 1, 0); clocks(3); give(REFRESH, 0, 0); expect_rule(5, "refresh_of_open_rows");
        start(8, 13'h020); give(READ, 1, 0); expect_rule(6, "no_row");
        start(8, 13'h020); give(ACTIVATE, 1, 0); clocks(3); give(READ, 1, 13'h400); clocks(2); give(READ, 1, 0);
        expect_rule(6, "row_that_closed_itself");
        start(8, 13'h020); half = 5.0; give(ACTIVATE, 1, 0); give(READ, 1, 0); expect_rule(7, "activate_to_read");
        start(8, 13'h020); half = 5.0; give(ACTIVATE, 1, 0); clocks(6); give(PRECHARGE, 1, 0); give(ACTIVATE, 1, 0);
        expect_rule(8, "precharge_to_activate");
        start(8, 13'h020); give(ACTIVATE, 1, 0); clocks(1); give(PRECHARGE, 1, 0); expect_rule(9, "activate_to_precharge");
        start(8, 13'h020); half = 2.5; give(ACTIVATE, 1, 0); clocks(8); give(PRECHARGE, 1, 0); clocks(3); give(ACTIVATE, 1, 0);
        expect_rule(10, "activate_to_activate");
        start(8, 13'h020); half = 5.0; give(ACTIVATE, 1, 0); give(ACTIVATE, 2, 0); expect_rule(11, "activates_of_two_banks");
        start(8, 13'h020); give(REFRESH, 0, 0); clocks(2); give(ACTIVATE, 1, 0); expect_rule(12, "refresh_to_activate");
        start(8, 13'h020); half = 5.0; give(ACTIVATE, 1, 0); clocks(4); give(WRITE, 1, 0); give(PRECHARGE, 1, 0);
        expect_rule(13, "write_to_precharge");
        start(8, 13'h020); give(MODE, 0, 13'h020); give(ACTIVATE, 1, 0); expect_rule(14, "mode_to_command");
        start(8, 13'h020); clocks(4000); expect_rule(15, "no_refresh");
        start(8, 13'h020); give(ACTIVATE, 1, 0); clocks(3050); expect_rule(16, "row_open_for_long");
        start(8, 13'h020); setup = 1.0; give(ACTIVATE, 1, 0); expect_rule(17, "setup");
        start(8, 13'h020); #10 clk = 1'b1; #0.5; command = ACTIVATE; #2 command = NOP; #7.5 clk = 1'b0; expect_rule(17, "hold");
        start(8, 13'h020); give(ACTIVATE, 1, 0); clocks(2); give(READ, 1, 0); clocks(1); give(WRITE, 1, 0);
        expect_rule(18, "data_from_both_sides");
        start(8, 13'h020); give(STOP, 0, 0); expect_rule(19, "unknown_command");
        $display("%0d passed, %0d failed", passed, failed);
        $finish;
    end
endmodule

`default_nettype wire
