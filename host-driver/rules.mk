# SPDX-License-Identifier: Apache-2.0
# libferry.a: the host driver with its back ends. A sanitized twin of it serves the tests.

HOST_ROOMS := ddi vidmm kmd umd device link
HOST_SOURCES = $(foreach room,$(HOST_ROOMS),$(wildcard host-driver/$(room)/*.c)) $(FIRMWARE_IMAGE)
HOST_OBJECTS = $(HOST_SOURCES:%.c=$(BUILD)/obj/%.o)
HOST_OBJECTS_SAN = $(HOST_SOURCES:%.c=$(BUILD)/obj-san/%.o)
FIRMWARE_IMAGE ?= $(BUILD)/firmware/firmware_image.c

-include host-driver/*/rules.mk

$(BUILD)/obj/%.o: %.c | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CPPFLAGS) -I$(BUILD)/firmware -MMD -MP -c $< -o $@

$(BUILD)/obj-san/%.o: %.c | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) $(CPPFLAGS) -I$(BUILD)/firmware -MMD -MP -c $< -o $@

# Archives are made anew so that an object whose source is gone does not stay in them.
$(BUILD)/libferry.a: $$(HOST_OBJECTS) $$(SIM_OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/libferry-san.a: $$(HOST_OBJECTS_SAN) $$(SIM_OBJECTS_SAN)
	@rm -f $@
	ar rcs $@ $^

-include $(shell find $(BUILD)/obj $(BUILD)/obj-san -name '*.d' 2>/dev/null)

# What a program links behind libferry.a.
.PHONY: print-libs
print-libs:
	@echo $(SIM_LIBS) $(LDLIBS)
