// SPDX-License-Identifier: Apache-2.0
// Locks that wait for a device from which nothing comes any more: they fail, and what they were to lock is as it was.
#include <pthread.h>
#include <stdatomic.h>

#include "discards.h"
#include "in_vain.h"

static void go_on(struct world *world)
{
    let_it_come_again(world->manager);
    world->knobs->hold_node = 0;
}

// What a job wrote is in it too, and in video memory alone; a job that does nothing is held back behind that.
static D3DKMT_HANDLE in_use(struct world *world, UINT flags, bool aperture)
{
    D3DKMT_HANDLE a = create_limited(world, PAGES(2), flags, aperture, 1);
    world->knobs->hold_node = 0;
    world_write(world, a, 7);
    world_require(world, a);
    world_wait(world, world_gpu_put(world, a, 64, 4, 99));
    world->knobs->delay = 1;
    world->knobs->hold_node = HELD_NODE;
    world->knobs->hold_turns = UINT32_MAX;
    (void)world_gpu_name(world, world->context, a, false);
    return a;
}

static void check_words(struct world *world, D3DKMT_HANDLE a, UINT flags, uint32_t seed, uint32_t first, uint32_t later)
{
    const uint32_t *words;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, flags, (void **)&words), FERRY_OK);
    for (unsigned word = 0; word < PAGES(2) / 4; word++) {
        uint32_t written = word == 16 ? first : word == 20 ? later : 0;
        assert_int_equal(words[word], written ? written : world_word(seed, word));
    }
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
}

static void check_with(struct world *world, D3DKMT_HANDLE a, UINT flags, uint32_t later)
{
    check_words(world, a, flags, 7, 99, later);
}

static void check(struct world *world, D3DKMT_HANDLE a, UINT flags)
{
    check_with(world, a, flags, 0);
}

static void check_again_from_outside(struct world *world, D3DKMT_HANDLE a)
{
    check(world, a, D3DDDI_LOCK_READ_ONLY);
    if (world_place(world, a).residency_count == 0)
        world_require(world, a);
    world_wait(world, world_gpu_name(world, world->context, a, false)); // which brings it in
    world_force_out(world, a);
    check(world, a, D3DDDI_LOCK_READ_ONLY);
}

// There is no other instance to be had: one is all that it may have.
static void a_discard_that_waits_in_vain_has_discarded_nothing(void **state)
{
    (void)state;
    static const UINT kinds[] = {CPU, PERMANENT, CPU | DXGK_ALLOC_FLAG_CACHED};
    for (unsigned kind = 0; kind < 6; kind++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = in_use(world, kinds[kind / 2], kind % 2);
        void *address;
        let_nothing_come(world->manager);
        assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DISCARD, &address), FERRY_ERROR_TIMEOUT);
        go_on(world);
        assert_false(world_place(world, a).locked);
        if (kind % 2)
            check(world, a, D3DDDI_LOCK_READ_ONLY);
        else
            check_again_from_outside(world, a);
        world_close(world);
    }
}

struct locker {
    struct world *world;
    D3DKMT_HANDLE allocation;
    int result;
    UINT flags;
};

