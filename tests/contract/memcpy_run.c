// SPDX-License-Identifier: Apache-2.0
// Carrying out the memcpy miniport's packets, and writing those of user jobs.
#include <stdlib.h>
#include <string.h>

#include "memcpy_machine.h"

static void run_list(struct machine *machine, const struct packet *packet, const uint8_t *list)
{
    for (uint32_t i = 0; i < packet->pages; i++) {
        uint64_t pfn;
        memcpy(&pfn, list + i * sizeof(pfn), sizeof(pfn));
        uint64_t at = (uint64_t)i * PAGE_SIZE, size = packet->size - at < PAGE_SIZE ? packet->size - at : PAGE_SIZE;
        uint8_t *host = mini_bus(machine, pfn << PAGE_SHIFT);
        uint64_t run;
        uint8_t *gpu = mini_gpu(machine, (packet->list == 1 ? packet->to : packet->from) + at, &run);
        if (!host || !gpu || run < size) {
            mini_error(machine, "a paging buffer uses a page that is not mapped (list %u, page %u of %u)", packet->list,
                       i, packet->pages);
            return;
        }
        if (packet->list == 1)
            memcpy(gpu, host, size);
        else
            memcpy(host, gpu, size);
    }
}

// Byte by byte, each to its place.
static void run_tiles(struct machine *machine, const struct packet *packet, const uint8_t *list)
{
    const struct mini_allocation *allocation = (const struct mini_allocation *)(uintptr_t)packet->pattern;
    uint64_t base = packet->list == 1 ? packet->from : packet->to, run;
    uint64_t first = (packet->list == 1 ? packet->to : packet->from) - base;
    uint8_t *tiles = mini_gpu(machine, base, &run);
    if (!tiles || run < allocation->bytes) {
        mini_error(machine, "a tiled allocation is not in place");
        return;
    }
    for (uint32_t i = 0; i < packet->pages; i++) {
        uint64_t pfn;
        memcpy(&pfn, list + i * sizeof(pfn), sizeof(pfn));
        uint8_t *host = mini_bus(machine, pfn << PAGE_SHIFT);
        if (!host) {
            mini_error(machine, "a paging buffer uses a page that is not mapped (tiles, page %u)", i);
            return;
        }
        for (uint64_t byte = 0; byte < PAGE_SIZE; byte++) {
            uint8_t *tile = &tiles[allocation->tiles[first + (uint64_t)i * PAGE_SIZE + byte]];
            *(packet->list == 1 ? tile : &host[byte]) = *(packet->list == 1 ? &host[byte] : tile);
        }
    }
}

// The same by addresses; each page is looked up where its first byte goes by.
static void run_virtual_tiles(struct machine *machine, const struct packet *packet)
{
    const struct mini_allocation *allocation = (const struct mini_allocation *)(uintptr_t)packet->pattern;
    size_t pages = (size_t)(allocation->bytes / PAGE_SIZE);
    uint8_t **found = calloc(2 * pages, sizeof(*found));
    uint64_t run, first = packet->list * (uint64_t)PAGE_SIZE;
    for (uint64_t at = first; at < first + packet->size; at++) {
        uint64_t tile = allocation->tiles[at];
        uint64_t to = packet->kind == PACKET_SWIZZLE ? tile : at, from = packet->kind == PACKET_SWIZZLE ? at : tile;
        uint8_t **to_page = &found[to / PAGE_SIZE], **from_page = &found[pages + from / PAGE_SIZE];
        if (!*to_page)
            *to_page = mini_gpu(machine, packet->to + to / PAGE_SIZE * PAGE_SIZE, &run);
        if (!*from_page)
            *from_page = mini_gpu(machine, packet->from + from / PAGE_SIZE * PAGE_SIZE, &run);
        if (!*to_page || !*from_page)
            break;
        (*to_page)[to % PAGE_SIZE] = (*from_page)[from % PAGE_SIZE];
    }
    free(found);
}

static void fill(struct machine *machine, uint64_t to, uint64_t size, uint32_t pattern)
{
    for (uint64_t at = 0; at < size; at += 4) {
        uint64_t run;
        uint8_t *gpu = mini_gpu(machine, to + at, &run);
        if (!gpu)
            return;
        memcpy(gpu, &pattern, size - at < 4 ? size - at : 4);
    }
}

