// SPDX-License-Identifier: Apache-2.0
// Whatever the host does to the core, the engine and the rings in the middle of a program, and in whichever cycle: no
// byte changes that no packet asked for, no entry is lost, no slot leaks, every fence arrives, and the device goes on.
#include <algorithm>
#include <cinttypes>
#include <iterator>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "Vferry_device___024root.h"
#include "watched_program.h"

namespace
{

const char *firmware_path = "build/firmware/firmware.bin";

class Campaign : public WatchedProgram
{
  public:
    Campaign(Checks &checks, Random &random) : WatchedProgram(checks, random, firmware_path) {}

    // Cycles that the program took.
    uint64_t undisturbed()
    {
        draw_paces();
        return program([](uint64_t) {});
    }

    // One program with a disturbance at its given cycle.
    void disturbed(uint64_t cycle)
    {
        draw_paces();
        bool done = false;
        program([&](uint64_t now) {
            if (!done && now >= cycle) {
                done = true;
                disturb(now);
            }
        });
    }

    // One program; in each step-th of its cycles from `first` on a child of this process, which has the device as it
    // stands there, disturbs it and goes on with it for some packets.
    void every_cycle(uint64_t first, uint64_t step)
    {
        uint64_t cycles = paced_program([&](uint64_t now, uint64_t seed) {
            if (!in_child_ && now % step == first && fork_child(now))
                begin(now, seed);
        });
        if (in_child_) {
            std::fflush(stdout);
            _exit(hopeless ? 1 : 0);
        }
        while (children_)
            wait_for_child();
        std::printf("    a program of %" PRIu64 " cycles, disturbed in %u of them, went wrong after %u\n", cycles,
                    forked_, bad_);
        checks_.equal(bad_, 0, "disturbances that went wrong");
        checks_.that(forked_ > PACKETS / step, "cycles of a program");
    }
    // The disturbance of one of those cycles alone, in this process.
    void one_cycle(uint64_t only)
    {
        paced_program([&](uint64_t now, uint64_t seed) {
            if (now == only)
                begin(now, seed);
        });
    }

    // CYCLES is read as one number while its low word carries.
    void carry()
    {
        const uint32_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
        auto &words = root_.top.rootp->REGISTER_FILE;
        unsigned carried = 0;
        for (unsigned round = 0; round < 20; round++) {
            // The counter is read for adding in one cycle and written in the next: a value set in between is lost.
            do {
                words[at / 4] = 0xffffffff - 300 - round;
                words[at / 4 + 1] = round;
                root_.bar0(FERRY_BAR0_SCRATCH);
            } while (words[at / 4] < 0x80000000);
            for (unsigned i = 0; i < 10; i++) {
                uint64_t low = root_.bar0(at), high = root_.bar0(at + 4);
                checks_.equal(high, round + (low < 0x80000000), "high word with the low word that was read first");
                carried += i == 9 && high == round + 1;
            }
        }
        checks_.equal(carried, 20, "low words that carried");
    }

    // Programs in which the entries of both rings are counted past 2^32, disturbed about there.
    void past_the_last_number(unsigned programs)
    {
        for (; programs && !hopeless; programs--) {
            count_to_the_end();
            disturbed(random_.below(40000));
            for (uint32_t produced : produced_)
                checks_.that(produced < 1000, "numbers begin at 0 again");
        }
    }

  private:
    static const unsigned PACKETS_AFTER = 12, SLOTS = 4;

    // As if so many entries had been there: a core that is switched off and on goes on from RETIRED.
    void count_to_the_end()
    {
        auto &words = root_.top.rootp->REGISTER_FILE;
        // What ended last may still be counted when its record is there.
        root_.run(1000);
        for (unsigned number = 0; number < 2; number++) {
            const uint32_t last = ~0u - random_.below(5), status = rings_[number].status();
            for (uint32_t offset : {FERRY_BAR0_RING_RETIRED, FERRY_BAR0_RING_PRODUCER})
                words[ring(number, offset) / 4] = last;
            rings_[number].count_from(last, rings_[number].record(FERRY_FENCE_RECORD_VALUE));
            root_.store64(FENCES + number * 64 + FERRY_FENCE_RECORD_RETIRED, last | uint64_t{status} << 32);
            produced_[number] = retired_[number] = last;
        }
        restart(0);
        // Until then the firmware may not be halted.
        root_.run(3000);
    }

