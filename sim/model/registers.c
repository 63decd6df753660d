// SPDX-License-Identifier: Apache-2.0
// BAR0 as the host sees it, and the interrupt message.
#include "model/internal.h"

#define RINGS_END    (FERRY_BAR0_RING_AT + MODEL_RINGS * FERRY_BAR0_RING_STRIDE)
#define VIEWS_END    (FERRY_BAR0_VIEW_AT + MODEL_VIEWS * FERRY_BAR0_VIEW_STRIDE)
#define COUNTERS_END (FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_STRIDE)

#define RIGHTS                                                                                                         \
    (FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK | FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK |                                \
     FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK | FERRY_BAR0_RING_RIGHTS_TABLES_MASK)
#define LAYOUT_BITS                                                                                                    \
    (FERRY_BAR0_VIEW_LAYOUT_SWIZZLE_MASK | FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK | FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK)

// Half of a 64-bit register; offset is that of the half.
static uint32_t half(uint64_t value, uint32_t offset)
{
    return (uint32_t)(value >> (offset & 4 ? 32 : 0));
}

static void set_half(uint64_t *value, uint32_t offset, uint32_t word)
{
    unsigned shift = offset & 4 ? 32 : 0;

    *value = (*value & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)word << shift;
}

static uint32_t status(const struct ferry_model *model)
{
    uint32_t value = model->control & FERRY_BAR0_CONTROL_CORE_RUN_MASK ? FERRY_BAR0_STATUS_CORE_MASK : 0;

    for (unsigned i = 0; i < MODEL_SLOTS; i++) {
        if (model->slots[i].held)
            value |= FERRY_BAR0_STATUS_SLOTS_MASK | (model->hung ? FERRY_BAR0_STATUS_ENGINE_MASK : 0);
    }
    return value;
}

static uint32_t ring_read(const struct model_ring *ring, uint32_t offset)
{
    switch (offset) {
    case FERRY_BAR0_RING_BASE:
    case FERRY_BAR0_RING_BASE + 4: return half(ring->base, offset);
    case FERRY_BAR0_RING_ENTRIES_LOG2: return ring->entries_log2;
    case FERRY_BAR0_RING_RIGHTS: return ring->rights;
    case FERRY_BAR0_RING_PRODUCER: return ring->producer;
    case FERRY_BAR0_RING_FETCHED: return ring->fetched;
    case FERRY_BAR0_RING_RETIRED: return ring->retired;
    case FERRY_BAR0_RING_CONTROL: return ring->control;
    case FERRY_BAR0_RING_FENCE_ADDRESS:
    case FERRY_BAR0_RING_FENCE_ADDRESS + 4: return half(ring->fence_address, offset);
    case FERRY_BAR0_RING_FENCE_VALUE:
    case FERRY_BAR0_RING_FENCE_VALUE + 4: return half(ring->fence_value, offset);
    case FERRY_BAR0_RING_FAULTS: return ring->faults;
    case FERRY_BAR0_RING_LAST_FAULTED: return ring->last_faulted;
    default: return 0;
    }
}

static void ring_write(struct model_ring *ring, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case FERRY_BAR0_RING_BASE:
    case FERRY_BAR0_RING_BASE + 4: set_half(&ring->base, offset, value); break;
    case FERRY_BAR0_RING_ENTRIES_LOG2: ring->entries_log2 = value & FERRY_BAR0_RING_ENTRIES_LOG2_VALUE_MASK; break;
    case FERRY_BAR0_RING_RIGHTS: ring->rights = value & RIGHTS; break;
    case FERRY_BAR0_RING_PRODUCER: ring->producer = value; break;
    case FERRY_BAR0_RING_CONTROL: ring->control = value & FERRY_BAR0_RING_CONTROL_ENABLE_MASK; break;
    case FERRY_BAR0_RING_FENCE_ADDRESS:
    case FERRY_BAR0_RING_FENCE_ADDRESS + 4: set_half(&ring->fence_address, offset, value); break;
    default: break;
    }
}

// A word of VIEW.
static uint32_t *view_word(struct ferry_model *model, uint32_t offset)
{
    uint32_t at = offset - FERRY_BAR0_VIEW_AT;

    return &model->view[at / FERRY_BAR0_VIEW_STRIDE][at % FERRY_BAR0_VIEW_STRIDE / 4];
}