static void run_packet(struct machine *machine, const struct packet *packet, const uint8_t *list)
{
    uint64_t run;
    uint8_t *at;
    switch (packet->kind) {
    case PACKET_MOVE:
        if (packet->list != 0)
            run_list(machine, packet, list);
        else
            mini_copy(machine, packet->to, packet->from, packet->size);
        break;
    case PACKET_TILES: run_tiles(machine, packet, list); break;
    case PACKET_SWIZZLE:
    case PACKET_UNSWIZZLE: run_virtual_tiles(machine, packet); break;
    case PACKET_JOB_COPY: mini_copy(machine, packet->to, packet->from, packet->size); break;
    case PACKET_FILL:
    case PACKET_JOB_FILL: fill(machine, packet->to, packet->size, (uint32_t)packet->pattern); break;
    case PACKET_NOTHING: break;
    case PACKET_READ:
        machine->reads++;
        mini_gpu(machine, packet->from, &run);
        break;
    case PACKET_WRITE:
        machine->writes++;
        at = mini_gpu(machine, packet->to, &run);
        if (at)
            memset(at, 0x77, machine->knobs.physical_bytes ? machine->knobs.physical_bytes : 8);
        break;
    case PACKET_MAP:
        for (uint32_t i = 0; i < packet->pages; i++) {
            struct mini_entry *entry = &machine->aperture[packet->to / PAGE_SIZE + i];
            memcpy(&entry->pfn, list + i * sizeof(uint64_t), sizeof(uint64_t));
            entry->coherent = packet->pattern != 0;
        }
        break;
    case PACKET_UNMAP:
        for (uint64_t i = 0; i < packet->size / PAGE_SIZE; i++)
            machine->aperture[packet->to / PAGE_SIZE + i] = (struct mini_entry){.pfn = packet->pattern};
        break;
    case PACKET_ENTRIES: mini_run_entries(machine, packet, list); break;
    case PACKET_FORGET: mini_forget(packet); break;
    case PACKET_PROCESS: machine->space = (struct mini_process *)(uintptr_t)packet->pattern; break;
    default: mini_error(machine, "packet of kind %x", packet->kind);
    }
}

bool mini_execute(struct machine *machine, struct mini_submission *work, unsigned packets)
{
    for (unsigned done = 0; work->start < work->end; done++) {
        // The buffer is read where the bus address says it is, not where the build call wrote.
        const uint8_t *bytes = mini_bus(machine, work->address + work->start);
        struct packet packet;
        if (packets != 0 && done == packets)
            return false;
        if (!bytes || work->end - work->start < sizeof(packet)) {
            mini_error(machine, "a DMA buffer is cut short or not mapped");
            return true;
        }
        memcpy(&packet, bytes, sizeof(packet));
        if (packet.bytes < sizeof(packet) || packet.bytes > work->end - work->start) {
            mini_error(machine, "a packet leaves its DMA buffer");
            return true;
        }
        // Where it faults is chance, and inside a packet it is between two pages.
        bool stops = work->faults && mini_random(machine, 2) == 0;
        if (stops && packet.pages == 0)
            return true;
        if (stops)
            packet.pages = mini_random(machine, packet.pages);
        if (stops && packet.kind == PACKET_ENTRIES)
            packet.size = packet.pages * sizeof(uint64_t);
        run_packet(machine, &packet, bytes + sizeof(packet));
        if (stops)
            return true;
        work->start += packet.bytes;
    }
    return true;
}

static void look_up(struct machine *machine, uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes, run;
    for (uint64_t at = address & ~(uint64_t)(PAGE_SIZE - 1); at < end && address >= VIRTUAL_BASE; at += PAGE_SIZE)
        mini_gpu(machine, at, &run);
}

void mini_look_up(struct machine *machine, const struct mini_submission *work)
{
    struct packet packet;
    machine->space = work->process;
    for (uint64_t at = work->start; at + sizeof(packet) <= work->end; at += packet.bytes) {
        const uint8_t *bytes = mini_bus(machine, work->address + at);
        if (!bytes)
            return;
        memcpy(&packet, bytes, sizeof(packet));
        if (packet.bytes < sizeof(packet))
            return;
        if (packet.kind == PACKET_JOB_COPY)
            look_up(machine, packet.from, packet.size);
        if (packet.kind == PACKET_JOB_COPY || packet.kind == PACKET_JOB_FILL)
            look_up(machine, packet.to, packet.size);
    }
}

// ---- User jobs ----

static void job_packet(struct machine_job *job, struct packet packet, const unsigned *allocations,
                       const uint64_t *offsets, const size_t *places, unsigned count)
{
    packet.bytes = sizeof(packet);
    for (unsigned i = 0; i < count; i++)
        job->patches[job->patch_count++] = (D3DDDI_PATCHLOCATIONLIST){.AllocationIndex = allocations[i],
                                                                      .AllocationOffset = (UINT)offsets[i],
                                                                      .PatchOffset = job->bytes + (UINT)places[i]};
    memcpy(job->commands + job->bytes, &packet, sizeof(packet));
    job->bytes += sizeof(packet);
}

void machine_job_copy(struct machine_job *job, unsigned to, uint64_t to_offset, unsigned from, uint64_t from_offset,
                      uint32_t bytes)
{
    job_packet(job, (struct packet){.kind = PACKET_JOB_COPY, .size = bytes}, (unsigned[]){to, from},
               (uint64_t[]){to_offset, from_offset},
               (size_t[]){offsetof(struct packet, to), offsetof(struct packet, from)}, 2);
}

void machine_job_nothing(struct machine_job *job)
{
    job_packet(job, (struct packet){.kind = PACKET_NOTHING}, NULL, NULL, NULL, 0);
}

void machine_job_fill(struct machine_job *job, unsigned to, uint64_t offset, uint32_t bytes, uint32_t pattern)
{
    job_packet(job, (struct packet){.kind = PACKET_JOB_FILL, .size = bytes, .pattern = pattern}, (unsigned[]){to},
               (uint64_t[]){offset}, (size_t[]){offsetof(struct packet, to)}, 1);
}

void machine_job_by_address(uint8_t *commands, const D3DDDI_PATCHLOCATIONLIST *patch, uint64_t address)
{
    memcpy(commands + patch->PatchOffset, &address, sizeof(address));
}
