// SPDX-License-Identifier: Apache-2.0
// Values at the very edge of a rule: first and last byte of a range, last lane of a burst, one bit of an address.
#include <algorithm>

#include "suite.h"

namespace
{

// Whole-block bursts and short ones that begin and end at every lane, on both ports: the bytes beside them stay.
std::string lanes_of_bursts(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned to = 0; to < 2; to++) {
        for (unsigned beats : {1u, 2u, 63u, 64u}) {
            for (unsigned first = 0; first < 8; first++) {
                for (unsigned last = beats == 1 ? first : 0; last < 8; last++) {
                    Job job;
                    job.op = random.chance(30) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
                    job.pattern_log2 = 3;
                    job.source = job.op == FERRY_JOB_OP_FILL ? random.next() : random.below(4096);
                    job.destination_kind = to;
                    uint64_t block = 131072 + 1024 * random.below(200);
                    uint64_t end = block + (random.chance(50) ? 512 - 8 : 8 * (beats - 1)) + last;
                    uint64_t begin = (end & ~7ull) - 8 * (beats - 1) + first;
                    job.destination = begin + (to ? HOST_BASE : 0);
                    job.length = (uint32_t)(end - begin + 1);
                    machine.submit(job);
                    reference.apply(job);
                    // Another one behind it: what a burst leaves behind must not show there.
                    job.destination = 65536 + 8 * random.below(64) + (to ? HOST_BASE : 0);
                    job.length = (uint32_t)(1 + random.below(40));
                    machine.submit(job);
                    reference.apply(job);
                }
            }
            std::string wrong = finish(machine, reference);
            if (!wrong.empty())
                return std::to_string(beats) + " beats to " + (to ? "host: " : "local: ") + wrong;
        }
    }
    return "";
}

// One byte before, at and behind each limit, in bursts of one byte, of one that ends there, and of one that begins
// there.
std::string bytes_at_limits(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    machine.timing = any_timing(random);
    const uint64_t base = 400000 + random.below(512), limit = base + 1 + random.below(1000),
                   top = 900000 + random.below(512);
    machine.top->protect_base = base;
    machine.top->protect_limit = limit;
    machine.top->local_limit = top;
    for (uint64_t edge : {base, limit, top}) {
        for (int64_t beside = -2; beside <= 1; beside++) {
            for (unsigned shape = 0; shape < 3; shape++) {
                for (bool write : {false, true}) {
                    Job job;
                    uint64_t at = edge + (uint64_t)beside;
                    uint64_t room_below = at & 511, room_above = 511 - room_below;
                    uint64_t first = shape == 1 ? at - random.below(room_below + 1) : at;
                    uint64_t last = shape == 2 ? at + random.below(room_above + 1) : at;
                    job.length = (uint32_t)(last - first + 1);
                    (write ? job.destination : job.source) = first;
                    (write ? job.source : job.destination) = 100000 + random.below(1000);
                    bool beyond = last >= top, closed = last >= base && first < limit;
                    std::string wrong;
                    if (beyond || closed) {
                        Fault wanted = {(unsigned)(beyond ? FERRY_FAULT_KIND_RANGE : FERRY_FAULT_KIND_PROTECTED),
                                        0,
                                        write,
                                        0,
                                        first,
                                        0,
                                        false};
                        wrong = check_job(machine, reference, job, wanted, 0, 0);
                    } else {
                        machine.submit(job);
                        reference.apply(job);
                        wrong = finish(machine, reference);
                        if (wrong.empty() && machine.top->fault_valid)
                            wrong = "refused: " + text(take_fault(machine));
                    }
                    if (!wrong.empty())
                        return std::to_string(edge) + (beside < 0 ? "" : "+") + std::to_string(beside) + " shape " +
                               std::to_string(shape) + (write ? " write: " : " read: ") + wrong;
                }
            }
        }
    }
    return "";
}

// Clear for SYSTEM and for lists, as the page's map says for the aperture.
std::string no_snoop_of_bursts(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    bool snoops[64];
    std::vector<uint64_t> pages;
    for (unsigned i = 0; i < 64; i++) {
        snoops[i] = random.chance(50);
        pages.push_back(HOST_BASE + 4096ull * i);
        machine.map_pages(i, {pages[i]}, snoops[i]);
        reference.aperture[i] = pages[i];
    }
    machine.put_list(0, pages);
    reference.lists[0] = pages;
    enum way { APERTURE, SYSTEM, LIST, WAYS };
    auto name = [&](Job &job, bool to_host, unsigned way, uint64_t place) {
        unsigned kind = way == APERTURE ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_SYSTEM;
        (to_host ? job.destination_kind : job.source_kind) = kind;
        (to_host ? job.destination : job.source) = place + (way == SYSTEM ? HOST_BASE : 0);
        if (way == LIST)
            job.list = to_host ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
    };
    auto no_snoop = [&](unsigned way, uint64_t page) { return way == APERTURE && !snoops[page]; };
    return check_no_snoop(machine, reference, {WAYS, name, no_snoop}, 500000);
}

