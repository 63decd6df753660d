// SPDX-License-Identifier: Apache-2.0
// Inside of the reference model; nothing outside sim/model/ includes it.
#ifndef FERRY_MODEL_INTERNAL_H
#define FERRY_MODEL_INTERNAL_H

#include <string.h>

#include "ferry_contract.h"
#include "model/model.h"

#define MODEL_RINGS      FERRY_BAR0_RING_COUNT
#define MODEL_VIEWS      FERRY_BAR0_VIEW_COUNT
#define MODEL_SLOTS      4u
#define MODEL_SLOT_BYTES 4096u
#define MODEL_PAGE       4096u
#define MODEL_SPACES     16u
#define MODEL_KNOWN      4096u // Pages that are remembered.

// Counters in the order of BAR0 COUNTER, eight bytes each.
#define MODEL_COUNTERS      (FERRY_BAR0_COUNTER_STRIDE / 8u)
#define MODEL_COUNTER(NAME) (FERRY_BAR0_COUNTER_##NAME / 8u)

struct model_fault {
    uint32_t kind, address_kind;
    bool write;
    uint32_t packet_offset, header, written, list_index;
    uint64_t address;
    // Of a walk of page tables.
    bool walked;
    uint32_t space, height;
    uint64_t entry;
};

struct model_root {
    bool valid, host;
    uint32_t height;
    uint64_t table;
};

// A page that was found, until it is forgotten.
struct model_known {
    bool valid, host, read_only, closed;
    uint32_t space;
    uint64_t page, place;
};

struct model_slot {
    bool held;     // A buffer was fetched into it and has not retired.
    bool aborted;  // An engine reset cut it.
    bool executed; // Carried out; waits only for room in the fault log.
    uint32_t ring, bytes, status, space;
    uint64_t number;               // Order of fetching.
    uint64_t ready_at;             // Cycle from which it may be carried out.
    uint64_t address, fence_value; // 0 when the entry could not be read.
    bool interrupt, unread;
    bool virtual_only; // Its packets may name no other kind of address.
    struct model_fault fault;
    uint32_t done;    // Bytes of the packets that were carried out.
    uint32_t written; // Bytes that the COPY behind them has written, which is being carried out.
    uint8_t data[MODEL_SLOT_BYTES];
};

struct model_ring {
    uint64_t base, fence_address, fence_value;
    uint32_t entries_log2, rights, producer, fetched, retired, control, faults, last_faulted;
};

struct ferry_model {
    struct ferry_model_host host;
    struct ferry_model_options options;
    uint8_t *local;
    uint64_t *aperture;
    struct model_root roots[MODEL_SPACES];
    struct model_known known[MODEL_KNOWN];

    // A bit of the byte at this bus address is to be flipped on its way.
    bool flip_armed, flip_write;
    uint64_t flip_bus;

    struct model_ring rings[MODEL_RINGS];
    struct model_slot slots[MODEL_SLOTS];
    const struct model_slot *running; // Its buffer is being carried out; NULL between buffers.
    bool running_protected;           // Its packet may touch the protected range.
    uint32_t *written;                // Its packet is a user's COPY, and has written so much; else NULL.
    uint64_t fetched_buffers;
    uint32_t next_user_ring_to_fetch, next_user_ring_to_run;

    uint32_t scratch, control, firmware_version, firmware_state, host_contract;
    uint32_t engine_timeout, completion_timeout, tag_limit;
    uint64_t local_limit, protect_base, protect_limit;
    uint32_t view[MODEL_VIEWS][FERRY_BAR0_VIEW_STRIDE / 4];
    uint32_t interrupt_status, interrupt_enable, interrupt_coalesce, interrupt_count;
    uint32_t coalesced;       // Causes since the last message.
    uint64_t coalesced_since; // Cycle of the first of them.
    uint64_t fault_log;
    uint32_t fault_log_entries_log2, fault_log_produced, fault_log_consumed;
    uint64_t counters[MODEL_COUNTERS];
    uint64_t random;
    uint32_t injected[FERRY_MODEL_INJECTIONS];
    bool hung, resetting;
    bool event; // Something reached the host.
    uint8_t firmware_ram[FERRY_BAR0_FIRMWARE_RAM_SPAN];
};

