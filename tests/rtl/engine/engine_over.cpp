// SPDX-License-Identifier: Apache-2.0
// Jobs that are over before their time as memory was given up on.
#include <array>
#include <stdexcept>

#include "spaces.h"

namespace
{

// What memory looks like to whoever waits for it.
std::string bus_state(const Machine &machine)
{
    return "stuck " + std::to_string(machine.top->stuck) + ", retired " + std::to_string(machine.top->jobs_retired) +
           " of " + std::to_string(machine.queued);
}

// A channel of one memory stops. Not before `timeout` cycles, and at once then, every job is over, with one WATCHDOG
// fault a slot; jobs that come meanwhile are too; an engine reset ends. From then on no byte changes but those of a
// beat that was offered already. When memory goes on, after a long time, the engine does too.
std::string watchdog(uint64_t seed)
{
    Random random(seed);
    for (unsigned round = 0; round < rounds(60, 150); round++) {
        Machine machine(random.next(), LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        unsigned timeout = (unsigned)(300 + random.below(300));
        bool host = random.chance(40);
        machine.top->timeout = timeout;
        machine.timing = any_timing(random);
        Memory &memory = host ? machine.host : machine.local;
        std::vector<Job> jobs;
        // Slots 2 and 3 of urgent jobs.
        bool both = random.chance(60);
        std::vector<uint64_t> pages = {HOST_BASE, HOST_BASE + 8192, HOST_BASE + 4096};
        machine.put_list(0, pages);
        for (unsigned i = 0; i < 2 + random.below(4); i++) {
            Job job;
            job.op = random.chance(30) ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
            job.pattern_log2 = 3;
            bool to_host = host && random.chance(50), list = host && job.op == FERRY_JOB_OP_COPY && random.chance(30);
            job.source_kind = host && !to_host && job.op == FERRY_JOB_OP_COPY;
            job.destination_kind = host && (to_host || job.op == FERRY_JOB_OP_FILL);
            job.source = 1000 + (job.source_kind ? HOST_BASE : 0);
            job.destination = 500000 + 8192 * i + (job.destination_kind ? HOST_BASE : 0);
            if (list) {
                job.list = job.source_kind ? FERRY_LIST_SIDE_SOURCE : FERRY_LIST_SIDE_DESTINATION;
                (job.source_kind ? job.source : job.destination) = 100 + i;
            }
            job.length = (uint32_t)(2000 + random.below(2000));
            job.slot = (unsigned)random.below(4);
            job.urgent = both && job.slot >= 2;
            job.unordered = random.chance(50);
            job.packet_offset = (uint16_t)(8 * i);
            jobs.push_back(job);
            machine.submit(job);
        }
        Reference reference(machine);
        reference.lists[0] = pages;
        for (uint64_t i = 20 + random.below(600); i; i--)
            machine.step();
        static const unsigned parts[] = {Memory::ALL, Memory::AR, Memory::R, Memory::AW, Memory::W, Memory::B};
        memory.dead = parts[random.below(6)];
        std::string where = "round " + std::to_string(round) + (host ? " host" : " local") + " channels " +
                            std::to_string(memory.dead) + ": ";
        // Reset it now, later, or never; a reset without a timeout set has one of its own.
        unsigned reset = (unsigned)random.below(4);
        if (reset == 1 && random.chance(50))
            machine.top->timeout = 0, timeout = 65536;
        auto request_reset = [&] {
            machine.withdraw();
            machine.top->reset_request = 1;
            machine.step();
            machine.top->reset_request = 0;
        };
        if (reset == 1)
            request_reset();
        uint64_t last_move = machine.cycle;
        uint64_t moved = 0;
        while (!machine.top->stuck && !machine.idle() && machine.cycle - last_move < 3 * timeout) {
            uint64_t now = machine.local.read_beats + machine.host.read_beats + machine.local.write_beats +
                           machine.host.write_beats + machine.local.responses.size() + machine.host.responses.size();
            if (now != moved)
                last_move = machine.cycle;
            moved = now;
            machine.step();
        }
        if (!machine.top->stuck) {
            if (!machine.idle())
                return where + "no end: " + bus_state(machine);
            continue; // Everything was done already, or needed none of what is dead.
        }
        if (machine.cycle - last_move < timeout - 100)
            return where + "given up on after " + std::to_string(machine.cycle - last_move) + " cycles";
        if (reset == 2)
            request_reset();
        std::vector<uint8_t> local = machine.local.bytes, other = machine.host.bytes;
        uint64_t may_change = 8 * (1 + memory.beats.size());
        auto reads = [&] { return machine.local.read_bursts + machine.host.read_bursts; };
        auto writes = [&] { return machine.local.write_bursts + machine.host.write_bursts; };
        const uint64_t reads_begun = reads(), writes_begun = writes();
        std::vector<Fault> faults;
        uint64_t begin = machine.cycle;
        unsigned told = 0;
        // The oldest job of a slot that is not over as memory is given up on: its name is told.
        std::vector<int> oldest(4, -1);
        unsigned seen[2] = {};
        for (size_t i = 0; i < jobs.size(); i++) {
            unsigned of_class = seen[jobs[i].urgent]++;
            unsigned over = jobs[i].urgent ? machine.top->jobs_retired_urgent : machine.top->jobs_retired;

            if (of_class >= over && oldest[jobs[i].slot] < 0)
                oldest[jobs[i].slot] = jobs[i].packet_offset;
        }
        auto take = [&]() -> std::string {
            if (!machine.top->fault_valid)
                return "";
            Fault fault = take_fault(machine);
            if (fault.kind != FERRY_FAULT_KIND_WATCHDOG || (told >> fault.slot & 1) || fault.write || fault.written ||
                fault.up_to_position || fault.packet_offset != (unsigned)oldest[fault.slot])
                return where + text(fault);
            told |= 1u << fault.slot;
            return "";
        };
        auto empty = [&]() -> std::string {
            while (!machine.idle() || machine.top->resetting || machine.top->fault_valid) {
                machine.step();
                std::string wrong = take();
                if (!wrong.empty())
                    return wrong;
                if (machine.cycle - begin > 400)
                    return where + "jobs are not over: " + bus_state(machine);
            }
            return "";
        };
        std::string wrong = empty();
        if (!wrong.empty())
            return wrong;
        if (!machine.top->stuck)
            return where + "not stuck any more";
        if (reset == 1 && told != 0)
            return where + "a reset job faulted";
        if (reset == 0 && told == 0)
            return where + "no fault";
        // A core that asks before each job would not send this one; it is over at once all the same.
        machine.clear_poison(15);
        told = 0;
        if (random.chance(50)) {
            Job late = jobs[0];
            oldest[late.slot] = late.packet_offset;
            machine.submit(late);
            begin = machine.cycle;
            if (machine.top->busy && machine.top->job_ready) {
                wrong = empty();
                if (!wrong.empty())
                    return "late job: " + wrong;
                if (told != 1u << late.slot || machine.top->poison != told)
                    return where + "a late job was not refused";
            }
            machine.withdraw();
            machine.clear_poison(15);
        }
        if (reset == 3)
            request_reset();
        for (uint64_t i = random.below(3000); i; i--)
            machine.step();
        memory.dead = 0;
        // What it answers may be an error: that is nobody's any more.
        if (random.chance(50)) {
            const Job &job = jobs[random.below(jobs.size())];
            memory.read_error = (job.source + 512 * random.below(3)) & ~7ull;
            memory.write_error = (job.destination + 512 * random.below(3)) & ~7ull;
        }
        begin = machine.cycle;
        while (machine.top->stuck || machine.top->resetting || machine.top->busy) {
            machine.step();
            if (machine.cycle - begin > 20000)
                return where + "memory answers again and nothing happens";
        }
        for (int i = 0; i < 50; i++)
            machine.step();
        if (machine.top->fault_valid || machine.top->poison)
            return where + "a fault of jobs that are over";
        memory.read_error = memory.write_error = 0;
        // Nothing is begun but the read and the write whose addresses were on offer, and the read that stood behind
        // that one.
        if (reads() > reads_begun + 2 || writes() > writes_begun + 1)
            return where + std::to_string(reads() - reads_begun) + " reads and " +
                   std::to_string(writes() - writes_begun) + " writes begun late";
        // Nothing but the beat on offer, and beats that memory had taken in before their address.
        uint64_t changed = 0;
        for (size_t i = 0; i < local.size(); i++)
            changed += local[i] != machine.local.bytes[i];
        for (size_t i = 0; i < other.size(); i++)
            changed += other[i] != machine.host.bytes[i];
        if (changed > may_change)
            return where + std::to_string(changed) + " bytes written late";
        machine.top->timeout = 0;
        for (const Job &job : jobs)
            reference.take_over(machine, job);
        for (unsigned i = 0; i < 20; i++) {
            Job good;
            good.length = (uint32_t)random.below(2000);
            good.source = random.below(100000);
            good.destination = 300000 + random.below(100000);
            good.slot = (unsigned)random.below(4);
            machine.submit(good);
            reference.apply(good);
        }
        wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

// The host sets a shorter timeout while memory is waited for: what was waited for already counts, so the jobs are over
// at once when it was longer; a longer one puts the end off.
std::string timeout_changed(uint64_t seed)
{
    Random random(seed);
    for (unsigned round = 0; round < 30; round++) {
        Machine machine(random.next(), LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        unsigned waited = 400 + (unsigned)random.below(400), timeout = 50 + (unsigned)random.below(300);
        bool longer = random.chance(30);
        machine.top->timeout = 1000;
        machine.local.dead = Memory::ALL;
        Job job;
        job.destination = 300000;
        job.length = 1 + (uint32_t)random.below(4000);
        machine.submit(job);
        for (unsigned i = 0; i < waited; i++)
            machine.step();
        if (machine.top->stuck)
            return "stuck after " + std::to_string(waited) + " cycles of 1000";
        machine.top->timeout = longer ? 2000 : timeout;
        unsigned more = 0;
        while (!machine.top->stuck && more < 3000) {
            machine.step();
            more++;
        }
        std::string where =
            std::to_string(waited) + " cycles of 1000, then " + std::to_string(machine.top->timeout) + ": ";
        if (longer ? waited + more < 1990 || waited + more > 2060 : more > 10)
            return where + std::to_string(more) + " more until memory was given up on";
        while (!machine.idle() || machine.top->fault_valid) {
            machine.step();
            if (!machine.top->fault_valid)
                continue;
            Fault fault = take_fault(machine);
            if (fault.kind != FERRY_FAULT_KIND_WATCHDOG)
                return where + text(fault);
        }
        if (!machine.errors.empty())
            return where + machine.errors.front();
    }
    return "";
}

// Memory is waited for while no timeout is set, or while the count is held, in a reset or not: the whole timeout is
// still to come.
std::string timeout_not_counted(uint64_t seed)
{
    Random random(seed);
    for (unsigned round = 0; round < 40; round++) {
        Machine machine(random.next(), LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        const bool held = round & 1, reset = held && (round & 2);
        const unsigned timeout = 100 + (unsigned)random.below(300);
        const unsigned waited = reset && random.chance(20) ? 66000 : timeout + (unsigned)random.below(600);
        machine.top->timeout = held && !random.chance(30) ? timeout : 0;
        machine.top->timeout_held = held;
        machine.local.dead = Memory::ALL;
        Job job;
        job.destination = 300000;
        job.length = 1 + (uint32_t)random.below(4000);
        machine.submit(job);
        for (unsigned i = 0; i < waited; i++) {
            machine.top->reset_request = reset && i == 50;
            machine.step();
        }
        std::string where = std::to_string(waited) + " cycles " + (held ? "held" : "without a timeout") +
                            (reset ? ", of a reset" : "") + ", then of " + std::to_string(timeout) + ": ";
        if (machine.top->stuck)
            return where + "stuck before";
        machine.top->timeout = timeout;
        machine.top->timeout_held = 0;
        unsigned more = 0;
        while (!machine.top->stuck && more < 2 * timeout) {
            machine.step();
            more++;
        }
        if (more < timeout || more > timeout + 10)
            return where + std::to_string(more) + " until memory was given up on";
    }
    return "";
}

// So much of a machine's buses moved that far.
std::array<uint64_t, 6> movements(const Memory &memory)
{
    return {memory.read_bursts,  memory.read_beats,  memory.write_bursts,
            memory.beats.size(), memory.write_beats, memory.responses.size()};
}

// Memory that does one thing at a time, an address or a beat or an answer, and takes most of the timeout until the
// next: each counts, of reads of page tables too, so it is never given up on. It takes addresses first, or data.
std::string slow_memory(uint64_t seed)
{
    static const unsigned orders[][5] = {{Memory::AR, Memory::R, Memory::AW, Memory::W, Memory::B},
                                         {Memory::AR, Memory::R, Memory::W, Memory::AW, Memory::B}};
    for (unsigned round = 0; round < 12; round++) {
        Machine machine(seed, LOCAL_BYTES, HOST_BASE, HOST_BYTES);
        Reference reference(machine);
        Spaces spaces(machine, reference, 900000 / 4096 * 4096, LOCAL_BYTES);
        const bool host = round & 1, fill = round & 4, addresses = round >= 8;
        Memory &memory = host ? machine.host : machine.local;
        Job job;
        job.op = fill ? FERRY_JOB_OP_FILL : FERRY_JOB_OP_COPY;
        job.pattern_log2 = 3;
        job.source_kind = job.destination_kind = addresses ? FERRY_ADDRESS_KIND_VIRTUAL
                                                 : host    ? FERRY_ADDRESS_KIND_SYSTEM
                                                           : FERRY_ADDRESS_KIND_LOCAL;
        job.source = 40960 + (host ? HOST_BASE : 0);
        job.destination = 81920 + (host ? HOST_BASE : 0);
        job.length = 24;
        if (addresses) {
            spaces.set_root(job.space = 2, 1);
            job.source = 0x600000;
            job.destination = 0xa00000;
            spaces.map(2, job.source, host, 40960 + (host ? HOST_BASE : 0));
            spaces.map(2, job.destination, host, 81920 + (host ? HOST_BASE : 0));
        }
        if (fill)
            job.source_kind = 0;
        machine.top->timeout = 200;
        machine.local.dead = machine.host.dead = Memory::ALL;
        machine.submit(job);
        reference.apply(job);
        const std::string where = "round " + std::to_string(round) + ": ";
        unsigned moves = 0;
        while (!machine.idle()) {
            bool moved = false;
            for (unsigned i = 0; i < 160; i++)
                machine.step();
            if (machine.top->stuck || machine.top->fault_valid)
                return where + "memory is given up on behind " + std::to_string(moves) + " movements";
            if (machine.idle())
                break;
            for (Memory *slow : {&machine.local, &machine.host}) {
                const auto before = movements(*slow);
                for (unsigned part : orders[round / 2 % 2]) {
                    for (unsigned i = 0; i < 2 && !moved; i++) {
                        slow->dead = Memory::ALL & ~part;
                        machine.step();
                        slow->dead = Memory::ALL;
                        moved = movements(*slow) != before;
                    }
                }
            }
            moves += moved;
            if (!moved && !machine.idle())
                return where + "nothing to move: " + bus_state(machine);
        }
        if (moves < (fill ? 3 : 6) || memory.write_bursts == 0)
            return where + "only " + std::to_string(moves) + " movements";
        machine.local.dead = machine.host.dead = 0;
        const std::string wrong = finish(machine, reference);
        if (!wrong.empty())
            return where + wrong;
    }
    return "";
}

} // namespace

const std::vector<Test> OVER_TESTS = {
    {"memory_that_never_answers", watchdog},
    {"memory_that_moves_slowly", slow_memory},
    {"timeout_changed_while_it_counts", timeout_changed},
    {"what_is_waited_for_before_a_timeout_is_set_does_not_count", timeout_not_counted},
};
