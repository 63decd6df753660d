// SPDX-License-Identifier: Apache-2.0
#include "ddi/flag_rules.h"

#define F(name)  DXGK_ALLOC_FLAG_##name
#define G(name)  DXGK_ALLOC_FLAG2_##name
#define EXISTING (F(EXISTING_SYSMEM) | F(EXISTING_KERNEL_SYSMEM))

// "first -> then": any bit of first asks for all bits of then.
static bool lacks(UINT flags, UINT first, UINT then)
{
    return (flags & first) != 0 && (flags & then) != then;
}

static bool together(UINT flags, UINT one, UINT others)
{
    return (flags & one) != 0 && (flags & others) != 0;
}

#define RULE(n) static bool c##n(UINT f, UINT g, const struct ferry_flag_context *x)

RULE(1)
{
    (void)g, (void)x;
    return lacks(f, F(PERMANENT_SYSMEM), F(CPU_VISIBLE));
}

RULE(2)
{
    (void)g, (void)x;
    return lacks(f, F(CACHED), F(CPU_VISIBLE));
}

RULE(3)
{
    (void)g, (void)x;
    return together(f, F(PROTECTED), F(PERMANENT_SYSMEM) | EXISTING);
}

RULE(4)
{
    (void)g, (void)x;
    return together(f, F(EXISTING_SYSMEM), F(PERMANENT_SYSMEM) | F(PROTECTED) | F(EXISTING_KERNEL_SYSMEM));
}

RULE(5)
{
    (void)g, (void)x;
    return together(f, F(EXISTING_KERNEL_SYSMEM), F(PERMANENT_SYSMEM) | F(PROTECTED) | F(EXISTING_SYSMEM));
}

RULE(6)
{
    (void)g;
    return x->primary && (f & (F(PERMANENT_SYSMEM) | F(CACHED) | F(PROTECTED) | EXISTING)) != 0;
}

RULE(7)
{
    (void)g;
    UINT bare = F(HISTORY_BUFFER) | F(CPU_VISIBLE);
    if ((f & F(HISTORY_BUFFER)) == 0 || f == (bare | F(CACHED)))
        return false;
    return x->coherent_aperture || f != bare;
}

RULE(8)
{
    (void)g, (void)x;
    return lacks(f, F(EXPLICIT_RESIDENCY_NOTIFICATION), F(ACCESSED_PHYSICALLY));
}

RULE(9)
{
    (void)g;
    return (f & F(MAP_APERTURE_CPU_VISIBLE)) != 0 && !x->map_aperture2_supported;
}

RULE(10)
{
    (void)g, (void)x;
    return lacks(f, F(MAP_APERTURE_CPU_VISIBLE), F(ACCESSED_PHYSICALLY));
}

RULE(11)
{
    (void)g;
    return (f & ferry_flags_reserved(x->version)) != 0;
}

RULE(12)
{
    (void)g;
    return x->write_only_use && (f & F(CACHED)) != 0;
}

static bool existing_unusable(const struct ferry_flag_context *x)
{
    return x->existing == 0 || x->existing % PAGE_SIZE != 0 || x->existing_bytes == 0 ||
           x->existing_bytes % PAGE_SIZE != 0 || x->existing_bytes < x->bytes ||
           x->existing_bytes > UINTPTR_MAX - x->existing;
}

RULE(13)
{
    (void)g;
    return (f & F(EXISTING_SYSMEM)) != 0 && existing_unusable(x);
}

RULE(14)
{
    (void)g;
    return (f & F(EXISTING_KERNEL_SYSMEM)) != 0 && existing_unusable(x);
}

RULE(15)
{
    (void)g;
    return (f & EXISTING) != 0 && x->existing_is_cacheable && (f & F(CACHED)) == 0;
}

RULE(16)
{
    (void)g;
    return (f & F(CREATE_IN_VPR)) != 0 && (x->version < DXGKDDI_WDDMv2_1 || !x->vpr_segment);
}

RULE(20)
{
    (void)f;
    return (g & G(SHARE_BACKING_STORE_WITH_KMD)) != 0 && !(x->shared && x->aperture_only);
}