// Two pages of a list that are neighbours but for one address bit: they are not one range, whichever bit it is.
std::string neighbours_but_for_a_bit(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    for (unsigned bit = 24; bit < 52; bit++) {
        for (bool to_pages : {false, true}) {
            Job job;
            uint64_t near = HOST_BASE + 4096ull * 17, far = (near + 4096) ^ 1ull << bit;
            job.list = to_pages ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
            (to_pages ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_SYSTEM;
            (to_pages ? job.source : job.destination) = 500000;
            job.length = 8192;
            machine.put_list(0, {near, far});
            // Nobody is at home there.
            Fault wanted = {(unsigned)FERRY_FAULT_KIND_HOST_ABORT, 0, to_pages, 0, 4096, 0, to_pages};
            bool tried = false;
            machine.asked.clear();
            reference.lists[0] = {near, near + 4096};
            std::string wrong = check_job(machine, reference, job, wanted, 4096, 3500);
            for (const Asked &burst : machine.asked)
                tried |= burst.address == far;
            if (wrong.empty() && !tried)
                wrong = "nobody asked there";
            if (!wrong.empty())
                return "bit " + std::to_string(bit) + (to_pages ? " to pages: " : " from pages: ") + wrong;
        }
    }
    return "";
}

// A list entry with any bit above or below a page's address: RANGE with the entry as it is, nothing of that page read
// or written, whatever page it would be without the bit.
std::string bad_list_entries(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 400; round++) {
        machine.timing = any_timing(random);
        Job job;
        bool to_pages = random.chance(50);
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        job.list = to_pages ? FERRY_LIST_SIDE_DESTINATION : FERRY_LIST_SIDE_SOURCE;
        (to_pages ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_SYSTEM;
        uint64_t offset = random.below(4096), linear = 500000 + random.below(512);
        job.length = (uint32_t)(1 + random.below(round % 4 ? 9000 : 70000));
        (to_pages ? job.destination : job.source) = offset;
        (to_pages ? job.source : job.destination) = linear;
        job.list_address = (uint16_t)(8 * random.below(4096));
        unsigned count = (unsigned)((offset + job.length + 4095) / 4096), bad = (unsigned)random.below(count);
        bool neighbours = random.chance(60);
        std::vector<uint64_t> pages, entries;
        for (unsigned i = 0; i < count; i++)
            pages.push_back(HOST_BASE + 4096ull * (neighbours ? 40 + i : 40 + 3 * i));
        entries = pages;
        unsigned bit = (unsigned)random.below(24);
        entries[bad] ^= 1ull << (bit < 12 ? bit : 40 + bit);
        machine.put_list(job.list_address, entries);
        reference.lists[job.list_address] = pages;
        uint32_t reach = bad == 0 ? 0 : (uint32_t)(4096 * bad - offset);
        machine.asked.clear();
        // The position is in the page that the bad entry stands for.
        Fault wanted = {
            (unsigned)FERRY_FAULT_KIND_RANGE, job.slot, to_pages, job.packet_offset, offset + reach, 0, false};
        std::string wrong = check_job(machine, reference, job, wanted, reach, reach > 520 ? reach - 520 : 0);
        for (const Asked &burst : machine.asked)
            if (wrong.empty() && burst.address >> 12 == (entries[bad] & 0x000fffffffffffffull) >> 12)
                wrong = "its page was asked for";
        if (!wrong.empty())
            return "round " + std::to_string(round) + ", entry " + std::to_string(bad) + " of " +
                   std::to_string(count) + ", bit " + std::to_string(bit < 12 ? bit : 40 + bit) + ": " + wrong;
    }
    return "";
}

// Asks the window port for an aperture page.
bool look_up(Machine &machine, uint32_t page)
{
    machine.top->window_lookup_valid = 1;
    machine.top->window_lookup_page = page;
    machine.step();
    machine.top->window_lookup_valid = 0;
    for (int i = 0; i < 5 && !machine.window_done; i++)
        machine.step();
    return machine.window_done && machine.last_window_hit;
}

// A change of the aperture table stops at an entry with any bit above or below a page's address and tells which; pages
// before it are changed, its own and those behind it are as they were. A bad dummy page changes nothing.
std::string bad_map_entries(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    std::vector<uint64_t> now(256, HOST_BASE);
    machine.map_pages(0, now, true);
    for (unsigned round = 0; round < 200; round++) {
        machine.timing = any_timing(random);
        uint32_t first = (uint32_t)random.below(200), count = (uint32_t)(1 + random.below(50));
        uint32_t bad = (uint32_t)random.below(count + 1);
        unsigned bit = (unsigned)random.below(24);
        uint64_t flaw = 1ull << (bit < 12 ? bit : 40 + bit);
        bool unmap = random.chance(30), snoop = random.chance(50);
        std::vector<uint64_t> pages;
        for (uint32_t i = 0; i < count; i++)
            pages.push_back(HOST_BASE + 4096 * random.below(256));
        uint64_t entry;
        if (unmap) {
            bad = random.chance(50) ? 0 : count;
            entry = pages[0] ^ (bad ? 0 : flaw);
            machine.update(first, count, 0, true, snoop, entry);
            std::fill(pages.begin(), pages.end(), pages[0]);
        } else {
            std::vector<uint64_t> entries = pages;
            if (bad < count)
                entries[bad] ^= flaw;
            // What stands behind the bad one does not matter, and is bad too now and then.
            for (uint32_t i = bad + 1; i < count; i++)
                entries[i] ^= random.chance(30) ? 1 : 0;
            entry = bad < count ? entries[bad] : 0;
            machine.map_pages(first, entries, snoop);
        }
        std::copy(pages.begin(), pages.begin() + bad, now.begin() + first);
        std::string where = "round " + std::to_string(round) + ", entry " + std::to_string(bad) + " of " +
                            std::to_string(count) + (unmap ? ", unmap: " : ": ");
        if (machine.top->update_fault_valid != (bad < count))
            return where + (bad < count ? "not told" : "told of a fault");
        if (bad < count && (machine.top->update_fault_index != bad || machine.top->update_fault_entry != entry))
            return where + "told of entry " + std::to_string(machine.top->update_fault_index);
        for (uint32_t page = first; page < first + count; page++)
            if (!look_up(machine, page) || machine.last_window_result != now[page])
                return where + "page " + std::to_string(page - first) + " is not as it must be";
    }
    return machine.errors.empty() ? "" : machine.errors.front();
}

// A reset in each cycle of a change that meets a bad entry or none: nothing is told of it, and the next change is
// whole.
std::string reset_amid_a_change(uint64_t seed)
{
    for (unsigned when = 0; when < 40; when++) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        std::vector<uint64_t> pages;
        for (unsigned i = 0; i < 8; i++)
            pages.push_back(HOST_BASE + 4096 * (i + 1));
        const std::string where = "cycle " + std::to_string(when / 2) + ": ";
        auto change = [&] {
            machine.put_list(0xc000, pages);
            machine.top->update_count = (uint32_t)pages.size();
            machine.top->update_list = 0xc000;
            machine.top->update_valid = 1;
            machine.step();
            machine.top->update_valid = 0;
        };
        pages[2] ^= when % 2;
        change();
        for (unsigned i = 0; i < when / 2; i++)
            machine.step();
        machine.top->rst = 1;
        for (unsigned i = 0; i < 2; i++)
            machine.step();
        machine.map_lists.clear();
        machine.top->rst = 0;
        machine.step();
        if (machine.top->update_busy || machine.top->update_fault_valid)
            return where + "a change outlives a reset";
        while (machine.top->clearing)
            machine.step();
        pages[2] = HOST_BASE;
        change();
        for (unsigned i = 0; i < 100 && machine.top->update_busy; i++)
            machine.step();
        if (machine.top->update_busy || machine.top->update_fault_valid)
            return where + "a change does not end, or is told to be bad";
        for (uint32_t page = 0; page < pages.size(); page++)
            if (!look_up(machine, page) || machine.last_window_result != pages[page])
                return where + "page " + std::to_string(page) + " is not as it must be";
    }
    return "";
}

} // namespace

const std::vector<Test> EDGE_TESTS = {
    {"lanes_of_whole_and_short_bursts", lanes_of_bursts},
    {"bytes_at_every_limit", bytes_at_limits},
    {"no_snoop_of_every_burst", no_snoop_of_bursts},
    {"list_neighbours_but_for_a_bit", neighbours_but_for_a_bit},
    {"bad_list_entries", bad_list_entries},
    {"bad_map_entries", bad_map_entries},
    {"reset_amid_a_map_change", reset_amid_a_change},
};
