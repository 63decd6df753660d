// SPDX-License-Identifier: Apache-2.0
// The commands besides replay. Each returns an exit code.
#ifndef FERRY_TOOLS_COMMANDS_H
#define FERRY_TOOLS_COMMANDS_H

/// Print what the back end says about itself.
int ferry_info(const char *backend);
/// Try the whole path in a few seconds; each check is printed.
int ferry_selftest(const char *backend);

#endif
