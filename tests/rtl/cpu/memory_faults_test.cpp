// SPDX-License-Identifier: Apache-2.0
// Video memory that does not answer, answers with errors, or comes back late: the whole device with its firmware tells
// the host at once, by record, interrupt and errored fence, and afterwards works, or says in STATUS that it cannot.
#include "../rectangle/images.h"
#include "device_bench.h"

namespace
{

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
    const int all = (int)rounds(20, 50);
    for (int round = 0; round < all; round++) {
        if (round == all / 2)
            bench.mix();
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
    for (int round = 0; round < 12; round++) {
        if (round == 6)
            bench.mix();
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

// Jobs that read their page lists in slots are in the engine as memory dies. They are over, the core starts anew with
// its firmware, and all that stands in the slots is what other buffers brought, which as a list would lead to pages
// that nobody named. In any cycle in which memory comes back it leads nowhere.
void lists_while_dead(Checks &checks, Random &random)
{
    checks.begin("what_a_new_firmware_finds_in_slots_is_no_page_list_of_jobs_that_memory_kept");
    const uint64_t OUT = DATA + 32 * 4096, EVIL = HOST + 0x200000;
    for (unsigned round = 0; round < 16; round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        unsigned evil = 0, written = 0;
        root.map(EVIL);
        root.on_host_write = [&](uint64_t at, uint8_t) {
            evil += at >= EVIL && at < EVIL + 4096;
            written += at >= OUT && at < OUT + 32 * 4096;
        };
        for (unsigned i = 0; i < 16; i++) {
            bench.paging().word(FERRY_OPCODE_COPY_PAGES | FERRY_PACKET_HEADER_UNORDERED_MASK | 10u << 16,
                                FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2 |
                                    FERRY_LIST_SIDE_DESTINATION << 4);
            bench.paging().word(8192, 0).word(random.below(99)).word(OUT + i * 8192).word(OUT + i * 8192 + 4096);
        }
        bench.paging().submit();
        for (int i = 0; i < 10000 && !written; i++)
            root.tick();
        root.run(random.below(300));
        root.memory_dead = true;
        checks.that(bench.paging().wait(10000), "fence of what memory keeps");
        root.bar0(FERRY_BAR0_CONTROL, 0);
        if (round % 2)
            checks.that(root.boot("build/firmware/firmware.bin"), "firmware serves rings again");
        else
            root.bar0(FERRY_BAR0_CONTROL, 1);
        for (unsigned n = 0; n < 6; n++) {
            for (unsigned i = 0; i < 256; i++)
                bench.user().word(EVIL);
            bench.user().submit();
            checks.that(bench.user().wait(20000), "fence of a buffer of addresses");
            bench.last_kind();
        }
        checks.that(bench.stuck(), "memory keeps the engine");
        written = 0;
        bench.comes_back();
        checks.equal(evil, 0, "bytes of a page that no list named");
        checks.equal(written, 0, "bytes of jobs that were over");
        checks.equal(root.unmapped, 0, "writes to no page");
    }
}

// A table is read for a user's job as memory dies; what the paging ring forgets has to wait for that read, and does
// not.
void dies_under_a_walk(Checks &checks, Random &random)
{
    checks.begin("forgetting_page_tables_waits_for_no_memory_that_is_dead");
    Bench bench(checks, random);
    bench.mix();
    for (int round = 0; round < 4; round++) {
        const uint32_t scope = round & 1 ? FERRY_FORGET_SCOPE_ALL : FERRY_FORGET_SCOPE_SPACE;
        bench.paging().word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(FERRY_FORGET_SCOPE_ALL, 0).word(0).submit(1);
        checks.that(bench.paging().wait(), "all is forgotten");
        bench.root().memory_dead = true;
        bench.user().copy(FERRY_ADDRESS_KIND_VIRTUAL, 64, FERRY_ADDRESS_KIND_VIRTUAL, AREA, 300).submit(1);
        bench.root().run(round < 2 ? 800 : 2 * TIMEOUT);
        bench.paging().word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(scope, 0).word(0).submit(1);
        checks.that(bench.user().wait(60000) && bench.paging().wait(60000), "fences while memory is dead");
        checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_FAULTED, "of what could not be forgotten");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_WATCHDOG, "fault kind");
        bench.root().memory_dead = false;
        bench.comes_back();
    }
}

// Memory dies behind the first entry of a line. Nobody needs the others: the engine has done its job and watches
// nothing. What forgets is told all the same, and nobody else waits for it; also after a reset, or when the core starts
// anew.
void dies_in_a_line(Checks &checks, Random &random)
{
    checks.begin("memory_that_dies_in_a_line_of_a_table_keeps_nothing_that_forgets_waiting");
    for (unsigned then = 0; then < 4; then++) {
        // Without a timeout only a reset gives memory up.
        if (then == 3)
            checks.begin("a_reset_gives_up_a_line_of_a_table_for_which_no_timeout_is_set");
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        auto forget = [&] {
            bench.paging().word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(FERRY_FORGET_SCOPE_ALL, 0).word(0).submit(1);
        };
        bench.mix();
        forget();
        checks.that(bench.paging().wait(), "all is forgotten");
        root.dies_in = 1;
        // A page of the host, whose entry is the first of a line: of video memory it needs nothing but that.
        bench.user().fill(FERRY_ADDRESS_KIND_VIRTUAL, Bench::VIRTUAL_HOST + 32 * 4096, 64, 3, random.word()).submit(1);
        checks.that(bench.user().wait(20000), "a job that needs one entry");
        checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_SUCCESS, "a job that needs one entry");
        checks.that(root.memory_dead, "memory is dead");
        root.dies_in = -1;
        if (then == 3)
            root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
        forget();
        root.run(3000);
        bench.user().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_SYSTEM, DATA + 33 * 4096, 64).submit(1);
        const char *what[] = {"fences while memory is dead", "fences after an engine reset", "fences after a restart",
                              "fences after an engine reset without a timeout"};
        if (then != 0) {
            root.bar0(FERRY_BAR0_CONTROL, then == 2 ? 0 : 3);
            root.run(3000);
            root.bar0(FERRY_BAR0_CONTROL, 1);
        }
        checks.that(bench.paging().wait(100000) && bench.user().wait(100000), what[then]);
        root.memory_dead = false;
        checks.that(bench.paging().wait(20000) && bench.user().wait(20000), "fences when memory is back");
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

// The core is stopped while the host, by its credits or by forbidding, takes none of our writes: the host is given up
// on and STOPPING ends. What stands in front of the link leaves when it may, or goes with a function reset; until then
// STATUS says that it is there.
void writes_outlive_the_core(Checks &checks, Random &random)
{
    checks.begin("status_tells_of_writes_that_stand_before_the_link_when_the_core_has_stopped");
    const uint32_t owed = FERRY_BAR0_STATUS_ENGINE_WRITE_MASK | FERRY_BAR0_STATUS_ENGINE_STUCK_MASK;
    for (unsigned round = 0; round < 8; round++) {
        const bool forbidden = round & 1, resets = round & 2;
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        bench.user().copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_SYSTEM, DATA + 32 * 4096, 100000).submit(1);
        root.run(1200 + random.below(500));
        root.posted_credits = forbidden;
        if (forbidden)
            root.config_write(FERRY_CONFIG_SPACE_COMMAND, 2);
        root.run(random.below(500));
        root.bar0(FERRY_BAR0_CONTROL, 0);
        for (int i = 0; i < 100 && root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_STOPPING_MASK; i++)
            root.run(100);
        checks.equal(root.bar0(FERRY_BAR0_STATUS) & (owed | FERRY_BAR0_STATUS_STOPPING_MASK), owed, "status");
        unsigned late = 0, later = 0;
        bool over = false;
        root.on_host_write = [&](uint64_t, uint8_t) { (over ? later : late)++; };
        if (resets) {
            root.config_write(0x48,
                              root.config_read(0x48) | FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK);
            root.posted_credits = true;
            root.run(5000);
            root.enumerate();
        }
        root.posted_credits = true;
        root.config_write(FERRY_CONFIG_SPACE_COMMAND, 6);
        for (int i = 0; i < 1000 && !over; i++)
            over = (root.bar0(FERRY_BAR0_STATUS) & owed) == 0;
        checks.that(over, "STATUS says that they have gone");
        root.run(20000);
        checks.equal(later, 0, "bytes written behind that");
        checks.equal(late != 0, !resets, "some were written before, and none behind a function reset");
        checks.equal(root.broken, 0, "broken rules of buses and link");
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

// D3hot while a reset waits for the host, which answers nothing that is not asked of it: the reset ends after D0, and
// nobody was given up on, neither after ENGINE_TIMEOUT nor, without one, after what a reset waits by itself.
void sleeps_over_a_reset(Checks &checks, Random &random)
{
    checks.begin("d3hot_over_an_engine_reset_gives_nobody_up");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    for (unsigned round = 0; round < 4; round++) {
        const bool out = round & 1, timed = round & 2;
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, timed ? TIMEOUT : 0);
        bench.user()
            .copy(out ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_SYSTEM, out ? 0 : DATA,
                  out ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL, out ? DATA + 32 * 4096 : AREA, 100000)
            .submit(1);
        root.run(2000);
        root.link_pace = 30;
        root.bar0(FERRY_BAR0_CONTROL, 3);
        root.config_write(0xa4, 3);
        root.run(timed ? 3 * TIMEOUT : 70000);
        root.config_write(0xa4, 0);
        checks.equal(root.bar0(FERRY_BAR0_CONTROL), 3, "the reset goes on");
        checks.that(!bench.stuck(), "the host is not given up on");
        root.link_pace = 1;
        checks.that(bench.user().wait(100000), "fence after D0");
        checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_ABORTED, "status");
        bench.last_kind();
        bench.works();
    }
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

// Memory that takes the address of a write only with its data in sight, or when it has all of it: the engine's, and the
// CPU's through BAR2, word by word and sixteen at once.
void address_waits_for_data(Checks &checks, Random &random)
{
    checks.begin("memory_may_see_a_writes_data_before_it_takes_the_address");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint64_t window = RootComplex::BAR2 + 2 * AREA + 0x1000;
    for (unsigned round = 0; round < 8; round++) {
        root.address_waits = round < 4;
        root.data_first = !root.address_waits;
        root.stall = round & 1;
        bench.copies(bench.user(), 8);
        bench.copies(bench.paging(), 4);
        for (uint32_t i = 0; i < 20; i++)
            root.write(window + 4 * i, 0x1000 * round + i);
        RootComplex::Packet many = {0x60000010, 0xff, static_cast<uint32_t>(window >> 32),
                                    static_cast<uint32_t>(window) + 80};
        for (uint32_t i = 20; i < 36; i++)
            many.push_back(0x1000 * round + i);
        root.send(many);
        for (uint32_t i = 0; i < 36; i++)
            checks.equal(root.read(window + 4 * i), 0x1000 * round + i, "word read back");
        for (Ring *ring : {&bench.user(), &bench.paging()}) {
            checks.that(ring->wait(100000), "fence");
            checks.equal(ring->status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
        }
    }
    root.stall = root.data_first = false;
    checks.equal(root.broken, 0, "broken rules of buses and link");
    bench.works();
}

// The CPU writes words of dead memory through BAR2, or reads some. Whatever becomes of these accesses, the host must be
// able to ask what is the matter and to reset the function: registers and configuration space stand behind no memory.
// The same of its upper half, where tiles are shown as rows; the words are of two rows there.
void window_of_dead_memory(Checks &checks, Random &random)
{
    const char *names[] = {"a_read_of_dead_memory_through_bar2_leaves_registers_and_configuration_space_in_reach",
                           "a_write_of_dead_memory_through_bar2_leaves_registers_and_configuration_space_in_reach",
                           "a_read_of_rows_of_dead_memory_leaves_registers_and_configuration_space_in_reach",
                           "a_write_of_rows_of_dead_memory_leaves_registers_and_configuration_space_in_reach"};
    for (unsigned access = 0; access < 4; access++) {
        const bool write = access & 1, rows = access & 2;
        checks.begin(names[access]);
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        const uint32_t window = 2 * AREA, count = 40, row = 128;
        const Image tiles = {&elements[0], 12, window, 2 << 12};
        const uint64_t bar2 = RootComplex::BAR2 + window + (rows ? 1u << 26 : 0);
        auto word = [&](uint32_t i) {
            uint32_t value;
            std::memcpy(&value, &root.local[rows ? tiles.address(4 * i % row, 4 * i / row) : window + 4 * i], 4);
            return value;
        };
        if (rows) {
            root.bar0(FERRY_BAR0_VIEW_AT + FERRY_BAR0_VIEW_FIRST_PAGE, window >> 12);
            root.bar0(FERRY_BAR0_VIEW_AT + FERRY_BAR0_VIEW_PAGES, 2);
            root.bar0(FERRY_BAR0_VIEW_AT + FERRY_BAR0_VIEW_ROW_BYTES, row);
            root.bar0(FERRY_BAR0_VIEW_AT + FERRY_BAR0_VIEW_LAYOUT,
                      FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK | FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK | 1);
            root.run(200);
        }
        std::vector<uint32_t> was(count + 1);
        for (uint32_t i = 0; i <= count; i++)
            was[i] = word(i);
        root.memory_dead = true;
        if (write)
            for (uint32_t i = 0; i < count; i++)
                root.write(bar2 + 4 * i, 0x12345678 + i);
        else
            root.send({0x20000020, 0x1fff, static_cast<uint32_t>(bar2 >> 32), static_cast<uint32_t>(bar2)});
        root.run(75000);                                              // The window gives memory up after 65,536.
        checks.equal(root.config_read(0) & 0xffff, 0x1209, "vendor"); // Ends the program when no completion comes.
        checks.equal(root.bar0(FERRY_BAR0_MAGIC), FERRY_BAR0_MAGIC_RESET, "MAGIC");
        bench.comes_back();
        // What was refused is not written later; what memory was shown may be. Then the window is as ever.
        for (uint32_t i = 0; i <= count; i++)
            checks.that(word(i) == was[i] || (write && i < count && word(i) == 0x12345678 + i), "word is old or new");
        checks.that(!write || word(count - 1) == was[count - 1], "the last one was refused");
        for (uint32_t i = 0; i < count; i++)
            root.write(bar2 + 4 * i, i);
        for (uint32_t i = 0; i < count; i++) {
            checks.equal(root.read(bar2 + 4 * i), i, "word read back");
            checks.equal(word(i), i, "word in its place");
        }
    }
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    dead_from_the_start(checks, random);
    dies_in_the_middle(checks, random);
    restarted_while_dead(checks, random);
    lists_while_dead(checks, random);
    dies_under_a_walk(checks, random);
    dies_in_a_line(checks, random);
    dies_before_the_host_is_written(checks, random);
    host_takes_nothing(checks, random);
    writes_outlive_the_core(checks, random);
    sleeps_over_jobs(checks, random);
    sleeps_over_a_reset(checks, random);
    errors(checks, random);
    address_waits_for_data(checks, random);
    window_of_dead_memory(checks, random);
    return checks.done();
}
