// SPDX-License-Identifier: Apache-2.0
// Jobs whose pages are scattered: page lists, and the aperture and what changes it.
#include "suite.h"

namespace
{

// Page lists on either side: scattered pages, runs of neighbours, any offset in the first page.
std::string page_lists(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 300; round++) {
        if (round % 5 == 0)
            machine.timing = random_timing(random, round % 10 == 0);
        Job job;
        bool to_pages = random.chance(50);
        job.list = to_pages ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
        job.source_kind = to_pages ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_SYSTEM;
        job.destination_kind = to_pages ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        // A list is one of host pages, whatever kind its side claims.
        if (random.chance(20))
            (to_pages ? job.destination_kind : job.source_kind) = (unsigned)random.below(3);
        job.length = (uint32_t)(1 + random.below(round % 3 ? 300 : 30000));
        uint64_t offset = random.chance(30) ? 4096 - 1 - random.below(16) : random.below(4096);
        size_t count = (offset + job.length + 4095) / 4096;
        std::vector<uint64_t> pages;
        std::vector<bool> used(256);
        while (pages.size() < count) {
            uint64_t page =
                !pages.empty() && random.chance(40) ? (pages.back() - HOST_BASE) / 4096 + 1 : random.below(256);
            if (page >= 256 || used[page])
                page = random.below(256);
            if (used[page])
                continue;
            used[page] = true;
            pages.push_back(HOST_BASE + 4096 * page);
        }
        job.list_address = (uint16_t)(0x400 * (round % 16));
        uint64_t linear = random.below(LOCAL_BYTES - job.length);
        job.source = to_pages ? linear : offset;
        job.destination = to_pages ? offset : linear;
        machine.put_list(job.list_address, pages);
        reference.lists[job.list_address] = pages;
        machine.submit(job);
        reference.apply(job);
        if (round % 8 == 7) {
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return "round " + std::to_string(round) + ": " + wrong;
        }
    }
    return finish(machine, reference);
}

// Neighbouring pages of a list are one range: with the list port shut soon after the start, such a job runs on as if
// nothing had happened, while a job of scattered pages has to wait. A run over a 16 MiB edge, where the engine begins a
// new range, is copied as well as any other.
std::string joined_pages(uint64_t seed)
{
    constexpr unsigned PAGES = 14;
    // Whether the pages are neighbours, whether the port is shut for a while.
    uint64_t cycles[2][2];
    for (bool to_pages : {false, true}) {
        for (bool neighbours : {false, true}) {
            for (bool shut : {false, true}) {
                Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
                Reference reference(machine);
                Job job;
                job.list = to_pages ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
                (to_pages ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_SYSTEM;
                (to_pages ? job.destination : job.source) = 8 * machine.random.below(512);
                job.length = 4096 * (PAGES - 1);
                std::vector<uint64_t> pages;
                for (unsigned i = 0; i < PAGES; i++)
                    pages.push_back(HOST_BASE + 4096ull * (neighbours ? 20 + i : 20 + 3 * i));
                machine.put_list(0, pages);
                reference.lists[0] = pages;
                machine.submit(job);
                reference.apply(job);
                for (unsigned i = 0; i < 10000; i++) {
                    machine.list_closed = shut && i >= 100;
                    machine.step();
                }
                machine.list_closed = false;
                std::string wrong = finish(machine, reference);
                if (!wrong.empty())
                    return wrong;
                cycles[neighbours][shut] = machine.retired_at.back() - machine.taken_at.front();
            }
        }
        if (cycles[true][true] != cycles[true][false] || cycles[true][false] > cycles[false][false])
            return "joined pages waited for the list: " + std::to_string(cycles[true][true]) + " cycles, " +
                   std::to_string(cycles[true][false]) + " with an open port, scattered " +
                   std::to_string(cycles[false][false]);
        if (cycles[false][true] <= cycles[false][false])
            return "scattered pages did not wait: the port was never shut";
    }

    Machine machine(seed, LOCAL_BYTES, 0x0000001234ff0000ull, HOST_BYTES);
    Reference reference(machine);
    Job job;
    job.list = FERRY_LIST_SIDE_SOURCE;
    job.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
    job.length = 4096 * 40;
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 40; i++)
        pages.push_back(machine.host.base + 4096ull * i);
    machine.put_list(0, pages);
    reference.lists[0] = pages;
    machine.submit(job);
    reference.apply(job);
    return finish(machine, reference);
}

// The table changes between jobs; unmapped pages go to the dummy page; the window port sees the same entries.
std::string aperture_changes(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    const uint64_t dummy = HOST_BASE + 4096 * 255;
    for (unsigned round = 0; round < 60; round++) {
        machine.timing = random_timing(random, round % 2);
        uint32_t first = (uint32_t)random.below(200), count = (uint32_t)(1 + random.below(50));
        std::vector<uint64_t> pages;
        for (uint32_t i = 0; i < count; i++)
            pages.push_back(HOST_BASE + 4096 * ((round * 50 + i) % 255));
        bool snoop = random.chance(50);
        uint64_t before = machine.cycle;
        bool unmap = random.chance(30);
        if (unmap)
            machine.update(first, count, 0, true, snoop, dummy);
        else
            machine.map_pages(first, pages, snoop);
        if (!machine.timing.stall_percent && machine.cycle - before > count + 10)
            return "update slower than one entry a cycle";
        for (uint32_t i = 0; i < count; i++)
            reference.aperture[first + i] = unmap ? dummy : pages[i];
        // Not across a place where two aperture pages are the same host page: the reference has no order for that.
        Job job;
        job.source_kind = random.chance(50) ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_LOCAL;
        job.destination_kind =
            job.source_kind == FERRY_ADDRESS_KIND_LOCAL ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_LOCAL;
        uint64_t place = 4096ull * first + random.below(4096);
        job.length = (uint32_t)random.below(4096ull * (first + count) - place + 1);
        if (unmap && job.destination_kind == FERRY_ADDRESS_KIND_APERTURE && job.length > 4096 - (place & 4095))
            job.length = (uint32_t)(4096 - (place & 4095));
        uint64_t other = random.below(LOCAL_BYTES - job.length);
        job.source = job.source_kind == FERRY_ADDRESS_KIND_APERTURE ? place : other;
        job.destination = job.source_kind == FERRY_ADDRESS_KIND_APERTURE ? other : place;
        machine.submit(job);
        reference.apply(job);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
        uint32_t probe = first + (uint32_t)random.below(count);
        machine.top->window_lookup_valid = 1;
        machine.top->window_lookup_page = probe;
        machine.step();
        machine.top->window_lookup_valid = 0;
        for (int i = 0; i < 5 && !machine.window_done; i++)
            machine.step();
        if (!machine.window_done || !machine.last_window_hit || machine.last_window_snoop != snoop ||
            machine.last_window_result != reference.aperture[probe])
            return "the window port sees another entry";
    }
    return "";
}

} // namespace

const std::vector<Test> PAGE_TESTS = {
    {"page_lists_both_sides", page_lists},
    {"page_lists_join_neighbours", joined_pages},
    {"aperture_changes_between_jobs", aperture_changes},
};
