// SPDX-License-Identifier: Apache-2.0
// The machine's device is its Verilog, with the firmware that goes into a release. Nobody reads its aperture table from
// outside: what stands there is taken from the packets that it gets, in their order. Where the device's own table says
// anything else, content that jobs write there is not where a test looks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry_contract.h"
#include "kmd_device.h"

#define APERTURE_MOST 4096u // pages of a test's aperture

const char *const kmd_device_backend = "sim";
const uint64_t kmd_device_idle_cycles = 300; // millions take seconds

static uint64_t aperture[APERTURE_MOST]; // of the machine that is open

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "kmd machine on the simulation: %s\n", what);
        abort();
    }
}

const char *kmd_device_leaves_out(const char *test)
{
    return strcmp(test, "many_that_leave_together_are_not_looked_at_again_and_again") == 0
               ? "counts what the manager does, with more than 800 allocations"
               : NULL;
}

unsigned machine_rounds(unsigned many, unsigned few)
{
    (void)many; // nor in the long form, which has more seeds instead
    return few;
}

int kmd_device_open(struct machine *machine, const struct ferry_link_config *config)
{
    must(machine->options.aperture_bytes / PAGE_SIZE <= APERTURE_MOST, "an aperture that is kept account of");
    memset(aperture, 0, sizeof(aperture));
    return ferry_link_open(kmd_device_backend, config, &machine->link);
}

bool kmd_device_hang(struct machine *machine, enum kmd_device_hang where, unsigned count)
{
    (void)machine;
    (void)count;
    must(where == KMD_HANG_NOW, "nothing makes it hang inside a job");
    return false;
}

uint64_t kmd_device_aperture_entry(const struct machine *machine, uint32_t page)
{
    (void)machine;
    must(page < APERTURE_MOST, "a page of the aperture");
    return aperture[page];
}

void kmd_device_set_aperture_entry(struct machine *machine, uint32_t page, uint64_t entry)
{
    (void)machine;
    (void)page;
    (void)entry;
    must(false, "no register changes its aperture table");
}

static uint64_t word_at(const struct machine *machine, uint64_t bus, uint32_t bytes)
{
    const void *memory = machine->link->operations->dma_find(machine->link, bus);
    uint64_t value = 0;
    must(memory != NULL, "a buffer that the device reaches");
    memcpy(&value, memory, bytes);
    return value;
}

static void follow(const struct machine *machine, uint64_t packet, bool unmap)
{
    uint64_t first = word_at(machine, packet + FERRY_PACKET_MAP_APERTURE_FIRST_PAGE, 4),
             count = word_at(machine, packet + FERRY_PACKET_MAP_APERTURE_COUNT, 4),
             places = word_at(machine, packet + FERRY_PACKET_MAP_APERTURE_PLACES, 4);
    uint64_t flags =
        FERRY_PUT(FERRY_APERTURE_ENTRY_ENTRY_VALID, UINT64_C(1)) |
        FERRY_PUT(FERRY_APERTURE_ENTRY_ENTRY_SNOOP, (uint64_t)FERRY_GET(FERRY_PACKET_PLACES_SNOOP, places));
    must(first + count <= APERTURE_MOST, "a packet of the aperture that is");
    for (uint64_t i = 0; i < count; i++)
        aperture[first + i] = flags | word_at(machine,
                                              packet + (unmap ? FERRY_PACKET_UNMAP_APERTURE_DUMMY_PAGE
                                                              : FERRY_PACKET_MAP_APERTURE_PAGE + 8 * i),
                                              8);
}

void kmd_device_gets(struct machine *machine, const DXGKARG_SUBMITCOMMAND *argument)
{
    uint64_t at = (uint64_t)argument->DmaBufferPhysicalAddress.QuadPart + argument->DmaBufferSubmissionStartOffset,
             end = (uint64_t)argument->DmaBufferPhysicalAddress.QuadPart + argument->DmaBufferSubmissionEndOffset;
    while (argument->Flags.Paging && at < end) {
        uint32_t header = (uint32_t)word_at(machine, at, 4), opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header),
                 words = FERRY_GET(FERRY_PACKET_HEADER_WORDS, header);
        // Behind a fault that was planted nothing is carried out.
        if (words == 0 || (opcode & 0xFF) == 0xEE)
            break;
        if (opcode == FERRY_OPCODE_MAP_APERTURE || opcode == FERRY_OPCODE_UNMAP_APERTURE)
            follow(machine, at, opcode == FERRY_OPCODE_UNMAP_APERTURE);
        at += words * UINT64_C(4);
    }
}
