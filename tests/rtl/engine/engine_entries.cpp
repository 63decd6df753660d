// SPDX-License-Identifier: Apache-2.0
// What a fault of a page table says of the entry: that of its own job, whatever faults the slot had before it.
#include "spaces.h"

namespace
{

constexpr size_t BYTES = 2 << 20;
constexpr uint64_t PAGES_AT = 0x60000, TABLES_AT = 0x140000;

// A space with one table, whose first entry stands at `at`.
struct OneTable {
    Machine machine;
    Reference reference;
    Spaces spaces;
    uint64_t at;
    explicit OneTable(uint64_t seed)
        : machine(seed, BYTES, HOST_BASE, HOST_BYTES), reference(machine), spaces(machine, reference, TABLES_AT, BYTES)
    {
        spaces.set_root(5, 1);
        spaces.map(5, 0, false, PAGES_AT);
        at = spaces.entry_at(5, 0, 0);
    }
    bool wait_for_fault()
    {
        for (unsigned i = 0; !machine.top->fault_valid && i < 20000; i++)
            machine.step();
        return machine.top->fault_valid;
    }
};

// Each fault of a slot has the entry that was read for it, not one of the faults before it, of either side.
std::string virtual_faults_again(uint64_t seed)
{
    OneTable one(seed);
    Machine &machine = one.machine;
    Reference &reference = one.reference;
    Random &random = machine.random;
    Spaces &spaces = one.spaces;
    const uint64_t at = one.at;
    for (unsigned round = 0; round < 600; round++) {
        machine.timing = any_timing(random);
        spaces.put(at, (uint64_t)(round + 1) << 13); // Not valid, and of no other meaning.
        spaces.put(at + 8, (uint64_t)(round + 1) << 13 | 4096);
        reference.local = machine.local.bytes;
        Job job;
        const bool write = random.chance(50);
        job.space = 5;
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(8 * round);
        job.length = 64;
        job.source = 20000;
        job.destination = 30000;
        (write ? job.destination_kind : job.source_kind) = FERRY_ADDRESS_KIND_VIRTUAL;
        (write ? job.destination : job.source) = 8 * random.below(500);
        // While another slot's job is written, the read side may meet a second fault of the slot before it is told of
        // the first.
        const bool second = !write && random.chance(60);
        if (second) {
            Job good, later = job;
            good.slot = (job.slot + 1) & 3;
            good.source = 600000;
            good.destination = 700000;
            good.length = 3000;
            machine.submit(good);
            reference.apply(good);
            job.unordered = later.unordered = true;
            later.packet_offset = (uint16_t)(8 * round + 2048);
            later.source += 4096;
            machine.submit(job);
            machine.submit(later);
        } else {
            machine.submit(job);
        }
        if (!one.wait_for_fault())
            return "round " + std::to_string(round) + ": no fault";
        // The rest of the line of entries comes behind the one that was waited for.
        for (unsigned i = 0; i < 300; i++)
            machine.step();
        if (second && !machine.drain())
            return machine.errors.front();
        const Fault found = take_fault(machine);
        machine.clear_poison(1u << job.slot);
        if (found.kind != FERRY_FAULT_KIND_PAGE_ABSENT || found.slot != job.slot || found.write != write ||
            found.packet_offset != job.packet_offset || found.level != 0 || found.entry != (uint64_t)(round + 1) << 13)
            return "round " + std::to_string(round) + (write ? " write: " : " read: ") + text(found);
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

// A job that waits for dead memory to be thrown away, since its destination's page is absent, is told as lost, and its
// slot is another buffer's before memory comes back. A fault of that one has its own entry.
std::string virtual_faults_over(uint64_t seed)
{
    OneTable one(seed);
    Machine &machine = one.machine;
    Reference &reference = one.reference;
    Random &random = machine.random;
    Spaces &spaces = one.spaces;
    const uint64_t at = one.at;
    for (unsigned round = 0; round < 40; round++) {
        machine.timing = any_timing(random);
        Job job;
        job.space = 5;
        job.slot = (unsigned)random.below(4);
        job.length = 64;
        job.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
        job.source = HOST_BASE;
        job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
        job.destination = 8 * random.below(500);
        uint64_t entry = 0;
        for (unsigned dead = 2; dead-- > 0;) {
            entry = (uint64_t)(2 * round + dead + 1) << 13; // Not valid, and of no other meaning.
            spaces.put(at, entry);
            reference.local = machine.local.bytes;
            machine.top->timeout = dead ? 300 : 0;
            machine.host.dead = dead ? (unsigned)Memory::R : 0;
            machine.submit(job);
            if (!one.wait_for_fault())
                return "round " + std::to_string(round) + ": no fault";
            const Fault found = take_fault(machine);
            const unsigned kind = dead ? FERRY_FAULT_KIND_WATCHDOG : FERRY_FAULT_KIND_PAGE_ABSENT;
            if (found.kind != kind || (!dead && (found.level != 0 || found.entry != entry)))
                return "round " + std::to_string(round) + ": " + text(found);
            machine.clear_poison(15);
            for (unsigned i = (unsigned)random.below(100); i; i--)
                machine.step();
            machine.host.dead = 0;
            for (unsigned i = 0; machine.top->stuck && i < 20000; i++)
                machine.step();
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "";
}

} // namespace

const std::vector<Test> ENTRY_TESTS = {
    {"virtual_faults_again", virtual_faults_again},
    {"virtual_faults_over", virtual_faults_over},
};
