// SPDX-License-Identifier: Apache-2.0
// Rings, and waiting for what comes back from them.
#include <string.h>

#include "device/device_state.h"
#include "link/problem.h"

#define ENTRIES_LOG2_MAX 12u
// A wait gives the mutex away after so many cycles, so that other threads get their turn while it goes on.
#define SLICE_CYCLES 20000u
// Records and interrupts without an end of an entry. Each entry that ends has a few, and time may stand still between
// them: on a link without a clock it is silence that counts.
#define MOST_TELLINGS 1000u

static uint32_t ring_register(uint32_t ring, uint32_t offset)
{
    return FERRY_BAR0_RING_AT + ring * FERRY_BAR0_RING_STRIDE + offset;
}

static bool ring_made(const struct ferry_gpu *gpu, uint32_t ring)
{
    return ring < gpu->info.rings && gpu->ring[ring].entries != 0;
}

int ferry_gpu_ring_open(struct ferry_gpu *gpu, uint32_t ring)
{
    int error = ferry_gpu_register_write(gpu, ring_register(ring, FERRY_BAR0_RING_CONTROL),
                                         FERRY_BAR0_RING_CONTROL_ENABLE_MASK);
    gpu->ring[ring].closed = error != FERRY_OK;
    return error;
}

static int make_ring(struct ferry_gpu *gpu, uint32_t ring, uint32_t entries_log2, uint32_t rights)
{
    struct ferry_gpu_ring *made = &gpu->ring[ring];
    const uint64_t fence_bus = gpu->records.bus + ring * FERRY_GPU_RECORD_STRIDE;
    int error = ferry_gpu_memory_make(gpu, (size_t)FERRY_RING_ENTRY_SIZE << entries_log2, 0, &made->memory);
    if (error != FERRY_OK) {
        return error;
    }
    if ((error = ferry_gpu_register_write64(gpu, ring_register(ring, FERRY_BAR0_RING_BASE), made->memory.bus)) !=
            FERRY_OK ||
        (error = ferry_gpu_register_write64(gpu, ring_register(ring, FERRY_BAR0_RING_FENCE_ADDRESS), fence_bus)) !=
            FERRY_OK ||
        (error = ferry_gpu_register_write(gpu, ring_register(ring, FERRY_BAR0_RING_ENTRIES_LOG2), entries_log2)) !=
            FERRY_OK ||
        (error = ferry_gpu_register_write(gpu, ring_register(ring, FERRY_BAR0_RING_RIGHTS), rights)) != FERRY_OK ||
        (error = ferry_gpu_register_write(gpu, ring_register(ring, FERRY_BAR0_RING_CONTROL),
                                          FERRY_BAR0_RING_CONTROL_ENABLE_MASK)) != FERRY_OK) {
        ferry_gpu_memory_drop(gpu, &made->memory);
        return error;
    }
    made->fence = (const volatile struct ferry_fence_record *)((const char *)gpu->records.address +
                                                               ring * FERRY_GPU_RECORD_STRIDE);
    made->entries = 1u << entries_log2;
    return FERRY_OK;
}

