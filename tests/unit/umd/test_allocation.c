// SPDX-License-Identifier: Apache-2.0
// Allocations, with the test in the manager's place: what of a wish the miniport is told, what is refused before, what
// becomes of one whose making or end fails, and who is let in meanwhile.
#include "adapter_alone.h"
#include "ddi/allocation_private.h"
#include "umd/allocation.h"
#include "umd/events.h"
#include "umd/own_address.h"
#include "umd/residency.h"

static struct umd_device device;
static struct ferry_allocation_private wish; // As the miniport would have it,
static struct ferry_vidmm_allocation_options made_of;
static int outcome, address_outcome; // Of the manager's calls; of giving it an address.
static unsigned made, destroyed, unlisted;
static bool held; // The adapter's lock, while the manager was at it.
static uint32_t lock_flags;
static uint64_t own_address;
static uint32_t content;
static uint64_t view_offset;
static size_t view_bytes;

static void look_whether_held(void)
{
    held = pthread_mutex_trylock(&adapter.lock) != 0;
    if (!held)
        pthread_mutex_unlock(&adapter.lock);
}

int ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle,
                                  const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *allocation,
                                  unsigned *broken_rule)
{
    (void)manager;
    (void)broken_rule;
    assert_int_equal(handle, 9);
    assert_int_equal(options->private_data_bytes, sizeof wish);
    memcpy(&wish, options->private_data, sizeof wish);
    made_of = *options;
    *allocation = 5;
    made += outcome == FERRY_OK;
    return outcome;
}

int ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation)
{
    (void)manager;
    assert_int_equal(allocation, 5);
    destroyed++;
    look_whether_held();
    return outcome;
}

int ferry_vidmm_placement(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation,
                          struct ferry_vidmm_placement *placement)
{
    (void)manager;
    assert_int_equal(allocation, 5);
    *placement = (struct ferry_vidmm_placement){
        .segment = FERRY_KMD_SEGMENT_APERTURE, .offset = 21, .dirty = true, .residency_count = 22, .instances = 23};
    return outcome;
}

int ferry_vidmm_lock_from(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_HANDLE allocation, uint32_t flags,
                          void **address)
{
    (void)manager;
    assert_int_equal(handle, 9);
    assert_int_equal(allocation, 5);
    look_whether_held();
    lock_flags = flags;
    if (outcome == FERRY_OK)
        *address = &content;
    return outcome;
}

int ferry_vidmm_unlock(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation)
{
    (void)manager;
    assert_int_equal(allocation, 5);
    return FERRY_ERROR_NOT_LOCKED;
}

int ferry_vidmm_own_address(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint64_t *address)
{
    (void)manager;
    assert_int_equal(allocation, 5);
    *address = own_address;
    return FERRY_OK;
}

int ferry_vidmm_lock_linear(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_HANDLE allocation, uint32_t flags,
                            uint32_t level)
{
    (void)manager;
    assert_int_equal(handle, 9);
    assert_int_equal(allocation, 5);
    assert_int_equal(level, 1);
    look_whether_held();
    lock_flags = flags;
    return outcome;
}

int ferry_vidmm_linear_read(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_HANDLE allocation,
                            uint64_t offset, void *data, size_t bytes)
{
    (void)manager;
    (void)data;
    assert_int_equal(handle, 9);
    assert_int_equal(allocation, 5);
    look_whether_held();
    view_offset = offset;
    view_bytes = bytes;
    return outcome;
}

int ferry_vidmm_linear_write(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, D3DKMT_HANDLE allocation,
                             uint64_t offset, const void *data, size_t bytes)
{
    (void)data;
    return ferry_vidmm_linear_read(manager, handle, allocation, offset, NULL, bytes);
}

int umd_own_address_give(struct umd_allocation *allocation)
{
    assert_ptr_equal(allocation->device, &device);
    allocation->address = 0x1000;
    return address_outcome;
}

void umd_unlist(struct umd_allocation *allocation)
{
    assert_int_equal(allocation->vidmm, 5);
    unlisted++;
}

