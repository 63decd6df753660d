// SPDX-License-Identifier: Apache-2.0
// The few Windows kernel types and status codes that the driver contract is written in. Only names and numbers of the
// contract stand here; nothing of this project. Names are Microsoft's so that the contract headers read like the
// documents they restate.
#ifndef FERRY_DDI_FERRY_NT_H
#define FERRY_DDI_FERRY_NT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void VOID;
typedef uint8_t UINT8;
typedef uint16_t UINT16;
typedef uint16_t WCHAR;
typedef uint8_t BOOLEAN;
typedef uint32_t UINT;
typedef uint32_t ULONG;
typedef uint64_t UINT64;
typedef int64_t LONGLONG;
typedef int32_t NTSTATUS;
typedef int32_t HRESULT;
typedef void *HANDLE;
typedef size_t SIZE_T;
typedef uint64_t D3DGPU_VIRTUAL_ADDRESS;

typedef union _LARGE_INTEGER {
    struct {
        uint32_t LowPart;
        int32_t HighPart;
    };
    int64_t QuadPart;
} LARGE_INTEGER;
typedef LARGE_INTEGER PHYSICAL_ADDRESS;

#define PAGE_SHIFT 12
#define PAGE_SIZE  4096u

// A memory descriptor list: pages that need not be neighbours on the bus but are neighbours for the CPU. A page frame
// number is the page's bus address >> 12, as the device sees it (the manager owns the pages and their DMA mapping).
// MappedSystemVa is the CPU address of the first byte and is NULL when the CPU may not see the pages.
typedef struct _MDL {
    void *MappedSystemVa;
    size_t PageCount;
    size_t ByteCount;
    uint64_t *Pfn;
    unsigned Flags;
} MDL;
#define MDL_FLAG_CACHED 0x1u // CPU mapping is cacheable; clear = write-combined (R119, R120).
#define MDL_FLAG_KERNEL 0x2u // Not reachable by the application (R128).

// Status codes: value, then name. NT_SUCCESS() is true for 0 and for the positive codes such as STATUS_PENDING.
#define FERRY_NTSTATUS_TABLE(X)                                                                                        \
    X(STATUS_SUCCESS, 0x00000000)                                                                                      \
    X(STATUS_TIMEOUT, 0x00000102)                                                                                      \
    X(STATUS_PENDING, 0x00000103)                                                                                      \
    X(STATUS_UNSUCCESSFUL, 0xC0000001)                                                                                 \
    X(STATUS_NOT_IMPLEMENTED, 0xC0000002)                                                                              \
    X(STATUS_INVALID_HANDLE, 0xC0000008)                                                                               \
    X(STATUS_INVALID_PARAMETER, 0xC000000D)                                                                            \
    X(STATUS_NO_MEMORY, 0xC0000017)                                                                                    \
    X(STATUS_BUFFER_TOO_SMALL, 0xC0000023)                                                                             \
    X(STATUS_INSUFFICIENT_RESOURCES, 0xC000009A)                                                                       \
    X(STATUS_DEVICE_NOT_READY, 0xC00000A3)                                                                             \
    X(STATUS_IO_TIMEOUT, 0xC00000B5)                                                                                   \
    X(STATUS_NOT_SUPPORTED, 0xC00000BB)                                                                                \
    X(STATUS_IO_DEVICE_ERROR, 0xC0000185)                                                                              \
    X(STATUS_REVISION_MISMATCH, 0xC0000059)                                                                            \
    X(STATUS_DEVICE_REMOVED, 0xC00002B6)                                                                               \
    X(STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, 0xC01E0001)                                                             \
    X(STATUS_GRAPHICS_NO_VIDEO_MEMORY, 0xC01E0100)                                                                     \
    X(STATUS_GRAPHICS_CANT_LOCK_MEMORY, 0xC01E0101)                                                                    \
    X(STATUS_GRAPHICS_ALLOCATION_BUSY, 0xC01E0102)                                                                     \
    X(STATUS_GRAPHICS_TOO_MANY_REFERENCES, 0xC01E0103)                                                                 \
    X(STATUS_GRAPHICS_TRY_AGAIN_LATER, 0xC01E0104)                                                                     \
    X(STATUS_GRAPHICS_TRY_AGAIN_NOW, 0xC01E0105)                                                                       \
    X(STATUS_GRAPHICS_ALLOCATION_INVALID, 0xC01E0106)                                                                  \
    X(STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE, 0xC01E0107)                                                    \
    X(STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED, 0xC01E0108)                                                    \
    X(STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION, 0xC01E0109)                                                        \
    X(STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE, 0xC01E0110)                                                            \
    X(STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION, 0xC01E0111)                                                       \
    X(STATUS_GRAPHICS_ALLOCATION_CLOSED, 0xC01E0112)                                                                   \
    X(STATUS_GRAPHICS_INVALID_ALLOCATION_INSTANCE, 0xC01E0113)                                                         \
    X(STATUS_GRAPHICS_INVALID_ALLOCATION_HANDLE, 0xC01E0114)                                                           \
    X(STATUS_GRAPHICS_WRONG_ALLOCATION_DEVICE, 0xC01E0115)                                                             \
    X(STATUS_GRAPHICS_ALLOCATION_CONTENT_LOST, 0xC01E0116)                                                             \
    X(STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, 0xC01E0200)

#define FERRY_HRESULT_TABLE(X)                                                                                         \
    X(S_OK, 0x00000000)                                                                                                \
    X(E_PENDING, 0x8000000A)                                                                                           \
    X(E_OUTOFMEMORY, 0x8007000E)                                                                                       \
    X(E_INVALIDARG, 0x80070057)                                                                                        \
    X(D3DERR_WASSTILLDRAWING, 0x8876021C)                                                                              \
    X(D3DERR_NOTAVAILABLE, 0x8876086A)                                                                                 \
    X(D3DDDIERR_DEVICEREMOVED, 0x88760870)                                                                             \
    X(D3DDDIERR_CANTEVICTPINNEDALLOCATION, 0xC0262109)                                                                 \
    X(D3DDDIERR_CANTRENDERLOCKEDALLOCATION, 0xC0262111)

// Each code as the signed 32-bit number of its bit pattern: 0xC01E0001 is a negative NTSTATUS.
#define FERRY_STATUS_VALUE(b)               ((int32_t)((int64_t)(b) - ((b) > INT32_MAX ? INT64_C(0x100000000) : 0)))
#define FERRY_STATUS_ENUMERATOR(name, bits) name = FERRY_STATUS_VALUE(bits),
enum ferry_ntstatus { FERRY_NTSTATUS_TABLE(FERRY_STATUS_ENUMERATOR) };
enum ferry_hresult { FERRY_HRESULT_TABLE(FERRY_STATUS_ENUMERATOR) };

#define NT_SUCCESS(status) ((NTSTATUS)(status) >= 0)
#define FAILED(result)     ((HRESULT)(result) < 0)

/// The code's name, for example "STATUS_GRAPHICS_ALLOCATION_BUSY"; "STATUS_?" for a value not in the table. Any thread.
const char *ferry_ntstatus_name(NTSTATUS status);
/// The same for HRESULT values; "HRESULT_?" for a value not in the table. Any thread.
const char *ferry_hresult_name(HRESULT result);

#endif
