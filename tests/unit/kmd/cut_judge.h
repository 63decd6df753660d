// SPDX-License-Identifier: Apache-2.0
// The judge of what resets cut: random jobs of four user rings, and paging beside them, sent again as the manager does
// it over a link that stands still. Each ends once, as it has to: by its own fault or not at all by one. At the end
// each byte is what plain copies make of it that are done one after the other.
#ifndef FERRY_TESTS_KMD_CUT_JUDGE_H
#define FERRY_TESTS_KMD_CUT_JUDGE_H

#include "cut_paging.h"
#include "kmd/internal.h"
#include "virtual_order.h"
#include "weak_link.h"

#ifndef QUEUED
#define COMMANDS 6u
#define QUEUED   6u // Jobs and paging buffers that are not over, of each ring.
#define IN_ALL   4u // With the device, as of the manager; one less of jobs.
#endif
struct job {
    uint32_t fence, words[COMMANDS][MOST_WORDS], count;
    uint32_t good;        // So many commands before one that faults.
    bool cut, sent, done; // done: of no command, and ended behind one that goes again.
    struct operation operations[OPERATIONS];
    uint8_t private_data[512];
};

static struct land lands[LANDS];
static struct queue {
    struct job jobs[QUEUED]; // From the first one that is not over on.
    uint32_t count, fence;
    HANDLE context;
    struct ferry_gpu_memory buffers;
} queues[LANDS];
static struct host_pages host;
static HANDLE paged;
static unsigned in_a_row; // Resets in vain, the last ones.
static unsigned seen, cut, faulted, went_ahead, resets, in_vain, ended, refused;

// ---- What the device has -----------------------------------------------------------------------------------------

static uint32_t sent_of(const struct queue *q)
{
    uint32_t count = 0;

    while (count < q->count && q->jobs[count].sent)
        count++;
    return count;
}

// The oldest of the ring is over; so many of its commands were carried out.
static void ends(uint32_t ring, uint32_t commands)
{
    struct queue *q = &queues[ring];

    for (uint32_t i = 0; i < commands; i++) {
        if (ring)
            land_do(&lands[ring], q->jobs[0].words[i]);
        else
            do_operation(&lands[0], &q->jobs[0].operations[i]);
    }
    memmove(q->jobs, q->jobs + 1, --q->count * sizeof *q->jobs);
    ended++;
    if (q->count && q->jobs[0].done)
        ends(ring, 0);
}

// Behind one that was cut none has ended that has anything to do.
static void ends_up_to(uint32_t ring, uint32_t fence)
{
    struct queue *q = &queues[ring];

    while (q->count && q->jobs[0].sent && !q->jobs[0].cut && (int32_t)(fence - q->jobs[0].fence) >= 0) {
        assert_int_equal(q->jobs[0].good, q->jobs[0].count);
        ends(ring, q->jobs[0].count);
    }
    for (uint32_t at = 0; at < q->count && q->jobs[at].sent && (int32_t)(fence - q->jobs[at].fence) >= 0; at++) {
        q->jobs[at].done = !q->jobs[at].cut;
        if (q->jobs[at].done && q->jobs[at].count)
            fail_msg("fence %u of ring %u has ended behind one that was cut", q->jobs[at].fence, ring);
    }
}

static void take_notes(struct rig *rig, bool resetting, uint32_t reset_node)
{
    for (; seen != rig->note_count; seen++) {
        const struct note *note = &rig->notes[seen % NOTES];
        struct queue *q = &queues[note->node];
        uint32_t at = 0;

        if (note->type == DXGK_INTERRUPT_DMA_COMPLETED) {
            ends_up_to(note->node, note->fence);
            continue;
        }
        assert_int_equal(note->type, DXGK_INTERRUPT_DMA_FAULTED);
        ends_up_to(note->node, note->fence - 1);
        while (at < q->count && (q->jobs[at].cut || q->jobs[at].done))
            at++;
        if (note->cut) {
            assert_true(resetting && note->node != reset_node);
            assert_true(at < q->count && q->jobs[at].sent && q->jobs[at].fence == note->fence);
            q->jobs[at].cut = true;
            continue;
        }
        if (at || !q->count || q->jobs[0].fence != note->fence || q->jobs[0].good == q->jobs[0].count)
            fail_msg("a fault of ring %u, fence %u, is nobody's", note->node, note->fence);
        faulted++;
        ends(note->node, q->jobs[0].good);
    }
}

