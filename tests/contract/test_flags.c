// SPDX-License-Identifier: Apache-2.0
// The 25 rules on allocation flags, against an oracle that is written differently: a matrix of what a bit needs and
// what it excludes, taken from the flag documents, bit by bit. Every single bit, every pair of bits, with and without
// the bits that the pair needs, for every driver version and for primaries.
#include "world.h"

#include "ddi/flag_rules.h"

#define EXISTING_ADDRESS 0x100000u

static const UINT versions[] = {DXGKDDI_WDDMv2, DXGKDDI_WDDMv2_1, DXGKDDI_WDDMv2_9, DXGKDDI_WDDMv3_0, DXGKDDI_WDDMv3_2};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static struct ferry_flag_context generous(UINT version)
{
    return (struct ferry_flag_context){.version = version,
                                       .map_aperture2_supported = true,
                                       .vpr_segment = true,
                                       .existing = EXISTING_ADDRESS,
                                       .existing_bytes = 8192,
                                       .bytes = 8192};
}

// bit -> bits it cannot do without; bit -> bits it cannot live with (each pair stands once; the relation is symmetric).
static UINT needs(unsigned bit)
{
    switch (bit) {
    case 1: return 1u << 0;   // PermanentSysMem: "the driver must also set the CpuVisible member"
    case 2: return 1u << 0;   // Cached: the same
    case 14: return 1u << 0;  // HistoryBuffer: the same
    case 16: return 1u << 15; // ExplicitResidencyNotification: "only when the AccessedPhysically flag is set"
    default: return 0;
    }
}

