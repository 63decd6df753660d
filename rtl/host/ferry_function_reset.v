// SPDX-License-Identifier: Apache-2.0
// Function level reset (PCI Express base specification 6.6.2): software wrote Initiate Function Level Reset. The
// configuration space is reset at once, and from then on nothing that was going on may reach the host: what stands ready
// to be sent is thrown away, and reads get an error instead of an answer. Buses inside the device have to be left in
// order all the same, so the core is stopped as ever, the engine drops its jobs, and only then every register is reset.
// Without dead memory that takes some hundred cycles, whatever the host still owes: tags of its answers stay out of use
// as after a time-out. The link, and what the host sends meanwhile, are not touched.
`default_nettype none

module ferry_function_reset (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // One-cycle pulse from the configuration space.
    input  wire start,
    // 1 from the cycle after start until everything is at rest: the core is to be stopped, packets to be discarded.
    output wire resetting,
    // The last cycle of it: every register, table and unit behind the host side is to be reset.
    output wire reset_units,

    // The core is stopped and nothing that it has set going can act any more (ferry_stop); its slots are given free.
    input  wire core_settled,
    input  wire fetch_wound,
    // The engine has no job and owes no bus anything, or memory is dead: then it stays as it is, refuses jobs and says so.
    input  wire engine_at_rest,
    // No request of this device is in front of the link or waits for an answer.
    input  wire requester_idle
);
    reg resetting_reg;

    assign resetting = resetting_reg;
    assign reset_units = resetting_reg && core_settled && fetch_wound && engine_at_rest && requester_idle;

    always @(posedge clk) begin
        resetting_reg <= start || (resetting_reg && !reset_units);
        if (rst)
            resetting_reg <= 1'b0;
    end
endmodule

`default_nettype wire
