// SPDX-License-Identifier: Apache-2.0
// Errors as PCI Express has them: the bits in Status and Device Status, and their messages.
#include "cases.h"

static uint32_t device_status(Bench &b)
{
    return b.config_read(0x48) >> 16 & 15;
}

static uint32_t status(Bench &b)
{
    return b.config_read(0x04) >> 16;
}

// Each error sets its bits in Device Status and Status, and sends its message when and only when that is enabled.
static void errors(Bench &b)
{
    struct Error {
        const char *name;
        unsigned device, status; // Bits set.
        uint8_t code;            // Message.
        bool is_unsupported;     // Its message needs report_unsupported as well.
        void (*make)(Bench &b);
    };
    static const Error list[] = {
        {"read of nothing", CORRECTABLE | UNSUPPORTED_REQUEST, 0, 0x30, true,
         [](Bench &x) { x.send(x.memory_request(false, 0x1000, 1, 15, 0, {}, 1)); }},
        {"read of the aperture half", CORRECTABLE | UNSUPPORTED_REQUEST, 0, 0x30, true,
         [](Bench &x) { x.send(x.memory_request(false, x.bar2 + (1 << 26), 1, 15, 0, {}, 1)); }},
        {"read outside the limit", CORRECTABLE | UNSUPPORTED_REQUEST, 0, 0x30, true,
         [](Bench &x) { x.send(x.memory_request(false, x.bar2 + 0x3000000, 1, 15, 0, {}, 1)); }},
        {"write to nothing", NONFATAL | UNSUPPORTED_REQUEST, 0, 0x31, true,
         [](Bench &x) { x.send(x.memory_request(true, 0x1000, 1, 15, 0, {1}, 1)); }},
        {"write to the aperture half", NONFATAL | UNSUPPORTED_REQUEST, 0, 0x31, true,
         [](Bench &x) {
             x.send(x.memory_request(true, x.bar2 + (1 << 26), 2, 15, 15, {1, 2}, 1));
         }},
        {"write outside the limit", NONFATAL | UNSUPPORTED_REQUEST, 0, 0x31, true,
         [](Bench &x) { x.send(x.memory_request(true, x.bar2 + 0x3000000, 1, 15, 0, {1}, 1)); }},
        {"message with an unknown code", NONFATAL | UNSUPPORTED_REQUEST, 0, 0x31, true,
         [](Bench &x) {
             x.send({0x32000000, 0x0008007e, 0, 0});
         }},
        {"message with an unknown code and data", NONFATAL | UNSUPPORTED_REQUEST, 0, 0x31, true,
         [](Bench &x) {
             x.send({0x70000001, 0x00080042, 0, 0, 5});
         }},
        {"poisoned message", NONFATAL, 0x8000, 0x31, false,
         [](Bench &x) {
             x.send({0x70004001, 0x00080042, 0, 0, 5});
         }},
        {"malformed", FATAL, 0, 0x33, false,
         [](Bench &x) {
             x.send({0x40000002, 0x000000ff, 0x1000, 1});
         }},
        {"poisoned write", NONFATAL, 0x8000, 0x31, false,
         [](Bench &x) {
             x.send({0x40004001, 0x0000000f, x.bar0 + 16, 1});
         }},
        {"poisoned configuration write", CORRECTABLE | UNSUPPORTED_REQUEST, 0x8000, 0x30, true,
         [](Bench &x) {
             x.send({0x44004001, 0x0008120f, 0x03000010, 0});
         }},
        {"unexpected completion", CORRECTABLE, 0, 0x30, false,
         [](Bench &x) {
             x.send({0x4a000002, 0x01000008, uint32_t(x.device_id) << 16 | 0x1f00, 1, 2});
         }},
        {"memory error under a read", CORRECTABLE, 0x0800, 0x30, false,
         [](Bench &x) { x.send(x.memory_request(false, x.bar2 + 0x777000, 1, 15, 0, {}, 1)); }},
        {"answer Unsupported Request", 0, 0x2000, 0, false, [](Bench &x) { x.treatments[0x500] = UNSUPPORTED; }},
        {"answer Completer Abort", 0, 0x1000, 0, false, [](Bench &x) { x.treatments[0x500] = ABORT; }},
        {"poisoned completion", CORRECTABLE, 0x8100, 0x30, false, [](Bench &x) { x.treatments[0x500] = POISON; }},
        {"no answer", NONFATAL, 0, 0x31, false, [](Bench &x) { x.treatments[0x500] = LOSE; }},
    };
    b.configure(128, 512, 64);
    b.shuffle = false;
    b.top->local_limit = 0x3000000;
    b.top->completion_timeout = 400;
    b.local.faults[0x777] = 1;
    for (const Error &e : list)
        for (unsigned enabled = 0; enabled < 16; enabled++)
            for (unsigned system = 0; system < 2; system++) {
                b.config_write(0x04, 0xf9000046 | system << 8);
                b.config_write(0x48, 0x000f2800 | enabled);
                EXPECT(b, e.name, device_status(b), 0);
                EXPECT(b, e.name, status(b), 0x10);
                b.messages.clear();
                b.treatments.clear();
                e.make(b);
                AxiRead read = {0x500000, 8, 1, false, {}, {}, false};
                if (!b.treatments.empty())
                    b.read_queue.push_back(&read);
                b.run(1000);
                b.settle();
                b.completions.clear();
                bool fatal_kind = e.code == 0x31 || e.code == 0x33;
                unsigned own = e.code == 0x30 ? CORRECTABLE : e.code == 0x31 ? NONFATAL : FATAL;
                bool told = e.code && ((enabled & own) || (system && fatal_kind)) &&
                            (!e.is_unsupported || (enabled & UNSUPPORTED_REQUEST));
                if (b.messages.size() != told || (told && b.messages[0] != e.code))
                    b.fail("%s, enabled %x, system errors %u: %zu messages, expected %u of code %02x", e.name, enabled,
                           system, b.messages.size(), told, e.code);
                unsigned bits = e.status | (told && system && fatal_kind ? 0x4000 : 0);
                if (device_status(b) != e.device || status(b) != (bits | 0x10))
                    b.fail("%s: device status %x, expected %x; status %x, expected %x", e.name, device_status(b),
                           e.device, status(b), bits | 0x10);
                b.kept.clear();
                b.run(8000); // A tag that was given up comes back.
            }
    // Errors of several kinds before the first can be told: each has its message, what is worse first.
    b.config_write(0x04, 0xf9000046);
    b.config_write(0x48, 0x000f2800 | CORRECTABLE | NONFATAL | FATAL | UNSUPPORTED_REQUEST);
    b.treatments.clear();
    b.messages.clear();
    b.withheld[POSTED] = true;
    // Unexpected: its message is offered before the others are due.
    b.send({0x4a000002, 0x01000008, uint32_t(b.device_id) << 16 | 0x1f00, 1, 2});
    b.run(100);
    b.send({0x40004001, 0x0000000f, b.bar0 + 16, 1}); // Poisoned.
    b.send({0x40000002, 0x000000ff, 0x1000, 1});      // Malformed.
    b.run(200);
    b.withheld[POSTED] = false;
    b.run(500);
    if (b.messages != std::vector<uint8_t>{0x30, 0x33, 0x31})
        b.fail("%zu messages of three errors, or not in order", b.messages.size());
    // A status bit goes by a 1 in its own byte, and by nothing else.
    b.config_write(0x04, 0xffffffff, 7);
    EXPECT(b, "status", status(b), 0x8010);
    b.config_write(0x04, 0x7fffffff, 8);
    EXPECT(b, "status", status(b), 0x8010);
    b.config_write(0x04, 0x80000000, 8);
    EXPECT(b, "status", status(b), 0x10);
    // Without the parity response a poisoned completion is not a data parity error.
    b.config_write(0x04, 0xf9000006);
    b.treatments[0x500] = POISON;
    AxiRead read = {0x500000, 8, 1, false, {}, {}, false};
    b.read_queue.push_back(&read);
    b.settle();
    EXPECT(b, "parity", status(b), 0x8010);
    // Transactions pending: while a read of ours waits.
    b.treatments.clear();
    EXPECT(b, "nothing pending", b.config_read(0x48) >> 21 & 1, 0);
    b.answer = false;
    b.top->completion_timeout = 0;
    AxiRead waits = {0x501000, 8, 1, false, {}, {}, false};
    b.read_queue.push_back(&waits);
    b.run(50);
    EXPECT(b, "pending", b.config_read(0x48) >> 21 & 1, 1);
    b.answer = true;
    b.settle();
    EXPECT(b, "nothing pending", b.config_read(0x48) >> 21 & 1, 0);
    // The time-out can be switched off.
    b.config_write(0x68, 0x10);
    b.top->completion_timeout = 400;
    b.answer = false;
    AxiRead patient = {0x502000, 8, 1, false, {}, {}, false};
    b.read_queue.push_back(&patient);
    b.run(3000);
    EXPECT(b, "still waiting", patient.done, 0);
    b.answer = true;
    b.settle();
    EXPECT(b, "fault", patient.faults.empty() ? 99 : patient.faults[0], 0);
}

