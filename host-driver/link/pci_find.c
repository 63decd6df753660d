// SPDX-License-Identifier: Apache-2.0
// Functions as sysfs shows them.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ferry/error.h"
#include "ferry_contract.h"
#include "link/bar_guard.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define CAPABILITY_MSI 0x05u
#define MOST_LIST      48u // Capabilities; more do not fit, so the list bites its tail.
#define OUR_VENDOR     (unsigned)FERRY_CONFIG_SPACE_ID_VENDOR_RESET
#define OUR_DEVICE     (unsigned)FERRY_CONFIG_SPACE_ID_DEVICE_RESET

const char *ferry_pci_root = "";

/// The first line of a file in the function's folder; "" = there is none.
static void read_line(const struct ferry_pci_place *place, const char *name, char *line, size_t room)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, (int)room, file) == NULL) {
        line[0] = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    line[strcspn(line, "\n")] = 0;
}

static unsigned read_number(const struct ferry_pci_place *place, const char *name)
{
    char line[32];
    read_line(place, name, line, sizeof(line));
    return (unsigned)strtoul(line, NULL, 0);
}

/// The last part of what a link in the folder leads to; "" = there is none.
static void read_link(const struct ferry_pci_place *place, const char *name, char *end, size_t room)
{
    char path[600], target[512];
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    const ssize_t length = readlink(path, target, sizeof(target) - 1);
    target[length < 0 ? 0 : length] = 0;
    const char *slash = strrchr(target, '/');
    snprintf(end, room, "%.*s", (int)room - 1, slash == NULL ? target : slash + 1);
}

static void look_at(struct ferry_pci_place *place)
{
    char text[64], path[600];
    read_link(place, "driver", place->driver, sizeof(place->driver));
    read_link(place, "iommu_group", text, sizeof(text));
    place->group = text[0] == 0 ? -1 : atoi(text);
    // With enable_unsafe_noiommu_mode the kernel makes a group where there is no IOMMU, and one without type 1.
    read_line(place, "iommu_group/name", text, sizeof(text));
    place->group = strcmp(text, "vfio-noiommu") == 0 ? -1 : place->group;
    read_line(place, "current_link_speed", place->speed, sizeof(place->speed));
    place->width = read_number(place, "current_link_width");
    snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", place->root);
    FILE *file = fopen(path, "r");
    place->locked_down = file != NULL && fgets(text, sizeof(text), file) != NULL && strchr(text, '[') != NULL &&
                         strstr(text, "[none]") == NULL;
    if (file != NULL) {
        fclose(file);
    }
}

static void set_place(struct ferry_pci_place *place, const char *root, const char *name)
{
    *place = (struct ferry_pci_place){.root = root};
    snprintf(place->address, sizeof(place->address), "%s", name);
    snprintf(place->folder, sizeof(place->folder), "%s/sys/bus/pci/devices/%s", root, place->address);
}

static bool is_ours(const struct ferry_pci_place *place)
{
    return read_number(place, "vendor") == OUR_VENDOR && read_number(place, "device") == OUR_DEVICE;
}

/// DDDD:BB:DD.F, or without DDDD:, of hexadecimal digits. Linux numbers domains that firmware has no number for from
/// 10000 on.
static bool read_address(const char *text, char name[16])
{
    unsigned domain = 0, bus, device, function;
    int end = 0;
    if (sscanf(text, "%6x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 || text[end] != 0) {
        domain = 0;
        end = 0;
        if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3 || text[end] != 0) {
            return false;
        }
    }
    snprintf(name, 16, "%04x:%02x:%02x.%x", domain & 0xffffff, bus & 0xff, device & 0x1f, function & 7);
    return device < 32 && function < 8;
}

bool ferry_pci_next(const char *root, const char *after, struct ferry_pci_place *place)
{
    char path[512], best[16] = "";
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strlen(entry->d_name) < sizeof(best) && entry->d_name[0] != '.') {
            set_place(place, root, entry->d_name);
            if (is_ours(place) && strcmp(place->address, after) > 0 &&
                (best[0] == 0 || strcmp(place->address, best) < 0)) {
                memcpy(best, place->address, sizeof(best));
            }
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (best[0] != 0) {
        set_place(place, root, best);
        look_at(place);
    }
    return best[0] != 0;
}

static int find_first(const char *root, struct ferry_pci_place *place)
{
    if (!ferry_pci_next(root, "", place)) {
        ferry_problem_set("no PCI device %04x:%04x is in this machine; `lspci -nn` lists those that are", OUR_VENDOR,
                          OUR_DEVICE);
        return FERRY_ERROR_BACKEND;
    }
    return FERRY_OK;
}

