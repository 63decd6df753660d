// SPDX-License-Identifier: Apache-2.0
// Residency lists and the trim loop, with the test in the manager's place: so many pages, and what is required of them.
#include "adapter_alone.h"
#include "umd/residency.h"

#define PAGE ((uint64_t)FERRY_PAGE_BYTES)

enum { A, B, C, D, ALLOCATIONS };
enum { FIRST = 100, ROOM = 12 };

static struct umd_device device;
static struct umd_allocation *all[ALLOCATIONS];

// The manager.
static unsigned counts[ALLOCATIONS], attempts,
    fails_at, // the so-manieth attempt fails for want of host memory; 0 = none
    there_at, // from this one on all content is in place already
    falls_at, // with this one the room is less by four pages; 0 = with none
    last_at,  // this one said that nothing more can be trimmed; 0 = none did
    vital_at; // this one said that it must succeed
static uint64_t room;
// Another call is destroying this one, as soon as it is trimmed, or has begun to before; 0 = none.
static D3DKMT_HANDLE going, gone;

static uint64_t required(void)
{
    uint64_t pages = 0;
    for (unsigned i = 0; i < ALLOCATIONS; i++)
        pages += counts[i] ? (all[i]->bytes + PAGE - 1) / PAGE : 0;
    return pages;
}

int ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments)
{
    (void)manager;
    uint64_t before = required();
    if (++attempts == fails_at)
        return FERRY_ERROR_NO_HOST_MEMORY;
    if (attempts == falls_at)
        room -= 4;
    if (arguments->Flags.CantTrimFurther && !last_at)
        last_at = attempts;
    if (arguments->Flags.MustSucceed && !vital_at)
        vital_at = attempts;
    if (attempts > 100) // a loop without end
        return FERRY_ERROR_DEVICE_LOST;
    for (UINT i = 0; i < arguments->NumAllocations; i++)
        counts[arguments->AllocationList[i] - FIRST]++;
    uint64_t pages = required();
    arguments->NumBytesToTrim = pages > room ? (pages - room) * PAGE : 0;
    if (pages <= room) {
        arguments->PagingFenceValue = attempts;
        return pages > before && attempts < there_at ? FERRY_PENDING : FERRY_OK;
    }
    for (UINT i = 0; i < arguments->NumAllocations; i++)
        counts[arguments->AllocationList[i] - FIRST]--;
    return FERRY_ERROR_NO_VIDEO_MEMORY;
}

int ferry_vidmm_evict(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DDDICB_EVICT *arguments)
{
    (void)manager;
    assert_int_equal(handle, device.vidmm);
    // All of a list or nothing.
    for (UINT i = 0; i < arguments->NumAllocations; i++)
        if (arguments->AllocationList[i] == gone)
            return FERRY_ERROR_HANDLE;
    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        assert_true(counts[arguments->AllocationList[i] - FIRST] > 0);
        counts[arguments->AllocationList[i] - FIRST]--;
    }
    arguments->NumBytesToTrim = 77;
    return FERRY_OK;
}

int ferry_vidmm_take_off(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_HANDLE allocation, uint32_t count)
{
    (void)manager;
    assert_int_equal(handle, device.vidmm);
    assert_true(count > 0 && count <= counts[allocation - FIRST]);
    if (allocation == gone)
        return FERRY_ERROR_HANDLE;
    counts[allocation - FIRST] -= count;
    return FERRY_OK;
}

int ferry_vidmm_put_back(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_HANDLE allocation, uint32_t count)
{
    (void)manager;
    assert_int_equal(handle, device.vidmm);
    assert_true(count > 0);
    if (allocation == going)
        return FERRY_ERROR_HANDLE;
    counts[allocation - FIRST] += count;
    return FERRY_OK;
}

// Addresses are another's business.
void umd_own_address_try_again(struct umd_allocation *allocation)
{
    (void)allocation;
}