// ---- Sending -----------------------------------------------------------------------------------------------------

static uint32_t build_paging(struct rig *rig, struct job *job, uint8_t *buffer, uint32_t *private_bytes)
{
    DXGKARG_BUILDPAGINGBUFFER a = {.pDmaBuffer = buffer,
                                   .DmaSize = PAGE,
                                   .pDmaBufferPrivateData = job->private_data,
                                   .DmaBufferPrivateDataSize = sizeof job->private_data};

    for (uint32_t i = 0; i < job->count; i++) {
        a.DmaBufferWriteOffset = (UINT)((uint8_t *)a.pDmaBuffer - buffer);
        build_operation(rig, &lands[0], &host.mdl, paged, &a, &job->operations[i]);
    }
    *private_bytes = (uint32_t)((uint8_t *)a.pDmaBufferPrivateData - job->private_data);
    return (uint32_t)((uint8_t *)a.pDmaBuffer - buffer);
}

static void send(struct rig *rig, uint32_t ring, struct job *job, uint32_t place)
{
    struct queue *q = &queues[ring];
    uint8_t *buffer = (uint8_t *)q->buffers.address + place * PAGE;
    D3DDDI_PATCHLOCATIONLIST places[2 * COMMANDS];
    UINT place_count = 0;
    uint32_t private_bytes = sizeof job->private_data,
             bytes = ring ? land_write(job->words, job->count, buffer, places, &place_count)
                          : build_paging(rig, job, buffer, &private_bytes);

    job->fence = ++q->fence;
    DXGKARG_PATCH patch = {.hContext = q->context,
                           .pDmaBuffer = buffer,
                           .DmaBufferSize = PAGE,
                           .DmaBufferSubmissionEndOffset = bytes,
                           .pDmaBufferPrivateData = job->private_data,
                           .DmaBufferPrivateDataSize = sizeof job->private_data,
                           .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
                           .pPatchLocationList = places,
                           .PatchLocationListSize = place_count,
                           .PatchLocationListSubmissionLength = place_count,
                           .SubmissionFenceId = job->fence,
                           .Flags.Paging = ring == 0,
                           .NodeOrdinal = ring};
    DXGKARG_SUBMITCOMMAND submit = {.hContext = q->context,
                                    .DmaBufferSize = PAGE,
                                    .DmaBufferSubmissionEndOffset = bytes,
                                    .pDmaBufferPrivateData = job->private_data,
                                    .DmaBufferPrivateDataSize = sizeof job->private_data,
                                    .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
                                    .SubmissionFenceId = job->fence,
                                    .Flags = {.Paging = ring == 0, .Resubmission = ring != 0 && job->cut},
                                    .NodeOrdinal = ring};
    patch.DmaBufferPhysicalAddress.QuadPart = submit.DmaBufferPhysicalAddress.QuadPart =
        (int64_t)(q->buffers.bus + (uint64_t)place * PAGE);
    assert_int_equal(ring ? patch_places(rig, &patch) : rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    for (uint32_t at = 0; at < bytes;
         at += 4 * FERRY_GET(FERRY_PACKET_HEADER_WORDS, *(uint32_t *)(void *)(buffer + at)))
        went_ahead += (*(uint32_t *)(void *)(buffer + at) & UNORDERED) != 0;
    let_link_be_weak(weak_one_in(30));
    NTSTATUS status = rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit);
    let_link_be_weak(0);
    // Behind a doorbell that was lost, or a reset in vain, as many are kept as a ring has entries.
    if (status == STATUS_DEVICE_REMOVED && sent_of(q) >= KMD_RING_ENTRIES) {
        q->fence--;
        refused++;
        return;
    }
    assert_int_equal(status, STATUS_SUCCESS);
    job->sent = true;
    job->cut = false;
}

