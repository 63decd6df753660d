// SPDX-License-Identifier: Apache-2.0
// What the files of the native test program share: cmocka, the double, and how the firmware is run over it (run.h).
#ifndef FERRY_TESTS_FIRMWARE_NATIVE_H
#define FERRY_TESTS_FIRMWARE_NATIVE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run.h"

// Fails with the sentence.
void must_be_null(const char *why);

// Packets that break a rule: test_packets.c.
void every_bad_form(void **state);
void packet_that_ends_with_a_nop_header_past_the_end(void **state);
void protected_range(void **state);
void protected_content_is_discarded(void **state);
void empty_protected_range(void **state);
void rights_of_page_tables_that_are_not_there(void **state);
void rectangles_that_are_not_there(void **state);
void protected_content_and_page_lists(void **state);
void rectangles_that_end_at_4_gib(void **state);

// Packets just inside a rule and just outside: test_edges.c.
void roots_to_the_bit(void **state);
void what_is_forgotten_to_the_bit(void **state);
void rectangles_to_the_byte(void **state);
void ranges_to_the_byte(void **state);
void rights_to_the_bit(void **state);

// What engine and aperture table report: test_trouble.c, and test_stuck.c for an engine that has given memory up.
void bad_page_of_a_table_change(void **state);
void stuck_engine_gets_no_jobs(void **state);
void a_stuck_engine_is_not_waited_for_to_forget(void **state);
void full_fault_log_loses_nothing(void **state);
void engine_fault_is_named_from_its_packet(void **state);
void table_change_beside_a_fault_that_cannot_be_told(void **state);
void faults_of_virtual_addresses_tell_of_walks(void **state);
void second_engine_fault_cannot_hang_the_core(void **state);
void first_fault_of_a_slot_counts(void **state);
void fault_before_a_reset_is_told(void **state);
void fault_before_memory_gives_up_is_told(void **state);
void memory_comes_back_while_the_sequencer_is_stopped(void **state);
void restart_goes_on_in_the_fault_log(void **state);
void unread_entry_of_a_long_ring(void **state);
void reset_behind_a_stuck_engine(void **state);
void paging_comes_beside_a_fault(void **state);

#endif
