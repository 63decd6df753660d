// SPDX-License-Identifier: Apache-2.0
// Content with runs, by the public interface: what the GPU leaves out in the aperture is there when the allocation has
// left it, held against plain memory. Driver model 2; where the device has no page tables it is refused by name.
#include "ferry/runs.h"
#include "system.h"

#define PAGES     40u
#define BYTES     (PAGES * FERRY_PAGE_BYTES)
#define CONTENT   (BYTES - FERRY_PAGE_BYTES)
#define RUN_BYTES FERRY_RUN_BLOCK_BYTES

static int open_model2(struct ferry_adapter **adapter)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 2u << 20,
                                            .aperture_bytes = 100 * FERRY_PAGE_BYTES,
                                            .seed = seed,
                                            .model = 2};
    return ferry_adapter_open(&options, adapter);
}

static struct ferry_allocation *make_compressed(struct ferry_device *device)
{
    struct ferry_allocation_options options = {.size = sizeof options,
                                               .bytes = BYTES,
                                               .flags = FERRY_FLAG_CPU_VISIBLE,
                                               .in_aperture = true,
                                               .compressed = true};
    struct ferry_allocation *made = NULL;

    ok(ferry_allocation_create(device, &options, &made));
    return made;
}

// What is written, with its list; and what it means.
static void make_content_with_runs(uint8_t *written, uint8_t *meant)
{
    struct ferry_run_list *list = (struct ferry_run_list *)(void *)(written + CONTENT);
    uint32_t blocks = CONTENT / RUN_BYTES, at = 0;

    memset(written, 0, BYTES);
    for (uint32_t i = 0; i < CONTENT; i++)
        written[i] = meant[i] = content(7, i);
    list->magic = FERRY_RUNS_MAGIC;
    while (list->count < 60) {
        uint32_t first = at + content(8, at) % 7, count = 1 + content(9, at) % 40;

        if (first + count > blocks)
            break;
        uint64_t pattern = UINT64_C(0x0102030405060708) * (first + 1);
        list->runs[list->count++] = (struct ferry_run){first, count, pattern};
        for (uint32_t i = first * RUN_BYTES; i < (first + count) * RUN_BYTES; i += 8)
            memcpy(meant + i, &pattern, 8);
        at = first + count;
    }
    assert_true(list->count > 4);
}

static void R194_what_leaves_the_aperture_is_whole(void **state)
{
    (void)state;
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    uint8_t *written = malloc(BYTES), *meant = malloc(BYTES);
    void *address;
    uint64_t fence;

    ok(open_model2(&adapter));
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    make_content_with_runs(written, meant);
    struct ferry_allocation *source = make(device, BYTES, FERRY_FLAG_CPU_VISIBLE), *one = make_compressed(device);
    ok(ferry_lock(source, 0, &address));
    memcpy(address, written, BYTES);
    ok(ferry_unlock(source));
    must_be_resident(device, &source, 1);
    must_be_resident(device, &one, 1);
    ok(ferry_queue_copy(queue, one, 0, source, 0, BYTES));
    ok(ferry_queue_submit(queue, &fence));
    ok(ferry_queue_wait(queue, fence));
    // Others need the aperture.
    struct ferry_residency off = {.size = sizeof off, .allocations = &one, .count = 1};
    struct ferry_allocation *large = make_in_aperture(device, 99);
    ok(ferry_evict(device, &off));
    must_be_resident(device, &large, 1);
    ok(ferry_lock(one, FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 0; i < CONTENT; i++)
        assert_int_equal(((const uint8_t *)address)[i], meant[i]);
    assert_int_equal(((const struct ferry_run_list *)(const void *)((const uint8_t *)address + CONTENT))->magic, 0);
    ok(ferry_unlock(one));
    ferry_adapter_close(adapter);
    free(written);
    free(meant);
}

static void without_addresses_it_is_refused_by_name(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .model = 1};
    struct ferry_allocation_options wanted = {.size = sizeof wanted,
                                              .bytes = BYTES,
                                              .flags = FERRY_FLAG_CPU_VISIBLE,
                                              .in_aperture = true,
                                              .compressed = true};
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_allocation *made = NULL;

    ok(ferry_adapter_open(&options, &adapter));
    ok(ferry_device_create(adapter, &device));
    int error = ferry_allocation_create(device, &wanted, &made);
    assert_true(error == FERRY_ERROR_FLAGS || error == FERRY_ERROR_UNSUPPORTED);
    assert_null(made);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R194_what_leaves_the_aperture_is_whole),
        cmocka_unit_test(without_addresses_it_is_refused_by_name),
    };
    const struct CMUnitTest without[] = {
        cmocka_unit_test(without_addresses_it_is_refused_by_name),
    };
    struct ferry_adapter *adapter = NULL;

    read_options(argc, argv);
    bool has = open_model2(&adapter) == FERRY_OK;
    ferry_adapter_close(adapter);
    return has ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
}
