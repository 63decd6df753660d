// SPDX-License-Identifier: Apache-2.0
// Content paged by addresses of the paging process, by the public interface: on the real miniport and device, whose
// page-table unit walks the entries that are written for each chunk.
#include "adapter_inside.h"
#include "system.h"

#include "umd/objects.h"

#define PAGES 60u
#define BYTES (PAGES * FERRY_PAGE_BYTES)
#define MANY  8u

static int open_paging(struct ferry_adapter **adapter, uint32_t paging, uint32_t model, bool iommu)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 256 * FERRY_PAGE_BYTES,
                                            .seed = seed,
                                            .model = model,
                                            .iommu = iommu,
                                            .paging = paging,
                                            .tables =
                                                paging == FERRY_PAGING_VIRTUAL ? table_memory : FERRY_TABLES_VIDEO};
    return ferry_adapter_open(&options, adapter);
}

static struct ferry_device *begin(struct ferry_adapter *adapter)
{
    struct ferry_device *device = NULL;
    ok(ferry_device_create(adapter, &device));
    return device;
}

static struct ferry_statistics figures(struct ferry_adapter *adapter)
{
    struct ferry_statistics statistics = {.size = sizeof statistics};
    ok(ferry_adapter_statistics(adapter, &statistics));
    return statistics;
}

enum { TRANSFER = 0, FILL = 1, VIRTUAL_TRANSFER = 8, VIRTUAL_FILL = 9, UPDATE_PAGE_TABLE = 11, FLUSH_TLB = 12 };

// Twice as much as there is room for: each comes in, is changed by the GPU and leaves, again and again.
static void play(struct ferry_adapter *adapter, unsigned rounds)
{
    struct ferry_device *device = begin(adapter);
    struct ferry_allocation *list[MANY], *copy = make(device, FERRY_PAGE_BYTES, FERRY_FLAG_CPU_VISIBLE);
    struct ferry_queue *queue = NULL;
    uint64_t fence;

    ok(ferry_queue_create(device, &queue));
    for (unsigned i = 0; i < MANY; i++) {
        list[i] = make(device, BYTES, FERRY_FLAG_CPU_VISIBLE);
        write_content(list[i], BYTES, i);
    }
    must_be_resident(device, &copy, 1);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            must_be_resident(device, &list[i], 1);
            ok(ferry_queue_copy(queue, copy, 0, list[i], 0, FERRY_PAGE_BYTES));
            ok(ferry_queue_fill(queue, list[i], 0, FERRY_PAGE_BYTES, 0xA5A5A5A5, 4));
            ok(ferry_queue_copy(queue, list[i], 0, copy, 0, FERRY_PAGE_BYTES));
            ok(ferry_queue_submit(queue, &fence));
            ok(ferry_queue_wait(queue, fence));
            evict(device, &list[i], 1);
        }
    }
    for (unsigned i = 0; i < MANY; i++)
        expect_content(list[i], BYTES, i);
    ok(ferry_device_destroy(device));
}

static void R212_content_goes_in_and_out_by_address(void **state)
{
    (void)state;
    for (unsigned iommu = 0; iommu < 2; iommu++) {
        struct ferry_adapter *adapter = NULL;
        struct ferry_adapter_info info = {.size = sizeof info};

        ok(open_paging(&adapter, FERRY_PAGING_VIRTUAL, 0, iommu != 0));
        ok(ferry_adapter_query(adapter, &info));
        assert_int_equal(info.model, 2);
        play(adapter, on_model() ? 3 : rounds(2, 3));
        struct ferry_statistics statistics = figures(adapter);
        assert_int_equal(statistics.operations[TRANSFER] + statistics.operations[FILL], 0);
        // 64 pages of addresses: two chunks of 32 each way.
        assert_true(statistics.operations[VIRTUAL_TRANSFER] >= 4 * MANY && statistics.operations[VIRTUAL_FILL] > 0);
        assert_true(statistics.operations[UPDATE_PAGE_TABLE] >= 3 * statistics.operations[VIRTUAL_TRANSFER]);
        assert_true(statistics.operations[FLUSH_TLB] >= statistics.operations[VIRTUAL_TRANSFER]);
        assert_int_equal(statistics.faults, 0);
        assert_int_equal(statistics.unmapped_accesses, 0);
        ferry_adapter_close(adapter);
    }
}

static void it_is_asked_for(void **state)
{
    (void)state;
    struct ferry_adapter *adapter = NULL;

    assert_int_equal(open_paging(&adapter, FERRY_PAGING_VIRTUAL, 1, false), FERRY_ERROR_ARGUMENT);
    assert_int_equal(open_paging(&adapter, FERRY_PAGING_VIRTUAL + 1, 2, false), FERRY_ERROR_ARGUMENT);
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .model = 1};
    options.tables = FERRY_TABLES_SYSTEM;
    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_ARGUMENT);
    options.model = 2;
    options.tables = FERRY_TABLES_SYSTEM + 1;
    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_ARGUMENT);
    assert_null(adapter);
    for (uint32_t model = 1; model <= 2; model++) {
        ok(open_paging(&adapter, FERRY_PAGING_PHYSICAL, model, false));
        play(adapter, on_model() ? 3 : rounds(1, 3));
        struct ferry_statistics statistics = figures(adapter);
        assert_true(statistics.operations[TRANSFER] > 0 && statistics.operations[FILL] > 0);
        assert_int_equal(statistics.operations[VIRTUAL_TRANSFER] + statistics.operations[VIRTUAL_FILL], 0);
        ferry_adapter_close(adapter);
    }
}