// Its room goes to somebody else while its lock waits; then nothing comes of the lock, or what it waits for.
static void take_its_room(const struct locker *locker, pthread_t thread, D3DKMT_HANDLE large, bool fails)
{
    struct world *world = locker->world;
    assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
    assert_int_equal(world_place(world, locker->allocation).segment, 0);
    if (fails)
        let_nothing_come(world->manager);
    ferry_vm_take_lock(world->manager);
    world->knobs->hold_node = fails ? HELD_NODE : 0;
    ferry_vm_give_lock(world->manager);
    pthread_join(thread, NULL);
    assert_int_equal(locker->result, fails ? FERRY_ERROR_TIMEOUT : FERRY_OK);
    if (fails)
        go_on(world);
    for (unsigned i = 0; i < 40; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

static void *discard_it(void *context)
{
    struct locker *locker = context;
    locker->result = try_discard(locker->world, locker->allocation, 0, 8);
    return NULL;
}

// Its room goes to somebody else while the lock waits: what leaves is wanted if nothing comes of the lock, and is not
// written over what the CPU has written if something does.
static void what_leaves_while_a_discard_waits_is_there_if_it_fails(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = in_use(world, kind / 2 ? PERMANENT : CPU, false), large = world_create(world, PAGES(63), 0);
        bool fails = kind % 2;
        struct locker locker = {world, a, FERRY_PENDING, 0};
        pthread_t thread;
        assert_int_equal(world_evict(world, a), FERRY_OK);
        pthread_create(&thread, NULL, discard_it, &locker);
        while (!world_place(world, a).locked)
            ;
        take_its_room(&locker, thread, large, fails);
        if (fails)
            check_again_from_outside(world, a);
        else
            world_check(world, a, 8);
        world_close(world);
    }
}

static void *write_it(void *context)
{
    struct locker *locker = context;
    uint32_t *words;
    locker->result = ferry_vidmm_lock(locker->world->manager, locker->allocation, locker->flags, (void **)&words);
    if (locker->result != FERRY_OK)
        return NULL;
    for (unsigned word = 0; word < PAGES(2) / 4; word++)
        words[word] = world_word(8, word);
    assert_int_equal(ferry_vidmm_unlock(locker->world->manager, locker->allocation), FERRY_OK);
    return NULL;
}

// Until the CPU has its pages they are the GPU's: a job of another line writes there behind what the lock waits for,
// and before it, and then their room goes to somebody else.
static void what_jobs_write_while_a_lock_waits_is_there_if_it_fails(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = in_use(world, PERMANENT, false), large = world_create(world, PAGES(63), 0);
        bool fails = kind % 2;
        struct locker locker = {world, a, FERRY_PENDING, kind / 2 ? D3DDDI_LOCK_WRITE_ONLY : 0};
        pthread_t thread;
        pthread_create(&thread, NULL, write_it, &locker);
        while (!world_place(world, a).locked)
            ;
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &world->context, NULL), FERRY_OK);
        (void)world_gpu_fill(world, a, 80, 4, 77);
        assert_int_equal(world_evict(world, a), FERRY_OK);
        take_its_room(&locker, thread, large, fails);
        if (fails)
            check_with(world, a, D3DDDI_LOCK_READ_ONLY, 77);
        else
            world_check(world, a, 8);
        world_close(world);
    }
}

// It waits for paging only. A job that comes meanwhile and whose work has to leave first is what it does not wait for.
static void a_lock_that_waits_for_no_job_does_not_do_so_later(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    D3DKMT_HANDLE a = create_limited(world, PAGES(2), PERMANENT, false, 1), large = world_create(world, PAGES(63), 0);
    struct locker locker = {world, a, FERRY_PENDING, D3DDDI_LOCK_DO_NOT_WAIT};
    pthread_t thread;
    world_write(world, a, 7);
    world_require(world, a);
    world_wait(world, world_gpu_put(world, a, 64, 4, 99));
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = UINT32_MAX;
    pthread_create(&thread, NULL, write_it, &locker);
    while (!world_place(world, a).locked)
        ;
    ferry_vm_take_lock(world->manager);
    world->knobs->hold_node = HELD_NODE;
    ferry_vm_give_lock(world->manager);
    uint64_t fence = world_gpu_fill(world, a, 80, 4, 77);
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
    assert_int_equal(world_place(world, a).segment, 0);
    // The job ends by itself some time, for a lock that would wait for it.
    ferry_vm_take_lock(world->manager);
    world->knobs->hold_paging = false;
    world->knobs->hold_turns = 200;
    ferry_vm_give_lock(world->manager);
    pthread_join(thread, NULL);
    assert_int_equal(locker.result, FERRY_ERROR_BUSY);
    assert_int_equal(world->knobs->hold_node, HELD_NODE);
    assert_false(world_place(world, a).locked);
    let_go(world, fence);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
    check_with(world, a, D3DDDI_LOCK_READ_ONLY, 77);
    world_close(world);
}

// Two instances, both in use; the second one holds the content, in video memory alone. A lock that discards waits for
// the first.
static D3DKMT_HANDLE waits_for_another(struct world *world, struct locker *locker, pthread_t *thread)
{
    D3DKMT_HANDLE a = create_limited(world, PAGES(2), PERMANENT, false, 2);
    world_require(world, a);
    world->knobs->delay = 1;
    world->knobs->hold_turns = UINT32_MAX;
    hold(world);
    (void)world_gpu_name(world, world->context, a, false);
    discard(world, a, 7);
    assert_int_equal(world_place(world, a).instances, 2);
    (void)world_gpu_name(world, world->context, a, false);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &world->context, NULL), FERRY_OK);
    world_wait(world, world_gpu_fill(world, a, 64, 4, 99));
    *locker = (struct locker){world, a, FERRY_PENDING, 0};
    assert_int_equal(pthread_create(thread, NULL, discard_it, locker), 0);
    while (!world_place(world, a).locked)
        ;
    return a;
}

static void ends(struct locker *locker, pthread_t thread)
{
    pthread_join(thread, NULL);
    assert_int_equal(locker->result, FERRY_ERROR_TIMEOUT);
    go_on(locker->world);
    for (unsigned i = 0; i < 40; i++)
        ferry_vidmm_poll(locker->world->manager, true);
}

