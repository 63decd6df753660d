// SPDX-License-Identifier: Apache-2.0
// What a user-mode driver does with residency: the D3D12 way, which trims nothing and undoes its batches, and the loop
// of the earlier ones down to its last attempt.
#include "system.h"

#define BATCH 10240u // what one call of the manager takes

static struct ferry_placement place_of(struct ferry_allocation *allocation)
{
    struct ferry_placement placement = {.size = sizeof placement};

    ok(ferry_allocation_placement(allocation, &placement));
    return placement;
}

static struct ferry_statistics statistics_of(struct ferry_adapter *adapter)
{
    struct ferry_statistics statistics = {.size = sizeof statistics};

    ok(ferry_adapter_statistics(adapter, &statistics));
    return statistics;
}

static void R231_R232_R233_R234_a_failing_call_leaves_everything_as_it_was(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a[5];
    struct ferry_placement before[5];

    for (uint32_t i = 0; i < 5; i++) {
        a[i] = make(b->device, 300000, VISIBLE);
        write_content(a[i], 300000, i);
    }
    must_be_resident(b->device, a, 3); // a[2] then lies there as nobody's
    evict(b->device, &a[2], 1);
    run_job(b->queue);
    for (uint32_t i = 0; i < 5; i++)
        before[i] = place_of(a[i]);
    struct ferry_statistics then = statistics_of(b->adapter);
    struct ferry_allocation *list[3] = {a[0], a[3], a[4]};
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = 3};
    residency.paging_fence_value = 77;
    assert_int_equal(ferry_make_resident(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(residency.bytes_to_trim > 0);
    assert_int_equal(residency.paging_fence_value, 0);
    struct ferry_statistics now = statistics_of(b->adapter);
    // The device's own list was not trimmed for it, nothing was brought in, nothing else moved.
    for (uint32_t i = 0; i < 5; i++) {
        struct ferry_placement after = place_of(a[i]);
        assert_memory_equal(&after, &before[i], sizeof after);
    }
    assert_int_equal(now.bytes_in, then.bytes_in);
    assert_int_equal(now.bytes_out, then.bytes_out);
    assert_int_equal(now.bytes_moved, then.bytes_moved);
    assert_int_equal(now.evictions, then.evictions);
    assert_int_equal(now.resident_bytes, then.resident_bytes);
    // And the device goes on.
    run_job(b->queue);
    must_be_resident(b->device, &a[2], 1);
    for (uint32_t i = 0; i < 5; i++)
        expect_content(a[i], 300000, i);
}

static void R235_R236_batches_before_a_failing_one_are_undone(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation **list = calloc(3 * BATCH, sizeof(struct ferry_allocation *));
    struct ferry_allocation *small[2] = {make(b->device, 4096, VISIBLE), make(b->device, 4096, VISIBLE)};
    struct ferry_allocation *huge = make(b->device, 2 << 20, VISIBLE), *locked = make(b->device, 4096, VISIBLE);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list};
    void *address;

    for (uint32_t i = 0; i < 3 * BATCH; i++)
        list[i] = small[i % 2];
    must_be_resident(b->device, small, 1);
    // One batch, exactly one, one and one more, three: each allocation as often as it stands in the list.
    static const size_t counts[] = {1, BATCH, BATCH + 1, 3 * BATCH};
    for (unsigned i = 0; i < 4; i++) {
        residency.count = counts[i];
        assert_true(ferry_make_resident(b->device, &residency) >= 0);
        assert_int_equal(place_of(small[0]).residency_count, (counts[i] + 1) / 2 + 1);
        assert_int_equal(place_of(small[1]).residency_count, counts[i] / 2);
        ok(ferry_evict(b->device, &residency));
        assert_int_equal(place_of(small[0]).residency_count, 1);
        assert_int_equal(place_of(small[1]).residency_count, 0);
    }
    // The error of the third batch, whichever it is, with nothing left of the other two.
    residency.count = 2 * BATCH + 2;
    list[2 * BATCH + 1] = huge;
    assert_int_equal(ferry_make_resident(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(residency.bytes_to_trim >= (1 << 20));
    assert_int_equal(place_of(small[0]).residency_count, 1);
    assert_int_equal(place_of(small[1]).residency_count, 0);
    must_be_resident(b->device, &locked, 1);
    evict(b->device, &locked, 1);
    ok(ferry_lock(locked, 0, &address)); // it left video memory for this
    list[2 * BATCH + 1] = locked;
    assert_int_equal(ferry_make_resident(b->device, &residency), FERRY_ERROR_LOCKED);
    assert_int_equal(residency.bytes_to_trim, 0);
    assert_int_equal(residency.paging_fence_value, 0);
    assert_int_equal(place_of(small[0]).residency_count, 1);
    assert_int_equal(place_of(small[1]).residency_count, 0);
    ok(ferry_unlock(locked));
    // The counts are the manager's and the driver's alike: one Evict is left, and no second one.
    evict(b->device, small, 1);
    residency.count = 1;
    assert_int_equal(ferry_evict(b->device, &residency), FERRY_ERROR_NOT_RESIDENT);
    free(list);
}

// The batches that went before are evicted as not written: what the GPU wrote under an older residency stays told.
static void R235_undoing_a_batch_loses_no_content(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation **list = calloc(BATCH + 1, sizeof(struct ferry_allocation *));
    struct ferry_allocation *a = make(b->device, 4096, VISIBLE | FERRY_FLAG_PERMANENT_SYSMEM);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = BATCH + 1};
    uint8_t *address;

    for (uint32_t i = 0; i < BATCH; i++)
        list[i] = a;
    list[BATCH] = make(b->device, 2 << 20, VISIBLE);
    must_be_resident(b->device, &a, 1);
    ok(ferry_queue_fill(b->queue, a, 0, 4096, 0x5A, 1));
    run_job(b->queue);
    evict(b->device, &a, 1);
    assert_int_equal(ferry_make_resident(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    struct ferry_allocation *whole = make(b->device, 1 << 20, VISIBLE);
    must_be_resident(b->device, &whole, 1); // a has to leave
    ok(ferry_lock(a, FERRY_LOCK_READ_ONLY, (void **)&address));
    assert_int_equal(address[0], 0x5A);
    ok(ferry_unlock(a));
    free(list);
}

static void R226_R227_the_last_attempt_is_made_with_what_the_operation_needs_alone(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a[3], *whole = make(b->device, 1 << 20, VISIBLE);
    struct ferry_allocation *more = make(b->device, (1 << 20) + 4096, VISIBLE);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &whole, .count = 1};

    for (uint32_t i = 0; i < 3; i++) {
        a[i] = make(b->device, 300000, VISIBLE);
        write_content(a[i], 300000, i);
        for (uint32_t n = 0; n <= i; n++)
            must_be_resident(b->device, &a[i], 1);
    }
    // It succeeds only when nothing else is required any more, and then it does.
    assert_true(ferry_make_resident_trim(b->device, &residency) >= 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(place_of(a[i]).residency_count, 0);
    assert_int_equal(place_of(whole).residency_count, 1);
    evict(b->device, &whole, 1);
    // What cannot succeed has given up all else before it fails, whole lists of it.
    must_be_resident(b->device, a, 3);
    struct ferry_allocation *list[2] = {a[1], more};
    residency.allocations = list;
    residency.count = 2;
    assert_int_equal(ferry_make_resident_trim(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(place_of(a[0]).residency_count, 0);
    assert_int_equal(place_of(a[1]).residency_count, 1); // needed here: not trimmed, and not raised
    assert_int_equal(place_of(a[2]).residency_count, 0);
    assert_int_equal(place_of(more).residency_count, 0);
    // It was not vital: the device is well.
    must_be_resident(b->device, a, 1);
    run_job(b->queue);
    for (uint32_t i = 0; i < 3; i++)
        expect_content(a[i], 300000, i);
}

static void R227_R228_R229_R230_the_last_attempt_of_what_is_vital_puts_the_device_in_error(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a = make(b->device, 300000, VISIBLE), *huge = make(b->device, 2 << 20, VISIBLE);
    struct ferry_residency residency = {
        .size = sizeof residency, .allocations = &huge, .count = 1, .must_succeed = true};
    struct ferry_device *other;
    struct ferry_queue *second, *elsewhere;
    uint64_t fence;

    ok(ferry_queue_create(b->device, &second));
    ok(ferry_device_create(b->adapter, &other));
    ok(ferry_queue_create(other, &elsewhere));
    must_be_resident(b->device, &a, 1);
    ok(ferry_queue_fill(b->queue, a, 0, 4096, 0x5A, 1));
    ok(ferry_queue_submit(b->queue, &fence));
    assert_int_equal(ferry_make_resident_trim(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(place_of(a).residency_count, 0);
    // What was submitted before ends; nothing is taken any more on any context, nor made resident.
    ok(ferry_queue_wait(b->queue, fence));
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_queue_submit(second, &fence), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(make_resident(b->device, &a, 1), FERRY_ERROR_DEVICE_LOST);
    run_job(elsewhere);
}

// The list has room only without what was used least recently, and then is refused for one that the CPU has.
static void what_a_lock_has_taken_out_is_put_back_when_it_was_trimmed_in_vain(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *trimmed = make(b->device, 400000, VISIBLE);
    struct ferry_allocation *list[2] = {make(b->device, 400000, VISIBLE), make(b->device, 400000, VISIBLE)};
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = 2};
    void *address;

    must_be_resident(b->device, &trimmed, 1);
    must_be_resident(b->device, &trimmed, 1);
    ok(ferry_lock(trimmed, FERRY_LOCK_WRITE_ONLY, &address));
    memset(address, 0x31, 400000);
    ok(ferry_lock(list[1], FERRY_LOCK_WRITE_ONLY, &address));
    memset(address, 0x32, 400000);
    assert_int_equal(ferry_make_resident_trim(b->device, &residency), FERRY_ERROR_LOCKED);
    assert_int_equal(place_of(trimmed).residency_count, 2);
    assert_int_equal(place_of(list[0]).residency_count, 0);
    ok(ferry_unlock(trimmed));
    ok(ferry_queue_fill(b->queue, trimmed, 0, 64, 0, 1));
    run_job(b->queue);
    evict(b->device, &trimmed, 1);
    evict(b->device, &trimmed, 1);
    ok(ferry_unlock(list[1]));
    must_be_resident(b->device, list, 2);
}

// On the hardware 17 MiB take more cycles than a wait lets pass without a word of the device: as long as they move,
// nothing hangs. In, with what the CPU wrote; over all of it by a job; and out.
static void what_moves_for_long_is_no_hang(void **state)
{
    enum { LARGE = 17 << 20 };
    struct ferry_fault fault = {.size = sizeof fault};
    struct ferry_device *device;
    struct ferry_queue *queue;
    bool found;

    (void)state;
    struct ferry_adapter *adapter = open_adapter(0);
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    struct ferry_allocation *large = make(device, LARGE, VISIBLE);
    write_content(large, LARGE, 5);
    must_be_resident(device, &large, 1);
    run_job(queue);
    expect_content(large, LARGE, 5);
    must_be_resident(device, &large, 1);
    ok(ferry_queue_fill(queue, large, 0, LARGE, 0x5a5a5a5a, 4));
    run_job(queue);
    ok(ferry_adapter_next_fault(adapter, &fault, &found));
    assert_false(found);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(R231_R232_R233_R234_a_failing_call_leaves_everything_as_it_was),
        CASE(R235_R236_batches_before_a_failing_one_are_undone),
        CASE(R235_undoing_a_batch_loses_no_content),
        CASE(what_a_lock_has_taken_out_is_put_back_when_it_was_trimmed_in_vain),
        cmocka_unit_test(what_moves_for_long_is_no_hang),
        CASE(R226_R227_the_last_attempt_is_made_with_what_the_operation_needs_alone),
        CASE(R227_R228_R229_R230_the_last_attempt_of_what_is_vital_puts_the_device_in_error),
    };

    read_options(argc, argv);
    const struct left_out left_out[] = {{"what_moves_for_long_is_no_hang", slow_link ? MOVES_MUCH : NULL}};
    return RUN_WHERE_POSSIBLE(tests, left_out);
}