// Whoever has something to send, as long as the device has not as much as the manager gives it.
static void send_some(struct rig *rig)
{
    uint32_t first = (uint32_t)draw(LANDS), jobs = 0, buffers = sent_of(&queues[0]);

    for (uint32_t ring = 1; ring < LANDS; ring++)
        jobs += sent_of(&queues[ring]);
    for (uint32_t i = 0; i < 4 * LANDS; i++) {
        // Up to four of one, then of the next.
        uint32_t ring = (first + i / 4) % LANDS, next = sent_of(&queues[ring]);
        struct queue *q = &queues[ring];

        if (next == q->count || jobs + buffers == IN_ALL || (ring && jobs == IN_ALL - 1))
            continue;
        // A buffer that is in use is none of those that are over.
        send(rig, ring, &q->jobs[next], q->fence % (QUEUED + 1));
        if (ring)
            jobs++;
        else
            buffers++;
    }
}

// ---- What programs and the manager want ---------------------------------------------------------------------------

static void draw_commands(struct land *land, struct job *job, bool may_overlap)
{
    job->count = 1 + (uint32_t)draw(COMMANDS);
    job->good = job->count;
    for (uint32_t i = 0; i < job->count; i++)
        land_draw(land, job->words[i], may_overlap);
    uint32_t bad = (uint32_t)draw(COMMANDS * 6);
    if (bad < job->count && land_opcode(job->words[bad]) == FERRY_OPCODE_COPY) {
        uint64_t nowhere = NOWHERE * PAGE + draw(PAGE);

        job->good = bad;
        job->words[bad][1] |= FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, LAND_VIRTUAL);
        memcpy(&job->words[bad][4], &nowhere, 8);
    }
}

static void want_some(void)
{
    uint32_t ring = (uint32_t)draw(draw(2) ? 2 : LANDS); // So that two of a ring are there more often.
    struct queue *q = &queues[ring];

    if (q->count == QUEUED)
        return;
    struct job *job = &q->jobs[q->count++];
    *job = (struct job){0};
    if (ring)
        draw_commands(&lands[ring], job, true);
    else
        job->good = job->count = draw_operations(job->operations);
}

// ---- What goes wrong ----------------------------------------------------------------------------------------------

#ifdef RIG_ON_SIM
// What is cut there is what the device is about just then.
static inline void hang(struct rig *rig)
{
    (void)rig;
}

static void disarm(struct rig *rig)
{
    (void)rig;
}
#else
static inline void hang(struct rig *rig)
{
    switch (draw(8)) {
    case 0: ferry_model_hang(rig->model); break;
    case 1: ferry_model_inject(rig->model, FERRY_MODEL_HANG_INSIDE, 1 + (uint32_t)draw(COMMANDS)); break;
    case 2: ferry_model_inject(rig->model, FERRY_MODEL_HANG_IN_COPY, 1 + (uint32_t)draw(PAGE)); break;
    default: ferry_model_inject(rig->model, FERRY_MODEL_NO_ANSWER, 1 + (uint32_t)draw(1 + draw(COMMANDS))); break;
    }
}

// A reset finds what went wrong, and nothing goes wrong amid it.
static void disarm(struct rig *rig)
{
    for (enum ferry_model_injection what = FERRY_MODEL_HANG_INSIDE; what <= FERRY_MODEL_NO_ANSWER; what++)
        ferry_model_inject(rig->model, what, 0);
}
#endif

