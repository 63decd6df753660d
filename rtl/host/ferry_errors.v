// SPDX-License-Identifier: Apache-2.0
// What becomes of an error of the link: which status bits it sets, and whether the root is told by a message (PCI Express
// base specification 6.2, without advanced error reporting). Errors that their other end learns of by itself, as the
// sender of a request does by its answer, are advisory: they count as correctable (6.2.3.2.4).
`default_nettype none

module ferry_errors (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // One-cycle strobes. A packet that breaks the rules of its form.
    input  wire malformed,
    // A poisoned packet; it was posted; it was a completion. The rest gets Unsupported Request for it.
    input  wire poisoned,
    input  wire poisoned_write,
    input  wire poisoned_completion,
    // A write to what is not there or is refused, or a message that nobody knows; a request that was answered Unsupported
    // Request, Completer Abort.
    input  wire write_unsupported,
    input  wire request_unsupported,
    input  wire request_aborted,
    // A completion that nothing waits for; a request of ours that was not answered in time.
    input  wire unexpected,
    input  wire timed_out,

    // Configuration space.
    input  wire report_correctable,
    input  wire report_nonfatal,
    input  wire report_fatal,
    input  wire report_unsupported,
    input  wire parity_response,
    input  wire system_error_enable,
    output wire set_correctable,
    output wire set_nonfatal,
    output wire set_fatal,
    output wire set_unsupported,
    output wire set_detected_parity,
    output wire set_master_parity,
    output wire set_signaled_abort,
    output wire set_signaled_error,

    // Message: stable until done, a pulse.
    output wire       message_valid,
    output wire [7:0] message_code,
    input  wire       message_done
);
    // Message codes (2.2.8.3).
    localparam [7:0] ERR_COR = 8'h30;
    localparam [7:0] ERR_NONFATAL = 8'h31;
    localparam [7:0] ERR_FATAL = 8'h33;

    // Messages that are due. Errors of one kind that come before their message has left share it.
    reg correctable_reg;
    reg nonfatal_reg;
    reg fatal_reg;
    // The message that was offered; the choice stands while it waits.
    reg [7:0] code_reg;
    reg       valid_reg;

    wire other_correctable = request_aborted || unexpected || (poisoned && poisoned_completion);
    wire other_nonfatal = timed_out || (poisoned && poisoned_write);
    wire send_correctable = report_correctable && (other_correctable || (request_unsupported && report_unsupported));
    wire send_nonfatal = (report_nonfatal || system_error_enable) &&
                         (other_nonfatal || (write_unsupported && report_unsupported));
    wire send_fatal = (report_fatal || system_error_enable) && malformed;

    assign set_correctable = other_correctable || request_unsupported;
    assign set_nonfatal = other_nonfatal || write_unsupported;
    assign set_fatal = malformed;
    assign set_unsupported = request_unsupported || write_unsupported;
    assign set_detected_parity = poisoned;
    assign set_master_parity = poisoned && poisoned_completion && parity_response;
    assign set_signaled_abort = request_aborted;
    assign set_signaled_error = message_done && code_reg != ERR_COR && system_error_enable;
    assign message_valid = valid_reg;
    assign message_code = code_reg;

    always @(posedge clk) begin
        correctable_reg <= send_correctable || (correctable_reg && !(message_done && code_reg == ERR_COR));
        nonfatal_reg <= send_nonfatal || (nonfatal_reg && !(message_done && code_reg == ERR_NONFATAL));
        fatal_reg <= send_fatal || (fatal_reg && !(message_done && code_reg == ERR_FATAL));
        if (!valid_reg) begin
            valid_reg <= correctable_reg || nonfatal_reg || fatal_reg;
            code_reg <= fatal_reg ? ERR_FATAL : nonfatal_reg ? ERR_NONFATAL : ERR_COR;
        end else if (message_done) begin
            valid_reg <= 1'b0;
        end
        if (rst) begin
            correctable_reg <= 1'b0;
            nonfatal_reg <= 1'b0;
            fatal_reg <= 1'b0;
            valid_reg <= 1'b0;
        end
    end
endmodule

`default_nettype wire
