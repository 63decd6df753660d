// SPDX-License-Identifier: Apache-2.0
// Where a function behind an IOMMU may reach memory: not where interrupt messages go, not beyond what the IOMMU
// translates, and not where the machine keeps addresses for itself. The kernel refuses a mapping there. Nor what a
// bridge above it has for those below it: an access there never comes to the IOMMU, and the kernel does not mind.
#define _DEFAULT_SOURCE // realpath()
#include <errno.h>
#include <inttypes.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/dma_map.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define PAGE_BYTES 4096u
#define IS_MEMORY  0x200u    // Of a resource's flags, as sysfs shows them (include/linux/ioport.h).
#define OLD_BYTES  0x100000u // Bridges may pass what is below to a display adapter (PCI-to-PCI bridges, 12.1.1).
#define QUESTIONS  4u        // Until its answer fits; it is longer where more is reserved.
#define MOST_LIST  32u       // Capabilities; more, and the list bites its tail.

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

struct ranges {
    struct ferry_dma_range *range;
    size_t count;
};

static bool add(struct ranges *ranges, uint64_t first, uint64_t last)
{
    struct ferry_dma_range *more = realloc(ranges->range, (ranges->count + 1) * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    ranges->range = more;
    more[ranges->count++] = (struct ferry_dma_range){first, last};
    return true;
}

/// false = no memory.
static bool take_out(struct ranges *ranges, uint64_t first, uint64_t last)
{
    bool done = true;
    for (size_t n = ranges->count; n-- != 0 && done;) {
        struct ferry_dma_range *range = &ranges->range[n];
        const struct ferry_dma_range all = *range;
        if (all.last < first || all.first > last) {
            continue;
        }
        if (all.first < first) {
            range->last = first - 1;
            done = all.last <= last || add(ranges, last + 1, all.last);
        } else if (all.last > last) {
            range->first = last + 1;
        } else {
            *range = ranges->range[--ranges->count];
        }
    }
    return done;
}

/// What a bridge passes down, and what it answers itself. false = no memory.
static bool take_out_bridge(struct ranges *ranges, const char *folder)
{
    char path[600], line[128];
    uint64_t first, last, flags;
    bool done = true;
    snprintf(path, sizeof(path), "%s/resource", folder);
    FILE *file = fopen(path, "re");
    while (file != NULL && done && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &first, &last, &flags) == 3 && (flags & IS_MEMORY) != 0 &&
            last > first) {
            done = take_out(ranges, first, last);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return done;
}

/// The folder of a function stands in that of the bridge above it. false = no memory.
static bool take_out_bridges(struct ranges *ranges, const struct ferry_pci_place *place)
{
    char *folder = realpath(place->folder, NULL), *end;
    unsigned number;
    bool done = take_out(ranges, 0, OLD_BYTES - 1);
    while (done && folder != NULL && (end = strrchr(folder, '/')) != NULL) {
        *end = 0;
        end = strrchr(folder, '/');
        if (end == NULL || sscanf(end, "/%*x:%*x:%*x.%x", &number) != 1) {
            break;
        }
        done = take_out_bridge(ranges, folder);
    }
    free(folder);
    return done;
}

static int make_map(const struct vfio_iommu_type1_info *info, const struct ferry_pci_place *place,
                    struct ferry_dma_map **map)
{
    const struct vfio_iommu_type1_info_cap_iova_range *told = find_ranges(info);
    const uint64_t sizes = (info->flags & VFIO_IOMMU_INFO_PGSIZES) != 0 ? info->iova_pgsizes : PAGE_BYTES;
    const uint64_t least = sizes & (0 - sizes);
    struct ranges ranges = {.count = 0};
    if (least > PAGE_BYTES) {
        ferry_problem_set("the IOMMU's pages have %llu bytes at least, and this driver's %u: a kernel with pages of 4 "
                          "KiB is needed",
                          (unsigned long long)least, PAGE_BYTES);
        return FERRY_ERROR_BACKEND;
    }
    bool done = told != NULL || add(&ranges, 0, UINT64_MAX);
    for (uint32_t n = 0; told != NULL && n < told->nr_iovas && done; n++) {
        done = add(&ranges, told->iova_ranges[n].start, told->iova_ranges[n].end);
    }
    done = done && take_out_bridges(&ranges, place);
    const int error =
        done ? ferry_dma_map_create_within(1, ranges.range, ranges.count, map) : FERRY_ERROR_NO_HOST_MEMORY;
    free(ranges.range);
    if (error == FERRY_ERROR_RANGE) {
        ferry_problem_set("the IOMMU leaves %s no addresses at which memory could be mapped", place->address);
        return FERRY_ERROR_BACKEND;
    }
    return error;
}

int ferry_pci_dma_map(int container, const struct ferry_pci_place *place, struct ferry_dma_map **map)
{
    struct vfio_iommu_type1_info *info = ask(container);
    if (info == NULL) {
        ferry_problem_set("VFIO_IOMMU_GET_INFO: %s", strerror(errno));
        return FERRY_ERROR_BACKEND;
    }
    const int error = make_map(info, place, map);
    free(info);
    return error;
}
