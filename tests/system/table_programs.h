// SPDX-License-Identifier: Apache-2.0
// Random page tables in both memories, edits of them, and addresses that reach what they map. What an address leads to
// nobody here works out: table_walks.py does.
#ifndef FERRY_TESTS_TABLE_PROGRAMS_H
#define FERRY_TESTS_TABLE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

// Pages with an even number of 64 pages below them, counted from the 32nd, are only read; the others are written: so
// what a job reads never depends on another one. It holds for addresses within 2 MiB as for places.
#define PAGE(n)       ((n)*4096ull)
#define LOCAL_PAGES   1024u // LOCAL_LIMIT
#define PROTECT_FIRST 80u   // The protected range: content and, behind it, tables.
#define PROTECT_END   100u
#define TABLES_AT     96u // In video memory, and in the region of host memory.
#define TABLES        32u // Every second one in host memory.
#define SPACES        5u  // The last has no root ever.
#define EDITS         16u

struct tables {
    uint64_t host; // Bus address of a region of 2 MiB, aligned.
    // What is mapped has one address, so that a narrow FORGET is enough, or, under a table that several entries lead
    // to, several of one space. Else entries lead to any table, of any level.
    bool tidy;
    uint32_t count;
    uint32_t main_index[4], other_index[4]; // Of each level, where something is mapped.
    uint32_t hot_space, hot[2];             // What most jobs and edits are about; indices of pages, read and written.
    struct table {
        uint32_t page; // Of video memory or of the region.
        bool in_host, grouped[32];
        bool shared; // Or has been: two entries have led to it, or to a table above it.
        uint32_t level, space, children[2];
        uint64_t address; // Of its first entry.
        uint64_t words[512];
    } table[TABLES];
    struct root {
        bool valid;
        uint32_t height, table;
    } roots[SPACES];
};

struct table_edit {
    uint32_t table, index;
    uint64_t value;
};

struct table_forget {
    uint32_t scope, space;
    uint64_t address;
};

void tables_make(struct tables *tables, uint64_t host);
/// What most jobs and edits are about from now on.
void tables_turn(struct tables *tables);
/// Where a table is: its bus address or its place in video memory.
uint64_t tables_place(const struct tables *tables, uint32_t table);
/// Draws an edit of entries of one table, which are changed in `tables` already; how many, EDITS at most.
uint32_t tables_edit(struct tables *tables, struct table_edit *edits);
/// The level whose entries take as wide a FORGET as those of the table do: 4 = all that there is.
uint32_t tables_level(const struct tables *tables, uint32_t table);
/// A FORGET that is wide enough for that.
struct table_forget tables_forget(const struct tables *tables, const struct table_edit *edit);
/// An address for `bytes` bytes, 4 pages at most, to be written or read.
uint64_t tables_address(const struct tables *tables, uint32_t space, bool write, uint32_t bytes);

#endif
