// SPDX-License-Identifier: Apache-2.0
// The whole device with its page-table unit: the paging ring says where tables are and that they changed, a user ring
// names nothing but virtual addresses, and its space is what its ring entry says.
#include "host_ring.h"
#include "moving_frames.h"

static const uint64_t TABLES = 0x200000, PLACES = 0x300000;
static const unsigned SPACE = 3, LOCAL = FERRY_ADDRESS_KIND_LOCAL, VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL;
static const uint64_t LEAF = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;
static const uint64_t IN_HOST = FERRY_TABLE_ENTRY_ENTRY_HOST_MASK | FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK;
static const uint32_t TABLE_RIGHTS = 7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK;

static void put(RootComplex &root, uint64_t at, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        root.local[at + i] = static_cast<uint8_t>(word >> 8 * i);
}

static void set_root(Ring &ring, unsigned space, unsigned height, uint64_t table, bool in_host = false)
{
    ring.word(FERRY_OPCODE_ROOT | 6u << 16,
              in_host ? FERRY_ADDRESS_KIND_SYSTEM << 2 | FERRY_PACKET_PLACES_SNOOP_MASK : LOCAL << 2);
    ring.word(space | height << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(table);
}

static void forget(Ring &ring, unsigned scope, unsigned space, uint64_t address)
{
    ring.word(FERRY_OPCODE_FORGET | 6u << 16, 0);
    ring.word(scope | space << 4, 0).word(address);
}

int main(int argc, char **argv)
{
    Random random;
    Checks checks;
    RootComplex root(random);
    furnish(root, random);

    checks.begin("virtual_device_has_page_tables");
    root.enumerate();
    checks.that(root.boot(argc > 1 ? argv[1] : "build/firmware/firmware.bin"), "firmware serves rings");
    checks.equal(FERRY_GET(FERRY_BAR0_CAPABILITIES_PAGE_TABLES, root.bar0(FERRY_BAR0_CAPABILITIES)), 1, "page tables");
    root.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
    root.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 4);
    Ring paging(root, 0, TABLE_RIGHTS), user(root, 1, 0);
    user.entry_flags = FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK;
    uint64_t faults = 0;
    auto runs = [&](Ring &ring, uint32_t flags, const char *what) {
        ring.submit(flags);
        checks.that(ring.wait(), what);
        checks.equal(ring.status(), FERRY_BUFFER_STATUS_SUCCESS, what);
    };
    // The fault record of a buffer that goes wrong.
    auto faults_with = [&](Ring &ring, uint32_t flags, uint32_t kind, uint64_t address, uint32_t walk, uint64_t entry,
                           const char *what) {
        ring.submit(flags);
        checks.that(ring.wait(), what);
        checks.equal(ring.status(), FERRY_BUFFER_STATUS_FAULTED, what);
        uint64_t record = FAULTS + 64 * (faults++ % 16);
        checks.equal(root.load64(record) >> 32 & 255, kind, what);
        checks.equal(root.load64(record + FERRY_FAULT_RECORD_ADDRESS), address, what);
        checks.equal(root.load64(record + FERRY_FAULT_RECORD_LIST_INDEX) >> 32, walk, what);
        checks.equal(root.load64(record + FERRY_FAULT_RECORD_ENTRY), entry, what);
        root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, static_cast<uint32_t>(faults));
    };

    // Bytes that went to the wrong place must differ from those there.
    for (uint64_t at = PLACES; at < PLACES + 0x100000; at++)
        root.local[at] = static_cast<uint8_t>(random.word());
    // Two levels: 30 bits. Pages in video memory and in the host's, one of them absent.
    checks.begin("virtual_copies_of_a_user_ring");
    for (unsigned i = 0; i < 1024; i++)
        put(root, TABLES + 8 * i, 0);
    const uint64_t BASE = 0x12345000, AREA = BASE >> 21;
    put(root, TABLES + 8 * AREA, FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | (TABLES + 0x1000));
    uint64_t entry_at = TABLES + 0x1000 + (BASE >> 12) % 512 * 8;
    for (unsigned i = 0; i < 12; i++)
        if (i != 7)
            put(root, entry_at + 8 * i, i % 4 == 2 ? LEAF | IN_HOST | (DATA + 4096 * i) : LEAF | (PLACES + 8192 * i));
    set_root(paging, SPACE, 1, TABLES);
    forget(paging, FERRY_FORGET_SCOPE_SPACE, SPACE, 0);
    runs(paging, 0, "root and forget");
    auto byte_of = [&](uint64_t offset) -> uint8_t & {
        uint64_t page = offset / 4096;
        return page % 4 == 2 ? root.byte(DATA + 4096 * page + offset % 4096)
                             : root.local[PLACES + 8192 * page + offset % 4096];
    };
    for (unsigned i = 0; i < 10; i++) {
        uint64_t from = random.below(3000), to = 4 * 4096 + random.below(3000);
        uint32_t bytes = 1 + random.below(8000);
        std::vector<uint8_t> content;
        for (unsigned at = 0; at < bytes; at++)
            content.push_back(byte_of(from + at));
        user.copy(VIRTUAL, BASE + from, VIRTUAL, BASE + to, bytes);
        user.fill(VIRTUAL, BASE + 8 * 4096 + 3, 5000, 0, 40 + i);
        runs(user, SPACE << 4, "copy and fill");
        for (unsigned at = 0; at < bytes; at++)
            checks.equal(byte_of(to + at), content[at], "copied byte");
        for (unsigned at = 0; at < 5000; at++)
            checks.equal(byte_of(8 * 4096 + 3 + at), 40 + i, "filled byte");
    }

    checks.begin("virtual_faults_name_page_cause_level_entry_and_space");
    const uint32_t walked = FERRY_FAULT_RECORD_WALK_WALKED_MASK | SPACE << 4;
    user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 6 * 4096 + 100, 8000);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_PAGE_ABSENT, BASE + 7 * 4096, walked, 0, "an absent page");
    put(root, entry_at + 8 * 7, LEAF | FERRY_TABLE_ENTRY_ENTRY_READ_ONLY_MASK | (PLACES + 0x40000));
    user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 6 * 4096 + 100, 8000);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_PAGE_READ_ONLY, BASE + 7 * 4096, walked,
                LEAF | FERRY_TABLE_ENTRY_ENTRY_READ_ONLY_MASK | (PLACES + 0x40000), "a page that is read only");
    user.copy(VIRTUAL, BASE + (2u << 20), VIRTUAL, BASE, 8);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_PAGE_ABSENT, BASE + (2u << 20), walked | 1, 0, "an absent table");
    user.copy(VIRTUAL, BASE, VIRTUAL, BASE, 8);
    faults_with(user, 5 << 4, FERRY_FAULT_KIND_PAGE_ABSENT, BASE, FERRY_FAULT_RECORD_WALK_WALKED_MASK | 5 << 4, 0,
                "a space without a table");
    user.copy(VIRTUAL, (1ull << 48) - 4, VIRTUAL, BASE, 8);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_RANGE, (1ull << 48) - 4, 0, 0, "beyond 48 bits");

    checks.begin("virtual_rights");
    user.copy(VIRTUAL, BASE, LOCAL, 0x1000, 8);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_RIGHTS, 0x1000, 0, 0, "a destination that is not virtual");
    user.copy(LOCAL, 0x1000, VIRTUAL, BASE, 8);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_RIGHTS, 0x1000, 0, 0, "a source that is not virtual");
    user.entry_flags = 0;
    user.copy(VIRTUAL, BASE, LOCAL, 0x1000, 8);
    runs(user, SPACE << 4, "the same of an entry that does not confine its buffer");
    user.entry_flags = FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK;
    set_root(user, SPACE, 1, TABLES);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_RIGHTS, 0, 0, 0, "a root");
    forget(user, FERRY_FORGET_SCOPE_ALL, 0, 0);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_RIGHTS, 0, 0, 0, "forgetting");

    // A root may be anywhere. What a fault shows of the entry would otherwise carry eight protected bytes out.
    checks.begin("virtual_faults_show_nothing_of_the_protected_range");
    const uint64_t SECRET = PLACES + 0xf0000, WORD = 0x5ec2e75ec2e7000;
    for (unsigned closed = 0; closed < 2; closed++) {
        put(root, SECRET + 8 * (BASE >> 12 & 511), WORD);
        root.bar0_64(FERRY_BAR0_PROTECT_BASE, SECRET);
        root.bar0_64(FERRY_BAR0_PROTECT_LIMIT, closed ? SECRET + 4096 : SECRET);
        set_root(paging, SPACE + 6, 0, SECRET);
        forget(paging, FERRY_FORGET_SCOPE_ALL, 0, 0);
        runs(paging, 0, "a root in the protected range");
        for (unsigned write = 0; write < 2; write++) {
            if (write)
                user.fill(VIRTUAL, BASE & 0x1fffff, 8, 0, 0);
            else
                user.copy(VIRTUAL, BASE & 0x1fffff, VIRTUAL, BASE & 0x1fffff, 8);
            faults_with(user, (SPACE + 6) << 4, FERRY_FAULT_KIND_PAGE_ABSENT, BASE & 0x1fffff,
                        FERRY_FAULT_RECORD_WALK_WALKED_MASK | (SPACE + 6) << 4, closed ? 0 : WORD, "a protected word");
        }
    }
    root.bar0_64(FERRY_BAR0_PROTECT_LIMIT, 0);
    forget(paging, FERRY_FORGET_SCOPE_ALL, 0, 0);
    runs(paging, 0, "nothing is protected");

    // What was forgotten is read again, and what was not is not: that shows that there was something to forget. Each
    // scope, and a place beside it.
    checks.begin("virtual_what_is_forgotten_is_read_again_and_nothing_else");
    uint64_t table_reads = 0;
    root.on_local_read = [&](uint64_t at) { table_reads += at >= TABLES && at < TABLES + 0x2000; };
    auto reads_of = [&](const char *what) {
        uint64_t before = table_reads;
        user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 9 * 4096, 64);
        runs(user, SPACE << 4, what);
        return table_reads - before;
    };
    const struct {
        unsigned scope, space;
        uint64_t address;
        bool concerns;
    } scopes[] = {{FERRY_FORGET_SCOPE_GROUP, SPACE, BASE + 9 * 4096, true},
                  {FERRY_FORGET_SCOPE_GROUP, SPACE, BASE + 0x100000, false},
                  {FERRY_FORGET_SCOPE_GROUP, SPACE + 1, BASE + 9 * 4096, false},
                  {FERRY_FORGET_SCOPE_TABLE, SPACE, BASE + 0x8000, true},
                  {FERRY_FORGET_SCOPE_TABLE, SPACE, BASE + 0x200000, false},
                  {FERRY_FORGET_SCOPE_SPACE, SPACE, 0, true},
                  {FERRY_FORGET_SCOPE_SPACE, SPACE + 2, 0, false},
                  {FERRY_FORGET_SCOPE_ALL, 0, 0, true}};
    for (const auto &scope : scopes) {
        uint64_t old_place = PLACES + 0x60000, new_place = PLACES + 0x62000;
        put(root, entry_at + 8 * 9, LEAF | old_place);
        forget(paging, FERRY_FORGET_SCOPE_ALL, 0, 0);
        runs(paging, 0, "all is forgotten");
        checks.that(reads_of("a copy that walks") > 0, "nothing is known");
        checks.equal(reads_of("a copy that does not"), 0, "it is known");
        put(root, entry_at + 8 * 9, LEAF | new_place);
        for (unsigned at = 0; at < 64; at++)
            root.local[old_place + at] = root.local[new_place + at] = 0x77;
        forget(paging, scope.scope, scope.space, scope.address);
        runs(paging, 0, "it is forgotten");
        checks.that((reads_of("a copy behind that") > 0) == scope.concerns, "tables are read if it was forgotten");
        for (unsigned at = 0; at < 64; at++) {
            checks.equal(root.local[new_place + at], scope.concerns ? byte_of(at) : 0x77, "byte of the new place");
            checks.equal(root.local[old_place + at], scope.concerns ? 0x77 : byte_of(at), "byte of the old place");
        }
    }
    forget(paging, FERRY_FORGET_SCOPE_ALL, 0, 0);
    runs(paging, 0, "all is forgotten");
    root.on_local_read = nullptr;

    // Of 2^35 pieces the first meets a page that is absent; of 2^32 good ones some are written when the engine is
    // reset.
    checks.begin("virtual_a_rectangle_that_goes_wrong_is_over_at_once_and_others_work_on");
    Ring other(root, 2, 0);
    auto rectangle = [](Ring &ring, uint32_t kind, uint32_t width, uint64_t from, uint64_t to) {
        ring.word(FERRY_OPCODE_COPY_RECTANGLE | 12u << 16, kind | kind << 2).word(width, 65535).word(from).word(to);
        ring.word(0u, 0u).word(0u, 3u << FERRY_PACKET_LAYOUT_SWIZZLE_SHIFT | FERRY_PACKET_LAYOUT_SMALL_MASK);
    };
    rectangle(user, VIRTUAL, 1u << 23, BASE, 1u << 29);
    faults_with(user, SPACE << 4, FERRY_FAULT_KIND_PAGE_ABSENT, 1u << 29, walked | 1, 0, "a rectangle to no page");
    for (unsigned round = 0; round < 4; round++) {
        rectangle(other, LOCAL, 1u << 20, 0x100000, 0x1000000);
        other.submit();
        root.run(4000 + random.below(4000));
        checks.that(!other.idle(), "it is long");
        root.bar0(FERRY_BAR0_CONTROL, root.bar0(FERRY_BAR0_CONTROL) | FERRY_BAR0_CONTROL_ENGINE_RESET_MASK);
        checks.that(other.wait(100000), "a rectangle that a reset cut");
        checks.equal(other.status(), FERRY_BUFFER_STATUS_ABORTED, "a rectangle that a reset cut");
        faults++;
        user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 4096, 8);
        runs(user, SPACE << 4, "another user's ring");
    }

    // A rectangle that made way goes on without being looked at anew, which takes the core as long as three paging
    // buffers: none of these waits for that.
    checks.begin("virtual_paging_does_not_wait_while_a_rectangle_is_checked_again");
    other.word(FERRY_OPCODE_COPY_RECTANGLE | 12u << 16, LOCAL << 2).word(64, 65535).word(uint64_t{0x400000});
    other.word(uint64_t{0x1000000}).word(64u, 0u).word(64u, 0u);
    other.submit();
    root.run(6000);
    uint64_t longest = 0;
    for (unsigned i = 0; i < 40; i++) {
        uint64_t began = root.time;
        paging.copy(LOCAL, 0, LOCAL, 0x80000, 64);
        runs(paging, 0, "a paging buffer");
        longest = std::max(longest, root.time - began);
        root.run(random.below(2500));
    }
    checks.that(!other.idle(), "it is long");
    checks.that(longest < 3000, "cycles of the paging buffer that took longest");
    if (longest >= 3000)
        std::printf("    it took %u cycles\n", static_cast<unsigned>(longest));
    checks.that(other.wait(), "the rectangle");
    checks.equal(other.status(), FERRY_BUFFER_STATUS_SUCCESS, "the rectangle");

    // The paging ring has tables forgotten without an end, memory is slow, and a user's job walks four levels: each
    // time that something is forgotten its walk is stopped.
    checks.begin("virtual_jobs_end_beside_a_paging_ring_that_forgets_without_an_end");
    const unsigned latency = root.memory_latency;
    const uint64_t DEEP = 0xa00000;
    for (unsigned level = 3; level > 0; level--) {
        for (unsigned i = 0; i < 512; i++)
            put(root, DEEP + level * 4096 + 8 * i, 0);
        put(root, DEEP + level * 4096 + (BASE >> (12 + 9 * level)) % 512 * 8,
            FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | (level > 1 ? DEEP + (level - 1) * 4096 : TABLES + 0x1000));
    }
    set_root(paging, SPACE + 8, 3, DEEP + 3 * 4096);
    forget(paging, FERRY_FORGET_SCOPE_ALL, 0, 0);
    runs(paging, 0, "a space of four levels");
    for (unsigned scope : {FERRY_FORGET_SCOPE_ALL, FERRY_FORGET_SCOPE_GROUP}) {
        root.memory_latency = 60;
        user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 4096, 64);
        user.submit((SPACE + 8) << 4);
        const uint64_t began = root.time;
        while (!user.idle() && root.time < began + 200000) {
            if (paging.full()) {
                root.tick();
                continue;
            }
            // Of ALL the firmware is asked, which takes it a thousand cycles.
            for (unsigned i = 0; i < (scope == FERRY_FORGET_SCOPE_ALL ? 5 : 150); i++)
                forget(paging, scope, scope == FERRY_FORGET_SCOPE_ALL ? 0 : SPACE + 1, 0);
            paging.submit();
        }
        checks.that(user.idle(), "the user's job");
        checks.that(paging.wait(), "what is forgotten");
        checks.that(user.wait(), "the user's job, when nothing is forgotten any more");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the user's job");
        checks.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of what is forgotten");
        root.memory_latency = latency;
    }

    // Levels in one memory and in the other. Much of the host's data is asked for ahead of the copies that write it,
    // and waits for them; what they wait for is a table, and comes all the same.
    checks.begin("virtual_tables_in_the_hosts_memory");
    const uint64_t HIGH = HOST + 0x800000, LOW = HOST + 0x801000;
    root.map(HIGH);
    root.map(LOW);
    auto put_host = [&](uint64_t at, uint64_t word) {
        for (unsigned i = 0; i < 8; i++)
            root.byte(at + i) = static_cast<uint8_t>(word >> 8 * i);
    };
    for (unsigned i = 0; i < 512; i++) {
        put_host(HIGH + 8 * i, 0);
        put_host(LOW + 8 * i, 0);
        put(root, DEEP + 0x8000 + 8 * i, 0);
    }
    put_host(HIGH, FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | (DEEP + 0x8000));
    put(root, DEEP + 0x8000 + 8 * AREA, FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | IN_HOST | LOW);
    put(root, DEEP + 0x8000 + 8 * (AREA + 1), FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | IN_HOST | NOWHERE);
    // Pages 0 to 23 are the host's, 24 to 47 video memory's.
    auto page_at = [&](unsigned page) {
        return page < 24 ? DATA + 4096 * page : PLACES + 0xa0000 + 4096 * (page - 24);
    };
    for (unsigned page = 0; page < 48; page++)
        put_host(LOW + (BASE >> 12) % 512 * 8 + 8 * page, LEAF | (page < 24 ? IN_HOST : 0) | page_at(page));
    set_root(paging, SPACE + 10, 2, HIGH, true);
    for (unsigned round = 0; round < 6; round++) {
        const bool inwards = round % 2 == 0;
        std::vector<uint8_t> content;
        for (unsigned at = 0; at < 24 * 4096; at++)
            content.push_back(inwards ? root.byte(page_at(0) + at) = static_cast<uint8_t>(random.word())
                                      : root.local[page_at(24) + at] = static_cast<uint8_t>(random.word()));
        forget(paging, FERRY_FORGET_SCOPE_ALL, 0, 0);
        runs(paging, 0, "all is forgotten");
        root.memory_latency = round < 2 ? 60 : latency;
        for (unsigned page = 0; page < 24; page += 3)
            user.copy(VIRTUAL, BASE + 4096 * (inwards ? page : 24 + page), VIRTUAL,
                      BASE + 4096 * (inwards ? 24 + page : page), 3 * 4096);
        runs(user, (SPACE + 10) << 4, "copies of pages");
        root.memory_latency = latency;
        for (unsigned at = 0; at < 24 * 4096; at++)
            checks.equal(inwards ? root.local[page_at(24) + at] : root.byte(page_at(0) + at), content[at],
                         "copied byte");
    }
    // A table that the host does not have, and one that has gone meanwhile.
    user.copy(VIRTUAL, BASE + (2u << 20), VIRTUAL, BASE, 8);
    faults_with(user, (SPACE + 10) << 4, FERRY_FAULT_KIND_TABLE_ERROR, BASE + (2u << 20),
                FERRY_FAULT_RECORD_WALK_WALKED_MASK | (SPACE + 10) << 4, 0, "a table that is nowhere");
    user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 30 * 4096, 8);
    runs(user, (SPACE + 10) << 4, "another page");

    // A page is given another place while a user's copy runs through it for long: once the paging ring's fence is
    // there, no byte of the old place changes any more, whatever is still copied.
    checks.begin("virtual_edits_under_a_running_copy");
    for (unsigned round = 0; round < 8; round++) {
        uint64_t old_place = PLACES + 0x80000 + 8192 * round, new_place = old_place + 8192;
        if (round == 0) {
            put(root, entry_at + 8 * 9, LEAF | old_place);
            forget(paging, FERRY_FORGET_SCOPE_GROUP, SPACE, BASE + 9 * 4096);
            runs(paging, 0, "the first place");
        }
        for (unsigned i = 0; i < 12; i++)
            user.copy(VIRTUAL, BASE + 4096 * (i % 2), VIRTUAL, BASE + 8 * 4096, 8192);
        user.submit(SPACE << 4);
        for (unsigned i = 0; i < 1500 + random.below(6000); i++)
            root.tick();
        put(root, entry_at + 8 * 9, LEAF | new_place);
        forget(paging, round % 2 ? FERRY_FORGET_SCOPE_GROUP : FERRY_FORGET_SCOPE_ALL, round % 2 ? SPACE : 0,
               round % 2 ? BASE + 9 * 4096 : 0);
        runs(paging, 0, "an edit");
        for (unsigned at = 0; at < 4096; at++)
            root.local[old_place + at] = 0x5a;
        checks.that(user.wait(), "the user's copies");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the user's copies");
        for (unsigned at = 0; at < 4096; at++)
            checks.equal(root.local[old_place + at], 0x5a, "byte of the old place");
        user.copy(VIRTUAL, BASE, VIRTUAL, BASE + 9 * 4096, 4096);
        runs(user, SPACE << 4, "a copy to the new place");
        for (unsigned at = 0; at < 4096; at++)
            checks.equal(root.local[new_place + at], byte_of(at), "byte of the new place");
    }

    checks.begin("virtual_no_frame_is_touched_once_its_page_has_moved_and_was_forgotten_whatever_disturbs_it");
    {
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
        const char *moves = std::getenv("FERRY_MOVES");
        unsigned cut = 0;
        for (unsigned run = 0; run < 2 || (run < 10 && cut <= 10); run++) {
            MovingFrames frames(checks, random, root, paging, user, other, run % 2 != 0);
            frames.run(moves ? static_cast<unsigned>(std::atoi(moves)) : 150);
            cut += frames.cut();
        }
        checks.that(cut > 10, "FORGETs that a reset cut");
    }

    checks.begin("virtual_no_frame_or_table_is_touched_once_it_was_forgotten_whatever_memory_and_the_host_do");
    {
        const char *moves = std::getenv("FERRY_MOVES");
        unsigned resets = 0, told = 0;
        // Some ten of each are usual; who has fewer goes on.
        for (unsigned run = 0; run < 1 || (run < 10 && !(resets > 0 && told > 3)); run++) {
            MovingFrames frames(checks, random, root, paging, user, other, false);
            frames.worse = true;
            frames.run(moves ? static_cast<unsigned>(std::atoi(moves)) : 100);
            resets += frames.resets();
            told += frames.errors_told();
        }
        checks.that(resets > 0 && told > 3, "function resets, and errors of tables");
    }
    return checks.done();
}
