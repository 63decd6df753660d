// SPDX-License-Identifier: Apache-2.0
// The machine from the device layer down: real firmware on the Verilated device behind the root complex. Every expected
// byte is computed here with memcpy and memset.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed.h"
#include "device/host_pages.h"
#include "machine_rig.h"

static void identity_and_registers(void **context)
{
    struct machine *machine = *context;
    struct ferry_gpu_info info;
    uint32_t value;
    ferry_gpu_query(machine->gpu, &info);
    assert_int_equal(info.contract_version, 0x60000);
    assert_int_equal(info.firmware_version >> 16, 6);
    assert_int_equal(info.rings, 5);
    assert_int_equal(info.local_bytes, 1u << 26);
    assert_int_equal(ferry_gpu_write32(machine->gpu, FERRY_BAR0_SCRATCH, 0x12345678), FERRY_OK);
    assert_int_equal(ferry_gpu_read32(machine->gpu, FERRY_BAR0_SCRATCH, &value), FERRY_OK);
    assert_int_equal(value, 0x12345678);
}

static void window_reaches_video_memory(void **context)
{
    struct machine *machine = *context;
    uint8_t back[1000];
    assert_int_equal(ferry_gpu_window_write(machine->gpu, 0x12345, host(machine), 1000), FERRY_OK);
    assert_int_equal(ferry_gpu_window_read(machine->gpu, 0x12345, back, 1000), FERRY_OK);
    assert_memory_equal(back, host(machine), 1000);
}

static void copy_in_and_out(void **context)
{
    struct machine *machine = *context;
    uint8_t *bytes = host(machine);
    copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus + 3, FERRY_ADDRESS_KIND_LOCAL, 0x100005, 20001);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x100005, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus + 32769, 20001);
    uint8_t *before = malloc(65536);
    memcpy(before, bytes, 65536);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
    memcpy(before + 32769, before + 3, 20001);
    assert_memory_equal(bytes, before, 65536);
    free(before);
}

static void fill_patterns_and_neighbours(void **context)
{
    struct machine *machine = *context;
    uint8_t back[64], expect[64];
    for (uint32_t log2 = 0; log2 < 4; log2++) {
        fill(machine, 0x200000, 64, 3, 0x1122334455667788);
        fill(machine, 0x200003, 29, log2, 0xa8a7a6a5a4a3a2a1);
        assert_int_equal(run(machine, RING_USER), FERRY_BUFFER_STATUS_SUCCESS);
        assert_int_equal(ferry_gpu_window_read(machine->gpu, 0x200000, back, 64), FERRY_OK);
        for (uint32_t n = 0; n < 64; n++) {
            expect[n] = (uint8_t)(0x88 - 0x11 * (n % 8));
        }
        for (uint32_t n = 0; n < 29; n++) {
            expect[3 + n] = (uint8_t)(0xa1 + n % (1u << log2));
        }
        assert_memory_equal(back, expect, 64);
    }
}

static void scattered_pages_both_ways(void **context)
{
    struct machine *machine = *context;
    struct ferry_host_pages *pages;
    MDL *in, *out;
    enum { PAGES = 40, OFFSET = 100, BYTES = PAGES * 4096 - 300 };
    assert_int_equal(ferry_host_pages_create(machine->gpu, &pages), FERRY_OK);
    const struct ferry_page_source *source = ferry_host_pages_source(pages);
    assert_int_equal(source->allocate(source->context, PAGES, 0, &in), FERRY_OK);
    assert_int_equal(source->allocate(source->context, PAGES, 0, &out), FERRY_OK);
    uint8_t *from = in->MappedSystemVa;
    uint8_t *to = out->MappedSystemVa;
    for (uint32_t n = 0; n < PAGES * 4096; n++) {
        from[n] = (uint8_t)(n * 31 + n / 509);
    }
    for (int way = 0; way < 2; way++) {
        const MDL *mdl = way == 0 ? in : out;
        const uint32_t kinds = way == 0 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_SYSTEM << 2;
        uint32_t *at =
            packet(machine, FERRY_OPCODE_COPY_PAGES,
                   kinds | (way == 0 ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_DESTINATION) << 4, 6 + 2 * PAGES);
        at[2] = BYTES;
        at[3] = OFFSET;
        put64(at + 4, 0x400000);
        for (uint32_t n = 0; n < PAGES; n++) {
            put64(at + 6 + 2 * n, mdl->Pfn[n] << 12);
        }
        assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
    }
    assert_memory_equal(to + OFFSET, from + OFFSET, BYTES);
    for (uint32_t n = 0; n < OFFSET; n++) {
        assert_int_equal(to[n], 0);
    }
    for (uint32_t n = OFFSET + BYTES; n < PAGES * 4096; n++) {
        assert_int_equal(to[n], 0);
    }
    ferry_host_pages_destroy(pages);
}

