// SPDX-License-Identifier: Apache-2.0
// Which copies of user jobs may run ahead of the writes before them: those that read nothing that a job in flight, of
// any user ring, writes. Nothing runs here before the test waits, so all that was submitted is in flight.
#include "ferry_contract.h"
#include "rig.h"

#define UNORDERED FERRY_PACKET_HEADER_UNORDERED_MASK

// A job under construction, with places in it: the patch list is empty.
struct job {
    uint8_t bytes[4096];
    uint32_t used, packets, at[64];
};

static void put(struct job *job, const uint32_t *words, uint32_t count)
{
    job->at[job->packets++] = job->used;
    memcpy(job->bytes + job->used, words, 4 * (size_t)count);
    job->used += 4 * count;
}

static void copy(struct job *job, uint32_t source_kind, uint32_t from, uint32_t destination_kind, uint32_t to,
                 uint32_t bytes)
{
    uint32_t words[8] = {FERRY_OPCODE_COPY | 8 << 16,
                         FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, source_kind) |
                             FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, destination_kind),
                         bytes,
                         0,
                         from,
                         0,
                         to,
                         0};
    put(job, words, 8);
}

static void local_copy(struct job *job, uint32_t from, uint32_t to, uint32_t bytes)
{
    copy(job, FERRY_ADDRESS_KIND_LOCAL, from, FERRY_ADDRESS_KIND_LOCAL, to, bytes);
}

static void value(struct job *job, uint32_t opcode, uint32_t to, uint32_t bytes)
{
    uint32_t words[8] = {opcode | 8 << 16,
                         FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, FERRY_ADDRESS_KIND_LOCAL),
                         bytes,
                         0,
                         to,
                         0,
                         0,
                         0};
    put(job, words, 8);
}

// Rows of 64 bytes.
static void rectangle(struct job *job, uint32_t from, int32_t from_pitch, uint32_t to, int32_t to_pitch, uint32_t rows)
{
    uint32_t words[12] = {FERRY_OPCODE_COPY_RECTANGLE | 12 << 16,
                          FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, FERRY_ADDRESS_KIND_LOCAL) |
                              FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, FERRY_ADDRESS_KIND_LOCAL),
                          64,
                          rows - 1,
                          from,
                          0,
                          to,
                          0,
                          (uint32_t)from_pitch,
                          0,
                          (uint32_t)to_pitch,
                          0};
    put(job, words, 12);
}

// The job on a ring; `runs_ahead` tells of each packet whether it may.
static void submit(struct rig *rig, const struct job *job, HANDLE context, uint32_t node, uint32_t fence,
                   const char *runs_ahead)
{
    uint8_t *buffer = (uint8_t *)rig->buffer.address + 4096 * (size_t)(node - 2);
    DXGKARG_PATCH patch = {.hContext = context,
                           .pDmaBuffer = buffer,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = job->used,
                           .NodeOrdinal = node};
    DXGKARG_SUBMITCOMMAND submitted = {.hContext = context,
                                       .DmaBufferSize = 4096,
                                       .DmaBufferSubmissionEndOffset = job->used,
                                       .SubmissionFenceId = fence,
                                       .NodeOrdinal = node};

    submitted.DmaBufferPhysicalAddress.QuadPart = (int64_t)(rig->buffer.bus + 4096 * (uint64_t)(node - 2));
    memcpy(buffer, job->bytes, job->used);
    assert_int_equal(patch_places(rig, &patch), STATUS_SUCCESS);
    assert_int_equal(strlen(runs_ahead), job->packets);
    for (uint32_t i = 0; i < job->packets; i++) {
        uint32_t header;
        memcpy(&header, buffer + job->at[i], 4);
        if (((header & UNORDERED) != 0) != (runs_ahead[i] == 'a'))
            fail_msg("packet %u of fence %u", i, fence);
    }
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submitted), STATUS_SUCCESS);
}

static HANDLE third_ring(struct rig *rig)
{
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 3, .EngineAffinity = 1};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(rig->device, &context), STATUS_SUCCESS);
    return context.hContext;
}

