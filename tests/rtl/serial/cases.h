// SPDX-License-Identifier: Apache-2.0
// Cases that do not stand in serial_test.cpp: numbers, the window and rounds; and what of a session is not of the next.
#ifndef FERRY_TESTS_RTL_SERIAL_CASES_H
#define FERRY_TESTS_RTL_SERIAL_CASES_H

#include "bench.h"

void a_repeat_is_no_gap();
void the_same_number_is_a_new_round();
void at_most_63_are_under_way();
void sent_again_is_sent_once();
void who_asks_again_is_answered();
void a_question_is_asked_once();
void more_requests_than_places();
void what_begins_without_a_session();
void a_hello_while_another_is_answered();
void credit_is_that_of_the_session();
void a_gap_is_that_of_the_session();
void talk_is_no_progress();
void a_device_that_begins_anew_knows_of_no_session();
void a_byte_that_takes_more_clocks_than_can_be_said();

#endif
