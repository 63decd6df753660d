// SPDX-License-Identifier: Apache-2.0
// The same random packet buffers, good and malformed, on the reference model and on another back end: the same fence
// records, fault records and memory. Both sides map their host memory in the same order from the same seed, so bus
// addresses agree, and a packet can be given to both as it is. Once without page tables, whose addresses then lead
// nowhere, and once with.
#include "agreement_spaces.h"
#include "system.h"

#include "model/model_link.h"

static void side_start(struct side *side, bool with_spaces)
{
    uint32_t rights[RINGS] = {7, 1, 0, 6};
    struct ferry_gpu_info info;

    ok(ferry_gpu_open(side->link, NULL, &side->gpu));
    ferry_gpu_query(side->gpu, &info);
    with_spaces = with_spaces && info.page_tables;
    rights[0] |= with_spaces ? FERRY_GPU_RIGHT_TABLES : 0;
    side->local_bytes = with_spaces ? SPACES_END * 4096 : LOCAL_BYTES;
    ok(ferry_gpu_memory_allocate(side->gpu, POOL_BYTES, 0, &side->pool));
    ok(ferry_gpu_memory_allocate(side->gpu, side->local_bytes, 0, &side->check));
    ok(ferry_gpu_memory_allocate(side->gpu, BATCH * 4096, 0, &side->commands));
    if (with_spaces) {
        ok(ferry_gpu_memory_allocate(side->gpu, SPACES_HOST_PAGES * 4096, 0, &side->host));
        ok(ferry_gpu_memory_allocate(side->gpu, SPACES_TABLE_PAGES * 4096, 0, &side->tables));
    }
    for (uint32_t ring = 0; ring < RINGS; ring++)
        ok(ferry_gpu_ring_create(side->gpu, ring, 4, rights[ring]));
    ok(ferry_gpu_set_local_limit(side->gpu, side->local_bytes));
}

static void side_stop(struct side *side)
{
    ferry_gpu_memory_free(side->gpu, &side->tables);
    ferry_gpu_memory_free(side->gpu, &side->host);
    ferry_gpu_memory_free(side->gpu, &side->commands);
    ferry_gpu_memory_free(side->gpu, &side->check);
    ferry_gpu_memory_free(side->gpu, &side->pool);
    ferry_gpu_close(side->gpu);
}

// ---- Running ----------------------------------------------------------------------------------------------------

// Of the buffers of a round: addresses of its space are all that it may name (contract, ring entry); which space.
static bool virtual_only[BATCH];
static uint32_t spaces[BATCH];

// Submit buffers one behind the other and wait for the last.
static void run_batch(struct side *side, uint32_t ring, const struct buffer *buffers, uint32_t count,
                      uint64_t fence_value)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct ferry_gpu_entry entry = {.buffer_address = side->commands.bus + i * 4096ull,
                                        .buffer_bytes = 4 * buffers[i].count,
                                        .fence_value = fence_value + i,
                                        .space = fence_value ? spaces[i] : 0,
                                        .virtual_only = fence_value && virtual_only[i]};

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
    put(&b, side->local_bytes);
    put(&b, 0);
    put_wide(&b, out ? 0 : side->check.bus);
    put_wide(&b, out ? side->check.bus : 0);
    run(side, 0, &b, 0);
}

static void same_bytes(const struct ferry_gpu_memory *one, const struct ferry_gpu_memory *other, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        ((uint8_t *)one->address)[i] = (uint8_t)draw(256);
    memcpy(other->address, one->address, bytes);
}

