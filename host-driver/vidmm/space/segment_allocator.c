// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/segment_allocator.h"

#include <stdlib.h>

static uint64_t largest_of(const struct ferry_vm_block *node)
{
    return node ? node->largest : 0;
}

static void refresh(struct ferry_vm_block *node)
{
    uint64_t largest = node->pages;
    if (largest_of(node->left) > largest)
        largest = node->left->largest;
    if (largest_of(node->right) > largest)
        largest = node->right->largest;
    node->largest = largest;
}

// Blocks below `first` go left, the others right.
static void split(struct ferry_vm_block *node, uint64_t first, struct ferry_vm_block **left,
                  struct ferry_vm_block **right)
{
    if (!node) {
        *left = *right = NULL;
    } else if (node->first < first) {
        split(node->right, first, &node->right, right);
        refresh(node);
        *left = node;
    } else {
        split(node->left, first, left, &node->left);
        refresh(node);
        *right = node;
    }
}

static struct ferry_vm_block *merge(struct ferry_vm_block *left, struct ferry_vm_block *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority >= right->priority) {
        left->right = merge(left->right, right);
        refresh(left);
        return left;
    }
    right->left = merge(left, right->left);
    refresh(right);
    return right;
}

static void insert_free(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    // xorshift: priorities need only be spread, and a fixed seed keeps every run the same.
    space->seed ^= space->seed << 13;
    space->seed ^= space->seed >> 17;
    space->seed ^= space->seed << 5;
    block->priority = space->seed;
    block->left = block->right = NULL;
    refresh(block);
    struct ferry_vm_block *below, *above;
    split(space->root, block->first, &below, &above);
    space->root = merge(merge(below, block), above);
    space->free_pages += block->pages;
}

static struct ferry_vm_block *without(struct ferry_vm_block *node, const struct ferry_vm_block *block)
{
    if (node == block)
        return merge(node->left, node->right);
    if (block->first < node->first)
        node->left = without(node->left, block);
    else
        node->right = without(node->right, block);
    refresh(node);
    return node;
}

static void remove_free(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    space->root = without(space->root, block);
    space->free_pages -= block->pages;
}

static struct ferry_vm_block *find_lowest(struct ferry_vm_block *node, uint64_t pages)
{
    if (largest_of(node) < pages)
        return NULL;
    for (;;) {
        if (largest_of(node->left) >= pages)
            node = node->left;
        else if (node->pages >= pages)
            return node;
        else
            node = node->right;
    }
}