static void reset_engine(struct rig *rig)
{
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = (UINT)draw(LANDS)};
    DXGKARG_QUERYCURRENTFENCE current = {.NodeOrdinal = reset.NodeOrdinal};
    struct queue *q = &queues[reset.NodeOrdinal];

    disarm(rig);
    take_notes(rig, false, 0);
    assert_int_equal(rig->kmd->DxgkDdiQueryCurrentFence(rig->adapter, &current), STATUS_SUCCESS);
    let_link_be_weak(weak_one_in(draw(5) || in_a_row > 4 ? 0 : 10 + (uint32_t)draw(50)));
    weak.at = draw(5) || weak.planned ? 0 : FERRY_BAR0_CONTROL;
    NTSTATUS status = rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset);
    let_link_be_weak(0);
    in_a_row = status == STATUS_SUCCESS ? 0 : in_a_row + 1;
    take_notes(rig, !in_a_row, reset.NodeOrdinal);
    if (in_a_row) {
        // Until the next one nobody hears of what it cuts.
        assert_int_equal(status, STATUS_IO_TIMEOUT);
        in_vain++;
        return;
    }
    // The manager takes what had come to its end before for that, told or not.
    ends_up_to(reset.NodeOrdinal, current.CurrentFence);
    for (uint32_t i = 0; i < q->count && q->jobs[i].sent; i++)
        q->jobs[i].cut |= !q->jobs[i].done && (int32_t)(reset.LastAbortedFenceId - q->jobs[i].fence) >= 0;
    resets++;
    // Of a ring all that the device had has ended or was cut, or else nothing of it was begun: a doorbell was lost, or
    // a reset in vain kept it back.
    for (uint32_t ring = 0; ring < LANDS; ring++) {
        bool goes_again = queues[ring].count && queues[ring].jobs[0].cut;

        for (uint32_t i = 0; i < queues[ring].count && queues[ring].jobs[i].sent; i++) {
            struct job *job = &queues[ring].jobs[i];

            assert_true(job->done || job->cut == goes_again);
            job->sent = !goes_again || job->done;
            cut += job->cut;
        }
    }
}

static void fill_lands(struct rig *rig)
{
    for (uint32_t ring = 0; ring < LANDS; ring++) {
        struct land *land = &lands[ring];

        for (uint32_t i = 0; i < LAND_BYTES; i++)
            land->bytes[i] = (uint8_t)draw(256);
        assert_int_equal(ferry_gpu_window_write(rig->gpu, land_first(land, LAND_LOCAL), land->bytes, LOCALS * PAGE),
                         FERRY_OK);
        memcpy((uint8_t *)host.memory + ring * HOSTS * PAGE, land->bytes + LOCALS * PAGE, HOSTS * PAGE);
    }
}

// ---- Rounds -------------------------------------------------------------------------------------------------------

static void run(struct rig *rig, uint64_t cycles)
{
    let_link_be_weak(weak_one_in(draw(10) ? 0 : 20));
    int error = ferry_gpu_run(rig->gpu, cycles);
    let_link_be_weak(0);
    assert_true(error == FERRY_OK || error == FERRY_ERROR_TIMEOUT);
    take_notes(rig, false, 0);
}

static void come_to_an_end(struct rig *rig)
{
    unsigned before = ended;

    for (uint32_t turns = 1;; turns++) {
        bool left = false;

        send_some(rig);
        run(rig, 2000);
        for (uint32_t ring = 0; ring < LANDS; ring++)
            left |= queues[ring].count != 0;
        if (!left)
            break;
        turns = before == ended ? turns : 0;
        before = ended;
        if (turns % 20 == 19)
            reset_engine(rig);
        assert_true(turns < 200);
    }
    // What comes next waits for it.
    while (in_a_row)
        reset_engine(rig);
}

static void check_lands(struct rig *rig, uint32_t round)
{
    static uint8_t found[LAND_BYTES];

    for (uint32_t ring = 0; ring < LANDS; ring++) {
        const struct land *land = &lands[ring];

        assert_int_equal(ferry_gpu_window_read(rig->gpu, land_first(land, LAND_LOCAL), found, LOCALS * PAGE), FERRY_OK);
        memcpy(found + LOCALS * PAGE, (uint8_t *)host.memory + ring * HOSTS * PAGE, HOSTS * PAGE);
        for (uint32_t i = 0; i < LAND_BYTES; i++)
            if (found[i] != land->bytes[i])
                fail_msg("round %u: byte %u of page %u of ring %u is %02x and not %02x", round, i % PAGE, i / PAGE,
                         ring, found[i], land->bytes[i]);
    }
}

