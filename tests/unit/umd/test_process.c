// SPDX-License-Identifier: Apache-2.0
// Programs of an adapter, with the test in the manager's place: who ends one waits without the adapter's lock.
#include "adapter_alone.h"
#include "umd/device.h"
#include "umd/events.h"
#include "umd/process.h"

static struct ferry_process *process;
static bool held;           // The lock, while the manager waited.
static bool closes;         // The adapter is closed meanwhile, and the process goes with it.
static int creation;        // Outcome of the manager's call.
static int outcome, second; // Of the manager's call; and of a second one about the same process meanwhile.
static bool changes;        // Other programs' coming and going, while this one is being made.
static void *program;       // As the manager has it.
static unsigned told;
static uint64_t told_budget;

static void budget_is(D3DKMT_HANDLE handle, uint64_t bytes)
{
    umd_on_vidmm_event(&adapter,
                       &(struct ferry_vidmm_event){
                           .kind = FERRY_VIDMM_EVENT_BUDGET, .process = handle, .program = program, .value = bytes});
}

static void on_budget(void *context, enum ferry_memory_group group, const struct ferry_memory_info *info)
{
    assert_ptr_equal(context, &told);
    assert_int_equal(group, FERRY_MEMORY_LOCAL);
    told++;
    told_budget = info->budget;
}

void ferry_gpu_observe(struct ferry_gpu *gpu, const struct ferry_link_observer *observer)
{
    (void)gpu;
    (void)observer;
}

int ferry_vidmm_create_process(struct ferry_vidmm *manager, const struct ferry_vidmm_process_options *options,
                               D3DKMT_HANDLE *handle)
{
    (void)manager;
    program = options->program;
    if (changes)
        budget_is(7, 100);
    *handle = 7;
    if (changes)
        budget_is(7, 200);
    return creation;
}

int ferry_vidmm_destroy_process(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    (void)manager;
    assert_int_equal(handle, 7);
    held = pthread_mutex_trylock(&adapter.lock) != 0;
    if (!held)
        pthread_mutex_unlock(&adapter.lock);
    if (!held && closes)
        umd_process_end(adapter.processes);
    else if (!held)
        second = ferry_process_destroy(process);
    return outcome;
}

int ferry_vidmm_set_weight(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint32_t weight)
{
    (void)manager;
    (void)handle;
    (void)weight;
    return FERRY_OK;
}

int ferry_vidmm_set_reservation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t bytes)
{
    (void)manager;
    (void)handle;
    (void)bytes;
    return FERRY_OK;
}

int ferry_vidmm_memory_info(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, unsigned group,
                            struct ferry_vidmm_memory_info *info)
{
    const uint64_t of = 10 * (group + 1);

    (void)manager;
    assert_int_equal(handle, 7);
    *info = (struct ferry_vidmm_memory_info){of, of + 1, of + 2, of + 3, of + 4, of + 5};
    return outcome;
}

int ferry_vidmm_process_statistics(struct ferry_vidmm *manager, D3DKMT_HANDLE handle,
                                   struct ferry_vidmm_process_statistics *statistics)
{
    (void)manager;
    assert_int_equal(handle, 7);
    *statistics = (struct ferry_vidmm_process_statistics){1, 2, 3, 4, 5, 6, 7, 8, 9};
    return outcome;
}

int umd_device_destroy(struct umd_call *call, struct umd_device *device)
{
    (void)call;
    (void)device;
    return FERRY_OK;
}

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    pthread_cond_init(&adapter.device_ended, NULL);
    adapter.handle = umd_handle_make(UMD_ADAPTER, &adapter, &adapter);
    held = closes = changes = false;
    told = 0;
    creation = outcome = second = FERRY_OK;
    assert_int_equal(ferry_process_create(adapter.handle, NULL, &process), FERRY_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_null(adapter.processes);
    umd_handle_end(adapter.handle);
    return 0;
}

static void who_ends_a_program_waits_without_the_lock(void **state)
{
    (void)state;
    // It could not be ended yet: it is there, as before.
    outcome = FERRY_ERROR_TIMEOUT;
    assert_int_equal(ferry_process_destroy(process), FERRY_ERROR_TIMEOUT);
    assert_false(held);
    assert_int_equal(second, FERRY_ERROR_HANDLE); // Somebody is at it.
    assert_int_equal(ferry_process_set_weight(process, 3), FERRY_OK);
    outcome = FERRY_OK;
    assert_int_equal(ferry_process_destroy(process), FERRY_OK);
    assert_false(held);
    assert_int_equal(ferry_process_destroy(process), FERRY_ERROR_HANDLE);
}

