// SPDX-License-Identifier: Apache-2.0
// Where the jobs of one class (urgent or not) are: what came in, what each side took, what was told to be over and what is
// retired, each in order. A side may put the job that it took last back, to go on with it later.
`default_nettype none

module ferry_job_pointers #(
    // log2 of the number of jobs, and of the places of those that the read side has not taken (not more).
    parameter LG_JOBS = 4,
    parameter LG_WAITING = 3,
    // 1: a job may be put back; the one that was taken last keeps its place among those that wait.
    parameter KEEP = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A job enters.
    input  wire accept,
    // A side takes its next job, or puts back the one that it took last.
    input  wire read_take,
    input  wire read_back,
    input  wire write_take,
    input  wire write_back,
    // The oldest job is retired; a job is told to be over, which is the same but while memory is given up on. How many were told.
    input  wire retire,
    input  wire over,
    output wire [15:0] told,

    // Places: of the next job that enters, of the next to be told of; and among those that wait, of the next job that enters,
    // and of the read side's next one, a cycle ahead.
    output wire [LG_JOBS-1:0] in_job,
    output wire [LG_JOBS-1:0] shown_job,
    output wire [LG_WAITING-1:0] in_waiting,
    output wire [LG_WAITING-1:0] next_waiting,
    // There is room for a job; there is a job at all; the read side will have one to take in the next cycle; there is one not
    // told of.
    output wire room,
    output wire busy,
    output wire read_waits_next,
    output wire shown_waits,
    // Every job before a side's next one is retired.
    output wire read_first,
    output wire write_first
`ifdef FORMAL
    ,
    output wire [LG_JOBS:0] formal_in,
    output wire [LG_JOBS:0] formal_oldest,
    output wire [LG_JOBS:0] formal_read,
    output wire [LG_JOBS:0] formal_write,
    output wire [LG_JOBS:0] formal_shown,
    output wire [LG_WAITING:0] formal_waiting
`endif
);
    // One bit more than a place, so that full and empty differ.
    reg [LG_JOBS:0] in_reg;
    reg [LG_JOBS:0] read_reg;
    reg [LG_JOBS:0] write_reg;
    reg [LG_JOBS:0] oldest_reg;
    reg [15:0] told_reg;
    // Jobs that the read side has not taken.
    reg [LG_WAITING:0] waiting_reg;

    localparam [LG_WAITING:0] PLACES = 1 << LG_WAITING;
    localparam [LG_WAITING:0] MOST = PLACES - (KEEP != 0 ? 1 : 0);
    localparam [LG_WAITING:0] ONE = 1;

    // As if nobody took or retired a job in this cycle, which is known late in it: room is seen a cycle later then.
    wire [LG_JOBS:0] level = in_reg - oldest_reg + {{LG_JOBS{1'b0}}, accept};
    wire [LG_WAITING+1:0] waiting_most = {1'b0, waiting_reg} + {{(LG_WAITING+1){1'b0}}, accept} + {{(LG_WAITING+1){1'b0}}, read_back};
    reg room_reg;
    wire [LG_JOBS:0] read_next = read_reg + {{LG_JOBS{read_back}}, read_take || read_back};

    assign in_job = in_reg[LG_JOBS-1:0];
    assign told = told_reg;
    assign shown_job = told_reg[LG_JOBS-1:0];
    assign in_waiting = in_reg[LG_WAITING-1:0];
    assign next_waiting = read_next[LG_WAITING-1:0];
    assign room = room_reg;
    assign busy = in_reg != oldest_reg;
    assign read_waits_next = accept || read_back || (waiting_reg != 0 && !(read_take && waiting_reg == ONE));
    assign shown_waits = in_reg != told_reg[LG_JOBS:0];
    assign read_first = read_reg == oldest_reg;
    assign write_first = write_reg == oldest_reg;

    always @(posedge clk) begin
        room_reg <= !level[LG_JOBS] && waiting_most < {1'b0, MOST};
        in_reg <= in_reg + {{LG_JOBS{1'b0}}, accept};
        read_reg <= read_next;
        write_reg <= write_reg + {{LG_JOBS{write_back}}, write_take || write_back};
        oldest_reg <= oldest_reg + {{LG_JOBS{1'b0}}, retire};
        told_reg <= told_reg + {15'd0, over};
        case ({accept, read_back, read_take})
        3'b100, 3'b010: waiting_reg <= waiting_reg + ONE;
        3'b110: waiting_reg <= waiting_reg + ONE + ONE;
        3'b001: waiting_reg <= waiting_reg - ONE;
        default: ;
        endcase
        if (rst) begin
            room_reg <= 1'b0;
            in_reg <= {(LG_JOBS + 1){1'b0}};
            read_reg <= {(LG_JOBS + 1){1'b0}};
            write_reg <= {(LG_JOBS + 1){1'b0}};
            oldest_reg <= {(LG_JOBS + 1){1'b0}};
            told_reg <= 16'd0;
            waiting_reg <= {(LG_WAITING + 1){1'b0}};
        end
    end

`ifdef FORMAL
    assign formal_in = in_reg;
    assign formal_oldest = oldest_reg;
    assign formal_read = read_reg;
    assign formal_write = write_reg;
    assign formal_shown = told_reg[LG_JOBS:0];
    assign formal_waiting = waiting_reg;
    wire [LG_JOBS:0] formal_level = in_reg - oldest_reg;
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (past_valid && !rst) begin
        assert (!room_reg || (!formal_level[LG_JOBS] && waiting_reg < MOST));
    end
`endif
endmodule

`default_nettype wire
