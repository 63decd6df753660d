// SPDX-License-Identifier: Apache-2.0
// Programs use memory in rounds: what a frame used at some place, the next frame will use near that place again. So
// the next use is predicted from the last one and the distance between uses, and the allocation predicted furthest
// away leaves. Least-recently-used does the opposite in a round that does not fit: it throws out exactly what is
// needed next.
//
// The distance remembered is the longest of late, not the last one: within a frame an allocation is used several
// times in a row, and the short gaps say nothing about the next frame. It fades by an eighth of the time that passes,
// so that a new, shorter rhythm is learnt after some rounds, however many uses a round has. It grows by no more than
// four times at once: what comes back after a long absence will be used in its old rhythm again, and would be taken for
// the one that is needed last until the absence has faded. An allocation that is overdue by more than its distance has
// broken its rhythm: it is cold, and cold ones go first, oldest first, as least-recently-used would have it.
//
// What was used once has no distance yet, and what has just come would be cold at once and leave before the next frame.
// So it is expected in a round, the distance of most allocations; if it does not come back in two, it is cold. And what
// was away for many rounds between its first two uses was loaded long before it was needed: that absence is no rhythm,
// and the next use says what it is.
//
// What was used once in each of the last rounds, and then not, is gone: a texture that the camera has passed. It is
// cold when it is overdue by a quarter, and not by as much again: it lies first in the line of those needed next
// meanwhile, and what is in the next frame would leave instead, come back, and drive out another one in each.
//
// Of those predicted about equally far (within a twentieth), the smallest that makes room enough leaves: what is thrown
// out has to be brought back, so it should be no larger than needed.
#include "vidmm/space/victim.h"

#include <stddef.h>

#define MOST_GROWTH 4
#define ABSENCE     12 // rounds
#define ROUND_STEPS 16 // a round is learnt by a sixteenth at once
#define ROUND_WIDTH 8  // a gap that differs from a round by an eighth is one

enum tree { NEXT = 0, COLD = 0, DUE = 1 };
enum listed { NOT_LISTED, WARM, COLDER, NEW };
enum { OLDER = 0, NEWER = 1 }; // of two that have just come

static uint64_t next_key(const struct ferry_vm_use *use)
{
    return use->last + use->period;
}

static uint64_t due_key(const struct ferry_vm_use *use)
{
    return use->last + use->period + (use->steady == FERRY_VM_STEADY ? use->period / 4 : use->period);
}

static uint64_t last_key(const struct ferry_vm_use *use)
{
    return use->last;
}

typedef uint64_t key_function(const struct ferry_vm_use *use);

static bool before(key_function *key, const struct ferry_vm_use *a, const struct ferry_vm_use *b)
{
    uint64_t ka = key(a), kb = key(b);
    return ka != kb ? ka < kb : a->serial < b->serial;
}

static uint8_t sorts_below(enum tree tree, const struct ferry_vm_use *node)
{
    return node ? node->below[tree] : 0;
}

// What stands below the node has changed.
static void update(enum tree tree, struct ferry_vm_use *node)
{
    node->below[tree] =
        (uint8_t)(1u << node->sort | sorts_below(tree, node->links[tree][0]) | sorts_below(tree, node->links[tree][1]));
}

static void split(key_function *key, enum tree tree, struct ferry_vm_use *node, const struct ferry_vm_use *at,
                  struct ferry_vm_use **left, struct ferry_vm_use **right)
{
    if (!node) {
        *left = *right = NULL;
    } else if (before(key, node, at)) {
        split(key, tree, node->links[tree][1], at, &node->links[tree][1], right);
        update(tree, node);
        *left = node;
    } else {
        split(key, tree, node->links[tree][0], at, left, &node->links[tree][0]);
        update(tree, node);
        *right = node;
    }
}

static struct ferry_vm_use *merge(enum tree tree, struct ferry_vm_use *left, struct ferry_vm_use *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority >= right->priority) {
        left->links[tree][1] = merge(tree, left->links[tree][1], right);
        update(tree, left);
        return left;
    }
    right->links[tree][0] = merge(tree, left, right->links[tree][0]);
    update(tree, right);
    return right;
}

// Down to where its priority puts it; what stood there is split in two and hangs below it.
static void insert(key_function *key, enum tree tree, struct ferry_vm_use **root, struct ferry_vm_use *use)
{
    while (*root && (*root)->priority >= use->priority) {
        (*root)->below[tree] |= (uint8_t)(1u << use->sort);
        root = &(*root)->links[tree][before(key, *root, use) ? 1 : 0];
    }
    split(key, tree, *root, use, &use->links[tree][0], &use->links[tree][1]);
    update(tree, use);
    *root = use;
}

static void take_out(key_function *key, enum tree tree, struct ferry_vm_use **root, struct ferry_vm_use *use)
{
    if (*root == use) {
        *root = merge(tree, use->links[tree][0], use->links[tree][1]);
        return;
    }
    take_out(key, tree, &(*root)->links[tree][before(key, *root, use) ? 1 : 0], use);
    update(tree, *root);
}

