# SPDX-License-Identifier: Apache-2.0
# What `make install` leaves, looked at from outside: by other compilers, the linker's tools, and a program built on it; and what
# `make uninstall` does.

$(BUILD)/tests/install $(BUILD)/tests/uninstall: $(BUILD)/tests/%: tests/install/test_%.py tests/install/installed.py \
    tests/setup/cases.py $(INSTALLED) $(wildcard host-driver/package/* docs/man/* host-driver/include/ferry/*.h)
	@mkdir -p $(@D)
	@install -m 755 $< $@
$(BUILD)/tests/install: tests/install/manual.py tests/install/odd_process.c $(wildcard docs/examples/library/*)
TEST_PROGRAMS += $(BUILD)/tests/install $(BUILD)/tests/uninstall

$(BUILD)/tests/install_udev: tests/install/test_udev.py tests/setup/cases.py host-driver/link/usb_find.c $(INSTALLED) \
    $(wildcard host-driver/package/*)
	@mkdir -p $(@D)
	@install -m 755 $< $@
TEST_PROGRAMS += $(BUILD)/tests/install_udev