    // Every run of a seed is the same program, and has the same seed for the disturbance of each cycle.
    uint64_t paced_program(const std::function<void(uint64_t, uint64_t)> &each_cycle)
    {
        root_.link_pace = 1;
        root_.memory_pace = 8;
        root_.load_words = 32;
        most_waiting_ = SLOTS;
        return program([&](uint64_t now) {
            each_cycle(now, random_.word());
            // Once everything is over that stood in a slot when it was disturbed, memory need not hold the rest up.
            if (in_child_ && retired_[0] + retired_[1] - retired_before_ >= SLOTS)
                root_.memory_pace = 1;
        });
    }
    void begin(uint64_t now, uint64_t seed)
    {
        in_child_ = true;
        random_.again(seed);
        wanted_ = packets_ + PACKETS_AFTER;
        disturb(now);
        retired_before_ = retired_[0] + retired_[1];
    }
    // True in the child. As many run as there are processors.
    bool fork_child(uint64_t now)
    {
        if (bad_ >= 5)
            return false;
        if (forked_ % 1000 == 999)
            std::printf("    cycle %" PRIu64 ", %u went wrong so far\n", now, bad_);
        while (children_ >= std::max(1u, std::thread::hardware_concurrency()))
            wait_for_child();
        std::fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            return true;
        if (child < 0)
            std::perror("fork"), std::exit(1);
        children_++;
        forked_++;
        return false;
    }
    void wait_for_child()
    {
        int status = 0;
        if (::wait(&status) < 0)
            std::perror("wait"), std::exit(1);
        children_--;
        bad_ += status != 0;
    }
    bool in_child_ = false;
    uint32_t retired_before_ = 0;
    unsigned children_ = 0, forked_ = 0, bad_ = 0;

    void disturb(uint64_t now)
    {
        done_ = " " + std::to_string(now) + ":";
        switch (random_.below(7)) {
        case 0: restart(0); break;
        case 1: restart(random_.below(2500)); break;
        case 2: control("engine reset", 3); break;
        case 3: stop_ring(); break;
        case 4: halt_and_reload(); break;
        case 5: function_reset(); break;
        default: anything(); break;
        }
    }

    // --- Disturbances ---

    void control(const char *what, uint32_t value)
    {
        note(what);
        root_.bar0(FERRY_BAR0_CONTROL, value);
    }
    void restart(unsigned gap)
    {
        control("core off", 0);
        wait(gap);
        control("core on", 1);
    }
    void stop_ring()
    {
        unsigned number = random_.below(2);
        note(number ? "user ring off" : "paging ring off");
        root_.bar0(ring(number, FERRY_BAR0_RING_CONTROL), 0);
        wait(random_.once_in(2) ? random_.below(30) : random_.below(2000));
        note("ring on");
        root_.bar0(ring(number, FERRY_BAR0_RING_CONTROL), 1);
    }
    void halt_and_reload()
    {
        auto &memory = root_.top.rootp->FIRMWARE_MEMORY;
        const uint32_t mark = 0x46455252;
        // The first: the same value may stand on the stack above, in a saved register.
        for (size_t i = 0; i < std::size(memory.m_storage); i++) {
            if (memory[i] == mark) {
                memory[i] = 0;
                break;
            }
        }
        note("halt");
        for (int i = 0; i < 200000 && root_.bar0(FERRY_BAR0_FIRMWARE_STATE) != FERRY_FIRMWARE_STATE_HALTED; i++) {
            root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED));
            look();
        }
        checks_.equal(root_.bar0(FERRY_BAR0_FIRMWARE_STATE), FERRY_FIRMWARE_STATE_HALTED, "state");
        wait(random_.once_in(2) ? 0 : random_.below(1000));
        control("core off", 0);
        root_.load(firmware_path);
        control("core on", 1);
    }
    // A driver that takes over from one that died. It should take the leave to speak first and wait, and may not have.
    void function_reset()
    {
        const uint32_t reset = FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK;
        if (random_.once_in(2)) {
            note("command off");
            root_.config_write(FERRY_CONFIG_SPACE_COMMAND, 0);
            wait(random_.below(400));
        }
        note("function reset");
        root_.config_write(FERRY_CONFIG_SPACE_DEVICE_CONTROL,
                           root_.config_read(FERRY_CONFIG_SPACE_DEVICE_CONTROL) | reset);
        root_.silent_from = root_.time;
        // Nothing of what was going on gets through, and nothing of it is known any more.
        host_may_.assign(host_may_.size(), NEVER);
        std::vector<uint8_t> fences(root_.page(FENCES), root_.page(FENCES) + 4096);
        uint32_t sent = root_.interrupts;
        wait(random_.once_in(2) ? 0 : random_.below(3000));
        checks_.equal(root_.config_read(FERRY_CONFIG_SPACE_COMMAND) & 7, 0, "COMMAND");
        checks_.equal(root_.config_read(FERRY_CONFIG_SPACE_DEVICE_CONTROL) & 0xffffu, 0x2820, "DEVICE_CONTROL");
        checks_.equal(root_.config_read(FERRY_CONFIG_SPACE_BAR0), 0, "BAR0");
        root_.enumerate();
        for (int i = 0; i < 5000 && (root_.bar0(FERRY_BAR0_STATUS) || root_.config_read(0x48) >> 21 & 1); i++)
            root_.run(20);
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), 0, "status after a function reset");
        local_may_.assign(local_may_.size(), NEVER);
        for (unsigned number = 0; number < 2; number++) {
            for (uint32_t offset : {FERRY_BAR0_RING_BASE, FERRY_BAR0_RING_CONTROL, FERRY_BAR0_RING_RIGHTS,
                                    FERRY_BAR0_RING_PRODUCER, FERRY_BAR0_RING_FETCHED, FERRY_BAR0_RING_RETIRED})
                checks_.equal(root_.bar0(ring(number, offset)), 0, "ring after a function reset");
            waiting_[number].clear();
            produced_[number] = retired_[number] = 0;
        }
        checks_.equal(root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED), 0, "fault log after a function reset");
        checks_.equal(root_.bar0(FERRY_BAR0_INTERRUPT_STATUS), 0, "interrupts after a function reset");
        checks_.equal(root_.counter(FERRY_BAR0_COUNTER_ENGINE_JOBS), 0, "jobs after a function reset");
        root_.run(random_.below(2000));
        checks_.equal(root_.indiscreet, 0, "requests of a device that was reset");
        checks_.equal(root_.interrupts, sent, "interrupts of a device that was reset");
        checks_.that(!std::memcmp(root_.page(FENCES), fences.data(), 4096), "fence records stand");
        root_.silent_from = ~0ull;
        std::memset(root_.page(FENCES), 0, 4096);
        rings_.clear();
        checks_.that(boot(), "firmware serves rings after a function reset");
    }
    // Several of these close together, and at the end everything is on again.
    void anything()
    {
        for (unsigned steps = 1 + random_.below(6); steps; steps--) {
            switch (random_.below(7)) {
            case 0: control("core off", 0); break;
            case 1: control("core on", 1); break;
            case 2: control("engine reset", 3); break;
            case 3: control("core off, engine reset", 2); break;
            default: {
                unsigned number = random_.below(2), on = random_.below(2);
                note(on ? "ring on" : "ring off");
                root_.bar0(ring(number, FERRY_BAR0_RING_CONTROL), on);
            }
            }
            wait(random_.once_in(3) ? 0 : random_.once_in(2) ? random_.below(40) : random_.below(2000));
        }
        root_.bar0(ring(0, FERRY_BAR0_RING_CONTROL), 1);
        root_.bar0(ring(1, FERRY_BAR0_RING_CONTROL), 1);
        control("core on", 1);
    }
};

