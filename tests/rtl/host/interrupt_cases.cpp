// SPDX-License-Identifier: Apache-2.0
// The interrupt message: what causes one, how causes are gathered, what holds it back.
#include "cases.h"

static void interrupts(Bench &b)
{
    b.configure(128, 512, 64);
    auto pulse = [&](unsigned cause) {
        b.top->interrupt_cause = uint16_t(cause);
        b.tick();
    };
    auto clear = [&](unsigned bits) {
        b.top->interrupt_clear = uint16_t(bits);
        b.tick();
    };
    auto expect = [&](unsigned messages, uint64_t address, uint32_t value) {
        b.settle();
        EXPECT(b, "messages", b.posted.size(), messages);
        for (auto &w : b.posted) {
            EXPECT(b, "address", w.address, address);
            EXPECT(b, "words", w.data.size(), 1);
            EXPECT(b, "value", w.data[0], value);
            EXPECT(b, "enables", w.first_enable, 15);
        }
        b.posted.clear();
    };
    uint32_t total = 0;
    pulse(1);
    expect(0, 0, 0); // MSI is off, and the cause not enabled
    EXPECT(b, "status", b.top->interrupt_status, 1);
    b.config_write(0x84, 0xfee01004);
    b.config_write(0x88, 0);
    b.config_write(0x8c, 0x4321);
    b.config_write(0x80, 0x10000);
    expect(0, 0, 0);
    b.top->interrupt_enable = 0x3ff;
    expect(1, 0xfee01004, 0x4321); // enabling a standing cause sends
    total++;
    for (unsigned bit = 0; bit < 10; bit++) {
        pulse(1u << bit);
        expect(1, 0xfee01004, 0x4321);
        EXPECT(b, "count", b.top->interrupt_count, ++total);
    }
    EXPECT(b, "status", b.top->interrupt_status, 0x3ff);
    clear(0x3fe);
    EXPECT(b, "status", b.top->interrupt_status, 1);
    b.top->interrupt_cause = 1;
    clear(1);
    EXPECT(b, "cause wins", b.top->interrupt_status, 1);
    expect(1, 0xfee01004, 0x4321);
    total++;
    b.top->interrupt_enable = 2;
    pulse(4);
    expect(0, 0, 0);
    // Mask: pending is seen, the message comes with the unmasking.
    b.config_write(0x88, 0x12);
    b.config_write(0x90, 1);
    pulse(2);
    expect(0, 0, 0);
    EXPECT(b, "pending", b.config_read(0x94), 1);
    b.config_write(0x90, 0);
    expect(1, 0x12fee01004ull, 0x4321);
    total++;
    EXPECT(b, "pending", b.config_read(0x94), 0);
    // Coalescing by count and by cycles.
    b.top->interrupt_enable = 0x3ff;
    clear(0x3ff);
    b.settle();
    b.posted.clear();
    total = b.top->interrupt_count;
    b.top->interrupt_coalesce_count = 4;
    b.top->interrupt_coalesce_cycles = 1000;
    for (int i = 0; i < 3; i++)
        pulse(1);
    b.run(200);
    EXPECT(b, "held back", b.posted.size(), 0);
    pulse(2);
    b.run(100);
    EXPECT(b, "by count", b.posted.size(), 1);
    b.posted.clear();
    uint64_t start = b.cycle;
    pulse(1);
    b.run(1100);
    EXPECT(b, "by time", b.posted.size(), 1);
    if (b.posted.size() && (b.posted[0].cycle < start + 1000 || b.posted[0].cycle > start + 1010))
        b.fail("message after %llu cycles", (unsigned long long)(b.posted[0].cycle - start));
    b.posted.clear();
    // Cleared before it was due: nothing to say any more.
    pulse(1);
    clear(0x3ff);
    b.run(1100);
    EXPECT(b, "cleared", b.posted.size(), 0);
    EXPECT(b, "count", b.top->interrupt_count, total + 2);
    // So it is when one that is not enabled stays, and when none is enabled any more.
    for (unsigned left : {0x3feu, 0u}) {
        b.top->interrupt_enable = 0x3fe;
        pulse(3);
        b.run(10);
        b.top->interrupt_enable = uint16_t(left);
        clear(left & 2);
        b.run(1100);
        EXPECT(b, "status", b.top->interrupt_status, left ? 1 : 3);
        EXPECT(b, "cleared but for what is not enabled", b.posted.size(), 0);
        clear(0x3ff);
    }
    b.top->interrupt_enable = 0x3ff;
    b.run(10);
    // A message ends the count: a cause behind it waits for its own time or for as many others, also one in the very
    // cycle in which it leaves. Those before it belong to it.
    unsigned in_time = 0, by_count = 0;
    for (unsigned gap = 0; gap < 24; gap++) {
        for (unsigned number = 1; number <= 4; number++) {
            total = b.top->interrupt_count;
            for (int i = 0; i < 4; i++)
                pulse(1);
            b.run(gap);
            unsigned behind = 0;
            for (unsigned i = 0; i < number; i++) {
                pulse(2);
                behind += b.top->interrupt_count != total;
            }
            b.run(200);
            EXPECT(b, "messages of as many causes", b.posted.size(), 1 + (behind == 4));
            b.run(1000);
            EXPECT(b, "messages in all", b.posted.size(), 1 + (behind > 0));
            in_time += behind > 0 && behind < number;
            by_count += behind == 4;
            clear(0x3ff);
            b.run(10);
            b.posted.clear();
        }
    }
    EXPECT(b, "messages that left amid causes", in_time > 2, 1);
    EXPECT(b, "messages behind which as many came", by_count > 2, 1);
    // A function that may not write sends no message, and tells it when it may.
    b.config_write(0x04, 2);
    b.top->interrupt_coalesce_count = 0;
    pulse(1);
    expect(0, 0, 0);
    b.config_write(0x04, 6);
    expect(1, 0x12fee01004ull, 0x4321);
}

