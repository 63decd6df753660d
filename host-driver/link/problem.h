// SPDX-License-Identifier: Apache-2.0
// What went wrong when a link was opened, in words: an error has a number, but which versions, which process, which
// file only a sentence can say. One text a thread.
#ifndef FERRY_LINK_PROBLEM_H
#define FERRY_LINK_PROBLEM_H

#include <stdint.h>

#include "ferry/error.h" // ferry_problem(), the text.

#ifdef __cplusplus
extern "C" {
#endif

void ferry_problem_clear(void);
/// As printf(); cut at 255 characters.
void ferry_problem_set(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// Hardware of another contract version, at `where`: both versions, and what to do. Always FERRY_ERROR_CONTRACT.
int ferry_problem_contract(const char *where, uint32_t version);
#ifdef __cplusplus
}
#endif
#endif
