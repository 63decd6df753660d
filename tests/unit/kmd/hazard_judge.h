// SPDX-License-Identifier: Apache-2.0
// What packets in flight read and write, byte by byte, told from their words alone; and whether one may run ahead of
// those before it: it reads nothing that one of them writes, and writes nothing that one of its ring reads that is not
// over for certain, nor what a buffer reads that has to go again from its start. Rings have numbers from 0 on here, as
// on the device.
#ifndef FERRY_TESTS_KMD_HAZARD_JUDGE_H
#define FERRY_TESTS_KMD_HAZARD_JUDGE_H

#include "../../seed.h"
#include "ferry_contract.h"
#include "rig.h"

#define JUDGE_PAGE    4096u
#define JUDGE_PACKETS 4096u
#define JUDGE_PIECES  600u

struct judge_piece {
    uint32_t memory; // LOCAL, SYSTEM, or APERTURE.
    uint64_t first, end;
};

struct judge_packet {
    uint32_t ring, number; // Of the ring's entry.
    bool waits;            // For all of its ring before it.
    uint32_t counts[2];    // [1]: of what is written.
    struct judge_piece pieces[2][JUDGE_PIECES];
};

struct judge {
    // Where a page of addresses is: a bus address with bit 0, a place in video memory, or 1: nowhere.
    uint64_t (*leads_to)(uint64_t page);
    // A place in an aperture may be any page of the host.
    bool aperture_is_any;
    uint32_t count;
    uint64_t ahead, waiting;
    struct judge_packet packets[JUDGE_PACKETS];
};

static uint64_t drawn;
static inline uint64_t draw(uint64_t limit)
{
    return draw_wide(&drawn, limit);
}

/// For main, before the test: the seed, and driver model 2.
static inline void judge_begin(void)
{
    drawn = draw_state(seed_given(1));
    rig_model = 2;
}

/// At the end: what came, and that it was more than so many of each.
static inline void judge_tell(const struct judge *judge, uint64_t few)
{
    printf("%llu packets ran ahead, %llu waited\n", (unsigned long long)judge->ahead,
           (unsigned long long)judge->waiting);
    assert_true(judge->ahead > few && judge->waiting > few);
}

static inline void judge_add(const struct judge *judge, struct judge_packet *p, bool write, uint32_t kind,
                             uint64_t address, uint64_t bytes)
{
    while (bytes) {
        uint64_t here = kind == FERRY_ADDRESS_KIND_VIRTUAL ? JUDGE_PAGE - address % JUDGE_PAGE : bytes, at = address;
        uint32_t memory = kind;

        here = here < bytes ? here : bytes;
        if (kind == FERRY_ADDRESS_KIND_VIRTUAL) {
            at = judge->leads_to(address / JUDGE_PAGE);
            memory = at & 1 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        }
        if (at != 1 || kind != FERRY_ADDRESS_KIND_VIRTUAL) {
            at = kind == FERRY_ADDRESS_KIND_VIRTUAL ? (at & ~UINT64_C(1)) + address % JUDGE_PAGE : at;
            assert_true(p->counts[write] < JUDGE_PIECES);
            p->pieces[write][p->counts[write]++] = (struct judge_piece){memory, at, at + here};
        }
        address += here;
        bytes -= here;
    }
}

static inline uint64_t judge_wide(const uint32_t *words, uint32_t offset)
{
    return words[offset / 4] | (uint64_t)words[offset / 4 + 1] << 32;
}

