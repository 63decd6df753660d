# SPDX-License-Identifier: Apache-2.0
# The device in a stock kernel's PCI slot, and on its USB. QEMU and kernels are asked for here alone, so these are targets of their
# own: some minutes each, in the slot most of them for 20 frames, on USB for the system tests.

GUEST := $(BUILD)/guest
GUEST_TESTS := residency tiles runs

$(GUEST)/ready: tests/guest/packages.sh
	@tests/guest/packages.sh $(GUEST)
	@touch $@

# Without sanitizers, which need more memory than the guest has.
$(GUEST_TESTS:%=$(GUEST)/%): $(GUEST)/%: tests/system/test_%.c tests/system/system.h tests/system/tile_images.h \
    tests/seed.h $(BUILD)/libferry.a
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $< $(BUILD)/libferry.a $(SIM_LIBS) -lcmocka $(LDLIBS) -o $@

$(GUEST)/tests: tests/guest/rules.mk
	@mkdir -p $(@D)
	@echo '$(GUEST_TESTS)' > $@

# What USB carries while somebody waits: 25 MB become 0.5.
$(GUEST)/scene.memtrace: tests/guest/smaller.awk tests/data/scene/scene.txt.gz $(BUILD)/ferry
	@mkdir -p $(@D)
	@$(BUILD)/ferry trace import tests/data/scene/scene.txt.gz -o $@.whole > $@.log 2>&1 || { cat $@.log; exit 1; }
	@awk -f $< $@.whole > $@

GUEST_PROGRAMS := $(BUILD)/ferry $(GUEST_TESTS:%=$(GUEST)/%) $(GUEST)/tests
GUEST_FILES := $(GUEST_PROGRAMS) tests/data/neverball.memtrace.gz
GUEST_USB_FILES := $(GUEST_PROGRAMS) $(GUEST)/scene.memtrace

$(GUEST)/initramfs: tests/guest/initramfs.py tests/guest/init $(GUEST)/ready $(GUEST_FILES)
	@python3 $< $@ $(GUEST)/busybox tests/guest/init $$(command -v lspci) $(GUEST_FILES)

$(GUEST)/initramfs-usb: tests/guest/initramfs.py tests/guest/init_usb $(GUEST)/ready $(GUEST_USB_FILES)
	@python3 $< $@ $(GUEST)/busybox tests/guest/init_usb $$(command -v lsusb) $(GUEST_USB_FILES) $(GUEST)/usb/*.ko

# Not among SOAKS: it wants QEMU and two kernels from the mirror, and a soak is to run where neither can be had.
.PHONY: test-guest test-guest-pci test-guest-usb
test-guest: test-guest-pci test-guest-usb
test-guest-usb: tests/guest/test_guest_usb.py tests/guest/machine.py tests/guest/lsusb.txt tests/rtl/host/lspci.py \
    $(GUEST)/initramfs-usb $(BUILD)/ferry-sim
	@python3 $< $(GUEST)/vmlinuz-usb $(GUEST)/initramfs-usb $(GUEST_TESTS)
test-guest-pci: tests/guest/test_guest.py tests/guest/machine.py tests/guest/lspci.txt tests/rtl/host/lspci.py \
    $(GUEST)/initramfs $(BUILD)/ferry-sim
	@python3 $< $(GUEST)/vmlinuz $(GUEST)/initramfs $(GUEST_TESTS)
