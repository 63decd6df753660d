// SPDX-License-Identifier: Apache-2.0
// Random jobs of four user rings in flight together, by place and by address: a packet that Patch lets run ahead reads
// no byte that one in flight before it writes, and writes none that one of its ring reads that is not over for certain.
// Worked out here byte by byte, from the packets alone.
#include "virtual_order.h"

#define RINGS     4u
#define JOBS      6u // In flight together, of each ring; a buffer each.
#define PACKETS   10u
#define PIECES    80u
#define ROUNDS    60u
#define CONTENT   0x200000u // In video memory.
#define PAGES     48u       // Of it, and as many of the host.
#define ADDRESSES 64u       // Pages of a program's addresses.
#define PAGE      4096u

enum { APERTURE = FERRY_ADDRESS_KIND_APERTURE, HOST = 7 };

static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % limit;
}

// ---- What packets in flight read and write ----------------------------------------------------------------------

struct piece {
    uint32_t memory; // LOCAL, HOST, or APERTURE, which may lead to any page of the host, but each of it to another.
    uint64_t first, end;
};

struct packet {
    uint32_t ring, number; // Of the ring's entry.
    bool waits;            // For all of its ring before it.
    uint32_t counts[2];    // [1]: of what is written.
    struct piece pieces[2][PIECES];
};

static struct packet packets[RINGS * JOBS * PACKETS * 4];
static uint32_t packet_count;
static uint64_t leads_to[ADDRESSES]; // Where a page of addresses is; in host memory with bit 0, 1 alone: nowhere.
static uint64_t ahead_count, waiting_count;

static void add(struct packet *p, bool write, uint32_t memory, uint64_t first, uint64_t bytes)
{
    assert_true(p->counts[write] < PIECES);
    p->pieces[write][p->counts[write]++] = (struct piece){memory, first, first + bytes};
}

// So many bytes at an address or a place.
static void add_range(struct packet *p, bool write, uint32_t kind, uint64_t address, uint64_t bytes)
{
    while (kind == VIRTUAL && bytes) {
        uint64_t here = PAGE - address % PAGE, at = leads_to[address / PAGE];

        here = here < bytes ? here : bytes;
        if (at != 1)
            add(p, write, at & 1 ? HOST : LOCAL, (at & ~UINT64_C(1)) + address % PAGE, here);
        address += here;
        bytes -= here;
    }
    if (bytes)
        add(p, write, kind, address, bytes);
}

static bool meet(const struct piece *a, const struct piece *b)
{
    bool any = (a->memory == APERTURE && b->memory == HOST) || (a->memory == HOST && b->memory == APERTURE);

    return any || (a->memory == b->memory && a->first < b->end && b->first < a->end);
}

static bool any_meet(const struct packet *a, bool a_write, const struct packet *b, bool b_write)
{
    for (uint32_t i = 0; i < a->counts[a_write]; i++)
        for (uint32_t k = 0; k < b->counts[b_write]; k++)
            if (meet(&a->pieces[a_write][i], &b->pieces[b_write][k]))
                return true;
    return false;
}

// It may run ahead, and nothing before it is in its way.
static void judge(const struct packet *p)
{
    bool same_ring_runs = true;

    for (uint32_t i = (uint32_t)(p - packets); i-- > 0;) {
        const struct packet *before = &packets[i];

        if (any_meet(p, false, before, true))
            fail_msg("it reads what is written, ring %u entry %u", p->ring, p->number);
        if (before->ring != p->ring)
            continue;
        if (same_ring_runs && any_meet(p, true, before, false))
            fail_msg("it writes over what is read, ring %u entry %u", p->ring, p->number);
        same_ring_runs = same_ring_runs && !before->waits;
    }
}

// ---- Jobs -------------------------------------------------------------------------------------------------------

static struct ferry_gpu_memory buffers[RINGS];
static HANDLE contexts[RINGS];
static uint32_t fences[RINGS];

// A kind, and an address of it for so many bytes.
static uint32_t some_place(uint64_t *address, uint32_t bytes)
{
    uint32_t what = (uint32_t)draw(12), kind = what < 6 ? VIRTUAL : what < 11 ? LOCAL : APERTURE;
    uint64_t room = (kind == VIRTUAL ? ADDRESSES : PAGES) * PAGE - bytes;

    *address = (kind == LOCAL ? CONTENT : 0) + (draw(3) ? draw(room / 256 + 1) * 256 : draw(room + 1));
    return kind;
}

static uint32_t write_packet(uint32_t *words, struct packet *p)
{
    uint32_t bytes = draw(4) ? 1 + (uint32_t)draw(700) : 1 + (uint32_t)draw(3 * PAGE), rows, pitch, kinds[2], what;
    uint64_t at[2];

    what = (uint32_t)draw(8);
    memset(words, 0, FERRY_PACKET_COPY_RECTANGLE_SIZE);
    if (what == 0) { // FILL, which fills no aperture, and is no other's wall.
        while ((kinds[1] = some_place(&at[1], bytes)) == APERTURE) {
        }
        words[0] = FERRY_OPCODE_FILL | 8 << 16;
        words[1] = kinds[1] << 2;
        words[2] = bytes;
        memcpy(&words[4], &at[1], 8);
        add_range(p, true, kinds[1], at[1], bytes);
        return 8;
    }
    rows = what < 3 ? 1 + (uint32_t)draw(8) : 1;
    pitch = rows > 1 ? bytes % 900 + (uint32_t)draw(200) : 0;
    bytes = rows > 1 ? bytes % 900 + 1 : bytes;
    for (uint32_t side = 0; side < 2; side++) {
        kinds[side] = some_place(&at[side], bytes + (rows - 1) * pitch);
        for (uint32_t row = 0; row < rows; row++)
            add_range(p, side, kinds[side], at[side] + row * pitch, bytes);
    }
    words[0] = rows > 1 ? FERRY_OPCODE_COPY_RECTANGLE | 12 << 16 : FERRY_OPCODE_COPY | 8 << 16;
    words[1] = kinds[0] | kinds[1] << 2;
    words[2] = bytes;
    words[3] = rows - 1;
    memcpy(&words[4], &at[0], 8);
    memcpy(&words[6], &at[1], 8);
    words[8] = words[10] = pitch;
    return rows > 1 ? 12 : 8;
}

