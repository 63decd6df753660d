// SPDX-License-Identifier: Apache-2.0
// A buffer's packets, one after the other; and what may come of those behind one that memory gives no answer to.
#include "model/internal.h"

static bool is_paging(const struct model_slot *slot)
{
    return slot->ring == 0;
}

// ---- Behind what has no answer ----------------------------------------------------------------------------------

// How far a slot's packets were begun.
struct begun {
    struct model_slot *slot;
    uint32_t at;
};

// Whose packet may be begun next; NULL: nobody's. Of a ring the buffers go one after the other, and a packet that is
// not unordered, or wrong, stays where it is for good.
static struct begun *next_of(struct begun *all, unsigned count, uint32_t waiting)
{
    struct begun *next = NULL;

    for (unsigned i = 0; i < count; i++) {
        struct begun *b = &all[i];

        if (b->slot->ring == waiting && b->at < b->slot->bytes && (!next || b->slot->number < next->slot->number))
            next = b;
    }
    return next;
}

// The device has all packets of a kind of ring in one engine, in some order of the rings'. What waits for the writes
// before it waits for the one without an answer; what does not may be carried out, as contract/packets.rdl says of
// `unordered`, before or behind whatever another ring has begun. Nothing of it counts: it stands behind a packet that
// has no answer, or it has none either.
static void run_ahead(struct ferry_model *model, struct model_slot *cut)
{
    struct begun all[MODEL_SLOTS];
    unsigned count = 0;
    uint32_t waits = 0; // Rings, a bit each.

    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        struct model_slot *slot = &model->slots[i];

        if (slot->held && is_paging(slot) == is_paging(cut) && !slot->executed && !slot->aborted &&
            slot->fault.kind == FERRY_FAULT_KIND_NONE)
            all[count++] = (struct begun){slot, slot->done};
    }
    for (unsigned i = 0; i < count; i++)
        if (all[i].slot == cut)
            all[i].at += 4 * FERRY_GET(FERRY_PACKET_HEADER_WORDS, model_get32(cut->data + cut->done));
    while (model_random_below(model, 24)) {
        uint32_t ring = (uint32_t)model_random_below(model, MODEL_RINGS), bytes;
        struct begun *b = waits >> ring & 1 ? NULL : next_of(all, count, ring);
        struct model_fault fault;

        if (!b)
            continue;
        model->running = b->slot;
        if (!(model_get32(b->slot->data + b->at) & FERRY_PACKET_HEADER_UNORDERED_MASK) ||
            !model_run_packet(model, b->slot, b->at, &bytes, &fault))
            waits |= 1u << ring;
        else
            b->at += bytes;
        model->running = cut;
    }
}

// ---- In order ---------------------------------------------------------------------------------------------------

// The engine is to hang before the slot's packet that comes next, its `packets`th.
static bool hangs_before(struct ferry_model *model, struct model_slot *slot, uint32_t packets)
{
    uint32_t *inside = &model->injected[FERRY_MODEL_HANG_INSIDE], *no_answer = &model->injected[FERRY_MODEL_NO_ANSWER];

    if (slot->ring && packets && packets == *inside) {
        *inside = 0;
        model->hung = true;
    } else if (packets + 1 == *no_answer) {
        *no_answer = 0;
        model->hung = true;
        run_ahead(model, slot);
    }
    return model->hung;
}

bool model_run_buffer(struct ferry_model *model, struct model_slot *slot)
{
    for (uint32_t packets = 0; slot->done < slot->bytes; packets++) {
        uint32_t bytes;
        struct model_fault fault;

        if (hangs_before(model, slot, packets))
            return false;
        model->counters[MODEL_COUNTER(CORE_PACKETS)]++;
        model->counters[MODEL_COUNTER(CORE_BUSY)] += 60;
        model->counters[MODEL_COUNTER(CYCLES)] += 60;
        bool counts = slot->ring &&
                      FERRY_GET(FERRY_PACKET_HEADER_OPCODE, model_get32(slot->data + slot->done)) == FERRY_OPCODE_COPY;
        model->written = counts ? &slot->written : NULL;
        bool good = model_run_packet(model, slot, slot->done, &bytes, &fault);
        model->written = NULL;
        if (model->hung)
            return false;
        if (!good) {
            slot->status = FERRY_BUFFER_STATUS_FAULTED;
            slot->fault = fault;
            return true;
        }
        slot->done += bytes;
        slot->written = 0;
    }
    slot->status = FERRY_BUFFER_STATUS_SUCCESS;
    return true;
}
