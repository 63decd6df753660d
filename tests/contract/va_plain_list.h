// SPDX-License-Identifier: Apache-2.0
// A plain list of what is mapped and reserved in the programs of a test, in the order of addresses: what the manager's
// trees, lists and sums are held against (va_plain_check.h).
#ifndef FERRY_TESTS_VA_PLAIN_LIST_H
#define FERRY_TESTS_VA_PLAIN_LIST_H

#include "programs.h"
#include "updates.h"
#include "vidmm/api/call.h"

#define PROGRAMS    3u
#define ALLOCATIONS 7u
#define WINDOW      512u // pages that are reserved, at most
#define MOST        2048u

// Pages from `first` on. The handle and the number of the instance tell whose they lead to; 0 = they are reserved.
struct piece {
    uint64_t first, pages, owner, offset;
    uint64_t reservation; // 0 = none
    bool read_only, each;
};

struct owner {
    D3DKMT_HANDLE handle; // 0 = none
    uint64_t pages;
};

static struct space {
    struct program program;
    D3DKMT_HANDLE contexts[2], result;
    uint64_t at_result, window, reservations;
    struct owner owners[ALLOCATIONS];
    struct piece pieces[MOST]; // in the order of addresses
    size_t count;
} spaces[PROGRAMS];

static struct world *world;
static uint64_t seed, drawn;
static unsigned step;
static struct {
    unsigned mapped, updated, refused, instances, waiting, freed, destroyed;
} seen;

static inline uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("FERRY_SEED=%llu step %u: %s", (unsigned long long)seed, step, #condition);                       \
    } while (0)

static inline uint64_t key_of(const struct ferry_vm_allocation *instance)
{
    return (uint64_t)instance->subject.handle << 32 | instance->subject.instance;
}

static inline uint64_t end_of(const struct piece *piece)
{
    return piece->first + piece->pages;
}

// The first piece that ends behind the page; `count` when there is none.
static inline size_t piece_at(const struct space *s, uint64_t page)
{
    size_t i = 0;
    while (i < s->count && end_of(&s->pieces[i]) <= page)
        i++;
    return i;
}

static inline void insert(struct space *s, size_t at, struct piece piece)
{
    assert_true(s->count < MOST);
    memmove(&s->pieces[at + 1], &s->pieces[at], (s->count++ - at) * sizeof(piece));
    s->pieces[at] = piece;
}

// A piece begins at the page, or there is none there.
static inline void cut(struct space *s, uint64_t page)
{
    size_t at = piece_at(s, page);
    if (at == s->count || s->pieces[at].first >= page)
        return;
    struct piece high = s->pieces[at];
    uint64_t low = page - high.first;
    high.first = page;
    high.pages -= low;
    high.offset += high.owner ? low : 0;
    s->pieces[at].pages = low;
    insert(s, at + 1, high);
}

// Nothing is at these pages; what is reserved stays so, unless it is `released`.
static inline void clear(struct space *s, uint64_t first, uint64_t end, bool released)
{
    size_t kept;
    cut(s, first);
    cut(s, end);
    kept = piece_at(s, first);
    for (size_t i = kept; i < s->count; i++) {
        struct piece piece = s->pieces[i];
        if (piece.first < end) {
            if (released || piece.reservation == 0)
                continue;
            piece = (struct piece){.first = piece.first, .pages = piece.pages, .reservation = piece.reservation};
        }
        s->pieces[kept++] = piece;
    }
    s->count = kept;
}

static inline void add(struct space *s, struct piece piece)
{
    clear(s, piece.first, end_of(&piece), true);
    insert(s, piece_at(s, piece.first), piece);
}

static inline bool is_free(const struct space *s, uint64_t first, uint64_t end)
{
    size_t at = piece_at(s, first);
    return at == s->count || s->pieces[at].first >= end;
}

// All of it is in one reservation: which; 0 when it is not. unmapped: and nothing of it is mapped.
static inline uint64_t reservation_of(const struct space *s, uint64_t first, uint64_t end, bool unmapped)
{
    uint64_t reservation = 0;
    for (uint64_t at = first; at < end;) {
        size_t i = piece_at(s, at);
        if (i == s->count || s->pieces[i].first > at || s->pieces[i].reservation == 0 ||
            (reservation != 0 && s->pieces[i].reservation != reservation) || (unmapped && s->pieces[i].owner != 0))
            return 0;
        reservation = s->pieces[i].reservation;
        at = end_of(&s->pieces[i]);
    }
    return reservation;
}

static inline bool has_own(const struct space *s, uint64_t owner)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->pieces[i].each && s->pieces[i].owner == owner)
            return true;
    return false;
}

static inline void forget_owner(struct space *s, uint64_t owner)
{
    for (size_t i = 0; i < s->count;) {
        if (s->pieces[i].owner == owner)
            clear(s, s->pieces[i].first, end_of(&s->pieces[i]), false), i = 0;
        else
            i++;
    }
}

#endif
