# SPDX-License-Identifier: Apache-2.0

DEVICE_TESTED := $(wildcard host-driver/device/*.c) $(addprefix host-driver/link/,dma_map.c problem.c) $(FIRMWARE_IMAGE)
DEVICE_TEST_HEADERS := $(wildcard tests/unit/device/*.h) $(HOST_HEADERS)

$(BUILD)/tests/device: $(addprefix tests/unit/device/,rig.c test_device.c test_device_open.c test_device_faults.c \
    test_device_edges.c test_device_memory.c test_device_progress.c fake_link.c) \
    $(call sanitized,$(DEVICE_TESTED)) $(DEVICE_TEST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -I$(BUILD)/firmware -Itests/unit/device $(filter %.c %.o,$^) -o $@ -lcmocka $(LDLIBS)

$(BUILD)/tests/device_threads: tests/unit/device/test_threads.c tests/unit/device/fake_link.c $(DEVICE_TESTED) \
    $(DEVICE_TEST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -fsanitize=thread $(HOST_CPPFLAGS) -I$(BUILD)/firmware -Itests/unit/device $(filter %.c,$^) -o $@ -lcmocka $(LDLIBS)

TEST_PROGRAMS += $(BUILD)/tests/device $(BUILD)/tests/device_threads
