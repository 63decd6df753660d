// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vidmm/base/handles.h"

static void stale_foreign_and_made_up_handles_find_nothing(void **state)
{
    (void)state;
    struct ferry_vm_handles handles = {0};
    int objects[3];
    D3DKMT_HANDLE a = ferry_vm_handle_new(&handles, FERRY_VM_ALLOCATION, &objects[0]);
    assert_ptr_equal(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a), &objects[0]);
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_DEVICE, a));
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, 0));
    for (unsigned bit = 0; bit < 32; bit++)
        assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a ^ 1u << bit));
    ferry_vm_handle_free(&handles, a);
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a));
    D3DKMT_HANDLE b = ferry_vm_handle_new(&handles, FERRY_VM_ALLOCATION, &objects[1]);
    assert_int_not_equal(a, b);
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a));
    assert_ptr_equal(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, b), &objects[1]);
    ferry_vm_handles_destroy(&handles);
}

static void what_is_hidden_is_found_only_by_who_asks_for_it(void **state)
{
    (void)state;
    struct ferry_vm_handles handles = {0};
    int objects[2];
    D3DKMT_HANDLE a = ferry_vm_handle_new(&handles, FERRY_VM_CONTEXT, &objects[0]);
    D3DKMT_HANDLE b = ferry_vm_handle_new(&handles, FERRY_VM_CONTEXT, &objects[1]);
    ferry_vm_handle_hide(&handles, a, FERRY_VM_HIDDEN);
    assert_int_equal(ferry_vm_handle_sight(&handles, a), FERRY_VM_HIDDEN);
    assert_int_equal(ferry_vm_handle_sight(&handles, b), FERRY_VM_SHOWN);
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_CONTEXT, a));
    assert_ptr_equal(ferry_vm_handle_find_hidden(&handles, FERRY_VM_CONTEXT, a), &objects[0]);
    assert_ptr_equal(ferry_vm_handle_find(&handles, FERRY_VM_CONTEXT, b), &objects[1]);
    ferry_vm_handle_hide(&handles, a, FERRY_VM_SHOWN);
    assert_ptr_equal(ferry_vm_handle_find(&handles, FERRY_VM_CONTEXT, a), &objects[0]);
    ferry_vm_handles_destroy(&handles);
}

static void many(void **state)
{
    (void)state;
    struct ferry_vm_handles handles = {0};
    static int objects[1000];
    static D3DKMT_HANDLE all[1000];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 1000; i++)
            all[i] = ferry_vm_handle_new(&handles, FERRY_VM_CONTEXT, &objects[i]);
        for (unsigned i = 0; i < 1000; i++)
            assert_ptr_equal(ferry_vm_handle_find(&handles, FERRY_VM_CONTEXT, all[i]), &objects[i]);
        for (unsigned i = 0; i < 1000; i++)
            ferry_vm_handle_free(&handles, all[(i * 7) % 1000]);
    }
    assert_true(handles.count < 2 * 1000 + 1024); // slots are used again, after a rest
    ferry_vm_handles_destroy(&handles);
}

// One object that comes and goes: its handles stay different for as long as the header says.
static void a_stale_handle_stays_stale_through_two_million_others(void **state)
{
    (void)state;
    struct ferry_vm_handles handles = {0};
    int object;
    D3DKMT_HANDLE stale = ferry_vm_handle_new(&handles, FERRY_VM_ALLOCATION, &object);
    ferry_vm_handle_free(&handles, stale);
    for (unsigned i = 0; i < 2047u * 1024u; i++) {
        D3DKMT_HANDLE handle = ferry_vm_handle_new(&handles, FERRY_VM_ALLOCATION, &object);
        if (handle == stale)
            fail_msg("handle %08x returned after %u others", stale, i);
        ferry_vm_handle_free(&handles, handle);
    }
    assert_true(handles.count < 2000);
    ferry_vm_handles_destroy(&handles);
}

// A million allocations and more live at once.
static void a_million_handles_live_together(void **state)
{
    (void)state;
    struct ferry_vm_handles handles = {0};
    int object;
    for (unsigned i = 0; i < 1100000; i++)
        if (ferry_vm_handle_new(&handles, FERRY_VM_ALLOCATION, &object) == 0)
            fail_msg("no handle after %u", i);
    ferry_vm_handles_destroy(&handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stale_foreign_and_made_up_handles_find_nothing),
                                       cmocka_unit_test(what_is_hidden_is_found_only_by_who_asks_for_it),
                                       cmocka_unit_test(many),
                                       cmocka_unit_test(a_stale_handle_stays_stale_through_two_million_others),
                                       cmocka_unit_test(a_million_handles_live_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
