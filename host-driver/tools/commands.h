// SPDX-License-Identifier: Apache-2.0
// The commands besides replay. Each returns an exit code.
#ifndef FERRY_TOOLS_COMMANDS_H
#define FERRY_TOOLS_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

/// Print what is reachable, how, and why not; `probe`: open each that is, and print who answers. `json` names a file
/// for the same, or is NULL.
int ferry_list(bool probe, const char *json);
/// Print what the back end says about itself; warn when the device says that it is for another board than `board` (NULL
/// = any will do).
int ferry_info(const char *backend, const char *board);
struct ferry_selftest_options {
    const char *backend, *board;           // As above.
    uint64_t pages, model, paging, tables; // Of each allocation; the others as in struct ferry_adapter_options.
    bool iommu;
};
/// Try the whole path in a few seconds; each check is printed.
int ferry_selftest(const struct ferry_selftest_options *options);
struct ferry_adapter_info;
/// That warning, and nothing else.
void ferry_warn_of_board(const struct ferry_adapter_info *info, const char *board);
/// Have jobs fault at GPU virtual addresses, and print each walk of the page tables, which are in FERRY_TABLES_*, level
/// by level. Exit code 1 when the device's record names another entry than the tables have.
int ferry_fault_walks(const char *backend, uint32_t tables);

#endif