// What a function reset gives up on is no error of the function that is there behind it.
static void errors_and_a_function_reset(Bench &b)
{
    b.configure(128, 512, 64);
    b.top->completion_timeout = 400;
    b.treatments[0x500] = LOSE;
    AxiRead read = {0x500000, 8, 1, false, {}, {}, false};
    b.read_queue.push_back(&read);
    b.run(50);
    EXPECT(b, "reads that wait", b.kept.size() + b.reads.size(), 1);
    b.config_write(0x48, 0x8000, 2);
    b.run(1000);
    EXPECT(b, "the read has ended", read.done, 1);
    EXPECT(b, "device status", device_status(b), 0);
    EXPECT(b, "status", status(b), 0x10);
    EXPECT(b, "messages", b.messages.size(), 0);
    b.kept.clear();
}

// A read whose first answer is poisoned has ended; what is left of its answer was asked for all the same.
static void errors_half_way(Bench &b)
{
    b.configure(128, 512, 64);
    b.treatments[0x500] = POISON;
    for (unsigned i = 0; i < 40; i++) {
        AxiRead read = {0x500000, 64, 1, false, {}, {}, false};
        b.read_queue.push_back(&read);
        b.settle();
        EXPECT(b, "served", read.done, 1);
        EXPECT(b, "fault of the last beat", read.faults[63], 11);
        b.run(200);
    }
    EXPECT(b, "more than one of a read", b.counts.poisoned > 40, 1);
    EXPECT(b, "unexpected", b.counts.unexpected, 0);
}

const Case error_cases[] = {
    {"errors", errors},
    {"errors_and_a_function_reset", errors_and_a_function_reset},
    {"errors_half_way", errors_half_way},
    {nullptr, nullptr},
};
