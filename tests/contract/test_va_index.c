// SPDX-License-Identifier: Apache-2.0
// What the manager knows of mappings, against a plain list of them: after each of many random steps of several programs
// (map, unmap, copy and cut, free, discard, evict, destroy, also while updates wait) each program's tree of ranges says
// what the list says, and each allocation's lists and sums are what its ranges come to. In driver model 2 of both
// miniports.
#include <stdio.h>

#include "va_plain_check.h"

#define STEPS 700u
#define ROOM  160u // pages

static void begin_program(struct space *s)
{
    memset(s, 0, sizeof(*s));
    s->program = program_begin(world, 1, 0);
    program_become(world, &s->program);
    for (uint32_t i = 0; i < 2; i++)
        s->contexts[i] = context_on(world, 1 + i);
    s->result = world_create(world, PAGES(2), CPU);
    world_require(world, s->result);
    s->at_result = map(world, s->result, BASE + 0x100000, 2);
    s->window = (BASE + 0x400000) / PAGE_SIZE;
    add(s,
        (struct piece){.first = s->at_result / PAGE_SIZE, .pages = 2, .owner = key_of(found(s->result)), .offset = 0});
}

static void end_program(struct space *s)
{
    CHECK(ferry_vidmm_destroy_device(world->manager, s->program.device) == FERRY_OK);
    CHECK(ferry_vidmm_destroy_process(world->manager, s->program.process) == FERRY_OK);
}

static struct owner *some_owner(struct space *s)
{
    struct owner *owner = &s->owners[draw(ALLOCATIONS)];
    if (owner->handle)
        return owner;
    owner->pages = 1 + draw(draw(3) ? 6 : 40);
    owner->handle = world_create(world, PAGES(owner->pages), CPU);
    return owner;
}

static void reserve_some(struct space *s)
{
    uint64_t first = s->window + 16 * draw(WINDOW / 16), pages = 16 * (1 + draw(12));
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = first * PAGE_SIZE, .bytes = PAGES(pages)};
    bool fits = is_free(s, first, first + pages);
    int result = ferry_vidmm_reserve_virtual(world->manager, s->program.device, &range);
    CHECK(result == (fits ? FERRY_OK : FERRY_ERROR_BUSY));
    if (fits)
        add(s, (struct piece){.first = first, .pages = pages, .reservation = ++s->reservations});
}

static void map_some(struct space *s)
{
    const struct owner *owner = some_owner(s);
    const struct ferry_vm_allocation *allocation = found(owner->handle);
    bool each = draw(3) == 0, any = draw(2), read_only = !each && draw(4) == 0;
    uint64_t offset = each ? 0 : draw((uint32_t)owner->pages), left = owner->pages - offset;
    uint64_t pages = each ? owner->pages : 1 + draw((uint32_t)left), first = s->window + draw(WINDOW);
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .bytes = PAGES(pages), .each_instance = each};
    // At any place, among some addresses at times.
    if (any && draw(2)) {
        range.least = (s->window + 16 * draw(32)) * PAGE_SIZE;
        range.most = range.least + PAGES(4096);
    }
    // Mostly where it can be.
    for (unsigned tries = 0; tries < 30 && !is_free(s, first, first + pages) &&
                             (each || reservation_of(s, first, first + pages, true) == 0);
         tries++)
        first = s->window + draw(WINDOW);
    range.address = any ? 0 : first * PAGE_SIZE;
    uint64_t reservation = any ? 0 : reservation_of(s, first, first + pages, true);
    int expected = ferry_vm_instance_count(allocation) > 1                         ? FERRY_ERROR_BUSY
                   : each && has_own(s, key_of(allocation))                        ? FERRY_ERROR_ARGUMENT
                   : each && !any && reservation_of(s, first, first + 1, false)    ? FERRY_ERROR_ARGUMENT
                   : !any && reservation == 0 && !is_free(s, first, first + pages) ? FERRY_ERROR_BUSY
                                                                                   : FERRY_OK;
    int result =
        ferry_vidmm_map_virtual(world->manager, s->program.device, owner->handle, PAGES(offset), read_only, &range);
    CHECK(result == expected);
    seen.refused += result != FERRY_OK;
    if (result != FERRY_OK)
        return;
    first = range.address / PAGE_SIZE;
    CHECK(!any || is_free(s, first, first + pages));
    CHECK(range.least == 0 || (range.address >= range.least && range.address + range.bytes <= range.most));
    add(s, (struct piece){first, pages, key_of(allocation), offset, reservation, read_only, each});
    seen.mapped++;
}