static uint32_t retired(struct rig *rig, uint32_t ring)
{
    struct ferry_gpu_fence fence;

    assert_int_equal(ferry_gpu_ring_completed(rig->gpu, ring + 1, &fence), FERRY_OK);
    return fence.retired;
}

// A packet that waits keeps what is before it from running any longer than itself, so it is forgotten with its own.
static void forget_what_ended(struct rig *rig)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < packet_count; i++)
        if ((int32_t)(packets[i].number - retired(rig, packets[i].ring)) > 0)
            packets[left++] = packets[i];
    packet_count = left;
}

static void submit_some_job(struct rig *rig, uint32_t ring)
{
    uint32_t count = 1 + (uint32_t)draw(PACKETS), at[PACKETS], used = 0, first,
             number = ferry_gpu_ring_newest(rig->gpu, ring + 1) + 1;
    uint8_t *buffer = (uint8_t *)buffers[ring].address + number % JOBS * PAGE;

    if (number - retired(rig, ring) > JOBS)
        return;
    forget_what_ended(rig);
    first = packet_count;
    for (uint32_t i = 0; i < count; i++) {
        struct packet *p = &packets[packet_count++];

        *p = (struct packet){.ring = ring, .number = number};
        at[i] = used;
        used += 4 * write_packet((uint32_t *)(void *)(buffer + used), p);
    }
    DXGKARG_PATCH patch = {.hContext = contexts[ring],
                           .pDmaBuffer = buffer,
                           .DmaBufferSize = PAGE,
                           .DmaBufferSubmissionEndOffset = used,
                           .NodeOrdinal = ring + 1};
    DXGKARG_SUBMITCOMMAND submitted = {.hContext = contexts[ring],
                                       .DmaBufferSize = PAGE,
                                       .DmaBufferSubmissionEndOffset = used,
                                       .SubmissionFenceId = ++fences[ring],
                                       .NodeOrdinal = ring + 1};
    submitted.DmaBufferPhysicalAddress.QuadPart = (int64_t)(buffers[ring].bus + number % JOBS * PAGE);
    assert_int_equal(patch_places(rig, &patch), STATUS_SUCCESS);
    for (uint32_t i = 0; i < count; i++) {
        struct packet *p = &packets[first + i];
        uint32_t header;

        memcpy(&header, buffer + at[i], 4);
        if (header & UNORDERED)
            judge(p);
        ahead_count += (header & UNORDERED) != 0;
        waiting_count += !(header & UNORDERED);
        p->waits = !(header & UNORDERED);
    }
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submitted), STATUS_SUCCESS);
}

static void map_addresses(struct program *p, const struct host_pages *host)
{
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        uint64_t page = draw(PAGES);
        DXGK_PTE entry = {0};

        leads_to[i] = 1;
        if (draw(4) == 0) {
            entry = (DXGK_PTE){.Valid = 1, .PageAddress = host->pfn[page]};
            leads_to[i] = (host->pfn[page] << 12) | 1;
        } else if (draw(50)) {
            entry = to_local(CONTENT + page * PAGE);
            leads_to[i] = CONTENT + page * PAGE;
        }
        write_entries(p, 0, (uint64_t)i * PAGE, 1, entry);
        if (i % 16 == 15)
            send_buffer(p);
    }
    flush(p, 0, 0);
    send_buffer(p);
}

static void what_runs_ahead_meets_nothing(void **state_of_it)
{
    struct rig *rig = *state_of_it;
    struct host_pages host;
    struct program p;

    begin(rig, &p);
    pages_make(rig, &host, PAGES);
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        DXGKARG_CREATECONTEXT context = {.NodeOrdinal = ring + 1};

        assert_int_equal(rig->kmd->DxgkDdiCreateContext(p.device, &context), STATUS_SUCCESS);
        contexts[ring] = context.hContext;
        assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, JOBS * PAGE, 0, &buffers[ring]), FERRY_OK);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        map_addresses(&p, &host);
        for (uint32_t i = 0; i < 30; i++) {
            submit_some_job(rig, (uint32_t)draw(RINGS));
            if (draw(12) == 0)
                assert_int_equal(ferry_gpu_run(rig->gpu, draw(3000)), FERRY_OK);
        }
        for (uint32_t ring = 0; ring < RINGS; ring++)
            wait_for(rig, ring + 1, fences[ring]);
    }
    printf("%llu packets ran ahead, %llu waited\n", (unsigned long long)ahead_count, (unsigned long long)waiting_count);
    assert_true(ahead_count > ROUNDS && waiting_count > ROUNDS);
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        rig->kmd->DxgkDdiDestroyContext(contexts[ring]);
        ferry_gpu_memory_free(rig->gpu, &buffers[ring]);
    }
    pages_free(rig, &host);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(what_runs_ahead_meets_nothing)};
    const char *given = getenv("FERRY_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 1;

    print_message("FERRY_SEED=%llu\n", (unsigned long long)seed);
    state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    rig_model = 2;
    rig_tiling = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
