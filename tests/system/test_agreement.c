// SPDX-License-Identifier: Apache-2.0
// The same random packet buffers, good and malformed, on the reference model and on another back end: the same fence
// records, fault records and memory. Both sides map their host memory in the same order from the same seed, so bus
// addresses agree, and a packet can be given to both as it is.
#include "system.h"

#include "device/device.h"
#include "ferry_contract.h"
#include "model/model_link.h"

#define POOL_PAGES    24u
#define POOL_BYTES    (POOL_PAGES * 4096u)
#define LOCAL_BYTES   65536u // What the packets may reach: LOCAL_LIMIT.
#define APERTURE_USED 8u
// The aperture leads to the first pages of the pool and SYSTEM places lie in the others: what a copy between two names
// of the same bytes does is not laid down.
#define SYSTEM_AT    (APERTURE_USED * 4096u)
#define SYSTEM_PAGES (POOL_PAGES - APERTURE_USED)
#define RINGS        4u
#define BATCH        3u // Buffers that one round submits to a ring at once, at most.
#define FAULTS       (2u * BATCH)

struct side {
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    struct ferry_gpu_memory pool, check, commands;
    uint32_t faults;
};

static uint64_t random_state;

static uint64_t draw(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

static void side_start(struct side *side)
{
    static const uint32_t rights[RINGS] = {7, 1, 0, 6};

    ok(ferry_gpu_open(side->link, NULL, &side->gpu));
    ok(ferry_gpu_memory_allocate(side->gpu, POOL_BYTES, 0, &side->pool));
    ok(ferry_gpu_memory_allocate(side->gpu, LOCAL_BYTES, 0, &side->check));
    ok(ferry_gpu_memory_allocate(side->gpu, BATCH * 4096, 0, &side->commands));
    for (uint32_t ring = 0; ring < RINGS; ring++)
        ok(ferry_gpu_ring_create(side->gpu, ring, 4, rights[ring]));
    ok(ferry_gpu_set_local_limit(side->gpu, LOCAL_BYTES));
}

static void side_stop(struct side *side)
{
    ferry_gpu_memory_free(side->gpu, &side->commands);
    ferry_gpu_memory_free(side->gpu, &side->check);
    ferry_gpu_memory_free(side->gpu, &side->pool);
    ferry_gpu_close(side->gpu);
}

// ---- Buffers ----------------------------------------------------------------------------------------------------

struct buffer {
    uint32_t words[1024];
    uint32_t count;
    bool first; // Of its round.
};

static void put(struct buffer *b, uint32_t word)
{
    b->words[b->count++] = word;
}

static void put_wide(struct buffer *b, uint64_t value)
{
    put(b, (uint32_t)value);
    put(b, (uint32_t)(value >> 32));
}

// A place of one of three kinds, mostly good for `bytes` bytes.
static uint64_t place(const struct side *side, uint32_t kind, uint64_t bytes)
{
    uint64_t limit = kind == 1 ? SYSTEM_PAGES * 4096 : kind == 0 ? LOCAL_BYTES : APERTURE_USED * 4096;
    uint64_t base = kind == 1 ? side->pool.bus + SYSTEM_AT : 0;

    switch (draw(40)) {
    case 0: return base + limit - draw(bytes + 2);
    case 1: return UINT64_MAX - draw(bytes + 2);
    case 2: return kind == 1 ? 0x1000 + draw(4096) : limit + draw(10000);
    default: return base + draw(limit - bytes + 1);
    }
}

static uint32_t length(void)
{
    switch (draw(4)) {
    case 0: return (uint32_t)draw(10);
    case 1: return (uint32_t)draw(200);
    case 2: return 4096 - 16 + (uint32_t)draw(33);
    default: return (uint32_t)draw(9000);
    }
}

static void packet(struct buffer *b, const struct side *side)
{
    uint32_t opcode = (uint32_t)draw(10), bytes = length();
    uint32_t from = (uint32_t)draw(3), to = (uint32_t)draw(3);
    // Only the first packet can be said to read nothing that another one writes.
    uint32_t unordered = b->first && !b->count && draw(2) ? FERRY_PACKET_HEADER_UNORDERED_MASK : 0;

    switch (opcode) {
    case FERRY_OPCODE_COPY:
        put(b, opcode | 8u << 16 | unordered);
        put(b, from | to << 2);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, from, bytes));
        put_wide(b, place(side, to, bytes));
        break;
    case FERRY_OPCODE_COPY_PAGES: {
        uint32_t first = (uint32_t)draw(4096), side_of_list = 1 + (uint32_t)draw(2), kind = draw(2) ? 0 : 2;
        bytes += !bytes;
        uint32_t pages = (first + bytes + 4095) / 4096;

        put(b, opcode | (6 + 2 * pages) << 16 | unordered);
        put(b, side_of_list == 1 ? 1 | kind << 2 | 1u << 4 : kind | 1u << 2 | 2u << 4);
        put(b, bytes);
        put(b, first);
        put_wide(b, place(side, kind, bytes));
        // Different pages, so that the order in which they are written does not matter.
        uint64_t start = draw(SYSTEM_PAGES);
        for (uint32_t i = 0; i < pages; i++)
            put_wide(b, draw(100) ? side->pool.bus + SYSTEM_AT + (start + 5 * i) % SYSTEM_PAGES * 4096 : 0x3000);
        // Now and then an entry has a bit that no page's address has.
        if (draw(8) == 0) {
            uint32_t bit = (uint32_t)draw(24);

            b->words[b->count - 2 * (1 + draw(pages)) + (bit < 12 ? 0 : 1)] ^= 1u << (bit < 12 ? bit : 8 + bit);
        }
        break;
    }
    case FERRY_OPCODE_FILL:
        to = (uint32_t)draw(2);
        put(b, opcode | 8u << 16);
        put(b, to << 2 | (uint32_t)draw(4) << 6);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, to, bytes));
        put_wide(b, draw(UINT64_MAX));
        break;
    case FERRY_OPCODE_READ:
    case FERRY_OPCODE_WRITE:
        bytes = 1 + (uint32_t)draw(8);
        put(b, opcode | (opcode == FERRY_OPCODE_READ ? 6u : 8u) << 16);
        put(b, opcode == FERRY_OPCODE_READ ? from : to << 2);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, opcode == FERRY_OPCODE_READ ? from : to, bytes));
        if (opcode == FERRY_OPCODE_WRITE)
            put_wide(b, draw(UINT64_MAX));
        break;
    case FERRY_OPCODE_MAP_APERTURE: {
        uint32_t count = 1 + (uint32_t)draw(4);

        put(b, opcode | (4 + 2 * count) << 16);
        put(b, (uint32_t)draw(2) << 8);
        put(b, (uint32_t)draw(APERTURE_USED - count + 1));
        put(b, count);
        for (uint32_t i = 0; i < count; i++)
            put_wide(b, side->pool.bus + draw(APERTURE_USED) * 4096);
        break;
    }
    case FERRY_OPCODE_UNMAP_APERTURE: {
        uint32_t count = 1 + (uint32_t)draw(APERTURE_USED);

        put(b, opcode | 6u << 16);
        put(b, 0);
        put(b, (uint32_t)draw(APERTURE_USED - count + 1));
        put(b, count);
        put_wide(b, side->pool.bus + draw(APERTURE_USED) * 4096);
        break;
    }
    case FERRY_OPCODE_FENCE:
        to = (uint32_t)draw(2);
        put(b, opcode | 6u << 16);
        put(b, to << 2);
        put_wide(b, place(side, to, 8) & ~(uint64_t)(draw(20) ? 7 : 0));
        put_wide(b, draw(UINT64_MAX));
        break;
    case FERRY_OPCODE_DISCARD:
        put(b, opcode | 6u << 16);
        put(b, 0);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, 0, bytes));
        break;
    default: {
        uint32_t words = 2 + 2 * (uint32_t)draw(3);

        put(b, words << 16);
        for (uint32_t i = 1; i < words; i++)
            put(b, (uint32_t)draw(1ull << 32));
    }
    }
}

