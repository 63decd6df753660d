// SPDX-License-Identifier: Apache-2.0
// A link that takes nothing of ours for a while, or that we may not speak on: the CPU's way to video memory (BAR2),
// registers and configuration space does not wait for it (PCIe base specification 2.4.1), and no fence is lost.
#include "host_view.h"

namespace
{

const uint32_t UNORDERED = FERRY_PACKET_HEADER_UNORDERED_MASK;
const uint32_t POWER_CONTROL = 0xa4;

// A copy in one of three directions between random places, ordered or not.
void any_copy(Random &random, Ring &ring, unsigned most)
{
    uint32_t bytes = 1 + random.below(random.once_in(2) ? 100 : most), direction = random.below(3);
    uint64_t host = DATA + random.below(32 * 4096 - bytes);
    ring.word(FERRY_OPCODE_COPY | (random.once_in(3) ? 0 : UNORDERED) | 8u << 16,
              (direction == 0 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL) |
                  (direction == 1 ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL) << 2);
    ring.word(bytes).word(direction == 0 ? host : random.below(AREA - bytes));
    ring.word(direction == 1 ? host + 32 * 4096 : AREA + random.below(AREA - bytes));
}

// One that faults: an aperture page that nobody mapped, on either side.
void bad_copy(Random &random, Ring &ring)
{
    bool read = random.once_in(2);
    ring.word(FERRY_OPCODE_COPY | UNORDERED | 8u << 16,
              (read ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_LOCAL) |
                  (read ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_APERTURE) << 2);
    ring.word(64).word(read ? 5 * 4096 : 64).word(read ? AREA : 5 * 4096);
}

} // namespace

void window_behind_a_fault(Checks &checks, Random &random)
{
    for (bool error : {false, true}) {
        checks.begin(error ? "what_is_read_behind_a_read_error_keeps_nobody_from_bar2_and_configuration_space"
                           : "what_is_read_behind_a_refused_job_keeps_nobody_from_bar2_and_configuration_space");
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        Ring &user = bench.user();
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
        root.posted_credits = false;
        // A page-out that waits for leave to speak; behind it a job is thrown away; behind that one reads video memory.
        user.word(FERRY_OPCODE_COPY | UNORDERED | 8u << 16, FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2);
        user.word(1500).word(0).word(DATA).submit();
        root.run(1500);
        root.read_error_in = error ? 3 : -1;
        uint32_t kind = error ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_APERTURE;
        user.word(FERRY_OPCODE_COPY | UNORDERED | 8u << 16, kind | FERRY_ADDRESS_KIND_LOCAL << 2);
        user.word(64).word(5 * 4096).word(AREA).submit();
        user.word(FERRY_OPCODE_COPY | UNORDERED | 8u << 16, FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_LOCAL << 2);
        user.word(512).word(0x1000).word(2 * AREA).submit();
        root.run(1500);
        root.config_write(FERRY_CONFIG_SPACE_COMMAND, 2);
        root.posted_credits = true;
        root.run(300);
        root.send({0x20000001, 0x1f0f, static_cast<uint32_t>(RootComplex::BAR2 >> 32), 0x3000});
        root.run(1000);
        root.config_write(FERRY_CONFIG_SPACE_COMMAND, 6); // Ends the program when no completion comes.
        checks.that(user.wait(100000), "fence of the last buffer");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the last buffer");
        for (uint32_t i = 0; i < 512; i++)
            checks.equal(root.local[2 * AREA + i], root.local[0x1000 + i], "byte copied behind it");
        checks.equal(bench.last_kind(), error ? FERRY_FAULT_KIND_LOCAL_ERROR : FERRY_FAULT_KIND_APERTURE_INVALID,
                     "fault kind");
        bench.works();
    }
}