// One operation, done to the list as well; what it is answered by itself.
static int operation(struct space *s, struct ferry_vidmm_update *update, uint64_t *reservation)
{
    const struct owner *owner = some_owner(s);
    for (unsigned tries = 0; tries < 8 && ferry_vm_instance_count(found(owner->handle)) > 1; tries++)
        owner = some_owner(s);
    const struct ferry_vm_allocation *allocation = found(owner->handle);
    uint32_t offset = draw((uint32_t)owner->pages), kind = draw(3);
    uint64_t pages = 1 + draw((uint32_t)owner->pages - offset), first, repeat = 0, source, all = pages;
    if (kind == FERRY_VIDMM_MAP && draw(4) == 0) {
        repeat = pages;
        all = pages * (1 + draw(3));
    }
    // Mostly where it can be.
    for (unsigned tries = 0; tries < 30; tries++) {
        first = s->window + draw(WINDOW);
        source = s->window + draw(WINDOW);
        uint64_t in = reservation_of(s, first, first + all, false);
        if (in != 0 && (*reservation == 0 || in == *reservation) &&
            (kind != FERRY_VIDMM_COPY || reservation_of(s, source, source + all, false) != 0))
            break;
    }
    *update = (struct ferry_vidmm_update){.kind = (enum ferry_vidmm_update_kind)kind,
                                          .address = first * PAGE_SIZE,
                                          .bytes = PAGES(all),
                                          .allocation = owner->handle,
                                          .offset = PAGES(offset),
                                          .repeat = PAGES(repeat),
                                          .source = source * PAGE_SIZE,
                                          .read_only = draw(4) == 0};
    if (kind == FERRY_VIDMM_MAP && ferry_vm_instance_count(allocation) > 1)
        return FERRY_ERROR_BUSY;
    uint64_t in = reservation_of(s, first, first + all, false);
    if (in == 0 || (*reservation != 0 && in != *reservation))
        return FERRY_ERROR_ARGUMENT;
    *reservation = in;
    if (kind == FERRY_VIDMM_COPY) {
        static struct piece copied[MOST];
        size_t count = 0;
        if (reservation_of(s, source, source + all, false) == 0)
            return FERRY_ERROR_ARGUMENT;
        cut(s, source);
        cut(s, source + all);
        for (size_t i = piece_at(s, source); i < s->count && s->pieces[i].first < source + all; i++) {
            copied[count] = s->pieces[i];
            if (copied[count].owner && ferry_vm_instance_count(found((D3DKMT_HANDLE)(copied[count].owner >> 32))) > 1)
                return FERRY_ERROR_BUSY;
            copied[count].first += first - source;
            copied[count++].reservation = in;
        }
        for (size_t i = 0; i < count; i++)
            add(s, copied[i]);
        return FERRY_OK;
    }
    clear(s, first, first + all, false);
    for (uint64_t at = first; kind == FERRY_VIDMM_MAP && at < first + all; at += pages)
        add(s, (struct piece){at, pages, key_of(allocation), offset, in, update->read_only, false});
    return FERRY_OK;
}

static void update_some(struct space *s)
{
    static struct space before;
    struct ferry_vidmm_update batch[5];
    struct ferry_vidmm_updated updated;
    uint32_t count = 1 + draw(5);
    uint64_t reservation = 0;
    int expected = FERRY_OK;
    for (unsigned i = 0; i < ALLOCATIONS; i++)
        if (s->owners[i].handle)
            learn_instances(s, s->owners[i].handle, NULL);
    before = *s;
    for (uint32_t i = 0; i < count; i++)
        if ((expected = operation(s, &batch[i], &reservation)) != FERRY_OK)
            count = i + 1;
    int result = ferry_vidmm_update_virtual(world->manager, s->contexts[draw(2)], batch, count, &updated);
    // While it waited, an instance may have gone.
    CHECK(result == expected || (expected == FERRY_ERROR_BUSY && result == FERRY_OK));
    seen.refused += result != FERRY_OK;
    seen.updated += result == FERRY_OK;
    if (expected != FERRY_OK) {
        CHECK(result != FERRY_OK);
        memcpy(s->pieces, before.pieces, sizeof(s->pieces));
        s->count = before.count;
    }
}

// A range of the manager's, or several side by side; or anything.
static void free_some(struct space *s)
{
    uint64_t first = s->window + draw(WINDOW), end = first + 1 + draw(24);
    bool whole = draw(4) != 0;
    if (whole && s->count > 0 && draw(2)) {
        const struct piece *piece = &s->pieces[draw((uint32_t)s->count)];
        first = piece->first;
    }
    struct ferry_vidmm_mapping at;
    CHECK(ferry_vidmm_find_virtual(world->manager, s->program.device, first * PAGE_SIZE, &at) == FERRY_OK);
    CHECK(at.allocation != 0 || (at.offset == 0 && !at.read_only));
    if (whole && at.bytes == 0)
        return;
    if (whole) {
        first = at.address / PAGE_SIZE;
        end = first + at.bytes / PAGE_SIZE;
    }
    if (first <= s->at_result / PAGE_SIZE + 1 && end > s->at_result / PAGE_SIZE)
        return;
    int result = ferry_vidmm_free_virtual(world->manager, s->program.device, first * PAGE_SIZE, PAGES(end - first));
    CHECK(result == FERRY_OK || (!whole && result == FERRY_ERROR_ARGUMENT));
    if (result != FERRY_OK)
        return;
    clear(s, first, end, true);
    seen.freed++;
}

