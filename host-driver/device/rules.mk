# SPDX-License-Identifier: Apache-2.0
# The firmware image is a C file with a header that are made first.

$(BUILD)/obj/host-driver/device/firmware_load.o $(BUILD)/obj-san/host-driver/device/firmware_load.o: | $(FIRMWARE_IMAGE)