static struct ferry_vm_use *outermost(enum tree tree, struct ferry_vm_use *root, int side)
{
    while (root && root->links[tree][side])
        root = root->links[tree][side];
    return root;
}

void ferry_vm_victims_init(struct ferry_vm_victims *victims, bool lru)
{
    *victims = (struct ferry_vm_victims){.seed = 0x2545F491u, .lru = lru};
}

// The median over time: each allocation weighs as much as another, since who is used often has short gaps.
static void learn(struct ferry_vm_round *round, uint64_t gap, uint64_t longest)
{
    uint64_t parts = gap * FERRY_VM_ROUND_PARTS;
    uint64_t step = (parts < round->parts ? parts : round->parts) / ROUND_STEPS;
    if (round->parts == 0)
        round->parts = longest * FERRY_VM_ROUND_PARTS;
    else if (longest * FERRY_VM_ROUND_PARTS > round->parts)
        round->parts += step;
    else
        round->parts -= step;
}

static uint8_t steady_after(const struct ferry_vm_use *use, uint64_t gap, uint64_t usual)
{
    uint64_t width = usual / ROUND_WIDTH;
    if (usual == 0 || gap < usual - width || gap > usual + width)
        return 0;
    return use->steady < FERRY_VM_STEADY ? use->steady + 1 : FERRY_VM_STEADY;
}

void ferry_vm_victim_used(struct ferry_vm_use *use, struct ferry_vm_round *round, uint64_t now)
{
    if (use->last == 0) {
        use->period = round->parts / FERRY_VM_ROUND_PARTS;
        use->guessed = use->period != 0;
    } else if (now > use->last) {
        uint64_t gap = now - use->last, fading = gap / 8;
        bool first = use->guessed || use->period == 0;
        uint64_t before = first || use->absent ? 0 : use->period;
        uint64_t faded = before > fading ? before - fading : 0;
        learn(round, gap, gap > faded ? gap : faded);
        uint64_t usual = round->parts / FERRY_VM_ROUND_PARTS;
        use->guessed = false;
        use->steady = steady_after(use, gap, usual);
        use->absent = first && usual != 0 && gap > ABSENCE * usual;
        if (use->absent)
            gap = usual;
        else if (before != 0 && gap > MOST_GROWTH * before)
            gap = MOST_GROWTH * before;
        use->period = gap > faded ? gap : faded;
    }
    use->last = now;
}

void ferry_vm_victim_add(struct ferry_vm_victims *victims, struct ferry_vm_use *use)
{
    if (use->listed != NOT_LISTED)
        return;
    victims->pages += use->pages;
    use->listed = NEW;
    use->links[0][OLDER] = victims->newest;
    use->links[0][NEWER] = NULL;
    if (victims->newest)
        victims->newest->links[0][NEWER] = use;
    victims->newest = use;
}

static void take_back(struct ferry_vm_victims *victims, struct ferry_vm_use *use)
{
    struct ferry_vm_use *older = use->links[0][OLDER], *newer = use->links[0][NEWER];
    if (older)
        older->links[0][NEWER] = newer;
    if (newer)
        newer->links[0][OLDER] = older;
    else
        victims->newest = older;
}

static void put_in_order(struct ferry_vm_victims *victims, struct ferry_vm_use *use)
{
    victims->seed ^= victims->seed << 13;
    victims->seed ^= victims->seed >> 17;
    victims->seed ^= victims->seed << 5;
    use->priority = victims->seed;
    if (victims->lru || use->away) {
        insert(last_key, COLD, &victims->cold, use);
        use->listed = COLDER;
        return;
    }
    insert(next_key, NEXT, &victims->warm, use);
    insert(due_key, DUE, &victims->due, use);
    use->listed = WARM;
}

// Whoever looks for somebody sees all of them in the trees.
static void settle(struct ferry_vm_victims *victims)
{
    while (victims->newest) {
        struct ferry_vm_use *use = victims->newest;
        victims->newest = use->links[0][OLDER];
        put_in_order(victims, use);
    }
}

void ferry_vm_victim_remove(struct ferry_vm_victims *victims, struct ferry_vm_use *use)
{
    victims->pages -= use->listed != NOT_LISTED ? use->pages : 0;
    if (use->listed == NEW) {
        take_back(victims, use);
    } else if (use->listed == WARM) {
        take_out(next_key, NEXT, &victims->warm, use);
        take_out(due_key, DUE, &victims->due, use);
    } else if (use->listed == COLDER) {
        take_out(last_key, COLD, &victims->cold, use);
    }
    use->listed = NOT_LISTED;
}

// The search among the furthest: from the far end inwards, and no more than a few, so that its cost stays that of
// finding the end.
struct choice {
    const struct ferry_vm_victims *victims;
    uint64_t now, pages, nearest; // predicted uses before `nearest` are not about equally far
    uint8_t sorts;
    unsigned looks;
    struct ferry_vm_use *furthest, *best;
};
#define MOST_LOOKS 16

