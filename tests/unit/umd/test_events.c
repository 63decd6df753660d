// SPDX-License-Identifier: Apache-2.0
// What an observer is told, with the test in the place of manager and link: each of their events with all that it has,
// on its track and by its name; and what wakes whoever polls.
#include "adapter_alone.h"
#include "umd/events.h"
#include "umd/observer.h"

#define MOST 8

static struct ferry_event told[MOST];
static char names[MOST][32];
static unsigned count;
static struct ferry_link_observer link_observer;
static bool link_observed;

void ferry_gpu_observe(struct ferry_gpu *gpu, const struct ferry_link_observer *observer)
{
    (void)gpu;
    link_observed = observer != NULL;
    if (observer)
        link_observer = *observer;
}

static void note(void *context, const struct ferry_event *event)
{
    assert_ptr_equal(context, told);
    assert_int_equal(event->size, sizeof *event);
    assert_true(count < MOST);
    told[count] = *event;
    strncpy(names[count++], event->name, sizeof names[0] - 1); // It is valid during the call alone.
}

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    memset(names, 0, sizeof names);
    count = 0;
    cycles_now = 1234;
    adapter.handle = umd_handle_make(UMD_ADAPTER, &adapter, &adapter);
    assert_int_equal(ferry_adapter_observe(adapter.handle, note, told), FERRY_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    umd_handle_end(adapter.handle);
    return 0;
}

static void each_event_is_told_with_all_that_it_has(void **state)
{
    static const struct {
        enum ferry_vidmm_event_kind manager;
        enum ferry_event_kind kind;
        enum ferry_track track;
        const char *name;
    } kinds[] = {
        {FERRY_VIDMM_EVENT_PAGING_BEGIN, FERRY_EVENT_PAGING_BEGIN, FERRY_TRACK_PAGING, "DISCARD_CONTENT"},
        {FERRY_VIDMM_EVENT_PAGING_END, FERRY_EVENT_PAGING_END, FERRY_TRACK_PAGING, "DISCARD_CONTENT"},
        {FERRY_VIDMM_EVENT_JOB_BEGIN, FERRY_EVENT_JOB_BEGIN, FERRY_TRACK_USER, "job"},
        {FERRY_VIDMM_EVENT_JOB_END, FERRY_EVENT_JOB_END, FERRY_TRACK_USER, "job"},
        {FERRY_VIDMM_EVENT_FENCE_WAIT, FERRY_EVENT_FENCE_WAIT, FERRY_TRACK_HOST, ""},
        {FERRY_VIDMM_EVENT_FENCE_SIGNAL, FERRY_EVENT_FENCE_SIGNAL, FERRY_TRACK_PAGING, ""},
        {FERRY_VIDMM_EVENT_PLACED, FERRY_EVENT_PLACED, FERRY_TRACK_HOST, ""},
        {FERRY_VIDMM_EVENT_REMOVED, FERRY_EVENT_REMOVED, FERRY_TRACK_HOST, ""},
        {FERRY_VIDMM_EVENT_RESIDENT_BYTES, FERRY_EVENT_RESIDENT_BYTES, FERRY_TRACK_HOST, ""},
        {FERRY_VIDMM_EVENT_MAPPED, FERRY_EVENT_MAPPED, FERRY_TRACK_HOST, ""},
        {FERRY_VIDMM_EVENT_UNMAPPED, FERRY_EVENT_UNMAPPED, FERRY_TRACK_HOST, ""},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ferry_vidmm_event event = {.kind = kinds[i].manager,
                                          .id = 11,
                                          .allocation = 12,
                                          .process = 13,
                                          .operation = DXGK_OPERATION_DISCARD_CONTENT,
                                          .segment = FERRY_KMD_SEGMENT_APERTURE,
                                          .offset = 14,
                                          .bytes = 15,
                                          .value = 16};

        count = 0;
        umd_on_vidmm_event(&adapter, &event);
        assert_int_equal(count, 1);
        assert_int_equal(told[0].kind, kinds[i].kind);
        assert_int_equal(told[0].track, kinds[i].track);
        assert_string_equal(names[0], kinds[i].name);
        assert_int_equal(told[0].time, 1234);
        assert_int_equal(told[0].id, 11);
        assert_int_equal(told[0].allocation, 12);
        assert_int_equal(told[0].process, 13);
        assert_int_equal(told[0].segment, 3); // Whatever the adapter's number of it is.
        assert_int_equal(told[0].offset, 14);
        assert_int_equal(told[0].bytes, 15);
        assert_int_equal(told[0].value, 16);
        event.segment = FERRY_KMD_SEGMENT_LOCAL;
        umd_on_vidmm_event(&adapter, &event);
        assert_int_equal(told[1].segment, 1);
    }
}

