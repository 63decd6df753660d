// SPDX-License-Identifier: Apache-2.0
// Where bytes live: video memory, host memory, and host memory through the aperture table.
#include "model/internal.h"

// Use up one planted failure of a sort.
static bool planted(struct ferry_model *model, enum ferry_model_injection what)
{
    if (!model->injected[what])
        return false;
    model->injected[what]--;
    return true;
}

// NONE, or the failure planted for a read of host memory.
static uint32_t planted_host_fault(struct ferry_model *model)
{
    if (planted(model, FERRY_MODEL_HOST_TIMEOUT))
        return FERRY_FAULT_KIND_COMPLETION_TIMEOUT;
    return planted(model, FERRY_MODEL_HOST_ABORT) ? FERRY_FAULT_KIND_HOST_ABORT : FERRY_FAULT_KIND_NONE;
}

uint8_t *model_place(struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes, bool write,
                     uint32_t *fault_kind)
{
    *fault_kind = FERRY_FAULT_KIND_NONE;
    if (kind == FERRY_ADDRESS_KIND_LOCAL) {
        if (planted(model, write ? FERRY_MODEL_LOCAL_WRITE_ERROR : FERRY_MODEL_LOCAL_READ_ERROR)) {
            *fault_kind = FERRY_FAULT_KIND_LOCAL_ERROR;
            return NULL;
        }
        if (write)
            model->counters[MODEL_COUNTER(LOCAL_WRITE_BEATS)] += (bytes + 7) / 8;
        else
            model->counters[MODEL_COUNTER(LOCAL_READ_BEATS)] += (bytes + 7) / 8;
        return model->local + address;
    }
    if (kind == FERRY_ADDRESS_KIND_APERTURE) {
        uint64_t entry = model->aperture[address / MODEL_PAGE];

        if (!(entry & FERRY_APERTURE_ENTRY_ENTRY_VALID_MASK)) {
            *fault_kind = FERRY_FAULT_KIND_APERTURE_INVALID;
            return NULL;
        }
        address = (entry & FERRY_APERTURE_ENTRY_ENTRY_PAGE_MASK) | (address & (MODEL_PAGE - 1));
    }
    if (write) {
        model->counters[MODEL_COUNTER(HOST_WRITE_BEATS)] += (bytes + 7) / 8;
        model->counters[MODEL_COUNTER(TLP_SENT)] += (bytes + 127) / 128;
        model->counters[MODEL_COUNTER(LINK_SEND_BEATS)] += (bytes + 127) / 128 * 2 + (bytes + 7) / 8;
    } else {
        model->counters[MODEL_COUNTER(HOST_READ_BEATS)] += (bytes + 7) / 8;
        model->counters[MODEL_COUNTER(TLP_SENT)] += (bytes + 511) / 512;
        model->counters[MODEL_COUNTER(TLP_RECEIVED)] += (bytes + 127) / 128;
        model->counters[MODEL_COUNTER(LINK_RECEIVE_BEATS)] += (bytes + 127) / 128 * 2 + (bytes + 7) / 8;
    }
    if (!write && (*fault_kind = planted_host_fault(model)) != FERRY_FAULT_KIND_NONE)
        return NULL;
    uint8_t *memory = model->host.memory(model->host.context, address, bytes, write);
    if (!memory && !write)
        *fault_kind = FERRY_FAULT_KIND_HOST_UNSUPPORTED;
    if (!memory && write && model->running && model->host.refused) {
        // Buffers of a ring are carried out in order: this one's entry is the next to retire.
        uint32_t ring = model->running->ring;
        uint32_t tag = FERRY_PUT(FERRY_WRITE_TAG_TAG_RING, ring) |
                       FERRY_PUT(FERRY_WRITE_TAG_TAG_ENTRY, model->rings[ring].retired + 1);

        model->host.refused(model->host.context, address, tag);
    }
    return memory;
}

bool model_read_entry(struct ferry_model *model, bool host, uint64_t address, uint64_t *entry)
{
    uint32_t kind = host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL, why;
    const uint8_t *at = model_place(model, kind, address, sizeof *entry, false, &why);

    if (at)
        *entry = model_get64(at);
    return at;
}

void model_post(struct ferry_model *model, uint64_t address, const uint8_t *data, uint32_t bytes)
{
    uint8_t *to = model->host.memory(model->host.context, address, bytes, true);

    model->counters[MODEL_COUNTER(TLP_SENT)]++;
    model->counters[MODEL_COUNTER(LINK_SEND_BEATS)] += 2 + bytes / 8;
    if (to)
        memcpy(to, data, bytes);
}

bool model_fetch(struct ferry_model *model, uint64_t address, uint8_t *data, uint32_t bytes, uint64_t *failed)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = model_least(bytes - done, model_in_page(address + done));
        const uint8_t *from = model->host.memory(model->host.context, address + done, piece, false);

        if (planted_host_fault(model) != FERRY_FAULT_KIND_NONE || !from) {
            *failed = address + done;
            return false;
        }
        memcpy(data + done, from, piece);
        done += piece;
    }
    return true;
}
