// SPDX-License-Identifier: Apache-2.0
// As `ferry replay` uses the library, but below it: a job's allocations are made resident, the job is queued, and they
// are let go again.
#include "lab/manager_machine.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab/null_miniport.h"
#include "tools/id_map.h"
#include "vidmm/vidmm.h"

#define MOST_AT_ONCE D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS

struct program {
    D3DKMT_HANDLE process, device, context, queue;
};

struct manager_machine {
    struct ferry_lab_machine machine; // first
    struct ferry_null_machine null;
    struct ferry_vidmm *manager;
    const struct ferry_lab_object *objects;
    struct program *programs;
    D3DKMT_HANDLE *handles;
    struct ferry_id_map by_handle; // for the watch: in the order of creation
    uint64_t *object_in;
    bool *written; // has content, of the CPU or of the GPU
    bool *used;    // by a job, and not taken by the CPU since
    struct ferry_vidmm_reference *references;
    D3DKMT_HANDLE *list;
    size_t object_count, capacity;
    uint64_t uploaded;
    uint64_t returned;   // came in though it had been used and not written since
    uint64_t out_to_cpu; // for a lock
};

static struct manager_machine *of(struct ferry_lab_machine *machine)
{
    return (struct manager_machine *)machine;
}

static int failed(struct manager_machine *m, const char *what, int error)
{
    if (error >= 0)
        return FERRY_LAB_OK;
    if (error == FERRY_ERROR_NO_VIDEO_MEMORY)
        return FERRY_LAB_TOO_SMALL;
    if (error == FERRY_ERROR_NO_HOST_MEMORY)
        return FERRY_LAB_NO_MEMORY;
    snprintf(m->machine.problem, sizeof m->machine.problem, "the manager cannot %s: error %d", what, error);
    return FERRY_LAB_FAILED;
}

static void observe(void *context, const struct ferry_vidmm_event *event)
{
    struct manager_machine *m = context;
    const struct ferry_lab_watch *watch = m->machine.watch;
    if (event->kind != FERRY_VIDMM_EVENT_PLACED && event->kind != FERRY_VIDMM_EVENT_REMOVED)
        return;
    uint32_t made = ferry_id_map_get(&m->by_handle, event->allocation);
    if (made == FERRY_ID_NONE)
        return;
    if (event->kind == FERRY_VIDMM_EVENT_PLACED)
        watch->placed(watch->context, made, event->offset, event->bytes);
    else
        watch->removed(watch->context, made, event->offset);
}

static uint64_t cycles_so_far(const struct ferry_lab_machine *machine)
{
    return ((const struct manager_machine *)machine)->null.time;
}

static struct ferry_vidmm_statistics so_far(const struct manager_machine *m)
{
    struct ferry_vidmm_statistics statistics;
    ferry_vidmm_statistics(m->manager, &statistics);
    return statistics;
}

static int create(struct ferry_lab_machine *machine, uint32_t object)
{
    struct manager_machine *m = of(machine);
    const struct ferry_lab_object *about = &m->objects[object];
    m->object_in[object] = 0;
    m->written[object] = m->used[object] = false;
    uint32_t flags = DXGK_ALLOC_FLAG_CPU_VISIBLE | (about->permanent ? DXGK_ALLOC_FLAG_PERMANENT_SYSMEM : 0);
    struct ferry_null_allocation wanted = {.bytes = about->pages * PAGE_SIZE, .flags = flags};
    struct ferry_vidmm_allocation_options options = {
        .size = sizeof options, .private_data = &wanted, .private_data_bytes = sizeof wanted};
    int result = ferry_vidmm_create_allocation(m->manager, m->programs[about->program].device, &options,
                                               &m->handles[object], NULL);
    if (result >= 0 && machine->watch &&
        ferry_id_map_set(&m->by_handle, m->handles[object], (uint32_t)about->made) != 0)
        result = FERRY_ERROR_NO_HOST_MEMORY;
    return failed(m, "create an allocation", result);
}

static int destroy(struct ferry_lab_machine *machine, uint32_t object)
{
    struct manager_machine *m = of(machine);
    D3DKMT_HANDLE handle = m->handles[object];
    m->handles[object] = 0;
    return failed(m, "destroy an allocation", ferry_vidmm_destroy_allocation(m->manager, handle));
}