// A message that waits for the link as the host masks its vector, turns MSI off or takes bus mastering away stays here,
// with what else waits in front of it and behind it, and goes when it may, to where it is to go by then. None comes
// between the answer to the host's write and that, and none is lost (PCI Local Bus 3.0, 6.8.1.4: a masked vector sends
// nothing).
static void interrupts_taken_back(Bench &b)
{
    struct {
        uint32_t offset, off, on;
    } const ways[] = {{0x90, 1, 0}, {0x80, 0, 0x10000}, {0x04, 2, 6}, {0xa4, 3, 0}};
    unsigned late = 0;
    for (int round = 0; round < 400; round++) {
        const auto &way = ways[b.random(4)];
        b.configure(128, 512, 64);
        b.config_write(0x84, 0xfee01000);
        b.config_write(0x88, 0);
        b.config_write(0x8c, 0x1111);
        b.config_write(0x90, 0);
        b.config_write(0x80, 0x10000);
        b.top->interrupt_enable = 1;
        b.top->interrupt_clear = 0x3ff;
        // One cause is enough, or the next message would be due long after it.
        b.top->interrupt_coalesce_count = 1;
        b.top->interrupt_coalesce_cycles = b.chance(50) ? 60000 : 0;
        b.settle();
        b.posted.clear();
        const uint32_t count = b.top->interrupt_count;
        AxiWrite writes[3];
        for (uint64_t n = 0; n < 3; n++)
            writes[n] = {0x900000 + 64 * n, 2, 7, false, {n + 1, ~n}, {255, 255}, false, 0};
        b.withheld[POSTED] = true;
        unsigned before = b.random(3);
        for (unsigned n = 0; n < before; n++)
            b.write_queue.push_back(&writes[n]);
        b.run(b.random(20));
        const uint64_t caused = b.cycle;
        b.top->interrupt_cause = 1;
        b.run(b.random(20));
        for (unsigned n = before; n < 3; n++)
            b.write_queue.push_back(&writes[n]);
        b.run(b.random(20));
        const bool begun = b.chance(20);
        if (begun) { // Or the link has taken it before.
            b.withheld[POSTED] = false;
            b.run(b.random(30));
        }
        // What is cleared is owed no more, wherever its message waits; but a cause that comes in that cycle stays.
        const bool clears = b.chance(25), cleared = clears && b.cycle != caused;
        if (clears) {
            b.top->interrupt_clear = 1;
            b.tick();
        }
        b.config_write(way.offset, way.off);
        const size_t told = b.posted.size();
        b.withheld[POSTED] = false;
        b.run(300);
        unsigned messages = 0;
        for (size_t n = 0; n < b.posted.size(); n++) {
            const bool message = b.posted[n].data.size() == 1;
            messages += message;
            // One beat more may have left when its answer comes.
            if (message && n > told)
                b.fail("a message %s", way.offset == 0x90 ? "of a masked vector" : "that may not be sent");
        }
        EXPECT(b, "messages that were sent", b.top->interrupt_count - count, messages);
        late += messages == 0;
        if (way.offset == 0x90)
            EXPECT(b, "pending", b.config_read(0x94), !messages && !cleared);
        b.config_write(0x84, 0xfed02000);
        b.config_write(0x8c, 0x2222);
        b.config_write(way.offset, way.on);
        b.settle();
        unsigned elsewhere = 0;
        uint64_t next = 0;
        for (size_t n = 0; n < b.posted.size(); n++) {
            const PostedWrite &w = b.posted[n];
            if (w.data.size() == 1)
                elsewhere += w.address == 0xfed02000 && w.data[0] == 0x2222;
            else if (w.address != 0x900000 + 64 * next || w.data[0] != next++ + 1)
                b.fail("a write to %llx", (unsigned long long)w.address);
        }
        EXPECT(b, "messages after all", elsewhere, messages || cleared ? 0 : 1);
        EXPECT(b, "writes", b.posted.size(), messages || !cleared ? 4 : 3);
        EXPECT(b, "messages that are told", b.top->interrupt_count - count, messages || !cleared ? 1 : 0);
        for (const AxiWrite &write : writes)
            EXPECT(b, "answer", write.done, 1);
        b.posted.clear();
    }
    if (late < 100)
        b.fail("only %u messages had to wait", late);
}

