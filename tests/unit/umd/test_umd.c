// SPDX-License-Identifier: Apache-2.0
// The parts of the user-mode driver that need no device: handles and error names.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "adapter_alone.h"

static struct umd_adapter there;

static void a_handle_is_live_from_make_to_end_and_of_one_kind(void **state)
{
    int object, other;
    void *handle = umd_handle_make(UMD_DEVICE, &object, &adapter);

    (void)state;
    assert_non_null(handle);
    assert_ptr_equal(umd_object(&adapter, UMD_DEVICE, handle), &object);
    assert_null(umd_object(&adapter, UMD_QUEUE, handle));
    umd_handle_end(handle);
    assert_null(umd_object(&adapter, UMD_DEVICE, handle));
    void *next = umd_handle_make(UMD_DEVICE, &other, &adapter); // Takes the same place, as another value.
    assert_ptr_not_equal(next, handle);
    assert_null(umd_object(&adapter, UMD_DEVICE, handle));
    umd_handle_end(handle);
    assert_ptr_equal(umd_object(&adapter, UMD_DEVICE, next), &other);
    umd_handle_end(next);
}

static void an_object_belongs_to_one_adapter(void **state)
{
    int object;
    void *handle = umd_handle_make(UMD_DEVICE, &object, &adapter);

    (void)state;
    assert_null(umd_object(&there, UMD_DEVICE, handle));
    assert_int_equal(umd_handle_error(UMD_DEVICE, handle), FERRY_ERROR_FOREIGN);
    assert_int_equal(umd_handle_error(UMD_QUEUE, handle), FERRY_ERROR_HANDLE);
    umd_handle_end(handle);
    assert_int_equal(umd_handle_error(UMD_DEVICE, handle), FERRY_ERROR_HANDLE);
}