void window_while_the_link_takes_nothing(Checks &checks, Random &random)
{
    checks.begin("bar2_is_written_and_read_whatever_the_link_takes_of_ours");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    const uint32_t window = 5 * AREA;
    for (unsigned round = 0; round < 100 && !checks.faults(); round++) {
        for (Ring *ring : {&bench.user(), &bench.paging()}) {
            for (unsigned i = 0, count = 1 + random.below(10); i < count; i++) {
                if (random.once_in(6))
                    bad_copy(random, *ring);
                else if (random.once_in(5))
                    ring->fill(random.once_in(2) ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL,
                               random.once_in(2) ? DATA : AREA, 0, 3, 1);
                else
                    any_copy(random, *ring, 3000);
            }
            ring->submit();
        }
        root.run(random.below(2500));
        root.posted_credits = false;
        root.request_credits = random.once_in(2);
        root.run(random.below(3000));
        uint32_t value = 0;
        for (unsigned i = 0; i < 40; i++) {
            value = static_cast<uint32_t>(random.word());
            root.write(RootComplex::BAR2 + window + i * 4, value);
            root.run(random.below(100));
        }
        for (int i = 0; i < 20 && !root.sent_all(); i++)
            root.run(100);
        checks.that(root.sent_all(), "the writes are taken");
        // Each of these ends the program when no completion comes.
        checks.equal(root.read(RootComplex::BAR2 + window + 39 * 4), value, "word of the window");
        checks.that(root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_CORE_MASK, "STATUS");
        root.posted_credits = root.request_credits = true;
        for (int i = 0; i < 50 && !(bench.user().idle() && bench.paging().idle()); i++) {
            root.run(3000);
            bench.last_kind();
        }
        checks.that(bench.user().idle() && bench.paging().idle(), "fences");
    }
}

// A record that cannot leave keeps the firmware waiting for nothing else, also when it has a fault to tell of behind
// it.
void paging_while_no_record_leaves(Checks &checks, Random &random)
{
    checks.begin("a_paging_buffer_is_carried_out_while_the_link_takes_no_record");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    root.posted_credits = false;
    bench.user().fill(FERRY_ADDRESS_KIND_LOCAL, AREA, 8, 0, 0x11).submit();
    root.run(1000);
    bad_copy(random, bench.user());
    bench.user().submit();
    root.run(2000);
    root.local[AREA + 0x100] = 0;
    bench.paging().fill(FERRY_ADDRESS_KIND_LOCAL, AREA + 0x100, 64, 0, 0x5a).submit();
    root.run(3000);
    checks.equal(root.local[AREA + 0x100], 0x5a, "byte of the paging buffer's fill");
    checks.that(!bench.user().idle() && !bench.paging().idle(), "no record has left");
    root.posted_credits = true;
    checks.that(bench.user().wait(100000) && bench.paging().wait(100000), "fences");
    checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_FAULTED, "status of the bad copy");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the fill");
    checks.equal(bench.last_kind(), FERRY_FAULT_KIND_APERTURE_INVALID, "fault kind");
    bench.works();
}

void no_leave_to_speak(Checks &checks, Random &random)
{
    checks.begin("without_leave_to_speak_for_a_while_no_fence_is_lost_and_the_device_works");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    for (unsigned round = 0; round < 40 && !checks.faults(); round++) {
        for (Ring *ring : {&bench.user(), &bench.paging()})
            for (unsigned n = 0; n < 2; n++) {
                for (unsigned i = 0, count = 1 + random.below(8); i < count; i++)
                    any_copy(random, *ring, 3000);
                ring->submit(1);
            }
        root.run(random.below(3000));
        // Bus mastering off, or D3hot; shorter than the engine waits, or longer.
        bool sleep = random.once_in(2);
        root.config_write(sleep ? POWER_CONTROL : FERRY_CONFIG_SPACE_COMMAND, sleep ? 3 : 2);
        root.run(random.once_in(2) ? random.below(TIMEOUT) : TIMEOUT - 100 + random.below(3 * TIMEOUT));
        // The core is stopped, or the engine is reset meanwhile.
        if (random.once_in(4) && !sleep)
            root.bar0(FERRY_BAR0_CONTROL, random.once_in(2) ? 3 : 0);
        root.config_write(sleep ? POWER_CONTROL : FERRY_CONFIG_SPACE_COMMAND, sleep ? 0 : 6);
        root.bar0(FERRY_BAR0_CONTROL, 1);
        for (int i = 0; i < 50 && !(bench.user().idle() && bench.paging().idle()); i++) {
            root.run(3000);
            bench.last_kind();
        }
        checks.that(bench.user().idle() && bench.paging().idle(), "fences");
        bench.works();
        bench.last_kind();
    }
}
