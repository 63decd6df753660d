// SPDX-License-Identifier: Apache-2.0
// One line for each size of ferry_device that cannot work, when the design is elaborated. It has no logic; ferry_device
// instantiates it instead of everything else when a size is wrong, so that no other complaint stands before that line.
// The parameters are ferry_device's, whose limits are told there.
`default_nettype none

module ferry_parameter_check #(
    parameter [0:0] CONFIGURATION_IS_KNOWN = 1,
    parameter TAGS = 32,
    parameter RINGS = 5,
    parameter SLOTS = 4,
    parameter SLOT_BYTES_LOG2 = 12,
    parameter LOCAL_ADDRESS_BITS = 26,
    parameter APERTURE_PAGES = 4096,
    parameter PAGE_TABLES = 1,
    parameter FIRMWARE_RAM_WORDS = 4096,
    parameter JOB_QUEUE = 8,
    parameter URGENT_QUEUE = 8,
    parameter TLP_BITS = 64,
    parameter [0:0] CPU_CORE_IS_KNOWN = 1
) ();

`include "ferry_parameter_limits.vh"

`ifdef __ICARUS__
    // Icarus 11 knows no $error outside of processes, so it stops when the simulation begins.
    initial begin
        $display("ferry_device: a size that cannot work; Verilator or Yosys tells which");
        $finish;
    end
`else
    generate
        if (!CONFIGURATION_IS_KNOWN) begin : g_configuration
            $error("ferry_device: CONFIGURATION is \"full\" or \"tiny\"");
        end
        if (!TAGS_HOLD) begin : g_tags
            $error("ferry_device: TAGS is 2, 4, 8, 16 or 32");
        end
        if (!RINGS_HOLD) begin : g_rings
            $error("ferry_device: RINGS is 1 to 5");
        end
        if (!SLOTS_HOLD) begin : g_slots
            $error("ferry_device: SLOTS is 2 to 4");
        end
        if (!SLOT_BYTES_HOLD) begin : g_slot_bytes
            $error("ferry_device: SLOT_BYTES_LOG2 is 9 to 12");
        end
        if (!LOCAL_HOLDS) begin : g_local
            $error("ferry_device: LOCAL_ADDRESS_BITS is 16 to 31, with PAGE_TABLES 22 to 31");
        end
        if (!PAGES_HOLD) begin : g_pages
            $error("ferry_device: APERTURE_PAGES is a power of two, 2 to 2^20");
        end
        if (!FIRMWARE_HOLDS) begin : g_firmware
            $error("ferry_device: FIRMWARE_RAM_WORDS is 2048, 4096 or 8192");
        end
        if (!JOBS_HOLD) begin : g_jobs
            $error("ferry_device: JOB_QUEUE is a power of two, 2 to 64");
        end
        if (!URGENT_HOLDS) begin : g_urgent
            $error("ferry_device: URGENT_QUEUE is a power of two, 2 to JOB_QUEUE");
        end
        if (!STREAM_HOLDS) begin : g_stream
            $error("ferry_device: TLP_BITS is 32, 64 or 128");
        end
        if (!CPU_CORE_IS_KNOWN) begin : g_core
            $error("ferry_device: CPU_CORE is \"vexriscv\", \"picorv32\" or \"serv\"");
        end
    endgenerate
`endif

endmodule

`default_nettype wire
