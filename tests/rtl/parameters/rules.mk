# SPDX-License-Identifier: Apache-2.0
TEST_PROGRAMS += $(BUILD)/tests/rtl_parameters

$(BUILD)/tests/rtl_parameters: tests/rtl/parameters/parameters.py $(RTL_SOURCES) $(wildcard rtl/*.vh) $(CONTRACT) $(VENV)/ready
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) $< $(GENERATED) "%s"\n' "$(RTL_CORE)" > $@
	@chmod +x $@
