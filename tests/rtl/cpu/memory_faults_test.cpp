// SPDX-License-Identifier: Apache-2.0
// Video memory that does not answer, answers with errors, or comes back late: the whole device with its firmware tells
// the host at once, by record, interrupt and errored fence, and afterwards works, or says in STATUS that it cannot.
#include "host_ring.h"

namespace
{

const uint32_t TIMEOUT = 2000, AREA = 0x40000;

class Bench
{
  public:
    Bench(Checks &checks, Random &random) : checks_(checks), random_(random), root_(random)
    {
        for (uint64_t at = HOST; at < HOST + 0x80000; at += 4096)
            root_.map(at);
        for (unsigned i = 0; i < DATA_PAGES; i++)
            root_.map(DATA + i * 4096);
        for (unsigned i = 0; i < DATA_PAGES * 4096; i++)
            root_.byte(DATA + i) = static_cast<uint8_t>(random.word());
        for (unsigned i = 0; i < AREA; i++)
            root_.local[i] = static_cast<uint8_t>(random.word());
        root_.enumerate();
        checks.that(root_.boot("build/firmware/firmware.bin"), "firmware serves rings");
        root_.bar0(FERRY_BAR0_INTERRUPT_ENABLE, 0x3ff);
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 5);
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, TIMEOUT);
        rings_.emplace_back(root_, 0, 7);
        rings_.emplace_back(root_, 1, 1);
    }

    Ring &paging() { return rings_[0]; }
    Ring &user() { return rings_[1]; }
    RootComplex &root() { return root_; }

    // A buffer of copies between all kinds of places.
    void copies(Ring &ring, unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            uint32_t bytes = 1 + random_.below(3000);
            bool out = random_.once_in(3), in = !out && random_.once_in(2);
            uint64_t host = DATA + random_.below(32 * 4096 - bytes) + (out ? 32 * 4096 : 0);
            ring.copy(in ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL,
                      in ? host : random_.below(AREA - bytes),
                      out ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL,
                      out ? host : AREA + random_.below(AREA - bytes), bytes);
        }
        ring.submit(1);
    }
    // The record that was written last.
    uint32_t last_kind()
    {
        uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        uint32_t what = static_cast<uint32_t>(root_.load64(FAULTS + (produced - 1) % 32 * 64) >> 32);
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
        return FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what);
    }
    bool stuck() { return root_.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_STUCK_MASK; }
    // Bytes move again and the device is idle.
    void works()
    {
        uint32_t bytes = 1 + random_.below(5000), from = random_.below(AREA - bytes), to = 3 * AREA + random_.below(99);
        for (Ring *ring : {&user(), &paging()}) {
            for (uint32_t i = 0; i < bytes; i++)
                root_.local[to + i] = static_cast<uint8_t>(~root_.local[from + i]);
            ring->copy(FERRY_ADDRESS_KIND_LOCAL, from, FERRY_ADDRESS_KIND_LOCAL, to, bytes).submit();
            checks_.that(ring->wait(100000), "fence of a good buffer");
            checks_.equal(ring->status(), FERRY_BUFFER_STATUS_SUCCESS, "status of a good buffer");
            for (uint32_t i = 0; i < bytes; i++)
                checks_.equal(root_.local[to + i], root_.local[from + i], "copied byte");
        }
        for (int i = 0; i < 200 && root_.bar0(FERRY_BAR0_STATUS) != FERRY_BAR0_STATUS_CORE_MASK; i++)
            root_.run(50);
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), FERRY_BAR0_STATUS_CORE_MASK, "status of an idle device");
        checks_.equal(root_.broken, 0, "broken rules of buses and link");
    }
    void comes_back()
    {
        root_.memory_dead = false;
        for (int i = 0; i < 1000 && stuck(); i++)
            root_.run(20);
        checks_.that(!stuck(), "the engine is unstuck when memory answers");
        works();
    }

  private:
    Checks &checks_;
    Random &random_;
    RootComplex root_;
    std::vector<Ring> rings_;
};

