// SPDX-License-Identifier: Apache-2.0
// Whatever the host does to the core, the engine and the rings in the middle of a program, and in whichever cycle: no
// byte changes that no packet asked for, no entry is lost, no slot leaks, every fence arrives, and the device goes on.
//
// A program is some 200 packets on the paging ring and a user ring. Every packet has a destination of its own and reads
// only what no packet writes, so each byte that the device may write has one value that it may get, however often a
// buffer is run again after a restart; every byte that leaves the device is held against that at once. The patterns of
// the user's fills are bus addresses of pages that no packet names: a page list read from a slot that was filled anew
// leads there.
#include <cinttypes>
#include <iterator>
#include <set>
#include <string>

#include "Vferry_device___024root.h"
#include "host_ring.h"

namespace
{

const char *firmware_path = "build/firmware/firmware.bin";

const unsigned SOURCE_PAGES = 16, TARGET_PAGES = 44; // Of the DATA pages: read only, written only.
const uint64_t EVIL = HOST + 0x200000;               // Pages that no packet names.
const unsigned EVIL_PAGES = 4;
const uint32_t LOCAL_SOURCE_BYTES = 0x40000, LOCAL_BYTES = 0x200000;
const unsigned PACKETS = 200;
// Nothing that is read is ever written, so the engine may have as much in hand as it can.
const uint32_t UNORDERED = FERRY_PACKET_HEADER_UNORDERED_MASK;
const int NEVER = -1;

struct Target {
    bool host;
    uint64_t at;
    uint32_t bytes;
};

struct Buffer {
    std::vector<Target> targets;
    uint64_t fence;
};

class Campaign
{
  public:
    Campaign(Checks &checks, Random &random)
        : checks_(checks), random_(random), root_(random), known_faults_(checks.faults())
    {
        for (uint64_t at = HOST; at < HOST + 0x80000; at += 4096)
            root_.map(at);
        for (unsigned i = 0; i < SOURCE_PAGES + TARGET_PAGES; i++)
            root_.map(DATA + i * 4096);
        for (unsigned i = 0; i < EVIL_PAGES; i++)
            root_.map(EVIL + i * 4096);
        for (unsigned i = 0; i < SOURCE_PAGES * 4096; i++)
            root_.byte(DATA + i) = static_cast<uint8_t>(random.word());
        for (unsigned i = 0; i < LOCAL_SOURCE_BYTES; i++)
            root_.local[i] = static_cast<uint8_t>(random.word());
        root_.on_host_write = [this](uint64_t at, uint8_t value) {
            if (at >= FENCES && at < FAULTS + 0x1000) {
                // Each record is looked at when its last byte has come: the next may follow within one register access.
                if (at < FAULTS && at % 64 == FERRY_FENCE_RECORD_SIZE - 1)
                    look();
                return;
            }
            bool data = at >= DATA && at < DATA + (SOURCE_PAGES + TARGET_PAGES) * 4096;
            judge("host memory", at, value, data ? host_may_[at - DATA] : NEVER);
        };
        root_.on_local_write = [this](uint64_t at, uint8_t value) {
            judge("video memory", at, value, at < LOCAL_BYTES ? local_may_[at] : NEVER);
        };
        root_.on_unmapped_write = [this](uint64_t at) { judge("no page", at, 0, NEVER); };
        forget();
    }

    bool start()
    {
        root_.enumerate();
        return boot();
    }
    bool boot()
    {
        if (!root_.boot(firmware_path))
            return false;
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 6);
        rings_.emplace_back(root_, 0, 7);
        rings_.emplace_back(root_, 1, 0);
        return true;
    }