// Of the packet's words; rectangles without tiles alone.
static inline void judge_read(const struct judge *judge, const uint32_t *w, struct judge_packet *p)
{
    uint32_t opcode = w[0] & 0xff, from = w[1] & 3, to = w[1] >> 2 & 3, list = w[1] >> 4 & 3, words = w[0] >> 16;

    switch (opcode) {
    case FERRY_OPCODE_COPY:
        judge_add(judge, p, false, from, judge_wide(w, FERRY_PACKET_COPY_SOURCE), w[2]);
        judge_add(judge, p, true, to, judge_wide(w, FERRY_PACKET_COPY_DESTINATION), w[2]);
        break;
    case FERRY_OPCODE_COPY_PAGES:
        for (uint32_t at = FERRY_PACKET_COPY_PAGES_PAGE; at < 4 * words; at += 8)
            judge_add(judge, p, list == FERRY_LIST_SIDE_DESTINATION, FERRY_ADDRESS_KIND_SYSTEM, judge_wide(w, at),
                      JUDGE_PAGE);
        judge_add(judge, p, list == FERRY_LIST_SIDE_SOURCE, list == FERRY_LIST_SIDE_SOURCE ? to : from,
                  judge_wide(w, FERRY_PACKET_COPY_PAGES_ADDRESS), w[2]);
        break;
    case FERRY_OPCODE_COPY_RECTANGLE:
        assert_true(w[9] == 0 && w[11] == 0);
        for (uint32_t row = 0; row <= w[3]; row++) {
            judge_add(judge, p, false, from,
                      judge_wide(w, FERRY_PACKET_COPY_RECTANGLE_SOURCE) + (uint64_t)((int64_t)(int32_t)w[8] * row),
                      w[2]);
            judge_add(judge, p, true, to,
                      judge_wide(w, FERRY_PACKET_COPY_RECTANGLE_DESTINATION) +
                          (uint64_t)((int64_t)(int32_t)w[10] * row),
                      w[2]);
        }
        break;
    case FERRY_OPCODE_FILL:
    case FERRY_OPCODE_WRITE: judge_add(judge, p, true, to, judge_wide(w, FERRY_PACKET_FILL_DESTINATION), w[2]); break;
    case FERRY_OPCODE_FENCE: judge_add(judge, p, true, to, judge_wide(w, FERRY_PACKET_FENCE_ADDRESS), 8); break;
    default: break; // READ too, as nobody sees what it read.
    }
}

static inline bool judge_meets(const struct judge *judge, const struct judge_packet *a, bool a_write,
                               const struct judge_packet *b, bool b_write)
{
    for (uint32_t i = 0; i < a->counts[a_write]; i++)
        for (uint32_t k = 0; k < b->counts[b_write]; k++) {
            const struct judge_piece *one = &a->pieces[a_write][i], *other = &b->pieces[b_write][k];
            bool any = judge->aperture_is_any && one->memory != other->memory &&
                       one->memory != FERRY_ADDRESS_KIND_LOCAL && other->memory != FERRY_ADDRESS_KIND_LOCAL;

            if (any || (one->memory == other->memory && one->first < other->end && other->first < one->end))
                return true;
        }
    return false;
}

// The packet, as Patch has left it, of the next entry of a ring: fails when it may run ahead and must not.
static inline void judge_packet(struct judge *judge, uint32_t ring, uint32_t number, const uint32_t *words)
{
    struct judge_packet *p = &judge->packets[judge->count++];
    bool runs = true;

    assert_true(judge->count < JUDGE_PACKETS);
    uint32_t walled = number; // Of the ring's entries the one with the packet that waited last.
    *p = (struct judge_packet){
        .ring = ring, .number = number, .waits = !(words[0] & FERRY_PACKET_HEADER_UNORDERED_MASK)};
    judge_read(judge, words, p);
    judge->waiting += p->waits;
    judge->ahead += !p->waits;
    for (uint32_t i = judge->count - 1; i-- > 0 && !p->waits;) {
        const struct judge_packet *before = &judge->packets[i];

        if (judge_meets(judge, p, false, before, true))
            fail_msg("it reads what is written, ring %u entry %u", ring, number);
        if (before->ring != ring)
            continue;
        // What an entry of the paging ring has read it reads again when a reset cuts it, whatever of it has waited.
        if ((runs || (ring == 0 && before->number == walled)) && judge_meets(judge, p, true, before, false))
            fail_msg("it writes over what is read, ring %u entry %u", ring, number);
        if (runs && before->waits)
            walled = before->number;
        runs = runs && !before->waits;
    }
}

// What has retired is over.
static inline void judge_forget(struct judge *judge, struct ferry_gpu *gpu)
{
    uint32_t left = 0, retired[5];

    for (uint32_t ring = 0; ring < 5; ring++) {
        struct ferry_gpu_fence fence;

        assert_int_equal(ferry_gpu_ring_completed(gpu, ring, &fence), FERRY_OK);
        retired[ring] = fence.retired;
    }
    for (uint32_t i = 0; i < judge->count; i++)
        if ((int32_t)(judge->packets[i].number - retired[judge->packets[i].ring]) > 0)
            judge->packets[left++] = judge->packets[i];
    judge->count = left;
}

#endif
