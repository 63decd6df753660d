// SPDX-License-Identifier: Apache-2.0
// A user's buffer in driver model 1 reaches what its list says, where it says it, and nothing else: whatever its
// packets name and wherever its patches go.
#include "ferry_contract.h"
#include "rig.h"

// What the job of each case names: 16 KiB that it writes, 16 KiB that it reads, and two pages of the aperture.
enum { WRITTEN = 0x10000, READ_ONLY = 0x20000, BYTES = 0x4000, MAPPED = 0x3000, MAPPED_BYTES = 0x2000 };
enum { LOCAL = FERRY_ADDRESS_KIND_LOCAL, SYSTEM = FERRY_ADDRESS_KIND_SYSTEM, APERTURE = FERRY_ADDRESS_KIND_APERTURE };

struct job {
    DXGK_ALLOCATIONLIST list[3];
    DXGKARG_PATCH patch;
    uint32_t *words;
    UINT bytes;
};

static void begin(struct rig *rig, struct job *job)
{
    *job = (struct job){.words = rig->buffer.address};
    job->list[0] = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = make_allocation(rig, BYTES, false),
                                         .SegmentId = FERRY_KMD_SEGMENT_LOCAL,
                                         .WriteOperation = 1};
    job->list[0].PhysicalAddress.QuadPart = WRITTEN;
    job->list[1] = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = make_allocation(rig, BYTES, false),
                                         .SegmentId = FERRY_KMD_SEGMENT_LOCAL};
    job->list[1].PhysicalAddress.QuadPart = READ_ONLY;
    job->list[2] = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = make_allocation(rig, MAPPED_BYTES, true),
                                         .SegmentId = FERRY_KMD_SEGMENT_APERTURE,
                                         .WriteOperation = 1};
    job->list[2].PhysicalAddress.QuadPart = FERRY_KMD_APERTURE_BASE + MAPPED;
    job->patch = (DXGKARG_PATCH){
        .hContext = rig->user_context, .pDmaBuffer = rig->buffer.address, .DmaBufferSize = 4096, .NodeOrdinal = 2};
}

static void end(struct rig *rig, struct job *job)
{
    for (unsigned i = 0; i < 3; i++)
        destroy_allocation(rig, job->list[i].hDeviceSpecificAllocation);
}

static uint32_t *put(struct job *job, uint32_t opcode, uint32_t bytes, uint32_t source_kind, uint32_t destination_kind)
{
    uint32_t *packet = job->words + job->bytes / 4;

    memset(packet, 0, bytes);
    packet[0] = FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, opcode) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, bytes / 4);
    packet[1] = FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, source_kind) |
                FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, destination_kind);
    job->bytes += bytes;
    return packet;
}

static void patch(struct rig *rig, struct job *job)
{
    job->patch.DmaBufferSubmissionEndOffset = job->bytes;
    job->patch.pAllocationList = job->list;
    job->patch.AllocationListSize = 3;
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &job->patch), STATUS_SUCCESS);
}

static uint32_t source_of(const uint32_t *packet)
{
    return FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, packet[1]);
}

static uint32_t destination_of(const uint32_t *packet)
{
    return FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, packet[1]);
}

