# SPDX-License-Identifier: Apache-2.0

LINK_TEST = $(SANITIZED_TEST) -Itests/unit/link $(filter %.c %.o,$^) -o $@ -lcmocka
ROOT_COMPLEX := $(call sanitized,$(wildcard host-driver/link/root_complex*.c) $(addprefix host-driver/link/,tlp.c dma_map.c problem.c))

ROOT_COMPLEX_PROGRAMS := $(addprefix $(BUILD)/tests/,root_complex root_complex_serve root_complex_late)
$(ROOT_COMPLEX_PROGRAMS): $(BUILD)/tests/%: tests/unit/link/test_%.c \
    tests/unit/link/fake_device.c $(ROOT_COMPLEX) $(wildcard tests/unit/link/*.h) tests/seed.h $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST)

$(BUILD)/tests/tlp: tests/unit/link/test_tlp.c $(call sanitized,host-driver/link/tlp.c) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(LINK_TEST)

$(BUILD)/tests/dma_map: tests/unit/link/test_dma_map.c $(call sanitized,host-driver/link/dma_map.c) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(LINK_TEST)

TEST_PROGRAMS += $(ROOT_COMPLEX_PROGRAMS) $(BUILD)/tests/tlp $(BUILD)/tests/dma_map

FRAMES_PROGRAMS := $(addprefix $(BUILD)/tests/,frames frames_one_end frames_patience)
$(FRAMES_PROGRAMS): $(BUILD)/tests/%: tests/unit/link/test_%.c $(call sanitized,host-driver/link/frames.c host-driver/link/frame_code.c) \
    $(wildcard tests/unit/link/*.h) tests/seed.h $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST) -lz

TEST_PROGRAMS += $(FRAMES_PROGRAMS)

FRAMED_PROGRAMS := $(BUILD)/tests/framed $(BUILD)/tests/framed_time
$(FRAMED_PROGRAMS): $(BUILD)/tests/%: tests/unit/link/test_%.c $(ROOT_COMPLEX) \
    $(call sanitized,$(addprefix host-driver/link/,framed.c listening.c verdict.c fd_channel.c frames.c frame_code.c packet_queue.c \
    problem.c)) \
    $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST) -lpthread

# What it gives the root complex is the test's.
$(BUILD)/tests/framed_transport: tests/unit/link/test_framed_transport.c \
    $(call sanitized,$(addprefix host-driver/link/,framed.c listening.c verdict.c fd_channel.c frames.c frame_code.c packet_queue.c \
    problem.c)) \
    $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST) -Wl,--wrap=ferry_root_complex_open -lpthread

TEST_PROGRAMS += $(FRAMED_PROGRAMS) $(BUILD)/tests/framed_transport

$(BUILD)/tests/channels: tests/unit/link/test_channels.c \
    $(call sanitized,$(addprefix host-driver/link/,packet_queue.c fd_channel.c socket_address.c problem.c)) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(LINK_TEST)

TEST_PROGRAMS += $(BUILD)/tests/channels

# The host's side of a USB port, with libusb's place taken by the test.
$(BUILD)/tests/usb_port: tests/unit/link/test_usb_port.c tests/unit/link/fake_usb.h \
    $(call sanitized,$(addprefix host-driver/link/,backend_usb.c usb_find.c usb_channel.c file_user.c problem.c)) \
    $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST)

TEST_PROGRAMS += $(BUILD)/tests/usb_port

# The kernel's word on the port comes from the test.
$(BUILD)/tests/serial_port: tests/unit/link/test_serial_port.c \
    $(call sanitized,$(addprefix host-driver/link/,backend_uart.c serial_port.c fd_channel.c file_user.c problem.c)) \
    $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST) -Wl,--wrap=ioctl

TEST_PROGRAMS += $(BUILD)/tests/serial_port

# The kernel's word on where memory is, and whether it may be locked, comes from the test; and what passes while one sleeps.
PCI_PROGRAMS := $(addprefix $(BUILD)/tests/,pci pci_memory pci_working vfio vfio_iommu)
$(PCI_PROGRAMS): $(BUILD)/tests/%: tests/unit/link/test_%.c \
    $(call sanitized,$(wildcard host-driver/link/pci_*.c) \
    $(addprefix host-driver/link/,backend_pci.c bar_guard.c end_guard.c page_slots.c pinned_pages.c file_user.c problem.c dma_map.c)) \
    $(wildcard tests/unit/link/*.h) $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST) -Wl,--wrap=pread,--wrap=mlock,--wrap=munlock,--wrap=nanosleep -lpthread

TEST_PROGRAMS += $(PCI_PROGRAMS)

$(BUILD)/tests/list: tests/unit/link/test_list.c \
    $(call sanitized,$(wildcard host-driver/link/pci_*.c) \
    $(addprefix host-driver/link/,bar_guard.c end_guard.c page_slots.c pinned_pages.c file_user.c problem.c dma_map.c serial_list.c \
    serial_port.c simulator_list.c socket_address.c)) $(wildcard tests/unit/link/*.h) $(HOST_HEADERS) $(CONTRACT)
	@mkdir -p $(@D)
	$(LINK_TEST)

TEST_PROGRAMS += $(BUILD)/tests/list
