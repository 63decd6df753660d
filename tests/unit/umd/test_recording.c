// SPDX-License-Identifier: Apache-2.0
// A job on its way to the manager, with the test in the manager's place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "ferry_contract.h"
#include "umd/chunks.h"
#include "umd/recording.h"
#include "umd/residency.h"

#define PAGE      4096u
#define MOST      4u    // allocations that a buffer names
#define LIST      1024u // or so many
#define FIRST_OWN 100u

static unsigned asked, changes_at;  // From so many questions on each page shows an allocation of its own,
static uint64_t kinds = UINT32_MAX; // or one of so many.
static uint64_t hole;               // Up to there nothing is mapped.
static int own_answer = FERRY_ERROR_HANDLE;

int ferry_vidmm_find_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint64_t address,
                             struct ferry_vidmm_mapping *mapping)
{
    (void)manager;
    (void)device;
    uint64_t page = address / PAGE;
    *mapping = (struct ferry_vidmm_mapping){.address = 0, .bytes = UINT64_C(1) << 40, .allocation = 1};
    if (asked++ >= changes_at)
        *mapping = (struct ferry_vidmm_mapping){
            .address = page * PAGE, .bytes = PAGE, .allocation = (D3DKMT_HANDLE)(FIRST_OWN + page % kinds)};
    if (address < hole)
        *mapping = (struct ferry_vidmm_mapping){.address = hole, .bytes = PAGE, .allocation = 2};
    return FERRY_OK;
}

int ferry_vidmm_own_address(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint64_t *address)
{
    (void)manager;
    (void)allocation;
    *address = 0;
    return own_answer;
}

void umd_touch(struct umd_allocation *allocation)
{
    (void)allocation;
}

static struct umd_recording *make_for(UINT allocations)
{
    const DXGK_CONTEXTINFO info = {
        .DmaBufferSize = 4096, .AllocationListSize = allocations, .PatchLocationListSize = 8};
    struct umd_recording *job = umd_recording_make(&info);
    assert_non_null(job);
    return job;
}

static struct umd_recording *make(void)
{
    return make_for(MOST);
}

static bool names(const struct ferry_vidmm_submission *buffer, D3DKMT_HANDLE allocation, bool write)
{
    for (uint32_t i = 0; i < buffer->reference_count; i++)
        if (buffer->references[i].allocation == allocation)
            return buffer->references[i].write == write;
    return false;
}

// Another thread's update of the addresses comes between any two questions of what is mapped there. Whatever was found
// is named, and where that is more than a buffer can nothing is.
static void what_is_mapped_may_change_while_it_is_named(void **state)
{
    (void)state;
    for (uint64_t pages = 1; pages <= 2 * MOST; pages++) {
        for (changes_at = 0; changes_at < 8; changes_at++) {
            struct umd_recording *job = make();
            struct umd_virtual packet = {.destination = 0, .source = 64 * PAGE, .bytes = (uint32_t)(pages * PAGE)};
            uint32_t count;
            asked = 0;
            int error = umd_record_virtual(job, &packet);
            bool one_destination = changes_at > 0, one_source = changes_at > 1;
            uint64_t found = (one_destination ? 1 : pages) + (one_source ? !one_destination : pages);
            assert_int_equal(error, found <= MOST ? FERRY_OK : FERRY_ERROR_RANGE);
            assert_int_equal(umd_recording_is_empty(job), error != FERRY_OK);
            const struct ferry_vidmm_submission *buffer = umd_recording_buffers(job, &count);
            assert_int_equal(count, 1);
            assert_int_equal(buffer->reference_count, error == FERRY_OK ? found : 0);
            for (uint64_t i = 0; i < pages && error == FERRY_OK; i++) {
                assert_true(names(buffer, one_destination ? 1 : (D3DKMT_HANDLE)(FIRST_OWN + i), true));
                if (!one_source)
                    assert_true(names(buffer, (D3DKMT_HANDLE)(FIRST_OWN + 64 + i), false));
            }
            umd_recording_end(job);
        }
    }
}

// What a job of before named by its handle stood in the same place of the list, with an address.
static void what_is_named_by_its_mapping_has_no_address_of_a_job_before(void **state)
{
    (void)state;
    struct umd_allocation allocation = {.vidmm = 7, .address = 0x123000, .bytes = PAGE};
    const struct umd_virtual packet = {.is_fill = true, .destination = 0, .bytes = PAGE};
    struct umd_recording *job = make();
    uint32_t count;
    assert_true(umd_record_fill(job, &allocation, 0, 64, 0, 0));
    assert_true(umd_recording_buffers(job, &count)->addresses[0] == 0x123000);
    umd_recording_empty(job);
    changes_at = UINT32_MAX;
    assert_int_equal(umd_record_virtual(job, &packet), FERRY_OK);
    const struct ferry_vidmm_submission *buffer = umd_recording_buffers(job, &count);
    assert_int_equal(buffer->references[0].allocation, 1);
    assert_true(buffer->addresses[0] == 0);
    umd_recording_end(job);
}

