// SPDX-License-Identifier: Apache-2.0
// Two programs of a device or two each, and a device of nobody's, on one adapter: they create, write, lock (also over
// other calls), discard, list, evict, copy and fill at random, some of it tiled images; in driver model 2 also by
// addresses that they change among their jobs, in model 1 through views of images. Meanwhile paging buffers fault after
// some of their packets, nodes hang and are reset, what was aborted may have run all the same, paging is held
// back, and devices are killed in the middle of their work; on top of it comes what chaos_beside.c does. A device in
// error, or with a job that was blamed for a hang, is killed and begins anew; all others must not notice anything.
#include "addresses.h"
#include "chaos_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "vidmm/api/manager.h"

struct chaos chaos;

static void tell_stop(void)
{
    struct ferry_vidmm_critical r;
    if (ferry_vidmm_critical(chaos.world->manager, &r))
        print_error("critical stop %x status %x operation %u node %u fence %llu allocation %x\n", (unsigned)r.code,
                    (unsigned)r.status, r.operation, r.node, (unsigned long long)r.fence, r.allocation);
}

void chaos_check(bool good, const char *what)
{
    if (!good)
        tell_stop();
    if (!good)
        fail_msg("FERRY_SEED=%llu step %u: %s", (unsigned long long)chaos.seed, chaos.step, what);
}

void chaos_okay(int result, const char *what)
{
    if (result != FERRY_OK)
        tell_stop();
    if (result != FERRY_OK)
        fail_msg("FERRY_SEED=%llu step %u: %s: error %d", (unsigned long long)chaos.seed, chaos.step, what, result);
}

uint32_t chaos_pick(uint32_t below)
{
    return (uint32_t)(draw_bits(&chaos.random) >> 20) % below;
}

struct shadow *chaos_any(void)
{
    return chaos.live ? &chaos.all[chaos_pick(chaos.live)] : NULL;
}

bool chaos_permanent(const struct shadow *s)
{
    return (s->flags & (DXGK_ALLOC_FLAG_PERMANENT_SYSMEM | DXGK_ALLOC_FLAG_EXISTING_SYSMEM)) != 0;
}

// ---- Devices ----

// Paging of its own was lost, or a job was blamed for a hang: what its allocations hold is nobody's business any more.
bool chaos_in_error(unsigned number)
{
    const struct ferry_vm_device *device =
        ferry_vm_handle_find(&chaos.world->manager->core.handles, FERRY_VM_DEVICE, chaos.devices[number].device);
    if (!device || device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        return true;
    for (struct ferry_vm_list *link = device->contexts.next; link != &device->contexts; link = link->next)
        if (FERRY_VM_CONTAINER(link, struct ferry_vm_context, link)->faulted_count != 0)
            return true;
    return false;
}

uint64_t chaos_addresses(unsigned queue)
{
    return (UINT64_C(1) << 42) + ((uint64_t)queue << 32);
}

// Every other one is zeros, as far as there are page tables for it.
static void reserve(const struct program *program, unsigned queue)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range),
                                        .address = chaos_addresses(queue),
                                        .bytes = PAGES(REACHED),
                                        .reservation = queue % 2 ? FERRY_VIDMM_NO_ACCESS : FERRY_VIDMM_ZERO};
    if (!addresses_wanted())
        return;
    int result = ferry_vidmm_reserve_virtual(chaos.world->manager, program->device, &range);
    range.reservation = FERRY_VIDMM_NO_ACCESS;
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
        (void)ferry_vidmm_reserve_virtual(chaos.world->manager, program->device, &range);
}