static int lock(struct ferry_lab_machine *machine, uint32_t object, bool discard)
{
    struct manager_machine *m = of(machine);
    void *address;
    uint32_t flags = discard ? D3DDDI_LOCK_DISCARD : 0;
    uint64_t before = so_far(m).bytes_out;
    m->written[object] = true;
    m->used[object] = false;
    int result = ferry_vidmm_lock(m->manager, m->handles[object], flags, &address);
    m->out_to_cpu += so_far(m).bytes_out - before;
    return failed(m, "lock", result);
}

static int unlock(struct ferry_lab_machine *machine, uint32_t object)
{
    struct manager_machine *m = of(machine);
    uint64_t before = so_far(m).bytes_in;
    int result = ferry_vidmm_unlock(m->manager, m->handles[object]);
    m->uploaded += so_far(m).bytes_in - before;
    return failed(m, "unlock", result);
}

static int make_resident(struct manager_machine *m, const struct program *program, size_t first, size_t count)
{
    D3DDDI_MAKERESIDENT arguments = {
        .hPagingQueue = program->queue, .NumAllocations = (UINT)count, .AllocationList = m->list + first};
    arguments.Flags.CantTrimFurther = 1;
    return ferry_vidmm_make_resident(m->manager, &arguments);
}

static int evict(struct manager_machine *m, const struct program *program, size_t first, size_t count)
{
    D3DDDICB_EVICT arguments = {.NumAllocations = (UINT)count, .AllocationList = m->list + first};
    return ferry_vidmm_evict(m->manager, program->device, &arguments);
}

static size_t at_once(size_t done, size_t count)
{
    return count - done < MOST_AT_ONCE ? count - done : MOST_AT_ONCE;
}

static int submit(struct manager_machine *m, const struct program *program, size_t count)
{
    static const uint32_t commands[1];
    struct ferry_vidmm_submission submission = {.commands = commands,
                                                .bytes = sizeof commands,
                                                .references = m->references,
                                                .reference_count = (uint32_t)count};
    uint64_t fence;
    int result = ferry_vidmm_submit(m->manager, program->context, &submission, 1, &fence);
    return result < 0 ? result : ferry_vidmm_wait(m->manager, program->context, fence);
}

static bool reserve(struct manager_machine *m, size_t count)
{
    if (count <= m->capacity)
        return true;
    D3DKMT_HANDLE *list = realloc(m->list, count * sizeof *list);
    m->list = list ? list : m->list;
    struct ferry_vidmm_reference *references = realloc(m->references, count * sizeof *references);
    m->references = references ? references : m->references;
    m->capacity = list && references ? count : m->capacity;
    return list && references;
}

// What a job names and is not there comes in, if it has any content.
static void note_absence(struct manager_machine *m, uint32_t object)
{
    struct ferry_vidmm_placement placement;
    if (ferry_vidmm_placement(m->manager, m->handles[object], &placement) != FERRY_OK || placement.segment != 0 ||
        !m->written[object])
        return;
    m->object_in[object] += placement.bytes;
    m->returned += m->used[object] ? placement.bytes : 0;
}

static int job(struct ferry_lab_machine *machine, uint32_t number, const uint32_t *objects, size_t count, bool writes)
{
    struct manager_machine *m = of(machine);
    const struct program *program = &m->programs[number];
    size_t done = 0;
    int result = FERRY_OK;
    if (!reserve(m, count))
        return FERRY_LAB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        m->list[i] = m->handles[objects[i]];
        note_absence(m, objects[i]);
        m->references[i] = (struct ferry_vidmm_reference){.allocation = m->list[i], .write = writes};
    }
    for (; done < count && result >= 0; done += result >= 0 ? at_once(done, count) : 0)
        result = make_resident(m, program, done, at_once(done, count));
    if (result >= 0)
        result = submit(m, program, count);
    for (size_t i = 0; i < count; i++) {
        m->used[objects[i]] = true;
        m->written[objects[i]] |= writes;
    }
    for (size_t gone = 0; gone < done; gone += at_once(gone, done)) {
        int error = evict(m, program, gone, at_once(gone, done));
        result = result < 0 ? result : error;
    }
    return failed(m, "run a job", result);
}

