// SPDX-License-Identifier: Apache-2.0
#include "vidmm/sched/awaited.h"

#include <stdlib.h>
#include <string.h>

size_t ferry_vm_awaited_left(const struct ferry_vm_sched *sched, struct ferry_vm_awaited *awaited)
{
    size_t left = 0;
    for (size_t i = 0; i < awaited->count; i++)
        if (!ferry_vm_operation_over(sched, awaited->numbers[i]))
            awaited->numbers[left++] = awaited->numbers[i];
    awaited->count = left;
    return left;
}

int ferry_vm_awaited_reserve(const struct ferry_vm_sched *sched, struct ferry_vm_awaited *awaited, size_t more)
{
    size_t most = ferry_vm_awaited_left(sched, awaited) + more;
    if (most <= awaited->capacity)
        return FERRY_OK;
    uint64_t *numbers = realloc(awaited->numbers, 2 * most * sizeof(*numbers));
    if (!numbers)
        return FERRY_ERROR_NO_HOST_MEMORY;
    awaited->numbers = numbers;
    awaited->capacity = 2 * most;
    return FERRY_OK;
}

void ferry_vm_awaited_add(struct ferry_vm_awaited *awaited, uint64_t number)
{
    awaited->numbers[awaited->count++] = number;
}

size_t ferry_vm_awaited_copy(const struct ferry_vm_sched *sched, struct ferry_vm_awaited *awaited, uint64_t *numbers)
{
    size_t left = ferry_vm_awaited_left(sched, awaited);
    if (left > 0)
        memcpy(numbers, awaited->numbers, left * sizeof(*numbers));
    return left;
}

void ferry_vm_awaited_free(struct ferry_vm_awaited *awaited)
{
    free(awaited->numbers);
    *awaited = (struct ferry_vm_awaited){0};
}
