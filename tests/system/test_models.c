// SPDX-License-Identifier: Apache-2.0
// Which driver model an adapter has: the one that is asked for or none, and without a word what the device can do.
#include "system.h"

#define KIB 1024u

static void a_device_without_page_tables_is_refused_by_name(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .model = 2};
    struct ferry_adapter *adapter = NULL;

    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_UNSUPPORTED);
    assert_null(adapter);
}

// Nobody has to say which: a device without page tables works as one with them does, by patched jobs.
static void without_a_word_it_is_model_2_where_there_are_page_tables(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .seed = seed};
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_adapter *adapter = NULL;
    struct ferry_device *device;
    struct ferry_va range = {.size = sizeof range, .bytes = 64 * KIB};
    bool addresses = has_page_tables();

    ok(ferry_adapter_open(&options, &adapter));
    ok(ferry_adapter_query(adapter, &info));
    assert_int_equal(info.model, addresses ? 2 : 1);
    ok(ferry_device_create(adapter, &device));
    assert_int_equal(ferry_va_reserve(device, &range), addresses ? FERRY_OK : FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(adapter);
}

static void model_1_has_no_addresses_and_model_3_is_none(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .model = 3};
    struct ferry_adapter *adapter = NULL;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_va range = {.size = sizeof range, .bytes = 64 * KIB};
    struct ferry_va_mapping mapping = {.size = sizeof mapping};

    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_ARGUMENT);
    options.model = 1;
    ok(ferry_adapter_open(&options, &adapter));
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    struct ferry_allocation *one = make(device, 64 * KIB, 0);
    assert_int_equal(ferry_va_reserve(device, &range), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_va_map(device, one, 0, false, &range), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_va_free(device, 0, 64 * KIB), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_va_find(device, 0, &mapping), FERRY_ERROR_UNSUPPORTED);
    for (uint32_t bytes = 0; bytes <= 8; bytes += 8) {
        assert_int_equal(ferry_queue_copy_va(queue, 0, 4096, bytes), FERRY_ERROR_UNSUPPORTED);
        assert_int_equal(ferry_queue_fill_va(queue, 0, bytes, 1, 1), FERRY_ERROR_UNSUPPORTED);
    }
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_word_it_is_model_2_where_there_are_page_tables),
        cmocka_unit_test(model_1_has_no_addresses_and_model_3_is_none),
    };
    const struct CMUnitTest without[] = {
        cmocka_unit_test(a_device_without_page_tables_is_refused_by_name),
        cmocka_unit_test(without_a_word_it_is_model_2_where_there_are_page_tables),
        cmocka_unit_test(model_1_has_no_addresses_and_model_3_is_none),
    };

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
}
