# SPDX-License-Identifier: Apache-2.0
# A foreign miniport under the manager: what the chapter docs/manual/driver-contract.md shows. `make example-miniport` runs it; `make
# test` too, with sanitizers.

MINIPORT_EXAMPLE := docs/examples/miniport

$(BUILD)/tests/example_miniport: $(addprefix $(MINIPORT_EXAMPLE)/,miniport.c run.c memory_gpu.h) $$(MANAGER_SAN) \
    $(call sanitized,host-driver/umd/error.c) $(HOST_HEADERS)
	@mkdir -p $(@D)
	$(SANITIZED_TEST) -I$(MINIPORT_EXAMPLE) $(filter %.c %.o,$^) -lpthread -o $@
TEST_PROGRAMS += $(BUILD)/tests/example_miniport

.PHONY: example-miniport
example-miniport: $(BUILD)/tests/example_miniport
	@$<
