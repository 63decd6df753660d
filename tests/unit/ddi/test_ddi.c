// SPDX-License-Identifier: Apache-2.0
// What static asserts cannot see: the position of each named bit, and the names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ddi/miniport.h"
#include "ferry/ferry.h"
#include "ferry_contract.h"

#define BIT(type, member, mask)                                                                                        \
    do {                                                                                                               \
        type word = {.Value = 0};                                                                                      \
        word.member = 1;                                                                                               \
        assert_int_equal(word.Value, mask);                                                                            \
    } while (0)
#define FIELD(type, member, mask)                                                                                      \
    do {                                                                                                               \
        type word = {.Value = 0xFFFFFFFFu};                                                                            \
        word.member = 0;                                                                                               \
        assert_int_equal(word.Value, 0xFFFFFFFFu & ~(mask));                                                           \
    } while (0)

static void R104_allocation_flags_stand_where_the_masks_say(void **state)
{
    (void)state;
#define ALLOC(member, mask) BIT(DXGK_ALLOCATIONINFOFLAGS_WDDM2_0, member, mask)
    ALLOC(CpuVisible, 0x1u);
    ALLOC(PermanentSysMem, 0x2u);
    ALLOC(Cached, 0x4u);
    ALLOC(Protected, 0x8u);
    ALLOC(ExistingSysMem, 0x10u);
    ALLOC(ExistingKernelSysMem, 0x20u);
    ALLOC(FromEndOfSegment, 0x40u);
    ALLOC(DisableLargePageMapping, 0x80u);
    ALLOC(Overlay, 0x100u);
    ALLOC(Capture, 0x200u);
    ALLOC(CreateInVpr, 0x400u);
    ALLOC(DXGK_ALLOC_RESERVED17, 0x800u);
    ALLOC(Reserved02, 0x1000u);
    ALLOC(MapApertureCpuVisible, 0x2000u);
    ALLOC(HistoryBuffer, 0x4000u);
    ALLOC(AccessedPhysically, 0x8000u);
    ALLOC(ExplicitResidencyNotification, 0x10000u);
    ALLOC(HardwareProtected, 0x20000u);
    ALLOC(CpuVisibleOnDemand, 0x40000u);
    ALLOC(DXGK_ALLOC_RESERVED16, 0x80000u);
    ALLOC(DXGK_ALLOC_RESERVED9, 0x4000000u);
    ALLOC(DXGK_ALLOC_RESERVED4, 0x8000000u);
    ALLOC(DXGK_ALLOC_RESERVED0, 0x80000000u);
    BIT(DXGK_ALLOCATIONINFOFLAGS2, ShareBackingStoreWithKmd, 0x1u);
    BIT(DXGK_ALLOCATIONINFOFLAGS2, NoImplicitSynchronization, 0x2u);
    BIT(DXGK_ALLOCATIONINFOFLAGS2, DisablePartialResidency, 0x4u);
    BIT(DXGK_ALLOCATIONINFOFLAGS2, RestrictedToSingleSegment, 0x8u);
    BIT(DXGK_ALLOCATIONINFOFLAGS2, NotifyEviction, 0x10u);
    BIT(DXGK_ALLOCATIONINFOFLAGS2, NotifyIoMmuUnmap, 0x20u);
}

static void operation_flags_stand_where_the_masks_say(void **state)
{
    (void)state;
    BIT(DXGK_TRANSFERFLAGS, Swizzle, DXGK_TRANSFER_SWIZZLE);
    BIT(DXGK_TRANSFERFLAGS, Unswizzle, DXGK_TRANSFER_UNSWIZZLE);
    BIT(DXGK_TRANSFERFLAGS, AllocationIsIdle, DXGK_TRANSFER_ALLOCATION_IS_IDLE);
    BIT(DXGK_TRANSFERFLAGS, TransferStart, DXGK_TRANSFER_START);
    BIT(DXGK_TRANSFERFLAGS, TransferEnd, DXGK_TRANSFER_END);
    BIT(DXGK_DISCARDCONTENTFLAGS, AllocationIsIdle, 1u);
    BIT(DXGK_MAPAPERTUREFLAGS, CacheCoherent, 1u);
    BIT(DXGK_TRANSFERVIRTUALFLAGS, Dst64KBPages, 2u);
    BIT(DXGK_UPDATEPAGETABLEFLAGS, NativeFence, 0x10u);
    BIT(DXGK_NOTIFYALLOCFLAGS, Eviction, 1u);
    DXGK_ALLOCATIONUSAGEINFO1 usage = {.Flags.Swizzled = 1};
    assert_int_equal(usage.Flags.Value, 2);
    BIT(DXGK_NOTIFYALLOCFLAGS, IoMmuUnmap, 2u);
    BIT(DXGK_ADL_FLAGS, Contiguous, 1u);
    BIT(D3DDDI_MAKERESIDENT_FLAGS, CantTrimFurther, 1u);
    BIT(D3DDDI_MAKERESIDENT_FLAGS, MustSucceed, 2u);
    BIT(D3DDDI_EVICT_FLAGS, NotWrittenTo, 2u);
    BIT(D3DDDI_TRIMRESIDENCYSET_FLAGS, TrimToBudget, 4u);
    BIT(D3DDDICB_LOCKFLAGS, Discard, D3DDDI_LOCK_DISCARD);
    BIT(D3DDDICB_LOCKFLAGS, LockEntire, D3DDDI_LOCK_LOCK_ENTIRE);
    BIT(D3DDDICB_LOCKFLAGS, DonotEvict, D3DDDI_LOCK_DO_NOT_EVICT);
    BIT(D3DDDICB_LOCKFLAGS, IgnoreSync, D3DDDI_LOCK_IGNORE_SYNC);
    BIT(D3DDDICB_LOCKFLAGS, NoExistingReference, D3DDDI_LOCK_NO_EXISTING_REFERENCE);
    BIT(D3DDDICB_LOCKFLAGS, IgnoreReadSync, D3DDDI_LOCK_IGNORE_READ_SYNC);
    BIT(D3DDDICB_LOCKFLAGS, IgnoreReadSync, 0x400u);
    BIT(DXGK_PATCHFLAGS, Paging, 1u);
    BIT(DXGK_SUBMITCOMMANDFLAGS, Paging, 1u);
    BIT(DXGK_SUBMITCOMMANDFLAGS, Resubmission, 0x80u);
    BIT(DXGK_SUBMITCOMMANDFLAGS, VirtualMachineData, 0x100u);
    BIT(DXGK_CREATECONTEXTFLAGS, SystemContext, 1u);
    BIT(DXGK_CREATEDEVICEFLAGS, SystemDevice, 1u);
}

