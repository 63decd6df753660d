# SPDX-License-Identifier: Apache-2.0
# Mistakes that people make, made one at a time in a copy of the tree: does the test that is named see each? All of them
# with `make mutation`, after `make test` has built what they change; one, drawn anew for each tree, as a test of its own.

.PHONY: mutation
mutation: $(VENV)/ready
	@$(PYTHON) tests/mutation/run.py --jobs $(patsubst -j%,%,$(or $(filter -j%,$(MAKEFLAGS)),-j1))

$(BUILD)/tests/mutation_sample: tests/mutation/run.py | $(SUITE_PROGRAMS) $(KMD_SUITE_PROGRAMS)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) $< --sample 1 --jobs 1 --scratch $(BUILD)/mutation-sample\n' > $@
	@chmod +x $@
TEST_PROGRAMS += $(BUILD)/tests/mutation_sample
