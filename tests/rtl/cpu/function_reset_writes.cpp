// SPDX-License-Identifier: Apache-2.0
// What a function level reset does to the writes of the device: each byte that reaches a page of the host is one that a
// job has ordered since the last reset, at its place, however little the link takes, whatever stood half sent.
#include "function_reset.h"

namespace
{

const unsigned SLICES = 16, SLICE = 8192;
const uint64_t OUT = DATA + 32 * 4096;

// Jobs that write to host pages, each into a slice of its own; what each byte of it will be.
class Orders
{
  public:
    Orders(Checks &checks, Random &random, RootComplex &root) : checks_(checks), random_(random), root_(root)
    {
        root_.on_host_write = [this](uint64_t at, uint8_t value) { judge(at, value); };
        root_.on_unmapped_write = [this](uint64_t) { wrong_++; };
    }
    // Other bytes in video memory, and none is ordered.
    void begin()
    {
        wanted_.assign(SLICES * SLICE, -1);
        for (uint32_t i = 0; i < AREA; i++)
            root_.local[i] = static_cast<uint8_t>(random_.word());
    }
    void order(Ring &ring, unsigned slice)
    {
        const uint32_t unordered = random_.once_in(3) ? 0 : FERRY_PACKET_HEADER_UNORDERED_MASK;
        uint32_t bytes = 1 + random_.below(random_.once_in(2) ? 300 : SLICE), at = random_.below(SLICE - bytes + 1);
        const uint32_t from = random_.below(AREA - SLICE);
        const unsigned what = random_.below(4);
        const uint64_t to = OUT + slice * SLICE + at;
        if (what == 0) {
            const uint64_t pattern = random_.word();
            ring.fill(FERRY_ADDRESS_KIND_SYSTEM, to, bytes, 0, pattern);
            for (uint32_t i = 0; i < bytes; i++)
                wanted_[slice * SLICE + at + i] = static_cast<uint8_t>(pattern);
            return;
        }
        if (what == 1) {
            bytes = SLICE, at = 0;
            ring.word(FERRY_OPCODE_COPY_PAGES | unordered | 10u << 16,
                      FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2 | FERRY_LIST_SIDE_DESTINATION << 4);
            ring.word(bytes, 0).word(from).word(OUT + slice * SLICE).word(OUT + slice * SLICE + 4096);
        } else {
            ring.word(FERRY_OPCODE_COPY | unordered | 8u << 16,
                      FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2);
            ring.word(bytes).word(from).word(to);
        }
        for (uint32_t i = 0; i < bytes; i++)
            wanted_[slice * SLICE + at + i] = root_.local[from + i];
    }
    // All that was ordered is there.
    void done()
    {
        for (uint32_t i = 0; i < SLICES * SLICE; i++)
            if (wanted_[i] >= 0)
                checks_.equal(root_.byte(OUT + i), static_cast<uint64_t>(wanted_[i]), "byte that was ordered");
    }
    unsigned wrong() const { return wrong_; }
    unsigned right() const { return right_; }

  private:
    void judge(uint64_t at, uint8_t value)
    {
        const bool record = at >= FENCES && at < FAULTS + 32 * 64;
        if (record)
            return;
        const bool good = at >= OUT && at < OUT + SLICES * SLICE && wanted_[at - OUT] == value;
        if (!good && wrong_ < 4)
            std::printf("    byte %02x at %" PRIx64 "\n", value, at);
        (good ? right_ : wrong_)++;
    }
    Checks &checks_;
    Random &random_;
    RootComplex &root_;
    std::vector<int> wanted_;
    unsigned wrong_ = 0, right_ = 0;
};

// The largest payload, while nothing is under way.
void choose_payload(Bench &bench, Random &random)
{
    const uint32_t control = bench.root().config_read(0x48) & 0xff1f, choice = random.below(2);
    bench.root().config_write(0x48, control | choice << 5);
    bench.root().payload = 128 << choice;
}

void order_all(Bench &bench, Random &random, Orders &orders)
{
    orders.begin();
    for (unsigned slice = 0; slice < SLICES;) {
        for (unsigned n = 1 + random.below(6); n && slice < SLICES; n--) {
            orders.order(bench.paging(), slice++);
            if (random.once_in(5))
                bench.paging().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA + random.below(4096), FERRY_ADDRESS_KIND_LOCAL,
                                    AREA, 1 + random.below(20000));
        }
        bench.paging().submit(random.below(2) * FERRY_RING_ENTRY_FLAGS_INTERRUPT_MASK);
        if (bench.paging().full())
            break;
    }
}

