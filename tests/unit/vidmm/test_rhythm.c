// SPDX-License-Identifier: Apache-2.0
// When the next use of an allocation is expected: of one used once, after an absence, and beside the same rule written
// plainly.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../../seed.h"
#include "vidmm/space/victim.h"

#define FRAME 40

static uint64_t frames(struct ferry_vm_use *uses, unsigned count, struct ferry_vm_round *round, unsigned times)
{
    uint64_t now = 1000;
    for (unsigned t = 0; t < times; t++, now += FRAME)
        for (unsigned i = 0; i < count; i++)
            ferry_vm_victim_used(&uses[i], round, now + i);
    return now;
}

// One that is used all the time has twice as many uses as all the others together.
static void a_round_is_what_most_allocations_have_and_not_most_uses(void **state)
{
    (void)state;
    struct ferry_vm_use uses[20], often = {.serial = 21, .pages = 1};
    struct ferry_vm_round round = {0};
    memset(uses, 0, sizeof(uses));
    uint64_t now = frames(uses, 20, &round, 50);
    for (unsigned i = 0; i < 100 * FRAME; i++, now++) {
        ferry_vm_victim_used(&often, &round, now);
        if (i % FRAME < 20)
            ferry_vm_victim_used(&uses[i % FRAME], &round, now);
    }
    uint64_t usual = round.parts / FERRY_VM_ROUND_PARTS;
    print_message("  a frame of %u: a round of %llu\n", FRAME, (unsigned long long)usual);
    assert_true(usual >= FRAME * 3 / 4 && usual <= FRAME * 5 / 4);
}

// It is drawn in the next frame too, most likely; what is needed later leaves.
static void what_was_used_once_is_expected_in_a_round_and_then_cold(void **state)
{
    (void)state;
    struct ferry_vm_victims victims;
    struct ferry_vm_use uses[20], once = {.serial = 21, .pages = 1}, far = {.serial = 22, .pages = 1};
    struct ferry_vm_round round = {0};
    memset(uses, 0, sizeof(uses));
    ferry_vm_victims_init(&victims, false);
    ferry_vm_victim_used(&once, &round, 1);
    assert_int_equal(once.period, 0); // nobody knows a round yet
    once.last = 0;
    uint64_t now = frames(uses, 20, &round, 50), usual = round.parts / FERRY_VM_ROUND_PARTS;
    far.last = now;
    far.period = 10 * FRAME;
    ferry_vm_victim_used(&once, &round, now);
    assert_int_equal(once.period, usual);
    assert_true(once.guessed);
    ferry_vm_victim_add(&victims, &once);
    ferry_vm_victim_add(&victims, &far);
    assert_ptr_equal(ferry_vm_victim_choose(&victims, now + 2 * usual, 1), &far);
    assert_ptr_equal(ferry_vm_victim_choose(&victims, now + 2 * usual + 1, 1), &once);
}

static void an_absence_before_the_second_use_is_no_rhythm(void **state)
{
    (void)state;
    struct ferry_vm_use uses[20], loaded[2] = {{.serial = 21, .pages = 1}, {.serial = 22, .pages = 1}};
    struct ferry_vm_round round = {0};
    memset(uses, 0, sizeof(uses));
    uint64_t now = frames(uses, 20, &round, 50), usual = round.parts / FERRY_VM_ROUND_PARTS;
    ferry_vm_victim_used(&loaded[0], &round, now);
    ferry_vm_victim_used(&loaded[1], &round, now);
    ferry_vm_victim_used(&loaded[0], &round, now + 12 * usual); // long, but not that long
    assert_int_equal(loaded[0].period, 12 * usual);
    ferry_vm_victim_used(&loaded[1], &round, now + 100 * usual);
    usual = round.parts / FERRY_VM_ROUND_PARTS;
    assert_true(loaded[1].absent);
    assert_int_equal(loaded[1].period, usual);
    // The next one is taken as it comes, however long: it is no growth of a rhythm that there was.
    ferry_vm_victim_used(&loaded[1], &round, loaded[1].last + 7 * usual);
    assert_int_equal(loaded[1].period, 7 * usual);
    assert_false(loaded[1].absent);
}

// Once in each of five frames, and it is steady. Then it is cold a quarter of its rhythm after it has not come; before
// that, a whole one.
static void what_comes_once_a_frame_is_cold_as_soon_as_it_stays_away(void **state)
{
    (void)state;
    for (unsigned times = 4; times <= 6; times++)
        for (unsigned late = 0; late < 2; late++) {
            struct ferry_vm_victims victims;
            struct ferry_vm_use uses[20], it = {.serial = 21, .pages = 1}, far = {.serial = 22, .pages = 1};
            struct ferry_vm_round round = {0};
            memset(uses, 0, sizeof(uses));
            ferry_vm_victims_init(&victims, false);
            uint64_t now = frames(uses, 20, &round, 50);
            for (unsigned t = 0; t < times; t++, now += FRAME)
                ferry_vm_victim_used(&it, &round, now + (late && t + 1 == times ? FRAME / 2 : 0)); // once too late
            bool steady = times >= 5 && !late;
            uint64_t cold = it.last + it.period + (steady ? it.period / 4 : it.period);
            far.last = now;
            far.period = 10 * FRAME;
            ferry_vm_victim_add(&victims, &it);
            ferry_vm_victim_add(&victims, &far);
            assert_ptr_equal(ferry_vm_victim_choose(&victims, cold, 1), &far);
            assert_ptr_equal(ferry_vm_victim_choose(&victims, cold + 1, 1), &it);
        }
}