static int find_at(const char *root, const char *address, struct ferry_pci_place *place)
{
    char name[16];
    if (!read_address(address, name)) {
        ferry_problem_set("'%.60s' is no address of a PCI function as in 0000:01:00.0", address);
        return FERRY_ERROR_BACKEND;
    }
    set_place(place, root, name);
    if (access(place->folder, F_OK) != 0) {
        ferry_problem_set("there is no PCI device %s; `lspci -nn -d %04x:%04x` lists those of this driver", name,
                          OUR_VENDOR, OUR_DEVICE);
        return FERRY_ERROR_BACKEND;
    }
    if (!is_ours(place)) {
        ferry_problem_set("%s is %04x:%04x, and this driver's are %04x:%04x; `lspci -nn` lists all", name,
                          read_number(place, "vendor"), read_number(place, "device"), OUR_VENDOR, OUR_DEVICE);
        return FERRY_ERROR_BACKEND;
    }
    look_at(place);
    return FERRY_OK;
}

int ferry_pci_find(const char *root, const char *address, struct ferry_pci_place *place)
{
    return address == NULL ? find_first(root, place) : find_at(root, address, place);
}

int ferry_pci_way(const struct ferry_pci_place *place, bool *vfio)
{
    const char *at = place->address;
    *vfio = strcmp(place->driver, "vfio-pci") == 0;
    if (*vfio && place->group >= 0) {
        return FERRY_OK;
    }
    if (*vfio) {
        ferry_problem_set(
            "vfio-pci has %s, but there is no IOMMU: switch it on in the firmware's settings, or `echo %s "
            "| sudo tee /sys/bus/pci/drivers/vfio-pci/unbind`, and it is reached through sysfs, as root",
            at, at);
    } else if (place->driver[0] != 0) {
        ferry_problem_set("%s is bound to the driver %s: `echo %s | sudo tee /sys/bus/pci/drivers/%s/unbind`", at,
                          place->driver, at, place->driver);
    } else if (place->group >= 0) {
        ferry_problem_set("%s is behind an IOMMU: `sudo modprobe vfio-pci; echo vfio-pci | sudo tee "
                          "/sys/bus/pci/devices/%s/driver_override; echo %s | sudo tee /sys/bus/pci/drivers_probe`",
                          at, at, at);
    } else if (place->locked_down) {
        ferry_problem_set(
            "the kernel is locked down (Secure Boot), and shows no device to programs but through an "
            "IOMMU: switch that on in the firmware's settings and use vfio-pci, or switch Secure Boot off");
    } else {
        return FERRY_OK;
    }
    return FERRY_ERROR_BACKEND;
}

// ---- What both ways do ------------------------------------------------------------------------------------------

bool ferry_pci_enable(struct ferry_pci_function *function, bool memory, bool master)
{
    const uint32_t both = FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_MASK | FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK;
    uint32_t command;
    if (!function->operations->config_read(function, FERRY_CONFIG_SPACE_COMMAND, &command)) {
        return false;
    }
    // The upper half are errors, which a written 1 would clear.
    command &= 0xffffu & ~both;
    command |= (memory ? FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_MASK : 0) |
               (master ? FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK : 0);
    return function->operations->config_write(function, FERRY_CONFIG_SPACE_COMMAND, command);
}

int ferry_pci_no_config(const struct ferry_pci_place *place)
{
    ferry_problem_set("configuration space of %s cannot be written", place->address);
    return FERRY_ERROR_BACKEND;
}

uint32_t ferry_pci_msi(struct ferry_pci_function *function)
{
    uint32_t word = 0;
    if (!function->operations->config_read(function, FERRY_CONFIG_SPACE_CAPABILITY, &word)) {
        return 0;
    }
    uint32_t at = word & 0xfcu;
    for (unsigned n = 0; n < MOST_LIST && at != 0; n++) {
        if (!function->operations->config_read(function, at, &word)) {
            return 0;
        }
        if ((word & 0xffu) == CAPABILITY_MSI) {
            return at;
        }
        at = word >> 8 & 0xfcu;
    }
    return 0;
}

void ferry_pci_guard_bars(struct ferry_pci_function *function)
{
    for (unsigned n = 0; n < FERRY_PCI_BARS; n++) {
        if (function->bar[n].memory != NULL) {
            (void)ferry_bar_guard(function->bar[n].memory, function->bar[n].bytes);
        }
    }
}

void ferry_pci_unmap_bars(struct ferry_pci_function *function)
{
    for (unsigned n = 0; n < FERRY_PCI_BARS; n++) {
        if (function->bar[n].memory != NULL) {
            ferry_bar_unguard(function->bar[n].memory);
            munmap((void *)(uintptr_t)function->bar[n].memory, function->bar[n].bytes);
        }
    }
}