// Whose budget it is and of which memory, be there a call-back or not.
static void a_budget_is_of_its_memory(void **state)
{
    struct ferry_vidmm_event event = {
        .kind = FERRY_VIDMM_EVENT_BUDGET, .process = 13, .segment = FERRY_MEMORY_LOCAL, .bytes = 15, .value = 16};

    (void)state;
    umd_on_vidmm_event(&adapter, &event);
    event.segment = FERRY_MEMORY_NON_LOCAL;
    umd_on_vidmm_event(&adapter, &event);
    assert_int_equal(count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(told[i].kind, FERRY_EVENT_BUDGET);
        assert_int_equal(told[i].track, FERRY_TRACK_HOST);
        assert_int_equal(told[i].process, 13);
        assert_int_equal(told[i].segment, i ? 3 : 1);
        assert_int_equal(told[i].bytes, 15);
        assert_int_equal(told[i].value, 16);
    }
}

static void what_the_link_sees_is_told(void **state)
{
    (void)state;
    assert_true(link_observed);
    link_observer.span(link_observer.context, FERRY_TRACK_WALKS, 100, 130);
    link_observer.value(link_observer.context, FERRY_EVENT_READS_OUTSTANDING, 140, 17);
    link_observer.value(link_observer.context, FERRY_EVENT_TABLE_MISSES, 150, 18);
    assert_int_equal(count, 3);
    assert_int_equal(told[0].kind, FERRY_EVENT_SPAN);
    assert_int_equal(told[0].track, FERRY_TRACK_WALKS);
    assert_int_equal(told[0].time, 100);
    assert_int_equal(told[0].bytes, 30);
    assert_int_equal(told[1].kind, FERRY_EVENT_READS_OUTSTANDING);
    assert_int_equal(told[1].track, FERRY_TRACK_READ_CHANNEL);
    assert_int_equal(told[1].time, 140);
    assert_int_equal(told[1].value, 17);
    assert_int_equal(told[2].kind, FERRY_EVENT_TABLE_MISSES);
    assert_int_equal(told[2].track, FERRY_TRACK_WALKS);
    assert_int_equal(told[2].time, 150);
    assert_int_equal(told[2].value, 18);
}

// Nobody is told any more, and the link need not look.
static void who_no_longer_observes_is_told_nothing(void **state)
{
    struct ferry_vidmm_event event = {.kind = FERRY_VIDMM_EVENT_PLACED};

    (void)state;
    assert_int_equal(ferry_adapter_observe(adapter.handle, NULL, NULL), FERRY_OK);
    assert_false(link_observed);
    umd_on_vidmm_event(&adapter, &event);
    link_observer.span(link_observer.context, FERRY_TRACK_WALKS, 100, 130);
    assert_int_equal(count, 0);
    assert_int_equal(ferry_adapter_observe((struct ferry_adapter *)told, note, told), FERRY_ERROR_HANDLE);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(each_event_is_told_with_all_that_it_has),
        CASE(a_budget_is_of_its_memory),
        CASE(what_the_link_sees_is_told),
        CASE(who_no_longer_observes_is_told_nothing),
    };

    return cmocka_run_group_tests_name("umd_events", tests, NULL, NULL);
}