#define GIB_4 (UINT64_C(1) << 32)

static uint64_t get(const uint8_t *at, uint32_t bytes)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

struct walk {
    uint64_t to, from; // where its next row begins
    uint32_t rows, packets;
};

// What stands in the buffer of rows of 64 bytes: each where it is to be, and no packet over a multiple of 4 GiB.
static void follow(struct walk *walk, const struct ferry_vidmm_submission *buffer, int64_t pitch)
{
    for (uint32_t at = 0; at < buffer->bytes; at += FERRY_PACKET_COPY_RECTANGLE_SIZE) {
        const uint8_t *packet = (const uint8_t *)buffer->commands + at;

        if ((get(packet, 4) & 0xff) != FERRY_OPCODE_COPY_RECTANGLE) {
            at -= FERRY_PACKET_COPY_RECTANGLE_SIZE - FERRY_PACKET_COPY_SIZE;
            continue;
        }
        uint32_t rows = (uint32_t)get(packet + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW, 4) + 1;
        uint64_t to = get(packet + FERRY_PACKET_COPY_RECTANGLE_DESTINATION, 8);
        uint64_t from = get(packet + FERRY_PACKET_COPY_RECTANGLE_SOURCE, 8), last = to + (uint64_t)(pitch * (rows - 1));
        assert_int_equal(get(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES, 4), 64);
        assert_int_equal(get(packet + FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH, 4), (uint32_t)pitch);
        assert_int_equal(get(packet + FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH, 4), 0);
        assert_true(to == walk->to && from == walk->from);
        assert_true(to / GIB_4 == last / GIB_4 && to / GIB_4 == (to + 63) / GIB_4 &&
                    last / GIB_4 == (last + 63) / GIB_4);
        walk->to += (uint64_t)(pitch * rows);
        walk->rows += rows;
        walk->packets++;
    }
    assert_true(names(buffer, 7, true) || names(buffer, FIRST_OWN, true));
    assert_true(names(buffer, 7, true) || names(buffer, FIRST_OWN + 1, false));
}

// Each buffer names all of it, and none has more than fits.
static void a_rectangle_in_pieces_goes_on_in_the_next_buffer(void **state)
{
    struct umd_allocation allocation = {.vidmm = 7, .address = 0x123000, .bytes = PAGE};

    (void)state;
    changes_at = 0;
    kinds = 2;
    for (int64_t pitch = -(INT64_C(1) << 31); pitch <= INT64_C(0x7fffe000); pitch += INT64_C(0xffffe000)) {
        struct umd_recording *job = make();
        struct walk walk = {.to = pitch < 0 ? 300 * GIB_4 : GIB_4, .from = 3 * PAGE};
        const struct umd_rectangle r = {.row_bytes = 64,
                                        .rows = 400,
                                        .destination = {.at = walk.to, .pitch = (int32_t)pitch},
                                        .source = {.at = walk.from, .pitch = 0}};
        const struct ferry_vidmm_submission *buffers;
        uint32_t count;

        // What is named is one too many for the buffer that has begun.
        assert_true(umd_record_copy(job, &allocation, 0, &allocation, 64, 64));
        assert_int_equal(umd_record_rectangle(job, &r), FERRY_OK);
        buffers = umd_recording_buffers(job, &count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(buffers[i].reference_count <= MOST && buffers[i].bytes <= 4096);
            follow(&walk, &buffers[i], pitch);
        }
        assert_int_equal(walk.rows, 400);
        assert_true(walk.packets >= 200 && count >= 4);
        umd_recording_end(job);
    }
    kinds = UINT32_MAX;
}

// Rows of one page each, of as many allocations: with one that is named by its handle there is one place less.
static void a_rectangle_that_names_more_than_a_buffer_can_is_not_recorded(void **state)
{
    struct umd_allocation allocation = {.vidmm = 7, .address = 0x123000, .bytes = 64 * PAGE};

    (void)state;
    changes_at = 0;
    for (uint32_t rows = 1; rows <= MOST + 1; rows++) {
        for (unsigned by_handle = 0; by_handle < 2; by_handle++) {
            struct umd_recording *job = make();
            struct umd_rectangle r = {.row_bytes = 64,
                                      .rows = rows,
                                      .destination = {.at = 8 * PAGE, .pitch = PAGE},
                                      .source = {.at = 8 * PAGE, .pitch = PAGE}};
            uint32_t count;

            if (by_handle)
                r.source = (struct umd_rectangle_side){.allocation = &allocation, .pitch = PAGE};
            assert_int_equal(umd_record_rectangle(job, &r), rows + by_handle <= MOST ? FERRY_OK : FERRY_ERROR_RANGE);
            assert_int_equal(umd_recording_is_empty(job), rows + by_handle > MOST);
            const struct ferry_vidmm_submission *buffer = umd_recording_buffers(job, &count);
            assert_int_equal(count, 1);
            assert_int_equal(buffer->reference_count, rows + by_handle <= MOST ? rows + by_handle : 0);
            umd_recording_end(job);
        }
    }
}

