// SPDX-License-Identifier: Apache-2.0
// ECP5's block RAM, for netlists: Yosys has its ports and no behaviour. Written from the ports' meaning in Lattice's memory usage guide
// (FPGA-TN-02204): 512 words of 36 bits, four bytes of nine, which a port of 36, 18 or 9 bits sees as they are, one of 4, 2 or 1 without
// each byte's ninth bit. A port of 36 takes the other one's data pins too: A writes, B reads. What the guide leaves open when one port
// writes what the other reads or writes at the same edge is what nobody may rely on: here the bits come out inverted.
`default_nettype none

module DP16KD #(
    parameter DATA_WIDTH_A = 18,
    parameter DATA_WIDTH_B = 18,
    // "NOREG", or "OUTREG" for one more register behind the port.
    parameter [127:0] REGMODE_A = "NOREG",
    parameter [127:0] REGMODE_B = "NOREG",
    // "SYNC" or "ASYNC"; the other one says how a reset ends, which is the same here, as nothing is read but at an edge.
    parameter [127:0] RESETMODE = "SYNC",
    parameter [127:0] ASYNC_RESET_RELEASE = "SYNC",
    // Which chip selects a port answers to.
    parameter [39:0] CSDECODE_A = "0b000",
    parameter [39:0] CSDECODE_B = "0b000",
    // What a port shows while it writes: "NORMAL" what it showed before, "WRITETHROUGH" what is written, "READBEFOREWRITE" what was there.
    parameter [127:0] WRITEMODE_A = "NORMAL",
    parameter [127:0] WRITEMODE_B = "NORMAL",
    parameter [127:0] CLKAMUX = "CLKA",
    parameter [127:0] CLKBMUX = "CLKB",
    // Every flip-flop has its own value when the bitstream is loaded; there is no reset of all later.
    parameter [127:0] GSR = "ENABLED",
    // Sixteen words of 18 bits each, in 20.
    parameter [319:0] INITVAL_00 = 320'd0, INITVAL_01 = 320'd0, INITVAL_02 = 320'd0, INITVAL_03 = 320'd0,
    parameter [319:0] INITVAL_04 = 320'd0, INITVAL_05 = 320'd0, INITVAL_06 = 320'd0, INITVAL_07 = 320'd0,
    parameter [319:0] INITVAL_08 = 320'd0, INITVAL_09 = 320'd0, INITVAL_0A = 320'd0, INITVAL_0B = 320'd0,
    parameter [319:0] INITVAL_0C = 320'd0, INITVAL_0D = 320'd0, INITVAL_0E = 320'd0, INITVAL_0F = 320'd0,
    parameter [319:0] INITVAL_10 = 320'd0, INITVAL_11 = 320'd0, INITVAL_12 = 320'd0, INITVAL_13 = 320'd0,
    parameter [319:0] INITVAL_14 = 320'd0, INITVAL_15 = 320'd0, INITVAL_16 = 320'd0, INITVAL_17 = 320'd0,
    parameter [319:0] INITVAL_18 = 320'd0, INITVAL_19 = 320'd0, INITVAL_1A = 320'd0, INITVAL_1B = 320'd0,
    parameter [319:0] INITVAL_1C = 320'd0, INITVAL_1D = 320'd0, INITVAL_1E = 320'd0, INITVAL_1F = 320'd0,
    parameter [319:0] INITVAL_20 = 320'd0, INITVAL_21 = 320'd0, INITVAL_22 = 320'd0, INITVAL_23 = 320'd0,
    parameter [319:0] INITVAL_24 = 320'd0, INITVAL_25 = 320'd0, INITVAL_26 = 320'd0, INITVAL_27 = 320'd0,
    parameter [319:0] INITVAL_28 = 320'd0, INITVAL_29 = 320'd0, INITVAL_2A = 320'd0, INITVAL_2B = 320'd0,
    parameter [319:0] INITVAL_2C = 320'd0, INITVAL_2D = 320'd0, INITVAL_2E = 320'd0, INITVAL_2F = 320'd0,
    parameter [319:0] INITVAL_30 = 320'd0, INITVAL_31 = 320'd0, INITVAL_32 = 320'd0, INITVAL_33 = 320'd0,
    parameter [319:0] INITVAL_34 = 320'd0, INITVAL_35 = 320'd0, INITVAL_36 = 320'd0, INITVAL_37 = 320'd0,
    parameter [319:0] INITVAL_38 = 320'd0, INITVAL_39 = 320'd0, INITVAL_3A = 320'd0, INITVAL_3B = 320'd0,
    parameter [319:0] INITVAL_3C = 320'd0, INITVAL_3D = 320'd0, INITVAL_3E = 320'd0, INITVAL_3F = 320'd0
) (
    // Port A: data to write, address, enable, enable of the output register, clock, write, reset, chip selects, data read.
    input  wire DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
    input  wire ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input  wire CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
    output wire DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
    // Port B: data to write, address, enable, enable of the output register, clock, write, reset, chip selects, data read.
    input  wire DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    input  wire ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input  wire CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
    output wire DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
    wire [35:0] out_a, out_b;
    wire [13:0] at_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
    wire [13:0] at_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
    wire [17:0] in_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [17:0] in_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};

    localparam WIDE_A = DATA_WIDTH_A == 36, WIDE_B = DATA_WIDTH_B == 36;
    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} =
        WIDE_B ? out_b[17:0] : out_a[17:0];
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} =
        WIDE_B ? out_b[35:18] : out_b[17:0];

    function known(input integer width);
        known = width == 1 || width == 2 || width == 4 || width == 9 || width == 18 || width == 36;
    endfunction
    generate
        if (!known(DATA_WIDTH_A) || !known(DATA_WIDTH_B) || (RESETMODE != "SYNC" && RESETMODE != "ASYNC") ||
            (REGMODE_A != "NOREG" && REGMODE_A != "OUTREG") || (REGMODE_B != "NOREG" && REGMODE_B != "OUTREG") ||
            (WRITEMODE_A != "NORMAL" && WRITEMODE_A != "WRITETHROUGH" && WRITEMODE_A != "READBEFOREWRITE") ||
            (WRITEMODE_B != "NORMAL" && WRITEMODE_B != "WRITETHROUGH" && WRITEMODE_B != "READBEFOREWRITE") ||
            (CLKAMUX != "CLKA" && CLKAMUX != "INV") || (CLKBMUX != "CLKB" && CLKBMUX != "INV")) begin : refused
            block_RAM_with_settings_that_are_not_modelled refused ();
        end
    endgenerate

    // --- Words ------------------------------------------------------------------------------------------------------

    reg [35:0] words [0:511];
    localparam [64*320-1:0] INITVALS = {
        INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38, INITVAL_37, INITVAL_36,
        INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30, INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C,
        INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22,
        INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
        INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F, INITVAL_0E,
        INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08, INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04,
        INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};
    integer n;
    initial
        for (n = 0; n < 512; n = n + 1)
            words[n] = {INITVALS[40 * n + 20 +: 18], INITVALS[40 * n +: 18]};

    // Where in a word a port of so many bits has its lowest one, and how many bits are its own.
    function [5:0] lowest(input integer width, input [4:0] at);
        case (width)
        36: lowest = 6'd0;
        18: lowest = at[4] ? 6'd18 : 6'd0;
        9: lowest = {4'd0, at[4:3]} * 6'd9;
        4: lowest = {4'd0, at[4:3]} * 6'd9 + {3'd0, at[2], 2'd0};
        2: lowest = {4'd0, at[4:3]} * 6'd9 + {3'd0, at[2:1], 1'b0};
        default: lowest = {4'd0, at[4:3]} * 6'd9 + {3'd0, at[2:0]};
        endcase
    endfunction
    function [35:0] ones(input integer width);
        ones = 36'hfffffffff >> (36 - width);
    endfunction
    // Bits that are written: of 36 and 18 those bytes that the lowest bits of the address enable.
    function [35:0] written(input integer width, input [4:0] at);
        case (width)
        36: written = {{9{at[3]}}, {9{at[2]}}, {9{at[1]}}, {9{at[0]}}};
        18: written = {18'd0, {9{at[1]}}, {9{at[0]}}} << lowest(width, at);
        default: written = ones(width) << lowest(width, at);
        endcase
    endfunction

    // --- Ports ------------------------------------------------------------------------------------------------------

    // A digit's lowest bit is its value.
    wire on_a = CEA && {CSA2, CSA1, CSA0} == {CSDECODE_A[16], CSDECODE_A[8], CSDECODE_A[0]};
    wire on_b = CEB && {CSB2, CSB1, CSB0} == {CSDECODE_B[16], CSDECODE_B[8], CSDECODE_B[0]};
    wire clear_a = RESETMODE == "ASYNC" && RSTA;
    wire clear_b = RESETMODE == "ASYNC" && RSTB;
    wire zero_a = RESETMODE == "SYNC" && RSTA;
    wire zero_b = RESETMODE == "SYNC" && RSTB;
    wire write_a = on_a && WEA && !zero_a;
    wire write_b = on_b && WEB && !zero_b && !WIDE_B;

    // Both clocks may be one: a port asks whether the other one's edge is this one, which it is as long as nobody noted it.
    wire clock_a = CLKA ^ (CLKAMUX == "INV");
    wire clock_b = CLKB ^ (CLKBMUX == "INV");
    reg  noted_a, noted_b;
    initial {noted_a, noted_b} = 2'b00;
    always @(posedge clock_a or negedge clock_a)
        noted_a <= clock_a;
    always @(posedge clock_b or negedge clock_b)
        noted_b <= clock_b;
    function now_a();
        now_a = (CLKA ^ (CLKAMUX == "INV")) && !noted_a;
    endfunction
    function now_b();
        now_b = (CLKB ^ (CLKBMUX == "INV")) && !noted_b;
    endfunction

    // What each port writes at this edge into the word that is asked for.
    function [35:0] by_a(input [8:0] word);
        by_a = now_a() && write_a && at_a[13:5] == word ? written(DATA_WIDTH_A, at_a[4:0]) : 36'd0;
    endfunction
    function [35:0] by_b(input [8:0] word);
        by_b = now_b() && write_b && at_b[13:5] == word ? written(DATA_WIDTH_B, at_b[4:0]) : 36'd0;
    endfunction
    function [35:0] data_a(input [4:0] at);
        data_a = {WIDE_A ? in_b : 18'd0, in_a} << lowest(DATA_WIDTH_A, at);
    endfunction
    function [35:0] data_b(input [4:0] at);
        data_b = {18'd0, in_b} << lowest(DATA_WIDTH_B, at);
    endfunction
    function [35:0] next(input [8:0] word);
        next = (words[word] & ~(by_a(word) | by_b(word))) | (by_a(word) & ~by_b(word) & data_a(at_a[4:0])) |
            (by_b(word) & ~by_a(word) & data_b(at_b[4:0])) | (by_a(word) & by_b(word) & ~words[word]);
    endfunction

    always @(posedge clock_a or posedge clock_b) begin
        if (now_a() && write_a)
            words[at_a[13:5]] <= next(at_a[13:5]);
        if (now_b() && write_b)
            words[at_b[13:5]] <= next(at_b[13:5]);
    end
    // What a port sees of a word at this edge.
    function [35:0] shown_a(input [8:0] word);
        shown_a = WRITEMODE_A == "WRITETHROUGH" ? (next(word) & by_a(word)) | ((words[word] ^ by_b(word)) & ~by_a(word)) :
            words[word] ^ by_b(word);
    endfunction
    function [35:0] shown_b(input [8:0] word);
        shown_b = WRITEMODE_B == "WRITETHROUGH" ? (next(word) & by_b(word)) | ((words[word] ^ by_a(word)) & ~by_b(word)) :
            words[word] ^ by_a(word);
    endfunction

    reg [35:0] seen_a, held_a;
    initial {seen_a, held_a} = 72'd0;
    always @(posedge clock_a or posedge clear_a) begin
        if (clear_a || zero_a)
            seen_a <= 36'd0;
        else if (on_a && (!WEA || WRITEMODE_A != "NORMAL"))
            seen_a <= shown_a(at_a[13:5]) >> lowest(DATA_WIDTH_A, at_a[4:0]) & ones(DATA_WIDTH_A);
    end
    always @(posedge clock_a or posedge clear_a) begin
        if (clear_a || zero_a)
            held_a <= 36'd0;
        else if (OCEA)
            held_a <= seen_a;
    end
    assign out_a = REGMODE_A == "OUTREG" ? held_a : seen_a;

    reg [35:0] seen_b, held_b;
    initial {seen_b, held_b} = 72'd0;
    always @(posedge clock_b or posedge clear_b) begin
        if (clear_b || zero_b)
            seen_b <= 36'd0;
        else if (on_b && (!WEB || WRITEMODE_B != "NORMAL"))
            seen_b <= shown_b(at_b[13:5]) >> lowest(DATA_WIDTH_B, at_b[4:0]) & ones(DATA_WIDTH_B);
    end
    always @(posedge clock_b or posedge clear_b) begin
        if (clear_b || zero_b)
            held_b <= 36'd0;
        else if (OCEB)
            held_b <= seen_b;
    end
    assign out_b = REGMODE_B == "OUTREG" ? held_b : seen_b;

    wire unused = &{1'b0, out_a[35:18], ASYNC_RESET_RELEASE, GSR};
endmodule

`default_nettype wire
