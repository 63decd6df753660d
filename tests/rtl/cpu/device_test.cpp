// SPDX-License-Identifier: Apache-2.0
// The running whole: ferry_device with the real firmware, reached only through transaction-layer packets.
#include "random_jobs.h"

// What the manual promises of s_axis_tlp_request_ok: requests may be offered while it stands, back to back; once it
// falls two more find room and no third, and a write behind the two gets in, though the link takes nothing of ours.
static void requests_while_they_may(Checks &checks, RootComplex &root)
{
    checks.begin("once_request_ok_falls_two_more_find_room_and_a_write_behind_them_gets_in");
    const RootComplex::Packet read = {0x20000001, 0x1f0f, static_cast<uint32_t>(RootComplex::BAR2 >> 32), 0x3000};
    const auto taken = [&root] {
        for (int i = 0; i < 200 && !root.sent_all(); i++)
            root.tick();
        return root.sent_all();
    };
    for (unsigned round = 0; round < 8; round++) {
        root.link_pace = 1u << 30;
        // These stand in what is behind the queue.
        for (unsigned i = 0; i < 3; i++) {
            root.send(read);
            root.run(100 + 7 * round);
        }
        unsigned begun = 0;
        for (; root.top.s_axis_tlp_request_ok && begun < 40; root.tick())
            if (root.sent_all()) {
                root.send(read);
                begun++;
            }
        checks.that(begun < 40 && taken(), "those that began before it fell are taken");
        for (unsigned i = 0; i < 2; i++)
            root.send(read);
        root.write(RootComplex::BAR2 + 0x3000, round);
        checks.that(taken(), "two more and a write are taken");
        // A converter may take the third, but nothing passes it.
        root.send(read);
        root.send(read);
        checks.that(!taken(), "behind a third the stream stands");
        root.link_pace = 1;
        checks.that(taken(), "it goes on with the link");
        root.run(2000);
        checks.equal(root.read(RootComplex::BAR2 + 0x3000), round, "word that was written");
        if (checks.faults())
            return;
    }
}

