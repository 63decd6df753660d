// SPDX-License-Identifier: Apache-2.0
// Where a function behind an IOMMU may reach memory: not where interrupt messages go, not beyond what the IOMMU
// translates, and not where the machine keeps addresses for itself. The kernel refuses a mapping there.
#include <errno.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>

#include "link/dma_map.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u
#define QUESTIONS  4u  // Until its answer fits; it is longer where more is reserved.
#define MOST_LIST  32u // Capabilities; more, and the list bites its tail.

/// What the IOMMU says of itself, with all that it has to say; the caller's to free. NULL: errno says why.
static struct vfio_iommu_type1_info *ask(int container)
{
    uint32_t bytes = sizeof(struct vfio_iommu_type1_info);
    struct vfio_iommu_type1_info *info = NULL;
    // It says how much there is; between two questions that can have become more.
    for (unsigned n = 0; n < QUESTIONS; n++) {
        struct vfio_iommu_type1_info *more = realloc(info, bytes);
        if (more == NULL) {
            break;
        }
        info = more;
        memset(info, 0, bytes);
        info->argsz = bytes;
        if (ferry_vfio_system->ioctl(container, VFIO_IOMMU_GET_INFO, info) != 0) {
            break;
        }
        if (info->argsz <= bytes) {
            info->argsz = bytes;
            return info;
        }
        bytes = info->argsz;
    }
    free(info);
    return NULL;
}

/// The ranges that the device may reach; NULL: a kernel before 5.4 does not say.
static const struct vfio_iommu_type1_info_cap_iova_range *find_ranges(const struct vfio_iommu_type1_info *info)
{
    const unsigned char *bytes = (const unsigned char *)info;
    const struct vfio_iommu_type1_info_cap_iova_range *ranges;
    const struct vfio_info_cap_header *header;
    uint32_t at = (info->flags & VFIO_IOMMU_INFO_CAPS) != 0 ? info->cap_offset : 0;
    for (unsigned n = 0; n < MOST_LIST && at != 0 && at <= info->argsz - sizeof(*header); n++) {
        header = (const void *)(bytes + at);
        ranges = (const void *)header;
        if (header->id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE && info->argsz - at >= sizeof(*ranges) &&
            ranges->nr_iovas <= (info->argsz - at - sizeof(*ranges)) / sizeof(ranges->iova_ranges[0])) {
            return ranges;
        }
        at = header->next;
    }
    return NULL;
}

static int make_map(const struct vfio_iommu_type1_info *info, const char *address, struct ferry_dma_map **map)
{
    const struct vfio_iommu_type1_info_cap_iova_range *told = find_ranges(info);
    const uint64_t sizes = (info->flags & VFIO_IOMMU_INFO_PGSIZES) != 0 ? info->iova_pgsizes : PAGE_BYTES;
    const uint64_t least = sizes & (0 - sizes);
    if (least > PAGE_BYTES) {
        ferry_problem_set("the IOMMU's pages have %llu bytes at least, and this driver's %u: a kernel with pages of 4 "
                          "KiB is needed",
                          (unsigned long long)least, PAGE_BYTES);
        return FERRY_ERROR_BACKEND;
    }
    if (told == NULL) {
        return ferry_dma_map_create(1, map);
    }
    struct ferry_dma_range *range = calloc(told->nr_iovas + 1, sizeof(*range));
    if (range == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    for (uint32_t n = 0; n < told->nr_iovas; n++) {
        range[n] = (struct ferry_dma_range){told->iova_ranges[n].start, told->iova_ranges[n].end};
    }
    const int error = ferry_dma_map_create_within(1, range, told->nr_iovas, map);
    free(range);
    if (error == FERRY_ERROR_RANGE) {
        ferry_problem_set("the IOMMU leaves %s no addresses at which memory could be mapped", address);
        return FERRY_ERROR_BACKEND;
    }
    return error;
}

int ferry_pci_dma_map(int container, const char *address, struct ferry_dma_map **map)
{
    struct vfio_iommu_type1_info *info = ask(container);
    if (info == NULL) {
        ferry_problem_set("VFIO_IOMMU_GET_INFO: %s", strerror(errno));
        return FERRY_ERROR_BACKEND;
    }
    const int error = make_map(info, address, map);
    free(info);
    return error;
}