// A packet that could go on writing to where nothing faults, or into the other structures in host memory, is left out.
static bool harmless(const struct buffer *b, const struct side *side)
{
    for (uint32_t at = 0; at + 6 <= b->count;) {
        uint32_t words = b->words[at] >> 16, opcode = b->words[at] & 0xff, bytes = b->words[at + 2];
        uint64_t address = b->words[at + 4] | (uint64_t)b->words[at + 5] << 32;
        uint64_t system = side->pool.bus + SYSTEM_AT;
        bool to_system = (b->words[at + 1] >> 2 & 3) == 1;

        if (words < 2 || words % 2)
            return true;
        if ((b->words[at] & FERRY_PACKET_HEADER_UNORDERED_MASK) && (at || !b->first))
            return false;
        if (opcode == FERRY_OPCODE_COPY && at + 8 <= b->count)
            address = b->words[at + 6] | (uint64_t)b->words[at + 7] << 32;
        if (opcode == FERRY_OPCODE_FENCE) {
            bytes = 8;
            address = b->words[at + 2] | (uint64_t)b->words[at + 3] << 32;
        }
        if (to_system && opcode != FERRY_OPCODE_COPY_PAGES &&
            (bytes > POOL_BYTES || (address + bytes > 0x100000 && address < UINT64_MAX - POOL_BYTES &&
                                    (address < system || address + bytes > system + SYSTEM_PAGES * 4096))))
            return false;
        if (opcode == FERRY_OPCODE_COPY && (b->words[at + 1] & 15) == 10)
            return false; // Aperture to aperture: two of its pages may lead to the same one.
        at += words;
    }
    return true;
}

