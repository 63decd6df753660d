// SPDX-License-Identifier: Apache-2.0
// The serial ports of USB devices. None is opened: opening moves control lines, which resets what some boards have
// behind them.
#define _GNU_SOURCE // strverscmp()
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/candidate.h"
#include "link/serial_port.h"

#define NAME_BYTES 32u // Of a port, as in /dev.

struct ports {
    char (*name)[NAME_BYTES];
    size_t count;
};

/// Ports that do not fit are not told of.
static void add(struct ports *ports, const char *name)
{
    for (size_t n = 0; n < ports->count; n++) {
        if (strcmp(ports->name[n], name) == 0) {
            return;
        }
    }
    char(*more)[NAME_BYTES] = realloc(ports->name, (ports->count + 1) * sizeof(*more));
    if (more == NULL) {
        return;
    }
    ports->name = more;
    snprintf(ports->name[ports->count++], NAME_BYTES, "%s", name);
}

/// Those of a folder: by their names, or by the names of what is linked to there.
static void add_folder(struct ports *ports, const char *root, const char *path, bool links)
{
    char folder[256], target[256];
    struct dirent *entry;
    snprintf(folder, sizeof(folder), "%s%s", root, path);
    DIR *open = opendir(folder);
    while (open != NULL && (entry = readdir(open)) != NULL) {
        const char *name = entry->d_name;
        if (links) {
            const ssize_t length = readlinkat(dirfd(open), entry->d_name, target, sizeof(target) - 1);
            target[length < 0 ? 0 : length] = 0;
            const char *slash = strrchr(target, '/');
            name = slash == NULL ? "" : slash + 1;
        } else if (strncmp(name, "ttyUSB", 6) != 0 && strncmp(name, "ttyACM", 6) != 0) {
            continue;
        }
        if (name[0] != 0 && strlen(name) < NAME_BYTES) {
            add(ports, name);
        }
    }
    if (open != NULL) {
        closedir(open);
    }
}

static int by_number(const void *one, const void *other)
{
    return strverscmp(one, other);
}

/// The first line of a file in the folder of the USB device to which the port belongs; "" = there is none.
static void read_line(const char *root, const char *port, const char *file, char *line, size_t room)
{
    // Between the port's own folder and the device's is that of the interface; ttyUSB has one more.
    static const char *const up[] = {"..", "../.."};
    line[0] = 0;
    for (unsigned n = 0; n < sizeof(up) / sizeof(up[0]) && line[0] == 0; n++) {
        char path[400];
        snprintf(path, sizeof(path), "%s/sys/class/tty/%s/device/%s/%s", root, port, up[n], file);
        FILE *open = fopen(path, "r");
        if (open != NULL && fgets(line, (int)room, open) == NULL) {
            line[0] = 0;
        }
        if (open != NULL) {
            fclose(open);
        }
    }
    line[strcspn(line, "\n")] = 0;
}

static void tell(const char *root, const char *port, ferry_candidate_callback *callback, void *context)
{
    struct ferry_candidate candidate = {0};
    char vendor[8], device[8], maker[48], product[64], path[300];
    snprintf(path, sizeof(path), "%s/dev/%s", root, port);
    snprintf(candidate.backend, sizeof(candidate.backend), "uart:%.100s", path);
    read_line(root, port, "idVendor", vendor, sizeof(vendor));
    read_line(root, port, "idProduct", device, sizeof(device));
    read_line(root, port, "manufacturer", maker, sizeof(maker));
    read_line(root, port, "product", product, sizeof(product));
    snprintf(candidate.what, sizeof(candidate.what), "serial port%s%s%s%s%s%s%s%s", vendor[0] == 0 ? "" : ", USB ",
             vendor, vendor[0] == 0 ? "" : ":", vendor[0] == 0 ? "" : device, maker[0] == 0 ? "" : ", ", maker,
             product[0] == 0 ? "" : ", ", product);
    ferry_candidate_judge(&candidate, ferry_serial_look(path), FERRY_REACH_UNKNOWN);
    callback(context, &candidate);
}

void ferry_serial_list(const char *root, ferry_candidate_callback *callback, void *context)
{
    struct ports ports = {0};
    add_folder(&ports, root, "/dev", false);
    add_folder(&ports, root, "/dev/serial/by-id", true);
    if (ports.count != 0) {
        qsort(ports.name, ports.count, sizeof(*ports.name), by_number);
    }
    for (size_t n = 0; n < ports.count; n++) {
        tell(root, ports.name[n], callback, context);
    }
    free(ports.name);
}
