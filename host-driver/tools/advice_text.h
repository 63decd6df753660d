// SPDX-License-Identifier: Apache-2.0
// The sentence that a person can act on.
#ifndef FERRY_TOOLS_ADVICE_TEXT_H
#define FERRY_TOOLS_ADVICE_TEXT_H

#include <stdio.h>

#include "lab/advice.h"

/// One line of text. names: of the traces.
void ferry_advice_print(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                        const char *const *names);

#endif