void chaos_open_device(unsigned number)
{
    struct program *program = &chaos.devices[number];
    struct ferry_vidmm *manager = chaos.world->manager;
    chaos_memory_is_there();
    program->process = chaos.processes[number / 2];
    if (number == DEVICES - 1)
        OKAY(ferry_vidmm_create_device(manager, &program->device));
    else
        OKAY(ferry_vidmm_create_device_of(manager, program->process, &program->device));
    OKAY(ferry_vidmm_create_paging_queue(manager, program->device, 0, &program->queue));
    OKAY(ferry_vidmm_create_context(manager, program->device, FERRY_VIDMM_ANY_NODE, &program->context, NULL));
    // Those of a program that has another device are still reserved.
    reserve(program, number);
    memset(chaos.called[number], 0, sizeof(chaos.called[number]));
    memset(chaos.reached[number + DEVICES], 0, sizeof(chaos.reached[number]));
    chaos.other[number] = 0;
    if (!chaos.more)
        return;
    OKAY(ferry_vidmm_create_context(manager, program->device, 1 + chaos_draw(2), &chaos.other[number], NULL));
    reserve(program, number + DEVICES);
}

void chaos_forget(struct shadow *s)
{
    for (unsigned queue = 0; queue < 2 * DEVICES; queue++)
        for (unsigned i = 0; i < REACHED; i++)
            if (chaos.reached[queue][i].handle == s->handle)
                chaos.reached[queue][i] = (struct reached){0};
    for (unsigned i = 0; i < CALLED; i++)
        if (chaos.called[s->device][i].handle == s->handle)
            chaos.called[s->device][i] = (struct called){0};
    free(s->bytes);
    free(s->existing);
    free(s->rows_at);
    *s = chaos.all[--chaos.live];
}

void chaos_kill_device(unsigned number)
{
    D3DKMT_HANDLE device = chaos.devices[number].device;
    for (unsigned i = 0; i < chaos.live; i++)
        chaos.all[i].engaged |= chaos.all[i].device == number;
    int result = chaos_joined(ferry_vidmm_destroy_device(chaos.world->manager, device), NO_DEVICE);
    // Somebody else has done it meanwhile.
    if (chaos_is_gone(number))
        return;
    if (chaos_vain(result)) {
        // There is no telling what of it is gone.
        chaos_vain_ends();
        result = ferry_vidmm_destroy_device(chaos.world->manager, device);
    }
    OKAY(result);
    chaos_device_gone(number);
}

void chaos_device_gone(unsigned number)
{
    for (unsigned i = chaos.live; i-- > 0;)
        if (chaos.all[i].device == number)
            chaos_forget(&chaos.all[i]);
    chaos_open_device(number);
}

// Whose operations are in the paging buffer that goes out.
static unsigned whose(uint64_t fence)
{
    const struct ferry_vm_sched *sched = &chaos.world->manager->sched;
    unsigned devices = 0;
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, *ferry_vm_built_at(sched, at));
        bool in_it = operation->first_fence != 0 && operation->first_fence <= fence && operation->fence >= fence;
        for (unsigned number = 0; number < DEVICES && in_it && operation->device; number++)
            devices |= (unsigned)(operation->device->handle == chaos.devices[number].device) << number;
    }
    // What is being built has no end yet; begun it may be, and have found no room here for its first byte.
    const struct ferry_vm_operation *current = sched->current ? ferry_vm_operation_at(sched, sched->current) : NULL;
    bool in_it =
        current && current->begun && current->device && current->first_fence != 0 && current->first_fence <= fence;
    for (unsigned number = 0; number < DEVICES && in_it; number++)
        devices |= (unsigned)(current->device->handle == chaos.devices[number].device) << number;
    return devices;
}

static NTSTATUS (*submit_below)(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument);
static unsigned planted(void)
{
    return chaos.world->knobs->fault_paging + chaos.world->knobs->fault_addresses;
}

static NTSTATUS look_who_faults(HANDLE adapter, const DXGKARG_SUBMITCOMMAND *argument)
{
    unsigned before = chaos.world ? planted() : 0;
    unsigned devices = before && argument->Flags.Paging ? whose(chaos.world->manager->sched.nodes[0].submitted) : 0;
    NTSTATUS status = submit_below(adapter, argument);
    if (chaos.world && planted() < before) {
        bool several = (devices & (devices - 1)) != 0;
        chaos.shared += several;
        chaos.may_lose |= several ? 0 : devices;
    }
    return status;
}