static bool leaves(const struct ferry_vm_victims *victims, const struct ferry_vm_use *use)
{
    return !victims->leaves || victims->leaves(victims->context, use);
}

static uint8_t sorts_that_leave(const struct ferry_vm_victims *victims)
{
    return victims->sorts ? victims->sorts(victims->context, victims) : UINT8_MAX;
}

static void look(struct ferry_vm_use *node, struct choice *choice)
{
    if ((sorts_below(NEXT, node) & choice->sorts) == 0 || choice->looks == MOST_LOOKS)
        return;
    look(node->links[NEXT][1], choice);
    if (choice->looks == MOST_LOOKS)
        return;
    uint64_t next = next_key(node);
    if (!choice->furthest && leaves(choice->victims, node)) {
        choice->furthest = node;
        choice->nearest = next > choice->now ? next - (next - choice->now) / 20 : next;
    }
    if (choice->furthest && next < choice->nearest) {
        choice->looks = MOST_LOOKS;
        return;
    }
    bool may = leaves(choice->victims, node);
    choice->looks += may;
    if (may && node->pages >= choice->pages && (!choice->best || node->pages < choice->best->pages))
        choice->best = node;
    look(node->links[NEXT][0], choice);
}

// What has become cold since the last choice changes trees; each does so once at most in one stay on the list.
static void cool(struct ferry_vm_victims *victims, uint64_t now)
{
    settle(victims);
    for (struct ferry_vm_use *use = outermost(DUE, victims->due, 0); use && due_key(use) < now;
         use = outermost(DUE, victims->due, 0)) {
        ferry_vm_victim_remove(victims, use);
        insert(last_key, COLD, &victims->cold, use);
        use->listed = COLDER;
        victims->pages += use->pages;
    }
}

struct listing {
    const struct ferry_vm_victims *victims;
    struct ferry_vm_use **uses;
    uint8_t sorts;
    unsigned count, most;
};

static void list(enum tree tree, struct ferry_vm_use *node, int side, struct listing *listing)
{
    if ((sorts_below(tree, node) & listing->sorts) == 0 || listing->count == listing->most)
        return;
    list(tree, node->links[tree][side], side, listing);
    if (listing->count < listing->most && leaves(listing->victims, node))
        listing->uses[listing->count++] = node;
    list(tree, node->links[tree][1 - side], side, listing);
}

struct ferry_vm_use *ferry_vm_victim_choose(struct ferry_vm_victims *victims, uint64_t now, uint64_t pages)
{
    cool(victims, now);
    struct ferry_vm_use *coldest;
    uint8_t sorts = sorts_that_leave(victims);
    struct listing listing = {.victims = victims, .uses = &coldest, .sorts = sorts, .most = 1};
    list(COLD, victims->cold, 0, &listing);
    if (listing.count != 0)
        return coldest;
    struct choice choice = {.victims = victims, .now = now, .pages = pages, .sorts = sorts};
    look(victims->warm, &choice);
    return choice.best ? choice.best : choice.furthest;
}

unsigned ferry_vm_victims_first(struct ferry_vm_victims *victims, uint64_t now, struct ferry_vm_use **uses,
                                unsigned most)
{
    struct listing listing = {.victims = victims, .uses = uses, .sorts = sorts_that_leave(victims), .most = most};
    cool(victims, now);
    list(COLD, victims->cold, 0, &listing);
    list(NEXT, victims->warm, 1, &listing);
    return listing.count;
}

static void visit_all(enum tree tree, struct ferry_vm_use *node, int side,
                      void (*visit)(void *context, struct ferry_vm_use *use), void *context)
{
    if (!node)
        return;
    visit_all(tree, node->links[tree][side], side, visit, context);
    visit(context, node);
    visit_all(tree, node->links[tree][1 - side], side, visit, context);
}

void ferry_vm_victims_visit(struct ferry_vm_victims *victims, uint64_t now,
                            void (*visit)(void *context, struct ferry_vm_use *use), void *context)
{
    cool(victims, now);
    visit_all(COLD, victims->cold, 0, visit, context);
    visit_all(NEXT, victims->warm, 1, visit, context);
}

uint64_t ferry_vm_victim_distance(const struct ferry_vm_victims *victims, const struct ferry_vm_use *use, uint64_t now)
{
    if (victims->lru)
        return now - use->last;
    if (due_key(use) < now || use->away)
        return UINT64_MAX;
    return next_key(use) > now ? next_key(use) - now : 0;
}

uint64_t ferry_vm_victims_furthest(struct ferry_vm_victims *victims, uint64_t now)
{
    settle(victims);
    const struct ferry_vm_use *use = outermost(NEXT, victims->warm, 1);
    if (victims->lru)
        return victims->cold ? now - outermost(COLD, victims->cold, 0)->last : 0;
    return use && next_key(use) > now ? next_key(use) - now : 0;
}
