# SPDX-License-Identifier: Apache-2.0
# The laboratory below the tool: `lab` has policies that misbehave and counts made by hand; `lab_packed` packs traces and unpacks
# them, `lab_packed_disk` where the disk takes or gives no more; `lab_search` is what a search keeps and where it looks; `lab_ahead`
# has runs that other threads play ahead of it, and `lab_ahead_threads` the same under the thread sanitizer.
LAB_SOURCES := $(wildcard host-driver/lab/*.c host-driver/lab/policies/*.c) \
    $(addprefix host-driver/tools/,trace.c trace_lines.c tool.c id_map.c)

LAB_PROGRAMS := $(addprefix $(BUILD)/tests/,lab lab_packed lab_packed_disk lab_search lab_ahead)
$(LAB_PROGRAMS): $(BUILD)/tests/%: tests/unit/lab/test_%.c tests/unit/lab/small_traces.h tests/seed.h \
    $(call sanitized,$(LAB_SOURCES)) $$(MANAGER_SAN) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) $(filter %.c %.o,$^) -o $@ $(LAB_WRAPS) -lcmocka -lz -lpthread
# Memory is refused there; and files take what they like.
$(BUILD)/tests/lab: private LAB_WRAPS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(BUILD)/tests/lab_packed: private LAB_WRAPS := -Wl,--wrap=pwrite,--wrap=pread
$(BUILD)/tests/lab_packed_disk: private LAB_WRAPS := -Wl,--wrap=pwrite,--wrap=pread,--wrap=mkstemp

$(BUILD)/tests/lab_ahead_threads: tests/unit/lab/test_lab_ahead.c tests/unit/lab/small_traces.h tests/seed.h \
    $(LAB_SOURCES:%.c=$(BUILD)/obj-threads/%.o) $$(MANAGER_TSAN) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(FOR_A_SECOND) $(THREAD_SANITIZE) $(HOST_CPPFLAGS) $(filter %.c %.o,$^) -o $@ -lcmocka -lz -lpthread

TEST_PROGRAMS += $(LAB_PROGRAMS) $(BUILD)/tests/lab_ahead_threads
