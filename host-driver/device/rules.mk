# SPDX-License-Identifier: Apache-2.0
# The firmware image is a C file with a header that are made first.

$(addsuffix /host-driver/device/firmware_load.o,$(addprefix $(BUILD)/,obj obj-san obj-threads)): | $(FIRMWARE_IMAGE)
