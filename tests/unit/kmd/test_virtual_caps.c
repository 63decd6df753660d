// SPDX-License-Identifier: Apache-2.0
// What the miniport says of itself as driver model 2 (QueryAdapterInfo), and on which device it is one.
#include "rig.h"

#include <stdio.h>

static NTSTATUS ask(struct rig *rig, DXGK_QUERYADAPTERINFOTYPE type, void *input, UINT input_bytes, void *output,
                    UINT output_bytes)
{
    DXGKARG_QUERYADAPTERINFO query = {type, input, input_bytes, output, output_bytes, 0, NULL};

    return rig->kmd->DxgkDdiQueryAdapterInfo(rig->adapter, &query);
}

static NTSTATUS ask_level(struct rig *rig, UINT16 level, UINT16 adapter, DXGK_PAGE_TABLE_LEVEL_DESC *description)
{
    DXGK_QUERYPAGETABLELEVELDESCIN which = {level, adapter};

    return ask(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &which, sizeof which, description, sizeof *description);
}

static void R202_R203_R204_R205_R209_the_paging_space_is_the_managers_choice(void **state)
{
    struct rig *rig = *state;
    UINT index = 0, megabytes = 99;

    assert_int_equal(ask(rig, 48, &index, sizeof(UINT), &megabytes, sizeof(UINT)), STATUS_SUCCESS);
    assert_int_equal(megabytes, 0);
    assert_int_equal(ask(rig, 48, &index, sizeof(UINT) - 1, &megabytes, sizeof(UINT)), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(rig, 48, &index, sizeof(UINT), &megabytes, sizeof(UINT) - 1), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(rig, 48, NULL, 0, &megabytes, sizeof(UINT)), STATUS_BUFFER_TOO_SMALL);
    index = 1;
    assert_int_equal(ask(rig, 48, &index, sizeof(UINT), &megabytes, sizeof(UINT)), STATUS_INVALID_PARAMETER);
}

static void what_the_adapter_says_of_its_page_tables(void **state)
{
    struct rig *rig = *state;
    DXGK_DRIVERCAPS caps;
    DXGK_GPUMMUCAPS mmu;
    DXGK_QUERYGPUMMUCAPSIN linked = {0};
    DXGK_PAGE_TABLE_LEVEL_DESC levels[5];
    DXGK_PHYSICALADAPTERCAPS physical;
    DXGK_QUERYPAGINGBUFFERINFO_IN which = {0};
    DXGK_QUERYPAGINGBUFFERINFO_OUT buffer;
    UINT segments;

    assert_int_equal(ask(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps), STATUS_SUCCESS);
    assert_int_equal(caps.MemoryManagementCaps.VirtualAddressingSupported, 1);
    assert_int_equal(caps.MemoryManagementCaps.GpuMmuSupported, 1);
    assert_int_equal(caps.MemoryManagementCaps.IoMmuSupported, 0);
    assert_int_equal(caps.WDDMVersion, DXGKDDI_WDDMv3_2);
    assert_int_equal(ask(rig, DXGKQAITYPE_GPUMMUCAPS, &linked, sizeof linked, &mmu, sizeof mmu), STATUS_SUCCESS);
    assert_int_equal(mmu.PageTableUpdateMode, DXGK_PAGETABLEUPDATE_GPU_PHYSICAL);
    assert_int_equal(mmu.VirtualAddressBitCount, 48);
    assert_int_equal(mmu.PageTableLevelCount, 4);
    // Read-only, cache-coherent and large pages, 64 KiB in system memory; what is not valid is not remembered. No
    // others: each word has a bit that the device would have to keep.
    assert_int_equal(mmu.Value, 1u << 0 | 1u << 4 | 1u << 6 | 1u << 9 | 1u << 10);
    assert_int_equal(mmu.LeafPageTableSizeFor64KPagesInBytes, 4096);
    assert_int_equal(mmu.LegacyBehaviors, 0);
    UINT bits = 12;
    memset(levels, 0xEE, sizeof levels);
    for (UINT16 i = 0; i < 4; i++) {
        // Of one level and no more.
        assert_int_equal(ask_level(rig, i, 0, &levels[i]), STATUS_SUCCESS);
        assert_int_equal(levels[i + 1].PageTableIndexBitCount, 0xEEEEEEEE);
        assert_int_equal(8u << levels[i].PageTableIndexBitCount, levels[i].PageTableSizeInBytes);
        bits += levels[i].PageTableIndexBitCount;
    }
    assert_int_equal(bits, mmu.VirtualAddressBitCount);
    assert_int_equal(ask(rig, DXGKQAITYPE_PHYSICALADAPTERCAPS, NULL, 0, &physical, sizeof physical), STATUS_SUCCESS);
    assert_int_equal(physical.Flags.GpuMmuSupported, 1);
    assert_int_equal(physical.NumExecutionNodes, 5);
    assert_int_equal(ask(rig, DXGKQAITYPE_QUERYPAGINGBUFFERINFO, &which, sizeof which, &buffer, sizeof buffer),
                     STATUS_SUCCESS);
    assert_int_equal(buffer.PagingBufferSize, 4096);
    which.PhysicalAdapterIndex = 1; // There is one.
    assert_int_equal(ask(rig, DXGKQAITYPE_QUERYPAGINGBUFFERINFO, &which, sizeof which, &buffer, sizeof buffer),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ask(rig, DXGKQAITYPE_QUERYSEGMENTCOUNT, NULL, 0, &segments, sizeof segments), STATUS_SUCCESS);
    assert_int_equal(segments, 2);
}

