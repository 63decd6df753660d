// SPDX-License-Identifier: Apache-2.0
// The choice of victims alone, on a cache of equal pages: rounds, a scan, a change of rhythm; beside plain LRU.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed.h"
#include "vidmm/space/victim.h"

#define MOST 4000

struct cache {
    struct ferry_vm_victims victims;
    struct ferry_vm_round round;
    struct ferry_vm_use uses[MOST];
    bool in[MOST];
    unsigned room, used, misses;
    uint64_t now;
};

static struct cache *make(unsigned room, bool lru)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    cache->room = room;
    ferry_vm_victims_init(&cache->victims, lru);
    for (unsigned i = 0; i < MOST; i++) {
        cache->uses[i].serial = i + 1;
        cache->uses[i].pages = 1;
    }
    return cache;
}

static void use(struct cache *cache, unsigned id)
{
    cache->now++;
    if (!cache->in[id]) {
        cache->misses++;
        if (cache->used == cache->room) {
            struct ferry_vm_use *victim = ferry_vm_victim_choose(&cache->victims, cache->now, 1);
            assert_non_null(victim);
            ferry_vm_victim_remove(&cache->victims, victim);
            cache->in[victim - cache->uses] = false;
            cache->used--;
        }
        cache->in[id] = true;
        cache->used++;
    }
    ferry_vm_victim_remove(&cache->victims, &cache->uses[id]);
    ferry_vm_victim_used(&cache->uses[id], &cache->round, cache->now);
    ferry_vm_victim_add(&cache->victims, &cache->uses[id]);
    assert_int_equal(cache->victims.pages, cache->used);
}

static unsigned rounds(bool lru, unsigned set, unsigned room, unsigned times, unsigned repeats)
{
    struct cache *cache = make(room, lru);
    for (unsigned t = 0; t < times; t++)
        for (unsigned i = 0; i < set; i++)
            for (unsigned r = 0; r < repeats; r++)
                use(cache, i);
    unsigned misses = cache->misses;
    free(cache);
    return misses;
}

static void rounds_that_do_not_fit_cost_a_fraction_of_lru(void **state)
{
    (void)state;
    unsigned lru = rounds(true, 100, 95, 50, 1), predicted = rounds(false, 100, 95, 50, 1);
    assert_int_equal(lru, 5000); // every use misses
    print_message("  rounds: LRU %u misses, predicted %u\n", lru, predicted);
    assert_true(predicted * 5 < lru);
    lru = rounds(true, 100, 95, 50, 6);
    predicted = rounds(false, 100, 95, 50, 6);
    print_message("  rounds of six uses each: LRU %u misses, predicted %u\n", lru, predicted);
    assert_true(predicted * 4 < lru);
}

static void a_cold_scan_costs_what_lru_costs(void **state)
{
    (void)state;
    unsigned misses[2];
    for (unsigned lru = 0; lru < 2; lru++) {
        struct cache *cache = make(50, lru);
        for (unsigned i = 0; i < MOST; i++)
            use(cache, i);
        misses[lru] = cache->misses;
        free(cache);
    }
    assert_int_equal(misses[0], misses[1]);
}

static void a_scan_does_not_throw_out_what_is_used_in_rounds(void **state)
{
    (void)state;
    unsigned misses[2];
    for (unsigned lru = 0; lru < 2; lru++) {
        struct cache *cache = make(50, lru);
        unsigned scan = 40;
        for (unsigned t = 0; t < 60; t++) {
            for (unsigned i = 0; i < 40; i++)
                use(cache, i);
            for (unsigned i = 0; i < 20; i++)
                use(cache, scan++);
        }
        misses[lru] = cache->misses;
        free(cache);
    }
    print_message("  rounds beside a scan: LRU %u misses, predicted %u\n", misses[1], misses[0]);
    assert_true(misses[0] < misses[1]);
}

// An open world that streams: each frame draws the textures of a window, which moves on by one every few frames. All of
// a window are there when it has as many places, so each comes in once, if what the window has left leaves.
static void a_window_that_slides_costs_what_lru_costs(void **state)
{
    enum { WINDOW = 40, FRAMES = 800 };
    (void)state;
    for (unsigned still = 2; still <= 8; still *= 2) {
        unsigned misses[2];
        for (unsigned lru = 0; lru < 2; lru++) {
            struct cache *cache = make(WINDOW, lru);
            for (unsigned t = 0; t < FRAMES; t++)
                for (unsigned i = 0; i < WINDOW; i++)
                    use(cache, t / still + i);
            misses[lru] = cache->misses;
            free(cache);
        }
        print_message("  a window that moves every %u frames: LRU %u misses, predicted %u\n", still, misses[1],
                      misses[0]);
        assert_int_equal(misses[1], WINDOW + (FRAMES - 1) / still); // each once
        assert_true(misses[0] * 50 <= misses[1] * 51);
    }
}

