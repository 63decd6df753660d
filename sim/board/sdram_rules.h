// SPDX-License-Identifier: Apache-2.0
// What sdram_chip.v has against whoever drives it, by its number.
#ifndef FERRY_SDRAM_RULES_H
#define FERRY_SDRAM_RULES_H

namespace ferry
{

constexpr const char *sdram_rules[] = {
    "",
    "a command while power comes up",
    "a row opened before the mode is set, or a refresh or a mode too early",
    "a mode that the chip does not have",
    "clock enable fell",
    "a bank that is open",
    "a row that is not open",
    "tRCD",
    "tRP",
    "tRAS",
    "tRC",
    "tRRD",
    "tRFC",
    "tWR",
    "tMRD",
    "refreshes are late",
    "a row open for too long",
    "pins that change at the clock's edge",
    "data from both sides",
    "a command that is not used",
};

} // namespace ferry

#endif
