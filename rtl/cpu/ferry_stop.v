// SPDX-License-Identifier: Apache-2.0
// Stops and starts the soft core without leaving anything behind. What the core has set going outlives it: jobs in the
// engine read their page lists in the command slots, a change of the aperture table reads its list there, a record on
// its way retires an entry. So when the host stops the core, the engine drops its jobs and finishes what is on the
// buses, and only when nothing of the core's can act any more are the slots freed and the rings wound back. The core
// does not start again before that, however quickly the host asks.
`default_nettype none

module ferry_stop (
    // Clock and synchronous reset.
    input  wire clk,
    input  wire rst,

    // CONTROL.core_run.
    input  wire core_run,
    // The core is out of reset; buffers are fetched for it.
    output wire run,
    // STATUS.stopping.
    output wire stopping,
    // Nothing that the core has set going can act any more: slots may be freed.
    output wire settled,

    // One-cycle pulse: the engine drops its jobs.
    output wire engine_reset,
    // What may still act: the engine has a job or something outstanding that it has not given up.
    input  wire engine_busy,
    input  wire engine_resetting,
    input  wire update_busy,
    input  wire post_busy,
    // The fetcher has freed every slot and wound every ring back since settled rose.
    input  wire fetch_wound
);

    localparam [1:0] S_SETTLED  = 2'd0;
    localparam [1:0] S_RUNNING  = 2'd1;
    localparam [1:0] S_STOPPING = 2'd2;

    reg [1:0] state_reg;
    // Cycles of S_STOPPING, up to 3: in the first the core may still write a register, in the second its reset has reached
    // it and the engine is told, from the fourth on everything that was set going shows as busy.
    reg [1:0] cycle_reg;

    wire at_rest = !engine_busy && !engine_resetting && !update_busy && !post_busy;

    assign run = state_reg == S_RUNNING;
    assign settled = state_reg == S_SETTLED;
    assign stopping = state_reg == S_STOPPING || (settled && !fetch_wound);
    assign engine_reset = state_reg == S_STOPPING && cycle_reg == 2'd1;

    always @(posedge clk) begin
        cycle_reg <= state_reg != S_STOPPING ? 2'd0 : cycle_reg == 2'd3 ? 2'd3 : cycle_reg + 2'd1;
        case (state_reg)
        S_SETTLED:
            if (core_run && fetch_wound) begin
                state_reg <= S_RUNNING;
            end
        S_RUNNING:
            if (!core_run) begin
                state_reg <= S_STOPPING;
            end
        default:
            if (cycle_reg == 2'd3 && at_rest) begin
                state_reg <= S_SETTLED;
            end
        endcase
        if (rst) begin
            state_reg <= S_SETTLED;
            cycle_reg <= 2'd0;
        end
    end

`ifdef FORMAL
        reg past_valid = 1'b0;
        // The engine was told since the core was stopped. Cycles since then, up to 4.
        reg       told = 1'b0;
        reg [2:0] stopped = 3'd4;
        always @(posedge clk) begin
            past_valid <= 1'b1;
            told <= engine_reset || (told && state_reg == S_STOPPING && !rst);
            stopped <= run && !rst ? 3'd0 : stopped == 3'd4 ? 3'd4 : stopped + 3'd1;
            if (!past_valid) begin
                assume (rst);
            end else begin
                // Whatever the host does, the core never runs on into a state that is not wound back.
                if (!$past(rst) && !$past(run) && run) begin
                    assert ($past(settled && fetch_wound));
                end
                // Slots are given free only when everything was at rest after the engine was told, and not before what the core's
                // last write set going shows.
                if (!$past(rst) && !$past(settled) && settled) begin
                    assert ($past(told && !engine_busy && !engine_resetting && !update_busy && !post_busy));
                    assert (stopped == 3'd4);
                end
                // The engine is told when the core's own reset has reached it.
                assert (!engine_reset || (!run && !$past(run)));
                // Once.
                assert (!(engine_reset && told) && !(run && told));
                assert (!settled || !run);
                // STATUS says so until the core can be started again at once.
                assert (stopping == (!run && !(settled && fetch_wound)));
                cover (run && $past(settled));
                cover (!$past(rst) && settled && $past(state_reg == S_STOPPING) && core_run);
            end
        end
        always @(*) begin
            assert (!past_valid || state_reg != 2'd3);
            if (past_valid && state_reg == S_STOPPING) begin
                assert ((cycle_reg >= 2'd2) == told);
                assert (cycle_reg == 2'd3 ? stopped >= 3'd3 : stopped == {1'b0, cycle_reg});
            end
        end
`endif

endmodule

`default_nettype wire