// A page-out and a page-in of several chunks, and the engine is reset after so many thousand cycles of them; on the
// model, where a turn is a buffer, after so many turns.
static bool reset_after(unsigned turns)
{
    struct ferry_adapter *handle = NULL;
    ok(open_paging(&handle, FERRY_PAGING_VIRTUAL, 0, turns % 2));
    struct umd_adapter *adapter = adapter_inside(handle);
    struct ferry_device *device = begin(handle);
    struct ferry_allocation *list[3];
    uint64_t reached = 0;

    for (unsigned i = 0; i < 3; i++) {
        list[i] = make(device, 2 * BYTES, FERRY_FLAG_CPU_VISIBLE);
        write_content(list[i], 2 * BYTES, i);
    }
    must_be_resident(device, list, 2);
    evict(device, list, 2);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &list[2], .count = 1};
    assert_int_equal(ferry_make_resident(device, &residency), FERRY_PENDING);
    for (unsigned i = 0; i < turns; i++) {
        (void)ferry_gpu_run(adapter->gpu, 4000);
        (void)ferry_vidmm_poll(adapter->vidmm, on_model());
    }
    ok(ferry_device_paging_reached(device, &reached));
    bool busy = reached < residency.paging_fence_value;
    ok(ferry_adapter_reset_engine(handle));
    for (unsigned i = 0; i < 3; i++)
        expect_content(list[i], 2 * BYTES, i);
    ok(ferry_device_destroy(device));
    ferry_adapter_close(handle);
    return busy;
}

static void a_reset_in_the_middle_costs_no_content(void **state)
{
    (void)state;
    const unsigned step = on_model() ? 1 : rounds(7, 3);
    unsigned resets = 0, quiet = 0;
    // At 23 the buffer that is cut off retires while the miniport waits for that.
    for (unsigned turns = on_model() ? 0 : 2; turns < 100 && quiet < 2; turns += step) {
        bool busy = reset_after(turns);
        resets += busy;
        quiet = busy ? 0 : quiet + 1;
    }
    print_message("%u resets in the middle of paging\n", resets);
    assert_true(resets > 5 && quiet == 2);
}

#define IMAGES      9u
#define IMAGE_PAGES 8u // as many as the paging process has addresses for twice

// The same with images, which are rows for the CPU and tiles where they are: three come in, and three have to leave.
static bool reset_among_images(unsigned turns)
{
    const struct ferry_tiling tiling = {
        .size = sizeof tiling, .tile_bytes = 4096, .element_bytes = 4, .width = 128, .height = 64, .levels = 1};
    const uint64_t bytes = IMAGE_PAGES * FERRY_PAGE_BYTES;
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 64 * FERRY_PAGE_BYTES,
                                            .seed = seed,
                                            .model = 2,
                                            .paging = FERRY_PAGING_VIRTUAL,
                                            .tables = table_memory};
    struct ferry_allocation_options wanted = {
        .size = sizeof wanted, .bytes = bytes, .flags = FERRY_FLAG_CPU_VISIBLE, .tiling = &tiling};
    struct ferry_adapter *handle = NULL;
    struct ferry_allocation *list[IMAGES];
    uint64_t reached = 0;

    ok(ferry_adapter_open(&options, &handle));
    struct umd_adapter *adapter = adapter_inside(handle);
    struct ferry_device *device = begin(handle);
    assert_int_equal(ferry_tiling_bytes(&tiling), bytes);
    for (unsigned i = 0; i < IMAGES; i++) {
        ok(ferry_allocation_create(device, &wanted, &list[i]));
        write_content(list[i], bytes, i);
    }
    must_be_resident(device, list, 6);
    evict(device, list, 6);
    uint64_t before = figures(handle).operations[VIRTUAL_TRANSFER];
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &list[6], .count = 3};
    assert_int_equal(ferry_make_resident(device, &residency), FERRY_PENDING);
    for (unsigned i = 0; i < turns; i++) {
        (void)ferry_gpu_run(adapter->gpu, 4000);
        (void)ferry_vidmm_poll(adapter->vidmm, on_model());
    }
    ok(ferry_device_paging_reached(device, &reached));
    bool busy = reached < residency.paging_fence_value;
    ok(ferry_adapter_reset_engine(handle));
    for (unsigned i = 0; i < IMAGES; i++)
        expect_content(list[i], bytes, i);
    struct ferry_statistics statistics = figures(handle);
    assert_true(statistics.operations[VIRTUAL_TRANSFER] > before + 3);
    assert_int_equal(statistics.operations[TRANSFER], 0);
    ok(ferry_device_destroy(device));
    ferry_adapter_close(handle);
    return busy;
}

static void a_reset_in_the_middle_costs_no_image(void **state)
{
    (void)state;
    const unsigned step = on_model() ? 1 : rounds(15, 4);
    unsigned resets = 0, quiet = 0;
    for (unsigned turns = on_model() ? 0 : 1; turns < 200 && quiet < 2; turns += step) {
        bool busy = reset_among_images(turns);
        resets += busy;
        quiet = busy ? 0 : quiet + 1;
    }
    print_message("%u resets in the middle of paging\n", resets);
    assert_true(resets > 3 && quiet == 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R212_content_goes_in_and_out_by_address),
        cmocka_unit_test(it_is_asked_for),
        cmocka_unit_test(a_reset_in_the_middle_costs_no_content),
        cmocka_unit_test(a_reset_in_the_middle_costs_no_image),
    };
    const struct left_out left_out[] = {{"a_reset_in_the_middle_costs_no_content", DEVICE_CLOCK},
                                        {"a_reset_in_the_middle_costs_no_image", DEVICE_CLOCK}};

    read_options(argc, argv);
    return RUN_WHERE_POSSIBLE(tests, left_out);
}
