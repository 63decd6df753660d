// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // F_GET_SEALS
#include "server/guest_memory.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE_BYTES 4096u

static const char *look_at(const struct guest_range *range)
{
    struct stat file;
    if (range->bytes == 0 || (range->address | range->bytes | range->offset) % PAGE_BYTES != 0 ||
        range->address + range->bytes < range->address) {
        return "a range of memory that is empty, not of whole pages or beyond the last address";
    }
    const int seals = fcntl(range->fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        return "memory in a file that may shrink; QEMU makes one that may not with memory-backend-memfd,share=on";
    }
    if (fstat(range->fd, &file) != 0 || range->offset > (uint64_t)file.st_size ||
        range->bytes > (uint64_t)file.st_size - range->offset) {
        return "a range of memory that ends behind its file";
    }
    return NULL;
}

const char *guest_memory_set(struct guest_memory *guest, const struct guest_range *ranges, unsigned count)
{
    guest_memory_drop(guest);
    for (unsigned n = 0; n < count; n++) {
        const char *wrong = look_at(&ranges[n]);
        void *memory = wrong != NULL ? MAP_FAILED
                                     : mmap(NULL, ranges[n].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ranges[n].fd,
                                            (off_t)ranges[n].offset);
        if (memory == MAP_FAILED) {
            guest_memory_drop(guest);
            return wrong != NULL ? wrong : "memory that cannot be mapped for reading and writing";
        }
        guest->range[n].address = ranges[n].address;
        guest->range[n].bytes = ranges[n].bytes;
        guest->range[n].memory = memory;
        guest->count = n + 1;
    }
    return NULL;
}

void guest_memory_drop(struct guest_memory *guest)
{
    while (guest->count != 0) {
        guest->count--;
        munmap(guest->range[guest->count].memory, guest->range[guest->count].bytes);
    }
}

unsigned char *guest_memory_find(const void *memory, uint64_t address, bool *watched)
{
    const struct guest_memory *guest = memory;
    if (watched != NULL) {
        *watched = false;
    }
    for (unsigned n = 0; n < guest->count; n++) {
        if (address - guest->range[n].address < guest->range[n].bytes) {
            return guest->range[n].memory + (address - guest->range[n].address);
        }
    }
    return NULL;
}