static const struct linear {
    uint32_t opcode, packet_bytes, source_kind, source, destination_kind, destination, bytes;
    char refused; // 's'ource, 'd'estination, '-' none of it
} linear[] = {
#define COPY(...)                                                                                                      \
    {                                                                                                                  \
        FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, __VA_ARGS__                                                         \
    }
    COPY(LOCAL, READ_ONLY, LOCAL, WRITTEN, BYTES, '-'),
    COPY(LOCAL, READ_ONLY + 1, LOCAL, WRITTEN, BYTES, 's'),
    COPY(LOCAL, READ_ONLY - 1, LOCAL, WRITTEN, 1, 's'),
    COPY(LOCAL, READ_ONLY + BYTES, LOCAL, WRITTEN, 1, 's'),
    COPY(LOCAL, READ_ONLY, LOCAL, WRITTEN + 1, BYTES, 'd'),
    COPY(LOCAL, READ_ONLY, LOCAL, WRITTEN - 1, 1, 'd'),
    COPY(LOCAL, WRITTEN, LOCAL, READ_ONLY, 1, 'd'), // It is only read.
    COPY(LOCAL, WRITTEN, LOCAL, WRITTEN + 64, 64, '-'),
    COPY(LOCAL, 0, LOCAL, WRITTEN, 0, '-'), // Nothing of it.
    COPY(LOCAL, READ_ONLY, LOCAL, WRITTEN, UINT32_MAX, 'b'),
    COPY(APERTURE, MAPPED, LOCAL, WRITTEN, MAPPED_BYTES, '-'),
    COPY(APERTURE, MAPPED, LOCAL, WRITTEN, MAPPED_BYTES + 1, 's'),
    COPY(APERTURE, READ_ONLY, LOCAL, WRITTEN, 8, 's'), // There in video memory only,
    COPY(LOCAL, MAPPED, LOCAL, WRITTEN, 8, 's'),       // and there in the aperture.
    COPY(LOCAL, READ_ONLY, APERTURE, MAPPED + MAPPED_BYTES - 8, 8, '-'),
    COPY(LOCAL, READ_ONLY, APERTURE, MAPPED + MAPPED_BYTES - 8, 9, 'd'),
    COPY(SYSTEM, READ_ONLY, LOCAL, WRITTEN, 8, 's'),
#undef COPY
    {FERRY_OPCODE_READ, FERRY_PACKET_READ_SIZE, LOCAL, READ_ONLY + BYTES - 8, 0, 0, 8, '-'},
    {FERRY_OPCODE_READ, FERRY_PACKET_READ_SIZE, LOCAL, READ_ONLY + BYTES - 7, 0, 0, 8, 's'},
#define TO(opcode, ...)                                                                                                \
    {                                                                                                                  \
        FERRY_OPCODE_##opcode, FERRY_PACKET_##opcode##_SIZE, 0, 0, __VA_ARGS__                                         \
    }
    TO(FILL, LOCAL, WRITTEN, BYTES, '-'),
    TO(FILL, LOCAL, WRITTEN, BYTES + 1, 'd'),
    TO(FILL, LOCAL, READ_ONLY, 8, 'd'),
    TO(WRITE, LOCAL, WRITTEN + BYTES - 8, 8, '-'),
    TO(WRITE, LOCAL, WRITTEN + BYTES - 7, 8, 'd'),
    TO(DISCARD, LOCAL, WRITTEN, BYTES, '-'),
    TO(DISCARD, LOCAL, WRITTEN - 8, BYTES, 'd'),
#undef TO
};

static void each_packet_lies_within_what_the_list_names(void **state)
{
    struct rig *rig = *state;
    struct job job;

    begin(rig, &job);
    for (unsigned i = 0; i < sizeof linear / sizeof linear[0]; i++) {
        const struct linear *c = &linear[i];
        bool from = c->opcode == FERRY_OPCODE_COPY || c->opcode == FERRY_OPCODE_READ;

        job.bytes = 0;
        uint32_t *packet = put(&job, c->opcode, c->packet_bytes, c->source_kind, c->destination_kind);
        packet[FERRY_PACKET_COPY_BYTES / 4] = c->bytes;
        if (from)
            packet[FERRY_PACKET_COPY_SOURCE / 4] = c->source;
        if (c->opcode != FERRY_OPCODE_READ)
            packet[from ? FERRY_PACKET_COPY_DESTINATION / 4 : FERRY_PACKET_FILL_DESTINATION / 4] = c->destination;
        patch(rig, &job);
        if (source_of(packet) != (c->refused == 's' || c->refused == 'b' ? SYSTEM : c->source_kind) ||
            destination_of(packet) != (c->refused == 'd' || c->refused == 'b' ? SYSTEM : c->destination_kind))
            fail_msg("case %u: places %#x", i, packet[1]);
    }
    // What wraps around the end of all addresses does not lie before it.
    job.bytes = 0;
    uint32_t *packet = put(&job, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, 0, LOCAL);
    packet[FERRY_PACKET_FILL_BYTES / 4] = 64;
    memset(packet + FERRY_PACKET_FILL_DESTINATION / 4, 0xff, 8);
    patch(rig, &job);
    assert_int_equal(destination_of(packet), SYSTEM);
    // Nor where what is there begins at 0, and what comes behind the end lies within it.
    job.list[0].PhysicalAddress.QuadPart = 0;
    packet[1] = FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, LOCAL);
    patch(rig, &job);
    assert_int_equal(destination_of(packet), SYSTEM);
    job.list[0].PhysicalAddress.QuadPart = WRITTEN;
    // A fence has its address elsewhere, and always 8 bytes.
    for (uint32_t at = WRITTEN + BYTES - 8; at <= WRITTEN + BYTES; at += 8) {
        job.bytes = 0;
        packet = put(&job, FERRY_OPCODE_FENCE, FERRY_PACKET_FENCE_SIZE, 0, LOCAL);
        packet[FERRY_PACKET_FENCE_ADDRESS / 4] = at;
        patch(rig, &job);
        assert_int_equal(destination_of(packet), at == WRITTEN + BYTES ? SYSTEM : LOCAL);
    }
    end(rig, &job);
}