static bool exclude(unsigned a, unsigned b)
{
    static const unsigned char pairs[][2] = {{3, 1}, {3, 4}, {3, 5}, {4, 1}, {4, 5}, {5, 1}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if ((pairs[i][0] == a && pairs[i][1] == b) || (pairs[i][0] == b && pairs[i][1] == a))
            return true;
    // A history buffer stands alone beside CpuVisible and Cached.
    if (a == 14)
        return b != 0 && b != 2 && b != 14;
    if (b == 14)
        return a != 0 && a != 2;
    return false;
}

static bool bit_legal(unsigned bit, UINT version, bool primary)
{
    if (bit == 11 || bit == 12 || bit >= 19)
        return false;
    if (bit == 10)
        return version >= DXGKDDI_WDDMv2_1;
    if (bit == 13)
        return version >= DXGKDDI_WDDMv2_9;
    return !(primary && bit >= 1 && bit <= 5);
}

static bool oracle(UINT flags, UINT version, bool primary)
{
    for (unsigned a = 0; a < 32; a++) {
        if ((flags >> a & 1) == 0)
            continue;
        if (!bit_legal(a, version, primary) || (flags & needs(a)) != needs(a))
            return false;
        for (unsigned b = a + 1; b < 32; b++)
            if ((flags >> b & 1) != 0 && exclude(a, b))
                return false;
    }
    return true;
}

static void check(UINT flags, UINT version, bool primary)
{
    struct ferry_flag_context context = generous(version);
    context.primary = primary;
    unsigned rule = ferry_flags_rejected(flags, 0, &context);
    if ((rule == 0) != oracle(flags, version, primary))
        fail_msg("flags %08x, version %04x, primary %d: rule %u", flags, version, primary, rule);
}

static void R104_R117_R126_R129_R137_R142_R168_R170_R175_R180_every_pair_of_bits(void **state)
{
    (void)state;
    unsigned legal = 0, illegal = 0;
    for (size_t v = 0; v < VERSIONS; v++)
        for (unsigned primary = 0; primary < 2; primary++)
            for (unsigned a = 0; a < 32; a++)
                for (unsigned b = 0; b < 32; b++)
                    for (unsigned helped = 0; helped < 2; helped++) {
                        UINT flags = 1u << a | 1u << b;
                        if (helped)
                            flags |= needs(a) | needs(b);
                        check(flags, versions[v], primary);
                        *(oracle(flags, versions[v], primary) ? &legal : &illegal) += 1;
                    }
    assert_true(legal > 1000 && illegal > 1000);
    print_message("%u legal and %u illegal combinations\n", legal, illegal);
}

static void R118_R127_R130_R138_R143_a_primary_has_none_of_five_bits(void **state)
{
    (void)state;
    struct ferry_flag_context context = generous(DXGKDDI_WDDMv3_2);
    context.primary = true;
    for (unsigned bit = 1; bit <= 5; bit++)
        assert_int_not_equal(ferry_flags_rejected(1u << bit | 1u, 0, &context), 0);
    assert_int_equal(ferry_flags_rejected(1u, 0, &context), 0);
}

static void R160_R161_R162_R166_R180_reserved_bits_by_version(void **state)
{
    (void)state;
    assert_int_equal(ferry_flags_reserved(DXGKDDI_WDDMv2), 0xFFF83C00u);
    assert_int_equal(ferry_flags_reserved(DXGKDDI_WDDMv2_1), 0xFFF83800u);
    assert_int_equal(ferry_flags_reserved(DXGKDDI_WDDMv2_9), 0xFFF81800u);
    assert_int_equal(ferry_flags_reserved(DXGKDDI_WDDMv3_2), 0xFFF81800u);
    for (size_t v = 0; v < VERSIONS; v++)
        for (unsigned bit = 0; bit < 32; bit++) {
            struct ferry_flag_context context = generous(versions[v]);
            bool reserved = (ferry_flags_reserved(versions[v]) >> bit & 1) != 0;
            if (reserved)
                assert_int_equal(ferry_flags_rejected(1u << bit, 0, &context), 11);
        }
}

static void R168_R169_R170_history_buffer(void **state)
{
    (void)state;
    struct ferry_flag_context context = generous(DXGKDDI_WDDMv3_2);
    assert_int_equal(ferry_flags_rejected(0x4001, 0, &context), 0);
    assert_int_equal(ferry_flags_rejected(0x4005, 0, &context), 0);
    assert_int_equal(ferry_flags_rejected(0x4000, 0, &context), 7);
    assert_int_equal(ferry_flags_rejected(0x4041, 0, &context), 7);
    context.coherent_aperture = true;
    assert_int_equal(ferry_flags_rejected(0x4001, 0, &context), 7);
    assert_int_equal(ferry_flags_rejected(0x4005, 0, &context), 0);
}

static void R132_R133_R139_existing_memory_must_be_whole_aligned_pages(void **state)
{
    (void)state;
    static const UINT flags[] = {0x10, 0x20};
    static const unsigned rules[] = {13, 14};
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_flag_context context = generous(DXGKDDI_WDDMv3_2);
        assert_int_equal(ferry_flags_rejected(flags[i], 0, &context), 0);
        context.existing = 0;
        assert_int_equal(ferry_flags_rejected(flags[i], 0, &context), rules[i]);
        context.existing = EXISTING_ADDRESS + 64;
        assert_int_equal(ferry_flags_rejected(flags[i], 0, &context), rules[i]);
        context = generous(DXGKDDI_WDDMv3_2);
        context.existing_bytes = 8191;
        assert_int_equal(ferry_flags_rejected(flags[i], 0, &context), rules[i]);
        context.existing_bytes = 4096; // smaller than the allocation
        assert_int_equal(ferry_flags_rejected(flags[i], 0, &context), rules[i]);
        context.existing_bytes = UINTPTR_MAX & ~(uintptr_t)4095; // runs over the end of the address space
        assert_int_equal(ferry_flags_rejected(flags[i], 0, &context), rules[i]);
    }
}

static void R159_R164_R165_gated_bits_need_their_capability(void **state)
{
    (void)state;
    struct ferry_flag_context context = generous(DXGKDDI_WDDMv3_2);
    assert_int_equal(ferry_flags_rejected(0x400, 0, &context), 0);
    context.vpr_segment = false;
    assert_int_equal(ferry_flags_rejected(0x400, 0, &context), 16);
    assert_int_equal(ferry_flags_rejected(0x2000 | 0x8000, 0, &context), 0);
    context.map_aperture2_supported = false;
    assert_int_equal(ferry_flags_rejected(0x2000 | 0x8000, 0, &context), 9);
}