// All that is remembered of one allocation, as the rule is told: how many uses counted, when the last was, what is
// expected.
struct plain {
    unsigned uses, in_a_row;
    uint64_t last, expected;
    bool was_away, in_a_round;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void plainly_used(struct plain *plain, uint64_t *round_256, uint64_t now)
{
    uint64_t round = *round_256 / 256, gap = now - plain->last;
    if (plain->uses == 0) {
        *plain = (struct plain){.uses = 1, .last = now, .expected = round, .in_a_round = round != 0};
        return;
    }
    if (gap == 0)
        return;
    bool known = plain->uses > 1 && !plain->was_away;
    uint64_t remembered = known && plain->expected > gap / 8 ? plain->expected - gap / 8 : 0;
    uint64_t longest = larger(gap, remembered);
    // Half of all time lies in longer ones.
    if (*round_256 == 0)
        *round_256 = longest * 256;
    else if (longest * 256 > *round_256)
        *round_256 += (gap * 256 < *round_256 ? gap * 256 : *round_256) / 16;
    else
        *round_256 -= (gap * 256 < *round_256 ? gap * 256 : *round_256) / 16;
    round = *round_256 / 256;
    bool a_round_later = round != 0 && gap + round / 8 >= round && gap <= round + round / 8;
    plain->in_a_row = a_round_later ? plain->in_a_row + 1 : 0;
    plain->was_away = plain->uses == 1 && round != 0 && gap > 12 * round;
    if (plain->was_away)
        plain->expected = round;
    else if (known)
        plain->expected = larger(gap > 4 * plain->expected ? 4 * plain->expected : gap, remembered);
    else
        plain->expected = gap;
    plain->in_a_round = false;
    plain->uses++;
    plain->last = now;
}

static void the_rule_written_plainly_expects_the_same(void **state)
{
    enum { USES = 60 };
    (void)state;
    struct ferry_vm_use uses[USES];
    struct plain plain[USES];
    struct ferry_vm_round round = {0};
    uint64_t drawn = seed_given(20261129), round_256 = 0, now = 1, absences = 0, guesses = 0, steady = 0;
    memset(uses, 0, sizeof(uses));
    memset(plain, 0, sizeof(plain));
    for (unsigned i = 0; i < 200000; i++) {
        // Rounds, some used often, and now and then a new one in the place of an old one.
        bool even = i / 6000 % 2 != 0; // each once a round, so that some are steady when that ends
        unsigned n = !even && draw_below(&drawn, 3) == 0 ? draw_below(&drawn, 5) : i % USES;
        now += even ? 1 : draw_below(&drawn, 2) + (draw_below(&drawn, 5000) == 0 ? draw_below(&drawn, 5000) : 0);
        if (draw_below(&drawn, 400) == 0) {
            uses[n] = (struct ferry_vm_use){0};
            plain[n] = (struct plain){0};
        }
        if (!even && (draw_below(&drawn, 8) == 0 || (n >= 50 && draw_below(&drawn, 64) != 0)))
            continue;
        ferry_vm_victim_used(&uses[n], &round, now);
        plainly_used(&plain[n], &round_256, now);
        assert_int_equal(round.parts, round_256);
        assert_int_equal(uses[n].last, plain[n].last);
        assert_int_equal(uses[n].period, plain[n].expected);
        assert_int_equal(uses[n].absent, plain[n].was_away);
        assert_int_equal(uses[n].guessed, plain[n].in_a_round);
        assert_int_equal(uses[n].steady, plain[n].in_a_row < 4 ? plain[n].in_a_row : 4);
        steady += uses[n].steady == 4;
        absences += uses[n].absent;
        guesses += uses[n].guessed;
    }
    print_message("  %llu uses after an absence, %llu guesses, %llu steady\n", (unsigned long long)absences,
                  (unsigned long long)guesses, (unsigned long long)steady);
    assert_true(guesses != 0 && steady != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_is_what_most_allocations_have_and_not_most_uses),
        cmocka_unit_test(what_was_used_once_is_expected_in_a_round_and_then_cold),
        cmocka_unit_test(an_absence_before_the_second_use_is_no_rhythm),
        cmocka_unit_test(what_comes_once_a_frame_is_cold_as_soon_as_it_stays_away),
        cmocka_unit_test(the_rule_written_plainly_expects_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
