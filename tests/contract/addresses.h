// SPDX-License-Identifier: Apache-2.0
// The suite in driver model 2 (FERRY_TEST_MODEL=2 in the environment): machines are opened with page tables, each
// allocation is mapped when it is made, and jobs name what is mapped by its address instead of by a patch. The tests
// know nothing of it: these calls of theirs are taken at link time (-Wl,--wrap).
#ifndef FERRY_TESTS_ADDRESSES_H
#define FERRY_TESTS_ADDRESSES_H

#include <stdbool.h>

bool addresses_wanted(void);
/// And the manager pages by addresses (FERRY_TEST_PAGING=virtual besides), in every machine of model 2.
bool addresses_of_paging_wanted(void);
/// And page tables are in system memory (FERRY_TEST_TABLES=system), in every machine of model 2.
bool host_tables_wanted(void);
/// Why a test does not run in model 2; NULL when it does, or when that is not the model.
const char *addresses_leave_out(const char *test);

struct machine_options;
/// Prints what runs, for the registry ("miniport: real/model-2-iommu"): a case's machines, each sort of them once a
/// case, which machine_open does; NULL = what the environment asks for.
void addresses_say(const struct machine_options *options);
/// No machine of this case has been opened yet.
void addresses_begin_case(void);

#endif