static void what_it_is_not_asked_about_in_their_form_is_refused(void **state)
{
    struct rig *rig = *state;
    DXGK_GPUMMUCAPS mmu;
    DXGK_QUERYGPUMMUCAPSIN linked = {0};
    DXGK_QUERYPAGETABLELEVELDESCIN which = {0, 0};
    DXGK_PAGE_TABLE_LEVEL_DESC level;

    assert_int_equal(ask(rig, DXGKQAITYPE_GPUMMUCAPS, NULL, 0, &mmu, sizeof mmu), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(rig, DXGKQAITYPE_GPUMMUCAPS, &linked, sizeof linked - 1, &mmu, sizeof mmu),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(rig, DXGKQAITYPE_GPUMMUCAPS, &linked, sizeof linked, &mmu, sizeof mmu - 1),
                     STATUS_BUFFER_TOO_SMALL);
    linked.PhysicalAdapterIndex = 1;
    assert_int_equal(ask(rig, DXGKQAITYPE_GPUMMUCAPS, &linked, sizeof linked, &mmu, sizeof mmu),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ask(rig, DXGKQAITYPE_PAGETABLELEVELDESC, NULL, 0, &level, sizeof level), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &which, sizeof which - 1, &level, sizeof level),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &which, sizeof which, &level, sizeof level - 1),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask_level(rig, 4, 0, &level), STATUS_INVALID_PARAMETER);
    assert_int_equal(ask_level(rig, 65535, 0, &level), STATUS_INVALID_PARAMETER);
    assert_int_equal(ask_level(rig, 0, 1, &level), STATUS_INVALID_PARAMETER);
}