// From WRITTEN + first on, rows of so many bytes; the source is all of one row.
static const struct rectangle {
    uint32_t first, row_bytes, last_row, pitch, layout;
    bool refused;
} rectangles[] = {
    {0, 64, 255, 64, 0, false},
    {0, 64, 256, 64, 0, true},
    {0, 65, 255, 64, 0, true},
    {BYTES - 64, 64, 255, (uint32_t)-64, 0, false}, // Upwards.
    {BYTES - 64, 64, 256, (uint32_t)-64, 0, true},
    {BYTES - 64, 65, 0, (uint32_t)-64, 0, true},
    // Over the beginning and the end of all addresses; and with words that the firmware refuses.
    {0, 64, 1, (uint32_t)-0x20000, 0, true},
    {0, 64, 1, 0x80000000, 0, true},
    {0, 64, UINT32_MAX, 0x80000000, 0, true},
    {0, 64, UINT32_MAX, 0x7fffffff, 0, true},
// Tiles of 64 x 64 bytes: four of them, one beside the other or two above two.
#define SMALL    (FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 1) | FERRY_PACKET_LAYOUT_SMALL_MASK)
#define AT(x, y) (FERRY_PUT(FERRY_PACKET_LAYOUT_X, x) | FERRY_PUT(FERRY_PACKET_LAYOUT_Y, y))
    {0, 256, 63, 4 * 4096, SMALL, false},
    {0, 255, 63, 4 * 4096, SMALL | AT(1, 0), false},
    {0, 256, 63, 4 * 4096, SMALL | AT(1, 0), true},
    {0, 257, 63, 4 * 4096, SMALL, true},
    {0, 128, 127, 2 * 4096, SMALL, false},
    {0, 128, 127, 2 * 4096, SMALL | AT(0, 1), true},
    {0, 128, 128, 2 * 4096, SMALL, true},
    {4096, 128, 127, 2 * 4096, SMALL, true},
    {2 * 4096, 128, 127, (uint32_t)(-2 * 4096), SMALL, false},
    {2 * 4096, 128, 128, (uint32_t)(-2 * 4096), SMALL, true},
    // One of 128 x 32, of 256 x 16; and one of 64 KiB, which is more than there is.
    {0, 512, 31, 4 * 4096, FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 2) | FERRY_PACKET_LAYOUT_SMALL_MASK, false},
    {0, 513, 31, 4 * 4096, FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 2) | FERRY_PACKET_LAYOUT_SMALL_MASK, true},
    {0, 256, 63, 4096, FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 3) | FERRY_PACKET_LAYOUT_SMALL_MASK, false},
    {0, 256, 64, 4096, FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 3) | FERRY_PACKET_LAYOUT_SMALL_MASK, true},
    {0, 1, 0, 65536, FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 1), true},
};