int ferry_gpu_ring_create(struct ferry_gpu *gpu, uint32_t ring, uint32_t entries_log2, uint32_t rights)
{
    uint32_t known = FERRY_GPU_RIGHT_SYSTEM | FERRY_GPU_RIGHT_APERTURE | FERRY_GPU_RIGHT_PROTECTED;
    if (gpu->info.page_tables) {
        known |= FERRY_GPU_RIGHT_TABLES;
    }
    if (ring >= gpu->info.rings || entries_log2 > ENTRIES_LOG2_MAX || (rights & ~known) != 0) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error = gpu->ring[ring].entries != 0 ? FERRY_ERROR_ARGUMENT : make_ring(gpu, ring, entries_log2, rights);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

/// The link may take nothing for a while. What is written is the number of entries, not one more of them: said again,
/// it changes nothing, whether the write before comes as well or not.
static int ring_doorbell(struct ferry_gpu *gpu, uint32_t ring, uint32_t produced)
{
    int error = FERRY_ERROR_TIMEOUT;
    for (unsigned n = 0; n < FERRY_GPU_DOORBELLS && error == FERRY_ERROR_TIMEOUT; n++) {
        error = ferry_gpu_register_write(gpu, ring_register(ring, FERRY_BAR0_RING_PRODUCER), produced);
    }
    return error;
}

int ferry_gpu_ring_submit(struct ferry_gpu *gpu, uint32_t ring, const struct ferry_gpu_entry *entry, uint32_t *number)
{
    if (entry == NULL || !ring_made(gpu, ring) || entry->buffer_address % 8 != 0 || entry->buffer_bytes % 8 != 0 ||
        entry->buffer_bytes > gpu->info.slot_bytes || (entry->virtual_only && !gpu->info.page_tables) ||
        entry->space >
            (gpu->info.page_tables ? FERRY_RING_ENTRY_FLAGS_SPACE_MASK >> FERRY_RING_ENTRY_FLAGS_SPACE_SHIFT : 0)) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    struct ferry_gpu_ring *to = &gpu->ring[ring];
    const uint32_t retired = ferry_gpu_ring_retired(gpu, ring);
    int error = to->lost || gpu->lies ? FERRY_ERROR_DEVICE_LOST : FERRY_ERROR_BUSY;
    if (error == FERRY_ERROR_BUSY && to->produced - retired < to->entries) {
        // These look at retired entries, whose place is taken now.
        ferry_gpu_faults_settle(gpu, ring);
        ferry_gpu_refusals_settle(gpu, ring);
        struct ferry_ring_entry *place = (struct ferry_ring_entry *)to->memory.address + to->produced % to->entries;
        *place = (struct ferry_ring_entry){
            .buffer_address = entry->buffer_address,
            .buffer_bytes = entry->buffer_bytes,
            .flags = FERRY_PUT(FERRY_RING_ENTRY_FLAGS_INTERRUPT, entry->interrupt ? 1u : 0u) |
                     FERRY_PUT(FERRY_RING_ENTRY_FLAGS_SPACE, entry->space) |
                     FERRY_PUT(FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY, entry->virtual_only ? 1u : 0u),
            .fence_value = entry->fence_value,
        };
        to->ringing = true;
        error = ring_doorbell(gpu, ring, to->produced + 1);
        to->ringing = false;
        if (error == FERRY_ERROR_TIMEOUT) {
            // The device may have it by now, or will. As it counts or not, nothing may follow.
            to->produced++;
            to->lost = true;
            error = FERRY_ERROR_DEVICE_LOST;
        } else if (error == FERRY_OK) {
            to->produced++;
            if (number != NULL) {
                *number = to->produced;
            }
        }
    }
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

// Longer than the device takes from its look at whether a ring is enabled to the slot.
#define LOOK_CYCLES 100u

/// *fetched: entries of the ring that the device has asked for, once it is closed.
static int close_ring(struct ferry_gpu *gpu, uint32_t ring, uint32_t *fetched)
{
    struct ferry_gpu_ring *from = &gpu->ring[ring];
    int error = ferry_gpu_register_write(gpu, ring_register(ring, FERRY_BAR0_RING_CONTROL), 0);
    // Read twice: behind the first time it is closed for certain.
    for (unsigned n = 0; n < 2 && error == FERRY_OK; n++) {
        error = ferry_gpu_register_read(gpu, ring_register(ring, FERRY_BAR0_RING_FETCHED), fetched);
        error = error == FERRY_OK && n == 0 ? ferry_gpu_pump(gpu, LOOK_CYCLES) : error;
    }
    // Whoever believed another number would empty entries that run.
    if (error == FERRY_OK && from->produced - *fetched > from->produced - ferry_gpu_ring_retired(gpu, ring)) {
        ferry_problem_set("the device says that it has fetched %u entries of ring %u, of which there were %u, %u of "
                          "them done before: is its bitstream whole?",
                          *fetched, ring, from->produced, from->retired);
        gpu->lies = true;
        error = FERRY_ERROR_DEVICE_LOST;
    }
    return error;
}

int ferry_gpu_ring_take_back(struct ferry_gpu *gpu, uint32_t ring, uint32_t *first)
{
    if (first == NULL || !ring_made(gpu, ring)) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    struct ferry_gpu_ring *from = &gpu->ring[ring];
    struct ferry_ring_entry *entries = from->memory.address;
    uint32_t fetched = 0;
    const int closed = close_ring(gpu, ring, &fetched);
    fetched = closed == FERRY_OK ? fetched : from->produced;
    for (uint32_t n = fetched; n != from->produced; n++) {
        struct ferry_ring_entry *entry = &entries[n % from->entries];
        *entry = (struct ferry_ring_entry){.fence_value = entry->fence_value};
        from->emptied = true;
    }
    *first = fetched + 1;
    const int opened = ferry_gpu_ring_open(gpu, ring);
    // The write that closes it may come yet, behind the one that opens it.
    from->closed |= closed != FERRY_OK;
    pthread_mutex_unlock(&gpu->mutex);
    return closed == FERRY_OK ? opened : closed;
}

int ferry_gpu_ring_completed(struct ferry_gpu *gpu, uint32_t ring, struct ferry_gpu_fence *fence)
{
    if (fence == NULL || !ring_made(gpu, ring)) {
        return FERRY_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&gpu->mutex);
    const volatile struct ferry_fence_record *record = gpu->ring[ring].fence;
    *fence = (struct ferry_gpu_fence){.value = record->value, .time = record->time};
    fence->retired = ferry_gpu_ring_retired(gpu, ring);
    fence->status = record->status;
    fence->faults = record->faults;
    fence->last_faulted = record->last_faulted;
    ferry_gpu_refusals_apply(gpu, ring, fence);
    pthread_mutex_unlock(&gpu->mutex);
    return FERRY_OK;
}

uint32_t ferry_gpu_ring_newest(struct ferry_gpu *gpu, uint32_t ring)
{
    if (!ring_made(gpu, ring)) {
        return 0;
    }
    pthread_mutex_lock(&gpu->mutex);
    uint32_t newest = gpu->ring[ring].produced - gpu->ring[ring].lost;
    pthread_mutex_unlock(&gpu->mutex);
    return newest;
}

uint32_t ferry_gpu_ring_pending(struct ferry_gpu *gpu, uint32_t ring)
{
    if (!ring_made(gpu, ring)) {
        return 0;
    }
    pthread_mutex_lock(&gpu->mutex);
    uint32_t pending = gpu->ring[ring].produced - ferry_gpu_ring_retired(gpu, ring);
    // One that was given up is nobody's work, and may never come.
    pending -= gpu->ring[ring].lost && pending != 0;
    pthread_mutex_unlock(&gpu->mutex);
    return pending;
}

// ---- Waiting ----------------------------------------------------------------------------------------------------

void ferry_gpu_set_interrupt(struct ferry_gpu *gpu, ferry_gpu_interrupt *handler, void *context)
{
    pthread_mutex_lock(&gpu->mutex);
    gpu->handler = handler;
    gpu->handler_context = context;
    pthread_mutex_unlock(&gpu->mutex);
}

/// Run for up to `cycles`, take interrupts that came and call the handler, without the mutex. Runs nothing when more
/// than `events` have come before.
static int run_slice(struct ferry_gpu *gpu, uint64_t cycles, uint64_t events)
{
    const struct ferry_link_operations *link = gpu->link->operations;
    uint32_t causes = 0;
    int error = FERRY_OK;
    pthread_mutex_lock(&gpu->mutex);
    if (gpu->events <= events) {
        error = ferry_gpu_pump(gpu, cycles);
    }
    if (error == FERRY_OK && (link->take_interrupts(gpu->link) != 0 || gpu->causes_unread)) {
        error = ferry_gpu_register_read(gpu, FERRY_BAR0_INTERRUPT_STATUS, &causes);
        causes = error == FERRY_OK ? causes : 0;
        if (causes != 0) {
            error = ferry_gpu_register_write(gpu, FERRY_BAR0_INTERRUPT_STATUS, causes);
        }
        // A cause that comes before this write arrives is cleared with the others, and no message tells of it: so
        // whoever looks for fences must look after it has arrived, which a read behind it shows.
        uint32_t left = 0;
        if (error == FERRY_OK && causes != 0) {
            error = ferry_gpu_register_read(gpu, FERRY_BAR0_INTERRUPT_STATUS, &left);
        }
        // It is no end of what is waited for that the link stood still just then: it is asked again.
        gpu->causes_unread = error == FERRY_ERROR_TIMEOUT;
        if (gpu->causes_unread) {
            gpu->causes_again |= causes;
            error = FERRY_OK;
        } else if (error == FERRY_OK) {
            causes |= gpu->causes_again;
            gpu->causes_again = 0;
        }
    }
    if (error == FERRY_OK && ferry_gpu_refusals_cause(gpu)) {
        causes |= FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK;
    }
    ferry_gpu_interrupt *handler = gpu->handler;
    void *context = gpu->handler_context;
    pthread_mutex_unlock(&gpu->mutex);
    // Whatever failed behind the first read: causes that may be cleared by now are told of at once, and then again.
    if (causes != 0 && handler != NULL) {
        handler(context, causes);
    }
    return error;
}

uint64_t ferry_gpu_events(struct ferry_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    uint64_t events = gpu->events;
    pthread_mutex_unlock(&gpu->mutex);
    return events;
}

static bool is_lying(struct ferry_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    const bool lies = gpu->lies;
    pthread_mutex_unlock(&gpu->mutex);
    return lies;
}

static bool words_moved(struct ferry_gpu *gpu, uint64_t *words)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = ferry_gpu_words_moved(gpu, words);
    pthread_mutex_unlock(&gpu->mutex);
    return error == FERRY_OK;
}

int ferry_gpu_wait_after(struct ferry_gpu *gpu, uint64_t events, uint64_t cycles)
{
    const bool patient = cycles == 0;
    cycles = patient ? FERRY_GPU_DEFAULT_TIMEOUT : cycles;
    const uint64_t begin = ferry_gpu_cycles(gpu);
    uint64_t end = begin + cycles, before = 0, words = 0;
    bool looked = false;
    for (;;) {
        if (is_lying(gpu)) {
            return FERRY_ERROR_DEVICE_LOST;
        }
        // Another thread's slice may have passed the end while it brought what this one waits for.
        if (ferry_gpu_events(gpu) > events) {
            return FERRY_OK;
        }
        const uint64_t now = ferry_gpu_cycles(gpu);
        // Looked at twice, so that a wait which is soon over reads nothing over the link. Most of the time lies
        // between, behind the first look, since other threads' slices may have taken all there was to look in.
        if (patient && !looked && now - begin >= cycles / 8 && words_moved(gpu, &before)) {
            looked = true;
            const uint64_t least = ferry_gpu_cycles(gpu) + cycles / 4 * 3;
            end = end > least ? end : least;
            continue;
        }
        if (now >= end) {
            // One buffer may take longer by far: 16 MiB are as many words.
            bool moves = looked && words_moved(gpu, &words) && words != before;
            return moves ? FERRY_OK : FERRY_ERROR_TIMEOUT;
        }
        int error = run_slice(gpu, end - now < SLICE_CYCLES ? end - now : SLICE_CYCLES, events);
        if (error != FERRY_OK) {
            return error;
        }
    }
}

int ferry_gpu_wait(struct ferry_gpu *gpu, uint64_t cycles)
{
    return ferry_gpu_wait_after(gpu, ferry_gpu_events(gpu), cycles);
}

/// Entries of all rings together: that have retired, and that were submitted.
static void count_entries(struct ferry_gpu *gpu, uint32_t *retired, uint32_t *submitted)
{
    *retired = *submitted = 0;
    pthread_mutex_lock(&gpu->mutex);
    for (uint32_t ring = 0; ring < FERRY_BAR0_RING_COUNT; ring++) {
        *retired += ferry_gpu_ring_retired(gpu, ring);
        *submitted += gpu->ring[ring].produced;
    }
    pthread_mutex_unlock(&gpu->mutex);
}

static struct ferry_gpu_progress begin_progress(struct ferry_gpu *gpu)
{
    struct ferry_gpu_progress progress = {.since = ferry_gpu_cycles(gpu)};
    count_entries(gpu, &progress.retired, &progress.submitted);
    return progress;
}

/// Records alone are no progress, as a device may tell of things for ever: whether so many cycles (0: as of a wait)
/// have passed, or so much was told, and nothing retired meanwhile nor, for who is patient, moved.
static bool stands(struct ferry_gpu *gpu, struct ferry_gpu_progress *progress, uint64_t cycles)
{
    const uint64_t now = ferry_gpu_cycles(gpu), most = cycles != 0 ? cycles : FERRY_GPU_DEFAULT_TIMEOUT;
    uint32_t retired, submitted;
    uint64_t words = 0;
    count_entries(gpu, &retired, &submitted);
    if (retired != progress->retired) {
        progress->retired = retired;
        progress->since = now;
        progress->tellings = 0;
    }
    if (now - progress->since < most && ++progress->tellings < MOST_TELLINGS) {
        return false;
    }
    if (cycles == 0 && words_moved(gpu, &words) && (!progress->looked || words != progress->words)) {
        progress->looked = true;
        progress->words = words;
        progress->since = now;
        progress->tellings = 0;
        return false;
    }
    return true;
}

int ferry_gpu_wait_progress(struct ferry_gpu *gpu, struct ferry_gpu_progress *progress)
{
    const uint64_t events = ferry_gpu_events(gpu);
    const int error = ferry_gpu_wait_after(gpu, events, 0);
    uint32_t retired, submitted;
    if (error != FERRY_OK) {
        return error;
    }
    count_entries(gpu, &retired, &submitted);
    if (is_lying(gpu)) {
        return FERRY_ERROR_DEVICE_LOST;
    }
    // Of one who was told nothing the wait itself has looked whether words move.
    if (ferry_gpu_events(gpu) == events || submitted != progress->submitted) {
        *progress = begin_progress(gpu);
    } else if (stands(gpu, progress, 0)) {
        *progress = begin_progress(gpu);
        return FERRY_ERROR_TIMEOUT;
    }
    return FERRY_OK;
}

int ferry_gpu_wait_retired(struct ferry_gpu *gpu, uint32_t ring, uint32_t number, uint64_t cycles)
{
    struct ferry_gpu_progress progress = begin_progress(gpu);
    for (;;) {
        struct ferry_gpu_fence fence;
        const uint64_t events = ferry_gpu_events(gpu);
        int error = ferry_gpu_ring_completed(gpu, ring, &fence);
        error = error == FERRY_OK && is_lying(gpu) ? FERRY_ERROR_DEVICE_LOST : error;
        if (error != FERRY_OK || (int32_t)(fence.retired - number) >= 0) {
            return error;
        }
        error = stands(gpu, &progress, cycles) ? FERRY_ERROR_TIMEOUT : ferry_gpu_wait_after(gpu, events, cycles);
        if (error == FERRY_ERROR_TIMEOUT) {
            int state = ferry_gpu_firmware_state(gpu, NULL, NULL);
            return state == FERRY_ERROR_FIRMWARE ? state : error;
        }
        if (error != FERRY_OK) {
            return error;
        }
    }
}

int ferry_gpu_run(struct ferry_gpu *gpu, uint64_t cycles)
{
    const uint64_t end = ferry_gpu_cycles(gpu) + cycles;
    for (uint64_t now = end - cycles; now < end; now = ferry_gpu_cycles(gpu)) {
        int error = run_slice(gpu, end - now < SLICE_CYCLES ? end - now : SLICE_CYCLES, UINT64_MAX);
        if (error != FERRY_OK) {
            return error;
        }
    }
    return FERRY_OK;
}

uint64_t ferry_gpu_cycles(struct ferry_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    uint64_t cycles = gpu->link->operations->cycles(gpu->link);
    pthread_mutex_unlock(&gpu->mutex);
    return cycles;
}