// Four pages each.
static int setup(void **state)
{
    (void)state;
    adapter_begin();
    memset(counts, 0, sizeof counts);
    attempts = fails_at = falls_at = last_at = vital_at = 0;
    there_at = UINT32_MAX;
    going = gone = 0;
    room = ROOM;
    device = (struct umd_device){.adapter = &adapter, .vidmm = 9};
    device.handle = umd_handle_make(UMD_DEVICE, &device, &adapter);
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        all[i] = calloc(1, sizeof *all[i]);
        all[i]->device = &device;
        all[i]->vidmm = FIRST + i;
        all[i]->bytes = 4 * PAGE;
        all[i]->handle = umd_handle_make(UMD_ALLOCATION, all[i], &adapter);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        umd_handle_end(all[i]->handle);
        free(all[i]);
    }
    umd_handle_end(device.handle);
    free(device.named.allocations);
    free(device.named.handles);
    return 0;
}

static int list_of(int (*call)(struct ferry_device *device, struct ferry_residency *arguments),
                   struct ferry_residency *arguments, unsigned which)
{
    struct ferry_allocation *named = all[which]->handle;
    *arguments = (struct ferry_residency){.size = sizeof *arguments, .allocations = &named, .count = 1};
    int error = call(device.handle, arguments);
    arguments->allocations = NULL;
    return error;
}

static int ask(unsigned which)
{
    struct ferry_residency arguments;
    return list_of(ferry_make_resident_trim, &arguments, which);
}

static void expect(unsigned a, unsigned b, unsigned c, unsigned d)
{
    const unsigned expected[ALLOCATIONS] = {a, b, c, d};
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        assert_int_equal(counts[i], expected[i]);
        assert_int_equal(all[i]->count, expected[i]);
    }
}

// The one that was used least recently, and no more than have to.
static void just_enough_is_trimmed_from_the_oldest_on(void **state)
{
    (void)state;
    for (unsigned i = A; i <= C; i++)
        assert_int_equal(ask(i), FERRY_PENDING);
    assert_int_equal(ask(A), FERRY_OK); // It is the newest by that.
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(2, 0, 1, 1);
    // Who was named by a call before is as good as any other.
    assert_int_equal(ask(B), FERRY_PENDING);
    assert_int_equal(ask(C), FERRY_PENDING);
    expect(0, 1, 1, 1);
    all[A]->bytes = 12 * PAGE;
    assert_int_equal(ask(A), FERRY_PENDING);
    expect(1, 0, 0, 0);
}

// The budget may be less when the next attempt is made: then more is trimmed, as long as there is any, and only with
// nothing left an attempt is the last.
static void R225_R226_a_budget_that_falls_in_between_is_trimmed_for_again(void **state)
{
    (void)state;
    for (unsigned i = A; i <= C; i++)
        assert_int_equal(ask(i), FERRY_PENDING);
    attempts = 0;
    falls_at = 2;
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(0, 0, 1, 1);
    assert_int_equal(attempts, 3);
    assert_int_equal(last_at, 0);
    all[A]->bytes = 12 * PAGE;
    assert_int_equal(ask(A), FERRY_ERROR_NO_VIDEO_MEMORY);
    expect(0, 0, 0, 0);
    assert_int_equal(attempts, 6);
    assert_int_equal(last_at, 6);
}

static void what_lies_elsewhere_is_not_trimmed(void **state)
{
    (void)state;
    all[A]->in_aperture = true;
    for (unsigned i = A; i <= C; i++)
        assert_int_equal(ask(i), FERRY_PENDING);
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(1, 0, 1, 1);
}