static void a_rectangle_lies_within_it_with_its_tiles(void **state)
{
    struct rig *rig = *state;
    struct job job;

    begin(rig, &job);
    for (unsigned i = 0; i < 2 * sizeof rectangles / sizeof rectangles[0]; i++) {
        const struct rectangle *c = &rectangles[i / 2];
        bool reads = i & 1; // The same of the other side, whose rows are one.

        job.bytes = 0;
        uint32_t *packet = put(&job, FERRY_OPCODE_COPY_RECTANGLE, FERRY_PACKET_COPY_RECTANGLE_SIZE, LOCAL, LOCAL);
        packet[FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4] = c->row_bytes;
        packet[FERRY_PACKET_COPY_RECTANGLE_LAST_ROW / 4] = c->last_row;
        packet[FERRY_PACKET_COPY_RECTANGLE_SOURCE / 4] = WRITTEN + (reads ? c->first : 0);
        packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION / 4] = WRITTEN + (reads ? 0 : c->first);
        packet[(reads ? FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH : FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH) / 4] =
            c->pitch;
        packet[(reads ? FERRY_PACKET_COPY_RECTANGLE_SOURCE_LAYOUT : FERRY_PACKET_COPY_RECTANGLE_DESTINATION_LAYOUT) /
               4] = c->layout;
        patch(rig, &job);
        if (source_of(packet) != (reads && c->refused ? SYSTEM : LOCAL) ||
            destination_of(packet) != (!reads && c->refused ? SYSTEM : LOCAL))
            fail_msg("case %u, %s: places %#x", i / 2, reads ? "source" : "destination", packet[1]);
    }
    // A row of all bytes of 32 bits, of which each may be in the last tile.
    for (unsigned in_tiles = 0; in_tiles < 2; in_tiles++) {
        job.bytes = 0;
        uint32_t *packet = put(&job, FERRY_OPCODE_COPY_RECTANGLE, FERRY_PACKET_COPY_RECTANGLE_SIZE, LOCAL, LOCAL);
        memset(packet + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4, 0xff, 8);
        packet[FERRY_PACKET_COPY_RECTANGLE_SOURCE / 4] = packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION / 4] = WRITTEN;
        if (in_tiles)
            memset(packet + FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH / 4, 0xff, 16);
        patch(rig, &job);
        assert_int_equal(source_of(packet), SYSTEM);
        assert_int_equal(destination_of(packet), SYSTEM);
    }
    // What is only read is not written, by any row.
    for (unsigned into = 0; into < 2; into++) {
        job.bytes = 0;
        uint32_t *packet = put(&job, FERRY_OPCODE_COPY_RECTANGLE, FERRY_PACKET_COPY_RECTANGLE_SIZE, LOCAL, LOCAL);
        packet[FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4] = 64;
        packet[FERRY_PACKET_COPY_RECTANGLE_SOURCE / 4] = into ? WRITTEN : READ_ONLY;
        packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION / 4] = into ? READ_ONLY : WRITTEN;
        patch(rig, &job);
        assert_int_equal(source_of(packet), LOCAL);
        assert_int_equal(destination_of(packet), into ? SYSTEM : LOCAL);
    }
    end(rig, &job);
}

// A patch may be of any field, also of a packet that it does not name.
static void a_patch_that_goes_astray_leads_nowhere(void **state)
{
    struct rig *rig = *state;
    struct job job;
    D3DDDI_PATCHLOCATIONLIST locations[] = {
        {.AllocationIndex = 1,
         .DriverId = FERRY_KMD_PATCH_ID(0, FERRY_KMD_PATCH_SOURCE),
         .PatchOffset = FERRY_PACKET_COPY_SOURCE},
        // Of the first packet, as it says; it goes into the second one, which writes what is only read.
        {.AllocationIndex = 1,
         .DriverId = FERRY_KMD_PATCH_ID(0, FERRY_KMD_PATCH_DESTINATION),
         .PatchOffset = FERRY_PACKET_COPY_SIZE + FERRY_PACKET_FILL_DESTINATION},
        // Beyond the allocation's end.
        {.AllocationIndex = 0,
         .DriverId = FERRY_KMD_PATCH_ID(0, FERRY_KMD_PATCH_DESTINATION),
         .AllocationOffset = BYTES,
         .PatchOffset = FERRY_PACKET_COPY_DESTINATION},
    };

    begin(rig, &job);
    uint32_t *copy = put(&job, FERRY_OPCODE_COPY, FERRY_PACKET_COPY_SIZE, 0, 0);
    uint32_t *fill = put(&job, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, 0, 0);
    copy[FERRY_PACKET_COPY_BYTES / 4] = fill[FERRY_PACKET_FILL_BYTES / 4] = 8;
    job.patch.pPatchLocationList = locations;
    job.patch.PatchLocationListSize = job.patch.PatchLocationListSubmissionLength = 3;
    patch(rig, &job);
    assert_int_equal(source_of(copy), LOCAL);
    assert_int_equal(destination_of(copy), SYSTEM);
    assert_int_equal(destination_of(fill), SYSTEM);
    // It does not go behind the end of the buffer, were it by the last byte of an address.
    for (uint32_t at = job.bytes - 8; at <= job.bytes; at += 8) {
        locations[2].PatchOffset = at;
        assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &job.patch),
                         at == job.bytes ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    }
    end(rig, &job);
}

