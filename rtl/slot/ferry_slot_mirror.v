// SPDX-License-Identifier: Apache-2.0
// Keeps the device's configuration space as the link block's, which answers the host's configuration requests itself and
// shows none of them. Round by round it reads the block's registers through its management port and writes what has
// changed into the device, as the host would have: Configuration Write Type 0 requests, whose answers ferry_slot keeps
// back. What the block also shows on wires tells at once that something changed: until a whole round has gone by since,
// the host's packets stand (PCI Express base specification 2.2.6.2, 6.6.2: what comes behind the answer to a
// configuration write finds it done). What came before that write may wait in the block still, and it does not matter when it
// comes: the block looks at BARs and at "memory on" as a packet arrives, so the device's BARs stay where ferry_slot sends requests,
// and its memory stays on once it is, until a reset of the function.
//
// Error reporting is the block's, so none of it is copied: the device would send messages that the block does not know.
`default_nettype none
`include "ferry_contract.vh"

module ferry_slot_mirror #(
    // Where the block has its capabilities, in bytes: power management, message signalled interrupts, PCI Express.
    parameter [11:0] POWER_AT = 12'h040,
    parameter [11:0] MSI_AT = 12'h048,
    parameter [11:0] PCIE_AT = 12'h060,
    // Where the device has BAR0.
    parameter [31:0] BAR0_AT = 32'h8000_0000
) (
    // Clock of the block's user side; reset while the link is down, active high.
    input  wire        clk,
    input  wire        rst,

    // Management port: the number of a 32-bit register, and read until done.
    output wire [9:0]  manage_word,
    output wire        manage_read,
    input  wire [31:0] manage_data,
    input  wire        manage_done,
    // Wires of the block: bus, device and function number; command; device control; power state; interrupts on. They are
    // as the registers are, before the answer to a write leaves.
    input  wire [15:0] function_id,
    input  wire [15:0] command,
    input  wire [15:0] device_control,
    input  wire [1:0]  power_state,
    input  wire        msi_enable,
    // One-cycle pulse: the host has asked for a function level reset.
    input  wire        function_reset,

    // The host's packets wait.
    output wire        stand,
    // A register of the device is to be written with all four bytes: until it is taken, and then until it is answered.
    output wire        write,
    output wire [11:0] write_address,
    output wire [31:0] write_data,
    output wire        write_waits,
    input  wire        write_taken,
    input  wire        write_answered
);
    localparam [1:0] READ = 2'd0, COMPARE = 2'd1, WRITE = 2'd2, ANSWER = 2'd3;
    // In this order: nothing is let through before it is known where to.
    localparam [3:0] CONTROL = 4'd5, LAST = 4'd8;

    reg  [1:0]  state_reg;
    reg  [3:0]  at_reg;
    reg  [31:0] value_reg;
    // What the device has, and whether it has anything since its reset.
    reg  [31:0] copies [0:15];
    reg  [15:0] known_reg;
    // The wires as they were when the round began; that they have not been so all the time; that a round has gone by.
    reg  [26:0] shown_reg;
    reg         moved_reg;
    reg         settled_reg;
    // The device has memory on.
    reg         memory_reg;
    // A reset is to be written; it is what is being written.
    reg         reset_reg;
    reg         resets_reg;

    reg  [9:0]  word;
    reg  [11:0] address;
    reg  [31:0] mask;
    // What it is beside the block's.
    reg  [31:0] own;

    always @* begin
        own = 32'd0;
        word = 10'd1;
        address = `FERRY_CONFIG_SPACE_COMMAND;
        mask = `FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_MASK | `FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK;
        case (at_reg)
            4'd0: begin word = 10'd4; address = `FERRY_CONFIG_SPACE_BAR0; mask = 32'd0; own = BAR0_AT; end
            4'd1: begin word = MSI_AT[11:2] + 10'd1; address = `FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW; mask = 32'hffff_fffc; end
            4'd2: begin word = MSI_AT[11:2] + 10'd2; address = `FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH; mask = 32'hffff_ffff; end
            4'd3: begin word = MSI_AT[11:2] + 10'd3; address = `FERRY_CONFIG_SPACE_MSI_DATA; mask = 32'h0000_ffff; end
            4'd4: begin word = MSI_AT[11:2]; address = `FERRY_CONFIG_SPACE_MSI; mask = `FERRY_CONFIG_SPACE_MSI_ENABLE_MASK; end
            4'd5: begin word = PCIE_AT[11:2] + 10'd2; address = `FERRY_CONFIG_SPACE_DEVICE_CONTROL; mask =
                `FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD_MASK | `FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ_MASK
                | `FERRY_CONFIG_SPACE_DEVICE_CONTROL_EXTENDED_TAG_ENABLE_MASK
                | `FERRY_CONFIG_SPACE_DEVICE_CONTROL_NO_SNOOP_ENABLE_MASK; end
            4'd6: begin word = PCIE_AT[11:2] + 10'd10; address = `FERRY_CONFIG_SPACE_DEVICE_CONTROL2;
                mask = `FERRY_CONFIG_SPACE_DEVICE_CONTROL2_TIMEOUT_DISABLE_MASK; end
            4'd7: begin word = POWER_AT[11:2] + 10'd1; address = `FERRY_CONFIG_SPACE_POWER_CONTROL;
                mask = `FERRY_CONFIG_SPACE_POWER_CONTROL_STATE_MASK; end
            default: own = {31'd0, memory_reg} << `FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_SHIFT;
        endcase
    end

    wire [26:0] shown = {function_id, msi_enable, power_state, command[2:1], device_control[14:12], device_control[7:5]};
    wire        moves = shown != shown_reg;
    wire [31:0] value = (value_reg & mask) | own;
    wire        is_so = known_reg[at_reg] && copies[at_reg] == value;
    wire        at_control = at_reg == CONTROL;
    // This register is as it should be. A reset that was asked for comes before the next one.
    wire        done = state_reg == COMPARE ? is_so && !(at_control && reset_reg) : state_reg == ANSWER && write_answered && !resets_reg;

    assign manage_word = word;
    assign manage_read = state_reg == READ && !manage_done;
    assign stand = moves || !settled_reg || reset_reg;
    assign write = state_reg == WRITE;
    assign write_waits = state_reg == ANSWER;
    assign write_address = address;
    // Of the reset nothing but the bit is new: the largest payload stays, since answers of that size are on their way.
    assign write_data = resets_reg ? value | `FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK : value;

    always @(posedge clk) begin
        moved_reg <= moved_reg || moves;
        if (moves)
            settled_reg <= 1'b0;
        case (state_reg)
            READ:
                if (manage_done) begin
                    value_reg <= manage_data;
                    state_reg <= COMPARE;
                end
            COMPARE:
                if (!done) begin
                    resets_reg <= at_control && reset_reg;
                    state_reg <= WRITE;
                end
            WRITE:
                if (write_taken)
                    state_reg <= ANSWER;
            default:
                if (write_answered) begin
                    copies[at_reg] <= value;
                    known_reg[at_reg] <= 1'b1;
                    if (at_reg == LAST)
                        memory_reg <= value[`FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_SHIFT];
                end
        endcase
        if (done) begin
            state_reg <= READ;
            at_reg <= reset_reg ? CONTROL : at_reg == LAST ? 4'd0 : at_reg + 4'd1;
            if (at_reg == LAST && !reset_reg) begin
                shown_reg <= shown;
                moved_reg <= 1'b0;
                settled_reg <= !moved_reg && !moves;
                // The device learns its number from the next write, whichever that is.
                if (shown[26:11] != shown_reg[26:11])
                    known_reg <= 16'd0;
            end
        end
        if (function_reset)
            reset_reg <= 1'b1;
        if (state_reg == ANSWER && write_answered && resets_reg) begin
            // The device has nothing of all this any more.
            memory_reg <= 1'b0;
            state_reg <= READ;
            at_reg <= 4'd0;
            known_reg <= 16'd0;
            moved_reg <= 1'b1;
            settled_reg <= 1'b0;
            reset_reg <= function_reset;
            resets_reg <= 1'b0;
        end
        if (rst) begin
            state_reg <= READ;
            at_reg <= 4'd0;
            known_reg <= 16'd0;
            memory_reg <= 1'b0;
            shown_reg <= 27'd0;
            moved_reg <= 1'b1;
            settled_reg <= 1'b0;
            reset_reg <= 1'b0;
            resets_reg <= 1'b0;
        end
    end

    wire unused = &{1'b0, command[15:3], command[0], device_control[15], device_control[11:8], device_control[4:0]};
endmodule

`default_nettype wire