uint32_t umd_segment_number(uint32_t segment)
{
    return segment + 40;
}

const char *ferry_flags_unsupported(UINT flags, UINT flags2)
{
    return flags == 1 && flags2 == 2 ? "both" : NULL;
}

// ---- Cases ------------------------------------------------------------------------------------------------------

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    device = (struct umd_device){.adapter = &adapter, .vidmm = 9};
    device.handle = umd_handle_make(UMD_DEVICE, &device, &adapter);
    outcome = address_outcome = FERRY_OK;
    made = destroyed = unlisted = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    outcome = FERRY_OK;
    while (device.allocations)
        umd_allocation_end(device.allocations);
    umd_handle_end(device.handle);
    return 0;
}

static struct ferry_allocation_options usual(void)
{
    return (struct ferry_allocation_options){.size = sizeof(struct ferry_allocation_options), .bytes = 5000};
}

static struct ferry_allocation *make(const struct ferry_allocation_options *options)
{
    struct ferry_allocation *a;

    assert_int_equal(ferry_allocation_create(device.handle, options, &a), FERRY_OK);
    return a;
}

// Two levels: 64 by 64 texels of 4 bytes in tiles of 4 KiB, and 32 by 32.
static struct ferry_tiling tiles(void)
{
    return (struct ferry_tiling){.size = sizeof(struct ferry_tiling),
                                 .tile_bytes = 4096,
                                 .element_bytes = 4,
                                 .width = 64,
                                 .height = 64,
                                 .levels = 2};
}

static void a_wish_comes_to_the_miniport(void **state)
{
    struct ferry_allocation_options options = usual();

    (void)state;
    options.flags = FERRY_FLAG_CPU_VISIBLE;
    options.flags2 = 1;
    options.alignment = 65536;
    options.fill_pattern = 0x12345678;
    options.primary = true;
    options.renaming_limit = 3;
    make(&options);
    assert_int_equal(wish.Version, FERRY_ALLOCATION_PRIVATE_VERSION);
    assert_int_equal(wish.Bytes, 5000);
    assert_int_equal(wish.Flags, FERRY_FLAG_CPU_VISIBLE);
    assert_int_equal(wish.Flags2, 1);
    assert_int_equal(wish.Alignment, 65536);
    assert_int_equal(wish.RenamingLimit, 3);
    assert_int_equal(wish.Aperture + wish.Compressed + wish.Tiling.Levels, 0);
    assert_int_equal(made_of.fill_pattern, 0x12345678);
    assert_true(made_of.primary);
    assert_null(made_of.existing);
    assert_int_equal(made_of.existing_bytes, 0);
    options = usual();
    options.existing = &content;
    make(&options);
    assert_int_equal(wish.Flags, DXGK_ALLOC_FLAG_EXISTING_SYSMEM);
    assert_ptr_equal(made_of.existing, &content);
    assert_int_equal(made_of.existing_bytes, 5000);
    assert_false(made_of.primary);
    // Who leaves the aperture is told: of what has runs, and of what the root complex maps while it is there.
    for (unsigned way = 0; way < 8; way++) {
        options = usual();
        options.compressed = way & 1;
        options.in_aperture = way >> 1 & 1;
        adapter.iommu = way >> 2;
        make(&options);
        assert_int_equal(wish.Compressed, way & 1);
        assert_int_equal(wish.Aperture, way >> 1 & 1);
        assert_int_equal(wish.Flags2, (way & 1 ? DXGK_ALLOC_FLAG2_NOTIFY_EVICTION : 0) |
                                          (way >= 6 ? DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP : 0));
    }
    struct ferry_tiling tiling = tiles();
    options = usual();
    options.tiling = &tiling;
    options.bytes = ferry_tiling_bytes(&tiling);
    assert_int_equal(options.bytes, 5 * 4096);
    make(&options);
    assert_int_equal(wish.Tiling.TileBytes, 4096);
    assert_int_equal(wish.Tiling.ElementBytes, 4);
    assert_int_equal(wish.Tiling.Width + 100 * wish.Tiling.Height, 6464);
    assert_int_equal(wish.Tiling.Levels, 2);
    assert_string_equal(ferry_flag_unsupported(1, 2), "both");
}

