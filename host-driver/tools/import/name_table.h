// SPDX-License-Identifier: Apache-2.0
// Numbers to pointers, with removal: as large as what is in it at most was, however many came and went.
#ifndef FERRY_TOOLS_IMPORT_NAME_TABLE_H
#define FERRY_TOOLS_IMPORT_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct ferry_name_table {
    uint64_t *names;
    void **things; // NULL: nobody's place
    size_t places, count;
};

void *ferry_name_get(const struct ferry_name_table *table, uint64_t name);
/// -1 when there is no memory. `thing` is not NULL.
int ferry_name_set(struct ferry_name_table *table, uint64_t name, void *thing);
void ferry_name_remove(struct ferry_name_table *table, uint64_t name);
void ferry_name_free(struct ferry_name_table *table);

#endif