static int end_frame(struct ferry_lab_machine *machine)
{
    (void)machine;
    return FERRY_LAB_OK;
}

static void count_so_far(const struct ferry_lab_machine *machine, struct ferry_lab_count *count)
{
    const struct manager_machine *m = (const struct manager_machine *)machine;
    struct ferry_vidmm_statistics statistics = so_far(m);
    *count = (struct ferry_lab_count){.in = statistics.bytes_in - m->uploaded,
                                      .uploaded = m->uploaded,
                                      .out = statistics.bytes_out,
                                      .filled = statistics.bytes_filled,
                                      .moved = statistics.bytes_moved,
                                      .evictions = statistics.evictions,
                                      .paged = m->returned + statistics.bytes_out - m->out_to_cpu};
}

static void end(struct ferry_lab_machine *machine)
{
    struct manager_machine *m = of(machine);
    ferry_vidmm_stop(m->manager);
    free(m->programs);
    free(m->handles);
    free(m->object_in);
    free(m->written);
    free(m->used);
    free(m->list);
    free(m->references);
    ferry_id_map_free(&m->by_handle);
    free(m);
}

static int begin_program(struct manager_machine *m, struct program *program, const struct ferry_lab_program *wanted)
{
    struct ferry_vidmm_process_options options = {
        .size = sizeof options, .weight = wanted->weight, .reservation = wanted->reservation};
    int result = ferry_vidmm_create_process(m->manager, &options, &program->process);
    if (result == FERRY_OK)
        result = ferry_vidmm_create_device_of(m->manager, program->process, &program->device);
    if (result == FERRY_OK)
        result = ferry_vidmm_create_paging_queue(m->manager, program->device, 0, &program->queue);
    if (result == FERRY_OK)
        result = ferry_vidmm_create_context(m->manager, program->device, FERRY_VIDMM_ANY_NODE, &program->context, NULL);
    return result;
}

struct ferry_lab_machine *ferry_lab_manager_machine(uint64_t pages, const struct ferry_lab_object *objects,
                                                    size_t object_count, const struct ferry_lab_program *programs,
                                                    uint32_t program_count, const struct ferry_lab_watch *watch,
                                                    int *why)
{
    struct manager_machine *m = calloc(1, sizeof *m);
    *why = FERRY_LAB_NO_MEMORY;
    if (!m)
        return NULL;
    m->machine = (struct ferry_lab_machine){.create = create,
                                            .destroy = destroy,
                                            .lock = lock,
                                            .unlock = unlock,
                                            .job = job,
                                            .end_frame = end_frame,
                                            .count = count_so_far,
                                            .end = end,
                                            .cycles = cycles_so_far};
    m->objects = objects;
    m->object_count = object_count;
    m->programs = calloc(program_count, sizeof *m->programs);
    m->handles = calloc(object_count + 1, sizeof *m->handles);
    m->object_in = calloc(object_count + 1, sizeof *m->object_in);
    m->written = calloc(object_count + 1, sizeof *m->written);
    m->used = calloc(object_count + 1, sizeof *m->used);
    m->machine.object_in = m->object_in;
    m->machine.watch = watch;
    ferry_null_machine_begin(&m->null, pages * PAGE_SIZE);
    struct ferry_vidmm_options options = {.size = sizeof options,
                                          .miniport = ferry_null_miniport(),
                                          .miniport_device_context = &m->null,
                                          .platform = ferry_null_platform(&m->null)};
    bool allocated = m->programs && m->handles && m->object_in && m->written && m->used;
    int result = allocated ? ferry_vidmm_start(&options, &m->manager) : FERRY_ERROR_NO_HOST_MEMORY;
    if (result == FERRY_OK && watch)
        result = ferry_vidmm_observe(m->manager, observe, m);
    for (uint32_t i = 0; i < program_count && result == FERRY_OK; i++)
        result = begin_program(m, &m->programs[i], &programs[i]);
    if (result == FERRY_OK)
        return &m->machine;
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
        *why = FERRY_LAB_TOO_SMALL;
    end(&m->machine);
    return NULL;
}