static void made_up_handles_are_none(void **state)
{
    int object;

    (void)state;
    assert_null(umd_object(&adapter, UMD_DEVICE, NULL));
    assert_null(umd_object(&adapter, UMD_DEVICE, &object));
    for (uintptr_t value = 0; value < 100000; value += 7)
        assert_null(umd_object(&adapter, UMD_ADAPTER, (void *)(value << 20 | value)));
    assert_null(umd_object(&adapter, UMD_DEVICE, (void *)UINTPTR_MAX));
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
            handles[i] = umd_handle_make(UMD_ALLOCATION, &objects[i], &adapter);
        for (int i = 0; i < COUNT; i++) {
            assert_ptr_equal(umd_object(&adapter, UMD_ALLOCATION, handles[i]), &objects[i]);
            assert_null(umd_object(&adapter, UMD_ALLOCATION, old[i]));
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

// ---- Locks ----

static atomic_uint waits, locks; // How often somebody has begun to.

// In their place: the mutex is the caller's until it waits.
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    waits++;
    return __real_pthread_cond_wait(condition, mutex);
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    locks++;
    return __real_pthread_mutex_lock(mutex);
}

static bool is_locked(struct umd_adapter *of)
{
    if (pthread_mutex_trylock(&of->lock) != 0)
        return true;
    pthread_mutex_unlock(&of->lock);
    return false;
}

static void who_finds_an_object_has_its_lock(void **state)
{
    int object;
    void *handle = umd_handle_make(UMD_DEVICE, &object, &adapter);
    struct umd_adapter *found = NULL;

    (void)state;
    assert_null(umd_lock_object(UMD_QUEUE, handle, &found));
    assert_false(is_locked(&adapter));
    assert_ptr_equal(umd_lock_object(UMD_DEVICE, handle, &found), &object);
    assert_ptr_equal(found, &adapter);
    assert_true(is_locked(&adapter));
    umd_handle_end(handle);
    pthread_mutex_unlock(&adapter.lock);
    assert_null(umd_lock_object(UMD_DEVICE, handle, &found));
    assert_false(is_locked(&adapter));
}

static void *find_and_lock(void *handle)
{
    struct umd_adapter *found;

    return umd_lock_object(UMD_DEVICE, handle, &found);
}

static void what_ends_while_its_lock_is_waited_for_is_not_found(void **state)
{
    int object;
    void *handle = umd_handle_make(UMD_DEVICE, &object, &adapter), *found;
    pthread_t thread;

    (void)state;
    pthread_mutex_lock(&adapter.lock);
    locks = 0;
    assert_int_equal(pthread_create(&thread, NULL, find_and_lock, handle), 0);
    while (locks == 0)
        ;
    umd_handle_end(handle);
    pthread_mutex_unlock(&adapter.lock);
    assert_int_equal(pthread_join(thread, &found), 0);
    assert_null(found);
    assert_false(is_locked(&adapter));
}

// Whoever has read of it in the table may be about to take its lock.
static void an_adapter_that_has_gone_is_used_again_with_its_lock(void **state)
{
    struct umd_adapter *first = umd_adapter_new(), *found;
    void *handle = umd_handle_make(UMD_ADAPTER, first, first);

    (void)state;
    assert_non_null(first);
    pthread_mutex_lock(&first->lock);
    first->model = 2;
    umd_handle_end(handle);
    umd_adapter_free(first);
    struct umd_adapter *next = umd_adapter_new();
    assert_ptr_equal(next, first);
    assert_int_equal(next->model, 0);
    assert_true(is_locked(next));
    pthread_mutex_unlock(&next->lock);
    void *live = umd_handle_make(UMD_ADAPTER, next, next);
    assert_null(umd_lock_object(UMD_ADAPTER, handle, &found));
    assert_ptr_equal(umd_lock_object(UMD_ADAPTER, live, &found), next);
    pthread_mutex_unlock(&next->lock);
    umd_handle_end(live);
    umd_adapter_free(next);
}

static void *wait_for_parked(void *context)
{
    struct umd_adapter *of = context;

    pthread_mutex_lock(&of->lock);
    umd_wait_for_parked(of);
    pthread_mutex_unlock(&of->lock);
    return NULL;
}

// The last of them wakes whoever is left.
static void who_closes_waits_for_all_that_are_parked(void **state)
{
    struct umd_call call = {.adapter = &adapter};
    pthread_t thread;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        pthread_mutex_lock(&adapter.lock);
        umd_park(&call);
    }
    waits = 0;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_parked, &adapter), 0);
    while (waits == 0)
        ;
    umd_return(&call);
    assert_int_equal(umd_leave(&call, FERRY_OK), FERRY_OK);
    alarm(60); // It hangs then.
    umd_return(&call);
    assert_int_equal(umd_leave(&call, FERRY_OK), FERRY_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alarm(0);
    assert_int_equal(adapter.parked, 0);
}

static atomic_bool comes_back;

static void *wait_for_a_condition(void *context)
{
    struct umd_call call = {.adapter = &adapter};

    pthread_mutex_lock(&adapter.lock);
    while (!comes_back)
        umd_park_until(&call, context);
    umd_leave(&call, FERRY_OK);
    return NULL;
}

static void who_waits_for_a_condition_is_parked(void **state)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_t thread;

    (void)state;
    comes_back = false;
    waits = 0;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_a_condition, &condition), 0);
    while (waits == 0)
        ;
    pthread_mutex_lock(&adapter.lock);
    assert_int_equal(adapter.parked, 1);
    comes_back = true;
    pthread_cond_signal(&condition);
    alarm(60); // It hangs then.
    umd_wait_for_parked(&adapter);
    alarm(0);
    assert_int_equal(adapter.parked, 0);
    pthread_mutex_unlock(&adapter.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_is_live_from_make_to_end_and_of_one_kind),
        cmocka_unit_test(an_object_belongs_to_one_adapter),
        cmocka_unit_test(made_up_handles_are_none),
        cmocka_unit_test(who_finds_an_object_has_its_lock),
        cmocka_unit_test(what_ends_while_its_lock_is_waited_for_is_not_found),
        cmocka_unit_test(an_adapter_that_has_gone_is_used_again_with_its_lock),
        cmocka_unit_test(who_closes_waits_for_all_that_are_parked),
        cmocka_unit_test(who_waits_for_a_condition_is_parked),
        cmocka_unit_test(thousands_of_handles_live_together_and_no_value_returns),
        cmocka_unit_test(every_error_has_a_name_and_a_sentence_of_its_own),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
