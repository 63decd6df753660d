// SPDX-License-Identifier: Apache-2.0
// A machine to test.
#include "machine_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void open_device(struct machine *machine, const struct ferry_gpu_options *options)
{
    assert_int_equal(ferry_gpu_open(machine->link, options, &machine->gpu), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(machine->gpu, RING_PAGING, 6, 7), FERRY_OK);
    assert_int_equal(ferry_gpu_ring_create(machine->gpu, RING_USER, 4, FERRY_GPU_RIGHT_SYSTEM), FERRY_OK);
    assert_int_equal(ferry_gpu_memory_allocate(machine->gpu, 4096, 0, &machine->buffer), FERRY_OK);
    assert_int_equal(ferry_gpu_memory_allocate(machine->gpu, 65536, 0, &machine->host), FERRY_OK);
    for (uint32_t n = 0; n < 65536; n++) {
        ((uint8_t *)machine->host.address)[n] = (uint8_t)(n * 13 + n / 253);
    }
}

void open_machine(struct machine *machine, const struct ferry_link_config *config,
                  const struct ferry_gpu_options *options)
{
    memset(machine, 0, sizeof(*machine));
    assert_int_equal(ferry_backend_sim.open(config, &machine->link), FERRY_OK);
    open_device(machine, options);
}

void close_machine(struct machine *machine)
{
    struct ferry_root_complex_counts counts;
    ferry_root_complex_counts(machine->link, &counts);
    assert_int_equal(counts.malformed, 0);
    assert_int_equal(counts.poisoned, 0);
    assert_int_equal(counts.unexpected, 0);
    ferry_gpu_memory_free(machine->gpu, &machine->buffer);
    ferry_gpu_memory_free(machine->gpu, &machine->host);
    ferry_gpu_close(machine->gpu);
}

int set_up(void **context)
{
    const struct ferry_link_config config = {.size = sizeof(config), .seed = 1};
    const struct ferry_gpu_options options = {
        .size = sizeof(options), .completion_timeout = 3000, .engine_timeout = 20000};
    struct machine *machine = malloc(sizeof(*machine));
    open_machine(machine, &config, &options);
    *context = machine;
    return 0;
}

int tear_down(void **context)
{
    close_machine(*context);
    free(*context);
    return 0;
}

uint32_t *packet(struct machine *machine, uint32_t opcode, uint32_t places, uint32_t words)
{
    uint32_t *at = (uint32_t *)machine->buffer.address + machine->words;
    memset(at, 0, 4 * words);
    at[0] = opcode | words << 16;
    at[1] = places;
    machine->words += words;
    return at;
}

void put64(uint32_t *at, uint64_t value)
{
    at[0] = (uint32_t)value;
    at[1] = (uint32_t)(value >> 32);
}

void copy(struct machine *machine, uint32_t source_kind, uint64_t source, uint32_t destination_kind,
          uint64_t destination, uint32_t bytes)
{
    uint32_t *at = packet(machine, FERRY_OPCODE_COPY, source_kind | destination_kind << 2, 8);
    at[2] = bytes;
    put64(at + 4, source);
    put64(at + 6, destination);
}

void fill(struct machine *machine, uint64_t destination, uint32_t bytes, uint32_t log2, uint64_t pattern)
{
    uint32_t *at = packet(machine, FERRY_OPCODE_FILL, FERRY_ADDRESS_KIND_LOCAL << 2 | log2 << 6, 8);
    at[2] = bytes;
    put64(at + 4, destination);
    put64(at + 6, pattern);
}

/// Submit what was recorded and wait; returns the entry's status.
uint32_t run(struct machine *machine, uint32_t ring)
{
    struct ferry_gpu_fence fence;
    uint32_t number;
    const struct ferry_gpu_entry entry = {machine->buffer.bus, 4 * machine->words, true, 0, false, ++machine->fence};
    machine->words = 0;
    assert_int_equal(ferry_gpu_ring_submit(machine->gpu, ring, &entry, &number), FERRY_OK);
    int error = ferry_gpu_wait_retired(machine->gpu, ring, number, 600000);
    if (error != FERRY_OK) {
        uint32_t status, code, argument;
        ferry_gpu_read32(machine->gpu, FERRY_BAR0_STATUS, &status);
        int state = ferry_gpu_firmware_state(machine->gpu, &code, &argument);
        print_message("no answer: STATUS 0x%x, firmware %d, halt %u %u\n", status, state, code, argument);
    }
    assert_int_equal(error, FERRY_OK);
    assert_int_equal(ferry_gpu_ring_completed(machine->gpu, ring, &fence), FERRY_OK);
    assert_int_equal(fence.value, machine->fence);
    return fence.status;
}

struct ferry_fault only_fault(struct machine *machine)
{
    struct ferry_fault fault = {.size = sizeof(fault)};
    struct ferry_fault none = {.size = sizeof(none)};
    bool found;
    assert_int_equal(ferry_gpu_next_fault(machine->gpu, &fault, &found), FERRY_OK);
    assert_true(found);
    assert_int_equal(ferry_gpu_next_fault(machine->gpu, &none, &found), FERRY_OK);
    assert_false(found);
    return fault;
}

uint8_t *host(struct machine *machine)
{
    return machine->host.address;
}

/// A job that must work, and proves that its bytes really moved.
void next_job_runs(struct machine *machine)
{
    copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, FERRY_ADDRESS_KIND_LOCAL, 0x7000, 256);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x7000, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus + 61440, 256);
    memset(host(machine) + 61440, 0, 256);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
    assert_memory_equal(host(machine) + 61440, host(machine), 256);
}
