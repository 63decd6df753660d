// SPDX-License-Identifier: Apache-2.0
// A text as the host reads it: the first letter in the lowest byte, and zeros behind the last. A parameter has its last letter there.
`default_nettype none

module ferry_letters #(
    // At most 16 letters.
    parameter [127:0] TEXT = 0
) (
    output wire [127:0] bytes
);
    genvar n;
    generate
        for (n = 0; n < 16; n = n + 1) begin : g_letter
            // The last n + 1 letters, if there are as many.
            wire [127:0] last;
            wire [127:0] fewer;
            assign last = (TEXT >> (8 * n)) == 128'd0 ? fewer : {fewer[119:0], TEXT[8*n +: 8]};
            if (n == 0) begin : g_none
                assign fewer = 128'd0;
            end else begin : g_some
                assign fewer = g_letter[n-1].last;
            end
        end
    endgenerate
    assign bytes = g_letter[15].last;
endmodule

`default_nettype wire
