// SPDX-License-Identifier: Apache-2.0
// Round-robin arbiter. The grant is given in the cycle of the request and held until it is accepted, so what is chosen
// by it stays stable as valid/ready asks; then the port after the granted one comes first.
`default_nettype none

(* keep_hierarchy *)
module ferry_arbiter #(
    // Number of ports.
    parameter PORTS = 2
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // Requests. Once raised, a request stays until it is granted and accepted.
    input  wire [PORTS-1:0] request,
    // The granted request is taken in this cycle.
    input  wire accept,
    // One-hot; zero when nothing is asked for.
    output wire [PORTS-1:0] grant
);
    // Ports above the one granted last.
    reg [PORTS-1:0] after_reg;
    // The grant that was shown and not accepted.
    reg [PORTS-1:0] held_reg;

    wire [PORTS-1:0] first = request & after_reg;
    wire [PORTS-1:0] pool = |first ? first : request;
    wire [PORTS-1:0] chosen = pool & (~pool + 1'b1);

    assign grant = |held_reg ? held_reg : chosen;

    always @(posedge clk) begin
        if (accept || !(|request)) begin
            held_reg <= {PORTS{1'b0}};
        end else begin
            held_reg <= grant;
        end
        if (accept && |request) begin
            after_reg <= ~(grant | (grant - 1'b1));
        end
        if (rst) begin
            held_reg <= {PORTS{1'b0}};
            after_reg <= {PORTS{1'b0}};
        end
    end

`ifdef FORMAL
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    // A request stays until it is granted and accepted. Inside another module that is not taken for granted.
    reg [PORTS-1:0] pending = 0;
    always @(posedge clk) pending <= rst ? 0 : request & ~(grant & {PORTS{accept}});
`ifdef FORMAL_INSIDE
    always @(*) if (past_valid && !rst) assert ((request & pending) == pending);
`else
    always @(*) assume ((request & pending) == pending);
`endif

    // How long port 0 has waited, in accepted grants of others.
    reg [PORTS:0] waited = 0;
    always @(posedge clk) begin
        if (rst || !request[0] || (grant[0] && accept)) begin
            waited <= 0;
        end else if (accept && |request) begin
            waited <= (waited << 1) | 1'b1;
        end
        if (past_valid && !rst) begin
            // At most one grant, only to a port that asks, and always one when somebody asks.
            assert ((grant & (grant - 1'b1)) == 0);
            assert ((grant & ~request) == 0);
            assert ((|grant) == (|request));
            // A grant that was not accepted stays.
            if (!$past(rst) && $past(|request && !accept)) begin
                assert (grant == $past(grant));
            end
`ifndef FORMAL_INSIDE
            cover (grant == 1 << (PORTS - 1) && accept);
`endif
        end
    end
    // What the held grant may be, for induction.
    always @(*) if (past_valid && !rst) begin
        assert ((held_reg & (held_reg - 1'b1)) == 0);
        assert ((held_reg & ~pending) == 0);
        // Fairness: after at most PORTS - 1 grants of others, port 0 has its turn.
        assert (!waited[PORTS - 1]);
        // Why: while port 0 waits, each grant goes to a higher port than the one before.
        assert (((after_reg >> 1) & waited) == 0);
        assert (waited == 0 || held_reg == 0 || held_reg[0] || (held_reg & after_reg) != 0);
        assert ((waited & (waited + 1'b1)) == 0 && (waited == 0 || pending[0]));
        assert ((after_reg & (after_reg << 1)) == (after_reg << 1 & {PORTS{1'b1}}));
        assert (!after_reg[0]);
    end
`endif
endmodule

`default_nettype wire
