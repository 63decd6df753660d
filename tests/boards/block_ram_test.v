// SPDX-License-Identifier: Apache-2.0
// The model of ECP5's block RAM against memories that know nothing of it: block_ram_shapes.v as it stands beside the netlist that Yosys
// makes of it, whose mapping says what each pin, width, mode and word of content means; and what Yosys never asks for,
// at the model's own pins.
`timescale 1ns/1ps
`default_nettype none

module block_ram_test;
    reg          clk_a = 1'b0, clk_b = 1'b0, on_a = 1'b0, on_b = 1'b0, rst = 1'b0;
    reg  [3:0]   write_a = 4'd0;
    reg  [1:0]   write_b = 2'd0;
    reg  [13:0]  at_a = 14'd0, at_b = 14'd0, near;
    reg  [35:0]  in_a = 36'd0;
    reg  [17:0]  in_b = 18'd0;
    wire [220:0] wanted, out;
    integer      passed = 0, failed = 0, round, seed, differs;

    block_ram_shapes source (.clk_a(clk_a), .clk_b(clk_b), .on_a(on_a), .on_b(on_b), .rst(rst), .write_a(write_a), .write_b(write_b),
        .at_a(at_a), .at_b(at_b), .in_a(in_a), .in_b(in_b), .out(wanted));
    block_ram_netlist netlist (.clk_a(clk_a), .clk_b(clk_b), .on_a(on_a), .on_b(on_b), .rst(rst), .write_a(write_a), .write_b(write_b),
        .at_a(at_a), .at_b(at_b), .in_a(in_a), .in_b(in_b), .out(out));

    // A memory of 9 bits with a register behind port A, chosen by CSA = 5 and reset at once; port B writes and reads as it is.
    reg        oce = 1'b1, rst_a = 1'b0, we_a = 1'b0, we_b = 1'b0;
    reg  [2:0] cs = 3'd5;
    wire [8:0] bare_a, bare_b;
    DP16KD #(
        .DATA_WIDTH_A(9), .DATA_WIDTH_B(9), .REGMODE_A("OUTREG"), .RESETMODE("ASYNC"), .CSDECODE_A("0b101"), .WRITEMODE_A("WRITETHROUGH")
    ) bare (
        .CLKA(clk_a), .CEA(1'b1), .OCEA(oce), .WEA(we_a), .RSTA(rst_a), .CSA2(cs[2]), .CSA1(cs[1]), .CSA0(cs[0]),
        .ADA13(at_a[13]), .ADA12(at_a[12]), .ADA11(at_a[11]), .ADA10(at_a[10]), .ADA9(at_a[9]), .ADA8(at_a[8]), .ADA7(at_a[7]),
        .ADA6(at_a[6]), .ADA5(at_a[5]), .ADA4(at_a[4]), .ADA3(at_a[3]), .ADA2(1'b0), .ADA1(1'b0), .ADA0(1'b0),
        .DIA17(1'b0), .DIA16(1'b0), .DIA15(1'b0), .DIA14(1'b0), .DIA13(1'b0), .DIA12(1'b0), .DIA11(1'b0), .DIA10(1'b0), .DIA9(1'b0),
        .DIA8(in_a[8]), .DIA7(in_a[7]), .DIA6(in_a[6]), .DIA5(in_a[5]), .DIA4(in_a[4]), .DIA3(in_a[3]), .DIA2(in_a[2]), .DIA1(in_a[1]),
        .DIA0(in_a[0]), .DOA8(bare_a[8]), .DOA7(bare_a[7]), .DOA6(bare_a[6]), .DOA5(bare_a[5]), .DOA4(bare_a[4]), .DOA3(bare_a[3]),
        .DOA2(bare_a[2]), .DOA1(bare_a[1]), .DOA0(bare_a[0]),
        .CLKB(clk_b), .CEB(1'b1), .OCEB(1'b0), .WEB(we_b), .RSTB(1'b0), .CSB2(1'b0), .CSB1(1'b0), .CSB0(1'b0),
        .ADB13(at_b[13]), .ADB12(at_b[12]), .ADB11(at_b[11]), .ADB10(at_b[10]), .ADB9(at_b[9]), .ADB8(at_b[8]), .ADB7(at_b[7]),
        .ADB6(at_b[6]), .ADB5(at_b[5]), .ADB4(at_b[4]), .ADB3(at_b[3]), .ADB2(1'b0), .ADB1(1'b0), .ADB0(1'b0),
        .DIB17(1'b0), .DIB16(1'b0), .DIB15(1'b0), .DIB14(1'b0), .DIB13(1'b0), .DIB12(1'b0), .DIB11(1'b0), .DIB10(1'b0), .DIB9(1'b0),
        .DIB8(in_b[8]), .DIB7(in_b[7]), .DIB6(in_b[6]), .DIB5(in_b[5]), .DIB4(in_b[4]), .DIB3(in_b[3]), .DIB2(in_b[2]), .DIB1(in_b[1]),
        .DIB0(in_b[0]), .DOB8(bare_b[8]), .DOB7(bare_b[7]), .DOB6(bare_b[6]), .DOB5(bare_b[5]), .DOB4(bare_b[4]), .DOB3(bare_b[3]),
        .DOB2(bare_b[2]), .DOB1(bare_b[1]), .DOB0(bare_b[0])
    );

    task check(input good, input [8*40-1:0] name);
        if (good) begin
            passed = passed + 1;
            $display("[       OK ] %0s", name);
        end else begin
            failed = failed + 1;
            $display("[  FAILED  ] %0s\n    seed %0d, round %0d: port A shows %h, port B %h", name, seed, round, bare_a, bare_b);
        end
    endtask
    task edges(input a, input b);
        begin
            #5 {clk_a, clk_b} = {a, b};
            #5 {clk_a, clk_b} = 2'b00;
            #1;
        end
    endtask

    task compare;
        if (out !== wanted) begin
            differs = differs + 1;
            if (differs < 4)
                $display("    round %0d: bits %h", round, out ^ wanted);
        end
    endtask
    task shapes_do_the_same;
        begin
            differs = 0;
            // What reads at falling edges saw one as simulation began, when nothing was known.
            on_b = 1'b1;
            edges(0, 1);
            for (round = 0; round < 2000; round = round + 1) begin
                // Addresses that are far apart for a while, then such that are met again.
                near = round[9] ? 14'h3fff : 14'h3109;
                at_a = $random(seed) & near;
                at_b = $random(seed) & near;
                {in_a, in_b} = {$random(seed), $random(seed)};
                {write_a, write_b} = $random(seed);
                {on_a, on_b} = $random(seed) | $random(seed);
                rst = $random(seed) % 8 == 0;
                {clk_a, clk_b} = 2'b00;
                // Both at once never at what is one word for a shape: what comes then is nobody's to say.
                if (round[1:0] == 2'd3) begin
                    at_a[8] = 1'b0;
                    at_b[10:8] = 3'd7;
                end
                #5;
                clk_a = round[0] == round[1];
                clk_b = round[1:0] != 2'd0;
                #1 compare;
                #4;
                clk_a = 1'b0;
                clk_b = 1'b0;
                #1 compare;
            end
            check(differs == 0, "every_shape_does_what_its_source_does");
        end
    endtask

    initial begin
        if (!$value$plusargs("seed=%d", seed))
            seed = 1;
        $display("FERRY_SEED=%0d", seed);
        shapes_do_the_same;

        at_a = 14'h0a8; at_b = 14'h0b0; in_a = 36'h1a5; in_b = 18'h0c3; {we_a, we_b} = 2'b11;
        edges(1, 1);
        check(bare_a == 9'd0 && bare_b == 9'd0, "a_register_shows_what_came_before");
        {we_a, we_b} = 2'b00;
        edges(1, 0);
        check(bare_a == 9'h1a5, "and_then_what_is_written_through");
        at_a = 14'h0b0; oce = 1'b0;
        edges(1, 0);
        edges(1, 0);
        check(bare_a == 9'h1a5, "which_stays_while_it_is_not_enabled");
        oce = 1'b1;
        edges(1, 0);
        check(bare_a == 9'h0c3, "what_the_other_port_wrote_is_read");
        cs = 3'd4; we_a = 1'b1; in_a = 36'h0ff;
        edges(1, 0);
        we_a = 1'b0; at_b = 14'h0b0;
        edges(0, 1);
        check(bare_b == 9'h0c3, "nothing_is_written_unless_it_is_chosen");
        rst_a = 1'b1;
        #1 check(bare_a == 9'd0, "a_reset_at_once_waits_for_no_clock");
        rst_a = 1'b0; cs = 3'd5;
        #1 check(bare_a == 9'd0, "and_stays_until_something_is_read");
        at_a = 14'h0a8; at_b = 14'h0a8; we_a = 1'b1; in_a = 36'h012;
        edges(1, 1);
        check(bare_b == (9'h1a5 ^ 9'h1ff), "what_is_written_meanwhile_cannot_be_read");
        we_b = 1'b1; in_b = 18'h012;
        edges(1, 1);
        {we_a, we_b} = 2'b00;
        edges(0, 1);
        check(bare_b == (9'h012 ^ 9'h1ff), "nor_be_written_by_both");
        $display("%0d passed, %0d failed", passed, failed);
        $finish;
    end
endmodule

`default_nettype wire