static void aperture_leads_jobs_to_host_pages_and_the_cpu_nowhere(void **context)
{
    struct machine *machine = *context;
    const uint64_t window = 64u << 20; // The upper half of BAR2.
    const uint32_t unsupported = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_TLP_UNSUPPORTED;
    uint8_t *bytes = host(machine);
    uint8_t back[8];
    uint32_t before, after;
    // Aperture pages 5, 6, 7 are host pages 2, 0, 1.
    const uint32_t order[3] = {2, 0, 1};
    uint32_t *at = packet(machine, FERRY_OPCODE_MAP_APERTURE, 1u << 8, 10);
    at[2] = 5;
    at[3] = 3;
    for (uint32_t n = 0; n < 3; n++) {
        put64(at + 4 + 2 * n, machine->host.bus + 4096 * order[n]);
    }
    fill(machine, 0x9000, 1000, 0, 0x5a);
    copy(machine, FERRY_ADDRESS_KIND_LOCAL, 0x9000, FERRY_ADDRESS_KIND_APERTURE, 6 * 4096 - 500, 1000);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
    for (uint32_t n = 0; n < 500; n++) {
        assert_int_equal(bytes[3 * 4096 - 500 + n], 0x5a);
        assert_int_equal(bytes[n], 0x5a);
    }
    // The CPU has those pages; through BAR2 it gets nowhere, and the device says so.
    assert_int_equal(ferry_gpu_read32(machine->gpu, unsupported, &before), FERRY_OK);
    memset(bytes + 2 * 4096, 0x11, 4096);
    assert_int_equal(ferry_gpu_window_read(machine->gpu, window + 5 * 4096, back, 8), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_gpu_window_write(machine->gpu, window + 5 * 4096, "12345678", 8), FERRY_OK);
    assert_int_equal(ferry_gpu_run(machine->gpu, 2000), FERRY_OK);
    for (uint32_t n = 0; n < 4096; n++) {
        assert_int_equal(bytes[2 * 4096 + n], 0x11);
    }
    assert_int_equal(ferry_gpu_read32(machine->gpu, unsupported, &after), FERRY_OK);
    assert_int_equal(after - before, 2);
    copy(machine, FERRY_ADDRESS_KIND_APERTURE, 4096, FERRY_ADDRESS_KIND_LOCAL, 0, 64); // Never mapped.
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_FAULTED);
    const struct ferry_fault fault = only_fault(machine);
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_APERTURE_INVALID);
    assert_int_equal(fault.address, 4096);
    assert_int_equal(fault.address_kind, FERRY_ADDRESS_KIND_APERTURE);
    next_job_runs(machine);
}