// Programs disturbed at every step-th cycle from first on, at most count of them, each time a device went wrong on a
// fresh one.
void campaign(Checks &checks, Random &random, uint64_t first, uint64_t step, uint64_t count)
{
    uint64_t cycle = first, took = 0;
    for (unsigned devices = 0; count && devices < 5; devices++) {
        Campaign campaign(checks, random);
        checks.that(campaign.start(), "firmware serves rings");
        took = campaign.undisturbed();
        std::printf("    a program takes %" PRIu64 " cycles\n", took);
        for (; count && !campaign.hopeless; count--) {
            campaign.disturbed(cycle % took);
            cycle += step;
        }
    }
}

} // namespace

// Arguments: firmware; then, for the long campaign, "every" and perhaps one cycle of it (with the seed that was
// printed), or FIRST/STEP for every step-th cycle from the first on: with one seed and each FIRST below STEP it is the
// whole.
int main(int argc, char **argv)
{
    if (argc > 1)
        firmware_path = argv[1];
    Checks checks;
    if (argc > 2 && std::string(argv[2]) == "every") {
        Random random;
        checks.begin("disturbances_at_every_cycle_of_a_program");
        Campaign campaign(checks, random);
        checks.that(campaign.start(), "firmware serves rings");
        char *rest = nullptr;
        uint64_t first = argc > 3 ? std::strtoull(argv[3], &rest, 0) : 0, step = 1;
        if (rest && *rest == '/')
            step = std::max(1ull, std::strtoull(rest + 1, nullptr, 0));
        if (rest && !*rest)
            campaign.one_cycle(first);
        else
            campaign.every_cycle(first % step, step);
        return checks.done();
    }
    Random fixed(4711);
    {
        checks.begin("a_counter_is_read_whole_while_its_low_word_carries");
        Campaign campaign(checks, fixed);
        checks.that(campaign.start(), "firmware serves rings");
        campaign.carry();
    }
    {
        checks.begin("entries_are_counted_past_the_last_number");
        Campaign campaign(checks, fixed);
        checks.that(campaign.start(), "firmware serves rings");
        campaign.past_the_last_number(8);
    }
    checks.begin("disturbances_of_a_program_of_200_packets");
    campaign(checks, fixed, fixed.below(1000), 977, rounds(12, 30));
    Random fresh;
    checks.begin("disturbances_at_other_cycles_in_each_run");
    campaign(checks, fresh, fresh.below(1000), 977, rounds(12, 30));
    return checks.done();
}