int main(int argc, char **argv)
{
    Random random;
    Checks checks;
    RootComplex root(random);
    furnish(root, random);

    checks.begin("device_answers_configuration_and_takes_its_addresses");
    checks.equal(root.config_read(0), 0xfe011209, "vendor and device");
    checks.equal(root.enumerate(), 65536, "size of BAR0");
    checks.equal(root.bar0(FERRY_BAR0_MAGIC), 0x59525246, "magic");
    checks.equal(root.bar0(FERRY_BAR0_CONTRACT_VERSION), FERRY_CONTRACT_VERSION, "contract version");

    checks.begin("firmware_is_loaded_and_runs");
    checks.that(root.boot(argc > 1 ? argv[1] : "build/firmware/firmware.bin"), "firmware serves rings");
    Ring paging(root, 0, 7), user(root, 1, 1);
    root.bar0(FERRY_BAR0_INTERRUPT_ENABLE, 0x3ff);
    root.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
    root.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 4);

    checks.begin("a_fill_reaches_video_memory_and_its_fence_the_host");
    paging.fill(FERRY_ADDRESS_KIND_LOCAL, 0x10000, 4096, 2, 0xdeadbeef).submit(1);
    checks.that(paging.wait(), "fence");
    checks.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
    for (unsigned i = 0; i < 4096; i++)
        checks.equal(root.local[0x10000 + i], 0xdeadbeef >> 8 * (i & 3) & 255, "filled byte");
    root.run(3000);
    checks.equal(root.interrupts, 1, "interrupt messages");
    checks.equal(root.bar0(FERRY_BAR0_STATUS), 1, "status of an idle device");
    checks.equal(root.bar0(FERRY_BAR0_INTERRUPT_STATUS), 1, "interrupt status");
    root.bar0(FERRY_BAR0_INTERRUPT_STATUS, 1);
    checks.equal(root.bar0(FERRY_BAR0_INTERRUPT_STATUS), 0, "interrupt status after clearing");

    checks.begin("video_memory_is_seen_through_bar2");
    checks.equal(root.read(RootComplex::BAR2 + 0x10008), 0xdeadbeef, "BAR2 read");
    root.write(RootComplex::BAR2 + 0x1000c, 0x01020304);
    checks.equal(root.read(RootComplex::BAR2 + 0x1000c), 0x01020304, "BAR2 read back");

    requests_while_they_may(checks, root);

    checks.begin("a_page_list_brings_scattered_host_pages_in");
    const unsigned scattered[5] = {9, 3, 4, 5, 30};
    const uint32_t list_bytes = 4 * 4096 + 77, list_offset = 100;
    paging.word(FERRY_OPCODE_COPY_PAGES | (6 + 2 * 5) << 16,
                FERRY_ADDRESS_KIND_SYSTEM | FERRY_ADDRESS_KIND_LOCAL << 2 | FERRY_LIST_SIDE_SOURCE << 4);
    paging.word(list_bytes, list_offset).word(0x20003);
    for (unsigned page : scattered)
        paging.word(DATA + page * 4096);
    paging.submit();
    checks.that(paging.wait(), "fence");
    for (uint32_t i = 0; i < list_bytes; i++)
        checks.equal(root.local[0x20003 + i],
                     root.byte(DATA + scattered[(list_offset + i) / 4096] * 4096 + (list_offset + i) % 4096), "byte");

    checks.begin("the_aperture_leads_to_mapped_pages_for_jobs_and_never_for_bar2");
    paging.word(FERRY_OPCODE_MAP_APERTURE | (4 + 2 * 2) << 16, 1u << 8).word(5, 2);
    paging.word(DATA + 7 * 4096).word(DATA + 2 * 4096);
    paging.copy(FERRY_ADDRESS_KIND_APERTURE, 5 * 4096 + 4000, FERRY_ADDRESS_KIND_LOCAL, 0x40001, 200).submit();
    checks.that(paging.wait(), "fence");
    checks.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
    for (uint32_t i = 0; i < 200; i++)
        checks.equal(root.local[0x40001 + i], root.byte(i < 96 ? DATA + 7 * 4096 + 4000 + i : DATA + 2 * 4096 + i - 96),
                     "byte");
    // The snoop flag of the mapping reaches the packets' No Snoop attribute, for reads and writes, and only it does.
    checks.equal(root.no_snoop[(DATA >> 12) + 7], 0, "No Snoop of a page that snoops");
    paging.word(FERRY_OPCODE_MAP_APERTURE | (4 + 2 * 2) << 16, 0).word(9, 2);
    paging.word(DATA + 4 * 4096).word(DATA + 5 * 4096);
    paging.copy(FERRY_ADDRESS_KIND_APERTURE, 9 * 4096, FERRY_ADDRESS_KIND_LOCAL, 0x40001, 100);
    paging.copy(FERRY_ADDRESS_KIND_LOCAL, 0x40001, FERRY_ADDRESS_KIND_APERTURE, 10 * 4096, 100).submit();
    checks.that(paging.wait(), "fence");
    checks.equal(root.no_snoop[(DATA >> 12) + 4], 1, "No Snoop of a read");
    checks.equal(root.no_snoop[(DATA >> 12) + 5], 1, "No Snoop of a write");
    paging.copy(FERRY_ADDRESS_KIND_LOCAL, 0x40001, FERRY_ADDRESS_KIND_APERTURE, 6 * 4096, 100).submit();
    checks.that(paging.wait(), "fence");
    checks.equal(root.no_snoop[(DATA >> 12) + 2], 0, "No Snoop of a write to a page that snoops");
    const uint64_t window = RootComplex::BAR2 + (1u << 26) + 6 * 4096 + 16, stood = root.load64(DATA + 2 * 4096 + 16);
    const uint64_t unsupported = root.counter(FERRY_BAR0_COUNTER_TLP_UNSUPPORTED);
    checks.equal(root.read(window), 0xffffffff, "aperture through BAR2");
    root.write(window, static_cast<uint32_t>(~stood));
    checks.equal(root.counter(FERRY_BAR0_COUNTER_TLP_UNSUPPORTED), unsupported + 2, "refusals counted");
    checks.equal(root.load64(DATA + 2 * 4096 + 16), stood, "the page stays");
    checks.equal(root.config_read(0x48) >> 16 & 15, 0xb, "Device Status");
    checks.equal(root.unmapped, 0, "accesses to unmapped pages");

    checks.begin("an_unmapped_bus_address_faults_and_the_next_buffer_runs");
    paging.copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, 64, 8);
    paging.copy(FERRY_ADDRESS_KIND_SYSTEM, NOWHERE, FERRY_ADDRESS_KIND_LOCAL, 0x50000, 512).submit();
    checks.that(paging.wait(), "fence of the bad buffer");
    checks.equal(paging.status(), FERRY_BUFFER_STATUS_FAULTED, "status");
    checks.equal(root.load64(FAULTS) & 0xffffffff, 1, "sequence");
    uint32_t what = static_cast<uint32_t>(root.load64(FAULTS) >> 32);
    checks.equal(what & 255, FERRY_FAULT_KIND_HOST_UNSUPPORTED, "fault kind");
    checks.equal(what >> 16, 32, "packet offset");
    checks.equal(root.load64(FAULTS + 16), NOWHERE, "fault address");
    root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, 1);
    paging.fill(FERRY_ADDRESS_KIND_LOCAL, 0x50000, 8, 3, 0x1122334455667788).submit();
    checks.that(paging.wait(), "fence of the next buffer");
    checks.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the next buffer");

    checks.begin("a_ring_without_the_right_is_refused");
    user.word(FERRY_OPCODE_MAP_APERTURE | 6u << 16, 0).word(0, 1).word(DATA).submit();
    checks.that(user.wait(), "fence");
    checks.equal(user.status(), FERRY_BUFFER_STATUS_FAULTED, "status");
    what = static_cast<uint32_t>(root.load64(FAULTS + 64) >> 32);
    checks.equal(what & 255, FERRY_FAULT_KIND_RIGHTS, "fault kind");
    checks.equal(what >> 8 & 15, 1, "ring");
    root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, 2);

    checks.begin("random_jobs_of_two_rings_leave_what_the_order_of_each_says");
    Ring *rings[2] = {&paging, &user};
    random_jobs(checks, random, root, rings, 60);
    checks.begin("random_jobs_with_stalls_on_every_handshake");
    root.stall = true;
    random_jobs(checks, random, root, rings, 60);
    root.stall = false;
    checks.equal(root.broken, 0, "packets and bursts that break the rules");

    checks.begin("an_engine_reset_aborts_what_is_in_flight_and_the_device_goes_on");
    for (int i = 0; i < 20; i++)
        user.copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, 0x100000, DATA_PAGES * 4096);
    user.submit();
    root.run(4000);
    root.bar0(FERRY_BAR0_CONTROL, 3);
    checks.that(user.wait(), "fence of the aborted buffer");
    checks.equal(user.status(), FERRY_BUFFER_STATUS_ABORTED, "status");
    checks.equal(root.bar0(FERRY_BAR0_CONTROL), 1, "reset has ended");
    user.copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, 0x200000, 4096).submit();
    checks.that(user.wait(), "fence of the next buffer");
    checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the next buffer");
    for (uint32_t i = 0; i < 4096; i++)
        checks.equal(root.local[0x200000 + i], root.byte(DATA + i), "byte");

    checks.begin("a_paging_buffer_ends_soon_while_a_user_ring_copies_for_long");
    // Two million cycles a job, more jobs than the engine's queue takes, and every slot that users may have.
    for (int buffer = 0; buffer < 3; buffer++) {
        for (int i = 0; i < 100; i++)
            user.copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, 0x2000000, 0x1000000);
        user.submit();
    }
    root.run(6000);
    for (uint32_t round = 0; round < 4; round++) {
        uint64_t began = root.time;
        paging.fill(FERRY_ADDRESS_KIND_LOCAL, 0x3800000, 4096, 2, 0x600df00d + round);
        paging.copy(FERRY_ADDRESS_KIND_LOCAL, 0x3800000, FERRY_ADDRESS_KIND_SYSTEM, DATA, 4096).submit();
        checks.that(paging.wait(6000), "fence of the paging buffer");
        std::printf("    a page filled and paged out in %llu cycles\n",
                    static_cast<unsigned long long>(root.time - began));
        for (uint32_t i = 0; i < 4096; i++)
            checks.equal(root.byte(DATA + i), (0x600df00d + round) >> 8 * (i & 3) & 255, "byte that was paged out");
        root.run(1000 + 333 * round);
    }
    checks.that(!user.idle(), "the user ring is still at work");
    uint32_t at = 0;
    while (at < 0x8000 && root.local[0x2000000 + at] == root.local[at])
        at++;
    checks.equal(at, 0x8000, "bytes that the interrupted job has copied");
    root.bar0(FERRY_BAR0_CONTROL, 3);
    checks.that(user.wait(), "fence of the last aborted buffer");
    checks.equal(user.status(), FERRY_BUFFER_STATUS_ABORTED, "status");

    checks.begin("a_paging_buffer_that_goes_wrong_is_told_of_soon_whatever_users_submit");
    for (bool nops : {false, true}) {
        // What the core has to look at packet by packet.
        for (int buffer = 0; buffer < 3; buffer++) {
            for (unsigned i = 0; i < (nops ? 511 : 127); i++) {
                if (nops)
                    user.word(FERRY_OPCODE_NOP | 2u << 16, 0);
                else
                    user.word(FERRY_OPCODE_WRITE | 8u << 16, 0).word(8).word(0x50000 + 8 * i).word(1);
            }
            user.submit();
        }
        root.run(5000);
        uint64_t began = root.time;
        paging.copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, 0x60000, 40000);
        paging.copy(FERRY_ADDRESS_KIND_APERTURE, 0x7000, FERRY_ADDRESS_KIND_LOCAL, 0x60000, 64).submit();
        checks.that(paging.wait(20000), "errored fence of the paging buffer");
        checks.equal(paging.status(), FERRY_BUFFER_STATUS_FAULTED, "status");
        std::printf("    users with %s: told after %llu cycles\n", nops ? "NOP" : "WRITE",
                    static_cast<unsigned long long>(root.time - began));
        checks.that(paging.wait() && user.wait(2000000), "fences of the users");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the user's");
        root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED));
    }

    checks.begin("a_fence_value_is_read_whole_while_fences_arrive");
    const uint32_t value_at = ring(1, FERRY_BAR0_RING_FENCE_VALUE);
    uint64_t before = root.bar0(value_at) | uint64_t{root.bar0(value_at + 4)} << 32, seen = before;
    unsigned steps = 0;
    // Every step adds one to both halves.
    user.fence_step = 0x100000001;
    for (int i = 0; i < 3000; i++) {
        if (!user.full())
            user.submit();
        // A fence comes in any cycle of the read, not only so many behind its doorbell.
        root.run(random.below(200));
        uint32_t low = root.bar0(value_at);
        root.run(random.below(40));
        uint32_t high = root.bar0(value_at + 4);
        checks.equal(high - static_cast<uint32_t>(before >> 32), low - static_cast<uint32_t>(before), "both halves");
        steps += seen != (low | uint64_t{high} << 32);
        seen = low | uint64_t{high} << 32;
    }
    checks.that(steps > 100, "the value changed often enough");
    checks.that(user.wait(), "fence");

    checks.begin("status_tells_who_is_at_work");
    const uint32_t core = FERRY_BAR0_STATUS_CORE_MASK, slots = core | FERRY_BAR0_STATUS_SLOTS_MASK;
    const auto status = [&](uint32_t who, const char *when) {
        for (int i = 0; i < 500; i++)
            root.tick();
        checks.equal(root.bar0(FERRY_BAR0_STATUS), who, when);
    };
    status(core, "nobody");
    root.host_silent = true;
    paging.fill(FERRY_ADDRESS_KIND_LOCAL, 0x10000, 8, 0, 1).submit();
    status(slots | FERRY_BAR0_STATUS_FETCH_MASK | FERRY_BAR0_STATUS_REQUESTER_MASK, "an entry is fetched");
    root.writes_held = true;
    root.host_silent = false;
    root.answer_late();
    status(slots | FERRY_BAR0_STATUS_ENGINE_MASK | FERRY_BAR0_STATUS_ENGINE_WRITE_MASK,
           "a fill waits for memory's answer");
    root.writes_held = false;
    checks.that(paging.wait(), "fence of the fill");
    root.reads_held = true;
    paging.copy(FERRY_ADDRESS_KIND_LOCAL, 0x10000, FERRY_ADDRESS_KIND_LOCAL, 0x11000, 8).submit();
    status(slots | FERRY_BAR0_STATUS_ENGINE_MASK | FERRY_BAR0_STATUS_ENGINE_READ_MASK,
           "a copy waits for memory's data");
    root.posted_credits = false;
    root.reads_held = false;
    status(slots | FERRY_BAR0_STATUS_POST_MASK, "a record waits for the link");
    root.posted_credits = true;
    checks.that(paging.wait(), "fence of the copy");
    status(core, "nobody any more");

    checks.begin("counters_agree_with_what_was_seen");
    checks.equal(root.counter(FERRY_BAR0_COUNTER_TLP_MALFORMED), 0, "malformed");
    checks.equal(root.counter(FERRY_BAR0_COUNTER_TLP_UNEXPECTED), 0, "unexpected");
    checks.equal(root.bar0(FERRY_BAR0_INTERRUPT_COUNT), root.interrupts, "interrupt messages");
    // STALL_JOB: a buffer that is still fetched keeps the engine without a job, but is in no slot; one without jobs is
    // in one.
    root.host_silent = true;
    paging.word(FERRY_OPCODE_NOP | 2u << 16, 0).submit();
    for (int i = 0; i < 500; i++)
        root.tick();
    checks.that(root.unanswered() != 0, "its entry is asked for");
    const uint64_t stalls = root.counter(FERRY_BAR0_COUNTER_STALL_JOB);
    for (int i = 0; i < 500; i++)
        root.tick();
    checks.equal(root.counter(FERRY_BAR0_COUNTER_STALL_JOB), stalls, "cycles without a job, nothing in a slot");
    root.host_silent = false;
    root.answer_late();
    checks.that(paging.wait(), "fence of the buffer without jobs");
    checks.that(root.counter(FERRY_BAR0_COUNTER_STALL_JOB) > stalls, "cycles without a job, a buffer in a slot");
    std::printf("    %.1f cycles a packet, %llu cycles in all\n",
                static_cast<double>(root.counter(FERRY_BAR0_COUNTER_CORE_BUSY)) /
                    static_cast<double>(root.counter(FERRY_BAR0_COUNTER_CORE_PACKETS)),
                static_cast<unsigned long long>(root.time));
    return checks.done();
}
