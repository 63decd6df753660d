// SPDX-License-Identifier: Apache-2.0
// The fault log and the counters.
#include <string.h>

#include "device/device_state.h"
#include "link/problem.h"

/// Of a ring entry that the device could not read its record says only the place, and the entry stands there until the
/// place is used again.
static void name_unread_entry(const struct ferry_gpu *gpu, struct ferry_fault_record *record)
{
    const uint32_t number = FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, record->what);
    const struct ferry_gpu_ring *ring = &gpu->ring[number % FERRY_BAR0_RING_COUNT];
    const uint64_t place = record->address - ring->memory.bus;
    if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, record->what) == FERRY_FAULT_KIND_BUFFER_FETCH &&
        record->buffer_address == 0 && record->fence_value == 0 && record->address >= ring->memory.bus &&
        place < (uint64_t)ring->entries * FERRY_RING_ENTRY_SIZE) {
        const struct ferry_ring_entry *entry = ring->memory.address;
        entry += place / FERRY_RING_ENTRY_SIZE;
        record->fence_value = entry->fence_value;
        record->buffer_address = entry->buffer_address;
    }
}

/// The record number `taken` + 1 of the log, NULL when it has not come.
static struct ferry_fault_record *untaken(struct ferry_gpu *gpu, uint32_t taken)
{
    struct ferry_fault_record *log = gpu->fault_log.address;
    struct ferry_fault_record *record = &log[taken & ((1u << FERRY_GPU_FAULT_LOG_LOG2) - 1)];
    // The rest of it came with its number, and is read behind that.
    return __atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE) == taken + 1 ? record : NULL;
}

void ferry_gpu_faults_settle(struct ferry_gpu *gpu, uint32_t ring)
{
    struct ferry_fault_record *record;
    for (uint32_t taken = gpu->faults_taken; (record = untaken(gpu, taken)) != NULL; taken++) {
        if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, record->what) == ring) {
            name_unread_entry(gpu, record);
        }
    }
}

/// A reset cut off an entry that was taken back: that is nobody's fault.
static bool is_nobodys(const struct ferry_gpu *gpu, const struct ferry_fault_record *record)
{
    const uint32_t number = FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, record->what);
    const struct ferry_gpu_ring *ring = &gpu->ring[number % FERRY_BAR0_RING_COUNT];
    return ring->emptied && record->buffer_address == 0 &&
           FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, record->what) == FERRY_FAULT_KIND_ENGINE_RESET;
}

static void count_taken(struct ferry_gpu *gpu)
{
    gpu->faults_taken++;
    // Should this write fail, the log has room for one record less until the next one is taken, which says the count
    // again.
    (void)ferry_gpu_register_write(gpu, FERRY_BAR0_FAULT_LOG_CONSUMED, gpu->faults_taken);
}

static int take_fault(struct ferry_gpu *gpu, struct ferry_fault *fault, bool *found)
{
    *found = ferry_gpu_refusals_take(gpu, fault);
    if (*found) {
        fault->sequence = ++gpu->faults_given;
        return FERRY_OK;
    }
    struct ferry_fault_record *stands;
    while ((stands = untaken(gpu, gpu->faults_taken)) != NULL) {
        name_unread_entry(gpu, stands);
        if (!is_nobodys(gpu, stands)) {
            break;
        }
        count_taken(gpu);
    }
    *found = stands != NULL;
    if (!*found) {
        return FERRY_OK;
    }
    const struct ferry_fault_record record = *stands;
    *fault = (struct ferry_fault){
        .size = sizeof(*fault),
        .sequence = ++gpu->faults_given,
        .kind = FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, record.what),
        .ring = FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, record.what),
        .address_kind = FERRY_GET(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, record.what),
        .is_write = FERRY_GET(FERRY_FAULT_RECORD_WHAT_WRITE, record.what),
        .packet_offset = FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, record.what),
        .packet_header = record.header,
        .written = record.written,
        .time = record.time,
        .address = record.address,
        .fence_value = record.fence_value,
        .buffer_address = record.buffer_address,
        .walked = FERRY_GET(FERRY_FAULT_RECORD_WALK_WALKED, record.walk) != 0,
        .walk_space = FERRY_GET(FERRY_FAULT_RECORD_WALK_SPACE, record.walk),
        .walk_level = FERRY_GET(FERRY_FAULT_RECORD_WALK_HEIGHT, record.walk),
        .walk_entry = record.entry,
    };
    ferry_gpu_refusals_record_taken(gpu, &record);
    count_taken(gpu); // The fault is the caller's now.
    return FERRY_OK;
}