static inline uint32_t model_get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t model_get64(const uint8_t *at)
{
    return model_get32(at) | (uint64_t)model_get32(at + 4) << 32;
}

static inline void model_put32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline void model_put64(uint8_t *at, uint64_t value)
{
    model_put32(at, (uint32_t)value);
    model_put32(at + 4, (uint32_t)(value >> 32));
}

// registers.c
void model_cause(struct ferry_model *model, uint32_t bits);
void model_interrupt_tick(struct ferry_model *model);

// Bytes from address to the end of its page.
static inline uint64_t model_in_page(uint64_t address)
{
    return MODEL_PAGE - (address & (MODEL_PAGE - 1));
}

static inline uint64_t model_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// places.c
// Memory at a place for bytes that stay in a page. NULL: nothing is there, and *fault_kind says why (NONE for a posted
// write to an unmapped bus address, which a device cannot notice: PCIe base specification 2.4.1, posted requests have
// no completion; the host learns by the write's tag whose it was).
uint8_t *model_place(struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes, bool write,
                     uint32_t *fault_kind);
// Eight bytes of a page table; false when they cannot be read.
bool model_read_entry(struct ferry_model *model, bool host, uint64_t address, uint64_t *entry);
// Posted: what is not mapped is dropped.
void model_post(struct ferry_model *model, uint64_t address, const uint8_t *data, uint32_t bytes);
// False with the first address that cannot be read.
bool model_fetch(struct ferry_model *model, uint64_t address, uint8_t *data, uint32_t bytes, uint64_t *failed);

// memory.c: true, or false with the fault's kind, address kind, direction, address and written bytes set.
bool model_copy(struct ferry_model *model, uint32_t destination_kind, uint64_t destination, uint32_t source_kind,
                uint64_t source, uint64_t bytes, struct model_fault *fault);
bool model_copy_pages(struct ferry_model *model, bool pages_are_source, const uint8_t *pages, uint32_t first_offset,
                      uint32_t kind, uint64_t address, uint64_t bytes, struct model_fault *fault);
bool model_fill(struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes, const uint8_t *pattern,
                uint32_t pattern_bytes, struct model_fault *fault);
bool model_read(struct ferry_model *model, uint32_t kind, uint64_t address, uint32_t bytes, struct model_fault *fault);

// rectangle.c. Whether a COPY_RECTANGLE has a value outside its range; the range of a side, from its lowest byte, and
// whether it goes over a multiple of 4 GiB; the copy, as model_copy().
bool model_rectangle_is_bad(const uint8_t *packet);
uint64_t model_rectangle_range(const uint8_t *packet, bool destination, uint64_t *bytes, bool *far);
bool model_copy_rectangle(struct ferry_model *model, const uint8_t *packet, uint32_t source_kind,
                          uint32_t destination_kind, struct model_fault *fault);

// tiles.c. Of a place in a tile, the bits that are of x (a byte in its row of the tile) and of y; all 0 without tiles.
// Where byte x of row y lies, with so many bytes from a row of tiles to the next.
struct model_tiles {
    uint32_t x_bits, y_bits;
    uint32_t width, height, bytes;
};
struct model_tiles model_tiles_of(uint32_t swizzle, bool is_small);
uint64_t model_tiles_place(const struct model_tiles *tiles, int64_t pitch, uint64_t x, uint64_t y);

// view.c: the place in local memory of a byte of BAR2's upper half; false when no range has it.
bool model_view(const struct ferry_model *model, uint64_t offset, uint64_t *place);

// tables.c: where a GPU virtual address of the running buffer's space goes; false with the fault.
bool model_translate(struct ferry_model *model, uint64_t address, bool write, uint32_t *kind, uint64_t *place,
                     struct model_fault *fault);
void model_forget(struct ferry_model *model, uint32_t scope, uint32_t space, uint64_t address);

// packets.c: carry out the packet at this offset of a slot's buffer, which takes so many bytes there.
bool model_run_packet(struct ferry_model *model, const struct model_slot *slot, uint32_t offset, uint32_t *bytes,
                      struct model_fault *fault);

// buffers.c: carry out the buffer of a slot; sets status and fault.
/// False when the engine hung on the way.
bool model_run_buffer(struct ferry_model *model, struct model_slot *slot);

// model.c
uint64_t model_random_below(struct ferry_model *model, uint64_t limit);

#endif