// CPU time in which a packet is recorded that writes so many pages, by turns of so many allocations.
static double of_pages(uint32_t pages, uint64_t allocations)
{
    const struct umd_virtual packet = {.is_fill = true, .destination = 0, .bytes = pages * PAGE};
    struct umd_recording *job = make_for(LIST);
    uint32_t count;
    clock_t begun = clock();
    changes_at = 0;
    kinds = allocations;
    assert_int_equal(umd_record_virtual(job, &packet), FERRY_OK);
    double took = (double)(clock() - begun) / CLOCKS_PER_SEC;
    const struct ferry_vidmm_submission *buffer = umd_recording_buffers(job, &count);
    assert_int_equal(buffer->reference_count, allocations);
    for (uint64_t i = 0; i < allocations; i++)
        assert_true(buffer->references[i].write && buffer->references[i].allocation == FIRST_OWN + i);
    umd_recording_end(job);
    kinds = UINT32_MAX;
    return took;
}

// Other programs' calls wait as long.
static void what_is_found_is_not_looked_for_among_all_that_was(void **state)
{
    (void)state;
    double few = of_pages(65536, 10), many = of_pages(65536, LIST);
    printf("%.1f ms for 65,536 pages of 10 allocations, %.1f of %u\n", few * 1e3, many * 1e3, LIST);
    assert_true(many < 8 * few + 20e-3);
}

// ---- From one job to the next, and from one buffer ----

// The words that a packet leaves alone are 0, whatever stood there in the job before.
static void a_packet_has_nothing_of_the_job_before(void **state)
{
    (void)state;
    struct umd_allocation allocation = {.vidmm = 7, .bytes = 64 * PAGE};
    const struct umd_rectangle r = {.row_bytes = 64,
                                    .rows = 9,
                                    .destination = {.allocation = &allocation, .pitch = PAGE},
                                    .source = {.allocation = &allocation, .at = 64, .pitch = PAGE}};
    struct umd_recording *job = make();
    uint32_t count;
    assert_int_equal(umd_record_rectangle(job, &r), FERRY_OK);
    assert_int_equal(get(umd_recording_buffers(job, &count)->commands, 4) & 0xff, FERRY_OPCODE_COPY_RECTANGLE);
    umd_recording_empty(job);
    assert_true(umd_record_copy(job, &allocation, 0, &allocation, 64, 64));
    const uint8_t *packet = umd_recording_buffers(job, &count)->commands;
    assert_int_equal(get(packet, 4) & 0xff, FERRY_OPCODE_COPY);
    assert_int_equal(get(packet + FERRY_PACKET_COPY_BYTES + 4, 4), 0);
    umd_recording_end(job);
}

static void an_emptied_job_is_recorded_into_again(void **state)
{
    (void)state;
    struct umd_recording *job = make();
    job->submitted = 5;
    assert_ptr_not_equal(umd_recording_open(job), job);
    umd_recording_empty(job);
    assert_ptr_equal(umd_recording_open(job), job);
    umd_recording_end(job);
}

// However they come back: one by one, or some that were joined before.
static void parts_are_joined_in_the_order_of_their_submissions(void **state)
{
    (void)state;
    static const uint64_t orders[][4] = {
        {1, 2, 3, UINT64_MAX}, {3, 1, 2, UINT64_MAX}, {2, UINT64_MAX, 3, 1}, {UINT64_MAX, 3, 2, 1}};
    for (unsigned order = 0; order < 4; order++) {
        struct umd_recording *parts[4], *all;
        for (unsigned i = 0; i < 4; i++) {
            parts[i] = make();
            parts[i]->submitted = orders[order][i];
        }
        all = umd_recording_join(umd_recording_join(parts[0], parts[1]), umd_recording_join(parts[2], parts[3]));
        unsigned count = 0;
        for (const struct umd_recording *part = all; part; part = part->behind, count++)
            assert_true(part->submitted == (count == 3 ? UINT64_MAX : count + 1));
        assert_int_equal(count, 4);
        umd_recording_end(all);
    }
}

