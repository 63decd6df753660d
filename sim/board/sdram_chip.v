// SPDX-License-Identifier: Apache-2.0
// An SDR SDRAM chip at its pins, which notes the first breach of its data sheet: power-on, mode, banks and rows, times between
// commands, refresh, data that do not stand when the chip looks at them. Written from the data sheets of MT48LC16M16A2 (speed -75) and
// EM638325; nothing of a controller is in it. Bursts of one word, CAS latency 2 or 3, as a mode register may ask for.
`timescale 1ns/1ps
`default_nettype none

module sdram_chip #(
    // Bits of a row's address, of a column's, of a word.
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
    parameter WORD_BITS = 16,
    // Times in nanoseconds: activate to command, precharge to activate, activate to precharge at least and at most, activate to activate
    // of a bank, of any two, refresh, last data to precharge, data after the clock and as long as they stay.
    parameter T_RCD = 20,
    parameter T_RP = 20,
    parameter T_RAS = 44,
    parameter T_RAS_MOST = 120000,
    parameter T_RC = 66,
    parameter T_RRD = 15,
    parameter T_RFC = 66,
    parameter T_WR = 15,
    parameter T_AC = 6,
    parameter T_OH = 3,
    // A refresh for each so many nanoseconds; eight may be late at a time.
    parameter T_REFI = 7812,
    // Power-on: nothing but clocks, then refreshes.
    parameter T_POWER = 200000,
    parameter POWER_REFRESHES = 8
) (
    input  wire                   clk,
    input  wire                   cke,
    input  wire                   cs_n,
    input  wire                   ras_n,
    input  wire                   cas_n,
    input  wire                   we_n,
    input  wire [1:0]             ba,
    input  wire [ROW_BITS-1:0]    a,
    input  wire [WORD_BITS/8-1:0] dqm,
    inout  wire [WORD_BITS-1:0]   dq,

    // The first rule that was broken: 0 none, then as the list below counts. The second row is the chip's life so far.
    output reg  [4:0]             broken,
    output reg                    awake
);
    localparam [4:0] POWER = 5'd1, ORDER = 5'd2, MODE = 5'd3, CLOCK_ENABLE = 5'd4, ROW_OPEN = 5'd5, ROW_CLOSED = 5'd6, RCD = 5'd7,
        RP = 5'd8, RAS = 5'd9, RC = 5'd10, RRD = 5'd11, RFC = 5'd12, WR = 5'd13, MRD = 5'd14, REFRESH_LATE = 5'd15, OPEN_LONG = 5'd16,
        SETUP = 5'd17, BUS = 5'd18, COMMAND = 5'd19;
    // What stands at the pins does so before and after an edge.
    localparam real SETUP_TIME = 1.5, HOLD_TIME = 0.8;
    localparam LG_WORDS = 2 + ROW_BITS + COLUMN_BITS;

    reg [WORD_BITS-1:0] words [0:(1 << LG_WORDS) - 1];
    reg [ROW_BITS-1:0]  row [0:3];
    reg [3:0]           open;
    // When it was last activated, precharged, written.
    realtime            activated [0:3];
    realtime            precharged [0:3];
    realtime            wrote [0:3];
    realtime            started, any_activated, refreshed, moded, changed, data_changed, looked, period, debt_from;
    integer             refreshes;
    reg                 running, closed_all, moded_once;
    reg [1:0]           latency;
    // Reads on their way: to be driven at the next edge, at the one after it. A mask holds for what is driven an edge later.
    reg [1:0]           due;
    reg [WORD_BITS-1:0] due_data [0:1];
    reg [WORD_BITS/8-1:0] mask;
    reg                 bus_taken;
    // Driven data: right between T_AC after one edge and T_OH after the next.
    reg [WORD_BITS-1:0] driven;
    reg [WORD_BITS/8-1:0] driving;

    genvar lane;
    generate for (lane = 0; lane < WORD_BITS / 8; lane = lane + 1) begin : g_lane
        assign dq[8 * lane +: 8] = driving[lane] ? driven[8 * lane +: 8] : 8'hzz;
    end endgenerate

    integer n;
    initial begin
        broken = 5'd0;
        awake = 1'b0;
        open = 4'd0;
        running = 1'b0;
        closed_all = 1'b0;
        moded_once = 1'b0;
        refreshes = 0;
        due = 2'd0;
        mask = 0;
        bus_taken = 1'b0;
        driving = 0;
        latency = 2'd2;
        changed = 0;
        data_changed = 0;
        looked = 0;
        period = 0;
        any_activated = 0;
        refreshed = 0;
        moded = 0;
        debt_from = 0;
        for (n = 0; n < 4; n = n + 1) begin
            activated[n] = 0;
            precharged[n] = 0;
            wrote[n] = 0;
        end
    end

    task breach(input [4:0] rule);
        if (broken == 5'd0)
            broken = rule;
    endtask

    task precharge(input [1:0] bank);
        begin
            if (open[bank]) begin
                if ($realtime - activated[bank] < T_RAS)
                    breach(RAS);
                if ($realtime - wrote[bank] < T_WR)
                    breach(WR);
                precharged[bank] = $realtime;
            end
            open[bank] = 1'b0;
        end
    endtask

    // All banks are closed and nothing is under way.
    task at_rest;
        begin
            if (open != 4'd0)
                breach(ROW_OPEN);
            for (n = 0; n < 4; n = n + 1)
                if ($realtime - precharged[n] < T_RP)
                    breach(RP);
            if ($realtime - refreshed < T_RFC)
                breach(RFC);
        end
    endtask

    always @(cs_n or ras_n or cas_n or we_n or ba or a or dqm or cke) begin
        changed = $realtime;
        if (running && $realtime - looked < HOLD_TIME)
            breach(SETUP);
    end
    always @(dq)
        data_changed = $realtime;

    wire [2:0] command = {ras_n, cas_n, we_n};
    wire       asked = !cs_n && command != 3'b111;
    wire [LG_WORDS-1:0] place = {ba, row[ba], a[COLUMN_BITS-1:0]};

    always @(posedge clk) begin
        if (running && $realtime - changed < SETUP_TIME)
            breach(SETUP);
        if (!running && cke) begin
            running = 1'b1;
            started = $realtime;
        end
        if (running && !cke)
            breach(CLOCK_ENABLE);
        if (asked && !(running && $realtime - started >= T_POWER))
            breach(POWER);
        if (asked && $realtime - moded < 30 && moded_once)
            breach(MRD);
        if (awake && $realtime - debt_from > 9 * T_REFI)
            breach(REFRESH_LATE);
        for (n = 0; n < 4; n = n + 1)
            if (open[n] && $realtime - activated[n] > T_RAS_MOST)
                breach(OPEN_LONG);

        // What was read goes towards the pins.
        bus_taken = driving != 0 || due[0];
        if (driving != 0)
            driven <= #(T_OH) ~driven;
        if (due[0]) begin
            driving <= #(T_AC) ~mask;
            driven <= #(T_AC) due_data[0];
        end else if (driving != 0) begin
            driving <= #(T_OH) 0;
        end
        due = {1'b0, due[1]};
        due_data[0] = due_data[1];
        mask = dqm;
        period = $realtime - looked;
        looked = $realtime;

        if (asked) begin
            case (command)
            3'b011: begin
                if (!awake)
                    breach(ORDER);
                if (open[ba])
                    breach(ROW_OPEN);
                if ($realtime - precharged[ba] < T_RP)
                    breach(RP);
                if ($realtime - activated[ba] < T_RC)
                    breach(RC);
                if ($realtime - any_activated < T_RRD)
                    breach(RRD);
                if ($realtime - refreshed < T_RFC)
                    breach(RFC);
                open[ba] = 1'b1;
                row[ba] = a;
                activated[ba] = $realtime;
                any_activated = $realtime;
            end
            3'b101, 3'b100: begin
                if (!open[ba])
                    breach(ROW_CLOSED);
                if ($realtime - activated[ba] < T_RCD)
                    breach(RCD);
                if (command == 3'b101) begin
                    due[latency == 2'd3] = 1'b1;
                    due_data[latency == 2'd3] = words[place];
                end else begin
                    if (bus_taken)
                        breach(BUS);
                    if ($realtime - data_changed < SETUP_TIME)
                        breach(SETUP);
                    for (n = 0; n < WORD_BITS / 8; n = n + 1)
                        if (!dqm[n])
                            words[place][8 * n +: 8] = dq[8 * n +: 8];
                    wrote[ba] = $realtime;
                end
                // With A10 the bank closes by itself, as soon as it may: a clock behind a read, T_WR behind a write, not before T_RAS.
                if (a[10]) begin
                    open[ba] = 1'b0;
                    precharged[ba] = $realtime + (command == 3'b101 ? period : T_WR);
                    if (precharged[ba] < activated[ba] + T_RAS)
                        precharged[ba] = activated[ba] + T_RAS;
                end
            end
            3'b010: begin
                if (a[10])
                    for (n = 0; n < 4; n = n + 1)
                        precharge(n[1:0]);
                else
                    precharge(ba);
                closed_all = closed_all || a[10];
            end
            3'b001: begin
                at_rest;
                if (!closed_all)
                    breach(ORDER);
                refreshed = $realtime;
                refreshes = refreshes + 1;
                if (awake)
                    debt_from = debt_from + T_REFI;
                // Refreshes ahead of their time count for nothing.
                if (debt_from > $realtime)
                    debt_from = $realtime;
            end
            3'b000: begin
                at_rest;
                if (!closed_all || refreshes < POWER_REFRESHES)
                    breach(ORDER);
                if (a[3:0] != 4'd0 || a[8:7] != 2'd0 || (a[6:4] != 3'd2 && a[6:4] != 3'd3) || ba != 2'd0)
                    breach(MODE);
                latency = a[5:4];
                awake = 1'b1;
                moded = $realtime;
                moded_once = 1'b1;
                debt_from = $realtime;
            end
            default: breach(COMMAND);
            endcase
        end
    end
endmodule

`default_nettype wire
