// SPDX-License-Identifier: Apache-2.0
// The thread rule of device.h under the thread sanitizer: submitters, waiters, an allocator and a register reader at
// once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "device/device.h"
#include "device/host_pages.h"
#include "fake_link.h"

#define ROUNDS 300

struct shared {
    struct ferry_gpu *gpu;
    struct ferry_host_pages *pages;
    atomic_uint wrong; // Threads must not assert.
    atomic_uint interrupts;
};

struct worker {
    struct shared *shared;
    uint32_t ring;
};

static void *submit_and_wait(void *context)
{
    const struct worker *worker = context;
    struct ferry_gpu *gpu = worker->shared->gpu;
    for (uint32_t n = 0; n < ROUNDS; n++) {
        const struct ferry_gpu_entry entry = {.interrupt = true, .fence_value = n + 1};
        struct ferry_gpu_fence fence;
        uint32_t number;
        if (ferry_gpu_ring_submit(gpu, worker->ring, &entry, &number) != FERRY_OK ||
            ferry_gpu_wait_retired(gpu, worker->ring, number, 0) != FERRY_OK ||
            ferry_gpu_ring_completed(gpu, worker->ring, &fence) != FERRY_OK || fence.value != n + 1) {
            worker->shared->wrong++;
        }
    }
    return NULL;
}

static void *allocate_and_free(void *context)
{
    struct shared *shared = context;
    const struct ferry_page_source *source = ferry_host_pages_source(shared->pages);
    for (uint32_t n = 0; n < ROUNDS; n++) {
        MDL *mdl[2] = {NULL, NULL};
        shared->wrong += source->allocate(source->context, 1 + n % 20, 0, &mdl[0]) != FERRY_OK;
        shared->wrong += source->allocate(source->context, 1 + n % 7, FERRY_PAGES_CONSECUTIVE, &mdl[1]) != FERRY_OK;
        source->free(source->context, mdl[0]);
        source->free(source->context, mdl[1]);
    }
    return NULL;
}

static void *look(void *context)
{
    struct shared *shared = context;
    struct ferry_statistics statistics = {.size = sizeof(statistics)};
    for (uint32_t n = 0; n < ROUNDS; n++) {
        uint32_t value;
        struct ferry_host_pages_totals totals;
        shared->wrong += ferry_gpu_read32(shared->gpu, 0, &value) != FERRY_OK;
        shared->wrong += ferry_gpu_counters(shared->gpu, &statistics) != FERRY_OK;
        ferry_host_pages_totals(shared->pages, &totals);
    }
    return NULL;
}

static void on_interrupt(void *context, uint32_t causes)
{
    struct shared *shared = context;
    uint32_t value;
    // A call into the layer from the handler must not lock up.
    shared->wrong += causes == 0 || ferry_gpu_read32(shared->gpu, 0, &value) != FERRY_OK;
    shared->interrupts++;
}

static void every_call_may_come_from_any_thread(void **context)
{
    (void)context;
    bool closed = false;
    struct shared shared = {0};
    struct fake_link *fake = fake_link_create(&closed);
    pthread_t threads[5];
    struct worker workers[3];
    assert_int_equal(ferry_gpu_open(&fake->link, NULL, &shared.gpu), FERRY_OK);
    assert_int_equal(ferry_host_pages_create(shared.gpu, &shared.pages), FERRY_OK);
    ferry_gpu_set_interrupt(shared.gpu, on_interrupt, &shared);
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(ferry_gpu_ring_create(shared.gpu, n, 2, 0), FERRY_OK);
        workers[n] = (struct worker){&shared, n};
        assert_int_equal(pthread_create(&threads[n], NULL, submit_and_wait, &workers[n]), 0);
    }
    assert_int_equal(pthread_create(&threads[3], NULL, allocate_and_free, &shared), 0);
    assert_int_equal(pthread_create(&threads[4], NULL, look, &shared), 0);
    for (int n = 0; n < 5; n++) {
        assert_int_equal(pthread_join(threads[n], NULL), 0);
    }
    assert_int_equal(shared.wrong, 0);
    assert_true(shared.interrupts > 0);
    ferry_host_pages_destroy(shared.pages);
    ferry_gpu_close(shared.gpu);
    assert_true(closed);
}

static void *wait_for_long(void *context)
{
    struct shared *shared = context;
    for (uint32_t n = 0; n < ROUNDS / 10; n++) {
        shared->wrong += ferry_gpu_wait_after(shared->gpu, UINT64_MAX, 0) != FERRY_OK;
    }
    return NULL;
}

// Both look whether words move while the other runs the device.
static void two_may_wait_for_what_takes_long(void **context)
{
    (void)context;
    bool closed = false;
    struct shared shared = {0};
    struct fake_link *fake = fake_link_create(&closed);
    pthread_t threads[2];
    assert_int_equal(ferry_gpu_open(&fake->link, NULL, &shared.gpu), FERRY_OK);
    fake->moving = FERRY_BAR0_COUNTER_LOCAL_READ_BEATS;
    for (int n = 0; n < 2; n++) {
        assert_int_equal(pthread_create(&threads[n], NULL, wait_for_long, &shared), 0);
    }
    for (int n = 0; n < 2; n++) {
        assert_int_equal(pthread_join(threads[n], NULL), 0);
    }
    assert_int_equal(shared.wrong, 0);
    ferry_gpu_close(shared.gpu);
    assert_true(closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_may_come_from_any_thread),
        cmocka_unit_test(two_may_wait_for_what_takes_long),
    };
    return cmocka_run_group_tests_name("device_threads", tests, NULL, NULL);
}