int ferry_gpu_next_fault(struct ferry_gpu *gpu, struct ferry_fault *fault, bool *found)
{
    if (fault == NULL || found == NULL || fault->size != sizeof(*fault)) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error = take_fault(gpu, fault, found);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

// Where each counter of BAR0 goes in the statistics.
static const struct {
    uint32_t offset;
    size_t field;
} counter_fields[] = {
    {FERRY_BAR0_COUNTER_CYCLES, offsetof(struct ferry_statistics, cycles)},
    {FERRY_BAR0_COUNTER_ENGINE_BUSY, offsetof(struct ferry_statistics, engine_busy_cycles)},
    {FERRY_BAR0_COUNTER_ENGINE_JOBS, offsetof(struct ferry_statistics, engine_jobs)},
    {FERRY_BAR0_COUNTER_LOCAL_READ_BEATS, offsetof(struct ferry_statistics, local_read_beats)},
    {FERRY_BAR0_COUNTER_LOCAL_WRITE_BEATS, offsetof(struct ferry_statistics, local_write_beats)},
    {FERRY_BAR0_COUNTER_HOST_READ_BEATS, offsetof(struct ferry_statistics, host_read_beats)},
    {FERRY_BAR0_COUNTER_HOST_WRITE_BEATS, offsetof(struct ferry_statistics, host_write_beats)},
    {FERRY_BAR0_COUNTER_STALL_READ, offsetof(struct ferry_statistics, stall_read_cycles)},
    {FERRY_BAR0_COUNTER_STALL_WRITE, offsetof(struct ferry_statistics, stall_write_cycles)},
    {FERRY_BAR0_COUNTER_STALL_JOB, offsetof(struct ferry_statistics, stall_job_cycles)},
    {FERRY_BAR0_COUNTER_STALL_LINK, offsetof(struct ferry_statistics, stall_link_cycles)},
    {FERRY_BAR0_COUNTER_TLP_RECEIVED, offsetof(struct ferry_statistics, tlps_received)},
    {FERRY_BAR0_COUNTER_TLP_SENT, offsetof(struct ferry_statistics, tlps_sent)},
    {FERRY_BAR0_COUNTER_LINK_RECEIVE_BEATS, offsetof(struct ferry_statistics, link_receive_beats)},
    {FERRY_BAR0_COUNTER_LINK_SEND_BEATS, offsetof(struct ferry_statistics, link_send_beats)},
    {FERRY_BAR0_COUNTER_TLP_UNSUPPORTED, offsetof(struct ferry_statistics, tlps_unsupported)},
    {FERRY_BAR0_COUNTER_TLP_MALFORMED, offsetof(struct ferry_statistics, tlps_malformed)},
    {FERRY_BAR0_COUNTER_TLP_POISONED, offsetof(struct ferry_statistics, tlps_poisoned)},
    {FERRY_BAR0_COUNTER_TLP_UNEXPECTED, offsetof(struct ferry_statistics, tlps_unexpected)},
    {FERRY_BAR0_COUNTER_CORE_PACKETS, offsetof(struct ferry_statistics, firmware_packets)},
    {FERRY_BAR0_COUNTER_CORE_BUSY, offsetof(struct ferry_statistics, firmware_busy_cycles)},
    {FERRY_BAR0_COUNTER_WINDOW_REFUSED, offsetof(struct ferry_statistics, window_refused)},
    {FERRY_BAR0_COUNTER_TABLE_WALKS, offsetof(struct ferry_statistics, table_walks)},
    {FERRY_BAR0_COUNTER_TABLE_READS, offsetof(struct ferry_statistics, table_reads)},
    {FERRY_BAR0_COUNTER_TABLE_FORGETS, offsetof(struct ferry_statistics, table_forgets)},
};

/// Counters run while they are read, and a 64-bit one takes two register accesses. The second round's low word belongs
/// to the high word that both rounds saw; only when they differ (a carry in between) must there be a third round. A
/// counter carries once in 2^32 clocks: what does not hold still when each has done so is no device's.
static int read_counters(struct ferry_gpu *gpu, uint64_t *values, size_t count)
{
    const struct ferry_link_operations *link = gpu->link->operations;
    uint32_t words[2][FERRY_BAR0_COUNTER_STRIDE / 4];
    for (size_t round = 0; round <= count + 1; round++) {
        uint32_t(*now)[FERRY_BAR0_COUNTER_STRIDE / 4] = &words[round & 1];
        const uint32_t *before = words[~round & 1];
        int error = link->read_block(gpu->link, FERRY_BAR_REGISTERS, FERRY_BAR0_COUNTER_AT, *now, sizeof(*now));
        if (error != FERRY_OK) {
            return error;
        }
        bool steady = round != 0;
        for (size_t n = 0; n < count && steady; n++) {
            steady = (*now)[2 * n + 1] == before[2 * n + 1];
        }
        if (steady) {
            for (size_t n = 0; n < count; n++) {
                values[n] = (uint64_t)before[2 * n + 1] << 32 | (*now)[2 * n];
            }
            return FERRY_OK;
        }
    }
    ferry_problem_set("the device's counters do not hold still: is its bitstream whole?");
    return FERRY_ERROR_DEVICE_LOST;
}

int ferry_gpu_words_moved(struct ferry_gpu *gpu, uint64_t *words)
{
    uint64_t values[FERRY_BAR0_COUNTER_HOST_WRITE_BEATS / 8 + 1];
    int error = read_counters(gpu, values, sizeof(values) / sizeof(values[0]));
    *words = error != FERRY_OK
                 ? 0
                 : values[FERRY_BAR0_COUNTER_LOCAL_READ_BEATS / 8] + values[FERRY_BAR0_COUNTER_LOCAL_WRITE_BEATS / 8] +
                       values[FERRY_BAR0_COUNTER_HOST_READ_BEATS / 8] + values[FERRY_BAR0_COUNTER_HOST_WRITE_BEATS / 8];
    return error;
}

int ferry_gpu_counters(struct ferry_gpu *gpu, struct ferry_statistics *statistics)
{
    uint64_t values[FERRY_BAR0_COUNTER_STRIDE / 8];
    struct ferry_link_counts counts;
    if (statistics == NULL || statistics->size != sizeof(*statistics)) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error = read_counters(gpu, values, sizeof(values) / sizeof(values[0]));
    gpu->link->operations->counts(gpu->link, &counts);
    pthread_mutex_unlock(&gpu->mutex);
    if (error != FERRY_OK) {
        return error;
    }
    for (size_t n = 0; n < sizeof(counter_fields) / sizeof(counter_fields[0]); n++) {
        memcpy((char *)statistics + counter_fields[n].field, &values[counter_fields[n].offset / 8], sizeof(uint64_t));
    }
    statistics->unmapped_accesses = counts.unmapped_accesses;
    statistics->noise_bytes = counts.noise_bytes;
    statistics->broken_frames = counts.broken_frames;
    statistics->frames_again = counts.frames_again;
    return FERRY_OK;
}