static void make_buffer(struct buffer *b, const struct side *side)
{
    do {
        b->count = 0;
        for (uint64_t packets = draw(6); packets; packets--)
            packet(b, side);
        // Every second buffer gets a few changed bits where the checks look: headers, places, sizes.
        for (uint64_t flips = draw(2) ? draw(3) : 0; flips && b->count; flips--) {
            uint32_t at = 0;

            for (uint64_t skip = draw(6); skip && at + (b->words[at] >> 16) < b->count; skip--) {
                if (b->words[at] >> 16 < 2)
                    break;
                at += b->words[at] >> 16;
            }
            at += (uint32_t)draw(4);
            if (at < b->count)
                b->words[at] ^= 1u << draw(32);
        }
    } while (!harmless(b, side));
}

// ---- Running ----------------------------------------------------------------------------------------------------

// Submit buffers one behind the other and wait for the last.
static void run_batch(struct side *side, uint32_t ring, const struct buffer *buffers, uint32_t count,
                      uint64_t fence_value)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct ferry_gpu_entry entry = {.buffer_address = side->commands.bus + i * 4096ull,
                                        .buffer_bytes = 4 * buffers[i].count,
                                        .fence_value = fence_value + i};

        memcpy((uint8_t *)side->commands.address + i * 4096, buffers[i].words, 4 * buffers[i].count);
        ok(ferry_gpu_ring_submit(side->gpu, ring, &entry, &number));
    }
    ok(ferry_gpu_wait_retired(side->gpu, ring, number, 0));
}

static void run(struct side *side, uint32_t ring, const struct buffer *b, uint64_t fence_value)
{
    run_batch(side, ring, b, 1, fence_value);
}

// Bring all of the local range into the check pages, or out of them.
static void move_local(struct side *side, bool out)
{
    struct buffer b = {.count = 0};

    put(&b, FERRY_OPCODE_COPY | 8u << 16 | FERRY_PACKET_HEADER_PROTECTED_MASK);
    put(&b, out ? 1u << 2 : 1u);
    put(&b, LOCAL_BYTES);
    put(&b, 0);
    put_wide(&b, out ? 0 : side->check.bus);
    put_wide(&b, out ? side->check.bus : 0);
    run(side, 0, &b, 0);
}

static void same_start(struct side sides[2])
{
    for (uint32_t i = 0; i < POOL_BYTES; i++)
        ((uint8_t *)sides[0].pool.address)[i] = (uint8_t)draw(256);
    memcpy(sides[1].pool.address, sides[0].pool.address, POOL_BYTES);
    for (int s = 0; s < 2; s++) {
        struct buffer b = {.count = 0};

        memcpy(sides[s].check.address, sides[s].pool.address, LOCAL_BYTES);
        move_local(&sides[s], false);
        put(&b, FERRY_OPCODE_UNMAP_APERTURE | 6u << 16);
        put(&b, 0);
        put(&b, 0);
        put(&b, APERTURE_USED);
        put_wide(&b, sides[s].pool.bus);
        run(&sides[s], 0, &b, 0);
    }
}

static bool take_fault(struct side *side, struct ferry_fault *fault)
{
    bool found;

    memset(fault, 0, sizeof *fault);
    fault->size = sizeof *fault;
    ok(ferry_gpu_next_fault(side->gpu, fault, &found));
    return found;
}

