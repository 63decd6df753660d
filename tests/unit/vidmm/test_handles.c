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
    for (unsigned bit = 0; bit < 64; bit++)
        assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a ^ UINT64_C(1) << bit));
    ferry_vm_handle_free(&handles, a);
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a));
    D3DKMT_HANDLE b = ferry_vm_handle_new(&handles, FERRY_VM_ALLOCATION, &objects[1]);
    assert_int_not_equal(a, b);
    assert_null(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, a));
    assert_ptr_equal(ferry_vm_handle_find(&handles, FERRY_VM_ALLOCATION, b), &objects[1]);
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
    assert_int_equal(handles.count, 1000); // slots are used again
    ferry_vm_handles_destroy(&handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stale_foreign_and_made_up_handles_find_nothing),
                                       cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