RULE(21)
{
    (void)f;
    if ((g & DXGK_ALLOC_FLAG2_RESERVED_MASK) != 0)
        return true;
    return ((g & 0x3Eu) != 0 && x->version < DXGKDDI_WDDMv3_2) || ((g & 0x1u) != 0 && x->version < DXGKDDI_WDDMv3_0);
}

RULE(22)
{
    (void)f;
    return (g & G(NOTIFY_IOMMU_UNMAP)) != 0 && !x->gpu_va_iommu;
}

RULE(23)
{
    (void)f;
    return (g & G(NOTIFY_EVICTION)) != 0 && !x->leaves_system_or_aperture;
}

RULE(25)
{
    (void)g;
    return (f & F(DISABLE_LARGE_PAGE_MAPPING)) != 0 && x->version < DXGKDDI_WDDMv2_1;
}

const struct ferry_flag_rule ferry_flag_rules[FERRY_FLAG_RULES] = {
    {1, FERRY_FLAG_REJECT, "PermanentSysMem needs CpuVisible", c1},
    {2, FERRY_FLAG_REJECT, "Cached needs CpuVisible", c2},
    {3, FERRY_FLAG_REJECT, "Protected excludes PermanentSysMem, ExistingSysMem and ExistingKernelSysMem", c3},
    {4, FERRY_FLAG_REJECT, "ExistingSysMem excludes PermanentSysMem, Protected and ExistingKernelSysMem", c4},
    {5, FERRY_FLAG_REJECT, "ExistingKernelSysMem excludes PermanentSysMem, Protected and ExistingSysMem", c5},
    {6, FERRY_FLAG_REJECT, "the primary has none of the bits 1 to 5", c6},
    {7, FERRY_FLAG_REJECT,
     "HistoryBuffer goes with CpuVisible, with Cached beside a coherent aperture, and with nothing else", c7},
    {8, FERRY_FLAG_REJECT, "ExplicitResidencyNotification needs AccessedPhysically", c8},
    {9, FERRY_FLAG_REJECT, "MapApertureCpuVisible needs the capability MapAperture2Supported", c9},
    {10, FERRY_FLAG_WARN, "MapApertureCpuVisible without AccessedPhysically never delivers an address", c10},
    {11, FERRY_FLAG_REJECT, "reserved bits must be zero", c11},
    {12, FERRY_FLAG_WARN, "Cached must not be set on what the CPU only writes", c12},
    {13, FERRY_FLAG_REJECT, "ExistingSysMem needs a page-aligned user range of whole pages", c13},
    {14, FERRY_FLAG_REJECT, "ExistingKernelSysMem needs a page-aligned kernel range of whole pages", c14},
    {15, FERRY_FLAG_WARN, "existing cacheable memory without Cached: coherency is the driver's own affair", c15},
    {16, FERRY_FLAG_REJECT, "CreateInVpr needs WDDM 2.1 and a segment with a protected range", c16},
    {17, FERRY_FLAG_ELSEWHERE, "Lock needs CpuVisible or CpuVisibleOnDemand", NULL},
    {18, FERRY_FLAG_ELSEWHERE, "Overlay and Capture stay in the last 20 percent of a segment", NULL},
    {19, FERRY_FLAG_ELSEWHERE, "beside an overlay in an aperture, only up to 80 percent of it is evicted through it",
     NULL},
    {20, FERRY_FLAG_REJECT, "ShareBackingStoreWithKmd needs a shared allocation in aperture segments only", c20},
    {21, FERRY_FLAG_REJECT, "the second flag word needs WDDM 3.0, its bits 1 to 5 need 3.2, the rest is zero", c21},
    {22, FERRY_FLAG_WARN, "NotifyIoMmuUnmap is only sent with the GpuVaIoMmu or GpuVaIoMmuGlobal model", c22},
    {23, FERRY_FLAG_WARN, "NotifyEviction is only sent when an aperture or system memory is left", c23},
    {24, FERRY_FLAG_ELSEWHERE, "a NOTIFY_ALLOC is for eviction or for IOMMU unmap, never both", NULL},
    {25, FERRY_FLAG_IGNORE, "DisableLargePageMapping means nothing before WDDM 2.1", c25},
};

