// SPDX-License-Identifier: Apache-2.0
// What the files of the double call of each other; see double.h.
#ifndef FERRY_TESTS_FIRMWARE_DOUBLE_PARTS_H
#define FERRY_TESTS_FIRMWARE_DOUBLE_PARTS_H

#include "double.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

// Notes the first broken rule.
void double_wrong(const char *what, uint64_t with);

// A slot's place in command RAM.
uint32_t *double_slot_words(uint32_t slot);

// The claimed buffer in a slot; null when there is none.
struct double_entry *double_slot_owner(uint32_t slot);

// What the firmware wrote into a pair of registers.
uint64_t double_staged(unsigned low);

// Adds a job or a change of the table to what came of the entry.
void double_keep_action(struct double_entry *entry, const struct oracle_action *action);

// The newest buffer that was claimed of the paging ring, or of the others.
struct double_entry *double_newest_claim(bool paging);

// The sequencer, with the oracle for what comparisons tell: it may leave any packet, and take no bad one.
void double_start_sequencer(uint32_t command);

void double_sequencer_step(void);

// A fault record of the core's.
void double_take_post(void);

void double_take_finish(uint32_t command);

void double_finish_step(void);

// What the hardware does once a record has left.
void double_end_post(void);

void double_take_table_change(uint32_t control);

// A root: of a packet that is good, when every earlier job of its ring is done.
void double_tell_root(uint32_t value);

// A job of the paging ring, or of the others, is not done.
bool double_class_runs(bool paging);

void double_engine_step(void);

#endif