uint32_t ferry_model_read(struct ferry_model *model, uint32_t offset)
{
    if (offset >= FERRY_BAR0_VIEW_AT && offset < VIEWS_END)
        return *view_word(model, offset);
    if (offset >= FERRY_BAR0_RING_AT && offset < RINGS_END)
        return ring_read(&model->rings[(offset - FERRY_BAR0_RING_AT) / FERRY_BAR0_RING_STRIDE],
                         (offset - FERRY_BAR0_RING_AT) % FERRY_BAR0_RING_STRIDE);
    if (offset >= FERRY_BAR0_COUNTER_AT && offset < COUNTERS_END)
        return half(model->counters[(offset - FERRY_BAR0_COUNTER_AT) / 8], offset);
    if (offset >= FERRY_BAR0_FIRMWARE_RAM && offset < FERRY_BAR0_FIRMWARE_RAM + FERRY_BAR0_FIRMWARE_RAM_SPAN) {
        if (model->control & FERRY_BAR0_CONTROL_CORE_RUN_MASK)
            return 0;
        return model_get32(model->firmware_ram + (offset - FERRY_BAR0_FIRMWARE_RAM));
    }
    switch (offset) {
    case FERRY_BAR0_MAGIC: return FERRY_BAR0_MAGIC_RESET;
    case FERRY_BAR0_CONTRACT_VERSION: return model->options.contract_version;
    case FERRY_BAR0_CAPABILITIES:
        return FERRY_PUT(FERRY_BAR0_CAPABILITIES_RINGS, MODEL_RINGS) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_TAGS_LOG2, 5u) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_SLOTS, MODEL_SLOTS) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, 12u) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_DATA_BYTES_LOG2, 3u) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_PAGE_TABLES, (uint32_t)model->options.page_tables) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_TILING, (uint32_t)model->options.tiling) |
               FERRY_PUT(FERRY_BAR0_CAPABILITIES_VIEWS, model->options.tiling ? MODEL_VIEWS : 0u);
    case FERRY_BAR0_APERTURE_PAGES: return model->options.aperture_pages;
    case FERRY_BAR0_LOCAL_BYTES:
    case FERRY_BAR0_LOCAL_BYTES + 4: return half(model->options.local_bytes, offset);
    case FERRY_BAR0_FIRMWARE_RAM_BYTES: return FERRY_BAR0_FIRMWARE_RAM_SPAN;
    case FERRY_BAR0_SCRATCH: return model->scratch;
    case FERRY_BAR0_CONTROL: return model->control | (model->resetting ? FERRY_BAR0_CONTROL_ENGINE_RESET_MASK : 0);
    case FERRY_BAR0_STATUS: return status(model);
    case FERRY_BAR0_FIRMWARE_VERSION: return model->firmware_version;
    case FERRY_BAR0_FIRMWARE_STATE: return model->firmware_state;
    case FERRY_BAR0_LOCAL_LIMIT:
    case FERRY_BAR0_LOCAL_LIMIT + 4: return half(model->local_limit, offset);
    case FERRY_BAR0_PROTECT_BASE:
    case FERRY_BAR0_PROTECT_BASE + 4: return half(model->protect_base, offset);
    case FERRY_BAR0_PROTECT_LIMIT:
    case FERRY_BAR0_PROTECT_LIMIT + 4: return half(model->protect_limit, offset);
    case FERRY_BAR0_HOST_CONTRACT: return model->host_contract;
    case FERRY_BAR0_ENGINE_TIMEOUT: return model->engine_timeout;
    case FERRY_BAR0_COMPLETION_TIMEOUT: return model->completion_timeout;
    case FERRY_BAR0_TAG_LIMIT: return model->tag_limit;
    case FERRY_BAR0_INTERRUPT_STATUS: return model->interrupt_status;
    case FERRY_BAR0_INTERRUPT_ENABLE: return model->interrupt_enable;
    case FERRY_BAR0_INTERRUPT_COALESCE: return model->interrupt_coalesce;
    case FERRY_BAR0_INTERRUPT_COUNT: return model->interrupt_count;
    case FERRY_BAR0_FAULT_LOG_ADDRESS:
    case FERRY_BAR0_FAULT_LOG_ADDRESS + 4: return half(model->fault_log, offset);
    case FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2: return model->fault_log_entries_log2;
    case FERRY_BAR0_FAULT_LOG_PRODUCED: return model->fault_log_produced;
    case FERRY_BAR0_FAULT_LOG_CONSUMED: return model->fault_log_consumed;
    default: return 0; // HALT_CODE and HALT_ARGUMENT among them: the model has no invariant that can break.
    }
}

// A hardware reset of the core: it boots anew and decides whether it takes the host.
static void set_control(struct ferry_model *model, uint32_t value)
{
    bool ran = model->control & FERRY_BAR0_CONTROL_CORE_RUN_MASK;
    bool runs = value & FERRY_BAR0_CONTROL_CORE_RUN_MASK;

    model->control = value & FERRY_BAR0_CONTROL_CORE_RUN_MASK;
    // What was mapped, in the aperture and by page tables, is the hardware's to know, and stays.
    if (runs && !ran)
        model->firmware_state = FERRY_FIRMWARE_STATE_BOOTING;
    if (!runs) {
        // Slots are freed; what was not retired is fetched again after a restart.
        model->firmware_state = FERRY_FIRMWARE_STATE_RESET;
        model->firmware_version = 0;
        for (unsigned i = 0; i < MODEL_SLOTS; i++)
            model->slots[i].held = false;
        for (unsigned i = 0; i < MODEL_RINGS; i++)
            model->rings[i].fetched = model->rings[i].retired;
    }
    if (value & FERRY_BAR0_CONTROL_ENGINE_RESET_MASK) {
        model->resetting = true;
        model->hung = false;
        for (unsigned i = 0; i < MODEL_SLOTS; i++) {
            if (model->slots[i].held && !model->slots[i].executed)
                model->slots[i].aborted = true;
        }
    }
}

