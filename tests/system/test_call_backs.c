// SPDX-License-Identifier: Apache-2.0
// Call-backs that call the library: every call of an adapter is refused by name, at once, and does nothing.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "system.h"

#define BYTES 300000u

// What a call-back tries, and what it got. It must return, so what it finds is judged behind it.
struct tries {
    struct bench *bench;
    struct ferry_process *process;
    struct ferry_device *device;
    struct ferry_allocation *allocation;
    struct ferry_queue *queue;
    unsigned times, calls, jobs;
    char wrong[120];
};

static void judge(struct tries *t, int result, const char *what)
{
    t->calls++;
    if (result != FERRY_ERROR_RECURSIVE_CALL && !t->wrong[0])
        snprintf(t->wrong, sizeof t->wrong, "%s: %s", what, ferry_error_name(result));
}
#define TRY(call) judge(t, call, #call)

static void try_adapter(struct tries *t, struct ferry_adapter *adapter)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = "model"};
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    struct ferry_fault fault = {.size = sizeof fault};
    struct ferry_flip flip = {.size = sizeof flip, .number = 1};
    struct ferry_process *process;
    struct ferry_device *device;
    struct ferry_adapter *opened;
    bool found;
    int fd;

    TRY(ferry_adapter_open(&options, &opened));
    TRY(ferry_adapter_query(adapter, &info));
    TRY(ferry_adapter_event_fd(adapter, &fd));
    TRY(ferry_adapter_statistics(adapter, &statistics));
    TRY(ferry_adapter_next_fault(adapter, &fault, &found));
    TRY(ferry_adapter_set_budget(adapter, FERRY_PAGE_BYTES));
    TRY(ferry_adapter_reset_engine(adapter));
    TRY(ferry_adapter_observe(adapter, NULL, NULL));
    TRY(ferry_adapter_flip(adapter, &flip));
    TRY(ferry_adapter_flipped(adapter, &found));
    TRY(ferry_process_create(adapter, NULL, &process));
    TRY(ferry_device_create(adapter, &device));
    ferry_adapter_close(adapter);
}

static void try_process(struct tries *t)
{
    struct ferry_memory_info memory = {.size = sizeof memory};
    struct ferry_process_usage usage = {.size = sizeof usage};
    struct ferry_device *device;

    TRY(ferry_process_set_weight(t->process, 9));
    TRY(ferry_process_set_reservation(t->process, FERRY_PAGE_BYTES));
    TRY(ferry_process_memory(t->process, FERRY_MEMORY_LOCAL, &memory));
    TRY(ferry_process_statistics(t->process, &usage));
    TRY(ferry_process_create_device(t->process, &device));
    TRY(ferry_process_destroy(t->process));
    if (ferry_process_id(t->process) != 0)
        judge(t, FERRY_OK, "ferry_process_id()");
}

static void try_device(struct tries *t)
{
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = FERRY_PAGE_BYTES};
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &t->allocation, .count = 1};
    struct ferry_va range = {.size = sizeof range, .bytes = 1 << 16};
    struct ferry_va_mapping mapping = {.size = sizeof mapping};
    struct ferry_va_steps walk = {.size = sizeof walk};
    struct ferry_allocation *allocation;
    struct ferry_queue *queue;
    uint64_t value;

    TRY(ferry_device_wait_paging(t->device, 0));
    TRY(ferry_device_paging_reached(t->device, &value));
    TRY(ferry_allocation_create(t->device, &options, &allocation));
    TRY(ferry_make_resident(t->device, &residency));
    TRY(ferry_make_resident_trim(t->device, &residency));
    TRY(ferry_evict(t->device, &residency));
    TRY(ferry_va_reserve(t->device, &range));
    TRY(ferry_va_map(t->device, t->allocation, 0, false, &range));
    TRY(ferry_va_free(t->device, 1 << 16, 1 << 16));
    TRY(ferry_va_find(t->device, 0, &mapping));
    TRY(ferry_va_walk(t->device, 0, &walk));
    TRY(ferry_queue_create(t->device, &queue));
    TRY(ferry_device_destroy(t->device));
}

