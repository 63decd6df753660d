// SPDX-License-Identifier: Apache-2.0
// The pages of a space move from frame to frame while user rings copy and fill through them, and the device is
// disturbed: once the fence of a FORGET says SUCCESS, nobody reads or writes a frame that the page was in before. A
// FORGET that a reset cut is sent again, as a driver does. Tables are in video memory, or in the host's.
#ifndef FERRY_TESTS_RTL_CPU_MOVING_FRAMES_H
#define FERRY_TESTS_RTL_CPU_MOVING_FRAMES_H

#include <set>

#include "host_ring.h"

class MovingFrames
{
  public:
    MovingFrames(Checks &checks, Random &random, RootComplex &root, Ring &paging, Ring &user, Ring &other, bool in_host)
        : checks_(checks), random_(random), root_(root), paging_(paging), users_{&user, &other}, in_host_(in_host),
          tables_(in_host ? HOST + 0x900000 : 0xc00000)
    {
        for (unsigned table = 0; table < 3; table++) {
            root_.map(HOST + 0x900000 + table * 4096);
            for (unsigned i = 0; i < 512; i++)
                entry(table, i, 0);
        }
        // Three levels, of which one area of 2 MiB is in use.
        entry(0, 0, (tables_ + 4096) | VALID | (in_host ? IN_HOST : 0));
        entry(1, 0, (tables_ + 2 * 4096) | VALID | (in_host ? IN_HOST : 0));
        for (unsigned page = 0; page < PAGES; page++)
            place(page, page);
        for (unsigned frame = PAGES; frame < FRAMES; frame++)
            close(frame);
        root_.bar0(ring(2, FERRY_BAR0_RING_RIGHTS), FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        root_.on_local_write = [this](uint64_t at, uint8_t) { touched(at, "written"); };
        root_.on_local_read = [this](uint64_t at) { touched(at, "read"); };
    }
    ~MovingFrames()
    {
        root_.bar0(ring(2, FERRY_BAR0_RING_RIGHTS), FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        root_.on_local_write = nullptr;
        root_.on_local_read = nullptr;
    }

    // Moves pages `rounds` times.
    void run(unsigned rounds)
    {
        paging_.word(FERRY_OPCODE_ROOT | 6u << 16, in_host_ ? FERRY_ADDRESS_KIND_SYSTEM << 2 | FERRY_PACKET_PLACES_SNOOP_MASK
                                                            : FERRY_ADDRESS_KIND_LOCAL << 2);
        paging_.word(SPACE | 2u << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(tables_);
        forget(paging_, FERRY_FORGET_SCOPE_SPACE, 0);
        paging_.submit();
        checks_.that(paging_.wait(), "a space");
        for (unsigned round = 0; round < rounds && !wrong_; round++) {
            keep_busy();
            move();
        }
        for (Ring *ring : users_)
            checks_.that(ring->wait(), "a user's last buffer");
        checks_.equal(wrong_, 0, "accesses of frames that nobody has any more");
        std::printf("    %u pages moved, %u FORGETs were cut, %u user buffers, %u times the last was aborted\n", moved_,
                    cut_, buffers_, aborted_);
    }
    unsigned cut() const { return cut_; }

  private:
    static const unsigned PAGES = 40, FRAMES = 80, SPACE = 12;
    static const uint32_t AT = 0xd00000;
    static const uint64_t VALID = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK;
    static const uint64_t IN_HOST = FERRY_TABLE_ENTRY_ENTRY_HOST_MASK | FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK;

    void entry(unsigned table, unsigned index, uint64_t word)
    {
        const uint64_t at = tables_ + table * 4096 + 8 * index;
        for (unsigned i = 0; i < 8; i++)
            (in_host_ ? root_.byte(at + i) : root_.local[at + i]) = static_cast<uint8_t>(word >> 8 * i);
    }
    void place(unsigned page, unsigned frame)
    {
        entry(2, page, (AT + frame * 4096) | VALID | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK);
        frame_of_[page] = frame;
        closed_.erase(frame);
    }
    void close(unsigned frame) { closed_.insert(frame); }
    void touched(uint64_t at, const char *how)
    {
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
        ring.word(around ? page * 4096ull : 0);
    }

    // Copies and fills through the pages, of any size and at any place.
    void busy(Ring &ring, unsigned most)
    {
        if (ring.full())
            return;
        for (unsigned n = 1 + random_.below(most); n; n--) {
            const uint32_t bytes = 1 + random_.below(random_.once_in(2) ? 300 : 6 * 4096);
            const uint64_t from = random_.below(PAGES * 4096 - bytes), to = random_.below(PAGES * 4096 - bytes);
            if (random_.once_in(3)) {
                ring.fill(FERRY_ADDRESS_KIND_VIRTUAL, to, bytes, 0, 0x11);
            } else if (random_.once_in(4)) {
                ring.word(FERRY_OPCODE_COPY_RECTANGLE | 12u << 16,
                          FERRY_ADDRESS_KIND_VIRTUAL | FERRY_ADDRESS_KIND_VIRTUAL << 2);
                ring.word(1 + random_.below(300), 20).word(uint64_t{random_.below(10 * 4096)});
                ring.word(uint64_t{20 * 4096 + random_.below(8 * 4096)}).word(1000u, 0u).word(2000u, 0u);
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
    }

    void disturb()
    {
        root_.memory_latency = random_.once_in(3) ? 100 : 5 + random_.below(40);
        root_.memory_pace = random_.once_in(4) ? 1 + random_.below(5) : 1;
        root_.stall = random_.once_in(3);
        switch (random_.below(8)) {
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
        default: break;
        }
        const uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
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
        const unsigned scope = random_.below(4);
        // A user ring may have the right too: what the paging ring copies goes on beside it.
        Ring &forgets = random_.once_in(3) ? *users_[1] : paging_;
        for (unsigned i = 0; forgets.full() && i < 400000; i++)
            root_.tick();
        for (;;) {
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
                disturb();
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
            checks_.equal(status, FERRY_BUFFER_STATUS_ABORTED, "status of a FORGET");
            if (status != FERRY_BUFFER_STATUS_ABORTED)
                break;
            cut_++;
        }
        say("forgotten");
        for (unsigned frame : left)
            close(frame);
        for (Ring *ring : users_) {
            aborted_ += ring->status() == FERRY_BUFFER_STATUS_ABORTED;
            checks_.that(ring->status() != FERRY_BUFFER_STATUS_FAULTED, "a user's buffer did not fault");
        }
        root_.run(random_.below(400));
    }

    Checks &checks_;
    Random &random_;
    RootComplex &root_;
    Ring &paging_;
    Ring *users_[2];
    const bool in_host_;
    const uint64_t tables_;
    unsigned frame_of_[PAGES] = {};
    std::set<unsigned> closed_;
    std::string done_;
    unsigned wrong_ = 0, moved_ = 0, cut_ = 0, buffers_ = 0, aborted_ = 0;
};

#endif
