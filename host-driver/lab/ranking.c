// SPDX-License-Identifier: Apache-2.0
#include "lab/ranking.h"

#include <stdlib.h>

#define ROOM (2 * FERRY_LAB_RANKED)

int ferry_lab_by_in(const void *left, const void *right)
{
    const struct ferry_lab_candidate *a = left, *b = right;
    if (a->in != b->in)
        return a->in < b->in ? 1 : -1;
    return (a->made > b->made) - (a->made < b->made);
}

int ferry_lab_by_pages(const void *left, const void *right)
{
    const struct ferry_lab_candidate *a = left, *b = right;
    if (a->pages != b->pages)
        return a->pages < b->pages ? 1 : -1;
    return ferry_lab_by_in(left, right);
}

void ferry_lab_ranking_end(struct ferry_lab_ranking *ranking, int (*order)(const void *left, const void *right))
{
    if (ranking->count > 0)
        qsort(ranking->list, ranking->count, sizeof *ranking->list, order);
    ranking->full = ranking->count >= FERRY_LAB_RANKED;
    ranking->count = ranking->full ? FERRY_LAB_RANKED : ranking->count;
}

bool ferry_lab_rank(struct ferry_lab_ranking *ranking, int (*order)(const void *left, const void *right),
                    const struct ferry_lab_candidate *candidate)
{
    if (ranking->full && order(candidate, &ranking->list[FERRY_LAB_RANKED - 1]) > 0)
        return true;
    ranking->list = ranking->list ? ranking->list : malloc(ROOM * sizeof *ranking->list);
    if (!ranking->list)
        return false;
    ranking->list[ranking->count++] = *candidate;
    if (ranking->count == ROOM)
        ferry_lab_ranking_end(ranking, order);
    return true;
}

void ferry_lab_ranking_free(struct ferry_lab_ranking *ranking)
{
    free(ranking->list);
    *ranking = (struct ferry_lab_ranking){0};
}
