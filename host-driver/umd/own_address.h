// SPDX-License-Identifier: Apache-2.0
// The GPU virtual address that an allocation has by itself in driver model 2.
#ifndef FERRY_UMD_OWN_ADDRESS_H
#define FERRY_UMD_OWN_ADDRESS_H

#include "umd/objects.h"

// For as long as it is there, apart from those that programs choose. One for which no page tables are left has none so
// far: what names it is patched.
int umd_own_address_give(struct umd_allocation *allocation);
// The same, if page tables have been given back since it was tried last.
void umd_own_address_try_again(struct umd_allocation *allocation);

// It is used: the time to have an address where it found no tables before.
static inline void umd_own_address_use(struct umd_allocation *allocation)
{
    if (!allocation->address)
        umd_own_address_try_again(allocation);
}

#endif