// Coalescing at its largest values, and what has been due for long stays so.
static void interrupts_held_long(Bench &b)
{
    b.configure(128, 512, 64);
    b.config_write(0x84, 0xfee01000);
    b.config_write(0x80, 0x10000);
    b.top->interrupt_enable = 1;
    b.top->interrupt_coalesce_count = 65535;
    b.top->interrupt_coalesce_cycles = 65535;
    b.top->interrupt_cause = 1;
    b.tick();
    const uint64_t start = b.cycle;
    b.run(66000);
    EXPECT(b, "messages", b.posted.size(), 1);
    if (b.posted.size() && (b.posted[0].cycle < start + 65535 || b.posted[0].cycle > start + 65550))
        b.fail("message after %llu cycles", (unsigned long long)(b.posted[0].cycle - start));
    b.posted.clear();
    // Masked for longer than the time is counted.
    b.top->interrupt_coalesce_cycles = 60000;
    b.config_write(0x90, 1);
    b.top->interrupt_cause = 1;
    b.tick();
    b.run(30000);
    EXPECT(b, "pending", b.config_read(0x94), 0);
    for (unsigned n = 0; n < 6; n++) {
        b.run(35000);
        EXPECT(b, "pending", b.config_read(0x94), 1);
    }
    EXPECT(b, "messages", b.posted.size(), 0);
    b.config_write(0x90, 0);
    b.run(20);
    EXPECT(b, "messages", b.posted.size(), 1);
    b.posted.clear();
    // More causes than a byte counts.
    b.top->interrupt_coalesce_count = 300;
    for (unsigned n = 0; n < 300; n++) {
        b.run(50);
        EXPECT(b, "messages", b.posted.size(), 0);
        b.top->interrupt_cause = 1;
        b.tick();
    }
    b.run(50);
    EXPECT(b, "messages", b.posted.size(), 1);
    b.posted.clear();
    // More than two bytes count, while the vector is masked: it stays due.
    b.top->interrupt_enable = 0x3ff;
    b.top->interrupt_coalesce_count = 65000;
    b.top->interrupt_coalesce_cycles = 65535;
    b.config_write(0x90, 1);
    for (unsigned n = 0; n < 7000; n++) {
        b.top->interrupt_cause = 0x3ff;
        b.tick();
    }
    EXPECT(b, "pending", b.config_read(0x94), 1);
}

