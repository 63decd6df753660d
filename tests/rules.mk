# SPDX-License-Identifier: Apache-2.0
# `make test` builds every test program that the rooms announce and runs them all; see scripts/run_tests.py.

# A test that is C, under the sanitizers. What it takes of the library is compiled once for all (`sanitized`).
SANITIZED_TEST = $(CC) $(HOST_CFLAGS) $(FOR_A_SECOND) $(SANITIZE) $(HOST_CPPFLAGS)

# A program is made again when the rules of its room change, which may be all that a script is made of, or the flags.
define room
BEFORE := $$(TEST_PROGRAMS)
include $(1)
$$(filter-out $$(BEFORE),$$(TEST_PROGRAMS)): $(1) $(FLAGS)
endef
$(foreach rules,$(sort $(wildcard tests/*/rules.mk tests/*/*/rules.mk docs/examples/*/rules.mk)),$(eval $(call room,$(rules))))

# What drives a whole machine, or runs for seconds: the seed of the tree alone, of which `make soak-seeds` takes as many as you like.
LONG_RANDOM += $(filter $(addprefix $(BUILD)/tests/,boards_% contract_% firmware_% import_% machine mutation_sample policy_refusals rtl_% \
    socket system_%),$(TEST_PROGRAMS))

RUN_TESTS = $(PYTHON) scripts/run_tests.py $(patsubst -j%,--jobs=%,$(filter-out -j,$(filter -j%,$(MAKEFLAGS)))) \
    $(LONG_RANDOM:%=--once=%) $(TEST_PROGRAMS)

.PHONY: test lint formal soak
test: $$(TEST_PROGRAMS)
	@$(RUN_TESTS) --registry $(BUILD)/requirements.txt --logs $(BUILD)/logs \
	    $(addprefix --sources=,Makefile boards contract docs/examples firmware host-driver rtl scripts sim tests)

# All test programs in their long form, the random ones with so many fresh seeds.
.PHONY: soak-seeds
soak-seeds: $$(TEST_PROGRAMS)
	@FERRY_LONG=1 $(RUN_TESTS) --registry $(BUILD)/soak/requirements.txt --logs $(BUILD)/soak/logs --fresh $${FERRY_SEEDS:-20}
SOAKS += soak-seeds

lint: $$(LINTS)
	@echo "lint: clean"

formal: $$(FORMAL)
	@echo "formal: proved"

soak: $$(SOAKS)

# The registry of the last `make test`: requirement number, test, result, miniport, back end.
.PHONY: requirements
requirements:
	@cat $(BUILD)/requirements.txt 2>/dev/null || { echo "run make test first"; exit 1; }
