# SPDX-License-Identifier: Apache-2.0
# What of the user-mode driver needs no device; the rest is tested on whole machines (tests/system).

UMD_TEST_OBJECTS := $(call sanitized,$(addprefix host-driver/umd/,handles.c call.c observer.c error.c))

$(BUILD)/tests/test_umd: tests/unit/umd/test_umd.c tests/unit/umd/adapter_alone.h $(UMD_TEST_OBJECTS) $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $< $(UMD_TEST_OBJECTS) -Wl,--wrap=pthread_cond_wait,--wrap=pthread_mutex_lock -lcmocka -lpthread -o $@
TEST_PROGRAMS += $(BUILD)/tests/test_umd

# Each of its files with the test in the manager's place.
UMD_CALL_TESTS := $(addprefix $(BUILD)/tests/umd_,adapter allocation device events process queue residency virtual)
$(UMD_CALL_TESTS): $(BUILD)/tests/umd_%: tests/unit/umd/test_%.c tests/unit/umd/adapter_alone.h $(BUILD)/obj-san/host-driver/umd/%.o \
    $(call sanitized,$(addprefix host-driver/,umd/call.c umd/handles.c umd/observer.c link/problem.c)) $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka -lpthread -o $@
$(BUILD)/tests/umd_adapter: tests/unit/umd/below_adapter.h
$(BUILD)/tests/umd_allocation: $(call sanitized,host-driver/umd/tiling.c)
$(BUILD)/tests/umd_events: $(call sanitized,host-driver/umd/names.c)
$(BUILD)/tests/umd_queue: $(call sanitized,$(addprefix host-driver/,umd/recording.c umd/record_rectangle.c umd/chunks.c \
    vidmm/base/reached.c))
$(BUILD)/tests/umd_process: $(call sanitized,host-driver/umd/events.c host-driver/umd/names.c)
TEST_PROGRAMS += $(UMD_CALL_TESTS)

# A job's recording, with the test in the manager's place.
$(BUILD)/tests/umd_recording: tests/unit/umd/test_recording.c \
    $(call sanitized,$(addprefix host-driver/,umd/recording.c umd/record_rectangle.c umd/chunks.c vidmm/base/reached.c)) \
    $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -lcmocka -o $@
TEST_PROGRAMS += $(BUILD)/tests/umd_recording