static void same_start(struct side sides[2])
{
    bool with_spaces = sides[0].tables.pages;

    same_bytes(&sides[0].pool, &sides[1].pool, POOL_BYTES);
    same_bytes(&sides[0].check, &sides[1].check, sides[0].local_bytes);
    if (with_spaces) {
        same_bytes(&sides[0].host, &sides[1].host, SPACES_HOST_PAGES * 4096);
        spaces_make(sides);
    }
    for (int s = 0; s < 2; s++) {
        struct buffer b = {.count = 0};

        move_local(&sides[s], false);
        if (with_spaces) {
            spaces_tell(&b, &sides[s]);
            run(&sides[s], 0, &b, 0);
            b.count = 0;
        }
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
    bool inside = m->kind >= FERRY_FAULT_KIND_HOST_UNSUPPORTED || m->walked;
    uint64_t apart = o->address <= m->address ? m->address - o->address : o->address - m->address;

    // A list entry that is no page, before which its job may have written.
    bool entry = m->kind == FERRY_FAULT_KIND_RANGE && (m->packet_header & 0xff) == FERRY_OPCODE_COPY_PAGES &&
                 m->address_kind == FERRY_ADDRESS_KIND_SYSTEM;

    // Source and destination of one job are both bad: hardware looks into its own table before the host has answered,
    // and while it reads a list.
    bool table_first = (m->kind == FERRY_FAULT_KIND_HOST_UNSUPPORTED || entry) && !m->is_write &&
                       o->kind == FERRY_FAULT_KIND_APERTURE_INVALID && o->is_write;

    // So it is where both sides lead nowhere good, and one of them by a walk.
    bool other_side = (inside || entry) && m->is_write != o->is_write && (m->walked || o->walked);

    *cut |= entry || other_side || (inside && !refused(m));
    if (m->ring != o->ring || m->packet_offset != o->packet_offset || m->packet_header != o->packet_header ||
        m->fence_value != o->fence_value || m->buffer_address != o->buffer_address || o->written > m->written)
        return false;
    // The model says exactly how far it came; hardware says what is certain, and names the burst that failed, which
    // lies above the model's place when an overlapping copy goes downwards.
    bool same_walk = m->walked == o->walked && m->walk_space == o->walk_space && m->walk_level == o->walk_level &&
                     m->walk_entry == o->walk_entry;
    return table_first || other_side ||
           (same_walk && m->kind == o->kind && m->address_kind == o->address_kind && m->is_write == o->is_write &&
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
        bad |= memcmp(sides[0].check.address, sides[1].check.address, sides[0].local_bytes) != 0;
        bad |=
            sides[0].host.pages && memcmp(sides[0].host.address, sides[1].host.address, SPACES_HOST_PAGES * 4096) != 0;
    }
    if (bad) {
        print_error("FERRY_SEED=%llu round %u ring %u: status %u and %u, retired %u and %u\n", (unsigned long long)seed,
                    round, ring, fences[0].status, fences[1].status, fences[0].retired, fences[1].retired);
        show_difference("host memory", sides[0].pool.address, sides[1].pool.address, POOL_BYTES);
        if (!cut)
            show_difference("video memory", sides[0].check.address, sides[1].check.address, sides[0].local_bytes);
        if (sides[0].host.pages)
            show_difference("mapped host memory", sides[0].host.address, sides[1].host.address,
                            SPACES_HOST_PAGES * 4096);
        show_buffers(&sides[0], buffers, count);
        fail();
    }
    return !cut;
}

static void agree(bool with_spaces)
{
    struct side sides[2] = {{0}};
    struct ferry_link_config config = {.size = sizeof config, .seed = seed, .random_stall_percent = seed % 3 * 12};
    struct ferry_gpu_info info;
    struct ferry_model_options options = {0};
    unsigned all_rounds = on_model() ? 4000 : rounds(100, 200), faults = 0, all = 0;
    uint32_t writes = 0, capabilities;

    if (getenv("FERRY_STEPS"))
        all_rounds = (unsigned)strtoul(getenv("FERRY_STEPS"), NULL, 0);
    draw_from(seed);
    ok(ferry_link_open(backend, &config, &sides[1].link));
    side_start(&sides[1], with_spaces);
    ferry_gpu_query(sides[1].gpu, &info);
    options.local_bytes = info.local_bytes;
    options.aperture_pages = info.aperture_pages;
    options.page_tables = info.page_tables;
    ok(ferry_gpu_read32(sides[1].gpu, FERRY_BAR0_CAPABILITIES, &capabilities));
    options.tiling = FERRY_GET(FERRY_BAR0_CAPABILITIES_TILING, capabilities);
    ok(ferry_model_link_open(&options, &config, &sides[0].link));
    side_start(&sides[0], with_spaces);
    assert_true(sides[0].pool.bus == sides[1].pool.bus && sides[0].commands.bus == sides[1].commands.bus);

    same_start(sides);
    for (unsigned round = 0; round < all_rounds; round++) {
        uint32_t ring = (uint32_t)draw(RINGS), count = 1 + (uint32_t)draw(BATCH);
        struct buffer buffers[BATCH];
        struct ferry_gpu_fence before, after;

        for (uint32_t i = 0; i < count; i++) {
            buffers[i].first = i == 0;
            virtual_only[i] = draw(4) == 0 && info.page_tables;
            spaces[i] = sides[0].tables.pages ? spaces_draw() : 0;
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

static void both_back_ends_agree(void **state)
{
    (void)state;
    agree(false);
}

static void both_back_ends_agree_about_addresses(void **state)
{
    (void)state;
    agree(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_back_ends_agree),
                                       cmocka_unit_test(both_back_ends_agree_about_addresses)};

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
