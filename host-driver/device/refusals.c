// SPDX-License-Identifier: Apache-2.0
// Writes of the device that the host refused. A posted write has no completion, so the device cannot know; the host
// side of the link tells the address and the packet's tag, and the tag (contract, write_tag) names ring and entry.
// Posted order brings every write of an entry before its fence record, so the entry is known to be bad when its fence
// comes.
#include <stdlib.h>
#include <string.h>

#include "device/device_state.h"

#define ENTRY_NUMBERS   (1u << FERRY_WRITE_TAG_TAG_ENTRY_WIDTH)
#define QUEUE_FIRST     16u
#define MAX_SLOT_BYTES  4096u
#define PAGE_BYTES      4096u
#define PAGE_MASK       (~(uint64_t)(PAGE_BYTES - 1))
#define PACKET_MIN_WORD 2u

static const struct ferry_ring_entry *entry_at(const struct ferry_gpu_ring *ring, uint32_t number)
{
    return (const struct ferry_ring_entry *)ring->memory.address + (number - 1) % ring->entries;
}

static const struct ferry_fault_record *record_at(const struct ferry_gpu *gpu, uint32_t number)
{
    const struct ferry_fault_record *log = gpu->fault_log.address;
    return &log[(number - 1) & ((1u << FERRY_GPU_FAULT_LOG_LOG2) - 1)];
}

/// Sequence number of the newest record in the log.
static uint32_t newest_record(const struct ferry_gpu *gpu)
{
    uint32_t number = gpu->faults_taken;
    while (number - gpu->faults_taken < 1u << FERRY_GPU_FAULT_LOG_LOG2 &&
           __atomic_load_n(&record_at(gpu, number + 1)->sequence, __ATOMIC_ACQUIRE) == number + 1) {
        number++;
    }
    return number;
}

static bool is_of(const struct ferry_fault_record *record, uint32_t ring, const struct ferry_ring_entry *entry)
{
    return FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, record->what) == ring && record->fence_value == entry->fence_value &&
           record->buffer_address == entry->buffer_address;
}

/// The device has a fault record of its own for the entry, and so counts it itself.
static bool device_tells(const struct ferry_gpu *gpu, uint32_t ring, const struct ferry_ring_entry *entry)
{
    for (uint32_t number = gpu->faults_taken, last = newest_record(gpu); number != last; number++) {
        if (is_of(record_at(gpu, number + 1), ring, entry)) {
            return true;
        }
    }
    return false;
}

void ferry_gpu_refusals_record_taken(struct ferry_gpu *gpu, const struct ferry_fault_record *record)
{
    const uint32_t number = FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, record->what);
    if (number >= FERRY_BAR0_RING_COUNT) {
        return;
    }
    struct ferry_gpu_ring *ring = &gpu->ring[number];
    for (uint32_t n = 1; n < ENTRY_NUMBERS && ring->refused != 0; n++) {
        const uint32_t bit = 1u << (ring->refused_base + n) % ENTRY_NUMBERS;
        if ((ring->refused & bit) && is_of(record, number, entry_at(ring, ring->refused_base + n))) {
            ring->told |= bit;
        }
    }
}

void ferry_gpu_refusals_settle(struct ferry_gpu *gpu, uint32_t number)
{
    struct ferry_gpu_ring *ring = &gpu->ring[number];
    const uint32_t retired = ferry_gpu_ring_retired(gpu, number);
    for (uint32_t n = ring->refused_base + 1; ring->refused != 0 && (int32_t)(retired - n) >= 0; n++) {
        const uint32_t bit = 1u << n % ENTRY_NUMBERS;
        if (ring->refused & bit) {
            ring->refused_last = n;
            ring->refused_any = true;
            ring->refused_count += !(ring->told & bit) && !device_tells(gpu, number, entry_at(ring, n));
            ring->refused &= ~bit;
            ring->told &= ~bit;
            gpu->refusal_cause = true;
        }
    }
    ring->refused_base = retired;
}

void ferry_gpu_refusals_apply(struct ferry_gpu *gpu, uint32_t number, struct ferry_gpu_fence *fence)
{
    const struct ferry_gpu_ring *ring = &gpu->ring[number];
    ferry_gpu_refusals_settle(gpu, number);
    if (!ring->refused_any) {
        return;
    }
    if (fence->faults == 0 || (int32_t)(ring->refused_last - fence->last_faulted) > 0) {
        fence->last_faulted = ring->refused_last;
    }
    if (ring->refused_last == fence->retired && fence->status == FERRY_BUFFER_STATUS_SUCCESS) {
        fence->status = FERRY_BUFFER_STATUS_FAULTED;
    }
    fence->faults += ring->refused_count;
}

