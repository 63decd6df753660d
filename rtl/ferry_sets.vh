// SPDX-License-Identifier: Apache-2.0
// The named sets of sizes. ferry_device takes its parameters' defaults from here, and so do the benches and the netlists
// that measure a part of it alone: what is measured is what ships. SET is a text: "full" (FPGAs with some 40,000 LUTs, and
// simulation) or "tiny" (the least of everything). What each size means stands at ferry_device's parameters.
`ifndef FERRY_SETS_VH
`define FERRY_SETS_VH

`define FERRY_SET_TAGS(SET)               (SET == "tiny" ? 4 : 32)
`define FERRY_SET_RINGS(SET)              (SET == "tiny" ? 2 : 5)
`define FERRY_SET_SLOTS(SET)              (SET == "tiny" ? 2 : 4)
`define FERRY_SET_SLOT_BYTES_LOG2(SET)    (SET == "tiny" ? 10 : 12)
`define FERRY_SET_LOCAL_ADDRESS_BITS(SET) (SET == "tiny" ? 17 : 26)
`define FERRY_SET_APERTURE_PAGES(SET)     (SET == "tiny" ? 32 : 4096)
`define FERRY_SET_PAGE_TABLES(SET)        (SET == "tiny" ? 0 : 1)
`define FERRY_SET_TILING(SET)             (SET == "tiny" ? 0 : 1)
`define FERRY_SET_FIRMWARE_RAM_WORDS(SET) (2048)
`define FERRY_SET_JOB_QUEUE(SET)          (SET == "tiny" ? 2 : 64)
`define FERRY_SET_URGENT_QUEUE(SET)       (SET == "tiny" ? 2 : 16)
// The RAM of an iCE40UP5K has one port.
`define FERRY_SET_ONE_PORT(SET)           (SET == "tiny" ? 1'b1 : 1'b0)
// Bursts of the engine that may be outstanding, and words of its data FIFO (at least 256), as powers of two.
`define FERRY_SET_LG_READS(SET)           (SET == "tiny" ? 5 : 5)
`define FERRY_SET_LG_WRITES(SET)          (SET == "tiny" ? 4 : 4)
`define FERRY_SET_LG_DATA(SET)            (SET == "tiny" ? 9 : 9)

`endif