static void a_copy_runs_ahead_unless_it_reads_what_is_written(void **state)
{
    struct rig *rig = *state;
    struct job job = {0}, other = {0}, later = {0};
    HANDLE context = third_ring(rig);

    local_copy(&job, 0x1000, 0x10000, 64);
    local_copy(&job, 0x2000, 0x20000, 0x1800); // Into two pages.
    local_copy(&job, 0x10040, 0x30000, 64);    // The page that the first one writes.
    local_copy(&job, 0x20ff8, 0x31000, 64);    // Both pages of the second.
    local_copy(&job, 0x1fff0, 0x32000, 64);    // A page before, and the first of them.
    local_copy(&job, 0x21ff8, 0x33000, 8);     // The last one's end.
    local_copy(&job, 0x22000, 0x34000, 64);    // The page behind.
    value(&job, FERRY_OPCODE_FILL, 0x40000, 64);
    local_copy(&job, 0x40000, 0x35000, 8);
    value(&job, FERRY_OPCODE_WRITE, 0x50000, 8);
    local_copy(&job, 0x50000, 0x36000, 8);
    copy(&job, FERRY_ADDRESS_KIND_LOCAL, 0x3000, FERRY_ADDRESS_KIND_APERTURE, 0x4000, 64);
    local_copy(&job, 0x4000, 0x37000, 64); // The same address, but of video memory.
    copy(&job, FERRY_ADDRESS_KIND_APERTURE, 0x9000, FERRY_ADDRESS_KIND_LOCAL, 0x38000, 64);
    submit(rig, &job, rig->user_context, 2, 1, "aawwwwawwwwaaw");
    // Another ring's job waits for the same, and so does one behind it for that one.
    local_copy(&other, 0x10000, 0x60000, 64);
    local_copy(&other, 0x1000, 0x61000, 64);
    submit(rig, &other, context, 3, 2, "wa");
    wait_for(rig, 2, 1);
    wait_for(rig, 3, 2);
    local_copy(&later, 0x10000, 0x60000, 64);
    local_copy(&later, 0x20000, 0x61000, 64);
    submit(rig, &later, context, 3, 3, "aa");
    wait_for(rig, 3, 3);
    assert_int_equal(rig->kmd->DxgkDdiDestroyContext(context), STATUS_SUCCESS);
}

// Where memory does not answer the copy that reads, a reset tells to go on with that one: it must not find what one
// behind it wrote. Of what stands in front of a copy that waits nothing is under way any more.
static void a_copy_over_what_an_earlier_one_of_its_job_reads_waits(void **state)
{
    struct rig *rig = *state;
    struct job job = {0}, large = {0};
    HANDLE context = third_ring(rig);

    local_copy(&job, 0x1000, 0x10000, 64);
    local_copy(&job, 0x2fc0, 0x20000, 128); // Two pages.
    local_copy(&job, 0x40000, 0x3f80, 64);  // The second of them.
    local_copy(&job, 0x41000, 0x1100, 64);  // What the first one reads, but that is over.
    local_copy(&job, 0x42000, 0x40800, 64); // What the one that waited reads.
    copy(&job, FERRY_ADDRESS_KIND_LOCAL, 0x50000, FERRY_ADDRESS_KIND_APERTURE, 0x42000, 64); // No video memory.
    local_copy(&job, 0x51000, 0x51040, 65); // Over itself: it would go again behind a reset.
    local_copy(&job, 0x52040, 0x52000, 65);
    local_copy(&job, 0x53000, 0x53040, 64); // Beside itself, in a page.
    local_copy(&job, 0x54040, 0x54000, 64);
    copy(&job, FERRY_ADDRESS_KIND_LOCAL, 0x55000, FERRY_ADDRESS_KIND_APERTURE, 0x55000, 64); // By the number alone.
    submit(rig, &job, rig->user_context, 2, 1, "aawawawwaaa");
    // What is too large to be looked at may be anywhere.
    local_copy(&large, 0x100000, 0x400000, 0x100000);
    local_copy(&large, 0x60000, 0x70000, 64);
    submit(rig, &large, context, 3, 2, "ww");
    wait_for(rig, 2, 1);
    wait_for(rig, 3, 2);
    assert_int_equal(rig->kmd->DxgkDdiDestroyContext(context), STATUS_SUCCESS);
}

