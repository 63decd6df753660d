# SPDX-License-Identifier: Apache-2.0
TEST_PROGRAMS += $(BUILD)/tests/agreement

$(BUILD)/tests/agreement: tests/agreement/agreement.py $(CONTRACT)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) tests/agreement/agreement.py $(GENERATED) docs/manual/contract.md\n' > $@
	@chmod +x $@