static struct ferry_vm_block *find_highest(struct ferry_vm_block *node, uint64_t pages)
{
    if (largest_of(node) < pages)
        return NULL;
    for (;;) {
        if (largest_of(node->right) >= pages)
            node = node->right;
        else if (node->pages >= pages)
            return node;
        else
            node = node->left;
    }
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

// Where in this free block the room would start; UINT64_MAX when the alignment leaves too little.
static uint64_t position(const struct ferry_vm_block *block, uint64_t pages, uint64_t alignment, bool from_end)
{
    uint64_t end = block->first + block->pages;
    uint64_t first = from_end ? (end - pages) & ~(alignment - 1) : align_up(block->first, alignment);
    if (first < block->first || first > end || end - first < pages)
        return UINT64_MAX;
    return first;
}

// Nodes that are not needed any more are kept, so that a plan can always be taken back (plan.h).
static struct ferry_vm_block *new_block(struct ferry_vm_space *space, uint64_t first, uint64_t pages)
{
    struct ferry_vm_block *block = space->spare;
    if (block)
        space->spare = block->next;
    else
        block = malloc(sizeof(*block));
    if (block)
        *block = (struct ferry_vm_block){.first = first, .pages = pages};
    return block;
}

static void old_block(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    block->next = space->spare;
    space->spare = block;
}

bool ferry_vm_space_init(struct ferry_vm_space *space, uint64_t pages)
{
    *space = (struct ferry_vm_space){.pages = pages, .seed = 0x9E3779B9u};
    if (pages == 0)
        return true;
    space->head = new_block(space, 0, pages);
    if (!space->head)
        return false;
    insert_free(space, space->head);
    return true;
}

void ferry_vm_space_destroy(struct ferry_vm_space *space)
{
    struct ferry_vm_block *lists[] = {space->head, space->spare};
    for (unsigned i = 0; i < 2; i++) {
        while (lists[i]) {
            struct ferry_vm_block *block = lists[i];
            lists[i] = block->next;
            free(block);
        }
    }
    space->head = space->spare = space->root = NULL;
}

// Holes that are large enough but lie askew, outermost first; no more than a few, so that the cost stays that of a
// search.
#define MOST_LOOKS 64
struct askew {
    uint64_t pages, alignment, lowest, found;
    unsigned looks;
    bool from_end;
};

static void look(const struct ferry_vm_block *node, struct askew *askew)
{
    if (largest_of(node) < askew->pages || askew->found != UINT64_MAX || askew->looks == MOST_LOOKS)
        return;
    look(askew->from_end ? node->right : node->left, askew);
    if (node->pages >= askew->pages && askew->found == UINT64_MAX && askew->looks++ < MOST_LOOKS) {
        uint64_t first = position(node, askew->pages, askew->alignment, askew->from_end);
        if (first != UINT64_MAX && first >= askew->lowest)
            askew->found = first;
    }
    look(askew->from_end ? node->left : node->right, askew);
}

uint64_t ferry_vm_space_find(const struct ferry_vm_space *space, uint64_t pages, uint64_t alignment, bool from_end,
                             uint64_t lowest)
{
    if (pages == 0 || pages > space->pages || largest_of(space->root) < pages)
        return UINT64_MAX;
    struct ferry_vm_block *(*find)(struct ferry_vm_block *, uint64_t) = from_end ? find_highest : find_lowest;
    struct ferry_vm_block *found = find(space->root, pages);
    uint64_t first = found ? position(found, pages, alignment, from_end) : UINT64_MAX;
    if (first == UINT64_MAX && alignment > 1) {
        struct askew askew = {pages, alignment, lowest, UINT64_MAX, 0, from_end};
        look(space->root, &askew);
        first = askew.found;
        // One with a whole alignment to spare always works.
        if (first == UINT64_MAX && pages + alignment - 1 > pages) {
            found = find(space->root, pages + alignment - 1);
            first = found ? position(found, pages, alignment, from_end) : UINT64_MAX;
        }
    }
    return first == UINT64_MAX || first < lowest ? UINT64_MAX : first;
}

// The free block in which page `first` lies.
static struct ferry_vm_block *hole_at(const struct ferry_vm_space *space, uint64_t first)
{
    struct ferry_vm_block *node = space->root;
    while (node && (first < node->first || first >= node->first + node->pages))
        node = first < node->first ? node->left : node->right;
    return node;
}

struct ferry_vm_block *ferry_vm_space_take_at(struct ferry_vm_space *space, uint64_t first, uint64_t pages, void *owner,
                                              bool *no_memory)
{
    struct ferry_vm_block *found = hole_at(space, first);
    *no_memory = false;
    if (!found || pages == 0 || found->first + found->pages - first < pages)
        return NULL;
    uint64_t before = first - found->first, after = found->first + found->pages - first - pages;
    struct ferry_vm_block *low = before ? new_block(space, found->first, before) : NULL;
    struct ferry_vm_block *high = after ? new_block(space, first + pages, after) : NULL;
    if ((before && !low) || (after && !high)) {
        if (low)
            old_block(space, low);
        if (high)
            old_block(space, high);
        *no_memory = true;
        return NULL;
    }
    remove_free(space, found);
    found->first = first;
    found->pages = pages;
    found->owner = owner;
    if (low) {
        low->previous = found->previous;
        low->next = found;
        if (low->previous)
            low->previous->next = low;
        else
            space->head = low;
        found->previous = low;
        insert_free(space, low);
    }
    if (high) {
        high->next = found->next;
        high->previous = found;
        if (high->next)
            high->next->previous = high;
        found->next = high;
        insert_free(space, high);
    }
    return found;
}

struct ferry_vm_block *ferry_vm_space_take(struct ferry_vm_space *space, uint64_t pages, uint64_t alignment,
                                           bool from_end, uint64_t lowest, void *owner, bool *no_memory)
{
    *no_memory = false;
    uint64_t first = ferry_vm_space_find(space, pages, alignment, from_end, lowest);
    return first == UINT64_MAX ? NULL : ferry_vm_space_take_at(space, first, pages, owner, no_memory);
}

// Make `block` cover its upper neighbour too; that one disappears.
static void absorb_next(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    struct ferry_vm_block *next = block->next;
    block->pages += next->pages;
    block->next = next->next;
    if (block->next)
        block->next->previous = block;
    old_block(space, next);
}

void ferry_vm_space_give(struct ferry_vm_space *space, struct ferry_vm_block *block)
{
    block->owner = NULL;
    block->place = 0;
    if (block->next && !block->next->owner) {
        remove_free(space, block->next);
        absorb_next(space, block);
    }
    if (block->previous && !block->previous->owner) {
        block = block->previous;
        remove_free(space, block);
        absorb_next(space, block);
    }
    insert_free(space, block);
}

uint64_t ferry_vm_space_largest(const struct ferry_vm_space *space)
{
    return largest_of(space->root);
}

struct ferry_vm_block *ferry_vm_space_largest_hole(const struct ferry_vm_space *space)
{
    return space->root ? find_lowest(space->root, space->root->largest) : NULL;
}

bool ferry_vm_space_free_for(const struct ferry_vm_space *space, const struct ferry_vm_block *block, uint64_t first)
{
    uint64_t low = block->first, high = block->first + block->pages, end = first + block->pages;
    if (first >= space->pages || end > space->pages)
        return false;
    if (block->previous && !block->previous->owner)
        low = block->previous->first;
    if (block->next && !block->next->owner)
        high += block->next->pages;
    if (first >= low && end <= high)
        return true;
    const struct ferry_vm_block *hole = hole_at(space, first);
    return hole && end <= hole->first + hole->pages;
}
