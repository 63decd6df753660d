# SPDX-License-Identifier: Apache-2.0
# libferry.a: the host driver with its back ends. A sanitized twin of it serves the tests.

HOST_ROOMS := ddi vidmm kmd umd device link
HOST_SOURCES = $(foreach room,$(HOST_ROOMS),$(wildcard host-driver/$(room)/*.c host-driver/$(room)/*/*.c)) $(FIRMWARE_IMAGE)
HOST_OBJECTS = $(HOST_SOURCES:%.c=$(BUILD)/obj/%.o)
# The library's objects of these sources, compiled once for all tests that are made of some of them.
sanitized = $(patsubst %.c,$(BUILD)/obj-san/%.o,$(1))
HOST_OBJECTS_SAN = $(call sanitized,$(HOST_SOURCES))
# For programs that are compiled in one go, without .d files.
HOST_HEADERS := $(wildcard host-driver/*/*.h host-driver/*/*/*.h)
FIRMWARE_IMAGE ?= $(BUILD)/firmware/firmware_image.c

-include host-driver/*/rules.mk

# For libraries: position-independent, only what the public headers declare is seen from outside, and no path of this
# folder in what may be installed. Machine code, also where a distribution asks for link-time optimisation: `ld -r`, which makes the
# static library one object, knows nothing else.
LIBRARY_FLAGS := -fPIC -fvisibility=hidden -ffile-prefix-map=$(CURDIR)=. -fno-lto

$(BUILD)/obj/%.o: %.c $(FLAGS) host-driver/rules.mk | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) -I$(BUILD)/firmware $(CPPFLAGS) $(CFLAGS) $(LIBRARY_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj-san/%.o: %.c $(FLAGS) host-driver/rules.mk | $(CONTRACT)
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(SANITIZE) $(HOST_CPPFLAGS) -I$(BUILD)/firmware -MMD -MP -c $< -o $@

# Archives are made anew when a source comes or goes, so that no object stays in them whose source is gone.
LIBFERRY_LIST := $(BUILD)/libferry.list
LIBFERRY_OF := $(strip $(HOST_SOURCES) $(SIM_OBJECTS))
ifneq ($(if $(CHANGES_NOTHING),,$(wildcard $(LIBFERRY_LIST))),)
ifneq ($(file <$(LIBFERRY_LIST)),$(LIBFERRY_OF))
$(file >$(LIBFERRY_LIST),$(LIBFERRY_OF))
endif
endif

$(BUILD)/libferry.a: $$(HOST_OBJECTS) $$(SIM_OBJECTS) $(wildcard $(LIBFERRY_LIST))
	@[ -f $(LIBFERRY_LIST) ] || echo '$(LIBFERRY_OF)' > $(LIBFERRY_LIST)
	@rm -f $@
	ar rcs $@ $(filter %.o,$^)

$(BUILD)/libferry-san.a: $$(HOST_OBJECTS_SAN) $$(SIM_OBJECTS_SAN) $(wildcard $(LIBFERRY_LIST))
	@[ -f $(LIBFERRY_LIST) ] || echo '$(LIBFERRY_OF)' > $(LIBFERRY_LIST)
	@rm -f $@
	ar rcs $@ $(filter %.o,$^)

-include $(shell find $(BUILD)/obj $(BUILD)/obj-san -name '*.d' 2>/dev/null)

# What a program links behind libferry.a.
.PHONY: print-libs
print-libs:
	@echo $(SIM_LIBS) $(LDLIBS)