static void segment_words_stand_where_the_masks_say(void **state)
{
    (void)state;
    BIT(DXGK_SEGMENTFLAGS, Aperture, DXGK_SEGMENT_APERTURE);
    BIT(DXGK_SEGMENTFLAGS, Agp, 2u);
    BIT(DXGK_SEGMENTFLAGS, CpuVisible, DXGK_SEGMENT_CPU_VISIBLE);
    BIT(DXGK_SEGMENTFLAGS, CacheCoherent, DXGK_SEGMENT_CACHE_COHERENT);
    BIT(DXGK_SEGMENTFLAGS, Use64KBPages, 1u << 11);
    BIT(DXGK_SEGMENTFLAGS, SupportsCpuHostAperture, 1u << 13);
    BIT(DXGK_SEGMENTFLAGS, ApplicationTarget, DXGK_SEGMENT_APPLICATION_TARGET);
    BIT(DXGK_SEGMENTFLAGS, VprSupported, DXGK_SEGMENT_VPR_SUPPORTED);
    BIT(DXGK_SEGMENTFLAGS, EncryptedPagingSupported, 1u << 18);
    BIT(DXGK_SEGMENTFLAGS, PopulatedByReservedDDRByFirmware, 1u << 21);
    BIT(DXGK_VIDMMCAPS, VirtualAddressingSupported, 1u << 5);
    BIT(DXGK_VIDMMCAPS, MapAperture2Supported, DXGK_VIDMMCAPS_MAP_APERTURE2_SUPPORTED);
    BIT(DXGK_VIDMMCAPS, AlwaysPoweredVRAM, 1u << 17);
    BIT(DXGK_GPUMMUCAPS, DualPteSupported, 1u << 7);
    BIT(DXGK_GPUMMUCAPS, CachedPageTables, 1u << 12);
    FIELD(D3DDDI_SEGMENTPREFERENCE, SegmentId0, 0x1Fu);
    FIELD(D3DDDI_SEGMENTPREFERENCE, Direction0, 0x20u);
    FIELD(D3DDDI_SEGMENTPREFERENCE, SegmentId4, 0x1Fu << 24);
    FIELD(D3DDDI_SEGMENTPREFERENCE, Direction4, 1u << 29);
    FIELD(DXGK_SEGMENTBANKPREFERENCE, Bank1, 0x7Fu << 8);
    FIELD(DXGK_SEGMENTBANKPREFERENCE, Direction3, 1u << 31);
    DXGK_PTE pte = {.Flags = 0};
    pte.Segment = 0x1F;
    assert_true(pte.Flags == UINT64_C(0x1F) << 5);
    pte.Flags = 0;
    pte.PhysicalAdapterIndex = 0x3F;
    assert_true(pte.Flags == UINT64_C(0x3F) << 11);
    pte.Flags = 0;
    pte.PageTablePageSize = 3;
    assert_true(pte.Flags == UINT64_C(3) << 17);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(ferry_operation_name(0), "TRANSFER");
    assert_string_equal(ferry_operation_name(22), "NOTIFY_ALLOC");
    assert_string_equal(ferry_operation_name(23), "?");
    for (unsigned i = 0; i < DXGK_OPERATION_COUNT; i++)
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(ferry_operation_name(i), ferry_operation_name(j));
    assert_string_equal(ferry_fault_name(FERRY_FAULT_KIND_PAGE_ABSENT), "PAGE_ABSENT");
    assert_string_equal(ferry_fault_name(FERRY_FAULT_KIND_NONE), "NONE");
    assert_string_equal(ferry_fault_name(UINT32_MAX), "?");
    assert_string_equal(ferry_ntstatus_name(STATUS_GRAPHICS_ALLOCATION_BUSY), "STATUS_GRAPHICS_ALLOCATION_BUSY");
    assert_string_equal(ferry_ntstatus_name(12345), "STATUS_?");
    assert_string_equal(ferry_hresult_name(E_PENDING), "E_PENDING");
    assert_string_equal(ferry_hresult_name(77), "HRESULT_?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R104_allocation_flags_stand_where_the_masks_say),
        cmocka_unit_test(operation_flags_stand_where_the_masks_say),
        cmocka_unit_test(segment_words_stand_where_the_masks_say),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