// After a call that fails the list is what it was, in its order; what an earlier call trimmed is none of this one's.
static void what_was_trimmed_in_vain_is_put_back(void **state)
{
    (void)state;
    assert_int_equal(ask(A), FERRY_PENDING);
    assert_int_equal(ask(A), FERRY_OK);
    assert_int_equal(ask(B), FERRY_PENDING);
    assert_int_equal(ask(C), FERRY_PENDING);
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(0, 1, 1, 1);
    assert_int_equal(ask(A), FERRY_PENDING);
    expect(1, 0, 1, 1);
    struct ferry_residency arguments;
    assert_int_equal(list_of(ferry_evict, &arguments, C), FERRY_OK);
    assert_int_equal(arguments.bytes_to_trim, 77);
    assert_int_equal(ask(B), FERRY_PENDING);
    expect(1, 1, 0, 1);
    // The oldest is D, and then A. One has gone for C when the next attempt fails; and both when the third does.
    for (unsigned more = 0; more < 2; more++) {
        all[C]->bytes = (more ? 8 : 4) * PAGE;
        fails_at = attempts + 2;
        assert_int_equal(ask(C), FERRY_ERROR_NO_HOST_MEMORY);
        fails_at = 0;
        expect(1, 1, 0, 1);
    }
    all[C]->bytes = 4 * PAGE;
    assert_int_equal(ask(C), FERRY_PENDING);
    expect(1, 1, 1, 0);
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(0, 1, 1, 1);
}

// What is named in vain is not trimmed, and is older or newer than what was trimmed around it as before.
static void what_was_trimmed_in_vain_has_its_place_again(void **state)
{
    (void)state;
    for (unsigned i = A; i <= C; i++)
        assert_int_equal(ask(i), FERRY_PENDING);
    // B stands between, and A and C go for it.
    all[B]->bytes = 11 * PAGE;
    fails_at = attempts + 2;
    assert_int_equal(ask(B), FERRY_ERROR_NO_HOST_MEMORY);
    expect(1, 1, 1, 0);
    all[B]->bytes = 4 * PAGE;
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(0, 1, 1, 1);
    assert_int_equal(ask(A), FERRY_PENDING);
    expect(1, 0, 1, 1);
    assert_int_equal(ask(B), FERRY_PENDING);
    expect(1, 1, 0, 1);
}

// What is being destroyed meanwhile stays off, and those beside it have their places again.
static void what_goes_while_it_is_trimmed_stays_off(void **state)
{
    (void)state;
    for (unsigned i = A; i <= C; i++)
        assert_int_equal(ask(i), FERRY_PENDING);
    all[D]->bytes = 8 * PAGE;
    going = all[B]->vidmm;
    fails_at = attempts + 2;
    assert_int_equal(ask(D), FERRY_ERROR_NO_HOST_MEMORY);
    expect(1, 0, 1, 0);
    going = 0;
    all[D]->bytes = 9 * PAGE;
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(0, 0, 0, 1);
}

