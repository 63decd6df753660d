// SPDX-License-Identifier: Apache-2.0
// What comes upon the programs of a run of chaos.h from outside: the adapter's budget, weights and reservations change,
// programs are killed with jobs in flight, allocations ask for notices, and for the length of a step the host's memory
// runs out, by an allocation of the library that fails or by pages that are not there. It has a random stream of its
// own, seeded by the same seed. And the counts are looked at, which must agree with one another and with the shadow's.
#include "addresses.h"
#include "chaos_state.h"
#include "injection/inject.h"

static uint32_t pick(uint32_t below)
{
    return draw_below(&chaos.random_beside, below);
}

// Of a run, one draw each.
static bool budgets_change, programs_die, memory_ends, notices_wanted;

void chaos_beside_begin(void)
{
    chaos.random_beside = chaos.seed * UINT64_C(0xD1342543DE82EF95) + 0x51;
    inject_set(INJECT_NOTHING, 0, STATUS_SUCCESS);
    for (unsigned i = 0; i < 4; i++)
        pick(2);
    budgets_change = pick(3) > 0;
    programs_die = pick(2);
    memory_ends = pick(3) > 0;
    notices_wanted = pick(2);
    // Miniports differ in what they write into a buffer, and when it is finished.
    if (!chaos.beside)
        return;
    chaos.world->knobs->silent_discard = pick(4) == 0;
    chaos.world->knobs->by_registers = pick(4) == 0;
    chaos.world->knobs->patch_completes = pick(4) == 0;
}

void chaos_beside_create(struct ferry_allocation_private *wanted)
{
    if (!chaos.beside || !notices_wanted || pick(3) > 0 || (wanted->Tiling.Levels != 0 && !addresses_wanted()))
        return;
    if (pick(2)) {
        wanted->Flags |= DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY | DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION;
        chaos.notices++;
    } else if (addresses_wanted() && wanted->Aperture) {
        wanted->Flags2 |= DXGK_ALLOC_FLAG2_NOTIFY_EVICTION;
        chaos.notices++;
    }
}

// ---- Programs and what they may have ----

static void change_budgets(void)
{
    struct ferry_vidmm *manager = chaos.world->manager;
    D3DKMT_HANDLE process = chaos.processes[pick(2)];
    unsigned kind = pick(3);
    if (kind == 0)
        OKAY(ferry_vidmm_set_budget(manager, pick(3) ? PAGES(4 + pick(60)) : 0));
    else if (kind == 1)
        OKAY(ferry_vidmm_set_weight(manager, process, 1 + pick(pick(2) ? 4 : FERRY_VIDMM_MAX_WEIGHT)));
    else {
        int result = ferry_vidmm_set_reservation(manager, process, PAGES(pick(30)));
        CHECK(result == FERRY_OK || result == FERRY_ERROR_NO_VIDEO_MEMORY);
    }
    chaos.budgets++;
}

// With whatever its devices have in flight, locked and half done.
static void kill_program(unsigned program)
{
    struct ferry_vidmm *manager = chaos.world->manager;
    OKAY(ferry_vidmm_destroy_process(manager, chaos.processes[program]));
    chaos_program_gone(program);
}

void chaos_program_gone(unsigned program)
{
    struct ferry_vidmm *manager = chaos.world->manager;
    struct ferry_vidmm_process_options options = {.size = sizeof(options), .weight = 1 + pick(3)};
    // The last device is of no program.
    unsigned first = program * 2, end = program == 0 ? 2 : DEVICES - 1;
    chaos_memory_is_there();
    for (unsigned i = chaos.live; i-- > 0;)
        if (chaos.all[i].device >= first && chaos.all[i].device < end)
            chaos_forget(&chaos.all[i]);
    for (unsigned number = first; number < end; number++)
        chaos.may_lose &= ~(1u << number);
    OKAY(ferry_vidmm_create_process(manager, &options, &chaos.processes[program]));
    for (unsigned number = first; number < end; number++)
        chaos_open_device(number);
    chaos.programs_killed++;
}

// ---- Memory ----

static void run_out_of_memory(void)
{
    if (pick(4) == 0) {
        chaos.world->knobs->host_pages = pick(6);
        chaos.short_of_memory = true;
    } else {
        inject_set(INJECT_MEMORY, 1 + pick(pick(2) ? 4 : 20), STATUS_SUCCESS);
        inject_arm(true);
    }
}

void chaos_memory_is_there(void)
{
    inject_arm(false);
    chaos.world->knobs->host_pages = -1;
}

bool chaos_no_memory(int result)
{
    bool so = result == FERRY_ERROR_NO_HOST_MEMORY && (chaos.short_of_memory || inject.fired);
    chaos.none += so;
    return so;
}

// ---- Counts ----

static void counts_agree(void)
{
    struct ferry_vidmm_statistics all = world_statistics(chaos.world);
    const D3DKMT_HANDLE processes[] = {chaos.processes[0], chaos.processes[1], 0};
    uint64_t usage = 0, in_place = 0, budgets = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct ferry_vidmm_memory_info info;
        OKAY(ferry_vidmm_memory_info(chaos.world->manager, processes[i], 0, &info));
        usage += info.usage;
        in_place += info.in_place;
        budgets += info.budget;
    }
    CHECK(usage == all.required_bytes);
    CHECK(in_place == all.resident_bytes);
    CHECK(budgets <= all.budget_bytes);
    CHECK(all.allocations == chaos.live);
    for (unsigned i = 0; i < chaos.live; i++) {
        const struct shadow *s = &chaos.all[i];
        struct ferry_vidmm_placement place = world_place(chaos.world, s->handle);
        CHECK(place.residency_count == s->count && place.locked == s->locked);
    }
}

void chaos_beside_before(void)
{
    if (!chaos.beside)
        return;
    if (budgets_change && pick(40) == 0)
        change_budgets();
    if (programs_die && pick(200) == 0)
        kill_program(pick(2));
    if (chaos.faults && addresses_wanted() && pick(150) == 0)
        chaos.world->knobs->fault_addresses = 1 + pick(3);
    if (memory_ends && pick(12) == 0)
        run_out_of_memory();
}

void chaos_beside_after(void)
{
    if (!chaos.beside)
        return;
    chaos_memory_is_there();
    inject.fired = chaos.short_of_memory = false;
    if (pick(16) == 0)
        counts_agree();
}