void ferry_model_write(struct ferry_model *model, uint32_t offset, uint32_t value)
{
    if (offset >= FERRY_BAR0_RING_AT && offset < RINGS_END) {
        ring_write(&model->rings[(offset - FERRY_BAR0_RING_AT) / FERRY_BAR0_RING_STRIDE],
                   (offset - FERRY_BAR0_RING_AT) % FERRY_BAR0_RING_STRIDE, value);
        return;
    }
    if (offset >= FERRY_BAR0_FIRMWARE_RAM && offset < FERRY_BAR0_FIRMWARE_RAM + FERRY_BAR0_FIRMWARE_RAM_SPAN) {
        if (!(model->control & FERRY_BAR0_CONTROL_CORE_RUN_MASK))
            model_put32(model->firmware_ram + (offset - FERRY_BAR0_FIRMWARE_RAM), value);
        return;
    }
    if (offset >= FERRY_BAR0_VIEW_AT && offset < VIEWS_END) {
        bool is_layout = offset % FERRY_BAR0_VIEW_STRIDE == FERRY_BAR0_VIEW_LAYOUT;

        *view_word(model, offset) = is_layout ? value & LAYOUT_BITS : value;
        return;
    }
    switch (offset) {
    case FERRY_BAR0_SCRATCH: model->scratch = value; break;
    case FERRY_BAR0_CONTROL: set_control(model, value); break;
    case FERRY_BAR0_LOCAL_LIMIT:
    case FERRY_BAR0_LOCAL_LIMIT + 4: set_half(&model->local_limit, offset, value); break;
    case FERRY_BAR0_PROTECT_BASE:
    case FERRY_BAR0_PROTECT_BASE + 4: set_half(&model->protect_base, offset, value); break;
    case FERRY_BAR0_PROTECT_LIMIT:
    case FERRY_BAR0_PROTECT_LIMIT + 4: set_half(&model->protect_limit, offset, value); break;
    case FERRY_BAR0_HOST_CONTRACT: model->host_contract = value; break;
    case FERRY_BAR0_ENGINE_TIMEOUT: model->engine_timeout = value; break;
    case FERRY_BAR0_COMPLETION_TIMEOUT: model->completion_timeout = value; break;
    case FERRY_BAR0_TAG_LIMIT: model->tag_limit = value & 0xff; break;
    case FERRY_BAR0_INTERRUPT_STATUS: model->interrupt_status &= ~value; break;
    case FERRY_BAR0_INTERRUPT_ENABLE: {
        value &= FERRY_BAR0_INTERRUPT_ENABLE_VALUE_MASK;
        uint32_t fresh = value & ~model->interrupt_enable & model->interrupt_status;

        // A cause that waited for its enable bit is a cause now.
        model->interrupt_enable = value;
        model_cause(model, fresh);
        break;
    }
    case FERRY_BAR0_INTERRUPT_COALESCE: model->interrupt_coalesce = value; break;
    case FERRY_BAR0_FAULT_LOG_ADDRESS:
    case FERRY_BAR0_FAULT_LOG_ADDRESS + 4: set_half(&model->fault_log, offset, value); break;
    case FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2:
        model->fault_log_entries_log2 = value & FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2_VALUE_MASK;
        break;
    case FERRY_BAR0_FAULT_LOG_CONSUMED: model->fault_log_consumed = value; break;
    default: break;
    }
}

// ---- Interrupts -------------------------------------------------------------------------------------------------

static void send(struct ferry_model *model)
{
    model->coalesced = 0;
    model->interrupt_count++;
    model->event = true;
    if (model->host.interrupt)
        model->host.interrupt(model->host.context);
}

void model_cause(struct ferry_model *model, uint32_t bits)
{
    model->interrupt_status |= bits;
    bits &= model->interrupt_enable;
    if (!bits)
        return;
    if (!model->coalesced)
        model->coalesced_since = model->counters[MODEL_COUNTER(CYCLES)];
    for (; bits; bits &= bits - 1)
        model->coalesced++;
    model_interrupt_tick(model);
}

void model_interrupt_tick(struct ferry_model *model)
{
    uint32_t count = FERRY_GET(FERRY_BAR0_INTERRUPT_COALESCE_COUNT, model->interrupt_coalesce);
    uint32_t cycles = FERRY_GET(FERRY_BAR0_INTERRUPT_COALESCE_CYCLES, model->interrupt_coalesce);

    if (model->coalesced &&
        (model->coalesced >= count || model->counters[MODEL_COUNTER(CYCLES)] - model->coalesced_since >= cycles))
        send(model);
}
