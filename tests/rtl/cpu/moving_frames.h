// SPDX-License-Identifier: Apache-2.0
// The pages of a space move from frame to frame while user rings copy and fill through them, and the device is
// disturbed: once the fence of a FORGET says SUCCESS, nobody reads or writes a frame that the page was in before. A
// FORGET that a reset cut is sent again, as a driver does. Tables are in video memory, or in the host's. With `worse`
// the tables move too, and nobody reads where one was; other rings forget beside it, memory gives errors in the tables
// or dies for a while, the firmware is loaded anew, the function is reset.
#ifndef FERRY_TESTS_RTL_CPU_MOVING_FRAMES_H
#define FERRY_TESTS_RTL_CPU_MOVING_FRAMES_H

#include <set>

#include "host_ring.h"

class MovingFrames
{
  public:
    MovingFrames(Checks &checks, Random &random, RootComplex &root, Ring &paging, Ring &user, Ring &other, bool in_host)
        : checks_(checks), random_(random), root_(root), paging_(paging), users_{&user, &other}, in_host_(in_host)
    {
        for (uint32_t at = TABLES; at < TABLES + TABLE_PLACES * 4096; at++)
            root_.local[at] = 0;
        for (unsigned i = 0; i < TABLE_PLACES * 512; i++) {
            root_.map(IN_HOST + 8 * i);
            root_.byte(IN_HOST + 8 * i) = 0;
        }
        // Three levels, of which one area of 2 MiB is in use.
        for (unsigned level = 2; level; level--)
            entry(table_[level], place_in(level), leads_to(table_[level - 1]));
        for (unsigned page = 0; page < PAGES; page++)
            place(page, page);
        for (unsigned frame = PAGES; frame < FRAMES; frame++)
            close(frame);
        root_.bar0(ring(2, FERRY_BAR0_RING_RIGHTS), FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        root_.on_local_write = [this](uint64_t at, uint8_t) { touched(at, "written"); };
        root_.on_local_read = [this](uint64_t at) { touched(at, "read"); };
        root_.bad_beat = [this](uint64_t at, unsigned beats) {
            const bool table = at >= TABLES && at < TABLES + TABLE_PLACES * 4096;
            return errors_ && table && random_.once_in(5) ? 1 + random_.below(beats) : 0;
        };
        root_.on_host_write = [this](uint64_t at, uint8_t) {
            if (at >= FAULTS && at < FAULTS + 16 * 64 && at % 64 == 63)
                told(at - 63);
        };
    }
    ~MovingFrames()
    {
        root_.bad_beat = nullptr;
        root_.on_host_write = nullptr;
        root_.bar0(ring(2, FERRY_BAR0_RING_RIGHTS), FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        root_.on_local_write = nullptr;
        root_.on_local_read = nullptr;
    }

    // Moves pages `rounds` times.
    void run(unsigned rounds)
    {
        if (worse)
            log_faults();
        name_root();
        forget(paging_, FERRY_FORGET_SCOPE_SPACE, 0);
        paging_.submit();
        checks_.that(paging_.wait(), "a space");
        for (unsigned round = 0; round < rounds && !wrong_; round++) {
            keep_busy();
            move();
        }
        errors_ = false;
        for (Ring *ring : users_)
            checks_.that(ring->wait(), "a user's last buffer");
        // Behind a user's last FORGET it may be at work too, and the tables are made anew.
        checks_.that(paging_.wait(), "the paging ring's last buffer");
        checks_.equal(wrong_, 0, "accesses of frames that nobody has any more");
        std::printf("    %u pages moved, %u FORGETs were cut, %u user buffers, %u times the last was aborted\n", moved_,
                    cut_, buffers_, aborted_);
        if (worse)
            std::printf("    %u tables moved, %u errors of them told, %u function resets, %u loads\n", tables_moved_,
                        errors_told_, resets_, loads_);
    }
    unsigned cut() const { return cut_; }
    unsigned resets() const { return resets_; }
    unsigned errors_told() const { return errors_told_; }

    bool worse = false;

  private:
    static const unsigned PAGES = 40, FRAMES = 80, SPACE = 12;
    // Two places for the table of each level; behind them one whose every page is a frame that nobody has.
    static const unsigned TABLE_PLACES = 7;
    static const uint32_t TABLES = 0xc00000, TRAP = TABLES + 6 * 4096, AT = 0xd00000, TIMEOUT = 3000;
    // Where the pages are in the space.
    static const uint64_t PLACE = 0x40600000;
    static const uint64_t VALID = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK;

    // Which entry of the table of a level, above the lowest, leads there.
    static unsigned place_in(unsigned level) { return PLACE >> (12 + 9 * level) & 511; }
    // Where tables are in the host's memory, each as far behind this as it is behind TABLES in video memory.
    static const uint64_t IN_HOST = HOST + 0x900000;
    uint64_t leads_to(uint32_t table) const
    {
        const uint64_t host = FERRY_TABLE_ENTRY_ENTRY_HOST_MASK | FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK;
        return (in_host_ ? (IN_HOST + table - TABLES) | host : table) | VALID;
    }
    void entry(uint32_t table, unsigned index, uint64_t word)
    {
        for (unsigned i = 0; i < 8; i++) {
            const uint32_t at = table + 8 * index + i;
            (in_host_ ? root_.byte(IN_HOST + at - TABLES) : root_.local[at]) = static_cast<uint8_t>(word >> 8 * i);
        }
    }
    void place(unsigned page, unsigned frame)
    {
        entry(table_[0], page, (AT + frame * 4096) | VALID | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK);
        frame_of_[page] = frame;
        closed_.erase(frame);
        if (!closed_.empty())
            tempt();
    }
    void close(unsigned frame)
    {
        closed_.insert(frame);
        tempt();
    }
    // What comes with an error is an entry of such a frame too.
    void tempt()
    {
        root_.bad_data = nobodys_page();
        tempted_.insert(root_.bad_data);
    }
    // An entry that leads to a frame that nobody has.
    uint64_t nobodys_page() const { return (AT + *closed_.begin() * 4096) | VALID | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK; }
    void name_root()
    {
        const uint32_t in_host = FERRY_ADDRESS_KIND_SYSTEM << 2 | FERRY_PACKET_PLACES_SNOOP_MASK;
        paging_.word(FERRY_OPCODE_ROOT | 6u << 16, in_host_ ? in_host : FERRY_ADDRESS_KIND_LOCAL << 2);
        paging_.word(SPACE | 2u << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0);
        paging_.word(in_host_ ? IN_HOST + table_[2] - TABLES : table_[2]);
    }
    // Another place for a table; where it was before.
    uint32_t move_table(unsigned level)
    {
        const uint32_t from = table_[level], to = from ^ 4096;
        std::copy_n(root_.local.begin() + from, 4096, root_.local.begin() + to);
        table_[level] = to;
        closed_tables_.erase(to);
        if (level < 2)
            entry(table_[level + 1], place_in(level + 1), leads_to(to));
        tables_moved_++;
        return from;
    }
    // Nobody reads there any more; who does gets to frames that nobody has.
    void close_table(unsigned level, uint32_t at)
    {
        for (unsigned i = 0; i < 512; i++) {
            entry(TRAP, i, nobodys_page());
            entry(at, i, level ? (level > 1 ? at : TRAP) | VALID : nobodys_page());
        }
        closed_tables_.insert(at);
    }
    // A fault record has come.
    void told(uint64_t record)
    {
        const uint32_t kind = static_cast<uint32_t>(root_.load64(record) >> 32) & 255;
        const uint32_t walk = static_cast<uint32_t>(root_.load64(record + FERRY_FAULT_RECORD_LIST_INDEX) >> 32);
        if (kind == FERRY_FAULT_KIND_TABLE_ERROR) {
            errors_told_++;
            checks_.equal(walk & ~3u, FERRY_FAULT_RECORD_WALK_WALKED_MASK | SPACE << 4, "walk of a table's error");
            checks_.that(root_.load64(record + FERRY_FAULT_RECORD_ADDRESS) - PLACE < PAGES * 4096,
                         "address of a table's error");
            checks_.that(tempted_.count(root_.load64(record + FERRY_FAULT_RECORD_ENTRY)), "entry of a table's error");
            checks_.that(worse, "an error of a table");
        } else if (kind != FERRY_FAULT_KIND_ENGINE_RESET) {
            checks_.equal(kind, FERRY_FAULT_KIND_WATCHDOG, "fault kind");
            checks_.that(worse, "a fault");
        }
    }
    void touched(uint64_t at, const char *how)
    {
        if (closed_tables_.count(static_cast<uint32_t>(at) & ~4095u) && wrong_++ < 4)
            std::printf("    a table that was moved is %s in cycle %llu: %s\n", how,
                        static_cast<unsigned long long>(root_.time), done_.c_str());
        if (at < AT || at >= AT + FRAMES * 4096 || !closed_.count(static_cast<unsigned>(at - AT) / 4096))
            return;
        if (wrong_++ < 4)
            std::printf("    frame %u is %s in cycle %llu: %s\n", static_cast<unsigned>(at - AT) / 4096, how,
                        static_cast<unsigned long long>(root_.time), done_.c_str());
    }
    void forget(Ring &ring, unsigned scope, unsigned page)
    {
        const bool all = scope == FERRY_FORGET_SCOPE_ALL, around = scope < FERRY_FORGET_SCOPE_SPACE;
        ring.word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(scope | (all ? 0 : SPACE) << 4, 0);
        ring.word(around ? PLACE + page * 4096 : 0);
    }

    // Copies and fills through the pages, of any size and at any place.
    void busy(Ring &ring, unsigned most)
    {
        if (ring.full())
            return;
        for (unsigned n = 1 + random_.below(most); n; n--) {
            const uint32_t bytes = 1 + random_.below(random_.once_in(2) ? 300 : 6 * 4096);
            const uint64_t from = PLACE + random_.below(PAGES * 4096 - bytes),
                           to = PLACE + random_.below(PAGES * 4096 - bytes);
            if (random_.once_in(3)) {
                ring.fill(FERRY_ADDRESS_KIND_VIRTUAL, to, bytes, 0, 0x11);
            } else if (random_.once_in(4)) {
                ring.word(FERRY_OPCODE_COPY_RECTANGLE | 12u << 16,
                          FERRY_ADDRESS_KIND_VIRTUAL | FERRY_ADDRESS_KIND_VIRTUAL << 2);
                ring.word(1 + random_.below(300), 20).word(PLACE + random_.below(10 * 4096));
                ring.word(PLACE + 20 * 4096 + random_.below(8 * 4096)).word(1000u, 0u).word(2000u, 0u);
            } else {
                ring.copy(FERRY_ADDRESS_KIND_VIRTUAL, from, FERRY_ADDRESS_KIND_VIRTUAL, to, bytes);
            }
        }
        ring.submit(SPACE << 4);
        buffers_++;
    }
    void keep_busy()
    {
        for (Ring *ring : users_)
            if (!random_.once_in(4))
                busy(*ring, 6);
        if (random_.once_in(3))
            busy(paging_, 3);
        if (worse && random_.once_in(3) && !users_[1]->full()) {
            for (unsigned n = 1 + random_.below(60); n; n--)
                forget(*users_[1], random_.below(4), random_.below(PAGES) & ~15u);
            users_[1]->submit(SPACE << 4);
        }
    }
    void log_faults()
    {
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 4);
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, TIMEOUT);
    }
    void dead_for(unsigned cycles)
    {
        say("memory is dead");
        root_.memory_dead = true;
        root_.run(cycles);
        root_.memory_dead = false;
    }
    void load_anew()
    {
        say("core off");
        root_.bar0(FERRY_BAR0_CONTROL, 0);
        root_.run(random_.once_in(2) ? 0 : random_.below(1500));
        say("firmware");
        root_.load_words = 32;
        checks_.that(root_.load("build/firmware/firmware.bin"), "firmware");
        root_.bar0(FERRY_BAR0_CONTROL, 1);
        loads_++;
    }
    // Once STATUS is 0 nothing of before is left: no ring, no space, no access under way.
    void reset_function()
    {
        say("function reset");
        resets_++;
        root_.config_write(FERRY_CONFIG_SPACE_DEVICE_CONTROL,
                           root_.config_read(FERRY_CONFIG_SPACE_DEVICE_CONTROL) |
                               FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK);
        root_.run(random_.once_in(2) ? 0 : random_.below(2000));
        if (random_.once_in(6))
            dead_for(random_.once_in(2) ? random_.below(1000) : 70000);
        root_.enumerate();
        for (int i = 0; i < 5000 && root_.bar0(FERRY_BAR0_STATUS); i++)
            root_.run(20);
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), 0, "STATUS after a function reset");
    }
    void begin_anew()
    {
        root_.load_words = 32;
        checks_.that(root_.boot("build/firmware/firmware.bin"), "firmware serves rings");
        log_faults();
        paging_.begin_anew(7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        users_[0]->begin_anew(0);
        users_[0]->entry_flags = FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK;
        users_[1]->begin_anew(FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        name_root();
        paging_.submit();
        checks_.that(paging_.wait(), "a space after a function reset");
    }

    // True if the function was reset.
    bool disturb()
    {
        root_.memory_latency = random_.once_in(3) ? 100 : 5 + random_.below(40);
        root_.memory_pace = random_.once_in(4) ? 1 + random_.below(5) : 1;
        root_.stall = random_.once_in(3);
        errors_ = worse && random_.once_in(3);
        switch (random_.below(worse ? 14 : 8)) {
        case 0:
        case 1:
            say("engine reset");
            root_.bar0(FERRY_BAR0_CONTROL, 3);
            break;
        case 2:
            say("core off and on");
            root_.bar0(FERRY_BAR0_CONTROL, 0);
            root_.run(random_.once_in(2) ? 0 : random_.below(1500));
            root_.bar0(FERRY_BAR0_CONTROL, 1);
            break;
        case 3:
            say("paging ring off and on");
            root_.bar0(ring(0, FERRY_BAR0_RING_CONTROL), 0);
            root_.run(random_.below(600));
            root_.bar0(ring(0, FERRY_BAR0_RING_CONTROL), 1);
            break;
        case 4:
            say("no bus master");
            root_.config_write(FERRY_CONFIG_SPACE_COMMAND, 2);
            root_.run(random_.below(1200));
            root_.config_write(FERRY_CONFIG_SPACE_COMMAND, 6);
            break;
        case 5:
            say("asleep");
            root_.config_write(0xa4, 3);
            root_.run(random_.below(1200));
            root_.config_write(0xa4, 0);
            break;
        case 8: load_anew(); break;
        case 9: dead_for(random_.below(2 * TIMEOUT)); break;
        case 10: reset_function(); return true;
        case 11:
            dead_for(random_.below(2 * TIMEOUT));
            say("engine reset");
            root_.bar0(FERRY_BAR0_CONTROL, 3);
            break;
        default: break;
        }
        const uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
        return false;
    }
    void say(const char *what)
    {
        done_ += " " + std::to_string(root_.time) + " " + what;
        if (done_.size() > 300)
            done_ = done_.substr(done_.size() - 300);
    }

    void move()
    {
        const unsigned first = random_.below(PAGES), count = 1 + random_.below(4);
        std::vector<unsigned> left;
        std::vector<unsigned> free(closed_.begin(), closed_.end());
        for (unsigned page = first; page < first + count && page < PAGES; page++) {
            const unsigned at = random_.below(static_cast<uint32_t>(free.size())), frame = free[at];
            free.erase(free.begin() + at);
            left.push_back(frame_of_[page]);
            place(page, frame);
            moved_++;
        }
        unsigned scope = random_.below(4);
        const bool table_moves = worse && random_.once_in(2);
        const unsigned level = table_moves ? random_.below(3) : 0;
        const uint32_t table_was = table_moves ? move_table(level) : 0;
        if (table_moves)
            scope = std::max<unsigned>(scope, level ? FERRY_FORGET_SCOPE_SPACE : FERRY_FORGET_SCOPE_TABLE);
        // A user ring may have the right too: what the paging ring copies goes on beside it.
        Ring &forgets = level < 2 && random_.once_in(3) ? *users_[1] : paging_;
        bool reset = false;
        for (unsigned i = 0; forgets.full() && i < 400000; i++)
            root_.tick();
        for (;;) {
            if (level == 2)
                name_root();
            if (scope == FERRY_FORGET_SCOPE_GROUP) {
                forget(forgets, scope, first & ~15u);
                forget(forgets, scope, std::min(first + count - 1, PAGES - 1) & ~15u);
            } else {
                forget(forgets, scope, first);
            }
            forgets.submit();
            if (&forgets != &paging_ && random_.once_in(2))
                busy(paging_, 3);
            say("forget");
            const uint64_t until = root_.time + random_.below(2500);
            while (root_.time < until && !forgets.idle())
                root_.tick();
            if (!forgets.idle() || random_.once_in(4))
                reset = disturb();
            if (reset)
                break;
            for (unsigned i = 0; !forgets.idle() && i < 400000; i++) {
                root_.tick();
                if (i % 4096 == 4095) {
                    const uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
                    root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
                }
            }
            if (!forgets.idle()) {
                std::printf("    it does not end:%s\n", done_.c_str());
                wrong_++;
                return checks_.that(false, "a FORGET ends");
            }
            const uint32_t status = forgets.status();
            if (status == FERRY_BUFFER_STATUS_SUCCESS)
                break;
            // Of memory that was dead nothing could be forgotten.
            if (!worse || status != FERRY_BUFFER_STATUS_FAULTED)
                checks_.equal(status, FERRY_BUFFER_STATUS_ABORTED, "status of a FORGET");
            if (!worse && status != FERRY_BUFFER_STATUS_ABORTED)
                break;
            cut_++;
        }
        say("forgotten");
        for (unsigned frame : left)
            close(frame);
        if (table_moves)
            close_table(level, table_was);
        if (reset)
            begin_anew();
        for (Ring *ring : users_) {
            aborted_ += ring->status() == FERRY_BUFFER_STATUS_ABORTED;
            checks_.that(worse || ring->status() != FERRY_BUFFER_STATUS_FAULTED, "a user's buffer did not fault");
        }
        root_.run(random_.below(400));
    }

    Checks &checks_;
    Random &random_;
    RootComplex &root_;
    Ring &paging_;
    Ring *users_[2];
    const bool in_host_;
    unsigned frame_of_[PAGES] = {};
    uint32_t table_[3] = {TABLES, TABLES + 2 * 4096, TABLES + 4 * 4096};
    std::set<unsigned> closed_;
    std::set<uint32_t> closed_tables_;
    std::set<uint64_t> tempted_;
    std::string done_;
    bool errors_ = false;
    unsigned wrong_ = 0, moved_ = 0, cut_ = 0, buffers_ = 0, aborted_ = 0;
    unsigned tables_moved_ = 0, errors_told_ = 0, resets_ = 0, loads_ = 0;
};

#endif
