# SPDX-License-Identifier: Apache-2.0
# The contract: one description, three outputs. Everything that includes ferry_contract.h or .vh depends on $(CONTRACT).

CONTRACT := $(GENERATED)/ferry_contract.h $(GENERATED)/ferry_contract.vh
CONTRACT_STAMP := $(GENERATED)/contract.stamp

$(CONTRACT_STAMP): contract/generate.py $(wildcard contract/*.rdl) $(VENV)/ready
	@mkdir -p $(GENERATED)
	$(PYTHON) contract/generate.py --c $(GENERATED)/ferry_contract.h --verilog $(GENERATED)/ferry_contract.vh \
	    --manual docs/manual/contract.md
	@touch $@

# generate.py leaves a file alone whose text did not change.
$(CONTRACT): $(CONTRACT_STAMP) ;