static void kill_those_in_error(void)
{
    for (unsigned number = 0; number < DEVICES; number++) {
        if (!chaos_in_error(number))
            continue;
        // A fault in a buffer that devices share costs none of them anything.
        CHECK(chaos.hangs || chaos.resets || (chaos.may_lose & 1u << number) != 0);
        chaos.may_lose &= ~(1u << number);
        chaos.killed++;
        chaos_kill_device(number);
    }
    for (unsigned i = 0; i < chaos.live; i++)
        CHECK(!world_place(chaos.world, chaos.all[i].handle).lost || chaos_in_error(chaos.all[i].device));
}

bool chaos_lost(const struct shadow *s, int result)
{
    CHECK(result != FERRY_ERROR_DEVICE_LOST || chaos_in_error(s->device));
    return result == FERRY_ERROR_DEVICE_LOST || chaos_vain(result);
}

// ---- Content ----

void chaos_compare(const struct shadow *s, const uint8_t *view, uint64_t from, uint64_t to, const char *when)
{
    for (uint64_t i = from; i < to; i++) {
        if (view[i] == s->bytes[i])
            continue;
        if (chaos_in_error(s->device))
            return;
        fail_msg("FERRY_SEED=%llu step %u, %s: byte %llu of %llu is %02x and not %02x (flags %x, aperture %d)",
                 (unsigned long long)chaos.seed, chaos.step, when, (unsigned long long)i, (unsigned long long)s->size,
                 view[i], s->bytes[i], s->flags, s->aperture);
    }
}

// ---- A whole run ----

static void go_wrong(void)
{
    struct machine_knobs *knobs = chaos.world->knobs;
    if (chaos.hangs && chaos_pick(150) == 0) {
        knobs->hang = true;
        knobs->late_abort = chaos_pick(2);
    }
    if (chaos.faults && chaos_pick(100) == 0)
        knobs->fault_paging = 1 + (chaos_pick(4) == 0);
    if (chaos.images && chaos_pick(80) == 0)
        knobs->range_unavailable = 1 + chaos_pick(6);
    if (chaos_pick(30) == 0) {
        knobs->hold_paging = true;
        knobs->hold_turns = 4;
    }
    kill_those_in_error();
}

static void begin(uint64_t seed, bool images, bool beside, bool more)
{
    memset(&chaos, 0, sizeof(chaos));
    chaos.more = more;
    chaos.images = images;
    chaos.beside = beside;
    chaos.seed = seed;
    chaos.random = draw_state(seed);
    for (unsigned i = 0; i < 8; i++)
        chaos_pick(2);
    struct world_options options = world_defaults();
    if (chaos_pick(2)) {
        options.manager.paging_buffer_bytes = machine_least_page_bytes > 200 ? machine_least_page_bytes : 200;
        options.manager.paging_buffers = 3;
        options.manager.sub_transfer_bytes = PAGES(3);
    }
    options.machine.seed = seed;
    if (images)
        options.machine.ranges = 1 + chaos_pick(4);
    options.machine.coherent_aperture = chaos_pick(2);
    if (addresses_wanted() && chaos_pick(2)) {
        options.machine.iommu = true;
        options.machine.version = DXGKDDI_WDDMv3_2;
    }
    options.manager.turn_cycles = (uint64_t[]){1, 500, 20000, 0}[chaos_pick(4)];
    chaos_meanwhile_begin();
    if (chaos.more && chaos_draw(2))
        options.machine.local_bytes = PAGES(32);
    chaos.large = chaos.more && chaos.seed % 4 == 1;
    if (chaos.large) {
        options.machine.local_bytes = PAGES(1024 + chaos_draw(800));
        options.machine.aperture_bytes = PAGES(1200);
    }
    chaos.world = world_open(&options);
    spy.keep = false;
    submit_below = spy.table.DxgkDdiSubmitCommand;
    spy.table.DxgkDdiSubmitCommand = look_who_faults;
    OKAY(ferry_vidmm_destroy_device(chaos.world->manager, chaos.world->device));
    chaos.world->knobs->delay = (unsigned[]){0, 2, 6, 14}[chaos_pick(4)];
    chaos.discards = chaos_pick(3) > 0;
    chaos.resets = chaos_pick(2);
    chaos.kills = chaos_pick(2);
    chaos.faults = chaos_pick(4) > 0;
    chaos.hangs = chaos_pick(3) == 0;
    chaos.world->knobs->by_place = chaos.discards;
    chaos.world->knobs->busy_times = chaos.discards ? 0 : chaos_pick(2);
    chaos.world->knobs->scatter_pages = chaos_pick(2);
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_vidmm_process_options process = {
            .size = sizeof(process), .weight = 1 + chaos_pick(3), .reservation = PAGES(8) * (chaos_pick(4) == 0)};
        OKAY(ferry_vidmm_create_process(chaos.world->manager, &process, &chaos.processes[i]));
    }
    for (unsigned number = 0; number < DEVICES; number++)
        chaos_open_device(number);
    chaos_beside_begin();
}