static void show(const char *name, const struct ferry_fault *f)
{
    print_error("%s: kind %s ring %u offset %u header %08x address kind %u write %u address %llx written %u\n", name,
                ferry_fault_kind_name(f->kind), f->ring, f->packet_offset, f->packet_header, f->address_kind,
                f->is_write, (unsigned long long)f->address, f->written);
}

static bool refused(const struct ferry_fault *f)
{
    return f->kind == FERRY_FAULT_KIND_HOST_UNSUPPORTED && f->is_write;
}

// Compares one fault of each side; *cut tells that it struck inside a job: what that had written by then is not laid
// down. A refused write cuts nothing.
static bool same_fault(const struct ferry_fault *m, const struct ferry_fault *o, bool *cut)
{
    bool inside = m->kind >= FERRY_FAULT_KIND_HOST_UNSUPPORTED;
    uint64_t apart = o->address <= m->address ? m->address - o->address : o->address - m->address;

    // Source and destination of one job are both bad: hardware looks into its own table before the host has answered.
    bool table_first = m->kind == FERRY_FAULT_KIND_HOST_UNSUPPORTED && !m->is_write &&
                       o->kind == FERRY_FAULT_KIND_APERTURE_INVALID && o->is_write;

    // So does a list entry that is no page, before which its job may have written.
    bool entry = m->kind == FERRY_FAULT_KIND_RANGE && (m->packet_header & 0xff) == FERRY_OPCODE_COPY_PAGES &&
                 m->address_kind == FERRY_ADDRESS_KIND_SYSTEM;

    *cut |= entry || (inside && !refused(m));
    if (m->ring != o->ring || m->packet_offset != o->packet_offset || m->packet_header != o->packet_header ||
        m->fence_value != o->fence_value || m->buffer_address != o->buffer_address || o->written > m->written)
        return false;
    // The model says exactly how far it came; hardware says what is certain, and names the burst that failed, which
    // lies above the model's place when an overlapping copy goes downwards.
    return table_first || (m->kind == o->kind && m->address_kind == o->address_kind && m->is_write == o->is_write &&
                           (inside ? apart < 4096 : apart == 0));
}

// A write that the host refused is told when it comes, which may be before the faults of entries in front of its own:
// those of one entry are in order, those of an entry before the next one's.
static uint32_t take_faults(struct side *side, struct ferry_fault *faults)
{
    struct ferry_fault fault;
    uint32_t count = 0;

    while (take_fault(side, &fault)) {
        uint32_t at = count++;

        assert_true(count <= FAULTS);
        assert_int_equal(fault.sequence, ++side->faults);
        for (; at && faults[at - 1].fence_value > fault.fence_value; at--)
            faults[at] = faults[at - 1];
        faults[at] = fault;
    }
    return count;
}

// How far a job came that the device cut is not laid down; so neither is whether one of its writes was refused before.
static bool same_faults(struct side sides[2], bool *cut, uint32_t *writes)
{
    struct ferry_fault faults[2][FAULTS];
    uint32_t count[2], at[2] = {0, 0};
    bool same = true;

    for (int s = 0; s < 2; s++)
        count[s] = take_faults(&sides[s], faults[s]);
    while (at[0] < count[0] || at[1] < count[1]) {
        const struct ferry_fault *now[2];

        for (int s = 0; s < 2; s++) {
            now[s] = at[s] < count[s] ? &faults[s][at[s]] : NULL;
            if (at[s] + 1 < count[s] && refused(now[s]) && now[s][1].fence_value == now[s]->fence_value &&
                now[s][1].packet_offset == now[s]->packet_offset) {
                now[s]++;
                at[s]++;
            }
            at[s] += now[s] != NULL;
        }
        if (!now[0] || !now[1] || !same_fault(now[0], now[1], cut)) {
            same = false;
            if (now[0])
                show("model", now[0]);
            if (now[1])
                show("other", now[1]);
        }
        *writes += now[0] && refused(now[0]);
    }
    return same;
}

static void show_difference(const char *where, const void *model, const void *other, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        if (((const uint8_t *)model)[i] != ((const uint8_t *)other)[i]) {
            print_error("first difference in %s at %x: %02x, other %02x\n", where, i, ((const uint8_t *)model)[i],
                        ((const uint8_t *)other)[i]);
            return;
        }
    }
}