void dead_from_the_start(Checks &checks, Random &random)
{
    checks.begin("memory_that_never_answers_is_told_at_once_and_so_is_each_later_buffer");
    Bench bench(checks, random);
    bench.root().memory_dead = true;
    bench.copies(bench.user(), 3);
    checks.that(bench.user().wait(TIMEOUT + 6000), "errored fence soon after the timeout");
    checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_FAULTED, "status");
    checks.equal(bench.last_kind(), FERRY_FAULT_KIND_WATCHDOG, "fault kind");
    bench.root().run(500);
    checks.that(bench.root().interrupts >= 1, "interrupt");
    checks.equal(bench.root().bar0(FERRY_BAR0_INTERRUPT_STATUS), FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK | 1u << 1,
                 "causes");
    checks.that(bench.stuck(), "STATUS says that the engine is stuck");
    for (int i = 0; i < 6; i++) {
        bench.copies(i % 2 ? bench.user() : bench.paging(), 1 + random.below(20));
        checks.that((i % 2 ? bench.user() : bench.paging()).wait(8000), "fence of a later buffer");
        checks.equal((i % 2 ? bench.user() : bench.paging()).status(), FERRY_BUFFER_STATUS_FAULTED, "status");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_WATCHDOG, "fault kind of a later buffer");
    }
    bench.root().run(500000);
    checks.that(bench.stuck(), "still stuck");
    bench.comes_back();
}

void dies_in_the_middle(Checks &checks, Random &random)
{
    checks.begin("memory_that_stops_in_any_cycle_loses_no_fence_and_works_when_it_comes_back");
    Bench bench(checks, random);
    for (int round = 0; round < 25; round++) {
        for (int i = 0; i < 4; i++) {
            bench.copies(bench.user(), 1 + random.below(8));
            bench.copies(bench.paging(), 1 + random.below(4));
        }
        bench.root().run(random.below(6000));
        bench.root().memory_dead = true;
        // Back before the timeout, while the engine gives up, or after a long time.
        unsigned late = random.below(4);
        bench.root().run(late == 0 ? random.below(TIMEOUT) : late == 1 ? TIMEOUT - 50 + random.below(600) : 9000);
        if (late >= 2) {
            checks.that(bench.user().wait(60000) && bench.paging().wait(60000), "every fence while memory is dead");
            bench.last_kind();
        }
        if (late == 3) {
            bench.root().bar0(FERRY_BAR0_CONTROL, 3);
            bench.root().run(3000);
            checks.equal(bench.root().bar0(FERRY_BAR0_CONTROL), 1, "an engine reset ends though memory is dead");
        }
        bench.root().memory_dead = false;
        for (int i = 0; i < 100; i++)
            if (bench.user().wait(3000) && bench.paging().wait(3000))
                break;
            else
                bench.last_kind();
        checks.that(bench.user().idle() && bench.paging().idle(), "every fence");
        bench.last_kind();
        bench.comes_back();
    }
}

void restarted_while_dead(Checks &checks, Random &random)
{
    checks.begin("the_core_starts_anew_while_memory_is_dead_and_serves_rings");
    Bench bench(checks, random);
    for (int round = 0; round < 6; round++) {
        bench.copies(bench.user(), 8);
        bench.copies(bench.paging(), 8);
        bench.root().run(random.below(3000));
        bench.root().memory_dead = true;
        bench.root().run(random.below(2 * TIMEOUT));
        bench.root().bar0(FERRY_BAR0_CONTROL, 0);
        bench.root().run(random.below(3 * TIMEOUT));
        bench.root().bar0(FERRY_BAR0_CONTROL, 1);
        checks.that(bench.user().wait(100000) && bench.paging().wait(100000), "fences after the restart");
        bench.last_kind();
        bench.comes_back();
    }
}

// What goes to the host has been read, and stands behind data that memory does not take any more: a fence record has to
// pass both.
void dies_before_the_host_is_written(Checks &checks, Random &random)
{
    checks.begin("memory_that_dies_in_front_of_data_for_the_host_keeps_no_fence_waiting");
    Bench bench(checks, random);
    for (uint32_t bytes : {8, 64, 500, 2000}) {
        bench.root().writes_held = true;
        bench.paging().copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, bytes).submit(1);
        bench.root().run(800);
        bench.user().copy(FERRY_ADDRESS_KIND_LOCAL, 64, FERRY_ADDRESS_KIND_SYSTEM, DATA + 32 * 4096, bytes).submit(1);
        bench.root().run(800);
        bench.root().memory_dead = true;
        checks.that(bench.user().wait(20000) && bench.paging().wait(20000), "fences while memory is dead");
        bench.last_kind();
        bench.root().writes_held = false;
        bench.comes_back();
    }
}

