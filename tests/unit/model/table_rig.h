// SPDX-License-Identifier: Apache-2.0
// The rig with page tables: packets that set and forget them, records of walks, and tables built entry by entry. As in
// rig.h, numbers of the contract stand here as numbers.
#ifndef FERRY_TESTS_MODEL_TABLE_RIG_H
#define FERRY_TESTS_MODEL_TABLE_RIG_H

#include "rig.h"

enum { ROOT = 10, FORGET = 11 };
enum { PAGE_ABSENT = 17, PAGE_READ_ONLY, TABLE_ERROR, TABLE_ENTRY, TABLE_RANGE };
enum { GROUP_SCOPE, TABLE_SCOPE, SPACE_SCOPE, ALL_SCOPE };
// Bits of an entry.
#define VALID      1ull
#define HOST       2ull
#define SNOOP      4ull
#define READ_ONLY  8ull
#define PROTECT    16ull
#define LEAF       32ull
#define GROUPED    64ull
#define RING       1u // Its entries are confined to virtual addresses.
#define TABLES_AT  0x20000ull
#define CONTENT_AT 0x80000ull

static inline struct rig *rig_with_tables(void)
{
    struct ferry_model_options options = {
        .local_bytes = LOCAL_BYTES, .aperture_pages = APERTURE_PAGES, .page_tables = true};
    struct rig *rig = rig_make(&options);

    rig_ring(rig, 0, 23);
    rig_ring(rig, RING, 0);
    return rig;
}

static inline void root(struct rig *rig, uint32_t kind, uint32_t space, uint32_t height, uint64_t table)
{
    head(rig, ROOT, 6, kind << 2);
    put32(rig, space | height << 8 | 1u << 16);
    put32(rig, 0);
    put64(rig, table);
}

static inline void forget(struct rig *rig, uint32_t scope, uint32_t space, uint64_t address)
{
    head(rig, FORGET, 6, 0);
    put32(rig, scope | space << 4);
    put32(rig, 0);
    put64(rig, address);
}

static inline uint32_t submit_with(struct rig *rig, uint32_t ring, uint32_t flags)
{
    uint32_t before = fence_of(rig, ring).retired;

    entry(rig, ring, BUFFER_PAGE, rig->buffer_bytes, flags, 77, 0);
    run_dry(rig);
    rig->buffer_bytes = 0;
    assert_int_equal(fence_of(rig, ring).retired, before + 1);
    return fence_of(rig, ring).status;
}

// A buffer that runs in a space.
static inline uint32_t submit_in(struct rig *rig, uint32_t ring, uint32_t space)
{
    return submit_with(rig, ring, 1 | space << 4 | (ring == RING ? 1u << 8 : 0));
}

struct walk_record {
    struct record r;
    uint32_t height, space;
    bool walked;
    uint64_t entry;
};
static inline struct walk_record fault_in(struct rig *rig, uint32_t ring, uint32_t space)
{
    uint32_t produced = ferry_model_read(rig->model, 0xac), word;
    struct walk_record w;

    assert_int_equal(submit_in(rig, ring, space), 1);
    assert_int_equal(ferry_model_read(rig->model, 0xac), produced + 1);
    ferry_model_write(rig->model, 0xb0, produced + 1);
    w.r = record_at(rig, produced);
    memcpy(&word, host_at(rig, LOG_PAGE) + 64 * (produced % 8) + 0x34, 4);
    memcpy(&w.entry, host_at(rig, LOG_PAGE) + 64 * (produced % 8) + 0x38, 8);
    w.height = word & 3;
    w.space = word >> 4 & 15;
    w.walked = word >> 8 & 1;
    return w;
}

static inline uint64_t *local(struct rig *rig, uint64_t address)
{
    return (uint64_t *)(void *)(ferry_model_local(rig->model) + address);
}

// ---- Tables from a list -------------------------------------------------------------------------------------------

// The tables of one space, each a page of video memory or of the host.
struct tables {
    struct rig *rig;
    uint64_t next_local, next_host, root;
    bool in_host;
    uint32_t height;
};

static inline uint64_t *entry_in(const struct tables *t, uint64_t table, bool host, uint64_t index)
{
    return host ? (uint64_t *)(void *)host_at(t->rig, table) + index : local(t->rig, table) + index;
}

static inline uint64_t new_table(struct tables *t, bool host)
{
    uint64_t *next = host ? &t->next_host : &t->next_local;

    *next += 4096;
    memset(entry_in(t, *next - 4096, host, 0), 0, 4096);
    return *next - 4096;
}

static inline uint64_t *place_of(struct tables *t, uint64_t address, uint32_t to_height, bool next_in_host)
{
    uint64_t table = t->root;
    bool host = t->in_host;

    for (uint32_t height = t->height; height > to_height; height--) {
        uint64_t *at = entry_in(t, table, host, address >> (12 + 9 * height) & 511);

        if (!(*at & VALID))
            *at = new_table(t, next_in_host) | VALID | (next_in_host ? HOST : 0);
        host = *at & HOST;
        table = *at & 0xffffffffff000ull;
    }
    return entry_in(t, table, host, address >> (12 + 9 * to_height) & 511);
}

static inline struct tables make_space(struct rig *rig, uint32_t space, uint32_t height, bool in_host,
                                       uint64_t local_at, uint64_t host_at_page)
{
    struct tables t = {rig, local_at, host_at_page, 0, in_host, height};

    t.root = new_table(&t, in_host);
    root(rig, in_host ? SYSTEM : LOCAL, space, height, t.root);
    forget(rig, SPACE_SCOPE, space, 0);
    assert_int_equal(submit(rig, 0), 0);
    return t;
}

#endif
