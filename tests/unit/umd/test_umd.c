// SPDX-License-Identifier: Apache-2.0
// The parts of the user-mode driver that need no device: handles and error names.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "umd/handles.h"

static struct umd_adapter here, there, *const adapter = &here;

static void a_handle_is_live_from_make_to_end_and_of_one_kind(void **state)
{
    int object, other;
    void *handle = umd_handle_make(UMD_DEVICE, &object, adapter);

    (void)state;
    assert_non_null(handle);
    assert_ptr_equal(umd_object(adapter, UMD_DEVICE, handle), &object);
    assert_null(umd_object(adapter, UMD_QUEUE, handle));
    umd_handle_end(handle);
    assert_null(umd_object(adapter, UMD_DEVICE, handle));
    void *next = umd_handle_make(UMD_DEVICE, &other, adapter); // Takes the same place, as another value.
    assert_ptr_not_equal(next, handle);
    assert_null(umd_object(adapter, UMD_DEVICE, handle));
    umd_handle_end(handle);
    assert_ptr_equal(umd_object(adapter, UMD_DEVICE, next), &other);
    umd_handle_end(next);
}

static void an_object_belongs_to_one_adapter(void **state)
{
    int object;
    void *handle = umd_handle_make(UMD_DEVICE, &object, adapter);

    (void)state;
    assert_null(umd_object(&there, UMD_DEVICE, handle));
    assert_int_equal(umd_handle_error(UMD_DEVICE, handle), FERRY_ERROR_FOREIGN);
    assert_int_equal(umd_handle_error(UMD_QUEUE, handle), FERRY_ERROR_HANDLE);
    assert_ptr_equal(umd_adapter_get(UMD_DEVICE, handle), adapter);
    assert_null(umd_adapter_get(UMD_QUEUE, handle));
    assert_int_equal(here.users, 1);
    umd_adapter_put(adapter);
    assert_int_equal(here.users, 0);
    umd_handle_end(handle);
    assert_null(umd_adapter_get(UMD_DEVICE, handle));
    assert_int_equal(umd_handle_error(UMD_DEVICE, handle), FERRY_ERROR_HANDLE);
}

static void made_up_handles_are_none(void **state)
{
    int object;

    (void)state;
    assert_null(umd_object(adapter, UMD_DEVICE, NULL));
    assert_null(umd_object(adapter, UMD_DEVICE, &object));
    for (uintptr_t value = 0; value < 100000; value += 7)
        assert_null(umd_object(adapter, UMD_ADAPTER, (void *)(value << 20 | value)));
    assert_null(umd_object(adapter, UMD_DEVICE, (void *)UINTPTR_MAX));
    umd_handle_end((void *)UINTPTR_MAX);
}

static void thousands_of_handles_live_together_and_no_value_returns(void **state)
{
    enum { COUNT = 5000 };
    static int objects[COUNT];
    static void *handles[COUNT], *old[COUNT];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            handles[i] = umd_handle_make(UMD_ALLOCATION, &objects[i], adapter);
        for (int i = 0; i < COUNT; i++) {
            assert_ptr_equal(umd_object(adapter, UMD_ALLOCATION, handles[i]), &objects[i]);
            assert_null(umd_object(adapter, UMD_ALLOCATION, old[i]));
        }
        for (int i = 0; i < COUNT; i++)
            umd_handle_end(handles[(i * 7) % COUNT]);
        memcpy(old, handles, sizeof old);
    }
}

static void every_error_has_a_name_and_a_sentence_of_its_own(void **state)
{
    (void)state;
    for (int a = FERRY_ERROR_RECURSIVE_CALL; a <= FERRY_PENDING; a++) {
        assert_string_not_equal(ferry_error_name(a), "?");
        assert_true(strlen(ferry_error_text(a)) > 3);
        for (int b = FERRY_ERROR_RECURSIVE_CALL; b < a; b++) {
            assert_string_not_equal(ferry_error_name(a), ferry_error_name(b));
            assert_string_not_equal(ferry_error_text(a), ferry_error_text(b));
        }
    }
    assert_string_equal(ferry_error_name(FERRY_ERROR_NO_VIDEO_MEMORY), "NO_VIDEO_MEMORY");
    assert_string_equal(ferry_error_name(FERRY_PENDING + 1), "?");
    assert_string_equal(ferry_error_name(FERRY_ERROR_RECURSIVE_CALL - 1), "?");
}

// ---- Who waits for others to leave ----

static atomic_uint waits; // How often somebody has begun to.

// In pthread_cond_wait()'s place: the mutex is the caller's until it waits.
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    waits++;
    return __real_pthread_cond_wait(condition, mutex);
}

static void *wait_for_others(void *context)
{
    umd_adapter_wait_for_others(context);
    return NULL;
}

// The last but one wakes whoever is left.
static void who_closes_waits_for_all_others(void **state)
{
    int object;
    void *handle = umd_handle_make(UMD_DEVICE, &object, adapter);
    pthread_t thread;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(umd_adapter_get(UMD_DEVICE, handle), adapter);
    waits = 0;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_others, adapter), 0);
    while (waits == 0)
        ;
    umd_adapter_put(adapter);
    alarm(60); // It hangs then.
    umd_adapter_put(adapter);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alarm(0);
    assert_int_equal(here.users, 1);
    umd_adapter_put(adapter);
    umd_handle_end(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_is_live_from_make_to_end_and_of_one_kind),
        cmocka_unit_test(an_object_belongs_to_one_adapter),
        cmocka_unit_test(made_up_handles_are_none),
        cmocka_unit_test(who_closes_waits_for_all_others),
        cmocka_unit_test(thousands_of_handles_live_together_and_no_value_returns),
        cmocka_unit_test(every_error_has_a_name_and_a_sentence_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