// The other way round: what the host takes none of stands in front of data for video memory. Writes of the host to the
// window are taken all the same, or a slot whose own writes wait for these would stand still for ever (PCIe 2.4.1).
void host_takes_nothing(Checks &checks, Random &random)
{
    checks.begin("writes_of_the_host_are_taken_while_it_takes_none_of_ours");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    // They may take a while. Nothing may be given up on meanwhile.
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    // Of which sizes all is announced and not all fits into what stands in front of the link, the device may know.
    for (uint32_t bytes = 400; bytes < 9000; bytes += 400) {
        for (bool behind : {false, true}) {
            root.posted_credits = false;
            bench.paging()
                .copy(FERRY_ADDRESS_KIND_LOCAL, 64, FERRY_ADDRESS_KIND_SYSTEM, DATA + 32 * 4096, bytes)
                .submit(1);
            root.run(1500);
            bench.user()
                .copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, 1 + random.below(1000))
                .submit(1);
            if (behind)
                root.run(4000);
            // More than any buffer on the way holds; the last one is done, not only taken.
            const uint32_t window = 2 * AREA, count = 400;
            auto word = [&](uint32_t i) {
                return uint32_t{root.local[window + 4 * i]} | uint32_t{root.local[window + 4 * i + 1]} << 8;
            };
            for (uint32_t i = 0; i < count; i++)
                root.write(RootComplex::BAR2 + window + 4 * i, (i + bytes + behind) & 0xffff);
            for (int i = 0; i < 30000 && word(count - 1) != count - 1 + bytes + behind; i++)
                root.tick();
            for (uint32_t i = 0; i < count; i++)
                checks.equal(word(i), i + bytes + behind, "word in the window");
            root.posted_credits = true;
            for (Ring *ring : {&bench.user(), &bench.paging()}) {
                checks.that(ring->wait(100000), "fence when the host takes writes again");
                checks.equal(ring->status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
            }
            bench.works();
        }
    }
}

// D3hot in the middle of a page-out, and of a page-in, for longer than the engine may stand still: D0 goes on where it
// was.
void sleeps_over_jobs(Checks &checks, Random &random)
{
    checks.begin("d3hot_over_running_jobs_loses_none");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    for (bool out : {true, false}) {
        bench.user()
            .copy(out ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_SYSTEM, out ? 0 : DATA,
                  out ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL, out ? DATA + 32 * 4096 : AREA, 100000)
            .submit(1);
        root.run(2000);
        root.config_write(0xa4, 3);
        root.run(3 * TIMEOUT);
        root.config_write(0xa4, 0);
        checks.that(bench.user().wait(200000), "fence after D0");
        checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
    }
    bench.works();
}

void errors(Checks &checks, Random &random)
{
    checks.begin("an_error_on_any_beat_read_or_burst_written_is_told_and_the_next_buffer_works");
    Bench bench(checks, random);
    for (int beat = 0; beat < 130; beat++) {
        bool write = beat % 3 == 2;
        // 1,040 bytes: 130 beats read and at least 3 bursts written.
        (write ? bench.root().write_error_in : bench.root().read_error_in) = write ? beat / 3 % 3 : beat;
        Ring &ring = beat % 2 ? bench.user() : bench.paging();
        ring.copy(FERRY_ADDRESS_KIND_LOCAL, 0x800, FERRY_ADDRESS_KIND_LOCAL, AREA + 0x800, 1040).submit();
        checks.that(ring.wait(20000), "fence");
        checks.equal(ring.status(), FERRY_BUFFER_STATUS_FAULTED, "status");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_LOCAL_ERROR, "fault kind");
        bench.root().read_error_in = bench.root().write_error_in = -1;
        if (beat % 10 == 0)
            bench.works();
    }
    bench.works();
}