unsigned ferry_flags_rejected(UINT flags, UINT flags2, const struct ferry_flag_context *context)
{
    for (unsigned i = 0; i < FERRY_FLAG_RULES; i++) {
        const struct ferry_flag_rule *rule = &ferry_flag_rules[i];
        if (rule->verdict == FERRY_FLAG_REJECT && rule->broken(flags, flags2, context))
            return rule->number;
    }
    return 0;
}

const char *ferry_flags_unsupported(UINT flags, UINT flags2)
{
    static const struct {
        UINT flag, flag2;
        const char *name;
    } missing[] = {
        {F(CREATE_IN_VPR), 0, "CreateInVpr"},
        {F(MAP_APERTURE_CPU_VISIBLE), 0, "MapApertureCpuVisible"},
        {F(HARDWARE_PROTECTED), 0, "HardwareProtected"},
        {0, G(SHARE_BACKING_STORE_WITH_KMD), "ShareBackingStoreWithKmd"},
        {0, G(NO_IMPLICIT_SYNCHRONIZATION), "NoImplicitSynchronization"},
        {0, G(RESTRICTED_TO_SINGLE_SEGMENT), "RestrictedToSingleSegment"},
        {0, G(NOTIFY_EVICTION), "NotifyEviction"},
        {0, G(NOTIFY_IOMMU_UNMAP), "NotifyIoMmuUnmap"},
    };
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
        if ((flags & missing[i].flag) != 0 || (flags2 & missing[i].flag2) != 0)
            return missing[i].name;
    return NULL;
}

const char *ferry_lock_flags_unsupported(UINT flags)
{
    D3DDDICB_LOCKFLAGS lock = {.Value = flags};
    return lock.IgnoreSync            ? "IgnoreSync"
           : lock.NoExistingReference ? "NoExistingReference"
           : lock.IgnoreReadSync      ? "IgnoreReadSync"
                                      : NULL;
}

uint32_t ferry_flags_warnings(UINT flags, UINT flags2, const struct ferry_flag_context *context)
{
    uint32_t warnings = 0;
    for (unsigned i = 0; i < FERRY_FLAG_RULES; i++) {
        const struct ferry_flag_rule *rule = &ferry_flag_rules[i];
        bool mild = rule->verdict == FERRY_FLAG_WARN || rule->verdict == FERRY_FLAG_IGNORE;
        if (mild && rule->broken(flags, flags2, context))
            warnings |= 1u << rule->number;
    }
    return warnings;
}

UINT ferry_flags_reserved(UINT version)
{
    if (version >= DXGKDDI_WDDMv2_9)
        return DXGK_ALLOC_RESERVED_MASK_2_9;
    return version >= DXGKDDI_WDDMv2_1 ? DXGK_ALLOC_RESERVED_MASK_2_1 : DXGK_ALLOC_RESERVED_MASK_2_0;
}

bool ferry_flags_lockable(UINT flags)
{
    return (flags & (F(CPU_VISIBLE) | F(CPU_VISIBLE_ON_DEMAND))) != 0;
}

bool ferry_flags_permanent(UINT flags)
{
    return (flags & (F(PERMANENT_SYSMEM) | EXISTING)) != 0;
}

bool ferry_flags_pinned(UINT flags)
{
    return (flags & (F(OVERLAY) | F(CAPTURE))) != 0;
}

uint64_t ferry_flags_pinned_lowest(uint64_t segment_bytes)
{
    return segment_bytes - segment_bytes / 5;
}

bool ferry_flags_evictable_beside_overlay(uint64_t bytes, uint64_t aperture_bytes)
{
    return bytes <= aperture_bytes - aperture_bytes / 5;
}

bool ferry_flags_notify_legal(UINT notify_flags)
{
    return (notify_flags & 3u) != 3u && (notify_flags & ~3u) == 0;
}

bool ferry_flags_notify_eviction_effective(UINT flags2, const struct ferry_flag_context *context)
{
    return (flags2 & G(NOTIFY_EVICTION)) != 0 && context->leaves_system_or_aperture;
}

bool ferry_flags_notify_iommu_effective(UINT flags2, const struct ferry_flag_context *context)
{
    return (flags2 & G(NOTIFY_IOMMU_UNMAP)) != 0 && context->gpu_va_iommu;
}