// Nothing goes wrong any more, and everything is looked at.
static void look_at_all(void)
{
    chaos.world->knobs->fault_paging = chaos.world->knobs->fault_addresses = 0;
    chaos.world->knobs->hang = chaos.world->knobs->hold_paging = false;
    chaos.world->knobs->hold_node = 0;
    for (unsigned i = 0; i < 60; i++)
        ferry_vidmm_poll(chaos.world->manager, true);
    kill_those_in_error();
    for (unsigned i = 0; i < chaos.live; i++)
        if (chaos.all[i].locked)
            chaos_unlock(&chaos.all[i]);
    for (unsigned i = 0; i < chaos.live; i++) {
        struct shadow *s = &chaos.all[i];
        void *address;
        OKAY(ferry_vidmm_lock(chaos.world->manager, s->handle, D3DDDI_LOCK_READ_ONLY, &address));
        chaos_compare(s, address, 0, s->size, "at the end");
        OKAY(ferry_vidmm_unlock(chaos.world->manager, s->handle));
    }
}

void chaos_run(uint64_t seed, unsigned steps, bool images, bool beside, bool more)
{
    begin(seed, images, beside, more);
    for (chaos.step = 0; chaos.step < steps; chaos.step++) {
        go_wrong();
        chaos_beside_before();
        chaos_meanwhile_before();
        if (setjmp(chaos_left) == 0)
            chaos_step();
        chaos_meanwhile_after();
        chaos_beside_after();
    }
    look_at_all();
    struct ferry_vidmm_statistics statistics = world_statistics(chaos.world);
    printf("  %llu: jobs %u refused %u evictions %llu moved %llu renames %llu; buffers that faulted %llu, of several "
           "%u, killed %u, updates %u, by address %u, seen %u, special %llu",
           (unsigned long long)seed, chaos.jobs, chaos.refused, (unsigned long long)statistics.evictions,
           (unsigned long long)statistics.bytes_moved, (unsigned long long)statistics.renames,
           (unsigned long long)statistics.faulted_paging_buffers, chaos.shared, chaos.killed, chaos.updates,
           chaos.by_address, chaos.seen,
           (unsigned long long)statistics.operations[DXGK_OPERATION_SPECIAL_LOCK_TRANSFER]);
    if (chaos.beside)
        printf("; beside: budgets %u, programs killed %u, notices %u, no memory %u", chaos.budgets,
               chaos.programs_killed, chaos.notices, chaos.none);
    if (chaos.more)
        printf("; more: meanwhile %u, devices gone meanwhile %u, in vain %u, mapped by calls %u, several buffers %u, "
               "beside locks %u%s",
               chaos.meanwhile, chaos.died, chaos.vain, chaos.calls, chaos.wholes, chaos.beside_locks,
               chaos.large ? ", large" : "");
    printf("\n");
    fflush(stdout);
    while (chaos.live)
        chaos_destroy(&chaos.all[0]);
    statistics = world_statistics(chaos.world);
    CHECK(statistics.resident_bytes == 0 && statistics.required_bytes == 0 && statistics.backing_bytes == 0);
    CHECK(statistics.allocations == 0 && statistics.renamed_bytes == 0);
    const char *text;
    if (machine_errors(chaos.world->machine, &text) || spy.errors)
        fail_msg("FERRY_SEED=%llu: the machine saw: %s; the spy: %s", (unsigned long long)seed, text, spy.first_error);
    world_close(chaos.world);
}
