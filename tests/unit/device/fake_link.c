// SPDX-License-Identifier: Apache-2.0
#include "fake_link.h"

#include <stdlib.h>
#include <string.h>

static struct fake_link *of(struct ferry_link *link)
{
    return (struct fake_link *)link;
}

static uint32_t *at(struct fake_link *fake, uint32_t offset)
{
    return &fake->registers[offset / 4];
}

static uint32_t ring_at(uint32_t ring, uint32_t offset)
{
    return FERRY_BAR0_RING_AT + ring * FERRY_BAR0_RING_STRIDE + offset;
}

static uint64_t read_wide(struct fake_link *fake, uint32_t offset)
{
    return *at(fake, offset) | (uint64_t)*at(fake, offset + 4) << 32;
}

const struct ferry_ring_entry *fake_link_entry(struct fake_link *fake, uint32_t ring, uint32_t n)
{
    const uint64_t bus = read_wide(fake, ring_at(ring, FERRY_BAR0_RING_BASE)) + 32ull * n;
    return (const struct ferry_ring_entry *)(void *)ferry_dma_map_find(fake->map, bus, NULL);
}

void fake_link_interrupt(struct fake_link *fake, uint32_t causes)
{
    *at(fake, FERRY_BAR0_INTERRUPT_STATUS) |= causes;
    fake->interrupts++;
    fake->reasons |= FERRY_PUMP_INTERRUPT;
}

static struct ferry_fault_record *newest_fault(struct fake_link *fake, bool *watched)
{
    const uint32_t log2 = *at(fake, FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2);
    const uint32_t place = (*at(fake, FERRY_BAR0_FAULT_LOG_PRODUCED) - 1) & ((1u << log2) - 1);
    return (void *)ferry_dma_map_find(fake->map, read_wide(fake, FERRY_BAR0_FAULT_LOG_ADDRESS) + 64ull * place,
                                      watched);
}

struct ferry_fault_record *fake_link_last_fault(struct fake_link *fake)
{
    return newest_fault(fake, NULL);
}

void fake_link_fault(struct fake_link *fake, uint32_t kind, uint64_t address)
{
    const uint32_t number = ++*at(fake, FERRY_BAR0_FAULT_LOG_PRODUCED);
    bool watched = false;
    struct ferry_fault_record *record = newest_fault(fake, &watched);
    *record = (struct ferry_fault_record){
        .sequence = number,
        .what = kind | 2u << 8 | 1u << 12 | 1u << 14 | 0x48u << 16,
        .time = 77,
        .address = address,
        .fence_value = 5,
        .buffer_address = 0x123000,
        .header = 0x80001,
        .written = 64,
    };
    fake->reasons |= watched ? FERRY_PUMP_WRITE : 0;
}

/// Retire what is due.
static void react(struct fake_link *fake)
{
    for (uint32_t ring = 0; ring < FERRY_BAR0_RING_COUNT; ring++) {
        const uint32_t producer = *at(fake, ring_at(ring, FERRY_BAR0_RING_PRODUCER));
        if (fake->retire_cycles == 0 || producer == fake->retired[ring] ||
            fake->cycles < fake->doorbell_at[ring] + fake->retire_cycles) {
            continue;
        }
        bool watched = false;
        struct ferry_fence_record *record = (void *)ferry_dma_map_find(
            fake->map, read_wide(fake, ring_at(ring, FERRY_BAR0_RING_FENCE_ADDRESS)), &watched);
        const uint32_t entries = 1u << *at(fake, ring_at(ring, FERRY_BAR0_RING_ENTRIES_LOG2));
        const struct ferry_ring_entry *last = fake_link_entry(fake, ring, (producer - 1) % entries);
        fake->retired[ring] = producer;
        record->value = last->fence_value;
        record->time = fake->cycles;
        record->retired = producer;
        record->status = fake->error_status;
        record->faults += fake->error_status != 0;
        record->last_faulted = fake->error_status != 0 ? producer : record->last_faulted;
        fake->reasons |= watched ? FERRY_PUMP_WRITE : 0;
        if (last->flags & 1) {
            fake_link_interrupt(fake, 1u << ring);
        }
    }
}