// ---- Which packet it was ----------------------------------------------------------------------------------------

/// Copy bytes of host memory by bus address, as the device reads them; false when a page is not mapped.
static bool read_bus(struct ferry_link *link, uint64_t bus, void *data, uint32_t bytes)
{
    for (uint32_t done = 0; done < bytes;) {
        const uint64_t at = bus + done;
        const uint32_t page_left = (uint32_t)(PAGE_BYTES - at % PAGE_BYTES);
        const uint32_t piece = bytes - done < page_left ? bytes - done : page_left;
        const void *memory = link->operations->dma_find(link, at);
        if (memory == NULL) {
            return false;
        }
        memcpy((char *)data + done, memory, piece);
        done += piece;
    }
    return true;
}

static uint64_t wide(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

/// Whether the destination of a COPY_RECTANGLE takes the address, of tiles whole ones. A packet that was carried out
/// keeps the contract's rules.
static bool rectangle_takes(const uint32_t *packet, uint64_t address)
{
    const uint32_t layout = packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION_LAYOUT / 4];
    const uint32_t swizzle = FERRY_GET(FERRY_PACKET_LAYOUT_SWIZZLE, layout);
    const uint32_t less = layout & FERRY_PACKET_LAYOUT_SMALL_MASK ? 2 : 0;
    const int64_t pitch = (int32_t)packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH / 4];
    uint64_t rows = packet[FERRY_PACKET_COPY_RECTANGLE_LAST_ROW / 4], bytes = packet[2];
    uint64_t low = wide(packet + FERRY_PACKET_COPY_RECTANGLE_DESTINATION / 4);
    if (swizzle != 0) {
        const uint32_t x_log2 = 7 + swizzle - less, y_log2 = 9 - swizzle - less;
        rows = (rows + FERRY_GET(FERRY_PACKET_LAYOUT_Y, layout)) >> y_log2;
        bytes = (((bytes + FERRY_GET(FERRY_PACKET_LAYOUT_X, layout) - 1) >> x_log2) + 1) << (x_log2 + y_log2);
    }
    const uint64_t more = rows * (uint64_t)(pitch < 0 ? -pitch : pitch);
    low -= pitch < 0 ? more : 0;
    return address - low < more + bytes;
}

/// Whether a packet of `words` words writes the bus address by name. *aperture = it writes through the aperture, of
/// which the host keeps no copy.
static bool packet_writes(const uint32_t *packet, uint32_t words, uint64_t address, bool *aperture)
{
    const uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, packet[0]);
    const uint32_t kind = FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, packet[1]);
    uint64_t destination, bytes = words > 2 ? packet[2] : 0;
    if (opcode == FERRY_OPCODE_COPY && words == 8) {
        destination = wide(packet + FERRY_PACKET_COPY_DESTINATION / 4);
    } else if (opcode == FERRY_OPCODE_COPY_PAGES && words >= 8) {
        destination = wide(packet + FERRY_PACKET_COPY_PAGES_ADDRESS / 4);
        if (FERRY_GET(FERRY_PACKET_PLACES_LIST, packet[1]) == FERRY_LIST_SIDE_DESTINATION) {
            for (uint32_t at = FERRY_PACKET_COPY_PAGES_PAGE / 4; at + 2 <= words; at += 2) {
                if (((wide(packet + at) ^ address) & PAGE_MASK) == 0) {
                    return true;
                }
            }
            return false;
        }
    } else if (opcode == FERRY_OPCODE_COPY_RECTANGLE && words == 12) {
        *aperture = kind == FERRY_ADDRESS_KIND_APERTURE;
        return kind == FERRY_ADDRESS_KIND_SYSTEM && rectangle_takes(packet, address);
    } else if ((opcode == FERRY_OPCODE_FILL || opcode == FERRY_OPCODE_WRITE) && words == 8) {
        destination = wide(packet + FERRY_PACKET_FILL_DESTINATION / 4);
    } else if (opcode == FERRY_OPCODE_FENCE && words == 6) {
        destination = wide(packet + FERRY_PACKET_FENCE_ADDRESS / 4);
        bytes = 8;
    } else {
        return false;
    }
    *aperture = kind == FERRY_ADDRESS_KIND_APERTURE && bytes != 0;
    return kind == FERRY_ADDRESS_KIND_SYSTEM && address - destination < bytes;
}

