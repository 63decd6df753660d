// SPDX-License-Identifier: Apache-2.0
// The miniport: the driver contract of ddi/ carried out with the copy engine of device/. Only whoever brings manager
// and miniport together (umd/adapter.c) and the tests include this header.
#ifndef FERRY_KMD_KMD_H
#define FERRY_KMD_KMD_H

#include "ddi/miniport.h"
#include "device/device.h"

/// The entry points. AddDevice takes a struct ferry_gpu *, which must outlive RemoveDevice. The interrupt of the gpu is
/// the platform's: it calls InterruptRoutine when ferry_gpu_set_interrupt()'s handler runs, or whenever it likes.
const DRIVER_INITIALIZATION_DATA *ferry_kmd_miniport(void);
/// The same as driver model 2: GPU virtual addresses, an address space a process, page tables by the manager. AddDevice
/// answers NOT_SUPPORTED when the device has no page tables (CAPABILITIES.page_tables). ways: any of FERRY_KMD_*; NULL
/// for another.
const DRIVER_INITIALIZATION_DATA *ferry_kmd_miniport_model2(unsigned ways);
/// The IOMMU model (GpuVaIommuRequired): pages of the aperture are mapped by the root complex only while they are in
/// it.
#define FERRY_KMD_IOMMU 1u
/// The paging node says GpuMmuSupported: the manager moves and fills content by addresses of the paging process.
#define FERRY_KMD_BY_ADDRESS 2u
/// Page tables are in system memory (PageTableSegmentId 0).
#define FERRY_KMD_HOST_TABLES 4u

// Address spaces of the device that are not the paging process's.
#define FERRY_KMD_PROGRAM_SPACES 15u

// GPU addresses of the segments: segment 1 begins at 0 and so 0 is a valid segment address (R96); the aperture lies far
// above, so that an address that lost its base is refused by the device instead of hitting video memory.
#define FERRY_KMD_SEGMENT_LOCAL    1u
#define FERRY_KMD_SEGMENT_APERTURE 2u
#define FERRY_KMD_APERTURE_BASE    (UINT64_C(1) << 40)

// Faults that are kept for whoever asks.
#define FERRY_KMD_FAULTS_KEPT 1024u
/// What the device refused or could not do, oldest first; false when there is nothing more. This is the miniport's
/// escape call: faults of all rings, with the fence id the buffer was submitted with. Of those that nobody has taken
/// the newest FERRY_KMD_FAULTS_KEPT are there; a gap in `sequence` tells of older ones. Any thread.
bool ferry_kmd_next_fault(HANDLE hAdapter, struct ferry_fault *fault);
/// Fault records taken from the device so far. Any thread.
uint64_t ferry_kmd_faults(HANDLE hAdapter);

/// Of the number-th transfer from now on that brings an allocation's content in (or out), a bit of the byte at `offset`
/// modulo the length of the content is flipped on the link; number 0 = of none.
void ferry_kmd_flip(HANDLE hAdapter, bool out, uint64_t number, uint64_t offset);
/// That transfer has come, and the link can do it.
bool ferry_kmd_flipped(HANDLE hAdapter);

/// The least DMA buffer into which every paging operation goes, in pieces if need be: the largest packet is 32 bytes,
/// or a few words and the address of one page.
#define FERRY_KMD_LEAST_PAGING_BUFFER 64u

// Patch locations of our user-mode driver: PatchOffset is where the 64-bit address stands, and DriverId tells which
// packet it belongs to and on which side, so that the address kind can be set with the address.
#define FERRY_KMD_PATCH_SOURCE                  0u
#define FERRY_KMD_PATCH_DESTINATION             1u
#define FERRY_KMD_PATCH_ID(packet_offset, side) ((UINT)(packet_offset) << 1 | (side))

// One record per BuildPagingBuffer call that wrote something, in the DMA buffer's private data. Patch checks that they
// tile what is submitted.
struct ferry_kmd_paging_record {
    UINT Operation;
    UINT Offset; // Bytes from the DMA buffer's begin.
    UINT Bytes;
    UINT Multipass; // The cursor before this call.
};

#endif