static void map_all(struct rig *rig, struct program *p)
{
    disarm(rig);
    p->paging_fence = queues[0].fence = queues[0].fence ? queues[0].fence : p->paging_fence;
    p->a.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
    p->a.MapApertureSegment = (DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT){
        .SegmentId = FERRY_KMD_SEGMENT_APERTURE, .NumberOfPages = LANDS * HOSTS, .pMdl = &host.mdl};
    operate(p);
    for (uint32_t ring = 1; ring < LANDS; ring++) {
        struct land *land = &lands[ring];

        for (uint32_t i = 0; i < ADDRESSES; i++) {
            uint32_t page = (uint32_t)draw(LAND_PAGES);
            DXGK_PTE entry = {.Valid = 1};

            land->leads_to[i] = page;
            if (page < LOCALS)
                entry = to_local(land_first(land, LAND_LOCAL) + page * PAGE);
            else
                entry.PageAddress = host.pfn[ring * HOSTS + page - LOCALS];
            write_entries(p, 0, land_first(land, LAND_VIRTUAL) + i * PAGE, 1, entry);
        }
        send_buffer(p);
    }
    flush(p, 0, 0);
    send_buffer(p);
    queues[0].fence = p->paging_fence;
    take_notes(rig, false, 0);
}

// What was with the device never runs, and all content is made anew.
static void reset_all(struct rig *rig, struct program *p)
{
    DXGKRNL_INTERFACE os = {sizeof os, DXGKRNL_INTERFACE_VERSION, rig, on_notify, on_dpc, on_queue};
    bool restart = draw(2);

    disarm(rig);
    take_notes(rig, false, 0);
    let_link_be_weak(weak_one_in(draw(2) ? 0 : 10 + (uint32_t)draw(50)));
    if (restart)
        assert_int_equal(rig->kmd->DxgkDdiStopDevice(rig->adapter), STATUS_SUCCESS);
    while ((restart ? rig->kmd->DxgkDdiStartDevice(rig->adapter, &os)
                    : rig->kmd->DxgkDdiResetFromTimeout(rig->adapter)) != STATUS_SUCCESS)
        let_link_be_weak(weak_one_in(draw(3) ? weak.one_in : 0));
    let_link_be_weak(0);
    assert_int_equal(rig->kmd->DxgkDdiRestartFromTimeout(rig->adapter), STATUS_SUCCESS);
    seen = rig->note_count;
    for (uint32_t ring = 0; ring < LANDS; ring++)
        queues[ring].count = 0;
    in_a_row = 0;
    map_all(rig, p);
    fill_lands(rig);
    resets++;
}

static void begin_judge(struct rig *rig, struct program *p)
{
    begin(rig, p);
    make_link_weak(rig);
    pages_make(rig, &host, LANDS * HOSTS);
    paged = make_allocation(rig, LOCALS * PAGE, false);
    for (uint32_t ring = 0; ring < LANDS; ring++) {
        DXGKARG_CREATECONTEXT context = {.NodeOrdinal = ring};

        lands[ring].number = ring;
        if (ring)
            assert_int_equal(rig->kmd->DxgkDdiCreateContext(p->device, &context), STATUS_SUCCESS);
        queues[ring].context = context.hContext;
        assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, (QUEUED + 1) * PAGE, 0, &queues[ring].buffers), FERRY_OK);
    }
}

static void end_judge(struct rig *rig, struct program *p)
{
    for (uint32_t ring = 0; ring < LANDS; ring++) {
        if (ring)
            rig->kmd->DxgkDdiDestroyContext(queues[ring].context);
        ferry_gpu_memory_free(rig->gpu, &queues[ring].buffers);
    }
    destroy_allocation(rig, paged);
    pages_free(rig, &host);
    end(p);
}

#endif