static void R183_R184_second_word(void **state)
{
    (void)state;
    struct ferry_flag_context context = generous(DXGKDDI_WDDMv3_2);
    for (unsigned bit = 1; bit < 32; bit++) {
        context.version = DXGKDDI_WDDMv3_2;
        assert_int_equal(ferry_flags_rejected(0, 1u << bit, &context), bit <= 5 ? 0 : 21);
        context.version = DXGKDDI_WDDMv3_0;
        assert_int_equal(ferry_flags_rejected(0, 1u << bit, &context), 21);
    }
    context.version = DXGKDDI_WDDMv3_0;
    assert_int_equal(ferry_flags_rejected(0, 1, &context), 20);
    context.shared = context.aperture_only = true;
    assert_int_equal(ferry_flags_rejected(0, 1, &context), 0);
    context.version = DXGKDDI_WDDMv2_9;
    assert_int_equal(ferry_flags_rejected(0, 1, &context), 21);
    assert_false(ferry_flags_notify_eviction_effective(0x10, &context));
    context.leaves_system_or_aperture = true;
    assert_true(ferry_flags_notify_eviction_effective(0x10, &context));
    assert_false(ferry_flags_notify_iommu_effective(0x20, &context));
    context.gpu_va_iommu = true;
    assert_true(ferry_flags_notify_iommu_effective(0x20, &context));
    assert_true(ferry_flags_notify_legal(1) && ferry_flags_notify_legal(2) && !ferry_flags_notify_legal(3));
}

static void R123_R125_R134_R135_R140_R148_warnings(void **state)
{
    (void)state;
    struct ferry_flag_context context = generous(DXGKDDI_WDDMv3_2);
    assert_int_equal(ferry_flags_warnings(0x5, 0, &context), 0);
    context.write_only_use = true;
    assert_int_equal(ferry_flags_warnings(0x5, 0, &context), 1u << 12);
    context = generous(DXGKDDI_WDDMv3_2);
    context.existing_is_cacheable = true;
    assert_int_equal(ferry_flags_warnings(0x11, 0, &context), 1u << 15);
    assert_int_equal(ferry_flags_warnings(0x15, 0, &context), 0);
    assert_int_equal(ferry_flags_warnings(0x2000, 0, &context), 1u << 10);
    assert_int_equal(ferry_flags_warnings(0x80, 0, &context), 0);
    context.version = DXGKDDI_WDDMv2;
    assert_int_equal(ferry_flags_warnings(0x80, 0, &context), 1u << 25);
    assert_int_equal(ferry_flags_warnings(0, 0x30, &context), 1u << 22 | 1u << 23);
}

static void R152_R153_R155_the_last_fifth_and_the_other_four(void **state)
{
    (void)state;
    assert_int_equal(ferry_flags_pinned_lowest(100), 80);
    assert_true(ferry_flags_evictable_beside_overlay(80, 100));
    assert_false(ferry_flags_evictable_beside_overlay(81, 100));
    assert_true(ferry_flags_pinned(0x100) && ferry_flags_pinned(0x200) && !ferry_flags_pinned(0x8FF));
}

// Asked for by the miniport's answer. What is refused is gone in the miniport too.
static void refused(struct world *world, UINT flags, UINT flags2, int result, unsigned broken, const char *name)
{
    struct ferry_allocation_private wanted = world_private(PAGES(2), flags);
    D3DKMT_HANDLE handle = 0;
    unsigned rule = 0;
    wanted.Flags2 = flags2;
    world->knobs->flags_as_wished = true;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, &rule), result);
    assert_int_equal(rule, broken);
    assert_int_equal(world_statistics(world).allocations, 0);
    if (name)
        assert_string_equal(ferry_flags_unsupported(flags, flags2), name);
}