static void registers_are_written_while_pages_come_in(void **context)
{
    (void)context;
    // Video memory that is never in the way, so that the link is.
    const struct ferry_link_config config = {
        .size = sizeof(config), .read_latency_cycles = 20, .in_order_completions = true};
    struct machine machine;
    uint64_t longest = 0;
    open_machine(&machine, &config, NULL);
    uint32_t number;
    for (uint32_t n = 0; n < 24; n++) {
        uint32_t *at =
            packet(&machine, FERRY_OPCODE_COPY_PAGES, FERRY_ADDRESS_KIND_SYSTEM | FERRY_LIST_SIDE_SOURCE << 4, 38);
        at[0] |= 1u << 8; // Unordered: reads of one packet follow those of another.
        at[2] = 65536;
        put64(at + 4, 0x400000);
        for (uint32_t page = 0; page < 16; page++) {
            put64(at + 6 + 2 * page, machine.host.bus + 4096 * (page * 5 % 16));
        }
    }
    const struct ferry_gpu_entry entry = {machine.buffer.bus, 4 * machine.words, true, 0, false, ++machine.fence};
    assert_int_equal(ferry_gpu_ring_submit(machine.gpu, RING_PAGING, &entry, &number), FERRY_OK);
    assert_int_equal(ferry_gpu_run(machine.gpu, 10000), FERRY_OK);
    // The device keeps the link full of answers to its reads, and the host's writes go between them.
    for (uint32_t n = 0; n < 10; n++) {
        uint32_t value;
        const uint64_t begin = ferry_gpu_cycles(machine.gpu);
        assert_int_equal(ferry_gpu_write32(machine.gpu, FERRY_BAR0_SCRATCH, n), FERRY_OK);
        assert_int_equal(ferry_gpu_read32(machine.gpu, FERRY_BAR0_SCRATCH, &value), FERRY_OK);
        assert_int_equal(value, n);
        const uint64_t took = ferry_gpu_cycles(machine.gpu) - begin;
        longest = took > longest ? took : longest;
    }
    assert_in_range(longest, 1, 10000);
    assert_int_equal(ferry_gpu_wait_retired(machine.gpu, RING_PAGING, number, 0), FERRY_OK);
    machine.words = 0;
    close_machine(&machine);
}

static void another_host_contract_is_refused(void **context)
{
    (void)context;
    const struct ferry_link_config config = {.size = sizeof(config)};
    const struct ferry_gpu_options options = {.size = sizeof(options), .host_contract = 0x10000};
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    assert_int_equal(ferry_backend_sim.open(&config, &link), FERRY_OK);
    assert_int_equal(ferry_gpu_open(link, &options, &gpu), FERRY_ERROR_CONTRACT);
    link->operations->close(link);
}