static void try_allocation(struct tries *t)
{
    struct ferry_placement placement = {.size = sizeof placement};
    uint32_t word = 0;
    void *address;

    TRY(ferry_lock(t->allocation, 0, &address));
    TRY(ferry_unlock(t->allocation));
    TRY(ferry_view_lock(t->allocation, 0, 0));
    TRY(ferry_view_read(t->allocation, 0, &word, sizeof word));
    TRY(ferry_view_write(t->allocation, 0, &word, sizeof word));
    TRY(ferry_allocation_placement(t->allocation, &placement));
    TRY(ferry_allocation_destroy(t->allocation));
    if (ferry_allocation_id(t->allocation) != 0)
        judge(t, FERRY_OK, "ferry_allocation_id()");
}

static void try_queue(struct tries *t)
{
    struct ferry_va_operation operation = {.kind = FERRY_VA_UNMAP, .address = 1 << 16, .bytes = FERRY_PAGE_BYTES};
    struct ferry_va_batch batch = {
        .size = sizeof batch, .operation_size = sizeof operation, .operations = &operation, .count = 1};
    uint64_t fence;

    TRY(ferry_queue_copy(t->queue, t->allocation, 4096, t->allocation, 0, 4096));
    TRY(ferry_queue_fill(t->queue, t->allocation, 0, 4096, 0, 1));
    TRY(ferry_queue_copy_va(t->queue, 1 << 16, 1 << 17, 4096));
    TRY(ferry_queue_fill_va(t->queue, 1 << 16, 4096, 0, 1));
    TRY(ferry_va_update(t->queue, &batch));
    TRY(ferry_queue_submit(t->queue, &fence));
    TRY(ferry_queue_wait(t->queue, 1));
    TRY(ferry_queue_reached(t->queue, &fence));
    TRY(ferry_queue_destroy(t->queue));
}

static void try_all(struct tries *t)
{
    try_adapter(t, t->bench->adapter);
    try_process(t);
    try_device(t);
    try_allocation(t);
    try_queue(t);
    if (strcmp(ferry_error_name(FERRY_ERROR_RECURSIVE_CALL), "RECURSIVE_CALL") != 0 ||
        strcmp(ferry_operation_name(0), "TRANSFER") != 0)
        judge(t, FERRY_OK, "names");
}

static void on_budget(void *context, enum ferry_memory_group group, const struct ferry_memory_info *info)
{
    struct tries *t = context;

    (void)group;
    (void)info;
    if (t->times++ == 0)
        try_all(t);
}

static void on_event(void *context, const struct ferry_event *event)
{
    (void)event;
    on_budget(context, FERRY_MEMORY_LOCAL, NULL);
}

static void begin(struct bench *b, struct tries *t, ferry_budget_callback *callback)
{
    struct ferry_process_options options = {.size = sizeof options, .callback = callback, .context = t};
    alarm(60); // A call-back that waits for its own call waits for ever.
    t->bench = b;
    ok(ferry_process_create(b->adapter, &options, &t->process));
    ok(ferry_process_create_device(t->process, &t->device));
    ok(ferry_queue_create(t->device, &t->queue));
    t->allocation = make(t->device, BYTES, VISIBLE);
    write_content(t->allocation, BYTES, 5);
    must_be_resident(t->device, &t->allocation, 1);
}

// Nothing has come of what was tried.
static void all_is_as_it_was(struct tries *t)
{
    struct ferry_memory_info memory = {.size = sizeof memory};
    struct ferry_placement placement = {.size = sizeof placement};
    struct ferry_process_usage usage = {.size = sizeof usage};

    if (t->wrong[0])
        fail_msg("in a call-back: %s", t->wrong);
    assert_true(t->times > 0 && t->calls > 45);
    ok(ferry_process_memory(t->process, FERRY_MEMORY_LOCAL, &memory));
    assert_int_equal(memory.reservation, 0);
    assert_int_equal(memory.usage, (BYTES + 4095) / 4096 * 4096);
    ok(ferry_allocation_placement(t->allocation, &placement));
    assert_int_equal(placement.residency_count, 1);
    // What a call-back had recorded would run with it.
    run_job(t->queue);
    expect_content(t->allocation, BYTES, 5);
    ok(ferry_process_statistics(t->process, &usage));
    assert_int_equal(usage.jobs, t->jobs);
    alarm(0);
}

static void a_budget_call_back_is_refused_every_call(void **state)
{
    struct bench *b = *state;
    struct tries t = {0};
    struct ferry_process *other;

    begin(b, &t, on_budget);
    unsigned before = t.times;
    ok(ferry_process_create(b->adapter, NULL, &other));
    assert_true(t.times > before);
    ok(ferry_process_destroy(other));
    t.jobs = 1;
    all_is_as_it_was(&t);
    ok(ferry_process_destroy(t.process));
}

