# SPDX-License-Identifier: Apache-2.0

DEVICE_TEST_SOURCES := tests/unit/device/fake_link.c $(wildcard host-driver/device/*.c) host-driver/link/dma_map.c \
    $(FIRMWARE_IMAGE)
DEVICE_TEST_HEADERS := $(wildcard tests/unit/device/*.h) $(HOST_HEADERS)
DEVICE_TEST_FLAGS := $(CPPFLAGS) -I$(BUILD)/firmware -Itests/unit/device

$(BUILD)/tests/device: $(addprefix tests/unit/device/,rig.c test_device.c test_device_open.c test_device_faults.c test_device_memory.c) \
    $(DEVICE_TEST_SOURCES) $(DEVICE_TEST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $(DEVICE_TEST_FLAGS) $(filter %.c,$^) -o $@ -lcmocka $(LDLIBS)

$(BUILD)/tests/device_threads: tests/unit/device/test_threads.c $(DEVICE_TEST_SOURCES) $(DEVICE_TEST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=thread $(DEVICE_TEST_FLAGS) $(filter %.c,$^) -o $@ -lcmocka $(LDLIBS)

TEST_PROGRAMS += $(BUILD)/tests/device $(BUILD)/tests/device_threads
