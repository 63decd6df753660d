// SPDX-License-Identifier: Apache-2.0
// An adapter, with the test in the place of link, device, miniport and manager: what of its options each of them is
// given, what it refuses before any of them is asked, and that each figure it tells is the one that it is called.
#include "below_adapter.h"

static struct ferry_adapter_options usual(void)
{
    return (struct ferry_adapter_options){.size = sizeof(struct ferry_adapter_options)};
}

static struct ferry_adapter *open_usual(void)
{
    struct ferry_adapter_options options = usual();
    struct ferry_adapter *made;

    assert_int_equal(ferry_adapter_open(&options, &made), FERRY_OK);
    return made;
}

static int setup(void **state)
{
    (void)state;
    adapter_begin(); // It is not the one that is opened.
    opened = stopped = closed = asked_ways = 0;
    link_outcome = gpu_outcome = manager_outcome = FERRY_OK;
    device_outcome = STATUS_SUCCESS;
    statistics_outcome = counters_outcome = FERRY_OK;
    page_tables = false;
    return 0;
}

static void what_is_asked_for_is_passed_on(void **state)
{
    struct ferry_adapter_options options = usual();
    struct ferry_adapter *made;

    (void)state;
    options.backend = "other:at an address";
    options.video_memory_bytes = 5 << 12;
    options.aperture_bytes = 6 << 12;
    options.table_bytes = 7 << 12;
    options.paging_buffer_bytes = FERRY_KMD_LEAST_PAGING_BUFFER;
    options.read_latency_cycles = 21;
    options.link_latency_cycles = 22;
    options.random_stall_percent = 90;
    options.seed = 23;
    options.wave_file = "waves";
    options.firmware_file = "another";
    assert_int_equal(ferry_adapter_open(&options, &made), FERRY_OK);
    assert_string_equal(backend, "other:at an address");
    assert_int_equal(linked.read_latency_cycles, 21);
    assert_int_equal(linked.link_latency_cycles, 22);
    assert_int_equal(linked.random_stall_percent, 90);
    assert_int_equal(linked.seed, 23);
    assert_string_equal(linked.wave_file, "waves");
    assert_string_equal(firmware, "another");
    assert_int_equal(started.memory_limit_bytes, 5 << 12);
    assert_int_equal(started.aperture_limit_bytes, 6 << 12);
    assert_int_equal(started.table_bytes, 7 << 12);
    assert_int_equal(started.paging_buffer_bytes, FERRY_KMD_LEAST_PAGING_BUFFER);
    // Tables are of driver model 2.
    struct ferry_adapter_info info = {.size = sizeof info};
    assert_int_equal(ferry_adapter_query(made, &info), FERRY_OK);
    assert_int_equal(info.model, 2);
    assert_string_equal(info.backend, "other");
    ferry_adapter_close(made);
    assert_int_equal(stopped, 1);
}

static void who_does_not_say_gets_what_the_device_has(void **state)
{
    struct ferry_adapter_info info = {.size = sizeof info};

    (void)state;
    for (unsigned tables = 0; tables < 2; tables++) {
        page_tables = tables;
        struct ferry_adapter *made = open_usual();
        assert_int_equal(ferry_adapter_query(made, &info), FERRY_OK);
        assert_int_equal(info.model, 1 + tables);
        ferry_adapter_close(made);
    }
    struct ferry_adapter_options options = usual();
    struct ferry_adapter *made;
    options.iommu = true;
    options.paging = FERRY_PAGING_VIRTUAL;
    options.tables = FERRY_TABLES_SYSTEM;
    assert_int_equal(ferry_adapter_open(&options, &made), FERRY_OK);
    assert_int_equal(asked_ways, FERRY_KMD_IOMMU | FERRY_KMD_BY_ADDRESS | FERRY_KMD_HOST_TABLES);
    ferry_adapter_close(made);
}

