# SPDX-License-Identifier: Apache-2.0
TEST_PROGRAMS += $(BUILD)/tests/readme

$(BUILD)/tests/readme: tests/readme/readme.py README.md $(wildcard docs/*.md docs/manual/*.md) $(BUILD)/libferry.a $(BUILD)/tests/formal
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) tests/readme/readme.py $(SIM_LIBS) $(LDLIBS)\n' > $@
	@chmod +x $@