/// Fill in packet_offset and packet_header: the first packet whose destination holds the address, else the only one
/// that writes through the aperture. Both stay 0 when neither is there.
static void find_packet(struct ferry_gpu *gpu, const struct ferry_ring_entry *entry, struct ferry_fault *fault)
{
    uint32_t buffer[MAX_SLOT_BYTES / 4];
    const uint32_t words = entry->buffer_bytes / 4;
    uint32_t apertures = 0, found = 0;
    if (gpu->link->operations->dma_find == NULL || entry->buffer_bytes > sizeof(buffer) ||
        !read_bus(gpu->link, entry->buffer_address, buffer, entry->buffer_bytes)) {
        return;
    }
    for (uint32_t at = 0; at + PACKET_MIN_WORD <= words;) {
        const uint32_t length = FERRY_GET(FERRY_PACKET_HEADER_WORDS, buffer[at]);
        bool aperture = false;
        if (length < PACKET_MIN_WORD || length > words - at) {
            break;
        }
        if (packet_writes(buffer + at, length, fault->address, &aperture)) {
            apertures = 1;
            found = at;
            break;
        }
        found = aperture ? at : found;
        apertures += aperture;
        at += length;
    }
    if (apertures == 1) {
        fault->packet_offset = 4 * found;
        fault->packet_header = buffer[found];
    }
}

// ---- Arrival and delivery ---------------------------------------------------------------------------------------

static struct ferry_gpu_refusal *queue_place(struct ferry_gpu *gpu)
{
    if (gpu->refusal_first != 0 && gpu->refusal_first == gpu->refusal_end) {
        gpu->refusal_first = gpu->refusal_end = 0;
    }
    if (gpu->refusal_end == gpu->refusal_capacity) {
        const size_t capacity = gpu->refusal_capacity != 0 ? 2 * gpu->refusal_capacity : QUEUE_FIRST;
        struct ferry_gpu_refusal *grown = realloc(gpu->refusal, capacity * sizeof(*grown));
        if (grown == NULL) {
            return NULL;
        }
        gpu->refusal = grown;
        gpu->refusal_capacity = capacity;
    }
    return &gpu->refusal[gpu->refusal_end++];
}

void ferry_gpu_refusals_note(void *context, uint64_t address, uint32_t tag)
{
    struct ferry_gpu *gpu = context;
    const uint32_t number = FERRY_GET(FERRY_WRITE_TAG_TAG_RING, tag);
    if (number >= FERRY_BAR0_RING_COUNT || gpu->ring[number].entries == 0) {
        return; // Not a buffer's: a record, or the CPU through the window.
    }
    struct ferry_gpu_ring *ring = &gpu->ring[number];
    ferry_gpu_refusals_settle(gpu, number);
    const uint32_t base = ring->refused_base;
    const uint32_t ahead = (FERRY_GET(FERRY_WRITE_TAG_TAG_ENTRY, tag) - base) % ENTRY_NUMBERS;
    const uint32_t bit = 1u << (base + ahead) % ENTRY_NUMBERS;
    if (ahead == 0 || ahead > ring->produced - base || (ring->refused & bit)) {
        return; // No entry in flight, or not its first: like a device fault, an entry has one.
    }
    ring->refused |= bit;
    const struct ferry_ring_entry *entry = entry_at(ring, base + ahead);
    struct ferry_gpu_refusal *refusal = queue_place(gpu);
    if (refusal == NULL) {
        return; // Without memory for the record the errored fence still tells of it.
    }
    refusal->after = newest_record(gpu);
    refusal->fault = (struct ferry_fault){
        .size = sizeof(refusal->fault),
        .kind = FERRY_FAULT_KIND_HOST_UNSUPPORTED,
        .ring = number,
        .address_kind = FERRY_ADDRESS_KIND_SYSTEM,
        .is_write = 1,
        .time = gpu->link->operations->cycles(gpu->link),
        .address = address,
        .fence_value = entry->fence_value,
        .buffer_address = entry->buffer_address,
    };
    find_packet(gpu, entry, &refusal->fault);
}

bool ferry_gpu_refusals_take(struct ferry_gpu *gpu, struct ferry_fault *fault)
{
    if (gpu->refusal_first == gpu->refusal_end ||
        (int32_t)(gpu->faults_taken - gpu->refusal[gpu->refusal_first].after) < 0) {
        return false;
    }
    *fault = gpu->refusal[gpu->refusal_first++].fault;
    return true;
}

bool ferry_gpu_refusals_cause(struct ferry_gpu *gpu)
{
    for (uint32_t ring = 0; ring < FERRY_BAR0_RING_COUNT; ring++) {
        if (gpu->ring[ring].refused != 0) {
            ferry_gpu_refusals_settle(gpu, ring);
        }
    }
    const bool cause = gpu->refusal_cause;
    gpu->refusal_cause = false;
    return cause;
}
