// SPDX-License-Identifier: Apache-2.0
// The small configuration of the device runs the same firmware: two rings, two slots of 1 KiB, 128 KiB of video memory.
#include "host_ring.h"

int main(int argc, char **argv)
{
    Random random;
    Checks checks;
    RootComplex root(random);
    for (uint64_t at = HOST; at < HOST + 0x80000; at += 4096)
        root.map(at);
    for (unsigned i = 0; i < 4; i++)
        root.map(DATA + i * 4096);
    for (unsigned i = 0; i < 4 * 4096; i++)
        root.byte(DATA + i) = static_cast<uint8_t>(random.word());

    checks.begin("tiny_reports_its_sizes");
    root.enumerate();
    uint32_t capabilities = root.bar0(FERRY_BAR0_CAPABILITIES);
    checks.equal(FERRY_GET(FERRY_BAR0_CAPABILITIES_RINGS, capabilities), 2, "rings");
    checks.equal(FERRY_GET(FERRY_BAR0_CAPABILITIES_SLOTS, capabilities), 2, "slots");
    checks.equal(FERRY_GET(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, capabilities), 10, "log2 of a slot");
    checks.equal(root.bar0(FERRY_BAR0_LOCAL_BYTES), 1u << 17, "video memory");
    checks.equal(root.bar0(FERRY_BAR0_LOCAL_LIMIT), 1u << 17, "limit of video memory");

    checks.begin("tiny_runs_the_firmware_and_moves_bytes_on_both_rings");
    checks.that(root.boot(argc > 1 ? argv[1] : "build/firmware/firmware.bin"), "firmware serves rings");
    root.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
    root.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 4);
    Ring paging(root, 0, 7), user(root, 1, 1);
    for (int i = 0; i < 12; i++) {
        paging.fill(FERRY_ADDRESS_KIND_LOCAL, 0x10000, 1000, 0, 17 + i).submit();
        user.copy(FERRY_ADDRESS_KIND_SYSTEM, DATA + 5, FERRY_ADDRESS_KIND_LOCAL, 0x4003, 9000).submit();
        checks.that(paging.wait() && user.wait(), "fences");
        checks.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the paging ring");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the user ring");
        for (unsigned at = 0; at < 1000; at++)
            checks.equal(root.local[0x10000 + at], 17 + i, "filled byte");
    }
    for (unsigned at = 0; at < 9000; at++)
        checks.equal(root.local[0x4003 + at], root.byte(DATA + 5 + at), "copied byte");

    // Copies inside memory, whatever their lengths, beside what the host writes there and the words that the CPU does.
    checks.begin("tiny_works_with_memory_of_one_port");
    root.one_port = true;
    // One alone first: memory that stands still answers no read of the CPU's either, which would end the program.
    user.copy(FERRY_ADDRESS_KIND_LOCAL, 0x4001, FERRY_ADDRESS_KIND_LOCAL, 0x8002, 4000).submit();
    const bool moves = user.wait(100000);
    checks.that(moves, "fence of the first copy");
    for (unsigned round = 0; moves && round < 40; round++) {
        const uint32_t bytes = 1 + random.below(round < 10 ? 64 : 6000), from = 0x4000 + random.below(3000),
                       to = 0x8000 + random.below(3000);
        root.stall = round & 1;
        user.copy(FERRY_ADDRESS_KIND_LOCAL, from, FERRY_ADDRESS_KIND_LOCAL, to, bytes).submit();
        paging.copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, 0xc000 + round, 2000).submit();
        for (uint32_t i = 0; i < 8; i++)
            root.write(RootComplex::BAR2 + 0x10000 + 4 * i, i + round);
        checks.equal(root.read(RootComplex::BAR2 + 0x1001c), 7 + round, "word read back");
        checks.that(user.wait(100000) && paging.wait(100000), "fences");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the copy");
        checks.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the copy from the host");
        for (uint32_t i = 0; i < bytes; i++)
            checks.equal(root.local[to + i], root.local[from + i], "copied byte");
    }
    root.one_port = root.stall = false;

    checks.begin("tiny_refuses_what_is_larger_than_its_slots_and_memory");
    for (int i = 0; i < 33; i++)
        user.copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, 0x1000, 8);
    user.submit();
    checks.that(user.wait(), "fence of the long buffer");
    checks.equal(user.status(), FERRY_BUFFER_STATUS_FAULTED, "status of the long buffer");
    user.copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, (1u << 17) - 4, 8).submit();
    checks.that(user.wait(), "fence of the copy behind the end");
    checks.equal(user.status(), FERRY_BUFFER_STATUS_FAULTED, "status of the copy behind the end");
    checks.equal(root.load64(FAULTS) >> 32 & 255, FERRY_FAULT_KIND_BUFFER_SIZE, "first fault");
    checks.equal(root.load64(FAULTS + 64) >> 32 & 255, FERRY_FAULT_KIND_RANGE, "second fault");

    checks.begin("tiny_has_no_spaces_that_an_entry_could_name_or_be_confined_to");
    static_assert(FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_SHIFT == FERRY_RING_ENTRY_FLAGS_SPACE_SHIFT + 4,
                  "bit 4 of these");
    for (unsigned bit = 0; bit < 5; bit++) {
        user.copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, 0x1000, 8);
        user.submit(1u << (FERRY_RING_ENTRY_FLAGS_SPACE_SHIFT + bit));
        checks.that(user.wait(), "fence of the buffer of a space");
        checks.equal(user.status(), FERRY_BUFFER_STATUS_FAULTED, "status of the buffer of a space");
        checks.equal(root.load64(FAULTS + 64 * (2 + bit)) >> 32 & 255, FERRY_FAULT_KIND_PACKET_RESERVED, "fault");
    }

    checks.begin("tiny_knows_no_ring_but_its_two");
    root.local[0x10000] = 0x11;
    for (unsigned number = 2; number < 5; number++) {
        Ring none(root, number, 7);
        none.fill(FERRY_ADDRESS_KIND_LOCAL, 0x10000, 8, 0, 0x5a).submit();
        checks.that(!none.wait(20000), "a ring that is not there has its buffer carried out");
    }
    paging.fill(FERRY_ADDRESS_KIND_LOCAL, 0x10008, 8, 0, 0x77).submit();
    user.fill(FERRY_ADDRESS_KIND_LOCAL, 0x10010, 8, 0, 0x78).submit();
    checks.that(paging.wait() && user.wait(), "fences of those that are there");
    checks.equal(root.bar0(FERRY_BAR0_FIRMWARE_STATE) & 255, FERRY_FIRMWARE_STATE_RUNNING, "state of the firmware");
    checks.equal(root.local[0x10000], 0x11, "byte that such a ring names");
    return checks.done();
}
