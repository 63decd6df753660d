# SPDX-License-Identifier: Apache-2.0
# The contract: one description, all outputs. Everything that includes one of the files of $(CONTRACT) depends on $(CONTRACT).

CONTRACT := $(addprefix $(GENERATED)/ferry_,contract.h contract.vh bar0_access.vh bar0_first.vh core_access.vh)
# What tells a device on USB: the header and udev's rule.
USB_IDS := $(GENERATED)/ferry_usb.h $(GENERATED)/70-pageferry.rules
CONTRACT_STAMP := $(GENERATED)/contract.stamp

$(CONTRACT_STAMP): $(wildcard contract/*.py contract/*.rdl) $(VENV)/ready
	@mkdir -p $(GENERATED)
	$(PYTHON) contract/generate.py --c $(GENERATED)/ferry_contract.h --verilog $(GENERATED)/ferry_contract.vh \
	    --access $(GENERATED) --usb $(GENERATED) --manual docs/manual/contract.md
	@touch $@

# Also when one of the files is gone.
ifneq ($(words $(wildcard $(CONTRACT) $(USB_IDS))),$(words $(CONTRACT) $(USB_IDS)))
.PHONY: $(CONTRACT_STAMP)
endif

# generate.py leaves a file alone whose text did not change.
$(CONTRACT) $(USB_IDS): $(CONTRACT_STAMP) ;
