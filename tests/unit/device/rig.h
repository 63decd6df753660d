// SPDX-License-Identifier: Apache-2.0
// What the tests of the device layer share: a gpu over a fake link, and their names.
#ifndef FERRY_TESTS_DEVICE_RIG_H
#define FERRY_TESTS_DEVICE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "fake_link.h"

struct state {
    struct fake_link *fake;
    struct ferry_gpu *gpu;
    bool closed;
    unsigned calls;
    uint32_t causes;
};

int set_up(void **context);
int tear_down(void **context);
uint32_t reg(struct state *state, uint32_t offset);
// Keeps the causes and counts the calls.
void on_interrupt(void *context, uint32_t causes);

// Opening: test_device_open.c.
void open_loads_the_image_and_reports_sizes(void **context);
void time_outs_are_longer_than_the_link_takes(void **context);
void another_contract_is_refused_by_name(void **context);
void sizes_that_no_device_has_are_refused(void **context);
void a_newer_minor_version_is_taken(void **context);
void the_device_says_for_which_board_it_is(void **context);
void a_device_whose_name_cannot_be_read_is_not_opened(void **context);
void a_device_that_has_run_before_is_reset(void **context);
void firmware_that_does_not_come_up_is_named(void **context);
void firmware_may_come_from_a_file(void **context);
// Faults and refused writes: test_device_faults.c.
void faults_come_in_order_and_round_the_log(void **context);
void refused_writes_are_faults_of_their_entry(void **context);
void a_refused_write_names_its_packet(void **context);
void a_refused_write_names_its_rectangle(void **context);
void an_entry_that_could_not_be_read_is_named_by_its_place(void **context);
void an_entry_that_could_not_be_read_is_named_though_its_place_is_used_again(void **context);
// Doorbells that the link did not take: test_device_faults.c.
void a_refused_doorbell_leaves_all_as_it_was(void **context);
void a_doorbell_that_is_not_taken_is_rung_again(void **context);
void a_doorbell_that_may_come_yet_closes_the_ring(void **context);
void what_was_taken_back_has_no_fault(void **context);
void an_engine_reset_opens_the_ring(void **context);

// Turns of waiting: test_device_progress.c.
void turns_come_to_an_end_though_each_brings_something(void **context);
void turns_come_to_an_end_without_time(void **context);
void turns_go_on_while_something_does(void **context);
void a_wait_of_before_is_not_counted(void **context);
void a_wait_goes_on_though_causes_could_not_be_read(void **context);
void a_device_that_has_done_more_than_there_was_is_lost(void **context);
void a_device_that_has_done_less_than_before_is_lost(void **context);

// Host memory: test_device_memory.c.
void gpu_memory_is_consecutive_zero_and_given_back(void **context);
void mdls_name_their_pages(void **context);
void pages_that_were_given_back_come_again_as_zero(void **context);
void pages_are_unmapped_and_mapped_again(void **context);
void a_mapping_that_fails_loses_no_memory(void **context);
void kept_pages_make_room(void **context);
void bad_page_requests_are_named(void **context);

// Edges: test_device_edges.c.
void a_ring_that_could_not_be_made_leaves_nothing(void **context);
void a_range_may_be_empty_and_a_limit_left(void **context);
void a_range_that_moves_is_empty_in_between(void **context);
void a_lost_doorbells_entry_is_not_the_newest(void **context);
void a_ring_that_stays_closed_is_opened_by_a_reset(void **context);
void a_device_that_has_fetched_what_cannot_be_is_lost(void **context);
void what_stands_behind_a_ring_is_no_entry(void **context);
void what_was_told_of_an_entry_is_not_of_the_next_one(void **context);
void a_refused_write_is_told_once(void **context);
void refused_writes_come_in_order(void **context);
void a_refused_write_that_may_be_two_packets_names_none(void **context);
void what_is_just_not_too_large_is_kept(void **context);

#endif
