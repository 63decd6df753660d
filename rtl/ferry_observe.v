// SPDX-License-Identifier: Apache-2.0
// What a simulation shows of the inside as it runs: a place with fixed names, so that no observer depends on the
// hierarchy. Registers only; a synthesis tool removes them since nothing is driven.
`default_nettype none

module ferry_observe (
    // Clock.
    input wire       clk,
    // The firmware has a buffer to decode.
    input wire       core,
    // The engine has a job, a read burst outstanding, a write burst outstanding.
    input wire       engine,
    input wire       engine_read,
    input wire       engine_write,
    // A read request to the host is outstanding.
    input wire       requester,
    // Ring entries or buffers are being fetched.
    input wire       fetch,
    // A fence or fault record is on its way.
    input wire       post,
    // Page tables are walked; what is known of them is forgotten; a look-up was not known, for one cycle.
    input wire       walk,
    input wire       forget,
    input wire       missed
);

    reg       core_busy    /* verilator public_flat_rd */;
    reg       engine_busy  /* verilator public_flat_rd */;
    reg       read_busy    /* verilator public_flat_rd */;
    reg       write_busy   /* verilator public_flat_rd */;
    reg       requester_busy /* verilator public_flat_rd */;
    reg       fetch_busy   /* verilator public_flat_rd */;
    reg       post_busy    /* verilator public_flat_rd */;
    reg       walk_busy    /* verilator public_flat_rd */;
    reg       forget_busy  /* verilator public_flat_rd */;
    // Look-ups that were not known since power-on.
    reg [31:0] misses     /* verilator public_flat_rd */;
    initial misses = 32'd0;

    always @(posedge clk) begin
        core_busy <= core;
        engine_busy <= engine;
        read_busy <= engine_read;
        write_busy <= engine_write;
        requester_busy <= requester;
        fetch_busy <= fetch;
        post_busy <= post;
        walk_busy <= walk;
        forget_busy <= forget;
        misses <= misses + {31'd0, missed};
    end

    wire unused = &{1'b0, core_busy, engine_busy, read_busy, write_busy, requester_busy, fetch_busy, post_busy, walk_busy,
        forget_busy, misses};

endmodule

`default_nettype wire