// A job of the program's own result, which names other allocations, this one first.
static void name_some(struct space *s, D3DKMT_HANDLE handle)
{
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference references[4] = {{s->result, true}};
    D3DKMT_HANDLE names[3];
    uint32_t count = 0;
    uint64_t fence;
    do {
        if ((count > 0 && names[0] == handle) || (count > 1 && names[1] == handle))
            break;
        names[count] = handle;
        references[1 + count++] = (struct ferry_vidmm_reference){handle, draw(2)};
        handle = some_owner(s)->handle;
    } while (count < 3 && draw(4));
    int result = world_resident(world, names, count);
    CHECK(result == FERRY_OK || result == FERRY_PENDING);
    machine_job_copy(&job, 0, 0, 0, 64, 64);
    for (uint32_t i = 0; i < 2; i++)
        machine_job_by_address(job.commands, &job.patches[i], s->at_result + i * PAGE_SIZE);
    struct ferry_vidmm_submission submission = {
        .commands = job.commands, .bytes = job.bytes, .references = references, .reference_count = 1 + count};
    CHECK(ferry_vidmm_submit(world->manager, s->contexts[draw(2)], &submission, 1, &fence) == FERRY_OK);
    for (uint32_t i = 0; i < count; i++)
        CHECK(world_evict(world, names[i]) == FERRY_OK);
}

static void hold_some(void)
{
    if (world->knobs->hold_node != 0)
        return;
    world->knobs->hold_node = 1 + draw(2);
    world->knobs->hold_turns = 1 + draw(60);
}

// Mostly of what another instance can take the place of, while a job works on it.
static void discard_some(struct space *s)
{
    const struct owner *owner = some_owner(s);
    void *address;
    bool has_come = false;
    for (unsigned tries = 0; tries < 12 && !ferry_vm_virtual_own(found(owner->handle)); tries++)
        owner = some_owner(s);
    if (draw(4)) {
        hold_some();
        name_some(s, owner->handle);
    }
    CHECK(ferry_vidmm_lock(world->manager, owner->handle, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, &address) ==
          FERRY_OK);
    CHECK(ferry_vidmm_unlock(world->manager, owner->handle) == FERRY_OK);
    learn_instances(s, owner->handle, &has_come);
}

static void destroy_some(struct space *s)
{
    struct owner *owner = some_owner(s);
    D3DKMT_HANDLE handle = owner->handle;
    CHECK(ferry_vidmm_destroy_allocation(world->manager, handle) == FERRY_OK);
    owner->handle = 0;
    for (size_t i = 0; i < s->count;) {
        if (s->pieces[i].owner >> 32 == handle)
            forget_owner(s, s->pieces[i].owner), i = 0;
        else
            i++;
    }
    seen.destroyed++;
}

static void one_step(void)
{
    struct space *s = &spaces[draw(PROGRAMS)];
    program_become(world, &s->program);
    switch (draw(16)) {
    case 0: reserve_some(s); break;
    case 1:
    case 2:
    case 3: map_some(s); break;
    case 4:
    case 5:
    case 6:
    case 7: update_some(s); break;
    case 8: free_some(s); break;
    case 9:
    case 10: discard_some(s); break;
    case 11:
    case 12: name_some(s, some_owner(s)->handle); break;
    case 13:
        if (draw(3) == 0)
            destroy_some(s);
        break;
    case 14:
        hold_some();
        name_some(s, some_owner(s)->handle);
        break;
    default:
        if (draw(16) == 0) {
            end_program(s);
            begin_program(s);
        }
        turns(world, draw(12));
    }
}

static void one_run(void)
{
    // Tables for all programs; and not enough room for what they make, as somebody else has most of it.
    struct world_options options = updates_options(4096, 0);
    drawn = seed;
    world = world_open(&options);
    spy.keep = false;
    world->knobs->by_place = true;
    world_require(world, world_create(world, PAGES(4096 - 128 - ROOM), CPU));
    world->knobs->delay = draw(4);
    world->knobs->scatter_pages = draw(2);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        begin_program(&spaces[i]);
        for (unsigned k = 0; k < 4; k++)
            reserve_some(&spaces[i]);
    }
    for (step = 0; step < STEPS; step++) {
        one_step();
        check_all();
    }
    world->knobs->hold_node = 0;
    for (unsigned i = 0; i < PROGRAMS; i++)
        end_program(&spaces[i]);
    world_close(world);
}

static void what_is_mapped_is_what_a_plain_list_says(void **state)
{
    (void)state;
    uint64_t given = seed_given(20261127);
    for (unsigned i = 0; i < 8; i++) {
        seed = given + i;
        one_run();
    }
    printf("%u mapped, %u updates, %u refused, %u instances, %u waiting, %u freed, %u destroyed\n", seen.mapped,
           seen.updated, seen.refused, seen.instances, seen.waiting, seen.freed, seen.destroyed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_is_what_a_plain_list_says),
    };
    return WORLD_RUN(tests);
}
