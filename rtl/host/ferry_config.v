// SPDX-License-Identifier: Apache-2.0
// PCI configuration space, as config_space of the contract has it. The host's first configuration write also tells the
// device its own bus and device number (base specification 2.2.6.2), which every packet it sends carries.
`default_nettype none
`include "ferry_contract.vh"

module ferry_config #(
    // log2 of the bytes of BAR2, at most 31.
    parameter BAR2_BITS = 27
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high.
    input  wire rst,

    // Configuration access to function 0. Byte offset of the register, multiple of 4; read data comes a cycle later.
    input  wire [11:0] config_address,
    output wire [31:0] config_rdata,
    // One-cycle pulse: write the bytes of wdata whose strobe is set.
    input  wire        config_write,
    input  wire [31:0] config_wdata,
    input  wire [3:0]  config_wstrb,
    // Bus, device and function number that the write was sent to.
    input  wire [15:0] config_target,

    // One-cycle pulses that set the status bit of the same name.
    input  wire        set_correctable,
    input  wire        set_nonfatal,
    input  wire        set_fatal,
    input  wire        set_unsupported,
    input  wire        set_detected_parity,
    input  wire        set_master_parity,
    input  wire        set_signaled_abort,
    input  wire        set_received_abort,
    input  wire        set_received_unsupported,
    input  wire        set_signaled_error,
    // Which errors are reported by message; the response to poisoned data; errors are reported as system errors too.
    output reg         report_correctable,
    output reg         report_nonfatal,
    output reg         report_fatal,
    output reg         report_unsupported,
    output reg         parity_response,
    output reg         system_error_enable,
    // A read request of this device is under way.
    input  wire        requests_pending,
    // One-cycle pulse: software asked for a function level reset. This space is reset by itself, but for the device's own
    // number, which the answer to that very write carries, and for what belongs to the link (base specification 6.6.2):
    // answers of the size allowed so far are still on their way.
    output reg         function_reset,

    // Address of BAR0 (64 KiB) and of BAR2, of which only the bits above its size exist.
    output wire [31:16]       bar0_base,
    output wire [63:BAR2_BITS] bar2_base,
    // Memory requests are answered; requests may be sent. Neither in power state D3hot.
    output wire        memory_enable,
    output wire        bus_master,
    // Power state D3hot.
    output wire        asleep,
    // Payload 0 = 128, 1 = 256 bytes; larger settings stand for 256.
    output wire        max_payload,
    // Read request 0 = 128, 1 = 256, 2 = 512 bytes; larger settings stand for 512.
    output wire [1:0]  max_read,
    // Read requests never time out.
    output reg         timeout_disable,
    // No Snoop may be set in packets.
    output reg         no_snoop_enable,
    // Message signalled interrupt.
    output reg         msi_enable,
    output wire [63:2] msi_address,
    output reg  [15:0] msi_data,
    output reg         msi_mask,
    input  wire        msi_pending,
    // Bus, device and function number of this device.
    output reg  [15:0] completer_id
);
    integer            i;
    reg [31:16]        bar0_reg;
    reg [63:BAR2_BITS] bar2_reg;
    reg                memory_reg;
    reg                master_reg;
    reg                sleep_reg;
    reg [7:0]          cache_line_reg;
    // Error bits of the two status registers, as they stand there.
    reg [31:24]        status_reg;
    reg [19:16]        device_status_reg;
    reg [2:0]          payload_reg;
    reg [2:0]          read_reg;
    // Kept for the host to read back. Tags here are below 32, which needs no leave (2.2.6.2), and an endpoint's own completions end at
    // multiples of 128 bytes whatever the boundary of the root is (2.3.1.1).
    reg                tag_reg;
    reg                boundary_reg;
    reg [31:2]         msi_low_reg;
    reg [31:0]         msi_high_reg;

    assign memory_enable = memory_reg && !sleep_reg;
    assign bus_master = master_reg && !sleep_reg;
    assign asleep = sleep_reg;
    assign bar0_base = bar0_reg;
    assign bar2_base = bar2_reg;
    assign max_payload = payload_reg != 3'd0;
    assign max_read = read_reg[2:1] != 2'd0 ? 2'd2 : {1'b0, read_reg[0]};
    assign msi_address = {msi_high_reg, msi_low_reg};

    // BAR2 as it reads: zeros below its size, which is how the host learns the size.
    wire [63:0] bar2_value = {bar2_reg, {BAR2_BITS{1'b0}}};
    // Only the first 256 bytes have registers. One select a register, and the registers that are read are ORed; both a cycle
    // after the address, which keeps them small.
    wire        here = config_address[11:8] == 4'd0;
    wire [11:0] place = {4'd0, config_address[7:0]};
    reg         at_id;
    reg         at_command;
    reg         at_class;
    reg         at_cache_line;
    reg         at_bar0;
    reg         at_bar2_low;
    reg         at_bar2_high;
    reg         at_capability;
    reg         at_pcie;
    reg         at_device;
    reg         at_control;
    reg         at_link_capabilities;
    reg         at_link;
    reg         at_device2;
    reg         at_control2;
    reg         at_link2;
    reg         at_msi;
    reg         at_msi_low;
    reg         at_msi_high;
    reg         at_msi_data;
    reg         at_msi_mask;
    reg         at_msi_pending;
    reg         at_power;
    reg         at_power_control;
    reg         write_reg;
    reg [31:0]  wdata_reg;
    reg [3:0]   wstrb_reg;
    reg [15:0]  target_reg;
    always @(posedge clk) begin
        at_id <= here && (place == `FERRY_CONFIG_SPACE_ID || place == `FERRY_CONFIG_SPACE_SUBSYSTEM);
        at_command <= here && place == `FERRY_CONFIG_SPACE_COMMAND;
        at_class <= here && place == `FERRY_CONFIG_SPACE_CLASS;
        at_cache_line <= here && place == `FERRY_CONFIG_SPACE_CACHE_LINE;
        at_bar0 <= here && place == `FERRY_CONFIG_SPACE_BAR0;
        at_bar2_low <= here && place == `FERRY_CONFIG_SPACE_BAR2_LOW;
        at_bar2_high <= here && place == `FERRY_CONFIG_SPACE_BAR2_HIGH;
        at_capability <= here && place == `FERRY_CONFIG_SPACE_CAPABILITY;
        at_pcie <= here && place == `FERRY_CONFIG_SPACE_PCIE;
        at_device <= here && place == `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES;
        at_control <= here && place == `FERRY_CONFIG_SPACE_DEVICE_CONTROL;
        at_link_capabilities <= here && place == `FERRY_CONFIG_SPACE_LINK_CAPABILITIES;
        at_link <= here && place == `FERRY_CONFIG_SPACE_LINK_CONTROL;
        at_device2 <= here && place == `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES2;
        at_control2 <= here && place == `FERRY_CONFIG_SPACE_DEVICE_CONTROL2;
        at_link2 <= here && place == `FERRY_CONFIG_SPACE_LINK_CAPABILITIES2;
        at_msi <= here && place == `FERRY_CONFIG_SPACE_MSI;
        at_msi_low <= here && place == `FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW;
        at_msi_high <= here && place == `FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH;
        at_msi_data <= here && place == `FERRY_CONFIG_SPACE_MSI_DATA;
        at_msi_mask <= here && place == `FERRY_CONFIG_SPACE_MSI_MASK;
        at_msi_pending <= here && place == `FERRY_CONFIG_SPACE_MSI_PENDING;
        at_power <= here && place == `FERRY_CONFIG_SPACE_POWER;
        at_power_control <= here && place == `FERRY_CONFIG_SPACE_POWER_CONTROL;
        write_reg <= config_write && !rst;
        wdata_reg <= config_wdata;
        wstrb_reg <= config_wstrb;
        target_reg <= config_target;
    end

    // Bytes that are written.
    wire        byte0 = write_reg && wstrb_reg[0];
    wire        byte1 = write_reg && wstrb_reg[1];
    wire        byte2 = write_reg && wstrb_reg[2];
    wire        byte3 = write_reg && wstrb_reg[3];

    // What sets bits of the two status registers.
    reg [31:0]  status_set;
    reg [31:0]  device_set;
    wire        unused_set = &{1'b0, status_set[23:0], device_set[31:20], device_set[15:0]};

    always @* begin
        status_set = 32'd0;
        status_set[`FERRY_CONFIG_SPACE_COMMAND_MASTER_DATA_PARITY_RANGE] = set_master_parity;
        status_set[`FERRY_CONFIG_SPACE_COMMAND_SIGNALED_TARGET_ABORT_RANGE] = set_signaled_abort;
        status_set[`FERRY_CONFIG_SPACE_COMMAND_RECEIVED_TARGET_ABORT_RANGE] = set_received_abort;
        status_set[`FERRY_CONFIG_SPACE_COMMAND_RECEIVED_MASTER_ABORT_RANGE] = set_received_unsupported;
        status_set[`FERRY_CONFIG_SPACE_COMMAND_SIGNALED_SYSTEM_ERROR_RANGE] = set_signaled_error;
        status_set[`FERRY_CONFIG_SPACE_COMMAND_DETECTED_PARITY_RANGE] = set_detected_parity;
        device_set = 32'd0;
        device_set[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_CORRECTABLE_RANGE] = set_correctable;
        device_set[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_NONFATAL_RANGE] = set_nonfatal;
        device_set[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_FATAL_RANGE] = set_fatal;
        device_set[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_UNSUPPORTED_RANGE] = set_unsupported;
    end

    // Registers of constants and single bits, in one word since no two of them are read at once.
    reg [31:0]  fixed;

    always @* begin
        fixed = 32'd0;
        if (at_id) begin
            fixed[`FERRY_CONFIG_SPACE_ID_VENDOR_RANGE] = `FERRY_CONFIG_SPACE_ID_VENDOR_RESET;
            fixed[`FERRY_CONFIG_SPACE_ID_DEVICE_RANGE] = `FERRY_CONFIG_SPACE_ID_DEVICE_RESET;
        end
        if (at_command) begin
            fixed[31:24] = status_reg;
            fixed[`FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_RANGE] = memory_reg;
            fixed[`FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_RANGE] = master_reg;
            fixed[`FERRY_CONFIG_SPACE_COMMAND_PARITY_RESPONSE_RANGE] = parity_response;
            fixed[`FERRY_CONFIG_SPACE_COMMAND_SYSTEM_ERROR_ENABLE_RANGE] = system_error_enable;
            fixed[`FERRY_CONFIG_SPACE_COMMAND_CAPABILITIES_RANGE] = 1'b1;
        end
        if (at_class) begin
            fixed[`FERRY_CONFIG_SPACE_CLASS_REVISION_RANGE] = `FERRY_BAR0_CONTRACT_VERSION_MAJOR_RESET;
            fixed[`FERRY_CONFIG_SPACE_CLASS_CLASS_CODE_RANGE] = `FERRY_CONFIG_SPACE_CLASS_CLASS_CODE_RESET;
        end
        if (at_cache_line)
            fixed[`FERRY_CONFIG_SPACE_CACHE_LINE_VALUE_RANGE] = cache_line_reg;
        if (at_bar2_low)
            fixed[`FERRY_CONFIG_SPACE_BAR2_LOW_KIND_RANGE] = `FERRY_CONFIG_SPACE_BAR2_LOW_KIND_RESET;
        if (at_capability)
            fixed[`FERRY_CONFIG_SPACE_CAPABILITY_POINTER_RANGE] = `FERRY_CONFIG_SPACE_CAPABILITY_POINTER_RESET;
        if (at_pcie) begin
            fixed[`FERRY_CONFIG_SPACE_PCIE_ID_RANGE] = `FERRY_CONFIG_SPACE_PCIE_ID_RESET;
            fixed[`FERRY_CONFIG_SPACE_PCIE_NEXT_RANGE] = `FERRY_CONFIG_SPACE_PCIE_NEXT_RESET;
            fixed[`FERRY_CONFIG_SPACE_PCIE_VERSION_RANGE] = `FERRY_CONFIG_SPACE_PCIE_VERSION_RESET;
        end
        if (at_device) begin
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_MAX_PAYLOAD_RANGE] =
                `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_MAX_PAYLOAD_RESET;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_EXTENDED_TAG_RANGE] =
                `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_EXTENDED_TAG_RESET;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_ROLE_BASED_ERRORS_RANGE] =
                `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_ROLE_BASED_ERRORS_RESET;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_FUNCTION_RESET_RANGE] =
                `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_FUNCTION_RESET_RESET;
        end
        if (at_control) begin
            fixed[19:16] = device_status_reg;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_PENDING_RANGE] = requests_pending;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_CORRECTABLE_RANGE] = report_correctable;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_NONFATAL_RANGE] = report_nonfatal;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_FATAL_RANGE] = report_fatal;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_UNSUPPORTED_RANGE] = report_unsupported;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD_RANGE] = payload_reg;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_EXTENDED_TAG_ENABLE_RANGE] = tag_reg;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_NO_SNOOP_ENABLE_RANGE] = no_snoop_enable;
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ_RANGE] = read_reg;
        end
        if (at_link_capabilities) begin
            fixed[`FERRY_CONFIG_SPACE_LINK_CAPABILITIES_SPEED_RANGE] = `FERRY_CONFIG_SPACE_LINK_CAPABILITIES_SPEED_RESET;
            fixed[`FERRY_CONFIG_SPACE_LINK_CAPABILITIES_WIDTH_RANGE] = `FERRY_CONFIG_SPACE_LINK_CAPABILITIES_WIDTH_RESET;
            fixed[`FERRY_CONFIG_SPACE_LINK_CAPABILITIES_POWER_OPTIONAL_RANGE] =
                `FERRY_CONFIG_SPACE_LINK_CAPABILITIES_POWER_OPTIONAL_RESET;
        end
        if (at_link) begin
            fixed[`FERRY_CONFIG_SPACE_LINK_CONTROL_READ_COMPLETION_BOUNDARY_RANGE] = boundary_reg;
            fixed[`FERRY_CONFIG_SPACE_LINK_CONTROL_SPEED_RANGE] = `FERRY_CONFIG_SPACE_LINK_CONTROL_SPEED_RESET;
            fixed[`FERRY_CONFIG_SPACE_LINK_CONTROL_WIDTH_RANGE] = `FERRY_CONFIG_SPACE_LINK_CONTROL_WIDTH_RESET;
        end
        if (at_device2)
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES2_TIMEOUT_DISABLE_RANGE] =
                `FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES2_TIMEOUT_DISABLE_RESET;
        if (at_control2)
            fixed[`FERRY_CONFIG_SPACE_DEVICE_CONTROL2_TIMEOUT_DISABLE_RANGE] = timeout_disable;
        if (at_link2)
            fixed[`FERRY_CONFIG_SPACE_LINK_CAPABILITIES2_SPEEDS_RANGE] =
                `FERRY_CONFIG_SPACE_LINK_CAPABILITIES2_SPEEDS_RESET;
        if (at_msi) begin
            fixed[`FERRY_CONFIG_SPACE_MSI_ID_RANGE] = `FERRY_CONFIG_SPACE_MSI_ID_RESET;
            fixed[`FERRY_CONFIG_SPACE_MSI_NEXT_RANGE] = `FERRY_CONFIG_SPACE_MSI_NEXT_RESET;
            fixed[`FERRY_CONFIG_SPACE_MSI_ENABLE_RANGE] = msi_enable;
            fixed[`FERRY_CONFIG_SPACE_MSI_ADDRESS64_RANGE] = `FERRY_CONFIG_SPACE_MSI_ADDRESS64_RESET;
            fixed[`FERRY_CONFIG_SPACE_MSI_MASKABLE_RANGE] = `FERRY_CONFIG_SPACE_MSI_MASKABLE_RESET;
        end
        if (at_msi_mask)
            fixed[`FERRY_CONFIG_SPACE_MSI_MASK_MASK_RANGE] = msi_mask;
        if (at_msi_pending)
            fixed[`FERRY_CONFIG_SPACE_MSI_PENDING_PENDING_RANGE] = msi_pending;
        if (at_power) begin
            fixed[`FERRY_CONFIG_SPACE_POWER_ID_RANGE] = `FERRY_CONFIG_SPACE_POWER_ID_RESET;
            fixed[`FERRY_CONFIG_SPACE_POWER_VERSION_RANGE] = `FERRY_CONFIG_SPACE_POWER_VERSION_RESET;
        end
        if (at_power_control) begin
            fixed[`FERRY_CONFIG_SPACE_POWER_CONTROL_STATE_RANGE] = {2{sleep_reg}};
            fixed[`FERRY_CONFIG_SPACE_POWER_CONTROL_NO_SOFT_RESET_RANGE] =
                `FERRY_CONFIG_SPACE_POWER_CONTROL_NO_SOFT_RESET_RESET;
        end
    end

    assign config_rdata = fixed |
                          ({32{at_bar0}} & {bar0_reg, 16'd0}) |
                          ({32{at_bar2_low}} & bar2_value[31:0]) |
                          ({32{at_bar2_high}} & bar2_value[63:32]) |
                          ({32{at_msi_low}} & {msi_low_reg, 2'd0}) |
                          ({32{at_msi_high}} & msi_high_reg) |
                          ({32{at_msi_data}} & {16'd0, msi_data});

    always @(posedge clk) begin
        if (write_reg)
            completer_id <= target_reg;
        if (byte0 && at_command) begin
            memory_reg <= wdata_reg[`FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_RANGE];
            master_reg <= wdata_reg[`FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_RANGE];
            parity_response <= wdata_reg[`FERRY_CONFIG_SPACE_COMMAND_PARITY_RESPONSE_RANGE];
        end
        if (byte1 && at_command)
            system_error_enable <= wdata_reg[`FERRY_CONFIG_SPACE_COMMAND_SYSTEM_ERROR_ENABLE_RANGE];
        // A new error in the cycle of a clearing write wins.
        status_reg <= (status_reg & ~(wdata_reg[31:24] & {8{byte3 && at_command}})) | status_set[31:24];
        device_status_reg <= (device_status_reg & ~(wdata_reg[19:16] & {4{byte2 && at_control}})) |
                             device_set[19:16];
        if (byte0 && at_cache_line)
            cache_line_reg <= wdata_reg[`FERRY_CONFIG_SPACE_CACHE_LINE_VALUE_RANGE];
        if (byte2 && at_bar0)
            bar0_reg[23:16] <= wdata_reg[23:16];
        if (byte3 && at_bar0)
            bar0_reg[31:24] <= wdata_reg[31:24];
        for (i = BAR2_BITS; i < 32; i = i + 1)
            if (at_bar2_low && write_reg && wstrb_reg[i / 8])
                bar2_reg[i] <= wdata_reg[i];
        if (byte0 && at_bar2_high)
            bar2_reg[39:32] <= wdata_reg[7:0];
        if (byte1 && at_bar2_high)
            bar2_reg[47:40] <= wdata_reg[15:8];
        if (byte2 && at_bar2_high)
            bar2_reg[55:48] <= wdata_reg[23:16];
        if (byte3 && at_bar2_high)
            bar2_reg[63:56] <= wdata_reg[31:24];
        if (byte0 && at_control) begin
            report_correctable <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_CORRECTABLE_RANGE];
            report_nonfatal <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_NONFATAL_RANGE];
            report_fatal <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_FATAL_RANGE];
            report_unsupported <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_REPORT_UNSUPPORTED_RANGE];
            payload_reg <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD_RANGE];
        end
        if (byte1 && at_control) begin
            tag_reg <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_EXTENDED_TAG_ENABLE_RANGE];
            no_snoop_enable <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_NO_SNOOP_ENABLE_RANGE];
            read_reg <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ_RANGE];
        end
        if (byte0 && at_link)
            boundary_reg <= wdata_reg[`FERRY_CONFIG_SPACE_LINK_CONTROL_READ_COMPLETION_BOUNDARY_RANGE];
        if (byte2 && at_msi)
            msi_enable <= wdata_reg[`FERRY_CONFIG_SPACE_MSI_ENABLE_RANGE];
        if (byte0 && at_msi_low)
            msi_low_reg[7:2] <= wdata_reg[7:2];
        if (byte1 && at_msi_low)
            msi_low_reg[15:8] <= wdata_reg[15:8];
        if (byte2 && at_msi_low)
            msi_low_reg[23:16] <= wdata_reg[23:16];
        if (byte3 && at_msi_low)
            msi_low_reg[31:24] <= wdata_reg[31:24];
        if (byte0 && at_msi_high)
            msi_high_reg[7:0] <= wdata_reg[7:0];
        if (byte1 && at_msi_high)
            msi_high_reg[15:8] <= wdata_reg[15:8];
        if (byte2 && at_msi_high)
            msi_high_reg[23:16] <= wdata_reg[23:16];
        if (byte3 && at_msi_high)
            msi_high_reg[31:24] <= wdata_reg[31:24];
        if (byte0 && at_msi_data)
            msi_data[7:0] <= wdata_reg[7:0];
        if (byte1 && at_msi_data)
            msi_data[15:8] <= wdata_reg[15:8];
        if (byte0 && at_msi_mask)
            msi_mask <= wdata_reg[`FERRY_CONFIG_SPACE_MSI_MASK_MASK_RANGE];
        if (byte0 && at_control2)
            timeout_disable <= wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL2_TIMEOUT_DISABLE_RANGE];
        // D1 and D2 are not there, so a write of them changes nothing (PCI power management 3.2.4).
        if (byte0 && at_power_control && wdata_reg[1] == wdata_reg[0])
            sleep_reg <= wdata_reg[0];
        function_reset <= byte1 && at_control && !rst &&
                          wdata_reg[`FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_RANGE];
        if (rst) begin
            completer_id <= 16'd0;
            payload_reg <= 3'd0;
            boundary_reg <= 1'b0;
        end
        if (rst || function_reset) begin
            memory_reg <= 1'b0;
            master_reg <= 1'b0;
            parity_response <= 1'b0;
            system_error_enable <= 1'b0;
            status_reg <= 8'd0;
            device_status_reg <= 4'd0;
            cache_line_reg <= 8'd0;
            report_correctable <= 1'b0;
            report_nonfatal <= 1'b0;
            report_fatal <= 1'b0;
            report_unsupported <= 1'b0;
            timeout_disable <= 1'b0;
            sleep_reg <= 1'b0;
            bar0_reg <= 16'd0;
            bar2_reg <= {64 - BAR2_BITS{1'b0}};
            tag_reg <= 1'b0;
            no_snoop_enable <= 1'b1;
            read_reg <= 3'd2;
            msi_enable <= 1'b0;
            msi_low_reg <= 30'd0;
            msi_high_reg <= 32'd0;
            msi_data <= 16'd0;
            msi_mask <= 1'b0;
        end
    end

`ifdef FORMAL
`include "ferry_config_properties.vh"
`endif
endmodule

`default_nettype wire
