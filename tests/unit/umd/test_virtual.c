// SPDX-License-Identifier: Apache-2.0
// Addresses, with the test in the manager's place: what of a range, a batch and a mapping is passed on, in either
// direction, and which operation is to blame.
#include "adapter_alone.h"

static struct umd_device device;
static struct umd_allocation *allocation;
static struct umd_queue queue, other;
static struct ferry_vidmm_virtual asked; // As the manager was.
static struct ferry_vidmm_update updates[8];
static uint32_t update_count;
static D3DKMT_HANDLE behind;
static uint64_t behind_job;
static int outcome;
static bool at_once, held;

static void look_whether_held(void)
{
    held = pthread_mutex_trylock(&adapter.lock) != 0;
    if (!held)
        pthread_mutex_unlock(&adapter.lock);
}

static int take(struct ferry_vidmm_virtual *range)
{
    asked = *range;
    look_whether_held();
    range->address = 0x70000;
    range->table_bytes = 0x3000;
    return outcome;
}

int ferry_vidmm_reserve_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE of, struct ferry_vidmm_virtual *range)
{
    (void)manager;
    assert_int_equal(of, 9);
    return take(range);
}

int ferry_vidmm_protect_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE of, struct ferry_vidmm_virtual *range)
{
    return ferry_vidmm_reserve_virtual(manager, of, range);
}

int ferry_vidmm_map_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE of, D3DKMT_HANDLE mapped, uint64_t offset,
                            bool read_only, struct ferry_vidmm_virtual *range)
{
    assert_int_equal(mapped, 5);
    assert_int_equal(offset, 4096);
    assert_true(read_only);
    return ferry_vidmm_reserve_virtual(manager, of, range);
}

int ferry_vidmm_free_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE of, uint64_t address, uint64_t bytes)
{
    (void)manager;
    assert_int_equal(of, 9);
    assert_int_equal(address, 1);
    assert_int_equal(bytes, 2);
    return outcome;
}

int ferry_vidmm_update_virtual_behind(struct ferry_vidmm *manager, D3DKMT_HANDLE context, D3DKMT_HANDLE another,
                                      uint64_t job, const struct ferry_vidmm_update *operations, uint32_t count,
                                      struct ferry_vidmm_updated *result)
{
    (void)manager;
    assert_int_equal(context, 6);
    assert_true(count <= 8);
    memcpy(updates, operations, count * sizeof *operations);
    update_count = count;
    behind = another;
    behind_job = job;
    look_whether_held();
    *result = (struct ferry_vidmm_updated){.failed = 1, .table_bytes = 0x5000};
    return outcome;
}

int ferry_vidmm_update_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                               const struct ferry_vidmm_update *operations, uint32_t count,
                               struct ferry_vidmm_updated *result)
{
    at_once = false;
    return ferry_vidmm_update_virtual_behind(manager, context, 0, 0, operations, count, result);
}

int ferry_vidmm_update_virtual_at_once(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                                       const struct ferry_vidmm_update *operations, uint32_t count,
                                       struct ferry_vidmm_updated *result)
{
    int error = ferry_vidmm_update_virtual(manager, context, operations, count, result);
    at_once = true;
    return error;
}

int ferry_vidmm_find_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE of, uint64_t address,
                             struct ferry_vidmm_mapping *mapping)
{
    (void)manager;
    assert_int_equal(of, 9);
    *mapping = (struct ferry_vidmm_mapping){.address = address + 1, .bytes = 2, .allocation = 3, .offset = 4};
    mapping->read_only = address == 10;
    mapping->zeros = address == 20;
    mapping->allocation = address == 20 ? 0 : 3;
    return outcome;
}

// Walks are looked at where there are tables (tests/system).
int ferry_vidmm_root_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE of, DXGK_SEGMENTOFFSET *root)
{
    (void)manager;
    (void)of;
    (void)root;
    return FERRY_ERROR_UNSUPPORTED;
}

int ferry_vidmm_read_table(struct ferry_vidmm *manager, uint64_t bus_address, uint8_t entry[8])
{
    (void)manager;
    (void)bus_address;
    (void)entry;
    return FERRY_ERROR_RANGE;
}

