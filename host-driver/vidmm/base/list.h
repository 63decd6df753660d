// SPDX-License-Identifier: Apache-2.0
// Doubly linked lists through links inside the objects. A link on no list points at itself, so removing it again does
// nothing.
#ifndef FERRY_VIDMM_BASE_LIST_H
#define FERRY_VIDMM_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ferry_vm_list {
    struct ferry_vm_list *previous, *next;
};

static inline void ferry_vm_list_init(struct ferry_vm_list *list)
{
    list->previous = list->next = list;
}
static inline bool ferry_vm_list_empty(const struct ferry_vm_list *list)
{
    return list->next == list;
}
static inline void ferry_vm_list_add(struct ferry_vm_list *list, struct ferry_vm_list *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}
static inline void ferry_vm_list_remove(struct ferry_vm_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    ferry_vm_list_init(link);
}
#define FERRY_VM_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
