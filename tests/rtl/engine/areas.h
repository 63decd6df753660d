// SPDX-License-Identifier: Apache-2.0
// Virtual ranges of scattered pages for the engine's tests, and jobs of every kind in and beside them.
#ifndef FERRY_TEST_AREAS_H
#define FERRY_TEST_AREAS_H

#include "spaces.h"

constexpr size_t BYTES = 2 << 20;
// Video memory: linear ranges below, then pages that are mapped, then tables.
constexpr uint64_t PAGES_AT = 0x60000, TABLES_AT = 0x140000;
constexpr unsigned LOCAL_PAGES = (TABLES_AT - PAGES_AT) / 4096, HOST_PAGES = 128;

// Pages that are not mapped, in random order.
struct Frames {
    std::vector<std::pair<bool, uint64_t>> free;
    explicit Frames(Random &random)
    {
        for (unsigned i = 0; i < LOCAL_PAGES; i++)
            free.push_back({false, PAGES_AT + 4096ull * i});
        for (unsigned i = 0; i < HOST_PAGES; i++)
            free.push_back({true, HOST_BASE + 0x40000 + 4096ull * i});
        for (size_t i = free.size() - 1; i > 0; i--)
            std::swap(free[i], free[random.below(i + 1)]);
    }
    std::pair<bool, uint64_t> take()
    {
        std::pair<bool, uint64_t> page = free.back();
        free.pop_back();
        return page;
    }
};

struct Area {
    unsigned space;
    uint64_t address;
    unsigned pages;
};

// A few spaces of all heights, with ranges of scattered pages in both memories, at addresses that other spaces have
// too.
inline std::vector<Area> some_areas(Spaces &spaces, Frames &frames, Random &random)
{
    std::vector<Area> areas;
    uint64_t shared = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned space = 4 * i + (unsigned)random.below(4), height = i;
        spaces.set_root(space, height);
        for (unsigned k = 0; k < 3; k++) {
            uint64_t bytes = 1ull << (21 + 9 * height);
            Area area = {space, random.below(bytes / 4096 - 20) * 4096, 17};
            // Over the edge of 4 GiB, where the engine counts on.
            if (k == 1 && height >= 2)
                area.address = (1 + random.below(bytes >> 32 ? (bytes >> 32) - 1 : 1)) * (1ull << 32) -
                               4096 * (1 + random.below(16));
            if (k == 2 && shared != 0 && shared + 17 * 4096 <= bytes)
                area.address = shared;
            bool twice = false;
            for (const Area &other : areas)
                twice = twice || (other.space == space && other.address < area.address + 17 * 4096 &&
                                  area.address < other.address + 17 * 4096);
            if (twice)
                continue;
            for (unsigned page = 0; page < area.pages; page++) {
                auto [host, frame] = frames.take();
                spaces.map(space, area.address + 4096ull * page, host, frame);
            }
            areas.push_back(area);
            shared = height == 0 ? area.address : shared;
        }
    }
    return areas;
}

inline Job any_job(Random &random, const std::vector<Area> &areas, unsigned most)
{
    Job job;
    unsigned what = (unsigned)random.below(10);
    job.op = what == 0 ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
    job.pattern_log2 = (unsigned)random.below(4);
    job.length = (uint32_t)(random.chance(10) ? random.below(9) : random.below(most));
    const Area &from = areas[random.below(areas.size())];
    // Both sides of a job are of one space.
    const Area *to = &from;
    for (unsigned i = 0; i < 4; i++) {
        const Area &other = areas[random.below(areas.size())];
        to = other.space == from.space ? &other : to;
    }
    job.space = from.space;
    auto place = [&](const Area &area, unsigned &kind) {
        unsigned way = (unsigned)random.below(4);
        kind = way == 0 ? FERRY_ADDRESS_KIND_LOCAL : way == 1 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_VIRTUAL;
        if (way == 0)
            return random.below(PAGES_AT - job.length);
        if (way == 1)
            return HOST_BASE + random.below(0x40000 - job.length);
        return area.address + random.below(4096ull * area.pages - job.length);
    };
    job.source = place(from, job.source_kind);
    job.destination = place(*to, job.destination_kind);
    if (random.chance(15)) {
        // They overlap.
        job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        uint64_t room = 4096ull * from.pages - job.length;
        job.source = from.address + random.below(room);
        uint64_t other = job.source + random.below(1200) - 600;
        job.destination = other < from.address || other > from.address + room ? job.source : other;
    }
    if (job.op == FERRY_JOB_OP_FILL)
        job.source = random.next(), job.source_kind = 0;
    job.slot = (unsigned)random.below(4);
    job.packet_offset = (uint16_t)(random.next() & ~7ull);
    return job;
}

#endif