int ferry_gpu_window_read(struct ferry_gpu *gpu, uint64_t offset, void *data, size_t bytes)
{
    (void)gpu;
    (void)offset;
    (void)data;
    (void)bytes;
    return FERRY_ERROR_RANGE;
}

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    device = (struct umd_device){.adapter = &adapter, .vidmm = 9};
    queue = (struct umd_queue){.device = &device, .context = 6};
    other = (struct umd_queue){.device = &device, .context = 7};
    allocation = calloc(1, sizeof *allocation);
    allocation->vidmm = 5;
    device.handle = umd_handle_make(UMD_DEVICE, &device, &adapter);
    queue.handle = umd_handle_make(UMD_QUEUE, &queue, &adapter);
    other.handle = umd_handle_make(UMD_QUEUE, &other, &adapter);
    allocation->handle = umd_handle_make(UMD_ALLOCATION, allocation, &adapter);
    outcome = FERRY_OK;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    umd_handle_end(allocation->handle);
    umd_handle_end(other.handle);
    umd_handle_end(queue.handle);
    umd_handle_end(device.handle);
    free(allocation);
    return 0;
}

static int call(unsigned which, struct ferry_va *range)
{
    return which == 0   ? ferry_va_reserve(device.handle, range)
           : which == 1 ? ferry_va_protect(device.handle, range)
                        : ferry_va_map(device.handle, allocation->handle, 4096, true, range);
}

// Where it is, is told when it is there; how much of page tables is missing, always.
static void a_range_is_asked_for_and_told(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 3; which++) {
        for (unsigned bad = 0; bad < 2; bad++) {
            struct ferry_va range = {.size = sizeof range,
                                     .address = 1,
                                     .least = 2,
                                     .most = 3,
                                     .bytes = 4,
                                     .replace = true,
                                     .reservation = FERRY_VA_ZERO};

            outcome = bad ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK;
            assert_int_equal(call(which, &range), outcome);
            assert_int_equal(asked.size, sizeof asked);
            assert_int_equal(asked.address, 1);
            assert_int_equal(asked.least, 2);
            assert_int_equal(asked.most, 3);
            assert_int_equal(asked.bytes, 4);
            assert_true(asked.replace);
            assert_int_equal(asked.reservation, FERRY_VIDMM_ZERO);
            assert_int_equal(range.address, which == 1 || bad ? 1 : 0x70000);
            assert_int_equal(range.table_bytes, 0x3000);
            // Only what has to wait for what is there lets others in.
            assert_int_equal(held, which < 2);
            range.replace = false;
            assert_int_equal(call(which, &range), outcome);
            assert_true(held);
            range.size--;
            assert_int_equal(call(which, &range), FERRY_ERROR_ARGUMENT);
        }
    }
    outcome = FERRY_ERROR_BUSY;
    assert_int_equal(ferry_va_free(device.handle, 1, 2), FERRY_ERROR_BUSY);
    struct ferry_va range = {.size = sizeof range};
    assert_int_equal(ferry_va_map(device.handle, (struct ferry_allocation *)queue.handle, 0, false, &range),
                     FERRY_ERROR_HANDLE);
}

static void a_batch_is_passed_on_as_it_is(void **state)
{
    struct ferry_va_operation operations[] = {
        {.kind = FERRY_VA_MAP, .read_only = true, .address = 1, .bytes = 2, .offset = 3, .repeat_bytes = 4},
        {.kind = FERRY_VA_MAP_PROTECT, .read_only = true},
        {.kind = FERRY_VA_MAP_PROTECT},
        {.kind = FERRY_VA_UNMAP},
        {.kind = FERRY_VA_COPY, .source = 5}};
    struct ferry_va_batch batch = {.size = sizeof batch,
                                   .operation_size = sizeof operations[0],
                                   .operations = operations,
                                   .count = 5,
                                   .failed = 77,
                                   .table_bytes = 78};

    (void)state;
    operations[0].allocation = operations[1].allocation = operations[2].allocation = allocation->handle;
    assert_int_equal(ferry_va_update(queue.handle, &batch), FERRY_OK);
    assert_false(at_once);
    assert_false(held);
    assert_int_equal(update_count, 5);
    assert_int_equal(updates[0].address, 1);
    assert_int_equal(updates[0].bytes, 2);
    assert_int_equal(updates[0].offset, 3);
    assert_int_equal(updates[0].repeat, 4);
    assert_int_equal(updates[4].source, 5);
    static const enum ferry_vidmm_update_kind kinds[] = {FERRY_VIDMM_MAP, FERRY_VIDMM_MAP, FERRY_VIDMM_MAP,
                                                         FERRY_VIDMM_UNMAP, FERRY_VIDMM_COPY};
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(updates[i].kind, kinds[i]);
        assert_int_equal(updates[i].allocation, i < 3 ? 5 : 0);
        assert_int_equal(updates[i].read_only, i == 1);
    }
    batch.do_not_wait = true;
    assert_int_equal(ferry_va_update(queue.handle, &batch), FERRY_OK);
    assert_true(at_once);
    batch.do_not_wait = false;
    batch.behind_queue = other.handle;
    batch.behind_job = 8;
    outcome = FERRY_ERROR_NO_VIDEO_MEMORY;
    assert_int_equal(ferry_va_update(queue.handle, &batch), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(behind, 7);
    assert_int_equal(behind_job, 8);
    assert_int_equal(batch.failed, 1);
    assert_int_equal(batch.table_bytes, 0x5000);
}