static void copies_survive(bool smallest_credits)
{
    const uint64_t seed = seed_given(5);
    uint64_t drawn = seed;
    struct ferry_link_config config = {.size = sizeof(config), .seed = seed, .random_stall_percent = 25};
    config.smallest_credits = smallest_credits;
    config.link_latency_cycles = smallest_credits ? 10 : 0;
    struct machine machine;
    uint8_t *expect = malloc(65536);
    config.max_payload_bytes = seed % 2 ? 128 : 256;
    config.max_read_bytes = 128u << seed % 3;
    config.completion_boundary = seed % 5 ? 64 : 128;
    open_machine(&machine, &config, NULL);
    memcpy(expect, host(&machine), 65536);
    for (int round = 0; round < 12; round++) {
        const uint32_t from = (uint32_t)draw_below(&drawn, 20000);
        const uint32_t to = 40000 + (uint32_t)draw_below(&drawn, 10000);
        const uint32_t local = (uint32_t)draw_below(&drawn, 100000);
        const uint32_t bytes = (uint32_t)draw_below(&drawn, 8000);
        copy(&machine, FERRY_ADDRESS_KIND_SYSTEM, machine.host.bus + from, FERRY_ADDRESS_KIND_LOCAL, local, bytes);
        copy(&machine, FERRY_ADDRESS_KIND_LOCAL, local, FERRY_ADDRESS_KIND_SYSTEM, machine.host.bus + to, bytes);
        memcpy(expect + to, expect + from, bytes);
        assert_int_equal(run(&machine, round % 2 ? RING_USER : RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
        assert_memory_equal(host(&machine), expect, 65536);
    }
    free(expect);
    close_machine(&machine);
}

static void copies_survive_stalls_on_every_handshake(void **context)
{
    (void)context;
    copies_survive(false);
}

static void copies_survive_a_host_that_takes_one_packet_of_each_kind(void **context)
{
    (void)context;
    copies_survive(true);
}

static uint64_t spans[8], last_end[8];
static uint32_t most_reads;
static bool spans_overlap; // Nothing is asserted inside a call-back: that would leave the gpu's mutex locked.

static void on_span(void *context, enum ferry_track track, uint64_t begin, uint64_t end)
{
    (void)context;
    spans_overlap = spans_overlap || begin >= end || begin < last_end[track];
    last_end[track] = end;
    spans[track]++;
}

static void on_value(void *context, enum ferry_event_kind what, uint64_t time, uint32_t value)
{
    (void)context;
    (void)time;
    if (what == FERRY_EVENT_READS_OUTSTANDING)
        most_reads = value > most_reads ? value : most_reads;
}

static void activity_is_reported(void **context)
{
    struct machine *machine = *context;
    const struct ferry_link_observer observer = {NULL, on_span, on_value};
    ferry_gpu_observe(machine->gpu, &observer);
    copy(machine, FERRY_ADDRESS_KIND_SYSTEM, machine->host.bus, FERRY_ADDRESS_KIND_LOCAL, 0, 65536);
    assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
    ferry_gpu_observe(machine->gpu, NULL);
    assert_true(spans[FERRY_TRACK_FIRMWARE] >= 1);
    assert_true(spans[FERRY_TRACK_READ_CHANNEL] >= 1);
    assert_true(spans[FERRY_TRACK_WRITE_CHANNEL] >= 1);
    assert_false(spans_overlap);
    assert_in_range(most_reads, 4, 32);
}

static void a_wave_file_is_written(void **context)
{
    (void)context;
    const char *name = "build/tests/machine.fst";
    const struct ferry_link_config config = {.size = sizeof(config), .wave_file = name};
    struct ferry_link *link = NULL;
    assert_int_equal(ferry_backend_sim.open(&config, &link), FERRY_OK);
    link->operations->close(link);
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    assert_true(ftell(file) > 1000);
    fclose(file);
    remove(name);
    const struct ferry_link_config bad = {.size = sizeof(bad), .wave_file = "Makefile/machine.fst"};
    assert_int_equal(ferry_backend_sim.open(&bad, &link), FERRY_ERROR_BACKEND);
}

static void speed(void **context)
{
    struct machine *machine = *context;
    struct ferry_link_counts before, after;
    struct ferry_statistics statistics = {.size = sizeof(statistics)};
    ferry_gpu_link_counts(machine->gpu, &before);
    const uint64_t start = ferry_gpu_cycles(machine->gpu);
    for (int round = 0; round < 4; round++) {
        for (int n = 0; n < 16; n++) {
            copy(machine, n & 1, n & 1 ? machine->host.bus : 0, ~n & 1, n & 1 ? 0 : machine->host.bus, 65536);
        }
        assert_int_equal(run(machine, RING_PAGING), FERRY_BUFFER_STATUS_SUCCESS);
    }
    ferry_gpu_link_counts(machine->gpu, &after);
    const double cycles = (double)(ferry_gpu_cycles(machine->gpu) - start);
    assert_int_equal(ferry_gpu_counters(machine->gpu, &statistics), FERRY_OK);
    print_message("%.0f kHz under load, %.2f bytes moved a cycle\n",
                  cycles / 1000 / (after.run_seconds - before.run_seconds), 64 * 65536.0 / cycles);
    assert_int_equal(statistics.engine_jobs, 64);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(identity_and_registers),
        CASE(window_reaches_video_memory),
        CASE(copy_in_and_out),
        CASE(fill_patterns_and_neighbours),
        CASE(unmapped_bus_address_is_a_fault_with_its_address),
        CASE(a_refused_write_is_a_fault_of_its_entry_only),
        CASE(an_unreadable_buffer_is_a_fault_and_the_ring_goes_on),
        CASE(scattered_pages_both_ways),
        CASE(registers_are_written_while_pages_come_in),
        CASE(aperture_leads_jobs_to_host_pages_and_the_cpu_nowhere),
        CASE(an_unreadable_entry_is_named_and_keeps_the_fence_value),
        CASE(lost_completion_is_a_timeout_fault),
        CASE(an_error_of_video_memory_is_a_fault),
        CASE(engine_reset_leaves_the_engine_usable),
        CASE(a_buffer_that_a_reset_cut_goes_on_at_the_packet_that_is_named),
        CASE(a_device_that_somebody_left_behind_is_taken_over),
        cmocka_unit_test(another_host_contract_is_refused),
        cmocka_unit_test(copies_survive_stalls_on_every_handshake),
        cmocka_unit_test(copies_survive_a_host_that_takes_one_packet_of_each_kind),
        CASE(activity_is_reported),
        cmocka_unit_test(a_wave_file_is_written),
        CASE(speed),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
