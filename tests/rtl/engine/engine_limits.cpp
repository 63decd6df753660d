// SPDX-License-Identifier: Apache-2.0
// What lies behind an end: aperture pages behind the table, limits behind all addresses, a protected range of nothing;
// and which burst a tag or a fault belongs to.
#include <algorithm>

#include "suite.h"

namespace
{

const uint32_t PAGES = 256;

// Changes of the table that begin in it or behind it and go over its end, with any number of pages: those of the table
// are changed, and no other is in their place.
std::string changes_over_the_end(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Random &random = machine.random;
    std::vector<uint64_t> now(PAGES, HOST_BASE);
    machine.map_pages(0, now, true);
    const uint32_t firsts[] = {0, 1, 200, 255, 256, 257, 511, 512, 768, 0x10000, 0xffffffff};
    const uint32_t counts[] = {1, 2, 55, 56, 57, 256, 257, 511, 512, 1024, 0x100000, 0xffffffff};
    for (uint32_t first : firsts) {
        for (uint32_t count : counts) {
            bool unmap = count > 300 || random.chance(50);
            std::vector<uint64_t> pages;
            for (uint32_t i = 0; i < std::min(count, 300u); i++)
                pages.push_back(HOST_BASE + 4096 * random.below(256));
            if (unmap)
                std::fill(pages.begin(), pages.end(), pages[0]);
            for (uint64_t i = 0; i < count && first + i < PAGES; i++)
                now[first + i] = pages[i];
            std::string where = std::to_string(count) + " pages from " + std::to_string(first) + " on: ";
            if (unmap)
                machine.update(first, count, 0, true, true, pages[0]);
            else
                machine.map_pages(first, pages, true);
            if (machine.top->update_fault_valid)
                return where + "told of a fault";
            for (uint32_t page = 0; page < PAGES; page++) {
                machine.top->window_lookup_valid = 1;
                machine.top->window_lookup_page = page;
                machine.step();
                machine.top->window_lookup_valid = 0;
                for (int i = 0; i < 5 && !machine.window_done; i++)
                    machine.step();
                if (!machine.last_window_hit || machine.last_window_result != now[page])
                    return where + "page " + std::to_string(page) + " is not as it must be";
            }
        }
    }
    return "";
}

// A limit that no address reaches is none; a protected range that ends there goes up to the end; one whose end is not
// behind its beginning protects nothing, also where a burst lies over both.
std::string limits_behind_all_addresses(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    const uint64_t edge = 400000 + 100;
    struct {
        uint64_t local, base, limit;
        bool closed;
    } const cases[] = {
        {LOCAL_BYTES, 0, 0, false},
        {1ull << 26, edge, edge + 1, true},
        {1ull << 27, edge, 1ull << 26, true},
        {1ull << 28, edge, 1ull << 27, true},
        {1ull << 40, edge, 1ull << 40, true},
        {3ull << 62, edge, ~0ull, true},
        {~0ull, 1ull << 26, ~0ull, false},
        {~0ull, 1ull << 40, 1ull << 41, false},
        {LOCAL_BYTES, edge, edge, false},
        {LOCAL_BYTES, edge + 40, edge - 40, false},
        {LOCAL_BYTES, 1ull << 40, edge, false},
    };
    for (const auto &limits : cases) {
        for (bool write : {false, true}) {
            machine.top->local_limit = limits.local;
            machine.top->protect_base = limits.base;
            machine.top->protect_limit = limits.limit;
            for (int i = 0; i < 4; i++)
                machine.step();
            Job job;
            job.length = 200;
            (write ? job.destination : job.source) = edge - 100;
            (write ? job.source : job.destination) = 100000;
            std::string wrong;
            if (limits.closed) {
                Fault wanted = {(unsigned)FERRY_FAULT_KIND_PROTECTED, 0, write, 0, edge - 100, 0, false};
                // What check_job runs beside it lies above `edge`.
                machine.submit(job);
                machine.drain();
                if (!machine.top->fault_valid)
                    wrong = "not refused";
                Fault found = take_fault(machine);
                machine.clear_poison(15);
                if (wrong.empty() && (found.kind != wanted.kind || found.write != wanted.write))
                    wrong = "expected " + text(wanted) + ", found " + text(found);
                if (wrong.empty())
                    wrong = reference.compare(machine);
            } else {
                machine.submit(job);
                reference.apply(job);
                wrong = finish(machine, reference);
                if (wrong.empty() && machine.top->fault_valid)
                    wrong = "refused: " + text(take_fault(machine));
            }
            if (!wrong.empty()) {
                char ends[80];
                snprintf(ends, sizeof(ends), "limit %llx, closed %llx to %llx: ", (unsigned long long)limits.local,
                         (unsigned long long)limits.base, (unsigned long long)limits.limit);
                return ends + wrong;
            }
        }
    }
    return "";
}

// Host writes of jobs of four slots one behind the other, each with its own slot's tag, whatever the port lets wait.
std::string tags_of_bursts(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 40; round++) {
        machine.timing = any_timing(random);
        machine.timing.stall_percent = round % 2 ? 60 : 0;
        machine.asked.clear();
        for (unsigned i = 0; i < 16; i++) {
            Job job;
            job.op = random.chance(30) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
            job.pattern_log2 = 3;
            job.slot = (unsigned)random.below(4);
            job.unordered = random.chance(70);
            job.source = 1000 * i;
            job.destination_kind = FERRY_ADDRESS_KIND_SYSTEM;
            // Where it goes names its slot.
            job.destination = HOST_BASE + 8192 * (4 * i + job.slot);
            job.length = (uint32_t)(1 + random.below(700));
            machine.submit(job);
            reference.apply(job);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
        for (const Asked &burst : machine.asked)
            if (burst.write && burst.tag != ((burst.address - HOST_BASE) / 8192 & 3))
                return "a burst of slot " + std::to_string((burst.address - HOST_BASE) / 8192 & 3) + " has tag " +
                       std::to_string(burst.tag);
    }
    return "";
}

// Host memory on both sides of 4 GiB, in places whose upper word is all ones but for one half: only behind all of them
// there are no addresses.
std::string across_4_gib(uint64_t seed)
{
    for (uint32_t high : {0x00001234u, 0xffff1234u, 0x1234ffffu, 0x7fffffffu, 0xfffffffeu}) {
        const uint64_t edge = ((uint64_t)high + 1) << 32;
        Machine machine(seed, LOCAL_BYTES, edge - 65536, HOST_BYTES);
        Reference reference(machine);
        // The fourth goes across, once to the host and once from it.
        for (unsigned n = 0; n < 14; n++) {
            const uint64_t host = edge - 8192 + 16384 * (n % 7) - 3 * 16384 + machine.random.below(4096);
            const uint64_t local = 100000 + 16384 * n;
            const bool from_host = n % 2 == 0;
            Job job;
            job.source_kind = from_host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
            job.destination_kind = from_host ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_SYSTEM;
            job.source = from_host ? host : local;
            job.destination = from_host ? local : host;
            job.length = 12000;
            machine.submit(job);
            reference.apply(job);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return "below " + std::to_string(edge) + ": " + wrong;
    }
    return "";
}

// Two bursts of a job are refused by memory: the first is told of, with all before it written. Of a job that goes from
// its end on, nothing is said of what was written.
std::string write_errors_in_turn(uint64_t seed)
{
    for (bool down : {false, true}) {
        for (unsigned kind = 0; kind < 2; kind++) {
            for (unsigned early = 0; early < 3; early++) {
                Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
                // The second is on its way before the first is answered.
                machine.timing.write_latency = (unsigned)(150 + machine.random.below(200));
                const uint64_t base = kind ? HOST_BASE : 0;
                Job job;
                job.source_kind = job.destination_kind = kind;
                job.source = base + (down ? 200000 - 1024 : 100000);
                job.destination = base + 200000 + 100;
                job.length = 3000;
                Memory &memory = kind ? machine.host : machine.local;
                uint64_t block = (job.destination & ~511ull) + 512 * (1 + early), last = block + 512;
                memory.write_error = block + 8;
                memory.later_write_error = last + 16;
                machine.submit(job);
                if (!machine.drain())
                    return machine.errors.front();
                if (!machine.top->fault_valid)
                    return "no fault";
                Fault found = take_fault(machine);
                // The first to be written.
                uint64_t wanted = down ? last : block;
                if (found.kind !=
                        (kind ? (unsigned)FERRY_FAULT_KIND_HOST_ABORT : (unsigned)FERRY_FAULT_KIND_LOCAL_ERROR) ||
                    !found.write || found.position != (uint32_t)wanted || found.up_to_position == down ||
                    (down && found.written))
                    return std::string(down ? "downwards" : "upwards") + ", block at " + std::to_string(wanted - base) +
                           ": " + text(found);
            }
        }
    }
    return "";
}

// Jobs of four slots whose addresses are refused one behind the other, all worked out while the first one's turn has
// not come, behind data that takes long: each fault has its own place and kind.
std::string refused_in_a_row(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    machine.top->local_limit = 950000;
    machine.top->protect_base = 400000;
    machine.top->protect_limit = 410000;
    for (unsigned round = 0; round < 60; round++) {
        machine.timing.read_latency = (unsigned)(1 + random.below(300));
        Job front;
        front.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
        front.source = HOST_BASE + random.below(4096);
        front.destination = 100000;
        front.length = (uint32_t)(1 + random.below(3000));
        machine.submit(front);
        reference.apply(front);
        std::vector<Fault> wanted;
        for (unsigned slot = 0; slot < 4; slot++) {
            Job job;
            bool closed = random.chance(50), write = random.chance(30);
            job.slot = slot;
            job.unordered = true;
            job.packet_offset = (uint16_t)(8 * slot);
            (write ? job.destination : job.source) = (closed ? 400000 : 950000) + random.below(5000);
            (write ? job.source : job.destination) = 200000;
            job.length = 64;
            wanted.push_back({(unsigned)(closed ? FERRY_FAULT_KIND_PROTECTED : FERRY_FAULT_KIND_RANGE), slot, write,
                              job.packet_offset, write ? job.destination : job.source, 0, false});
            machine.submit(job);
        }
        for (const Fault &fault : wanted) {
            for (int i = 0; i < 5000 && !machine.top->fault_valid; i++)
                machine.step();
            if (!machine.top->fault_valid)
                return "no " + text(fault);
            Fault found = take_fault(machine);
            if (text(found) != text(fault))
                return "round " + std::to_string(round) + ": expected " + text(fault) + ", found " + text(found);
        }
        std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return wrong;
        machine.clear_poison(15);
    }
    return "";
}

// Memory refuses a burst of a job, and one of its later words cannot be read: the burst came first, and is what is
// told, whichever of the two was known first. If memory gives no answer any more, only that is told, whatever was met
// before.
std::string refused_burst_and_bad_word(uint64_t seed)
{
    Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
    Reference reference(machine);
    Random &random = machine.random;
    for (unsigned round = 0; round < 200; round++) {
        machine.timing = any_timing(random);
        // Early and late answers: the word is known to be bad after the burst is refused, and before.
        machine.timing.write_latency = (unsigned)(1 + random.below(random.chance(50) ? 1500 : 300));
        const bool never = random.chance(20);
        Job job;
        job.slot = (unsigned)random.below(4);
        job.packet_offset = (uint16_t)(random.next() & ~7ull);
        job.source_kind = (unsigned)random.below(2);
        job.destination_kind = (unsigned)random.below(2);
        job.length = (uint32_t)(3000 + random.below(3000));
        job.source = 65536 + random.below(4096) + (job.source_kind ? HOST_BASE : 0);
        job.destination = 200000 + random.below(4096) + (job.destination_kind ? HOST_BASE : 0);
        Memory &from = job.source_kind ? machine.host : machine.local;
        Memory &to = job.destination_kind ? machine.host : machine.local;
        const uint32_t refused = (uint32_t)random.below(1000);
        to.write_error = (job.destination + refused) & ~7ull;
        const uint64_t block = (job.destination + refused) & ~511ull;
        const uint32_t first = block < job.destination ? 0 : (uint32_t)(block - job.destination);
        // Words enough between them that the burst is on its way.
        from.read_error = (job.source + 2200 + random.below(job.length - 2200)) & ~7ull;
        machine.host.error_fault = FERRY_FAULT_KIND_HOST_UNSUPPORTED;
        const uint32_t bad = (uint32_t)(from.read_error - job.source);
        Fault wanted = {job.destination_kind ? (unsigned)FERRY_FAULT_KIND_HOST_ABORT
                                             : (unsigned)FERRY_FAULT_KIND_LOCAL_ERROR,
                        job.slot,
                        1,
                        job.packet_offset,
                        job.destination + first,
                        0,
                        true};
        machine.submit(job);
        if (never) {
            machine.top->timeout = 1000;
            while (machine.top->poison == 0 && machine.errors.empty())
                machine.step();
            to.dead = Memory::B;
            while (!machine.top->fault_valid && machine.errors.empty())
                machine.step();
            machine.top->timeout = 0;
        }
        std::string where = "round " + std::to_string(round) + ", block at " + std::to_string(first) + ", word at " +
                            std::to_string(bad) + (never ? ", no answer behind them: " : ": ");
        // All answers may have come before.
        const bool lost = machine.top->stuck;
        to.dead = 0;
        for (unsigned i = 0; i < 5000 && machine.top->stuck; i++)
            machine.step();
        machine.drain();
        if (!machine.errors.empty())
            return where + machine.errors.front();
        if (!machine.top->fault_valid)
            return where + "no fault";
        Fault found = take_fault(machine);
        machine.clear_poison(15);
        from.read_error = to.write_error = 0;
        if (lost ? found.kind != FERRY_FAULT_KIND_WATCHDOG || found.write || found.up_to_position || found.written != 0
                 : found.kind != wanted.kind || !found.write || found.position != (uint32_t)wanted.position ||
                       found.written != 0 || !found.up_to_position)
            return where + "expected " + text(wanted) + ", found " + text(found);
        if (found.slot != job.slot || found.packet_offset != job.packet_offset)
            return where + text(found);
        Reference done = reference;
        done.apply(job);
        for (uint32_t i = 0; i < bad; i++) {
            uint8_t *place = reference.destination(job, i);
            if ((i < first && !lost) || reference.now(machine, place) != *place)
                *place = *done.destination(job, i);
        }
        std::string wrong = reference.compare(machine);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

} // namespace

const std::vector<Test> LIMIT_TESTS = {
    {"changes_of_the_table_over_its_end", changes_over_the_end},
    {"limits_behind_all_addresses", limits_behind_all_addresses},
    {"tags_of_host_bursts", tags_of_bursts},
    {"across_4_gib", across_4_gib},
    {"write_errors_in_turn", write_errors_in_turn},
    {"refused_addresses_in_a_row", refused_in_a_row},
    {"a_refused_burst_before_a_bad_word", refused_burst_and_bad_word},
};
