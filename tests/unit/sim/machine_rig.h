// SPDX-License-Identifier: Apache-2.0
// What the tests of the machine share: real firmware on the Verilated device behind the root complex, with a buffer of
// packets under construction and 64 KiB of host memory.
#ifndef FERRY_TESTS_SIM_MACHINE_RIG_H
#define FERRY_TESTS_SIM_MACHINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "ferry_contract.h"
#include "link/root_complex.h"

#define RING_PAGING 0u
#define RING_USER   1u

struct machine {
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    struct ferry_gpu_memory buffer; // Packets.
    uint32_t words;
    struct ferry_gpu_memory host; // 64 KiB to copy from and to.
    uint64_t fence;
};

// The device behind the machine's link; then what stands in front of it.
void open_device(struct machine *machine, const struct ferry_gpu_options *options);
void open_machine(struct machine *machine, const struct ferry_link_config *config,
                  const struct ferry_gpu_options *options);
void close_machine(struct machine *machine);
int set_up(void **context);
int tear_down(void **context);
uint32_t *packet(struct machine *machine, uint32_t opcode, uint32_t places, uint32_t words);
void put64(uint32_t *at, uint64_t value);
void copy(struct machine *machine, uint32_t source_kind, uint64_t source, uint32_t destination_kind,
          uint64_t destination, uint32_t bytes);
void fill(struct machine *machine, uint64_t destination, uint32_t bytes, uint32_t log2, uint64_t pattern);
// Submit what was recorded and wait; returns the entry's status.
uint32_t run(struct machine *machine, uint32_t ring);
struct ferry_fault only_fault(struct machine *machine);
uint8_t *host(struct machine *machine);
// A job that must work, and proves that its bytes really moved.
void next_job_runs(struct machine *machine);

// Faults and resets: test_machine_faults.c.
void unmapped_bus_address_is_a_fault_with_its_address(void **context);
void a_refused_write_is_a_fault_of_its_entry_only(void **context);
void an_unreadable_buffer_is_a_fault_and_the_ring_goes_on(void **context);
void an_unreadable_entry_is_named_and_keeps_the_fence_value(void **context);
void lost_completion_is_a_timeout_fault(void **context);
void an_error_of_video_memory_is_a_fault(void **context);
void engine_reset_leaves_the_engine_usable(void **context);
void a_buffer_that_a_reset_cut_goes_on_at_the_packet_that_is_named(void **context);
void a_device_that_somebody_left_behind_is_taken_over(void **context);

#endif