static void what_can_never_be_is_refused_at_once(void **state)
{
    struct ferry_tiling tiling = tiles();
    struct ferry_allocation_options bad[6];
    struct ferry_allocation *a = (struct ferry_allocation *)&made;

    (void)state;
    for (unsigned i = 0; i < 6; i++)
        bad[i] = usual();
    bad[0].size++;
    bad[1].bytes = 0;
    bad[2].bytes = FERRY_VIDMM_MAX_ALLOCATION_BYTES + 1;
    bad[3].alignment = 3 << 12;
    bad[4].tiling = &tiling;
    bad[4].bytes = ferry_tiling_bytes(&tiling) + 1;
    bad[5].tiling = &(struct ferry_tiling){.size = sizeof tiling};
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ferry_allocation_create(device.handle, &bad[i], &a), FERRY_ERROR_ARGUMENT);
    assert_int_equal(made, 0);
    bad[2].bytes--;
    make(&bad[2]);
    assert_int_equal(wish.Bytes, UINT64_C(1) << 40);
}

static void what_could_not_be_made_is_nowhere(void **state)
{
    struct ferry_allocation_options options = usual();
    struct ferry_allocation *a = (struct ferry_allocation *)&made;

    (void)state;
    outcome = FERRY_ERROR_FLAGS;
    assert_int_equal(ferry_allocation_create(device.handle, &options, &a), FERRY_ERROR_FLAGS);
    assert_null(a);
    assert_int_equal(destroyed, 0);
    outcome = FERRY_OK;
    address_outcome = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(ferry_allocation_create(device.handle, &options, &a), FERRY_ERROR_NO_HOST_MEMORY);
    assert_int_equal(destroyed, 1);
    assert_null(a);
    assert_null(device.allocations);
    a = (struct ferry_allocation *)&made;
    assert_int_equal(ferry_allocation_create((struct ferry_device *)a, &options, &a), FERRY_ERROR_HANDLE);
    assert_null(a);
}

// Who destroys one waits for the GPU, and lets others in. It is gone only when the manager says so.
static void what_cannot_end_is_there_as_before(void **state)
{
    static const int errors[] = {FERRY_ERROR_TIMEOUT, FERRY_ERROR_LOCKED, FERRY_ERROR_CRITICAL};
    struct ferry_allocation_options options = usual();
    struct ferry_allocation *a = make(&options);

    (void)state;
    device.allocations->count = 4;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ferry_allocation_id(a), 5);
        outcome = errors[i];
        assert_int_equal(ferry_allocation_destroy(a), errors[i]);
        assert_false(held);
        assert_int_equal(unlisted, i == 2);
    }
    assert_null(device.allocations);
    assert_int_equal(ferry_allocation_id(a), 0);
    assert_int_equal(ferry_allocation_destroy(a), FERRY_ERROR_HANDLE);
}

static void each_figure_of_its_place_is_its_own(void **state)
{
    struct ferry_allocation_options options = usual();
    struct ferry_placement place = {.size = sizeof place};
    struct ferry_allocation *a = make(&options);

    (void)state;
    assert_int_equal(ferry_allocation_placement(a, &place), FERRY_OK);
    assert_true(place.resident);
    assert_int_equal(place.segment, FERRY_KMD_SEGMENT_APERTURE + 40);
    assert_int_equal(place.offset, 21);
    assert_true(place.dirty);
    assert_int_equal(place.residency_count, 22);
    assert_int_equal(place.instances, 23);
    place.size--;
    assert_int_equal(ferry_allocation_placement(a, &place), FERRY_ERROR_ARGUMENT);
}

