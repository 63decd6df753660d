// SPDX-License-Identifier: Apache-2.0
// A folder with as much of /sys and /proc in it as the back end `pci` looks at, and a PCI function made of files.
#ifndef PCI_TREE_H
#define PCI_TREE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry_contract.h"

#define TREE_AT     "0000:01:00.0"
#define TREE_FOLDER "sys/bus/pci/devices/" TREE_AT
#define TREE_BAR0   0x10000u
#define TREE_BAR2   0x100000u

static char tree[64];

/// The path of a file in the tree; good until the next call but three.
static inline const char *tree_path(const char *format, ...)
{
    static char paths[4][256];
    static unsigned which;
    char *path = paths[which++ % 4];
    const int length = snprintf(path, 256, "%s/", tree);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + length, (size_t)(256 - length), format, arguments);
    va_end(arguments);
    return path;
}

static inline void tree_make_folders(const char *file)
{
    char path[256];
    snprintf(path, sizeof(path), "%s", file);
    for (char *slash = path + strlen(tree) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
}

static inline void tree_put(const char *file, const void *data, size_t bytes)
{
    char path[256];
    snprintf(path, sizeof(path), "%s", tree_path("%s", file));
    tree_make_folders(path);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes) {
        abort();
    }
    close(fd);
}

static inline void tree_text(const char *file, const char *text)
{
    tree_put(file, text, strlen(text));
}

static inline void tree_link(const char *file, const char *target)
{
    char path[256];
    snprintf(path, sizeof(path), "%s", tree_path("%s", file));
    tree_make_folders(path);
    unlink(path);
    if (symlink(target, path) != 0) {
        abort();
    }
}

static inline void tree_size(const char *file, size_t bytes)
{
    tree_put(file, "", 0);
    if (truncate(tree_path("%s", file), (off_t)bytes) != 0) {
        abort();
    }
}

/// A word of a file of the function's.
static inline uint32_t tree_word(const char *file, off_t at)
{
    uint32_t word = 0xdeadbeefu;
    const int fd = open(tree_path(TREE_FOLDER "/%s", file), O_RDONLY);
    if (fd < 0 || pread(fd, &word, 4, at) != 4) {
        abort();
    }
    close(fd);
    return word;
}

static inline void tree_set_word(const char *file, off_t at, uint32_t word)
{
    const int fd = open(tree_path(TREE_FOLDER "/%s", file), O_RDWR);
    if (fd < 0 || pwrite(fd, &word, 4, at) != 4) {
        abort();
    }
    close(fd);
}

/// Configuration space: identity, and a list of capabilities with MSI as its second.
static inline void tree_config(uint32_t space[64])
{
    memset(space, 0, 256);
    space[0] = (uint32_t)FERRY_CONFIG_SPACE_ID_DEVICE_RESET << 16 | FERRY_CONFIG_SPACE_ID_VENDOR_RESET;
    space[FERRY_CONFIG_SPACE_COMMAND / 4] = 0x00100000u;
    space[FERRY_CONFIG_SPACE_CAPABILITY / 4] = FERRY_CONFIG_SPACE_PCIE;
    space[FERRY_CONFIG_SPACE_PCIE / 4] = 0x10u | FERRY_CONFIG_SPACE_MSI << 8;
    space[FERRY_CONFIG_SPACE_MSI / 4] = 0x01800005u;
}

/// A function without a driver and without an IOMMU, and a kernel that moves no locked memory.
static inline void tree_make(void)
{
    uint32_t space[64];
    snprintf(tree, sizeof(tree), "/tmp/ferry-pci-XXXXXX");
    if (mkdtemp(tree) == NULL || chmod(tree, 0755) != 0) {
        abort();
    }
    tree_text(TREE_FOLDER "/vendor", "0x1209\n");
    tree_text(TREE_FOLDER "/device", "0xfe01\n");
    tree_text(TREE_FOLDER "/current_link_speed", "2.5 GT/s PCIe\n");
    tree_text(TREE_FOLDER "/current_link_width", "1\n");
    tree_text(TREE_FOLDER "/enable", "");
    tree_text(TREE_FOLDER "/reset", "");
    tree_config(space);
    tree_put(TREE_FOLDER "/config", space, sizeof(space));
    tree_size(TREE_FOLDER "/resource0", TREE_BAR0);
    tree_size(TREE_FOLDER "/resource2", TREE_BAR2);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, FERRY_BAR0_MAGIC_RESET);
    tree_set_word("resource0", FERRY_BAR0_CONTRACT_VERSION, FERRY_CONTRACT_VERSION);
    tree_text("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    tree_text("proc/sys/vm/compact_unevictable_allowed", "0\n");
    tree_text("proc/self/pagemap", "");
}

static inline void tree_drop(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", tree);
    if (system(command) != 0) {
        abort();
    }
}

#endif
