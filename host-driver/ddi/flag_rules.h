// SPDX-License-Identifier: Apache-2.0
// The 25 rules C1 to C25 on allocation flags (R104 to R181) as one table, and the questions the manager asks it.
// Everything here is pure: no state, any thread.
#ifndef FERRY_DDI_FLAG_RULES_H
#define FERRY_DDI_FLAG_RULES_H

#include <stdbool.h>

#include "ddi/d3dkmddi.h"

// What a rule may ask about besides the words themselves.
struct ferry_flag_context {
    UINT version;                   // DXGK_WDDMVERSION of the driver
    bool primary;                   // the primary surface
    bool shared;                    // may be opened by another process
    bool write_only_use;            // the CPU never reads it
    bool map_aperture2_supported;   // DXGK_VIDMMCAPS
    bool coherent_aperture;         // an aperture segment with CacheCoherent is reported
    bool aperture_only;             // SupportedWriteSegmentSet names aperture segments and nothing else
    bool vpr_segment;               // a supported segment has VprSupported
    bool gpu_va_iommu;              // GpuVaIoMmu or GpuVaIoMmuGlobal model
    bool leaves_system_or_aperture; // the allocation can be evicted out of an aperture or the implicit system segment
    bool existing_is_cacheable;     // the existing memory is mapped cacheable
    uintptr_t existing;             // its address, 0 = none
    uint64_t existing_bytes;
    uint64_t bytes; // what the allocation needs of it
};

enum ferry_flag_verdict {
    FERRY_FLAG_REJECT,    // creation fails
    FERRY_FLAG_WARN,      // creation goes on; something asked for will not happen or is the driver's own risk
    FERRY_FLAG_IGNORE,    // the bit has no meaning here and does nothing
    FERRY_FLAG_ELSEWHERE, // not decided at creation: at Lock, placement, eviction or notification
};

struct ferry_flag_rule {
    unsigned number; // n of Cn
    enum ferry_flag_verdict verdict;
    const char *text;
    /// True when the words break the rule. NULL for rules that are decided elsewhere.
    bool (*broken)(UINT flags, UINT flags2, const struct ferry_flag_context *context);
};

#define FERRY_FLAG_RULES 25
extern const struct ferry_flag_rule ferry_flag_rules[FERRY_FLAG_RULES];

/// The number of the first rejecting rule that the words break, 0 when they may be used.
unsigned ferry_flags_rejected(UINT flags, UINT flags2, const struct ferry_flag_context *context);
/// The name of a flag that breaks no rule and whose behaviour is not there yet, so that it must not be accepted; NULL
/// when there is none. Taken without any behaviour because nothing of them can be missing: DisablePartialResidency (an
/// allocation is placed whole), HistoryBuffer (made and ended as any other).
const char *ferry_flags_unsupported(UINT flags, UINT flags2);
/// The name of a lock's flag that the contract has and whose behaviour is not there, so that it must not be accepted;
/// NULL when there is none.
const char *ferry_lock_flags_unsupported(UINT flags);
/// Bit n set = rule Cn with verdict WARN or IGNORE is broken.
uint32_t ferry_flags_warnings(UINT flags, UINT flags2, const struct ferry_flag_context *context);
/// The bits that must be zero for a driver of this version (C11).
UINT ferry_flags_reserved(UINT version);
/// C17: Lock needs CpuVisible or CpuVisibleOnDemand (R106, R107, R179).
bool ferry_flags_lockable(UINT flags);
/// PermanentSysMem, or existing memory, which has its lock semantics (R136, R141).
bool ferry_flags_permanent(UINT flags);
/// C18: Overlay and Capture allocations are never evicted for room (R149, R157).
bool ferry_flags_pinned(UINT flags);
/// C18: the lowest byte offset at which a pinned allocation may lie: the last 20 % of the segment (R152).
uint64_t ferry_flags_pinned_lowest(uint64_t segment_bytes);
/// C19: may an allocation of this size still be evicted through an aperture in which an overlay lives (R153, R155)?
bool ferry_flags_evictable_beside_overlay(uint64_t bytes, uint64_t aperture_bytes);
/// C24: both bits of a NOTIFY_ALLOC at once are a protocol error.
bool ferry_flags_notify_legal(UINT notify_flags);
/// C22, C23: whether a notification asked for in FLAGS2 would ever be sent.
bool ferry_flags_notify_eviction_effective(UINT flags2, const struct ferry_flag_context *context);
bool ferry_flags_notify_iommu_effective(UINT flags2, const struct ferry_flag_context *context);

#endif
