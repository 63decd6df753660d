// SPDX-License-Identifier: Apache-2.0
// Which of ferry_device's sizes can work, one constant each; included by ferry_device and ferry_parameter_check.

// The tag of a completion has 5 bits until the host allows more, and tags are counted by powers of two.
localparam [0:0] TAGS_HOLD = TAGS >= 2 && TAGS <= 32 && (TAGS & (TAGS - 1)) == 0;
localparam [0:0] RINGS_HOLD = RINGS >= 1 && RINGS <= 5;
// With one slot alone a user ring would leave the paging ring none.
localparam [0:0] SLOTS_HOLD = SLOTS >= 2 && SLOTS <= 4;
localparam [0:0] SLOT_BYTES_HOLD = SLOT_BYTES_LOG2 >= 9 && SLOT_BYTES_LOG2 <= 12;
// BAR2 is twice as large as video memory, at least a 128 KiB BAR. The engine holds addresses against video memory's limits by their
// lower 32 bits and whether there are others, so it has less than 4 GiB; the page-table unit compares large pages with its end, so
// it has two of them at least.
localparam [0:0] LOCAL_HOLDS = LOCAL_ADDRESS_BITS >= (PAGE_TABLES != 0 ? 22 : 16) && LOCAL_ADDRESS_BITS <= 31;
localparam [0:0] PAGES_HOLD = APERTURE_PAGES >= 2 && APERTURE_PAGES <= 1048576
    && (APERTURE_PAGES & (APERTURE_PAGES - 1)) == 0;
// The firmware takes nearly all of 8 KiB (FIRMWARE_RAM_BYTES in firmware/rules.mk).
localparam [0:0] FIRMWARE_HOLDS = FIRMWARE_RAM_WORDS >= 2048 && FIRMWARE_RAM_WORDS <= 8192
    && (FIRMWARE_RAM_WORDS & (FIRMWARE_RAM_WORDS - 1)) == 0;
localparam [0:0] JOBS_HOLD = JOB_QUEUE >= 2 && JOB_QUEUE <= 64 && (JOB_QUEUE & (JOB_QUEUE - 1)) == 0;
localparam [0:0] URGENT_HOLDS = !JOBS_HOLD
    || (URGENT_QUEUE >= 2 && URGENT_QUEUE <= JOB_QUEUE && (URGENT_QUEUE & (URGENT_QUEUE - 1)) == 0);
localparam [0:0] STREAM_HOLDS = TLP_BITS == 32 || TLP_BITS == 64 || TLP_BITS == 128;