// The CPU writes, or reads, one word of dead memory through BAR2. Whatever becomes of that access, the host must be
// able to ask what is the matter and to reset the function: registers and configuration space stand behind no memory.
void window_of_dead_memory(Checks &checks, Random &random)
{
    for (bool write : {true, false}) {
        checks.begin(write ? "a_write_of_dead_memory_through_bar2_leaves_registers_and_configuration_space_in_reach"
                           : "a_read_of_dead_memory_through_bar2_leaves_registers_and_configuration_space_in_reach");
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        const uint32_t window = 2 * AREA, count = 40;
        auto word = [&](uint32_t i) {
            uint32_t value;
            std::memcpy(&value, &root.local[window + 4 * i], 4);
            return value;
        };
        std::vector<uint32_t> was(count + 1);
        for (uint32_t i = 0; i <= count; i++)
            was[i] = word(i);
        root.memory_dead = true;
        if (write)
            for (uint32_t i = 0; i < count; i++)
                root.write(RootComplex::BAR2 + window + 4 * i, 0x12345678 + i);
        else
            root.send({0x20000001, 0x1f0f, static_cast<uint32_t>(RootComplex::BAR2 >> 32), window});
        root.run(75000);                                              // The window gives memory up after 65,536.
        checks.equal(root.config_read(0) & 0xffff, 0x1209, "vendor"); // Ends the program when no completion comes.
        checks.equal(root.bar0(FERRY_BAR0_MAGIC), FERRY_BAR0_MAGIC_RESET, "MAGIC");
        bench.comes_back();
        // What was refused is not written later; what memory was shown may be. Then the window is as ever.
        for (uint32_t i = 0; i <= count; i++)
            checks.that(word(i) == was[i] || (write && i < count && word(i) == 0x12345678 + i), "word is old or new");
        checks.that(!write || word(count - 1) == was[count - 1], "the last one was refused");
        for (uint32_t i = 0; i < count; i++)
            root.write(RootComplex::BAR2 + window + 4 * i, i);
        for (uint32_t i = 0; i < count; i++)
            checks.equal(root.read(RootComplex::BAR2 + window + 4 * i), i, "word read back");
    }
}

// A page-out waits for leave to speak; behind it a job is thrown away, as it named an aperture page that nobody mapped;
// behind that one reads video memory. What it reads must not stand in the way of the CPU, which reads through BAR2 and
// then gives the leave.
void window_behind_a_fault(Checks &checks, Random &random)
{
    checks.begin("read_data_behind_a_job_that_is_thrown_away_keeps_bar2_and_configuration_space_from_nobody");
    const uint32_t unordered = FERRY_PACKET_HEADER_UNORDERED_MASK;
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    Ring &user = bench.user();
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    root.posted_credits = false;
    user.word(FERRY_OPCODE_COPY | unordered | 8u << 16, FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2);
    user.word(1500).word(0).word(DATA).submit();
    user.word(FERRY_OPCODE_COPY | unordered | 8u << 16, FERRY_ADDRESS_KIND_APERTURE | FERRY_ADDRESS_KIND_LOCAL << 2);
    user.word(64).word(5 * 4096).word(AREA).submit();
    user.word(FERRY_OPCODE_COPY | unordered | 8u << 16, FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_LOCAL << 2);
    user.word(512).word(0x1000).word(2 * AREA).submit();
    root.run(1500);
    root.config_write(FERRY_CONFIG_SPACE_COMMAND, 2);
    root.posted_credits = true;
    root.run(300);
    root.send({0x20000001, 0x1f0f, static_cast<uint32_t>(RootComplex::BAR2 >> 32), 0x3000});
    root.run(1000);
    root.config_write(FERRY_CONFIG_SPACE_COMMAND, 6); // Ends the program when no completion comes.
    checks.that(user.wait(100000), "fence of the last buffer");
    bench.last_kind();
    bench.works();
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    dead_from_the_start(checks, random);
    dies_in_the_middle(checks, random);
    restarted_while_dead(checks, random);
    dies_before_the_host_is_written(checks, random);
    host_takes_nothing(checks, random);
    sleeps_over_jobs(checks, random);
    errors(checks, random);
    window_of_dead_memory(checks, random);
    window_behind_a_fault(checks, random);
    return checks.done();
}