// Each type of the contract's, in either model: its bytes and no more, or refused by name.
static void every_type_is_answered_or_refused_by_name(void **state)
{
    static const struct {
        UINT type, bytes, models;
    } answered[] = {{DXGKQAITYPE_DRIVERCAPS, sizeof(DXGK_DRIVERCAPS), 3},
                    {DXGKQAITYPE_QUERYSEGMENT4, sizeof(DXGK_QUERYSEGMENTOUT4), 3},
                    {DXGKQAITYPE_GPUMMUCAPS, sizeof(DXGK_GPUMMUCAPS), 2},
                    {DXGKQAITYPE_PAGETABLELEVELDESC, sizeof(DXGK_PAGE_TABLE_LEVEL_DESC), 2},
                    {DXGKQAITYPE_PHYSICALADAPTERCAPS, sizeof(DXGK_PHYSICALADAPTERCAPS), 3},
                    {DXGKQAITYPE_QUERYPAGINGBUFFERINFO, sizeof(DXGK_QUERYPAGINGBUFFERINFO_OUT), 3},
                    {DXGKQAITYPE_QUERYSEGMENTCOUNT, sizeof(UINT), 3},
                    {DXGKQAITYPE_PAGINGPROCESSGPUVASIZE, sizeof(UINT), 3}};
    (void)state;
    for (unsigned model = 1; model <= 2; model++) {
        struct rig *rig = NULL;

        rig_model = model;
        rig_setup((void **)(void *)&rig);
        for (UINT type = 0; type < 100; type++) {
            _Alignas(8) uint8_t output[256], input[16] = {0};
            UINT bytes = 0;

            for (size_t i = 0; i < sizeof answered / sizeof answered[0]; i++)
                if (answered[i].type == type && answered[i].models >> (model - 1) & 1)
                    bytes = answered[i].bytes;
            memset(output, 0xEE, sizeof output);
            if (type == DXGKQAITYPE_QUERYSEGMENT4)
                memset(output, 0, bytes);
            assert_int_equal(ask(rig, type, input, sizeof input, output, sizeof output),
                             bytes ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
            for (size_t i = bytes; i < sizeof output; i++)
                assert_int_equal(output[i], 0xEE);
            if (bytes)
                assert_int_equal(ask(rig, type, input, sizeof input, output, bytes - 1), STATUS_BUFFER_TOO_SMALL);
            assert_int_equal(ask(rig, type, input, sizeof input, NULL, sizeof output), STATUS_INVALID_PARAMETER);
        }
        rig_teardown((void **)(void *)&rig);
    }
}

// What it says of itself in either model, on a device with tiles and on one without: ranges are of model 1 with tiles,
// tables and addresses of model 2.
static void each_model_says_what_it_has(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct rig *rig = NULL;
        DXGK_DRIVERCAPS caps;
        DXGK_PHYSICALADAPTERCAPS physical;
        DXGK_PAGE_TABLE_LEVEL_DESC level;
        bool tables = kind & 1;

        rig_model = tables ? 2 : 1;
        rig_tiling = kind & 2;
        rig_setup((void **)(void *)&rig);
        assert_int_equal(ask(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps), STATUS_SUCCESS);
        assert_int_equal(caps.NumberOfSwizzlingRanges, kind == 2 ? 4 : 0);
        assert_int_equal(caps.ApertureSegmentCommitLimit, APERTURE_PAGES * 4096);
        assert_int_equal(caps.MemoryManagementCaps.Value, tables ? 1u << 5 | 1u << 6 : 0);
        assert_int_equal(caps.MemoryManagementCaps.PagingNode, 0);
        assert_int_equal(caps.NbAsymetricProcessingNodes, 5);
        assert_int_equal(ask(rig, DXGKQAITYPE_PHYSICALADAPTERCAPS, NULL, 0, &physical, sizeof physical),
                         STATUS_SUCCESS);
        assert_int_equal(physical.PagingNodeIndex, 0);
        assert_int_equal(physical.Flags.Value, tables ? 1u << 1 : 0);
        if (tables) {
            assert_int_equal(ask_level(rig, 3, 0, &level), STATUS_SUCCESS);
            assert_int_equal(level.PageTableAlignmentInBytes, 4096);
        }
        rig_teardown((void **)(void *)&rig);
    }
    rig_tiling = false;
    rig_model = 2;
}

