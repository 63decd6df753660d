// SPDX-License-Identifier: Apache-2.0
// Random jobs of four user rings in flight together, by place and by address: a packet that Patch lets run ahead reads
// no byte that one in flight before it writes, and writes none that one of its ring reads that is not over for certain.
// Worked out here byte by byte, from the packets alone.
#include "hazard_judge.h"
#include "virtual_order.h"

#define RINGS     4u
#define JOBS      6u // In flight together, of each ring; a buffer each.
#define PACKETS   10u
#define ROUNDS    60u
#define CONTENT   0x200000u // In video memory.
#define PAGES     48u       // Of it, and as many of the host.
#define ADDRESSES 64u       // Pages of a program's addresses.
#define PAGE      4096u

enum { APERTURE = FERRY_ADDRESS_KIND_APERTURE };

static uint64_t leads_to[ADDRESSES];
static struct judge judge;

static uint64_t where(uint64_t page)
{
    return leads_to[page];
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

static uint32_t write_packet(uint32_t *words)
{
    uint32_t bytes = draw(4) ? 1 + (uint32_t)draw(700) : 1 + (uint32_t)draw(3 * PAGE), what = (uint32_t)draw(8);
    uint32_t rows = what < 3 ? 1 + (uint32_t)draw(8) : 1, pitch = 0, kinds[2];
    uint64_t at[2];

    memset(words, 0, FERRY_PACKET_COPY_RECTANGLE_SIZE);
    if (what == 0) { // FILL, which fills no aperture.
        while ((kinds[1] = some_place(&at[1], bytes)) == APERTURE) {
        }
        words[0] = FERRY_OPCODE_FILL | 8 << 16;
        words[1] = kinds[1] << 2;
        words[2] = bytes;
        memcpy(&words[4], &at[1], 8);
        return 8;
    }
    if (rows > 1) {
        bytes = bytes % 900 + 1;
        pitch = bytes + (uint32_t)draw(200);
    }
    for (uint32_t side = 0; side < 2; side++)
        kinds[side] = some_place(&at[side], bytes + (rows - 1) * pitch);
    words[0] = rows > 1 ? FERRY_OPCODE_COPY_RECTANGLE | 12 << 16 : FERRY_OPCODE_COPY | 8 << 16;
    words[1] = kinds[0] | kinds[1] << 2;
    words[2] = bytes;
    words[3] = rows - 1;
    memcpy(&words[4], &at[0], 8);
    memcpy(&words[6], &at[1], 8);
    words[8] = words[10] = pitch;
    return rows > 1 ? 12 : 8;
}

static void submit_some_job(struct rig *rig, uint32_t ring)
{
    uint32_t count = 1 + (uint32_t)draw(PACKETS), at[PACKETS], used = 0, node = ring + 1;
    uint32_t number = ferry_gpu_ring_newest(rig->gpu, node) + 1;
    uint8_t *buffer = (uint8_t *)buffers[ring].address + number % JOBS * PAGE;

    if (ferry_gpu_ring_pending(rig->gpu, node) == JOBS)
        return;
    judge_forget(&judge, rig->gpu);
    for (uint32_t i = 0; i < count; i++) {
        at[i] = used;
        used += 4 * write_packet((uint32_t *)(void *)(buffer + used));
    }
    DXGKARG_PATCH patch = {.hContext = contexts[ring],
                           .pDmaBuffer = buffer,
                           .DmaBufferSize = PAGE,
                           .DmaBufferSubmissionEndOffset = used,
                           .NodeOrdinal = node};
    DXGKARG_SUBMITCOMMAND submitted = {.hContext = contexts[ring],
                                       .DmaBufferSize = PAGE,
                                       .DmaBufferSubmissionEndOffset = used,
                                       .SubmissionFenceId = ++fences[ring],
                                       .NodeOrdinal = node};
    submitted.DmaBufferPhysicalAddress.QuadPart = (int64_t)(buffers[ring].bus + number % JOBS * PAGE);
    assert_int_equal(patch_places(rig, &patch), STATUS_SUCCESS);
    for (uint32_t i = 0; i < count; i++)
        judge_packet(&judge, node, number, (const uint32_t *)(const void *)(buffer + at[i]));
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

static void what_runs_ahead_meets_nothing(void **state)
{
    struct rig *rig = *state;
    struct host_pages host;
    struct program p;

    judge.leads_to = where;
    judge.aperture_is_any = true;
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
    judge_tell(&judge, ROUNDS);
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

    judge_begin();
    rig_tiling = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
