# SPDX-License-Identifier: Apache-2.0
# Firmware of the soft core: elf, flat binary at address 0, $readmemh words, and the binary as a C array for libferry.a.

FIRMWARE_BUILD := $(BUILD)/firmware
# Other spellings of the compiler's name: set-up finds them.
FIRMWARE_CC ?= riscv64-unknown-elf-gcc
FIRMWARE_OBJCOPY = $(FIRMWARE_CC:gcc=objcopy)
# Firmware RAM of the full configuration, and what the deepest chain of calls may take of it: 272 with gcc 12, more with
# gcc 14, whose code is smaller.
FIRMWARE_RAM_BYTES := 8192
FIRMWARE_STACK_BYTES := 336
FIRMWARE_ARCH := -march=rv32i_zicsr -mabi=ilp32 -fno-pie
# Small, but for what runs once a buffer, where cycles count. (Packets pass by the sequencer but for those that it leaves.)
FIRMWARE_OPTIMIZE = -Os
$(BUILD)/firmware/queues.o: FIRMWARE_OPTIMIZE = -O2
FIRMWARE_CFLAGS = -std=c11 $(FIRMWARE_ARCH) $(FIRMWARE_OPTIMIZE) -g -ffreestanding -fno-builtin -fno-jump-tables \
    -fno-tree-loop-distribute-patterns -ffunction-sections $(WARNINGS) -Wvla \
    -Wstack-usage=256 -fcallgraph-info=su -I$(GENERATED) -Ifirmware
FIRMWARE_SOURCES := firmware/boot.c firmware/queues.c firmware/decode.c firmware/check.c \
    firmware/mmu.c firmware/faults.c firmware/halt.c
FIRMWARE_C := $(FIRMWARE_SOURCES) firmware/hal_riscv.c
FIRMWARE_OBJECTS := $(FIRMWARE_BUILD)/boot-asm.o $(FIRMWARE_C:firmware/%.c=$(FIRMWARE_BUILD)/%.o)
FIRMWARE_HEX := $(FIRMWARE_BUILD)/firmware.hex
FIRMWARE_IMAGE := $(FIRMWARE_BUILD)/firmware_image.c

$(FIRMWARE_BUILD)/boot-asm.o: firmware/boot.S | $(TOOLS)
	@mkdir -p $(@D)
	$(FIRMWARE_CC) $(FIRMWARE_ARCH) -g -c $< -o $@

# ccache, first on some systems' PATH, knows nothing of the .ci file and leaves it out of what it brings back.
$(FIRMWARE_BUILD)/%.o: firmware/%.c firmware/rules.mk | $(CONTRACT)
	@mkdir -p $(@D)
	env CCACHE_DISABLE=1 $(FIRMWARE_CC) $(FIRMWARE_CFLAGS) -MMD -MP -c $< -o $@

# Adds up the stack of the deepest chain of calls, then links with as much: no image could overrun its stack.
$(FIRMWARE_BUILD)/firmware.elf: $(FIRMWARE_OBJECTS) firmware/link.ld firmware/stack_bound.py
	$(PYTHON) firmware/stack_bound.py --limit $(FIRMWARE_STACK_BYTES) --root ferry_main --write $(@D)/stack_bytes \
	    $(FIRMWARE_C:firmware/%.c=$(FIRMWARE_BUILD)/%.ci)
	$(FIRMWARE_CC) $(FIRMWARE_ARCH) -nostdlib -static -T firmware/link.ld -Wl,--gc-sections -Wl,--build-id=none -Wl,--no-warn-rwx-segments \
	    -Wl,--defsym=FERRY_RAM_BYTES=$(FIRMWARE_RAM_BYTES) -Wl,--defsym=FERRY_STACK_BYTES=$$(cat $(@D)/stack_bytes) \
	    -Wl,-Map=$(@:.elf=.map) $(FIRMWARE_OBJECTS) -o $@

$(FIRMWARE_BUILD)/firmware.bin: $(FIRMWARE_BUILD)/firmware.elf
	$(FIRMWARE_OBJCOPY) -O binary $< $@

$(FIRMWARE_HEX) $(FIRMWARE_IMAGE) $(FIRMWARE_IMAGE:.c=.h) &: $(FIRMWARE_BUILD)/firmware.bin firmware/image.py
	$(PYTHON) firmware/image.py $< --hex $(FIRMWARE_HEX) --c $(FIRMWARE_IMAGE)

.PHONY: firmware
firmware: $(FIRMWARE_HEX) $(FIRMWARE_IMAGE)

-include $(FIRMWARE_OBJECTS:.o=.d)