void trouble(Random &random, RootComplex &root)
{
    root.link_pace = random.once_in(2) ? 1 : 2 + random.below(30);
    root.memory_pace = random.once_in(2) ? 1 : 2 + random.below(9);
    root.posted_credits = !random.once_in(3);
    root.request_credits = !random.once_in(4);
    if (random.once_in(6))
        root.config_write(FERRY_CONFIG_SPACE_COMMAND, 2);
    if (random.once_in(6))
        root.config_write(0x90, 1); // The message is masked.
    root.run(random.below(1000));
    if (random.once_in(4))
        root.holds_in = static_cast<int>(1 + random.below(90));
    else if (random.once_in(4))
        root.dies_in = static_cast<int>(1 + random.below(90));
    root.writes_held = random.once_in(6);
    root.run(random.below(random.once_in(3) ? 6000 : 400));
}

// Behind reads of the host's, so that answers wait for room as well; they are nobody's. (Not of video memory, which may
// be dead: the reset would wait for it.) It has come when it is answered: a slow link carries the answers and writes
// that are before it for thousands of cycles.
void reset_behind_reads(Checks &checks, RootComplex &root, Random &random)
{
    const uint32_t control = root.config_read(0x48) & 0xffff;
    for (unsigned n = random.below(6); n; n--) {
        const uint32_t words = 1 + random.below(16);
        root.send({words, words > 1 ? 0x1effu : 0x1e0fu, static_cast<uint32_t>(RootComplex::BAR0) + FERRY_BAR0_MAGIC});
        root.run(random.below(20));
    }
    const unsigned before = root.bare_answers;
    root.send({0x44000001, 0x1f0f, 0x01000048, control | RESET});
    for (unsigned n = 0; n < 10000 && root.bare_answers == before; n++)
        root.run(20);
    checks.equal(root.bare_answers, before + 1, "answers to the reset");
}

void writes_of_before(Checks &checks, Random &random)
{
    checks.begin("no_byte_of_before_a_function_reset_is_written_after_it_with_credits_for_one_packet_of_each_kind");
    const char *given = std::getenv("FERRY_RESETS");
    unsigned right = 0;
    for (unsigned round = 0, all = given ? unsigned(std::atoi(given)) : rounds(4, 8); round < all; round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        Orders ordered(checks, random, root);
        root.credit_latency = random.once_in(3) ? 0 : 1 + random.below(60);
        for (unsigned resets = 0; resets < 4; resets++) {
            root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, random.once_in(2) ? 0 : 1000 + random.below(2000));
            root.bar0(FERRY_BAR0_INTERRUPT_ENABLE, 0x3ff);
            choose_payload(bench, random);
            root.stall = random.once_in(3);
            order_all(bench, random, ordered);
            root.run(300 + random.below(2500));
            trouble(random, root);
            if (random.once_in(4)) {
                root.bar0(FERRY_BAR0_CONTROL, 0);
                root.run(random.below(3000));
            }
            if (random.once_in(2)) {
                bench.reset();
            } else {
                reset_behind_reads(checks, root, random);
            }
            root.silent_from = root.time;
            root.run(random.below(300));
            root.link_pace = root.memory_pace = 1;
            root.posted_credits = root.request_credits = true;
            // Memory comes back meanwhile, or when the reset has given it up.
            const bool late = random.once_in(2);
            if (late)
                root.run(72000);
            root.dies_in = root.holds_in = -1;
            root.memory_dead = root.reads_held = root.writes_held = false;
            uint32_t status = bench.status_after(late ? 0 : 6000);
            for (int i = 0; i < 4000 && status; i++) {
                root.run(20);
                status = root.bar0(FERRY_BAR0_STATUS);
            }
            checks.equal(status, 0, "status");
            checks.equal(root.indiscreet, 0, "packets that began after the reset");
            checks.equal(ordered.wrong(), 0, "bytes that nobody ordered");
            checks.equal(root.broken, 0, "broken rules of buses and link");
            if (checks.faults())
                return;
            // The next driver's, before anything else comes through.
            ordered.begin();
            root.run(200);
            root.silent_from = ~0ull;
            bench.start();
            root.payload = 256;
            choose_payload(bench, random);
            order_all(bench, random, ordered);
            checks.that(bench.paging().wait(), "fence of the next driver");
            checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the next driver's");
            ordered.done();
            checks.equal(ordered.wrong(), 0, "bytes that nobody ordered");
            if (checks.faults())
                return;
        }
        right += ordered.right();
        root.on_host_write = nullptr;
        root.credit_latency = 0;
    }
    checks.that(right > 10000, "bytes were written");
}

} // namespace

void function_resets_of_writes(Checks &checks, Random &random)
{
    writes_of_before(checks, random);
}
