// SPDX-License-Identifier: Apache-2.0
// What ferry_slot_mirror copies of the link block's registers, and when; and what ferry_slot_credits makes of the credits that the
// block shows. The block and the device are played here; with a root complex and the device itself it is tests/cocotb/test_slot.py.
`timescale 1ns/1ps
`default_nettype none
`include "ferry_contract.vh"

module slot_test;
    reg         clk = 1'b0, rst = 1'b1;
    integer     passed = 0, failed = 0, n;

    always #5 clk = !clk;

    task check(input good, input [479:0] name);
        begin
            if (good)
                passed = passed + 1;
            else
                failed = failed + 1;
            $display("%0s %0s", good ? "[       OK ]" : "[  FAILED  ]", name);
        end
    endtask

    // --- The block's registers, and the device's that are written ------------------------------------------------------

    localparam POWER = 16, MSI = 18, PCIE = 24;
    reg  [31:0] block [0:63];
    reg  [31:0] device [0:63];
    // In which order they were last written; how many writes there were, and with a reset in them.
    integer     when [0:63];
    integer     writes = 0, resets = 0;
    reg         done = 1'b0, function_reset = 1'b0, taken = 1'b0;
    reg  [3:0]  answer = 4'd0;
    reg  [15:0] device_control = 16'd0;
    wire [9:0]  word;
    wire        asks, stand, write, waits;
    wire [11:0] address;
    wire [31:0] data;

    ferry_slot_mirror mirror (
        .clk(clk), .rst(rst), .manage_word(word), .manage_read(asks), .manage_data(block[word[5:0]]), .manage_done(done),
        .function_id(16'h0100), .command(16'd0), .device_control(device_control), .power_state(2'd0), .msi_enable(1'b0),
        .function_reset(function_reset), .stand(stand), .write(write), .write_address(address), .write_data(data), .write_waits(waits),
        .write_taken(taken), .write_answered(answer == 4'd1)
    );

    // A read takes two clocks, a write two until it is taken and some until it is answered.
    always @(posedge clk) begin
        done <= !rst && asks && !done;
        taken <= !rst && write && !taken;
        answer <= rst ? 4'd0 : taken ? 4'd7 : answer - {3'd0, answer != 4'd0};
        if (taken && write) begin
            device[address[7:2]] <= data;
            when[address[7:2]] <= writes;
            writes <= writes + 1;
            if (address == `FERRY_CONFIG_SPACE_DEVICE_CONTROL)
                resets <= resets + ((data & `FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK) != 0 ? 1 : 0);
        end
    end

    task all(input [31:0] value);
        for (n = 0; n < 64; n = n + 1)
            block[n] = value;
    endtask
    // Two rounds and more.
    task settle;
        repeat (1000) @(negedge clk);
    endtask

    task has(input [31:0] wanted, input [11:0] at, input [479:0] name);
        begin
            check(device[at[7:2]] === wanted, name);
            if (device[at[7:2]] !== wanted)
                $display("    %h, not %h", device[at[7:2]], wanted);
        end
    endtask

    task mirrored;
        begin
            for (n = 0; n < 64; n = n + 1) begin
                device[n] = 32'hdeadbeef;
                when[n] = -1;
            end
            all(32'hffff_ffff);
            repeat (4) @(negedge clk);
            rst = 1'b0;
            repeat (2) @(negedge clk);
            check(stand, "packets_stand_before_the_first_round");
            settle;
            check(!stand, "and_go_behind_it");
            has(32'h8000_0000, `FERRY_CONFIG_SPACE_BAR0, "bar0_is_where_requests_are_sent");
            has(32'hffff_fffc, `FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW, "the_address_of_messages");
            has(32'hffff_ffff, `FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH, "its_upper_half");
            has(32'h0000_ffff, `FERRY_CONFIG_SPACE_MSI_DATA, "the_data_of_messages");
            has(32'h0001_0000, `FERRY_CONFIG_SPACE_MSI, "that_messages_are_on");
            // Payload, reads, tags of eight bits, No Snoop; and no error reports, which are the block's.
            has(32'h0000_79e0, `FERRY_CONFIG_SPACE_DEVICE_CONTROL, "sizes_tags_and_snooping");
            has(32'h0000_0010, `FERRY_CONFIG_SPACE_DEVICE_CONTROL2, "that_completions_do_not_time_out");
            has(32'h0000_0003, `FERRY_CONFIG_SPACE_POWER_CONTROL, "the_power_state");
            has(32'h0000_0006, `FERRY_CONFIG_SPACE_COMMAND, "memory_and_bus_mastering");
            check(when[`FERRY_CONFIG_SPACE_MSI / 4] > when[`FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW / 4] &&
                  when[`FERRY_CONFIG_SPACE_MSI / 4] > when[`FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH / 4] &&
                  when[`FERRY_CONFIG_SPACE_MSI / 4] > when[`FERRY_CONFIG_SPACE_MSI_DATA / 4], "messages_go_on_behind_their_address");
            check(when[`FERRY_CONFIG_SPACE_COMMAND / 4] == writes - 1, "and_the_device_speaks_last_of_all");
            n = writes;
            settle;
            check(writes == n, "what_the_device_has_is_not_written_again");

            all(32'd0);
            device_control = 16'h0020;
            @(negedge clk);
            check(stand, "packets_stand_once_a_wire_moves");
            settle;
            check(!stand, "and_go_when_the_device_is_told");
            has(32'd0, `FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW, "an_address_goes");
            has(32'd0, `FERRY_CONFIG_SPACE_DEVICE_CONTROL, "sizes_go");
            has(32'd0, `FERRY_CONFIG_SPACE_POWER_CONTROL, "it_wakes");
            has(32'h0000_0002, `FERRY_CONFIG_SPACE_COMMAND, "bus_mastering_goes_and_memory_stays");

            check(resets == 0, "no_reset_was_asked_for");
            all(32'hffff_7fff);
            settle;
            @(negedge clk) function_reset = 1'b1;
            @(negedge clk) function_reset = 1'b0;
            check(stand, "packets_stand_for_a_reset");
            n = writes;
            settle;
            check(resets == 1, "a_reset_is_handed_on_once");
            check(writes == n + 1 + 9 && !stand, "and_behind_it_everything_is_told_anew");
            has(32'h0000_79e0, `FERRY_CONFIG_SPACE_DEVICE_CONTROL, "sizes_are_there_again");
        end
    endtask

    // --- Credits --------------------------------------------------------------------------------------------------------

    reg  [7:0]  posted = 8'd1, request = 8'd1, completion = 8'd1;
    reg  [11:0] posted_data = 12'd8, completion_data = 12'd8;
    reg  [2:0]  payload = 3'd0;
    reg         goes = 1'b0;
    reg  [7:0]  kind = 8'd0;
    wire        posted_ok, request_ok, completion_ok;
    wire [2:0]  ok = {completion_ok, request_ok, posted_ok};

    ferry_slot_credits credits (
        .clk(clk), .rst(rst), .posted_headers(posted), .posted_data(posted_data), .request_headers(request),
        .completion_headers(completion), .completion_data(completion_data), .max_payload(payload), .beat_goes(goes), .packet_begins(goes),
        .packet_kind(kind), .posted_ok(posted_ok), .request_ok(request_ok), .completion_ok(completion_ok)
    );

    task wait_some;
        repeat (3) @(negedge clk);
    endtask
    task packet(input [7:0] what);
        begin
            kind = what;
            @(negedge clk) goes = 1'b1;
            @(negedge clk) goes = 1'b0;
            wait_some;
        end
    endtask

    task credited;
        begin
            check(ok == 3'b111, "credit_for_one_packet_each");
            payload = 3'd1;
            wait_some;
            check(ok == 3'b010, "a_larger_payload_wants_more_credit");
            posted_data = 12'd16;
            wait_some;
            check(ok == 3'b011, "and_has_it");
            completion_data = 12'd15;
            wait_some;
            check(ok == 3'b011, "a_unit_too_few");
            completion_data = 12'd16;
            wait_some;
            check(ok == 3'b111, "as_many_as_it_takes");
            // A memory write, a read, a completion with data, a message, a completion without: each keeps its own kind waiting.
            packet(8'h60);
            check(ok == 3'b110, "a_write_is_posted");
            repeat (64) @(negedge clk);
            check(ok == 3'b111, "until_it_is_accounted_for");
            packet(8'h20);
            check(ok == 3'b101, "a_read_is_a_request");
            packet(8'h4a);
            check(ok == 3'b001, "a_completion_is_one");
            repeat (64) @(negedge clk);
            packet(8'h34);
            check(ok == 3'b110, "a_message_is_posted");
            packet(8'h0a);
            check(ok == 3'b010, "a_completion_without_data_is_one");
            repeat (64) @(negedge clk);
            request = 8'd0;
            wait_some;
            check(ok == 3'b101, "no_credit_and_no_packet");
            posted = 8'd33;
            posted_data = 12'd48;
            wait_some;
            packet(8'h60);
            check(ok == 3'b101, "with_many_credits_nobody_waits");
        end
    endtask

    initial begin
        mirrored;
        credited;
        $display("%0d passed, %0d failed", passed, failed);
        $finish;
    end

    wire unused = &{1'b0, word[9:6], address[1:0], address[11:8], waits};
endmodule

`default_nettype wire