    // Cycles that the program took.
    uint64_t undisturbed()
    {
        return program(~0ull, [] {});
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

    // One program with a disturbance at its given cycle.
    void disturbed(uint64_t cycle)
    {
        switch (random_.below(7)) {
        case 0: program(cycle, [this] { restart(0); }); break;
        case 1: program(cycle, [this] { restart(random_.below(2500)); }); break;
        case 2: program(cycle, [this] { control("engine reset", 3); }); break;
        case 3: program(cycle, [this] { stop_ring(); }); break;
        case 4: program(cycle, [this] { halt_and_reload(); }); break;
        case 5: program(cycle, [this] { function_reset(); }); break;
        default: program(cycle, [this] { anything(); }); break;
        }
    }

    unsigned wrong = 0;

  private:
    // --- The oracle ---

    void judge(const char *where, uint64_t at, uint8_t value, int may)
    {
        if (may == value)
            return;
        if (wrong++ < 4)
            std::printf("    %s: 0x%02x written at 0x%" PRIx64 ", which %s\n", where, value, at,
                        may == NEVER ? "no packet asked for" : "is not what the packet asked for");
    }
    void forget()
    {
        host_may_.assign((SOURCE_PAGES + TARGET_PAGES) * 4096, NEVER);
        local_may_.assign(LOCAL_BYTES, NEVER);
        host_next_ = SOURCE_PAGES * 4096;
        local_next_ = LOCAL_SOURCE_BYTES;
    }
    void expect(Buffer &buffer, bool host, uint64_t at, const std::vector<uint8_t> &bytes)
    {
        std::vector<int> &may = host ? host_may_ : local_may_;
        uint64_t from = host ? at - DATA : at;
        for (size_t i = 0; i < bytes.size(); i++) {
            may[from + i] = bytes[i];
            (host ? root_.byte(at + i) : root_.local[at + i]) = static_cast<uint8_t>(~bytes[i]);
        }
        buffer.targets.push_back({host, at, static_cast<uint32_t>(bytes.size())});
    }
    void all_written(const Buffer &buffer)
    {
        for (const Target &target : buffer.targets)
            for (uint32_t i = 0; i < target.bytes; i++) {
                uint64_t at = target.at + i;
                checks_.equal(target.host ? root_.byte(at) : root_.local[at],
                              static_cast<uint64_t>(target.host ? host_may_[at - DATA] : local_may_[at]),
                              "byte of a buffer that succeeded");
            }
    }

    // --- Packets ---

    uint64_t take(uint64_t &next, uint64_t limit, uint32_t bytes)
    {
        // Neighbours are not neighbours in memory: what spills over an end is seen.
        uint64_t at = next + random_.below(24);
        next = at + bytes;
        if (next > limit)
            std::printf("    the program needs more room\n"), std::exit(1);
        return at;
    }
    uint64_t take_local(uint32_t bytes) { return take(local_next_, LOCAL_BYTES, bytes); }
    uint64_t take_host(uint32_t bytes) { return DATA + take(host_next_, (SOURCE_PAGES + TARGET_PAGES) * 4096, bytes); }
    std::vector<uint8_t> local_bytes(uint64_t at, uint32_t bytes)
    {
        return {root_.local.begin() + static_cast<ptrdiff_t>(at),
                root_.local.begin() + static_cast<ptrdiff_t>(at + bytes)};
    }
    uint32_t some_bytes() { return random_.once_in(16) ? 1 + random_.below(4096) : 1 + random_.below(300); }

    void fill(Ring &ring, Buffer &buffer, bool user)
    {
        // Only the pattern's low four bytes are looked at.
        uint32_t bytes = some_bytes() & ~3u;
        uint64_t pattern = user ? EVIL + random_.below(EVIL_PAGES) * 4096 : random_.word(), at = take_local(bytes);
        std::vector<uint8_t> out(bytes);
        for (uint32_t i = 0; i < bytes; i++)
            out[i] = static_cast<uint8_t>(pattern >> 8 * (i & 3));
        ring.fill(FERRY_ADDRESS_KIND_LOCAL, at, bytes, 2, pattern);
        expect(buffer, false, at, out);
    }
    void copy(Ring &ring, Buffer &buffer, bool to_host)
    {
        uint32_t bytes = some_bytes();
        uint64_t from = random_.below(LOCAL_SOURCE_BYTES - bytes), at = to_host ? take_host(bytes) : take_local(bytes);
        ring.word(FERRY_OPCODE_COPY | UNORDERED | 8u << 16, to_host ? FERRY_ADDRESS_KIND_SYSTEM << 2 : 0);
        ring.word(bytes).word(from).word(at);
        expect(buffer, to_host, at, local_bytes(from, bytes));
    }
    // COPY_PAGES over consecutive host pages named one by one, so that a destination is one range.
    void pages_out(Ring &ring, Buffer &buffer)
    {
        uint32_t bytes = some_bytes() + 200;
        uint64_t to = take_host(bytes);
        uint64_t from = random_.below(LOCAL_SOURCE_BYTES - bytes);
        list(ring, FERRY_LIST_SIDE_DESTINATION, bytes, to & 4095, from);
        for (uint64_t page = to & ~4095ull; page < to + bytes; page += 4096)
            ring.word(page);
        expect(buffer, true, to, local_bytes(from, bytes));
    }
    void pages_in(Ring &ring, Buffer &buffer)
    {
        uint32_t offset = random_.below(4096), bytes = some_bytes() + 200;
        uint64_t to = take_local(bytes);
        std::vector<uint8_t> out;
        list(ring, FERRY_LIST_SIDE_SOURCE, bytes, offset, to);
        for (uint32_t done = 0; done < offset + bytes; done += 4096) {
            uint64_t page = DATA + random_.below(SOURCE_PAGES) * 4096;
            ring.word(page);
            for (uint32_t i = done ? 0 : offset; i < 4096 && done + i < offset + bytes; i++)
                out.push_back(root_.byte(page + i));
        }
        expect(buffer, false, to, out);
    }
    void list(Ring &ring, uint32_t side, uint32_t bytes, uint32_t offset, uint64_t address)
    {
        uint32_t pages = (offset + bytes + 4095) / 4096;
        uint32_t kind = side == FERRY_LIST_SIDE_SOURCE ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_SYSTEM << 2;
        ring.word(FERRY_OPCODE_COPY_PAGES | UNORDERED | (6 + 2 * pages) << 16, kind | side << 4);
        ring.word(bytes, offset).word(address);
    }
    // Maps two pages of the aperture and reads through them. Each buffer has pages of its own.
    void aperture(Ring &ring, Buffer &buffer)
    {
        uint32_t page = aperture_next_++ % 2000 * 2, bytes = 1 + random_.below(300);
        uint64_t first = DATA + random_.below(SOURCE_PAGES) * 4096, second = DATA + random_.below(SOURCE_PAGES) * 4096;
        uint64_t to = take_local(bytes);
        std::vector<uint8_t> out;
        ring.word(FERRY_OPCODE_MAP_APERTURE | 8u << 16, 0).word(page, 2).word(first).word(second);
        ring.copy(FERRY_ADDRESS_KIND_APERTURE, page * 4096 + 4000, FERRY_ADDRESS_KIND_LOCAL, to, bytes);
        for (uint32_t i = 0; i < bytes; i++)
            out.push_back(root_.byte(4000 + i < 4096 ? first + 4000 + i : second + i - 96));
        expect(buffer, false, to, out);
    }
    // Fills the ring's next buffer; the number of its packets.
    unsigned buffer(unsigned number)
    {
        Ring &ring = rings_[number];
        Buffer buffer;
        unsigned count = 1 + random_.below(12);
        for (unsigned i = 0; i < count; i++) {
            unsigned what = random_.below(8);
            if (number == 1)
                what < 5 ? fill(ring, buffer, true) : copy(ring, buffer, false);
            else if (what < 3)
                pages_out(ring, buffer);
            else if (what < 5)
                pages_in(ring, buffer);
            else if (what == 5)
                aperture(ring, buffer);
            else
                what == 6 ? fill(ring, buffer, false) : copy(ring, buffer, true);
        }
        buffer.fence = ring.submit();
        waiting_[number].push_back(buffer);
        produced_[number]++;
        return count;
    }

    // --- A program ---

    // Looks at the fences, and at the fault log, as a driver does.
    void look()
    {
        for (unsigned number = 0; number < 2; number++) {
            uint32_t retired = static_cast<uint32_t>(rings_[number].record(FERRY_FENCE_RECORD_RETIRED));
            if (retired == retired_[number])
                continue;
            // No record is missed.
            checks_.equal(retired, retired_[number] + 1, "RETIRED steps by one");
            retired_[number] = retired;
            if (waiting_[number].empty()) {
                checks_.that(false, "a fence that nobody waits for");
                continue;
            }
            const Buffer &first = waiting_[number].front();
            checks_.equal(rings_[number].record(FERRY_FENCE_RECORD_VALUE), first.fence, "fence value");
            uint32_t status = rings_[number].status();
            if (status == FERRY_BUFFER_STATUS_SUCCESS)
                all_written(first);
            else
                checks_.equal(status, FERRY_BUFFER_STATUS_ABORTED, "status");
            waiting_[number].pop_front();
        }
    }
    bool ended() { return waiting_[0].empty() && waiting_[1].empty(); }

    uint64_t program(uint64_t cycle, const std::function<void()> &disturb)
    {
        uint64_t began = root_.time, last = root_.time + 4000000;
        unsigned packets = 0;
        bool disturbed = false;
        done_.clear();
        forget();
        // With a slow link or a slow memory the engine is always behind the core; with a slow memory fetching is not.
        root_.link_pace = random_.once_in(4) ? 8 : 1;
        root_.memory_pace = random_.once_in(3) ? 1 : random_.once_in(2) ? 8 : 24;
        while ((packets < PACKETS || !ended()) && root_.time < last) {
            if (!disturbed && root_.time - began >= cycle) {
                disturbed = true;
                disturb();
            }
            unsigned number = random_.once_in(3);
            if (packets < PACKETS && produced_[number] - retired_[number] < 7)
                packets += buffer(number);
            root_.tick();
            look();
            if (root_.time % 20000 == 0)
                root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED));
        }
        uint64_t took = root_.time - began;
        checks_.that(ended(), "every fence arrives");
        quiet();
        checks_.equal(wrong, 0, "bytes that no packet asked for");
        if (checks_.faults() != known_faults_) {
            std::printf("    at cycle %" PRIu64 " of the program:%s\n", cycle, done_.c_str());
            known_faults_ = checks_.faults();
            hopeless = true;
        }
        return took;
    }
    // The device has come to rest with nothing lost.
    void quiet()
    {
        for (int i = 0; i < 3000 && root_.bar0(FERRY_BAR0_STATUS) != FERRY_BAR0_STATUS_CORE_MASK; i++)
            root_.run(20);
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), FERRY_BAR0_STATUS_CORE_MASK, "status of an idle device");
        for (unsigned number = 0; number < 2; number++) {
            checks_.equal(root_.bar0(ring(number, FERRY_BAR0_RING_FETCHED)), produced_[number], "FETCHED");
            checks_.equal(root_.bar0(ring(number, FERRY_BAR0_RING_RETIRED)), produced_[number], "RETIRED");
        }
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED));
    }

    // --- Disturbances ---

    void note(const char *what)
    {
        done_ += " ";
        done_ += what;
    }
    void wait(unsigned cycles)
    {
        done_ += " +" + std::to_string(cycles);
        for (unsigned i = 0; i < cycles; i++) {
            root_.tick();
            look();
        }
    }
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

    Checks &checks_;
    Random &random_;
    RootComplex root_;
    std::vector<Ring> rings_;
    std::deque<Buffer> waiting_[2];
    uint32_t produced_[2] = {}, retired_[2] = {};
    std::vector<int> host_may_, local_may_;
    uint64_t host_next_ = 0, local_next_ = 0;
    uint32_t aperture_next_ = 0;
    std::string done_;
    int known_faults_;

  public:
    // Something went wrong: what follows on this device says nothing.
    bool hopeless = false;
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

// Arguments: firmware; then, for the long campaign, "every" for one program for each cycle of a program.
int main(int argc, char **argv)
{
    if (argc > 1)
        firmware_path = argv[1];
    Checks checks;
    if (argc > 2 && std::string(argv[2]) == "every") {
        Random random;
        checks.begin("disturbances_at_every_cycle_of_a_program");
        campaign(checks, random, 0, 1, 50000);
        return checks.done();
    }
    Random fixed(4711);
    {
        checks.begin("a_counter_is_read_whole_while_its_low_word_carries");
        Campaign campaign(checks, fixed);
        checks.that(campaign.start(), "firmware serves rings");
        campaign.carry();
    }
    checks.begin("disturbances_of_a_program_of_200_packets");
    campaign(checks, fixed, fixed.below(1000), 977, 30);
    Random fresh;
    checks.begin("disturbances_at_other_cycles_in_each_run");
    campaign(checks, fresh, fresh.below(1000), 977, 30);
    return checks.done();
}