struct submitter {
    struct world *world;
    D3DKMT_HANDLE allocation;
    uint64_t fence;
    int result;
    atomic_bool done;
};

static void *fill_it(void *context)
{
    struct submitter *s = context;
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference reference = {s->allocation, true};
    machine_job_fill(&job, 0, 80, 4, 77);
    struct ferry_vidmm_submission buffer = machine_job_buffer(&job, &reference, 1);
    s->result = ferry_vidmm_submit(s->world->manager, s->world->context, &buffer, 1, &s->fence);
    s->done = true;
    return NULL;
}

// What a job writes then would be in the instance that the lock is to have: when it fails, that holds nothing. So it
// waits for the outcome.
static void a_job_beside_a_lock_that_may_take_another_instance_is_not_lost(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < 2; fails++) {
        struct world *world = open_held(64);
        struct locker locker;
        pthread_t threads[2];
        D3DKMT_HANDLE a = waits_for_another(world, &locker, &threads[0]);
        struct submitter submitter = {.world = world, .allocation = a};
        pthread_create(&threads[1], NULL, fill_it, &submitter);
        for (unsigned i = 0; i < 100 && !submitter.done; i++)
            ferry_vidmm_poll(world->manager, true);
        assert_true(world_place(world, a).locked);
        if (fails)
            let_nothing_come(world->manager);
        ferry_vm_take_lock(world->manager);
        world->knobs->hold_node = fails ? HELD_NODE : 0;
        ferry_vm_give_lock(world->manager);
        if (fails) {
            ends(&locker, threads[0]);
        } else {
            pthread_join(threads[0], NULL);
            assert_int_equal(locker.result, FERRY_OK);
        }
        pthread_join(threads[1], NULL);
        int result = submitter.result;
        assert_true(result == FERRY_OK || (fails && result == FERRY_ERROR_TIMEOUT));
        if (result == FERRY_OK)
            world_wait(world, submitter.fence);
        if (fails)
            check_words(world, a, D3DDDI_LOCK_READ_ONLY, 7, 99, result == FERRY_OK ? 77 : 0);
        world_close(world);
    }
}

// It goes off the list meanwhile and comes there again: what it held by then is older than what the next Evict's
// NotWrittenTo is about.
static void what_was_written_before_a_lock_in_vain_is_written_whatever_an_evict_says_later(void **state)
{
    (void)state;
    struct world *world = open_held(64);
    struct locker locker;
    pthread_t thread;
    D3DKMT_HANDLE a = waits_for_another(world, &locker, &thread);
    D3DDDICB_EVICT unwritten = {.NumAllocations = 1, .AllocationList = &a};
    unwritten.Flags.NotWrittenTo = 1;
    assert_int_equal(world_evict(world, a), FERRY_OK);
    assert_true(world_resident(world, &a, 1) >= 0);
    let_nothing_come(world->manager);
    ends(&locker, thread);
    assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &unwritten), FERRY_OK);
    check_words(world, a, D3DDDI_LOCK_READ_ONLY, 7, 99, 0);
    world_close(world);
}

struct turns {
    pthread_t other;
    atomic_uint count; // of all threads but that one
};

static void count_turn(void *context)
{
    struct turns *turns = context;
    turns->count += !pthread_equal(pthread_self(), turns->other);
}

// What it waited for last it has found over, and what is there now.
static void let_it_look(struct world *world, D3DKMT_HANDLE a, const struct turns *turns)
{
    unsigned before = turns->count;
    while (turns->count - before < 2 && world_place(world, a).locked)
        ;
}

static bool is_kept_from(struct world *world, D3DKMT_HANDLE a)
{
    ferry_vm_take_lock(world->manager);
    const struct ferry_vm_allocation *allocation =
        ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_ALLOCATION, a);
    bool is = allocation->lock_skipped;
    ferry_vm_give_lock(world->manager);
    return is;
}

// Its pages are the GPU's until it has waited as often itself.
static void the_next_lock_waits_anew(struct world *world, D3DKMT_HANDLE context, struct locker *locker,
                                     D3DKMT_HANDLE large)
{
    pthread_t thread;
    world->knobs->before_turn = NULL;
    world_require(world, locker->allocation);
    world->knobs->hold_turns = UINT32_MAX;
    world->knobs->hold_node = HELD_NODE;
    world_gpu_name(world, context, locker->allocation, true);
    pthread_create(&thread, NULL, write_it, locker);
    while (!world_place(world, locker->allocation).locked)
        ;
    while (world_place(world, locker->allocation).residency_count > 0)
        assert_int_equal(world_evict(world, locker->allocation), FERRY_OK);
    assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
    assert_false(is_kept_from(world, locker->allocation));
    ferry_vm_take_lock(world->manager);
    world->knobs->hold_node = 0;
    ferry_vm_give_lock(world->manager);
    pthread_join(thread, NULL);
    assert_int_equal(locker->result, FERRY_OK);
}