static void power_on(struct fake_link *fake)
{
    memset(fake->registers, 0, sizeof(fake->registers));
    memset(fake->retired, 0, sizeof(fake->retired));
    *at(fake, FERRY_BAR0_MAGIC) = 0x59525246;
    *at(fake, FERRY_BAR0_CONTRACT_VERSION) = 0x60000;
    *at(fake, FERRY_BAR0_CAPABILITIES) = 0x3c455; // 8 byte data, 4096 byte slots, 4 slots, 32 tags, 5 rings.
    *at(fake, FERRY_BAR0_APERTURE_PAGES) = 4096;
    *at(fake, FERRY_BAR0_LOCAL_BYTES) = 0x3000000;
    *at(fake, FERRY_BAR0_FIRMWARE_RAM_BYTES) = 0x4000;
}

static int reset(struct ferry_link *link)
{
    struct fake_link *fake = of(link);
    fake->resets++;
    fake->resetting = fake->reset_error == FERRY_OK;
    return fake->reset_error;
}

static void advance(struct fake_link *fake, uint64_t cycles)
{
    fake->cycles += cycles + fake->leap;
    fake->leap = 0;
    if (fake->moving != 0 && (fake->still_from == 0 || fake->cycles < fake->still_from))
        ++*at(fake, FERRY_BAR0_COUNTER_AT + fake->moving);
    if (fake->tells && fake->cycles >= fake->tells_at) {
        fake->tells_at = fake->cycles + fake->tells_every;
        fake->reasons |= FERRY_PUMP_WRITE;
    }
    if ((*at(fake, FERRY_BAR0_CONTROL) & 1) && fake->cycles >= fake->started_at + fake->boot_cycles) {
        *at(fake, FERRY_BAR0_FIRMWARE_STATE) = fake->final_state;
        *at(fake, FERRY_BAR0_FIRMWARE_VERSION) = 0x10000;
    }
    react(fake);
}

static int read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    struct fake_link *fake = of(link);
    (void)bar;
    *value = 0xffffffff;
    if (fake->fail_reads != 0) {
        fake->fail_reads--;
        return FERRY_ERROR_TIMEOUT;
    }
    if (offset >= sizeof(fake->registers)) {
        return FERRY_ERROR_RANGE;
    }
    if (fake->resetting && fake->reset_reads-- == 0) {
        fake->resetting = false;
        power_on(fake);
    }
    *at(fake, FERRY_BAR0_INTERRUPT_STATUS) &= ~fake->clear_under_way;
    fake->clear_under_way = 0;
    *value = *at(fake, (uint32_t)offset);
    return FERRY_OK;
}

static int write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    struct fake_link *fake = of(link);
    (void)bar;
    if (fake->write_error != FERRY_OK && fake->write_passes > 0) {
        fake->write_passes--;
    } else if (fake->write_error != FERRY_OK) {
        int error = fake->write_error;
        fake->write_error = fake->write_errors_more > 0 ? error : FERRY_OK;
        fake->write_errors_more -= fake->write_errors_more > 0;
        return error;
    }
    fake->writes_seen[fake->writes % 64][0] = (uint32_t)offset;
    fake->writes_seen[fake->writes++ % 64][1] = value;
    if (offset == FERRY_BAR0_INTERRUPT_STATUS) {
        fake->clear_under_way |= value;
        return FERRY_OK;
    }
    if (offset == FERRY_BAR0_CONTROL) {
        if ((value & 1) && !(*at(fake, FERRY_BAR0_CONTROL) & 1)) {
            *at(fake, FERRY_BAR0_FIRMWARE_STATE) = FERRY_FIRMWARE_STATE_BOOTING;
            fake->started_at = fake->cycles;
        }
        value &= fake->never_ends_reset ? 3u : 1u;
    }
    *at(fake, (uint32_t)offset) = value;
    for (uint32_t ring = 0; ring < FERRY_BAR0_RING_COUNT; ring++) {
        if (offset == ring_at(ring, FERRY_BAR0_RING_PRODUCER)) {
            fake->doorbell_at[ring] = fake->cycles;
        }
    }
    return FERRY_OK;
}