static void an_observer_is_refused_every_call(void **state)
{
    struct bench *b = *state;
    struct tries t = {0};

    begin(b, &t, NULL);
    ok(ferry_adapter_observe(b->adapter, on_event, &t));
    ok(ferry_adapter_set_budget(b->adapter, 0));
    unsigned before = t.times;
    assert_true(before > 0);
    run_job(t.queue);
    assert_true(t.times > before); // It is the observer still.
    ok(ferry_adapter_observe(b->adapter, NULL, NULL));
    before = t.times;
    t.jobs = 2;
    all_is_as_it_was(&t);
    assert_int_equal(t.times, before);
}

static void on_event_elsewhere(void *context, const struct ferry_event *event)
{
    (void)event;
    struct tries *t = context;

    if (t->times++ == 0)
        try_adapter(t, t->bench->adapter);
}

// A call-back of that one could be waiting for this one's.
static void another_adapter_is_refused_too(void **state)
{
    struct bench *b = *state;
    struct tries t = {.bench = b};
    struct ferry_adapter *watched = open_adapter(1 << 20);
    struct ferry_adapter_info info = {.size = sizeof info};

    alarm(60);
    ok(ferry_adapter_observe(watched, on_event_elsewhere, &t));
    ok(ferry_adapter_set_budget(watched, 0));
    if (t.wrong[0])
        fail_msg("in a call-back: %s", t.wrong);
    assert_true(t.calls > 10);
    ferry_adapter_close(watched);
    ok(ferry_adapter_query(b->adapter, &info));
    alarm(0);
}

struct listener {
    struct ferry_queue *queue;
    pthread_t program;
    atomic_uint refused, other;
};

static void on_event_of_a_thread(void *context, const struct ferry_event *event)
{
    struct listener *l = context;
    uint64_t fence;

    if (event->kind != FERRY_EVENT_JOB_END || pthread_equal(pthread_self(), l->program))
        return;
    if (ferry_queue_reached(l->queue, &fence) == FERRY_ERROR_RECURSIVE_CALL)
        l->refused++;
    else
        l->other++;
}

static void the_thread_behind_the_descriptor_is_refused_too(void **state)
{
    struct bench *b = *state;
    struct listener l = {.queue = b->queue, .program = pthread_self()};
    uint64_t fence, reached = 0, eight;
    int fd;

    alarm(60);
    ok(ferry_adapter_observe(b->adapter, on_event_of_a_thread, &l));
    ok(ferry_adapter_event_fd(b->adapter, &fd));
    ok(ferry_queue_submit(b->queue, &fence));
    for (;;) {
        struct pollfd waits = {fd, POLLIN, 0};

        ok(ferry_queue_reached(b->queue, &reached));
        if (reached >= fence)
            break;
        assert_true(poll(&waits, 1, 20000) == 1);
        (void)!read(fd, &eight, sizeof eight);
    }
    assert_true(l.refused > 0 && l.other == 0);
    ok(ferry_adapter_observe(b->adapter, NULL, NULL));
    close(fd);
    alarm(0);
}

static void on_candidate(void *context, const struct ferry_candidate *candidate)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = candidate->backend};
    struct ferry_adapter *adapter;
    unsigned *opened = context;

    if (strcmp(candidate->backend, "model") != 0 || *opened > 0)
        return;
    ++*opened;
    if (ferry_adapter_open(&options, &adapter) != FERRY_OK)
        return;
    *opened += ferry_adapter_list(on_candidate, context) == FERRY_OK;
    ferry_adapter_close(adapter);
}

static void what_is_listed_can_be_opened_from_there(void **state)
{
    unsigned opened = 0;

    (void)state;
    alarm(60);
    ok(ferry_adapter_list(on_candidate, &opened));
    assert_int_equal(opened, 2);
    alarm(0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(a_budget_call_back_is_refused_every_call),
        CASE(an_observer_is_refused_every_call),
        CASE(another_adapter_is_refused_too),
        CASE(the_thread_behind_the_descriptor_is_refused_too),
        cmocka_unit_test(what_is_listed_can_be_opened_from_there),
    };

    read_options(argc, argv);
    const struct left_out left_out[] = {{"another_adapter_is_refused_too", TWO_DEVICES}};
    return RUN_WHERE_POSSIBLE(tests, left_out);
}
