// SPDX-License-Identifier: Apache-2.0
// What each light of a board with an SDRAM chip means, with the device, the controller and what starts the chip played by the test
// (played): one thing happens at a time, and one light tells of it, for some time behind it where it is over in a clock.
`timescale 1ns/1ps
`default_nettype none

module lights_test;
    reg         clk = 1'b0, locked = 1'b0, rxd = 1'b1;
    wire [7:0]  lights;
    wire        txd, cke, cs_n, ras_n, cas_n, we_n, dp, dn, oe, pulls;
    wire [1:0]  ba, dm;
    wire [12:0] a;
    wire [15:0] dq;
    integer     passed = 0, failed = 0;

    always #10 clk = !clk;

    ferry_sdram_board #(.CLOCKS_PER_US(50)) board (
        .clk(clk), .locked(locked), .rxd(rxd), .txd(txd), .usb_clk(1'b0), .usb_io_clk(1'b0), .usb_dp_i(1'b0), .usb_dn_i(1'b0),
        .usb_dp_o(dp), .usb_dn_o(dn), .usb_oe(oe), .usb_pullup(pulls), .sdram_cke(cke), .sdram_cs_n(cs_n), .sdram_ras_n(ras_n),
        .sdram_cas_n(cas_n), .sdram_we_n(we_n), .sdram_ba(ba), .sdram_a(a), .sdram_dm(dm), .sdram_dq(dq), .lights(lights)
    );

    task look(input [7:0] wanted, input [319:0] name);
        begin
            repeat (8) @(negedge clk);
            if (lights === wanted)
                passed = passed + 1;
            else
                failed = failed + 1;
            $display("%0s %0s", lights === wanted ? "[       OK ]" : "[  FAILED  ]", name);
            if (lights !== wanted)
                $display("    lights %b, not %b", lights, wanted);
        end
    endtask
    // Lights of what is over in a clock stay for 2^20. Light 0 is the clock's, and far from its first turn.
    task faded(input [7:0] wanted, input [319:0] name);
        begin
            repeat (1 << 20) @(negedge clk);
            look(wanted, name);
        end
    endtask

    initial begin
        repeat (10) @(negedge clk);
        locked = 1'b1;
        repeat (40) @(negedge clk);
        look(8'h80, "a_chip_that_does_not_work_yet");
        board.start.works = 1'b1;
        look(8'h02, "the_chip_works");
        board.serial.device.session = 1'b1;
        look(8'h06, "a_host_has_a_session");
        board.serial.device.session = 1'b0;
        // Over in a clock, and the light is left.
        @(negedge clk) board.serial.device.reads = 1'b1;
        @(negedge clk) board.serial.device.reads = 1'b0;
        look(8'h22, "memory_is_read");
        faded(8'h02, "and_is_not_read_any_more");
        @(negedge clk) board.serial.device.writes = 1'b1;
        @(negedge clk) board.serial.device.writes = 1'b0;
        look(8'h42, "memory_is_written");
        @(negedge clk) board.serial.device.sends = 1'b1;
        @(negedge clk) board.serial.device.sends = 1'b0;
        look(8'h52, "bytes_go");
        @(negedge clk) rxd = 1'b0;
        @(negedge clk) rxd = 1'b1;
        look(8'h5a, "bytes_come");
        faded(8'h02, "all_is_quiet_again");
        // Memory that takes nothing does nothing.
        board.port.ar = 1'b0;
        board.port.aw = 1'b0;
        board.serial.device.reads = 1'b1;
        board.serial.device.writes = 1'b1;
        look(8'h02, "what_waits_for_memory_is_nothing_yet");
        board.serial.device.reads = 1'b0;
        board.serial.device.writes = 1'b0;
        // A millisecond low: nobody holds the line.
        rxd = 1'b0;
        repeat (49980) @(negedge clk);
        look(8'h0a, "a_long_byte");
        repeat (40) @(negedge clk);
        look(8'h8a, "nobody_is_at_the_other_end");
        rxd = 1'b1;
        look(8'h0a, "somebody_is_there_again");
        repeat (1 << 20) @(negedge clk);
        // 2^25 clocks on, as many off, of which few are waited for.
        board.beat_reg = 26'h1fffff0;
        look(8'h02, "the_clock_runs_and_is_off");
        repeat (10) @(negedge clk);
        look(8'h03, "the_clock_runs_and_is_on");
        $display("%0d passed, %0d failed", passed, failed);
        $finish;
    end

    wire unused = &{1'b0, txd, cke, cs_n, ras_n, cas_n, we_n, dp, dn, oe, pulls, ba, dm, a, dq};
endmodule

`default_nettype wire