static void a_rhythm_that_ends_goes_cold(void **state)
{
    (void)state;
    struct cache *cache = make(60, false);
    for (unsigned t = 0; t < 20; t++)
        for (unsigned i = 0; i < 50; i++)
            use(cache, i);
    cache->misses = 0;
    for (unsigned t = 0; t < 20; t++)
        for (unsigned i = 100; i < 150; i++)
            use(cache, i);
    // The old set must be gone soon: the new one fits and misses little more than once each.
    print_message("  change of level: %u misses for 50 pages\n", cache->misses);
    assert_true(cache->misses <= 250);
    for (unsigned t = 0; t < 2; t++) {
        cache->misses = 0;
        for (unsigned i = 100; i < 150; i++)
            use(cache, i);
    }
    assert_int_equal(cache->misses, 0);
    free(cache);
}

static void an_absence_is_no_rhythm(void **state)
{
    (void)state;
    struct ferry_vm_victims victims;
    struct ferry_vm_use uses[2] = {{.serial = 1, .pages = 1}, {.serial = 2, .pages = 1}};
    struct ferry_vm_round usual = {0};
    uint64_t now = 1000;
    ferry_vm_victims_init(&victims, false);
    for (unsigned round = 0; round < 20; round++)
        ferry_vm_victim_used(&uses[0], &usual, now += 10);
    now += 5000;
    for (unsigned round = 0; round < 3; round++)
        ferry_vm_victim_used(&uses[0], &usual, now += 10);
    ferry_vm_victim_used(&uses[1], &usual, now - 100);
    ferry_vm_victim_used(&uses[1], &usual, now);
    ferry_vm_victim_add(&victims, &uses[0]);
    ferry_vm_victim_add(&victims, &uses[1]);
    // The one that is used every 100, not the one that is used every 10 and was away once.
    assert_ptr_equal(ferry_vm_victim_choose(&victims, now, 1), &uses[1]);
}

// Overdue by just its distance it has its rhythm still, and one more breaks it. Of whose list is away it does not
// count.
static void who_is_overdue_by_more_than_his_distance_is_cold(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        struct ferry_vm_victims victims;
        struct ferry_vm_use soon = {.serial = 1, .pages = 1, .last = 1000, .period = 50},
                            far = {.serial = 2, .pages = 1, .last = 1050, .period = 500};
        uint64_t now = 1100 + late;
        ferry_vm_victims_init(&victims, false);
        ferry_vm_victim_add(&victims, &soon);
        ferry_vm_victim_add(&victims, &far);
        assert_ptr_equal(ferry_vm_victim_choose(&victims, now, 1), late ? &soon : &far);
        assert_int_equal(ferry_vm_victim_distance(&victims, &soon, now), late ? UINT64_MAX : 0);
        assert_int_equal(ferry_vm_victim_distance(&victims, &far, now), 1550 - now);
        far.away = 1;
        assert_int_equal(ferry_vm_victim_distance(&victims, &far, now), UINT64_MAX);
    }
}

static void of_equally_far_ones_the_smallest_that_suffices(void **state)
{
    (void)state;
    struct ferry_vm_victims victims;
    ferry_vm_victims_init(&victims, false);
    struct ferry_vm_use uses[4];
    memset(uses, 0, sizeof(uses));
    static const uint64_t sizes[] = {1, 8, 64, 300};
    for (unsigned i = 0; i < 4; i++) {
        uses[i].serial = i + 1;
        uses[i].pages = sizes[i];
        uses[i].last = 1000 + i;
        uses[i].period = 1000;
        ferry_vm_victim_add(&victims, &uses[i]);
    }
    assert_ptr_equal(ferry_vm_victim_choose(&victims, 1010, 1), &uses[0]);
    assert_ptr_equal(ferry_vm_victim_choose(&victims, 1010, 5), &uses[1]);
    assert_ptr_equal(ferry_vm_victim_choose(&victims, 1010, 65), &uses[3]);
    assert_ptr_equal(ferry_vm_victim_choose(&victims, 1010, 999), &uses[3]); // nobody suffices: the furthest
    ferry_vm_victim_remove(&victims, &uses[3]);
    assert_ptr_equal(ferry_vm_victim_choose(&victims, 1010, 999), &uses[2]);
    for (unsigned i = 0; i < 4; i++)
        ferry_vm_victim_remove(&victims, &uses[i]); // the last one twice
    assert_null(ferry_vm_victim_choose(&victims, 1010, 1));
}

// A filter: those of some sorts, of them every other one.
struct filter {
    uint8_t sorts;
    unsigned asked;
};

static bool is_let(void *context, const struct ferry_vm_use *use)
{
    struct filter *filter = context;
    filter->asked++;
    return (filter->sorts >> use->sort & 1) != 0 && use->serial % 2 == 0;
}