// Nobody maps with the operation that would give the miniport an address, so nobody may count on one.
static void R163_a_cpu_address_while_mapping_is_refused_by_name(void **state)
{
    (void)state;
    for (unsigned capable = 0; capable < 2; capable++) {
        struct world_options options = world_defaults();
        options.machine.map_aperture2 = capable;
        struct world *world = world_open(&options);
        UINT flags = CPU | DXGK_ALLOC_FLAG_MAP_APERTURE_CPU_VISIBLE | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY;
        refused(world, flags, 0, capable ? FERRY_ERROR_UNSUPPORTED : FERRY_ERROR_FLAGS, capable ? 0 : 9,
                "MapApertureCpuVisible");
        world->knobs->flags_as_wished = false;
        world_require(world, world_create_in_aperture(world, PAGES(2), CPU));
        assert_int_equal(spy_builds(DXGK_OPERATION_MAP_APERTURE_SEGMENT2), 0);
        assert_true(spy_builds(DXGK_OPERATION_MAP_APERTURE_SEGMENT) > 0);
        world_close(world);
    }
}

// NOTIFY_ALLOC is there from WDDM 3.2 on; before, its flags are reserved bits. Who asks for it is refused by name, and
// nobody is sent one who has not asked.
// The device has a protected range and the segment says so; the manager does not place anything in one yet.
static void R159_a_place_in_the_protected_range_is_refused_by_name(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.machine.vpr = true;
    struct world *world = world_open(&options);
    assert_int_equal(world_try_flags(world, CPU | DXGK_ALLOC_FLAG_CREATE_IN_VPR, NULL), FERRY_ERROR_UNSUPPORTED);
    assert_string_equal(ferry_flags_unsupported(CPU | DXGK_ALLOC_FLAG_CREATE_IN_VPR, 0), "CreateInVpr");
    assert_int_equal(world_statistics(world).allocations, 0);
    world_close(world);
}

static void R182_notify_alloc_is_refused_by_version_and_by_name(void **state)
{
    (void)state;
    static const UINT before[] = {DXGKDDI_WDDMv2, DXGKDDI_WDDMv2_9, DXGKDDI_WDDMv3_0};
    static const struct {
        UINT flag;
        const char *name;
    } both[] = {{DXGK_ALLOC_FLAG2_NOTIFY_EVICTION, "NotifyEviction"},
                {DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP, "NotifyIoMmuUnmap"}};
    for (unsigned i = 0; i < 4; i++) {
        struct world_options options = world_defaults();
        options.machine.version = i < 3 ? before[i] : DXGKDDI_WDDMv3_2;
        struct world *world = world_open(&options);
        for (unsigned k = 0; k < 2; k++)
            refused(world, CPU, both[k].flag, i < 3 ? FERRY_ERROR_FLAGS : FERRY_ERROR_UNSUPPORTED, i < 3 ? 21 : 0,
                    both[k].name);
        world->knobs->flags_as_wished = false;
        D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
        world_write(world, a, 1);
        world_require(world, a);
        world_force_out(world, a);
        assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_ALLOC), 0);
        world_check(world, a, 1);
        world_close(world);
    }
}

static void the_table_is_complete_and_in_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FERRY_FLAG_RULES; i++) {
        assert_int_equal(ferry_flag_rules[i].number, i + 1);
        assert_non_null(ferry_flag_rules[i].text);
        assert_int_equal(ferry_flag_rules[i].broken == NULL, ferry_flag_rules[i].verdict == FERRY_FLAG_ELSEWHERE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R104_R117_R126_R129_R137_R142_R168_R170_R175_R180_every_pair_of_bits),
        cmocka_unit_test(R118_R127_R130_R138_R143_a_primary_has_none_of_five_bits),
        cmocka_unit_test(R160_R161_R162_R166_R180_reserved_bits_by_version),
        cmocka_unit_test(R168_R169_R170_history_buffer),
        cmocka_unit_test(R132_R133_R139_existing_memory_must_be_whole_aligned_pages),
        cmocka_unit_test(R159_R164_R165_gated_bits_need_their_capability),
        cmocka_unit_test(R183_R184_second_word),
        cmocka_unit_test(R123_R125_R134_R135_R140_R148_warnings),
        cmocka_unit_test(R152_R153_R155_the_last_fifth_and_the_other_four),
        cmocka_unit_test(R163_a_cpu_address_while_mapping_is_refused_by_name),
        cmocka_unit_test(R159_a_place_in_the_protected_range_is_refused_by_name),
        cmocka_unit_test(R182_notify_alloc_is_refused_by_version_and_by_name),
        cmocka_unit_test(the_table_is_complete_and_in_order),
    };
    return WORLD_RUN(tests);
}