// To the last byte, and with as many allocations as it may name.
static void a_buffer_is_filled_to_its_end(void **state)
{
    (void)state;
    struct umd_allocation one = {.vidmm = 7, .bytes = PAGE}, other = {.vidmm = 8, .bytes = PAGE};
    struct umd_recording *job = make_for(LIST);
    uint32_t count;
    job->info.PatchLocationListSize = LIST;
    for (uint32_t i = 0; i <= 4096 / FERRY_PACKET_FILL_SIZE; i++) {
        assert_true(umd_record_fill(job, &one, 0, 64, i, 0));
        assert_non_null(umd_recording_buffers(job, &count));
        assert_int_equal(count, i == 4096 / FERRY_PACKET_FILL_SIZE ? 2 : 1);
    }
    umd_recording_end(job);
    job = make();
    for (unsigned i = 0; i < 6; i += 2) {
        assert_true(umd_record_copy(job, &one, 0, &other, 0, 64));
        one.vidmm += 2;
        other.vidmm += 2;
        assert_non_null(umd_recording_buffers(job, &count));
        assert_int_equal(count, i < MOST ? 1 : 2);
    }
    umd_recording_end(job);
}

// ---- Ends ----

// The last packet of a fill that is a write and copies begins where it is said to.
static void the_last_packet_of_a_fill_begins_where_it_is_said_to(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 8, 9, 15, 16, 17, 31, 32, 33, 4095, 4096, 4097, 1u << 31, UINT32_MAX};
    struct umd_allocation allocation = {.vidmm = 7, .bytes = GIB_4, .in_aperture = true};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct umd_recording *job = make_for(LIST);
        job->info.PatchLocationListSize = LIST;
        assert_true(umd_record_fill(job, &allocation, 64, sizes[i], 5, 0));
        const struct umd_chunk *chunk = &job->chunks[job->chunk_count - 1];
        assert_true(chunk->places[chunk->place_count - 1].side == FERRY_KMD_PATCH_DESTINATION);
        assert_true(chunk->places[chunk->place_count - 1].offset == umd_record_fill_last(&allocation, 64, sizes[i]));
        umd_recording_end(job);
    }
}

static void what_is_mapped_behind_the_last_byte_is_not_named(void **state)
{
    (void)state;
    const struct umd_virtual packet = {.is_fill = true, .destination = 0, .bytes = PAGE};
    for (uint64_t end = PAGE - 64; end <= PAGE + 64; end += 64) {
        struct umd_recording *job = make();
        uint32_t count;
        hole = end;
        changes_at = UINT32_MAX;
        assert_int_equal(umd_record_virtual(job, &packet), FERRY_OK);
        assert_int_equal(umd_recording_buffers(job, &count)->reference_count, end < PAGE);
        umd_recording_end(job);
    }
    hole = 0;
}

// It has none that Patch could give it either: the job is a fault of its own, and not one of another allocation's.
static void what_has_lost_its_address_is_nowhere(void **state)
{
    (void)state;
    struct umd_allocation allocation = {.vidmm = 7, .address = 0x123000, .bytes = PAGE};
    struct umd_recording *job = make();
    uint32_t count;
    assert_true(umd_record_fill(job, &allocation, 0, 64, 0, 0));
    own_answer = FERRY_OK;
    umd_recording_renamed(job, NULL);
    own_answer = FERRY_ERROR_HANDLE;
    const struct ferry_vidmm_submission *buffer = umd_recording_buffers(job, &count);
    assert_true(buffer->addresses[0] == FERRY_VIDMM_NOWHERE);
    assert_int_equal(buffer->patch_count, 0);
    umd_recording_end(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_may_change_while_it_is_named),
        cmocka_unit_test(what_is_named_by_its_mapping_has_no_address_of_a_job_before),
        cmocka_unit_test(a_rectangle_in_pieces_goes_on_in_the_next_buffer),
        cmocka_unit_test(a_rectangle_that_names_more_than_a_buffer_can_is_not_recorded),
        cmocka_unit_test(what_is_found_is_not_looked_for_among_all_that_was),
        cmocka_unit_test(a_packet_has_nothing_of_the_job_before),
        cmocka_unit_test(an_emptied_job_is_recorded_into_again),
        cmocka_unit_test(parts_are_joined_in_the_order_of_their_submissions),
        cmocka_unit_test(a_buffer_is_filled_to_its_end),
        cmocka_unit_test(the_last_packet_of_a_fill_begins_where_it_is_said_to),
        cmocka_unit_test(what_is_mapped_behind_the_last_byte_is_not_named),
        cmocka_unit_test(what_has_lost_its_address_is_nowhere),
    };
    return cmocka_run_group_tests_name("umd_recording", tests, NULL, NULL);
}
