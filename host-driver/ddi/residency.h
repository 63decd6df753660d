// SPDX-License-Identifier: Apache-2.0
// The user-mode side of the contract: flag words and argument structs of residency, locks and offers.
#ifndef FERRY_DDI_RESIDENCY_H
#define FERRY_DDI_RESIDENCY_H

#include "ddi/ferry_nt.h"

typedef UINT D3DKMT_HANDLE; // 0 = none

typedef union _D3DDDI_MAKERESIDENT_FLAGS {
    struct {
        UINT CantTrimFurther : 1;
        UINT MustSucceed : 1; // only with CantTrimFurther
        UINT Reserved : 30;
    };
    UINT Value;
} D3DDDI_MAKERESIDENT_FLAGS;

typedef struct _D3DDDI_MAKERESIDENT {
    D3DKMT_HANDLE hPagingQueue;
    UINT NumAllocations; // in; not written (docs/manual/driver-contract.md)
    const D3DKMT_HANDLE *AllocationList;
    const UINT *PriorityList; // ignored
    D3DDDI_MAKERESIDENT_FLAGS Flags;
    UINT64 PagingFenceValue; // out, with E_PENDING
    UINT64 NumBytesToTrim;   // out, with E_OUTOFMEMORY
} D3DDDI_MAKERESIDENT;
#define D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS 10240u

typedef union _D3DDDI_EVICT_FLAGS {
    struct {
        UINT EvictOnlyIfNecessary : 1;
        UINT NotWrittenTo : 1;
        UINT Reserved : 30;
    };
    UINT Value;
} D3DDDI_EVICT_FLAGS;

typedef struct _D3DDDICB_EVICT {
    UINT NumAllocations;
    const D3DKMT_HANDLE *AllocationList;
    D3DDDI_EVICT_FLAGS Flags;
    UINT64 NumBytesToTrim; // out: nonzero = over budget by that much
} D3DDDICB_EVICT;

typedef union _D3DDDI_TRIMRESIDENCYSET_FLAGS {
    struct {
        UINT PeriodicTrim : 1;
        UINT RestartPeriodicTrim : 1;
        UINT TrimToBudget : 1;
        UINT Reserved : 29;
    };
    UINT Value;
} D3DDDI_TRIMRESIDENCYSET_FLAGS;

typedef union _D3DDDICB_LOCKFLAGS {
    struct {
        UINT ReadOnly : 1;
        UINT WriteOnly : 1;
        UINT DonotWait : 1;
        UINT IgnoreSync : 1;
        UINT LockEntire : 1;
        UINT DonotEvict : 1;
        UINT AcquireAperture : 1;
        UINT Discard : 1;
        UINT NoExistingReference : 1;
        UINT UseAlternateVA : 1;
        UINT IgnoreReadSync : 1;
        UINT Reserved : 21;
    };
    UINT Value;
} D3DDDICB_LOCKFLAGS;
#define D3DDDI_LOCK_READ_ONLY        0x001u
#define D3DDDI_LOCK_WRITE_ONLY       0x002u
#define D3DDDI_LOCK_DO_NOT_WAIT      0x004u
#define D3DDDI_LOCK_LOCK_ENTIRE      0x010u
#define D3DDDI_LOCK_DO_NOT_EVICT     0x020u
#define D3DDDI_LOCK_ACQUIRE_APERTURE 0x040u
#define D3DDDI_LOCK_DISCARD          0x080u
#define D3DDDI_LOCK_USE_ALTERNATE_VA 0x200u
// Not there: ferry_lock_flags_unsupported().
#define D3DDDI_LOCK_IGNORE_SYNC           0x008u
#define D3DDDI_LOCK_NO_EXISTING_REFERENCE 0x100u
#define D3DDDI_LOCK_IGNORE_READ_SYNC      0x400u

typedef enum _D3DDDI_OFFER_PRIORITY {
    D3DDDI_OFFER_PRIORITY_NONE = 0, // never in a call
    D3DDDI_OFFER_PRIORITY_LOW = 1,
    D3DDDI_OFFER_PRIORITY_NORMAL = 2,
    D3DDDI_OFFER_PRIORITY_HIGH = 3,
    D3DDDI_OFFER_PRIORITY_AUTO = 4,
} D3DDDI_OFFER_PRIORITY;

typedef enum _D3DDDI_RECLAIM_RESULT {
    D3DDDI_RECLAIM_RESULT_OK = 0,
    D3DDDI_RECLAIM_RESULT_DISCARDED = 1,
    D3DDDI_RECLAIM_RESULT_NOT_COMMITTED = 2,
} D3DDDI_RECLAIM_RESULT;

typedef enum _D3DKMT_DEVICEEXECUTION_STATE {
    D3DKMT_DEVICEEXECUTION_ACTIVE = 1,
    D3DKMT_DEVICEEXECUTION_RESET = 2,
    D3DKMT_DEVICEEXECUTION_HUNG = 3,
    D3DKMT_DEVICEEXECUTION_STOPPED = 4,
    D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY = 5,
    D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT = 6,
    D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT = 7,
} D3DKMT_DEVICEEXECUTION_STATE;

#endif
