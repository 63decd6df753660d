// SPDX-License-Identifier: Apache-2.0
// Changes of the aperture table, and roots of page tables. The hardware walks the list; the core names
// first page, count and list.
#include "mmu.h"

#include "hal.h"

bool ferry_mmu_change(const volatile uint32_t *packet, uint32_t list_at, bool unmap, struct ferry_fault *fault)
{
    uint32_t control = 0;

    hal_write(FERRY_CORE_MMU_FIRST, packet[FERRY_PACKET_MAP_APERTURE_FIRST_PAGE / 4]);
    hal_write(FERRY_CORE_MMU_COUNT, packet[FERRY_PACKET_MAP_APERTURE_COUNT / 4]);
    if (unmap) {
        hal_write(FERRY_CORE_MMU_DUMMY_LOW, packet[FERRY_PACKET_UNMAP_APERTURE_DUMMY_PAGE / 4]);
        hal_write(FERRY_CORE_MMU_DUMMY_HIGH, packet[FERRY_PACKET_UNMAP_APERTURE_DUMMY_PAGE / 4 + 1]);
        control = FERRY_CORE_MMU_CONTROL_UNMAP_MASK;
    } else {
        hal_write(FERRY_CORE_MMU_LIST, list_at);
        // Compared rather than masked, which would become a shift; no other bit of PLACES is set.
        if (packet[FERRY_PACKET_MAP_APERTURE_PLACES / 4] == FERRY_PACKET_PLACES_SNOOP_MASK)
            control = FERRY_CORE_MMU_CONTROL_SNOOP_MASK;
    }
    hal_write(FERRY_CORE_MMU_CONTROL, control);
    // Hardware alone ends this, one entry every few cycles, whatever the engine and the host do.
    hal_write(FERRY_CORE_BUSY, 0);
    while (hal_read(FERRY_CORE_MMU_BUSY)) {
    }
    hal_write(FERRY_CORE_BUSY, 1);

    uint32_t end = hal_read(FERRY_CORE_MMU_FAULT);

    if (!(end & FERRY_CORE_MMU_FAULT_VALID_MASK))
        return true;
    *fault = (struct ferry_fault){
        .kind = FERRY_FAULT_KIND_RANGE,
        .address_kind = FERRY_ADDRESS_KIND_SYSTEM,
        .address_low = hal_read(FERRY_CORE_MMU_FAULT_ENTRY_LOW),
        .address_high = hal_read(FERRY_CORE_MMU_FAULT_ENTRY_HIGH),
        .list_index = FERRY_GET(FERRY_CORE_MMU_FAULT_INDEX, end),
    };
    return false;
}

void ferry_mmu_root(const volatile uint32_t *packet)
{
    hal_write(FERRY_CORE_SPACE_PLACES, packet[FERRY_PACKET_ROOT_PLACES / 4]);
    hal_write(FERRY_CORE_SPACE_TABLE_LOW, packet[FERRY_PACKET_ROOT_TABLE / 4]);
    hal_write(FERRY_CORE_SPACE_TABLE_HIGH, packet[FERRY_PACKET_ROOT_TABLE / 4 + 1]);
    hal_write(FERRY_CORE_SPACE_ROOT, packet[FERRY_PACKET_ROOT_SPACE / 4]);
}