// Nothing is opened, and there is no adapter.
static void what_can_never_be_is_refused_at_once(void **state)
{
    struct ferry_adapter *made;
    struct ferry_adapter_options bad[12];

    (void)state;
    for (unsigned i = 0; i < 12; i++)
        bad[i] = usual();
    bad[0].size--;
    bad[1].video_memory_bytes = 4095;
    bad[2].aperture_bytes = 4097;
    bad[3].table_bytes = 2048;
    bad[4].random_stall_percent = 91;
    bad[5].model = 3;
    bad[6].paging = FERRY_PAGING_VIRTUAL + 1;
    bad[7].tables = FERRY_TABLES_SYSTEM + 1;
    bad[8].paging_buffer_bytes = FERRY_KMD_LEAST_PAGING_BUFFER - 1;
    bad[9].model = bad[10].model = bad[11].model = 1;
    bad[9].iommu = true;
    bad[10].tables = FERRY_TABLES_SYSTEM;
    bad[11].table_bytes = 4096;
    for (unsigned i = 0; i < 12; i++)
        assert_int_equal(ferry_adapter_open(&bad[i], &made), FERRY_ERROR_ARGUMENT);
    assert_int_equal(opened, 0);
    struct ferry_adapter_options options = usual();
    assert_int_equal(ferry_adapter_open(&options, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_adapter_open(NULL, &made), FERRY_ERROR_ARGUMENT);
    assert_int_equal(opened, 0);
}

// Whatever is in the way: its own error, no adapter, and a link that nobody has is closed.
static void what_does_not_open_is_no_adapter(void **state)
{
    static const struct {
        int link, gpu, manager;
        NTSTATUS device;
        int error;
        unsigned closed;
    } ways[] = {{.link = FERRY_ERROR_IN_USE, .error = FERRY_ERROR_IN_USE},
                {.gpu = FERRY_ERROR_CONTRACT, .error = FERRY_ERROR_CONTRACT, .closed = 1},
                {.device = STATUS_NOT_SUPPORTED, .error = FERRY_ERROR_UNSUPPORTED},
                {.device = STATUS_NO_MEMORY, .error = FERRY_ERROR_NO_HOST_MEMORY},
                {.manager = FERRY_ERROR_NO_VIDEO_MEMORY, .error = FERRY_ERROR_NO_VIDEO_MEMORY}};

    (void)state;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct ferry_adapter_options options = usual();
        struct ferry_adapter *made = (struct ferry_adapter *)&budget;

        closed = 0;
        link_outcome = ways[i].link;
        gpu_outcome = ways[i].gpu;
        device_outcome = ways[i].device;
        manager_outcome = ways[i].manager;
        assert_int_equal(ferry_adapter_open(&options, &made), ways[i].error);
        assert_null(made);
        assert_int_equal(closed, ways[i].closed);
    }
}

static void each_number_of_a_device_is_its_own(void **state)
{
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_adapter *made = open_usual();

    (void)state;
    assert_int_equal(ferry_adapter_query(made, &info), FERRY_OK);
    assert_string_equal(info.backend, "first"); // What nothing means.
    assert_int_equal(info.contract_version, 11);
    assert_int_equal(info.firmware_version, 12);
    assert_int_equal(info.rings, 13);
    assert_int_equal(info.tags, 14);
    assert_int_equal(info.command_slots, 15);
    assert_int_equal(info.command_slot_bytes, 16);
    assert_int_equal(info.local_bytes, 17);
    assert_int_equal(info.video_memory_bytes, 1 + 4); // Of all such segments.
    assert_int_equal(info.aperture_bytes, 2);
    assert_string_equal(info.link, "a cable");
    assert_string_equal(info.device, "a board");
    ferry_adapter_close(made);
}

static void each_figure_is_its_own(void **state)
{
    struct ferry_statistics told = {.size = sizeof told};
    struct ferry_adapter *made = open_usual();

    (void)state;
    statistics = (struct ferry_vidmm_statistics){.bytes_in = 1,
                                                 .bytes_out = 2,
                                                 .bytes_discarded = 3,
                                                 .bytes_filled = 4,
                                                 .bytes_moved = 5,
                                                 .evictions = 6,
                                                 .paging_buffers = 7,
                                                 .busy_answers = 8,
                                                 .resident_bytes = 9,
                                                 .budget_bytes = 10,
                                                 .dummy_page_writes = 11,
                                                 .uncached_reads = 12,
                                                 .renames = 13,
                                                 .discard_stalls = 14,
                                                 .renamed_bytes = 15};
    for (unsigned i = 0; i < FERRY_OPERATIONS; i++)
        statistics.operations[i] = 100 + i;
    // The figures come also when the manager has stopped.
    for (unsigned critical = 0; critical < 2; critical++) {
        told = (struct ferry_statistics){.size = sizeof told};
        statistics_outcome = critical ? FERRY_ERROR_CRITICAL : FERRY_OK;
        assert_int_equal(ferry_adapter_statistics(made, &told), statistics_outcome);
        const uint64_t found[] = {told.bytes_in,       told.bytes_out,      told.bytes_discarded,   told.bytes_filled,
                                  told.bytes_moved,    told.evictions,      told.paging_buffers,    told.busy_retries,
                                  told.resident_bytes, told.budget_bytes,   told.dummy_page_writes, told.uncached_reads,
                                  told.renames,        told.discard_stalls, told.renamed_bytes};
        for (unsigned i = 0; i < sizeof found / sizeof *found; i++)
            assert_int_equal(found[i], i + 1);
        for (unsigned i = 0; i < FERRY_OPERATIONS; i++)
            assert_int_equal(told.operations[i], 100 + i);
        assert_int_equal(told.faults, 88);
        assert_int_equal(told.cycles, 99);
    }
    counters_outcome = FERRY_ERROR_TIMEOUT;
    assert_int_equal(ferry_adapter_statistics(made, &told), FERRY_ERROR_TIMEOUT);
    told.size++;
    assert_int_equal(ferry_adapter_statistics(made, &told), FERRY_ERROR_ARGUMENT);
    ferry_adapter_close(made);
}