static uint8_t sorts_let(void *context, const struct ferry_vm_victims *victims)
{
    (void)victims;
    return ((struct filter *)context)->sorts;
}

static void a_filter_by_sort_finds_the_same_ones(void **state)
{
    enum { USES = 300, MANY = 16 };
    (void)state;
    static struct ferry_vm_use uses[USES];
    struct ferry_vm_victims victims;
    struct ferry_vm_round round = {0};
    struct filter filter = {0};
    uint64_t drawn = seed_given(20261123);
    ferry_vm_victims_init(&victims, false);
    victims.leaves = is_let;
    victims.context = &filter;
    for (unsigned i = 0; i < USES; i++) {
        uses[i].serial = i + 1;
        uses[i].pages = 1 + draw_below(&drawn, 50);
        uses[i].sort = draw_below(&drawn, 8);
    }
    for (uint64_t now = 1; now < 20000; now++) {
        struct ferry_vm_use *use = &uses[draw_below(&drawn, USES)], *with[MANY], *without[MANY];
        ferry_vm_victim_remove(&victims, use);
        if (draw_below(&drawn, 4) != 0)
            ferry_vm_victim_used(use, &round, now);
        if (draw_below(&drawn, 8) == 0)
            use->away = !use->away;
        if (draw_below(&drawn, 3) != 0)
            ferry_vm_victim_add(&victims, use);
        filter.sorts = (uint8_t)(draw_below(&drawn, 256) & draw_below(&drawn, 256));
        uint64_t pages = 1 + draw_below(&drawn, 60);
        victims.sorts = sorts_let;
        unsigned count = ferry_vm_victims_first(&victims, now, with, MANY);
        use = ferry_vm_victim_choose(&victims, now, pages);
        victims.sorts = NULL;
        assert_int_equal(ferry_vm_victims_first(&victims, now, without, MANY), count);
        assert_memory_equal(with, without, count * sizeof(*with));
        assert_ptr_equal(ferry_vm_victim_choose(&victims, now, pages), use);
    }
}

static void those_that_stay_are_not_looked_at_however_many_they_are(void **state)
{
    enum { STAY = 100000, LEAVE = 40 };
    (void)state;
    for (unsigned cold = 0; cold < 2; cold++) {
        struct ferry_vm_use *uses = calloc(STAY + LEAVE, sizeof(*uses)), *found[16];
        struct ferry_vm_victims victims;
        struct filter filter = {.sorts = 1u << 3};
        ferry_vm_victims_init(&victims, cold != 0);
        victims.leaves = is_let;
        victims.sorts = sorts_let;
        victims.context = &filter;
        for (unsigned i = 0; i < STAY + LEAVE; i++) {
            // Those that leave are scattered among the others.
            bool lets = i % (STAY / LEAVE) == 1;
            uses[i] = (struct ferry_vm_use){.serial = i + 1, .pages = 1, .last = 1 + i, .period = 2 * STAY};
            uses[i].sort = lets ? 3 : i % 3;
            ferry_vm_victim_add(&victims, &uses[i]);
        }
        // Of those that have left the order nothing is left in it.
        struct ferry_vm_use *gone = calloc(STAY, sizeof(*gone));
        for (unsigned i = 0; i < STAY; i++) {
            gone[i] = uses[i];
            gone[i].serial += STAY + LEAVE;
            gone[i].sort = 3;
            gone[i].listed = 0;
            ferry_vm_victim_add(&victims, &gone[i]);
        }
        assert_int_equal(ferry_vm_victims_first(&victims, STAY, found, 16), 16);
        filter.asked = 0;
        for (unsigned i = 0; i < STAY; i++)
            ferry_vm_victim_remove(&victims, &gone[i]);
        free(gone);
        assert_int_equal(ferry_vm_victims_first(&victims, STAY, found, 16), 16);
        assert_non_null(ferry_vm_victim_choose(&victims, STAY, 2));
        print_message("  %u of %u asked\n", filter.asked, STAY + LEAVE);
        assert_true(filter.asked < 2000);
        free(uses);
    }
}

// In the order in which they leave, said anew: the cold ones by their last use, the others from the furthest on.
static uint64_t order_now;

static bool is_cold(const struct ferry_vm_use *use)
{
    uint64_t late = use->steady == FERRY_VM_STEADY ? use->period / 4 : use->period;
    return use->away || use->last + use->period + late < order_now;
}

static int in_order(const void *left, const void *right)
{
    const struct ferry_vm_use *a = *(struct ferry_vm_use *const *)left, *b = *(struct ferry_vm_use *const *)right;
    if (is_cold(a) != is_cold(b))
        return is_cold(a) ? -1 : 1;
    uint64_t x = is_cold(a) ? a->last : b->last + b->period, y = is_cold(a) ? b->last : a->last + a->period;
    if (x != y)
        return x < y ? -1 : 1;
    return (a->serial < b->serial) == is_cold(a) ? -1 : 1;
}

