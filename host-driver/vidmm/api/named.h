// SPDX-License-Identifier: Apache-2.0
// What a job names by addresses at which something has been mapped since it was recorded.
#ifndef FERRY_VIDMM_API_NAMED_H
#define FERRY_VIDMM_API_NAMED_H

#include "vidmm/api/manager.h"
#include "vidmm/base/reached.h"

/// Buffers that name all of it, zeroed at first. Their memory, if they are not those that were asked about, is freed by
/// ferry_vm_named_end().
struct ferry_vm_named {
    const struct ferry_vidmm_submission *buffers;
    uint64_t changes; // of the program's addresses, when this was named
    struct ferry_vidmm_submission *own;
    struct ferry_vidmm_name *names;
    struct ferry_vidmm_reference *references;
    uint64_t *addresses;
};
/// The buffers as they are where nothing has been mapped in their program's addresses since. Of a submission that waits
/// this is asked in each turn, with what it has named before: that is kept as long as nothing is mapped or unmapped.
/// Errors: NO_HOST_MEMORY; RANGE (a buffer would name more than one can). end() is owed once, after an error too.
int ferry_vm_name_reached(const struct ferry_vm_context *context, const struct ferry_vidmm_submission *buffers,
                          uint32_t count, struct ferry_vm_named *named);
void ferry_vm_named_end(struct ferry_vm_named *named);

#endif