static void what_is_ordered_comes_to_whom_it_is_for(void **state)
{
    struct ferry_flip flip = {.size = sizeof flip, .out = true, .number = 31, .offset = 32};
    struct ferry_fault fault = {.size = sizeof fault};
    struct ferry_adapter *made = open_usual();
    bool found;
    int fd = 7;

    (void)state;
    assert_int_equal(ferry_adapter_flip(made, &flip), FERRY_OK);
    assert_true(flips_out);
    assert_int_equal(flip_number, 31);
    assert_int_equal(flip_offset, 32);
    flip.out = false;
    assert_int_equal(ferry_adapter_flip(made, &flip), FERRY_OK);
    assert_false(flips_out);
    for (unsigned i = 0; i < 2; i++) {
        is_flipped = has_fault = i;
        assert_int_equal(ferry_adapter_flipped(made, &found), FERRY_OK);
        assert_int_equal(found, i);
        // As often as it is asked, without its size being set again.
        assert_int_equal(ferry_adapter_next_fault(made, &fault, &found), FERRY_OK);
        assert_int_equal(found, i);
    }
    assert_int_equal(ferry_adapter_set_budget(made, 33), FERRY_ERROR_CRITICAL);
    assert_int_equal(budget, 33);
    assert_int_equal(ferry_adapter_reset_engine(made), FERRY_ERROR_TIMEOUT);
    assert_int_equal(ferry_adapter_event_fd(made, &fd), FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(fd, -1);
    ferry_adapter_close(made);
    fd = 7;
    assert_int_equal(ferry_adapter_event_fd(made, &fd), FERRY_ERROR_HANDLE);
    assert_int_equal(fd, -1);
    assert_int_equal(ferry_adapter_query(made, &(struct ferry_adapter_info){.size = sizeof(struct ferry_adapter_info)}),
                     FERRY_ERROR_HANDLE);
}

// Whoever waits for a device that is gone hears so; anything else that comes to nothing is a time-out to the manager.
static void the_manager_hears_why_nothing_comes(void **state)
{
    static const int outcomes[][2] = {{FERRY_OK, FERRY_OK},
                                      {FERRY_ERROR_DEVICE_LOST, FERRY_ERROR_DEVICE_LOST},
                                      {FERRY_ERROR_TIMEOUT, FERRY_ERROR_TIMEOUT},
                                      {FERRY_ERROR_FIRMWARE, FERRY_ERROR_TIMEOUT}};
    struct ferry_adapter *made = open_usual();
    uint8_t bytes[3] = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        progress_outcome = outcomes[i][0];
        assert_int_equal(started.platform.wait_for_progress(started.platform.context), outcomes[i][1]);
    }
    assert_int_equal(started.platform.cpu_read(started.platform.context, 5, bytes, 3), FERRY_ERROR_RANGE);
    assert_int_equal(bytes[2], 5);
    assert_int_equal(started.platform.cpu_write(started.platform.context, 5, bytes, 3), 3);
    ferry_adapter_close(made);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        CASE(what_is_asked_for_is_passed_on),          CASE(who_does_not_say_gets_what_the_device_has),
        CASE(what_can_never_be_is_refused_at_once),    CASE(what_does_not_open_is_no_adapter),
        CASE(each_number_of_a_device_is_its_own),      CASE(each_figure_is_its_own),
        CASE(what_is_ordered_comes_to_whom_it_is_for), CASE(the_manager_hears_why_nothing_comes),
    };

    return cmocka_run_group_tests_name("umd_adapter", tests, NULL, NULL);
}