static struct ferry_vm_use *visited[MOST];
static unsigned visits;

static void note_visit(void *context, struct ferry_vm_use *use)
{
    (void)context;
    visited[visits++] = use;
}

// However many come, are used again and go before anybody is looked for.
static void whoever_looks_sees_all_that_have_come_since(void **state)
{
    enum { USES = 200 };
    (void)state;
    static struct ferry_vm_use uses[USES];
    struct ferry_vm_use *expected[USES];
    struct ferry_vm_victims victims;
    struct ferry_vm_round round = {0};
    uint64_t drawn = seed_given(20261130), now = 1;
    bool listed[USES] = {0};
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < USES; i++)
        uses[i] = (struct ferry_vm_use){.serial = i + 1, .pages = 1 + draw_below(&drawn, 50)};
    for (unsigned look = 0; look < 2000; look++) {
        for (uint64_t changes = draw_below(&drawn, 60); changes > 0; changes--) {
            unsigned i = (unsigned)draw_below(&drawn, USES);
            ferry_vm_victim_remove(&victims, &uses[i]);
            listed[i] = draw_below(&drawn, 4) != 0;
            uses[i].away = draw_below(&drawn, 8) == 0;
            now += draw_below(&drawn, 3);
            ferry_vm_victim_used(&uses[i], &round, now);
            for (uint64_t times = listed[i] ? 1 + draw_below(&drawn, 2) : 0; times > 0; times--)
                ferry_vm_victim_add(&victims, &uses[i]);
        }
        uint64_t pages = 0, furthest = 0;
        unsigned count = 0;
        order_now = now;
        for (unsigned i = 0; i < USES; i++) {
            if (!listed[i])
                continue;
            expected[count++] = &uses[i];
            pages += uses[i].pages;
            uint64_t next = uses[i].last + uses[i].period;
            if (!is_cold(&uses[i]) && next > now && next - now > furthest)
                furthest = next - now;
        }
        assert_int_equal(victims.pages, pages);
        // One question or the other comes first. What has become cold since is among the warm ones until it is asked
        // for, but never the furthest of them.
        if (draw_below(&drawn, 2))
            assert_int_equal(ferry_vm_victims_furthest(&victims, now), furthest);
        visits = 0;
        ferry_vm_victims_visit(&victims, now, note_visit, NULL);
        qsort(expected, count, sizeof(*expected), in_order);
        assert_int_equal(visits, count);
        assert_memory_equal(visited, expected, count * sizeof(*expected));
    }
}

// A use costs nothing that grows with the number of candidates, however often, before somebody is looked for.
static void who_comes_and_goes_unlooked_for_is_in_no_order(void **state)
{
    enum { USES = 1000 };
    (void)state;
    struct cache *cache = make(USES, false);
    for (unsigned i = 0; i < USES; i++)
        use(cache, i);
    assert_null(cache->victims.warm);
    assert_null(cache->victims.due);
    assert_int_equal(ferry_vm_victims_furthest(&cache->victims, cache->now), 0);
    // Now all are in an order, and all but one go and come anew: that one stands in the trees alone.
    const struct ferry_vm_use *warm = cache->victims.warm;
    assert_true(warm->links[0][0] || warm->links[0][1]);
    for (unsigned i = 0; i < USES; i++) {
        if (&cache->uses[i] == warm)
            continue;
        ferry_vm_victim_remove(&cache->victims, &cache->uses[i]);
        ferry_vm_victim_add(&cache->victims, &cache->uses[i]);
    }
    assert_ptr_equal(cache->victims.warm, warm);
    assert_null(warm->links[0][0]);
    assert_null(warm->links[0][1]);
    free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_that_do_not_fit_cost_a_fraction_of_lru),
        cmocka_unit_test(a_cold_scan_costs_what_lru_costs),
        cmocka_unit_test(a_scan_does_not_throw_out_what_is_used_in_rounds),
        cmocka_unit_test(a_window_that_slides_costs_what_lru_costs),
        cmocka_unit_test(a_rhythm_that_ends_goes_cold),
        cmocka_unit_test(an_absence_is_no_rhythm),
        cmocka_unit_test(who_is_overdue_by_more_than_his_distance_is_cold),
        cmocka_unit_test(of_equally_far_ones_the_smallest_that_suffices),
        cmocka_unit_test(a_filter_by_sort_finds_the_same_ones),
        cmocka_unit_test(those_that_stay_are_not_looked_at_however_many_they_are),
        cmocka_unit_test(whoever_looks_sees_all_that_have_come_since),
        cmocka_unit_test(who_comes_and_goes_unlooked_for_is_in_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