// All that lies between its lowest byte and its highest counts as read, or as written.
static void a_rectangle_runs_ahead_as_a_copy_does(void **state)
{
    struct rig *rig = *state;
    struct job job = {0}, upwards = {0}, large = {0};

    rectangle(&job, 0x1000, 0x1000, 0x10000, 0x800, 4); // 0x1000 to 0x403f into 0x10000 to 0x1183f
    rectangle(&job, 0x1000, 0, 0x40000, 64, 2);         // Nothing of that.
    local_copy(&job, 0x12000, 0x50000, 64);             // Just behind it;
    rectangle(&job, 0xe000, 0x1000, 0x51000, 64, 2);    // just in front of it,
    rectangle(&job, 0xe000, 0x1000, 0x52000, 64, 3);    // and with its first page.
    local_copy(&job, 0x11fc0, 0x53000, 64);             // Its last page.
    rectangle(&job, 0x11000, 0x800, 0x54000, 64, 2);
    submit(rig, &job, rig->user_context, 2, 1, "aaaawww");
    wait_for(rig, 2, 1);
    rectangle(&upwards, 0x4000, -0x1000, 0x12000, -0x1000, 4); // 0x1000 to 0x403f into 0xf000 to 0x1203f
    local_copy(&upwards, 0x60000, 0x5000, 64);
    local_copy(&upwards, 0x60000, 0x4fc0, 64); // Over what it reads,
    rectangle(&upwards, 0x60000, 0, 0x200, 0x400, 3);
    rectangle(&upwards, 0x62000, 0, 0x70000, 64, 1);
    rectangle(&upwards, 0x63000, 0, 0x62040, 64, 1);
    local_copy(&upwards, 0xf000, 0x64000, 64); // and from what it writes.
    submit(rig, &upwards, rig->user_context, 2, 2, "aawaaww");
    wait_for(rig, 2, 2);
    // Too large to be looked at is the whole side, however little of it is rows.
    rectangle(&large, 0x1000, 0, 0x100000, 0x20000, 3);
    local_copy(&large, 0x2000, 0x3000, 64);
    rectangle(&large, 0x100000, 0x20000, 0x4000, 64, 3);
    submit(rig, &large, rig->user_context, 2, 3, "aww");
    wait_for(rig, 2, 3);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
}

// Nor does it matter in which buffer it stands: what a buffer in flight has read is not yet what it goes on with. Of
// another ring nothing is read before or behind, and of what is over, nothing at all.
static void a_copy_over_what_an_earlier_buffer_of_its_ring_reads_waits(void **state)
{
    struct rig *rig = *state;
    struct job first = {0}, second = {0}, third = {0}, other = {0}, large = {0};
    HANDLE context = third_ring(rig);

    local_copy(&first, 0x1000, 0x10000, 64);
    local_copy(&first, 0x2fc0, 0x20000, 128); // Two pages.
    submit(rig, &first, rig->user_context, 2, 1, "aa");
    local_copy(&other, 0x40000, 0x46000, 64);
    local_copy(&other, 0x40000, 0x1000, 64);
    submit(rig, &other, context, 3, 2, "aa");
    local_copy(&second, 0x41000, 0x4000, 64);
    local_copy(&second, 0x42000, 0x3f80, 64);
    local_copy(&second, 0x43000, 0x1100, 64); // Behind the one that waited nothing of the first buffer is under way.
    submit(rig, &second, rig->user_context, 2, 3, "awa");
    local_copy(&third, 0x44000, 0x42f00, 64); // What that one reads itself.
    submit(rig, &third, rig->user_context, 2, 4, "w");
    wait_for(rig, 2, 4);
    wait_for(rig, 3, 2);
    submit(rig, &first, rig->user_context, 2, 5, "aa");
    wait_for(rig, 2, 5);
    local_copy(&large, 0x45000, 0x1000, 64);
    submit(rig, &large, rig->user_context, 2, 6, "a");
    wait_for(rig, 2, 6);
    assert_int_equal(rig->kmd->DxgkDdiDestroyContext(context), STATUS_SUCCESS);
}

// After a reset a buffer is patched again, as it is: what one Patch has called unordered another one judges anew.
static void a_buffer_that_was_patched_before_is_judged_anew(void **state)
{
    struct rig *rig = *state;
    struct job job = {0};

    local_copy(&job, 0x1000, 0x10000, 64);
    local_copy(&job, 0x40000, 0x1000, 64);
    local_copy(&job, 0x1000, 0x20000, 64);
    for (unsigned i = 0; i < job.packets; i++)
        job.bytes[job.at[i] + 1] |= UNORDERED >> 8;
    submit(rig, &job, rig->user_context, 2, 1, "aww");
    wait_for(rig, 2, 1);
}

