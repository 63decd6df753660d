// SPDX-License-Identifier: Apache-2.0
#include "agreement_spaces.h"

#include <string.h>

#define ENTRY(FIELD)  FERRY_TABLE_ENTRY_ENTRY_##FIELD##_MASK
#define PAGE(n)       ((n)*4096ull)
#define VIDEO_AT      (LOCAL_BYTES / 4096u) // The first sixteen pages are a group's, the others small.
#define VIDEO_PAGES   32u
#define TABLE_AT      (SPACES_END - 1)
#define CLUSTERS      4u
#define CLUSTER_PAGES 32u

// The table of level 0 in video memory is the first cluster's; the others' tables, and all above, are in host memory.
static const uint64_t clusters[CLUSTERS] = {0, 0x100000000 - PAGE(CLUSTER_PAGES), 0x100000000,
                                            0x1000000000000 - PAGE(CLUSTER_PAGES)};

// A word of a table of side->tables, on both sides; what has the side's own bus address in it.
static void write_entry(struct side sides[2], uint32_t table, uint64_t index, uint64_t entry)
{
    for (int s = 0; s < 2; s++)
        memcpy((uint8_t *)sides[s].tables.address + PAGE(table) + 8 * (index % 512), &entry, sizeof entry);
}

static uint64_t in_host(void)
{
    return ENTRY(HOST) | (draw(2) ? ENTRY(SNOOP) : 0);
}

static uint64_t rights(void)
{
    return (draw(8) ? 0 : ENTRY(READ_ONLY)) | (draw(12) ? 0 : ENTRY(PROTECTED));
}

// An entry of level 0 that is not there, or breaks a rule.
static uint64_t bad_entry(void)
{
    uint64_t good = ENTRY(VALID) | ENTRY(LEAF) | PAGE(VIDEO_AT);

    switch (draw(7)) {
    case 0: return good | UINT64_C(1) << (draw(2) ? 7 + draw(5) : 52 + draw(12));
    case 1: return good | ENTRY(SNOOP);
    case 2: return good & ~(uint64_t)ENTRY(LEAF);
    case 3: return ENTRY(VALID) | ENTRY(LEAF) | PAGE(SPACES_END + draw(1u << 20));
    case 4: return ENTRY(VALID) | ENTRY(LEAF) | ENTRY(HOST) | PAGE(1 + draw(64)); // Nobody is at home there.
    case 5: return good & ~(uint64_t)ENTRY(VALID);
    default: return 0;
    }
}

// An entry of a level above without its bit VALID that leads to no table.
static uint64_t bad_upper(uint64_t good)
{
    switch (draw(4)) {
    case 0: return good ^ ENTRY(LEAF);
    case 1: return good ^ UINT64_C(1) << (draw(2) ? 7 + draw(5) : 52 + draw(12));
    case 2: return PAGE(SPACES_END + draw(1u << 20));
    default: return ENTRY(HOST) | PAGE(1 + draw(64)); // Nobody is at home there.
    }
}

// Each page of memory is mapped once: what a copy between two names of the same bytes does is not laid down.
static void map_pages(struct side sides[2])
{
    uint32_t video = 16, host = 0, grouped = (uint32_t)draw(2 * CLUSTERS);
    uint64_t group = ENTRY(VALID) | ENTRY(LEAF) | ENTRY(GROUP) | PAGE(VIDEO_AT) | rights();

    for (uint32_t i = 0; i < CLUSTERS * CLUSTER_PAGES; i++) {
        uint32_t n = (i * 37 + 5) % (CLUSTERS * CLUSTER_PAGES); // Neighbours are not neighbours where they lead to.
        uint64_t page = clusters[n / CLUSTER_PAGES] / 4096 + n % CLUSTER_PAGES, entry;

        if (n / 16 == grouped)
            entry = group | PAGE(page % 16);
        else if (video < VIDEO_PAGES && draw(3))
            entry = ENTRY(VALID) | ENTRY(LEAF) | rights() | PAGE(VIDEO_AT + video++);
        else if (host < SPACES_HOST_PAGES && draw(3))
            entry = ENTRY(VALID) | ENTRY(LEAF) | rights() | in_host() | (sides[0].host.bus + PAGE(host++));
        else
            entry = bad_entry();
        write_entry(sides, n / CLUSTER_PAGES, page, entry);
    }
}

void spaces_make(struct side sides[2])
{
    // Of level 0 one for each cluster, 0 to 3; those on both sides of 4 GiB have a table of level 1 each.
    static const struct {
        uint32_t table, level, cluster, below;
    } upper[] = {{4, 1, 0, 0}, {5, 1, 1, 1}, {6, 1, 2, 2}, {7, 1, 3, 3},  {8, 2, 0, 4},
                 {8, 2, 1, 5}, {8, 2, 2, 6}, {9, 2, 3, 7}, {10, 3, 0, 8}, {10, 3, 3, 9}};

    for (int s = 0; s < 2; s++)
        memset(sides[s].tables.address, 0, PAGE(SPACES_TABLE_PAGES));
    map_pages(sides);
    for (uint32_t i = 0; i < sizeof upper / sizeof *upper; i++) {
        uint64_t to = upper[i].below ? in_host() | (sides[0].tables.bus + PAGE(upper[i].below)) : PAGE(TABLE_AT);

        if (draw(24) == 0)
            to = bad_upper(to);
        write_entry(sides, upper[i].table, clusters[upper[i].cluster] >> (12 + 9 * upper[i].level), ENTRY(VALID) | to);
    }
}

static void root(struct buffer *b, uint32_t space, uint32_t height, uint32_t kind, uint64_t table)
{
    put(b, FERRY_OPCODE_ROOT | 6u << 16);
    put(b, kind << 2);
    put(b, space | height << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK);
    put(b, 0);
    put_wide(b, table);
}

void spaces_tell(struct buffer *b, const struct side *side)
{
    b->count = 0;
    put(b, FERRY_OPCODE_COPY | 8u << 16);
    put(b, 1);
    put_wide(b, 4096);
    put_wide(b, side->tables.bus);
    put_wide(b, PAGE(TABLE_AT));
    root(b, 1, 3, 1, side->tables.bus + PAGE(10));
    root(b, 2, 0, 0, PAGE(TABLE_AT));
    put(b, FERRY_OPCODE_FORGET | 6u << 16);
    put(b, 0);
    put_wide(b, FERRY_FORGET_SCOPE_ALL);
    put_wide(b, 0);
}

uint32_t spaces_draw(void)
{
    return draw(8) ? 1 : (uint32_t)draw(4);
}

uint64_t spaces_address(uint64_t bytes)
{
    uint64_t cluster = clusters[draw(CLUSTERS)], room = PAGE(CLUSTER_PAGES);

    switch (draw(24)) {
    case 0: return cluster + room - draw(bytes + 2);
    case 1: return UINT64_C(0x1000000000000) - draw(2 * bytes + 2);
    case 2: return cluster - 1 - draw(bytes + 2);
    case 3: return draw(UINT64_MAX);
    case 4: return cluster + PAGE(draw(CLUSTER_PAGES));
    case 5: return cluster + PAGE(1 + draw(CLUSTER_PAGES)) - draw(bytes + 1);
    default: return cluster + draw(bytes < room ? room - bytes + 1 : 1);
    }
}
