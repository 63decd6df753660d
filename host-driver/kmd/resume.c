// SPDX-License-Identifier: Apache-2.0
// A user's buffer that a reset cut off goes on where it was. Its private data says what it was submitted as (struct
// kmd_begun), the ring what became of that.
#include <string.h>

#include "kmd/internal.h"
#include "kmd/words.h"

// The note in the private data of a submission, NULL if there is no room for it.
static uint8_t *note_in(VOID *private_data, UINT from, UINT end)
{
    if (!private_data || from > end || end - from < sizeof(struct kmd_begun))
        return NULL;
    return (uint8_t *)private_data + from;
}

void kmd_resume_patched(const DXGKARG_PATCH *p)
{
    uint8_t *note = note_in(p->pDmaBufferPrivateData, p->DmaBufferPrivateDataSubmissionStartOffset,
                            p->DmaBufferPrivateDataSubmissionEndOffset);
    struct kmd_begun begun;

    if (!note)
        return;
    memcpy(&begun, note, sizeof begun);
    begun.patched_as = p->SubmissionFenceId;
    begun.names_places = p->PatchLocationListSubmissionLength != 0;
    begun.commands = p->pDmaBuffer;
    memcpy(note, &begun, sizeof begun);
}

// Where the command stands that this submission begins with, NULL if Patch has not seen it or it is no copy.
static uint8_t *copy_at(const struct kmd_begun *begun, const DXGKARG_SUBMITCOMMAND *s)
{
    uint32_t at = s->DmaBufferSubmissionStartOffset + begun->offset;

    if (begun->patched_as != s->SubmissionFenceId || at >= s->DmaBufferSubmissionEndOffset ||
        s->DmaBufferSubmissionEndOffset - at < FERRY_PACKET_COPY_SIZE)
        return NULL;
    uint8_t *packet = (uint8_t *)begun->commands + at;
    return FERRY_GET(FERRY_PACKET_HEADER_OPCODE, get32(packet)) == FERRY_OPCODE_COPY ? packet : NULL;
}

// Whether a copy of so many bytes between the places of this one reads what it writes.
static bool overlaps(const uint8_t *packet, uint64_t bytes)
{
    uint32_t places = get32(packet + 4);
    uint64_t source = get64(packet + FERRY_PACKET_COPY_SOURCE);
    uint64_t destination = get64(packet + FERRY_PACKET_COPY_DESTINATION);

    return FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, places) ==
               FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, places) &&
           destination != source && (destination > source ? destination - source : source - destination) < bytes;
}

// One whose destination begins inside the source and behind its start was written from its end.
static void leave_the_rest(uint8_t *packet, uint32_t written)
{
    uint64_t source = get64(packet + FERRY_PACKET_COPY_SOURCE);
    uint64_t destination = get64(packet + FERRY_PACKET_COPY_DESTINATION);

    put32(packet + FERRY_PACKET_COPY_BYTES, get32(packet + FERRY_PACKET_COPY_BYTES) - written);
    if (destination > source)
        return;
    put64(packet + FERRY_PACKET_COPY_SOURCE, source + written);
    put64(packet + FERRY_PACKET_COPY_DESTINATION, destination + written);
}

// Whether this slot of the ring holds what became of that submission.
static bool is_end_of(const struct kmd_ring *ring, uint32_t slot, uint32_t fence_id)
{
    return (ring->ends[slot] == KMD_END_FAULTED || ring->ends[slot] == KMD_END_ABORTED) &&
           ring->fence_ids[slot] == fence_id;
}

// The note of the submission before becomes that of this one.
static void go_on(const struct kmd_ring *ring, const DXGKARG_SUBMITCOMMAND *s, struct kmd_begun *begun)
{
    uint32_t written = 0;

    for (uint32_t back = 0; back < KMD_RING_ENTRIES; back++) {
        uint32_t slot = (ring->submitted - back) % KMD_RING_ENTRIES;

        if (!is_end_of(ring, slot, begun->fence_id))
            continue;
        begun->offset += ring->faulted_at[slot];
        if (ring->faulted_at[slot])
            begun->written = 0;
        written = ring->written[slot];
        break;
    }
    // A copy that overlaps itself has written over what it read, so only the rest of it may be done. Others are as
    // well done again, and such a rest too once it is no longer than its sides are apart: the device goes up in it.
    uint8_t *packet = copy_at(begun, s);
    if (!packet)
        return;
    uint32_t left = get32(packet + FERRY_PACKET_COPY_BYTES) - begun->written;
    // All of it was never written: such a copy has retired.
    if (overlaps(packet, left) && written < left)
        begun->written += written;
    if (begun->written)
        leave_the_rest(packet, begun->written);
}

uint32_t kmd_resume(struct kmd_ring *ring, const DXGKARG_SUBMITCOMMAND *s, bool *names_places)
{
    uint8_t *note = s->Flags.Paging ? NULL
                                    : note_in(s->pDmaBufferPrivateData, s->DmaBufferPrivateDataSubmissionStartOffset,
                                              s->DmaBufferPrivateDataSubmissionEndOffset);
    struct kmd_begun begun;

    *names_places = false;
    if (!note)
        return 0;
    memcpy(&begun, note, sizeof begun);
    if (s->Flags.Resubmission) {
        go_on(ring, s, &begun);
    } else {
        bool patched = begun.patched_as == s->SubmissionFenceId;

        begun = (struct kmd_begun){.names_places = patched && begun.names_places};
    }
    *names_places = begun.names_places;
    begun.fence_id = s->SubmissionFenceId;
    memcpy(note, &begun, sizeof begun);
    if (begun.offset) {
        ring->resumed_as[ring->resumed % KMD_RING_ENTRIES] = begun.fence_id;
        ring->resumed_at[ring->resumed++ % KMD_RING_ENTRIES] = begun.offset;
    }
    return begun.offset;
}

void kmd_resume_count(const struct kmd_ring *ring, struct ferry_fault *fault)
{
    for (uint32_t back = 1; back <= KMD_RING_ENTRIES && back <= ring->resumed; back++) {
        uint32_t place = (ring->resumed - back) % KMD_RING_ENTRIES;

        if (ring->resumed_as[place] != (uint32_t)fault->fence_value)
            continue;
        fault->packet_offset += ring->resumed_at[place];
        fault->buffer_address -= ring->resumed_at[place];
        return;
    }
}