// From the moment on at which it is there, though the call that makes it has not come back; of its own coming it is not
// told. And not any more when it has gone.
static void a_program_is_told_of_its_budget_as_long_as_it_lives(void **state)
{
    struct ferry_process_options options = {.size = sizeof options, .callback = on_budget, .context = &told};
    struct ferry_process *other;

    (void)state;
    assert_int_equal(ferry_process_destroy(process), FERRY_OK);
    changes = true;
    assert_int_equal(ferry_process_create(adapter.handle, &options, &other), FERRY_OK);
    assert_int_equal(told, 1);
    assert_int_equal(told_budget, 200);
    budget_is(7, 300);
    assert_int_equal(told, 2);
    assert_int_equal(told_budget, 300);
    budget_is(8, 400);
    assert_int_equal(told, 2);
    process = other;
    assert_int_equal(ferry_process_destroy(other), FERRY_OK);
    budget_is(7, 500);
    program = NULL;
    budget_is(0, 600);
    assert_int_equal(told, 2);
}

static void a_program_that_goes_with_its_adapter_meanwhile_is_gone(void **state)
{
    (void)state;
    closes = true;
    outcome = FERRY_ERROR_HANDLE;
    assert_int_equal(ferry_process_destroy(process), FERRY_ERROR_HANDLE);
    assert_false(held);
}

// Each figure as it is called; none on an error.
static void each_figure_is_its_own(void **state)
{
    struct ferry_memory_info info = {.size = sizeof info};
    struct ferry_process_usage used = {.size = sizeof used};

    (void)state;
    for (unsigned group = FERRY_MEMORY_LOCAL; group <= FERRY_MEMORY_NON_LOCAL; group++) {
        assert_int_equal(ferry_process_memory(process, (enum ferry_memory_group)group, &info), FERRY_OK);
        const uint64_t told[] = {
            info.budget,       info.usage, info.in_place, info.reservation, info.available_for_reservation,
            info.bytes_to_trim};
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(told[i], 10 * (group + 1) + i);
    }
    assert_int_equal(ferry_process_statistics(process, &used), FERRY_OK);
    const uint64_t told[] = {used.jobs,         used.gpu_cycles,  used.last_job,
                             used.bytes_in,     used.bytes_out,   used.bytes_discarded,
                             used.bytes_filled, used.bytes_moved, used.evictions};
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(told[i], i + 1);
    outcome = FERRY_ERROR_CRITICAL;
    info.budget = used.jobs = 77;
    assert_int_equal(ferry_process_memory(process, FERRY_MEMORY_LOCAL, &info), FERRY_ERROR_CRITICAL);
    assert_int_equal(ferry_process_statistics(process, &used), FERRY_ERROR_CRITICAL);
    assert_int_equal(info.budget, 77);
    assert_int_equal(used.jobs, 77);
    outcome = FERRY_OK;
    assert_int_equal(ferry_process_destroy(process), FERRY_OK);
}

static uintptr_t place_of(const void *handle)
{
    return (uintptr_t)handle & 0xffffff;
}

// Its handle has a place in the table, which the next one gets.
static void a_program_that_does_not_come_keeps_no_handle(void **state)
{
    int object;
    struct ferry_process *other = NULL;

    (void)state;
    void *before = umd_handle_make(UMD_QUEUE, &object, &adapter);
    umd_handle_end(before);
    creation = FERRY_ERROR_NO_VIDEO_MEMORY;
    assert_int_equal(ferry_process_create(adapter.handle, NULL, &other), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_null(other);
    void *after = umd_handle_make(UMD_QUEUE, &object, &adapter);
    assert_int_equal(place_of(after), place_of(before));
    umd_handle_end(after);
    assert_int_equal(ferry_process_destroy(process), FERRY_OK);
}

// Others run out of what is reserved, and are not told to end a program.
static void only_model_2_runs_out_of_address_spaces(void **state)
{
    enum { PROGRAMS = FERRY_KMD_PROGRAM_SPACES - 1 };
    struct ferry_process *more[PROGRAMS], *other = NULL;

    (void)state;
    for (unsigned i = 1; i < PROGRAMS; i++)
        assert_int_equal(ferry_process_create(adapter.handle, NULL, &more[i]), FERRY_OK);
    creation = FERRY_ERROR_NO_VIDEO_MEMORY;
    for (unsigned model = 2; model > 0; model--) {
        adapter.model = model;
        assert_int_equal(ferry_process_create(adapter.handle, NULL, &other), FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(ferry_problem()[0] != 0, model == 2);
    }
    adapter.model = 0;
    for (unsigned i = 1; i < PROGRAMS; i++)
        umd_process_end(adapter.processes);
    umd_process_end(adapter.processes);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(who_ends_a_program_waits_without_the_lock),
                                       CASE(a_program_is_told_of_its_budget_as_long_as_it_lives),
                                       CASE(a_program_that_goes_with_its_adapter_meanwhile_is_gone),
                                       CASE(each_figure_is_its_own),
                                       CASE(a_program_that_does_not_come_keeps_no_handle),
                                       CASE(only_model_2_runs_out_of_address_spaces)};
    return cmocka_run_group_tests_name("umd_process", tests, NULL, NULL);
}
