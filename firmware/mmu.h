// SPDX-License-Identifier: Apache-2.0
// Changes of the aperture table, and roots of page tables.
#ifndef FERRY_FIRMWARE_MMU_H
#define FERRY_FIRMWARE_MMU_H

#include <stdbool.h>
#include <stdint.h>

#include "flight.h"

// Changes count aperture pages from first on and waits until the table is changed. packet is the MAP_APERTURE or
// UNMAP_APERTURE packet, already checked but for the pages, which the hardware checks as it reads them; list_at the
// byte offset of its page list in command RAM. False: a bad page stopped the change, and fault says which, all but for
// header and packet_offset.
bool ferry_mmu_change(const volatile uint32_t *packet, uint32_t list_at, bool unmap, struct ferry_fault *fault);

// Sets the root of a space, as the ROOT packet says.
void ferry_mmu_root(const volatile uint32_t *packet);

#endif
