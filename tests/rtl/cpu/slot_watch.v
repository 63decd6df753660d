// SPDX-License-Identifier: Apache-2.0
// A slot is free only when none of its jobs is in the engine: so a mark of POISON goes when nothing is left that it was to
// stop, and a slot is not filled anew under a page list that is read. Looked at in every cycle of every program around the
// whole device. (What the engine has given up on, with its memory, is over as soon as it was told of: until it has
// come to its end no job is taken, and of the old ones nothing moves.)
`default_nettype none
`include "ferry_contract.vh"

module slot_watch (
    input  wire        clk,
    input  wire        rst,
    input  wire        stuck,
    // Slots that hold a buffer.
    input  wire [3:0]  used,
    // A job goes into the engine; one is over, as the counts of retired jobs say.
    input  wire        taken,
    input  wire [1:0]  taken_slot,
    input  wire        over,
    input  wire [1:0]  over_slot
);
    reg [7:0] jobs [0:3];

    integer i;
    always @(posedge clk) begin
        for (i = 0; i < 4; i = i + 1) begin
            jobs[i] <= rst ? 8'd0 : jobs[i] + {7'd0, taken && {30'd0, taken_slot} == i} - {7'd0, over && {30'd0, over_slot} == i};
            if (!rst && !stuck && !used[i] && (jobs[i] != 8'd0 || (taken && {30'd0, taken_slot} == i))) begin
                $fatal(1, "slot %0d is free, and %0d of its jobs are in the engine", i, jobs[i]);
            end
        end
    end
endmodule

bind ferry_device slot_watch slot_watch (
    .clk(clk), .rst(units.engine_rst), .stuck(units.engine_stuck), .used(units.slots_used),
    .taken(units.job_valid && units.job_ready), .taken_slot(units.job[`FERRY_JOB_SLOT_RANGE]),
    .over(units.engine.over), .over_slot(units.engine.retirement.look_reg ? units.engine.view_slot : units.engine.retirement.slot)
);

`default_nettype wire
