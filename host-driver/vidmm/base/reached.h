// SPDX-License-Identifier: Apache-2.0
// What packets of GPU virtual addresses reach, and the allocations that they name by it. Pure, but for the question
// what is mapped at an address.
#ifndef FERRY_VIDMM_BASE_REACHED_H
#define FERRY_VIDMM_BASE_REACHED_H

#include "vidmm/base/types.h"

struct ferry_vidmm_name {
    D3DKMT_HANDLE allocation;
    bool write, named; // named: by the buffer that is just having it named
};
// Each allocation once, in the order of the handles. Their memory is the caller's.
struct ferry_vidmm_names {
    struct ferry_vidmm_name *list;
    uint32_t count, most;
};

/// What is at the address, or the first behind it (ferry_vidmm_find_virtual()). Its errors are those of who asks.
typedef int (*ferry_vidmm_find)(void *context, uint64_t address, struct ferry_vidmm_mapping *mapping);

/// And what is mapped where the rows are. Of a stretch of addresses that one mapping has, or none, it is asked once:
/// rows may be many, over each other too, and another thread may change it meanwhile. Errors: RANGE (more than there is
/// room for), those of `find`.
int ferry_vidmm_find_names(struct ferry_vidmm_names *names, const struct ferry_vidmm_reach *reach,
                           ferry_vidmm_find find, void *context);
/// And this allocation. RANGE: there is no room for it.
int ferry_vidmm_add_name(struct ferry_vidmm_names *names, D3DKMT_HANDLE allocation, bool write);
/// A buffer with so many references names all of these too; its lists have room for them, where they get no address:
/// the packet has its own. Returns how many it names then.
uint32_t ferry_vidmm_refer_to(struct ferry_vidmm_names *names, struct ferry_vidmm_reference *references,
                              uint64_t *addresses, uint32_t count);

#endif
