// SPDX-License-Identifier: Apache-2.0
// The functions of this driver's that are in slots: nothing is opened, since opening one locks it, and may reset it.
#include "ferry_contract.h"
#include "link/candidate.h"
#include "link/pci_function.h"

static int look(const struct ferry_pci_place *place)
{
    bool vfio;
    const int error = ferry_pci_way(place, &vfio);
    if (error != FERRY_OK) {
        return error;
    }
    return vfio ? ferry_pci_look_vfio(place) : ferry_pci_look_sysfs(place);
}

void ferry_pci_list(const char *root, ferry_candidate_callback *callback, void *context)
{
    char last[16] = "";
    struct ferry_pci_place place;
    while (ferry_pci_next(root, last, &place)) {
        struct ferry_candidate candidate = {0};
        char group[32] = "no IOMMU", lanes[48] = "";
        snprintf(last, sizeof(last), "%s", place.address);
        snprintf(candidate.backend, sizeof(candidate.backend), "pci:%s", place.address);
        if (place.group >= 0) {
            snprintf(group, sizeof(group), "IOMMU group %d", place.group);
        }
        if (place.width != 0) {
            snprintf(lanes, sizeof(lanes), ", %s x%u", place.speed, place.width);
        }
        snprintf(candidate.what, sizeof(candidate.what), "PCI %04x:%04x, %s%s%.40s%s",
                 (unsigned)FERRY_CONFIG_SPACE_ID_VENDOR_RESET, (unsigned)FERRY_CONFIG_SPACE_ID_DEVICE_RESET, group,
                 place.driver[0] == 0 ? "" : ", driver ", place.driver, lanes);
        ferry_candidate_judge(&candidate, look(&place), FERRY_REACH_READY);
        callback(context, &candidate);
    }
}