// Two rings write one page: the read waits until both are done.
static void the_later_writer_does_not_hide_the_earlier_one(void **state)
{
    struct rig *rig = *state;
    struct job first = {0}, second = {0}, third = {0};
    HANDLE context = third_ring(rig);

    local_copy(&first, 0x1000, 0x10000, 64);
    local_copy(&second, 0x1000, 0x10000, 64);
    submit(rig, &first, rig->user_context, 2, 1, "a");
    submit(rig, &second, context, 3, 2, "a");
    local_copy(&third, 0x10000, 0x20000, 64);
    submit(rig, &third, context, 3, 3, "w");
    wait_for(rig, 2, 1);
    wait_for(rig, 3, 3);
    assert_int_equal(rig->kmd->DxgkDdiDestroyContext(context), STATUS_SUCCESS);
}

static void what_is_too_large_to_note_makes_everything_wait_until_it_is_done(void **state)
{
    struct rig *rig = *state;
    struct job job = {0}, later = {0};

    local_copy(&job, 0x1000, 0x2000, 64);
    value(&job, FERRY_OPCODE_FILL, 0x100000, 65 * PAGE_SIZE);
    local_copy(&job, 0x1000, 0x3000, 64);
    local_copy(&job, 0x100000, 0x4000, 64);
    submit(rig, &job, rig->user_context, 2, 1, "awww");
    wait_for(rig, 2, 1);
    value(&later, FERRY_OPCODE_FILL, 0x100000, 64 * PAGE_SIZE);
    local_copy(&later, 0x1000, 0x3000, 64);
    local_copy(&later, 0x100000 + 63 * PAGE_SIZE, 0x4000, 64);
    local_copy(&later, 0x200000, 0x200000 + 100 * PAGE_SIZE, 65 * PAGE_SIZE); // Too large to look up.
    submit(rig, &later, rig->user_context, 2, 2, "waww");
    wait_for(rig, 2, 2);
}

// What waits behind a read that is too large to note finds it over, and so does whatever comes behind that.
static void behind_what_waited_for_a_large_read_copies_run_ahead(void **state)
{
    struct rig *rig = *state;
    struct job job = {0};

    rectangle(&job, 0x100000, 0x20000, 0x4000, 64, 3);
    local_copy(&job, 0x60000, 0x70000, 64);
    local_copy(&job, 0x62000, 0x72000, 64);
    local_copy(&job, 0x64000, 0x60000, 64); // Over what the one that waited reads.
    submit(rig, &job, rig->user_context, 2, 1, "wwaw");
    wait_for(rig, 2, 1);
}

// A packet of which nothing is known might write anything; and what is no packet is not looked at.
static void behind_an_unknown_packet_everything_waits(void **state)
{
    struct rig *rig = *state;
    struct job job = {0}, broken = {0};
    const uint32_t pages[8] = {FERRY_OPCODE_COPY_PAGES | 8 << 16}, torn[2] = {FERRY_OPCODE_COPY | 40 << 16};

    local_copy(&job, 0x1000, 0x2000, 64);
    put(&job, pages, 8);
    local_copy(&job, 0x3000, 0x4000, 64);
    submit(rig, &job, rig->user_context, 2, 1, "aww");
    wait_for(rig, 2, 1);
    put(&broken, torn, 2);
    submit(rig, &broken, rig->user_context, 2, 2, "w");
    wait_for(rig, 2, 2);
}

int main(void)
{
    rig_tiling = true;
    const struct CMUnitTest tests[] = {
        CASE(a_copy_runs_ahead_unless_it_reads_what_is_written),
        CASE(a_copy_over_what_an_earlier_one_of_its_job_reads_waits),
        CASE(a_rectangle_runs_ahead_as_a_copy_does),
        CASE(a_copy_over_what_an_earlier_buffer_of_its_ring_reads_waits),
        CASE(a_buffer_that_was_patched_before_is_judged_anew),
        CASE(the_later_writer_does_not_hide_the_earlier_one),
        CASE(what_is_too_large_to_note_makes_everything_wait_until_it_is_done),
        CASE(behind_what_waited_for_a_large_read_copies_run_ahead),
        CASE(behind_an_unknown_packet_everything_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
