// SPDX-License-Identifier: Apache-2.0
// Locks with DISCARD in driver model 2: each instance of an allocation has GPU virtual addresses of its own, and a job
// reaches the one that holds the content when it is submitted (R237 to R253; D3DDDICB_LOCK.GpuVirtualAddress).
#include "system.h"

#define KIB   1024u
#define MIB   (1024u * KIB)
#define BYTES (12 * KIB)
#define LARGE (128 * KIB)

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *source, *result, *large[2];
};

static int open_model2(uint64_t video_memory_bytes, struct ferry_adapter **adapter)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = video_memory_bytes,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory};

    return ferry_adapter_open(&options, adapter);
}

static struct machine begin(uint64_t results)
{
    struct machine m = {0};

    ok(open_model2(16 * MIB, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    m.source = make(m.device, BYTES, FERRY_FLAG_CPU_VISIBLE);
    m.result = make(m.device, results * BYTES, FERRY_FLAG_CPU_VISIBLE);
    for (int i = 0; i < 2; i++)
        m.large[i] = make(m.device, LARGE, 0);
    struct ferry_allocation *all[] = {m.source, m.result, m.large[0], m.large[1]};
    uint64_t fence;

    must_be_resident(m.device, all, 4);
    // Nothing is on its way any more.
    ok(ferry_queue_fill(m.queue, m.source, 0, BYTES, 0, 1));
    ok(ferry_queue_submit(m.queue, &fence));
    ok(ferry_queue_wait(m.queue, fence));
    return m;
}

// A job that works for long, and then reads the source into that slot of the result.
static uint64_t read_late(struct machine *m, uint32_t slot)
{
    uint64_t fence;

    ok(ferry_queue_copy(m->queue, m->large[1], 0, m->large[0], 0, LARGE));
    ok(ferry_queue_copy(m->queue, m->result, slot * BYTES, m->source, 0, BYTES));
    ok(ferry_queue_submit(m->queue, &fence));
    return fence;
}

static void discard(struct machine *m, uint32_t which)
{
    void *bytes;

    ok(ferry_lock(m->source, FERRY_LOCK_DISCARD | FERRY_LOCK_WRITE_ONLY, &bytes));
    for (uint32_t i = 0; i < BYTES; i++)
        ((uint8_t *)bytes)[i] = content(which, i);
    ok(ferry_unlock(m->source));
}

static void check_slots(struct machine *m, uint32_t count)
{
    uint8_t *bytes;

    ok(ferry_lock(m->result, FERRY_LOCK_READ_ONLY, (void **)&bytes));
    for (uint32_t slot = 0; slot < count; slot++)
        for (uint32_t i = 0; i < BYTES; i++)
            if (bytes[slot * BYTES + i] != content(slot, i))
                fail_msg("slot %u has another round's byte at %u", slot, i);
    ok(ferry_unlock(m->result));
}

static uint32_t instances(const struct machine *m)
{
    struct ferry_placement placement = {.size = sizeof placement};

    ok(ferry_allocation_placement(m->source, &placement));
    return placement.instances;
}

// Ranges that lead to the source; each is the whole of it.
static uint32_t ranges(const struct machine *m, uint64_t id)
{
    struct ferry_va_mapping mapping = {.size = sizeof mapping};
    uint32_t count = 0;

    for (uint64_t at = 0;; at = mapping.address + mapping.bytes) {
        ok(ferry_va_find(m->device, at, &mapping));
        if (mapping.bytes == 0)
            return count;
        if (mapping.allocation != id)
            continue;
        assert_true(mapping.bytes == BYTES && mapping.offset == 0 && !mapping.read_only);
        count++;
    }
}

static void each_instance_has_addresses_of_its_own(void **state)
{
    (void)state;
    const uint32_t rounds = 12;
    struct machine m = begin(rounds);
    struct ferry_statistics statistics = {.size = sizeof statistics};
    uint64_t id = ferry_allocation_id(m.source), fence = 0;
    uint32_t most = 0;

    for (uint32_t round = 0; round < rounds; round++) {
        discard(&m, round);
        fence = read_late(&m, round);
        assert_int_equal(ranges(&m, id), instances(&m));
        most = instances(&m) > most ? instances(&m) : most;
    }
    assert_true(most > 1);
    ok(ferry_queue_wait(m.queue, fence));
    check_slots(&m, rounds);
    ok(ferry_adapter_statistics(m.adapter, &statistics));
    assert_int_equal(statistics.unmapped_accesses, 0);
    ok(ferry_allocation_destroy(m.source));
    assert_int_equal(ranges(&m, id), 0);
    ferry_adapter_close(m.adapter);
}

// What is recorded names an allocation, no instance of it.
static void a_job_that_was_recorded_before_sees_what_is_there_when_it_is_submitted(void **state)
{
    (void)state;
    struct machine m = begin(3);
    uint64_t fence;

    discard(&m, 0);
    read_late(&m, 0);
    discard(&m, 1);
    assert_int_equal(instances(&m), 2);
    read_late(&m, 1);
    // Names the source by the address of one instance, and in the same buffer by that of the next.
    ok(ferry_queue_copy(m.queue, m.result, 2 * BYTES, m.source, 0, 1000));
    discard(&m, 2);
    assert_int_equal(instances(&m), 3);
    ok(ferry_queue_copy(m.queue, m.result, 2 * BYTES + 1000, m.source, 1000, BYTES - 1000));
    ok(ferry_queue_submit(m.queue, &fence));
    ok(ferry_queue_wait(m.queue, fence));
    check_slots(&m, 3);
    // And when nothing is recorded behind the lock.
    ok(ferry_queue_copy(m.queue, m.large[1], 0, m.large[0], 0, LARGE));
    ok(ferry_queue_copy(m.queue, m.large[1], 0, m.source, 0, BYTES));
    ok(ferry_queue_submit(m.queue, &fence));
    ok(ferry_queue_copy(m.queue, m.result, 0, m.source, 0, BYTES));
    discard(&m, 0);
    ok(ferry_queue_submit(m.queue, &fence));
    ok(ferry_queue_wait(m.queue, fence));
    check_slots(&m, 3);
    // And when more is named than was recorded.
    struct ferry_va late = {.size = sizeof late, .address = UINT64_C(5) << 32, .bytes = LARGE};
    discard(&m, 2);
    ok(ferry_queue_copy(m.queue, m.large[1], 0, m.large[0], 0, LARGE));
    ok(ferry_queue_copy(m.queue, m.large[1], 0, m.source, 0, BYTES));
    ok(ferry_queue_submit(m.queue, &fence));
    ok(ferry_queue_copy(m.queue, m.result, BYTES, m.source, 0, BYTES));
    ok(ferry_queue_fill_va(m.queue, late.address, 64, 0, 1));
    discard(&m, 1);
    ok(ferry_va_map(m.device, m.large[0], 0, false, &late));
    ok(ferry_queue_submit(m.queue, &fence));
    ok(ferry_queue_wait(m.queue, fence));
    check_slots(&m, 3);
    ferry_adapter_close(m.adapter);
}

static void what_a_program_has_mapped_is_one(void **state)
{
    (void)state;
    struct machine m = begin(2);
    struct ferry_va range = {.size = sizeof range, .address = MIB, .bytes = BYTES};
    uint64_t fence;

    discard(&m, 0);
    ok(ferry_va_map(m.device, m.source, 0, false, &range));
    read_late(&m, 0);
    discard(&m, 1);
    assert_int_equal(instances(&m), 1);
    fence = read_late(&m, 1);
    ok(ferry_queue_wait(m.queue, fence));
    check_slots(&m, 2);
    // Nor is one mapped that has instances.
    ok(ferry_va_free(m.device, range.address, BYTES));
    read_late(&m, 1);
    discard(&m, 1);
    assert_int_equal(instances(&m), 2);
    assert_int_equal(ferry_va_map(m.device, m.source, 0, false, &range), FERRY_ERROR_BUSY);
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instance_has_addresses_of_its_own),
        cmocka_unit_test(a_job_that_was_recorded_before_sees_what_is_there_when_it_is_submitted),
        cmocka_unit_test(what_a_program_has_mapped_is_one),
    };
    struct ferry_adapter *adapter = NULL;

    read_options(argc, argv);
    int error = open_model2(16 * MIB, &adapter);
    ferry_adapter_close(adapter);
    // Where there are no page tables nothing has such addresses: system_models says how that is refused.
    return error == FERRY_ERROR_UNSUPPORTED ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