static void who_waits_for_a_lock_lets_others_in(void **state)
{
    struct ferry_allocation_options options = usual();
    struct ferry_allocation *a = make(&options);
    void *address = &options;

    (void)state;
    outcome = FERRY_ERROR_BUSY;
    assert_int_equal(ferry_lock(a, FERRY_LOCK_DO_NOT_WAIT, &address), FERRY_ERROR_BUSY);
    assert_false(held);
    assert_null(address);
    assert_int_equal(lock_flags, FERRY_LOCK_DO_NOT_WAIT);
    // Another instance has another address; a lock that keeps the content has not, nor one that fails.
    own_address = 0x2000;
    assert_int_equal(ferry_lock(a, FERRY_LOCK_DISCARD, &address), FERRY_ERROR_BUSY);
    assert_int_equal(device.allocations->address, 0x1000);
    outcome = FERRY_OK;
    assert_int_equal(ferry_lock(a, FERRY_LOCK_WRITE_ONLY, &address), FERRY_OK);
    assert_ptr_equal(address, &content);
    assert_int_equal(device.allocations->address, 0x1000);
    assert_int_equal(ferry_lock(a, FERRY_LOCK_WRITE_ONLY | FERRY_LOCK_DISCARD, &address), FERRY_OK);
    assert_int_equal(device.allocations->address, 0x2000);
    assert_int_equal(ferry_unlock(a), FERRY_ERROR_NOT_LOCKED);
    lock_flags = 0;
    assert_int_equal(ferry_lock(a, FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_lock(a, FERRY_LOCK_DO_NOT_EVICT, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(lock_flags, 0);
}

// A view is of one level, from its first byte to its last.
static void a_view_ends_where_its_level_does(void **state)
{
    struct ferry_tiling tiling = tiles();
    struct ferry_allocation_options options = usual();
    uint8_t bytes[8];

    (void)state;
    options.tiling = &tiling;
    options.bytes = ferry_tiling_bytes(&tiling);
    struct ferry_allocation *a = make(&options);
    assert_int_equal(ferry_view_lock(a, 2, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_view_lock(a, 1, FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_view_lock(a, 1, FERRY_LOCK_DISCARD), FERRY_ERROR_ARGUMENT);
    // Of what was never locked the manager says so.
    outcome = FERRY_ERROR_NOT_LOCKED;
    assert_int_equal(ferry_view_read(a, 0, bytes, 1), FERRY_ERROR_NOT_LOCKED);
    outcome = FERRY_OK;
    assert_int_equal(ferry_view_lock(a, 1, FERRY_LOCK_DO_NOT_EVICT), FERRY_OK);
    assert_false(held);
    assert_int_equal(lock_flags, FERRY_LOCK_DO_NOT_EVICT);
    const uint64_t first = 4 * 4096, end = 5 * 4096; // Four tiles are level 0's.
    assert_int_equal(ferry_view_read(a, first, bytes, 8), FERRY_OK);
    assert_int_equal(view_offset, first);
    assert_int_equal(view_bytes, 8);
    assert_int_equal(ferry_view_write(a, end - 8, bytes, 8), FERRY_OK);
    assert_int_equal(view_offset, end - 8);
    assert_false(held);
    assert_int_equal(ferry_view_write(a, end, bytes, 0), FERRY_OK);
    assert_int_equal(ferry_view_read(a, first - 1, bytes, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_view_write(a, end - 7, bytes, 8), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_view_read(a, end + 1, bytes, 0), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_view_read(a, first, bytes, SIZE_MAX), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_view_read(a, UINT64_MAX, bytes, 2), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_view_read(a, first, NULL, 8), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_view_write(a, first, NULL, 8), FERRY_ERROR_ARGUMENT);
    options = usual();
    a = make(&options);
    assert_int_equal(ferry_view_lock(a, 0, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_view_read(a, 0, bytes, 1), FERRY_ERROR_NOT_LOCKED);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_wish_comes_to_the_miniport),        CASE(what_can_never_be_is_refused_at_once),
        CASE(what_could_not_be_made_is_nowhere),   CASE(what_cannot_end_is_there_as_before),
        CASE(each_figure_of_its_place_is_its_own), CASE(who_waits_for_a_lock_lets_others_in),
        CASE(a_view_ends_where_its_level_does),
    };

    return cmocka_run_group_tests_name("umd_allocation", tests, NULL, NULL);
}