// Jobs go by addresses on every other node; the paging node's word decides how the manager pages. And where tables are
// and what the IOMMU does each is a word of its own.
static void what_is_said_in_each_way_to_have_addresses(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 9; kind++) {
        struct rig *rig = NULL;
        DXGKARG_GETNODEMETADATA node;
        DXGK_PAGE_TABLE_LEVEL_DESC level;
        DXGK_PHYSICALADAPTERCAPS physical;

        rig_model = kind == 8 ? 1 : 2;
        rig_ways = kind % 8;
        bool by_address = (rig_ways & FERRY_KMD_BY_ADDRESS) != 0, iommu = (rig_ways & FERRY_KMD_IOMMU) != 0;
        UINT segment = (rig_ways & FERRY_KMD_HOST_TABLES) != 0 ? 0 : FERRY_KMD_SEGMENT_LOCAL;
        rig_setup((void **)(void *)&rig);
        for (UINT i = 0; i < 5; i++) {
            memset(&node, 0xEE, sizeof node);
            assert_int_equal(rig->kmd->DxgkDdiGetNodeMetadata(rig->adapter, i, &node), STATUS_SUCCESS);
            assert_int_equal(node.EngineType, DXGK_ENGINE_TYPE_COPY);
            assert_int_equal(node.FriendlyName[0], 0);
            assert_int_equal(node.GpuMmuSupported, i == 0 ? by_address : rig_model == 2);
            assert_int_equal(node.IoMmuSupported, 0);
        }
        for (UINT16 i = 0; i < 4 && rig_model == 2; i++) {
            assert_int_equal(ask_level(rig, i, 0, &level), STATUS_SUCCESS);
            assert_int_equal(level.PageTableSegmentId, segment);
            assert_int_equal(level.PagingProcessPageTableSegmentId, segment);
        }
        assert_int_equal(ask(rig, DXGKQAITYPE_PHYSICALADAPTERCAPS, NULL, 0, &physical, sizeof physical),
                         STATUS_SUCCESS);
        assert_int_equal(physical.Flags.GpuVaIommuRequired, iommu);
        assert_int_equal(rig->kmd->DxgkDdiGetNodeMetadata(rig->adapter, 5, &node), STATUS_INVALID_PARAMETER);
        assert_int_equal(rig->kmd->DxgkDdiGetNodeMetadata(rig->adapter, 0, NULL), STATUS_INVALID_PARAMETER);
        assert_int_equal(rig->kmd->DxgkDdiGetNodeMetadata(NULL, 0, &node), STATUS_INVALID_PARAMETER);
        rig_teardown((void **)(void *)&rig);
    }
    assert_null(ferry_kmd_miniport_model2(8));
    rig_model = 2;
    rig_ways = 0;
}

static void a_device_without_page_tables_is_no_device_for_this_model(void **state)
{
    (void)state;
    struct rig *rig = NULL;
    HANDLE adapter = NULL;

    rig_model = 1;
    rig_setup((void **)(void *)&rig);
    assert_int_equal(ferry_kmd_miniport_model2(0)->DxgkDdiAddDevice(rig->gpu, &adapter), STATUS_NOT_SUPPORTED);
    assert_int_equal(ferry_kmd_miniport_model2(FERRY_KMD_BY_ADDRESS)->DxgkDdiAddDevice(rig->gpu, &adapter),
                     STATUS_NOT_SUPPORTED);
    assert_null(adapter);
    DXGK_GPUMMUCAPS mmu;
    assert_int_equal(ask(rig, DXGKQAITYPE_GPUMMUCAPS, NULL, 0, &mmu, sizeof mmu), STATUS_NOT_SUPPORTED);
    rig_teardown((void **)(void *)&rig);
    rig_model = 2;
}

int main(void)
{
    rig_model = 2;
    const struct CMUnitTest tests[] = {
        CASE(R202_R203_R204_R205_R209_the_paging_space_is_the_managers_choice),
        CASE(what_the_adapter_says_of_its_page_tables),
        CASE(what_it_is_not_asked_about_in_their_form_is_refused),
        cmocka_unit_test(every_type_is_answered_or_refused_by_name),
        cmocka_unit_test(each_model_says_what_it_has),
        cmocka_unit_test(what_is_said_in_each_way_to_have_addresses),
        cmocka_unit_test(a_device_without_page_tables_is_no_device_for_this_model),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