// What goes already is nothing that was trimmed: with nothing else there the attempt is the last.
static void what_goes_already_is_nothing_to_trim(void **state)
{
    (void)state;
    assert_int_equal(ask(A), FERRY_PENDING);
    gone = all[A]->vidmm;
    all[D]->bytes = (ROOM - 3) * PAGE;
    assert_int_equal(ask(D), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(attempts, 3);
    expect(1, 0, 0, 0);
}

// Part of a page takes a whole one.
static void whole_pages_are_trimmed(void **state)
{
    (void)state;
    for (unsigned i = A; i <= C; i++) {
        all[i]->bytes = 4 * PAGE - (i == A ? PAGE / 2 : 0);
        assert_int_equal(ask(i), FERRY_PENDING);
    }
    assert_int_equal(ask(D), FERRY_PENDING);
    expect(0, 1, 1, 1);
}

// Too large for all of it: what was trimmed for that stays off, and is said.
static void what_was_trimmed_for_want_of_room_stays_off(void **state)
{
    (void)state;
    assert_int_equal(ask(A), FERRY_PENDING);
    assert_int_equal(ask(B), FERRY_PENDING);
    all[D]->bytes = (ROOM + 1) * PAGE;
    struct ferry_residency arguments;
    assert_int_equal(list_of(ferry_make_resident_trim, &arguments, D), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.bytes_to_trim, PAGE);
    expect(0, 0, 0, 0);
}

// A list in two batches, of which the second finds no room.
static void batches_of_before_are_undone(void **state)
{
    (void)state;
    enum { COUNT = D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS + 1 };
    struct ferry_allocation **named = malloc(COUNT * sizeof(struct ferry_allocation *));
    for (unsigned i = 0; i < COUNT; i++)
        named[i] = all[i + 1 < COUNT ? A : D]->handle;
    struct ferry_residency arguments = {.size = sizeof arguments, .allocations = named, .count = COUNT};
    room = 7;
    assert_int_equal(ferry_make_resident(device.handle, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.paging_fence_value, 0);
    assert_int_equal(arguments.bytes_to_trim, PAGE);
    expect(0, 0, 0, 0);
    room = 8;
    assert_int_equal(ferry_make_resident(device.handle, &arguments), FERRY_PENDING);
    assert_int_equal(arguments.paging_fence_value, attempts);
    expect(COUNT - 1, 0, 0, 1);
    free(named);
}

// A list in two batches, of which the second finds room once B has gone for it. The first has its room by then, and is
// waited for whatever the second says; when all of it fails, the list is as it was.
static void what_found_room_once_is_not_asked_for_again(void **state)
{
    (void)state;
    enum { COUNT = D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS + 1 };
    struct ferry_allocation **named = malloc(COUNT * sizeof(struct ferry_allocation *));
    for (unsigned i = 0; i < COUNT; i++)
        named[i] = all[i + 1 < COUNT ? A : D]->handle;
    struct ferry_residency arguments = {.size = sizeof arguments, .allocations = named, .count = COUNT};
    assert_int_equal(ask(B), FERRY_PENDING);
    assert_int_equal(ask(C), FERRY_PENDING);
    fails_at = 5;
    assert_int_equal(ferry_make_resident_trim(device.handle, &arguments), FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(arguments.paging_fence_value, 0);
    expect(0, 1, 1, 0);
    fails_at = 0;
    attempts = 2;
    there_at = 5;
    assert_int_equal(ferry_make_resident_trim(device.handle, &arguments), FERRY_PENDING);
    assert_int_equal(attempts, 5);
    assert_int_equal(arguments.paging_fence_value, 3);
    expect(COUNT - 1, 0, 1, 1);
    free(named);
}

// Who asks for what lies in video memory and for what does not trims both, whichever comes first.
static void a_list_of_both_kinds_trims_both(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        struct ferry_allocation *named[] = {all[order ? D : C]->handle, all[order ? C : D]->handle};
        struct ferry_residency arguments = {.size = sizeof arguments, .allocations = named, .count = 2};

        all[A]->in_aperture = all[C]->in_aperture = true;
        all[C]->bytes = all[D]->bytes = 6 * PAGE;
        assert_int_equal(ask(A), FERRY_PENDING);
        assert_int_equal(ask(B), FERRY_PENDING);
        assert_int_equal(ferry_make_resident_trim(device.handle, &arguments), FERRY_PENDING);
        // With room for both in the end nothing is left to trim for.
        assert_int_equal(arguments.bytes_to_trim, 0);
        expect(0, 0, 1, 1);
        assert_int_equal(ferry_evict(device.handle, &arguments), FERRY_OK);
    }
}

// It is the loop's business whether it can trim further, not the caller's; and only what is vital is so at the end.
static void the_loop_says_itself_that_it_cannot_trim_further(void **state)
{
    struct ferry_allocation *named = all[D]->handle;
    struct ferry_residency arguments = {
        .size = sizeof arguments, .allocations = &named, .count = 1, .cant_trim_further = true, .must_succeed = true};

    (void)state;
    for (unsigned i = A; i <= C; i++)
        assert_int_equal(ask(i), FERRY_PENDING);
    attempts = 0;
    assert_int_equal(ferry_make_resident_trim(device.handle, &arguments), FERRY_PENDING);
    expect(0, 1, 1, 1);
    assert_int_equal(attempts, 2);
    assert_int_equal(last_at, 0);
    assert_int_equal(vital_at, 0);
    all[D]->bytes = (ROOM + 1) * PAGE;
    assert_int_equal(ferry_evict(device.handle, &arguments), FERRY_OK);
    attempts = 0;
    assert_int_equal(ferry_make_resident_trim(device.handle, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(vital_at, attempts);
    assert_int_equal(last_at, attempts);
}

// Another call is destroying one of a batch that is to be undone: the others are lowered all the same.
static void a_batch_is_undone_though_one_of_it_is_going(void **state)
{
    enum { COUNT = D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS + 1 };
    struct ferry_allocation **named = malloc(COUNT * sizeof(struct ferry_allocation *));
    for (unsigned i = 0; i < COUNT; i++)
        named[i] = all[i + 1 == COUNT ? D : i % 2 ? A : B]->handle;
    struct ferry_residency arguments = {.size = sizeof arguments, .allocations = named, .count = COUNT};

    (void)state;
    room = 8;
    gone = all[B]->vidmm;
    assert_int_equal(ferry_make_resident(device.handle, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(counts[A], 0);
    for (unsigned i = A; i <= D; i++)
        assert_int_equal(all[i]->count, 0);
    gone = 0;
    free(named);
}

static void lists_that_cannot_be_are_refused(void **state)
{
    struct ferry_allocation *named = all[A]->handle;
    struct ferry_residency arguments = {
        .size = sizeof arguments, .allocations = &named, .count = (size_t)UINT32_MAX + 1};
    int (*const calls[])(struct ferry_device *, struct ferry_residency *) = {ferry_make_resident,
                                                                             ferry_make_resident_trim, ferry_evict};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(calls[i](device.handle, &arguments), FERRY_ERROR_ARGUMENT);
        assert_int_equal(calls[i](device.handle, NULL), FERRY_ERROR_ARGUMENT);
        struct ferry_residency bad = {.size = sizeof bad, .count = 1};
        assert_int_equal(calls[i](device.handle, &bad), FERRY_ERROR_ARGUMENT);
        bad.count = 0; // Of none at all none need be named.
        assert_int_equal(calls[i](device.handle, &bad), FERRY_OK);
        bad.size--;
        assert_int_equal(calls[i](device.handle, &bad), FERRY_ERROR_ARGUMENT);
    }
    struct ferry_residency vital = {.size = sizeof vital, .must_succeed = true};
    attempts = 0;
    assert_int_equal(ferry_make_resident(device.handle, &vital), FERRY_ERROR_ARGUMENT);
    assert_int_equal(attempts, 0);
    expect(0, 0, 0, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(just_enough_is_trimmed_from_the_oldest_on),
        CASE(R225_R226_a_budget_that_falls_in_between_is_trimmed_for_again),
        CASE(what_lies_elsewhere_is_not_trimmed),
        CASE(what_was_trimmed_in_vain_is_put_back),
        CASE(what_was_trimmed_in_vain_has_its_place_again),
        CASE(what_goes_while_it_is_trimmed_stays_off),
        CASE(what_goes_already_is_nothing_to_trim),
        CASE(whole_pages_are_trimmed),
        CASE(what_was_trimmed_for_want_of_room_stays_off),
        CASE(batches_of_before_are_undone),
        CASE(what_found_room_once_is_not_asked_for_again),
        CASE(a_list_of_both_kinds_trims_both),
        CASE(the_loop_says_itself_that_it_cannot_trim_further),
        CASE(a_batch_is_undone_though_one_of_it_is_going),
        CASE(lists_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("umd_residency", tests, NULL, NULL);
}