// It ends as that job's own fault, with the address; nothing was written there, and others go on.
static void what_is_not_listed_is_that_jobs_fault(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model);
    struct job job;
    struct ferry_fault fault;
    DXGKARG_SUBMITCOMMAND submit = {
        .hContext = rig->user_context, .DmaBufferSize = 4096, .SubmissionFenceId = 30, .NodeOrdinal = 2};

    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)rig->buffer.bus;
    memset(local, 0x5a, LOCAL_BYTES);
    for (unsigned outside = 0; outside < 2; outside++) {
        begin(rig, &job);
        uint32_t *fill = put(&job, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, 0, LOCAL);
        fill[FERRY_PACKET_FILL_BYTES / 4] = 16;
        fill[FERRY_PACKET_FILL_DESTINATION / 4] = outside ? 0x30000 : WRITTEN;
        patch(rig, &job);
        submit.DmaBufferSubmissionEndOffset = job.bytes;
        submit.SubmissionFenceId++;
        assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
        wait_for(rig, 2, submit.SubmissionFenceId);
        end(rig, &job);
    }
    assert_int_equal(local[WRITTEN + 15], 0);
    assert_int_equal(local[WRITTEN + 16], 0x5a);
    for (unsigned i = 0x30000 - 16; i < 0x30000 + 32; i++)
        assert_int_equal(local[i], 0x5a);
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_RIGHTS);
    assert_int_equal(fault.address, 0x30000);
    assert_false(ferry_kmd_next_fault(rig->adapter, &fault));
}

// The paging ring runs whatever it is given: a user's buffer never comes there, and each is its context's node's.
static void a_users_buffer_is_its_own_nodes(void **state)
{
    struct rig *rig = *state;
    struct job job;

    begin(rig, &job);
    put(&job, FERRY_OPCODE_FILL, FERRY_PACKET_FILL_SIZE, 0, SYSTEM);
    job.patch.DmaBufferSubmissionEndOffset = job.bytes;
    for (UINT node = 0; node < 7; node++)
        for (unsigned paging = 0; paging < 2; paging++) {
            DXGKARG_SUBMITCOMMAND submit = {.hContext = paging ? rig->paging_context : rig->user_context,
                                            .DmaBufferSize = 4096,
                                            .DmaBufferSubmissionEndOffset = job.bytes,
                                            .SubmissionFenceId = 1,
                                            .NodeOrdinal = node};
            bool good = !paging && node == 2;

            job.patch.hContext = submit.hContext;
            job.patch.NodeOrdinal = node;
            assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &job.patch) == STATUS_SUCCESS, good);
            submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)rig->buffer.bus;
            assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit) == STATUS_SUCCESS, good);
        }
    wait_for(rig, 2, 1);
    end(rig, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_packet_lies_within_what_the_list_names),
        CASE(a_rectangle_lies_within_it_with_its_tiles),
        CASE(a_patch_that_goes_astray_leads_nowhere),
        CASE(what_is_not_listed_is_that_jobs_fault),
        CASE(a_users_buffer_is_its_own_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