// The next job that works on it is there, and its room wanted again, before the last one is let go: there is always
// something that is still to be written. A lock waits for some of it; what comes later leaves its pages alone, and if
// the lock fails after all, that is lost by name.
static void others_that_go_on_for_ever_do_not_keep_a_lock_waiting(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = create_limited(world, PAGES(2), PERMANENT, false, 1);
        D3DKMT_HANDLE large = world_create(world, PAGES(63), 0), contexts[2] = {world->context};
        bool fails = kind / 2, kept = false;
        struct locker locker = {world, a, FERRY_PENDING, kind % 2 ? D3DDDI_LOCK_DISCARD : 0};
        pthread_t thread;
        struct turns turns = {.other = pthread_self()};
        void *address;
        uint64_t fence = 0;
        unsigned rounds = 0;
        assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 2, &contexts[1], NULL), FERRY_OK);
        world_write(world, a, 7);
        world_require(world, a);
        world->knobs->delay = 1;
        world->knobs->hold_turns = UINT32_MAX;
        world->knobs->hold_node = HELD_NODE;
        world->knobs->before_turn = count_turn;
        world->knobs->before_turn_context = &turns;
        for (; rounds < 40 && (rounds < 2 || world_place(world, a).locked); rounds++) {
            uint64_t before = fence;
            world->context = contexts[rounds % 2];
            fence = world_gpu_name(world, world->context, a, true);
            if (rounds == 0) {
                pthread_create(&thread, NULL, write_it, &locker);
                while (!world_place(world, a).locked)
                    ;
            }
            assert_int_equal(world_evict(world, a), FERRY_OK);
            assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
            kept |= is_kept_from(world, a);
            if (kept && fails)
                break;
            assert_int_equal(world_evict(world, large), FERRY_OK);
            assert_int_equal(world_resident(world, &a, 1), FERRY_PENDING);
            ferry_vm_take_lock(world->manager);
            world->knobs->hold_node = HELD_NODE + rounds % 2;
            ferry_vm_give_lock(world->manager);
            world->context = contexts[1 - rounds % 2];
            if (rounds > 0)
                world_wait(world, before);
            for (unsigned i = 0; i < 20; i++)
                ferry_vidmm_poll(world->manager, true);
            let_it_look(world, a, &turns);
        }
        assert_in_range(rounds, 2, 20);
        assert_true(kept);
        if (fails)
            let_nothing_come(world->manager);
        ferry_vm_take_lock(world->manager);
        world->knobs->hold_node = fails ? world->knobs->hold_node : 0;
        world->knobs->hold_turns = fails ? 1 : 0;
        ferry_vm_give_lock(world->manager);
        pthread_join(thread, NULL);
        assert_int_equal(locker.result, fails ? FERRY_ERROR_TIMEOUT : FERRY_OK);
        if (fails) {
            go_on(world);
            assert_false(world_place(world, a).locked);
            assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address),
                             FERRY_ERROR_DEVICE_LOST);
            assert_int_equal(world_statistics(world).contents_lost, 1);
        } else {
            world_check(world, a, 8);
            assert_int_equal(world_statistics(world).contents_lost, 0);
            the_next_lock_waits_anew(world, contexts[0], &locker, large);
        }
        world_close(world);
    }
}

static void who_discards_and_only_reads_gives_nothing_up(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct world *world = open_held(64);
        D3DKMT_HANDLE a = in_use(world, kind ? PERMANENT : CPU, false);
        world->knobs->hold_node = 0;
        check(world, a, D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_DISCARD);
        check_again_from_outside(world, a);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_discard_that_waits_in_vain_has_discarded_nothing),
        cmocka_unit_test(what_leaves_while_a_discard_waits_is_there_if_it_fails),
        cmocka_unit_test(what_jobs_write_while_a_lock_waits_is_there_if_it_fails),
        cmocka_unit_test(a_lock_that_waits_for_no_job_does_not_do_so_later),
        cmocka_unit_test(others_that_go_on_for_ever_do_not_keep_a_lock_waiting),
        cmocka_unit_test(a_job_beside_a_lock_that_may_take_another_instance_is_not_lost),
        cmocka_unit_test(what_was_written_before_a_lock_in_vain_is_written_whatever_an_evict_says_later),
        cmocka_unit_test(who_discards_and_only_reads_gives_nothing_up),
    };
    return WORLD_RUN(tests);
}