// Causes of one cycle are as many as they are, whether they come or are enabled together.
static void interrupts_at_once(Bench &b)
{
    b.configure(128, 512, 64);
    b.config_write(0x84, 0xfee01000);
    b.config_write(0x80, 0x10000);
    b.top->interrupt_coalesce_count = 4;
    b.top->interrupt_coalesce_cycles = 60000;
    // Bits of the causes: of one cycle, and of one that comes later.
    const unsigned cases[][2] = {{0, 0x00f}, {0, 0x301},     {0, 0x3ff}, {2, 0x201},
                                 {2, 0x203}, {0x100, 0x30c}, {0, 0x00c}};
    for (bool by_enable : {false, true}) {
        for (const auto &[before, at_once] : cases) {
            unsigned number = __builtin_popcount(at_once);
            b.top->interrupt_enable = by_enable ? 0 : 0x3ff;
            if (by_enable) {
                b.top->interrupt_cause = uint16_t(at_once);
                b.tick();
                b.top->interrupt_enable = uint16_t(before & ~at_once);
                number += __builtin_popcount(before & ~at_once);
            } else {
                number += __builtin_popcount(before);
            }
            b.top->interrupt_cause = uint16_t(before);
            b.tick();
            b.run(10);
            if (by_enable)
                b.top->interrupt_enable = 0x3ff;
            else
                b.top->interrupt_cause = uint16_t(at_once);
            b.tick();
            b.run(200);
            EXPECT(b, "messages", b.posted.size(), number >= 4);
            b.top->interrupt_clear = 0x3ff;
            b.tick();
            b.run(10);
            b.posted.clear();
        }
    }
}

// A cause that is enabled while messages are switched off is told when they are switched on.
static void interrupts_without_messages(Bench &b)
{
    b.configure(128, 512, 64);
    b.config_write(0x84, 0xfee01000);
    b.top->interrupt_enable = 1;
    for (unsigned round = 0; round < 3; round++) {
        b.top->interrupt_cause = 1;
        b.tick();
        b.settle();
        EXPECT(b, "messages while they are off", b.posted.size(), 0);
        EXPECT(b, "count", b.top->interrupt_count, round);
        EXPECT(b, "pending", b.config_read(0x94), 0);
        b.config_write(0x80, 0x10000);
        b.settle();
        EXPECT(b, "messages", b.posted.size(), 1);
        b.config_write(0x80, 0);
        b.posted.clear();
    }
}

// Of what was to be told before a function reset, or comes while it goes on, nothing is left behind it; causes are
// gathered anew.
static void interrupts_and_a_function_reset(Bench &b)
{
    for (unsigned of_it : {0u, 1u, 5u}) {
        b.configure(128, 512, 64);
        b.config_write(0x84, 0xfee01000);
        b.config_write(0x80, 0x10000);
        b.config_write(0x90, 1);
        b.top->interrupt_enable = 0x3ff;
        b.top->interrupt_coalesce_count = 4;
        b.top->interrupt_coalesce_cycles = 65535;
        for (unsigned n = 0; n < 3 + of_it; n++) {
            b.top->interrupt_cause = uint16_t(1u << n);
            b.tick();
        }
        EXPECT(b, "status", b.top->interrupt_status, (1u << (3 + of_it)) - 1);
        b.top->at_rest = 3; // The engine takes its time.
        b.config_write(0x48, 0x8000, 2);
        for (unsigned n = 0; n < 100; n++) {
            EXPECT(b, "it goes on", b.top->function_resetting, 1);
            b.top->interrupt_cause = n % 3 ? 0 : 0x3ff;
            b.tick();
        }
        b.top->at_rest = 7;
        b.tick();
        b.top->interrupt_enable = 0; // As every register of BAR0.
        b.run(10);
        EXPECT(b, "it has ended", b.top->function_resetting, 0);
        EXPECT(b, "status", b.top->interrupt_status, 0);
        EXPECT(b, "count", b.top->interrupt_count, 0);
        b.configure(128, 512, 64);
        b.config_write(0x84, 0xfee01000);
        b.config_write(0x80, 0x10000);
        b.top->interrupt_enable = 0x3ff;
        b.run(200);
        EXPECT(b, "messages of before", b.posted.size(), 0);
        for (unsigned n = 0; n < 4; n++) {
            EXPECT(b, "messages of fewer causes", b.posted.size(), 0);
            b.top->interrupt_cause = 1;
            b.tick();
            b.run(100);
        }
        EXPECT(b, "messages", b.posted.size(), 1);
        EXPECT(b, "count", b.top->interrupt_count, 1);
        b.top->interrupt_clear = 0x3ff;
        b.tick();
        b.posted.clear();
    }
}

const Case interrupt_cases[] = {
    {"interrupts", interrupts},
    {"interrupts_taken_back", interrupts_taken_back},
    {"interrupts_held_long", interrupts_held_long},
    {"interrupts_at_once", interrupts_at_once},
    {"interrupts_without_messages", interrupts_without_messages},
    {"interrupts_and_a_function_reset", interrupts_and_a_function_reset},
    {nullptr, nullptr},
};