// The operation is, or none of them: then it is the number behind the last. Nothing is told of tables that were not
// asked for.
static void who_is_to_blame_is_told(void **state)
{
    struct ferry_va_operation operations[3] = {
        {.kind = FERRY_VA_UNMAP}, {.kind = FERRY_VA_UNMAP}, {.kind = FERRY_VA_UNMAP}};
    const struct ferry_va_batch good = {.size = sizeof good,
                                        .operation_size = sizeof operations[0],
                                        .operations = operations,
                                        .count = 3,
                                        .failed = 77,
                                        .table_bytes = 78};
    struct ferry_va_batch bad[5] = {good, good, good, good, good};

    (void)state;
    update_count = 0;
    bad[0].operation_size--;
    bad[1].operations = NULL;
    bad[2].behind_queue = other.handle;
    bad[2].do_not_wait = true;
    bad[3].behind_queue = (struct ferry_queue *)device.handle;
    for (unsigned i = 0; i < 5; i++) {
        const bool is_operation = i == 4;

        if (is_operation)
            operations[1].kind = (enum ferry_va_operation_kind)4;
        assert_int_equal(ferry_va_update(queue.handle, &bad[i]), i == 3 ? FERRY_ERROR_HANDLE : FERRY_ERROR_ARGUMENT);
        assert_int_equal(bad[i].failed, is_operation ? 1 : 3);
        assert_int_equal(bad[i].table_bytes, 0);
    }
    operations[1] = (struct ferry_va_operation){.kind = FERRY_VA_MAP, .allocation = NULL};
    bad[4] = good;
    assert_int_equal(ferry_va_update(queue.handle, &bad[4]), FERRY_ERROR_HANDLE);
    assert_int_equal(bad[4].failed, 1);
    bad[4] = good;
    bad[4].count = 0;
    assert_int_equal(ferry_va_update((struct ferry_queue *)device.handle, &bad[4]), FERRY_ERROR_HANDLE);
    assert_int_equal(bad[4].failed, 0);
    assert_int_equal(update_count, 0);
}

static void a_mapping_is_told_with_all_that_it_has(void **state)
{
    struct ferry_va_mapping found = {.size = sizeof found};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ferry_va_find(device.handle, 10 * i, &found), FERRY_OK);
        assert_int_equal(found.address, 10 * i + 1);
        assert_int_equal(found.bytes, 2);
        assert_int_equal(found.mapped, i < 2);
        assert_int_equal(found.read_only, i == 1);
        assert_int_equal(found.allocation, i < 2 ? 3 : 0);
        assert_int_equal(found.offset, 4);
        assert_int_equal(found.zeros, i == 2);
    }
    outcome = FERRY_ERROR_DEVICE_LOST;
    found.bytes = 99;
    assert_int_equal(ferry_va_find(device.handle, 0, &found), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(found.bytes, 99);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_range_is_asked_for_and_told),
        CASE(a_batch_is_passed_on_as_it_is),
        CASE(who_is_to_blame_is_told),
        CASE(a_mapping_is_told_with_all_that_it_has),
    };

    return cmocka_run_group_tests_name("umd_virtual", tests, NULL, NULL);
}