static void show_buffers(const struct side *side, const struct buffer *buffers, uint32_t count)
{
    print_error("pool at bus %llx\n", (unsigned long long)side->pool.bus);
    for (uint32_t n = 0; n < count; n++) {
        print_error("buffer %u:\n", n);
        for (uint32_t i = 0; i + 1 < buffers[n].count; i += 2)
            print_error("  %4x: %08x %08x\n", 4 * i, buffers[n].words[i], buffers[n].words[i + 1]);
    }
}

// False: memory may differ from here on, because a job was cut.
static bool compare(struct side sides[2], uint32_t ring, const struct buffer *buffers, uint32_t count, unsigned round,
                    uint32_t *writes)
{
    struct ferry_gpu_fence fences[2];
    bool cut = false, bad = false;

    for (int s = 0; s < 2; s++)
        ok(ferry_gpu_ring_completed(sides[s].gpu, ring, &fences[s]));
    bad |= fences[0].value != fences[1].value || fences[0].retired != fences[1].retired ||
           fences[0].status != fences[1].status || fences[0].faults != fences[1].faults ||
           fences[0].last_faulted != fences[1].last_faulted;
    bad |= !same_faults(sides, &cut, writes);
    if (!cut) {
        for (int s = 0; s < 2; s++)
            move_local(&sides[s], true);
        bad |= memcmp(sides[0].pool.address, sides[1].pool.address, POOL_BYTES) != 0;
        bad |= memcmp(sides[0].check.address, sides[1].check.address, LOCAL_BYTES) != 0;
    }
    if (bad) {
        print_error("FERRY_SEED=%llu round %u ring %u: status %u and %u, retired %u and %u\n", (unsigned long long)seed,
                    round, ring, fences[0].status, fences[1].status, fences[0].retired, fences[1].retired);
        show_difference("host memory", sides[0].pool.address, sides[1].pool.address, POOL_BYTES);
        if (!cut)
            show_difference("video memory", sides[0].check.address, sides[1].check.address, LOCAL_BYTES);
        show_buffers(&sides[0], buffers, count);
        fail();
    }
    return !cut;
}

static void both_back_ends_agree(void **state)
{
    struct side sides[2] = {{0}};
    struct ferry_link_config config = {.size = sizeof config, .seed = seed, .random_stall_percent = seed % 3 * 12};
    struct ferry_gpu_info info;
    struct ferry_model_options options = {0};
    unsigned rounds = on_model() ? 4000 : 200, faults = 0, all = 0;
    uint32_t writes = 0;

    (void)state;
    if (getenv("FERRY_STEPS"))
        rounds = (unsigned)strtoul(getenv("FERRY_STEPS"), NULL, 0);
    random_state = seed * 0x9E3779B97F4A7C15ull + 1;
    ok(ferry_link_open(backend, &config, &sides[1].link));
    side_start(&sides[1]);
    ferry_gpu_query(sides[1].gpu, &info);
    options.local_bytes = info.local_bytes;
    options.aperture_pages = info.aperture_pages;
    ok(ferry_model_link_open(&options, &config, &sides[0].link));
    side_start(&sides[0]);
    assert_true(sides[0].pool.bus == sides[1].pool.bus && sides[0].commands.bus == sides[1].commands.bus);

    same_start(sides);
    for (unsigned round = 0; round < rounds; round++) {
        uint32_t ring = (uint32_t)draw(RINGS), count = 1 + (uint32_t)draw(BATCH);
        struct buffer buffers[BATCH];
        struct ferry_gpu_fence before, after;

        for (uint32_t i = 0; i < count; i++) {
            buffers[i].first = i == 0;
            make_buffer(&buffers[i], &sides[0]);
        }
        ok(ferry_gpu_ring_completed(sides[0].gpu, ring, &before));
        for (int s = 0; s < 2; s++)
            run_batch(&sides[s], ring, buffers, count, 4 * round + 1);
        ok(ferry_gpu_ring_completed(sides[0].gpu, ring, &after));
        faults += after.faults - before.faults;
        all += count;
        if (!compare(sides, ring, buffers, count, round, &writes))
            same_start(sides);
    }
    printf("%u buffers, %u of them faulted, %u refused writes\n", all, faults, writes);
    side_stop(&sides[0]);
    side_stop(&sides[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_back_ends_agree)};

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