static int read_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, void *data, size_t bytes)
{
    struct fake_link *fake = of(link);
    if (bar == FERRY_BAR_WINDOW) {
        if (offset + bytes > sizeof(fake->window)) {
            return FERRY_ERROR_RANGE;
        }
        memcpy(data, fake->window + offset, bytes);
        return FERRY_OK;
    }
    if (offset == FERRY_BAR0_COUNTER_AT) {
        fake->counter_reads++;
        fake->cycles += fake->leap_before_look;
        fake->leap_before_look = 0;
        if (fake->cycles >= fake->deaf_from && fake->cycles < fake->deaf_until) {
            return FERRY_ERROR_TIMEOUT;
        }
    }
    memcpy(data, (const char *)fake->registers + offset, bytes);
    if (offset == FERRY_BAR0_FIRMWARE_RAM && fake->corrupt_firmware_ram) {
        ((unsigned char *)data)[bytes / 2] ^= 4;
    }
    if (offset == FERRY_BAR0_COUNTER_AT && fake->carry_reads != 0) {
        // The low word was read before the carry, the high word after it.
        fake->carry_reads--;
        *at(fake, FERRY_BAR0_COUNTER_AT) = 3;
        *at(fake, FERRY_BAR0_COUNTER_AT + 4) += 1;
        ((uint32_t *)data)[0] = 0xfffffffd;
        ((uint32_t *)data)[1] = *at(fake, FERRY_BAR0_COUNTER_AT + 4);
    }
    return FERRY_OK;
}

static int write_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, const void *data, size_t bytes)
{
    struct fake_link *fake = of(link);
    if (bar == FERRY_BAR_WINDOW && offset + bytes > sizeof(fake->window)) {
        return FERRY_ERROR_RANGE;
    }
    memcpy(bar == FERRY_BAR_WINDOW ? (char *)fake->window + offset : (char *)fake->registers + offset, data, bytes);
    return FERRY_OK;
}

static int dma_map(struct ferry_link *link, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    int error = of(link)->map_error;
    of(link)->map_error = FERRY_OK;
    return error != FERRY_OK ? error : ferry_dma_map_add(of(link)->map, memory, pages, flags, bus);
}

static void dma_unmap(struct ferry_link *link, const uint64_t *bus, size_t pages)
{
    of(link)->pages_unmapped += pages;
    ferry_dma_map_remove(of(link)->map, bus, pages);
}

static void tell_refused(struct ferry_link *link, ferry_link_refused_write *handler, void *context)
{
    of(link)->refused = handler;
    of(link)->refused_context = context;
}

static const void *dma_find(struct ferry_link *link, uint64_t bus)
{
    return ferry_dma_map_find(of(link)->map, bus, NULL);
}

static int pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    struct fake_link *fake = of(link);
    while (cycles != 0 && fake->reasons == 0) {
        const uint64_t step = fake->tells && fake->timeless ? 1 : cycles < 100 ? cycles : 100;
        advance(fake, step);
        cycles -= step;
    }
    if (reasons != NULL) {
        *reasons = fake->reasons;
    }
    fake->reasons = 0;
    return FERRY_OK;
}

static uint32_t take_interrupts(struct ferry_link *link)
{
    const uint32_t interrupts = of(link)->interrupts;
    of(link)->interrupts = 0;
    return interrupts;
}

static uint64_t cycles(struct ferry_link *link)
{
    return of(link)->cycles;
}

static void counts(struct ferry_link *link, struct ferry_link_counts *counts)
{
    *counts = (struct ferry_link_counts){.unmapped_accesses = 9,
                                         .mapped_pages = ferry_dma_map_pages(of(link)->map),
                                         .noise_bytes = 10,
                                         .broken_frames = 11,
                                         .frames_again = 12};
}

static void close_link(struct ferry_link *link)
{
    *of(link)->closed = true;
    if (of(link)->refused != NULL) {
        abort(); // Whoever it would call is gone.
    }
    ferry_dma_map_destroy(of(link)->map);
    free(link);
}

static uint32_t delay(struct ferry_link *link)
{
    return of(link)->delay;
}

static const struct ferry_link_operations operations = {
    .read32 = read32,
    .write32 = write32,
    .read_block = read_block,
    .write_block = write_block,
    .dma_map = dma_map,
    .dma_unmap = dma_unmap,
    .tell_refused = tell_refused,
    .dma_find = dma_find,
    .pump = pump,
    .take_interrupts = take_interrupts,
    .cycles = cycles,
    .counts = counts,
    .reset = reset,
    .delay = delay,
    .close = close_link,
};

struct fake_link *fake_link_create(bool *closed)
{
    struct fake_link *fake = calloc(1, sizeof(*fake));
    fake->link.operations = &operations;
    fake->closed = closed;
    fake->boot_cycles = 3000;
    fake->final_state = FERRY_FIRMWARE_STATE_RUNNING;
    fake->retire_cycles = 2000;
    ferry_dma_map_create(3, &fake->map);
    power_on(fake);
    return fake;
}
